/* The model that orders of rows are chosen by, against closed forms, and what is worth a prefetch. */
#include "backend/cpu/prepare.h"
#include "data/store/store.h"
#include "order/order.h"
#include "lattice.h"
#include "topo/machine.h"
#include <math.h>

/* Bytes fetched until a row of an nx x ny lattice comes up for the last time: two lines of ny rows. */
static double two_lines(int ny, int64_t row_bytes, int64_t entry_bytes)
{
    return 2.0 * ny * (2.0 * (double)row_bytes + 5.0 * (double)entry_bytes + 12);
}

/* Closed forms: a lattice in natural order needs two lines in the cache; without them each row comes three times. */
static void model_counts(void **state)
{
    (void)state;
    const int nx = 60, ny = 100;
    const int64_t row = 256, entry = 12;
    lattice l;
    wisp_src src = lattice_open(&l, nx, ny, 1, 0);
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    wisp__traffic t;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = WISP_ROWS_NATURAL, .C = 1}));
    wisp__host_mat host;
    assert_int_equal(wisp__mat_lend(A, WISP_READ, &host), WISP_OK);
    const wisp__ordered w = wisp__ordered_of(&host.mat);
    const double need = two_lines(ny, row, entry);
    REF_OK(ctx, wisp__ordered_traffic(ctx, &w, WISP_D, (int)row / 8, &(wisp__caches){.l2 = 1.2 * need, .l3 = 10 * need},
                                      &t));
    assert_true(t.excess == 1 && t.from_l3 == 0 && t.least > 0 && t.seconds >= t.least);
    REF_OK(ctx, wisp__ordered_traffic(ctx, &w, WISP_D, (int)row / 8,
                                      &(wisp__caches){.l2 = 0.1 * need, .l3 = 2.5 * need}, &t));
    assert_true(t.excess == 1 && t.seconds > t.least);
    const double twice = 2 * (double)row * (nx - 2) / nx; /* the first and last line come twice in all */
    assert_true(fabs(t.from_l3 - twice) < 0.05 * twice);
    REF_OK(ctx, wisp__ordered_traffic(ctx, &w, WISP_D, (int)row / 8,
                                      &(wisp__caches){.l2 = 0.1 * need, .l3 = 0.1 * need}, &t));
    assert_true(fabs(t.excess - 3) < 0.1);
    assert_true(t.seconds > t.least);
    wisp__mat_return(&host);
    wisp_gather gather;
    REF_OK(ctx, wisp_mat_gather(A, WISP_D, 1, &gather)); /* 48 KB fit any second-level cache */
    assert_true(gather.excess == 1 && gather.from_l3 == 0);
    REF_FAILS(ctx, wisp_mat_gather(A, WISP_D, 0, &gather), WISP_ERR_ARG, "width 0");
    wisp_mat_free(A);
    lattice_close(&l);
    wisp_ctx_free(ctx);
}

/* Slices of p rows in a line leave an excess of 2/p where the natural order has 2. */
static void tiles_save_traffic(void **state)
{
    (void)state;
    const int nx = 100, ny = 264, per = 11; /* rows of a block */
    const int64_t row = 256, entry = 12;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
    for (int scrambled = 0; scrambled < 2; scrambled++) {
        lattice l;
        wisp_src src = lattice_open(&l, nx, ny, 1, (uint64_t)scrambled);
        wisp_mat *A;
        wisp__levels v;
        wisp__traffic t;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = WISP_ROWS_NATURAL, .C = 1}));
        wisp__host_mat host;
        assert_int_equal(wisp__mat_lend(A, WISP_READ, &host), WISP_OK);
        const wisp__graph graph = {A->local_rows, host.mat.local.chunk, host.mat.local.col};
        const int64_t blocks = (A->local_rows + per - 1) / per;
        int32_t *visit = malloc((size_t)blocks * sizeof *visit);
        if (scrambled)
            REF_OK(ctx, wisp__levels_rcm(ctx, &graph, &v));
        else
            REF_OK(ctx, wisp__levels_natural(ctx, A->local_rows, ny, &v));
        assert_int_equal(v.begin[0], 0);
        assert_int_equal(v.begin[v.levels], A->local_rows);
        for (int slices = 12; slices >= 6; slices /= 2) {
            REF_OK(ctx, wisp__tiles_visit(ctx, &v, A->local_rows, slices, per, visit));
            wisp__ordered w = wisp__ordered_of(&host.mat);
            w.user = v.row, w.place = v.place;
            w.visit = visit, w.visits = blocks, w.visit_rows = per;
            const double cache = 3 * two_lines(ny / slices, row, entry);
            REF_OK(ctx,
                   wisp__ordered_traffic(ctx, &w, WISP_D, (int)row / 8, &(wisp__caches){.l2 = cache, .l3 = cache}, &t));
            const double expect = 1 + 2.0 * (slices - 1) / ny;
            if (scrambled)
                assert_true(t.excess <
                            (slices == 12 ? 1.9 : 1.6)); /* blocks are wider than slices, levels uneven; else 3 */
            else
                assert_true(fabs(t.excess - expect) < 0.02);
        }
        wisp__levels_free(ctx, &v);
        free(visit);
        wisp__mat_return(&host);
        wisp_mat_free(A);
        lattice_close(&l);
    }
    wisp_ctx_free(ctx);
}

