/* The interface of ranks for a single one, which exchanges nothing. */
#include "comm.h"
#include <string.h>

static wisp_status serial_open(wisp_ctx *ctx)
{
    ctx->rank = 0;
    ctx->ranks = ctx->ranks_here = 1;
    return WISP_OK;
}

static void serial_enter(wisp_ctx *ctx) { (void)ctx; }

static wisp_status serial_leave(wisp_ctx *ctx, wisp_status status)
{
    (void)ctx;
    return status;
}

static wisp_status serial_sum(wisp_ctx *ctx, double *x, size_t n)
{
    (void)ctx, (void)x, (void)n;
    return WISP_OK;
}

static wisp_status serial_sum_wait(wisp_ctx *ctx)
{
    (void)ctx;
    return WISP_OK;
}

static wisp_status serial_gather(wisp_ctx *ctx, const void *mine, size_t bytes, void *all)
{
    (void)ctx;
    if (bytes) memcpy(all, mine, bytes);
    return WISP_OK;
}

static wisp_status serial_start(wisp_ctx *ctx, const wisp__message *to, int to_count, const wisp__message *from,
                                int from_count)
{
    (void)ctx, (void)to, (void)to_count, (void)from, (void)from_count;
    return WISP_OK;
}

static wisp_status serial_wait(wisp_ctx *ctx)
{
    (void)ctx;
    return WISP_OK;
}

static wisp_status serial_some(wisp_ctx *ctx, bool *here)
{
    (void)ctx, (void)here;
    return WISP_OK;
}

const wisp__comm wisp__comm_serial = {
    .open = serial_open,
    .enter = serial_enter,
    .leave = serial_leave,
    .sum = serial_sum,
    .sum_start = serial_sum,
    .sum_wait = serial_sum_wait,
    .gather = serial_gather,
    .start = serial_start,
    .wait = serial_wait,
    .some = serial_some,
};
