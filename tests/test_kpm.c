/* Moments of small matrices: against LAPACK and dense recurrences, all variants, widths, types, threads;
   costs. */
#include "kpm_dense.h"

/* An exact trace is the sum over the spectrum, for even and odd numbers of moments. */
static void exact_trace(void **state)
{
    wisp_ctx *ctx = *state;
    static const char *const spec[] = {"topi:nx=3,ny=4,nz=2", "laplace:nx=7,ny=6,nz=1", "graphene:nx=4,ny=5,flux=1/4",
                                       "anderson:nx=5,ny=4,nz=3,disorder=3", "spinchain:sites=8,up=3"};
    static const int64_t moments[] = {2, 3, 4, 5, 63, 200};
    for (size_t s = 0; s < sizeof spec / sizeof *spec; s++) {
        ref_mat dense;
        wisp_mat *A = mat_of_spec(ctx, spec[s], &dense);
        double *energy = eigenvalues(dense);
        for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
            wisp_moments m;
            wisp_kpm_opts o = {.moments = moments[i], .trace = WISP_TRACE_EXACT, .width = 5, .seed = i};
            REF_OK(ctx, wisp_kpm(&m, A, &o));
            assert_inside(spec[s], &m.bounds, energy[0], energy[dense.rows - 1]);
            assert_true(m.bounds.failure_probability >= 0 && m.bounds.failure_probability < 1.001e-8);
            assert_int_equal(m.vectors, 1);
            assert_int_equal(m.n, moments[i]);
            assert_true(m.mu[0] == (double)dense.rows);
            for (int64_t n = 0; n < m.n; n++) {
                double truth = true_moment(energy, dense.rows, &m.bounds, n);
                if (!(fabs(m.mu[n] - truth) <= 1e-12 * m.mu[0]))
                    fail_msg("%s, %lld moments: mu_%lld = %.17g, should be %.17g", spec[s], (long long)m.n,
                             (long long)n, m.mu[n], truth);
            }
            wisp_moments_free(&m);
        }
        free(energy);
        ref_free(dense);
        wisp_mat_free(A);
    }
}

/* <i|T_n|i> by a dense recurrence. */
static void local_moments(ref_mat H, const wisp_bounds *b, int64_t site, int64_t n, double *mu)
{
    int64_t rows = H.rows;
    cplx *t[3];
    for (int i = 0; i < 3; i++) t[i] = calloc((size_t)rows, sizeof(cplx));
    t[0][site] = 1;
    for (int64_t k = 0; k < n; k++) {
        mu[k] = creal(t[0][site]);
        for (int64_t i = 0; i < rows; i++) {
            cplx sum = -b->center * t[0][i];
            for (int64_t j = 0; j < rows; j++) sum += REF_AT(H, i, j) * t[0][j];
            t[2][i] = k == 0 ? sum / b->halfwidth : 2 * sum / b->halfwidth - t[1][i];
        }
        cplx *last = t[1];
        t[1] = t[0], t[0] = t[2], t[2] = last;
    }
    for (int i = 0; i < 3; i++) free(t[i]);
}

static void local_density(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {11};
    enum { N = 41 };
    ref_mat H = random_hermitian(&r, WISP_Z, 37, 0.2);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_Z);
    int64_t sites[] = {36, 0, 5, 5, 17};
    wisp_moments m;
    wisp_kpm_opts o = {.moments = N, .trace = WISP_TRACE_SITES, .sites = sites, .vectors = 5, .width = 2};
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    assert_int_equal(m.vectors, 5);
    assert_memory_equal(m.sites, sites, sizeof sites);
    for (int v = 0; v < 5; v++) {
        double mu[N];
        local_moments(H, &m.bounds, sites[v], N, mu);
        assert_true(worst_difference(mu, m.mu + v * N, N) < 1e-12);
    }
    wisp_moments_free(&m);
    wisp_mat_free(A);
    ref_free(H);
}

