/* A function as a Chebyshev series: coefficients that are known, errors between the points, what is cut, refusals. */
#include "ref.h"
#include <math.h>
#include <stdlib.h>
#include "solver/solver.h"

/* sum of c_k cos(k theta), by its terms. */
static cplx series_at(const wisp_scalar *c, int64_t n, double x)
{
    cplx sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (c[k].re + I * c[k].im) * cos((double)k * acos(x));
    return sum;
}

enum { MOST = 5000 };
typedef struct {
    int64_t terms;
    wisp_scalar c[MOST];
    const wisp_bounds *b;
    int calls;
} polynomial;

static int of_polynomial(void *arg, double energy, wisp_scalar *value)
{
    polynomial *p = arg;
    *value = ref_scalar(series_at(p->c, p->terms, fmin(1, fmax(-1, (energy - p->b->center) / p->b->halfwidth))));
    p->calls++;
    return 0;
}

static int of_step(void *arg, double energy, wisp_scalar *value)
{
    *value = (wisp_scalar){energy < *(const double *)arg, 0};
    return 0;
}

static int of_peak(void *arg, double energy, wisp_scalar *value)
{
    const double z = energy / *(const double *)arg;
    *value = (wisp_scalar){1 + exp(-z * z), 0};
    return 0;
}

static int of_exp(void *arg, double energy, wisp_scalar *value)
{
    *value = (wisp_scalar){exp(-*(const double *)arg * energy), 0};
    return 0;
}

static wisp__fit_want wanted(wisp_ctx *ctx, const wisp_bounds *b, int (*value)(void *, double, wisp_scalar *),
                             void *arg)
{
    return (wisp__fit_want){.ctx = ctx,
                            .bounds = b,
                            .number = 3,
                            .takes_complex = true,
                            .value = value,
                            .arg = arg,
                            .tolerance = 1e-10,
                            .terms = 65536};
}

/* Polynomials give their coefficients back, and are looked at four times as often as they have terms at most. */
static void polynomials(void **state)
{
    wisp_ctx *ctx = *state;
    static const int64_t terms[] = {1, 2, 3, 33, 400, 514, 900};
    const wisp_bounds b = {1.25, 3, NAN};
    polynomial *p = calloc(1, sizeof *p);
    ref_rng r = {17};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        for (int exponent = -900; exponent <= 900; exponent += 300)
            for (int given = 0; given < 2; given++) {
                p->terms = terms[i], p->b = &b, p->calls = 0;
                for (int64_t k = 0; k < terms[i]; k++) {
                    const cplx v = ref_value(&r, WISP_Z) + 2;
                    p->c[k] = (wisp_scalar){ldexp(creal(v), exponent), ldexp(cimag(v), exponent)};
                }
                wisp__series s;
                wisp__fit_want want = wanted(ctx, &b, given ? NULL : of_polynomial, p);
                want.c = p->c, want.given = terms[i];
                REF_OK(ctx, wisp__fit(&s, &want));
                assert_int_equal(s.terms, terms[i]);
                if (!given)
                    assert_int_equal(p->calls, (terms[i] <= 513 ? 1025 : 2049) + 16); /* and at points between them */
                double largest = 0;
                for (int64_t k = 0; k < terms[i]; k++) {
                    const cplx is = s.c[k].re + I * s.c[k].im,
                               should = ldexp(p->c[k].re, -s.exponent) + I * ldexp(p->c[k].im, -s.exponent);
                    if (!(cabs(is - should) <= 2e-13 * s.largest))
                        fail_msg("%lld terms, 2^%d: c_%lld is off by %g", (long long)terms[i], exponent, (long long)k,
                                 cabs(is - should));
                    largest += cabs(should);
                }
                assert_true(s.largest <= largest * (1 + 1e-12) && s.largest > largest / 1e3);
                /* Energies are rounded, and the slope is up to the square of the degree. */
                assert_true(s.error <= (1e-14 + 4e-16 * (double)(terms[i] * terms[i])) * s.largest);
                wisp_free(ctx, s.c);
            }
    free(p);
}

