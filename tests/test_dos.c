/* Evaluation of moments: damping kernels, density of states, counts, error bars, against direct sums. */
#include "kpm_dense.h"

/* Moments of `vectors` vectors with random weights on random levels; the context is not asked. */
static wisp_moments synthetic(ref_rng *r, int64_t n, int64_t vectors, wisp_trace trace)
{
    enum { LEVELS = 20, ROWS = 50 };
    wisp_moments m = {.rows = ROWS,
                      .nnz = 99,
                      .n = n,
                      .vectors = vectors,
                      .trace = trace,
                      .type = WISP_D,
                      .width = 3,
                      .threads = 2,
                      .seconds = 0.125,
                      .flops = 1e9,
                      .seed = UINT64_MAX - 5,
                      .first_vector = 7,
                      .bounds = {-1.5, 3.25, 1e-9},
                      .version = "0.0.7"};
    m.mu = calloc((size_t)(n * vectors), sizeof *m.mu);
    if (trace == WISP_TRACE_SITES) m.sites = calloc((size_t)vectors, sizeof *m.sites);
    for (int64_t v = 0; v < vectors; v++) {
        double weight[LEVELS], angle[LEVELS], sum = 0;
        for (int i = 0; i < LEVELS; i++) {
            weight[i] = 1 + ref_uniform(r);
            sum += weight[i];
            angle[i] = acos(0.97 * ref_uniform(r));
        }
        for (int64_t k = 0; k < n; k++)
            for (int i = 0; i < LEVELS; i++) m.mu[v * n + k] += ROWS * weight[i] / sum * cos((double)k * angle[i]);
        if (m.sites) m.sites[v] = ref_below(r, ROWS);
    }
    return m;
}

/* The kernels by their formulas, written out (Weisse et al. 2006, table II). */
static double g(const wisp_eval_opts *o, int64_t i, int64_t count)
{
    double n = (double)i, N = (double)count, lambda = o->lambda > 0 ? o->lambda : 4;
    switch (o->kernel) {
    case WISP_JACKSON:
        return ((N - n + 1) * cos(M_PI * n / (N + 1)) + sin(M_PI * n / (N + 1)) / tan(M_PI / (N + 1))) / (N + 1);
    case WISP_LORENTZ: return sinh(lambda * (1 - n / N)) / sinh(lambda);
    case WISP_FEJER: return 1 - n / N;
    default: return 1;
    }
}

/* The density of one vector's moments by the plain formula. */
static double density(const wisp_moments *m, const wisp_eval_opts *o, int64_t v, double energy)
{
    double x = (energy - m->bounds.center) / m->bounds.halfwidth, sum = 0;
    int64_t n = o->n > 0 ? o->n : m->n;
    if (!(fabs(x) < 1)) return 0;
    for (int64_t k = n - 1; k >= 0; k--)
        sum += (k ? 2 : 1) * g(o, k, n) * m->mu[v * m->n + k] * cos((double)k * acos(x));
    return sum / (M_PI * m->bounds.halfwidth * sqrt(1 - x * x));
}

/* Mean and standard error, or the sum over sites. */
static double statistics(const wisp_moments *m, const double *value, double *error)
{
    double mean = 0, variance = 0, R = (double)m->vectors;
    for (int64_t v = 0; v < m->vectors; v++) mean += value[v] / R;
    for (int64_t v = 0; v < m->vectors; v++) variance += (value[v] - mean) * (value[v] - mean) / (R - 1);
    *error = m->trace == WISP_TRACE_RANDOM ? sqrt(variance / R) : 0;
    return m->trace == WISP_TRACE_RANDOM ? mean : mean * R;
}

