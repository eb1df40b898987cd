/* Reading a source row by row, with checks (rows.h). */
#include "halo.h"
#include <math.h>
#include <stdlib.h>

static long long number(const wisp_src *src, int64_t row) { return wisp__row_number(src, row); }

wisp_status wisp__index_check(wisp_ctx *ctx, int64_t rows, int64_t cols)
{
    const int64_t most = WISP__MAX(rows, cols);
    if (most <= ctx->index_limit) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "%lld rows or columns are more than one process can index (%lld)",
                          (long long)most, (long long)ctx->index_limit);
}

wisp_status wisp__src_check(wisp_ctx *ctx, const wisp_src *src)
{
    if ((!src->row && !src->many) || !wisp__type_ok(src->type) || src->rows < 0 || src->cols < 0 || src->max_row < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "a matrix source needs rows, cols, max_row, a type, and row() or many()");
    if (src->row && src->many)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a matrix source has row() or many(), not both");
    if (src->max_row > INT32_MAX)
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "rows of %lld entries are too long; the most is 2^31 - 1",
                              (long long)src->max_row);
    return wisp__weights_check(ctx, src->weights, "the weights of a source");
}

wisp_status wisp__row_reader_open(wisp__row_reader *r, wisp_ctx *ctx, const wisp_src *src, const wisp_map *col_map)
{
    const size_t n = (size_t)src->max_row;
    *r = (wisp__row_reader){.src = src, .col_map = col_map};
    wisp_status status;
    if (src->many)
        WISP_TRY(wisp__many_open(r, ctx));
    else
        WISP_TRY(wisp__alloc_raw(ctx, &r->own_val, n, wisp_type_size(src->type)));
    WISP_TRY(wisp__alloc_raw(ctx, &r->own_col, n, sizeof *r->own_col));
    WISP_TRY(wisp__alloc_raw(ctx, &r->entry, n, sizeof *r->entry));
    WISP_TRY(wisp__alloc_raw(ctx, &r->sum, n, sizeof *r->sum));
    WISP_TRY(wisp__alloc_raw(ctx, &r->merged, n, sizeof *r->merged));
out:
    return status;
}

void wisp__row_reader_close(wisp__row_reader *r, wisp_ctx *ctx)
{
    wisp_free(ctx, r->many.rowptr);
    wisp_free(ctx, r->many.col);
    wisp_free(ctx, r->many.val);
    wisp_free(ctx, r->own_col);
    wisp_free(ctx, r->own_val);
    wisp_free(ctx, r->entry);
    wisp_free(ctx, r->sum);
    wisp_free(ctx, r->merged);
}

int64_t wisp__row_reader_bytes(const wisp_src *src)
{
    const wisp__row_reader *r = NULL;
    const int64_t entry = (int64_t)(sizeof *r->own_col + sizeof *r->entry + sizeof *r->sum + sizeof *r->merged);
    return src->max_row * entry +
           (src->many ? wisp__many_bytes(src) : src->max_row * (int64_t)wisp_type_size(src->type));
}

static wisp_status refuse_longer(wisp_ctx *ctx, const wisp_src *src, int64_t row, int64_t n)
{
    if (n <= src->max_row) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "row %lld has %lld entries, more than the declared maximum of %lld",
                          number(src, row), (long long)n, (long long)src->max_row);
}

wisp_status wisp__count_row(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, int32_t *n)
{
    const wisp_src *src = r->src;
    int64_t count;
    wisp_status status = WISP_OK;
    if (src->many) {
        status = wisp__many_row(r, ctx, row, false, &count);
    } else if ((count = src->row(src->arg, row, NULL, NULL)) < 0) {
        status = wisp_ctx_failf(ctx, WISP_ERR_CALLBACK, "the row callback failed at row %lld", number(src, row));
    }
    if (status == WISP_OK) status = refuse_longer(ctx, src, row, count);
    if (status == WISP_OK) *n = (int32_t)count;
    return status;
}

