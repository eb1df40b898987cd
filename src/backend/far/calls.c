/* The device `far`: each call is an item of its queue, by which the CPU's kernels run on its memory. */
#include "../../topo/machine.h"
#include "far.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- sweeps ----------------------------------------------------------------------------------- */

/* Of each set. */
static size_t factor_bytes(const wisp__spmmv_params *p) { return 2 * (size_t)p->reals * (size_t)p->real_bytes; }
static size_t chain_bytes(const wisp__spmmv_params *p) { return (size_t)p->chains * sizeof *p->chain; }
static size_t sweep_bytes(const wisp__spmmv_params *p)
{
    return K_FACTOR_SETS * padded(factor_bytes(p)) + padded(chain_bytes(p));
}

/* What p says, as an item's. */
static wisp_status enter_sweep(wisp_ctx *ctx, wisp__far_item *item, wisp__spmmv_params *q, const wisp__spmmv_params *p)
{
    wisp_status status;
    *q = *p;
    WISP_TRY(WISP__FAR_ENTER(ctx, K_ENTRY_ADDRESSES(&q->a), K_ADDRESSES(q)));
    for (int i = 0; i < K_FACTOR_SETS; i++) q->factors[i] = COPIED(item, p->factors[i], factor_bytes(p));
    wisp__chain *chain = COPIED(item, p->chains ? p->chain : NULL, chain_bytes(p));
    for (int i = 0; i < p->chains; i++) WISP_TRY(WISP__FAR_ENTER(ctx, &chain[i].z));
    q->chain = chain;
out:
    return status;
}

static size_t grid_bytes(const wisp__grid *g) { return padded((size_t)g->blocks * sizeof *g->order); }

static wisp_status enter_grid(wisp_ctx *ctx, wisp__far_item *item, wisp__grid *to, const wisp__grid *g)
{
    *to = *g;
    to->order = COPIED(item, g->order, (size_t)g->blocks * sizeof *g->order);
    return WISP__FAR_ENTER(ctx, &to->weight);
}

typedef struct {
    wisp__kernel kernel;
    wisp__spmmv_params p;
    wisp__grid grid;
    int64_t first, end;
    size_t dot_size;
} spmmv_call;

static wisp_status run_spmmv(wisp_ctx *ctx, void *call)
{
    const spmmv_call *c = call;
    wisp__spread_factors(&c->p);
    return wisp__backend_cpu.launch_spmmv(ctx, c->kernel, &c->p, &c->grid, c->first, c->end, c->dot_size);
}

static wisp_status far_launch_spmmv(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p,
                                    const wisp__grid *grid, int64_t first, int64_t end, size_t dot_size)
{
    spmmv_call c = {.kernel = kernel, .first = first, .end = end, .dot_size = dot_size};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(wisp__unless_cancelled(ctx, "multiplying"));
    WISP_TRY(ROOM(ctx, c, sweep_bytes(p) + grid_bytes(grid), &item));
    WISP_TRY(enter_sweep(ctx, item, &c.p, p));
    status = enter_grid(ctx, item, &c.grid, grid);
out:
    return SUBMIT(ctx, status, item, run_spmmv, c);
}

typedef struct {
    wisp__grid grid; /* how many blocks there are */
    double *dot;
    size_t dot_size;
} dots_call;

static wisp_status run_finish_dots(wisp_ctx *ctx, void *call)
{
    const dots_call *c = call;
    return wisp__backend_cpu.finish_dots(ctx, &c->grid, c->dot, c->dot_size);
}

static wisp_status far_finish_dots(wisp_ctx *ctx, const wisp__grid *grid, double *dot, size_t dot_size)
{
    dots_call c = {.grid = {.blocks = grid->blocks}, .dot = dot, .dot_size = dot_size};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, 0, &item));
    status = WISP__FAR_ENTER(ctx, &c.dot);
out:
    return SUBMIT(ctx, status, item, run_finish_dots, c);
}

/* Calls in the queue may be using that room, so that it grows when they are done; it never becomes smaller. */
static wisp_status far_reserve_steps(wisp_ctx *ctx, int steps, const wisp__grid *grid, size_t dot_size)
{
    wisp__far *f = wisp__far_of(ctx);
    const size_t numbers = (size_t)(steps * grid->blocks) * dot_size;
    if (numbers <= f->reserved) return WISP_OK;
    wisp__far_drain(ctx);
    const wisp_status status = wisp__backend_cpu.reserve_steps(ctx, steps, grid, dot_size);
    if (status == WISP_OK) f->reserved = numbers;
    return status;
}

typedef struct {
    wisp__step *step;
    int steps;
    wisp__schedule schedule;
    wisp__grid grid;
    size_t dot_size;
} steps_call;

