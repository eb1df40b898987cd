/* Predicts the bytes of a matrix before it is made: at most, over all choices that may be made for it. */
#include "way.h"

enum { LENGTHS = 256 }; /* that are counted one by one */

typedef struct {
    wisp_ctx *ctx;
    const wisp_src *src;
    int log_c;
    int64_t sigma;
    atomic_llong nnz, entries, rows[LENGTHS], longer_rows, in_longer;
} count_run;

/* A piece is a whole number of sorting windows. */
static wisp_status count_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    count_run *r = arg;
    int32_t *len;
    int64_t nnz = 0, rows[LENGTHS] = {0}, longer_rows = 0, in_longer = 0, entries;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(r->ctx, &len, (size_t)(end - begin), sizeof *len));
    for (int64_t i = begin; i < end; i++) {
        WISP_TRY(wisp__count_row(reader, r->ctx, i, len + (i - begin)));
        const int32_t n = len[i - begin];
        nnz += n;
        if (n < LENGTHS) {
            rows[n]++;
        } else {
            longer_rows++;
            in_longer += n;
        }
    }
    WISP_TRY(wisp__padded_sorted(r->ctx, len, end - begin, r->log_c, r->sigma, &entries));
    atomic_fetch_add(&r->nnz, nnz);
    atomic_fetch_add(&r->entries, entries);
    for (int n = 0; n < LENGTHS; n++)
        if (rows[n]) atomic_fetch_add(&r->rows[n], rows[n]);
    atomic_fetch_add(&r->longer_rows, longer_rows);
    atomic_fetch_add(&r->in_longer, in_longer);
out:
    wisp_free(r->ctx, len);
    return status;
}

/* Entries with padding in whatever order: no chunks are longer than if the longest rows were each in one of its own. */
static int64_t most_padded(count_run *r)
{
    const int64_t c = (int64_t)1 << r->log_c;
    int64_t chunks = (r->src->rows + c - 1) / c, entries = atomic_load(&r->in_longer);
    if (c == 1) return atomic_load(&r->nnz);
    chunks -= atomic_load(&r->longer_rows);
    for (int64_t n = LENGTHS - 1; n > 0 && chunks > 0; n--) {
        const int64_t rows = WISP__MIN(chunks, atomic_load(&r->rows[n]));
        entries += rows * n;
        chunks -= rows;
    }
    return entries * c;
}

static void or_more(const wisp__way *w, wisp_mat_info *info)
{
    wisp_mat_info other;
    wisp__way_describe(w, info->work_blocks, &other);
    info->bytes = WISP__MAX(info->bytes, other.bytes);
    info->assembly_bytes = WISP__MAX(info->assembly_bytes, other.assembly_bytes);
}

/* The ways that take most: entries as they are, and, where rows have hardly any, patterns or codes with the diagonal
   apart. */
static void at_most(wisp__way *w, const wisp_mat_opts *o, const wisp__order_plan *order, wisp_mat_info *info)
{
    const bool square = w->A->square;
    wisp__way_store(w, &(wisp__compression){.codes = false});
    w->most = true;
    w->order_bytes = order->bytes;
    w->permuted = order->looks;
    w->visits = order->looks ? w->A->local_rows / K_STRIP + 1 : 0;
    w->compared = wisp__may_compress(o);
    w->tried_apart = square;
    w->outside = wisp__way_upper(w);
    w->spill_rows = WISP__MIN(wisp__way_upper(w),
                              7 * w->A->local_rows); /* eight blocks; with more of them there are few spill rows */
    wisp__way_describe(w, wisp__way_blocks(w->A, order->looks || (o->map && o->map->visits)), info);
    if (!w->compared) return;
    w->apart = square;
    w->codes = true;
    wisp__way_store(w, &(wisp__compression){.codes = true});
    w->values = UINT8_MAX + 1;
    or_more(w, info);
    wisp__compression_most(w->A, w->nnz, &w->strings, &w->string_bytes);
    w->pattern = true;
    w->how = &wisp__storage_patterns;
    or_more(w, info);
}

wisp_status wisp_mat_bound(wisp_ctx *ctx, const wisp_src *whole, const wisp_mat_opts *opts, wisp_mat_info *info)
{
    const wisp_mat_opts o = opts ? *opts : (wisp_mat_opts){0};
    wisp_mat A = {.ctx = ctx};
    wisp__part part = {0};
    wisp__order_plan order;
    count_run *run = NULL;
    wisp_status status;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, whole);
    WISP_NEED(ctx, info);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__part_open(&part, ctx, whole, o.map));
    const wisp_src *src = &part.src;
    A.square = whole->rows == whole->cols;
    WISP_TRY(wisp__mat_shape(src, &o, &A));
    WISP_TRY(wisp_alloc(ctx, &run, 1, sizeof *run));
    *run = (count_run){.ctx = ctx, .src = src, .log_c = A.log_c, .sigma = WISP__MAX(A.sigma, 1)};
    const int64_t piece = (WISP__PIECE * 16 + run->sigma - 1) / run->sigma * run->sigma;
    WISP_TRY(wisp__for_rows(ctx, "planning", src, NULL, src->rows, piece, count_rows, run));
    wisp__way w = {.A = &A,
                   .part = &part,
                   .src = src,
                   .foretold = -1,
                   .nnz = atomic_load(&run->nnz),
                   .entries = atomic_load(&run->entries)};
    WISP_TRY(wisp__way_order(&order, &A, src, &o, w.nnz));
    if (order.looks || o.map) w.entries = most_padded(run);
    if (A.sigma == 0) A.sigma = wisp__window_for(ctx, w.entries, w.nnz, A.log_c);
    w.sorted = wisp__is_sorted(&A, &o);
    at_most(&w, &o, &order, info);
out:
    wisp_free(ctx, run);
    wisp__part_close(&part);
    return wisp__way_join(ctx, status, info);
}
