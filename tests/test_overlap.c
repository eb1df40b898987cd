/* A x = lambda S x by S^-1/2 A S^-1/2, against LAPACK's eigenvalues of the pencil, and against dense roots of S. */
#include "pencil_cases.h"
#include <math.h>
#include <stdlib.h>

/* Eigenvectors x = S^-1/2 y: x^H S x = 1, and A x = lambda S x; and what is told of one that is spoilt. */
static void check_pairs(wisp_ctx *ctx, const pencil *p, const wisp_eigen *e, double tolerance)
{
    wisp_blk *x;
    double residual[3], orthogonality;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(p->A), wisp_blk_type(e->vectors), 3));
    REF_OK(ctx, wisp_overlap_apply(p->overlap, x, e->vectors));
    REF_OK(ctx, wisp_overlap_residuals(p->overlap, p->A, e->value, x, residual, &orthogonality));
    ref_mat X = ref_get(x), SX = ref_times(p->dense_S, X), AX = ref_times(p->dense_A, X);
    assert_true(orthogonality < tolerance);
    for (int i = 0; i < 3; i++) {
        assert_true(residual[i] < tolerance);
        for (int j = 0; j < 3; j++) {
            cplx dot = 0;
            for (int64_t k = 0; k < X.rows; k++) dot += conj(REF_AT(X, k, i)) * REF_AT(SX, k, j);
            assert_true(cabs(dot - (i == j)) < tolerance);
        }
    }
    for (int64_t k = 0; k < X.rows; k++)
        for (int j = 0; j < 3; j++)
            assert_true(cabs(REF_AT(AX, k, j) - e->value[j].re * REF_AT(SX, k, j)) < tolerance * 100);
    REF_AT(X, 5, 1) += 0.1;
    ref_put(x, X);
    ref_mat spoilt = ref_times(p->dense_S, X), r = ref_times(p->dense_A, X), root = power_of(p->dense_S, -0.5);
    double square = 0, off = 0;
    for (int64_t i = 0; i < r.rows * 3; i++) r.a[i] -= e->value[i % 3].re * spoilt.a[i];
    ref_mat want = ref_times(root, r);
    for (int64_t i = 0; i < r.rows; i++) square += creal(REF_AT(want, i, 1) * conj(REF_AT(want, i, 1)));
    for (int i = 0; i < 3; i++) {
        cplx dot = i == 1 ? -1 : 0;
        for (int64_t k = 0; k < X.rows; k++) dot += conj(REF_AT(X, k, i)) * REF_AT(spoilt, k, 1);
        off = fmax(off, cabs(dot));
    }
    REF_OK(ctx, wisp_overlap_residuals(p->overlap, p->A, e->value, x, residual, &orthogonality));
    assert_true(fabs(residual[1] - sqrt(square)) < tolerance && fabs(orthogonality - off) < tolerance);
    ref_free(X), ref_free(SX), ref_free(AX), ref_free(spoilt), ref_free(r), ref_free(root), ref_free(want);
    wisp_blk_free(x);
}

