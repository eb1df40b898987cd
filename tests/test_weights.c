/* How ranks share rows: by weights that are given, by a source's nonzeros, and by rates that are measured. */
#include "op/op.h"
#include "ref.h"
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

enum { MOST = 64 };

/* A context whose ranks share rows by these. */
static wisp_ctx *ctx_with(const int64_t *weights)
{
    return ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1, .weights = weights});
}

static int64_t sum_of(wisp_ctx *ctx, int64_t number)
{
    double sum = (double)number;
    REF_OK(ctx, wisp_ctx_sum(ctx, &sum, 1));
    return (int64_t)sum;
}

static int64_t entries(const wisp_src *src, int64_t begin, int64_t end, int64_t *longest)
{
    int64_t n = 0;
    for (int64_t i = begin; i < end; i++) {
        const int row = src->row(src->arg, i, NULL, NULL);
        n += row;
        if (longest && row > *longest) *longest = row;
    }
    return n;
}

/* Weights by the nonzeros, where those of the context are w[ranks]: no rank has more than its part and a row; and a
   product on a context with them is right. */
static void share(const wisp_src *src, const int64_t *w, ref_rng *r)
{
    wisp_ctx *ctx = ctx_with(w), *other;
    const int ranks = wisp_ctx_processes(ctx), rank = wisp_ctx_rank(ctx);
    int64_t have[MOST], weights[MOST], all = 0, parts = 0, longest = 0, first;
    REF_OK(ctx, wisp_ctx_weights(ctx, have));
    REF_OK(ctx, wisp_src_weights(ctx, src, weights));
    for (int i = 0; i < ranks; i++) all += weights[i], parts += have[i];
    if (src->rows == 0) {
        wisp_ctx_free(ctx);
        return;
    }
    assert_int_equal(all, src->rows);
    const int64_t total = entries(src, 0, src->rows, &longest);
    other = ctx_with(weights);
    wisp_mat *A;
    REF_OK(other, wisp_mat_create(&A, other, src, NULL));
    const int64_t local = wisp_map_local(wisp_mat_map(A), &first);
    assert_int_equal(local, weights[rank]);
    const double part = (double)total * (double)have[rank] / (double)parts;
    assert_true((double)entries(src, first, first + local, NULL) <= part + (double)longest);
    if (have[rank] == 0) assert_int_equal(local, 0);
    ref_mat dense = ref_dense(src);
    ref_check_product(other, r, A, dense, WISP_D, 3, WISP_DOT_XY, 0, "by nonzeros");
    ref_free(dense);
    wisp_mat_free(A);
    wisp_ctx_free(other);
    wisp_ctx_free(ctx);
}

/* Few rows have most entries; some are empty at both ends. */
static int uneven_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    const int64_t rows = *(const int64_t *)arg;
    const int n = i < 5 || i >= rows - 3 ? 0 : i % 29 == 7 ? 40 : (int)(i % 3);
    for (int k = 0; k < n; k++) {
        col[k] = (i * 7 + k * 11) % rows;
        val[k] = (double)(k + 1);
    }
    return n;
}

static void by_nonzeros(void **state)
{
    static const int64_t size[] = {0, 1, 7, 100, 701};
    (void)state;
    ref_rng r = {11};
    int64_t w[MOST];
    for (size_t s = 0; s < sizeof size / sizeof size[0]; s++)
        for (int uneven = 0; uneven < 2; uneven++) {
            int64_t rows = size[s];
            wisp_src src = uneven ? ref_rows_src(WISP_D, rows, rows, 40, uneven_row, &rows)
                                  : ref_random_src(&r, WISP_D, rows, rows, 9);
            share(&src, NULL, &r);
            for (int i = 0; i < MOST; i++) w[i] = (i + 2) % 3; /* 2, 0, 1, 2, 0, .. */
            share(&src, w, &r);
            for (int i = 0; i < MOST; i++) w[i] = i % 2 ? INT64_C(1) << 40 : 3;
            share(&src, w, &r);
            wisp_src_close(&src);
        }
}

