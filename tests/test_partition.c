/* Sources that are partitioned anew among ranks: the same matrix in another order, with smaller halos. */
#include "rank_ways.h"
#include "base/base.h"
#include <stdio.h>
#include <string.h>

static const wisp_partition LEVELS = WISP_PARTITION_LEVELS, SCOTCH = WISP_PARTITION_SCOTCH;
static bool has_scotch(void) { return strstr(wisp_features(), "scotch") != NULL; }

/* before[row]: which row this one was, of all ranks' rows. */
static void all_numbers(wisp_ctx *ctx, const wisp_src *src, double *before)
{
    wisp_map *map;
    int64_t first;
    REF_OK(ctx, wisp_map_create(&map, ctx, src->rows));
    const int64_t rows = wisp_map_local(map, &first), *number = wisp_src_numbers(src);
    memset(before, 0, (size_t)src->rows * sizeof *before);
    for (int64_t i = 0; i < rows; i++) before[first + i] = (double)(number ? number[i] : first + i);
    REF_OK(ctx, wisp_ctx_sum(ctx, before, (size_t)src->rows));
    wisp_map_free(map);
}

typedef struct {
    wisp_partition how;
    wisp_type type;
    int64_t rows;
    int most; /* entries of a row: some are empty */
} case_of;

/* Rows of the partitioned source, with the numbers they had, against those of the original. */
static int same_matrix(void *arg, int rank)
{
    const case_of *c = arg;
    ref_rng r = {(uint64_t)(c->rows + c->most)};
    wisp_ctx *ctx = own_ctx();
    wisp_src src = ref_random_src(&r, c->type, c->rows, c->rows, c->most), parts;
    ref_mat want = ref_dense(&src);
    for (int64_t i = 0; c->how == SCOTCH && i < c->rows; i++) /* a symmetric pattern */
        for (int64_t j = 0; j < i; j++)
            if (REF_AT(want, i, j) == 0 || REF_AT(want, j, i) == 0) REF_AT(want, i, j) = REF_AT(want, j, i) = 0;
    if (c->how == SCOTCH) {
        src.free_arg(src.arg);
        src = ref_dense_src(want, c->type);
    }
    wisp_map *map;
    int64_t first;
    double *before = malloc((size_t)c->rows * sizeof *before);
    (void)rank;
    REF_OK(ctx, wisp_src_partition(&parts, ctx, &src, c->how));
    assert_true(parts.rows == c->rows && parts.cols == c->rows && parts.type == c->type);
    assert_true((wisp_src_numbers(&parts) != NULL) == (wisp_ctx_processes(ctx) > 1));
    all_numbers(ctx, &parts, before);
    char *seen = calloc((size_t)c->rows, 1);
    for (int64_t i = 0; i < c->rows; i++) seen[(int64_t)before[i]]++;
    for (int64_t i = 0; i < c->rows; i++) assert_int_equal(seen[i], 1);
    REF_OK(ctx, wisp_map_create(&map, ctx, c->rows));
    const int64_t rows = wisp_map_local(map, &first);
    int64_t *col = malloc((size_t)(parts.max_row + 1) * sizeof *col);
    char *val = malloc((size_t)(parts.max_row + 1) * 16);
    for (int64_t i = first; i < first + rows; i++) {
        const int n = parts.row(parts.arg, i, col, val);
        assert_int_equal(n, parts.row(parts.arg, i, NULL, NULL));
        ref_mat row = ref_new(1, c->rows);
        for (int k = 0; k < n; k++) {
            const wisp_scalar v = wisp__load(c->type, val + (size_t)k * wisp_type_size(c->type));
            REF_AT(row, 0, (int64_t)before[col[k]]) += v.re + I * v.im;
        }
        for (int64_t j = 0; j < c->rows; j++) assert_true(REF_AT(row, 0, j) == REF_AT(want, (int64_t)before[i], j));
        ref_free(row);
    }
    if (wisp_ctx_processes(ctx) > 1) assert_true(parts.row(parts.arg, first + rows, col, val) < 0);
    wisp_src_close(&parts);
    src.free_arg(src.arg);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
    free(col), free(val), free(seen), free(before);
    ref_free(want);
    return 0;
}

static void matrices(void **state)
{
    (void)state;
    case_of cases[] = {{LEVELS, WISP_D, 97, 5},  {LEVELS, WISP_Z, 60, 9}, {LEVELS, WISP_S, 133, 2},
                       {LEVELS, WISP_C, 41, 12}, {LEVELS, WISP_D, 3, 1},  {SCOTCH, WISP_Z, 83, 7},
                       {SCOTCH, WISP_D, 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].how == LEVELS || has_scotch()) run_ways(same_matrix, &cases[i], 0);
}

