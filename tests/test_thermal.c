/* Traces of functions and thermodynamics from moments: against sums over eigenvalues by LAPACK, Cholesky's determinant
   and rings of spins; bars of random vectors; temperatures so low that digits cancel; units; refusals. */
#include "canonical.h"

static double f_log(double x) { return log(x); }
static double f_inverse(double x) { return 1 / x; }
static double f_exp(double x) { return exp(x); }
static double f_root(double x) { return sqrt(x); }
static double f_step(double x) { return x < 3; }

/* A function of a number, in the library's form. */
typedef struct {
    double (*f)(double);
} plain;
static int plain_value(void *arg, double energy, wisp_scalar *value)
{
    *value = (wisp_scalar){((const plain *)arg)->f(energy), 0};
    return 0;
}

static int holds(const wisp_estimate *e, double truth) { return e->low <= truth && truth <= e->high; }

/* Fails unless each value is within `tolerance`, in its unit, and its bar holds the truth. */
static void assert_ensemble(const wisp_ensemble *e, const double truth[QUANTITIES], double tolerance)
{
    for (int i = 0; i < QUANTITIES; i++) {
        const wisp_estimate *v = quantity_of(e, i);
        const double unit = i == ENERGY ? e->temperature : 1;
        if (!(fabs(v->value - truth[i]) <= tolerance * unit) || !holds(v, truth[i]) || v->error != 0)
            fail_msg("%s at T = %g is %.15g, in %.15g to %.15g, and should be %.15g", quantity_name[i], e->temperature,
                     v->value, v->low, v->high, truth[i]);
    }
}

static wisp_moments exact_moments(wisp_ctx *ctx, const wisp_mat *A, int64_t moments)
{
    wisp_moments m;
    REF_OK(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = moments, .trace = WISP_TRACE_EXACT}));
    return m;
}

/* ---- exact traces ---------------------------------------------------------------------------------- */

static void exact(void **state)
{
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    wisp_ctx *ctx = *state;
    ref_rng r = {11};
    for (int i = 0; i < 4; i++)
        for (int64_t n = 1; n < 60; n = 3 * n + 2) {
            const int single = types[i] == WISP_S || types[i] == WISP_C;
            ref_mat H = random_hermitian(&r, types[i], n, 0.7);
            long double *level = exact_eigenvalues(H);
            double truth[QUANTITIES];
            wisp_mat *A = ref_mat_of(ctx, H, types[i]);
            wisp_moments m = exact_moments(ctx, A, 200);
            for (double T = 0.3; T < 1e6; T *= 7) {
                wisp_ensemble e;
                REF_OK(ctx, wisp_thermal(ctx, &m, NULL, T, &e));
                canonical(level, n, T, truth);
                assert_ensemble(&e, truth, single ? 1e-3 : 1e-10);
                assert_true(e.temperature == T && e.beside < (single ? 1e-2 : 1e-10) && e.terms >= 1 && e.terms <= 200);
            }
            free(level);
            wisp_moments_free(&m);
            wisp_mat_free(A);
            ref_free(H);
        }
}

/* The ring of 12 spins, from its parts of fixed Sz, whose traces add up. */
static void heisenberg(void **state)
{
    enum { SPINS = 12, TEMPERATURES = 3 };
    static const double T[] = {0.25, 0.5, 1}, capacity[] = {0.23966660, 0.35000651, 0.18865195};
    wisp_ctx *ctx = *state;
    double log_z[TEMPERATURES][SPINS + 1], e[TEMPERATURES][SPINS + 1], ee[TEMPERATURES][SPINS + 1];
    for (int up = 0; up <= SPINS; up++) {
        char spec[64];
        wisp_ensemble is;
        snprintf(spec, sizeof spec, "spinchain:sites=%d,up=%d,periodic=x", SPINS, up);
        wisp_mat *A = mat_of_spec(ctx, spec, NULL);
        wisp_moments m = exact_moments(ctx, A, 160);
        for (int t = 0; t < TEMPERATURES; t++) {
            REF_OK(ctx, wisp_thermal(ctx, &m, NULL, T[t], &is));
            log_z[t][up] = is.log_z.value, e[t][up] = is.energy.value;
            ee[t][up] = is.heat_capacity.value * T[t] * T[t] + is.energy.value * is.energy.value;
        }
        wisp_moments_free(&m);
        wisp_mat_free(A);
    }
    for (int t = 0; t < TEMPERATURES; t++) {
        double z = 0, mean = 0, square = 0;
        for (int up = 0; up <= SPINS; up++) {
            const double w = exp(log_z[t][up] - log_z[t][SPINS / 2]);
            z += w, mean += w * e[t][up], square += w * ee[t][up];
        }
        const double c = (square / z - mean / z * mean / z) / T[t] / T[t] / SPINS;
        if (!(fabs(c - capacity[t]) < 6e-9)) fail_msg("C/N at T = %g is %.10f, not %.8f", T[t], c, capacity[t]);
    }
}

