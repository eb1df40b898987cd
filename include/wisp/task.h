/* Tasks: functions that run beside the calling thread, on processing units of their own.
 *
 * A task has as many units as it asks for, and no other task has them meanwhile, of whichever context of the process;
 * it waits for those that it comes after, and for units. Its thread may run on these units alone, and so may all
 * threads that it starts: with GCC's OpenMP a parallel region in it has as many threads as units, which stay there;
 * with others each of the region's threads calls wisp_task_pin first. A context that is made in a task takes the task's
 * units, too: so two solvers run side by side. (Kreutzer et al., GHOST, section 4.2, describe such tasks.)
 *
 * The units are those that the process may use, as the context found them when it was made. A context's own threads
 * know nothing of tasks: where both compute at the same time, the context has fewer threads than there are units
 * (wisp_ctx_opts.threads). Tasks that wait for each other by other means than these calls, at a barrier or in a call of
 * all ranks that are threads, need their units at the same time: they ask for no more than there are.
 *
 * All calls may be made by any thread, and in tasks. A child of fork has no tasks: it makes a context of its own; its
 * parent's tasks are over there, with WISP_ERR_UNSUPPORTED. */
#ifndef WISP_TASK_H
#define WISP_TASK_H
#include "wisp.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wisp_task wisp_task;
/* What a task does. Its status is that of the task; other results go where arg points. */
typedef wisp_status (*wisp_task_fn)(wisp_task *task, void *arg);

enum {
    WISP_TASK_FIRST = 1,      /* it goes before all that wait already */
    WISP_TASK_NODE_ONLY = 2,  /* it runs on the node alone, not only rather there */
    WISP_TASK_KEEP_UNITS = 4, /* tasks that it starts may not have its units while it waits for them */
    WISP_TASK_UNPINNED = 8    /* it needs no units, and its thread may run on any: for what mostly waits */
};

typedef struct {
    wisp_task_fn fn;
    void *arg;
    int units;      /* 0: 1 */
    int node;       /* memory node on which its units are to be, counted from 1; 0: any */
    unsigned flags; /* WISP_TASK_... */
    int after_count;
    wisp_task *const *after; /* [after_count] tasks of the same context that have to be over before; the list, and */
                             /* they, may go when the call has returned */
} wisp_task_opts;

/* Puts a task in the process's queue and returns at once. The task begins when all that it comes after are over and its
   units are free, the first one in the queue that can. A task that another one's thread starts (its child) may have the
   units of that one, which is expected to wait for it, unless KEEP_UNITS. If that one ends first, its own parent takes
   its place, and has back what the child borrowed of it. If one that it comes after has failed, or the context is
   cancelled before it begins, it is not run, and its status is WISP_ERR_CANCELLED. To be freed by wisp_task_free.
   WISP_ERR_ARG: it could never begin, for there are not so many units (on that node, or beside those of the tasks that
   wait for it); it comes after a task of another context. WISP_ERR_NOMEM. */
WISP_API wisp_status wisp_task_start_sized(wisp_task **task, wisp_ctx *ctx, const wisp_task_opts *opts,
                                           size_t opts_size);
#ifndef WISP_BUILDING
static inline wisp_status wisp_task_start(wisp_task **task, wisp_ctx *ctx, const wisp_task_opts *opts)
{
    return wisp_task_start_sized(task, ctx, opts, sizeof *opts);
}
#else
wisp_status wisp_task_start(wisp_task **task, wisp_ctx *ctx, const wisp_task_opts *opts);
#endif
/* Returns when the task is over, with its status. What is done in tasks it comes after is seen by it, and by who waits
   for it. WISP_ERR_ARG, at once: the calling task waits for itself, directly or by way of tasks that wait for it and of
   units that they need of it (wisp_ctx_message of the context: "a wait that never ends"). Of a circle the last one that
   would close it is told. The thread that runs a task's function waits as the task. Another thread does not, also one
   that the task has started, as OpenMP does: whoever waits in one for its own task waits for ever. */
WISP_API wisp_status wisp_task_wait(wisp_task *task);
/* The same for the first of them to be over: *which is its number, or -1 where the wait would never end. */
WISP_API wisp_status wisp_task_wait_any(wisp_task *const *task, int count, int *which);
/* 1: it is over; 0: not yet. */
WISP_API int wisp_task_over(const wisp_task *task);
/* Waits until it is over, and frees it. If that wait would never end, a warning is logged and it is not freed. */
WISP_API void wisp_task_free(wisp_task *task);
/* The task that the calling thread runs; NULL: none. */
WISP_API wisp_task *wisp_task_current(void);
/* The system's numbers of a running task's units, unit[most]; returns how many there are. */
WISP_API int wisp_task_units(const wisp_task *task, int *unit, int most);
/* The calling thread may run on unit number `i` of the task alone, counted round and round. Nothing is done without
   units, or where the system refuses. */
WISP_API void wisp_task_pin(const wisp_task *task, int i);
/* All units of the context's tasks: the system's number, the memory node, from 1, and the task that has it (NULL:
   none), of any context, for up to `most`; returns how many there are. It is as things are at that moment. */
typedef struct {
    int unit, node;
    const wisp_task *task;
} wisp_task_place;
WISP_API int wisp_task_map(wisp_ctx *ctx, wisp_task_place *place, int most);

#ifdef __cplusplus
}
#endif
#endif
