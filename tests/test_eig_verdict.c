/* "Complete" is said of eigenpairs only where something proves it: of matrices that are not Hermitian, whose Krylov
   spaces tell nothing about inner values. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <lapacke.h>

static wisp_mat *open_data(wisp_ctx *ctx, const char *name)
{
    char path[4096];
    wisp_mat *A;
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
    REF_OK(ctx, wisp_mat_open(&A, ctx, path, NULL));
    return A;
}

/* Its smallest value is 0.03218 in size; restarts converge to others first. */
static void inner_values(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = open_data(ctx, "eig_normal_diagonal_200.crs");
    for (uint64_t seed = 1; seed <= 3; seed++) {
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_SMALLEST, .method = WISP_KRYLOV_SCHUR, .seed = seed};
        REF_FAILS(ctx, wisp_eig(&e, A, &o), WISP_ERR_INCOMPLETE,
                  "smaller ones may be missing; the dense method finds all");
        assert_true(!e.complete && e.found >= 1);
        for (int i = 0; i < e.found; i++) assert_true(e.residual[i] <= 1e-8);
        wisp_eigen_free(&e);
    }
    wisp_mat_free(A);
}

/* Values of largest real part that are not the outermost ones: a search meets others first, and converges to them. None
   but these are as far right as `least`. Whether the result is complete. */
static int outer_values(wisp_ctx *ctx, const char *name, int count, double tolerance, uint64_t seed, double least)
{
    wisp_mat *A = open_data(ctx, name);
    wisp_eigen e;
    const wisp_eig_opts o = {.which = WISP_EIG_LARGEST_REAL,
                             .method = WISP_KRYLOV_SCHUR,
                             .count = count,
                             .tolerance = tolerance,
                             .max_rounds = 150,
                             .seed = seed};
    const wisp_status status = wisp_eig(&e, A, &o);
    const int complete = e.complete;
    assert_true(status == (complete ? WISP_OK : WISP_ERR_ITERATIONS));
    for (int i = 0; i < e.found && complete; i++)
        if (!(e.value[i].re >= least)) fail_msg("%s: complete, and has %g", name, e.value[i].re);
    wisp_eigen_free(&e);
    wisp_mat_free(A);
    return complete;
}

static void largest_real(void **state)
{
    for (uint64_t seed = 2; seed < 4; seed++)
        assert_true(outer_values(*state, "eig_normal_pairs_152.crs", 12, 1e-6, seed, 1.55));
    /* Along the imaginary axis: restarts can't tell these from others for long. */
    outer_values(*state, "eig_normal_line_256.crs", 3, 1e-3, 0, -0.47);
}

/* ---- by default LAPACK, where a search proves nothing or takes longer -------------------------------------- */

