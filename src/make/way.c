/* The bytes of a way to store a matrix, before it is made. */
#include "way.h"

static int64_t size_of(const wisp__way *w) { return (int64_t)wisp_type_size(w->A->type); }
static int64_t real_of(const wisp__way *w) { return (int64_t)wisp_type_size(wisp__real_type(w->A->type)); }

static int64_t map_bytes(const wisp__way *w)
{
    return (w->permuted || w->sorted ? 8 * w->A->local_rows : 0) + 4 * w->visits;
}

int64_t wisp__way_upper(const wisp__way *w) { return (w->nnz + w->A->local_rows) / 2; }

static int64_t half_bytes(const wisp__way *w)
{
    const int64_t rows = w->A->local_rows, strips = (rows + K_STRIP - 1) / K_STRIP;
    const int64_t blocks = wisp__facts_of(w->A->ctx).cut.most_blocks;
    const int64_t sources = WISP__MIN(w->spill_rows, blocks * blocks);
    return wisp__way_upper(w) * (size_of(w) + 4) + rows * (8 + 4 + 4) + 8 + (strips + 1) * (8 + 8 + 4) +
           w->outside * 4 + w->spill_rows * 8 + (blocks + 1) * (8 + 8 + 8) + sources * 4;
}

static int64_t pattern_bytes(const wisp__way *w)
{
    const int64_t rows = w->A->local_rows;
    return 2 * rows + w->string_bytes + 8 * (w->strings + 1) + (w->apart ? rows * real_of(w) : 0);
}

static int64_t entry_bytes(const wisp__way *w)
{
    const wisp_mat *A = w->A;
    const int64_t rows = A->local_rows;
    int64_t columns = w->entries * w->column_bytes;
    const int64_t values = w->codes ? w->entries + w->values * size_of(w) : w->entries * size_of(w);
    if (w->list) columns = 2 * rows + w->string_bytes + 8 * (w->strings + 1);
    return columns + values + (w->apart ? rows * real_of(w) : 0) + 4 * rows + 8 * ((rows >> A->log_c) + 2);
}

/* Those that a product reads at least (wisp__mat_bytes). */
static int64_t sweep_bytes(const wisp__way *w)
{
    const wisp_mat *A = w->A;
    const int64_t rows = A->local_rows, chunks = (rows + (1 << A->log_c) - 1) >> A->log_c;
    const int64_t diagonal = w->apart ? rows * real_of(w) : 0, strings = w->string_bytes + 8 * w->strings;
    if (A->format == WISP_FORMAT_HERMITIAN) return wisp__way_upper(w) * (size_of(w) + 4) + rows * 8;
    if (w->pattern) return 2 * rows + strings + diagonal - w->spared;
    const int64_t columns = w->list ? 2 * rows + strings : w->nnz * w->column_bytes;
    const int64_t values = w->codes ? w->nnz + w->values * size_of(w) : w->nnz * size_of(w);
    return columns + values + diagonal + 8 * chunks;
}

void wisp__way_store(wisp__way *w, const wisp__compression *c)
{
    w->how = wisp__storage_for(c);
    w->column_bytes = w->how->column_bytes ? w->how->column_bytes(c) : 0;
}

/* All that stays, the maps with it; *making: what is held besides shortly before. */
static int64_t stored_bytes(const wisp__way *w, int64_t *making)
{
    const wisp_mat *A = w->A;
    const int64_t bytes = map_bytes(w) + (w->pattern ? pattern_bytes(w) : entry_bytes(w));
    const int64_t stored = w->pattern ? w->string_bytes / (size_of(w) + 4) : w->entries;
    const wisp__given given = {.kind = w->how->kind,
                               .type = A->type,
                               .width = A->width,
                               .log_c = A->log_c,
                               .rows = A->local_rows,
                               .cols = A->local_cols,
                               .patterns = w->pattern ? w->strings : 0,
                               .repeats = w->pattern || w->list || w->most,
                               .stored = stored,
                               .longest = WISP__MIN(w->src->max_row, stored),
                               .bytes = bytes,
                               .foretold = w->most ? -1 : w->foretold};
    int64_t made = 0;
    *making = 0;
    if (A->ctx->backend->foresee && A->format != WISP_FORMAT_HERMITIAN)
        A->ctx->backend->foresee(A->ctx, &given, &made, making);
    return bytes + made;
}

/* The whole matrix, then its half beside it, then what is numbered in this. */
static int64_t half_making_bytes(const wisp__way *w, int64_t whole)
{
    const int64_t rows = w->A->local_rows, sets = w->A->ctx->threads * (rows / 64 + 1) * (8 + 4);
    const int64_t both = whole + 8 * rows + wisp__way_upper(w) * (size_of(w) + 4);
    return WISP__MAX(both, map_bytes(w) + half_bytes(w) + sets + 4 * w->spill_rows);
}

