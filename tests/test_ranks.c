/* Ranks as threads, or as processes under mpirun: what one rank computes alone, several must compute together. */
#include "kpm_dense.h"
#include "rank_ways.h"
#include <stdio.h>
#include <unistd.h>

enum { MOST = 5 };

/* ---- the same results -------------------------------------------------------------------------- */

typedef struct {
    ref_mat alone[2];
} randoms;

static int random_blocks(void *arg, int rank)
{
    randoms *want = arg;
    wisp_ctx *ctx = own_ctx();
    wisp_map *map;
    wisp_blk *x;
    REF_OK(ctx, wisp_map_create(&map, ctx, 701));
    for (int kind = 0; kind < 2; kind++) {
        REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_Z, 3));
        REF_OK(ctx, wisp_blk_fill_random(x, kind ? WISP_RANDOM_GAUSS : WISP_RANDOM_TRACE, 5, 1, 2));
        ref_mat m = ref_get(x);
        if (wisp_ctx_processes(ctx) == 1) {
            want->alone[kind] = m;
        } else {
            assert_memory_equal(m.a, want->alone[kind].a, 701 * 3 * sizeof *m.a);
            ref_free(m);
        }
        wisp_blk_free(x);
    }
    assert_int_equal(wisp_ctx_rank(ctx), rank);
    int64_t first;
    double rows = (double)wisp_map_local(map, &first);
    REF_OK(ctx, wisp_ctx_sum(ctx, &rows, 1));
    assert_true(rows == 701 && wisp_map_rows(map) == 701);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
    return 0;
}

static void random_vectors(void **state)
{
    (void)state;
    randoms want;
    run_ways(random_blocks, &want, 0);
    ref_free(want.alone[0]), ref_free(want.alone[1]);
}

/* Moments of a matrix of the gallery, in any order and storage. */
typedef struct {
    const char *spec;
    wisp_mat_opts mat;
    wisp_type type; /* of the vectors */
    wisp_moments alone;
} moments_case;

static int moments_of_rank(void *arg, int rank)
{
    moments_case *c = arg;
    wisp_ctx *ctx = own_ctx();
    wisp_mat *A;
    wisp_mat_info info;
    wisp_moments m;
    REF_OK(ctx, wisp_mat_open(&A, ctx, c->spec, &c->mat));
    wisp_mat_get_info(A, &info);
    const wisp_kpm_opts o = {.moments = 65, .vectors = 5, .width = 3, .type = c->type, .seed = 3};
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    if (wisp_ctx_processes(ctx) == 1) {
        c->alone = m;
    } else {
        assert_true(m.rows == c->alone.rows && m.nnz == c->alone.nnz && m.vectors == c->alone.vectors);
        assert_true(m.flops == c->alone.flops);
        assert_memory_equal(&m.bounds, &c->alone.bounds, sizeof m.bounds);
        same_moments(&m, &c->alone, c->spec, rank);
        wisp_moments_free(&m);
    }
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void moments(void **state)
{
    (void)state;
    moments_case cases[] = {
        {.spec = "topi:nx=12,ny=10,nz=6", .type = WISP_Z},
        {.spec = "topi:nx=12,ny=10,nz=6", .mat = {.type = WISP_C}, .type = WISP_C},
        {.spec = "topi:nx=9,ny=7,nz=5", .mat = {.format = WISP_FORMAT_SELL, .C = 8, .sigma = 64}, .type = WISP_Z},
        {.spec = "graphene:nx=40,ny=30,vacancies=0.05", .mat = {.width = 3}, .type = WISP_D},
        {.spec = "anderson:nx=13,ny=11,nz=9", .mat = {.order = WISP_ROWS_RCM, .width = 3}, .type = WISP_D},
        {.spec = "laplace:nx=30,ny=30,nz=20", .mat = {.order = WISP_ROWS_TILES, .type = WISP_S}, .type = WISP_D},
        {.spec = "spinchain:sites=10", .mat = {.type = WISP_S}, .type = WISP_S}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_ways(moments_of_rank, &cases[i], 0);
        wisp_moments_free(&cases[i].alone);
    }
}

/* Everything that is told of a matrix, of the gallery or dense. */
typedef struct {
    const char *spec;
    ref_mat dense;
    wisp_mat_props props;
    int64_t hist[9];
    wisp_mat_info info;
} told;

static int tell(void *arg, int rank)
{
    told *t = arg, now = {.spec = t->spec, .dense = t->dense};
    wisp_ctx *ctx = own_ctx();
    wisp_src src = {0};
    wisp_mat *A;
    (void)rank;
    if (t->spec)
        REF_OK(ctx, wisp_src_open(&src, ctx, t->spec));
    else
        src = ref_dense_src(t->dense, WISP_Z);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, t->spec ? NULL : &(wisp_mat_opts){.C = 4, .sigma = 16}));
    REF_OK(ctx, wisp_mat_get_props(A, &now.props));
    REF_OK(ctx, wisp_mat_row_histogram(A, now.hist, 9));
    wisp_mat_get_info(A, &now.info);
    if (wisp_ctx_processes(ctx) == 1) {
        *t = now;
    } else {
        /* The circles' sums run over the entries in the order of the storage. */
        const double room = 1e-14 * now.props.largest * (double)now.props.max_row;
        assert_true(!(fabs(now.props.gershgorin_min - t->props.gershgorin_min) > room));
        assert_true(!(fabs(now.props.gershgorin_max - t->props.gershgorin_max) > room));
        now.props.gershgorin_min = t->props.gershgorin_min, now.props.gershgorin_max = t->props.gershgorin_max;
        ref_same_props(&now.props, &t->props);
        assert_memory_equal(now.hist, t->hist, sizeof now.hist);
        assert_true(now.info.rows == t->info.rows && now.info.cols == t->info.cols && now.info.nnz == t->info.nnz);
    }
    wisp_mat_free(A);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
    return 0;
}

