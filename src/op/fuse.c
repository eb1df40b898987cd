/* Updates and dots in one pass: the kernel's parameters; launch; reduction. */
#include "fuse.h"
#include <math.h>
#include <string.h>

typedef wisp__fuse_lists lists;
typedef wisp__fuse_operand operand;
typedef wisp__fuse_operands operands;

static const wisp_scalar one = {1, 0};

static bool has_factors(const wisp_term *t) { return t->factor || t->factor_at.slot; }

/* ---- the kernel's parameters ------------------------------------------------------------------ */

/* Memory of a call: where each of its arrays is. */
typedef struct {
    operands list;
    wisp__fuse_update *update;
    wisp__fuse_term *term;
    wisp__fuse_dot *dot;
    char *factors;       /* of each term two periods */
    wisp_scalar *result; /* [dots][width] of those that go to the host */
    double *there;       /* the same, in the device's memory */
    double **to;         /* [dots] each one's place there */
} memory;

enum { ARRAYS = 7 };
static void list_sizes(const lists *l, wisp_type type, int width, size_t period, size_t bytes[ARRAYS])
{
    const size_t dots = (size_t)l->inners;
    bytes[0] = wisp__fuse_most_operands(l) * sizeof(operand);
    bytes[1] = (size_t)l->updates * sizeof(wisp__fuse_update);
    bytes[2] = l->terms * sizeof(wisp__fuse_term);
    bytes[3] = dots * sizeof(wisp__fuse_dot);
    bytes[4] = l->terms * 2 * period * wisp_type_size(wisp__real_type(type));
    bytes[5] = dots * (size_t)width * sizeof(wisp_scalar);
    bytes[6] = dots * sizeof(double *);
}

/* Of the dots that go to the host. */
static size_t numbers_of(const lists *l)
{
    size_t dots = 0;
    for (int i = 0; i < l->inners; i++) dots += !l->inner[i].dot_at.slot;
    return 2 * dots * (size_t)l->like->width;
}

/* Where each dot goes: its place, or behind those before it that go to the host. */
static wisp_status set_places(const lists *l, memory *m)
{
    const int width = l->like->width;
    double *next = m->there;
    wisp_status status = WISP_OK;
    for (int i = 0; i < l->inners; i++) {
        WISP_TRY(wisp__place_at(l->like->ctx, "fuse", l->inner[i].dot_at, width, m->to + i));
        if (m->to[i]) continue;
        m->to[i] = next;
        next += 2 * width;
    }
out:
    return status;
}

static wisp_status reserve(const lists *l, memory *m)
{
    const wisp_blk *b = l->like;
    size_t bytes[ARRAYS];
    list_sizes(l, b->type, b->width, (size_t)wisp__cut_of(b, true).period, bytes);
    size_t at[ARRAYS], end = 0;
    char *start;
    for (int i = 0; i < ARRAYS; i++) {
        at[i] = end;
        end += wisp__lines(bytes[i]);
    }
    wisp_status status;
    WISP_TRY(wisp__scratch(b->ctx->team, WISP__OP_SCRATCH, &start, end, 1));
    m->list = (operands){.operand = (operand *)(void *)(start + at[0])};
    m->update = (wisp__fuse_update *)(void *)(start + at[1]);
    m->term = (wisp__fuse_term *)(void *)(start + at[2]);
    m->dot = (wisp__fuse_dot *)(void *)(start + at[3]);
    m->factors = start + at[4];
    m->result = (wisp_scalar *)(void *)(start + at[5]);
    m->to = (double **)(void *)(start + at[6]);
    WISP_TRY(wisp__dots_room(b->ctx, &m->result->re, numbers_of(l), &m->there));
    status = set_places(l, m);
out:
    return status;
}

/* How the factors of an update's terms are given to the kernel. */
static wisp__fuse_kind kind_of(const wisp_update *u, const wisp_blk *like)
{
    const bool complex = wisp_type_is_complex(like->type);
    wisp__fuse_kind kind = K_FUSE_ONE;
    for (int t = 0; t < u->terms; t++) {
        const wisp__factor_source f = wisp__fuse_factors(u->term + t, like);
        if (complex && (f.at || !wisp__all_real(f.f, like->width))) return K_FUSE_COMPLEX;
        if (f.at || (f.f && !wisp__all_equal(f.f, like->width, f.f->re, 0))) kind = K_FUSE_REAL;
    }
    return kind;
}

