/* A^H of sources: against the dense one, of all types and shapes, with empty rows and columns and entries given twice;
   its products on matrices; what ranks have of it. */
#include "kpm_dense.h"

static ref_mat dense_adjoint(ref_mat a)
{
    ref_mat h = ref_new(a.cols, a.rows);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < a.cols; j++) REF_AT(h, j, i) = conj(REF_AT(a, i, j));
    return h;
}

/* Numbers are kept bit by bit, and the adjoint of the adjoint is the matrix. */
static void sources(void **state)
{
    (void)state;
    ref_rng r = {43};
    for (int trial = 0; trial < 80; trial++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + trial % 2});
        const wisp_type type = (wisp_type)(WISP_S + trial % 4);
        const int64_t rows = trial == 0 ? 0 : trial % 8 == 7 ? 2000 : 1 + ref_below(&r, 200);
        const int64_t cols = trial % 3 ? 1 + ref_below(&r, 150) : rows;
        wisp_src src = ref_random_src(&r, type, rows, cols, 1 + trial % 15), adjoint, again;
        int64_t before, after;
        wisp_ctx_memory(ctx, &before, NULL);
        REF_OK(ctx, wisp_src_adjoint(&adjoint, ctx, &src));
        assert_true(adjoint.type == type && adjoint.rows == cols && adjoint.cols == rows);
        ref_mat a = ref_dense(&src);
        ref_round(a, type);
        ref_mat want = dense_adjoint(a);
        if (!adjoint.own_rows) {
            ref_mat got = ref_dense(&adjoint);
            ref_assert_close("adjoint", got, want, ref_eps(type));
            REF_OK(ctx, wisp_src_adjoint(&again, ctx, &adjoint));
            ref_mat first = ref_dense(&again);
            ref_assert_close("adjoint of the adjoint", first, a, ref_eps(type));
            wisp_src_close(&again);
            ref_free(got), ref_free(first);
        }
        wisp_src_close(&adjoint);
        wisp_ctx_memory(ctx, &after, NULL);
        assert_true(before == after);
        ref_free(a), ref_free(want);
        wisp_src_close(&src);
        ref_nothing_left(ctx);
        wisp_ctx_free(ctx);
    }
}

/* <y, A x> = <A^H y, x>, and A^H y as the dense one has it: also where ranks have their rows alone. */
static void products(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {47};
    static const int widths[] = {1, 3, 5, 33};
    for (int p = 0; p < 2 * REF_PAIRS; p++) {
        const ref_types t = ref_pair[p % REF_PAIRS];
        const int64_t n = 1 + ref_below(&r, 120);
        wisp_src src = ref_random_src(&r, t.mat, n, n, 7), adjoint;
        ref_mat a = ref_dense(&src);
        ref_round(a, t.mat);
        ref_mat h = dense_adjoint(a), v = ref_random_block(&r, t.blk, n, widths[p % 4]), want = ref_times(h, v);
        wisp_mat *A;
        wisp_blk *x, *y;
        REF_OK(ctx, wisp_src_adjoint(&adjoint, ctx, &src));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &adjoint, NULL));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), t.blk, (int)v.cols));
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), t.blk, (int)v.cols));
        ref_put(x, v);
        REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
        ref_mat got = ref_get(y);
        ref_assert_close("A^H x", got, want, 20 * ref_eps(t.blk));
        wisp_blk_free(x), wisp_blk_free(y);
        wisp_mat_free(A);
        wisp_src_close(&adjoint), wisp_src_close(&src);
        ref_free(a), ref_free(h), ref_free(v), ref_free(want), ref_free(got);
    }
}

static int broken_row(void *arg, int64_t row, int64_t *col, void *val)
{
    (void)arg, (void)col, (void)val;
    return row == 3 ? -1 : 0;
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_src src = {.rows = 5, .cols = 7, .max_row = 1, .type = WISP_D, .row = broken_row}, adjoint;
    REF_FAILS(ctx, wisp_src_adjoint(&adjoint, ctx, &src), WISP_ERR_CALLBACK, "row 3");
    assert_null(adjoint.row);
}

static wisp_status call(wisp_ctx *ctx, void *arg)
{
    wisp_src adjoint;
    const wisp_status status = wisp_src_adjoint(&adjoint, ctx, arg);
    if (status == WISP_OK) wisp_src_close(&adjoint);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    ref_rng r = {5};
    wisp_src src = ref_random_src(&r, WISP_C, 90, 40, 6);
    assert_true(ref_failing_memory(call, &src, 200, 20) > 5);
    wisp_src_close(&src);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources), cmocka_unit_test_setup_teardown(products, ref_setup_all, ref_teardown),
        cmocka_unit_test_setup_teardown(refusals, ref_setup_all, ref_teardown), cmocka_unit_test(failing_memory)};
    return REF_RUN(tests);
}
