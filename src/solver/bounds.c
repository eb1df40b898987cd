/* Where the spectrum of a Hermitian matrix lies: Lanczos with a margin that holds with known probability, Gershgorin's
   circles, or what is given. */
#include "bounds.h"
#include <float.h>
#include <math.h>

enum { B = WISP__BOUNDS_RUNS, STEPS = WISP__BOUNDS_STEPS };

static double largest_of(double low, double high) { return fmax(fabs(low), fabs(high)); }

wisp_status wisp__require_finite(const wisp_mat *A, const char *who, wisp_mat_props *props)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    *props = (wisp_mat_props){.square = 1, .hermitian = 1, .nonfinite_row = -1};
    const wisp_status status = info.format == WISP_FORMAT_OPERATOR ? WISP_OK : wisp_mat_get_props(A, props);
    if (status != WISP_OK || props->nonfinite_row < 0) return status;
    return wisp_ctx_failf(wisp_mat_ctx(A), WISP_ERR_NUMERIC, "%srow %lld of the matrix holds a NaN or an infinity", who,
                          (long long)props->nonfinite_row);
}

wisp_status wisp__require_hermitian(const wisp_mat *A, wisp_mat_props *props)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    const wisp_status status = wisp__require_finite(A, "", props);
    if (status != WISP_OK) return status;
    if (!props->square)
        return wisp_ctx_failf(ctx, WISP_ERR_HERMITIAN,
                              "the matrix is rectangular (%lld x %lld), and this needs a Hermitian one",
                              (long long)info.rows, (long long)info.cols);
    if (info.rows < 1) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the matrix has no rows, and so no spectrum");
    if (!props->hermitian) {
        const char *advice = props->nearly_hermitian
                                 ? "if that is rounding, take the Hermitian part (wisp_src_hermitian_part)"
                                 : "this needs a Hermitian matrix";
        if (props->bad_row == props->bad_col)
            return wisp_ctx_failf(ctx, WISP_ERR_HERMITIAN,
                                  "the matrix is not Hermitian: entry (%lld, %lld) on the diagonal is not real: %s",
                                  (long long)props->bad_row, (long long)props->bad_col, advice);
        return wisp_ctx_failf(
            ctx, WISP_ERR_HERMITIAN,
            "the matrix is not Hermitian: entries (%lld, %lld) and (%lld, %lld), counted from 0, are not "
            "conjugate; the largest difference is %.3g: %s",
            (long long)props->bad_row, (long long)props->bad_col, (long long)props->bad_col, (long long)props->bad_row,
            props->asymmetry, advice);
    }
    return WISP_OK;
}

/* With products of A, one a step. */
typedef struct {
    wisp__runs runs;
    const wisp_mat *A;
    uint64_t seed;
    wisp_type type;  /* of the vectors */
    double tiny;     /* beta that is rounding */
    wisp_blk *v, *w; /* v_j, and beta_j-1 v_j-1 where v_j+1 will be */
} lanczos;

static wisp_status lanczos_start(wisp__runs *r)
{
    lanczos *L = (lanczos *)r;
    wisp_status status = WISP_OK;
    double norm[B];
    wisp_scalar inverse[B];
    WISP_TRY(wisp_blk_create(&L->v, r->ctx, wisp_mat_map(L->A), L->type, r->columns));
    WISP_TRY(wisp_blk_create(&L->w, r->ctx, wisp_mat_map(L->A), L->type, r->columns));
    WISP_TRY(wisp_blk_fill_random(L->v, WISP_RANDOM_GAUSS, L->seed, WISP__STREAM_LANCZOS, 0));
    WISP_TRY(wisp_norm(L->v, norm));
    for (int i = 0; i < r->columns; i++) inverse[i] = wisp__real(norm[i] > 0 ? 1 / norm[i] : 0);
    WISP_TRY(wisp_vscal(L->v, inverse));
out:
    return status;
}

/* w -= delta v, and its norm; without another pass over the block (delta is left to the caller then) as long as
   ||w||^2 - delta^2 keeps its digits. */