/* Every variant and width gives the same moments, vector by vector, for all types. */
static void variants_and_widths(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        wisp_type mat, blk;
    } combo[] = {{WISP_Z, WISP_Z}, {WISP_D, WISP_D}, {WISP_D, WISP_Z}, {WISP_S, WISP_S}, {WISP_S, WISP_C},
                 {WISP_C, WISP_C}, {WISP_S, WISP_D}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};
    enum { N = 33, R = 33, ROWS = 61 };
    for (int c = 0; c < 9; c++) {
        ref_rng r = {(uint64_t)c + 5};
        ref_mat H = random_hermitian(&r, combo[c].mat, ROWS, 0.15);
        wisp_mat *A = ref_mat_of(ctx, H, combo[c].mat);
        int single = combo[c].blk == WISP_S || combo[c].blk == WISP_C;
        wisp_moments first = {0};
        for (int width = 1; width <= R + 2; width++) {
            wisp_kpm_opts o = {.moments = N, .vectors = R, .seed = 3, .width = width, .type = combo[c].blk};
            o.bounds.method = WISP_BOUNDS_GERSHGORIN; /* Lanczos takes as many runs as there are columns */
            if (width > R) o.width = 0, o.variant = width == R + 1 ? WISP_KPM_FUSED : WISP_KPM_NAIVE;
            if (width % 2) o.reduce_each_step = 1;
            wisp_moments m;
            REF_OK(ctx, wisp_kpm(&m, A, &o));
            assert_int_equal(m.vectors, R);
            assert_int_equal(m.type, combo[c].blk);
            for (int v = 0; v < R; v++) assert_true(m.mu[v * N] == ROWS);
            if (width == 1) {
                first = m;
                continue;
            }
            double worst = worst_difference(m.mu, first.mu, R * N);
            if (!(worst <= (single ? 1e-5 : 1e-12) * ROWS))
                fail_msg("types %d %d, width %d, variant %d: moments differ by %g", combo[c].mat, combo[c].blk, width,
                         (int)o.variant, worst);
            wisp_moments_free(&m);
        }
        wisp_moments_free(&first);
        wisp_mat_free(A);
        ref_free(H);
    }
}

/* Several steps per call change no bit. */
static void depths(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {91};
    ref_mat H = random_hermitian(&r, WISP_Z, 150, 0.05);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_Z);
    enum { N = 23, R = 7 };
    for (int reduce = 0; reduce < 2; reduce++)
        for (int variant = 0; variant < 2; variant++) {
            wisp_kpm_opts o = {.moments = N, .vectors = R, .width = variant ? 0 : 3, .reduce_each_step = reduce};
            o.variant = variant ? WISP_KPM_FUSED : WISP_KPM_BLOCKED;
            wisp_moments one, m;
            REF_OK(ctx, wisp_kpm(&one, A, &o));
            assert_int_equal(one.depth, 1);
            for (o.depth = 2; o.depth < 14; o.depth++) {
                REF_OK(ctx, wisp_kpm(&m, A, &o));
                assert_int_equal(m.depth, 1); /* so few rows are not interleaved */
                assert_memory_equal(m.mu, one.mu, R * N * sizeof *m.mu);
                assert_true(m.flops == one.flops);
                wisp_moments_free(&m);
            }
            /* The guard looks at every step of a call. */
            o.bounds.method = WISP_BOUNDS_GIVEN;
            o.bounds.given = (wisp_bounds){one.bounds.center + one.bounds.halfwidth / 2, one.bounds.halfwidth / 2, 0};
            o.depth = 5;
            REF_FAILS(ctx, wisp_kpm(&m, A, &o), WISP_ERR_BOUNDS, "below the lower bound");
            wisp_moments_free(&one);
        }
    wisp_mat_free(A);
    ref_free(H);
}

