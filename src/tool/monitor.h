/* How a run shows itself, and what stops it: progress, messages, signals. */
#ifndef WISP_TOOL_MONITOR_H
#define WISP_TOOL_MONITOR_H
#include <wisp/wisp.h>
#include "options.h"

typedef struct tool tool;

/* stop_at.c: where $WISP_STOP_AT=SIGNAL[,SIGNAL]:POINT:NUMBER[@RANK] has a signal raised, or two at once, by that
   process itself. POINT is a
   task's name, as progress has it, and NUMBER which part of it is done, of --average with 1 for each realization
   before; or "checkpoint", and how many were tried; or "printing", just before JSON is written to the standard output.
 */
typedef struct {
    char point[32]; /* "": none */
    double from;
    int signals[2]; /* 0: not on this process, or no more */
} stop_point;

/* How a long run shows itself on the standard error. */
typedef enum { MONITOR_SILENT, MONITOR_BAR, MONITOR_TEXT, MONITOR_JSON } monitor_mode;
typedef struct {
    monitor_mode mode;
    wisp_log_level level;
    bool off;               /* nothing is said: another rank does */
    bool waits;             /* nor is why something failed, yet: it is in error */
    bool terminal;          /* what the launcher gets to print goes to one */
    const command_def *cmd; /* that runs, and its options: whose words texts of the library get; NULL: none yet */
    const options *opt;
    stop_point stop;
    char error[1600]; /* the last one, said or not */
    bool bar_shown;
    bool holding; /* while a context is made: the last message is kept, for it may be why there is none */
    wisp_log_level held_level;
    char held[1024];
    char task[32];
    double started, started_done, started_flops; /* of this task: when it was first seen, how far it was then */
    double printed, printed_done;                /* its last line: when, how far */
    int64_t iteration;                           /* of a solver, and its residual; 0: none yet */
    double residual;
    int found; /* of wanted pairs, of a solver of eigenpairs; wanted NaN: of an unknown number */
    double wanted;
    int part, parts; /* of --average: which realization, of how many; else 0 */
    bool pairs;      /* iterations are rounds, found and wanted hold */
} monitor;

/* stop_at.c, see stop_point. */
int stop_at_read(tool *t);
bool stop_at_names(const stop_point *s, const char *point);
void stop_at(stop_point *s, const char *point, double reached);

/* fields.c: a text of the library, with the options of the running subcommand where it names fields of a call's
   options; in to, which is returned. */
const char *fields_to_options(const monitor *mon, const char *text, char *to, size_t size);

/* monitor.c */
void monitor_open(monitor *mon, const command_def *cmd, const options *o);
void monitor_clear(monitor *mon); /* takes the bar away, to print something else */
int monitor_progress(void *arg, const wisp_progress *p);
/* What is shown beside the progress from now on. */
void monitor_iteration(monitor *mon, int64_t iteration, double residual);
void monitor_part(monitor *mon, int part, int parts);
void monitor_pairs(monitor *mon, int round, int found, double wanted, double residual);
void monitor_log(void *arg, wisp_log_level level, const char *message);
void monitor_error(monitor *mon, const char *message);
/* What is to be known besides: a line of its own, and behind the error that there is. */
void monitor_error_more(monitor *mon, const char *format, ...) WISP_PRINTF(2, 3);
void monitor_release(monitor *mon); /* prints what was held */
/* SIGINT, SIGTERM and SIGHUP cancel this context's work; another one, a second or more later, ends the
   process. NULL: as they were. */
void catch_signals(wisp_ctx *ctx);
/* From now on a first one is only noted; false: as before. */
void catch_only_noted(bool only);
const char *caught_signal(void); /* in words; NULL if there was none */
const char *stop_reason(void);   /* of a run that was stopped: that, or a request */

/* From now on SIGUSR1 asks for a checkpoint. */
void catch_requests(void);
/* The three signals have this checkpoint written, and then end the work; NULL: as before. */
void catch_for_checkpoint(wisp_checkpoint *checkpoint);
#endif