/* tr log by Cholesky's factor, other functions by eigenvalues. */
static void functions(void **state)
{
    static const plain table[] = {{f_log}, {f_inverse}, {f_exp}, {f_root}};
    wisp_ctx *ctx = *state;
    ref_rng r = {5};
    for (int z = 0; z < 2; z++)
        for (int64_t n = 2; n < 50; n = 2 * n + 3) {
            ref_mat B = random_hermitian(&r, z ? WISP_Z : WISP_D, n, 0.8), H = ref_times(B, B);
            for (int64_t i = 0; i < n; i++) {
                REF_AT(H, i, i) = creal(REF_AT(H, i, i)) + 0.5;
                for (int64_t j = 0; j < i; j++) REF_AT(H, j, i) = conj(REF_AT(H, i, j));
            }
            double *level = eigenvalues(H), cholesky = 0, *a = ref_lapack((size_t)(n * n), n);
            for (int64_t i = 0; i < n * n; i++) a[i] = creal(H.a[i]);
            assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (int)n, a, (int)n), 0);
            for (int64_t i = 0; i < n; i++) cholesky += 2 * log(a[i * n + i]);
            wisp_mat *A = ref_mat_of(ctx, H, z ? WISP_Z : WISP_D);
            const wisp_bounds bounds = {0.5 * (level[n - 1] + 1), 0.5 * (level[n - 1] + 1) - 0.2, NAN};
            for (int i = 0; i < 4; i++) {
                const wisp_function f = {.value = plain_value, .arg = (void *)&table[i]};
                wisp_kpm_opts o = {.trace = WISP_TRACE_EXACT, .bounds = {.method = WISP_BOUNDS_GIVEN, .given = bounds}};
                wisp_moments m;
                wisp_traced t;
                double truth = 0;
                for (int64_t k = 0; k < n; k++) truth += table[i].f(level[k]);
                if (i == 0 && !z) assert_true(fabs(truth - cholesky) < 1e-10 * (double)n), truth = cholesky;
                REF_OK(ctx, wisp_function_moments(ctx, &bounds, &f, NULL, &o.moments));
                REF_OK(ctx, wisp_kpm(&m, A, &o));
                REF_OK(ctx, wisp_trace_function(ctx, &m, &f, NULL, -1, &t));
                const double allowed = 1e-10 * (double)n * t.largest;
                if (!(fabs(t.trace.value - truth) < allowed) || !holds(&t.trace, truth))
                    fail_msg("function %d of %lld rows: %.15g, not %.15g", i, (long long)n, t.trace.value, truth);
                assert_true(t.truncation + t.rounding <= allowed && t.truncation > 0 && t.trace.error == 0);
                assert_true(t.terms == o.moments && t.trace.high - t.trace.low <= 2 * allowed * (1 + 1e-6));
                wisp_moments_free(&m);
            }
            free(a);
            free(level);
            wisp_mat_free(A);
            ref_free(H);
            ref_free(B);
        }
}

/* Single rows, and functions by their coefficients: T_k is moment k, at most `rounding` from that of the chain's
   eigenvalues. */
static void coefficients(void **state)
{
    enum { N = 90, MOMENTS = 400 };
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S};
    wisp_ctx *ctx = *state;
    ref_mat H = ref_new(N, N);
    double level[N];
    for (int64_t i = 0; i < N; i++) {
        level[i] = 2 - 2 * cos(M_PI * (double)(i + 1) / (N + 1));
        REF_AT(H, i, i) = 2;
        if (i) REF_AT(H, i, i - 1) = REF_AT(H, i - 1, i) = -1;
    }
    for (int i = 0; i < 3; i++)
        for (int given = 0; given < 2; given++) {
            wisp_mat *A = ref_mat_of(ctx, H, types[i]);
            wisp_moments m;
            wisp_kpm_opts o = {.moments = MOMENTS, .trace = WISP_TRACE_EXACT};
            if (given) o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {2, 2, NAN}};
            REF_OK(ctx, wisp_kpm(&m, A, &o));
            for (int64_t k = 0; k < MOMENTS; k += 1 + k / 8) {
                wisp_scalar c[MOMENTS] = {{0}};
                c[k].re = 3;
                wisp_traced t;
                const wisp_function f = {.terms = k + 1, .c = c};
                REF_OK(ctx, wisp_trace_function(ctx, &m, &f, &(wisp_function_opts){.tolerance = 0.5}, -1, &t));
                const double truth = 3 * true_moment(level, N, &m.bounds, k);
                assert_true(t.trace.value == 3 * m.mu[k] && t.truncation == 0 && fabs(t.largest - 3) < 1e-12);
                if (!(fabs(t.trace.value - truth) <= t.rounding))
                    fail_msg("moment %lld is off by %g, more than %g", (long long)k, fabs(t.trace.value - truth),
                             t.rounding);
            }
            wisp_moments_free(&m);
            wisp_mat_free(A);
        }
    ref_free(H);
}