/* Moments, with random vectors that stay the same; solutions of systems, which go by the new numbers. */
typedef struct {
    wisp_partition how;
    const char *spec;
    wisp_type type;
    wisp_moments alone;
} moments_case;

static int moments_of_rank(void *arg, int rank)
{
    moments_case *c = arg;
    wisp_ctx *ctx = own_ctx();
    wisp_src src, parts;
    wisp_mat *A;
    wisp_moments m;
    (void)rank;
    REF_OK(ctx, wisp_src_open(&src, ctx, c->spec));
    REF_OK(ctx, wisp_src_partition(&parts, ctx, &src, c->how));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &parts, &(wisp_mat_opts){.type = c->type, .width = 3}));
    wisp_src_close(&parts), wisp_src_close(&src);
    const wisp_kpm_opts o = {.moments = 65, .vectors = 5, .width = 3, .type = c->type, .seed = 3};
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    if (wisp_ctx_processes(ctx) == 1) {
        c->alone = m;
    } else {
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
    moments_case cases[] = {{LEVELS, "topi:nx=8,ny=7,nz=6", .type = WISP_Z},
                            {LEVELS, "graphene:nx=40,ny=30,vacancies=0.3", .type = WISP_D}, /* in many components */
                            {SCOTCH, "delaunay:nx=30,ny=30", .type = WISP_S},
                            {SCOTCH, "graphene:nx=40,ny=30,vacancies=0.3", .type = WISP_D},
                            {LEVELS, "spinchain:sites=10", .type = WISP_D}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].how == SCOTCH && !has_scotch()) continue;
        run_ways(moments_of_rank, &cases[i], 0);
        wisp_moments_free(&cases[i].alone);
    }
}

/* A square lattice whose sites are numbered at random. */
enum { SIDE = 60, SITES = SIDE * SIDE };
static int64_t shuffled[SITES], place[SITES];

static int shuffled_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const int64_t at = place[row], x = at % SIDE, y = at / SIDE;
    const int64_t next[] = {at, x > 0 ? at - 1 : -1, x < SIDE - 1 ? at + 1 : -1, y > 0 ? at - SIDE : -1,
                            y < SIDE - 1 ? at + SIDE : -1};
    int n = 0;
    (void)arg;
    for (int k = 0; k < 5; k++) {
        if (next[k] < 0) continue;
        if (col) {
            col[n] = shuffled[next[k]];
            ((double *)val)[n] = k ? -1 : 4;
        }
        n++;
    }
    return n;
}

static int less_to_send(void *arg, int rank)
{
    const wisp_partition *how = arg;
    wisp_ctx *ctx = own_ctx();
    wisp_src src = {SITES, SITES, 5, WISP_D, shuffled_row, NULL, NULL, 0, NULL, 0, NULL}, parts;
    wisp_mat_info as_they_come, by_levels;
    (void)rank;
    REF_OK(ctx, wisp_src_partition(&parts, ctx, &src, *how));
    REF_OK(ctx, wisp_mat_plan(ctx, &src, NULL, &as_they_come));
    REF_OK(ctx, wisp_mat_plan(ctx, &parts, NULL, &by_levels));
    double halo[] = {(double)as_they_come.halo_rows, (double)by_levels.halo_rows};
    REF_OK(ctx, wisp_ctx_sum(ctx, halo, 2));
    /* A cut runs along a level, of at most 2 SIDE rows. */
    assert_true(halo[1] <= 4 * SIDE * (wisp_ctx_processes(ctx) - 1) && 5 * halo[1] < halo[0]);
    wisp_src_close(&parts);
    wisp_ctx_free(ctx);
    return 0;
}

static void halos(void **state)
{
    (void)state;
    ref_rng r = {5};
    for (int64_t i = 0; i < SITES; i++) shuffled[i] = i;
    for (int64_t i = SITES - 1; i > 0; i--) {
        const int64_t j = ref_below(&r, (int)i + 1), t = shuffled[i];
        shuffled[i] = shuffled[j];
        shuffled[j] = t;
    }
    for (int64_t i = 0; i < SITES; i++) place[shuffled[i]] = i;
    run_ways(less_to_send, &(wisp_partition){LEVELS}, 1);
    if (has_scotch()) run_ways(less_to_send, &(wisp_partition){SCOTCH}, 1);
}