/* A long run tries several depths while it works: no bit tells. */
static void tuning(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 131, R = 10 };
    wisp_mat *A;
    wisp_moments tuned, plain;
    wisp_kpm_opts o = {.moments = N, .vectors = R, .width = 4};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "topi:nx=30,ny=5,nz=10", &(wisp_mat_opts){.width = 4}));
    REF_OK(ctx, wisp_kpm(&tuned, A, &o));
    assert_true(tuned.depth == 1 || tuned.depth == 2 || tuned.depth == 4 || tuned.depth == 8);
    o.depth = 1;
    REF_OK(ctx, wisp_kpm(&plain, A, &o));
    assert_memory_equal(tuned.mu, plain.mu, R * N * sizeof *plain.mu);
    wisp_moments_free(&tuned);
    wisp_moments_free(&plain);
    wisp_mat_free(A);
}

/* <v|T_n|v> of random vectors, against the dense recurrence by way of the block's own numbers: mu_1 = <v|H~|v>. */
static void random_vectors(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {21};
    ref_mat H = random_hermitian(&r, WISP_Z, 29, 0.3);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_Z);
    wisp_kpm_opts o = {.moments = 4, .vectors = 7, .seed = 77, .width = 3, .first_vector = 4};
    wisp_moments m, all;
    wisp_blk *v;
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    REF_OK(ctx, wisp_blk_create(&v, ctx, wisp_mat_map(A), WISP_Z, 7));
    REF_OK(ctx, wisp_blk_fill_random(v, WISP_RANDOM_TRACE, 77, 0, 4));
    ref_mat x = ref_get(v);
    for (int j = 0; j < 7; j++) {
        cplx sum = 0;
        for (int64_t a = 0; a < 29; a++)
            for (int64_t b = 0; b < 29; b++) sum += conj(REF_AT(x, a, j)) * REF_AT(H, a, b) * REF_AT(x, b, j);
        double mu_1 = (creal(sum) - 29 * m.bounds.center) / m.bounds.halfwidth;
        assert_true(fabs(mu_1 - m.mu[j * 4 + 1]) < 1e-12 * 29);
    }
    /* A run that begins with vector 4 continues one of vectors 0 to 3. */
    o.first_vector = 0, o.vectors = 11;
    o.bounds.method = WISP_BOUNDS_GIVEN, o.bounds.given = m.bounds;
    REF_OK(ctx, wisp_kpm(&all, A, &o));
    assert_true(worst_difference(all.mu + 4 * 4, m.mu, 7 * 4) < 1e-12 * 29);
    assert_true(worst_difference(all.mu, m.mu, 4 * 4) > 1e-3);
    wisp_moments_free(&m);
    wisp_moments_free(&all);
    wisp_blk_free(v);
    ref_free(x);
    ref_free(H);
    wisp_mat_free(A);
}

