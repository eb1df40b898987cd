/* Polynomial preconditioners: Chebyshev's and Neumann's, as steps of a recurrence; the part of the spectrum that they
   are made for. Both are positive at every eigenvalue up to the upper end, negative ones included, so that they are
   definite wherever the lower end is. */
#include "precond.h"
#include "../solver.h"
#include <math.h>

/* The lower end where nobody knows it, as a share of the upper one: smoothers of multigrid methods take the same.
   The polynomial still shrinks what is below, if less. */
static const double least_share = 1 / 30.0;

typedef struct {
    double low, high;
} interval;

/* Whether A is Hermitian, unless that is known. An operator can't be asked. */
static wisp_status is_hermitian(const wisp_mat *A, bool *yes)
{
    wisp_mat_info info;
    wisp_mat_props props = {0};
    wisp_status status = WISP_OK;
    wisp_mat_get_info(A, &info);
    if (*yes || info.format == WISP_FORMAT_OPERATOR) goto out;
    WISP_TRY(wisp_mat_get_props(A, &props));
    *yes = props.hermitian;
out:
    return status;
}

/* They serve some hundred products, so that few are spent on finding them. */
static wisp_bounds_opts bounds_opts(const wisp_solve_opts *o, int width)
{
    enum { APPLICATIONS = 100 };
    return wisp__bounds_opts(&o->bounds, 0, (double)APPLICATIONS * o->degree * width, 0, width);
}

wisp_status wisp__precond_bounds(wisp_ctx *ctx, const wisp_mat_info *A, int width, const wisp_solve_opts *o,
                                 double *about, double *most)
{
    const wisp_bounds_opts bo = bounds_opts(o, width);
    *about = *most = 0;
    if (o->precond != WISP_CHEBYSHEV && o->precond != WISP_NEUMANN) return WISP_OK;
    return wisp__bounds_bytes(ctx, A, &bo, about, most);
}

/* By the options; of a Hermitian matrix, unless they are given. */
static wisp_status by_bounds(const wisp_mat *A, const wisp_solve_opts *o, int width, interval *s)
{
    wisp_bounds b;
    const bool given = o->bounds.method == WISP_BOUNDS_GIVEN;
    const wisp_bounds_opts bo = bounds_opts(o, width);
    const wisp_status status = wisp_bounds_find(&b, A, &bo);
    if (status != WISP_OK) return status;
    *s = (interval){b.center - b.halfwidth, b.center + b.halfwidth};
    if (given && !(s->high > 0))
        return wisp_ctx_failf(
            wisp_mat_ctx(A), WISP_ERR_ARG,
            "opts.bounds: %g to %g; a polynomial preconditioner needs a spectrum on the positive axis", s->low,
            s->high);
    if (s->high > 0) return WISP_OK;
    return wisp_ctx_failf(wisp_mat_ctx(A), WISP_ERR_INDEFINITE,
                          "the matrix has no eigenvalue above %g, and a polynomial preconditioner needs positive ones: "
                          "take another opts.precond, or the system times -1",
                          s->high);
}

/* Of any stored matrix: no row sum of |a_ij| is larger, if the diagonal is real. */
static wisp_status row_sums(const wisp_mat *A, interval *s)
{
    wisp_mat_props props;
    const wisp_status status = wisp_mat_get_props(A, &props);
    if (status != WISP_OK) return status;
    *s = (interval){0, fmax(-props.gershgorin_min, props.gershgorin_max)};
    if (props.nonfinite_row < 0 && s->high > 0 && isfinite(s->high)) return WISP_OK;
    return wisp_ctx_failf(wisp_mat_ctx(A), WISP_ERR_NUMERIC,
                          "Neumann's series has no factor for a matrix with row sums of up to %g: give opts.bounds",
                          s->high);
}

static wisp_status spectrum(const wisp_mat *A, const wisp_solve_opts *o, bool hermitian, int width, interval *s)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = wisp_mat_ctx(A);
    const bool given = o->bounds.method == WISP_BOUNDS_GIVEN;
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    WISP_TRY(wisp__check_bounds(ctx, &info, &o->bounds));
    if (given) {
        WISP_TRY(by_bounds(A, o, width, s));
        if (s->low > DBL_EPSILON * s->high) goto out;
    }
    WISP_TRY(is_hermitian(A, &hermitian));
    if (hermitian && !given) WISP_TRY(by_bounds(A, o, width, s));
    if (!hermitian && o->precond == WISP_CHEBYSHEV)
        status =
            wisp_ctx_failf(ctx, WISP_ERR_ARG,
                           "the Chebyshev preconditioner needs bounds above 0 of the spectrum of %s: give opts.bounds, "
                           "or take another opts.precond",
                           info.format == WISP_FORMAT_OPERATOR ? "an operator" : "a matrix that is not Hermitian");
    else if (!hermitian && !given && info.format == WISP_FORMAT_OPERATOR)
        status = wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "the Neumann preconditioner needs bounds of the spectrum of an operator: give opts.bounds, or "
            "take another opts.precond");
    else if (!hermitian && !given)
        status = row_sums(A, s);
out:
    return status;
}