static wisp_status run_steps(wisp_ctx *ctx, void *call)
{
    const steps_call *c = call;
    for (int i = 0; i < c->steps; i++) wisp__spread_factors(c->step[i].p);
    return wisp__backend_cpu.launch_steps(ctx, c->step, c->steps, &c->schedule, &c->grid, c->dot_size);
}

static wisp_status far_launch_steps(wisp_ctx *ctx, const wisp__step *step, int steps, const wisp__schedule *schedule,
                                    const wisp__grid *grid, size_t dot_size)
{
    const size_t list = (size_t)steps * sizeof *step, tasks = (size_t)schedule->tasks * sizeof *schedule->task;
    steps_call c = {.steps = steps, .schedule = *schedule, .dot_size = dot_size};
    size_t bytes = padded(list) + padded(tasks) + grid_bytes(grid);
    wisp__far_item *item = NULL;
    wisp_status status;
    for (int i = 0; i < steps; i++) bytes += sweep_bytes(step[i].p) + padded(sizeof *step[i].p);
    WISP_TRY(wisp__unless_cancelled(ctx, "multiplying"));
    WISP_TRY(ROOM(ctx, c, bytes, &item));
    WISP_TRY(enter_grid(ctx, item, &c.grid, grid));
    c.schedule.task = COPIED(item, schedule->task, tasks);
    c.step = COPIED(item, step, list);
    for (int i = 0; i < steps; i++) {
        wisp__spmmv_params *p = COPIED(item, step[i].p, sizeof *p);
        WISP_TRY(enter_sweep(ctx, item, p, step[i].p));
        c.step[i].p = p;
        WISP_TRY(WISP__FAR_ENTER(ctx, &c.step[i].dot));
    }
out:
    return SUBMIT(ctx, status, item, run_steps, c);
}

typedef struct {
    wisp__key key;
    wisp__spmmv_params p;
    wisp__half half;
    double *dot;
    size_t dot_size;
} half_call;

static wisp_status run_half(wisp_ctx *ctx, void *call)
{
    const half_call *c = call;
    wisp__spread_factors(&c->p);
    return wisp__backend_cpu.launch_half(ctx, &c->key, &c->p, &c->half, c->dot, c->dot_size);
}

static wisp_status far_launch_half(wisp_ctx *ctx, const wisp__key *key, const wisp__spmmv_params *p,
                                   const wisp__half *half, double *dot, size_t dot_size)
{
    half_call c = {.key = *key, .half = *half, .dot = dot, .dot_size = dot_size};
    wisp__half *h = &c.half;
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(wisp__unless_cancelled(ctx, "multiplying"));
    WISP_TRY(ROOM(ctx, c, sweep_bytes(p), &item));
    WISP_TRY(enter_sweep(ctx, item, &c.p, p));
    status = WISP__FAR_ENTER(ctx, &c.dot, &h->first, &h->row, &h->inside, &h->col, &h->val, &h->outside, &h->reach,
                             &h->incoming, &h->spill_row, &h->into, &h->from, &h->spill, &h->source_at, &h->source);
out:
    return SUBMIT(ctx, status, item, run_half, c);
}

/* ---- ops on blocks ---------------------------------------------------------------------------- */

typedef struct {
    bool is_double;
    wisp__axpby_params p;
    int64_t count;
} axpby_call;

static wisp_status run_axpby(wisp_ctx *ctx, void *call)
{
    const axpby_call *c = call;
    return wisp__backend_cpu.axpby(ctx, c->is_double, &c->p, c->count);
}

static wisp_status far_axpby(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count)
{
    const size_t bytes = (size_t)p->period * wisp__real_bytes(is_double);
    axpby_call c = {is_double, *p, count};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, 4 * padded(bytes), &item));
    c.p.a = COPIED(item, p->a, bytes);
    c.p.aw = COPIED(item, p->aw, bytes);
    c.p.b = COPIED(item, p->b, bytes);
    c.p.bw = COPIED(item, p->bw, bytes);
    status = WISP__FAR_ENTER(ctx, &c.p.x, &c.p.y);
out:
    return SUBMIT(ctx, status, item, run_axpby, c);
}

typedef struct {
    wisp__dot_kind kind;
    wisp__dot_params p;
    int64_t count, per_block;
    double *dot, *error;
} dot_call;

static wisp_status run_dot(wisp_ctx *ctx, void *call)
{
    const dot_call *c = call;
    return wisp__backend_cpu.dot(ctx, &c->kind, &c->p, c->count, c->per_block, c->dot, c->error);
}

