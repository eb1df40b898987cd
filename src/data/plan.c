/* What a matrix will take. */
#include "assemble.h"
#include "order.h"
#include "patterns.h"

typedef struct {
    wisp_ctx *ctx;
    const wisp_src *src;
    int log_c;
    int64_t sigma;
    atomic_llong nnz, entries;
} plan_run;

/* A piece is a whole number of sorting windows. */
static wisp_status plan_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    (void)reader;
    plan_run *r = arg;
    int32_t *len;
    int64_t nnz = 0, entries;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(r->ctx, &len, (size_t)(end - begin), sizeof *len));
    for (int64_t i = begin; i < end; i++) {
        WISP_TRY(wisp__count_row(r->ctx, r->src, i, len + (i - begin)));
        nnz += len[i - begin];
    }
    WISP_TRY(wisp__padded_sorted(r->ctx, len, end - begin, r->log_c, r->sigma, &entries));
    atomic_fetch_add(&r->nnz, nnz);
    atomic_fetch_add(&r->entries, entries);
out:
    wisp_free(r->ctx, len);
    return status;
}

/* The most that is held on the way to a matrix of that many bytes: lengths of rows, each thread's row, and the search
   for an order, or for repetition, before its arrays are there; the whole matrix beside its half. */
static int64_t assembly_bytes(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *o, const wisp_mat_info *info)
{
    enum { TABLES = 2560 << 10, READER = 52, LITTLE = 4 << 10 };
    const int64_t rows = src->rows, entry = (int64_t)wisp_type_size(info->type) + 4;
    const int64_t readers = ctx->threads * src->max_row * READER, map = 12 * rows;
    const bool search = rows == src->cols && !o->map;
    const int64_t order =
        search ? wisp__order_bytes(ctx, rows, info->nnz, info->order, info->type, WISP__MAX(o->width, 1)) : 0;
    /* Tables, and the patterns that are copied from them. */
    const int64_t repetition = WISP__MIN(TABLES, 40 * rows + 2 * info->nnz * entry) + (2 + 8) * rows + map;
    int64_t bytes = info->bytes + map;
    if (info->format == WISP_FORMAT_HERMITIAN) bytes += info->nnz * entry + 12 * rows;
    bytes = WISP__MAX(bytes, WISP__MAX(order, repetition) + 4 * rows);
    return bytes + readers + LITTLE;
}

wisp_status wisp_mat_plan(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts, wisp_mat_info *info)
{
    const wisp_mat_opts o = opts ? *opts : (wisp_mat_opts){0};
    wisp_mat A = {0};
    wisp_status status;
    WISP_TRY(wisp__src_check(ctx, src));
    WISP_TRY(wisp__mat_shape(ctx, src, &o, &A));
    plan_run run = {ctx, src, A.log_c, WISP__MAX(A.sigma, 1), 0, 0};
    const int64_t piece = (WISP__PIECE * 16 + run.sigma - 1) / run.sigma * run.sigma;
    WISP_TRY(wisp__for_rows(ctx, "planning", src, NULL, src->rows, piece, plan_rows, &run));
    const int64_t entries = atomic_load(&run.entries), c = (int64_t)1 << A.log_c;
    *info = (wisp_mat_info){.rows = src->rows,
                            .cols = src->cols,
                            .nnz = atomic_load(&run.nnz),
                            .type = A.type,
                            .C = (int)c,
                            .sigma = run.sigma,
                            .order = A.order,
                            .format = A.format};
    const bool may_sort = (A.sigma != 1 || A.order != WISP_ROWS_NATURAL) && !o.map;
    info->bytes = entries * ((int64_t)wisp_type_size(A.type) + 4) + src->rows * 4 + (src->rows / c + 2) * 8 +
                  (may_sort ? src->rows * 8 : 0) + src->rows * 4 + wisp__follow_bytes(src->rows);
    const bool may_repeat = o.format == WISP_FORMAT_COMPRESSED || (o.format == WISP_FORMAT_DEFAULT && !o.C && !o.sigma);
    if (may_repeat && o.width <= 1) info->bytes += wisp__bundles_most(ctx, A.type, src->rows);
    if (A.format == WISP_FORMAT_HERMITIAN) {
        const int64_t lists = 32 * 1024,
                      row = 8 + 4 + 4 + 2; /* rows that cross blocks are an eighth at most, usually */
        /* An entry has its column and, outside of its block, a row of spill. */
        info->spill_bytes = src->rows / 8 * (int64_t)wisp_type_size(A.type);
        info->bytes = (info->nnz + src->rows) / 2 * ((int64_t)wisp_type_size(A.type) + 8) + src->rows * row + lists;
    }
    info->assembly_bytes = assembly_bytes(ctx, src, &o, info);
out:
    return status;
}
