/* Products of tall and skinny blocks: X = alpha V^H W + beta X and W = alpha V X + beta W. The kernels see real
   columns only. With v = vr + i vi and w likewise, conj(v) w = (vr wr + vi wi) + i (vr wi - vi wr): the real product
   of the blocks' parts has all four sums. For V X, a row of X becomes two real rows, x and i x. */
#include "op.h"
#include <math.h>

/* columns: of X. */
static wisp_status check(const char *op, const wisp_blk *V, const wisp_blk *W, int64_t ldx, int columns,
                         wisp_scalar alpha, wisp_scalar beta)
{
    wisp_ctx *ctx = V->ctx;
    if (V->map != W->map || V->type != W->type || V->nrows != W->nrows || V->first_row != W->first_row)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                              "%s: blocks of %lld %s and %lld %s rows%s must have one map, type and rows", op,
                              (long long)V->nrows, wisp_type_name(V->type), (long long)W->nrows,
                              wisp_type_name(W->type), V->map == W->map ? "" : " on different maps");
    if (ldx < columns)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: X with a leading dimension of %lld; at least %d is needed", op,
                              (long long)ldx, columns);
    if (!wisp_type_is_complex(V->type) && (alpha.im != 0 || beta.im != 0))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: a complex factor for real blocks", op);
    const wisp_status status = wisp__refuse_scattered(op, V);
    return status == WISP_OK ? wisp__refuse_scattered(op, W) : status;
}

/* ---- gram ------------------------------------------------------------------------------------ */

/* X = alpha G + beta X. */
typedef struct {
    wisp_scalar *X; /* NULL: G goes to `there` alone */
    int64_t ldx;
    wisp_scalar alpha, beta;
    double *there; /* the place, in the device's memory; NULL: there is none */
} gram_result;

static void put(const gram_result *r, int64_t i, int64_t j, double re, double im)
{
    const wisp_scalar alpha = r->alpha, beta = r->beta;
    wisp_scalar *x = &r->X[i * r->ldx + j], y = {alpha.re * re, alpha.re * im};
    if (alpha.im != 0) y.re -= alpha.im * im, y.im += alpha.im * re;
    if (beta.re != 0 || beta.im != 0) {
        const wisp_scalar old = *x;
        y.re += beta.re * old.re;
        y.im += beta.re * old.im;
        if (beta.im != 0) y.re -= beta.im * old.im, y.im += beta.im * old.re;
    }
    *x = y;
}

/* Columns of V and of W. */
typedef struct {
    int v, w, v_count, w_count;
} gram_panel;

/* A panel of X from the real product's sums; its mirror image too, if V and W are the same block. */
static void join(const gram_result *r, const wisp__join_params *c)
{
    for (int i = 0; i < c->v_count; i++)
        for (int j = c->mirror && c->v == c->w ? i : 0; j < c->w_count; j++) {
            const wisp_scalar x = wisp__joined(c, i, j);
            put(r, c->v + i, c->w + j, x.re, x.im);
            if (c->mirror && c->v + i != c->w + j) put(r, c->w + j, c->v + i, x.re, -x.im);
        }
}

/* Strips of rows that have one set of so many sums, at least. */
static int strips_of(const wisp__tuned *t, double sums) { return sums < t->dots.gram_few ? 1 : t->dots.gram_strips; }

