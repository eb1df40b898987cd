/* Orders of rows: nothing of them is to be seen from outside, and each is what it says. */
#include "data/store/store.h"
#include "order/order.h"
#include "lattice.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wisp_order orders[] = {WISP_ROWS_NATURAL, WISP_ROWS_RCM, WISP_ROWS_TILES, WISP_ROWS_DEFAULT};

/* Every block of rows is visited once, every place holds one row, every row has one place. */
static void check_map(const wisp_map *map)
{
    if (map->visit) {
        char *seen = calloc((size_t)map->visits, 1);
        assert_int_equal(map->visits, (map->local + map->visit_rows - 1) / map->visit_rows);
        assert_int_equal(map->visit_rows % K_STRIP, 0);
        for (int64_t i = 0; i < map->visits; i++) {
            assert_in_range(map->visit[i], 0, map->visits - 1);
            assert_int_equal(seen[map->visit[i]]++, 0);
        }
        free(seen);
    }
    if (!map->user) {
        assert_null(map->position);
        return;
    }
    for (int64_t i = 0; i < map->local; i++) {
        assert_in_range(map->user[i], 0, map->local - 1);
        assert_int_equal(map->position[map->user[i]], i);
    }
}

static void assert_close(ref_mat a, ref_mat b, double tolerance)
{
    double most = 1;
    for (int64_t i = 0; i < b.rows * b.cols; i++) most = fmax(most, cabs(b.a[i]));
    for (int64_t i = 0; i < a.rows * a.cols; i++) assert_true(cabs(a.a[i] - b.a[i]) <= tolerance * most);
}

/* The op with two dots against the oracle, in the user's order. */
static void check_spmmv(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, ref_mat dense, wisp_type type, int width)
{
    wisp_blk *x, *y;
    wisp_scalar dot[3 * 8];
    cplx want[3 * 8];
    const unsigned terms = WISP_DOT_YY | WISP_SCALE;
    ref_mat xr = ref_random_block(r, type, dense.cols, width), yr = ref_new(dense.rows, width);
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_col_map(A), type, width));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), type, width));
    ref_put(x, xr);
    REF_OK(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = terms, .alpha = {0.5, 0}, .dot = dot}));
    ref_spmmv(yr, dense, xr, yr, &(ref_aug){.terms = terms, .alpha = 0.5}, want);
    ref_mat got = ref_get(y);
    assert_close(got, yr, ref_eps(type));
    for (int j = 0; j < width; j++)
        assert_true(fabs(dot[2 * width + j].re - creal(want[2 * width + j])) <=
                    ref_eps(type) * (1 + creal(want[2 * width + j])));
    wisp_blk_free(x);
    wisp_blk_free(y);
    ref_free(xr), ref_free(yr), ref_free(got);
}

/* What a matrix says of itself does not depend on the order, but for the rounding of sums. */
static void check_props(wisp_ctx *ctx, const wisp_mat *A, const wisp_mat *natural)
{
    wisp_mat_props a, b;
    wisp_mat_info i, j;
    REF_OK(ctx, wisp_mat_get_props(A, &a));
    REF_OK(ctx, wisp_mat_get_props(natural, &b));
    assert_true(fabs(a.gershgorin_min - b.gershgorin_min) <= 1e-12 * (1 + fabs(b.gershgorin_min)));
    assert_true(fabs(a.gershgorin_max - b.gershgorin_max) <= 1e-12 * (1 + fabs(b.gershgorin_max)));
    assert_true(fabs(a.asymmetry - b.asymmetry) <= 1e-12 * (1 + b.asymmetry));
    a.gershgorin_min = b.gershgorin_min, a.gershgorin_max = b.gershgorin_max, a.asymmetry = b.asymmetry;
    ref_same_props(&a, &b);
    wisp_mat_get_info(A, &i);
    wisp_mat_get_info(natural, &j);
    assert_int_equal(i.nnz, j.nnz);
}

/* Random patterns are not symmetric and have empty rows, duplicates and many components. */
static void random_matrices(void **state)
{
    (void)state;
    static const int sizes[] = {0, 1, 2, 3, 17, 60, 333};
    ref_rng r = {1};
    for (int t = WISP_S; t <= WISP_Z; t++)
        for (int n = 0; n < 7; n++)
            for (int o = 0; o < 4; o++) {
                const wisp_type type = (wisp_type)t;
                wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + (int)ref_below(&r, 3), .no_pin = 1});
                wisp_src src = ref_random_src(&r, type, sizes[n], sizes[n], 1 + (int)ref_below(&r, 9));
                ref_mat dense = ref_dense(&src);
                wisp_mat *natural, *A;
                wisp_mat_opts opts = {.order = WISP_ROWS_NATURAL};
                REF_OK(ctx, wisp_mat_create(&natural, ctx, &src, &opts));
                opts.order = orders[o];
                opts.width = 1 + (int)ref_below(&r, 8);
                opts.C = 1 << ref_below(&r, 5);
                opts.sigma = ref_below(&r, 2) ? 1 : opts.C * (1 + ref_below(&r, 9));
                REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &opts));
                wisp_mat_info info;
                wisp_mat_get_info(A, &info);
                assert_int_equal(info.order, sizes[n] < 2 || o == 3 ? WISP_ROWS_NATURAL : orders[o]);
                check_map(wisp_mat_map(A));
                check_props(ctx, A, natural);
                check_spmmv(ctx, &r, A, dense, type, opts.width);
                wisp_mat_free(A);
                wisp_mat_free(natural);
                ref_free(dense);
                src.free_arg(src.arg);
                wisp_ctx_free(ctx);
            }
}