/* The kept weights are those that were given, and what they give once more is the same layout. */
static void given(void **state)
{
    int64_t w[MOST], have[MOST], first[2];
    (void)state;
    for (int i = 0; i < MOST; i++) w[i] = 1 + (i * 5) % 4;
    wisp_ctx *ctx = ctx_with(w), *again;
    REF_OK(ctx, wisp_ctx_weights(ctx, have));
    const int ranks = wisp_ctx_processes(ctx);
    if (ranks > 1) assert_memory_equal(have, w, (size_t)ranks * sizeof *w);
    again = ctx_with(have);
    wisp_map *map[2];
    REF_OK(ctx, wisp_map_create(&map[0], ctx, 1009));
    REF_OK(again, wisp_map_create(&map[1], again, 1009));
    assert_int_equal(wisp_map_local(map[0], &first[0]), wisp_map_local(map[1], &first[1]));
    assert_int_equal(first[0], first[1]);
    assert_int_equal(sum_of(ctx, wisp_map_local(map[0], NULL)), 1009);
    wisp_map_free(map[0]);
    wisp_map_free(map[1]);
    wisp_ctx_free(again);
    wisp_ctx_free(ctx);
}

static wisp_status made_with(const int64_t *weights)
{
    wisp_ctx *ctx;
    const wisp_ctx_opts o = {.threads = 1, .no_pin = 1, .weights = weights};
    const wisp_status status = wisp_ctx_create(&ctx, &o);
    wisp_ctx_free(ctx);
    return status;
}

static void refused(void **state)
{
    int64_t w[MOST] = {0};
    (void)state;
    if (ref_ranks() > 1 && !getenv("WISP_RANKS")) return; /* by mpirun contexts are made otherwise */
    assert_int_equal(made_with(w), WISP_ERR_ARG);
    w[0] = -1;
    assert_int_equal(made_with(w), WISP_ERR_ARG);
    w[0] = (INT64_C(1) << 40) + 1;
    assert_int_equal(made_with(w), WISP_ERR_ARG);
    w[0] = 1;
    assert_int_equal(made_with(w), WISP_OK);
}

/* Rows of the last rank are long. */
enum { LONG = 300, EVEN = 1200 };
typedef struct {
    int64_t from;
} tail;

static int tail_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    const tail *t = arg;
    const int n = i < t->from ? 1 : LONG;
    for (int k = 0; k < n; k++) {
        col[k] = (i + k) % EVEN;
        val[k] = 1;
    }
    return n;
}

/* A backend whose products take 0.1 ms for each entry of this rank's rows. */
static _Thread_local double product;
static _Thread_local int64_t launches, calls;

static wisp_status by_entries(wisp_ctx *ctx, wisp__launch_fn launch, void *arg, int64_t n, double *seconds)
{
    wisp_status status = WISP_OK;
    for (int64_t i = 0; i < n && i < 3 && status == WISP_OK; i++) status = launch(ctx, arg);
    launches += n, calls++;
    *seconds = product;
    return status;
}

static wisp_status fails(wisp_ctx *ctx, wisp__launch_fn launch, void *arg, int64_t n, double *seconds)
{
    (void)launch, (void)arg, (void)n, (void)seconds;
    return wisp_ctx_rank(ctx) == wisp_ctx_processes(ctx) - 1 ? wisp_ctx_failf(ctx, WISP_ERR_NUMERIC, "no time") : 0;
}