/* A row as the source gives it. */
static wisp_status give_row(wisp__row_reader *r, wisp_ctx *ctx, int64_t row)
{
    const wisp_src *src = r->src;
    if (src->many) {
        int64_t count;
        wisp_status status = wisp__many_row(r, ctx, row, true, &count);
        if (status == WISP_OK) status = refuse_longer(ctx, src, row, count);
        if (status == WISP_OK) r->raw = (int)count;
        return status;
    }
    r->col = r->own_col;
    r->val = r->own_val;
    r->raw = src->row(src->arg, row, r->own_col, r->own_val);
    if (r->raw >= 0 && r->raw <= src->max_row) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_CALLBACK, "the row callback failed at row %lld", number(src, row));
}

wisp_status wisp__same_count(wisp_ctx *ctx, const wisp_src *src, int64_t row, int raw, int32_t counted)
{
    if (raw == counted) return WISP_OK;
    return wisp_ctx_failf(
        ctx, WISP_ERR_CALLBACK,
        "row %lld: the row callback gave %d entries, and %d when it counted them; each call must give "
        "the same row",
        number(src, row), raw, counted);
}

static int by_column(const void *a, const void *b)
{
    const wisp__entry *x = a, *y = b;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at; /* duplicates are added in the order given */
}

static void sort_entries(wisp__entry *e, int n)
{
    enum { SHORT = 48 };
    if (n > SHORT) {
        qsort(e, (size_t)n, sizeof *e, by_column);
        return;
    }
    for (int i = 1; i < n; i++) {
        const wisp__entry x = e[i];
        int j = i;
        for (; j > 0 && e[j - 1].col > x.col; j--) e[j] = e[j - 1];
        e[j] = x;
    }
}

wisp_status wisp__read_columns(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, int *n)
{
    const wisp_src *src = r->src;
    const wisp_status status = give_row(r, ctx, row);
    if (status != WISP_OK) return status;
    *n = r->raw;
    for (int k = 0; k < *n; k++)
        if (r->col[k] < 0 || r->col[k] >= src->cols)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "row %lld names column %lld; columns are 0 to %lld",
                                  number(src, row), (long long)r->col[k], (long long)src->cols - 1);
    return WISP_OK;
}

wisp_status wisp__read_row(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, int *n_out)
{
    const wisp_src *src = r->src;
    int n;
    const wisp_status status = wisp__read_columns(r, ctx, row, &n);
    if (status != WISP_OK) return status;
    for (int k = 0; k < n; k++) r->entry[k] = (wisp__entry){wisp__map_position(r->col_map, r->col[k]), k};
    sort_entries(r->entry, n);
    const size_t size = wisp_type_size(src->type);
    int m = 0;
    for (int k = 0; k < n; k++) {
        const wisp_scalar v = wisp__load(src->type, (const char *)r->val + (size_t)r->entry[k].at * size);
        if (m > 0 && r->merged[m - 1] == r->entry[k].col) {
            r->sum[m - 1].re += v.re;
            r->sum[m - 1].im += v.im;
        } else {
            r->merged[m] = (int32_t)r->entry[k].col;
            r->sum[m++] = v;
        }
    }
    *n_out = m;
    return WISP_OK;
}

static bool overflows(double v) { return isfinite(v) && isinf((float)v); }

wisp_status wisp__refuse_too_large(const wisp__row_reader *r, wisp_ctx *ctx, int64_t row, int n, wisp_type type)
{
    if (wisp__type_is_double(type) || !wisp__type_is_double(r->src->type)) return WISP_OK;
    for (int k = 0; k < n; k++)
        if (overflows(r->sum[k].re) || overflows(r->sum[k].im))
            return wisp_ctx_failf(
                ctx, WISP_ERR_NUMERIC,
                "row %lld of the matrix holds %.3g, too large for single precision: divide the matrix, "
                "or take double precision",
                number(r->src, row), overflows(r->sum[k].re) ? r->sum[k].re : r->sum[k].im);
    return WISP_OK;
}

