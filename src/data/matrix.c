/* What a matrix is: shape, entries, bytes, fill-in. */
#include "patterns.h"

void wisp__sell_free(wisp_ctx *ctx, wisp__sell *s)
{
    void *own[] = {s->row_len,    s->short_col, s->follow,   s->code, s->list,
                   s->list_first, s->pattern,   s->diagonal, s->fresh};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(ctx, own[i]);
    wisp__pieces_free(ctx, s->pieces);
    wisp__bundles_free(ctx, s->bundles);
    if (!s->borrowed) {
        wisp_free(ctx, s->chunk);
        wisp_free(ctx, s->col);
        wisp_free(ctx, s->val);
    }
    *s = (wisp__sell){0};
}

static int64_t sell_bytes(const wisp_mat *A, const wisp__sell *s, bool all)
{
    const int64_t size = (int64_t)wisp_type_size(A->type), real = (int64_t)wisp_type_size(wisp__real_type(A->type));
    if (s->chunks == 0) return 0;
    const int64_t entries = all || s->pattern ? s->entries : s->nnz, rows = A->rows;
    int64_t bytes = s->list ? rows * 2 + s->lists * 8 + s->list_first[s->lists] * 4 : entries * (s->short_col ? 2 : 4);
    bytes += s->code ? entries + s->values * size : entries * size;
    bytes += ((s->pattern ? s->patterns : s->chunks) + all) * 8;
    const int64_t others = s->bundles ? s->bundles->rows : 1; /* that share a number */
    if (s->pattern) bytes += (all ? rows : rows / others) * 2;
    if (s->diagonal) bytes += rows * real;
    if (all && s->row_len) bytes += rows * 4;
    if (all && s->follow) bytes += wisp__follow_bytes(rows);
    if (all && s->fresh) bytes += (s->pattern ? s->patterns : rows) * 4;
    return bytes;
}

int64_t wisp__mat_bytes(const wisp_mat *A, bool all)
{
    if (A->half) return wisp__half_bytes(A, all);
    const int64_t beside = all ? wisp__pieces_bytes(A) + wisp__bundles_bytes(A) : 0;
    return sell_bytes(A, &A->local, all) + sell_bytes(A, &A->remote, all) + beside;
}

void wisp_mat_get_info(const wisp_mat *A, wisp_mat_info *info)
{
    if (!info) return;
    *info = (wisp_mat_info){0};
    if (!A) return;
    *info = (wisp_mat_info){.rows = A->rows,
                            .cols = A->cols,
                            .nnz = A->local.nnz,
                            .type = A->type,
                            .C = 1 << A->log_c,
                            .sigma = A->sigma,
                            .bytes = wisp__mat_bytes(A, true),
                            .spill_bytes = A->half ? A->half->h.slots * (int64_t)wisp_type_size(A->type) : 0,
                            .order = A->order,
                            .format = A->format,
                            .work_blocks = A->grid.blocks};
}

wisp_map *wisp_mat_map(const wisp_mat *A) { return A ? A->map : NULL; }

wisp_map *wisp_mat_col_map(const wisp_mat *A) { return A ? A->col_map : NULL; }

wisp_ctx *wisp_mat_ctx(const wisp_mat *A) { return A ? A->ctx : NULL; }

/* ---- entries and rows ------------------------------------------------------------------------- */

wisp_scalar wisp__entry_value(const wisp_mat *A, int64_t row, int64_t k)
{
    const wisp__sell *s = &A->local;
    int64_t at = wisp__sell_at(s, A->log_c, row, k);
    if (s->diagonal && wisp__entry_col(A, row, k) == row) {
        const wisp_type real = wisp__real_type(A->type);
        return wisp__load(real, (const char *)s->diagonal + (size_t)row * wisp_type_size(real));
    }
    if (s->code) at = s->code[at];
    return wisp__load(A->type, (const char *)s->val + (size_t)at * wisp_type_size(A->type));
}

wisp_status wisp_mat_row_histogram(const wisp_mat *A, int64_t *hist, int bins)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, hist);
    if (bins < 1) return wisp_ctx_fail(A->ctx, WISP_ERR_ARG, "a histogram of %d bins", bins);
    for (int i = 0; i < bins; i++) hist[i] = 0;
    for (int64_t i = 0; i < A->rows; i++) hist[WISP__MIN(wisp__row_len(&A->local, i), bins - 1)]++;
    return WISP_OK;
}