static void threads(void **state)
{
    (void)state;
    wisp_moments m[3];
    for (int v = 0; v < 3; v++) {
        for (int t = 0; t < 3; t++) {
            wisp_ctx_opts c = {.threads = t + 1, .no_pin = 1};
            wisp_ctx *ctx = ref_ctx(&c);
            wisp_mat *A = mat_of_spec(ctx, "topi:nx=8,ny=8,nz=3", NULL);
            wisp_kpm_opts o = {.moments = 40, .vectors = 7, .seed = 5, .variant = (wisp_kpm_variant)v};
            REF_OK(ctx, wisp_kpm(&m[t], A, &o));
            assert_int_equal(m[t].threads, t + 1);
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
        for (int t = 1; t < 3; t++) {
            assert_memory_equal(&m[t].bounds, &m[0].bounds, sizeof m[0].bounds);
            assert_memory_equal(m[t].mu, m[0].mu, 40 * 7 * sizeof(double));
        }
        for (int t = 0; t < 3; t++) wisp_moments_free(&m[t]);
    }
}

/* Flops by table I, and memory as planned. */
static void costs(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = mat_of_spec(ctx, "topi:nx=10,ny=10,nz=20", NULL);
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    for (int v = 0; v < 3; v++) {
        wisp_kpm_opts o = {.moments = 12,
                           .vectors = 18,
                           .variant = (wisp_kpm_variant)v,
                           .bounds.method = v == 1 ? WISP_BOUNDS_GERSHGORIN : WISP_BOUNDS_LANCZOS};
        wisp_moments m;
        wisp_mat *again = mat_of_spec(ctx, "topi:nx=10,ny=10,nz=20", NULL);
        REF_OK(ctx, wisp_kpm(&m, again, &o));
        double expected = 6 * 18 * ((double)info.nnz * 8 + (double)info.rows * 34);
        assert_true(fabs(m.flops - expected) <= 1e-9 * expected);
        assert_true(m.seconds > 0 && m.bounds_seconds > 0);
        wisp_moments_free(&m);
        wisp_mat_free(again);
    }
    /* In a context of its own, so that the peak is that of the call. */
    for (int v = 0; v < 4; v++) {
        wisp_ctx *own = ref_ctx(NULL);
        wisp_mat *B = mat_of_spec(own, "laplace:nx=1000,ny=300,nz=1", NULL);
        wisp_kpm_opts o = {
            .moments = 6, .vectors = 6, .variant = (wisp_kpm_variant)(v % 3), .type = v == 3 ? WISP_Z : WISP_D};
        int64_t before, peak, made; /* on several ranks it may be the matrix that took most */
        wisp_moments m;
        wisp_mat_info info;
        wisp_plan plan;
        wisp_mat_get_info(B, &info);
        REF_OK(own, wisp_kpm_plan(&plan, own, &info, &o, &(wisp_choice){.seconds = 0.5, .load_gbs = 1}));
        const double extra = v == WISP_KPM_NAIVE ? 10 * 6 * 8e-9 * (double)info.local_rows : 0;
        assert_true(plan.products == 18 && plan.sweeps == (v % 3 ? 18 : 3) &&
                    fabs(plan.seconds - 3 * (0.5 + extra)) < 1e-9);
        wisp_ctx_memory(own, &before, &made);
        REF_OK(own, wisp_kpm(&m, B, &o));
        wisp_ctx_memory(own, NULL, &peak);
        if ((peak > made && peak - before > plan.bytes_most) ||
            (ref_ranks() == 1 && !(fabs((double)(peak - before) - (double)plan.bytes) < 0.1 * (double)plan.bytes)))
            fail_msg("variant %d: peak %lld, planned %lld, at most %lld", v, (long long)(peak - before),
                     (long long)plan.bytes, (long long)plan.bytes_most);
        wisp_moments_free(&m);
        wisp_mat_free(B);
        wisp_ctx_free(own);
    }
    wisp_mat_free(A);
    wisp_plan plan;
    const int64_t many = INT64_MAX / 2;
    wisp_mat_info none = {.rows = many, .cols = many, .local_rows = many, .type = WISP_Z};
    REF_OK(ctx, wisp_kpm_plan(&plan, ctx, &none, NULL, NULL));
    assert_true(plan.bytes == INT64_MAX && plan.bytes_most == INT64_MAX && isnan(plan.seconds));
    assert_int_equal(wisp_kpm_width(WISP_DEFAULT, 1000, NULL), 1); /* of no type */
    none.type = WISP_DEFAULT;
    REF_FAILS(ctx, wisp_kpm_plan(&plan, ctx, &none, NULL, NULL), WISP_ERR_UNSUPPORTED, "do not go with a matrix");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_trace),
        cmocka_unit_test(local_density),
        cmocka_unit_test(depths),
        cmocka_unit_test(tuning),
        cmocka_unit_test(variants_and_widths),
        cmocka_unit_test(random_vectors),
        cmocka_unit_test(threads),
        cmocka_unit_test(costs),
    };
    return REF_RUN_ALL(tests);
}
