/* Steps of a recurrence on the CPU, interleaved: every thread goes through all tasks in their order and does its own
   part of each group, the same rows in all steps, so that they stay in its caches, and what other threads have not
   begun of theirs when that is done. It waits only where a task needs what other threads have not done yet. */
#include "backend.h"
#include <sched.h>

/* Tasks of which a thread has found no block left to begin, and has finished those it began; on a cache line of its
   own. */
typedef struct {
    _Alignas(64) atomic_llong done;
} progress;

typedef struct {
    wisp_ctx *ctx;
    const wisp__step *step;
    const wisp__schedule *schedule;
    const wisp__grid *grid;
    size_t dot_size;
    progress *progress; /* [threads] */
    atomic_int *taken;  /* [threads][tasks] blocks of a thread's part that were begun, by whomever */
    atomic_bool stopped;
} steps_run;

static bool stop(steps_run *r)
{
    if (wisp__cancelled(r->ctx)) atomic_store(&r->stopped, true);
    return atomic_load_explicit(&r->stopped, memory_order_relaxed);
}

/* False if the call was cancelled. */
static bool wait_for(steps_run *r, int64_t after, int thread, int threads)
{
    enum { SPINS = 4096 };
    for (int t = 0; t < threads; t++) {
        if (t == thread) continue;
        for (int n = 0; atomic_load_explicit(&r->progress[t].done, memory_order_acquire) <= after;) {
            if (n++ < SPINS) continue;
            n = SPINS;
            if (stop(r)) return false;
            sched_yield(); /* more threads than cores */
        }
    }
    return true;
}

/* The next block of n that make up a task's group: of this thread's part, then of the others'; -1: there is none. */
static int64_t next_block(const steps_run *r, int64_t task, int64_t n, int thread, int threads)
{
    int64_t block = -1;
    for (int i = 0; i < threads && block < 0; i++) {
        const int owner = (thread + i) % threads;
        block = wisp__take(r->taken + owner * r->schedule->tasks + task, wisp__split(n, threads, owner),
                           wisp__split(n, threads, owner + 1));
    }
    return block;
}

static void steps_thread(void *arg, int thread, int threads)
{
    steps_run *r = arg;
    const wisp__schedule *s = r->schedule;
    const wisp__grid *g = r->grid;
    for (int64_t i = 0; i < s->tasks; i++) {
        const wisp__task task = s->task[i];
        const wisp__step *step = r->step + task.step;
        const int64_t first = task.group * s->group_blocks, n = WISP__MIN(g->blocks - first, s->group_blocks);
        wisp__spmmv_params p = *step->p;
        p.near = task.near;
        if (stop(r) || !wait_for(r, task.after, thread, threads)) return;
        for (int64_t b; (b = next_block(r, i, n, thread, threads)) >= 0;)
            wisp__run_block(step->fn, &p, g, first + b, step->partial, r->dot_size);
        atomic_store_explicit(&r->progress[thread].done, i + 1, memory_order_release);
    }
}

wisp_status wisp__cpu_launch_steps(wisp_ctx *ctx, const wisp__step *step, const wisp__schedule *schedule,
                                   const wisp__grid *grid, size_t dot_size)
{
    steps_run run = {.ctx = ctx, .step = step, .schedule = schedule, .grid = grid, .dot_size = dot_size};
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &run.progress, (size_t)ctx->threads, sizeof *run.progress));
    WISP_TRY(wisp_alloc(ctx, &run.taken, (size_t)(ctx->threads * schedule->tasks), sizeof *run.taken));
    status = wisp__whole(ctx, "multiplying", wisp__team_run(ctx, steps_thread, &run));
out:
    wisp_free(ctx, run.progress);
    wisp_free(ctx, run.taken);
    return status;
}