/* ---- random vectors --------------------------------------------------------------------------------- */

static void bars(void **state)
{
    enum { GROUPS = 1000, VECTORS = 16, CASES = 6, ROWS = 60 };
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    ref_mat H = random_hermitian(&r, WISP_D, ROWS, 0.3);
    for (int64_t i = 0; i < ROWS; i++) REF_AT(H, i, i) += 12;
    long double *level = exact_eigenvalues(H);
    double truth[CASES] = {0};
    const plain log = {f_log};
    const wisp_function f = {.value = plain_value, .arg = (void *)&log};
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    wisp_moments m;
    const int groups = ref_few() ? 20 : GROUPS;
    int held[CASES] = {0};
    REF_OK(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 96, .vectors = groups * VECTORS}));
    wisp_moments group = m;
    group.vectors = VECTORS;
    canonical(level, ROWS, 1, truth);
    for (int64_t i = 0; i < ROWS; i++) truth[QUANTITIES] += (double)logl(level[i]);
    for (int g = 0; g < groups; g++, group.mu += VECTORS * m.n) {
        wisp_ensemble e;
        wisp_traced t;
        REF_OK(ctx, wisp_thermal(ctx, &group, NULL, 1, &e));
        for (int i = 0; i < QUANTITIES; i++) {
            const wisp_estimate *v = quantity_of(&e, i);
            assert_true(v->error > 0 && v->low < v->value && v->value < v->high);
            held[i] += holds(v, truth[i]);
        }
        REF_OK(ctx, wisp_trace_function(ctx, &group, &f, NULL, -1, &t));
        held[QUANTITIES] += holds(&t.trace, truth[QUANTITIES]);
    }
    for (int i = 0; i <= QUANTITIES && groups == GROUPS; i++) {
        print_message("case %d: %d of %d bars hold\n", i, held[i], GROUPS);
        if (held[i] < 0.92 * GROUPS || held[i] > 0.98 * GROUPS)
            fail_msg("case %d: %d of %d bars hold", i, held[i], GROUPS);
    }
    /* A single vector tells nothing of its error. */
    wisp_ensemble e;
    wisp_traced t;
    group = m, group.vectors = 1;
    REF_OK(ctx, wisp_thermal(ctx, &group, NULL, 1, &e));
    REF_OK(ctx, wisp_trace_function(ctx, &group, &f, NULL, -1, &t));
    for (int i = 0; i < QUANTITIES; i++)
        assert_true(isnan(quantity_of(&e, i)->error) && isnan(quantity_of(&e, i)->low) &&
                    isnan(quantity_of(&e, i)->high) && isfinite(quantity_of(&e, i)->value));
    assert_true(isnan(t.trace.error) && isnan(t.trace.low) && isnan(t.trace.high));
    wisp_moments_free(&m);
    wisp_mat_free(A);
    free(level);
    ref_free(H);
}

/* ---- low temperatures, units, refusals --------------------------------------------------------------- */

