/* Element-wise ops and dots of blocks. A compact block is one long stream: several rows form a period of the
   kernel, so that narrow blocks run as fast as wide ones. */
#include "op.h"
#include <math.h>
#include <string.h>

static bool compact(const wisp_blk *x, const wisp_blk *y) { return x->stride == x->width && y->stride == y->width; }

/* Columns j .. j + count - 1, which are side by side; for the moment of a call: it holds no references. */
static wisp_blk columns_of(const wisp_blk *x, int j, int count)
{
    wisp_blk v = *x;
    v.offset += (size_t)wisp__column(x, j) * wisp_type_size(x->type);
    v.width = count;
    v.column = NULL;
    return v;
}

/* How many columns from j on are side by side in both blocks. */
static int run_of(const wisp_blk *x, const wisp_blk *y, int j)
{
    int n = 1;
    while (j + n < x->width && wisp__column(x, j + n) == wisp__column(x, j) + n &&
           wisp__column(y, j + n) == wisp__column(y, j) + n)
        n++;
    return n;
}

/* Run by run of neighbouring columns, of so many at most. */
static wisp_status axpby_runs(wisp_blk *y, const wisp_scalar *a, const wisp_blk *x, const wisp_scalar *b,
                              bool per_column, int most)
{
    wisp_status status = WISP_OK;
    for (int j = 0, n; j < y->width && status == WISP_OK; j += n) {
        n = WISP__MIN(run_of(x, y, j), most);
        wisp_blk yj = columns_of(y, j, n), xj = columns_of(x, j, n);
        const int at = per_column ? j : 0;
        status = wisp__axpby(&yj, a + at, &xj, b ? b + at : NULL, per_column);
    }
    return status;
}

/* In one pass, where runs would take one each; also from single to double precision and back. */
static wisp_status copy_columns(wisp_blk *y, const wisp_blk *x)
{
    if (wisp__same_memory(x, y)) return WISP_OK;
    const wisp__columns_params p = {.from = wisp__at(x),
                                    .to = wisp__at(y),
                                    .ld_from = x->stride,
                                    .ld_to = y->stride,
                                    .from_column = x->column,
                                    .to_column = y->column,
                                    .width = x->width,
                                    .from_bytes = (int)wisp_type_size(x->type),
                                    .to_bytes = (int)wisp_type_size(y->type),
                                    .reals = wisp__reals(x->type)};
    return y->ctx->backend->copy_columns(y->ctx, &p, y->nrows);
}

static bool has_zero(const wisp_scalar *f, int n)
{
    for (int j = 0; f && j < n; j++)
        if (f[j].re == 0 && f[j].im == 0) return true;
    return false;
}

/* The factors as the kernel takes them, in the scratch memory of the team: those of a and of b, each for the elements
   of a period and for their partners in complex pairs. */
static wisp_status set_factors(wisp__axpby_params *p, const wisp_blk *y, const wisp_scalar *a, const wisp_scalar *b,
                               bool per_column)
{
    const int n = per_column ? y->width : 1;
    const bool pairs = !(wisp__all_real(a, n) && wisp__all_real(b, n));
    const size_t bytes = (size_t)p->period * wisp_type_size(wisp__real_type(y->type));
    char *f;
    const wisp_status status = wisp__scratch(y->ctx->team, WISP__OP_SCRATCH, &f, 4, bytes);
    if (status != WISP_OK) return status;
    wisp__spread(y->type, a, per_column, y->width, p->period, f, f + bytes);
    p->a = f;
    p->aw = pairs ? f + bytes : NULL;
    if (!b) return status;
    wisp__spread(y->type, b, per_column, y->width, p->period, f + 2 * bytes, f + 3 * bytes);
    p->b = f + 2 * bytes;
    p->bw = pairs ? f + 3 * bytes : NULL;
    p->b_is_one = wisp__all_equal(b, n, 1, 0);
    return status;
}

