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

/* Lanczos recurrences of (A - center) / scale side by side. */
typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *A;
    wisp_type type; /* of the vectors */
    int columns, steps;
    double center, scale;
    double room;            /* WISP__BOUNDS_ROOM; 0: the bounds are to be near, and on no grid */
    double tiny;            /* a beta up to this is rounding: the column's Krylov space is complete */
    wisp_blk *v, *w;        /* v_j, and beta_j-1 v_j-1 where v_j+1 will be */
    int length[B];          /* steps of each column */
    double alpha[B][STEPS]; /* the tridiagonal matrices */
    double beta[B][STEPS];
} lanczos;

static wisp_status lanczos_start(lanczos *L, uint64_t seed)
{
    wisp_status status = WISP_OK;
    double norm[B];
    wisp_scalar inverse[B];
    WISP_TRY(wisp_blk_create(&L->v, L->ctx, wisp_mat_map(L->A), L->type, L->columns));
    WISP_TRY(wisp_blk_create(&L->w, L->ctx, wisp_mat_map(L->A), L->type, L->columns));
    WISP_TRY(wisp_blk_fill_random(L->v, WISP_RANDOM_GAUSS, seed, WISP__STREAM_LANCZOS, 0));
    WISP_TRY(wisp_norm(L->v, norm));
    for (int i = 0; i < L->columns; i++) {
        inverse[i] = wisp__real(norm[i] > 0 ? 1 / norm[i] : 0);
        L->length[i] = L->steps;
    }
    WISP_TRY(wisp_vscal(L->v, inverse));
out:
    return status;
}

/* w -= delta v, and its norm; without another pass over the block (delta is left to the caller then) as long as
   ||w||^2 - delta^2 keeps its digits. */
static wisp_status residual(lanczos *L, double *delta, const wisp_scalar *ww, double *norm)
{
    wisp_status status = WISP_OK;
    int cancels = 0;
    for (int i = 0; i < L->columns; i++) {
        double square = ww[i].re - delta[i] * delta[i];
        norm[i] = wisp__root(square);
        cancels |= square < 0.1 * ww[i].re;
    }
    if (!cancels) return WISP_OK;
    wisp_scalar minus[B];
    for (int i = 0; i < L->columns; i++) minus[i] = wisp__real(-delta[i]);
    WISP_TRY(wisp_vaxpy(L->w, minus, L->v));
    WISP_TRY(wisp_norm(L->w, norm));
    for (int i = 0; i < L->columns; i++) delta[i] = 0;
out:
    return status;
}

/* Step j: w = A v - beta v_j-1, alpha = <v|w>, w -= alpha v, beta = ||w||, v_j+1 = w / beta. The shift by the
   last alpha takes most of the present one out of w. A column that is complete goes on as zeros. */
static wisp_status lanczos_step(lanczos *L, int j)
{
    wisp_status status = WISP_OK;
    wisp_scalar shift[B], dot[3 * B], of_v[B], of_w[B], old[B];
    double delta[B], norm[B];
    for (int i = 0; i < L->columns; i++) shift[i] = wisp__real(L->center + (j > 0 ? L->alpha[i][j - 1] * L->scale : 0));
    wisp_aug aug = {.terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XY | WISP_DOT_YY,
                    .alpha = wisp__real(1 / L->scale),
                    .beta = wisp__real(j > 0 ? -1 : 0),
                    .shift = shift,
                    .dot = dot};
    WISP_TRY(wisp_spmmv(L->w, L->A, L->v, &aug));
    for (int i = 0; i < L->columns; i++) {
        delta[i] = dot[L->columns + i].re;
        L->alpha[i][j] = (shift[i].re - L->center) / L->scale + delta[i];
    }
    WISP_TRY(residual(L, delta, dot + 2 * L->columns, norm));
    for (int i = 0; i < L->columns; i++) {
        if (j + 1 < L->length[i] && norm[i] <= L->tiny) L->length[i] = j + 1;
        int goes_on = j + 1 < L->length[i];
        L->beta[i][j] = goes_on ? norm[i] : 0;
        of_v[i] = wisp__real(goes_on ? -delta[i] / norm[i] : 0);
        of_w[i] = wisp__real(goes_on ? 1 / norm[i] : 0);
        old[i] = wisp__real(L->beta[i][j]);
    }
    WISP_TRY(wisp_vaxpby(L->w, of_v, L->v, of_w));
    WISP_TRY(wisp_vscal(L->v, old));
    wisp_blk *next = L->w;
    L->w = L->v;
    L->v = next;
out:
    return status;
}