static double key_of(wisp_eig_which which, double re, double im)
{
    return which == WISP_EIG_LARGEST_REAL ? re : which == WISP_EIG_LARGEST ? hypot(re, im) : -hypot(re, im);
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The keys of all eigenvalues, falling. */
static double *keys(ref_mat A, wisp_eig_which which)
{
    enum { BLOCK = 65 }; /* LAPACK works on so many columns at most */
    const int n = (int)A.rows, works = n * BLOCK;
    cplx *w = (cplx *)ref_lapack(2 * (size_t)n, n), *a = (cplx *)ref_lapack(2 * (size_t)n * (size_t)n, n),
         *work = (cplx *)ref_lapack(2 * (size_t)works, n);
    double *real = ref_lapack(2 * (size_t)n, n), *key = ref_lapack((size_t)n, n);
    memcpy(a, A.a, (size_t)(n * n) * sizeof *a);
    assert_int_equal(LAPACKE_zgeev_work(LAPACK_COL_MAJOR, 'N', 'N', n, a, n, w, NULL, 1, NULL, 1, work, works, real),
                     0);
    for (int i = 0; i < n; i++) key[i] = key_of(which, creal(w[i]), cimag(w[i]));
    qsort(key, (size_t)n, sizeof *key, falling);
    free(a), free(w), free(work), free(real);
    return key;
}

static void inner_values_by_default(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = open_data(ctx, "eig_normal_diagonal_200.crs");
    for (uint64_t seed = 1; seed <= 5; seed++) {
        wisp_eigen e;
        wisp_eig_choice cost;
        wisp_plan plan;
        const wisp_eig_opts o = {.which = WISP_EIG_SMALLEST, .seed = seed};
        REF_OK(ctx, wisp_eig_plan(&plan, &cost, A, &o));
        REF_OK(ctx, wisp_eig(&e, A, &o));
        assert_true(cost.method == WISP_EIG_DENSE && cost.search == 200 && plan.bytes_most > 200 * 200 * 16);
        assert_true(e.complete && e.found == 1 && e.method == WISP_EIG_DENSE);
        assert_true(hypot(e.value[0].re - 0.00123923438670282, e.value[0].im - 0.0322028214453997) < 1e-14);
        wisp_eigen_free(&e);
    }
    /* Without memory for LAPACK a search says what it is worth. */
    wisp_eigen e;
    const wisp_eig_opts o = {.which = WISP_EIG_SMALLEST, .bytes = 1 << 18};
    REF_FAILS(ctx, wisp_eig(&e, A, &o), WISP_ERR_INCOMPLETE,
              "smaller ones may be missing; the dense method finds all, if it has the memory");
    assert_int_equal(e.method, WISP_KRYLOV_SCHUR);
    wisp_eigen_free(&e);
    wisp_mat_free(A);
}

static void random_rows(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {31};
    static const wisp_type types[] = {WISP_D, WISP_Z};
    for (int c = 0; c < 6; c++) {
        const wisp_eig_which which[] = {WISP_EIG_SMALLEST, WISP_EIG_LARGEST, WISP_EIG_LARGEST_REAL};
        const wisp_eig_opts o = {.which = which[c % 3], .count = 3, .seed = ref_next(&r)};
        ref_mat A = ref_new(300, 300);
        for (int64_t i = 0; i < 300; i++)
            for (int l = 0; l < 5; l++) REF_AT(A, i, ref_below(&r, 300)) += ref_value(&r, types[c / 3]);
        wisp_mat *M = ref_mat_of(ctx, A, types[c / 3]);
        double *key = keys(A, o.which);
        wisp_eigen e;
        REF_OK(ctx, wisp_eig(&e, M, &o));
        assert_true(e.complete && e.found >= 3);
        for (int i = 0; i < e.found; i++) {
            const double have = key_of(o.which, e.value[i].re, e.value[i].im);
            double nearest = INFINITY;
            for (int j = 0; j < 300 && key[j] >= key[2] - 1e-6; j++) nearest = fmin(nearest, fabs(key[j] - have));
            if (!(nearest < 1e-6)) fail_msg("case %d: %.12g is none of the first", c, have);
        }
        if (o.which == WISP_EIG_SMALLEST) assert_int_equal(e.method, WISP_EIG_DENSE);
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
        free(key);
    }
}

/* A symmetric file of real numbers. */
static ref_mat read_symmetric(const char *name, int64_t rows)
{
    char path[4096], line[256];
    ref_mat A = ref_new(rows, rows);
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    do assert_non_null(fgets(line, sizeof line, f));
    while (line[0] == '%'); /* the last one has the sizes */
    while (fgets(line, sizeof line, f)) {
        char *end;
        const int64_t i = strtol(line, &end, 10), j = strtol(end, &end, 10);
        REF_AT(A, i - 1, j - 1) = REF_AT(A, j - 1, i - 1) = strtod(end, NULL);
    }
    fclose(f);
    return A;
}

/* A narrow interval in a wide spectrum: a filter would take more than 10,000 products a column. */
static void narrow_interval(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = open_data(ctx, "494_bus.mtx");
    ref_mat m = read_symmetric("494_bus.mtx", 494);
    double *key = keys(m, WISP_EIG_LARGEST_REAL);
    wisp_eigen e;
    wisp_eig_choice cost;
    wisp_plan plan;
    int there = 0;
    const wisp_eig_opts o = {.which = WISP_EIG_INTERVAL, .low = 25.6, .high = 26.8};
    REF_OK(ctx, wisp_eig_plan(&plan, &cost, A, &o));
    REF_OK(ctx, wisp_eig(&e, A, &o));
    assert_true(cost.method == WISP_EIG_DENSE && e.method == WISP_EIG_DENSE && e.complete);
    for (int i = 493; i >= 0; i--)
        if (key[i] >= o.low && key[i] <= o.high) {
            assert_true(there < e.found && fabs(e.value[there].re - key[i]) < 1e-8);
            there++;
        }
    assert_int_equal(there, e.found);
    wisp_eigen_free(&e);
    wisp_mat_free(A);
    ref_free(m);
    free(key);
}

static wisp_status multiply(void *arg, wisp_blk *y, const wisp_blk *x) { return wisp_spmmv(y, arg, x, NULL); }

/* An operator is not Hermitian where the largest real part is asked for: LAPACK sees all of it. */
static void operator_by_lapack(void **state)
{
    enum { ROWS = 40 };
    wisp_ctx *ctx = *state;
    ref_rng r = {43};
    ref_mat m = ref_random_block(&r, WISP_D, ROWS, ROWS);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D), *B;
    const wisp_operator op = {.map = wisp_mat_map(A), .type = WISP_D, .apply = multiply, .arg = A};
    double *key = keys(m, WISP_EIG_LARGEST_REAL);
    REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &op));
    for (int named = 0; named < 2; named++) {
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_LARGEST_REAL, .method = named ? WISP_EIG_DENSE : WISP_EIG_DEFAULT};
        REF_OK(ctx, wisp_eig(&e, B, &o));
        assert_true(e.method == WISP_EIG_DENSE && e.complete && fabs(e.value[0].re - key[0]) < 1e-12);
        wisp_eigen_free(&e);
    }
    wisp_mat_free(B);
    wisp_mat_free(A);
    ref_free(m);
    free(key);
}