/* Of smooth functions the error is within the tolerance everywhere, and the series not much longer than it must be. */
static void smooth(void **state)
{
    wisp_ctx *ctx = *state;
    const wisp_bounds b = {-2, 5, NAN};
    for (double beta = 1e-3; beta < 60; beta *= 7)
        for (double tolerance = 1e-3; tolerance > 1e-13; tolerance /= 30) {
            wisp__series s, longer;
            wisp__fit_want want = wanted(ctx, &b, of_exp, &beta);
            want.tolerance = tolerance;
            REF_OK(ctx, wisp__fit(&s, &want));
            const double largest = exp(7 * beta);
            assert_true(fabs(s.largest / ldexp(largest, -s.exponent) - 1) < 1e-12);
            assert_true(s.error <= tolerance / 2 * s.largest);
            double worst = 0;
            for (int i = 0; i <= 2000; i++) {
                const double x = cos(acos(-1) * i / 2000.3),
                             f = ldexp(exp(-beta * (b.center + b.halfwidth * x)), -s.exponent);
                worst = fmax(worst, cabs(series_at(s.c, s.terms, x) - f));
            }
            if (!(worst <= tolerance / 2 * s.largest && worst >= 0.3 * s.error))
                fail_msg("beta %g, tolerance %g: off by %g, and %g is told", beta, tolerance, worst / s.largest,
                         s.error / s.largest);
            /* One term less is too few, but for the difference of a sum and a maximum. */
            want.terms = s.terms - 1 - s.terms / 10;
            if (want.terms > 0) REF_FAILS(ctx, wisp__fit(&longer, &want), WISP_ERR_ARG, "function 3 is not met to");
            if (want.terms > 0) wisp_free(ctx, longer.c);
            wisp_free(ctx, s.c);
        }
}

/* Steps are refused, or damped: then the series stays between the least and the largest f. */
static void steps(void **state)
{
    wisp_ctx *ctx = *state;
    const wisp_bounds b = {0.5, 2, NAN};
    double at = 0.3;
    wisp__series s;
    wisp__fit_want want = wanted(ctx, &b, of_step, &at);
    want.terms = 3000;
    REF_FAILS(ctx, wisp__fit(&s, &want), WISP_ERR_ARG, "with 3000 terms, but to 0.5: it may have a step or a kink");
    wisp_free(ctx, s.c);
    for (int64_t n = 1; n < 5000; n = 3 * n + 1) {
        want.jackson = n;
        REF_OK(ctx, wisp__fit(&s, &want));
        assert_int_equal(s.terms, n);
        assert_true(s.points > 4 * n && s.error > 0.4 && s.error < 1);
        for (int i = 0; i <= 300; i++) {
            const double x = cos(acos(-1) * i / 300.7), p = creal(series_at(s.c, n, x)), e = b.center + b.halfwidth * x;
            assert_true(p > -1e-6 && p < 1 + 1e-6);
            if (n > 100 && fabs(e - at) > 20 * b.halfwidth / (double)n) assert_true(fabs(p - (e < at)) < 1e-3);
        }
        wisp_free(ctx, s.c);
    }
}

/* What is narrower than the distance of the points may be missed; more points find it. */
static void narrow(void **state)
{
    wisp_ctx *ctx = *state;
    const wisp_bounds b = {0.1234, 1, NAN};
    double width = 1e-4;
    wisp__series s;
    wisp__fit_want want = wanted(ctx, &b, of_peak, &width);
    want.terms = 1 << 17;
    REF_OK(ctx, wisp__fit(&s, &want));
    assert_int_equal(s.terms, 1);
    assert_int_equal(s.points, 1025);
    wisp_free(ctx, s.c);
    want.points = 40000;
    REF_OK(ctx, wisp__fit(&s, &want));
    assert_true(s.terms > 10000 && s.points > 4 * 10000 && fabs(s.largest - 2) < 1e-2);
    assert_true(fabs(creal(series_at(s.c, s.terms, -b.center)) - 2) < 1e-9);
    wisp_free(ctx, s.c);
}

static int of_one_and_half_a_degree(void *arg, double energy, wisp_scalar *value)
{
    *value = (wisp_scalar){1 + cos(*(const int *)arg * acos(fmin(1, fmax(-1, energy)))) / 2, 0};
    return 0;
}

/* A polynomial that looks like a shorter one at all points of a grid is not taken for it. */
static void mistaken(void **state)
{
    wisp_ctx *ctx = *state;
    const wisp_bounds b = {0, 1, 0};
    static const int degrees[] = {1023, 1024, 1536, 2047, 2048, 2049, 2560, 4095, 4096};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        int degree = degrees[i];
        wisp__series s;
        wisp__fit_want want = wanted(ctx, &b, of_one_and_half_a_degree, &degree);
        want.tolerance = 1e-4;
        REF_OK(ctx, wisp__fit(&s, &want));
        assert_int_equal(s.terms, degree + 1);
        assert_true(s.error < 1e-4 * s.largest);
        wisp_free(ctx, s.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(polynomials), cmocka_unit_test(smooth), cmocka_unit_test(steps),
                                       cmocka_unit_test(narrow), cmocka_unit_test(mistaken)};
    return REF_RUN_ALL(tests);
}
