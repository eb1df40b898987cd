/* Optical conductivities against sums over eigenpairs, and graphene's against exact ones; temperatures far above the
   band. */
#include "config.h"
#include "kpm_sides.h"

/* <n|V|m> of eigenvectors, by columns. */
static void in_eigenbasis(const double *q, double *v, int64_t size)
{
    double *t = calloc((size_t)(size * size), sizeof *t);
    for (int64_t i = 0; i < size; i++)
        for (int64_t m = 0; m < size; m++)
            for (int64_t j = 0; j < size; j++) t[m * size + i] += v[j * size + i] * q[m * size + j];
    for (int64_t n = 0; n < size; n++)
        for (int64_t m = 0; m < size; m++) {
            v[m * size + n] = 0;
            for (int64_t i = 0; i < size; i++) v[m * size + n] += q[n * size + i] * t[m * size + i];
        }
    free(t);
}

/* A damped delta function of each level at x, times its root. */
static void deltas(int64_t M, const double *of_level, int64_t size, double x, double *sum)
{
    for (int64_t n = 0; n < size; n++) sum[n] = 0;
    for (int64_t k = 0; k < M; k++) {
        const double c = cos((double)k * acos(x));
        for (int64_t n = 0; n < size; n++) sum[n] += of_level[k * size + n] * c;
    }
}

/* The factors of cos(k acos(x)) in it, for each level. */
static double *factors(const wisp_bounds *b, int64_t M, const double *E, int64_t size)
{
    double *of_level = calloc((size_t)(M * size), sizeof *of_level);
    const double N = (double)M + 1, p = acos(-1);
    for (int64_t k = 0; k < M; k++) {
        const double a = p * (double)k / N, g = ((N - (double)k) * cos(a) + sin(a) / tan(p / N)) / N;
        for (int64_t n = 0; n < size; n++)
            of_level[k * size + n] = (k ? 2 : 1) * g / p * cos((double)k * acos((E[n] - b->center) / b->halfwidth));
    }
    return of_level;
}

static double fermi(double d, double T) { return 1 / (1 + exp(d / T)); }

/* The integral over x = middle + half cos(angle), in which the roots at both ends cancel; its size, too. */
static double by_levels(const wisp_bounds *b, int64_t M, const double *E, const double *Va, const double *Vb,
                        int64_t size, double T, double mu, double omega, double *all)
{
    enum { POINTS = 3000 };
    const double w = omega / b->halfwidth, half = 1 - w / 2, p = acos(-1);
    double *low = calloc((size_t)size, sizeof *low), *high = calloc((size_t)size, sizeof *high), sum = 0;
    double *of_level = factors(b, M, E, size);
    *all = 0;
    for (int i = 0; i < POINTS; i++) {
        const double c = cos(p * (i + 0.5) / POINTS), x = -w / 2 + half * c, energy = b->center + b->halfwidth * x;
        double pairs = 0;
        deltas(M, of_level, size, x, low);
        deltas(M, of_level, size, x + w, high);
        for (int64_t n = 0; n < size; n++)
            for (int64_t m = 0; m < size; m++) pairs += Va[m * size + n] * Vb[n * size + m] * high[m] * low[n] / 2;
        const double d = pairs * (fermi(energy - mu, T) - fermi(energy + omega - mu, T)) * p / POINTS /
                         sqrt((w + half * (1 - c)) * (w + half * (1 + c)));
        sum += d, *all += fabs(d);
    }
    free(low), free(high), free(of_level);
    const double unit = 2 * p * p / 3 / omega / b->halfwidth;
    *all *= unit;
    return unit * sum;
}

