/* Columns as lists of offsets that rows share, with values of their own, against the oracle. (More products:
   test_products.c.) */
#include "data/store/store.h"
#include "storage.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTS = 4 };
static const shape shapes[LISTS] = {SHAPE_BAND, SHAPE_LINES, SHAPE_TURNS, SHAPE_HOLES};

static wisp_mat *open_lists(wisp_ctx *ctx, ref_mat dense, wisp_type type, int width, int C)
{
    wisp_mat *A;
    wisp_mat_info info;
    wisp_src src = ref_dense_src(dense, type);
    REF_OK(ctx,
           wisp_mat_create(
               &A, ctx, &src,
               &(wisp_mat_opts){
                   .width = width, .C = C, .sigma = 1, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_COMPRESSED}));
    src.free_arg(src.arg);
    wisp_mat_get_info(A, &info);
    assert_int_equal(info.format, WISP_FORMAT_COMPRESSED);
    assert_true(wisp__is_kind(&A->local, WISP__LISTS));
    return A;
}

/* More columns than rows, and fewer. */
static void rectangles(void **state)
{
    (void)state;
    ref_rng r = {22};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int wide = 0; wide < 2; wide++)
        for (int width = 1; width <= 4; width += 3) {
            ref_mat dense = shape_dense(&r, SHAPE_BAND, WISP_D, false, wide ? 200 : 300, wide ? 300 : 200);
            wisp_mat *A = open_lists(ctx, dense, WISP_D, width, 0);
            ref_check_product(ctx, &r, A, dense, WISP_D, width, 0, 0, "rectangle");
            ref_check_product(ctx, &r, A, dense, WISP_D, width, WISP_SCALE | WISP_AXPBY, 1, "rectangle");
            wisp_mat_free(A);
            ref_free(dense);
        }
    wisp_ctx_free(ctx);
}

/* What is not finite in x reaches the rows that have an entry there, and no other. */
static void only_where_entries_are(void **state)
{
    (void)state;
    ref_rng r = {23};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int i = 0; i < 120; i++) {
        const shape kind = shapes[i % LISTS];
        const int width = i / LISTS % 2 ? 4 : 1;
        const wisp_type type = i % 3 ? WISP_D : WISP_Z;
        ref_mat dense = shape_dense(&r, kind, type, false, 263, 263), in = ref_random_block(&r, type, 263, width);
        const int64_t bad = ref_below(&r, 263);
        wisp_mat *A = open_lists(ctx, dense, type, width, 0);
        wisp_blk *x, *y;
        in.a[bad * width] = i % 5 ? INFINITY : NAN;
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, width));
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), type, width));
        ref_put(x, in);
        REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
        ref_mat out = ref_get(y);
        for (int64_t row = 0; row < 263; row++) {
            const cplx v = out.a[row * width];
            if ((isfinite(creal(v)) && isfinite(cimag(v))) != (REF_AT(dense, row, bad) == 0))
                fail_msg("%s, %s, width %d: row %lld, bad %lld", shape_name[kind], wisp_type_name(type), width,
                         (long long)row, (long long)bad);
        }
        wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(A);
        ref_free(dense), ref_free(in), ref_free(out);
    }
    wisp_ctx_free(ctx);
}

/* Sums go entry by entry. */
static void bits(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 4, 8, 33};
    ref_rng r = {25};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int i = 0; i < 4 * LISTS * 6; i++) {
            const wisp_type type = (wisp_type)(WISP_S + i % 4);
            const shape kind = shapes[i / 4 % LISTS];
            const int width = widths[i / 4 / LISTS];
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
            if (!ctx) continue;
            ref_mat dense = shape_dense(&r, kind, type, false, 263, 263);
            wisp_mat *A = open_lists(ctx, dense, type, width, i % 3 ? 1 : 0);
            char what[120];
            snprintf(what, sizeof what, "%s: %s, %s, width %d, C = %d", ref_isa[isa], shape_name[kind],
                     wisp_type_name(type), width, 1 << A->log_c);
            ref_check_bits(ctx, &r, A, type, width, what);
            wisp_mat_free(A), wisp_ctx_free(ctx);
            ref_free(dense);
        }
}

/* A matrix whose rows are worth sorting by length has no lists, which keep rows in their order. */
static void sorted(void **state)
{
    (void)state;
    enum { ROWS = 960 };
    ref_rng r = {26};
    wisp_ctx *ctx = ref_ctx(NULL);
    ref_mat dense = ref_new(ROWS, ROWS);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < (i % 8 ? 2 : 40); k++) REF_AT(dense, i, (i + k) % ROWS) = ref_value(&r, WISP_D);
    for (int named = 0; named < 2; named++) {
        wisp_mat *A;
        wisp_mat_info info;
        wisp_src src = ref_dense_src(dense, WISP_D);
        const wisp_mat_opts o = {.C = 16, .sigma = named ? 512 : 0, .format = WISP_FORMAT_COMPRESSED};
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        src.free_arg(src.arg);
        wisp_mat_get_info(A, &info);
        assert_false(wisp__is_kind(&A->local, WISP__LISTS));
        assert_int_equal(info.sigma, 512);
        assert_true(info.bytes < 12 * info.nnz);
        ref_check_product(ctx, &r, A, dense, WISP_D, 1, WISP_DOT_YY, 0, "sorted");
        wisp_mat_free(A);
    }
    wisp_ctx_free(ctx);
    ref_free(dense);
}

