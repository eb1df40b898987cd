/* Updates and dots in one pass. */
#include "op.h"

wisp_status wisp_fuse(const wisp_update *update, int updates, const wisp_inner *inner, int inners, unsigned flags)
{
    (void)update, (void)updates, (void)inner, (void)inners, (void)flags;
    return WISP_ERR_UNSUPPORTED;
}

wisp_status wisp_fuse_cost(const wisp_update *update, int updates, const wisp_inner *inner, int inners, wisp_cost *cost)
{
    (void)update, (void)updates, (void)inner, (void)inners, (void)cost;
    return WISP_ERR_UNSUPPORTED;
}

void wisp_ctx_counts(const wisp_ctx *ctx, wisp_counts *counts)
{
    (void)ctx;
    *counts = (wisp_counts){0, 0, 0};
}