/* Down to where nothing is left: a value with its bar, or a refusal that names a temperature which does. */
static void low_temperatures(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {23};
    for (int given = 0; given < 2; given++)
        for (int64_t moments = 40; moments < (ref_few() ? 100 : 3000); moments *= 8) {
            ref_mat H = random_hermitian(&r, WISP_D, 50, 0.5);
            long double *level = exact_eigenvalues(H);
            double truth[QUANTITIES];
            wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
            wisp_moments m;
            wisp_kpm_opts o = {.moments = moments, .trace = WISP_TRACE_EXACT};
            const double low = (double)level[0] - 1e-9, high = (double)level[49] + 1e-3;
            if (given)
                o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN,
                                              .given = {0.5 * (low + high), 0.5 * (high - low), NAN}};
            REF_OK(ctx, wisp_kpm(&m, A, &o));
            int refused = 0;
            for (double T = 100; T > 1e-200; T = T > 1e-6 ? T / 1.7 : T * 1e-30) {
                wisp_ensemble e;
                const wisp_status status = wisp_thermal(ctx, &m, NULL, T, &e);
                if (status == WISP_OK) {
                    assert_int_equal(refused, 0);
                    canonical(level, H.rows, T, truth);
                    for (int i = 0; i < QUANTITIES; i++) {
                        const wisp_estimate *v = quantity_of(&e, i);
                        const double unit = i == ENERGY ? T : 1;
                        if (!(fabs(v->value - truth[i]) / unit <= e.beside) || e.beside > 1e-6 ||
                            !(v->high - v->low <= 2.1 * e.beside * unit))
                            fail_msg("%s at T = %g is %.12g, not %.12g, within %g", quantity_name[i], T, v->value,
                                     truth[i], e.beside);
                    }
                    continue;
                }
                assert_int_equal(status, WISP_ERR_ARG);
                const char *words = strstr(message_of(ctx), "temperatures from ");
                if (!words) fail_msg("no temperature is named: %s", message_of(ctx));
                const double lowest = strtod(words + strlen("temperatures from "), NULL);
                assert_true(lowest > T);
                REF_OK(ctx, wisp_thermal(ctx, &m, NULL, lowest * 1.001, &e));
                refused++;
            }
            assert_true(refused > 3);
            wisp_moments_free(&m);
            wisp_mat_free(A);
            free(level);
            ref_free(H);
        }
}

/* The number of moments for a temperature is enough, and half of it is not where it is large. */
static void numbers_of_moments(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat H = ref_new(3, 3);
    for (int64_t i = 0; i < 3; i++) REF_AT(H, i, i) = (double)i;
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    const long double level[] = {0, 1, 2};
    for (double T = ref_few() ? 1e-2 : 1e-5; T < 1e9; T *= 10) {
        wisp_kpm_opts o = {.trace = WISP_TRACE_EXACT,
                           .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {1, 1 + 1e-12, NAN}}};
        wisp_moments m;
        wisp_ensemble e;
        double truth[QUANTITIES];
        o.moments = wisp_thermal_moments(1, T);
        assert_true(o.moments >= 2 && o.moments % 2 == 0 && (double)o.moments < 12 + 10 / sqrt(T));
        REF_OK(ctx, wisp_kpm(&m, A, &o));
        REF_OK(ctx, wisp_thermal(ctx, &m, NULL, T, &e));
        canonical(level, 3, T, truth);
        assert_ensemble(&e, truth, 1e-8);
        if (T < 0.1) {
            m.n /= 2;
            REF_FAILS(ctx, wisp_thermal(ctx, &m, &(wisp_thermal_opts){1e-9}, T, &e), WISP_ERR_ARG, "this one takes");
            m.n *= 2;
        }
        wisp_moments_free(&m);
    }
    assert_int_equal(wisp_thermal_moments(NAN, 1), 2);
    assert_int_equal(wisp_thermal_moments(1, -1), 2);
    assert_true(wisp_thermal_moments(1, 1e-300) == INT64_MAX && wisp_thermal_moments(1e-300, 1) == 2);
    wisp_mat_free(A);
    ref_free(H);
}

/* Energies and temperatures times a number change E alone, and ln Z not at all. */
static void units(void **state)
{
    static const double unit[] = {0x1p-990, 1e-300, 1e300, 0x1p1000};
    wisp_ctx *ctx = *state;
    ref_rng r = {8};
    ref_mat H = random_hermitian(&r, WISP_D, 20, 0.5), scaled = ref_new(20, 20);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    wisp_moments m = exact_moments(ctx, A, 100);
    wisp_ensemble e, u;
    REF_OK(ctx, wisp_thermal(ctx, &m, NULL, 0.5, &e));
    wisp_moments_free(&m);
    wisp_mat_free(A);
    for (int i = 0; i < 4; i++) {
        for (int64_t k = 0; k < 400; k++) scaled.a[k] = unit[i] * H.a[k];
        A = ref_mat_of(ctx, scaled, WISP_D);
        m = exact_moments(ctx, A, 100);
        REF_OK(ctx, wisp_thermal(ctx, &m, NULL, 0.5 * unit[i], &u));
        assert_true(fabs(u.log_z.value - e.log_z.value) < 1e-10);
        assert_true(fabs(u.energy.value / unit[i] - e.energy.value) < 1e-10);
        assert_true(fabs(u.heat_capacity.value - e.heat_capacity.value) < 1e-10);
        assert_true(fabs(u.entropy.value - e.entropy.value) < 1e-10);
        wisp_moments_free(&m);
        wisp_mat_free(A);
    }
    ref_free(H);
    ref_free(scaled);
}

