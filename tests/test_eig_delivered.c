/* What wisp_eig delivers holds for the vectors that it gives: their length, residuals, and that no two are the same
   pair. Matrices on which the search for them is easily led astray. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <lapacke.h>

/* All eigenvalues, by LAPACK. */
static cplx *values_of(ref_mat A)
{
    enum { BLOCK = 65 }; /* LAPACK works on so many columns at most */
    const int n = (int)A.rows, works = n * BLOCK;
    cplx *w = (cplx *)ref_lapack(2 * (size_t)n, n), *a = (cplx *)ref_lapack(2 * (size_t)n * (size_t)n, n),
         *work = (cplx *)ref_lapack(2 * (size_t)works, n);
    double *real = ref_lapack(2 * (size_t)n, n);
    memcpy(a, A.a, (size_t)(n * n) * sizeof *a);
    assert_int_equal(LAPACKE_zgeev_work(LAPACK_COL_MAJOR, 'N', 'N', n, a, n, w, NULL, 1, NULL, 1, work, works, real),
                     0);
    free(a), free(work), free(real);
    return w;
}

/* Each pair by the oracle: a vector of length 1, with a residual of at most `most`; each value is one of `there`, each
   of which is given once. */
static void check_pairs(const wisp_eigen *e, ref_mat A, const cplx *there, double most, double off, double eps)
{
    int *given = calloc((size_t)A.rows, sizeof *given);
    assert_non_null(given);
    if (e->found == 0) goto out;
    ref_mat V = ref_get(e->vectors), AV = ref_times(A, V);
    for (int j = 0; j < e->found; j++) {
        const cplx value = e->value[j].re + I * e->value[j].im;
        double square = 0, length = 0;
        for (int64_t i = 0; i < A.rows; i++) {
            const cplx v = REF_AT(V, i, j), r = REF_AT(AV, i, j) - value * v;
            square += creal(r * conj(r)), length += creal(v * conj(v));
        }
        if (!(fabs(sqrt(length) - 1) < 100 * eps)) fail_msg("vector %d has length 1 %+.1e", j, sqrt(length) - 1);
        if (!(sqrt(square) <= most)) fail_msg("pair %d has a residual of %.2e, not %.2e", j, sqrt(square), most);
        int best = 0;
        for (int i = 1; i < A.rows; i++)
            if (cabs(there[i] - value) < cabs(there[best] - value)) best = i;
        for (int i = 0; i < A.rows; i++) /* of equal ones, the next */
            if (there[i] == there[best] && !given[i]) best = i;
        if (!(cabs(there[best] - value) < off)) fail_msg("pair %d, %g%+gi, is none", j, creal(value), cimag(value));
        if (given[best]++) fail_msg("%g%+gi is given twice", creal(value), cimag(value));
    }
    ref_free(V), ref_free(AV);
out:
    free(given);
}

/* Complex symmetric, as with losses on sites: inner values take hundreds of restarts, in which a product leaves little
   more than half of each vector. */
static void orthonormal_for_long(void **state)
{
    enum { ROWS = 120 };
    wisp_ctx *ctx = *state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        ref_rng r = {seed};
        ref_mat A = ref_new(ROWS, ROWS);
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j <= i; j++)
                REF_AT(A, i, j) = REF_AT(A, j, i) =
                    0.22 * ref_uniform(&r) + (i == j ? 0.5 * I * (1 + ref_uniform(&r)) : 0);
        wisp_mat *M = ref_mat_of(ctx, A, WISP_Z);
        cplx *there = values_of(A);
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_SMALLEST, .method = WISP_KRYLOV_SCHUR, .count = 3, .seed = seed};
        REF_FAILS(ctx, wisp_eig(&e, M, &o), WISP_ERR_INCOMPLETE, "smaller ones may be missing");
        assert_int_equal(e.found, 3);
        check_pairs(&e, A, there, 1e-8, 1e-6, 2.2e-16);
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
        free(there);
    }
}

/* Five copies of each value: a space of one column finds them one by one, each within the tolerance; mixtures of them
   have to be, too. */