static int same(double a, double b, double tolerance) { return (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance; }

static const wisp_eval_opts evaluations[] = {
    {.kernel = WISP_JACKSON},        {.kernel = WISP_LORENTZ},   {.kernel = WISP_LORENTZ, .lambda = 2.5, .n = 40},
    {.kernel = WISP_FEJER, .n = 77}, {.kernel = WISP_DIRICHLET}, {.kernel = WISP_JACKSON, .n = 1}};
enum { EVALUATIONS = 6 };

/* Every kernel, mean and error and each vector alone, at odd numbers of points, in and out of the bounds. */
static void densities(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    static const int64_t vectors[] = {1, 2, 7}, moments[] = {2, 64, 65, 200};
    enum { POINTS = 37 };
    for (int i = 0; i < 3 * 4 * EVALUATIONS; i++) {
        wisp_eval_opts o = evaluations[i % EVALUATIONS];
        wisp_trace trace = i % 5 == 4 ? WISP_TRACE_SITES : WISP_TRACE_RANDOM;
        wisp_moments m = synthetic(&r, moments[i / EVALUATIONS % 4], vectors[i / EVALUATIONS / 4], trace);
        if (o.n > m.n) o.n = m.n;
        double energy[POINTS], dos[POINTS], error[POINTS], alone[POINTS];
        wisp_energies(&m.bounds, POINTS, energy);
        energy[3] = m.bounds.center + m.bounds.halfwidth;
        energy[4] = m.bounds.center - 1.5 * m.bounds.halfwidth;
        energy[5] = -HUGE_VAL;
        REF_OK(ctx, wisp_dos(ctx, &m, &o, -1, POINTS, energy, dos, error));
        REF_OK(ctx, wisp_dos(ctx, &m, &o, m.vectors - 1, POINTS, energy, alone, NULL));
        for (int p = 0; p < POINTS; p++) {
            double value[8], bar;
            for (int64_t v = 0; v < m.vectors; v++) value[v] = density(&m, &o, v, energy[p]);
            double mean = statistics(&m, value, &bar);
            if (p >= 3 && p <= 5) bar = mean = 0;
            if (!same(dos[p], mean, 1e-10) || !same(error[p], bar, 1e-10) ||
                !same(alone[p], value[m.vectors - 1], 1e-10))
                fail_msg("case %d, point %d: %.15g +- %g, %g, should be %.15g +- %g, %g", i, p, dos[p], error[p],
                         alone[p], mean, bar, value[m.vectors - 1]);
        }
        wisp_moments_free(&m);
    }
}

/* The trapezoid integral over the default grid is the number of rows; the count over everything too, exactly; counts
   add up, and agree with the integral of the density. */
static void integrals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {4};
    for (int i = 0; i < 4 * EVALUATIONS; i++) {
        static const int64_t moments[] = {2, 100, 1024, 3001};
        wisp_eval_opts o = evaluations[i % EVALUATIONS];
        wisp_moments m = synthetic(&r, moments[i / EVALUATIONS], 4, WISP_TRACE_RANDOM);
        if (o.n > m.n) o.n = m.n;
        int64_t points = m.n > 512 ? 2 * m.n : 1024;
        double *energy = malloc((size_t)points * 8), *dos = malloc((size_t)points * 8), sum = 0, upper = 0;
        wisp_energies(&m.bounds, points, energy);
        REF_OK(ctx, wisp_dos(ctx, &m, &o, -1, points, energy, dos, NULL));
        int64_t half = points / 2;
        for (int64_t p = 0; p + 1 < points; p++) {
            assert_true(energy[p] < energy[p + 1]);
            double area = (dos[p] + dos[p + 1]) / 2 * (energy[p + 1] - energy[p]);
            sum += area;
            if (p >= half) upper += area;
        }
        if (!(fabs(sum - 50) <= 1e-3 * 50)) fail_msg("case %d: the integral is %g", i, sum);
        double all, low, high, error;
        REF_OK(ctx, wisp_count(ctx, &m, &o, -1, -HUGE_VAL, HUGE_VAL, &all, &error));
        assert_true(fabs(all - 50) < 1e-11 && error < 1e-11);
        REF_OK(ctx, wisp_count(ctx, &m, &o, -1, m.bounds.center - m.bounds.halfwidth, energy[half], &low, NULL));
        REF_OK(ctx, wisp_count(ctx, &m, &o, -1, energy[half], 100, &high, NULL));
        assert_true(fabs(low + high - 50) < 1e-11);
        assert_true(fabs(high - upper) < (m.n > 2 && o.n != 1 ? 0.3 : 1));
        free(energy);
        free(dos);
        wisp_moments_free(&m);
    }
}