/* z = sum_k c_k T_k(t) r, t = (A - c)/h, by Clenshaw's rule: b_k = 2 t b_k+1 - b_k+2 + c_k r, and z = t b_1 - b_2 + c_0
 * r. As b_d = c_d r is but a multiple of r, it is no step of its own, and its two terms are taken from r.
 *
 * The residual of Chebyshev's iteration from 0 is 1 - x p(x) = T_n(t)/T_n(s), n = d + 1, s = -c/h, where A is x: 0 is
 * mapped to s. So p(x) = -(T_n(t) - T_n(s)) / (h (t - s) T_n(s)); and (T_n(t) - T_n(s))/(t - s) = 2 sum_k U_n-1-k(s)
 * T_k(t), the term of k = 0 halved. With c/h = cosh(w) then, but for that half,
 *    c_k = (2/h) (-1)^k U_d-k(c/h) / T_n(c/h) = (2/h) (-1)^k sinh((n - k) w) / (sinh(w) cosh(n w)).
 *
 * p > 0 up to the upper end: between the ends |T_n(t)| <= 1 < |T_n(s)|. Below the lower one T_n(t)/T_n(s) grows as x
 * falls, and is 1 at x = 0, so that x and x p(x) have one sign. */
static void chebyshev(wisp__polynomial *p, interval s)
{
    const int d = p->degree;
    const double h = s.high / 2 - s.low / 2, c = s.low / 2 + s.high / 2;
    const double u = s.low / h, sinh_w = sqrt(u * (u + 2)), w = log1p(u + sinh_w), n = d + 1.0;
    double last = 0;
    for (int k = d; k >= 0; k--) {
        const double ratio = exp(-k * w) * -expm1(-2 * (n - k) * w) / (sinh_w * (1 + exp(-2 * n * w)));
        const double ck = (k == 0 ? 1 : 2) / h * (k % 2 ? -ratio : ratio);
        const int i = d - k - 1; /* the step that adds c_k r */
        if (k == d) last = ck;
        if (i < 0) continue;
        p->alpha[i] = wisp__real((k == 0 ? 1 : 2) / h * (i == 0 ? last : 1));
        p->beta[i] = wisp__real(i < 2 ? 0 : -1);
        p->gamma[i] = wisp__real(c);
        p->add[i] = ck - (i == 1 ? last : 0);
    }
}

/* z = w sum_k (1 - w A)^k r by Horner's rule: v_k = (1 - w A) v_k-1 + w r, from v_0 = w r. 1 - x p(x) = (1 - w
   x)^(d+1): so p > 0 for x below 2/w. */
static void neumann(wisp__polynomial *p, interval s)
{
    const double w = s.low > DBL_EPSILON * s.high ? 1 / (s.low / 2 + s.high / 2) : 1 / s.high;
    for (int i = 0; i < p->degree; i++) {
        p->alpha[i] = wisp__real(-w * (i == 0 ? w : 1));
        p->beta[i] = wisp__real(0);
        p->gamma[i] = wisp__real(1 / w);
        p->add[i] = w;
    }
}

/* The first step has a factor of 1/(factor high)^2, which must keep its digits. */
static wisp_status check_scale(wisp_ctx *ctx, wisp_type type, double high, double factor)
{
    const bool single = wisp__is_single(type);
    const double most = sqrt(single ? FLT_MAX : DBL_MAX) / 1024;
    if (factor * high <= most && factor * high >= 1 / most) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC,
                          "the spectrum reaches up to %.3g, too %s for a polynomial preconditioner in %s arithmetic: "
                          "multiply the matrix by about 1e%+.0f",
                          high, high > 1 ? "far" : "little", wisp_type_name(type), -floor(log10(high)));
}

wisp_status wisp__polynomial_make(wisp__polynomial *p, const wisp_mat *A, double factor, const wisp_solve_opts *o,
                                  bool hermitian, wisp_type type, int width, const double known[2])
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_status status = WISP_OK;
    interval s = {known[0], known[1]};
    *p = (wisp__polynomial){.degree = o->degree};
    if (o->degree < 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.degree is %d; a polynomial preconditioner has at least 1",
                              o->degree);
    const size_t d = (size_t)o->degree;
    if (s.high == 0) WISP_TRY(spectrum(A, o, hermitian, width, &s));
    p->spectrum[0] = s.low, p->spectrum[1] = s.high;
    WISP_TRY(check_scale(ctx, type, s.high, factor));
    s.low *= factor, s.high *= factor;
    WISP_TRY(wisp_alloc(ctx, &p->alpha, d, sizeof *p->alpha));
    WISP_TRY(wisp_alloc(ctx, &p->beta, d, sizeof *p->beta));
    WISP_TRY(wisp_alloc(ctx, &p->gamma, d, sizeof *p->gamma));
    WISP_TRY(wisp_alloc(ctx, &p->add, d, sizeof *p->add));
    if (o->precond == WISP_NEUMANN) {
        neumann(p, s);
    } else {
        const bool above = o->bounds.method == WISP_BOUNDS_GIVEN && s.low > DBL_EPSILON * s.high;
        if (!above) s.low = fmax(s.low, least_share * s.high);
        chebyshev(p, s);
    }
    for (int i = 0; i < o->degree; i++) p->alpha[i].re *= factor, p->gamma[i].re /= factor;
out:
    return status;
}

void wisp__polynomial_free(wisp_ctx *ctx, wisp__polynomial *p)
{
    wisp_free(ctx, p->alpha);
    wisp_free(ctx, p->beta);
    wisp_free(ctx, p->gamma);
    wisp_free(ctx, p->add);
}
