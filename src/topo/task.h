/* Inside of tasks (include/wisp/task.h). */
#ifndef WISP_TOPO_TASK_H
#define WISP_TOPO_TASK_H
#include "../base/base.h"
#include <wisp/task.h>

/* All processing units that a context of the calling thread may use, in a task with units its own; how many. */
int wisp__allowed_cpus(wisp__units *set);
/* A context's tasks are over, and no more begin; false: the calling one would wait for ever. */
bool wisp__tasks_close(wisp_ctx *ctx);
/* Around a fork: no other thread is at the tasks. In the child, between the two: its threads are gone, and tasks but
   the one that has forked are over; then for each context. */
void wisp__tasks_lock(void);
void wisp__tasks_unlock(void);
void wisp__tasks_forked(void);
void wisp__task_threads_forked(wisp_ctx *ctx);
/* What it has for its tasks goes. */
void wisp__tasks_free(wisp_ctx *ctx);
#endif