static wisp_status gram_of_panel(const gram_result *r, const wisp_blk *V, const wisp_blk *W, const gram_panel *c,
                                 bool same, bool compensated)
{
    wisp_ctx *ctx = V->ctx;
    const wisp__tuned *t = wisp__tuned_of(ctx);
    wisp_status status;
    const int reals = wisp__reals(V->type);
    const size_t element = wisp_type_size(V->type);
    const wisp__gram_params p = {.v = (const char *)wisp__at(V) + (size_t)c->v * element,
                                 .w = (const char *)wisp__at(W) + (size_t)c->w * element,
                                 .ld_v = V->stride * reals,
                                 .ld_w = W->stride * reals,
                                 .rows = V->nrows,
                                 .p = c->v_count * reals,
                                 .q = c->w_count * reals,
                                 .same = same && c->v == c->w};
    const size_t size = (size_t)p.p * (size_t)p.q, step = compensated ? 2 * size : size;
    const int64_t per = wisp__rows_per_sum(ctx, V->nrows, size, t->dots.gram_sums, strips_of(t, (double)size));
    double *sum, *there;
    WISP_TRY(wisp__scratch(ctx->team, WISP__OP_SCRATCH, &sum, step, sizeof *sum));
    WISP_TRY(wisp__dots_room(ctx, sum, step, &there));
    WISP_TRY(ctx->backend->gram(ctx, wisp__type_is_double(V->type), compensated, &p, per, there));
    wisp__join_params joins = {.sum = there,
                               .to = r->there,
                               .ld = r->ldx,
                               .v = c->v,
                               .w = c->w,
                               .v_count = c->v_count,
                               .w_count = c->w_count,
                               .reals = reals,
                               .compensated = compensated,
                               .mirror = same};
    if (!r->X) {
        wisp__count(&ctx->reductions, 1);
        return ctx->backend->join(ctx, &joins);
    }
    if (!r->there) WISP_TRY(wisp__dots_bring(ctx, there, sum, step));
    if (compensated) {
        WISP_TRY(wisp__sum_compensated(ctx, sum, sum + size, size));
    } else {
        WISP_TRY(wisp__reduce(ctx, sum, size));
    }
    joins.sum = sum;
    join(r, &joins);
out:
    return status;
}

enum { LINE_REALS = WISP__LINE / sizeof(float) };

/* Columns of a panel: as many in all panels, whole lines of them. */
static int panel_of(const wisp_blk *x)
{
    const int most = wisp__tuned_of(x->ctx)->dots.gram_panel;
    const int reals = x->width * wisp__reals(x->type), panels = (reals + most - 1) / most;
    const int each = ((reals + panels - 1) / panels + LINE_REALS - 1) / LINE_REALS * LINE_REALS;
    return each / wisp__reals(x->type);
}

/* Wide blocks go by panels of columns: the sums of one, which each row block has of its own, stay in the caches. If V
   and W are the same block, X is Hermitian: its lower half is not computed. */
static wisp_status gram(const gram_result *r, const wisp_blk *V, const wisp_blk *W, unsigned flags)
{
    wisp_status status;
    if (flags & ~(unsigned)WISP_KAHAN)
        return wisp_ctx_failf(V->ctx, WISP_ERR_ARG, "tsm_gram: unknown flags 0x%x", flags & ~(unsigned)WISP_KAHAN);
    WISP_TRY(check("tsm_gram", V, W, r->ldx, W->width, r->alpha, r->beta));
    /* Not by addresses: all ranks must say the same, and those without rows have none. */
    const bool same = V->store == W->store && V->offset == W->offset && V->width == W->width;
    const int v_panel = panel_of(V), w_panel = panel_of(W);
    for (int w = 0; w < W->width; w += w_panel)
        for (int v = 0; v < (same ? w + 1 : V->width); v += v_panel) {
            const gram_panel c = {v, w, WISP__MIN(v_panel, V->width - v), WISP__MIN(w_panel, W->width - w)};
            WISP_TRY(gram_of_panel(r, V, W, &c, same, flags & WISP_KAHAN));
        }
    wisp__count(&V->ctx->passes, 1);
out:
    return status;
}

double wisp_tsm_gram_bytes(wisp_ctx *ctx, wisp_type type, double rows, double v, double w)
{
    enum { COPIES = 3 }; /* on the device, on the host, and as they are made */
    if (!ctx) return 0;
    const wisp__tuned *t = wisp__tuned_of(ctx);
    const double most = t->dots.gram_panel, reals = wisp__reals(type),
                 sums = fmin(reals * v, most) * fmin(reals * w, most);
    const double blocks = fmin(rows / (K_STRIP * strips_of(t, sums)) + 1,
                               (double)wisp__sum_blocks(ctx, (int64_t)sums, t->dots.gram_sums));
    return (COPIES + blocks) * sums * (double)sizeof(double);
}