/* Columns that are side by side in both blocks: period by period, then the rows that are left. */
static wisp_status axpby_rows(wisp_blk *y, const wisp_scalar *a, const wisp_blk *x, const wisp_scalar *b,
                              bool per_column)
{
    wisp_ctx *ctx = y->ctx;
    const bool is_double = wisp__type_is_double(y->type);
    const int reals = wisp__reals(y->type);
    const size_t size = wisp_type_size(wisp__real_type(y->type));
    const wisp__cut c = wisp__cut_of(x, compact(x, y));
    wisp__axpby_params p = {.x = wisp__at(x),
                            .y = wisp__at(y),
                            .ld_x = x->stride * reals * c.rows,
                            .ld_y = y->stride * reals * c.rows,
                            .period = c.period};
    wisp_status status;
    WISP_TRY(set_factors(&p, y, a, b, per_column));
    WISP_TRY(ctx->backend->axpby(ctx, is_double, &p, c.count));
    if (c.tail == 0) goto out;
    p.x = wisp__at(x) + (size_t)(c.count * p.ld_x) * size;
    p.y = wisp__at(y) + (size_t)(c.count * p.ld_y) * size;
    p.ld_x = p.ld_y = p.period = y->width * reals; /* the blocks are compact */
    status = ctx->backend->axpby(ctx, is_double, &p, c.tail);
out:
    return status;
}

wisp_status wisp__axpby(wisp_blk *y, const wisp_scalar *a, const wisp_blk *x, const wisp_scalar *b, bool per_column)
{
    const int n = per_column ? y->width : 1;
    if (!wisp_type_is_complex(y->type) && !(wisp__all_real(a, n) && wisp__all_real(b, n)))
        return wisp_ctx_failf(y->ctx, WISP_ERR_ARG, "a complex factor for a real block");
    if (b && wisp__all_equal(b, n, 0, 0)) b = NULL;
    const bool scattered = x->column || y->column, copies = !b && wisp__all_equal(a, n, 1, 0);
    if (scattered && copies) return copy_columns(y, x);
    if (scattered) return axpby_runs(y, a, x, b, per_column, y->width);
    /* Column by column where some beta is zero: it never reads y (NaN there must not come through). */
    if (has_zero(b, n)) return axpby_runs(y, a, x, b, per_column, 1);
    return axpby_rows(y, a, x, b, per_column);
}

static wisp_status checked(const char *op, wisp_blk *y, const wisp_scalar *a, const wisp_blk *x, const wisp_scalar *b,
                           bool per_column)
{
    wisp_status status = wisp__same_shape(op, y, x);
    if (status != WISP_OK) return status;
    if (x != y && wisp__overlap(x, y) && !wisp__same_memory(x, y))
        return wisp_ctx_failf(y->ctx, WISP_ERR_ARG, "%s: the blocks overlap", op);
    status = wisp__turn_begin(y->ctx->team);
    if (status == WISP_OK) status = wisp__axpby(y, a, x, b, per_column);
    wisp__count(&y->ctx->passes, status == WISP_OK);
    return wisp__turn_end(y->ctx->team, status);
}

static const wisp_scalar one = {1, 0};

/* Blocks of two precisions. */
static wisp_status convert(wisp_blk *y, const wisp_blk *x)
{
    wisp_blk like = *x;
    like.type = y->type;
    wisp_status status = wisp__same_shape("copy", y, &like);
    if (status != WISP_OK) return status;
    if (wisp__overlap(x, y)) return wisp_ctx_failf(y->ctx, WISP_ERR_ARG, "copy: the blocks overlap");
    status = wisp__turn_begin(y->ctx->team);
    if (status == WISP_OK) status = copy_columns(y, x);
    wisp__count(&y->ctx->passes, status == WISP_OK);
    return wisp__turn_end(y->ctx->team, status);
}

wisp_status wisp_copy(wisp_blk *y, const wisp_blk *x)
{
    WISP_NEED(wisp_blk_ctx(x), y);
    WISP_NEED(y->ctx, x);
    if (x->type != y->type && wisp__reals(x->type) == wisp__reals(y->type)) return convert(y, x);
    return checked("copy", y, &one, x, NULL, false);
}

