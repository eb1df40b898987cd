/* Whether a task that is about to wait would ever go on. A task that runs and waits for nothing is taken to end some
   time; then so do those that wait for it, and for its units; and so on. What is left at last waits in a circle. */
#include "task_queue.h"

static bool ends(const wisp_task *t) { return t->state == TASK_OVER || t->ends; }

static bool all_end(const wisp_task *live, const wisp_ctx *ctx)
{
    for (const wisp_task *t = live; t; t = t->next)
        if (t->ctx == ctx && !t->ends) return false;
    return true;
}

/* By what is known of others so far. */
static bool will_end(const wisp_task *t, const wisp_task *live)
{
    if (t->state == TASK_WAITS) {
        if (wisp__task_cancelled(t)) return true;
        for (int i = 0; i < t->o.after_count; i++)
            if (!ends(t->after[i])) return false;
        return wisp__task_units_come(t);
    }
    if (t->closes) return all_end(live, t->closes);
    for (int i = 0; i < t->waits_count; i++)
        if (ends(t->waits[i])) return true;
    return t->waits_count == 0;
}

bool wisp__task_ends(wisp_task *live, const wisp_task *task)
{
    bool more = true;
    for (wisp_task *t = live; t; t = t->next) t->ends = false;
    while (more) {
        more = false;
        for (wisp_task *t = live; t; t = t->next)
            if (!t->ends && will_end(t, live)) more = t->ends = true;
    }
    return task->ends;
}
