/* Messages between all ranks whose lengths the receivers do not know yet; the kind of ranks of a new context; and the
   public calls of ranks. */
#include "comm.h"
#include <string.h>

const wisp__comm *wisp__comm_here(void)
{
    const wisp__comm *threads = wisp__threads_here(), *mpi = wisp__mpi_here();
    return threads ? threads : mpi ? mpi : &wisp__comm_serial;
}

/* Bytes from each rank: the column of a table whose rows the ranks have. */
static wisp_status count(wisp_ctx *ctx, const wisp__message *to, size_t *bytes)
{
    const size_t ranks = (size_t)ctx->ranks;
    size_t *mine = NULL, *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &mine, ranks, sizeof *mine));
    WISP_TRY(wisp_alloc(ctx, &all, ranks * ranks, sizeof *all));
    for (size_t r = 0; r < ranks; r++) mine[r] = to[r].bytes;
    WISP_TRY(ctx->comm->gather(ctx, mine, ranks * sizeof *mine, all));
    for (size_t r = 0; r < ranks; r++) bytes[r] = all[r * ranks + (size_t)ctx->rank];
out:
    wisp_free(ctx, mine);
    wisp_free(ctx, all);
    return status;
}

/* The list's other messages than that to oneself, and only those with something in them. */
static int others(const wisp_ctx *ctx, const wisp__message *list, wisp__message *some)
{
    int n = 0;
    for (int r = 0; r < ctx->ranks; r++)
        if (r != ctx->rank && list[r].bytes) some[n++] = list[r];
    return n;
}

wisp_status wisp__comm_exchange(wisp_ctx *ctx, const wisp__message *to, wisp__message **from)
{
    const size_t ranks = (size_t)ctx->ranks, head = wisp__lines(ranks * sizeof **from);
    size_t *bytes = NULL, all = head;
    wisp__message *some = NULL;
    wisp_status status;
    *from = NULL;
    WISP_TRY(wisp_alloc(ctx, &bytes, ranks, sizeof *bytes));
    WISP_TRY(wisp_alloc(ctx, &some, 2 * ranks, sizeof *some));
    WISP_TRY(count(ctx, to, bytes));
    for (size_t r = 0; r < ranks; r++) all += wisp__lines(bytes[r]);
    WISP_TRY(wisp_alloc(ctx, from, all, 1));
    char *at = (char *)*from + head;
    for (size_t r = 0; r < ranks; at += wisp__lines(bytes[r]), r++) (*from)[r] = (wisp__message){(int)r, at, bytes[r]};
    if (bytes[ctx->rank]) memcpy((*from)[ctx->rank].data, to[ctx->rank].data, bytes[ctx->rank]);
    const int sends = others(ctx, to, some), receives = others(ctx, *from, some + ranks);
    WISP_TRY(ctx->comm->start(ctx, some, sends, some + ranks, receives));
    status = ctx->comm->wait(ctx);
out:
    wisp_free(ctx, bytes);
    wisp_free(ctx, some);
    if (status != WISP_OK) {
        wisp_free(ctx, *from);
        *from = NULL;
    }
    return status;
}

int wisp_ctx_processes(const wisp_ctx *ctx) { return ctx ? ctx->ranks : 0; }

int wisp_ctx_rank(const wisp_ctx *ctx) { return ctx ? ctx->rank : 0; }

wisp_status wisp__weights_check(wisp_ctx *ctx, const int64_t *weights, const char *from)
{
    const int64_t most = INT64_C(1) << 40;
    int64_t sum = 0;
    for (int r = 0; weights && r < ctx->ranks; r++) {
        if (weights[r] < 0 || weights[r] > most)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: give %d numbers from 0 to %lld", from, ctx->ranks,
                                  (long long)most);
        sum += weights[r];
    }
    if (weights && sum == 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: some rank must have rows", from);
    return WISP_OK;
}

wisp_status wisp_ctx_weights(const wisp_ctx *ctx, int64_t *weights)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED((wisp_ctx *)ctx, weights);
    for (int r = 0; r < ctx->ranks; r++) weights[r] = ctx->weight ? ctx->weight[r + 1] - ctx->weight[r] : 1;
    return WISP_OK;
}

void wisp_ctx_enter(wisp_ctx *ctx)
{
    if (ctx) ctx->comm->enter(ctx);
}

wisp_status wisp_ctx_leave(wisp_ctx *ctx, wisp_status status) { return ctx ? ctx->comm->leave(ctx, status) : status; }

wisp_status wisp__reduce(wisp_ctx *ctx, double *x, size_t n)
{
    wisp__count(&ctx->reductions, 1);
    return ctx->comm->sum(ctx, x, n);
}

wisp_status wisp_ctx_sum(wisp_ctx *ctx, double *x, size_t n)
{
    WISP_NEED(NULL, ctx);
    if (n > 0) WISP_NEED(ctx, x);
    ctx->comm->enter(ctx);
    return ctx->comm->leave(ctx, wisp__reduce(ctx, x, n));
}

wisp_status wisp_ctx_sum_start(wisp_ctx *ctx, double *x, size_t n)
{
    WISP_NEED(NULL, ctx);
    if (n > 0) WISP_NEED(ctx, x);
    ctx->comm->enter(ctx);
    return ctx->comm->leave(ctx, ctx->comm->sum_start(ctx, x, n));
}

/* It counts when it is through, so that one without a wait is missed. */
wisp_status wisp_ctx_sum_wait(wisp_ctx *ctx)
{
    WISP_NEED(NULL, ctx);
    ctx->comm->enter(ctx);
    wisp__count(&ctx->reductions, 1);
    return ctx->comm->leave(ctx, ctx->comm->sum_wait(ctx));
}