wisp_status wisp_axpy(wisp_blk *y, wisp_scalar alpha, const wisp_blk *x)
{
    WISP_NEED(wisp_blk_ctx(x), y);
    WISP_NEED(y->ctx, x);
    return checked("axpy", y, &alpha, x, &one, false);
}

wisp_status wisp_axpby(wisp_blk *y, wisp_scalar alpha, const wisp_blk *x, wisp_scalar beta)
{
    WISP_NEED(wisp_blk_ctx(x), y);
    WISP_NEED(y->ctx, x);
    return checked("axpby", y, &alpha, x, &beta, false);
}

wisp_status wisp_scal(wisp_blk *x, wisp_scalar alpha)
{
    WISP_NEED(NULL, x);
    return checked("scal", x, &alpha, x, NULL, false);
}

wisp_status wisp_vaxpy(wisp_blk *y, const wisp_scalar *alpha, const wisp_blk *x)
{
    WISP_NEED(wisp_blk_ctx(x), y);
    WISP_NEED(y->ctx, x);
    WISP_NEED(y->ctx, alpha);
    wisp_scalar *ones = NULL;
    wisp_status status = wisp__alloc_raw(y->ctx, &ones, (size_t)y->width, sizeof *ones);
    if (status != WISP_OK) return status;
    for (int j = 0; j < y->width; j++) ones[j] = one;
    status = checked("vaxpy", y, alpha, x, ones, true);
    wisp_free(y->ctx, ones);
    return status;
}

wisp_status wisp_vaxpby(wisp_blk *y, const wisp_scalar *alpha, const wisp_blk *x, const wisp_scalar *beta)
{
    WISP_NEED(wisp_blk_ctx(x), y);
    WISP_NEED(y->ctx, x);
    WISP_NEED(y->ctx, alpha);
    WISP_NEED(y->ctx, beta);
    return checked("vaxpby", y, alpha, x, beta, true);
}

wisp_status wisp_vscal(wisp_blk *x, const wisp_scalar *alpha)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, alpha);
    return checked("vscal", x, alpha, x, NULL, true);
}

/* ---- dots ------------------------------------------------------------------------------------ */

/* Where the dots of a call come to be, in the device's memory: number[2 width] and, if they are compensated (else
   NULL), their errors. */
typedef struct {
    double *number, *error;
} dots;

static wisp_status local_dot(const wisp_blk *x, const wisp_blk *y, bool cross, int exponent, dots to);

static wisp_status dot_runs(const wisp_blk *x, const wisp_blk *y, bool cross, int exponent, dots to)
{
    wisp_status status = WISP_OK;
    for (int j = 0, n; j < x->width && status == WISP_OK; j += n) {
        n = run_of(x, y, j);
        const wisp_blk xj = columns_of(x, j, n), yj = columns_of(y, j, n);
        status = local_dot(&xj, &yj, cross, exponent, (dots){to.number + 2 * j, to.error ? to.error + 2 * j : NULL});
    }
    return status;
}

/* The sums over `count` periods. */
static wisp_status dot_periods(const wisp_blk *x, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                               dots to)
{
    wisp_ctx *ctx = x->ctx;
    const size_t sums = (size_t)(x->width * p->reals * (kind->cross ? 2 : 1)), size = to.error ? 2 * sums : sums;
    const int64_t per = wisp__rows_per_sum(ctx, count, size * (size_t)p->rows, wisp__tuned_of(ctx)->dots.sums, 1);
    if (count == 0 && kind->adds) return WISP_OK;
    return ctx->backend->dot(ctx, kind, p, count, per, to.number, to.error);
}