/* Whether each term has one factor, which is known here, for all columns. */
static bool is_uniform(const wisp_update *u, const wisp_blk *like)
{
    for (int t = 0; t < u->terms; t++) {
        const wisp__factor_source f = wisp__fuse_factors(u->term + t, like);
        if (f.at || (f.f && !wisp__all_equal(f.f, like->width, f.f->re, f.f->im))) return false;
    }
    return true;
}

/* Distance of periods. */
static int64_t period_stride(const wisp__fuse_params *p, const wisp_blk *b) { return b->stride * p->reals * p->rows; }

static void set_term(const lists *l, memory *m, wisp__fuse_params *p, wisp__fuse_kind kind, const wisp_term *t,
                     wisp__fuse_term *to)
{
    const size_t size = wisp_type_size(wisp__real_type(l->like->type));
    const wisp__factor_source factors = wisp__fuse_factors(t, l->like);
    const wisp_scalar *f = factors.f ? factors.f : &one;
    *to = (wisp__fuse_term){
        .x = wisp__at(t->x), .ld_x = period_stride(p, t->x), .factor = f->re, .im = f->im, .factors_at = factors.at};
    to->alike = kind == K_FUSE_ONE || (!factors.f && !factors.at);
    if (t->rows) to->rows = wisp__at(t->rows), to->ld_rows = period_stride(p, t->rows);
    if (kind == K_FUSE_ONE) return;
    char *at = m->factors + (size_t)p->factor_count * size;
    wisp__spread(l->like->type, f, factors.f, l->like->width, p->period, at, at + (size_t)p->period * size);
    to->factors = p->factor_count;
    p->factor_count += 2 * p->period;
}

static void set_updates(const lists *l, memory *m, wisp__fuse_params *p)
{
    for (int i = 0; i < l->updates; i++) {
        const wisp_update *u = l->update + i;
        wisp__fuse_update *to = m->update + i;
        *to = (wisp__fuse_update){.y = wisp__at(u->y),
                                  .ld_y = period_stride(p, u->y),
                                  .term = m->term + p->terms,
                                  .kind = kind_of(u, l->like)};
        to->uniform = to->kind == K_FUSE_COMPLEX && is_uniform(u, l->like);
        for (int t = 0; t < u->terms; t++) {
            if (wisp__fuse_left_out(u->term + t, l->like)) continue;
            set_term(l, m, p, to->kind, u->term + t, m->term + p->terms + to->terms++);
            to->scaled = to->scaled || u->term[t].rows;
        }
        p->terms += to->terms;
    }
}

static void set_dots(const lists *l, memory *m, wisp__fuse_params *p)
{
    for (int i = 0; i < l->inners; i++) {
        const wisp_inner *d = l->inner + i;
        const bool cross = wisp_type_is_complex(d->x->type) && (d->rows || wisp__crosses(d->x, d->y));
        wisp__fuse_dot *to = m->dot + i;
        *to = (wisp__fuse_dot){.x = wisp__at(d->x),
                               .y = wisp__at(d->y),
                               .ld_x = period_stride(p, d->x),
                               .ld_y = period_stride(p, d->y),
                               .cross = cross,
                               .set = p->sets,
                               .to = m->to[i]};
        if (d->rows) to->rows = wisp__at(d->rows), to->ld_rows = period_stride(p, d->rows);
        p->sets += cross ? 2 : 1;
    }
}

static wisp__fuse_params params_of(const lists *l, memory *m)
{
    const wisp_blk *b = l->like;
    const wisp__cut cut = wisp__cut_of(b, m->list.compact && !m->list.wide_rows);
    wisp__fuse_params p = {.count = b->nrows,
                           .reals = wisp__reals(b->type),
                           .row = b->width * wisp__reals(b->type),
                           .period = cut.period,
                           .rows = cut.rows,
                           .flat = m->list.compact,
                           .blocks = m->list.count,
                           .update = m->update,
                           .dot = m->dot,
                           .factors = m->factors,
                           .updates = l->updates,
                           .dots = l->inners};
    set_updates(l, m, &p);
    set_dots(l, m, &p);
    return p;
}

