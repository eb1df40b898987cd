/* What is evaluated of moments: the options, sums of series and what they may be off. */
#include "values.h"
#include <math.h>

wisp_status wisp__eval_options(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector,
                               wisp_eval_opts *full)
{
    *full = opts ? *opts : (wisp_eval_opts){0};
    if (!m->mu || m->vectors < 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "there are no moments: no vector was completed");
    if (m->square)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "these are moments of two velocities, of which conductivities are made (wisp_sigma)");
    if (full->part < WISP_REAL_PART || full->part > WISP_IMAGINARY_PART)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.part: unknown value %d", (int)full->part);
    if (full->part == WISP_IMAGINARY_PART && !m->imag)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the moments are real; they have no imaginary parts");
    if (vector < -1 || vector >= m->vectors)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "vector %lld: the moments have vectors 0 to %lld", (long long)vector,
                              (long long)m->vectors - 1);
    if (full->n == 0) full->n = m->n;
    if (full->n < 1 || full->n > m->n)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.n is %lld, and there are %lld moments", (long long)full->n,
                              (long long)m->n);
    if (full->kernel < WISP_JACKSON || full->kernel > WISP_DIRICHLET)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.kernel: unknown value %d", (int)full->kernel);
    if (full->lambda == 0) full->lambda = 4;
    if (!(full->lambda > 0) || !isfinite(full->lambda))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.lambda is %g, it must be positive", full->lambda);
    return WISP_OK;
}

wisp_status wisp__one_sided(wisp_ctx *ctx, const wisp_moments *m, const char *caller)
{
    if (!m->imag) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "%s: these moments have left vectors or an operator, and nothing tells how far their sums "
                          "may be off; wisp_dos evaluates them",
                          caller);
}

double wisp__series_sum(const wisp__series *s, const double *mu, int64_t n)
{
    double sum = 0;
    for (int64_t k = (s->terms < n ? s->terms : n) - 1; k >= 0; k--) sum += s->c[k].re * mu[k];
    return sum;
}

/* About how far moment k may be off by rounding, at most, over mu_0. Each step of the recurrence adds errors of a few
   units, of the matrix's, the center's and the product's rounding, and takes those before on by up to |U_k|: k at the
   edge of the bounds, but no more than 8 where there is the room that bounds have which were found by Lanczos (1 over
   the sine of its angle is 7.1). tests/test_thermal.c compares. */
double wisp__moment_rounding(const wisp_moments *m, int64_t k)
{
    enum { DOTS = 8, GROWTH = 8 };
    const double unit = wisp__is_single(m->type) ? FLT_EPSILON : DBL_EPSILON;
    const double step = 1 + 2 * fabs(m->bounds.center) / m->bounds.halfwidth;
    const int64_t growth = m->bounds_method == WISP_BOUNDS_LANCZOS && k > GROWTH ? GROWTH : k;
    return unit * (DOTS + step * (double)k * (double)growth);
}

/* sqrt 2: what the error may be between the points at which it was looked for (docs/solvers.md). */
wisp__series_errors wisp__series_error(const wisp__series *s, const wisp_moments *m)
{
    wisp__series_errors e = {.truncation = M_SQRT2 * s->error};
    for (int64_t k = s->terms - 1; k >= 0; k--) {
        const double c = fabs(s->c[k].re);
        if (k >= m->n)
            e.truncation += c;
        else
            e.rounding += c * wisp__moment_rounding(m, k);
    }
    return e;
}