/* Far from normal: restarts find nothing but values of matrices nearby. A search by default ends where it has taken as
   long as LAPACK, which knows the values of a triangle to the last bit; one that was asked for goes on. */
static void search_in_vain(void **state)
{
    enum { ROWS = 400 };
    wisp_ctx *ctx = *state;
    ref_rng r = {41};
    ref_mat m = ref_new(ROWS, ROWS);
    REF_AT(m, 0, 0) = 1.2;
    for (int64_t i = 1; i < ROWS; i++) {
        REF_AT(m, i, i) = ref_uniform(&r);
        if (i + 1 < ROWS) REF_AT(m, i, i + 1) = 2;
    }
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp_eigen e;
    wisp_eig_opts o = {.which = WISP_EIG_LARGEST};
    REF_OK(ctx, wisp_eig(&e, A, &o));
    assert_true(e.method == WISP_EIG_DENSE && e.complete && e.found == 1 && e.search == ROWS && e.rounds == 0);
    assert_true(e.value[0].re == 1.2 && e.value[0].im == 0);
    wisp_eigen_free(&e);
    o.method = WISP_KRYLOV_SCHUR;
    o.max_rounds = 5;
    REF_FAILS(ctx, wisp_eig(&e, A, &o), WISP_ERR_ITERATIONS, "after 5 restarts");
    assert_int_equal(e.method, WISP_KRYLOV_SCHUR);
    wisp_eigen_free(&e);
    wisp_mat_free(A);
    ref_free(m);
}

