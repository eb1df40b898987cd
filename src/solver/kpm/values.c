/* What is evaluated of moments: which of them, and values per vector to one value and its error. */
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

wisp__choice wisp__choose(const wisp_moments *m, int64_t vector)
{
    return vector < 0 ? (wisp__choice){0, m->vectors, m->trace} : (wisp__choice){vector, 1, m->trace};
}

wisp_status wisp__one_sided(wisp_ctx *ctx, const wisp_moments *m, const char *caller)
{
    if (!m->imag) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "%s: these moments have left vectors or an operator, and nothing tells how far their sums "
                          "may be off; wisp_dos evaluates them",
                          caller);
}

/* By a power of 2 values are of size 1 meanwhile, so that no square is too large, or nothing. */
double wisp__combine(const wisp__choice *c, const double *value, int64_t stride, double *error)
{
    enum { MOST = 1000 };
    double sum = 0, squares = 0, count = (double)c->count, largest = 0;
    int e = 0;
    for (int64_t i = 0; i < c->count; i++) largest = fmax(largest, fabs(value[i * stride]));
    if (isfinite(largest)) frexp(largest, &e);
    e = e < -MOST ? -MOST : e > MOST ? MOST : e;
    const double down = ldexp(1, -e);
    for (int64_t i = 0; i < c->count; i++) sum += down * value[i * stride];
    if (c->trace != WISP_TRACE_RANDOM) {
        if (error) *error = 0;
        return ldexp(sum, e);
    }
    for (int64_t i = 0; i < c->count; i++) {
        const double d = down * value[i * stride] - sum / count;
        squares += d * d;
    }
    if (error) *error = c->count > 1 ? ldexp(sqrt(squares / (count - 1) / count), e) : (double)NAN;
    return ldexp(sum / count, e);
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
