/* A matrix in place: CRS arrays of the user as SELL-1-1. */
#include "assemble.h"
#include "../sched/cascade.h"
#include <string.h>

static wisp_status check(wisp_ctx *ctx, const wisp_crs *a)
{
    if (!wisp__type_ok(a->type) || a->rowptr_int > WISP_INT32 || a->col_int > WISP_INT32 || a->rows < 0 ||
        a->cols < 0 || wisp__int_at(a->rowptr, a->rowptr_int, 0) != 0)
        return wisp_ctx_fail(ctx, WISP_ERR_ARG,
                             "CRS in place needs a type, arrays, and row pointers that begin with 0");
    if (ctx->ranks > 1)
        return wisp_ctx_fail(ctx, WISP_ERR_UNSUPPORTED,
                             "CRS in place: each of %d processes has some of the rows alone; copy instead "
                             "(wisp_src_open_crs, wisp_mat_create)",
                             ctx->ranks);
    const wisp_status status = wisp__index_check(ctx, a->rows, a->cols);
    if (status != WISP_OK) return status;
    return ctx->backend->borrow(ctx, a->val);
}

/* Row pointers and columns: the user's, where they have the library's width, else copies. What is the user's is never
   written through. */
static wisp_status take_pattern(wisp_mat *A, const wisp_crs *a)
{
    wisp__sell *s = &A->local;
    wisp_status status = WISP_OK;
    if (a->rowptr_int == WISP_INT64) {
        memcpy(&s->chunk, &a->rowptr, sizeof s->chunk);
        s->borrowed |= WISP__BORROWED_CHUNK;
    } else {
        WISP_TRY(wisp__alloc_raw(A->ctx, &s->chunk, (size_t)a->rows + 1, sizeof *s->chunk));
        for (int64_t i = 0; i <= a->rows; i++) s->chunk[i] = wisp__int_at(a->rowptr, a->rowptr_int, i);
    }
    s->entries = s->nnz = s->chunk[a->rows];
    if (a->col_int == WISP_INT32) {
        memcpy(&s->col, &a->col, sizeof s->col);
        s->borrowed |= WISP__BORROWED_COL;
    } else {
        WISP_TRY(wisp__alloc_raw(A->ctx, &s->col, (size_t)WISP__MAX(s->entries, 1), sizeof *s->col));
    }
    memcpy(&s->val, &a->val, sizeof s->val);
    s->borrowed |= WISP__BORROWED_VAL;
out:
    return status;
}

/* Lengths of rows, and columns that are copied. */
static wisp_status take_rows(wisp_mat *A, const wisp_crs *a)
{
    wisp__sell *s = &A->local;
    wisp_status status;
    WISP_TRY(wisp_alloc(A->ctx, &s->row_len, (size_t)a->rows, sizeof *s->row_len));
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t begin = s->chunk[i], end = s->chunk[i + 1], n = end - begin;
        int64_t last = -1;
        bool ok = n >= 0 && n <= INT32_MAX && end <= s->entries;
        for (int64_t k = begin; ok && k < end; k++) {
            const int64_t col = wisp__int_at(a->col, a->col_int, k);
            ok = col > last && col < a->cols;
            last = col;
            if (ok && !(s->borrowed & WISP__BORROWED_COL)) s->col[k] = (int32_t)col;
        }
        if (!ok)
            return wisp_ctx_fail(A->ctx, WISP_ERR_ARG,
                                 "row %lld can't be used in place: columns must rise and stay below %lld; copy instead",
                                 (long long)i, (long long)a->cols);
        s->row_len[i] = (int32_t)n;
    }
out:
    return status;
}

wisp_status wisp_mat_borrow_crs(wisp_mat **out, wisp_ctx *ctx, const wisp_crs *crs)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, crs);
    const void *rowptr = crs->rowptr, *col = crs->col, *val = crs->val;
    wisp_mat *A = NULL;
    wisp_status status;
    WISP_NEED(ctx, rowptr);
    WISP_TRY(check(ctx, crs));
    if (wisp__int_at(rowptr, crs->rowptr_int, crs->rows) > 0) {
        WISP_NEED(ctx, col);
        WISP_NEED(ctx, val);
    }
    WISP_TRY(wisp_alloc(ctx, &A, 1, sizeof *A));
    *A = (wisp_mat){.ctx = ctx,
                    .type = crs->type,
                    .rows = crs->rows,
                    .cols = crs->cols,
                    .square = crs->rows == crs->cols,
                    .sigma = 1,
                    .order = WISP_ROWS_NATURAL,
                    .format = WISP_FORMAT_SELL};
    WISP_TRY(wisp__cascades_open(A));
    WISP_TRY(wisp_map_create(&A->map, ctx, crs->rows));
    if (crs->rows == crs->cols)
        A->col_map = wisp__map_retain(A->map);
    else
        WISP_TRY(wisp_map_create(&A->col_map, ctx, crs->cols));
    WISP_TRY(take_pattern(A, crs));
    WISP_TRY(take_rows(A, crs));
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
