/* Moments of the user's vectors, with left vectors and with operators on the left: against dense recurrences. */
#include "kpm_sides.h"

/* <l|B T_n|r> of column j, B = 1 where it has no rows; *size becomes what bounds them. */
static void true_moments(ref_mat H, ref_mat B, ref_mat l, ref_mat r, int64_t j, const wisp_bounds *b, int64_t n,
                         cplx *mu, double *size)
{
    const int64_t rows = H.rows;
    cplx *t[3], *w = calloc((size_t)rows, sizeof *w);
    double ww = 0, rr = 0;
    for (int i = 0; i < 3; i++) t[i] = calloc((size_t)rows, sizeof(cplx));
    for (int64_t i = 0; i < rows; i++) {
        t[0][i] = REF_AT(r, i, j);
        if (B.rows == 0) w[i] = conj(REF_AT(l, i, j));
        for (int64_t k = 0; k < B.rows; k++) w[i] += conj(REF_AT(l, k, j)) * REF_AT(B, k, i);
        ww += creal(w[i] * conj(w[i])), rr += creal(t[0][i] * conj(t[0][i]));
    }
    *size = sqrt(ww) * sqrt(rr);
    for (int64_t k = 0; k < n; k++) {
        mu[k] = 0;
        for (int64_t i = 0; i < rows; i++) mu[k] += w[i] * t[0][i];
        for (int64_t i = 0; i < rows; i++) {
            cplx sum = -b->center * t[0][i];
            for (int64_t m = 0; m < rows; m++) sum += REF_AT(H, i, m) * t[0][m];
            t[2][i] = k == 0 ? sum / b->halfwidth : 2 * sum / b->halfwidth - t[1][i];
        }
        cplx *last = t[1];
        t[1] = t[0], t[0] = t[2], t[2] = last;
    }
    for (int i = 0; i < 3; i++) free(t[i]);
    free(w);
}

static void check_vector(const wisp_moments *m, int64_t v, const cplx *want, double size, const char *what)
{
    const bool single = m->type == WISP_S || m->type == WISP_C;
    for (int64_t n = 0; n < m->n; n++) {
        const cplx got = m->mu[v * m->n + n] + I * (m->imag ? m->imag[v * m->n + n] : 0);
        if (!(cabs(got - want[n]) <= (single ? 3e-5 : 1e-12) * size))
            fail_msg("%s: moment %lld of vector %lld is %g + %g i, should be %g + %g i, of %g", what, (long long)n,
                     (long long)v, creal(got), cimag(got), creal(want[n]), cimag(want[n]), size);
    }
}

/* Random types, widths, numbers of moments, variants, and what is on the left. */
static void given_vectors(void **state)
{
    wisp_ctx *ctx = *state;
    static const int widths[] = {1, 3, 5, 33};
    ref_rng r = {31};
    for (int i = 0; i < (ref_few() ? 24 : 144); i++) {
        const ref_types pair = ref_pair[i % REF_PAIRS];
        sides_case c = {.mat = pair.mat, .blk = pair.blk, .B = ref_pair[i % REF_PAIRS].mat, .width = widths[i % 4]};
        c.n = (int)(2 + ref_below(&r, 40));
        c.vectors = (int)(1 + ref_below(&r, 40));
        c.left = i / 4 % 2, c.adjoint = i / 8 % 2, c.by_function = ref_below(&r, 2) > 0;
        c.variant = (wisp_kpm_variant)(i % 5 < 3 ? 0 : i % 5 - 2);
        c.reduce = (int)ref_below(&r, 2), c.depth = c.variant == WISP_KPM_NAIVE ? 0 : (int)ref_below(&r, 4);
        setting s = open_setting(ctx, &r, &c);
        const wisp_kpm_opts o = opts_of(&c, &s);
        wisp_moments m;
        cplx want[64];
        double size;
        char what[96];
        snprintf(what, sizeof what, "case %d%s%s, variant %d, width %d", i, c.left ? ", left" : "",
                 c.adjoint ? ", adjoint" : "", (int)c.variant, c.width);
        REF_OK(ctx, wisp_kpm(&m, s.A, &o));
        assert_true(m.vectors == c.vectors && m.n == c.n && !m.partial && m.trace == WISP_TRACE_GIVEN);
        assert_int_equal(m.imag != NULL, c.left || c.adjoint);
        for (int64_t v = 0; v < c.vectors; v++) {
            true_moments(s.H, c.adjoint ? s.B : (ref_mat){0}, c.left ? s.l : s.r, s.r, v, &m.bounds, c.n, want, &size);
            check_vector(&m, v, want, size, what);
        }
        wisp_moments_free(&m);
        close_setting(&s);
    }
}

