/* A matrix of CRS arrays of the user's: in place, or where that can't be a copy. */
#include "assemble.h"
#include "../data/arrays.h"
#include "../data/store/store.h"
#include "../sched/cascade.h"

static wisp_status place(wisp_mat **out, wisp_ctx *ctx, const wisp_crs *crs)
{
    wisp_mat *A = NULL;
    wisp_status status;
    WISP_TRY(wisp__index_check(ctx, crs->rows, crs->cols));
    WISP_TRY(wisp_alloc(ctx, &A, 1, sizeof *A));
    *A = (wisp_mat){.ctx = ctx,
                    .type = crs->type,
                    .local_rows = crs->rows,
                    .local_cols = crs->cols,
                    .square = crs->rows == crs->cols,
                    .sigma = 1,
                    .order = WISP_ROWS_NATURAL,
                    .format = WISP_FORMAT_SELL};
    wisp__crs_place(A, crs);
    WISP_TRY(wisp__cascades_open(A));
    WISP_TRY(wisp_map_create(&A->map, ctx, crs->rows));
    if (crs->rows == crs->cols)
        A->col_map = wisp__map_retain(A->map);
    else
        WISP_TRY(wisp_map_create(&A->col_map, ctx, crs->cols));
    WISP_TRY(wisp__make_grid(A));
    A->grid.weight = crs->rowptr;
    A->grid.weight_int = crs->rowptr_int;
    WISP_TRY(wisp__mat_take(A));
    *out = A;
    A = NULL;
out:
    wisp_mat_free(A);
    return status;
}

static wisp_status copy(wisp_mat **out, wisp_ctx *ctx, const wisp_crs *crs, const char *why)
{
    wisp_src src;
    wisp_status status;
    WISP_TRY(wisp_src_open_crs(&src, ctx, crs));
    wisp_ctx_logf(ctx, WISP_LOG_PERF, "CRS arrays are copied: %s", why);
    status = wisp_mat_create(
        out, ctx, &src, &(wisp_mat_opts){.C = 1, .sigma = 1, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL});
    wisp_src_close(&src);
out:
    return status;
}

wisp_status wisp_mat_borrow_crs(wisp_mat **out, wisp_ctx *ctx, const wisp_crs *crs)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, crs);
    int64_t max_row, unordered;
    wisp_status status;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__arrays_check(ctx, crs, __func__, &max_row, &unordered));
    if (ctx->ranks > 1)
        status = copy(out, ctx, crs, "each of several ranks has some of the rows alone");
    else if (!ctx->backend->host_memory)
        status = copy(out, ctx, crs, "the device has memory of its own");
    else if (unordered >= 0)
        status = copy(out, ctx, crs, "columns do not rise in each row");
    else
        status = place(out, ctx, crs);
out:
    status = wisp_ctx_leave(ctx, status);
    if (status == WISP_OK) return status;
    wisp_mat_free(*out);
    *out = NULL;
    return status;
}
