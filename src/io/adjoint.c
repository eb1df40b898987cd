/* The adjoint A^H of a source: its transposed matrix, with conjugate numbers; and the two side by side in one Hermitian
   matrix. Each rank gets its own rows of it from the others. */
#include "../comm/comm.h"
#include "../data/rows.h"
#include "write.h"

/* Numbers are in double precision, as they were summed up, and become those of `type`, in place. */
static void make_conjugate(wisp__crs *t, wisp_type type)
{
    const size_t from = wisp_type_size(t->type), to = wisp_type_size(type);
    for (int64_t e = 0; e < t->nnz; e++) {
        const wisp_scalar v = wisp__load(t->type, (const char *)t->val + (size_t)e * from);
        wisp__store(type, (char *)t->val + (size_t)e * to, (wisp_scalar){v.re, -v.im});
    }
    t->type = type;
}

static wisp_status make(wisp_ctx *ctx, wisp_src *src, const wisp_src *other, bool augmented)
{
    wisp_map *cols = NULL;
    wisp__crs *made = NULL;
    int64_t *before = NULL;
    wisp_status status;
    const wisp__crs shape = wisp__crs_of_rank(ctx, other->weights, other->type, other->rows, other->cols);
    const wisp__rows_range rows = {shape.first, shape.local, ctx->ranks > 1};
    WISP_TRY(wisp__map_alone(&cols, ctx, other->cols));
    WISP_TRY(wisp__count_entries(ctx, other, cols, rows, &before));
    if (augmented) {
        WISP_TRY(wisp__augment(&made, ctx, other, cols, rows, before));
    } else {
        WISP_TRY(wisp__transpose(&made, ctx, other, cols, rows, before, "the adjoint"));
        make_conjugate(made, other->type);
    }
    WISP_TRY(wisp__weights_copy(ctx, &made->weights, other->weights));
    WISP_TRY(wisp__crs_source_of_ranks(src, made));
    made = NULL;
out:
    wisp__crs_free(made);
    wisp_free(ctx, before);
    wisp_map_free(cols);
    return status;
}

/* Of a source that is checked, and its shape. */
static wisp_status open_made(wisp_ctx *ctx, wisp_src *src, const wisp_src *other, int64_t rows, int64_t cols,
                             bool augmented)
{
    wisp_status status;
    *src = (wisp_src){0};
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__src_check(ctx, other));
    WISP_TRY(wisp__index_check(ctx, rows, cols));
    status = make(ctx, src, other, augmented);
out:
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) wisp_src_close(src);
    return status;
}

wisp_status wisp_src_adjoint(wisp_src *src, wisp_ctx *ctx, const wisp_src *other)
{
    WISP_NEED(ctx, src);
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, other);
    return open_made(ctx, src, other, other->cols, other->rows, false);
}

wisp_status wisp_src_augmented(wisp_src *src, wisp_ctx *ctx, const wisp_src *other)
{
    WISP_NEED(ctx, src);
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, other);
    if (other->rows <= 0 || other->cols <= 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the augmented matrix of %lld x %lld: there must be rows and columns",
                              (long long)other->rows, (long long)other->cols);
    return open_made(ctx, src, other, other->rows + other->cols, other->rows + other->cols, true);
}