/* <v|B T_n|v> of random vectors and of sites, tr(B T_n) of exact traces; its estimate, and that of runs taken
   together. */
static void traces(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 20, R = 12 };
    ref_rng r = {77};
    for (int i = 0; i < 8; i++) {
        sides_case c = {.mat = i % 2 ? WISP_Z : WISP_D, .blk = i % 4 ? WISP_Z : WISP_D, .vectors = 1};
        c.B = c.blk, c.by_function = i / 4;
        setting s = open_setting(ctx, &r, &c);
        const int64_t sites[] = {60, 0, 17, 17};
        wisp_kpm_opts o = {.moments = N, .type = c.blk, .width = 5, .seed = 4, .adjoint = s.adjoint};
        wisp_moments exact, random, local, part[2], both;
        double size, sum = 0, mean[2][N], error[2][N];
        cplx want[N], trace[N] = {0};
        ref_mat unit = ref_new(ROWS, ROWS);
        for (int64_t k = 0; k < ROWS; k++) REF_AT(unit, k, k) = 1;
        o.trace = WISP_TRACE_EXACT;
        REF_OK(ctx, wisp_kpm(&exact, s.A, &o));
        o.trace = WISP_TRACE_SITES, o.sites = sites, o.vectors = 4;
        REF_OK(ctx, wisp_kpm(&local, s.A, &o));
        for (int64_t k = 0; k < ROWS; k++) {
            true_moments(s.H, s.B, unit, unit, k, &exact.bounds, N, want, &size);
            for (int n = 0; n < N; n++) trace[n] += want[n];
            sum += size;
        }
        check_vector(&exact, 0, trace, sum, "exact trace");
        for (int k = 0; k < 4; k++) {
            true_moments(s.H, s.B, unit, unit, sites[k], &local.bounds, N, want, &size);
            check_vector(&local, k, want, size, "site");
        }
        o.trace = WISP_TRACE_RANDOM, o.vectors = R;
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = exact.bounds};
        REF_OK(ctx, wisp_kpm(&random, s.A, &o));
        for (int p = 0; p < 2; p++) {
            REF_OK(ctx, wisp_moments_mean(ctx, &random, (wisp_part)p, mean[p], error[p]));
            for (int n = 0; n < N; n++) {
                const double truth = p ? cimag(trace[n]) : creal(trace[n]);
                if (!(fabs(mean[p][n] - truth) <= 6 * error[p][n] + 1e-12 * sum))
                    fail_msg("moment %d, part %d: %g +- %g, should be %g", n, p, mean[p][n], error[p][n], truth);
                assert_true(error[p][n] <= sum);
            }
            if (p == 0) assert_true(error[p][3] > 0);
        }
        /* Bars are Student's, for a density that may be negative. */
        double energy[9], dos[9], wrong[9], low[9], high[9];
        wisp_energies(&random.bounds, 9, energy);
        REF_OK(ctx, wisp_dos(ctx, &random, NULL, -1, 9, energy, dos, wrong));
        wisp_bars95(&random, NULL, 9, dos, wrong, low, high);
        for (int k = 0; k < 9; k++) assert_true(high[k] == dos[k] + wisp_student95(R) * wrong[k] && low[k] < dos[k]);
        wisp_blk *v;
        REF_OK(ctx, wisp_blk_create(&v, ctx, wisp_mat_map(s.A), c.blk, R));
        REF_OK(ctx, wisp_blk_fill_random(v, WISP_RANDOM_TRACE, 4, 0, 0));
        ref_mat x = ref_get(v);
        for (int64_t k = 0; k < R; k++) {
            true_moments(s.H, s.B, x, x, k, &random.bounds, N, want, &size);
            check_vector(&random, k, want, size, "random vector");
        }
        for (int k = 0; k < 2; k++) {
            o.first_vector = k * 5, o.vectors = k ? R - 5 : 5;
            REF_OK(ctx, wisp_kpm(&part[k], s.A, &o));
        }
        REF_OK(ctx, wisp_moments_merge(ctx, &both, part, 2));
        assert_int_equal(both.vectors, R);
        assert_true(worst_difference(both.mu, random.mu, N * R) <= 1e-12 * sum);
        assert_true(worst_difference(both.imag, random.imag, N * R) <= 1e-12 * sum);
        wisp_moments_free(&both);
        o.adjoint = NULL;
        wisp_moments plain;
        REF_OK(ctx, wisp_kpm(&plain, s.A, &o));
        REF_FAILS(ctx, wisp_moments_fit(ctx, &part[0], &plain), WISP_ERR_MISMATCH, "opts.adjoint");
        /* Another operator. */
        wisp_moments other;
        o.adjoint = s.A;
        REF_OK(ctx, wisp_kpm(&other, s.A, &o));
        REF_FAILS(ctx, wisp_moments_fit(ctx, &part[0], &other), WISP_ERR_MISMATCH, "operators on the left differ");
        wisp_moments *all[] = {&exact, &random, &local, &part[0], &part[1], &plain, &other};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) wisp_moments_free(all[k]);
        wisp_blk_free(v);
        ref_free(x), ref_free(unit);
        close_setting(&s);
    }
}

