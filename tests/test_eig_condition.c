/* How sensitive values of a matrix that is not Hermitian are: 1 / |<y, x>| by LAPACK's left and right eigenvectors, by
   closed forms, and of defective values, where residuals say nothing about the error. */
#include "ref.h"
#include "ref_lapack.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Of all values. */
static void oracle(ref_mat A, cplx *w, double *condition)
{
    enum { WORK = 64 };
    const int n = (int)A.rows;
    cplx *a = (cplx *)ref_lapack(2 * (size_t)n * (size_t)n, n), *l = (cplx *)ref_lapack(2 * (size_t)n * (size_t)n, n),
         *r = (cplx *)ref_lapack(2 * (size_t)n * (size_t)n, n), *work = (cplx *)ref_lapack(2 * (size_t)n * WORK, n);
    double *real = ref_lapack(2 * (size_t)n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[i + j * n] = REF_AT(A, i, j);
    assert_int_equal(LAPACKE_zgeev_work(LAPACK_COL_MAJOR, 'V', 'V', n, a, n, w, l, n, r, n, work, n * WORK, real), 0);
    for (int j = 0; j < n; j++) {
        cplx dot = 0;
        for (int i = 0; i < n; i++) dot += conj(l[i + j * n]) * r[i + j * n];
        condition[j] = 1 / cabs(dot);
    }
    free(a), free(l), free(r), free(work), free(real);
}

static void of_dense(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_Z};
    for (int c = 0; c < 12; c++) {
        ref_rng r = {(uint64_t)c + 1};
        const int64_t n = 1 + ref_below(&r, 40);
        const double scale = c % 3 == 0 ? 1 : c % 3 == 1 ? 1e-290 : 1e290;
        ref_mat A = ref_new(n, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) REF_AT(A, i, j) = ref_value(&r, types[c % 2]) * (c < 6 || j > i ? 1 : 0.1);
        cplx w[40];
        double condition[40];
        oracle(A, w, condition);
        for (int64_t i = 0; i < n * n; i++) A.a[i] *= scale;
        wisp_mat *M = ref_mat_of(ctx, A, types[c % 2]);
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_LARGEST, .method = WISP_EIG_DENSE, .count = (int)n};
        REF_OK(ctx, wisp_eig(&e, M, &o));
        assert_true(e.found == n && e.sensitive == 0);
        for (int i = 0; i < n && n > 1; i++) {
            int at = 0;
            const cplx v = (e.value[i].re + e.value[i].im * I) / scale;
            for (int j = 0; j < n; j++)
                if (cabs(w[j] - v) < cabs(w[at] - v)) at = j;
            if (!(fabs(e.condition[i] / condition[at] - 1) < 1e-6))
                fail_msg("case %d, value %d: %.12g, and %.12g by LAPACK", c, i, e.condition[i], condition[at]);
        }
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
    }
}

/* A leading block, and behind it a diagonal within -1 .. 1; by each method, for LARGEST and LARGEST_REAL. */
static ref_mat led(int n, const double *block, int size)
{
    ref_mat A = ref_new(n, n);
    for (int i = size; i < n; i++) REF_AT(A, i, i) = 2 * (i - size) / (double)n - 1;
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) REF_AT(A, i, j) = block[i * size + j];
    return A;
}

static void ask(wisp_ctx *ctx, ref_mat A, wisp_type type, int method, int count, wisp_eigen *e)
{
    wisp_mat *M = ref_mat_of(ctx, A, type);
    const wisp_eig_opts o = {.which = method % 2 ? WISP_EIG_LARGEST : WISP_EIG_LARGEST_REAL,
                             .method = method < 2 ? WISP_EIG_DENSE : WISP_KRYLOV_SCHUR,
                             .count = count,
                             .seed = 1};
    REF_OK(ctx, wisp_eig(e, M, &o));
    wisp_mat_free(M);
}

