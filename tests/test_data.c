/* Contexts, maps and matrices: what is stored, what is told of it, what is refused. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

/* ---- matrices -------------------------------------------------------------------------------- */

/* A x for a random x, against the oracle: what the matrix means, whatever its storage. */
static void assert_means(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, ref_mat dense, wisp_type type)
{
    wisp_blk *x, *y;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_col_map(A), type, 3));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), type, 3));
    ref_mat xm = ref_random_block(r, type, dense.cols, 3), ym = ref_new(dense.rows, 3);
    ref_put(x, xm);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    ref_spmmv(ym, dense, xm, ym, &(ref_aug){0}, NULL);
    ref_mat got = ref_get(y);
    for (int64_t i = 0; i < dense.rows * 3; i++)
        assert_true(cabs(got.a[i] - ym.a[i]) <= ref_eps(type) * (1 + cabs(ym.a[i])));
    ref_free(xm), ref_free(ym), ref_free(got);
    wisp_blk_free(x);
    wisp_blk_free(y);
}

static void shapes_and_orders(void **state)
{
    (void)state;
    ref_rng r = {11};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int trial = 0; trial < 120; trial++) {
        const wisp_type type = (wisp_type)(WISP_S + trial % 4);
        const int64_t n = ref_below(&r, 300), m = trial % 5 ? n : ref_below(&r, 50);
        const int c = 1 << ref_below(&r, 8);
        wisp_mat_opts o = {.C = c, .sigma = ref_below(&r, 2) ? 1 : c * (1 + ref_below(&r, 5))};
        wisp_src src = ref_random_src(&r, type, n, m, 1 + (int)ref_below(&r, 60));
        ref_mat dense = ref_dense(&src);
        wisp_mat *A, *B;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        assert_means(ctx, &r, A, dense, type);
        wisp_mat_info info, plan;
        wisp_mat_get_info(A, &info);
        int64_t nnz = 0; /* a stored zero (sum of duplicates) counts; random values never make one */
        for (int64_t i = 0; i < n * m; i++) nnz += dense.a[i] != 0;
        assert_int_equal(info.nnz, nnz);
        assert_true(info.rows == n && info.cols == m && info.C == c && info.sigma <= o.sigma);
        REF_OK(ctx, wisp_mat_bound(ctx, &src, &o, &plan));
        assert_true(plan.bytes >= info.bytes);
        /* A second matrix on the same map shares its order. */
        if (n == m) {
            wisp_mat_opts on_map = {.map = wisp_mat_map(A), .C = 1};
            REF_OK(ctx, wisp_mat_create(&B, ctx, &src, &on_map));
            assert_ptr_equal(wisp_mat_map(A), wisp_mat_map(B));
            assert_means(ctx, &r, B, dense, type);
            wisp_mat_free(B);
        }
        wisp_mat_free(A);
        ref_free(dense);
        src.free_arg(src.arg);
    }
    int64_t now;
    wisp_ctx_memory(ctx, &now, NULL);
    assert_true(now < 1000000);
    wisp_ctx_free(ctx);
}

/* "All rows" is a window, too. */
static void sorted_as_a_whole(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ref_rng r = {21};
    for (int c = 1; c <= 32; c *= 32) {
        wisp_src src = ref_random_src(&r, WISP_D, 77, 77, 9);
        ref_mat dense = ref_dense(&src);
        wisp_mat *A;
        wisp_mat_info info;
        double ratio;
        wisp_mat_opts o = {.C = c, .sigma = c == 1 ? INT64_MAX : INT64_MAX / 32 * 32};
        REF_OK(ctx, wisp_mat_plan(ctx, &src, &o, &info));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        assert_means(ctx, &r, A, dense, WISP_D);
        REF_OK(ctx, wisp_mat_fill_in(A, c, o.sigma, &ratio));
        assert_true(ratio >= 1 && ratio < 2);
        wisp_mat_free(A);
        ref_free(dense);
        wisp_src_close(&src);
    }
    wisp_ctx_free(ctx);
}

