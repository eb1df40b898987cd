/* Pairs at the ends of a spectrum (wisp_eig by Lanczos and Krylov-Schur), against LAPACK. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <lapacke.h>
#include "ref.h"

static int setup(void **state)
{
    *state = ref_isa_ctx(NULL, 2);
    return 0;
}

static int teardown(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

/* All eigenvalues of a Hermitian matrix, ascending. */
static double *eigh(ref_mat A)
{
    const size_t n = (size_t)A.rows;
    double *w = malloc((n + 1) * sizeof *w);
    cplx *a = malloc(n * n * sizeof *a);
    memcpy(a, A.a, n * n * sizeof *a);
    assert_int_equal(LAPACKE_zheevd(LAPACK_ROW_MAJOR, 'N', 'U', (int)n, a, (int)n, w), 0);
    free(a);
    return w;
}

static double tolerance_of(wisp_type type) { return type == WISP_S || type == WISP_C ? 1e-4 : 1e-8; }

/* |A v - lambda v| of all pairs, and that vectors have length 1. */
static void check_residuals(ref_mat A, const wisp_eigen *e, double scale, double tolerance, const char *what)
{
    ref_mat V = ref_get(e->vectors);
    ref_mat AV = ref_times(A, V);
    for (int j = 0; j < e->found; j++) {
        double square = 0, length = 0;
        const cplx value = e->value[j].re + I * e->value[j].im;
        for (int64_t i = 0; i < A.rows; i++) {
            const cplx r = REF_AT(AV, i, j) - value * REF_AT(V, i, j), v = REF_AT(V, i, j);
            square += creal(r * conj(r)), length += creal(v * conj(v));
        }
        const double over = scale > 0 ? scale : cabs(value);
        if (!(sqrt(square) <= 1.01 * tolerance * over + 1e-14))
            fail_msg("%s: pair %d has a residual of %g of %g", what, j, sqrt(square), over);
        if (fabs(length - 1) > 1e-4) fail_msg("%s: vector %d has length %g", what, j, sqrt(length));
    }
    ref_free(V), ref_free(AV);
}

/* The pairs of a Hermitian matrix that were asked for, and no others; the last one's multiplet is whole. */
static void check_hermitian(wisp_ctx *ctx, const wisp_mat *M, ref_mat A, wisp_type type, wisp_eig_opts o,
                            const char *what)
{
    wisp_eigen e;
    const int n = (int)A.rows, low = o.which == WISP_EIG_SMALLEST;
    double *w = eigh(A);
    REF_OK(ctx, wisp_eig(&e, M, &o));
    const double scale = e.bounds.halfwidth, tolerance = o.tolerance > 0 ? o.tolerance : tolerance_of(type);
    int count = o.count > 0 ? o.count : 1;
    if (e.found < count || !e.complete) fail_msg("%s: %d of %d found", what, e.found, count);
    for (int i = 0; i < e.found; i++) {
        const double want = low ? w[i] : w[n - e.found + i];
        if (!(fabs(e.value[i].re - want) <= 2 * tolerance * scale + 1e-13) || e.value[i].im != 0)
            fail_msg("%s: value %d of %d is %.15g, not %.15g", what, i, e.found, e.value[i].re, want);
    }
    for (int i = count; i < e.found; i++) {
        const double gap = low ? w[i] - w[i - 1] : w[n - i] - w[n - i - 1];
        if (gap > 3 * tolerance * scale) fail_msg("%s: %d found, beyond a gap of %g", what, e.found, gap);
    }
    if (e.found < n &&
        (low ? w[e.found] - w[e.found - 1] : w[n - e.found] - w[n - e.found - 1]) < 1e-3 * tolerance * scale)
        fail_msg("%s: the multiplet of the last of %d is torn apart", what, e.found);
    assert_true(e.orthogonality <= (tolerance > 1e-6 ? 1e-4 : 1e-10));
    check_residuals(A, &e, scale, tolerance, what);
    wisp_eigen_free(&e);
    free(w);
}

static void round_hermitian(ref_mat A, wisp_type type)
{
    ref_round(A, type);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t j = 0; j <= i; j++) REF_AT(A, j, i) = j == i ? creal(REF_AT(A, i, i)) : conj(REF_AT(A, i, j));
}

/* Sparse and random, on a diagonal that spreads. */
static ref_mat random_hermitian(ref_rng *r, int64_t n, wisp_type type)
{
    ref_mat A = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) {
        REF_AT(A, i, i) = 3 * ref_uniform(r);
        for (int l = 0; l < 4; l++) REF_AT(A, i, ref_below(r, n)) = ref_value(r, type);
    }
    round_hermitian(A, type);
    return A;
}

static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};

