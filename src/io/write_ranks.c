/* Rows of several ranks to one file: they go to rank 0, some at a time, which writes them. */
#include "../comm/comm.h"
#include "write.h"
#include <string.h>

wisp__rows_range wisp__rows_to_write(const wisp_src *src, wisp_ctx *ctx)
{
    if (!src->own_rows || ctx->ranks == 1) return (wisp__rows_range){0, src->rows, false};
    const wisp__crs own = wisp__crs_of_rank(ctx, src->weights, src->type, src->rows, src->cols);
    return (wisp__rows_range){own.first, own.local, true};
}

wisp_status wisp__before_of_ranks(wisp_ctx *ctx, int64_t rows, wisp__rows_range own, int64_t **before)
{
    wisp__message *to = NULL, *from = NULL;
    int64_t *all = NULL, row = 0;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &to, (size_t)ctx->ranks, sizeof *to));
    for (int r = 0; r < ctx->ranks; r++) to[r].rank = r;
    to[0] = (wisp__message){0, *before, ((size_t)own.count + 1) * sizeof **before};
    WISP_TRY(wisp__comm_exchange(ctx, to, &from));
    if (ctx->rank == 0) WISP_TRY(wisp_alloc(ctx, &all, (size_t)rows + 1, sizeof *all));
    for (int r = 0; all && r < ctx->ranks; r++) {
        const int64_t *part = from[r].data, first = row, count = (int64_t)(from[r].bytes / sizeof *part) - 1;
        for (int64_t i = 0; i < count; i++, row++) all[row + 1] = all[first] + part[i + 1];
    }
    wisp_free(ctx, *before);
    *before = all;
out:
    wisp_free(ctx, to);
    wisp_free(ctx, from);
    return status;
}

/* ---- some rows ------------------------------------------------------------------------------------- */

typedef struct {
    wisp_ctx *ctx;
    const wisp_src *src;
    int64_t first; /* row */
    wisp__coo coo; /* a run for each piece */
} take;

/* Entries as the source has them: rank 0 adds up duplicates, as it would if the rows were its own. */
static wisp_status take_run(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    take *t = arg;
    const size_t size = wisp_type_size(t->src->type);
    wisp__run *run = &t->coo.run[begin / WISP__RUN_ROWS];
    int64_t count = 0;
    wisp_status status;
    for (int64_t i = begin; i < end; i++) {
        int32_t n;
        if ((status = wisp__count_row(reader, t->ctx, t->first + i, &n)) != WISP_OK) return status;
        count += n;
    }
    wisp_free(t->ctx, run->memory); /* those of a run that failed are made again, for its message */
    if ((status = wisp__run_alloc(t->ctx, run, t->src->type, count)) != WISP_OK) return status;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = t->first + i;
        int n;
        if ((status = wisp__read_columns(reader, t->ctx, row, &n)) != WISP_OK) return status;
        if (run->count + n > count)
            return wisp_ctx_failf(t->ctx, WISP_ERR_CALLBACK, "row %lld has other entries than before", (long long)row);
        for (int k = 0; k < n; k++) {
            run->row[run->count + k] = (int32_t)row;
            run->col[run->count + k] = (int32_t)reader->col[k];
        }
        memcpy((char *)run->val + (size_t)run->count * size, reader->val, (size_t)n * size);
        run->count += n;
    }
    return WISP_OK;
}

static wisp_status take_rows(take *t, int64_t count)
{
    wisp_status status;
    const int64_t runs = (count + WISP__RUN_ROWS - 1) / WISP__RUN_ROWS;
    WISP_TRY(wisp_alloc(t->ctx, &t->coo.run, (size_t)runs, sizeof *t->coo.run));
    t->coo.runs = t->coo.room = runs;
    status = wisp__for_rows(t->ctx, "collecting", t->src, NULL, count, WISP__RUN_ROWS, take_run, t);
    for (int64_t i = 0; i < runs; i++) t->coo.entries += t->coo.run[i].count;
out:
    return status;
}

/* Rows begin .. end - 1 of all ranks. */
static wisp_status write_some(wisp__out *out, const wisp__row_writer *w, int64_t begin, int64_t end)
{
    wisp_ctx *ctx = w->ctx;
    const wisp_src *src = w->src;
    const int64_t first = WISP__MAX(begin, w->rows.first), last = WISP__MIN(end, w->rows.first + w->rows.count);
    take t = {.ctx = ctx, .src = src, .first = first};
    wisp__deal deal = {0};
    wisp__crs *crs = NULL;
    wisp_status status;
    WISP_TRY(take_rows(&t, WISP__MAX(last - first, 0)));
    WISP_TRY(wisp__deal_open(&deal, ctx, src->weights, src->type, src->rows, false));
    for (int r = 1; r < ctx->ranks; r++) deal.begin[r] = src->rows; /* rank 0 gets all */
    WISP_TRY(wisp__deal_all(&deal, &t.coo));
    if (ctx->rank == 0) {
        const wisp__crs shape = {
            .ctx = ctx, .type = src->type, .rows = src->rows, .cols = src->cols, .first = begin, .local = end - begin};
        wisp_src some;
        wisp__row_writer writer = *w;
        WISP_TRY(wisp__crs_build(&crs, &shape, &t.coo, WISP_SYM_GENERAL, out->name));
        wisp__crs_source(&some, crs);
        writer.src = &some;
        writer.rows = (wisp__rows_range){begin, end - begin, false};
        status = wisp__write_rows_here(out, &writer);
    }
out:
    wisp__crs_free(crs);
    wisp__deal_close(&deal);
    wisp__coo_free(ctx, &t.coo);
    return status;
}

wisp_status wisp__write_rows(wisp__out *out, const wisp__row_writer *w)
{
    enum { BLOCKS = 64 }; /* about a million entries at a time */
    wisp_ctx *ctx = w->ctx;
    int64_t *ends = NULL;
    wisp_status status;
    if (!w->rows.own) return wisp__write_rows_here(out, w);
    WISP_TRY(wisp_alloc(ctx, &ends, (size_t)ctx->ranks, sizeof *ends));
    for (int64_t row = 0, end = 0; row < w->src->rows; row = end) {
        for (int b = 0; ctx->rank == 0 && b < BLOCKS && end < w->src->rows; b++)
            end = wisp__write_block_end(w->before, end, w->src->rows);
        WISP_TRY(ctx->comm->gather(ctx, &end, sizeof end, ends));
        end = ends[0];
        WISP_TRY(write_some(out, w, row, end));
    }
out:
    wisp_free(ctx, ends);
    return status;
}