/* Row blocks: enough numbers in each to be worth its sums, and not too many blocks. */
static int64_t most_blocks(wisp_ctx *ctx, int64_t sums)
{
    return wisp__sum_blocks(ctx, sums, wisp__tuned_of(ctx)->dots.sums);
}

/* Periods of a row block. */
static int64_t per_block(wisp_ctx *ctx, const wisp__fuse_params *p)
{
    const int64_t periods = (p->count + p->rows - 1) / p->rows, blocks = most_blocks(ctx, (int64_t)p->sets * p->row);
    return WISP__MAX((periods + blocks - 1) / blocks, WISP__MAX(wisp__tuned_of(ctx)->dots.fused / p->period, 1));
}

/* ---- dots ------------------------------------------------------------------------------------- */

/* Those that go to the host. */
static wisp_status bring(const lists *l, const memory *m, unsigned flags)
{
    wisp_ctx *ctx = l->like->ctx;
    const int width = l->like->width;
    const wisp_scalar *from = m->result;
    wisp_status status;
    WISP_TRY(wisp__dots_bring(ctx, m->there, &m->result->re, numbers_of(l)));
    if (!(flags & WISP_NOREDUCE)) WISP_TRY(wisp__reduce(ctx, &m->result->re, numbers_of(l)));
    for (int i = 0; i < l->inners; i++) {
        if (l->inner[i].dot_at.slot) continue;
        memcpy(l->inner[i].dot, from, (size_t)width * sizeof *from);
        from += width;
    }
out:
    return status;
}

/* Those that stay on the device: places that follow one another are summed up at once. */
static wisp_status reduce_places(const lists *l, const memory *m)
{
    const int numbers = 2 * l->like->width;
    wisp_status status = WISP_OK;
    for (int i = 0, n; i < l->inners; i += n) {
        n = 1;
        if (!l->inner[i].dot_at.slot) continue;
        while (i + n < l->inners && l->inner[i + n].dot_at.slot && m->to[i + n] == m->to[i] + n * numbers) n++;
        WISP_TRY(wisp__reduce_there(l->like->ctx, m->to[i], (size_t)(n * numbers)));
    }
out:
    return status;
}

/* ---- all together ----------------------------------------------------------------------------- */

static wisp_status run(const lists *l, unsigned flags)
{
    const wisp_blk *b = l->like;
    wisp_ctx *ctx = b->ctx;
    memory m;
    wisp_status status;
    if (flags & ~(unsigned)WISP_NOREDUCE)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "fuse: unknown flags 0x%x", flags & ~(unsigned)WISP_NOREDUCE);
    for (int i = 0; i < l->inners; i++)
        if (!l->inner[i].dot && !l->inner[i].dot_at.slot)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "fuse: nowhere to put dot %d", i);
    WISP_TRY(reserve(l, &m));
    WISP_TRY(wisp__fuse_check(l, &m.list));
    const wisp__fuse_params p = params_of(l, &m);
    WISP_TRY(ctx->backend->fuse(ctx, wisp__type_is_double(b->type), &p, per_block(ctx, &p)));
    wisp__count(&ctx->passes, 1);
    if (numbers_of(l) > 0) WISP_TRY(bring(l, &m, flags));
    if (!(flags & WISP_NOREDUCE)) status = reduce_places(l, &m);
out:
    return status;
}

wisp_status wisp_fuse(const wisp_update *update, int updates, const wisp_inner *inner, int inners, unsigned flags)
{
    wisp_ctx *ctx = wisp_blk_ctx(wisp__fuse_first(update, updates, inner, inners));
    if (updates > 0) WISP_NEED(ctx, update);
    if (inners > 0) WISP_NEED(ctx, inner);
    lists l;
    wisp_status status = wisp__fuse_take(&l, update, updates, inner, inners);
    if (status != WISP_OK || !l.like) return status;
    status = wisp__together_begin(ctx);
    if (status == WISP_OK) status = run(&l, flags);
    return wisp__together_end(ctx, status);
}