/* A power of 2 in any of the parts changes the moments by that power, bit by bit; one in A changes nothing. */
static void powers_of_two(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 25 };
    ref_rng r = {5};
    static const wisp_type type[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    for (int i = 0; i < 48; i++) {
        const wisp_type t = type[i % 4];
        const bool single = t == WISP_S || t == WISP_C;
        sides_case c = {.mat = t, .blk = t, .B = t, .n = N, .vectors = 4, .width = 3, .left = i / 4 % 2};
        c.adjoint = i / 8 % 2;
        setting s = open_setting(ctx, &r, &c);
        wisp_kpm_opts o = opts_of(&c, &s);
        wisp_moments plain, scaled;
        const int most = single ? 40 : 330, of_A = (int)ref_below(&r, 5 * most) - 5 * most / 2;
        const int of_B = (int)ref_below(&r, 2 * most) - most, of_l = (int)ref_below(&r, 2 * most) - most;
        int of_r = (int)ref_below(&r, 2 * most) - most;
        o.bounds.method = WISP_BOUNDS_GERSHGORIN; /* where the ends of others go to depends on the unit */
        REF_OK(ctx, wisp_kpm(&plain, s.A, &o));
        for (int64_t k = 0; k < ROWS * ROWS; k++) s.H.a[k] *= ldexp(1, of_A), s.B.a[k] *= ldexp(1, of_B);
        const ref_mat adjoint = adjoint_of(s.B);
        wisp_mat *A = on_map(ctx, s.H, t, wisp_mat_map(s.A)), *B = on_map(ctx, adjoint, t, wisp_mat_map(s.A));
        REF_OK(ctx, wisp_scal(s.right, (wisp_scalar){ldexp(1, of_r), 0}));
        REF_OK(ctx, wisp_scal(s.left, (wisp_scalar){ldexp(1, of_l), 0}));
        if (o.adjoint) o.adjoint = B;
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = plain.bounds};
        o.bounds.given.center *= ldexp(1, of_A), o.bounds.given.halfwidth *= ldexp(1, of_A);
        REF_OK(ctx, wisp_kpm(&scaled, A, &o));
        const int by = of_r + (c.left ? of_l : of_r) + (c.adjoint ? of_B : 0);
        for (int k = 0; k < 4 * N; k++) {
            if (scaled.mu[k] != ldexp(plain.mu[k], by) || (plain.imag && scaled.imag[k] != ldexp(plain.imag[k], by)))
                fail_msg("case %d, moment %d of vector %d: %g is not %g times 2^%d (A 2^%d)", i, k % N, k / N,
                         scaled.mu[k], plain.mu[k], by, of_A);
        }
        wisp_moments_free(&plain), wisp_moments_free(&scaled);
        wisp_mat_free(A), wisp_mat_free(B);
        ref_free(adjoint);
        close_setting(&s);
    }
}