typedef struct {
    wisp_partition how;
    wisp_status status[3];
} outcome;

/* A failure on one rank, anywhere, is one on all; and what can't be partitioned. */
static int starved(void *arg, int rank)
{
    outcome *o = arg;
    wisp_status *statuses = o->status;
    wisp_ctx *ctx = NULL;
    wisp_src src, parts;
    statuses[rank] = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1});
    if (statuses[rank] == WISP_OK) statuses[rank] = wisp_src_open(&src, ctx, "graphene:nx=9,ny=7");
    if (statuses[rank] == WISP_OK) {
        statuses[rank] = wisp_src_partition(&parts, ctx, &src, o->how);
        wisp_src_close(&parts), wisp_src_close(&src);
    }
    int64_t held = 0;
    if (ctx) wisp_ctx_memory(ctx, &held, NULL);
    wisp_ctx_free(ctx);
    return held != 0;
}

static void starve(wisp_partition how)
{
    int failed = 0;
    for (int at = 1; at < 120; at++) {
        outcome o = {.how = how};
        char where[40];
        snprintf(where, sizeof where, "%d@%d", at, at % 3);
        setenv("WISP_ALLOC_FAIL_AT", where, 1);
        ref_ranks_each(3, starved, &o);
        for (int r = 1; r < 3; r++) assert_int_equal(o.status[r], o.status[0]);
        failed += o.status[0] != WISP_OK;
        if (o.status[0] != WISP_OK) assert_int_equal(o.status[0], WISP_ERR_NOMEM);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    assert_true(failed > 15);
}

/* SCOTCH takes no other. */
static int not_symmetric(void *arg, int rank)
{
    wisp_ctx *ctx = own_ctx();
    ref_rng r = {1};
    wisp_src src = ref_random_src(&r, WISP_D, 30, 30, 3), parts;
    (void)arg, (void)rank;
    REF_FAILS(ctx, wisp_src_partition(&parts, ctx, &src, SCOTCH), has_scotch() ? WISP_ERR_ARG : WISP_ERR_UNSUPPORTED,
              has_scotch() ? "symmetric" : "libptscotch");
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
    return 0;
}

static void memory_failures(void **state)
{
    (void)state;
    starve(LEVELS);
    if (has_scotch()) starve(SCOTCH);
}

/* On the map of a matrix that was partitioned anew only what has its numbers of rows. */
static int other_numbers(void *arg, int rank)
{
    (void)arg, (void)rank;
    enum { ROWS = 61 };
    ref_rng r = {8};
    double before[ROWS];
    wisp_ctx *ctx = own_ctx();
    wisp_src src = ref_random_src(&r, WISP_D, ROWS, ROWS, 4), parts;
    wisp_mat *A, *B;
    REF_OK(ctx, wisp_src_partition(&parts, ctx, &src, LEVELS));
    all_numbers(ctx, &parts, before);
    bool moved = false;
    for (int i = 0; i < ROWS; i++) moved = moved || (int)before[i] != i;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &parts, NULL));
    const wisp_mat_opts o = {.map = wisp_mat_map(A)};
    REF_OK(ctx, wisp_mat_create(&B, ctx, &parts, &o));
    wisp_mat_free(B);
    if (moved)
        REF_FAILS(ctx, wisp_mat_create(&B, ctx, &src, &o), WISP_ERR_UNSUPPORTED, "rows that were partitioned anew");
    wisp_src_close(&parts);
    wisp_mat_free(A);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
    return moved ? 0 : 1;
}

static void refusals(void **state)
{
    (void)state;
    run_ways(other_numbers, NULL, 1);
    run_ways(not_symmetric, NULL, 1);
    wisp_ctx *ctx = own_ctx();
    ref_rng r = {1};
    wisp_src src = ref_random_src(&r, WISP_D, 9, 8, 3), parts;
    REF_FAILS(ctx, wisp_src_partition(&parts, ctx, &src, WISP_PARTITION_LEVELS), WISP_ERR_ARG, "square");
    REF_FAILS(ctx, wisp_src_partition(&parts, ctx, &src, (wisp_partition)9), WISP_ERR_ARG, "partition");
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrices), cmocka_unit_test(moments), cmocka_unit_test(halos),
                                       cmocka_unit_test(refusals), cmocka_unit_test(memory_failures)};
    enum { ALL = sizeof tests / sizeof tests[0] };
    return ref_run_rank_tests(tests, ref_by_mpi() ? ALL - 1 : ALL); /* the last one in one memory */
}
