/* The augmented SpMMV: y = alpha (A - shift_j I) x + beta y; z = delta z + eta y; dots. Check, sweep (sweep.c),
   reduction. */
#include "op.h"

wisp_status wisp_spmmv(wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug_or_null)
{
    static const wisp_aug plain = {0};
    const wisp_aug *aug = aug_or_null ? aug_or_null : &plain;
    WISP_NEED(wisp_mat_ctx(A), y);
    WISP_NEED(wisp_blk_ctx(y), A);
    WISP_NEED(A->ctx, x);
    wisp_ctx *ctx = A->ctx;
    char *memory;
    void *own = NULL;
    double *own_dots = NULL;
    wisp__chain chain;
    wisp__sweep sweep;
    wisp_status status;
    WISP_TRY(wisp__together_begin(ctx));
    WISP_TRY(wisp__spmmv_check(y, A, x, aug));
    const bool dots = aug->terms & WISP_DOTS;
    const size_t dot_bytes = dots ? wisp__dot_size(x, aug->terms) * sizeof(double) : 0;
    WISP_TRY(wisp__op_memory(A, &own, &memory, dot_bytes + wisp__factor_bytes(x)));
    const wisp__sums sums = {&aug->z, &aug->eta, &chain, aug->terms & WISP_CHAIN ? 1 : 0};
    WISP_TRY(wisp__sweep_set(&sweep, "spmmv", A, y, x, y, aug, &sums, memory + dot_bytes));
    double *dot = (double *)(void *)memory, *there;
    const size_t numbers = dot_bytes / sizeof *dot;
    WISP_TRY(wisp__place_at(ctx, "spmmv", dots ? aug->dot_at : (wisp_place){0}, (int64_t)numbers / 2, &there));
    const bool stays = there;
    if (!stays) WISP_TRY(wisp__op_dots(A, &own_dots, dot, numbers, &there));
    WISP_TRY(wisp__sweep_run(&sweep, there));
    wisp__count(&ctx->passes, 1);
    wisp__count(&ctx->products, 1);
    if (!dots) goto out;
    if (stays) {
        if (!(aug->terms & WISP_NOREDUCE)) status = wisp__reduce_there(ctx, there, numbers);
        goto out;
    }
    WISP_TRY(wisp__dots_bring(ctx, there, dot, numbers));
    if (!(aug->terms & WISP_NOREDUCE)) WISP_TRY(wisp__reduce(ctx, dot, numbers));
    wisp__dots_out(aug->terms, x->width, dot, aug->dot);
out:
    wisp_free(ctx, own);
    ctx->backend->free(ctx, own_dots);
    return wisp__together_end(ctx, status);
}