/* The most that is held until the matrix stands. */
static int64_t assembly_bytes(const wisp__way *w)
{
    const wisp_mat *A = w->A;
    const int64_t rows = A->local_rows, lengths = 4 * rows, map = map_bytes(w);
    const int64_t readers = A->ctx->threads * wisp__row_reader_bytes(w->src);
    int64_t making, strings = 0, bytes = 0, most = lengths + w->order_bytes;
    const int64_t stored = stored_bytes(w, &making);
    if (w->compared) {
        wisp__compression_most(A, w->nnz, &strings, &bytes);
        most =
            WISP__MAX(most, lengths + map + wisp__compression_search_bytes(A, w->nnz, w->src->max_row, w->tried_apart));
    }
    if (w->permuted || w->sorted) most = WISP__MAX(most, lengths + map + 8 * rows);
    const int64_t tables = w->pattern || w->list ? wisp__strings_most(strings, bytes) : 0;
    most = WISP__MAX(most, stored + making + tables + (w->pattern ? lengths : 0));
    if (A->format == WISP_FORMAT_HERMITIAN) most = WISP__MAX(most, half_making_bytes(w, stored));
    return most + readers + WISP_PLAN_LITTLE;
}

void wisp__way_describe(const wisp__way *w, int64_t work_blocks, wisp_mat_info *info)
{
    const wisp_mat *A = w->A;
    const bool half = A->format == WISP_FORMAT_HERMITIAN;
    int64_t making;
    *info = (wisp_mat_info){.rows = w->part->whole->rows,
                            .cols = w->part->whole->cols,
                            .nnz = w->nnz,
                            .type = A->type,
                            .C = 1 << A->log_c,
                            .sigma = WISP__MAX(A->sigma, 1),
                            .bytes = half ? map_bytes(w) + half_bytes(w) : stored_bytes(w, &making),
                            .sweep_bytes = sweep_bytes(w),
                            .order = A->order,
                            .format = A->format,
                            .spill_bytes = half ? w->spill_rows * size_of(w) : 0,
                            .assembly_bytes = assembly_bytes(w),
                            .work_blocks = work_blocks,
                            .local_rows = A->local_rows,
                            .local_nnz = w->nnz};
    wisp__halo_info(w->part->halo, A->way, info);
    if (w->permuted || w->sorted) /* as a rule rows do not follow one another then */
        info->packed_rows = WISP__MAX(info->packed_rows, info->send_rows);
    if (w->how->format == WISP_FORMAT_COMPRESSED) info->format = WISP_FORMAT_COMPRESSED;
}

wisp_status wisp__way_join(wisp_ctx *ctx, wisp_status status, wisp_mat_info *info)
{
    double nnz = status == WISP_OK ? (double)info->nnz : 0;
    if (status == WISP_OK) status = ctx->comm->sum(ctx, &nnz, 1);
    if (status == WISP_OK) info->nnz = (int64_t)nnz;
    if (status == WISP_OK && info->format != WISP_FORMAT_HERMITIAN) info->props_bytes = wisp__props_bytes(ctx, info);
    return wisp_ctx_leave(ctx, status);
}

static int64_t grid_blocks(const wisp_mat *A)
{
    const int64_t row_bytes = (int64_t)wisp_type_size(A->type) * WISP__MAX(A->width, 1);
    const wisp__facts f = wisp__facts_of(A->ctx);
    const int64_t per = wisp__rows_per_wide_block(&f.cut, A->local_rows, row_bytes);
    return (A->local_rows + per - 1) / per;
}

/* Half storage has two sets of dots for each of its blocks, which are at most a strip each. */
int64_t wisp__way_blocks(const wisp_mat *A, bool tiles)
{
    const int64_t strips = (A->local_rows + K_STRIP - 1) / K_STRIP;
    if (A->format == WISP_FORMAT_HERMITIAN) return 2 * WISP__MIN(strips, wisp__facts_of(A->ctx).cut.most_blocks);
    return tiles ? strips : grid_blocks(A);
}

wisp_status wisp__way_order(wisp__order_plan *p, const wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o,
                            int64_t nnz)
{
    *p = (wisp__order_plan){0};
    if (!A->square || o->map) return WISP_OK;
    const wisp__order_want want = {A->order, o->tiles_on, o->slices};
    return wisp__order_foresee(p, A->ctx, src, nnz, &want, A->type, WISP__MAX(o->width, 1));
}
