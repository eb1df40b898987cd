/* A matrix in place: CRS arrays of the user as SELL-1-1. */
#include "assemble.h"
#include "../sched/cascade.h"
#include <string.h>

wisp_status wisp_mat_borrow_crs(wisp_mat **out, wisp_ctx *ctx, wisp_type type, int64_t rows, int64_t cols,
                                const int64_t *rowptr, const int32_t *col, const void *val)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, rowptr);
    wisp_mat *A = NULL;
    wisp_status status;
    if (!wisp__type_ok(type) || rows < 0 || cols < 0 || rowptr[0] != 0)
        return wisp_ctx_fail(ctx, WISP_ERR_ARG,
                             "CRS in place needs a type, arrays, and row pointers that begin with 0");
    if (rowptr[rows] > 0) {
        WISP_NEED(ctx, col);
        WISP_NEED(ctx, val);
    }
    WISP_TRY(wisp_alloc(ctx, &A, 1, sizeof *A));
    *A = (wisp_mat){.ctx = ctx,
                    .type = type,
                    .rows = rows,
                    .cols = cols,
                    .sigma = 1,
                    .order = WISP_ROWS_NATURAL,
                    .format = WISP_FORMAT_SELL};
    A->local.borrowed = true;
    WISP_TRY(ctx->backend->borrow(ctx, rowptr));
    WISP_TRY(wisp__cascades_open(A));
    WISP_TRY(wisp_map_create(&A->map, ctx, rows));
    if (rows == cols)
        A->col_map = wisp__map_retain(A->map);
    else
        WISP_TRY(wisp_map_create(&A->col_map, ctx, cols));
    WISP_TRY(wisp_alloc(ctx, &A->local.row_len, (size_t)rows, sizeof *A->local.row_len));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t n = rowptr[i + 1] - rowptr[i];
        bool ok = n >= 0 && n <= INT32_MAX;
        for (int64_t k = rowptr[i]; ok && k < rowptr[i + 1]; k++)
            ok = col[k] >= 0 && col[k] < cols && (k == rowptr[i] || col[k] > col[k - 1]);
        if (!ok) {
            status =
                wisp_ctx_fail(ctx, WISP_ERR_ARG,
                              "row %lld can't be used in place: columns must rise and stay below %lld; copy instead",
                              (long long)i, (long long)cols);
            goto out;
        }
        A->local.row_len[i] = (int32_t)n;
    }
    A->local.chunks = rows;
    A->local.entries = A->local.nnz = rowptr[rows];
    /* Never written through: the part is marked as borrowed. */
    memcpy(&A->local.chunk, &rowptr, sizeof rowptr);
    memcpy(&A->local.col, &col, sizeof col);
    memcpy(&A->local.val, &val, sizeof val);
    wisp__make_grid(A);
    WISP_TRY(wisp__mat_take(A));
    *out = A;
    A = NULL;
out:
    wisp_mat_free(A);
    return status;
}