/* Counts per vector against the Chebyshev-Gauss integral of the plain density. */
static void counts(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {5};
    for (int i = 0; i < EVALUATIONS; i++) {
        wisp_eval_opts o = evaluations[i];
        wisp_moments m = synthetic(&r, 90, 5, i == 2 ? WISP_TRACE_SITES : WISP_TRACE_RANDOM);
        double a = -3 + ref_uniform(&r), b = 0.5 + ref_uniform(&r), value[5], bar, count, error;
        for (int v = 0; v < 5; v++) {
            enum { STEPS = 4000 };
            double from = acos((b + 1.5) / 3.25), to = acos((a + 1.5) / 3.25), step = (to - from) / STEPS;
            value[v] = 0;
            for (int k = 0; k < STEPS; k++) {
                double theta = from + (k + 0.5) * step;
                value[v] += density(&m, &o, v, -1.5 + 3.25 * cos(theta)) * 3.25 * sin(theta) * step;
            }
        }
        double mean = statistics(&m, value, &bar);
        REF_OK(ctx, wisp_count(ctx, &m, &o, -1, a, b, &count, &error));
        assert_true(fabs(count - mean) < 1e-3 && fabs(error - bar) < 1e-3);
        REF_OK(ctx, wisp_count(ctx, &m, &o, 3, a, b, &count, &error));
        assert_true(fabs(count - value[3]) < 1e-3);
        assert_true(m.trace == WISP_TRACE_SITES ? error == 0 : isnan(error));
        wisp_moments_free(&m);
    }
}

/* One level: its Jackson peak has the width that wisp_resolution tells, a positive density, and most of the count
   within five widths. */
static void resolution(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 256, POINTS = 4096 };
    wisp_moments m = {.rows = 1, .n = N, .vectors = 1, .trace = WISP_TRACE_EXACT, .bounds = {10, 4, 0}};
    m.mu = calloc(N, sizeof *m.mu);
    for (int n = 0; n < N; n++) m.mu[n] = cos(n * M_PI / 2);
    double energy[POINTS], dos[POINTS], error[POINTS], variance = 0, sigma = wisp_resolution(4, N), count, bar;
    wisp_energies(&m.bounds, POINTS, energy);
    REF_OK(ctx, wisp_dos(ctx, &m, NULL, -1, POINTS, energy, dos, error));
    for (int p = 1; p + 1 < POINTS; p++) {
        assert_true(dos[p] > -1e-13 && error[p] == 0);
        variance += dos[p] * (energy[p] - 10) * (energy[p] - 10) * (energy[p + 1] - energy[p - 1]) / 2;
    }
    assert_true(fabs(sqrt(variance) / sigma - 1) < 0.02);
    REF_OK(ctx, wisp_count(ctx, &m, NULL, -1, 10 - 5 * sigma, 10 + 5 * sigma, &count, &bar));
    assert_true(count > 0.998 && count < 1 && bar == 0);
    assert_int_equal(wisp_moments_for(4, sigma), N);
    assert_int_equal(wisp_moments_for(4, 0.999 * sigma), N + 1);
    assert_int_equal(wisp_moments_for(4, 1e9), 2);
    assert_int_equal(wisp_moments_for(4, 0), INT64_MAX);
    wisp_moments_free(&m);
}

/* The square of a kernel's root is the kernel: what one level has at an energy, wherever the level lies; but for the
   product of both peaks' tails, of which Fejer's are at most 1/sin(half the angle between them). */
