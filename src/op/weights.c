/* Weights by which ranks share rows: from the nonzeros of a source, and from the rates at which ranks multiply. */
#include "op.h"
#include "../data/store/store.h"
#include "../make/assemble.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- by nonzeros ------------------------------------------------------------------------------ */

/* How many of this rank's rows, len[rows] behind `before` entries of lower ranks, begin before each rank's part of all
   `total` entries: count[ranks + 1]. The sum over the ranks is the first row of that rank. */
static void count_before(const wisp_ctx *ctx, const int64_t *weights, const int32_t *len, int64_t rows, int64_t before,
                         int64_t total, double *count)
{
    int64_t row = 0;
    for (int r = 0; r <= ctx->ranks; r++) {
        const int64_t goal = wisp__share_begin(ctx, weights, total, r);
        const bool end = wisp__share_begin(ctx, weights, INT64_MAX, r) == INT64_MAX; /* nobody has rows from here on */
        for (; row < rows && (before < goal || end); row++) before += len[row];
        count[r] = (double)row;
    }
}

static wisp_status share_nonzeros(wisp_ctx *ctx, const wisp_src *src, int64_t *weights)
{
    const size_t ranks = (size_t)ctx->ranks;
    int64_t first, rows, own = 0, before = 0, total = 0, *all = NULL;
    int32_t *len = NULL;
    double *begin = NULL;
    wisp_status status;
    WISP_TRY(wisp__src_check(ctx, src));
    first = wisp__share_begin(ctx, src->weights, src->rows, ctx->rank);
    rows = wisp__share_begin(ctx, src->weights, src->rows, ctx->rank + 1) - first;
    WISP_TRY(wisp_alloc(ctx, &all, ranks, sizeof *all));
    WISP_TRY(wisp_alloc(ctx, &begin, ranks + 1, sizeof *begin));
    WISP_TRY(wisp__count_rows(ctx, src, first, rows, &len));
    for (int64_t i = 0; i < rows; i++) own += len[i];
    WISP_TRY(ctx->comm->gather(ctx, &own, sizeof own, all));
    for (size_t r = 0; r < ranks; r++) {
        if ((int)r < ctx->rank) before += all[r];
        total += all[r];
    }
    count_before(ctx, src->weights, len, rows, before, total, begin);
    WISP_TRY(ctx->comm->sum(ctx, begin, ranks + 1));
    for (size_t r = 0; r < ranks; r++) weights[r] = (int64_t)(begin[r + 1] - begin[r]);
    if (src->rows == 0 && src->weights)
        memcpy(weights, src->weights, ranks * sizeof *weights);
    else if (src->rows == 0)
        status = wisp_ctx_weights(ctx, weights);
out:
    wisp_free(ctx, len);
    wisp_free(ctx, begin);
    wisp_free(ctx, all);
    return status;
}

wisp_status wisp_src_weights(wisp_ctx *ctx, const wisp_src *src, int64_t *weights)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, src);
    WISP_NEED(ctx, weights);
    wisp_ctx_enter(ctx);
    return wisp_ctx_leave(ctx, share_nonzeros(ctx, src, weights));
}

/* ---- by rates --------------------------------------------------------------------------------- */

static wisp_status launch(wisp_ctx *ctx, void *sweep) { return (void)ctx, wisp__sweep_run(sweep, NULL); }

/* Rows a second of products with this rank's rows alone, by the device's time: the halo behind x stays as it is. */
static wisp_status measure_rate(const wisp_mat *A, wisp_blk *y, const wisp_blk *x, double *rate)
{
    const double seconds = 0.3, least = 1e-9; /* of all; of one, whatever a coarse clock says */
    const wisp_aug plain = {0};
    wisp_mat alone = *A;
    wisp__sums none = {0};
    wisp__sweep sweep;
    double ready = 1, took = 0, one;
    int64_t done = 0;
    wisp_status status;
    *rate = 0;
    if (A->halo) WISP_TRY(wisp__halo_room(A->halo, x));
    alone.halo = NULL;
    WISP_TRY(wisp__sweep_set(&sweep, "weights", &alone, y, x, y, &plain, &none, NULL));
    WISP_TRY(wisp__sweep_run(&sweep, NULL)); /* warms up */
    WISP_TRY(A->ctx->backend->finish(A->ctx));
    WISP_TRY(A->ctx->comm->sum(A->ctx, &ready, 1));                      /* all begin together */
    for (int64_t n = 1; A->local_rows > 0 && took < seconds; n = done) { /* as many again */
        if (done) n = WISP__MIN(n, (int64_t)((seconds - took) / one) + 1);
        WISP_TRY(wisp__time_launches(A->ctx, launch, &sweep, n, &one));
        one = WISP__MAX(one, least);
        took += (double)n * one;
        done += n;
    }
    if (done) *rate = (double)A->local_rows * (double)done / took;
out:
    return status;
}

static int by_falling_rate(const void *a, const void *b)
{
    const wisp__ranked *x = a, *y = b;
    if (x->rate != y->rate) return x->rate > y->rate ? -1 : 1;
    return x->rank - y->rank;
}

static int64_t common_factor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void wisp__weigh(wisp__ranked *all, int ranks, int64_t *weights)
{
    const double alike = 1.1;
    double fastest = 0;
    int64_t factor = 0;
    qsort(all, (size_t)ranks, sizeof *all, by_falling_rate);
    for (int begin = 0, end; begin < ranks; begin = end) {
        double mean = 0;
        for (end = begin; end < ranks && all[end].rate * alike >= all[begin].rate; end++) mean += all[end].rate;
        mean /= end - begin;
        if (begin == 0) fastest = mean;
        const int64_t weight = mean > 0 ? WISP__MAX(llround(100 * mean / fastest), 1) : 0;
        for (int i = begin; i < end; i++) weights[all[i].rank] = weight;
        factor = common_factor(weight, factor);
    }
    for (int r = 0; r < ranks; r++) weights[r] = factor ? weights[r] / factor : 1;
}

static wisp_status measure(const wisp_mat *A, wisp_type type, int width, int64_t *weights)
{
    wisp_ctx *ctx = A->ctx;
    wisp_blk *x = NULL, *y = NULL;
    wisp__ranked own = {.rank = ctx->rank}, *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(wisp_blk_create(&x, ctx, A->col_map, type, width));
    WISP_TRY(wisp_blk_create(&y, ctx, A->map, type, width));
    WISP_TRY(wisp_blk_fill(x, (wisp_scalar){1, 0}));
    WISP_TRY(wisp__spmmv_check(y, A, x, &(wisp_aug){0}));
    WISP_TRY(measure_rate(A, y, x, &own.rate));
    WISP_TRY(ctx->comm->gather(ctx, &own, sizeof own, all));
    wisp__weigh(all, ctx->ranks, weights);
out:
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_free(ctx, all);
    return status;
}

wisp_status wisp_mat_weights(const wisp_mat *A, wisp_type type, int width, int64_t *weights)
{
    wisp_status status;
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, weights);
    WISP_TRY(wisp__need_entries(A, "the rate of products"));
    WISP_TRY(wisp__together_begin(A->ctx));
    status = measure(A, type == WISP_DEFAULT ? A->type : type, width, weights);
    status = wisp__together_end(A->ctx, status);
out:
    return status;
}