static void stored_types(void **state)
{
    (void)state;
    ref_rng r = {12};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_src src = ref_random_src(&r, WISP_D, 40, 40, 5), complex_src = ref_random_src(&r, WISP_Z, 40, 40, 5);
    ref_mat dense = ref_dense(&src);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = WISP_S}));
    assert_means(ctx, &r, A, dense, WISP_S);
    wisp_mat_free(A);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = WISP_Z}));
    assert_means(ctx, &r, A, dense, WISP_Z);
    wisp_mat_free(A);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &complex_src, &(wisp_mat_opts){.type = WISP_D}), WISP_ERR_UNSUPPORTED,
              "complex values");
    assert_null(A);
    ref_free(dense);
    src.free_arg(src.arg);
    complex_src.free_arg(complex_src.arg);
    wisp_ctx_free(ctx);
}

static void update_keeps_the_pattern(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int c = 1; c <= 32; c *= 32) {
        ref_rng r = {13}, other = {14};
        wisp_src src = ref_random_src(&r, WISP_Z, 90, 90, 7), different = ref_random_src(&other, WISP_Z, 90, 90, 7);
        ref_mat m = ref_dense(&src);
        wisp_mat *A;
        wisp_mat_props before, after;
        double largest = 0;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.C = c, .sigma = c == 1 ? 1 : 64}));
        REF_OK(ctx, wisp_mat_get_props(A, &before));
        REF_OK(ctx, wisp_mat_get_props(A, &after)); /* it keeps them */
        assert_true(after.largest == before.largest && after.asymmetry == before.asymmetry);
        for (int64_t i = 0; i < 90 * 90; i++) {
            if (m.a[i] != 0) m.a[i] = 2 * ref_value(&r, WISP_Z);
            largest = fmax(largest, cabs(m.a[i]));
        }
        wisp_src changed = ref_dense_src(m, WISP_Z);
        REF_OK(ctx, wisp_mat_update(A, &changed));
        assert_means(ctx, &r, A, m, WISP_Z);
        REF_OK(ctx, wisp_mat_get_props(A, &after)); /* those of the new values */
        assert_true(after.largest != before.largest && fabs(after.largest / largest - 1) < 1e-12);
        REF_FAILS(ctx, wisp_mat_update(A, &different), WISP_ERR_MISMATCH, "another pattern");
        wisp_mat_free(A);
        ref_free(m);
        src.free_arg(src.arg), different.free_arg(different.arg), changed.free_arg(changed.arg);
    }
    wisp_ctx_free(ctx);
}

static void properties(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ref_rng r = {16};
    for (int trial = 0; trial < 60; trial++) {
        /* Hermitian, symmetric, skew or general, by turns; then one entry may be spoilt. */
        const int kind = trial % 4, n = 2 + (int)ref_below(&r, 60);
        ref_mat m = ref_new(n, n);
        for (int e = 0; e < 3 * n; e++) {
            const int64_t i = ref_below(&r, n), j = ref_below(&r, n);
            cplx v = ref_value(&r, WISP_Z);
            if (i == j) v = kind == 2 ? 0 : kind == 0 ? creal(v) : v;
            REF_AT(m, i, j) = v;
            if (kind < 3) REF_AT(m, j, i) = kind == 0 ? conj(v) : kind == 1 ? v : -v;
        }
        if (trial % 3 == 0) REF_AT(m, ref_below(&r, n), ref_below(&r, n)) += 1e-15 * I + 1e-15;
        int hermitian = 1, symmetric = 1, skew = 1, pattern = 1;
        int64_t bad_row = -1, bad_col = -1, diagonal = 0, band = 0, empty = 0;
        double lo = INFINITY, hi = -INFINITY;
        for (int i = 0; i < n; i++) {
            double radius = 0;
            int len = 0;
            for (int j = 0; j < n; j++) {
                const cplx v = REF_AT(m, i, j), w = REF_AT(m, j, i);
                pattern &= (v != 0) == (w != 0);
                symmetric &= v == w, skew &= v == -w;
                if (v != 0) {
                    len++, diagonal += i == j;
                    if (labs(i - j) > band) band = labs(i - j);
                    if (i != j) radius += cabs(v);
                    if (v != conj(w) && bad_row < 0) bad_row = i, bad_col = j;
                }
                hermitian &= v == conj(w);
            }
            radius += fabs(cimag(REF_AT(m, i, i)));
            empty += len == 0;
            lo = fmin(lo, creal(REF_AT(m, i, i)) - radius), hi = fmax(hi, creal(REF_AT(m, i, i)) + radius);
        }
        wisp_src src = ref_dense_src(m, WISP_Z);
        for (int c = 1; c <= 4; c *= 4) {
            wisp_mat *A;
            wisp_mat_props p;
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.C = c, .sigma = c == 1 ? 1 : 16}));
            REF_OK(ctx, wisp_mat_get_props(A, &p));
            assert_true(p.square && p.hermitian == hermitian && p.symmetric == symmetric && p.skew == skew);
            assert_int_equal(p.pattern_symmetric, pattern);
            assert_true(p.bad_row == bad_row && (bad_row < 0 || p.bad_col == bad_col));
            assert_true(p.diagonal == diagonal && p.bandwidth == band && p.empty_rows == empty);
            assert_true(p.gershgorin_min <= lo && p.gershgorin_min > lo - 1e-12 * (1 + fabs(lo)));
            assert_true(p.gershgorin_max >= hi && p.gershgorin_max < hi + 1e-12 * (1 + fabs(hi)));
            assert_int_equal(p.nonfinite_row, -1);
            wisp_mat_free(A);
        }
        src.free_arg(src.arg);
        ref_free(m);
    }
    wisp_ctx_free(ctx);
}