static wisp_status far_dot(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                           int64_t per_block, double *dot, double *error)
{
    dot_call c = {*kind, *p, count, per_block, dot, error};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, 0, &item));
    status = WISP__FAR_ENTER(ctx, &c.p.x, &c.p.y, &c.dot, &c.error);
out:
    return SUBMIT(ctx, status, item, run_dot, c);
}

typedef struct {
    bool is_double;
    wisp__fuse_params p;
    int64_t per_block;
} fuse_call;

static wisp_status run_fuse(wisp_ctx *ctx, void *call)
{
    const fuse_call *c = call;
    const wisp__fuse_params *p = &c->p;
    for (int i = 0; i < p->updates; i++)
        for (int t = 0; t < p->update[i].terms; t++) {
            const wisp__fuse_term *term = p->update[i].term + t;
            wisp__spread_placed(term->factors_at, wisp__type_of(p->reals, c->is_double), p->row / p->reals, p->period,
                                (const char *)p->factors + (size_t)term->factors * wisp__real_bytes(c->is_double));
        }
    return wisp__backend_cpu.fuse(ctx, c->is_double, &c->p, c->per_block);
}

static wisp_status enter_update(wisp_ctx *ctx, wisp__far_item *item, wisp__fuse_update *u)
{
    wisp__fuse_term *term = COPIED(item, u->term, (size_t)u->terms * sizeof *term);
    wisp_status status;
    WISP_TRY(WISP__FAR_ENTER(ctx, &u->y));
    for (int i = 0; i < u->terms; i++) WISP_TRY(WISP__FAR_ENTER(ctx, K_TERM_ADDRESSES(term + i)));
    u->term = term;
out:
    return status;
}

static wisp_status far_fuse(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block)
{
    const size_t factors = (size_t)p->factor_count * wisp__real_bytes(is_double),
                 dots = (size_t)p->dots * sizeof *p->dot, updates = (size_t)p->updates * sizeof *p->update,
                 term = sizeof *p->update->term;
    fuse_call c = {is_double, *p, per_block};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c,
                  padded(factors) + padded(dots) + padded(updates) + (size_t)(p->terms + p->updates) * padded(term),
                  &item));
    wisp__fuse_update *update = COPIED(item, p->update, updates);
    wisp__fuse_dot *dot = COPIED(item, p->dot, dots);
    for (int i = 0; i < p->updates; i++) WISP_TRY(enter_update(ctx, item, update + i));
    for (int i = 0; i < p->dots; i++) WISP_TRY(WISP__FAR_ENTER(ctx, K_DOT_ADDRESSES(dot + i)));
    c.p.factors = COPIED(item, p->factors, factors);
    c.p.dot = dot;
    c.p.update = update;
out:
    return SUBMIT(ctx, status, item, run_fuse, c);
}

typedef struct {
    bool is_double, compensated;
    wisp__gram_params p;
    int64_t per_block;
    double *sum;
} gram_call;

static wisp_status run_gram(wisp_ctx *ctx, void *call)
{
    const gram_call *c = call;
    return wisp__backend_cpu.gram(ctx, c->is_double, c->compensated, &c->p, c->per_block, c->sum);
}

static wisp_status far_gram(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p,
                            int64_t per_block, double *sum)
{
    gram_call c = {is_double, compensated, *p, per_block, sum};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, 0, &item));
    status = WISP__FAR_ENTER(ctx, &c.p.v, &c.p.w, &c.sum);
out:
    return SUBMIT(ctx, status, item, run_gram, c);
}

static wisp_status run_join(wisp_ctx *ctx, void *call) { return wisp__backend_cpu.join(ctx, call); }

static wisp_status far_join(wisp_ctx *ctx, const wisp__join_params *p)
{
    wisp__join_params c = *p;
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, 0, &item));
    status = WISP__FAR_ENTER(ctx, &c.sum, &c.to);
out:
    return SUBMIT(ctx, status, item, run_join, c);
}

typedef struct {
    bool is_double;
    wisp__update_params p;
    int64_t rows;
} update_call;

static wisp_status run_update(wisp_ctx *ctx, void *call)
{
    const update_call *c = call;
    if (c->p.x_from.at) wisp__take_apart(c->is_double, &c->p, (void *)(uintptr_t)c->p.x);
    return wisp__backend_cpu.update(ctx, c->is_double, &c->p, c->rows);
}

static wisp_status far_update(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows)
{
    const size_t bytes = (size_t)(p->p * p->ld_x) * wisp__real_bytes(is_double);
    update_call c = {is_double, *p, rows};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, padded(bytes), &item));
    c.p.x = p->x ? COPIED(item, p->x, bytes) : wisp__far_copies(item, bytes);
    status = WISP__FAR_ENTER(ctx, &c.p.v, &c.p.w, &c.p.x_from.at);