/* Caches of so many bytes, whatever this machine has. */
static void set_caches(wisp_ctx *ctx, int64_t l2, int64_t kept)
{
    wisp__topology(ctx);
    ctx->topology.cache_bytes[WISP_L2] = l2;
    ctx->topology.cache_bytes[WISP_L3] = 0;
    wisp_ctx_set_cache(ctx, kept);
}

static wisp__facts facts_with(wisp_ctx *ctx, int64_t l2, int64_t kept)
{
    set_caches(ctx, l2, kept);
    return wisp__facts_of(ctx);
}

/* Of a lattice's five entries the one a line ahead is new; where no line stays near, those of the three lines; where
   nothing does, all. The same if the rows are stored as patterns. */
static void new_gathers(void **state)
{
    (void)state;
    const int nx = 60, ny = 100;
    enum { W = 16 };
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1});
    for (int patterns = 0; patterns < 2; patterns++) {
        lattice l;
        wisp_src src = lattice_open(&l, nx, ny, 1, 0);
        wisp_mat *A;
        const wisp_format format = patterns ? WISP_FORMAT_COMPRESSED : WISP_FORMAT_SELL;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src,
                                    &(wisp_mat_opts){.order = WISP_ROWS_NATURAL, .width = W, .format = format}));
        assert_int_equal(wisp__is_kind(&A->local, WISP__PATTERNS), patterns);
        const int64_t line = 2 * ny * W * 8;                                       /* of x and y */
        static const unsigned want[] = {1u << 4, 1u << 4 | 1u << 3 | 1u << 0, 31}; /* -ny, -1, 0, 1, ny */
        const int64_t near[] = {4 * line, line / 4, 1};
        for (int i = 0; i < 3; i++) {
            set_caches(ctx, 2 * near[i], 1);
            REF_OK(ctx, wisp__mat_prepare(A));
            wisp__host_mat host;
            REF_OK(ctx, wisp__mat_lend(A, WISP_READ, &host));
            const uint32_t *fresh = wisp__cpu_prepared_of(&A->entries)->fresh;
            const wisp__stored *s = &host.mat.local;
            int64_t right = 0, rows = 0;
            for (int64_t row = 5 * ny; row < (nx - 5) * ny; row++) {
                if (row % ny < 2 || row % ny > ny - 3) continue;
                right += fresh[patterns ? s->patterns.of[row] : row] == want[i];
                rows++;
            }
            assert_true(right >= rows * 98 / 100);
            wisp__mat_return(&host);
        }
        wisp_mat_free(A);
        lattice_close(&l);
    }
    wisp_ctx_free(ctx);
}

/* When gathered block rows are asked for ahead: lines of 64 bytes from the last cache only where rows repeat. */
static void who_asks(void **state)
{
    (void)state;
    enum { ROWS = 10000 }; /* 640 kB of lines; with y and the matrix 2.28 MB */
    const double line = 64, matrix = 1e6;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp__facts f = facts_with(ctx, 1000000, 1200000);
    assert_false(wisp__asks_gathered(&f, false, line, ROWS, matrix));
    assert_true(wisp__asks_gathered(&f, true, line, ROWS, matrix));
    assert_true(wisp__asks_gathered(&f, false, line + 1, ROWS, matrix));
    f = facts_with(ctx, 1000000, 1100000);
    assert_true(wisp__asks_gathered(&f, false, line, ROWS, matrix));
    f = facts_with(ctx, 1280000, 1100000); /* half of it holds the lines */
    assert_false(wisp__asks_gathered(&f, true, line, ROWS, matrix));
    wisp_ctx_free(ctx);
}