static int arrow_row(void *arg, int64_t row, int64_t *col, void *val)
{
    /* Row 0 is full, the others have their diagonal alone; one entry is what arg says. */
    const int n = row == 0 ? 10 : 1;
    for (int k = 0; col && k < n; k++) {
        col[k] = row == 0 ? k : row;
        ((double *)val)[k] = row == 3 ? *(double *)arg : 1;
    }
    return n;
}

static void fill_in_and_histogram(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    double v = 1, ratio;
    wisp_src src = {10, 10, 10, WISP_D, arrow_row, &v, NULL, 0, NULL, 0, NULL};
    wisp_mat *A;
    int64_t hist[4];
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_row_histogram(A, hist, 4));
    assert_true(hist[0] == 0 && hist[1] == 9 && hist[2] == 0 && hist[3] == 1);
    REF_OK(ctx, wisp_mat_fill_in(A, 1, 1, &ratio));
    assert_true(ratio == 1);
    REF_OK(ctx, wisp_mat_fill_in(A, 4, 1, &ratio)); /* 4 * 10 + 4 + 4 (two rows and padding) */
    assert_true(fabs(ratio - 48.0 / 19) < 1e-15);
    REF_FAILS(ctx, wisp_mat_fill_in(A, 4, 6, &ratio), WISP_ERR_ARG, "multiple of C");
    wisp_mat_free(A);
    v = NAN;
    wisp_mat_props p;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_get_props(A, &p));
    assert_int_equal(p.nonfinite_row, 3);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* ---- bad sources and limits ------------------------------------------------------------------ */

static int bad_row_fn(void *arg, int64_t row, int64_t *col, void *val)
{
    const int what = *(int *)arg;
    if (row != 17) return 0;
    if (what == 0) return -1;
    if (what == 1) return 5;         /* more than declared */
    if (what == 2 && col) return -1; /* counts, then fails */
    if (col) col[0] = what == 3 ? 40 : what == 4 ? -1 : 0, ((double *)val)[0] = 1;
    if (what == 5 && col) {
        col[1] = 1, ((double *)val)[1] = 1;
        return 2; /* more than counted */
    }
    return 1;
}

static void bad_sources(void **state)
{
    (void)state;
    static const struct {
        wisp_status status;
        const char *words;
    } want[] = {{WISP_ERR_CALLBACK, "row 17"}, {WISP_ERR_ARG, "declared maximum"},
                {WISP_ERR_CALLBACK, "row 17"}, {WISP_ERR_ARG, "column 40"},
                {WISP_ERR_ARG, "column -1"},   {WISP_ERR_CALLBACK, "gave 2 entries, and 1 when it counted"}};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int what = 0; what < 6; what++) {
        wisp_src src = {40, 40, 4, WISP_D, bad_row_fn, &what, NULL, 0, NULL, 0, NULL};
        wisp_mat *A;
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, NULL), want[what].status, want[what].words);
        assert_null(A);
    }
    double v = 1;
    wisp_src src = {10, 10, 10, WISP_D, arrow_row, &v, NULL, 0, NULL, 0, NULL};
    wisp_mat *A;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.C = 3}), WISP_ERR_ARG, "power of two");
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.C = 8, .sigma = 12}), WISP_ERR_ARG,
              "multiple of C");
    wisp_ctx_free(ctx);
}

