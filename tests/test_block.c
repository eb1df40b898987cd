/* Random numbers, and blocks: filled, seen through views, copied in and out. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "base/rng.h"

/* ---- random numbers -------------------------------------------------------------------------- */

static void philox_is_the_published_one(void **state)
{
    (void)state;
    /* Known answers of Salmon et al. for philox4x32-10. The counter is (row low, row high, column, stream). */
    static const struct {
        uint32_t c[4], k[2], r[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        const uint64_t row = known[i].c[0] | (uint64_t)known[i].c[1] << 32,
                       seed = known[i].k[0] | (uint64_t)known[i].k[1] << 32;
        wisp__philox(seed, (int64_t)row, known[i].c[2], known[i].c[3], out);
        assert_memory_equal(out, known[i].r, sizeof out);
    }
}

static void random_blocks(void **state)
{
    (void)state;
    enum { N = 20000, W = 5 };
    for (wisp_type t = WISP_S; t <= WISP_Z; t++) {
        ref_mat first = {0};
        for (int threads = 1; threads <= 3; threads++) {
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1, .level = WISP_LOG_WARN});
            wisp_map *map;
            wisp_blk *x, *part;
            REF_OK(ctx, wisp_map_create(&map, ctx, N));
            REF_OK(ctx, wisp_blk_create(&x, ctx, map, t, W));
            REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 7, 0, 3));
            ref_mat m = ref_get(x);
            cplx sum = 0;
            for (int i = 0; i < N * W; i++) {
                assert_true(cabs(m.a[i]) == 1 && (wisp_type_is_complex(t) || cimag(m.a[i]) == 0));
                sum += m.a[i];
            }
            assert_true(cabs(sum) < 6 * sqrt(N * W));
            /* Column j of a block that begins at column 3 is column 0 of one that begins at 3 + j. */
            REF_OK(ctx, wisp_blk_cols(&part, x, 0, 1));
            REF_OK(ctx, wisp_blk_fill_random(part, WISP_RANDOM_TRACE, 7, 0, 5));
            ref_mat p = ref_get(part);
            for (int i = 0; i < N; i++) assert_true(REF_AT(p, i, 0) == REF_AT(m, i, 2));
            if (threads == 1)
                first = m;
            else
                assert_memory_equal(first.a, m.a, sizeof(cplx) * N * W);
            REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 8, 1, 0));
            ref_mat g = ref_get(x);
            double mean = 0, square = 0, fourth = 0;
            for (int i = 0; i < N * W; i++) {
                const double a2 = creal(g.a[i] * conj(g.a[i]));
                mean += creal(g.a[i]), square += a2, fourth += a2 * a2;
            }
            assert_true(fabs(mean / (N * W)) < 0.02 && fabs(square / (N * W) - 1) < 0.03);
            assert_true(fabs(fourth / (N * W) - (wisp_type_is_complex(t) ? 2 : 3)) < 0.2); /* kurtosis */
            if (threads > 1) ref_free(m);
            ref_free(p), ref_free(g);
            wisp_blk_free(part);
            wisp_blk_free(x);
            wisp_map_free(map);
            wisp_ctx_free(ctx);
        }
        ref_free(first);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int number_it(void *arg, int64_t row, int column, void *val)
{
    *(double *)val = (double)(100 * row + column);
    return row == *(int64_t *)arg;
}