static wisp_status residual(const lanczos *L, double *delta, const wisp_scalar *ww, double *norm)
{
    const int columns = L->runs.columns;
    wisp_status status = WISP_OK;
    int cancels = 0;
    for (int i = 0; i < columns; i++) {
        double square = ww[i].re - delta[i] * delta[i];
        norm[i] = wisp__root(square);
        cancels |= square < 0.1 * ww[i].re;
    }
    if (!cancels) return WISP_OK;
    wisp_scalar minus[B];
    for (int i = 0; i < columns; i++) minus[i] = wisp__real(-delta[i]);
    WISP_TRY(wisp_vaxpy(L->w, minus, L->v));
    WISP_TRY(wisp_norm(L->w, norm));
    for (int i = 0; i < columns; i++) delta[i] = 0;
out:
    return status;
}

/* Step j: w = A v - beta v_j-1, alpha = <v|w>, w -= alpha v, beta = ||w||, v_j+1 = w / beta. The shift by the
   last alpha takes most of the present one out of w. A column that is complete goes on as zeros. */
static wisp_status lanczos_step(wisp__runs *r, int j)
{
    lanczos *L = (lanczos *)r;
    wisp_status status = WISP_OK;
    wisp_scalar shift[B], dot[3 * B], of_v[B], of_w[B], old[B];
    double delta[B], norm[B];
    for (int i = 0; i < r->columns; i++) shift[i] = wisp__real(r->center + (j > 0 ? r->alpha[i][j - 1] * r->scale : 0));
    wisp_aug aug = {.terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XY | WISP_DOT_YY,
                    .alpha = wisp__real(1 / r->scale),
                    .beta = wisp__real(j > 0 ? -1 : 0),
                    .shift = shift,
                    .dot = dot};
    WISP_TRY(wisp_spmmv(L->w, L->A, L->v, &aug));
    for (int i = 0; i < r->columns; i++) {
        delta[i] = dot[r->columns + i].re;
        r->alpha[i][j] = (shift[i].re - r->center) / r->scale + delta[i];
    }
    WISP_TRY(residual(L, delta, dot + 2 * r->columns, norm));
    for (int i = 0; i < r->columns; i++) {
        const bool goes_on = wisp__run_goes_on(r, i, j, norm[i], L->tiny);
        of_v[i] = wisp__real(goes_on ? -delta[i] / norm[i] : 0);
        of_w[i] = wisp__real(goes_on ? 1 / norm[i] : 0);
        old[i] = wisp__real(r->beta[i][j]);
    }
    WISP_TRY(wisp_vaxpby(L->w, of_v, L->v, of_w));
    WISP_TRY(wisp_vscal(L->v, old));
    wisp_blk *next = L->w;
    L->w = L->v;
    L->v = next;
out:
    return status;
}

/* ---- from numbers of Lanczos to bounds ---------------------------------------------------------------- */

wisp_status wisp__check_scale(wisp_ctx *ctx, wisp_type type, double halfwidth)
{
    if (wisp__scale_fits(type, halfwidth)) return WISP_OK;
    return wisp_ctx_failf(
        ctx, WISP_ERR_NUMERIC,
        "the spectrum is only %.3g wide, too narrow for %s arithmetic: multiply the matrix by about 1e%+.0f%s",
        2 * halfwidth, wisp_type_name(type), -floor(log10(halfwidth)),
        wisp__is_single(type) && wisp__scale_fits(WISP_D, halfwidth) ? ", or take vectors in double precision" : "");
}

/* The matrix's type; if 1/scale is too large for that, double: what a single matrix holds may be far smaller. */
static wisp_type lanczos_type(wisp_type matrix, double scale)
{
    return wisp__scale_fits(matrix, scale) ? matrix : wisp__type_in(WISP_D, matrix);
}

wisp_bounds wisp__bounds_interval(double low, double high, double eps, double probability)
{
    double rounding = 64 * eps * largest_of(low, high);
    wisp_bounds b = {.center = low / 2 + high / 2, .failure_probability = probability};
    b.halfwidth = fmax(high / 2 - low / 2 + rounding, 1e-6 * fabs(b.center));
    if (b.halfwidth == 0) b.halfwidth = largest_of(low, high); /* of the smallest denormals */
    return b;
}

/* What is known of the spectrum before Lanczos begins. */
typedef struct {
    double low, high;     /* it lies in here */
    double center, scale; /* about its middle, and its halfwidth */
    double norm;          /* about; 0: of the zero matrix alone */
} outline;

