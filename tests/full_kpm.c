/* The kernel polynomial method at length: 512 moments of whole spectra, error bars that cover. */
#include "bounds_cases.h"

/* Moments of the exact trace (0: as many as by default) against LAPACK's spectrum, with bounds found. */
static void against_lapack(wisp_ctx *ctx, const char *name, wisp_src *src, int64_t moments)
{
    wisp_mat *A;
    wisp_moments m;
    wisp_kpm_opts o = {.moments = moments, .trace = WISP_TRACE_EXACT, .seed = 1};
    REF_OK(ctx, wisp_mat_create(&A, ctx, src, NULL));
    ref_mat dense = ref_dense(src);
    double *energy = eigenvalues(dense), worst = 0;
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    assert_int_equal(m.n, moments ? moments : 512);
    assert_true(m.mu[0] == (double)dense.rows);
    assert_inside(name, &m.bounds, energy[0], energy[dense.rows - 1]);
    for (int64_t n = 0; n < m.n; n++) {
        double difference = fabs(m.mu[n] - true_moment(energy, dense.rows, &m.bounds, n));
        if (!(difference <= worst)) worst = difference;
    }
    print_message("%-55s %5lld rows: moments differ by %.1e of mu_0\n", name, (long long)dense.rows, worst / m.mu[0]);
    if (!(worst <= 1e-12 * m.mu[0])) fail_msg("%s: moments differ by %g of mu_0", name, worst / m.mu[0]);
    wisp_moments_free(&m);
    free(energy);
    ref_free(dense);
    wisp_mat_free(A);
    wisp_src_close(src);
}

static void gallery(void **state)
{
    static const char *const spec[] = {
        "topi:nx=6,ny=6,nz=5",
        "topi:nx=6,ny=6,nz=3,potential=dots,dot_distance=3,dot_radius=1",
        "topi:nx=6,ny=5,nz=4,potential=random,disorder=2,seed=3",
        "graphene:nx=12,ny=10,flux=1/4",
        "graphene:nx=9,ny=11,periodic=none,flux=0.13,disorder=1",
        "anderson:nx=9,ny=8,nz=7,disorder=5",
        "anderson:nx=200,ny=1,nz=1,disorder=2",
        "laplace:points=5,nx=20,ny=17,periodic=xy",
        "laplace:nx=9,ny=8,nz=5",
        "laplace:nx=8,ny=7,nz=6,points=27,periodic=xyz",
        "spinchain:sites=11,up=5,delta=0.7",
        "band:n=300,bandwidth=7",
    };
    for (size_t i = 0; i < sizeof spec / sizeof *spec; i++) {
        wisp_src src;
        REF_OK(*state, wisp_src_open_gallery(&src, *state, spec[i]));
        against_lapack(*state, spec[i], &src, 0);
    }
}

static void files(void **state)
{
    static const struct {
        const char *name;
        int64_t moments;
    } file[] = {{"494_bus", 0}, {"bcsstk13", 128}, /* all of them would be half of this test's time */
                {"LFAT5", 0},   {"dwt_878", 0},    {"jagmesh7", 0}, {"karate", 0}};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        char path[512];
        wisp_src src;
        snprintf(path, sizeof path, "%s/%s.mtx", TEST_DATA, file[i].name);
        REF_OK(*state, wisp_src_open_file(&src, *state, path));
        against_lapack(*state, file[i].name, &src, file[i].moments);
    }
}

static void refused(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        const char *name, *words;
    } table[] = {{"lp_afiro", "the matrix is rectangular (27 x 51)"},
                 {"west0479", "the matrix is not Hermitian: entries ("},
                 {"cage5", "the matrix is not Hermitian: entries ("},
                 {"olm1000", "the matrix is not Hermitian: entries ("},
                 {"young1c", "the matrix is not Hermitian: entries ("}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char path[512];
        wisp_src src;
        wisp_mat *A;
        wisp_moments m;
        snprintf(path, sizeof path, "%s/%s.mtx", TEST_DATA, table[i].name);
        REF_OK(ctx, wisp_src_open_file(&src, ctx, path));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
        REF_FAILS(ctx, wisp_kpm(&m, A, NULL), WISP_ERR_HERMITIAN, table[i].words);
        wisp_mat_free(A);
        wisp_src_close(&src);
    }
}

