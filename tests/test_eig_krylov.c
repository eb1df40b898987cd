/* Pairs at the ends of a spectrum (wisp_eig by Lanczos and Krylov-Schur), against LAPACK. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "ref_levels.h"

enum { BLOCK = 65 }; /* LAPACK works on so many columns at most */

/* A's transpose by columns, which has the same eigenvalues. */
static cplx *for_lapack(ref_mat A)
{
    cplx *a = (cplx *)ref_lapack((size_t)(2 * A.rows * A.rows), A.rows);
    memcpy(a, A.a, (size_t)(A.rows * A.rows) * sizeof *a);
    return a;
}

static double tolerance_of(wisp_type type) { return type == WISP_S || type == WISP_C ? 1e-4 : 1e-8; }

/* |A v - lambda v| of all pairs, and that vectors have length 1. */
static void check_residuals(ref_mat A, const wisp_eigen *e, double scale, double tolerance, double floor,
                            const char *what)
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
        if (!(sqrt(square) <= 1.01 * tolerance * over + floor))
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
    double *w = eigenvalues(A);
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
    check_residuals(A, &e, scale, tolerance, 1e-14, what);
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
            const int64_t n = 170 + ref_below(&r, 90);
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
        check_residuals(A, &e, 1, 1e-8, 0, "too many");
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
    }
}

/* ---- matrices that are not Hermitian ------------------------------------------------------------------ */

static double key_of(wisp_eig_which which, cplx v)
{
    return which == WISP_EIG_LARGEST_REAL ? creal(v) : which == WISP_EIG_LARGEST ? cabs(v) : -cabs(v);
}

/* All eigenvalues, the most wanted first. */
static cplx *eig(ref_mat A, wisp_eig_which which)
{
    const size_t n = (size_t)A.rows;
    const int rows = (int)n, works = rows * BLOCK;
    cplx *w = (cplx *)ref_lapack(2 * n, rows), *a = for_lapack(A), *work = (cplx *)ref_lapack(2 * (size_t)works, rows);
    double *real = ref_lapack(2 * n, rows);
    assert_int_equal(
        LAPACKE_zgeev_work(LAPACK_COL_MAJOR, 'N', 'N', rows, a, rows, w, NULL, 1, NULL, 1, work, works, real), 0);
    free(work), free(real);
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && key_of(which, w[j]) > key_of(which, w[j - 1]); j--) {
            const cplx t = w[j];
            w[j] = w[j - 1], w[j - 1] = t;
        }
    free(a);
    return w;
}

/* `off`: by how much rounding may move a value, as it is not normal; the rest by the residuals. */
static void check_general(wisp_ctx *ctx, const wisp_mat *M, ref_mat A, wisp_type type, wisp_eig_opts o, double off,
                          const char *what)
{
    wisp_eigen e;
    cplx *w = eig(A, o.which);
    const int n = (int)A.rows, count = o.count > 0 ? o.count : 1;
    const double tolerance = o.tolerance > 0 ? o.tolerance : tolerance_of(type);
    REF_OK(ctx, wisp_eig(&e, M, &o));
    if (e.found < count || !e.complete) fail_msg("%s: %d of %d found", what, e.found, count);
    /* Each that was found is one of the spectrum, and each of the first ones of that was found. */
    for (int i = 0; i < e.found; i++) {
        const cplx v = e.value[i].re + I * e.value[i].im;
        double nearest = INFINITY;
        for (int j = 0; j < n; j++) nearest = fmin(nearest, cabs(w[j] - v));
        if (!(nearest <= off)) fail_msg("%s: %g%+gi is no eigenvalue: %g off", what, creal(v), cimag(v), nearest);
        if (key_of(o.which, v) < key_of(o.which, w[count - 1]) - 2 * off)
            fail_msg("%s: %g%+gi is not among the first", what, creal(v), cimag(v));
        if (i > 0 && (e.value[i].re < e.value[i - 1].re ||
                      (e.value[i].re == e.value[i - 1].re && e.value[i].im < e.value[i - 1].im)))
            fail_msg("%s: the values do not ascend", what);
    }
    for (int j = 0; j < count; j++) {
        int like = 0, found = 0;
        for (int i = 0; i < count; i++) like += cabs(w[i] - w[j]) <= 2 * off;
        for (int i = 0; i < e.found; i++) found += cabs(e.value[i].re + I * e.value[i].im - w[j]) <= 3 * off;
        if (found < like && key_of(o.which, w[j]) > key_of(o.which, w[count]) + 3 * off)
            fail_msg("%s: %g%+gi was found %d times, not %d", what, creal(w[j]), cimag(w[j]), found, like);
    }
    if (!wisp_type_is_complex(wisp_blk_type(e.vectors)))
        for (int i = 0; i < e.found; i++) assert_true(e.value[i].im == 0);
    assert_true(isnan(e.orthogonality));
    double floor = 0; /* of residuals: a value may be rounding alone */
    for (int64_t i = 0; i < A.rows * A.cols; i++) floor += creal(A.a[i] * conj(A.a[i]));
    floor = 64 * sqrt(floor) * (wisp_type_size(type) / (wisp_type_is_complex(type) ? 2 : 1) == 4 ? 1.2e-7 : 2.2e-16);
    for (int j = 0; j < e.found; j++) assert_true(e.residual[j] <= tolerance);
    check_residuals(A, &e, 0, tolerance, floor, what);
    wisp_eigen_free(&e);
    free(w);
}