wisp_status wisp_tsm_gram(wisp_scalar *X, int64_t ldx, wisp_scalar alpha, const wisp_blk *V, const wisp_blk *W,
                          wisp_scalar beta, unsigned flags)
{
    WISP_NEED(wisp_blk_ctx(W), V);
    WISP_NEED(V->ctx, W);
    WISP_NEED(V->ctx, X);
    wisp_status status = wisp__together_begin(V->ctx);
    const gram_result r = {X, ldx, alpha, beta, NULL};
    if (status == WISP_OK) status = gram(&r, V, W, flags);
    return wisp__together_end(V->ctx, status);
}

/* The last number of a place that X takes, and one more; more than any slot has, where that is no number. */
static int64_t numbers_of(int rows, int columns, int64_t ldx)
{
    if (rows == 0) return 0;
    return ldx < INT64_MAX / rows ? (rows - 1) * ldx + columns : INT64_MAX;
}

/* Several ranks add sums up on the host: X comes from there to the device. */
static wisp_status gram_by_host(const wisp_blk *V, const wisp_blk *W, int64_t ldx, unsigned flags, double *there)
{
    wisp_ctx *ctx = V->ctx;
    wisp_status status;
    gram_result r = {.ldx = W->width, .alpha = {1, 0}};
    WISP_TRY(wisp_alloc(ctx, &r.X, (size_t)V->width * (size_t)W->width, sizeof *r.X));
    WISP_TRY(gram(&r, V, W, flags));
    for (int i = 0; i < V->width; i++)
        WISP_TRY(ctx->backend->write(ctx, there + 2 * i * ldx, r.X + i * r.ldx, (size_t)W->width * sizeof *r.X));
out:
    wisp_free(ctx, r.X);
    return status;
}

static wisp_status gram_to_place(wisp_place place, int64_t ldx, const wisp_blk *V, const wisp_blk *W, unsigned flags)
{
    wisp_ctx *ctx = V->ctx;
    wisp_status status;
    gram_result r = {.ldx = ldx, .alpha = {1, 0}};
    WISP_TRY(check("tsm_gram", V, W, ldx, W->width, r.alpha, r.beta));
    WISP_TRY(wisp__place_at(ctx, "tsm_gram", place, numbers_of(V->width, W->width, ldx), &r.there));
    if (ctx->backend->host_memory) r.X = (wisp_scalar *)(void *)r.there;
    status = !r.X && ctx->ranks > 1 ? gram_by_host(V, W, ldx, flags, r.there) : gram(&r, V, W, flags);
out:
    return status;
}

wisp_status wisp_tsm_gram_at(wisp_place X, int64_t ldx, const wisp_blk *V, const wisp_blk *W, unsigned flags)
{
    WISP_NEED(wisp_blk_ctx(W), V);
    WISP_NEED(V->ctx, W);
    WISP_NEED(V->ctx, X.slot);
    wisp_status status = wisp__together_begin(V->ctx);
    if (status == WISP_OK) status = gram_to_place(X, ldx, V, W, flags);
    return wisp__together_end(V->ctx, status);
}

/* ---- update ---------------------------------------------------------------------------------- */

/* Whether column j of V X needs none of V's columns after j. */
static bool upper(const wisp__apart *X, int rows, int columns)
{
    for (int i = 1; i < rows; i++)
        for (int j = 0; j < WISP__MIN(i, columns); j++) {
            const wisp_scalar x = wisp__apart_element(X, i, j);
            if (x.re != 0 || x.im != 0) return false;
        }
    return true;
}