/* How many eigenvalues of a symmetric tridiagonal matrix are below x: the negative pivots of its factors L D L^T. */
static int count_below(int n, const double *diagonal, const double *beside, double x)
{
    int count = 0;
    double pivot = 1;
    for (int i = 0; i < n; i++) {
        pivot = diagonal[i] - x - (i > 0 ? beside[i - 1] * (beside[i - 1] / pivot) : 0);
        if (fabs(pivot) < DBL_MIN) pivot = -DBL_MIN;
        count += pivot < 0;
    }
    return count;
}

/* Its lowest eigenvalue, or its highest, to the rounding of its norm, by bisection. (LAPACK's dsterf does as well, but
   a BLAS starts threads in the process of everyone who links it, for a matrix of 64 rows.) */
double wisp__tridiagonal_edge(int n, const double *diagonal, const double *beside, int highest)
{
    double norm = 0;
    for (int i = 0; i < n; i++)
        norm = fmax(norm, fabs(diagonal[i]) + (i > 0 ? fabs(beside[i - 1]) : 0) + (i + 1 < n ? fabs(beside[i]) : 0));
    double low = -norm, high = norm;
    while (high - low > DBL_EPSILON * norm) {
        const double middle = low / 2 + high / 2;
        if (middle <= low || middle >= high) break;
        if (count_below(n, diagonal, beside, middle) < (highest ? n : 1))
            low = middle;
        else
            high = middle;
    }
    return low / 2 + high / 2;
}