static void views_and_copies(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ref_rng r = {19};
    wisp_src src = ref_random_src(&r, WISP_D, 64, 64, 20);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.C = 4, .sigma = 64})); /* permuted */
    if (wisp_map_local(wisp_mat_map(A), NULL)) assert_false(wisp_map_is_natural(wisp_mat_map(A)));
    int64_t fail_at = -1;
    wisp_blk *x, *v;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 6));
    REF_OK(ctx, wisp_blk_fill_fn(x, number_it, &fail_at));
    ref_mat m = ref_get(x);
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 6; j++) assert_true(REF_AT(m, i, j) == 100 * i + j);
    ref_free(m);
    REF_FAILS(ctx, wisp_blk_rows(&v, x, 0, 3), WISP_ERR_MISMATCH, "natural map");
    double user[64];
    REF_FAILS(ctx, wisp_blk_borrow(&v, ctx, wisp_mat_map(A), WISP_D, 1, user, 1), WISP_ERR_MISMATCH, "natural maps");
    fail_at = 5;
    REF_FAILS(ctx, wisp_blk_fill_fn(x, number_it, &fail_at), WISP_ERR_CALLBACK, "row 5");
    const int64_t sites[6] = {0, 63, 5, 5, 31, 2}, bad[6] = {0, 64, 0, 0, 0, 0};
    REF_OK(ctx, wisp_blk_fill_units(x, sites));
    m = ref_get(x);
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 6; j++) assert_true(REF_AT(m, i, j) == (sites[j] == i));
    ref_free(m);
    REF_FAILS(ctx, wisp_blk_fill_units(x, bad), WISP_ERR_ARG, "no row 64");
    wisp_blk_free(x);
    wisp_mat_free(A);

    wisp_mat *opened;
    REF_OK(ctx, wisp_mat_open(&opened, ctx, "laplace:nx=6,ny=5,points=5", &(wisp_mat_opts){.C = 1}));
    wisp_mat_info info;
    wisp_mat_get_info(opened, &info);
    assert_true(info.rows == 30 && info.nnz == 30 + 2 * (5 * 5 + 6 * 4));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(opened), WISP_D, 2));
    assert_ptr_equal(wisp_blk_map(x), wisp_mat_map(opened));
    assert_ptr_equal(wisp_blk_ctx(x), ctx);
    void *memory;
    int64_t stride;
    REF_OK(ctx, wisp_blk_lend(x, WISP_WRITE, &memory, &stride));
    int64_t first;
    const int64_t local = wisp_map_local(wisp_mat_map(opened), &first);
    for (int i = 0; i < 2 * local; i++) ((double *)memory)[i / 2 * stride + i % 2] = (double)(2 * first + i);
    REF_OK(ctx, wisp_blk_return(x));
    m = ref_get(x);
    for (int i = 0; i < 60; i++) assert_true(m.a[i] == i);
    ref_free(m);
    wisp_blk_free(x);
    wisp_mat_free(opened);

    /* A view of rows and columns of user memory; the parent may go first. */
    wisp_map *map;
    double data[8 * 10];
    for (int i = 0; i < 80; i++) data[i] = i;
    REF_OK(ctx, wisp_map_create(&map, ctx, 8));
    if (ref_far(ctx) || ref_ranks() > 1) {
        if (ref_far(ctx))
            REF_FAILS(ctx, wisp_blk_borrow(&x, ctx, map, WISP_D, 7, data, 10), WISP_ERR_UNSUPPORTED, "copy them");
        wisp_map_free(map);
        src.free_arg(src.arg);
        wisp_ctx_free(ctx);
        return;
    }
    REF_OK(ctx, wisp_blk_borrow(&x, ctx, map, WISP_D, 7, data, 10));
    wisp_map_free(map);
    wisp_blk *cols, *part;
    REF_OK(ctx, wisp_blk_cols(&cols, x, 2, 3));
    REF_OK(ctx, wisp_blk_rows(&part, cols, 4, 2));
    wisp_blk_free(x);
    wisp_blk_free(cols);
    assert_true(wisp_blk_nrows(part) == 2 && wisp_blk_width(part) == 3);
    double out[6];
    REF_OK(ctx, wisp_blk_get(part, WISP_ROW_MAJOR, out, 3));
    for (int i = 0; i < 6; i++) assert_true(out[i] == (4 + i / 3) * 10 + 2 + i % 3);
    REF_OK(ctx, wisp_scal(part, (wisp_scalar){-1, 0}));
    for (int i = 0; i < 80; i++) {
        const int inside = i / 10 >= 4 && i / 10 < 6 && i % 10 >= 2 && i % 10 < 5;
        assert_true(data[i] == (inside ? -i : i));
    }
    wisp_blk_free(part);
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_is_the_published_one),
        cmocka_unit_test(random_blocks),
        cmocka_unit_test(views_and_copies),
    };
    return REF_RUN(tests);
}