static void index_limit(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.index_limit = 100});
    ref_rng r = {17};
    wisp_src fits = ref_random_src(&r, WISP_D, 100, 100, 40), rows = ref_random_src(&r, WISP_D, 101, 100, 3),
             cols = ref_random_src(&r, WISP_D, 100, 101, 3);
    wisp_mat *A;
    wisp_map *map;
    ref_mat dense = ref_dense(&fits);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &fits, NULL)); /* many more entries than the limit */
    assert_means(ctx, &r, A, dense, WISP_D);
    wisp_mat_free(A);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &rows, NULL), WISP_ERR_OVERFLOW, "101 rows");
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &cols, NULL), WISP_ERR_OVERFLOW, "101 rows or columns");
    REF_FAILS(ctx, wisp_map_create(&map, ctx, 101), WISP_ERR_OVERFLOW, "101 rows");
    ref_free(dense);
    fits.free_arg(fits.arg), rows.free_arg(rows.arg), cols.free_arg(cols.arg);
    wisp_ctx_free(ctx);
}

static void memory_limit_and_failures(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.memory_limit = 1000000});
    wisp_map *map;
    wisp_blk *x;
    REF_OK(ctx, wisp_map_create(&map, ctx, 100000));
    REF_FAILS(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 2), WISP_ERR_NOMEM, "memory limit");
    assert_null(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);

    /* Every allocation fails once; nothing may leak or crash, and the message says what happened. */
    ref_rng r = {18};
    wisp_src src = ref_random_src(&r, WISP_Z, 200, 200, 9);
    int reached = 0;
    for (int at = 1; at < 200 && !reached; at++) {
        char number[16];
        snprintf(number, sizeof number, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", number, 1);
        ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
        wisp_mat *A = NULL;
        wisp_blk *a = NULL, *b = NULL, *c = NULL;
        double norm[3];
        wisp_status status;
        WISP_TRY(wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.C = 8, .sigma = 32}));
        WISP_TRY(wisp_blk_create(&a, ctx, wisp_mat_map(A), WISP_Z, 3));
        WISP_TRY(wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_Z, 3));
        WISP_TRY(wisp_blk_cols(&c, b, 1, 1));
        WISP_TRY(wisp_spmmv(b, A, a, NULL));
        WISP_TRY(wisp_norm(b, norm));
    out:
        if (status == WISP_OK)
            reached = at;
        else
            assert_true(status == WISP_ERR_NOMEM && strstr(message_of(ctx), "out of memory"));
        wisp_blk_free(a);
        wisp_blk_free(b);
        wisp_blk_free(c);
        wisp_mat_free(A);
        int64_t now;
        wisp_ctx_memory(ctx, &now, NULL);
        assert_true(now <= 4096); /* the context's scratch */
        wisp_ctx_free(ctx);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    assert_true(reached > 10);
    src.free_arg(src.arg);
}

static void contexts(void **state)
{
    (void)state;
    wisp_ctx *ctx;
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.isa = "mmx"}), WISP_ERR_UNSUPPORTED);
    assert_null(ctx);
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.device = "cuda:0"}), WISP_ERR_UNSUPPORTED);
    for (wisp_status s = WISP_OK; s <= WISP_ERR_PRECISION; s++) assert_true(strlen(wisp_status_string(s)) > 3);
    assert_string_equal(wisp_status_string((wisp_status)999), "unknown status");
    /* Two at once, and the threads are free again afterwards. */
    wisp_ctx *a = ref_ctx(NULL), *b = ref_ctx(NULL);
    assert_int_equal(wisp_ctx_threads(a), wisp_ctx_threads(b));
    wisp_ctx_free(a);
    wisp_ctx_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_and_orders),
        cmocka_unit_test(sorted_as_a_whole),
        cmocka_unit_test(stored_types),
        cmocka_unit_test(update_keeps_the_pattern),
        cmocka_unit_test(properties),
        cmocka_unit_test(fill_in_and_histogram),
        cmocka_unit_test(bad_sources),
        cmocka_unit_test(index_limit),
        cmocka_unit_test(memory_limit_and_failures),
        cmocka_unit_test(contexts),
    };
    return REF_RUN(tests);
}