out:
    return SUBMIT(ctx, status, item, run_update, c);
}

static wisp_status run_scalars(wisp_ctx *ctx, void *call) { return wisp__backend_cpu.scalars(ctx, call); }

static wisp_status far_scalars(wisp_ctx *ctx, const wisp__scalars_params *p)
{
    wisp__scalars_params c = *p;
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, 0, &item));
    status = WISP__FAR_ENTER(ctx, &c.at);
out:
    return SUBMIT(ctx, status, item, run_scalars, c);
}

/* ---- matrices --------------------------------------------------------------------------------- */

/* What the CPU makes lies in memory of its own, which nobody else knows. */
static wisp_status far_prepare(wisp_ctx *ctx, const wisp__given *given, wisp__prepared **made)
{
    wisp__entries a = *given->entries;
    wisp__given g = *given;
    wisp_status status;
    *made = NULL;
    WISP_TRY(WISP__FAR_ENTER(ctx, K_ENTRY_ADDRESSES(&a)));
    WISP_TRY(wisp__far_finish(ctx));
    g.entries = &a;
    status = wisp__backend_cpu.prepare(ctx, &g, made);
out:
    return status;
}

static void far_release(wisp_ctx *ctx, wisp__prepared *made)
{
    wisp__far_drain(ctx); /* calls that use it */
    wisp__backend_cpu.release(ctx, made);
}

static void far_foresee(wisp_ctx *ctx, const wisp__given *g, int64_t *kept, int64_t *making)
{
    wisp__backend_cpu.foresee(ctx, g, kept, making);
}

static wisp__kernel far_find_spmmv(wisp_ctx *ctx, const wisp__key *key, const wisp__entries *a)
{
    return wisp__backend_cpu.find_spmmv(ctx, key, a);
}

/* ---- the device ------------------------------------------------------------------------------- */

/* Two, so that there is a number. */
static bool far_describe(wisp_device *d)
{
    enum { DEVICES = 2 };
    snprintf(d->what, sizeof d->what, "for tests: the processors, with memory that the host can't touch");
    d->memory_bytes = wisp__memory_installed();
    d->for_tests = 1;
    return d->number < DEVICES;
}

static wisp_status far_open(wisp_ctx *ctx)
{
    const wisp_status status = wisp__far_queue_open(ctx);
    if (status != WISP_OK) return status;
    wisp__far_watch(wisp__far_of(ctx));
    return wisp__backend_cpu.open(ctx);
}

static void far_close(wisp_ctx *ctx)
{
    if (ctx->device) wisp__far_unwatch(wisp__far_of(ctx));
    wisp__far_queue_close(ctx);
    wisp__backend_cpu.close(ctx);
}

/* Those of the CPU; and as a device asks that takes long to wait for, and is at work with some columns alone. */
static void far_facts(wisp_ctx *ctx, wisp__facts *f)
{
    enum { LOOK_EVERY = 16, STEPS = 64, COLUMNS = 4 };
    wisp__backend_cpu.facts(ctx, f);
    f->look_every = LOOK_EVERY;
    f->steps = STEPS;
    f->columns = COLUMNS;
}

const wisp__backend wisp__backend_far = {
    .name = "far",
    .kinds = WISP__ALL_KINDS,
    .describe = far_describe,
    .open = far_open,
    .close = far_close,
    .tuned = &wisp__cpu_tuned, /* it has the kernels of CPUs */
    .facts = far_facts,
    .alloc = wisp__far_alloc,
    .free = wisp__far_free,
    .take = wisp__far_take,
    .prepare = far_prepare,
    .release = far_release,
    .foresee = far_foresee,
    .borrow = wisp__far_borrow,
    .lend = wisp__far_lend,
    .unlend = wisp__far_unlend,
    .read = wisp__far_read,
    .write = wisp__far_write,
    .finish = wisp__far_finish,
    .find_spmmv = far_find_spmmv,
    .launch_spmmv = far_launch_spmmv,
    .finish_dots = far_finish_dots,
    .reserve_steps = far_reserve_steps,
    .launch_steps = far_launch_steps,
    .launch_half = far_launch_half,
    .time_launches = wisp__far_time_launches,
    .fill = wisp__far_fill,
    .random = wisp__far_random,
    .put = wisp__far_put,
    .get = wisp__far_get,
    .copy_columns = wisp__far_copy_columns,
    .pack = wisp__far_pack,
    .unpack = wisp__far_unpack,
    .axpby = far_axpby,
    .dot = far_dot,
    .fuse = far_fuse,
    .gram = far_gram,
    .join = far_join,
    .update = far_update,
    .scalars = far_scalars,
};