/* Lowest and highest Ritz value of all columns after some steps, in A's own units. */
static wisp_status ritz_values(lanczos *L, int steps, double *lowest, double *highest)
{
    *lowest = HUGE_VAL, *highest = -HUGE_VAL;
    for (int i = 0; i < L->columns; i++) {
        const int n = L->length[i] < steps ? L->length[i] : steps;
        for (int j = 0; j < n; j++)
            if (!isfinite(L->alpha[i][j]) || !isfinite(L->beta[i][j]))
                return wisp_ctx_failf(L->ctx, WISP_ERR_NUMERIC,
                                      "a number of the Lanczos runs for the bounds is not finite");
        *lowest = fmin(*lowest, L->center + L->scale * wisp__tridiagonal_edge(n, L->alpha[i], L->beta[i], 0));
        *highest = fmax(*highest, L->center + L->scale * wisp__tridiagonal_edge(n, L->alpha[i], L->beta[i], 1));
    }
    return WISP_OK;
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

/* Narrows low..high, which holds the spectrum, to the Ritz values, a margin (a share of their spread) and the room. */
static void narrowed(double lowest, double highest, double margin, double room, double *low, double *high)
{
    const double spread = highest - lowest, clearance = room * spread / 2;
    *low = fmin(fmax(*low, lowest - margin * spread), lowest - clearance);
    *high = fmax(fmin(*high, highest + margin * spread), highest + clearance);
}

/* Whether bounds of the last step's margin would be no narrower than low..high, which has no room yet. More steps only
   spread the Ritz values. */
static wisp_status no_better(lanczos *L, int steps, double margin, double low, double high, bool *yes)
{
    double lowest, highest, narrow_low = low, narrow_high = high;
    const wisp_status status = ritz_values(L, steps, &lowest, &highest);
    if (status != WISP_OK) return status;
    narrowed(lowest, highest, margin, L->room, &narrow_low, &narrow_high);
    *yes = narrow_high - narrow_low >= high - low;
    return WISP_OK;
}

/* Outwards to round numbers, less than a hundredth of the interval apart: other seeds then mostly give the same bounds,
   and their moments can be taken together. */
static void on_grid(double *low, double *high)
{
    int exponent;
    frexp(*high - *low, &exponent);
    const double step = ldexp(1, exponent - 8);
    if (step < DBL_MIN) return;
    *low = floor(*low / step) * step;
    *high = ceil(*high / step) * step;
}

/* Narrows low..high, which Gershgorin gave (or nobody), to the Ritz values and their margin, if that is less. */
static wisp_status narrow(lanczos *L, uint64_t seed, double *low, double *high, double *probability)
{
    wisp_status status = WISP_OK;
    const double margin = wisp__bounds_margin((double)wisp_map_rows(wisp_mat_map(L->A)), L->columns, L->steps);
    double lowest, highest;
    bool enough = false;
    WISP_TRY(lanczos_start(L, seed));
    for (int j = 0, going = L->columns; j < L->steps && going > 0; j++) {
        WISP_TRY(lanczos_step(L, j));
        WISP_TRY(wisp_ctx_step(L->ctx, "bounds", (j + 1.0) / L->steps, 0));
        going = 0;
        for (int i = 0; i < L->columns; i++) going += j + 1 < L->length[i];
        if ((j + 1) % 8 == 0 && j + 1 < L->steps) WISP_TRY(no_better(L, j + 1, margin, *low, *high, &enough));
        if (enough) break;
    }
    if (enough) {
        const double clearance = L->room * (*high - *low) / 2;
        *low -= clearance, *high += clearance;
        goto out;
    }
    WISP_TRY(ritz_values(L, L->steps, &lowest, &highest));
    *probability = WISP__BOUNDS_FAILURE;
    narrowed(lowest, highest, margin, L->room, low, high);
    if (*high > *low && L->room > 0) on_grid(low, high);
out:
    wisp_blk_free(L->v);
    wisp_blk_free(L->w);
    return status;
}

/* The interval as center and halfwidth: widened by rounding, and never so narrow that (A - center) / halfwidth would
   be rounding alone. */
static wisp_bounds interval(double low, double high, double eps, double probability)
{
    double rounding = 64 * eps * largest_of(low, high);
    wisp_bounds b = {.center = low / 2 + high / 2, .failure_probability = probability};
    b.halfwidth = fmax(high / 2 - low / 2 + rounding, 1e-6 * fabs(b.center));
    if (b.halfwidth == 0) b.halfwidth = largest_of(low, high); /* of the smallest denormals */
    return b;
}

wisp_bounds wisp__bounds_of_runs(double lowest, double highest, double rows, int columns, int steps, double eps)
{
    double low = -INFINITY, high = INFINITY;
    narrowed(lowest, highest, wisp__bounds_margin(rows, columns, steps), WISP__BOUNDS_ROOM, &low, &high);
    if (high > low) on_grid(&low, &high);
    return interval(low, high, eps, WISP__BOUNDS_FAILURE);
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
    const int most = wisp__is_single(wisp_blk_type(w)) ? 120 : 1000; /* what 2^-exponent can be in that type */
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
        lanczos L = {.ctx = ctx, .A = A, .center = about.center, .scale = about.scale, .room = WISP__BOUNDS_ROOM};
        if (o.sweeps == 0) o.sweeps = o.sweeps_per_halfwidth * L.scale;
        wisp__bounds_size(&info, &o, &L.columns, &L.steps);
        L.tiny = eps * about.norm / L.scale;
        L.type = lanczos_type(info.type, L.scale);
        WISP_TRY(wisp__check_scale(ctx, L.type, L.scale));
        WISP_TRY(narrow(&L, o.seed, &low, &high, &probability));
    } else {
        low -= clearance, high += clearance;
    }
    *bounds = interval(low, high, eps, probability);
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
        lanczos L = {.ctx = wisp_mat_ctx(A), .A = A, .columns = B, .steps = steps};
        L.center = about.center, L.scale = about.scale;
        L.tiny = eps * about.norm / L.scale;
        L.type = lanczos_type(info.type, L.scale);
        low = about.low, high = about.high;
        WISP_TRY(wisp__check_scale(L.ctx, L.type, L.scale));
        WISP_TRY(narrow(&L, o->seed, &low, &high, &probability));
        near = low >= SMALL / 2 * wisp__bounds_margin((double)info.rows, L.columns, steps) * (high - low);
    }
    *bounds = interval(low, high, eps, probability);
out:
    return status;
}

wisp_status wisp__positive_bounds(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *o)
{
    return o->method == WISP_BOUNDS_GIVEN ? wisp__hermitian_bounds(bounds, A, o) : find_positive(bounds, A, o);
}
