/* Interleaved steps on a GPU: kernel/interleaved.gpu.h, with tables of the steps and of the schedule's tasks. In one
   launch, whose groups draw blocks and wait for each other; or in a launch for each wave, of tasks that don't wait for
   each other. Dots go by blocks, so that each way gives the bits of one step after the other. */
#include "gpu.h"
#include <stdlib.h>

typedef struct {
    wisp_ctx *ctx;
    const wisp__step *step;
    int steps;
    const wisp__schedule *schedule;
    const wisp__grid *grid;
    size_t dot_size, each; /* of a step: bytes of the groups' sums */
    wisp__gpu_call c;
    k_steps k;
    int arrays;   /* of the kernel that are taken */
    char *tables; /* array 0 */
    size_t bytes, factors_at;
} steps_run;

/* ---- tables ------------------------------------------------------------------------------------ */

static int64_t cut(size_t *end, size_t bytes)
{
    const size_t at = *end;
    *end += wisp__lines(bytes);
    return (int64_t)at;
}

static size_t factor_bytes(const wisp__spmmv_params *p) { return wisp__lines(2 * (size_t)p->width * sizeof(double)); }

static wisp_status cut_tables(steps_run *r)
{
    const size_t tasks = (size_t)r->schedule->tasks;
    size_t chains = 0;
    k_steps *k = &r->k;
    for (int i = 0; i < r->steps; i++) chains += (size_t)WISP__MAX(r->step[i].p->chains - 1, 0);
    k->steps_at = cut(&r->bytes, (size_t)r->steps * sizeof(k_step));
    k->chains_at = cut(&r->bytes, chains * sizeof(k_chain));
    k->tasks_at = cut(&r->bytes, tasks * sizeof(k_task));
    r->factors_at = (size_t)cut(&r->bytes, 2 * (size_t)r->steps * factor_bytes(r->step[0].p));
    k->done_at = cut(&r->bytes, (1 + tasks) * sizeof(i32));
    r->tables = calloc(1, r->bytes);
    if (r->tables) return WISP_OK;
    return wisp_ctx_failf(r->ctx, WISP_ERR_NOMEM, "out of memory for tables of %lld tasks",
                          (long long)r->schedule->tasks);
}

/* The kernel's array that a buffer is; K_PLACES: there are too many. */
static int array_of(steps_run *r, void *buffer)
{
    int i = 1;
    if (!buffer) return -1;
    while (i < r->arrays && r->c.buffer[i] != buffer) i++;
    if (i == K_PLACES) return i;
    r->c.buffer[i] = buffer;
    r->arrays = WISP__MAX(r->arrays, i + 1);
    return i;
}

/* Factors are in the device's memory, or come with the tables. */
static void enter_factors(steps_run *r, k_step *to, wisp__gpu_call *c, const wisp__spmmv_params *p, int set, int array)
{
    if (p->factors_at[set]) {
        wisp__gpu_at(c, array, p->factors_at[set]);
        return;
    }
    double *room = (double *)(void *)(r->tables + r->factors_at);
    wisp__gpu_sweep_factors(p, set, room);
    to->array[array] = 0;
    to->sweep.at[array] = (int64_t)r->factors_at;
    r->factors_at += factor_bytes(p);
}

/* Chains beyond the first, from number *chain on. */
static wisp_status enter_chains(steps_run *r, k_step *to, const wisp__spmmv_params *p, int64_t *chain, bool *fit)
{
    k_chain *all = (k_chain *)(void *)(r->tables + r->k.chains_at);
    wisp_status status = WISP_OK;
    to->chain = *chain;
    to->chains = WISP__MAX(p->chains - 1, 0);
    for (int i = 1; i < p->chains; i++) {
        k_chain *k = all + (*chain)++;
        void *buffer = NULL;
        WISP_TRY(wisp__gpu_place(r->ctx, p->chain[i].z, &buffer, &k->at));
        k->array = array_of(r, buffer);
        k->ld = p->chain[i].ld / (p->reals / p->width);
        memcpy(k->eta, p->chain[i].eta, sizeof k->eta);
        *fit &= k->array < K_PLACES;
    }
out:
    return status;
}

static wisp_status enter_step(steps_run *r, int number, int64_t *chain, bool *fit)
{
    const wisp__spmmv_params *p = r->step[number].p;
    k_step *to = (k_step *)(void *)(r->tables + r->k.steps_at) + number;
    wisp__gpu_call c = wisp__gpu_sweep_call(r->ctx, &to->sweep, p, r->grid, r->dot_size);
    for (int i = 0; i < K_PLACES; i++) to->array[i] = -1;
    if (p->terms & K_SHIFT) enter_factors(r, to, &c, p, K_FACTORS_SHIFT, A_SHIFT);
    if (p->terms & K_ADD) enter_factors(r, to, &c, p, K_FACTORS_ADD, A_ADD);
    if (to->sweep.dot_size) wisp__gpu_own(&c, A_PARTIAL, wisp__gpu_of(r->ctx)->partial, (size_t)number * r->each);
    for (int i = 0; i < K_PLACES; i++) {
        if (c.buffer[i]) to->array[i] = array_of(r, c.buffer[i]);
        *fit &= to->array[i] < K_PLACES;
    }
    return c.status == WISP_OK ? enter_chains(r, to, p, chain, fit) : c.status;
}