/* The spectral function <l|delta(E - A)|r>: its integral over all energies is <l|r>, of both parts. */
static void spectral_function(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {12};
    sides_case c = {.mat = WISP_Z, .blk = WISP_Z, .B = WISP_Z, .n = 50, .vectors = 3, .width = 2, .left = true};
    setting s = open_setting(ctx, &r, &c);
    wisp_kpm_opts o = opts_of(&c, &s);
    wisp_moments m;
    REF_OK(ctx, wisp_kpm(&m, s.A, &o));
    for (int part = 0; part < 2; part++) {
        const wisp_eval_opts e = {.part = (wisp_part)part};
        double sum[3], error[3], energy[400], dos[400], mean[50];
        const double *mu = part ? m.imag : m.mu;
        REF_OK(ctx, wisp_count(ctx, &m, &e, 1, -INFINITY, INFINITY, &sum[0], &error[0]));
        REF_OK(ctx, wisp_count(ctx, &m, &e, -1, -INFINITY, INFINITY, &sum[1], &error[1]));
        REF_OK(ctx, wisp_moments_mean(ctx, &m, (wisp_part)part, mean, NULL));
        assert_true(fabs(sum[0] - mu[50]) <= 1e-12 * ROWS && error[0] == 0);
        assert_true(fabs(sum[1] - mean[0]) <= 1e-12 * ROWS && error[1] == 0);
        assert_true(fabs(mean[7] - mu[7] - mu[57] - mu[107]) <= 1e-12 * ROWS);
        wisp_energies(&m.bounds, 400, energy);
        REF_OK(ctx, wisp_dos(ctx, &m, &e, 1, 400, energy, dos, NULL));
        sum[2] = 0;
        for (int i = 0; i < 400; i++) {
            const double x = (energy[i] - m.bounds.center) / m.bounds.halfwidth;
            sum[2] += dos[i] * sqrt((1 - x) * (1 + x)) * acos(-1) * m.bounds.halfwidth / 400;
        }
        assert_true(fabs(sum[2] - mu[50]) <= 1e-10 * ROWS);
    }
    wisp_moments_free(&m);
    o.left = NULL;
    REF_OK(ctx, wisp_kpm(&m, s.A, &o));
    double value, mean[50];
    REF_FAILS(ctx, wisp_count(ctx, &m, &(wisp_eval_opts){.part = WISP_IMAGINARY_PART}, -1, 0, 1, &value, NULL),
              WISP_ERR_ARG, "no imaginary parts");
    REF_FAILS(ctx, wisp_moments_mean(ctx, &m, (wisp_part)2, mean, NULL), WISP_ERR_ARG, "opts.part: unknown value 2");
    wisp_moments_free(&m);
    close_setting(&s);
}