static void root(void **state)
{
    wisp_ctx *ctx = *state;
    enum { TERMS = 100, N = 2 * TERMS - 1, LEVELS = 37 };
    const wisp_bounds bounds = {10, 4, 0};
    const double energy = 10 + 4 * cos(1.1);
    wisp_scalar c[TERMS], none[TERMS];
    for (int kernel = WISP_JACKSON; kernel <= WISP_DIRICHLET; kernel++) {
        const wisp_eval_opts o = {.kernel = (wisp_damping)kernel};
        const bool has = kernel == WISP_JACKSON || kernel == WISP_FEJER;
        wisp_kernel_root(&bounds, o.kernel, energy, TERMS, c);
        for (int l = 0; l <= LEVELS; l++) { /* the first at the energy itself */
            const double t = l ? M_PI * (l - 0.5) / LEVELS : 1.1;
            wisp_moments m = {.rows = 1, .n = N, .vectors = 1, .trace = WISP_TRACE_EXACT, .bounds = bounds};
            double dos, peak = N / (2 * M_PI * 4), f = 0;
            m.mu = calloc(N, sizeof *m.mu);
            for (int n = 0; n < N; n++) m.mu[n] = cos(n * t);
            for (int n = 0; n < TERMS; n++) f += c[n].re * cos(n * t);
            REF_OK(ctx, wisp_dos(ctx, &m, &o, -1, 1, &energy, &dos, NULL));
            const double product = kernel == WISP_JACKSON ? 1e-3 : 2 / (N * sin(1.1)) + 1e-3;
            if (has ? !(fabs(f * f - dos) < product * peak) : f != 0)
                fail_msg("kernel %d, level %d: %g, should be %g", kernel, l, f * f, dos);
            wisp_moments_free(&m);
        }
        wisp_kernel_root(&bounds, o.kernel, 14, TERMS, c);
        wisp_kernel_root(&bounds, o.kernel, NAN, TERMS, none);
        for (int n = 0; n < TERMS; n++) assert_true(c[n].re == 0 && c[n].im == 0 && none[n].re == 0);
    }
    double sum[] = {7, 3}, square[] = {21, 3};
    wisp_sums_mean(3, 2, sum, square);
    assert_true(fabs(sum[0] - 7.0 / 3) < 1e-15 && fabs(square[0] - sqrt(7) / 3) < 1e-15);
    assert_true(sum[1] == 1 && square[1] == 0);
    wisp_sums_mean(1, 1, sum, square);
    assert_true(isnan(square[0]));
}

/* Quantiles of printed tables (and R's qt). */
static void student(void **state)
{
    (void)state;
    static const struct {
        int64_t vectors;
        double t;
    } table[] = {{2, 12.706204736}, {3, 4.302652730},  {4, 3.182446305},   {6, 2.570581836},    {11, 2.228138852},
                 {16, 2.131449546}, {32, 2.039513446}, {101, 1.983971519}, {1001, 1.962339081}, {1002, 1.962336705}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!(fabs(wisp_student95(table[i].vectors) - table[i].t) < 2e-8))
            fail_msg("%lld vectors: %.12g, should be %.12g", (long long)table[i].vectors,
                     wisp_student95(table[i].vectors), table[i].t);
    assert_true(isnan(wisp_student95(1)) && isnan(wisp_student95(0)) && isnan(wisp_student95(-3)));
    assert_true(fabs(wisp_student95(INT64_MAX) - 1.959963984540) < 1e-9);
}

/* Bars of nonnegative quantities: Student's where the values scatter little, those of chi-square (printed tables) where
   they scatter as a single state's do, Student's for what can be negative; none where there is nothing random. */
static void bars(void **state)
{
    (void)state;
    wisp_moments m = {.vectors = 8, .trace = WISP_TRACE_RANDOM, .type = WISP_D};
    wisp_eval_opts dirichlet = {.kernel = WISP_DIRICHLET};
    double low[4], high[4], t = wisp_student95(8);
    const double value[4] = {1000, 3, 2, 0}, error[4] = {0.1, 3, 1e-14, 0};
    wisp_bars95(&m, NULL, 4, value, error, low, high);
    assert_true(fabs(low[0] - (1000 - t * 0.1)) < 2e-3 && fabs(high[0] - (1000 + t * 0.1)) < 2e-3);
    assert_true(fabs(low[1] * 17.535 / 24 - 1) < 0.02 && fabs(high[1] * 2.180 / 24 - 1) < 0.02);
    assert_true(low[2] == 2 && high[2] == 2 && low[3] == 0 && high[3] == 0);
    m.type = WISP_C;
    wisp_bars95(&m, NULL, 4, value, error, low, high);
    assert_true(fabs(low[1] * 28.845 / 48 - 1) < 0.01 && fabs(high[1] * 6.908 / 48 - 1) < 0.01);
    wisp_bars95(&m, &dirichlet, 2, value, error, low, high);
    assert_true(fabs(low[1] - (3 - 3 * t)) < 1e-12 && fabs(high[1] - (3 + 3 * t)) < 1e-12);
    wisp_bars95(&m, NULL, 1, (double[]){-1e-9}, (double[]){2e-9}, low, high);
    assert_true(fabs(low[0] + 1e-9 + t * 2e-9) < 1e-15 && fabs(high[0] + 1e-9 - t * 2e-9) < 1e-15);
    m.vectors = 2;
    for (int i = 1; i <= 100; i++) { /* the bar is about the value, and grows with the error */
        double before[2] = {low[0], high[0]};
        wisp_bars95(&m, NULL, 1, (double[]){5}, (double[]){0.05 * i}, low, high);
        assert_true(low[0] > 0 && low[0] < 5 && high[0] > 5 && isfinite(high[0]));
        assert_true(i == 1 || (low[0] <= before[0] && high[0] >= before[1]));
    }
    m.vectors = 1;
    wisp_bars95(&m, NULL, 1, value, (double[]){NAN}, low, high);
    assert_true(isnan(low[0]) && isnan(high[0]));
    m.trace = WISP_TRACE_EXACT;
    wisp_bars95(&m, NULL, 1, value, (double[]){0}, low, high);
    assert_true(low[0] == 1000 && high[0] == 1000);
}