static void properties(void **state)
{
    (void)state;
    ref_rng r = {7};
    for (int k = 0; k < 16; k++) { /* in the last ones entries of the halo go to their partners in several rounds */
        told t = {.dense = random_hermitian(&r, WISP_Z, k < 12 ? 20 + 5 * k : 160 + k, k < 12 ? 0.2 : 0.9)};
        const int64_t n = t.dense.rows, i = n / 2, j = n / 2 - 1 - ref_below(&r, 3);
        if (k % 4 == 1) REF_AT(t.dense, i, j) = 3; /* not the conjugate of its partner */
        if (k % 4 == 2) REF_AT(t.dense, i, j) = 3, REF_AT(t.dense, j, i) = 0;
        if (k % 4 == 3) REF_AT(t.dense, n - 1, 0) = NAN;
        run_ways(tell, &t, 0);
        if (k % 4 == 1) assert_true(!t.props.hermitian && t.props.bad_row + t.props.bad_col == i + j);
        ref_free(t.dense);
    }
    /* Rows that repeat: inside, and with entries in the halo; a diagonal apart; not symmetric. */
    const char *specs[] = {"laplace:nx=20,ny=20,nz=20", "graphene:nx=60,ny=41,disorder=1", "topi:nx=14,ny=9,nz=8",
                           "anderson:nx=16,ny=15,nz=14,periodic=none", "matpde:nx=50,ny=31"};
    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) run_ways(tell, &(told){.spec = specs[k]}, 0);
}

/* Rectangular, blocks that are older than the matrix, two matrices of one map, new values. */
static int products_of_rank(void *arg, int rank)
{
    ref_rng r = {11};
    wisp_ctx *ctx = own_ctx();
    (void)arg, (void)rank;
    for (int k = 0; k < 6; k++) {
        const int64_t rows = 30 + ref_below(&r, 300), cols = k % 2 ? rows : 10 + ref_below(&r, 400);
        wisp_src src = ref_random_src(&r, WISP_D, rows, cols, 9);
        ref_mat dense = ref_dense(&src), xm = ref_random_block(&r, WISP_D, cols, 3), want = ref_new(rows, 3);
        wisp_map *map;
        wisp_blk *x, *y, *part;
        wisp_mat *A, *B;
        REF_OK(ctx, wisp_map_create(&map, ctx, cols));
        REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 5));
        REF_OK(ctx, wisp_blk_cols(&part, x, 1, 3)); /* its memory moves when there is a halo */
        wisp_mat_opts o = {.map = rows == cols ? map : NULL};
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        if (rows != cols) {
            wisp_blk_free(x), wisp_blk_free(part);
            REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_col_map(A), WISP_D, 5));
            REF_OK(ctx, wisp_blk_cols(&part, x, 1, 3));
        }
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 3));
        for (int again = 0; again < 2; again++) {
            ref_put(part, xm);
            REF_OK(ctx, wisp_spmmv(y, A, part, NULL));
            ref_spmmv(want, dense, xm, want, &(ref_aug){0}, NULL);
            ref_mat got = ref_get(y);
            ref_assert_close("y", got, want, ref_eps(WISP_D) * 30);
            ref_free(got);
            for (int64_t i = 0; i < rows * cols; i++) dense.a[i] *= 2;
            wisp_src twice = ref_dense_src(dense, WISP_D);
            REF_OK(ctx, wisp_mat_update(A, &twice));
            twice.free_arg(twice.arg);
        }
        if (rows == cols) { /* of other columns: another halo */
            wisp_src other = ref_random_src(&r, WISP_D, rows, cols, 20);
            ref_mat od = ref_dense(&other);
            REF_FAILS(ctx, wisp_mat_update(A, &other), WISP_ERR_MISMATCH, "pattern");
            REF_OK(ctx, wisp_mat_create(&B, ctx, &other, &o));
            REF_OK(ctx, wisp_spmmv(y, B, part, NULL));
            ref_spmmv(want, od, xm, want, &(ref_aug){0}, NULL);
            ref_mat got = ref_get(y);
            ref_assert_close("B x", got, want, ref_eps(WISP_D) * 30);
            ref_free(got), ref_free(od);
            wisp_mat_free(B);
            other.free_arg(other.arg);
        }
        wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(part), wisp_mat_free(A), wisp_map_free(map);
        ref_free(dense), ref_free(xm), ref_free(want);
        src.free_arg(src.arg);
    }
    wisp_ctx_free(ctx);
    return 0;
}

