/* What the files of tasks share: the queue of a context, its units, and what a task is. All of it but what is said to
   be fixed changes under the queue's lock. */
#ifndef WISP_TASK_QUEUE_H
#define WISP_TASK_QUEUE_H
#include "task.h"

typedef struct {
    int number, node; /* fixed */
    wisp_task *has;   /* NULL: it is free */
} wisp__task_unit;

typedef struct wisp__tasks {
    pthread_mutex_t lock;
    pthread_cond_t news;     /* a task is over, or there is one for idle threads, or the queue closes */
    wisp_task *first, *last; /* of those that wait to begin */
    wisp_task *ready;        /* for idle threads, which are those of unpinned tasks that are over */
    int idle, readies, threads;
    int running;
    bool closing, simulated; /* simulated: units that tests make up ($WISP_TASK_NODES); fixed */
    int units;               /* fixed */
    wisp__task_unit *unit;
} wisp__tasks;

struct wisp_task {
    wisp_task_opts o;   /* fixed */
    wisp_ctx *ctx;      /* fixed */
    wisp_task *parent;  /* the task that started it; fixed. It is only looked at while that one runs */
    wisp_task *next;    /* in a list */
    wisp_task **after;  /* [o.after_count]; fixed */
    int *unit;          /* [o.units] places in the queue's units, while it runs */
    wisp_task **lender; /* [o.units] who had them before; NULL: nobody */
    atomic_int held;    /* by its user, by its thread or the queue until it is over, by those that come after it */
    bool begun, over;
    wisp_status status;
};

/* task_units.c */
/* False: no memory. */
bool wisp__task_units_find(wisp__tasks *q, wisp_ctx *ctx);
/* Whether a task could ever have its units; and gives it them if it can have them now. */
bool wisp__task_units_suffice(const wisp__tasks *q, const wisp_task *t);
bool wisp__task_units_take(wisp__tasks *q, wisp_task *t);
void wisp__task_units_return(wisp__tasks *q, wisp_task *t);
/* Those of a task that runs; false: there are none, or none that the system knows. */
bool wisp__task_units_set(const wisp__tasks *q, const wisp_task *t, cpu_set_t *set);
#endif