static void rectangular(void **state)
{
    (void)state;
    ref_rng r = {2};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int o = 0; o < 4; o++) {
        wisp_src src = ref_random_src(&r, WISP_D, 70, 41, 5);
        ref_mat dense = ref_dense(&src);
        wisp_mat *A;
        wisp_mat_info info;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = orders[o], .width = 4}));
        wisp_mat_get_info(A, &info);
        assert_int_equal(info.order, WISP_ROWS_NATURAL);
        assert_true(wisp_map_is_natural(wisp_mat_map(A)));
        check_spmmv(ctx, &r, A, dense, WISP_D, 4);
        wisp_mat_free(A);
        ref_free(dense);
        src.free_arg(src.arg);
    }
    wisp_src src = ref_random_src(&r, WISP_D, 5, 5, 5);
    wisp_mat *A;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = (wisp_order)9}), WISP_ERR_ARG, "order");
    const wisp_mat_opts refused[] = {{.order = WISP_ROWS_RCM, .slices = 2},
                                     {.tiles_on = WISP_ROWS_RCM},
                                     {.order = WISP_ROWS_TILES, .slices = -1},
                                     {.order = WISP_ROWS_TILES, .tiles_on = WISP_ROWS_TILES}};
    for (int i = 0; i < 4; i++)
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &refused[i]), WISP_ERR_ARG, i < 3 ? "opts.slices" : "tiles_on");
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
}

/* ---- RCM ------------------------------------------------------------------------------------- */

/* Largest distance from the diagonal, as stored. */
static int64_t stored_bandwidth(const wisp_mat *A)
{
    wisp__host_mat host;
    const wisp__stored *s = &host.mat.local;
    int64_t most = 0;
    assert_int_equal(wisp__mat_lend(A, WISP_READ, &host), WISP_OK);
    for (int64_t i = 0; i < A->local_rows; i++)
        for (int k = 0; k < s->row_len[i]; k++)
            most = WISP__MAX(most, llabs(s->col[wisp__sell_at(s, A->log_c, i, k)] - i));
    wisp__mat_return(&host);
    return most;
}

/* Chains come out as chains, and an nx x ny lattice with a band of min(nx, ny) + 1 at most, however they were numbered.
 */
static void rcm_finds_bands(void **state)
{
    (void)state;
    static const struct {
        int nx, ny, copies;
        int64_t band;
    } shape[] = {{500, 1, 1, 1}, {40, 1, 30, 1}, {50, 7, 1, 8}, {9, 30, 4, 10}, {20, 20, 3, 21}, {1, 1, 100, 0}};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (uint64_t s = 0; s < 6; s++) {
        lattice l;
        wisp_src src = lattice_open(&l, shape[s].nx, shape[s].ny, shape[s].copies, 3 + s);
        wisp_mat *A;
        wisp_mat_props p;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = WISP_ROWS_RCM, .C = 1}));
        check_map(wisp_mat_map(A));
        assert_true(stored_bandwidth(A) <= shape[s].band);
        REF_OK(ctx, wisp_mat_get_props(A, &p));
        if (shape[s].band) assert_true(p.bandwidth > 2 * shape[s].band); /* in the user's numbers */
        wisp_mat_free(A);
        lattice_close(&l);
    }
    wisp_ctx_free(ctx);
}

/* ---- what the user sees ---------------------------------------------------------------------- */

static void users_view(void **state)
{
    (void)state;
    enum { W = 3 };
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
    ref_mat random[3], moments[3];
    for (int o = 0; o < 3; o++) {
        wisp_mat *A;
        wisp_blk *x;
        wisp_moments m;
        const int64_t sites[W] = {0, 77, 239};
        REF_OK(ctx, wisp_mat_open(&A, ctx, "topi:nx=5,ny=4,nz=3", &(wisp_mat_opts){.order = orders[o], .width = W}));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_Z, W));
        REF_OK(ctx, wisp_blk_fill_units(x, sites));
        random[o] = ref_get(x);
        for (int64_t i = 0; i < 240; i++)
            for (int j = 0; j < W; j++) assert_true(REF_AT(random[o], i, j) == (i == sites[j]));
        ref_free(random[o]);
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 5, 0, 0));
        random[o] = ref_get(x);
        assert_memory_equal(random[o].a, random[0].a, sizeof(cplx) * 240 * W);
        REF_OK(ctx, wisp_kpm(&m, A,
                             &(wisp_kpm_opts){.moments = 32,
                                              .vectors = W,
                                              .trace = WISP_TRACE_SITES,
                                              .sites = sites,
                                              .bounds.method = WISP_BOUNDS_GERSHGORIN}));
        moments[o] = ref_new(1, 32 * W);
        for (int i = 0; i < 32 * W; i++) moments[o].a[i] = m.mu[i];
        assert_close(moments[o], moments[0], 1e-12);
        wisp_moments_free(&m);
        wisp_blk_free(x);
        wisp_mat_free(A);
    }
    for (int o = 0; o < 3; o++) ref_free(random[o]), ref_free(moments[o]);
    wisp_ctx_free(ctx);
}

