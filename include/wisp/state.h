/* States of long calls, and checkpoints: files from which a call goes on after its process has ended. Part of wisp.h,
 * which says what holds for all calls, threads among it.
 *
 * A solver offers its state between two steps, if its options have a function for that (offer). The function may copy
 * the state, or have it written: wisp_checkpoint_offer writes one into a file every so many seconds, beside the
 * computation. A later call of the solver with the same matrix and options is given the state that was read from the
 * file (resume) and goes on from there. On the same layout, with any number of threads, it ends with the same bits as a
 * call that was never interrupted; with another number of ranks, or rows in another order, with the same up to
 * rounding. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_STATE_H
#define WISP_STATE_H

#include "matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A state is a list of items, each with a name. It is live: what it names is looked up when it is copied. Or it is
   kept: it was read from a file, and holds copies. */
typedef struct wisp_state wisp_state;

/* Called by a solver between two steps, on all ranks together, from the calling thread. `state` is live, and valid for
   the time of the call alone. Anything but 0 ends the solver's call (WISP_ERR_CANCELLED), with what it has said by
   wisp_ctx_fail as the message. One rank is enough for that. The last one of a call that has all of its results may be
   whole: see wisp_state_is_whole. What is returned for that one does not count. */
typedef int (*wisp_offer_fn)(void *arg, wisp_state *state);

/* ---- for those who write solvers --------------------------------------------------------------- */

/* Names the items of a state, by the functions below, in any order but always the same one. With a live state they
   note where the items are. With a kept one they give them back: they fill them in. So one function serves both ways.
   Of a kept state it first gets the numbers, and then makes blocks and arrays of the sizes that these say. */
typedef wisp_status (*wisp_items_fn)(void *arg, wisp_state *state);
/* data[bytes] that is the same on all ranks: rank 0's is kept. Up to WISP_STATE_COPIED bytes are copied at once, and
   may be a local variable; more stay where they are until the offer is over. */
enum { WISP_STATE_COPIED = 4096 };
WISP_API wisp_status wisp_state_data(wisp_state *state, const char *name, void *data, size_t bytes);
/* x[n] of which each rank has a part, and all parts together are the whole. Where it is given back to another number of
   ranks, rank 0 has the whole and the others have zeros. */
WISP_API wisp_status wisp_state_sums(wisp_state *state, const char *name, double *x, size_t n);
/* A block, with all of its rows. It is kept in the natural order, so that other ranks and orders may take it back. */
WISP_API wisp_status wisp_state_block(wisp_state *state, const char *name, wisp_blk *x);
/* What has to be the same in the call that goes on, in words, of WISP_MESSAGE bytes at most: an option, for example.
   WISP_ERR_MISMATCH: the kept state has others; the message names both. Rank 0's counts. samef: words as printf makes
   them. */
WISP_API wisp_status wisp_state_same(wisp_state *state, const char *name, const char *words);
WISP_TEXT wisp_status wisp_state_samef(wisp_state *state, const char *name, const char *format, ...) WISP_PRINTF(3, 4);
/* The context that it is of; NULL for NULL. */
WISP_API wisp_ctx *wisp_state_ctx(const wisp_state *state);
/* A live state of these items; free it with wisp_state_free. */
WISP_API wisp_status wisp_state_create(wisp_state **state, wisp_ctx *ctx, wisp_items_fn items, void *arg);
/* More items for a live state, behind the others, until it is freed, of other names than theirs; nothing if it has
   them: of a program that wraps a solver's offer, say. A solver may offer one state after the other; those that are
   there already are not added again. */
WISP_API wisp_status wisp_state_add(wisp_state *state, wisp_items_fn items, void *arg);
/* Offers a live state: calls offer(arg, state). WISP_ERR_CANCELLED: that was not 0. */
WISP_API wisp_status wisp_state_offer(wisp_state *state, wisp_offer_fn offer, void *arg);
/* Offers it as the last one, when what takes long is done: the call that goes on from it has little to do anew.
   offer() ends nothing here. */
WISP_API wisp_status wisp_state_offer_whole(wisp_state *state, wisp_offer_fn offer, void *arg);
/* 1: it is live, and is offered so. */
WISP_API int wisp_state_is_whole(const wisp_state *state);
/* 1: it is kept, and items are given back; 0: it is live. */
WISP_API int wisp_state_is_kept(const wisp_state *state);

/* ---- kept states ------------------------------------------------------------------------------- */

/* Reads the last checkpoint that was written to `path`. All ranks together, of any number; each reads files of all. If
   the last generation is damaged, missing or can't be read, the one before it is taken, and the log has a warning.
   WISP_ERR_IO: it can't be read; WISP_ERR_FORMAT: it is no checkpoint, or damaged, and so is the one before it.
   WISP_ERR_UNSUPPORTED: it is of another version of wisp. The files stay as they are until it is freed, or a later
   generation is written. */
