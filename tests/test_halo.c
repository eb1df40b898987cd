/* Products on several ranks give the same whenever the halo is exchanged: that of the oracle, with the same bits (but
   in dots, where columns are multiplied apart). */
#include "ref.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 3000, MODES = WISP_HALO_COLUMNS + 1 };

static wisp_ctx *ctx_of_one(void) { return ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1}); }

static wisp_mat_info info_of(const wisp_mat *A)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    return info;
}

/* This way was asked for, and is taken. */
static void has_way(const wisp_mat *A, wisp_halo halo)
{
    const wisp_mat_info info = info_of(A);
    assert_int_equal(info.halo, halo);
    assert_int_equal(info.halo_used, halo);
}

/* Entries near the diagonal, so that most row blocks need one neighbour or none; every hundredth row reaches afar. */
static int near_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    ref_rng *r = arg;
    int n = 0;
    for (int64_t j = i - 3; j <= i + 3; j += 1 + ref_below(r, 3))
        if (j >= 0 && j < ROWS) col[n] = j, val[n++] = ref_value(r, WISP_Z);
    if (i % 100 == 7) col[n] = ref_below(r, ROWS), val[n++] = ref_value(r, WISP_Z);
    return i % 50 == 3 ? 0 : n;
}

static void same_bits(const ref_call *c, const ref_result *a, const ref_result *b, bool dots, const char *what)
{
    const size_t width = (size_t)c->width, block = (size_t)c->x.rows * width;
    if (memcmp(a->y.a, b->y.a, block * sizeof(cplx)) || memcmp(a->z.a, b->z.a, block * sizeof(cplx)))
        fail_msg("%s: other bits in y or z", what);
    const int sets = !dots ? 0 : c->f.terms & WISP_DOT_UY ? 4 : 3;
    const unsigned term[] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY, WISP_DOT_UY};
    for (int t = 0; t < sets; t++)
        if (c->f.terms & term[t] &&
            memcmp(a->dot + (size_t)t * width, b->dot + (size_t)t * width, width * sizeof *a->dot))
            fail_msg("%s: other bits in a dot of set %d", what, t);
}

/* A matrix for each mode, on one context. */
static void all_modes(ref_rng *r, const wisp_src *src, ref_types types, wisp_mat_opts o)
{
    const int width[] = {1, 2, 3, 4, 8, 13, 33};
    wisp_ctx *ctx = ctx_of_one();
    wisp_mat *A[MODES];
    ref_sparse dense = ref_sparse_of(src, types.mat);
    o.type = types.mat;
    for (int m = 0; m < MODES; m++) {
        o.halo = (wisp_halo)m;
        REF_OK(ctx, wisp_mat_create(&A[m], ctx, src, &o));
        has_way(A[m], o.halo);
    }
    for (size_t w = 0; w < sizeof width / sizeof *width; w++) {
        ref_call c = ref_call_new(r, &dense, types.blk, width[w], (unsigned)ref_below(r, REF_ALL_TERMS), w % 2);
        ref_result want = ref_run(ctx, A[WISP_HALO_OVERLAP], &c, REF_COMPACT);
        for (int m = 0; m < MODES; m++) {
            char what[96];
            snprintf(what, sizeof what, "halo '%s', %s, width %d", wisp_halo_name((wisp_halo)m),
                     wisp_type_name(types.blk), width[w]);
            ref_result got = ref_run(ctx, A[m], &c, w % 2 ? REF_VIEWS : REF_COMPACT);
            ref_check(&c, &got, what);
            same_bits(&c, &want, &got, m != WISP_HALO_COLUMNS, what);
            ref_result_free(&got);
        }
        ref_result_free(&want);
        ref_call_free(&c);
    }
    for (int m = 0; m < MODES; m++) wisp_mat_free(A[m]);
    wisp_ctx_free(ctx);
    ref_sparse_free(dense);
}

static void modes(void **state)
{
    (void)state;
    ref_rng r = {11};
    for (int p = 0; p < REF_PAIRS; p++) {
        ref_rng rows = {(uint64_t)p + 1};
        wisp_src near = ref_rows_src(ref_pair[p].mat, ROWS, ROWS, 8, near_row, &rows);
        all_modes(&r, &near, ref_pair[p], (wisp_mat_opts){.order = WISP_ROWS_NATURAL});
        wisp_src_close(&near);
        wisp_src random = ref_random_src(&r, ref_pair[p].mat, 321, 321, 5);
        all_modes(&r, &random, ref_pair[p], (wisp_mat_opts){.format = p % 2 ? WISP_FORMAT_SELL : WISP_FORMAT_DEFAULT});
        wisp_src_close(&random);
    }
}