/* A map made first, shared by two matrices; new values on an ordered matrix. */
static void map_before_matrix(void **state)
{
    (void)state;
    ref_rng r = {7};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_src src = ref_random_src(&r, WISP_D, 120, 120, 6), other = ref_random_src(&r, WISP_D, 120, 120, 4);
    ref_mat dense = ref_dense(&src), dense_other = ref_dense(&other);
    for (int o = 1; o < 3; o++) {
        wisp_map *map;
        wisp_mat *A, *B;
        wisp_mat_info info;
        REF_OK(ctx, wisp_map_create_ordered(&map, ctx, &src, &(wisp_mat_opts){.order = orders[o], .C = 4, .sigma = 8}));
        check_map(map);
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.map = map, .C = 4}));
        REF_OK(ctx, wisp_mat_create(&B, ctx, &other, &(wisp_mat_opts){.map = map, .width = 2}));
        wisp_map_free(map);
        assert_ptr_equal(wisp_mat_map(A), wisp_mat_map(B));
        wisp_mat_get_info(B, &info);
        assert_int_equal(info.order, orders[o]);
        check_spmmv(ctx, &r, A, dense, WISP_D, 2);
        check_spmmv(ctx, &r, B, dense_other, WISP_D, 3);
        REF_OK(ctx, wisp_mat_update(A, &src));
        check_spmmv(ctx, &r, A, dense, WISP_D, 1);
        wisp_mat_free(A);
        wisp_mat_free(B);
    }
    src.free_arg(src.arg);
    other.free_arg(other.arg);
    ref_free(dense), ref_free(dense_other);
    wisp_ctx_free(ctx);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Every allocation fails once: an order that was asked for says so, and nothing stays behind. */
static void memory_runs_out(void **state)
{
    (void)state;
    for (int o = 1; o < 3; o++) {
        int failed = 0;
        for (int n = 1;; n++) {
            char number[16];
            snprintf(number, sizeof number, "%d", n);
            setenv("WISP_ALLOC_FAIL_AT", number, 1);
            wisp_ctx *ctx;
            if (wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1}) != WISP_OK) continue;
            lattice l;
            wisp_src src = lattice_open(&l, 12, 9, 2, 5);
            wisp_mat *A;
            wisp_status status = wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = orders[o], .width = 4});
            wisp_mat_free(A);
            int64_t now;
            wisp_ctx_memory(ctx, &now, NULL);
            assert_int_equal(now, 0);
            wisp_ctx_free(ctx);
            lattice_close(&l);
            failed += status != WISP_OK;
            if (status == WISP_OK) break;
            assert_int_equal(status, WISP_ERR_NOMEM);
        }
        assert_true(failed > 15);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
}

/* Columns out of range once the rows are read, or another number of entries than it counted. */
static int far_column(void *arg, int64_t row, int64_t *col, void *val)
{
    if (col) *col = row == 40 ? 1000 : row, *(double *)val = 1;
    (void)arg;
    return 1;
}

static int other_count(void *arg, int64_t row, int64_t *col, void *val)
{
    (void)arg;
    if (col) *col = row, *(double *)val = 1;
    return col && row == 50 ? 0 : 1;
}

static int fails_late(void *arg, int64_t row, int64_t *col, void *val)
{
    (void)arg;
    if (col) *col = row, *(double *)val = 1;
    return col && row == 60 ? -1 : 1;
}

static void bad_sources(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
    wisp_mat *A;
    wisp_src src = {100, 100, 1, WISP_D, far_column, NULL, NULL, 0, NULL, 0, NULL};
    for (int o = 1; o < 3; o++) {
        const wisp_mat_opts opts = {.order = orders[o]};
        src.row = far_column;
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &opts), WISP_ERR_ARG, "row 40 names column 1000");
        src.row = other_count;
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &opts), WISP_ERR_CALLBACK,
                  "row 50: the row callback gave 0 entries, and 1");
        src.row = fails_late;
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &opts), WISP_ERR_CALLBACK, "failed at row 60");
    }
    wisp_ctx_cancel(ctx);
    src.row = far_column;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = WISP_ROWS_RCM}), WISP_ERR_CANCELLED, "");
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_matrices), cmocka_unit_test(rectangular),       cmocka_unit_test(rcm_finds_bands),
        cmocka_unit_test(users_view),      cmocka_unit_test(map_before_matrix), cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(bad_sources),
    };
    return REF_RUN(tests);
}
