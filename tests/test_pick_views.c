/* Views of scattered views of columns (wisp_blk_pick). */
#include "ref.h"

/* Fails unless column j of the view has the number want[j] in all rows. */
static void expect(wisp_blk *v, const int *want)
{
    ref_mat got = ref_get(v);
    for (int64_t i = 0; i < got.rows; i++)
        for (int j = 0; j < got.cols; j++) assert_true(REF_AT(got, i, j) == want[j]);
    ref_free(got);
}

static void views(void **state)
{
    (void)state;
    enum { ROWS = 60, WIDTH = 8 };
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_map *map;
    wisp_blk *x, *right, *a, *b, *c;
    ref_mat m = ref_new(ROWS, WIDTH);
    void *data;
    for (int i = 0; i < ROWS * WIDTH; i++) m.a[i] = i % WIDTH;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_C, WIDTH));
    ref_put(x, m);
    REF_OK(ctx, wisp_blk_cols(&right, x, 1, 7)); /* 1 .. 7 */
    REF_OK(ctx, wisp_blk_pick(&a, right, 5, (int[]){6, 2, 3, 0, 4}));
    wisp_blk_free(right);
    expect(a, (int[]){7, 3, 4, 1, 5});
    REF_OK(ctx, wisp_blk_pick(&b, a, 3, (int[]){3, 0, 4}));
    expect(b, (int[]){1, 7, 5});
    wisp_blk_free(b);
    REF_OK(ctx, wisp_blk_cols(&b, a, 2, 3));
    expect(b, (int[]){4, 1, 5});
    if (ref_ranks() == 1) {
        REF_OK(ctx, wisp_blk_rows(&c, b, 10, 3));
        wisp_blk_free(b);
        assert_int_equal(wisp_blk_nrows(c), 3);
        expect(c, (int[]){4, 1, 5});
        REF_OK(ctx, wisp_blk_fill(c, (wisp_scalar){-1, 0}));
        ref_mat all = ref_get(x);
        for (int i = 0; i < ROWS * WIDTH; i++) {
            const int j = i % WIDTH, in = i / WIDTH >= 10 && i / WIDTH < 13 && (j == 4 || j == 1 || j == 5);
            assert_true(all.a[i] == (in ? -1 : j));
        }
        ref_free(all);
        wisp_blk_free(c);
    } else {
        wisp_blk_free(b);
    }
    /* Rising neighbours are an ordinary view, however they were come by. */
    REF_OK(ctx, wisp_blk_pick(&b, a, 2, (int[]){1, 2}));
    REF_OK(ctx, wisp_blk_pick(&c, a, 1, (int[]){3}));
    REF_OK(ctx, wisp_blk_lend(b, WISP_WRITE, &data, NULL));
    REF_OK(ctx, wisp_blk_return(b));
    REF_OK(ctx, wisp_blk_lend(c, WISP_WRITE, &data, NULL));
    REF_OK(ctx, wisp_blk_return(c));
    wisp_blk_free(b), wisp_blk_free(c), wisp_blk_free(x);
    wisp_blk_free(a); /* the last that holds the memory */
    ref_free(m);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(views)};
    return REF_RUN(tests);
}
