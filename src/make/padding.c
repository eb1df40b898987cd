/* Fill-in: the padding that chunks add to the entries of a matrix, and the sorting of rows that keeps it small. */
#include "assemble.h"
#include "../data/store/store.h"

int64_t wisp__padded_entries(const int32_t *len, const int32_t *user, int64_t rows, int log_c, int64_t *chunk)
{
    int64_t sum = 0;
    const int64_t c = (int64_t)1 << log_c;
    for (int64_t i = 0; i < rows; i += c) {
        int32_t longest = 0;
        for (int64_t r = i; r < WISP__MIN(rows, i + c); r++) longest = WISP__MAX(longest, len[user ? user[r] : r]);
        if (chunk) chunk[i >> log_c] = sum;
        sum += (int64_t)longest << log_c;
    }
    if (chunk) chunk[(rows + c - 1) >> log_c] = sum;
    return sum;
}

wisp_status wisp__padded_sorted(wisp_ctx *ctx, const int32_t *row_len, int64_t rows, int log_c, int64_t sigma,
                                int64_t *entries)
{
    wisp_map *order = NULL;
    wisp_status status = WISP_OK;
    if (sigma > 1) {
        WISP_TRY(wisp__map_alone(&order, ctx, rows));
        WISP_TRY(wisp__map_sort(order, row_len, sigma));
    }
    *entries = wisp__padded_entries(row_len, order ? order->user : NULL, rows, log_c, NULL);
out:
    wisp_map_free(order);
    return status;
}

int64_t wisp__window_for(const wisp_ctx *ctx, int64_t entries, int64_t nnz, int log_c)
{
    const wisp__tuned *t = wisp__tuned_of(ctx);
    return (double)entries > t->sorting.worth_it * (double)nnz ? (int64_t)t->sorting.chunks << log_c : 1;
}

wisp_status wisp_mat_fill_in(const wisp_mat *A, int C, int64_t sigma, double *ratio)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, ratio);
    wisp_ctx *ctx = A->ctx;
    if (C < 1 || C > K_MAX_C || (C & (C - 1)) || sigma < 1 || (sigma > 1 && sigma % C))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "fill-in for C = %d, sigma = %lld: C is a power of two, sigma 1 or a multiple of C", C,
                              (long long)sigma);
    sigma = WISP__MIN(sigma, WISP__MAX(1, (A->local_rows + C - 1) / C * C));
    wisp__host_mat host;
    int32_t *len = NULL;
    int64_t padded = 0;
    double all = 0;
    wisp_status status;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__need_entries(A, "fill-in"));
    WISP_TRY(wisp__alloc_raw(ctx, &len, (size_t)A->local_rows, sizeof *len));
    WISP_TRY(wisp__mat_lend(A, WISP_READ, &host));
    for (int64_t i = 0; i < A->local_rows; i++) len[wisp__map_row(A->map, i)] = wisp__row_len(&host.mat, i);
    wisp__mat_return(&host);
    WISP_TRY(wisp__padded_sorted(ctx, len, A->local_rows, __builtin_ctz((unsigned)C), sigma, &padded));
    all = (double)padded;
    WISP_TRY(ctx->comm->sum(ctx, &all, 1));
    *ratio = A->nnz ? all / (double)A->nnz : 1;
out:
    wisp_free(ctx, len);
    return wisp_ctx_leave(ctx, status);
}
