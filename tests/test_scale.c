/* Spectra of very small size: they keep their scale as long as arithmetic can, and are refused in words beyond. */
#include "kpm_dense.h"

enum { ROWS = 40, MOMENTS = 48, POINTS = 4000 };

typedef struct {
    wisp_type matrix, vectors;
    int exponent; /* the matrix is times 2^exponent */
    double tolerance;
    const char *refusal; /* NULL: all is well */
} scale_case;

static const scale_case cases[] = {
    {WISP_D, WISP_D, -500, 1e-12, NULL},
    {WISP_D, WISP_D, -990, 1e-12, NULL}, /* 1e-298: where 1/h times a rounding unit overflows */
    {WISP_Z, WISP_Z, -1015, 1e-12, NULL},
    {WISP_S, WISP_S, -118, 1e-4, NULL}, /* 3e-36 */
    {WISP_C, WISP_C, -118, 1e-4, NULL},
    {WISP_S, WISP_D, -133, 1e-12, NULL}, /* 1e-40: denormal in single precision */
    {WISP_C, WISP_Z, -133, 1e-12, NULL},
    {WISP_S, WISP_S, -133, 0, "or take vectors in double precision"},
    {WISP_D, WISP_D, -1030, 0, "multiply the matrix by about 1e+3"}, /* 1e-310 */
    {WISP_Z, WISP_Z, -1030, 0, "multiply the matrix by about 1e+3"},
    {WISP_D, WISP_D, -1073, 0, "multiply the matrix by about 1e+3"}, /* the smallest denormals */
};

/* The matrix as it is stored, times 2^-exponent. */
static ref_mat stored(ref_rng *r, const scale_case *c)
{
    ref_mat m = random_hermitian(r, c->matrix, ROWS, 0.2);
    for (int64_t i = 0; i < ROWS * ROWS; i++) m.a[i] *= ldexp(1, c->exponent);
    ref_round(m, c->matrix);
    return m;
}

static ref_mat scaled(ref_mat m, int exponent)
{
    ref_mat s = ref_new(m.rows, m.cols);
    for (int64_t i = 0; i < m.rows * m.cols; i++)
        s.a[i] = ldexp(creal(m.a[i]), exponent) + I * ldexp(cimag(m.a[i]), exponent);
    return s;
}

/* Bounds, moments, density and count against the eigenvalues of the scaled matrix. */
static void check_run(wisp_ctx *ctx, const scale_case *c, const wisp_moments *m, const double *eigenvalue)
{
    const wisp_bounds up = {ldexp(m->bounds.center, -c->exponent), ldexp(m->bounds.halfwidth, -c->exponent), 0};
    double energy[POINTS], dos[POINTS], integral = 0, count;
    assert_inside("scaled", &up, eigenvalue[0], eigenvalue[ROWS - 1]);
    assert_true(up.halfwidth < 3 * (eigenvalue[ROWS - 1] - eigenvalue[0])); /* Gershgorin is wide */
    for (int64_t n = 0; n < MOMENTS; n++)
        if (!(fabs(m->mu[n] - true_moment(eigenvalue, ROWS, &up, n)) <= c->tolerance * ROWS))
            fail_msg("2^%d: moment %lld is %.17g and not %.17g", c->exponent, (long long)n, m->mu[n],
                     true_moment(eigenvalue, ROWS, &up, n));
    wisp_energies(&m->bounds, POINTS, energy);
    REF_OK(ctx, wisp_dos(ctx, m, NULL, -1, POINTS, energy, dos, NULL));
    for (int i = 1; i < POINTS; i++) integral += (energy[i] - energy[i - 1]) * (dos[i] / 2 + dos[i - 1] / 2);
    assert_true(fabs(integral - ROWS) < 1e-3 * ROWS);
    REF_OK(ctx, wisp_count(ctx, m, NULL, -1, energy[0], energy[POINTS - 1], &count, NULL));
    assert_true(fabs(count - ROWS) < 1e-2 * ROWS);
}

static void small_spectra(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int method = 0; method < 2; method++) {
            const scale_case *c = &cases[i];
            ref_mat small = stored(&r, c), up = scaled(small, -c->exponent);
            double *eigenvalue = eigenvalues(up);
            wisp_mat *A = ref_mat_of(ctx, small, c->matrix);
            const wisp_kpm_opts o = {.moments = MOMENTS,
                                     .trace = WISP_TRACE_EXACT,
                                     .type = c->vectors,
                                     .bounds.method = (wisp_bounds_method)method};
            wisp_moments m;
            if (c->refusal) {
                REF_FAILS(ctx, wisp_kpm(&m, A, &o), WISP_ERR_NUMERIC, c->refusal);
            } else {
                REF_OK(ctx, wisp_kpm(&m, A, &o));
                check_run(ctx, c, &m, eigenvalue);
                wisp_moments_free(&m);
            }
            wisp_mat_free(A);
            free(eigenvalue);
            ref_free(small), ref_free(up);
        }
}

/* Bounds alone need no vectors by Gershgorin's way: they are right for any size. */
static void bounds_of_denormals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {4};
    for (int exponent = -1000; exponent >= -1074; exponent--) {
        const scale_case c = {.matrix = WISP_D, .exponent = exponent};
        ref_mat small = stored(&r, &c), up = scaled(small, -exponent);
        double *eigenvalue = eigenvalues(up);
        wisp_mat *A = ref_mat_of(ctx, small, WISP_D);
        wisp_bounds b;
        REF_OK(ctx, wisp_bounds_find(&b, A, &(wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN, .seed = 0}));
        if (wisp_mat_ctx(A) && eigenvalue[ROWS - 1] > eigenvalue[0]) {
            const wisp_bounds wide = {ldexp(b.center, -exponent), ldexp(b.halfwidth, -exponent) * 1.001, 0};
            assert_inside("denormals", &wide, eigenvalue[0], eigenvalue[ROWS - 1]);
            assert_true(b.halfwidth < ldexp(40, exponent));
        }
        wisp_mat_free(A);
        free(eigenvalue);
        ref_free(small), ref_free(up);
    }
}

/* The density itself may be beyond what a number holds, and time evolution takes the same steps. */
static void beyond(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    wisp_blk *psi;
    double mu[2] = {1e9, 0}, energy = 0, dos, time = 1;
    const wisp_moments m = {.rows = 1000000000, .n = 2, .vectors = 1, .mu = mu, .bounds = {0, 1e-300, 0}};
    REF_FAILS(ctx, wisp_dos(ctx, &m, NULL, -1, 1, &energy, &dos, NULL), WISP_ERR_NUMERIC, "multiply the matrix");
    ref_mat one = ref_new(2, 2);
    REF_AT(one, 0, 0) = 1e-310, REF_AT(one, 1, 1) = -1e-310;
    A = ref_mat_of(ctx, one, WISP_D);
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, NULL), WISP_ERR_NUMERIC, "multiply the matrix");
    wisp_blk_free(psi);
    wisp_mat_free(A);
    ref_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_spectra, ref_setup_all, ref_teardown),
        cmocka_unit_test_setup_teardown(bounds_of_denormals, ref_setup_all, ref_teardown),
        cmocka_unit_test_setup_teardown(beyond, ref_setup_all, ref_teardown),
    };
    return REF_RUN(tests);
}