static void eigenpairs(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[][2] = {{WISP_D, WISP_D}, {WISP_Z, WISP_Z}, {WISP_D, WISP_Z},
                                         {WISP_Z, WISP_D}, {WISP_S, WISP_S}, {WISP_C, WISP_C}};
    static const wisp_eig_method methods[] = {WISP_LANCZOS, WISP_EIG_DENSE, WISP_CHEBFD};
    for (int c = 0; c < 18; c += ref_few() ? 5 : 1) { /* each method, and most types */
        ref_rng r = {(uint64_t)c + 1};
        const wisp_type *type = types[c % 6];
        const int single = type[0] == WISP_S || type[0] == WISP_C;
        const int64_t n = 60 + ref_below(&r, 40);
        pencil p =
            make(ctx, random_hermitian(&r, type[0], n, 1), type[0], random_overlap(&r, type[1], n), type[1], NULL);
        double *want = values_of(p.dense_A, p.dense_S);
        const int last = (int)n - 1, inner = c / 6 == 2, first = inner ? (int)n / 2 : last - 2;
        const double half = (want[last] - want[0]) / 2, tolerance = single ? 1e-4 : 1e-9;
        wisp_eigen e;
        const wisp_eig_opts o = {.which = inner ? WISP_EIG_INTERVAL : WISP_EIG_LARGEST,
                                 .low = (want[first] + want[first - 1]) / 2,
                                 .high = (want[first + 2] + want[first + 3 < n ? first + 3 : last]) / 2,
                                 .method = methods[c / 6],
                                 .count = 3,
                                 .seed = 1};
        REF_OK(ctx, wisp_eig(&e, p.C, &o));
        assert_int_equal(e.found, 3);
        for (int i = 0; i < 3; i++) assert_true(fabs(e.value[i].re - want[first + i]) < tolerance * half);
        check_pairs(ctx, &p, &e, single ? 1e-4 : 1e-6);
        wisp_eigen_free(&e);
        free(want);
        drop(&p);
    }
}

/* S^-1/2 itself, in place and not, by every width; scales of S as far as they go. */
static void roots(void **state)
{
    wisp_ctx *ctx = *state;
    static const int widths[] = {1, 3, 5, 33};
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    for (int c = 0; c < 16; c++) {
        ref_rng r = {(uint64_t)c + 1};
        const wisp_type type = types[c % 4];
        const int single = type == WISP_S || type == WISP_C, width = widths[c / 4];
        const double scale = c / 4 % 2 == 0 ? 1 : c / 4 == 1 ? (single ? 1e-30 : 1e-250) : (single ? 1e30 : 1e250);
        const int64_t n = 1 + ref_below(&r, 50);
        ref_mat S = random_overlap(&r, type, n), root = power_of(S, -0.5), x = ref_random_block(&r, type, n, width);
        ref_mat want = ref_times(root, x);
        for (int64_t i = 0; i < n * n; i++) S.a[i] *= scale;
        ref_round(S, type);
        wisp_mat *M = ref_mat_of(ctx, S, type);
        wisp_overlap *v;
        wisp_overlap_info info;
        wisp_blk *X, *Y;
        REF_OK(ctx, wisp_overlap_create(&v, M, NULL));
        wisp_overlap_get_info(v, &info);
        assert_true(info.terms > 0 && info.error <= 1e-6 && info.bounds.center > info.bounds.halfwidth);
        const double lower = info.bounds.center - info.bounds.halfwidth;
        assert_true(info.condition == (info.bounds.center + info.bounds.halfwidth) / lower);
        REF_OK(ctx, wisp_blk_create(&X, ctx, wisp_mat_map(M), type, width));
        REF_OK(ctx, wisp_blk_create(&Y, ctx, wisp_mat_map(M), type, width));
        ref_put(X, x);
        REF_OK(ctx, wisp_overlap_apply(v, Y, X));
        REF_OK(ctx, wisp_overlap_apply(v, X, X));
        ref_mat got[2] = {ref_get(Y), ref_get(X)};
        for (int k = 0; k < 2; k++) {
            for (int64_t i = 0; i < n * width; i++) got[k].a[i] *= sqrt(scale);
            ref_assert_close(k ? "in place" : "root", got[k], want, single ? 1e-4 : 1e-11);
            ref_free(got[k]);
        }
        wisp_blk_free(X), wisp_blk_free(Y);
        wisp_overlap_free(v);
        wisp_mat_free(M);
        ref_free(S), ref_free(root), ref_free(x), ref_free(want);
    }
}

/* Products with 2^a A and 2^s S, and with 2^x vectors, are 2^(a - s + x) those of A and S, though what is between may
   be far from any number of the type. */