static void of_blocks(void **state)
{
    static const double two[] = {3, 10, 0, 2.5}, normal[] = {2, 1, -1, 2},
                        turned[] = {3, 2, 5, 0, -2, 3, 0, 5, 0, 0, 2, 2, 0, 0, -2, 2};
    for (int method = 0; method < 4; method++)
        for (int type = 0; type < 2; type++) {
            wisp_eigen e;
            ref_mat A = led(240, two, 2), B = led(240, normal, 2), C = led(240, turned, 4);
            ask(*state, A, type ? WISP_Z : WISP_D, method, 1, &e);
            assert_int_equal(e.found, 1);
            assert_true(fabs(e.condition[0] - sqrt(401)) < 1e-3);
            wisp_eigen_free(&e);
            ask(*state, B, type ? WISP_Z : WISP_D, method, 2, &e);
            assert_true(e.found == 2 && e.sensitive == 0);
            for (int i = 0; i < 2; i++) assert_true(fabs(e.condition[i] - 1) < 1e-6);
            wisp_eigen_free(&e);
            ask(*state, C, type ? WISP_Z : WISP_D, method, 4, &e);
            assert_int_equal(e.found, 4);
            for (int i = 0; i < 4; i++) assert_true(fabs(e.condition[i] - sqrt(26)) < 1e-3);
            wisp_eigen_free(&e);
            ref_free(A), ref_free(B), ref_free(C);
        }
}

/* Values of a Jordan block are right to the third root of rounding, whatever their residuals. */
static void of_defective(void **state)
{
    static const double jordan[] = {3, 1, 0, 0, 3, 1, 0, 0, 3};
    for (int method = 0; method < 4; method++) {
        wisp_eigen e;
        ref_mat A = led(240, jordan, 3);
        /* Turned about, so that LAPACK does not meet a triangle: (I - 2 v v^T) A (I - 2 v v^T), v = 1 / sqrt(n). */
        double row[240] = {0}, column[240] = {0}, all = 0;
        for (int i = 0; i < 240; i++)
            for (int j = 0; j < 240; j++) {
                const double a = creal(REF_AT(A, i, j)) / 120;
                row[i] += a, column[j] += a, all += a / 120;
            }
        for (int i = 0; i < 240; i++)
            for (int j = 0; j < 240; j++) REF_AT(A, i, j) += all - row[i] - column[j];
        ask(*state, A, WISP_D, method, 3, &e);
        assert_int_equal(e.found, 3);
        assert_int_equal(e.sensitive, 3);
        for (int i = 0; i < 3; i++) {
            assert_true(e.residual[i] <= 1e-8 && e.condition[i] > 1e6);
            assert_true(hypot(e.value[i].re - 3, e.value[i].im) < 1e-2);
        }
        wisp_eigen_free(&e);
        ref_free(A);
    }
}

/* Hermitian: there is nothing to tell. */
static void of_hermitian(void **state)
{
    ref_mat A = led(60, (const double[]){3, 1, 1, 3}, 2);
    wisp_mat *M = ref_mat_of(*state, A, WISP_D);
    wisp_eigen e;
    REF_OK(*state, wisp_eig(&e, M, &(wisp_eig_opts){.which = WISP_EIG_LARGEST}));
    assert_true(e.found == 1 && e.condition == NULL && e.sensitive == 0);
    wisp_eigen_free(&e);
    wisp_mat_free(M);
    ref_free(A);
}

static double unit(ref_rng *r) { return (double)ref_below(r, 1 << 20) / (1 << 20); }

/* exp(x_j - x_i) s_ij, rows and columns in another order: its values are those of the Hermitian S, whose largest one is
   returned. By `kind` S is the chain of Hatano and Nelson, full of random numbers, has a few of them, or is the
   chain with a random diagonal. */
static double far_from_normal(ref_mat A, ref_rng *r, int kind, wisp_type type, double scale)
{
    const int n = (int)A.rows;
    double x[100], *value = ref_lapack((size_t)n, n);
    int at[100];
    cplx *S = (cplx *)ref_lapack(2 * (size_t)n * (size_t)n, n);
    const bool is_chain = kind == 0 || kind == 3;
    const double slope = is_chain ? 1.2 : 8 + 8 * unit(r);
    for (int i = 0; i < n; i++) {
        const int j = (int)ref_below(r, i + 1);
        x[i] = is_chain ? slope * i : slope * (2 * unit(r) - 1);
        at[i] = j < i ? at[j] : i;
        at[j] = i;
    }
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            const bool is_there = kind == 1 || j == i + 1 || (j == i && kind > 0) || (kind == 2 && unit(r) < 0.05);
            cplx s = !is_there ? 0 : is_chain && i != j ? 1 : ref_value(r, type);
            if (i == j) s = creal(s) * (kind == 3 ? 4 : 1);
            S[i + j * n] = s, S[j + i * n] = conj(s);
            REF_AT(A, at[i], at[j]) = scale * s * exp(x[j] - x[i]);
            REF_AT(A, at[j], at[i]) = scale * conj(s) * exp(x[i] - x[j]);
        }
    ref_zheev('N', 'U', n, S, value);
    const double most = scale * value[n - 1];
    free(S), free(value);
    return most;
}

