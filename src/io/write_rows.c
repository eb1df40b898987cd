/* The rows of a source to a file: all threads turn rows into bytes, which are written in the order of the rows. */
#include "write.h"
#include <string.h>
#include <zlib.h>

typedef struct {
    int64_t first; /* row */
    int64_t *before;
    wisp__coo coo;
    wisp_ctx *ctx;
    wisp_type type;
    int64_t right; /* 0: entries of the transposed matrix; else of the matrix, so many columns further right */
} gather;

static wisp_status count_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    gather *g = arg;
    for (int64_t i = begin; i < end; i++) {
        int n;
        wisp_status status = wisp__read_row(reader, g->ctx, g->first + i, &n);
        if (status != WISP_OK) return status;
        g->before[i + 1] = n;
    }
    return WISP_OK;
}

wisp_status wisp__count_entries(wisp_ctx *ctx, const wisp_src *src, const wisp_map *cols, wisp__rows_range rows,
                                int64_t **before)
{
    gather g = {.ctx = ctx, .first = rows.first};
    wisp_status status = wisp_alloc(ctx, before, (size_t)rows.count + 1, sizeof **before);
    if (status != WISP_OK) return status;
    g.before = *before;
    status = wisp__for_rows(ctx, "counting", src, cols, rows.count, WISP__RUN_ROWS, count_rows, &g);
    for (int64_t i = 0; i < rows.count; i++) g.before[i + 1] += g.before[i];
    return status;
}

static wisp_status gather_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    gather *g = arg;
    int64_t count = g->before[end] - g->before[begin];
    wisp__run *run = &g->coo.run[begin / WISP__RUN_ROWS];
    wisp_free(g->ctx, run->memory); /* those of a run that failed are made again, for its message */
    wisp_status status = wisp__run_alloc(g->ctx, run, g->type, count);
    size_t size = wisp_type_size(g->type);
    for (int64_t i = begin; i < end && status == WISP_OK; i++) {
        int n;
        const int64_t row = g->first + i;
        if ((status = wisp__read_row(reader, g->ctx, row, &n)) != WISP_OK) break;
        if (run->count + n > count)
            return wisp_ctx_failf(g->ctx, WISP_ERR_CALLBACK, "row %lld has other entries than before", (long long)row);
        for (int k = 0; k < n; k++) {
            run->row[run->count] = g->right ? (int32_t)row : reader->merged[k];
            run->col[run->count] = g->right ? (int32_t)(g->right + reader->merged[k]) : (int32_t)row;
            wisp__store(g->type, (char *)run->val + (size_t)run->count++ * size, reader->sum[k]);
        }
    }
    return status;
}

/* The entries, which go to the ranks that have their rows, become a matrix. shape: of all its rows, to be kept here
   unless they are shared. */
static wisp_status build(wisp__crs **made, gather *g, const wisp_src *src, const wisp_map *cols, wisp__rows_range rows,
                         const int64_t *before, wisp__crs shape, const char *path)
{
    wisp_ctx *ctx = g->ctx;
    const bool mirrored = g->right > 0;
    wisp__deal deal = {0};
    g->coo.runs = g->coo.room = (rows.count + WISP__RUN_ROWS - 1) / WISP__RUN_ROWS;
    g->coo.entries = before[rows.count];
    wisp_status status;
    WISP_TRY(wisp__check_size(ctx, path, "", shape.rows, shape.cols));
    WISP_TRY(wisp__alloc_raw(ctx, &g->before, (size_t)rows.count + 1, sizeof *before));
    memcpy(g->before, before, ((size_t)rows.count + 1) * sizeof *before);
    WISP_TRY(wisp_alloc(ctx, &g->coo.run, (size_t)g->coo.runs, sizeof *g->coo.run));
    WISP_TRY(wisp__for_rows(ctx, mirrored ? "gathering" : "transposing", src, cols, rows.count, WISP__RUN_ROWS,
                            gather_rows, g));
    if (rows.own) {
        shape = wisp__crs_of_rank(ctx, src->weights, g->type, shape.rows, shape.cols);
        WISP_TRY(wisp__deal_open(&deal, ctx, src->weights, g->type, shape.rows, mirrored));
        WISP_TRY(wisp__deal_all(&deal, &g->coo));
    }
    status = wisp__crs_build(made, &shape, &g->coo, mirrored ? WISP_SYM_HERMITIAN : WISP_SYM_GENERAL, path);
out:
    wisp__deal_close(&deal);
    wisp_free(ctx, g->before);
    if (!g->coo.run) g->coo.runs = 0;
    wisp__coo_free(ctx, &g->coo);
    return status;
}