static void enter_tasks(steps_run *r)
{
    const wisp__task *t = r->schedule->task;
    k_task *to = (k_task *)(void *)(r->tables + r->k.tasks_at);
    for (int64_t i = 0; i < r->schedule->tasks; i++) to[i] = (k_task){t[i].group, t[i].step, t[i].after};
}

/* *fit: the kernel has arrays for all buffers. */
static wisp_status enter(steps_run *r, bool *fit)
{
    int64_t chain = 0;
    wisp_status status;
    *fit = true;
    r->arrays = 1;
    WISP_TRY(cut_tables(r));
    for (int i = 0; i < r->steps; i++) WISP_TRY(enter_step(r, i, &chain, fit));
    if (!*fit) goto out;
    enter_tasks(r);
    wisp__gpu_staged(&r->c, 0, r->tables, r->bytes);
    status = r->c.status;
out:
    return status;
}

/* ---- launches ---------------------------------------------------------------------------------- */

static wisp_status launch(steps_run *r, int64_t groups)
{
    const wisp__gpu *g = wisp__gpu_of(r->ctx);
    bool alike = true;
    char defines[384];
    for (int i = 1; i < r->steps; i++) alike &= r->step[i].p->terms == r->step[0].p->terms;
    wisp__gpu_sweep_defines(g, r->step[0].kernel, r->step[0].p, !alike, defines, sizeof defines);
    return wisp__gpu_launch(&r->c, "interleaved", groups, "%s", defines);
}

/* A launch for each wave: tasks first .. end - 1, none of which waits for another of them. */
static wisp_status launch_waves(steps_run *r)
{
    const wisp__schedule *s = r->schedule;
    wisp_status status = WISP_OK;
    for (int64_t first = 0, end; first < s->tasks; first = end) {
        for (end = first + 1; end < s->tasks && s->task[end].after < first;) end++;
        r->k.first = first * s->group_blocks;
        r->k.end = end * s->group_blocks;
        WISP_TRY(launch(r, r->k.end - r->k.first));
    }
out:
    return status;
}

static wisp_status launch_drawn(steps_run *r)
{
    r->k.draws = 1;
    r->k.end = r->schedule->tasks * r->schedule->group_blocks;
    return launch(r, WISP__MIN(r->k.end, wisp__gpu_of(r->ctx)->most_groups));
}

/* Each finds done what it waits for. */
static wisp_status launch_each(const steps_run *r)
{
    const wisp__schedule *s = r->schedule;
    wisp__grid grid = *r->grid;
    wisp_status status = WISP_OK;
    grid.order = NULL;
    for (int64_t i = 0; i < s->tasks; i++) {
        const wisp__task *t = s->task + i;
        const int64_t first = t->group * s->group_blocks, end = WISP__MIN(first + s->group_blocks, grid.blocks);
        WISP_TRY(wisp__gpu_launch_blocks(r->ctx, r->step[t->step].kernel, r->step[t->step].p, &grid, first, end,
                                         r->dot_size, (size_t)t->step * r->each));
    }
out:
    return status;
}

/* Blocks are drawn by numbers of 32 bits, beyond the last by each group once. */
static wisp_status launch_all(steps_run *r)
{
    const wisp__gpu *g = wisp__gpu_of(r->ctx);
    const bool countable = r->schedule->tasks * r->schedule->group_blocks <= INT32_MAX - g->most_groups;
    bool fit = false;
    wisp_status status = WISP_OK;
    if (g->steps != WISP__STEPS_EACH) WISP_TRY(enter(r, &fit));
    status = !fit ? launch_each(r) : g->steps == WISP__STEPS_DRAWN && countable ? launch_drawn(r) : launch_waves(r);
out:
    return status;
}

wisp_status wisp__gpu_launch_steps(wisp_ctx *ctx, const wisp__step *step, int steps, const wisp__schedule *schedule,
                                   const wisp__grid *grid, size_t dot_size)
{
    bool dots = false;
    for (int s = 0; s < steps; s++) dots |= step[s].dot != NULL;
    if (!dots) dot_size = 0; /* no room for them */
    steps_run r = {.ctx = ctx,
                   .step = step,
                   .steps = steps,
                   .schedule = schedule,
                   .grid = grid,
                   .dot_size = dot_size,
                   .each = (size_t)grid->blocks * dot_size * sizeof(double),
                   .k = {.group_blocks = schedule->group_blocks, .blocks = grid->blocks}};
    wisp_status status;
    WISP_TRY(wisp__unless_cancelled(ctx, "multiplying"));
    r.c = WISP__GPU_CALL(ctx, r.k);
    WISP_TRY(wisp__gpu_reserve_steps(ctx, steps, grid, dot_size));
    WISP_TRY(launch_all(&r));
    for (int s = 0; s < steps; s++)
        if (step[s].dot)
            WISP_TRY(wisp__gpu_sum(ctx, (size_t)s * r.each, grid->blocks, (int64_t)dot_size, false, step[s].dot, NULL));
out:
    free(r.tables);
    return status;
}