/* Random systems, complex ones, and real ones whose velocities are i W. */
static void dense(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {17};
    for (int c = 0; c < 4; c++) {
        const wisp_type type = c % 2 ? WISP_D : WISP_Z;
        const int64_t n = 5 + c, size = 2 * n, M = 11 + 3 * c;
        ref_mat H = random_hermitian(&r, type, n, 0.9), V[2];
        wisp_mat *A = ref_mat_of(ctx, H, type), *W[2];
        const real_pairs p = pairs_of(H); /* traces are twice the real parts */
        double *real[2];
        for (int d = 0; d < 2; d++) {
            V[d] = random_hermitian(&r, type, n, 0.9);
            for (int64_t i = 0; type == WISP_D && i < n; i++)
                for (int64_t j = 0; j <= i; j++) REF_AT(V[d], i, j) *= i == j ? 0 : -1;
            if (c == 2) ref_free(V[d]), V[d] = random_hermitian(&(ref_rng){4}, type, n, 0.9); /* the same one twice */
            W[d] = on_map(ctx, V[d], type, wisp_mat_map(A));
            for (int64_t i = 0; type == WISP_D && i < n * n; i++) V[d].a[i] *= I;
            real[d] = real_form(V[d], 2);
            in_eigenbasis(p.q, real[d], size);
        }
        wisp_moments m;
        REF_OK(ctx, wisp_kubo(&m, A, W[0], W[1], &(wisp_kubo_opts){.moments = M, .trace = WISP_TRACE_EXACT}));
        const double h = m.bounds.halfwidth, mu = m.bounds.center + 0.1 * h,
                     omega[] = {0.05 * h, 0.3 * h, h, 1.9 * h, 2.1 * h};
        for (int warm = 0; warm < 3; warm++) {
            const double T = (double[]){0.1, 1, 1e9}[warm] * h;
            wisp_estimate got[5];
            REF_OK(ctx,
                   wisp_sigma_optical(ctx, &m, &(wisp_sigma_opts){.volume = 3, .points = 4000}, T, mu, 5, omega, got));
            for (int i = 0; i < 5; i++) {
                double all = 0;
                const double want =
                    i == 4 ? 0 : by_levels(&m.bounds, M, p.E, real[0], real[1], size, T, mu, omega[i], &all);
                if (!(fabs(got[i].value - want) <= 2e-4 * all))
                    fail_msg("system %d, T %g, omega %g h: %.10g, not %.10g (of %g)", c, T / h, omega[i] / h,
                             got[i].value, want, all);
                assert_true(got[i].low == got[i].value && got[i].error == 0);
                if (c == 2) assert_true(got[i].value >= -1e-12 * all);
            }
        }
        wisp_moments_free(&m);
        for (int d = 0; d < 2; d++) wisp_mat_free(W[d]), ref_free(V[d]), free(real[d]);
        wisp_mat_free(A), ref_free(H), pairs_free(p);
    }
}

/* At temperature 0 the step, as the limit of low temperatures; as omega goes to 0 Kubo-Greenwood. */
static void limits(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {29};
    ref_mat H = random_hermitian(&r, WISP_Z, 12, 0.9), V = random_hermitian(&r, WISP_Z, 12, 0.9);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_Z), *W = on_map(ctx, V, WISP_Z, wisp_mat_map(A));
    wisp_moments m;
    wisp_estimate cold, step, slow, direct;
    REF_OK(ctx, wisp_kubo(&m, A, W, W, &(wisp_kubo_opts){.moments = 16, .trace = WISP_TRACE_EXACT}));
    const double h = m.bounds.halfwidth, mu = m.bounds.center + 0.1 * h, omega = 0.4 * h, little = 1e-5 * h;
    wisp_sigma_opts o = {.points = 1000};
    REF_OK(ctx, wisp_sigma_optical(ctx, &m, &o, 0, mu, 1, &omega, &step));
    REF_OK(ctx, wisp_sigma_optical(ctx, &m, &o, 1e-7 * h, mu, 1, &omega, &cold));
    assert_true(fabs(step.value - cold.value) <= 1e-4 * fabs(step.value) && step.value > 0);
    o = (wisp_sigma_opts){.formula = WISP_GREENWOOD, .points = 4000};
    REF_OK(ctx, wisp_sigma_optical(ctx, &m, &o, 0.3 * h, mu, 1, &little, &slow));
    REF_OK(ctx, wisp_sigma(ctx, &m, &o, 0.3 * h, 1, &mu, &direct));
    assert_true(fabs(slow.value - direct.value) <= 1e-3 * direct.value);
    /* However small the frequency, down to the least numbers: to the same limit. */
    for (int c = 0; c < 4; c++) {
        const double T = (double[]){0, 1e-13, 1e-4, 0.3}[c] * h;
        double least[] = {1e-9 * h, 1e-14 * h, 1e-15 * h, 1e-16 * h, 1e-40 * h, 1e-300, 5e-324};
        wisp_estimate s[7];
        REF_OK(ctx, wisp_sigma_optical(ctx, &m, &o, T, mu, 7, least, s));
        REF_OK(ctx, wisp_sigma(ctx, &m, &o, T, 1, &mu, &direct));
        for (int i = 0; i < 7; i++) {
            assert_true(fabs(s[i].value - s[6].value) <= 1e-6 * s[6].value);
            assert_true(fabs(s[i].value - direct.value) <= (c < 3 ? 5e-3 : 1e-3) * direct.value);
        }
    }
    assert_int_equal(wisp_sigma_optical(ctx, &m, NULL, 0, 0, 1, (double[]){0}, &step), WISP_ERR_ARG);
    assert_int_equal(wisp_sigma_optical(ctx, &m, NULL, 0, NAN, 1, &omega, &step), WISP_ERR_ARG);
    REF_FAILS(ctx, wisp_sigma_optical(ctx, &m, &(wisp_sigma_opts){.points = 1}, 0, 0, 1, &omega, &step), WISP_ERR_ARG,
              "wisp_sigma_optical: ");
    assert_int_equal(wisp_sigma_optical(ctx, &m, NULL, -1, 0, 1, &omega, &step), WISP_ERR_ARG);
    assert_int_equal(wisp_sigma_optical(ctx, &m, NULL, 0, 0, 1, (double[]){INFINITY}, &step), WISP_ERR_ARG);
    wisp_moments_free(&m);
    wisp_mat_free(W), wisp_mat_free(A);
    ref_free(V), ref_free(H);
}