typedef struct {
    wisp_ctx *ctx;
    const char *task;
    const wisp_src *src;
    const wisp_map *col_map;
    int64_t n, piece;
    wisp__rows_fn fn;
    void *arg;
    pthread_mutex_t lock;
    int64_t failed_piece;
    wisp_status status;
} rows_run;

/* Keeps the failure of the lowest piece, so that what is reported does not depend on the threads. */
static void rows_fail(rows_run *r, int64_t piece, wisp_status status)
{
    pthread_mutex_lock(&r->lock);
    if (piece < r->failed_piece) {
        r->failed_piece = piece;
        r->status = status;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Threads that failed together have overwritten each other's message: the lowest piece runs once more, alone. */
static wisp_status rows_failed(rows_run *r)
{
    wisp_ctx *ctx = r->ctx;
    wisp__row_reader reader;
    wisp_status status = wisp__row_reader_open(&reader, ctx, r->src, r->col_map);
    const int64_t begin = WISP__MAX(r->failed_piece, 0) * r->piece;
    if (status == WISP_OK) status = r->fn(r->arg, &reader, begin, WISP__MIN(r->n, begin + r->piece));
    wisp__row_reader_close(&reader, ctx);
    if (status != WISP_OK) return status;
    if (r->status == WISP_ERR_NOMEM) return wisp_ctx_failf(ctx, r->status, "out of memory while %s rows", r->task);
    return wisp_ctx_failf(ctx, r->status, "%s failed between rows %lld and %lld, though not a second time", r->task,
                          (long long)begin, (long long)(begin + r->piece));
}

static void rows_thread(void *arg, int thread, int threads)
{
    rows_run *r = arg;
    wisp__row_reader reader;
    const int64_t pieces = (r->n + r->piece - 1) / r->piece;
    const int64_t begin = wisp__split(pieces, threads, thread), end = wisp__split(pieces, threads, thread + 1);
    wisp_status status = wisp__row_reader_open(&reader, r->ctx, r->src, r->col_map);
    if (status != WISP_OK) rows_fail(r, -1, status);
    for (int64_t i = begin; i < end && status == WISP_OK; i++) {
        if (thread == 0 && (i & 15) == 0)
            wisp__tell_progress(r->ctx, r->task, (double)(i - begin) / (double)WISP__MAX(end - begin, 1), 0);
        if (wisp__cancelled(r->ctx->team)) break;
        status = r->fn(r->arg, &reader, i * r->piece, WISP__MIN(r->n, (i + 1) * r->piece));
        if (status != WISP_OK) rows_fail(r, i, status);
    }
    wisp__row_reader_close(&reader, r->ctx);
}

wisp_status wisp__for_rows(wisp_ctx *ctx, const char *task, const wisp_src *src, const wisp_map *col_map, int64_t n,
                           int64_t piece, wisp__rows_fn fn, void *arg)
{
    rows_run r = {ctx, task, src, col_map, n, piece, fn, arg, PTHREAD_MUTEX_INITIALIZER, INT64_MAX, WISP_OK};
    const bool whole = wisp__run_some(ctx->team, n <= piece, rows_thread, &r);
    return r.status != WISP_OK ? rows_failed(&r) : wisp__whole(ctx, task, whole);
}

typedef struct {
    wisp_ctx *ctx;
    int64_t first;
    int32_t *len;
} count_run;

static wisp_status count_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    const count_run *r = arg;
    for (int64_t i = begin; i < end; i++) {
        wisp_status status = wisp__count_row(reader, r->ctx, r->first + i, r->len + i);
        if (status != WISP_OK) return status;
    }
    return WISP_OK;
}

wisp_status wisp__count_rows(wisp_ctx *ctx, const wisp_src *src, int64_t first, int64_t rows, int32_t **len)
{
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, len, (size_t)rows, sizeof **len));
    WISP_TRY(wisp__for_rows(ctx, "counting", src, NULL, rows, WISP__PIECE, count_rows, &(count_run){ctx, first, *len}));
out:
    return status;
}
