/* The yardstick of `wisp bench kpm` does the step that wisp_spmmv does. */
#include "ref.h"
#include <math.h>
#include "tool/bench/reference.h"

enum { MOST_WIDTH = 32 };

/* Steps of the yardstick against those of the op; the numbers agree to rounding. */
static void check_steps(wisp_ctx *ctx, const wisp_src *src, int width)
{
    wisp_mat *A;
    wisp_blk *v, *w;
    bench_reference *r;
    wisp_scalar shift[MOST_WIDTH], dot[3 * MOST_WIDTH], same[2 * MOST_WIDTH];
    REF_OK(ctx, wisp_mat_create(&A, ctx, src, NULL));
    REF_OK(ctx, bench_reference_open(&r, ctx, src, width, 5));
    REF_OK(ctx, wisp_blk_create(&v, ctx, wisp_mat_map(A), src->type, width));
    REF_OK(ctx, wisp_blk_create(&w, ctx, wisp_mat_map(A), src->type, width));
    REF_OK(ctx, wisp_blk_fill_random(v, WISP_RANDOM_TRACE, 5, 0, 0));
    for (int j = 0; j < width; j++) shift[j] = (wisp_scalar){0.3, 0};
    for (int step = 0; step < 4; step++) {
        const wisp_aug aug = {.terms = REF_KPM, .alpha = {0.2, 0}, .beta = {-1, 0}, .shift = shift, .dot = dot};
        REF_OK(ctx, wisp_spmmv(w, A, v, &aug));
        REF_OK(ctx, bench_reference_step(r, 0.2, 0.3, -1, same));
        for (int j = 0; j < 2 * width; j++) {
            assert_true(fabs(dot[j].re - same[j].re) <= 1e-12 * (1 + fabs(dot[j % width].re)));
            assert_true(same[j].im == 0);
        }
        wisp_blk *swap = v;
        v = w;
        w = swap;
    }
    bench_reference_close(r);
    wisp_blk_free(v);
    wisp_blk_free(w);
    wisp_mat_free(A);
}

static void check_widths(wisp_ctx *ctx, const char *name, int least_width)
{
    for (int width = least_width; width <= MOST_WIDTH; width *= 2) {
        wisp_src src;
        REF_OK(ctx, wisp_src_open(&src, ctx, name));
        check_steps(ctx, &src, width);
        wisp_src_close(&src);
    }
}

static void steps(void **state)
{
    (void)state;
    for (int i = 0; i < REF_ISAS; i++)
        for (int threads = 1; threads <= 3; threads++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[i], threads);
            if (!ctx) continue;
            check_widths(ctx, "topi:nx=5,ny=4,nz=3", 1);
            check_widths(ctx, "anderson:nx=7,ny=5,nz=3,disorder=2", 1);
            check_widths(ctx, "laplace:nx=2,ny=2,periodic=xy", 1);
            if (threads == 2) check_widths(ctx, "topi:nx=16,ny=16,nz=16", MOST_WIDTH); /* arrays of many pages */
            wisp_ctx_free(ctx);
        }
}

/* Rows out of order, with duplicates, long ones and empty ones; more threads than rows; no rows at all. */
static void any_rows(void **state)
{
    (void)state;
    ref_rng rng = {11};
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 4});
    for (int i = 0; i < 40; i++) {
        const int64_t rows = i < 8 ? i / 2 : 1 + ref_below(&rng, 300);
        wisp_src src = ref_random_src(&rng, i % 2 ? WISP_Z : WISP_D, rows, rows, i < 20 ? 6 : 90);
        check_steps(ctx, &src, 1 << i % 6);
        wisp_src_close(&src);
    }
    wisp_ctx_free(ctx);
}

/* The same row again and again, or what `arg` says. */
enum { ROW_FAILS = 1, ROW_CHANGES, ROW_TOO_LONG, ROW_BELOW, ROW_BEYOND };
static int bad_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const int bad = row == 5 ? *(const int *)arg : 0;
    if (bad == ROW_FAILS) return -1;
    if (bad == ROW_TOO_LONG) return 3;
    if (bad == ROW_CHANGES && !col) return 2;
    if (col) {
        col[0] = bad == ROW_BELOW ? -1 : bad == ROW_BEYOND ? 9 : row;
        *(double *)val = 1;
    }
    return 1;
}

static void refusals(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2});
    bench_reference *r;
    int bad = 0;
    wisp_src src = {.rows = 9, .cols = 9, .max_row = 2, .type = WISP_D, .row = bad_row, .arg = &bad};
    static const int width[] = {0, 3, 64, -1};
    for (int i = 0; i < 4; i++)
        REF_FAILS(ctx, bench_reference_open(&r, ctx, &src, width[i], 0), WISP_ERR_UNSUPPORTED, "widths 1, 2, 4");
    src.type = WISP_S;
    REF_FAILS(ctx, bench_reference_open(&r, ctx, &src, 1, 0), WISP_ERR_UNSUPPORTED, "double precision");
    src.type = WISP_D;
    src.cols = 10;
    REF_FAILS(ctx, bench_reference_open(&r, ctx, &src, 1, 0), WISP_ERR_UNSUPPORTED, "square");
    src.cols = 9;
    for (bad = ROW_FAILS; bad <= ROW_BEYOND; bad++) {
        REF_FAILS(ctx, bench_reference_open(&r, ctx, &src, 2, 0), WISP_ERR_CALLBACK, "the row callback failed");
        assert_null(r);
    }
    bad = 0;
    REF_OK(ctx, bench_reference_open(&r, ctx, &src, 2, 0));
    bench_reference_close(r);
    bench_reference_close(NULL);
    wisp_ctx_free(ctx);
}

static int far_device(void)
{
    wisp_ctx *ctx = ref_ctx(NULL);
    const int far = ref_far(ctx);
    wisp_ctx_free(ctx);
    return far;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps), cmocka_unit_test(any_rows), cmocka_unit_test(refusals)};
    if (far_device()) return REF_SKIPPED; /* it computes in place, in memory of its own */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