/* Graphene, per spin: exact sums over an infinite lattice, in units of e^2/(8 hbar), pi/4 of e^2/h; a part of each may
   be the blur by the kernel. */
static void graphene(void **state)
{
    wisp_ctx *ctx = *state;
    const char *spec = REF_SANITIZED ? "graphene:nx=16,ny=16,periodic=xy" : "graphene:nx=80,ny=80,periodic=xy";
    const double exact[] = {1.0289, 1.1320, 1.4009}, omega[] = {0.5, 1, 1.5}, unit = acos(-1) / 4;
    wisp_src h, v;
    wisp_positions at;
    wisp_mat *A, *V;
    wisp_moments m;
    wisp_estimate s[3];
    REF_OK(ctx, wisp_src_open_gallery(&h, ctx, spec));
    REF_OK(ctx, wisp_positions_open_gallery(&at, ctx, spec));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &h, NULL));
    REF_OK(ctx, wisp_src_velocity(&v, ctx, &h, &at, (double[]){1, 0, 0}, WISP_VELOCITY_REAL));
    REF_OK(ctx, wisp_mat_create(&V, ctx, &v, &(wisp_mat_opts){.map = wisp_mat_map(A)}));
    REF_OK(ctx, wisp_kubo(&m, A, V, V, &(wisp_kubo_opts){.moments = 128, .vectors = 8}));
    REF_OK(ctx, wisp_sigma_optical(ctx, &m, &(wisp_sigma_opts){.volume = at.volume}, 0, 0, 3, omega, s));
    for (int i = 0; i < 3 && !REF_SANITIZED; i++) /* a small one has other numbers */
        if (!(fabs(s[i].value / unit - exact[i]) < 0.02 + (s[i].high - s[i].value) / unit) || !(s[i].error < 0.08))
            fail_msg("omega %g: %.4f, %.4f to %.4f, not %.4f", omega[i], s[i].value / unit, s[i].low / unit,
                     s[i].high / unit, exact[i]);
    wisp_moments_free(&m);
    wisp_mat_free(V), wisp_mat_free(A);
    wisp_src_close(&v), wisp_src_close(&h);
    wisp_positions_close(&at);
}

/* Far above the band conductivities fall with the temperature, however far; and an integral does not hang
   on how many points it has, if there are enough. */
static void hot(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {31};
    ref_mat H = random_hermitian(&r, WISP_Z, 12, 0.9), V[2];
    wisp_mat *A = ref_mat_of(ctx, H, WISP_Z), *W[2];
    for (int d = 0; d < 2; d++) {
        V[d] = random_hermitian(&r, WISP_Z, 12, 0.9);
        W[d] = on_map(ctx, V[d], WISP_Z, wisp_mat_map(A));
    }
    wisp_moments m;
    REF_OK(ctx, wisp_kubo(&m, A, W[0], W[1], &(wisp_kubo_opts){.moments = 40, .trace = WISP_TRACE_EXACT}));
    const double h = m.bounds.halfwidth, mu[] = {m.bounds.center + 0.2 * h, m.bounds.center + 2 * h};
    for (int f = 0; f < 2; f++) {
        wisp_sigma_opts o = {.formula = f ? WISP_GREENWOOD : WISP_BASTIN};
        wisp_estimate first[2], s[2];
        REF_OK(ctx, wisp_sigma(ctx, &m, &o, 1e4 * h, 2, mu, first));
        for (int e = 5; e < 40; e += REF_SANITIZED ? 7 : 1) {
            const double T = pow(10, e);
            REF_OK(ctx, wisp_sigma(ctx, &m, &o, T * h, 2, mu, s));
            for (int i = 0; i < 2; i++)
                if (!(fabs(s[i].value * T / 1e4 - first[i].value) <= 1e-3 * fabs(first[i].value)))
                    fail_msg("formula %d, T %g h: %g, and %g at 1e4 h", f, T, s[i].value, first[i].value);
        }
        o.points = 20000;
        REF_OK(ctx, wisp_sigma(ctx, &m, &o, 0, 2, mu, first));
        o.points = 300000;
        REF_OK(ctx, wisp_sigma(ctx, &m, &o, 0, 2, mu, s));
        if (!(fabs(s[0].value - first[0].value) <= 5e-3 * fabs(first[0].value)))
            fail_msg("formula %d: %g, and %g with more points", f, first[0].value, s[0].value);
        assert_true(s[1].value == 0 && first[1].value == 0); /* all states are filled */
    }
    wisp_moments_free(&m);
    for (int d = 0; d < 2; d++) wisp_mat_free(W[d]), ref_free(V[d]);
    wisp_mat_free(A), ref_free(H);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dense), cmocka_unit_test(limits), cmocka_unit_test(graphene),
                                       cmocka_unit_test(hot)};
    return REF_RUN_ALL(tests);
}