static void units(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    static const int unit[][2][3] = {{{0, 548, 0}, {0, 60, 0}},          {{0, 980, 0}, {0, 110, 0}},
                                     {{-990, -990, 0}, {-100, -100, 0}}, {{990, 990, 0}, {110, 110, 0}},
                                     {{-500, 440, 0}, {-50, 50, 0}},     {{500, -480, 0}, {50, -50, 0}},
                                     {{0, -980, -980}, {0, -90, -90}},   {{0, 900, 900}, {0, 90, 90}},
                                     {{-900, 0, 880}, {-90, 0, 90}},     {{900, 10, -880}, {90, 2, -90}}};
    for (int c = 0; c < 40; c += ref_few() ? 3 : 1) { /* each unit, each type and each width */
        ref_rng r = {(uint64_t)c + 1};
        const wisp_type type = types[c % 4];
        const int single = type == WISP_S || type == WISP_C;
        const int *by = unit[c / 4][single], width = 1 + c / 3 % 3 * 2;
        const int64_t n = 1 + ref_below(&r, 40);
        ref_mat A = random_hermitian(&r, type, n, 1), S = random_overlap(&r, type, n), root = power_of(S, -0.5),
                x = ref_random_block(&r, type, n, width), y[3] = {ref_times(root, x)};
        y[1] = ref_times(A, y[0]), y[2] = ref_times(root, y[1]);
        times(A, by[0], type), times(S, by[1], type), times(x, by[2], type);
        pencil p = make(ctx, A, type, S, type, NULL);
        wisp_blk *X, *Y;
        REF_OK(ctx, wisp_blk_create(&X, ctx, wisp_mat_map(p.A), type, width));
        REF_OK(ctx, wisp_blk_create(&Y, ctx, wisp_mat_map(p.A), type, width));
        ref_put(X, x);
        REF_OK(ctx, wisp_spmmv(Y, p.C, X, NULL));
        ref_mat got = ref_get(Y);
        times(got, by[1] - by[0] - by[2], WISP_Z);
        ref_assert_close("C x in other units", got, y[2], single ? 1e-4 : 1e-11);
        REF_OK(ctx, wisp_overlap_apply(p.overlap, Y, X));
        ref_mat of_root = ref_get(Y);
        times(of_root, by[1] / 2 - by[2], WISP_Z);
        ref_assert_close("S^-1/2 x in other units", of_root, y[0], single ? 1e-4 : 1e-11);
        wisp_blk_free(X), wisp_blk_free(Y);
        ref_free(got), ref_free(of_root), ref_free(x), ref_free(root);
        for (int i = 0; i < 3; i++) ref_free(y[i]);
        drop(&p);
    }
}

/* Eigenvalues that are no numbers of the type are refused, and not 0. */
static void beyond(void **state)
{
    wisp_ctx *ctx = *state;
    for (int c = 0; c < 4; c++) {
        ref_rng r = {3};
        const wisp_type type = c < 2 ? WISP_D : WISP_S;
        const int by = (c < 2 ? 520 : 64) * (c % 2 ? 1 : -1);
        ref_mat A = random_hermitian(&r, type, 20, 1), S = random_overlap(&r, type, 20);
        times(A, by, type), times(S, -by, type);
        wisp_mat *of_A = ref_mat_of(ctx, A, type), *C = NULL;
        wisp_mat *of_S = on_map(ctx, S, type, wisp_mat_map(of_A));
        wisp_overlap *v;
        REF_OK(ctx, wisp_overlap_create(&v, of_S, NULL));
        REF_FAILS(ctx, wisp_overlap_matrix(&C, v, of_A), WISP_ERR_NUMERIC, c % 2 ? "too large for" : "too small for");
        assert_null(C);
        wisp_overlap_free(v);
        wisp_mat_free(of_S), wisp_mat_free(of_A);
        ref_free(A), ref_free(S);
    }
}

