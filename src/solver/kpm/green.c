/* Green's functions from moments. For z outside [-1, 1] and w = z - sqrt(z^2 - 1), |w| < 1, the generating function of
   the Chebyshev polynomials (Abramowitz and Stegun 22.9.9) gives
       1 / (z - x) = 2 w / (1 - w^2) (1 + 2 sum over n > 0 of w^n T_n(x)),    |x| <= 1.
   The terms from N on are together at most 4 |w|^(N+1) / (|1 - w^2| (1 - |w|)) there: no kernel, and no fit. */
#include <complex.h>
#include "values.h"

/* Of one energy: w, and the factor of the sum, which is 1 / sqrt(z^2 - 1) / halfwidth. */
typedef struct {
    double complex w, factor;
} series;

static series series_at(const wisp_bounds *b, double energy, double eta)
{
    const double complex z = (energy - b->center) / b->halfwidth + I * (eta / b->halfwidth);
    /* By two roots there is no branch to be chosen for z above the real axis. 1 / (z + root) loses no digits. */
    const double complex root = csqrt(z - 1) * csqrt(z + 1);
    return (series){1 / (z + root), 1 / (root * b->halfwidth)};
}

/* What the terms from n on are together at most. */
static double tail(const series *s, int64_t n)
{
    const double size = cabs(s->w);
    return 2 * cabs(s->factor) * pow(size, (double)n) / (1 - size);
}

static double rounded(const series *s, const wisp_moments *m)
{
    const double size = cabs(s->w);
    double sum = wisp__moment_rounding(m, 0), power = 2;
    for (int64_t k = 1; k < m->n && power > DBL_EPSILON; k++) {
        power *= size;
        sum += power * wisp__moment_rounding(m, k);
    }
    return cabs(s->factor) * sum;
}

/* One vector's, by Horner's rule. imag may be NULL. */
static double complex sum_of(const series *s, const double *mu, const double *imag, int64_t n)
{
    double complex sum = 0;
    for (int64_t k = n - 1; k > 0; k--) sum = s->w * (sum + mu[k] + I * (imag ? imag[k] : 0));
    return s->factor * (mu[0] + I * (imag ? imag[0] : 0) + 2 * sum);
}

/* Over all energies: Im z = y; |w| is largest above the middle of the bounds, where |log w| = asinh y, and
   |sqrt(z^2 - 1)| is nowhere below sqrt(2 y), and 1 / sqrt(z^2 - 1) = 2 w / (1 - w^2). */
int64_t wisp_green_moments(double halfwidth, double eta, double tolerance)
{
    const double y = eta / halfwidth, a = asinh(y);
    const double first = 2 / (sqrt(2 * y) * -expm1(-a)), n = ceil(log(2 * first * y / tolerance) / a);
    return y > 0 && tolerance > 0 && n > 2 ? wisp_whole_number(n) : 2;
}

static wisp_status check(wisp_ctx *ctx, const wisp_moments *m, wisp_green_opts *o, int64_t points, const double *energy)
{
    if (!(o->eta > 0) || !isfinite(o->eta))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.eta is %g, it must be a number above 0", o->eta);
    if (o->tolerance == 0) o->tolerance = wisp__is_single(m->type) ? 1e-4 : 1e-10;
    if (!(o->tolerance > 0) || !(o->tolerance < 1))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.tolerance is %g, it must lie between 0 and 1", o->tolerance);
    for (int64_t i = 0; i < points; i++)
        if (!isfinite(energy[i]))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "energy %lld is %g", (long long)i, energy[i]);
    return WISP_OK;
}

/* beside: what is not of chance, over the norms of the vectors. */
static wisp_status check_beside(wisp_ctx *ctx, const wisp_moments *m, const wisp_green_opts *o, double energy,
                                double truncated, double rounding)
{
    const double allowed = o->tolerance / o->eta;
    if (truncated + rounding <= allowed) return WISP_OK;
    if (rounding <= allowed / 2)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "at energy %g there are %lld moments, and %lld do for opts.tolerance, %g, with opts.eta "
                              "%g; these leave an error of up to %.2g/eta",
                              energy, (long long)m->n,
                              (long long)wisp_green_moments(m->bounds.halfwidth, o->eta, o->tolerance), o->tolerance,
                              o->eta, (truncated + rounding) * o->eta);
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "opts.tolerance, %g, can't be met at energy %g: rounding of the moments alone may make "
                          "%.2g/eta; take a larger one, or a larger opts.eta",
                          o->tolerance, energy, rounding * o->eta);
}

wisp_status wisp_green(wisp_ctx *ctx, const wisp_moments *m, const wisp_green_opts *opts, int64_t vector,
                       int64_t points, const double *energy, wisp_scalar *g, wisp_scalar *error, double *beside)
{
    wisp_status status = WISP_OK;
    wisp_eval_opts any;
    double *value = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, opts);
    WISP_NEED(ctx, energy);
    WISP_NEED(ctx, g);
    wisp_green_opts full = *opts;
    WISP_TRY(wisp__eval_options(ctx, m, NULL, vector, &any));
    WISP_TRY(check(ctx, m, &full, points, energy));
    const wisp__choice chosen = wisp__choose(m, vector);
    const double norms = m->imag ? 1 : wisp__combine(&chosen, m->mu + chosen.first * m->n, m->n, NULL);
    WISP_TRY(wisp_alloc(ctx, &value, 2 * (size_t)chosen.count, sizeof *value));
    for (int64_t i = 0; i < points; i++) {
        const series s = series_at(&m->bounds, energy[i], full.eta);
        const double truncated = tail(&s, m->n), rounding = rounded(&s, m);
        if (i % 64 == 0) WISP_TRY(wisp_ctx_step(ctx, "energies", (double)i / (double)points, 0));
        WISP_TRY(check_beside(ctx, m, &full, energy[i], truncated, rounding));
        for (int64_t v = 0; v < chosen.count; v++) {
            const int64_t at = (chosen.first + v) * m->n;
            const double complex sum = sum_of(&s, m->mu + at, m->imag ? m->imag + at : NULL, m->n);
            value[2 * v] = creal(sum), value[2 * v + 1] = cimag(sum);
        }
        wisp_scalar e;
        g[i].re = wisp__combine(&chosen, value, 2, &e.re);
        g[i].im = wisp__combine(&chosen, value + 1, 2, &e.im);
        if (error) error[i] = e;
        if (beside) beside[i] = norms * (truncated + rounding);
    }
out:
    wisp_free(ctx, value);
    return status;
}