/* Blocks in turn, several at a time: every one is done once, and dots add up as ever; whatever the number of threads.
 */
static void turns(void **state)
{
    (void)state;
    enum { W = 32, TERMS = WISP_SCALE | WISP_DOT_XY };
    wisp_scalar dot[3][3 * W];
    for (int threads = 1; threads <= 3; threads++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1});
        wisp_mat *A;
        wisp_blk *x, *y;
        if (threads > 1) set_caches(ctx, 0, 0);
        REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=5,nx=600,ny=500",
                                  &(wisp_mat_opts){.width = W, .order = WISP_ROWS_NATURAL}));
        assert_true(A->grid.blocks > 1024 && wisp__blocks_per_turn(&wisp__cpu_row_cut, A->grid.blocks, threads) == 2);
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, W));
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, W));
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 1, 0, 0));
        REF_OK(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = TERMS, .alpha = {1, 0}, .dot = dot[threads - 1]}));
        assert_memory_equal(dot[threads - 1] + W, dot[0] + W, W * sizeof **dot);
        assert_true(dot[0][W].re != 0);
        wisp_blk_free(x);
        wisp_blk_free(y);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    assert_true(wisp__blocks_per_turn(&wisp__cpu_row_cut, 0, 2) == 1);
}

/* Where caches hold no two planes of a lattice, other numbers would do better for x alone; but then no rows repeat. */
static void rows_that_repeat_keep_their_numbers(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
    wisp_mat *A;
    ctx->rates = (wisp__rates){.memory = 1e9, .l3 = 1e9, .l2 = 1e18, .exchange = 1e18, .loads = 1e18, .l2_bytes = 40e3};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=27,nx=20,ny=70,nz=70", &(wisp_mat_opts){.width = 32}));
    assert_true(!A->map->user && wisp__is_kind(&A->local, WISP__PATTERNS));
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Slices that were chosen for some caches are taken for others, and give the same bits. */
static void slices_repeat(void **state)
{
    (void)state;
    enum { W = 16 };
    const int64_t near = 350000; /* half of it holds three lines of about 270 rows, of 2000 */
    lattice l;
    wisp_src src = lattice_open(&l, 60, 2000, 1, 0);
    wisp_mat_opts o = {.order = WISP_ROWS_TILES, .width = W};
    wisp_mat_info info[3];
    wisp_scalar dot[3][3 * W];
    for (int i = 0; i < 3; i++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + i % 2, .no_pin = 1});
        wisp_mat *A;
        wisp_blk *x, *y;
        set_caches(ctx, i ? 3 * near : near, i ? 9 * near : 3 * near);
        if (i == 2) o.tiles_on = info[0].tiles_on, o.slices = info[0].slices;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        wisp_mat_get_info(A, &info[i]);
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, W));
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, W));
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
        REF_OK(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_DOT_XY | WISP_DOT_YY, .dot = dot[i]}));
        wisp_blk_free(x);
        wisp_blk_free(y);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    if (info[0].local_rows > 0) {
        assert_int_equal(info[0].tiles_on, WISP_ROWS_NATURAL);
        assert_int_not_equal(info[0].slices, info[1].slices);
    }
    assert_int_equal(info[2].slices, info[0].slices);
    assert_memory_equal(dot[2] + W, dot[0] + W, 2 * W * sizeof **dot);
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    o.tiles_on = WISP_ROWS_RCM, o.slices = 5; /* of rows that would be taken as they come */
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
    wisp_mat_get_info(A, &info[0]);
    if (info[0].local_rows > 0) {
        assert_int_equal(info[0].tiles_on, WISP_ROWS_RCM);
        assert_int_equal(info[0].slices, 5);
        assert_non_null(A->map->user);
    }
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    lattice_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_counts), cmocka_unit_test(tiles_save_traffic),
        cmocka_unit_test(new_gathers),  cmocka_unit_test(who_asks),
        cmocka_unit_test(turns),        cmocka_unit_test(rows_that_repeat_keep_their_numbers),
        cmocka_unit_test(slices_repeat)};
    return REF_RUN(tests);
}