/* The density of states of the pencil: an exact trace's moments are sums over its eigenvalues. */
static void moments(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {7};
    enum { ROWS = 50, MOMENTS = 24 };
    pencil p = make(ctx, random_hermitian(&r, WISP_Z, ROWS, 1), WISP_Z, random_overlap(&r, WISP_D, ROWS), WISP_D, NULL);
    double *value = values_of(p.dense_A, p.dense_S);
    wisp_moments m;
    REF_OK(ctx, wisp_kpm(&m, p.C, &(wisp_kpm_opts){.moments = MOMENTS, .trace = WISP_TRACE_EXACT}));
    double *mean = calloc(MOMENTS, sizeof *mean), *error = calloc(MOMENTS, sizeof *error);
    REF_OK(ctx, wisp_moments_mean(ctx, &m, WISP_REAL_PART, mean, error));
    for (int k = 0; k < MOMENTS; k++) {
        double want = 0;
        for (int i = 0; i < ROWS; i++) want += cos(k * acos((value[i] - m.bounds.center) / m.bounds.halfwidth));
        assert_true(fabs(mean[k] - want) < 1e-9 * ROWS);
    }
    free(mean), free(error), free(value);
    wisp_moments_free(&m);
    drop(&p);
}

/* Condition numbers of real bases: a chain's overlap 1, s, 0 has 1 -+ 2s cos(pi / (rows + 1)) at its ends. */
static void conditions(void **state)
{
    wisp_ctx *ctx = *state;
    for (int digits = 1; digits <= 4; digits++) {
        enum { ROWS = 100 };
        const double low = pow(10, -digits), k = 2 * cos(M_PI / (ROWS + 1)), s = (1 - 1.05 * low) / k;
        ref_mat S = ref_new(ROWS, ROWS), A = ref_new(ROWS, ROWS);
        for (int i = 0; i < ROWS; i++) {
            REF_AT(S, i, i) = 1;
            if (i) REF_AT(S, i, i - 1) = REF_AT(S, i - 1, i) = s, REF_AT(A, i, i - 1) = REF_AT(A, i - 1, i) = 1;
        }
        const wisp_overlap_opts o = {
            .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {.center = 1, .halfwidth = 1 - low}}};
        pencil p = make(ctx, A, WISP_D, S, WISP_D, digits < 4 ? NULL : &o);
        wisp_eigen e;
        REF_OK(ctx, wisp_eig(&e, p.C, &(wisp_eig_opts){.which = WISP_EIG_LARGEST, .method = WISP_EIG_DENSE}));
        const double want = k / (1 + s * k); /* both have the chain's vectors */
        assert_true(e.found == 1 && fabs(e.value[0].re - want) < 1e-10);
        wisp_eigen_free(&e);
        drop(&p);
    }
}

/* What a product with C takes: that is how the dense method is found to take least where filters would take long, for
   they look at the density first; and how flops are counted. Few products with a chain of thousands of rows, at the end
   of its spectrum, take less than LAPACK. */
static void costs(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {11};
    enum { ROWS = 500 };
    if (ref_few()) return; /* what is counted is the same */
    pencil p = make(ctx, random_hermitian(&r, WISP_D, ROWS, 1), WISP_D, random_overlap(&r, WISP_D, ROWS), WISP_D, NULL);
    wisp_overlap_info info;
    wisp_cost a, s, c;
    wisp_eigen e;
    wisp_overlap_get_info(p.overlap, &info);
    for (int width = 1; width < 6; width += 4) {
        const unsigned step = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_CHAIN;
        REF_OK(ctx, wisp_spmmv_cost(p.A, WISP_D, width, 0, &a));
        REF_OK(ctx, wisp_spmmv_cost(p.S, WISP_D, width, step, &s));
        REF_OK(ctx, wisp_spmmv_cost(p.C, WISP_D, width, 0, &c));
        const double times = 2 * (double)(info.terms - 1);
        assert_true(c.flops == a.flops + times * s.flops && c.bytes == a.bytes + times * s.bytes);
    }
    REF_OK(ctx, wisp_eig(&e, p.C, &(wisp_eig_opts){.which = WISP_EIG_INTERVAL, .low = -0.2, .high = 0.2}));
    assert_true(e.method == WISP_EIG_DENSE && e.flops > ROWS * c.flops / 5);
    wisp_eigen_free(&e);
    drop(&p);
    ref_mat S = ref_new(ROWS, ROWS), A = ref_new(ROWS, ROWS);
    for (int i = 0; i < ROWS; i++) {
        REF_AT(S, i, i) = 1;
        REF_AT(A, i, i) = i == 7 ? 9 : sin(i);
        if (i) REF_AT(S, i, i - 1) = REF_AT(S, i - 1, i) = 0.2;
    }
    p = make(ctx, A, WISP_D, S, WISP_D, NULL);
    REF_OK(ctx, wisp_eig(&e, p.C, &(wisp_eig_opts){.which = WISP_EIG_LARGEST}));
    assert_int_equal(e.method, WISP_LANCZOS);
    wisp_eigen_free(&e);
    drop(&p);
}