static ref_mat random_general(ref_rng *r, int64_t n, wisp_type type)
{
    ref_mat A = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) {
        REF_AT(A, i, i) = 2 + 3 * ref_uniform(r);
        for (int l = 0; l < 4; l++) REF_AT(A, i, ref_below(r, n)) += 0.5 * ref_value(r, type);
    }
    ref_round(A, type);
    return A;
}

static void general(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {14};
    static const wisp_eig_which which[] = {WISP_EIG_LARGEST_REAL, WISP_EIG_LARGEST, WISP_EIG_LARGEST_REAL,
                                           WISP_EIG_SMALLEST};
    for (int t = 0; t < 4; t++)
        for (int c = 0; c < 16; c++) {
            char what[80];
            const int small = c % 4 >= 2, single = types[t] == WISP_S || types[t] == WISP_C;
            const int64_t n = small ? 1 + ref_below(&r, 60) : 150 + ref_below(&r, 90);
            const wisp_eig_opts o = {.method = WISP_KRYLOV_SCHUR,
                                     .which = which[c % 4],
                                     .count = 1 + (int)ref_below(&r, n < 6 ? n : 6),
                                     .block = (int)ref_below(&r, 4),
                                     .seed = ref_next(&r)};
            ref_mat A = random_general(&r, n, types[t]);
            if (ref_few() && (c / 4 + t) % 2) { /* each type meets all that is asked, twice */
                ref_free(A);
                continue;
            }
            wisp_mat *M = ref_mat_of(ctx, A, types[t]);
            snprintf(what, sizeof what, "%s, %d rows, which %d, count %d, block %d", wisp_type_name(types[t]), (int)n,
                     o.which, o.count, o.block);
            check_general(ctx, M, A, types[t], o, single ? 5e-2 : 1e-5, what);
            wisp_mat_free(M);
            ref_free(A);
        }
}

/* Rotations: pairs of equal real parts and sizes, each several times; and a nilpotent matrix. */
static void pairs(void **state)
{
    wisp_ctx *ctx = *state;
    for (int64_t n = 8; n < 400; n += 232)
        for (int count = 1; count < 4; count++)
            for (int block = 1; block < 3; block++)
                for (int which = WISP_EIG_LARGEST; which <= WISP_EIG_LARGEST_REAL; which++) {
                    if (ref_few() && (count + block + which) % 2) continue;
                    ref_mat A = ref_new(n, n);
                    for (int64_t i = 0; i + 1 < n; i += 2) {
                        const double size = 1 + 0.05 * (double)(i / 8), angle = 1;
                        REF_AT(A, i, i) = REF_AT(A, i + 1, i + 1) = size * cos(angle);
                        REF_AT(A, i, i + 1) = size * sin(angle), REF_AT(A, i + 1, i) = -size * sin(angle);
                    }
                    wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
                    const wisp_eig_opts o = {
                        .method = WISP_KRYLOV_SCHUR, .which = (wisp_eig_which)which, .count = count, .block = block};
                    check_general(ctx, M, A, WISP_D, o, 1e-7, "rotations");
                    wisp_eigen e;
                    REF_OK(ctx, wisp_eig(&e, M, &o));
                    assert_true(wisp_blk_type(e.vectors) == WISP_Z && e.found >= 8 && e.found % 2 == 0);
                    wisp_eigen_free(&e);
                    wisp_mat_free(M);
                    ref_free(A);
                }
}