/* Rounding of A moves these values by all digits, of D^-1 A D by none. */
static void of_balanced(void **state)
{
    static const wisp_type types[] = {WISP_D, WISP_Z};
    static const double scales[] = {1, 1e-200, 1e200};
    for (int c = 0; c < 24; c++) {
        ref_rng r = {(uint64_t)c + 1};
        const int kind = c % 3;
        const double scale = scales[c / 6 % 3];
        ref_mat A = ref_new(60 + c % 4 * 5, 60 + c % 4 * 5);
        const double most = far_from_normal(A, &r, kind, types[c % 2], scale);
        wisp_mat *M = ref_mat_of(*state, A, types[c % 2]);
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_LARGEST_REAL, .method = WISP_EIG_DENSE, .count = 2};
        REF_OK(*state, wisp_eig(&e, M, &o));
        assert_true(e.complete && e.balanced > 0 && e.sensitive == 0);
        const wisp_scalar last = e.value[e.found - 1];
        if (!(hypot(last.re - most, last.im) <= 1e-11 * fabs(most)))
            fail_msg("case %d: %.15g %+gi, and %.15g", c, last.re, last.im, most);
        for (int i = 0; i < e.found; i++) assert_true(e.residual[i] <= 1e-8 && e.condition[i] < 1e3);
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
    }
}

/* Vectors that lie about one site of D^-1 A D may be none of A, whose numbers grow faster than they fall. Then what A
   itself gives is delivered, and said to be sensitive; what is not said to be is right. */
static void of_localised(void **state)
{
    int ways[2] = {0};
    for (int c = 0; c < 20; c++) {
        ref_rng r = {(uint64_t)c + 1};
        ref_mat A = ref_new(100, 100);
        const double most = far_from_normal(A, &r, 3, WISP_D, 1);
        wisp_mat *M = ref_mat_of(*state, A, WISP_D);
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_LARGEST_REAL, .method = WISP_EIG_DENSE, .count = 3};
        REF_OK(*state, wisp_eig(&e, M, &o));
        assert_true(e.complete && e.found >= 3);
        for (int i = 0; i < e.found; i++) assert_true(e.residual[i] <= 1e-8);
        if (e.sensitive == 0) assert_true(fabs(e.value[e.found - 1].re - most) <= 1e-7 * most);
        ways[e.sensitive > 0]++;
        assert_false(e.balanced && e.sensitive == 3);
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
    }
    assert_true(ways[0] > 0 && ways[1] > 0);
}

static ref_mat random_symmetric(ref_rng *r, int n)
{
    ref_mat S = ref_new(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) REF_AT(S, i, j) = REF_AT(S, j, i) = ref_uniform(r);
    return S;
}

/* Numbers so far apart that the least ones lose digits beside the largest: no wrong value is called right. */
static void of_far_apart(void **state)
{
    enum { ROWS = 10 };
    for (int c = 0; c < 12; c++) {
        ref_rng r = {(uint64_t)c + 1};
        ref_mat A = ref_new(ROWS, ROWS), S = random_symmetric(&r, ROWS);
        cplx *s = (cplx *)ref_lapack((size_t)2 * ROWS * ROWS, ROWS);
        double value[ROWS];
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < ROWS; j++) {
                s[i + j * ROWS] = REF_AT(S, i, j);
                REF_AT(A, i, j) = ldexp(creal(REF_AT(S, i, j)), (40 + 5 * c) * (i - j) - 86);
            }
        ref_zheev('N', 'U', ROWS, s, value);
        wisp_mat *M = ref_mat_of(*state, A, WISP_D);
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_LARGEST_REAL, .method = WISP_EIG_DENSE};
        const wisp_status status = wisp_eig(&e, M, &o);
        if (status == WISP_OK && e.sensitive == 0)
            assert_true(fabs(ldexp(e.value[e.found - 1].re, 86) / value[ROWS - 1] - 1) < 1e-7);
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        free(s);
        ref_free(A), ref_free(S);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_dense),     cmocka_unit_test(of_blocks),   cmocka_unit_test(of_defective),
        cmocka_unit_test(of_hermitian), cmocka_unit_test(of_balanced), cmocka_unit_test(of_localised),
        cmocka_unit_test(of_far_apart),
    };
    return REF_RUN_CTX(tests);
}