wisp_status wisp__transpose(wisp__crs **t, wisp_ctx *ctx, const wisp_src *src, const wisp_map *cols,
                            wisp__rows_range rows, const int64_t *before, const char *path)
{
    gather g = {.first = rows.first, .ctx = ctx, .type = wisp_type_is_complex(src->type) ? WISP_Z : WISP_D};
    const wisp__crs shape = {.ctx = ctx, .type = g.type, .rows = src->cols, .cols = src->rows, .local = src->cols};
    return build(t, &g, src, cols, rows, before, shape, path);
}

wisp_status wisp__augment(wisp__crs **both, wisp_ctx *ctx, const wisp_src *src, const wisp_map *cols,
                          wisp__rows_range rows, const int64_t *before)
{
    gather g = {.first = rows.first, .ctx = ctx, .type = src->type, .right = src->rows};
    const int64_t all = src->rows + src->cols;
    const wisp__crs shape = {.ctx = ctx, .type = g.type, .rows = all, .cols = all, .local = all};
    return build(both, &g, src, cols, rows, before, shape, "the augmented matrix");
}

/* ---- rows to bytes ---------------------------------------------------------------------------------- */

typedef struct {
    int64_t begin, end; /* see wisp__write_block_end */
    char *text, *packed;
    size_t room, packed_room, bytes;
    const char *data; /* text or packed */
    wisp_status status;
} block;

typedef struct {
    const wisp__row_writer *w;
    wisp__out *out;
    wisp__row_reader *reader; /* [threads] */
    block *make, *done;       /* [blocks] each: being made, and written meanwhile */
    int blocks, made, ready;
    atomic_int next;
    wisp_status written;
} rows_job;

static wisp_status grow(wisp_ctx *ctx, char **p, size_t *room, size_t need)
{
    if (*room >= need && *p) return WISP_OK;
    wisp_free(ctx, *p);
    *room = 0;
    wisp_status status = wisp__alloc_raw(ctx, p, need, 1);
    if (status == WISP_OK) *room = need;
    return status;
}

static wisp_status compress_member(wisp_ctx *ctx, const void *data, size_t bytes, char **packed, size_t *room,
                                   size_t *size)
{
    z_stream z = {0};
    if (bytes > UINT32_MAX / 2)
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "a row of %zu bytes is too long to compress", bytes);
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for zlib");
    size_t bound = deflateBound(&z, (uLong)bytes);
    wisp_status status = grow(ctx, packed, room, bound);
    if (status == WISP_OK) {
        union {
            const void *in;
            unsigned char *next;
        } u = {data}; /* zlib does not write there */
        z.next_in = u.next;
        z.avail_in = (uInt)bytes;
        z.next_out = (unsigned char *)*packed;
        z.avail_out = (uInt)bound;
        deflate(&z, Z_FINISH);
        *size = bound - z.avail_out;
    }
    deflateEnd(&z);
    return status;
}

wisp_status wisp__write_some(wisp__out *out, const void *data, size_t bytes, bool gzip)
{
    if (!gzip) return wisp__out_write(out, data, bytes);
    char *packed = NULL;
    size_t room = 0, size = 0;
    wisp_status status = compress_member(out->ctx, data, bytes, &packed, &room, &size);
    if (status == WISP_OK) status = wisp__out_write(out, packed, size);
    wisp_free(out->ctx, packed);
    return status;
}

static wisp_status make_block(const wisp__row_writer *w, wisp__row_reader *reader, block *b)
{
    int64_t entries = w->before[b->end] - w->before[b->begin];
    wisp_status status = grow(w->ctx, &b->text, &b->room, (size_t)(entries * w->entry_bytes) + 1);
    char *to = b->text;
    for (int64_t i = b->begin; i < b->end && status == WISP_OK; i++) {
        int n = 0;
        if ((status = wisp__read_row(reader, w->ctx, i, &n)) != WISP_OK) break;
        to = w->text(w->arg, i, n, reader->merged, reader->sum, to);
        if (!to)
            status = wisp_ctx_failf(w->ctx, WISP_ERR_CALLBACK, "row %lld has other entries than before", (long long)i);
    }
    if (status != WISP_OK) return status;
    b->data = b->text;
    b->bytes = (size_t)(to - b->text);
    if (!w->gzip || b->bytes == 0) return WISP_OK;
    status = compress_member(w->ctx, b->text, b->bytes, &b->packed, &b->packed_room, &b->bytes);
    b->data = b->packed;
    return status;
}