/* A cyclic shift by half of the rows: of equal shares, no row needs a column of its own rank. */
static int shifted_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    (void)arg;
    *col = (i + ROWS / 2) % ROWS;
    *val = 1 + (double)(i % 17);
    return 1;
}

static void remote_columns_alone(void **state)
{
    (void)state;
    ref_rng r = {17};
    const ref_types types = {WISP_D, WISP_D};
    const char *weights = getenv("WISP_WEIGHTS");
    wisp_src src = ref_rows_src(WISP_D, ROWS, ROWS, 1, shifted_row, NULL);
    const wisp_mat_opts natural = {.order = WISP_ROWS_NATURAL};
    wisp_mat_info info;
    wisp_ctx *ctx = ctx_of_one();
    REF_OK(ctx, wisp_mat_plan(ctx, &src, &natural, &info));
    if (wisp_ctx_processes(ctx) > 1 && (!weights || !*weights)) assert_int_equal(info.halo_rows, info.local_rows);
    wisp_ctx_free(ctx);
    all_modes(&r, &src, types, natural);
    wisp_src_close(&src);
}

static bool is_tried(wisp_halo halo) { return halo >= WISP_HALO_NONE && halo <= WISP_HALO_NEIGHBOURS; }

/* All are tried, and one stays; another matrix has a trial of its own. */
static void trial(void **state)
{
    (void)state;
    ref_rng r = {5}, rows = {6};
    wisp_ctx *ctx = ctx_of_one();
    wisp_mat *A, *B, *C;
    wisp_src src = ref_rows_src(WISP_D, ROWS, ROWS, 8, near_row, &rows);
    ref_sparse dense = ref_sparse_of(&src, WISP_D);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_create(&B, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_create(&C, ctx, &src, &(wisp_mat_opts){.halo = WISP_HALO_COLUMNS}));
    has_way(A, WISP_HALO_AUTO);
    for (int width = 1; width < 9; width += 3) {
        ref_call c = ref_call_new(&r, &dense, WISP_D, width, WISP_DOT_XY | WISP_DOT_YY, 1);
        ref_result first = ref_run(ctx, A, &c, REF_COMPACT);
        for (int i = 0; i < 30; i++) {
            ref_result got = ref_run(ctx, A, &c, REF_COMPACT);
            same_bits(&c, &first, &got, true, "trial");
            ref_result_free(&got);
        }
        ref_check(&c, &first, "trial");
        ref_result other = ref_run(ctx, C, &c, REF_COMPACT);
        ref_check(&c, &other, "beside a trial");
        ref_result_free(&other);
        ref_result_free(&first);
        ref_call_free(&c);
    }
    const wisp_mat_info info = info_of(A);
    double way = info.halo_used;
    assert_int_equal(info.halo, WISP_HALO_AUTO);
    assert_int_equal(is_tried(info.halo_used), wisp_ctx_processes(ctx) > 1);
    REF_OK(ctx, wisp_ctx_sum(ctx, &way, 1));
    assert_int_equal(way, wisp_ctx_processes(ctx) * (int)info.halo_used); /* all ranks found the same */
    has_way(B, WISP_HALO_AUTO);
    has_way(C, WISP_HALO_COLUMNS);
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_mat_free(C);
    wisp_src_close(&src);
    ref_sparse_free(dense);
    wisp_ctx_free(ctx);
}

/* A rank that has failed misses a sweep with rows of another size, which ends the trial of the others: they still agree
   on what comes next. */
static void missed(void **state)
{
    (void)state;
    enum { WIDE = 16, SWEEPS = 40 };
    wisp_ctx *ctx = ctx_of_one();
    wisp_mat *A;
    wisp_blk *x[2], *y[2];
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=30,ny=29", NULL));
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_blk_create(&x[i], ctx, wisp_mat_map(A), WISP_D, i ? WIDE : 1));
        REF_OK(ctx, wisp_blk_create(&y[i], ctx, wisp_mat_map(A), WISP_D, i ? WIDE : 1));
        REF_OK(ctx, wisp_blk_fill_random(x[i], WISP_RANDOM_GAUSS, 1, 2, 0));
    }
    for (int by = 0; by < wisp_ctx_processes(ctx); by++) {
        for (int i = 0; i < SWEEPS; i++) REF_OK(ctx, wisp_spmmv(y[0], A, x[0], NULL));
        wisp_ctx_enter(ctx);
        const wisp_status status = wisp_ctx_rank(ctx) == by ? wisp_ctx_failf(ctx, WISP_ERR_IO, "a rank has failed")
                                                            : wisp_spmmv(y[1], A, x[1], NULL);
        REF_FAILS(ctx, wisp_ctx_leave(ctx, status), WISP_ERR_IO, "a rank has failed");
    }
    for (int i = 0; i < 2; i++) wisp_blk_free(x[i]), wisp_blk_free(y[i]);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Predictions name it, and new values, also those that are stored anew, leave it. */