static void means(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {6};
    for (int i = 0; i < 6; i++) {
        wisp_moments m = synthetic(&r, 30, i % 3 ? 9 : 1, i < 3 ? WISP_TRACE_RANDOM : WISP_TRACE_SITES);
        double mean[30], error[30], value[9], bar;
        REF_OK(ctx, wisp_moments_mean(ctx, &m, WISP_REAL_PART, mean, error));
        for (int n = 0; n < 30; n++) {
            for (int v = 0; v < m.vectors; v++) value[v] = m.mu[v * 30 + n];
            double truth = statistics(&m, value, &bar);
            assert_true(same(mean[n], truth, 1e-12) && same(error[n], bar, 1e-12));
        }
        REF_OK(ctx, wisp_moments_mean(ctx, &m, WISP_REAL_PART, mean, NULL));
        wisp_moments_free(&m);
    }
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {7};
    wisp_moments m = synthetic(&r, 10, 3, WISP_TRACE_RANDOM), none = {0};
    double e = 0, d, nan = NAN;
    const struct {
        wisp_eval_opts o;
        int64_t vector;
        const char *words;
    } table[] = {{{.n = 11}, -1, "opts.n is 11, and there are 10 moments"},
                 {{.n = -1}, -1, "opts.n is -1"},
                 {{.kernel = (wisp_damping)4}, -1, "opts.kernel: unknown value 4"},
                 {{.lambda = -1}, -1, "opts.lambda is -1"},
                 {{.lambda = NAN}, -1, "opts.lambda is nan"},
                 {{.n = 0}, 3, "vector 3: the moments have vectors 0 to 2"},
                 {{.n = 0}, -2, "vector -2"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        REF_FAILS(ctx, wisp_dos(ctx, &m, &table[i].o, table[i].vector, 1, &e, &d, NULL), WISP_ERR_ARG, table[i].words);
        REF_FAILS(ctx, wisp_count(ctx, &m, &table[i].o, table[i].vector, 0, 1, &d, NULL), WISP_ERR_ARG, table[i].words);
    }
    REF_FAILS(ctx, wisp_dos(ctx, &m, NULL, -1, 1, &nan, &d, NULL), WISP_ERR_ARG, "energy number 0 is NaN");
    REF_FAILS(ctx, wisp_count(ctx, &m, NULL, -1, 1, 0, &d, NULL), WISP_ERR_ARG, "interval: 1 to 0 is empty");
    REF_FAILS(ctx, wisp_count(ctx, &m, NULL, -1, 0, NAN, &d, NULL), WISP_ERR_ARG, "interval");
    REF_FAILS(ctx, wisp_dos(ctx, &none, NULL, -1, 1, &e, &d, NULL), WISP_ERR_ARG, "no vector was completed");
    REF_OK(ctx, wisp_dos(ctx, &m, NULL, -1, 0, &e, &d, NULL));
    wisp_ctx_cancel(ctx);
    REF_FAILS(ctx, wisp_dos(ctx, &m, NULL, -1, 1, &e, &d, NULL), WISP_ERR_CANCELLED, "cancelled");
    wisp_ctx_resume(ctx);
    wisp_moments_free(&m);
    wisp_moments_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(densities),  cmocka_unit_test(integrals), cmocka_unit_test(counts),
        cmocka_unit_test(resolution), cmocka_unit_test(root),      cmocka_unit_test(student),
        cmocka_unit_test(bars),       cmocka_unit_test(means),     cmocka_unit_test(refusals)};
    return REF_RUN_ALL(tests);
}
