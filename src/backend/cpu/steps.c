/* Steps of a recurrence on the CPU, interleaved: every thread goes through all tasks in their order and does its own
   part of each group, the same rows in all steps, so that they stay in its caches, and what other threads have not
   begun of theirs when that is done. It waits only where a task needs blocks that other threads have begun and not
   finished. */
#include "prepare.h"

typedef struct {
    wisp_ctx *ctx;
    const wisp__step *step;
    wisp__cpu_sweep *sweep; /* [steps] */
    const wisp__schedule *schedule;
    const wisp__grid *grid;
    double *partial; /* [steps][blocks][dot_size], if there are dots */
    size_t dot_size;
    atomic_int *finished; /* [tasks] blocks */
    atomic_int *taken;    /* [threads][tasks] blocks of a thread's part that were begun, by whomever */
    atomic_bool stopped;
} steps_run;

/* Blocks that make up a task's group. */
static int64_t blocks_of(const steps_run *r, int64_t task)
{
    const int64_t n = r->schedule->group_blocks;
    return WISP__MIN(n, r->grid->blocks - r->schedule->task[task].group * n);
}

typedef struct {
    steps_run *run;
    int64_t task;
} awaited;

static bool finished(const void *arg)
{
    const awaited *a = arg;
    return atomic_load(&a->run->finished[a->task]) == blocks_of(a->run, a->task) ||
           wisp__team_stop(a->run->ctx->team, &a->run->stopped);
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
    awaited a = {r, 0}; /* all tasks before it are finished */
    for (int64_t i = 0; i < s->tasks; i++) {
        const wisp__task task = s->task[i];
        const wisp__step *step = r->step + task.step;
        const int64_t first = task.group * s->group_blocks, n = blocks_of(r, i);
        const wisp__spmmv_fn fn = wisp__cpu_fn(step->kernel);
        double *partial = step->dot ? r->partial + (size_t)(task.step * g->blocks) * r->dot_size : NULL;
        int done = 0;
        wisp__cpu_sweep sweep = r->sweep[task.step];
        sweep.cpu.near = task.near;
        for (; a.task <= task.after && !wisp__team_stop(r->ctx->team, &r->stopped); a.task++)
            if (!finished(&a)) wisp__team_wait(r->ctx->team, finished, &a);
        if (wisp__team_stop(r->ctx->team, &r->stopped)) return;
        for (int64_t b; (b = next_block(r, i, n, thread, threads)) >= 0; done++)
            wisp__run_block(fn, &sweep.p, g, first + b, partial, r->dot_size);
        if (done == 0) continue;
        atomic_fetch_add(&r->finished[i], done);
        wisp__team_tell(r->ctx->team);
    }
}

wisp_status wisp__cpu_reserve_steps(wisp_ctx *ctx, int steps, const wisp__grid *grid, size_t dot_size)
{
    double *partial;
    return wisp__cpu_room(ctx, &partial, steps * grid->blocks, dot_size);
}

wisp_status wisp__cpu_launch_steps(wisp_ctx *ctx, const wisp__step *step, int steps, const wisp__schedule *schedule,
                                   const wisp__grid *grid, size_t dot_size)
{
    steps_run run = {.ctx = ctx, .step = step, .schedule = schedule, .grid = grid, .dot_size = dot_size};
    bool dots = false;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &run.sweep, (size_t)steps, sizeof *run.sweep));
    for (int i = 0; i < steps; i++) {
        dots |= step[i].dot != NULL;
        run.sweep[i] = (wisp__cpu_sweep){*step[i].p, wisp__cpu_advise(ctx, step[i].p)};
        run.sweep[i].cpu.past = run.sweep[i].cpu.streams = false; /* they are read again soon */
    }
    if (dots) WISP_TRY(wisp__cpu_room(ctx, &run.partial, steps * grid->blocks, dot_size));
    WISP_TRY(wisp_alloc(ctx, &run.finished, (size_t)schedule->tasks, sizeof *run.finished));
    WISP_TRY(wisp_alloc(ctx, &run.taken, (size_t)(ctx->threads * schedule->tasks), sizeof *run.taken));
    status = wisp__whole(ctx, "multiplying", wisp__team_run(ctx->team, steps_thread, &run));
    for (int i = 0; i < steps && status == WISP_OK; i++) {
        if (!step[i].dot) continue;
        double *partial = run.partial + (size_t)(i * grid->blocks) * dot_size;
        wisp__cpu_add_up(ctx, false, partial, grid->blocks, dot_size);
        memcpy(step[i].dot, partial, dot_size * sizeof *partial);
    }
out:
    wisp_free(ctx, run.sweep);
    wisp_free(ctx, run.finished);
    wisp_free(ctx, run.taken);
    return status;
}