static void kept(void **state)
{
    (void)state;
    const wisp_mat_opts o = {.halo = WISP_HALO_NEIGHBOURS, .format = WISP_FORMAT_COMPRESSED};
    wisp_ctx *ctx = ctx_of_one();
    wisp_src src;
    wisp_mat *A;
    wisp_mat_info info;
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:nx=30,ny=29"));
    REF_OK(ctx, wisp_mat_plan(ctx, &src, &o, &info));
    assert_int_equal(info.halo, o.halo);
    assert_int_equal(info.halo_used, o.halo);
    REF_OK(ctx, wisp_mat_bound(ctx, &src, &o, &info));
    assert_int_equal(info.halo, o.halo);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
    has_way(A, o.halo);
    REF_OK(ctx, wisp_mat_update(A, &src));
    has_way(A, o.halo);
    wisp_mat_free(A);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

/* On a context of all ranks: $WISP_HALO, of each process. Whoever reads any variable while another thread sets one may
   read memory that has been freed: so what is asked of the environment is asked before. */
static void set_variable(wisp_ctx *ctx, const char *value)
{
    double x = 0;
    const bool ours = ref_by_mpi() || wisp_ctx_rank(ctx) == 0;
    REF_OK(ctx, wisp_ctx_sum(ctx, &x, 1)); /* nobody reads it any more, */
    if (ours) assert_int_equal(setenv("WISP_HALO", value, 1), 0);
    REF_OK(ctx, wisp_ctx_sum(ctx, &x, 1)); /* or not yet */
}

/* Matrices that leave it open take what the variable says, as it was when their context was made. */
static void by_variable(void **state)
{
    (void)state;
    const wisp_mat_opts none = {.halo = WISP_HALO_NONE};
    wisp_ctx *old = ctx_of_one(), *ctx;
    wisp_mat *A[3];
    set_variable(old, "columns");
    ctx = ctx_of_one();
    REF_OK(ctx, wisp_mat_open(&A[0], ctx, "laplace:nx=30,ny=29", NULL));
    REF_OK(ctx, wisp_mat_open(&A[1], ctx, "laplace:nx=30,ny=29", &none));
    REF_OK(old, wisp_mat_open(&A[2], old, "laplace:nx=30,ny=29", NULL));
    has_way(A[0], WISP_HALO_COLUMNS);
    has_way(A[1], WISP_HALO_NONE);
    has_way(A[2], WISP_HALO_AUTO);
    wisp_ctx_free(ctx);
    set_variable(old, "sideways");
    assert_int_equal(wisp_ctx_create(&ctx, NULL), WISP_ERR_ARG);
    assert_non_null(strstr(message_of(NULL), "WISP_HALO=sideways: take auto, none, overlap"));
    set_variable(old, "");
    for (int i = 0; i < 3; i++) wisp_mat_free(A[i]);
    wisp_ctx_free(old);
}

static void bad_modes(void **state)
{
    (void)state;
    const int bad[] = {WISP_HALO_NOCOMM + 1, -1};
    wisp_ctx *ctx = ctx_of_one();
    wisp_src src;
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:nx=30,ny=29"));
    for (int i = 0; i < 2; i++) {
        const wisp_mat_opts o = {.halo = (wisp_halo)bad[i]};
        const char *words = i ? "opts.halo is -1, which is unknown" : "opts.halo is 7, which is unknown";
        wisp_mat_info info;
        wisp_map *map;
        wisp_mat *A;
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &o), WISP_ERR_ARG, words);
        assert_null(A);
        REF_FAILS(ctx, wisp_mat_plan(ctx, &src, &o, &info), WISP_ERR_ARG, words);
        REF_FAILS(ctx, wisp_mat_bound(ctx, &src, &o, &info), WISP_ERR_ARG, words);
        REF_FAILS(ctx, wisp_map_create_ordered(&map, ctx, &src, &o), WISP_ERR_ARG, words);
        assert_null(wisp_halo_name(o.halo));
    }
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(modes),    cmocka_unit_test(remote_columns_alone),
                                       cmocka_unit_test(trial),    cmocka_unit_test(missed),
                                       cmocka_unit_test(kept),     cmocka_unit_test(by_variable),
                                       cmocka_unit_test(bad_modes)};
    unsetenv("WISP_HALO");
    return REF_RUN(tests);
}
