/* Products of tall and skinny blocks: X = alpha V^H W + beta X and W = alpha V X + beta W. The kernels see real
   columns only. With v = vr + i vi and w likewise, conj(v) w = (vr wr + vi wi) + i (vr wi - vi wr): the real product
   of the blocks' parts has all four sums. For V X, a row of X becomes two real rows, x and i x. */
#include "op.h"

static wisp_status check(const char *op, const wisp_blk *V, const wisp_blk *W, int64_t ldx, wisp_scalar alpha,
                         wisp_scalar beta)
{
    wisp_ctx *ctx = V->ctx;
    if (V->map != W->map || V->type != W->type || V->nrows != W->nrows || V->first_row != W->first_row)
        return wisp_ctx_fail(ctx, WISP_ERR_MISMATCH,
                             "%s: blocks of %lld %s and %lld %s rows%s must have one map, type and rows", op,
                             (long long)V->nrows, wisp_type_name(V->type), (long long)W->nrows, wisp_type_name(W->type),
                             V->map == W->map ? "" : " on different maps");
    if (ldx < W->width)
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "%s: X with a leading dimension of %lld; at least %d is needed", op,
                             (long long)ldx, W->width);
    if (!wisp_type_is_complex(V->type) && (alpha.im != 0 || beta.im != 0))
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "%s: a complex factor for real blocks", op);
    const wisp_status status = wisp__refuse_scattered(op, V);
    return status == WISP_OK ? wisp__refuse_scattered(op, W) : status;
}

/* ---- gram ------------------------------------------------------------------------------------ */

/* One element of the real product, or the sum (difference) of two. */
static double joined(const double *sum, const double *error, size_t one, size_t two, double sign)
{
    double a = sum[one], a_error = error ? error[one] : 0;
    if (sign != 0) wisp__add(&a, error ? &a_error : NULL, sign * sum[two], error ? sign * error[two] : 0);
    return a + a_error;
}

/* X = alpha G + beta X from the real product's sums. */
static void join(wisp_scalar *X, int64_t ldx, wisp_scalar alpha, wisp_scalar beta, const wisp_blk *V, const wisp_blk *W,
                 const double *sum, const double *error)
{
    const size_t parts = (size_t)wisp__parts(V->type), q = (size_t)W->width * parts;
    for (int i = 0; i < V->width; i++)
        for (int j = 0; j < W->width; j++) {
            const size_t rr = (size_t)i * parts * q + (size_t)j * parts; /* ri, ir, ii: rr + 1, rr + q, rr + q + 1 */
            const double re = joined(sum, error, rr, rr + q + 1, parts == 2 ? 1 : 0);
            const double im = parts == 2 ? joined(sum, error, rr + 1, rr + q, -1) : 0;
            wisp_scalar *x = &X[i * ldx + j], y = {alpha.re * re, alpha.re * im};
            if (alpha.im != 0) y.re -= alpha.im * im, y.im += alpha.im * re;
            if (beta.re != 0 || beta.im != 0) {
                const wisp_scalar old = *x;
                y.re += beta.re * old.re;
                y.im += beta.re * old.im;
                if (beta.im != 0) y.re -= beta.im * old.im, y.im += beta.im * old.re;
            }
            *x = y;
        }
}

static wisp_status gram(wisp_scalar *X, int64_t ldx, wisp_scalar alpha, const wisp_blk *V, const wisp_blk *W,
                        wisp_scalar beta, unsigned flags)
{
    enum { SUMS = 1 << 18, FEW = 64, STRIPS = 4 };
    wisp_ctx *ctx = V->ctx;
    wisp_status status;
    if (flags & ~(unsigned)WISP_KAHAN)
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "tsm_gram: unknown flags 0x%x", flags & ~(unsigned)WISP_KAHAN);
    WISP_TRY(check("tsm_gram", V, W, ldx, alpha, beta));
    const bool compensated = flags & WISP_KAHAN;
    const int parts = wisp__parts(V->type);
    const wisp__gram_params p = {wisp__at(V), wisp__at(W),      V->stride * parts, W->stride * parts,
                                 V->nrows,    V->width * parts, W->width * parts};
    const size_t size = (size_t)p.p * (size_t)p.q, step = compensated ? 2 * size : size;
    const int64_t per = wisp__rows_per_sum(V->nrows, size, SUMS, size < FEW ? 1 : STRIPS);
    double *sum;
    WISP_TRY(wisp__scratch(ctx->team, WISP__OP_SCRATCH, &sum, step, sizeof *sum));
    WISP_TRY(ctx->backend->gram(ctx, wisp__type_is_double(V->type), compensated, &p, per, sum));
    wisp__count(&ctx->passes, 1);
    if (compensated) {
        WISP_TRY(wisp__sum_compensated(ctx, sum, sum + size, size));
    } else {
        WISP_TRY(wisp__reduce(ctx, sum, size));
    }
    join(X, ldx, alpha, beta, V, W, sum, compensated ? sum + size : NULL);