/* The first rows repeat, the others do not: one rank has patterns, another SELL. All must make the matrix anew. */
static int half_regular(void *arg, int64_t row, int64_t *col, void *val)
{
    enum { N = 4000 };
    const int64_t scale = *(const int64_t *)arg;
    for (int k = 0; col && k < 3; k++) {
        const int64_t far = row < N / 2 ? 1 : 1 + row * row % 97;
        col[k] = (row + N + (k - 1) * far) % N;
        ((double *)val)[k] = (double)scale * (row < N / 2 ? k + 1 : (double)(row % 89) + k);
    }
    return 3;
}

static int mixed_rank(void *arg, int rank)
{
    wisp_ctx *ctx = own_ctx();
    int64_t scale = 1;
    wisp_src src = {4000, 4000, 3, WISP_D, half_regular, &scale, NULL, 0, NULL, 0, NULL};
    wisp_mat *A;
    wisp_blk *x, *y;
    wisp_choice choice;
    wisp_gather gather;
    wisp_scalar before, after;
    void *data;
    (void)arg, (void)rank;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = 2}));
    REF_OK(ctx, wisp_mat_choose(A, WISP_D, 8, 50, &choice));
    REF_OK(ctx, wisp_src_choose(ctx, &src, NULL, WISP_D, 8, 50, &choice));
    REF_OK(ctx, wisp_mat_gather(A, WISP_D, 4, &gather));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    REF_OK(ctx, wisp_dot(x, y, &before));
    scale = 4;
    REF_OK(ctx, wisp_mat_update(A, &src));
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    REF_OK(ctx, wisp_dot(x, y, &after));
    assert_true(fabs(after.re - 4 * before.re) <= 1e-12 * fabs(after.re));
    wisp_blk_free(x), wisp_blk_free(y);
    wisp_map *map = wisp_mat_map(A);
    /* A block that is lent stays where it is. */
    wisp_mat *wide;
    wisp_src all = {4000, 4000, 3, WISP_D, half_regular, &scale, NULL, 0, NULL, 0, NULL};
    REF_OK(ctx, wisp_map_create(&map, ctx, 4000));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 1));
    REF_OK(ctx, wisp_mat_create(&wide, ctx, &all, &(wisp_mat_opts){.map = map}));
    REF_OK(ctx, wisp_blk_create(&y, ctx, map, WISP_D, 1));
    REF_OK(ctx, wisp_blk_lend(x, WISP_WRITE, &data, NULL));
    if (wisp_ctx_processes(ctx) > 1) REF_FAILS(ctx, wisp_spmmv(y, wide, x, NULL), WISP_ERR_UNSUPPORTED, "return");
    REF_OK(ctx, wisp_blk_return(x));
    REF_OK(ctx, wisp_spmmv(y, wide, x, NULL));
    wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(wide), wisp_map_free(map);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void products(void **state)
{
    (void)state;
    run_ways(products_of_rank, NULL, 0);
    run_ways(mixed_rank, NULL, 0);
}

