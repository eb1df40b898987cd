/* A matrix in place: CRS arrays of the user as SELL-1-1. */
#include "assemble.h"
#include "../data/arrays.h"
#include "../data/store/store.h"
#include "../sched/cascade.h"
#include <string.h>

/* Row pointers and columns: the user's, where they have the library's width, else copies. Nothing is written to the
   user's. Values are the user's, lengths of rows never. */
static wisp_status take_arrays(wisp_mat *A, const wisp_crs *a)
{
    wisp__stored *s = &A->local;
    wisp_status status = WISP_OK;
    if (a->rowptr_int == WISP_INT64) {
        memcpy(&s->chunk, &a->rowptr, sizeof s->chunk);
        s->borrowed |= WISP__BORROWED_CHUNK;
    } else {
        WISP_TRY(wisp__alloc_raw(A->ctx, &s->chunk, (size_t)a->rows + 1, sizeof *s->chunk));
        for (int64_t i = 0; i <= a->rows; i++) s->chunk[i] = wisp__arrays_begin(a, i);
    }
    s->entries = s->nnz = s->chunk[a->rows];
    if (a->col_int == WISP_INT32) {
        memcpy(&s->col, &a->col, sizeof s->col);
        s->borrowed |= WISP__BORROWED_COL;
    } else {
        WISP_TRY(wisp__alloc_raw(A->ctx, &s->col, (size_t)s->entries, sizeof *s->col));
        for (int64_t k = 0; k < s->entries; k++) s->col[k] = (int32_t)wisp__arrays_col(a, k);
    }
    memcpy(&s->val, &a->val, sizeof s->val);
    s->borrowed |= WISP__BORROWED_VAL;
    WISP_TRY(wisp_alloc(A->ctx, &s->row_len, (size_t)a->rows, sizeof *s->row_len));
    for (int64_t i = 0; i < a->rows; i++) s->row_len[i] = (int32_t)(s->chunk[i + 1] - s->chunk[i]);
out:
    return status;
}

wisp_status wisp_mat_borrow_crs(wisp_mat **out, wisp_ctx *ctx, const wisp_crs *crs)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, crs);
    wisp_mat *A = NULL;
    int64_t max_row;
    wisp_status status;
    WISP_TRY(wisp__arrays_check(ctx, crs, __func__, true, &max_row));
    if (ctx->ranks > 1)
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                              "CRS in place: each of %d processes has some of the rows alone; copy instead "
                              "(wisp_src_open_crs, wisp_mat_create)",
                              ctx->ranks);
    WISP_TRY(wisp__index_check(ctx, crs->rows, crs->cols));
    WISP_TRY(ctx->backend->borrow(ctx, crs->val));
    WISP_TRY(wisp_alloc(ctx, &A, 1, sizeof *A));
    *A = (wisp_mat){.ctx = ctx,
                    .type = crs->type,
                    .local_rows = crs->rows,
                    .local_cols = crs->cols,
                    .square = crs->rows == crs->cols,
                    .sigma = 1,
                    .order = WISP_ROWS_NATURAL,
                    .format = WISP_FORMAT_SELL};
    A->local.how = &wisp__storage_sell;
    WISP_TRY(wisp__cascades_open(A));
    WISP_TRY(wisp_map_create(&A->map, ctx, crs->rows));
    if (crs->rows == crs->cols)
        A->col_map = wisp__map_retain(A->map);
    else
        WISP_TRY(wisp_map_create(&A->col_map, ctx, crs->cols));
    WISP_TRY(take_arrays(A, crs));
    A->local.chunks = crs->rows;
    A->nnz = A->local.nnz;
    WISP_TRY(wisp__make_grid(A));
    WISP_TRY(wisp__mat_take(A));
    *out = A;
    A = NULL;
out:
    wisp_mat_free(A);
    return status;
}
