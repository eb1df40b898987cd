/* --checkpoint and --resume. */
#ifndef WISP_TOOL_CHECKPOINT_H
#define WISP_TOOL_CHECKPOINT_H
#include <jansson.h>
#include <stdbool.h>
#include <wisp/wisp.h>

typedef struct tool tool;

/* what a run that goes on takes over, unless options say otherwise. */
typedef struct {
    int64_t width, order, tiles_on, slices, format, type;
    int64_t moments;       /* those that --resolution needs; 0: not known */
    wisp_bounds bounds;    /* from which these follow */
    double bounds_seconds; /* that it took to know them */
} checkpoint_layout;

/* in the order of a run. The options, before the context is made; after the source is opened. */
int checkpoint_check(tool *t);
int checkpoint_hash(tool *t, const wisp_src *src);
/* Reads the state that --resume names, into t->resumed, and takes over its layout. Its weights become
   those of the run: see weights_deal. */
int checkpoint_open(tool *t);
/* Before the solver, whose options then get the offer and what the run goes on from. more: items of the command's own,
   which may be NULL. */
int checkpoint_begin(tool *t, const wisp_mat *A, int width, wisp_items_fn more, void *more_arg);
int checkpoint_offer(void *tool, wisp_state *state);
#define checkpoint_set(t, opts) \
    ((opts)->offer = (t)->checkpoint ? checkpoint_offer : NULL, (opts)->offer_arg = (t), (opts)->resume = (t)->resumed)
/* A run of several calls of solvers (t->kept.in_parts), whose own results are no results of the run: what these have
   come to, which the command's items are, as the last state. */
void checkpoint_offer_whole(tool *t);
void checkpoint_rest(tool *t); /* what follows offers no state: signals end it at once */
/* After the solver: the last one is on the disk, and signals end the work at once again. All ranks together. */
void checkpoint_pause(tool *t);
/* Behind that: what took long is done, and a state of it can't be kept any more. So where there are checkpoints, what
   is left (to evaluate and to write) goes to its end, whatever signal has come or comes. */
void checkpoint_whole(tool *t);
bool checkpoint_ended(const tool *t); /* whether a signal ended it, and then in words: EXIT_FAILED */
int checkpoint_stopped(tool *t);
/* After that: another part of the run, which offers states of its own, with these items of the command's. */
void checkpoint_again(tool *t, wisp_items_fn more, void *more_arg);
/* Once the results are written, or nothing of it counts any more: its files go, unless rc is a failure on some rank.
   Returns rc; EXIT_FAILED where another rank has failed. */
int checkpoint_done(tool *t, int rc);
void checkpoint_close(tool *t);
json_t *checkpoint_json(const tool *t); /* null without */
void checkpoint_summary(const tool *t);
void checkpoint_plan(int64_t bytes); /* a line of --plan, for a copy of so many bytes */
#endif
