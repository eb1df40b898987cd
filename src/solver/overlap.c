/* S^-1/2 as a Chebyshev series, and S^-1/2 A S^-1/2 as an operator. The series is Hermitian whatever its error, so that
   C is, too; with p = S^-1/2 + e, |e| at most a tolerance over the root of the lower bound, C is off by 2 |e| |A p|. */
#include "overlap.h"
#include <stdlib.h>

static int inverse_root(void *arg, double above_low, wisp_scalar *value)
{
    const wisp_bounds *b = arg;
    *value = wisp__real(1 / sqrt(b->center - b->halfwidth + above_low));
    return 0;
}

static wisp_scalar coefficient(const void *arg, int i, int64_t k)
{
    (void)i;
    const wisp_overlap *v = arg;
    const wisp__series *s = &v->series;
    return k < s->terms ? (wisp_scalar){ldexp(s->c[k].re, s->exponent - v->exponent), 0} : wisp__real(0);
}

/* ---- making --------------------------------------------------------------------------------------------- */

static wisp_status find_bounds(wisp_overlap *v, wisp_type type)
{
    const wisp_bounds *b = &v->bounds;
    const bool given = v->o.bounds.method == WISP_BOUNDS_GIVEN;
    wisp_status status;
    WISP_TRY(wisp__positive_bounds(&v->bounds, v->S, &v->o.bounds));
    if (b->center - b->halfwidth > 0) return wisp__check_scale(v->ctx, type, b->halfwidth);
    status = wisp_ctx_failf(v->ctx, WISP_ERR_NUMERIC,
                            "overlap: the eigenvalues of S lie between %.6g and %.6g, as far as is known; S must be "
                            "positive definite%s",
                            b->center - b->halfwidth, b->center + b->halfwidth,
                            given ? "" : ": give wisp_overlap_opts.bounds if its lowest one is known");
out:
    return status;
}

static wisp_status fit(wisp_overlap *v, bool single)
{
    wisp__fit_want want = {.ctx = v->ctx,
                           .bounds = &v->bounds,
                           .value = inverse_root,
                           .arg = &v->bounds,
                           .above_low = true,
                           .tolerance = v->o.tolerance != 0 ? v->o.tolerance
                                        : single            ? 1e-6
                                                            : 1e-13,
                           .terms = v->o.terms};
    wisp_status status;
    WISP_TRY(wisp__fit_options(&want, "overlap: ", single));
    status = wisp__fit(&v->series, &want);
    if (status == WISP_ERR_ARG)
        return wisp_ctx_failf(
            v->ctx, status,
            "overlap: no polynomial of at most %lld terms is S^-1/2 to %g, for the bounds of S, %.6g and %.6g, are "
            "too far apart: give wisp_overlap_opts.bounds if they are nearer to its eigenvalues",
            (long long)want.terms, want.tolerance, v->bounds.center - v->bounds.halfwidth,
            v->bounds.center + v->bounds.halfwidth);
    if (status != WISP_OK) return status;
    status = wisp__series_agree(v->ctx, &v->series, 1);
out:
    return status;
}

/* A product with S alone takes a vector out of the range of its type, where both are far from 1 to the same side. */
enum { FAR_S = 12, FAR_A = 3 };
static bool is_far(int exponent, wisp_type type, int part)
{
    return abs(exponent) > (wisp__is_single(type) ? FLT_MAX_EXP : DBL_MAX_EXP) / part;
}