/* By Gershgorin's circles, whose sums are rounded too. */
static outline outline_of(const wisp_mat_props *props)
{
    const double norm = largest_of(props->gershgorin_min, props->gershgorin_max),
                 rounding = 2 * ((double)props->max_row + 8) * DBL_EPSILON * norm,
                 low = props->gershgorin_min - rounding, high = props->gershgorin_max + rounding;
    return (outline){low, high, low / 2 + high / 2, high / 2 - low / 2, norm};
}

/* w times a power of two, so that the squares of its numbers are none that are too small or too large: *exponent is
   what it lacks. */
static wisp_status near_one(wisp_blk *w, double norm, int *exponent)
{
    const int most = wisp__most_exponent(wisp_blk_type(w));
    *exponent = norm > 0 && isfinite(norm) ? (int)fmin(fmax(ilogb(norm), -most), most) : 0;
    return wisp_scal(w, wisp__real(ldexp(1, -*exponent)));
}

/* Of an operator by a random vector v: <v|A|v> and ||A v|| are the mean of the eigenvalues and their root mean square,
   about; the halfwidth is mostly twice their standard deviation, or a little more. Lanczos needs no better scale. */
static wisp_status look_at_operator(const wisp_mat *A, wisp_type type, uint64_t seed, outline *found)
{
    wisp_blk *v = NULL, *w = NULL;
    wisp_scalar dot;
    double of_v, of_w;
    int exponent;
    wisp_status status;
    WISP_TRY(wisp_blk_create(&v, wisp_mat_ctx(A), wisp_mat_map(A), type, 1));
    WISP_TRY(wisp_blk_create(&w, wisp_mat_ctx(A), wisp_mat_map(A), type, 1));
    WISP_TRY(wisp_blk_fill_random(v, WISP_RANDOM_GAUSS, seed, WISP__STREAM_LANCZOS, B));
    WISP_TRY(wisp_norm(v, &of_v));
    WISP_TRY(wisp_spmmv(w, A, v, NULL));
    WISP_TRY(wisp_norm(w, &of_w));
    WISP_TRY(near_one(w, of_w, &exponent));
    WISP_TRY(wisp_dot(v, w, &dot));
    const double mean = dot.re / of_v / of_v, root = ldexp(of_w, -exponent) / of_v;
    const double halfwidth = 2 * wisp__root(root * root - mean * mean), norm = root + halfwidth;
    *found = (outline){-INFINITY, INFINITY, ldexp(mean, exponent), ldexp(fmax(halfwidth, 1e-6 * norm), exponent),
                       ldexp(norm, exponent)};
    if (!(found->norm < (wisp__is_single(type) ? FLT_MAX : DBL_MAX) / 64))
        status = wisp_ctx_failf(wisp_mat_ctx(A), WISP_ERR_NUMERIC,
                                "the operator's values are too large for %s, or not finite: of random numbers it makes "
                                "some of about %g",
                                wisp_type_name(type), ldexp(root, exponent));
out:
    wisp_blk_free(v);
    wisp_blk_free(w);
    return status;
}

static wisp_status check_size(wisp_ctx *ctx, wisp_type type, const outline *about)
{
    if (about->norm < (wisp__is_single(type) ? FLT_MAX : DBL_MAX) / 64) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC,
                          "the matrix's values are too large for %s: Gershgorin's bounds are %g and %g",
                          wisp_type_name(type), about->low, about->high);
}

static lanczos lanczos_of(const wisp_mat *A, wisp_type type, const outline *about, uint64_t seed, double room)
{
    const double eps = wisp__is_single(type) ? FLT_EPSILON : DBL_EPSILON;
    return (lanczos){.runs = {.ctx = wisp_mat_ctx(A),
                              .start = lanczos_start,
                              .step = lanczos_step,
                              .rows = (double)wisp_map_rows(wisp_mat_map(A)),
                              .center = about->center,
                              .scale = about->scale,
                              .room = room},
                     .A = A,
                     .seed = seed,
                     .type = lanczos_type(type, about->scale),
                     .tiny = eps * about->norm / about->scale};
}