/* followed: the host may look at X. */
static wisp_status update(wisp_blk *W, const wisp_blk *V, const wisp__apart *X, bool followed, wisp_scalar beta)
{
    wisp_ctx *ctx = W->ctx;
    wisp_status status;
    const bool in_place = wisp__at(W) == wisp__at(V) && W->stride == V->stride && W->width <= V->width;
    if (!in_place && wisp__overlap(V, W))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "tsm_update: the blocks overlap; in place, W must be V or a view of its first columns");
    const bool is_double = wisp__type_is_double(V->type), reads_w = beta.re != 0 || beta.im != 0;
    const int reals = X->reals;
    /* Rows of X one line apart from a multiple of the cache's period. */
    const int64_t ld = (W->width * reals + LINE_REALS - 1) / LINE_REALS * LINE_REALS + LINE_REALS;
    wisp__update_params p = {.v = wisp__at(V),
                             .w = wisp__at(W),
                             .x_from = *X,
                             .ld_v = V->stride * reals,
                             .ld_w = W->stride * reals,
                             .ld_x = ld,
                             .p = V->width * reals,
                             .q = W->width * reals,
                             .beta = {beta.re, beta.im},
                             .reads_w = reads_w,
                             .in_place = in_place};
    if (followed) {
        char *x;
        WISP_TRY(wisp__scratch(ctx->team, WISP__OP_SCRATCH, &x, (size_t)p.p * (size_t)ld, wisp__real_bytes(is_double)));
        wisp__take_apart(is_double, &p, x);
        p.x = x;
        p.x_from = (wisp__apart){0};
        p.upper = upper(X, V->width, W->width);
    }
    WISP_TRY(ctx->backend->update(ctx, is_double, &p, V->nrows));
    wisp__count(&ctx->passes, 1);
out:
    return status;
}

static wisp_status update_from_host(wisp_blk *W, wisp_scalar alpha, const wisp_blk *V, const wisp_scalar *X,
                                    int64_t ldx, wisp_scalar beta)
{
    const wisp__apart from = {(const double *)(const void *)X, ldx, {alpha.re, alpha.im}, 0, wisp__reals(V->type)};
    wisp_status status;
    WISP_TRY(check("tsm_update", V, W, ldx, W->width, alpha, beta));
    if (!wisp_type_is_complex(V->type))
        for (int i = 0; i < V->width; i++)
            for (int j = 0; j < W->width; j++)
                if (X[i * ldx + j].im != 0)
                    return wisp_ctx_failf(W->ctx, WISP_ERR_ARG,
                                          "tsm_update: X(%d, %d) has an imaginary part, the blocks are real", i, j);
    status = update(W, V, &from, true, beta);
out:
    return status;
}

wisp_status wisp_tsm_update(wisp_blk *W, wisp_scalar alpha, const wisp_blk *V, const wisp_scalar *X, int64_t ldx,
                            wisp_scalar beta)
{
    WISP_NEED(wisp_blk_ctx(V), W);
    WISP_NEED(W->ctx, V);
    WISP_NEED(W->ctx, X);
    wisp_status status = wisp__turn_begin(W->ctx->team);
    if (status == WISP_OK) status = update_from_host(W, alpha, V, X, ldx, beta);
    return wisp__turn_end(W->ctx->team, status);
}

static wisp_status update_from_place(wisp_blk *W, wisp_scalar alpha, const wisp_blk *V, wisp_place place, int64_t ldx,
                                     wisp_scalar beta, unsigned flags)
{
    wisp_ctx *ctx = W->ctx;
    const bool adjoint = flags & WISP_ADJOINT;
    const int rows = adjoint ? W->width : V->width, columns = adjoint ? V->width : W->width;
    double *at;
    wisp_status status;
    if (flags & ~(unsigned)WISP_ADJOINT)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "tsm_update: unknown flags 0x%x", flags & ~(unsigned)WISP_ADJOINT);
    WISP_TRY(check("tsm_update", V, W, ldx, columns, alpha, beta));
    WISP_TRY(wisp__place_at(ctx, "tsm_update", place, numbers_of(rows, columns, ldx), &at));
    const wisp__apart from = {at, ldx, {alpha.re, alpha.im}, adjoint, wisp__reals(V->type)};
    status = update(W, V, &from, ctx->backend->host_memory, beta);
out:
    return status;
}

wisp_status wisp_tsm_update_at(wisp_blk *W, wisp_scalar alpha, const wisp_blk *V, wisp_place X, int64_t ldx,
                               wisp_scalar beta, unsigned flags)
{
    WISP_NEED(wisp_blk_ctx(V), W);
    WISP_NEED(W->ctx, V);
    WISP_NEED(W->ctx, X.slot);
    wisp_status status = wisp__turn_begin(W->ctx->team);
    if (status == WISP_OK) status = update_from_place(W, alpha, V, X, ldx, beta, flags);
    return wisp__turn_end(W->ctx->team, status);
}