static void work(void *arg, int thread, int threads)
{
    rows_job *j = arg;
    (void)threads;
    if (thread == 0)
        for (int i = 0; i < j->ready && j->written == WISP_OK; i++)
            j->written = wisp__out_write(j->out, j->done[i].data, j->done[i].bytes);
    for (int i; (i = atomic_fetch_add(&j->next, 1)) < j->made;)
        if (!wisp__cancelled(j->w->ctx->team)) j->make[i].status = make_block(j->w, &j->reader[thread], &j->make[i]);
}

int64_t wisp__write_block_end(const int64_t *before, int64_t row, int64_t rows)
{
    enum { PER_BLOCK = 16384 }; /* entries; rows without any count too */
    const int64_t begin = row++;
    while (row < rows && before[row + 1] - before[begin] + (row - begin) < PER_BLOCK) row++;
    return row;
}

/* Groups the next rows in blocks; returns the first row after them. */
static int64_t group(rows_job *j, int64_t row)
{
    const int64_t end = j->w->rows.first + j->w->rows.count;
    for (j->made = 0; j->made < j->blocks && row < end; j->made++) {
        block *b = &j->make[j->made];
        b->begin = row;
        b->status = WISP_OK;
        b->end = row = wisp__write_block_end(j->w->before, row, end);
    }
    return row;
}

/* Other threads may have failed too and left their message: the first block runs once more, alone. */
static wisp_status block_failed(rows_job *j, block *b)
{
    wisp_status status = make_block(j->w, &j->reader[0], b);
    if (status != WISP_OK) return status;
    return wisp_ctx_failf(j->w->ctx, b->status,
                          "%s: rows %lld to %lld could not be written, though in a second try they could", j->out->path,
                          (long long)b->begin, (long long)b->end - 1);
}

static wisp_status run(rows_job *j)
{
    const wisp__row_writer *w = j->w;
    int64_t row = w->rows.first, rows = w->src->rows;
    for (j->ready = 0;;) {
        row = group(j, row);
        if (j->made == 0 && j->ready == 0) return WISP_OK;
        atomic_store(&j->next, 0);
        const bool whole = wisp__run_some(w->ctx->team, j->made <= 1, work, j);
        double share = (double)row / (double)rows;
        wisp_status status = wisp_ctx_step(w->ctx, "writing", w->done_begin + share * (w->done_end - w->done_begin), 0);
        if (status == WISP_OK) status = wisp__whole(w->ctx, "writing", whole);
        if (status != WISP_OK || j->written != WISP_OK) return status == WISP_OK ? j->written : status;
        for (int i = 0; i < j->made; i++)
            if (j->make[i].status != WISP_OK) return block_failed(j, &j->make[i]);
        block *made = j->make;
        j->make = j->done;
        j->done = made;
        j->ready = j->made;
    }
}

wisp_status wisp__write_rows_here(wisp__out *out, const wisp__row_writer *writer)
{
    wisp_ctx *ctx = writer->ctx;
    rows_job j = {.w = writer, .out = out, .blocks = 2 * ctx->threads};
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &j.reader, (size_t)ctx->threads, sizeof *j.reader));
    WISP_TRY(wisp_alloc(ctx, &j.make, (size_t)j.blocks, sizeof *j.make));
    WISP_TRY(wisp_alloc(ctx, &j.done, (size_t)j.blocks, sizeof *j.done));
    for (int t = 0; t < ctx->threads; t++)
        WISP_TRY(wisp__row_reader_open(&j.reader[t], ctx, writer->src, writer->cols));
    status = run(&j);
out:
    for (int t = 0; j.reader && t < ctx->threads; t++) wisp__row_reader_close(&j.reader[t], ctx);
    for (int i = 0; j.make && j.done && i < j.blocks; i++) {
        wisp_free(ctx, j.make[i].text);
        wisp_free(ctx, j.make[i].packed);
        wisp_free(ctx, j.done[i].text);
        wisp_free(ctx, j.done[i].packed);
    }
    wisp_free(ctx, j.reader);
    wisp_free(ctx, j.make);
    wisp_free(ctx, j.done);
    return status;
}