static wisp_status narrow(lanczos *L, double *low, double *high, double *probability)
{
    wisp_status status = wisp__check_scale(L->runs.ctx, L->type, L->runs.scale);
    if (status == WISP_OK) status = wisp__runs_narrow(&L->runs, low, high, probability);
    wisp_blk_free(L->v);
    wisp_blk_free(L->w);
    return status;
}

/* ---- the call ------------------------------------------------------------------------------------- */

static wisp_status find(wisp_bounds *bounds, const wisp_mat *A, wisp_bounds_opts o)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_mat_props props;
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    WISP_TRY(wisp__check_bounds(ctx, &info, &o));
    if (o.method == WISP_BOUNDS_GIVEN) {
        *bounds = (wisp_bounds){o.given.center, o.given.halfwidth, NAN};
        goto out;
    }
    WISP_TRY(wisp__require_hermitian(A, &props));
    int single = wisp__is_single(info.type);
    double eps = single ? FLT_EPSILON : DBL_EPSILON, probability = 0;
    outline about = outline_of(&props);
    if (info.format == WISP_FORMAT_OPERATOR) WISP_TRY(look_at_operator(A, info.type, o.seed, &about));
    double low = about.low, high = about.high;
    WISP_TRY(check_size(ctx, info.type, &about));
    if (about.norm == 0) {
        *bounds = (wisp_bounds){.center = 0, .halfwidth = 1};
        return WISP_OK;
    }
    const double clearance = WISP__BOUNDS_ROOM * (high - low) / 2;
    if (o.method == WISP_BOUNDS_LANCZOS && high - low > 64 * eps * about.norm) {
        lanczos L = lanczos_of(A, info.type, &about, o.seed, WISP__BOUNDS_ROOM);
        if (o.sweeps == 0) o.sweeps = o.sweeps_per_halfwidth * L.runs.scale;
        wisp__bounds_size(&info, &o, &L.runs.columns, &L.runs.steps);
        WISP_TRY(narrow(&L, &low, &high, &probability));
    } else {
        low -= clearance, high += clearance;
    }
    *bounds = wisp__bounds_interval(low, high, eps, probability);
out:
    return status;
}

wisp_status wisp_bounds_find(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *opts)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    WISP_NEED(ctx, bounds);
    *bounds = (wisp_bounds){0};
    WISP_NEED(NULL, A);
    wisp_ctx_enter(ctx);
    return wisp_ctx_leave(ctx, find(bounds, A, opts ? *opts : (wisp_bounds_opts){0}));
}

wisp_status wisp__hermitian_bounds(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *o)
{
    wisp_mat_props props;
    const wisp_status status = wisp_bounds_find(bounds, A, o);
    return status == WISP_OK && o->method == WISP_BOUNDS_GIVEN ? wisp__require_hermitian(A, &props) : status;
}

/* Lanczos with ever more steps, till the margin is small beside the lowest value. */
static wisp_status find_positive(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *o)
{
    enum { FEWEST = 32, SMALL = 8 };
    wisp_status status = WISP_OK;
    wisp_mat_props props;
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    WISP_TRY(wisp__require_hermitian(A, &props));
    const double eps = wisp__is_single(info.type) ? FLT_EPSILON : DBL_EPSILON;
    const outline about = outline_of(&props);
    double low = about.low, high = about.high, probability = 0;
    WISP_TRY(check_size(wisp_mat_ctx(A), info.type, &about));
    bool near = high <= SMALL * low || high - low <= 64 * eps * about.norm || o->method == WISP_BOUNDS_GERSHGORIN;
    for (int steps = FEWEST; steps <= STEPS && !near; steps *= 2) {
        lanczos L = lanczos_of(A, info.type, &about, o->seed, 0);
        L.runs.columns = B, L.runs.steps = steps;
        low = about.low, high = about.high;
        WISP_TRY(narrow(&L, &low, &high, &probability));
        near = low >= SMALL / 2 * wisp__bounds_margin((double)info.rows, B, steps) * (high - low);
    }
    *bounds = wisp__bounds_interval(low, high, eps, probability);
out:
    return status;
}

wisp_status wisp__positive_bounds(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *o)
{
    return o->method == WISP_BOUNDS_GIVEN ? wisp__hermitian_bounds(bounds, A, o) : find_positive(bounds, A, o);
}