static int is_complex(void *arg, double energy, wisp_scalar *value)
{
    (void)arg;
    *value = (wisp_scalar){1, energy > 0};
    return 0;
}
static int fails(void *arg, double energy, wisp_scalar *value) { return (void)arg, (void)energy, (void)value, 7; }

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    static const double bad[] = {0, -1, -HUGE_VAL, HUGE_VAL, NAN};
    wisp_moments m, two;
    wisp_ensemble e;
    wisp_traced t;
    int64_t needed;
    ref_rng r = {2};
    ref_mat H = random_hermitian(&r, WISP_D, 12, 0.9);
    for (int64_t i = 0; i < 12; i++) REF_AT(H, i, i) += 4;
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    const wisp_kpm_opts o = {
        .moments = 30, .vectors = 4, .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {4, 9, NAN}}};
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    for (int i = 0; i < 5; i++)
        REF_FAILS(ctx, wisp_thermal(ctx, &m, NULL, bad[i], &e), WISP_ERR_ARG, "must be a number above 0");
    REF_FAILS(ctx, wisp_thermal(ctx, &m, &(wisp_thermal_opts){-1}, 1, &e), WISP_ERR_ARG, "opts.tolerance is -1");
    REF_FAILS(ctx, wisp_thermal(ctx, &m, &(wisp_thermal_opts){1e-30}, 1, &e), WISP_ERR_ARG, "at any temperature");
    const plain root = {f_root}, step = {f_step}, grows = {f_exp};
    const wisp_function of_root = {.value = plain_value, .arg = (void *)&root},
                        of_step = {.value = plain_value, .arg = (void *)&step},
                        of_exp = {.value = plain_value, .arg = (void *)&grows};
    /* The square root of what is below 0, where the bounds reach. */
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &of_root, NULL, -1, &t), WISP_ERR_NUMERIC,
              "must be finite on all of the bounds, -5 to 13");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &(wisp_function){.value = is_complex}, NULL, -1, &t), WISP_ERR_ARG,
              "complex at energy");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &(wisp_function){.value = fails}, NULL, -1, &t), WISP_ERR_CALLBACK,
              "failed (7)");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &(wisp_function){0}, NULL, -1, &t), WISP_ERR_ARG, "neither values nor");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &(wisp_function){.terms = 1, .c = &(wisp_scalar){1, 2}}, NULL, -1, &t),
              WISP_ERR_ARG, "coefficient 0 of the function is complex");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &(wisp_function){.terms = -1, .c = &(wisp_scalar){1, 0}}, NULL, -1, &t),
              WISP_ERR_ARG, "-1 coefficients");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &of_exp, NULL, 4, &t), WISP_ERR_ARG, "vector 4");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &of_exp, &(wisp_function_opts){.tolerance = 2}, -1, &t), WISP_ERR_ARG,
              "opts.tolerance is 2");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &of_exp, &(wisp_function_opts){.terms = -1}, -1, &t), WISP_ERR_ARG,
              "opts.terms is -1");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &of_exp, &(wisp_function_opts){.tolerance = 1e-15}, -1, &t),
              WISP_ERR_ARG, "can't be met");
    /* Too few moments: the number that would do does. */
    wisp_moments few = m;
    few.n = 8;
    REF_OK(ctx, wisp_function_moments(ctx, &m.bounds, &of_exp, NULL, &needed));
    REF_FAILS(ctx, wisp_trace_function(ctx, &few, &of_exp, NULL, -1, &t), WISP_ERR_ARG, "there are 8 moments");
    assert_int_equal(strtoll(strstr(message_of(ctx), "needs ") + 6, NULL, 10), needed);
    wisp_kpm_opts enough = o;
    enough.moments = needed;
    REF_OK(ctx, wisp_kpm(&two, A, &enough));
    REF_OK(ctx, wisp_trace_function(ctx, &two, &of_exp, NULL, -1, &t));
    REF_OK(ctx, wisp_trace_function(ctx, &two, &of_exp, NULL, 2, &t));
    assert_true(isnan(t.trace.error) && isnan(t.trace.low));
    wisp_moments_free(&two);
    /* A step is not met, but for damping, which proves nothing. */
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &of_step, &(wisp_function_opts){.terms = 1000}, -1, &t), WISP_ERR_ARG,
              "opts.jackson");
    REF_FAILS(ctx, wisp_trace_function(ctx, &m, &of_step, &(wisp_function_opts){.jackson = 31}, -1, &t), WISP_ERR_ARG,
              "opts.jackson is 31");
    REF_OK(ctx, wisp_trace_function(ctx, &m, &of_step, &(wisp_function_opts){.jackson = 30}, -1, &t));
    double count, error;
    REF_OK(ctx, wisp_count(ctx, &m, NULL, -1, -HUGE_VAL, 3, &count, &error));
    assert_true(isnan(t.truncation) && t.terms == 30 && fabs(t.trace.value - count) < 0.1);
    /* Two sides. */
    wisp_kpm_opts sides = o;
    sides.adjoint = A;
    REF_OK(ctx, wisp_kpm(&two, A, &sides));
    REF_FAILS(ctx, wisp_thermal(ctx, &two, NULL, 1, &e), WISP_ERR_ARG, "left vectors or an operator");
    REF_FAILS(ctx, wisp_trace_function(ctx, &two, &of_exp, NULL, -1, &t), WISP_ERR_ARG, "left vectors or an operator");
    wisp_moments_free(&two);
    REF_FAILS(ctx, wisp_function_moments(ctx, &(wisp_bounds){0, 0, 0}, &of_exp, NULL, &needed), WISP_ERR_ARG,
              "no interval");
    wisp_moments_free(&m);
    REF_FAILS(ctx, wisp_thermal(ctx, &m, NULL, 1, &e), WISP_ERR_ARG, "there are no moments");
    wisp_mat_free(A);
    ref_free(H);
}