wisp_status wisp__overlap_ready(wisp_overlap *v)
{
    wisp_mat_info info;
    wisp_status status = WISP_OK;
    if (v->series.c) return WISP_OK;
    wisp_mat_get_info(v->S, &info);
    WISP_TRY(find_bounds(v, info.type));
    WISP_TRY(fit(v, wisp__is_single(info.type)));
    if (is_far(ilogb(v->bounds.center), info.type, FAR_S)) v->exponent = -ilogb(v->bounds.center) / 2;
    const int64_t least = wisp__least_vectors(isnan(v->bounds.failure_probability));
    v->sum = (wisp__chebyshev_sum){.A = v->S,
                                   .bounds = &v->bounds,
                                   .v = v->sum.v,
                                   .w = v->sum.w,
                                   .sums = 1,
                                   .terms = v->series.terms > least ? v->series.terms : least,
                                   .coefficient = coefficient,
                                   .arg = v,
                                   .depth = v->o.depth,
                                   .cache_budget = v->o.cache_budget};
    status =
        wisp__chebyshev_sum_open(&v->sum, 1, wisp__steps_of(v->ctx, v->o.depth ? v->o.depth : WISP_CHEBYSHEV_STEPS));
out:
    if (status != WISP_OK) wisp_free(v->ctx, v->series.c), v->series = (wisp__series){0};
    return status;
}

static wisp_status make(wisp_overlap *v)
{
    wisp_mat_info info;
    wisp_status status;
    wisp_mat_get_info(v->S, &info);
    if (info.format == WISP_FORMAT_OPERATOR)
        return wisp_ctx_failf(v->ctx, WISP_ERR_UNSUPPORTED, "overlap: S must be a stored matrix, not an operator");
    if (info.rows != info.cols)
        return wisp_ctx_failf(v->ctx, WISP_ERR_MISMATCH, "overlap: S is %lld x %lld; it must be square",
                              (long long)info.rows, (long long)info.cols);
    WISP_TRY(wisp__check_range(v->ctx, "overlap: ", "depth", v->o.depth, 0, INT32_MAX));
    WISP_TRY(wisp__check_range(v->ctx, "overlap: ", "cache_budget", v->o.cache_budget, 0, INT64_MAX));
    if (!v->o.later) return wisp__overlap_ready(v);
    wisp_mat_props props;
    WISP_TRY(wisp__require_hermitian(v->S, &props));
    v->largest = props.largest;
    if (!(v->largest > 0))
        status = wisp_ctx_fail(v->ctx, WISP_ERR_NUMERIC, "overlap: S must be positive definite, and is 0");
out:
    return status;
}

wisp_status wisp_overlap_create(wisp_overlap **overlap, const wisp_mat *S, const wisp_overlap_opts *opts)
{
    wisp_ctx *ctx = wisp_mat_ctx(S);
    WISP_NEED(ctx, overlap);
    *overlap = NULL;
    WISP_NEED(NULL, S);
    wisp_overlap *v = NULL;
    wisp_status status;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp_alloc(ctx, &v, 1, sizeof *v));
    *v = (wisp_overlap){.ctx = ctx, .S = S};
    if (opts) v->o = *opts;
    status = make(v);
out:
    if ((status = wisp_ctx_leave(ctx, status)) == WISP_OK)
        *overlap = v;
    else
        wisp_overlap_free(v);
    return status;
}

static double condition_of(const wisp_bounds *b) { return (b->center + b->halfwidth) / (b->center - b->halfwidth); }

void wisp_overlap_get_info(const wisp_overlap *v, wisp_overlap_info *info)
{
    if (!info) return;
    *info = (wisp_overlap_info){0};
    if (!v) return;
    info->condition = v->condition;
    if (!v->series.c) return;
    info->bounds = v->bounds;
    info->terms = v->series.terms;
    info->error = v->series.error / v->series.largest;
    info->beyond = v->beyond;
    wisp_mat_info S;
    wisp_mat_get_info(v->S, &S);
    info->rounding = (double)v->series.terms * (wisp__is_single(S.type) ? FLT_EPSILON : DBL_EPSILON);
    info->condition = condition_of(&v->bounds);
}

static void free_blocks(wisp_overlap *v)
{
    wisp_blk_free(v->sum.v);
    wisp_blk_free(v->sum.w);
    wisp_blk_free(v->between);
    wisp_free(v->ctx, v->norm);
    wisp_free(v->ctx, v->factor);
    wisp_free(v->ctx, v->by);
    v->sum.v = v->sum.w = v->between = NULL;
    v->norm = NULL, v->factor = NULL, v->by = NULL;
}