/* Plain options give the moments of before, and those of unit vectors given as a block are those of sites. */
static void same_as_sites(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 31 };
    wisp_mat *A = mat_of_spec(ctx, "topi:nx=4,ny=3,nz=5", NULL);
    const int64_t sites[] = {3, 100, 17, 239};
    wisp_blk *x;
    wisp_moments by_name, given;
    wisp_kpm_opts o = {.moments = N, .trace = WISP_TRACE_SITES, .vectors = 4, .sites = sites, .width = 3, .seed = 2};
    REF_OK(ctx, wisp_kpm(&by_name, A, &o));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_Z, 4));
    REF_OK(ctx, wisp_blk_fill_units(x, sites));
    o.trace = WISP_TRACE_GIVEN, o.right = x, o.sites = NULL;
    REF_OK(ctx, wisp_kpm(&given, A, &o));
    assert_memory_equal(given.mu, by_name.mu, 4 * N * sizeof *given.mu);
    assert_null(given.sites);
    wisp_moments_free(&by_name), wisp_moments_free(&given);
    wisp_blk_free(x);
    wisp_mat_free(A);
}

/* Steps that are interleaved change no bit, nor does another number of threads. */
static void depths(void **state)
{
    enum { N = 30, R = 5 };
    wisp_moments m[4];
    (void)state;
    if (ref_ranks() > 1) return; /* no steps are interleaved there */
    for (int i = 0; i < 4; i++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = i == 3 ? 2 : 1, .no_pin = 1});
        wisp_mat *A;
        wisp_blk *right, *left;
        REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=400,ny=300,nz=1", &(wisp_mat_opts){.order = WISP_ROWS_NATURAL}));
        REF_OK(ctx, wisp_blk_create(&right, ctx, wisp_mat_map(A), WISP_D, R));
        REF_OK(ctx, wisp_blk_create(&left, ctx, wisp_mat_map(A), WISP_D, R));
        REF_OK(ctx, wisp_blk_fill_random(right, WISP_RANDOM_GAUSS, 1, 0, 0));
        REF_OK(ctx, wisp_blk_fill_random(left, WISP_RANDOM_GAUSS, 2, 0, 0));
        const wisp_kpm_opts o = {.moments = N,
                                 .trace = WISP_TRACE_GIVEN,
                                 .right = right,
                                 .left = left,
                                 .width = 4,
                                 .depth = i == 3 ? 0 : 1 + 3 * i};
        REF_OK(ctx, wisp_kpm(&m[i], A, &o));
        if (i < 3) assert_int_equal(m[i].depth, 1 + 3 * i);
        assert_memory_equal(m[i].mu, m[0].mu, N * R * sizeof *m[i].mu);
        assert_memory_equal(m[i].imag, m[0].imag, N * R * sizeof *m[i].imag);
        wisp_blk_free(right), wisp_blk_free(left);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    for (int i = 0; i < 4; i++) wisp_moments_free(&m[i]);
}

/* With an operator on the left rounding is not estimated, and single precision not chosen. */
static void rounding(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = mat_of_spec_as(ctx, "anderson:nx=5,ny=4,nz=3", WISP_S, NULL);
    wisp_moments m;
    wisp_kpm_opts o = {.moments = 20, .vectors = 3, .rounding_limit = 0.5};
    assert_int_equal(wisp_kpm_type(WISP_D, 60, &o), WISP_S);
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    assert_true(m.rounding > 0);
    wisp_moments_free(&m);
    o.adjoint = A;
    assert_int_equal(wisp_kpm_type(WISP_D, 60, &o), WISP_D);
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    assert_true(m.rounding == 0);
    wisp_moments_free(&m);
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_vectors), cmocka_unit_test(traces),
        cmocka_unit_test(powers_of_two), cmocka_unit_test(spectral_function),
        cmocka_unit_test(same_as_sites), cmocka_unit_test(rounding),
        cmocka_unit_test(depths),
    };
    return REF_RUN_ALL(tests);
}