/* The dots of this process, with exponent as in wisp__dot_params. */
static wisp_status local_dot(const wisp_blk *x, const wisp_blk *y, bool cross, int exponent, dots to)
{
    if (x->column || y->column) return dot_runs(x, y, cross, exponent, to);
    const int reals = wisp__reals(x->type);
    const size_t size = wisp_type_size(wisp__real_type(x->type));
    const wisp__cut c = wisp__cut_of(x, compact(x, y));
    wisp__dot_kind kind = {.is_double = wisp__type_is_double(x->type), .cross = cross};
    wisp__dot_params p = {.x = wisp__at(x),
                          .y = wisp__at(y),
                          .ld_x = x->stride * reals * c.rows,
                          .ld_y = y->stride * reals * c.rows,
                          .period = c.period,
                          .rows = c.rows,
                          .reals = reals,
                          .exponent = exponent};
    wisp_status status;
    WISP_TRY(dot_periods(x, &kind, &p, c.count, to));
    p.x = wisp__at(x) + (size_t)(c.count * p.ld_x) * size;
    p.y = wisp__at(y) + (size_t)(c.count * p.ld_y) * size;
    p.ld_x = p.ld_y = p.period = x->width * reals; /* rows that are left, of compact blocks */
    p.rows = 1;
    kind.adds = true;
    status = dot_periods(x, &kind, &p, c.tail, to);
out:
    return status;
}

/* Of the columns alone that have an exponent, one by one. */
static wisp_status local_multiples(const wisp_blk *x, const int *exponent, dots to)
{
    wisp_status status = WISP_OK;
    for (int j = 0; j < x->width && status == WISP_OK; j++) {
        const wisp_blk column = columns_of(x, j, 1);
        if (exponent[j])
            status = local_dot(&column, &column, false, exponent[j],
                               (dots){to.number + 2 * j, to.error ? to.error + 2 * j : NULL});
    }
    return status;
}

/* The dots of this process, brought to the host. exponent[width] NULL: of all columns; else x is y, and those that have
   none have numbers of no meaning. */
static wisp_status bring_dot(const wisp_blk *x, const wisp_blk *y, bool cross, const int *exponent, double *number,
                             double *error)
{
    const size_t n = 2 * (size_t)x->width, all = error ? 2 * n : n;
    double *there, *here = number;
    wisp_status status;
    if (error) WISP_TRY(wisp__scratch(x->ctx->team, WISP__OP_SCRATCH, &here, all, sizeof *here));
    WISP_TRY(wisp__dots_room(x->ctx, here, all, &there));
    const dots to = {there, error ? there + n : NULL};
    if (exponent) memset(here, 0, all * sizeof *here);
    WISP_TRY(exponent ? local_multiples(x, exponent, to) : local_dot(x, y, cross, 0, to));
    WISP_TRY(wisp__dots_bring(x->ctx, there, here, all));
    if (!error) return status;
    memcpy(number, here, n * sizeof *here);
    memcpy(error, here + n, n * sizeof *here);
out:
    return status;
}

static wisp_status plain_dot(const wisp_blk *x, const wisp_blk *y, bool cross, const int *exponent, wisp_scalar *dot)
{
    const wisp_status status = bring_dot(x, y, cross, exponent, &dot->re, NULL);
    return status == WISP_OK ? wisp__reduce(x->ctx, &dot->re, 2 * (size_t)x->width) : status;
}

static wisp_status kahan_dot(const wisp_blk *x, const wisp_blk *y, bool cross, const int *exponent, wisp_scalar *dot)
{
    enum { FEW = 64 }; /* a short dot takes less time than an allocation */
    const size_t n = 2 * (size_t)x->width;
    wisp_status status;
    double few[FEW], *many = NULL, *error = few;
    if (n > FEW) WISP_TRY(wisp__alloc_raw(x->ctx, &many, n, sizeof *many));
    if (many) error = many;
    WISP_TRY(bring_dot(x, y, cross, exponent, &dot->re, error));
    WISP_TRY(wisp__sum_compensated(x->ctx, &dot->re, error, n));
    for (size_t i = 0; i < n; i++) (&dot->re)[i] += error[i];
out:
    wisp_free(x->ctx, many);
    return status;
}

