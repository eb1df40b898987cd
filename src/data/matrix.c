/* Queries on a matrix: wisp_mat_info, its maps, the lengths of its rows. */
#include "halo.h"
#include "store/store.h"

wisp_status wisp__mat_join(wisp_mat *A)
{
    double nnz = (double)A->nnz; /* exact below 2^53 */
    const wisp_status status = A->ctx->comm->sum(A->ctx, &nnz, 1);
    A->nnz = (int64_t)nnz;
    if (A->halo) A->col_map->halo = WISP__MAX(A->col_map->halo, A->halo->rows);
    return status;
}

void wisp_mat_get_info(const wisp_mat *A, wisp_mat_info *info)
{
    if (!info) return;
    *info = (wisp_mat_info){0};
    if (!A) return;
    const wisp__half_mat *half = wisp__half_of(A);
    const int64_t spill_rows = half ? half->h.spill_rows : wisp__operator_of(A) ? A->local_rows : 0;
    *info = (wisp_mat_info){.rows = A->map->rows,
                            .cols = A->col_map->rows,
                            .nnz = A->nnz,
                            .type = A->type,
                            .C = 1 << A->log_c,
                            .sigma = A->sigma,
                            .bytes = wisp__mat_bytes(A, true),
                            .user_bytes = wisp__in_place(A) ? wisp__mat_bytes(A, true) : 0,
                            .sweep_bytes = wisp__mat_bytes(A, false),
                            .spill_bytes = spill_rows * (int64_t)wisp_type_size(A->type),
                            .order = A->order,
                            .format = A->format,
                            .asked_format = A->asked_format,
                            .width = A->width,
                            .tiles_on = A->map->tiles_on,
                            .slices = A->map->slices,
                            .work_blocks = A->grid.blocks,
                            .local_rows = A->local_rows,
                            .local_nnz = A->local.nnz,
                            .near_rows = A->near_rows};
    wisp__halo_info(A->halo, A->way, info);
    if (!half && !wisp__operator_of(A)) info->props_bytes = wisp__props_bytes(A->ctx, info);
    info->halo_rows = WISP__MAX(info->halo_rows, A->col_map->halo); /* blocks have room for the largest of the map */
}

wisp_map *wisp_mat_map(const wisp_mat *A) { return A ? A->map : NULL; }

wisp_map *wisp_mat_col_map(const wisp_mat *A) { return A ? A->col_map : NULL; }

int64_t wisp_mat_reached(const wisp_mat *A, int64_t step)
{
    if (!A) return 0;
    if (step < 1 || step + 1 >= A->levels) return A->local_rows;
    return WISP__MIN(A->reached[step + 1] * (A->grid.chunks_per_block << A->log_c), A->local_rows);
}

wisp_ctx *wisp_mat_ctx(const wisp_mat *A) { return A ? A->ctx : NULL; }

wisp_status wisp_mat_row_histogram(const wisp_mat *A, int64_t *hist, int bins)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, hist);
    if (bins < 1) return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "a histogram of %d bins", bins);
    wisp__host_mat host;
    double *count = NULL;
    wisp_status status;
    wisp_ctx_enter(A->ctx);
    WISP_TRY(wisp__need_entries(A, "lengths of rows"));
    WISP_TRY(wisp_alloc(A->ctx, &count, (size_t)bins, sizeof *count));
    WISP_TRY(wisp__mat_lend(A, WISP_READ, &host));
    for (int64_t i = 0; i < A->local_rows; i++) count[WISP__MIN(wisp__row_len(&host.mat, i), bins - 1)]++;
    wisp__mat_return(&host);
    status = A->ctx->comm->sum(A->ctx, count, (size_t)bins);
out:
    status = wisp_ctx_leave(A->ctx, status);
    for (int i = 0; i < bins; i++) hist[i] = status == WISP_OK ? (int64_t)count[i] : 0;
    wisp_free(A->ctx, count);
    return status;
}
