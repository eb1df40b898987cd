/* Spectral bounds: LAPACK's extremes inside, tight enough to be of use, and the same on every run. */
#include "bounds_cases.h"

static void random_matrices(void **state) { check_bounds(*state, 500, 1); }

/* The zero matrix, multiples of the identity, one row. */
static void special(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        int64_t n;
        double diagonal, center, halfwidth;
    } table[] = {{5, 0, 0, 1}, {1, 0, 0, 1}, {7, 2, 2, 2e-6}, {1, -3e5, -3e5, 0.3}, {4, 1e-300, 1e-300, 1e-306}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ref_mat m = ref_new(table[i].n, table[i].n);
        for (int64_t k = 0; k < table[i].n; k++) REF_AT(m, k, k) = table[i].diagonal;
        wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
        for (int method = 0; method < 2; method++) {
            wisp_bounds b;
            wisp_moments mu;
            REF_OK(ctx, wisp_bounds_find(
                            &b, A, &(wisp_bounds_opts){.method = (wisp_bounds_method)method, .seed = (uint64_t)0}));
            assert_true(fabs(b.center - table[i].center) <= 1e-14 * fabs(table[i].center));
            assert_true(fabs(b.halfwidth - table[i].halfwidth) <= 1e-12 * table[i].halfwidth);
            wisp_kpm_opts o = {.moments = 30, .bounds.method = (wisp_bounds_method)method};
            REF_OK(ctx, wisp_kpm(&mu, A, &o));
            for (int n = 0; n < 30; n++) {
                double truth = (double)table[i].n * (n % 2 ? 0 : n % 4 ? -1 : 1);
                assert_true(fabs(mu.mu[n] - truth) < 1e-8 * (double)table[i].n);
            }
            wisp_moments_free(&mu);
        }
        wisp_mat_free(A);
        ref_free(m);
    }
}

/* A multiple of the identity by a denormal keeps its scale, whose inverse no double holds. */
static void denormal(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat m = ref_new(4, 4);
    for (int k = 0; k < 4; k++) REF_AT(m, k, k) = 1e-320;
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    for (int method = 0; method < 2; method++) {
        wisp_bounds b;
        wisp_moments mu;
        REF_OK(ctx,
               wisp_bounds_find(&b, A, &(wisp_bounds_opts){.method = (wisp_bounds_method)method, .seed = (uint64_t)0}));
        assert_true(b.center - b.halfwidth <= 1e-320 && b.center + b.halfwidth >= 1e-320 && b.halfwidth < 1e-300);
        const wisp_kpm_opts o = {.moments = 30, .bounds.method = (wisp_bounds_method)method};
        REF_FAILS(ctx, wisp_kpm(&mu, A, &o), WISP_ERR_NUMERIC, "multiply the matrix");
    }
    wisp_mat_free(A);
    ref_free(m);
}

/* The margin is a percent or so of the spread, and where Gershgorin is wide, Lanczos is narrow. */
static void tightness(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat dense;
    wisp_bounds lanczos, again, gershgorin;
    wisp_mat *A = mat_of_spec(ctx, "anderson:nx=6,ny=6,nz=5,disorder=4", &dense);
    double *energy = eigenvalues(dense), low = energy[0], high = energy[dense.rows - 1];
    REF_OK(ctx, wisp_bounds_find(&lanczos, A, &(wisp_bounds_opts){.method = WISP_BOUNDS_LANCZOS, .seed = 4}));
    REF_OK(ctx, wisp_bounds_find(&again, A, &(wisp_bounds_opts){.method = WISP_BOUNDS_LANCZOS, .seed = 4}));
    REF_OK(ctx, wisp_bounds_find(&gershgorin, A, &(wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN, .seed = 4}));
    assert_memory_equal(&lanczos, &again, sizeof again);
    assert_true(lanczos.failure_probability > 1e-9 && gershgorin.failure_probability == 0);
    assert_inside("lanczos", &lanczos, low, high);
    assert_true(2 * lanczos.halfwidth < 1.03 * (high - low));
    assert_true(lanczos.halfwidth < gershgorin.halfwidth);
    free(energy);
    ref_free(dense);
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_matrices), cmocka_unit_test(special),
                                       cmocka_unit_test(denormal), cmocka_unit_test(tightness)};
    return REF_RUN_ALL(tests);
}