typedef wisp_status (*dot_fn)(const wisp_blk *x, const wisp_blk *y, bool cross, const int *exponent, wisp_scalar *dot);

wisp_status wisp__dot_local(const wisp_blk *x, const wisp_blk *y, double *dot)
{
    return local_dot(x, y, wisp__crosses(x, y), 0, (dots){dot, NULL});
}

static wisp_status checked_dot(const wisp_blk *x, const wisp_blk *y, dot_fn fn, wisp_scalar *dot)
{
    wisp_status status = wisp__same_shape("dot", x, y);
    if (status != WISP_OK) return status;
    status = wisp__together_begin(x->ctx);
    if (status == WISP_OK) status = fn(x, y, wisp__crosses(x, y), NULL, dot);
    wisp__count(&x->ctx->passes, status == WISP_OK);
    return wisp__together_end(x->ctx, status);
}

wisp_status wisp_dot(const wisp_blk *x, const wisp_blk *y, wisp_scalar *dot)
{
    WISP_NEED(wisp_blk_ctx(y), x);
    WISP_NEED(x->ctx, y);
    WISP_NEED(x->ctx, dot);
    return checked_dot(x, y, plain_dot, dot);
}

wisp_status wisp_dot_kahan(const wisp_blk *x, const wisp_blk *y, wisp_scalar *dot)
{
    WISP_NEED(wisp_blk_ctx(y), x);
    WISP_NEED(x->ctx, y);
    WISP_NEED(x->ctx, dot);
    return checked_dot(x, y, kahan_dot, dot);
}

/* Squares leave the range of a type long before its numbers do. Whether one is so near an end that some of its terms
   may be lost. */
static bool is_out_of_range(wisp_type type, double square)
{
    return !(square >= (wisp__type_is_double(type) ? 0x1p-900 : 0x1p-80)) || isinf(square);
}

/* Norms of the columns of which the squares are near an end of the range, by those of a multiple: times a power of two,
   so that no digit changes. */
static wisp_status norms_by_multiples(const wisp_blk *x, dot_fn fn, wisp_scalar *dot, double *norm)
{
    const int far = wisp__type_is_double(x->type) ? 600 : 90;
    int *exponent = NULL, first = 0;
    wisp_status status = WISP_OK;
    while (first < x->width && !is_out_of_range(x->type, dot[first].re)) first++;
    if (first == x->width) return status;
    WISP_TRY(wisp__alloc_raw(x->ctx, &exponent, (size_t)x->width, sizeof *exponent));
    for (int j = 0; j < x->width; j++)
        exponent[j] = !is_out_of_range(x->type, dot[j].re) ? 0 : dot[j].re < 1 ? far : -far;
    WISP_TRY(fn(x, x, false, exponent, dot));
    for (int j = 0; j < x->width; j++)
        if (exponent[j]) norm[j] = ldexp(sqrt(dot[j].re), -exponent[j]);
out:
    wisp_free(x->ctx, exponent);
    return status;
}

static wisp_status norms(const wisp_blk *x, dot_fn fn, double *norm)
{
    wisp_ctx *ctx = x->ctx;
    wisp_status status;
    wisp_scalar *dot = NULL;
    WISP_TRY(wisp__together_begin(ctx));
    WISP_TRY(wisp__alloc_raw(ctx, &dot, (size_t)x->width, sizeof *dot));
    WISP_TRY(fn(x, x, false, NULL, dot));
    wisp__count(&ctx->passes, 1);
    for (int j = 0; j < x->width; j++) norm[j] = sqrt(dot[j].re);
    status = norms_by_multiples(x, fn, dot, norm);
out:
    wisp_free(ctx, dot);
    return wisp__together_end(ctx, status);
}

wisp_status wisp_norm(const wisp_blk *x, double *norm)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, norm);
    return norms(x, plain_dot, norm);
}

wisp_status wisp_norm_kahan(const wisp_blk *x, double *norm)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, norm);
    return norms(x, kahan_dot, norm);
}