void wisp_overlap_free(wisp_overlap *v)
{
    if (!v) return;
    free_blocks(v);
    wisp__chebyshev_sum_close(&v->sum);
    wisp_free(v->ctx, v->series.c);
    wisp_free(v->ctx, v);
}

/* ---- products ------------------------------------------------------------------------------------------- */

wisp_status wisp__overlap_blocks(wisp_overlap *v, const wisp_blk *like, bool between)
{
    wisp_status status = WISP_OK;
    wisp_map *map = wisp_mat_map(v->S);
    const wisp_type type = wisp_blk_type(like);
    const int width = wisp_blk_width(like);
    if (v->sum.v && (wisp_blk_type(v->sum.v) != type || wisp_blk_width(v->sum.v) != width)) free_blocks(v);
    if (!v->sum.v) WISP_TRY(wisp_blk_create(&v->sum.v, v->ctx, map, type, width));
    if (!v->sum.w) WISP_TRY(wisp_blk_create(&v->sum.w, v->ctx, map, type, width));
    if (!v->between && between) WISP_TRY(wisp_blk_create(&v->between, v->ctx, map, type, width));
    if (!v->norm) WISP_TRY(wisp_alloc(v->ctx, &v->norm, 2 * (size_t)width, sizeof *v->norm));
    if (!v->factor) WISP_TRY(wisp_alloc(v->ctx, &v->factor, (size_t)width, sizeof *v->factor));
    if (!v->by) WISP_TRY(wisp_alloc(v->ctx, &v->by, (size_t)width, sizeof *v->by));
out:
    if (status != WISP_OK) free_blocks(v);
    return status;
}

/* Who reads it may know of another matrix, and of other bounds. */
static wisp_status name_bounds(wisp_overlap *v)
{
    const wisp_bounds *b = &v->bounds;
    v->beyond++;
    return wisp_ctx_failf(v->ctx, WISP_ERR_BOUNDS,
                          "overlap: S has eigenvalues beyond the bounds %.10g to %.10g; take wider "
                          "wisp_overlap_opts.bounds, or none, so that they are found",
                          b->center - b->halfwidth, b->center + b->halfwidth);
}

static int within(int exponent, int most) { return exponent > most ? most : exponent < -most ? -most : exponent; }

/* Takes powers of 2 out of the columns of x, so that these are about as long as 1, and adds them to those in `by`. */
static wisp_status to_one(wisp_overlap *v, wisp_blk *x)
{
    wisp_status status;
    WISP_TRY(wisp_norm(x, v->norm));
    for (int j = 0; j < wisp_blk_width(x); j++) {
        const bool known = v->norm[j] > 0 && isfinite(v->norm[j]);
        const int exponent = known ? within(ilogb(v->norm[j]), wisp__most_exponent(wisp_blk_type(x))) : 0;
        v->by[j] += exponent;
        v->factor[j] = wisp__real(ldexp(1, -exponent));
    }
    status = wisp_vscal(x, v->factor);
out:
    return status;
}

/* Puts them back into y, and as many of 2^exponent as there were products with the root. */
static wisp_status from_one(wisp_overlap *v, wisp_blk *y, int roots)
{
    wisp_status status = WISP_OK;
    const int width = wisp_blk_width(y);
    for (int j = 0; j < width; j++) v->by[j] += roots * v->exponent;
    for (bool any = true; any && status == WISP_OK;) {
        any = false;
        for (int j = 0; j < width; j++) {
            const int step = within(v->by[j], wisp__most_exponent(wisp_blk_type(y)));
            v->factor[j] = wisp__real(ldexp(1, step));
            v->by[j] -= step;
            any |= step != 0;
        }
        if (any) status = wisp_vscal(y, v->factor);
    }
    return status;
}