/* Dots are the same bits, however late ranks come. */
static int dots_of_rank(void *arg, int rank)
{
    double *all = arg; /* [2][MOST][6] */
    wisp_ctx *ctx = own_ctx();
    wisp_mat *A;
    wisp_blk *x, *y;
    wisp_scalar dot[9];
    REF_OK(ctx, wisp_mat_open(&A, ctx, "anderson:nx=12,ny=12,nz=12", NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 3));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 3));
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
    for (int i = 0; i < 20; i++)
        REF_OK(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY, .dot = dot}));
    for (int i = 0; i < 9; i++) all[rank * 9 + i] = dot[i].re;
    wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void timing(void **state)
{
    (void)state;
    double first[MOST * 9], late[MOST * 9];
    ref_ranks_each(MOST, dots_of_rank, first);
    setenv("WISP_RANKS_JITTER", "300", 1);
    ref_ranks_each(MOST, dots_of_rank, late);
    unsetenv("WISP_RANKS_JITTER");
    assert_memory_equal(first, late, sizeof first);
    for (int r = 1; r < MOST; r++) assert_memory_equal(first, first + 9 * r, 9 * sizeof *first);
}

/* ---- files -------------------------------------------------------------------------------------- */

static int files_of_rank(void *arg, int rank)
{
    static const char *const name[] = {"ranks.mtx", "ranks.mtx.gz", "ranks.crs"};
    ref_rng r = {23};
    wisp_ctx *ctx = own_ctx();
    (void)arg, (void)rank;
    for (int i = 0; i < 3; i++) {
        wisp_src src = ref_random_src(&r, WISP_Z, 83, 83, 6), back;
        ref_mat dense = ref_dense(&src), xm = ref_random_block(&r, WISP_Z, 83, 1), want = ref_new(83, 1);
        wisp_mat *A;
        wisp_blk *x, *y;
        REF_OK(ctx, wisp_src_write(&src, ctx, name[i], NULL));
        REF_OK(ctx, wisp_src_open(&back, ctx, name[i]));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &back, NULL));
        wisp_src_close(&back);
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_Z, 1));
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_Z, 1));
        ref_put(x, xm);
        REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
        ref_spmmv(want, dense, xm, want, &(ref_aug){0}, NULL);
        ref_mat got = ref_get(y);
        ref_assert_close(name[i], got, want, ref_eps(WISP_Z) * 10);
        ref_free(got), ref_free(want), ref_free(xm), ref_free(dense);
        wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(A);
        src.free_arg(src.arg);
    }
    wisp_src src = ref_random_src(&r, WISP_Z, 5, 5, 2), none;
    REF_FAILS(ctx, wisp_src_write(&src, ctx, "no/such/folder.mtx", NULL), WISP_ERR_IO, "folder.mtx");
    REF_FAILS(ctx, wisp_src_open_file(&none, ctx, "no.mtx"), WISP_ERR_IO, "no.mtx");
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
    return 0;
}

static int moments_file_of_rank(void *arg, int rank)
{
    const char *file = arg;
    wisp_ctx *ctx = own_ctx();
    wisp_mat *A = mat_of_spec(ctx, "topi:nx=4,ny=4,nz=3", NULL);
    wisp_moments m, back;
    (void)rank;
    REF_OK(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 20, .vectors = 3}));
    const wisp_status status = wisp_moments_save(ctx, &m, file);
    if (status != WISP_ERR_UNSUPPORTED) { /* without HDF5 */
        REF_OK(ctx, status);
        REF_OK(ctx, wisp_moments_load(ctx, &back, file));
        assert_memory_equal(back.mu, m.mu, 60 * sizeof *m.mu);
        wisp_moments_free(&back);
        REF_FAILS(ctx, wisp_moments_save(ctx, &m, "no/such/folder.h5"), WISP_ERR_IO, "folder.h5");
    }
    wisp_moments_free(&m);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void files(void **state)
{
    (void)state;
    run_ways(files_of_rank, NULL, 0);
    char file[] = "ranks.h5";
    run_ways(moments_file_of_rank, file, 0);
    unlink("ranks.mtx"), unlink("ranks.mtx.gz"), unlink("ranks.crs"), unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_vectors), cmocka_unit_test(moments), cmocka_unit_test(properties),
        cmocka_unit_test(products),       cmocka_unit_test(files),   cmocka_unit_test(timing),
    };
    enum { ALL = sizeof tests / sizeof tests[0], IN_ONE_MEMORY = 1 }; /* ranks_mpi.c has the like for processes */
    return ref_run_rank_tests(tests, ref_by_mpi() ? ALL - IN_ONE_MEMORY : ALL);
}