static void measured(void **state)
{
    int64_t weights[MOST], most = 0, factor = 0;
    (void)state;
    wisp_ctx *ctx = ctx_with(NULL);
    const int ranks = wisp_ctx_processes(ctx);
    tail t = {EVEN * (int64_t)(ranks - 1) / ranks};
    wisp_src src = ref_rows_src(WISP_D, EVEN, EVEN, LONG, tail_row, &t);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = 4}));
    assert_int_equal(wisp_mat_weights(A, WISP_D, 0, weights), WISP_ERR_ARG);
    assert_int_equal(wisp_mat_weights(A, WISP_S, 4, weights), WISP_ERR_UNSUPPORTED);
    REF_OK(ctx, wisp_mat_weights(A, WISP_DEFAULT, 4, weights));
    int64_t first, local = wisp_map_local(wisp_mat_map(A), &first), rows[MOST];
    for (int i = 0; i < ranks; i++) rows[i] = sum_of(ctx, i == wisp_ctx_rank(ctx) ? local : 0);
    for (int i = 0; i < ranks; i++) {
        assert_in_range(weights[i], rows[i] > 0, rows[i] > 0 ? 100 : 0);
        if (weights[i] > most) most = weights[i];
        int64_t a = factor, b = weights[i];
        while (b) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        factor = a;
    }
    assert_int_equal(factor, 1);
    if (ranks == 1) assert_int_equal(most, 1);
    /* The same on all ranks. */
    for (int i = 0; i < ranks; i++) assert_int_equal(sum_of(ctx, weights[i]), ranks * weights[i]);
    /* Where time goes by entries, the last rank does far fewer rows in a second. */
    const wisp__backend *whole = ctx->backend;
    wisp__backend timed = *whole;
    timed.time_launches = by_entries;
    product = 1e-4 * (double)entries(&src, first, first + local, NULL);
    launches = calls = 0;
    ctx->backend = &timed;
    REF_OK(ctx, wisp_mat_weights(A, WISP_DEFAULT, 4, weights));
    for (int i = 0; i < ranks; i++) assert_int_equal(weights[i], i + 1 == ranks ? 1 : rows[i] > 0 ? 100 : 0);
    /* As many as take 0.3 seconds, and no more. */
    const double slack = 1e-9;
    if (local > 0) assert_true((double)launches * product > 0.3 - slack);
    if (local > 0) assert_true((double)(launches - 1) * product < 0.3 + slack);
    /* However little it is, it ends; and a failure is that of all ranks. */
    product = 0;
    calls = 0;
    REF_OK(ctx, wisp_mat_weights(A, WISP_DEFAULT, 4, weights));
    for (int i = 0; i < ranks; i++) assert_in_range(weights[i], rows[i] > 0, rows[i] > 0 ? 100 : 0);
    assert_in_range(calls, 0, 64);
    timed.time_launches = fails;
    REF_FAILS(ctx, wisp_mat_weights(A, WISP_DEFAULT, 4, weights), WISP_ERR_NUMERIC, "no time");
    ctx->backend = whole;
    wisp_mat_free(A);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

/* Ranks without rows have no rate, and keep none. */
static void measured_nothing(void **state)
{
    int64_t weights[MOST], w[MOST] = {0};
    (void)state;
    ref_rng r = {5};
    w[0] = 1;
    wisp_ctx *ctx = ctx_with(w);
    for (int rows = 0; rows < 80; rows += 79) {
        wisp_src src = ref_random_src(&r, WISP_Z, rows, rows, 4);
        wisp_mat *A;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
        REF_OK(ctx, wisp_mat_weights(A, WISP_DEFAULT, 1, weights));
        for (int i = 0; i < wisp_ctx_processes(ctx); i++) assert_int_equal(weights[i], rows == 0 || i == 0);
        wisp_mat_free(A);
        wisp_src_close(&src);
    }
    wisp_ctx_free(ctx);
}

/* Rates to weights: groups from the fastest on. */
static void weigh(int ranks, const double *rate, const int64_t *want)
{
    wisp__ranked all[MOST];
    int64_t weights[MOST];
    for (int i = 0; i < ranks; i++) all[i] = (wisp__ranked){rate[i], i};
    wisp__weigh(all, ranks, weights);
    assert_memory_equal(weights, want, (size_t)ranks * sizeof *want);
}

static void groups_of_rates(void **state)
{
    (void)state;
    weigh(3, (double[]){100, 99, 92}, (int64_t[]){1, 1, 1});
    weigh(3, (double[]){92, 100, 90.91}, (int64_t[]){1, 1, 1});   /* 100 / 1.1 = 90.909.. */
    weigh(3, (double[]){90.9, 100, 92}, (int64_t[]){19, 20, 20}); /* 95% of the mean of the others */
    weigh(3, (double[]){100, 92, 90}, (int64_t[]){50, 50, 47});   /* 93.75% of 96 is 94% */
    weigh(4, (double[]){50, 100, 0, 48}, (int64_t[]){49, 100, 0, 49});
    weigh(2, (double[]){1e9, 1}, (int64_t[]){100, 1}); /* who has a rate has a weight */
    weigh(2, (double[]){0, 0}, (int64_t[]){1, 1});
    weigh(1, (double[]){7}, (int64_t[]){1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_nonzeros),      cmocka_unit_test(given),
                                       cmocka_unit_test(refused),          cmocka_unit_test(measured),
                                       cmocka_unit_test(measured_nothing), cmocka_unit_test(groups_of_rates)};
    return REF_RUN(tests);
}