static void hermitian(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {11};
    for (int t = 0; t < 4; t++)
        for (int c = 0; c < 12; c++) {
            char what[80];
            const int64_t n = 150 + ref_below(&r, 90);
            const wisp_eig_opts o = {.method = WISP_LANCZOS,
                                     .which = c % 2 ? WISP_EIG_SMALLEST : WISP_EIG_LARGEST,
                                     .count = 1 + (int)ref_below(&r, 6),
                                     .block = (int)ref_below(&r, 5),
                                     .seed = ref_next(&r)};
            ref_mat A = random_hermitian(&r, n, types[t]);
            wisp_mat *M = ref_mat_of(ctx, A, types[t]);
            snprintf(what, sizeof what, "%s, %d rows, count %d, block %d", wisp_type_name(types[t]), (int)n, o.count,
                     o.block);
            check_hermitian(ctx, M, A, types[t], o, what);
            wisp_mat_free(M);
            ref_free(A);
        }
}

/* A diagonal matrix, or one that is so but for a few reflections: its spectrum is known to the last bit. */
static ref_mat with_values(ref_rng *r, int64_t n, double (*value)(int64_t i), int mixed)
{
    ref_mat A = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) REF_AT(A, i, i) = value(i);
    for (int l = 0; l < mixed * n; l++) { /* rotations by an angle */
        const int64_t i = ref_below(r, n), j = (i + 1 + ref_below(r, n - 1)) % n;
        const double angle = 3 * ref_uniform(r), c = cos(angle), s = sin(angle);
        for (int64_t m = 0; m < n; m++) {
            const cplx a = REF_AT(A, i, m), b = REF_AT(A, j, m);
            REF_AT(A, i, m) = c * a + s * b, REF_AT(A, j, m) = c * b - s * a;
        }
        for (int64_t m = 0; m < n; m++) {
            const cplx a = REF_AT(A, m, i), b = REF_AT(A, m, j);
            REF_AT(A, m, i) = c * a + s * b, REF_AT(A, m, j) = c * b - s * a;
        }
    }
    round_hermitian(A, WISP_D);
    return A;
}

static double multiplets(int64_t i) { return (double)(i / 5) * (i < 100 ? 0.01 : 0.03); }
static double clustered(int64_t i) { return i < 12 ? 1e-6 * (double)i : 1 + 0.01 * (double)i; }
static double apart(int64_t i) { return i < 4 ? -1e4 * (double)(4 - i) : 0.01 * (double)i; }
static double steps(int64_t i) { return (double)i; }
static double zero(int64_t i) { return 0 * (double)i; }
static double one(int64_t i) { return 1 + 0 * (double)i; }
static double two_values(int64_t i) { return i % 2 ? 1 : -1; }

static void special(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {12};
    static const struct {
        const char *name;
        double (*value)(int64_t i);
        int64_t n;
        int count, mixed;
    } cases[] = {{"multiplets", multiplets, 220, 7, 0}, {"multiplets, mixed", multiplets, 220, 7, 3},
                 {"clustered", clustered, 200, 5, 3},   {"apart", apart, 200, 6, 3},
                 {"diagonal", steps, 300, 4, 0},        {"zero", zero, 30, 3, 0},
                 {"identity", one, 40, 2, 0},           {"one row", steps, 1, 1, 0},
                 {"one row of zero", zero, 1, 1, 0},    {"all", steps, 25, 25, 2},
                 {"two values", two_values, 60, 3, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int block = 0; block < 4; block++) {
            char what[80];
            ref_mat A = with_values(&r, cases[c].n, cases[c].value, cases[c].mixed);
            wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
            snprintf(what, sizeof what, "%s, block %d", cases[c].name, block);
            const wisp_eig_opts o = {.method = WISP_LANCZOS,
                                     .which = block % 2 ? WISP_EIG_SMALLEST : WISP_EIG_LARGEST,
                                     .count = cases[c].count,
                                     .block = block,
                                     .seed = (uint64_t)c};
            check_hermitian(ctx, M, A, WISP_D, o, what);
            wisp_mat_free(M);
            ref_free(A);
        }
}

/* More alike than the search locks: what was found is right, and it is said that there are more. */
static void too_many(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {13};
    double (*const value[])(int64_t) = {zero, one};
    for (int c = 0; c < 2; c++) {
        wisp_eigen e;
        ref_mat A = with_values(&r, 400, value[c], 0);
        wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
        const wisp_eig_opts o = {.method = WISP_LANCZOS, .count = 3};
        REF_FAILS(ctx, wisp_eig(&e, M, &o), WISP_ERR_INCOMPLETE, "more of the last one's multiplet");
        assert_true(e.found > 60 && !e.complete);
        check_residuals(A, &e, 1, 1e-8, "too many");
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hermitian), cmocka_unit_test(special),
                                       cmocka_unit_test(too_many)};
    return REF_RUN_WITH(tests, setup, teardown);
}