/* Lists; sums of each row block, and of each thread where a period is several rows. */
wisp_status wisp_fuse_plan(wisp_plan *plan, wisp_ctx *ctx, int64_t rows, wisp_type type, int width, int terms, int dots)
{
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    if (rows < 0 || width < 1 || terms < 0 || dots < 0 || !wisp__type_ok(type))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "plan: fuse of blocks of %lld rows, width %d and type %d, %d terms and %d "
                              "dots",
                              (long long)rows, width, (int)type, terms, dots);
    const wisp_blk like = {.type = type, .width = width, .nrows = rows};
    const int64_t reals = wisp__reals(type), period = wisp__cut_of(&like, true).period, row = width * reals;
    const int64_t sums = dots * row * reals;
    const lists l = {.updates = terms, .inners = dots, .terms = (size_t)terms};
    size_t list[ARRAYS];
    int64_t bytes = 0;
    list_sizes(&l, type, width, (size_t)period, list);
    for (int i = 0; i < ARRAYS; i++) bytes += (int64_t)list[i] + WISP__LINE;
    /* Calls with fewer dots may cut more row blocks; their sums are then those of the table at most. */
    const wisp__tuned *t = wisp__tuned_of(ctx);
    const int64_t most = WISP__MAX(t->dots.sums, most_blocks(ctx, sums) * sums);
    const double few = (floor(2 * (double)rows * (double)row / (double)t->dots.fused) + 2) * (double)sums;
    const int64_t threads = (int64_t)ctx->threads * dots * period * reals;
    plan->bytes_most = bytes + (int64_t)sizeof(double) * (wisp_whole_number(fmin((double)most, few)) + threads);
    plan->bytes = plan->bytes_most;
    plan->seconds = plan->iteration_bytes = plan->iteration_seconds = NAN;
    return WISP_OK;
}

/* ---- cost ------------------------------------------------------------------------------------- */

/* Per number of a block row, all arithmetic taken as that of the block's type. */
static double flops_of(const lists *l)
{
    const bool complex = wisp_type_is_complex(l->like->type);
    const double add = complex ? 2 : 1, multiply = complex ? 6 : 1, square = complex ? 4 : 2;
    double flops = 0;
    for (int i = 0; i < l->updates; i++) {
        int terms = 0;
        for (int t = 0; t < l->update[i].terms; t++) {
            const wisp_term *term = l->update[i].term + t;
            if (wisp__fuse_left_out(term, l->like)) continue;
            flops += (terms++ ? add : 0) + (has_factors(term) ? multiply : 0) + (term->rows ? multiply : 0);
        }
    }
    for (int i = 0; i < l->inners; i++) {
        const wisp_inner *d = l->inner + i;
        const bool same = wisp__at(d->x) == wisp__at(d->y) && d->x->stride == d->y->stride && !d->rows;
        flops += same ? square : add + multiply + (d->rows ? multiply : 0);
    }
    return flops;
}

wisp_status wisp_fuse_cost(const wisp_update *update, int updates, const wisp_inner *inner, int inners, wisp_cost *cost)
{
    wisp_ctx *ctx = wisp_blk_ctx(wisp__fuse_first(update, updates, inner, inners));
    WISP_NEED(ctx, cost);
    *cost = (wisp_cost){0};
    if (updates > 0) WISP_NEED(ctx, update);
    if (inners > 0) WISP_NEED(ctx, inner);
    lists l;
    operands list = {0};
    wisp_status status = wisp__fuse_take(&l, update, updates, inner, inners);
    if (status != WISP_OK || !l.like) return status;
    WISP_TRY(wisp__alloc_raw(ctx, &list.operand, wisp__fuse_most_operands(&l), sizeof *list.operand));
    WISP_TRY(wisp__fuse_check(&l, &list));
    for (int i = 0; i < list.count; i++) {
        const operand *p = list.operand + i;
        const double bytes = (double)p->b->nrows * p->b->width * (double)wisp_type_size(p->b->type);
        cost->bytes += bytes * ((p->read ? 1 : 0) + (p->written ? 1 : 0));
    }
    cost->flops = (double)l.like->nrows * l.like->width * flops_of(&l);
out:
    wisp_free(ctx, list.operand);
    return status;
}