static void refused(void **state)
{
    wisp_ctx *ctx = *state;
    char why[WISP_MESSAGE];
    ref_rng r = {3};
    ref_mat S = random_overlap(&r, WISP_D, 20), A = random_hermitian(&r, WISP_D, 20, 1);
    wisp_mat *M = ref_mat_of(ctx, S, WISP_D), *other = ref_mat_of(ctx, A, WISP_D);
    wisp_overlap *v;
    wisp_mat *C;
    wisp_blk *x, *y;
    wisp_overlap_info info;
    REF_OK(ctx, wisp_overlap_create(&v, M, NULL));
    assert_int_equal(wisp_overlap_matrix(&C, v, other), WISP_ERR_MISMATCH); /* another map */
    assert_null(C);
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(M), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(M), WISP_D, 3));
    assert_int_equal(wisp_overlap_apply(v, y, x), WISP_ERR_MISMATCH);
    wisp_overlap_free(v);
    assert_int_equal(wisp_overlap_create(&v, other, NULL), WISP_ERR_NUMERIC); /* not positive definite */
    assert_non_null(strstr(wisp_ctx_message(ctx, why, sizeof why), "positive definite"));
    const wisp_bounds_opts given = {.method = WISP_BOUNDS_GIVEN, .given = {.center = 1, .halfwidth = 0.01}};
    REF_OK(ctx, wisp_overlap_create(&v, M, &(wisp_overlap_opts){.bounds = given}));
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
    wisp_overlap_get_info(v, &info);
    assert_true(info.beyond == 0);
    assert_int_equal(wisp_overlap_apply(v, x, x), WISP_ERR_BOUNDS);
    wisp_overlap_get_info(v, &info);
    assert_true(info.beyond == 1);
    wisp_overlap_free(v);
    assert_int_equal(wisp_overlap_create(&v, M, &(wisp_overlap_opts){.tolerance = 2}), WISP_ERR_ARG);
    assert_int_equal(wisp_overlap_create(&v, M, &(wisp_overlap_opts){.terms = 2}), WISP_ERR_ARG);
    assert_int_equal(wisp_overlap_create(&v, M, &(wisp_overlap_opts){.depth = -1}), WISP_ERR_ARG);
    REF_AT(S, 3, 4) += 1;
    wisp_mat *skew = ref_mat_of(ctx, S, WISP_D);
    assert_int_equal(wisp_overlap_create(&v, skew, NULL), WISP_ERR_HERMITIAN);
    assert_null(v);
    wisp_mat_free(skew);
    wisp_blk_free(x), wisp_blk_free(y);
    wisp_mat_free(M), wisp_mat_free(other);
    ref_free(S), ref_free(A);
    ref_nothing_left(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(eigenpairs), cmocka_unit_test(roots), cmocka_unit_test(moments),
                                       cmocka_unit_test(conditions), cmocka_unit_test(costs), cmocka_unit_test(refused),
                                       cmocka_unit_test(units),      cmocka_unit_test(beyond)};
    return REF_RUN_CTX(tests);
}