/* Grcar's matrix, and bidiagonal ones: residuals are as small as asked for, and no eigenvalue is near. What a search
   calls complete has no value beyond the true ones. */
static void far_from_normal(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {44};
    int told = 0, at_once = 0;
    for (int c = 0; c < 12; c++) {
        const int64_t n = 200 + ref_below(&r, 40);
        const double tolerances[] = {1e-4, 1e-8, 1e-11}, above = c % 6 < 3 ? 1 : 2;
        wisp_eig_opts o = {.which = c % 2 ? WISP_EIG_LARGEST : WISP_EIG_LARGEST_REAL,
                           .method = WISP_KRYLOV_SCHUR,
                           .count = 1 + (int)ref_below(&r, 3),
                           .search = 20 + (int)ref_below(&r, 40),
                           .tolerance = tolerances[c % 3],
                           .max_rounds = 40,
                           .seed = ref_next(&r)};
        ref_mat m = ref_new(n, n);
        for (int64_t i = 0; i < n; i++) {
            REF_AT(m, i, i) = c % 4 < 2 ? 1 : ref_uniform(&r);
            if (c % 4 < 2 && i > 0) REF_AT(m, i, i - 1) = -1;
            for (int64_t j = i + 1; j < n && j <= i + (c % 4 < 2 ? 3 : 1); j++) REF_AT(m, i, j) = c % 4 < 2 ? 1 : above;
        }
        wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
        double *key = keys(m, o.which);
        wisp_eigen e;
        const wisp_status status = wisp_eig(&e, A, &o);
        assert_int_equal(e.complete, status == WISP_OK);
        told += status == WISP_ERR_INCOMPLETE;
        at_once += status == WISP_ERR_INCOMPLETE && e.check_seconds == 0; /* a search for more would prove nothing */
        if (status == WISP_ERR_INCOMPLETE) assert_non_null(strstr(message_of(ctx), "far from normal"));
        for (int i = 0; i < e.found && e.complete; i++) {
            const double have = key_of(o.which, e.value[i].re, e.value[i].im);
            if (!(have < key[0] + 0.02))
                fail_msg("case %d: %.6g is said to be complete, the first is %.6g", c, have, key[0]);
        }
        wisp_eigen_free(&e);
        wisp_mat_free(A);
        ref_free(m);
        free(key);
    }
    print_message("%d of 12 are told to be far from normal\n", told);
    assert_true(told >= 2 && at_once >= 2);
}

/* A normal matrix is not told to be far from that, whatever the unit of an absolute tolerance makes of it. */
static void normal_in_large_units(void **state)
{
    wisp_ctx *ctx = *state;
    for (int exponent = -40; exponent <= 40; exponent += 20) {
        enum { ROWS = 400 };
        ref_rng r = {45};
        ref_mat m = ref_new(ROWS, ROWS);
        for (int i = 0; i < ROWS; i++)
            REF_AT(m, i, i) = ldexp(1, exponent) * cexp(2 * I * ref_uniform(&r)) * (i + 1) / ROWS;
        wisp_mat *A = ref_mat_of(ctx, m, WISP_Z);
        wisp_eigen e;
        const wisp_eig_opts o = {
            .which = WISP_EIG_LARGEST, .method = WISP_KRYLOV_SCHUR, .count = 3, .tolerance_abs = ldexp(1e-6, exponent)};
        REF_OK(ctx, wisp_eig(&e, A, &o));
        assert_true(e.complete && e.found == 3);
        wisp_eigen_free(&e);
        wisp_mat_free(A);
        ref_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_values),   cmocka_unit_test(largest_real),    cmocka_unit_test(inner_values_by_default),
        cmocka_unit_test(random_rows),    cmocka_unit_test(narrow_interval), cmocka_unit_test(operator_by_lapack),
        cmocka_unit_test(search_in_vain), cmocka_unit_test(far_from_normal), cmocka_unit_test(normal_in_large_units)};
    return REF_RUN_CTX(tests);
}