WISP_API wisp_status wisp_state_open(wisp_state **state, wisp_ctx *ctx, const char *path);
/* NULL is accepted. */
WISP_API void wisp_state_free(wisp_state *state);
/* The words of wisp_state_same that a kept state has under this name; NULL: none. Until it is freed. */
WISP_API const char *wisp_state_words(const wisp_state *state, const char *name);
/* Bytes that an item has in rank 0's file of a kept state; 0: there is none of this name. */
WISP_API size_t wisp_state_bytes(const wisp_state *state, const char *name);

/* ---- checkpoints ------------------------------------------------------------------------------- */

typedef struct wisp_checkpoint wisp_checkpoint;
typedef struct {
    const char *path;        /* FILE. Beside it lie, as needed, FILE.before and FILE.NUMBER.RANK */
    double every;            /* seconds from one to the next; 0: only when wisp_checkpoint_request asks for one */
    const wisp_state *after; /* what was read from the same path, and may be replaced. NULL, or of another */
                             /* path: nothing may be there */
    int64_t holds;           /* 1: a whole state is copied, until another one is, and only wisp_checkpoint_keep */
                             /* writes it; 0: it is not looked at */
} wisp_checkpoint_opts;
/* What has become of it, on this rank. */
typedef struct {
    int64_t written;  /* generations that became valid */
    int64_t failed;   /* that could not be written */
    int64_t bytes;    /* of a generation's files of this rank */
    int64_t memory;   /* bytes that the copy of the state takes */
    double seconds;   /* that the computation waited for all of this */
    double last;      /* when the last one was copied: seconds of a clock that only runs forward; 0: never */
    int ended, saved; /* 1: a request ended the call; and its state was written */
} wisp_checkpoint_info;

/* Makes a writer of checkpoints; opts->path is needed. All ranks together. WISP_ERR_IO: nothing could be written there;
   WISP_ERR_MISMATCH: a file is there that is not `after`. */
WISP_SIZED wisp_status wisp_checkpoint_create(wisp_checkpoint **checkpoint, wisp_ctx *ctx,
                                              const wisp_checkpoint_opts *opts);
/* The offer function (wisp_offer_fn), whose arg is the checkpoint. When one is due, the state is copied; a task without
   units of its own (task.h) writes the copy while the computation goes on: each rank a file, which is synced. When all
   are there, one renaming makes the generation valid. The last two are kept. If it can't be written, or there is no
   memory for the copy, the log has one warning, the call goes on, and it is tried again. Not 0: a request has ended
   the call, or another rank has failed. */
WISP_API int wisp_checkpoint_offer(void *checkpoint, wisp_state *state);
/* Has the next offer write one, whenever the last one was. end = 1: and then end the call, with WISP_ERR_CANCELLED.
   It may be called from a signal handler; on one rank it counts for all. */
WISP_API void wisp_checkpoint_request(wisp_checkpoint *checkpoint, int end);
/* All ranks together: waits for the one that is being written, until it is valid. */
WISP_API wisp_status wisp_checkpoint_wait(wisp_checkpoint *checkpoint);
/* All ranks together: writes the whole state that is held (opts.holds), and waits until it is valid: the results of the
   call could not be kept elsewhere. WISP_ERR_UNSUPPORTED: none is held. WISP_ERR_IO: it could not be written. */
WISP_API wisp_status wisp_checkpoint_keep(wisp_checkpoint *checkpoint);
/* All ranks together: removes its files, for the work is complete, and its results are kept. One that is being written
   is waited for. */
WISP_API void wisp_checkpoint_remove(wisp_checkpoint *checkpoint);
WISP_SIZED void wisp_checkpoint_get_info(const wisp_checkpoint *checkpoint, wisp_checkpoint_info *info);
/* Waits for what this rank is writing; it does not become valid any more, unless all ranks had written theirs. NULL is
   accepted. */
WISP_API void wisp_checkpoint_free(wisp_checkpoint *checkpoint);

/* *hash becomes a number that tells matrices apart: of all entries of the source, with their rows, columns and the bits
   of their values, in any order, for any number of ranks. Zeros count; entries that are given twice count twice. All
   ranks together. */
WISP_SIZED wisp_status wisp_src_hash(wisp_ctx *ctx, const wisp_src *src, uint64_t *hash);

#ifndef WISP_BUILDING
static inline wisp_status wisp_state_samef(wisp_state *state, const char *name, const char *format, ...)
{
    WISP_FORMATTED(words, WISP_MESSAGE, format);
    return wisp_state_same(state, name, words);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