/* All variants, widths 1 to 33, in double and in single precision. */
static void widths(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 100, R = 33 };
    for (int single = 0; single < 2; single++) {
        wisp_src src;
        wisp_mat *A;
        wisp_moments first = {0}, m;
        wisp_mat_opts mo = {.type = single ? WISP_C : WISP_Z};
        REF_OK(ctx, wisp_src_open_gallery(&src, ctx, "topi:nx=8,ny=8,nz=6"));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &mo));
        for (int i = 1; i <= R + 2; i++) {
            wisp_kpm_opts o = {.moments = N, .vectors = R, .width = i > R ? 0 : i};
            o.bounds.method = WISP_BOUNDS_GERSHGORIN; /* Lanczos takes as many runs as there are columns */
            if (i > R) o.variant = i == R + 1 ? WISP_KPM_FUSED : WISP_KPM_NAIVE;
            REF_OK(ctx, wisp_kpm(&m, A, &o));
            if (i > 1) {
                assert_true(worst_difference(m.mu, first.mu, N * R) <= (single ? 1e-5 : 1e-12) * 1536);
                wisp_moments_free(&m);
            } else {
                first = m;
            }
        }
        wisp_moments_free(&first);
        wisp_mat_free(A);
        wisp_src_close(&src);
    }
}

/* How often the 95% bar covers the truth, over many seeds. */
typedef struct {
    int covered, seeds;
} tally;

static void count_hits(tally *t, const double *value, const double *error, const double *truth, int count)
{
    for (int i = 0; i < count; i++) {
        t[i].seeds++;
        t[i].covered += fabs(value[i] - truth[i]) <= wisp_student95(16) * error[i];
    }
}

static void assert_coverage(const char *what, const tally *t, int count)
{
    double mean = 0, worst = 1;
    for (int i = 0; i < count; i++) {
        double share = (double)t[i].covered / t[i].seeds;
        mean += share / count;
        worst = fmin(worst, share);
    }
    print_message("the 95%% bar covers %.1f%% of the %s, the worst %.1f%%\n", 100 * mean, what, 100 * worst);
    if (!(mean >= 0.92 && mean <= 0.98 && worst > 0.88)) fail_msg("%s: coverage %g, worst %g", what, mean, worst);
}

static void coverage(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 128, POINTS = 200, SEEDS = 200 };
    wisp_mat *A = mat_of_spec(ctx, "topi:nx=8,ny=8,nz=6", NULL);
    wisp_kpm_opts o = {
        .moments = N, .trace = WISP_TRACE_EXACT, .bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = {0, 5, 0}};
    wisp_moments exact, m;
    double energy[POINTS], truth[POINTS], dos[POINTS], error[N > POINTS ? N : POINTS], mean[N];
    tally moments[N] = {0}, energies[POINTS] = {0}, counts[1] = {0};
    double inside, inside_truth, inside_error;
    for (int p = 0; p < POINTS; p++) energy[p] = -4.9 + 9.8 * p / (POINTS - 1);
    REF_OK(ctx, wisp_kpm(&exact, A, &o));
    REF_OK(ctx, wisp_dos(ctx, &exact, NULL, -1, POINTS, energy, truth, NULL));
    REF_OK(ctx, wisp_count(ctx, &exact, NULL, -1, -1, 2, &inside_truth, NULL));
    o.trace = WISP_TRACE_RANDOM, o.vectors = 16;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        o.seed = seed;
        REF_OK(ctx, wisp_kpm(&m, A, &o));
        REF_OK(ctx, wisp_moments_mean(ctx, &m, WISP_REAL_PART, mean, error));
        count_hits(moments, mean, error, exact.mu, N);
        REF_OK(ctx, wisp_dos(ctx, &m, NULL, -1, POINTS, energy, dos, error));
        count_hits(energies, dos, error, truth, POINTS);
        REF_OK(ctx, wisp_count(ctx, &m, NULL, -1, -1, 2, &inside, &inside_error));
        count_hits(counts, &inside, &inside_error, &inside_truth, 1);
        wisp_moments_free(&m);
    }
    assert_coverage("moments", moments + 2, N - 2);
    assert_coverage("energies", energies, POINTS);
    assert_true(counts[0].covered > 0.88 * SEEDS);
    wisp_moments_free(&exact);
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gallery), cmocka_unit_test(files), cmocka_unit_test(refused),
                                       cmocka_unit_test(widths), cmocka_unit_test(coverage)};
    return REF_RUN_ALL(tests);
}