static wisp_status evaluate_all(wisp_ctx *ctx, void *arg)
{
    const wisp_moments *m = arg;
    const plain grows = {f_exp};
    const wisp_function f = {.value = plain_value, .arg = (void *)&grows};
    wisp_ensemble e;
    wisp_traced t;
    int64_t n;
    wisp_status status = wisp_function_moments(ctx, &m->bounds, &f, NULL, &n);
    if (status == WISP_OK) status = wisp_trace_function(ctx, m, &f, NULL, -1, &t);
    return status == WISP_OK ? wisp_thermal(ctx, m, NULL, 1, &e) : status;
}

static void failing_memory(void **state)
{
    if (ref_ranks() > 1) return;
    wisp_moments m;
    wisp_mat *A = mat_of_spec(*state, "laplace:nx=4,ny=4,points=5", NULL);
    REF_OK(*state, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 60, .vectors = 3}));
    assert_true(ref_failing_memory(evaluate_all, &m, 60, 20) > 10);
    wisp_moments_free(&m);
    wisp_mat_free(A);
}

/* Of bounds by Lanczos: moments serve temperatures far above the coldest one, and none below it. */
static void coldest(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=6,ny=5,nz=4", NULL));
    wisp_bounds b;
    REF_OK(ctx, wisp_bounds_find(&b, A, NULL));
    for (int below = 0; below < 2; below++) {
        const double T = wisp_thermal_coldest(b.halfwidth) * (below ? 0.5 : 40);
        const wisp_kpm_opts o = {.trace = WISP_TRACE_EXACT,
                                 .moments = wisp_thermal_moments(b.halfwidth, T),
                                 .bounds = {.method = WISP_BOUNDS_GIVEN, .given = b}};
        wisp_moments m;
        wisp_ensemble e;
        REF_OK(ctx, wisp_kpm(&m, A, &o));
        if (below)
            REF_FAILS(ctx, wisp_thermal(ctx, &m, NULL, T, &e), WISP_ERR_ARG, "bounds closer to the lowest eigenvalue");
        else
            REF_OK(ctx, wisp_thermal(ctx, &m, NULL, T, &e));
        wisp_moments_free(&m);
    }
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact),
                                       cmocka_unit_test(heisenberg),
                                       cmocka_unit_test(functions),
                                       cmocka_unit_test(coefficients),
                                       cmocka_unit_test(bars),
                                       cmocka_unit_test(low_temperatures),
                                       cmocka_unit_test(numbers_of_moments),
                                       cmocka_unit_test(coldest),
                                       cmocka_unit_test(units),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(failing_memory)};
    return REF_RUN_ALL(tests);
}