/* By default, of lines long enough for the width; new values take the place of the old ones. */
static void choice(void **state)
{
    (void)state;
    ref_rng r = {24};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int l = 0; l < LISTS; l++)
        for (int width = 1; width <= 4; width += 3) {
            const shape kind = shapes[l];
            ref_mat dense = shape_dense(&r, kind, WISP_D, false, 2000, 2000);
            wisp_mat *A;
            wisp_src src = ref_dense_src(dense, WISP_D);
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = width, .order = WISP_ROWS_NATURAL}));
            src.free_arg(src.arg);
            const bool lists = wisp__is_kind(&A->local, WISP__LISTS);
            if (!lists != (width == 1 && kind != SHAPE_BAND)) fail_msg("%s, width %d", shape_name[kind], width);
            for (int64_t i = 0; i < 2000 * 2000; i++)
                if (dense.a[i] != 0) dense.a[i] = ref_value(&r, WISP_D);
            const void *list = lists ? A->local.lists.of : NULL;
            src = ref_dense_src(dense, WISP_D);
            REF_OK(ctx, wisp_mat_update(A, &src));
            src.free_arg(src.arg);
            assert_ptr_equal(wisp__is_kind(&A->local, WISP__LISTS) ? A->local.lists.of : NULL, list);
            ref_check_product(ctx, &r, A, dense, WISP_D, width, WISP_DOT_YY, 0, "new values");
            REF_AT(dense, 3, 1000) = 1;
            src = ref_dense_src(dense, WISP_D);
            REF_FAILS(ctx, wisp_mat_update(A, &src), WISP_ERR_MISMATCH, "row 3");
            src.free_arg(src.arg);
            wisp_mat_free(A);
            ref_free(dense);
        }
    wisp_ctx_free(ctx);
}

/* A large band, which comes from memory: as SELL, and the same for any number of threads. */
static void large(void **state)
{
    (void)state;
    double first[2] = {0};
    const int most = REF_SANITIZED ? 1 : 3; /* threads, for the bits */
    for (int t = 1; t <= most; t++)
        for (int k = 0; k < 2; k++) {
            const int width = k ? 8 : 1;
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = t, .no_pin = 1});
            wisp_mat *A[2];
            wisp_blk *x, *y[2];
            wisp_scalar dot[3 * 8];
            wisp_mat_info info;
            for (int i = 0; i < 2; i++)
                REF_OK(ctx, wisp_mat_open(&A[i], ctx, "band:n=250000,bandwidth=17",
                                          &(wisp_mat_opts){.width = width,
                                                           .order = WISP_ROWS_NATURAL,
                                                           .format = i ? WISP_FORMAT_SELL : WISP_FORMAT_DEFAULT}));
            wisp_mat_get_info(A[0], &info);
            assert_true(wisp__is_kind(&A[0]->local, WISP__LISTS));
            assert_true((double)info.bytes < 9.3 * (double)info.nnz);
            REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A[0]), WISP_D, width));
            REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
            REF_OK(ctx, wisp_blk_create(&y[0], ctx, wisp_mat_map(A[0]), WISP_D, width));
            REF_OK(ctx, wisp_spmmv(y[0], A[0], x, &(wisp_aug){.terms = WISP_DOT_YY, .dot = dot}));
            if (t == 1) first[k] = dot[2 * width].re;
            assert_true(first[k] == dot[2 * width].re);
            ref_mat in = ref_get(x), got = ref_get(y[0]), want;
            wisp_blk_free(x);
            REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A[1]), WISP_D, width));
            REF_OK(ctx, wisp_blk_create(&y[1], ctx, wisp_mat_map(A[1]), WISP_D, width));
            ref_put(x, in);
            REF_OK(ctx, wisp_spmmv(y[1], A[1], x, NULL));
            want = ref_get(y[1]);
            ref_assert_close("band", got, want, 1e-14);
            ref_free(in), ref_free(got), ref_free(want);
            for (int i = 0; i < 2; i++) wisp_blk_free(y[i]), wisp_mat_free(A[i]);
            wisp_blk_free(x), wisp_ctx_free(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rectangles), cmocka_unit_test(only_where_entries_are),
                                       cmocka_unit_test(choice),     cmocka_unit_test(large),
                                       cmocka_unit_test(bits),       cmocka_unit_test(sorted)};
    return REF_RUN(tests);
}