static void multiplets(void **state)
{
    enum { ROWS = 220 };
    wisp_ctx *ctx = *state;
    ref_mat A = ref_new(ROWS, ROWS);
    cplx there[ROWS];
    for (int i = 0; i < ROWS; i++) REF_AT(A, i, i) = there[i] = i / 5 * (i < 100 ? 0.01 : 0.03);
    wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
    for (uint64_t seed = 0; seed < 40; seed++) {
        wisp_eigen e;
        const wisp_eig_opts o = {
            .which = WISP_EIG_SMALLEST, .method = WISP_LANCZOS, .count = 7, .block = 1, .seed = seed};
        REF_OK(ctx, wisp_eig(&e, M, &o));
        assert_int_equal(e.found, 10);
        assert_true(e.orthogonality < 1e-13);
        check_pairs(&e, A, there, 1e-8 * e.bounds.halfwidth, 1e-8, 2.2e-16);
        wisp_eigen_free(&e);
    }
    wisp_mat_free(M);
    ref_free(A);
}

/* The start has no part of the wanted pair, of a value far smaller than others: these are locked first, with residuals
   far beyond what it may have, and its vector lies close to theirs. */
static void spoilt_by_others(void **state)
{
    enum { ROWS = 200 };
    wisp_ctx *ctx = *state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        ref_rng r = {seed};
        ref_mat A = ref_new(ROWS, ROWS), start = ref_new(ROWS, 1);
        for (int64_t i = 0; i < ROWS; i++) {
            REF_AT(A, i, i) = i == 0 ? 1e-4 : -2 - 0.02 * (double)i + 2 * I * ref_uniform(&r);
            if (i > 0) REF_AT(A, i, 0) = (i < 4 ? 10 : 0.1) * ref_uniform(&r);
            REF_AT(start, i, 0) = i > 0 ? ref_uniform(&r) : 0;
        }
        wisp_mat *M = ref_mat_of(ctx, A, WISP_Z);
        cplx *there = values_of(A);
        wisp_blk *x;
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(M), WISP_Z, 1));
        ref_put(x, start);
        wisp_eigen e;
        const wisp_eig_opts o = {
            .which = WISP_EIG_LARGEST_REAL, .method = WISP_KRYLOV_SCHUR, .tolerance = 1e-7, .seed = seed, .start = x};
        REF_OK(ctx, wisp_eig(&e, M, &o));
        assert_int_equal(e.found, 1);
        check_pairs(&e, A, there, 1e-7 * 1e-4, 1e-10, 2.2e-16);
        assert_true(fabs(e.value[0].re - 1e-4) < 1e-10);
        wisp_eigen_free(&e);
        wisp_blk_free(x);
        wisp_mat_free(M);
        ref_free(A), ref_free(start);
        free(there);
    }
}

/* Rates from one state to others: 0 is an eigenvalue, over which no residual can be. It is over |A| times the
   tolerance, so that a larger one is reached sooner. */
static void steady_state(void **state)
{
    enum { ROWS = 160 };
    wisp_ctx *ctx = *state;
    ref_rng r = {31};
    ref_mat A = ref_new(ROWS, ROWS);
    double square = 0;
    for (int64_t j = 0; j < ROWS; j++)
        for (int l = 0; l < 4; l++) {
            const int64_t i = (j + ROWS - 5 + ref_below(&r, 10)) % ROWS;
            const double rate = 1 + ref_uniform(&r);
            REF_AT(A, i, j) += rate, REF_AT(A, j, j) -= rate;
        }
    for (int64_t i = 0; i < ROWS * ROWS; i++) square += creal(A.a[i] * conj(A.a[i]));
    wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
    cplx *there = values_of(A);
    for (double tolerance = 1e-2; tolerance > 5e-4; tolerance /= 10) {
        wisp_eigen e;
        const wisp_eig_opts o = {
            .which = WISP_EIG_LARGEST_REAL, .method = WISP_KRYLOV_SCHUR, .count = 1, .tolerance = tolerance, .seed = 3};
        REF_OK(ctx, wisp_eig(&e, M, &o));
        assert_int_equal(e.found, 1);
        check_pairs(&e, A, there, tolerance * tolerance * sqrt(square), tolerance * sqrt(square), 2.2e-16);
        wisp_eigen_free(&e);
    }
    wisp_mat_free(M);
    ref_free(A);
    free(there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orthonormal_for_long), cmocka_unit_test(multiplets),
                                       cmocka_unit_test(spoilt_by_others), cmocka_unit_test(steady_state)};
    return REF_RUN_CTX(tests);
}