/* Quasi-triangular, not normal: n values along a line, each `times` times, in clusters, with pairs that stand out
   beside the line, or a few values far away at the other end. */
static ref_mat along_a_line(ref_rng *r, int64_t n, int kind)
{
    ref_mat A = ref_new(n, n);
    const int64_t times = kind == 1 ? 2 + ref_below(r, 4) : 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = i / times * times;
        double value = (double)at / (double)n;
        if (kind == 2) value = (double)(at / 6 * 6) / (double)n + 1e-6 * (double)(at % 6);
        if (kind == 4 && i < 4) value = -8 - (double)i;
        REF_AT(A, i, i) = value;
    }
    for (int64_t i = 0; i < n; i++)
        for (int l = 0; l < 3; l++) {
            const int64_t j = ref_below(r, n);
            if (creal(REF_AT(A, j, j)) > creal(REF_AT(A, i, i)) + 0.2) REF_AT(A, i, j) = 0.05 * ref_uniform(r);
        }
    for (int64_t i = n / 2; kind == 3 && i < n / 2 + 8; i += 2) {
        REF_AT(A, i + 1, i + 1) = REF_AT(A, i, i);
        REF_AT(A, i, i + 1) = 0.2 + 0.3 * (double)(i % 4), REF_AT(A, i + 1, i) = -REF_AT(A, i, i + 1);
    }
    ref_round(A, WISP_D);
    return A;
}

/* Where a polynomial of the matrix is taken, and where it must not be. */
static void by_polynomials(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {16};
    const int lines = ref_few() ? 10 : 40; /* of each kind, by blocks of each width */
    int raised = 0;
    for (int c = 0; c < lines; c++) {
        char what[80];
        const int64_t n = 300 + ref_below(&r, 200);
        const wisp_eig_opts o = {.method = WISP_KRYLOV_SCHUR,
                                 .which = WISP_EIG_LARGEST_REAL,
                                 .count = 2 + (int)ref_below(&r, 9),
                                 .search = 20,
                                 .block = c % 3,
                                 .tolerance = c % 2 ? 1e-6 : 1e-9,
                                 .seed = (uint64_t)c};
        ref_mat A = along_a_line(&r, n, c % 5);
        wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
        wisp_eigen e;
        snprintf(what, sizeof what, "line %d of kind %d, %d rows, count %d, block %d", c, c % 5, (int)n, o.count,
                 o.block);
        check_general(ctx, M, A, WISP_D, o, c % 2 ? 5e-5 : 1e-7, what);
        REF_OK(ctx, wisp_eig(&e, M, &o));
        raised += e.degree > 1;
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
    }
    print_message("%d of %d by a polynomial\n", raised, lines);
    assert_true(4 * raised >= lines);
}

/* A Hermitian matrix by Krylov-Schur: by real value. */
static void hermitian_by_krylov_schur(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {15};
    for (int which = WISP_EIG_SMALLEST; which <= WISP_EIG_LARGEST_REAL; which++)
        for (int t = 0; t < 4; t++) {
            ref_mat A = random_hermitian(&r, 170, types[t]);
            wisp_mat *M = ref_mat_of(ctx, A, types[t]);
            const wisp_eig_opts o = {.method = WISP_KRYLOV_SCHUR, .which = (wisp_eig_which)which, .count = 4};
            check_hermitian(ctx, M, A, types[t], o, "Hermitian, Krylov-Schur");
            wisp_mat_free(M);
            ref_free(A);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hermitian),
                                       cmocka_unit_test(special),
                                       cmocka_unit_test(too_many),
                                       cmocka_unit_test(general),
                                       cmocka_unit_test(pairs),
                                       cmocka_unit_test(by_polynomials),
                                       cmocka_unit_test(hermitian_by_krylov_schur)};
    return REF_RUN_CTX(tests);
}