wisp_status wisp__overlap_root(wisp_overlap *v, wisp_blk *y)
{
    wisp_status status = WISP_OK;
    wisp__chebyshev_sum *s = &v->sum;
    const int width = wisp_blk_width(y);
    int count;
    s->z = &y;
    const bool given = isnan(v->bounds.failure_probability);
    if (given) WISP_TRY(wisp_norm(s->v, v->norm));
    WISP_TRY(wisp__chebyshev_sum_begin(s));
    while (s->step + 1 < s->terms) WISP_TRY(wisp__chebyshev_sum_next(s, &count));
    if (given) status = wisp__chebyshev_sum_check(s, v->norm, v->norm + width);
    if (status == WISP_ERR_BOUNDS) status = name_bounds(v);
out:
    s->z = NULL;
    return status;
}

wisp_status wisp_overlap_apply(wisp_overlap *v, wisp_blk *y, const wisp_blk *x)
{
    wisp_ctx *ctx = v ? v->ctx : wisp_blk_ctx(x);
    wisp_status status;
    WISP_NEED(ctx, v);
    WISP_NEED(ctx, y);
    WISP_NEED(ctx, x);
    wisp_ctx_enter(ctx);
    if (wisp_blk_map(x) != wisp_mat_map(v->S) || wisp_blk_map(y) != wisp_blk_map(x) ||
        wisp_blk_type(y) != wisp_blk_type(x) || wisp_blk_width(y) != wisp_blk_width(x)) {
        status = wisp_ctx_failf(
            ctx, WISP_ERR_MISMATCH,
            "overlap: x and y need the map of S, one type and one width; they are %s, width %d, and "
            "%s, width %d",
            wisp_type_name(wisp_blk_type(x)), wisp_blk_width(x), wisp_type_name(wisp_blk_type(y)), wisp_blk_width(y));
        goto out;
    }
    WISP_TRY(wisp__overlap_ready(v));
    WISP_TRY(wisp__overlap_blocks(v, x, false));
    WISP_TRY(wisp_copy(v->sum.v, x));
    if (v->exponent) WISP_TRY(to_one(v, v->sum.v));
    WISP_TRY(wisp__overlap_root(v, y));
    if (v->exponent) status = from_one(v, y, 1);
out:
    return wisp_ctx_leave(ctx, status);
}

typedef struct {
    wisp_overlap *overlap;
    const wisp_mat *A;
    bool far; /* A is far from 1 */
} product;

static wisp_status multiply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    const product *p = arg;
    wisp_overlap *v = p->overlap;
    wisp_status status;
    WISP_TRY(wisp__overlap_ready(v));
    const bool far = p->far || v->exponent;
    WISP_TRY(wisp__overlap_blocks(v, x, true));
    WISP_TRY(wisp_copy(v->sum.v, x));
    if (far) WISP_TRY(to_one(v, v->sum.v));
    WISP_TRY(wisp__overlap_root(v, v->between));
    WISP_TRY(wisp_spmmv(v->sum.v, p->A, v->between, NULL));
    if (far) WISP_TRY(to_one(v, v->sum.v));
    WISP_TRY(wisp__overlap_root(v, y));
    if (far) status = from_one(v, y, 2);
out:
    return status;
}

/* A product with A, and S^-1/2 two times. */
static void cost_of(void *arg, wisp_type type, int width, wisp_cost *cost)
{
    const product *p = arg;
    const double steps = 2 * fmax((double)p->overlap->sum.terms - 1, 0);
    wisp_cost step;
    wisp_spmmv_cost(p->A, type, width, 0, cost);
    wisp_spmmv_cost(p->overlap->S, type, width, WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_CHAIN, &step);
    cost->bytes += steps * step.bytes;
    cost->flops += steps * step.flops;
}