out:
    return status;
}

wisp_status wisp_tsm_gram(wisp_scalar *X, int64_t ldx, wisp_scalar alpha, const wisp_blk *V, const wisp_blk *W,
                          wisp_scalar beta, unsigned flags)
{
    WISP_NEED(wisp_blk_ctx(W), V);
    WISP_NEED(V->ctx, W);
    WISP_NEED(V->ctx, X);
    wisp_status status = wisp__together_begin(V->ctx);
    if (status == WISP_OK) status = gram(X, ldx, alpha, V, W, beta, flags);
    return wisp__together_end(V->ctx, status);
}

/* ---- update ---------------------------------------------------------------------------------- */

/* alpha X in the kernel's form; a complex row becomes x and i x. */
static void take_apart(char *to, int64_t ld, wisp_type type, const wisp_scalar *X, int64_t ldx, wisp_scalar alpha,
                       int rows, int columns)
{
    const int parts = wisp__parts(type);
    const wisp_type real_type = wisp__real_type(type);
    const size_t size = wisp_type_size(real_type);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            const wisp_scalar x = X[i * ldx + j];
            wisp_scalar ax = {alpha.re * x.re, alpha.re * x.im};
            if (parts == 2 && alpha.im != 0) ax.re -= alpha.im * x.im, ax.im += alpha.im * x.re;
            char *at = to + (size_t)(i * parts * ld + j * parts) * size;
            wisp__store(real_type, at, (wisp_scalar){ax.re, 0});
            if (parts == 1) continue;
            wisp__store(real_type, at + size, (wisp_scalar){ax.im, 0});
            at += (size_t)ld * size;
            wisp__store(real_type, at, (wisp_scalar){-ax.im, 0});
            wisp__store(real_type, at + size, (wisp_scalar){ax.re, 0});
        }
}

/* Whether W is better written past the caches: it is large, and whole lines are written. */
static bool streams(const wisp_blk *W, const wisp_blk *V)
{
    enum { LINE = 64, LARGE = 64 << 20 };
    const size_t size = wisp_type_size(W->type), row = (size_t)W->stride * size;
    const bool lines = W->stride == W->width ||
                       ((uintptr_t)wisp__at(W) % LINE == 0 && row % LINE == 0 && (size_t)W->width * size % LINE == 0);
    return lines && (size_t)W->nrows * size * (size_t)(W->width + V->width) > LARGE;
}

static wisp_status update(wisp_blk *W, wisp_scalar alpha, const wisp_blk *V, const wisp_scalar *X, int64_t ldx,
                          wisp_scalar beta)
{
    enum { LINE_REALS = 16 };
    wisp_ctx *ctx = W->ctx;
    wisp_status status;
    WISP_TRY(check("tsm_update", V, W, ldx, alpha, beta));
    const bool in_place = wisp__at(W) == wisp__at(V) && W->stride == V->stride && W->width <= V->width;
    if (!wisp_type_is_complex(V->type))
        for (int i = 0; i < V->width; i++)
            for (int j = 0; j < W->width; j++)
                if (X[i * ldx + j].im != 0)
                    return wisp_ctx_fail(ctx, WISP_ERR_ARG,
                                         "tsm_update: X(%d, %d) has an imaginary part, the blocks are real", i, j);
    if (!in_place && wisp__overlap(V, W))
        return wisp_ctx_fail(ctx, WISP_ERR_ARG,
                             "tsm_update: the blocks overlap; in place, W must be V or a view of its first columns");
    const bool is_double = wisp__type_is_double(V->type), reads_w = beta.re != 0 || beta.im != 0;
    const int parts = wisp__parts(V->type);
    /* Rows of X one line apart from a multiple of the cache's period. */
    const int64_t ld = (W->width * parts + LINE_REALS - 1) / LINE_REALS * LINE_REALS + LINE_REALS;
    wisp__update_params p = {.v = wisp__at(V),
                             .w = wisp__at(W),
                             .ld_v = V->stride * parts,
                             .ld_w = W->stride * parts,
                             .ld_x = ld,
                             .p = V->width * parts,
                             .q = W->width * parts,
                             .beta = {beta.re, beta.im},
                             .reads_w = reads_w,
                             .in_place = in_place,
                             .stream = !reads_w && !in_place && streams(W, V)};
    const size_t x_count = (size_t)p.p * (size_t)ld, real = is_double ? sizeof(double) : sizeof(float);
    char *scratch;
    WISP_TRY(wisp__scratch(ctx->team, WISP__OP_SCRATCH, &scratch, x_count, real));
    take_apart(scratch, ld, V->type, X, ldx, alpha, V->width, W->width);
    p.x = scratch;
    WISP_TRY(ctx->backend->update(ctx, is_double, &p, V->nrows));
    wisp__count(&ctx->passes, 1);
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
    if (status == WISP_OK) status = update(W, alpha, V, X, ldx, beta);
    return wisp__turn_end(W->ctx->team, status);
}
