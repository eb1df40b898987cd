/* What the files of tasks share: what a task is, and what a context has for its tasks. The process has one list of
   tasks and one table of units, so that tasks of several contexts do not meet on a unit. All of it but what is said to
   be fixed changes under the one lock (task.c). */
#ifndef WISP_TASK_QUEUE_H
#define WISP_TASK_QUEUE_H
#include "task.h"

typedef struct {
    int number, node; /* the system's */
} wisp__task_unit;

typedef struct wisp__tasks {
    int idle, ready, threads; /* threads of its tasks; idle ones, which had unpinned tasks; tasks that are for these */
    bool closing;
    bool simulated; /* units that tests make up ($WISP_TASK_NODES); fixed */
    int units;      /* that its tasks may have; fixed */
    wisp__task_unit *unit;
} wisp__tasks;

typedef enum { TASK_WAITS, TASK_READY, TASK_RUNS, TASK_OVER } wisp__task_state; /* ready: for an idle thread */

struct wisp_task {
    wisp_task_opts o;   /* fixed */
    wisp_ctx *ctx;      /* fixed */
    wisp_task *parent;  /* the task that started it; when that one is over, its parent; NULL: none */
    wisp_task *next;    /* in a list */
    wisp_task **after;  /* [o.after_count]; fixed */
    int *unit;          /* [o.units] numbers of its units, while it runs */
    wisp_task **lender; /* [o.units] who had them before; NULL: nobody */
    atomic_int held;    /* by its user, by its thread or the list until it is over, by those that come after it */
    unsigned cancel;    /* the context's wish to cancel when it was started; fixed */
    wisp__task_state state;
    wisp_status status;
    wisp_task *const
        *waits; /* [waits_count] its thread waits until one of these is over, or until all of `closes` are: */
    int waits_count;
    const wisp_ctx *closes;
    bool ends; /* task_circle.c has found so */
};

/* Of one that waits to begin: whether its context was cancelled since it was started. */
static inline bool wisp__task_cancelled(const wisp_task *t) { return !wisp__undisturbed(t->ctx->team, t->cancel); }

/* task_units.c */
/* False: no memory. */
bool wisp__task_units_find(wisp__tasks *q, wisp_ctx *ctx);
/* Whether a task could ever have its units; and gives it them if it can have them now. */
bool wisp__task_units_suffice(const wisp_task *t);
bool wisp__task_units_take(wisp_task *t);
/* Whether it has them some time, when those are over that are marked to end. */
bool wisp__task_units_come(const wisp_task *t);
/* They go to who lent them; what others have borrowed of them, they then have from that one. */
void wisp__task_units_return(wisp_task *t);
/* Those of a task that runs; false: there are none, or none that the system knows. */
bool wisp__task_units_set(const wisp_task *t, wisp__units *set);
/* Which task has the unit of this number; NULL: none. */
const wisp_task *wisp__task_unit_has(int number);

/* task_circle.c: whether a task, which is about to wait, goes on some time; `live`: all that are not over. */
bool wisp__task_ends(wisp_task *live, const wisp_task *task);
#endif