/* Whether the eigenvalues, by the largest entry of A, are numbers of the type. */
static wisp_status check_size(const wisp_overlap *v, double largest, wisp_type type)
{
    const wisp_bounds *s = &v->bounds;
    const double most = log2(largest) - log2(s->center - s->halfwidth),
                 least = log2(largest) - log2(s->center + s->halfwidth);
    const int limit = (wisp__is_single(type) ? FLT_MAX_EXP : DBL_MAX_EXP) - 8;
    if (largest == 0 || (most < limit && least > -limit)) return WISP_OK;
    return wisp_ctx_failf(v->ctx, WISP_ERR_NUMERIC,
                          "overlap: the eigenvalues of A x = lambda S x are too %s for %s: the largest entry of A is "
                          "%.3g, eigenvalues of S lie between %.3g and %.3g; multiply A or S by a number",
                          most < limit ? "small" : "large", wisp_type_name(type), largest, s->center - s->halfwidth,
                          s->center + s->halfwidth);
}

static wisp_status matrix(wisp_mat **C, wisp_overlap *v, const wisp_mat *A)
{
    wisp_status status = WISP_OK;
    wisp_mat_info a, s;
    product *p = NULL;
    wisp_mat_get_info(A, &a);
    wisp_mat_get_info(v->S, &s);
    if (wisp_mat_map(A) != wisp_mat_map(v->S) || a.rows != a.cols)
        return wisp_ctx_failf(v->ctx, WISP_ERR_MISMATCH,
                              "overlap: A is %lld x %lld and S %lld x %lld; they need the same map (opts.map)",
                              (long long)a.rows, (long long)a.cols, (long long)s.rows, (long long)s.cols);
    wisp_mat_props props = {0};
    if (a.format != WISP_FORMAT_OPERATOR) WISP_TRY(wisp__require_hermitian(A, &props));
    if (v->series.c) WISP_TRY(check_size(v, props.largest, a.type));
    wisp_operator op = {.map = wisp_mat_map(A), .type = a.type, .apply = multiply, .free_arg = free, .cost = cost_of};
    if (wisp_type_is_complex(s.type)) op.type = wisp__type_in(a.type, WISP_Z);
    op.arg = p = malloc(sizeof *p);
    if (!p) return wisp_ctx_failf(v->ctx, WISP_ERR_NOMEM, "overlap: out of memory");
    *p = (product){v, A, props.largest > 0 && is_far(ilogb(props.largest), a.type, FAR_A)};
    status = wisp_mat_from_apply(C, v->ctx, &op);
    if (status != WISP_OK) free(p);
out:
    return status;
}

wisp_status wisp_overlap_matrix(wisp_mat **C, wisp_overlap *v, const wisp_mat *A)
{
    wisp_ctx *ctx = v ? v->ctx : wisp_mat_ctx(A);
    WISP_NEED(ctx, C);
    *C = NULL;
    WISP_NEED(ctx, v);
    WISP_NEED(ctx, A);
    wisp_ctx_enter(ctx);
    return wisp_ctx_leave(ctx, matrix(C, v, A));
}

bool wisp__pencil_of(const wisp_mat *C, wisp__pencil *p)
{
    wisp_mat_info info;
    wisp_operator op;
    wisp_mat_get_info(C, &info);
    *p = (wisp__pencil){0};
    if (info.format != WISP_FORMAT_OPERATOR || wisp_mat_get_operator(C, &op) != WISP_OK || op.apply != multiply)
        return false;
    const product *of = op.arg;
    wisp_overlap *v = of->overlap;
    const wisp_bounds *b = &v->bounds;
    const bool known = v->series.c != NULL;
    *p = (wisp__pencil){.overlap = v,
                        .A = of->A,
                        .S = v->S,
                        .exponent = ilogb(known ? b->center : v->largest) / 2 * 2,
                        .error = known ? v->series.error / v->series.largest : 0,
                        .condition = known ? condition_of(b) : fmax(v->condition, 1),
                        .terms = v->series.terms,
                        .rootless = v->o.later};
    return true;
}
