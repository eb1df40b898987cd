/* Matrix Market out: any source as text, with one half only where a symmetry is asked for, which is checked. */
#include "format.h"
#include "write.h"
#include <stdio.h>
#include <string.h>

typedef struct {
    wisp_ctx *ctx;
    const char *path;
    wisp_symmetry symmetry;
    bool array, pattern, complex, gzip;
    const char *comment;
    int64_t rows, cols;
    wisp__rows_range range; /* rows that are looked at here */
    const int64_t *before;  /* entries to be written, before each row (of the transposed matrix for an array) */
} mtx_out;

static bool is_written(const mtx_out *m, int64_t i, int64_t j)
{
    return m->symmetry == WISP_SYM_GENERAL || i > j || (i == j && m->symmetry != WISP_SYM_SKEW);
}

static char *put_value(const mtx_out *m, char *to, wisp_scalar v)
{
    to = wisp__format_real(to, v.re);
    if (!m->complex) return to;
    *to++ = ' ';
    return wisp__format_real(to, v.im);
}

static char *coordinate_text(void *arg, int64_t row, int n, const int32_t *col, const wisp_scalar *val, char *to)
{
    const mtx_out *m = arg;
    char number[WISP__INDEX_TEXT + 1], *end = wisp__format_index(number, row + 1);
    *end++ = ' ';
    size_t length = (size_t)(end - number);
    int64_t left = m->before[row + 1] - m->before[row];
    for (int k = 0; k < n; k++) {
        if (!is_written(m, row, col[k])) continue;
        if (left-- == 0) return NULL;
        memcpy(to, number, length);
        to = wisp__format_index(to + length, (int64_t)col[k] + 1);
        if (!m->pattern) {
            *to++ = ' ';
            to = put_value(m, to, val[k]);
        }
        *to++ = '\n';
    }
    return left == 0 ? to : NULL;
}

/* One column: the row of the transposed matrix, with its zeros. */
static char *array_text(void *arg, int64_t col, int n, const int32_t *row, const wisp_scalar *val, char *to)
{
    const mtx_out *m = arg;
    int k = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        while (k < n && row[k] < i) k++;
        if (!is_written(m, i, col)) continue;
        to = put_value(m, to, k < n && row[k] == i ? val[k] : (wisp_scalar){0, 0});
        *to++ = '\n';
    }
    return to;
}

/* ---- the symmetry that is claimed ------------------------------------------------------------------- */

typedef struct {
    const mtx_out *m;
    const wisp__crs *t; /* the transposed matrix */
    int64_t *written;   /* [range.count + 1]: entries of the lower half, to be summed up */
} verify;

static bool is_mirror(const mtx_out *m, wisp_scalar a, wisp_scalar b)
{
    if (m->pattern) return true;
    switch (m->symmetry) {
    case WISP_SYM_HERMITIAN: return a.re == b.re && a.im == -b.im;
    case WISP_SYM_SKEW: return a.re == -b.re && a.im == -b.im;
    default: return a.re == b.re && a.im == b.im;
    }
}

static wisp_status mismatch(const verify *v, int64_t i, int64_t j, const wisp_scalar *a, const wisp_scalar *b)
{
    char text[2][64] = {"missing", "missing"};
    const wisp_scalar *s[2] = {a, b};
    for (int k = 0; k < 2; k++)
        if (s[k]) snprintf(text[k], sizeof text[k], v->m->complex ? "(%.10g,%.10g)" : "%.10g", s[k]->re, s[k]->im);
    return wisp_ctx_failf(
        v->m->ctx, WISP_ERR_MISMATCH,
        "%s: the matrix is not %s: entry (%lld,%lld) is %s and (%lld,%lld) is %s, counted from 0 (take "
        "opts.symmetry = WISP_SYM_GENERAL)",
        v->m->path, wisp__mtx_symmetry[v->m->symmetry], (long long)i, (long long)j, text[0], (long long)j, (long long)i,
        text[1]);
}

/* A row of the matrix, by its place in the range, against that of the transposed one: both are sorted, without
   duplicates. */
static wisp_status verify_row(const verify *v, wisp__row_reader *reader, int64_t place)
{
    const int64_t i = v->m->range.first + place;
    int n;
    wisp_status status = wisp__read_row(reader, v->m->ctx, i, &n);
    if (status != WISP_OK) return status;
    v->written[place + 1] = 0;
    size_t size = wisp_type_size(v->t->type);
    int64_t s = wisp__crs_slot(v->t, i), p = s < 0 ? 0 : v->t->rowptr[s], end = s < 0 ? 0 : v->t->rowptr[s + 1];
    for (int64_t k = 0;; k++) {
        int64_t here = k < n ? reader->merged[k] : INT64_MAX, there = p < end ? v->t->col[p] : INT64_MAX;
        if (here == INT64_MAX && there == INT64_MAX) return WISP_OK;
        wisp_scalar b = there < INT64_MAX ? wisp__load(v->t->type, (const char *)v->t->val + (size_t)p * size)
                                          : (wisp_scalar){0, 0};
        p++;
        if (here < there) return mismatch(v, i, here, &reader->sum[k], NULL);
        if (here > there) return mismatch(v, i, there, NULL, &b);
        if (!is_mirror(v->m, reader->sum[k], b)) return mismatch(v, i, here, &reader->sum[k], &b);
        v->written[place + 1] += is_written(v->m, i, here);
    }
}

static wisp_status verify_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        wisp_status status = verify_row(arg, reader, i);
        if (status != WISP_OK) return status;
    }
    return WISP_OK;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static wisp_status write_head(wisp__out *out, const mtx_out *m, int64_t entries)
{
    size_t lines = 1, room = 256;
    for (const char *c = m->comment; c && *c; c++) lines += *c == '\n';
    if (m->comment) room += strlen(m->comment) + 2 * lines;
    char *text;
    wisp_status status = wisp__alloc_raw(out->ctx, &text, room, 1);
    if (status != WISP_OK) return status;
    int n = snprintf(text, room, "%%%%MatrixMarket matrix %s %s %s\n", m->array ? "array" : "coordinate",
                     m->pattern   ? "pattern"
                     : m->complex ? "complex"
                                  : "real",
                     wisp__mtx_symmetry[m->symmetry]);
    char *to = text + n;
    for (const char *c = m->comment; c; c = strchr(c, '\n') ? strchr(c, '\n') + 1 : NULL) {
        size_t length = strcspn(c, "\n");
        memcpy(to, "% ", 2);
        memcpy(to + 2, c, length);
        to += length + 2;
        *to++ = '\n';
    }
    to += snprintf(to, 80, m->array ? "%lld %lld\n" : "%lld %lld %lld\n", (long long)m->rows, (long long)m->cols,
                   (long long)entries);
    status = wisp__write_some(out, text, (size_t)(to - text), m->gzip);
    wisp_free(out->ctx, text);
    return status;
}

/* How many values each column of an array has, summed up. */
static wisp_status count_array(const mtx_out *m, int64_t **before)
{
    int64_t all;
    if (__builtin_mul_overflow(m->rows, m->cols, &all) || all > INT64_MAX / 64)
        return wisp_ctx_failf(m->ctx, WISP_ERR_OVERFLOW,
                              "%s: an array of %lld times %lld is too large (write it without opts.array)", m->path,
                              (long long)m->rows, (long long)m->cols);
    wisp_status status = wisp__alloc_raw(m->ctx, before, (size_t)m->cols + 1, sizeof **before);
    if (status != WISP_OK) return status;
    (*before)[0] = 0;
    for (int64_t j = 0; j < m->cols; j++) (*before)[j + 1] = (*before)[j] + m->rows;
    return WISP_OK;
}

static wisp_status check_opts(const mtx_out *m)
{
    if (m->pattern && m->array)
        return wisp_ctx_failf(m->ctx, WISP_ERR_ARG, "%s: opts.array and opts.pattern exclude each other", m->path);
    if (m->pattern && m->symmetry > WISP_SYM_SYMMETRIC)
        return wisp_ctx_failf(m->ctx, WISP_ERR_ARG,
                              "%s: opts.pattern has no values, so opts.symmetry is general or symmetric", m->path);
    if (m->symmetry != WISP_SYM_GENERAL && m->rows != m->cols)
        return wisp_ctx_failf(m->ctx, WISP_ERR_MISMATCH,
                              "%s: %lld times %lld cannot be symmetric (take opts.symmetry = WISP_SYM_GENERAL)",
                              m->path, (long long)m->rows, (long long)m->cols);
    if (m->array && m->range.own)
        return wisp_ctx_failf(
            m->ctx, WISP_ERR_UNSUPPORTED,
            "%s: an array is written by columns, and each process has rows (write it without opts.array)", m->path);
    return WISP_OK;
}

/* What is needed before the first byte: counts, and the transposed matrix where columns or symmetry are asked for. */
static wisp_status prepare(mtx_out *m, const wisp_src *src, const wisp_map *cols, int64_t **before, wisp__crs **t)
{
    const wisp__rows_range rows = m->range;
    wisp_status status;
    WISP_TRY(wisp__count_entries(m->ctx, src, cols, rows, before));
    if (!m->array && m->symmetry == WISP_SYM_GENERAL) return WISP_OK;
    WISP_TRY(wisp__transpose(t, m->ctx, src, cols, rows, *before, m->path));
    if (m->symmetry != WISP_SYM_GENERAL) {
        memset(*before, 0, ((size_t)rows.count + 1) * sizeof **before);
        verify v = {m, *t, *before};
        WISP_TRY(wisp__for_rows(m->ctx, "verifying", src, cols, rows.count, WISP__RUN_ROWS, verify_rows, &v));
        for (int64_t i = 0; i < rows.count; i++) (*before)[i + 1] += (*before)[i];
    }
    if (m->array) {
        wisp_free(m->ctx, *before);
        *before = NULL;
        WISP_TRY(count_array(m, before));
    } else {
        wisp__crs_free(*t);
        *t = NULL;
    }
out:
    return status;
}

/* The head, and then the rows, or of an array the columns: those of this source. */
static wisp_status write_all(mtx_out *m, const wisp_src *src, const wisp_map *cols, wisp__rows_range rows)
{
    wisp__out out = {0};
    const wisp__row_writer w = {.ctx = m->ctx,
                                .src = src,
                                .cols = cols,
                                .rows = rows,
                                .before = m->before,
                                .entry_bytes = 2 * (WISP__INDEX_TEXT + 1) + 2 * (WISP__REAL_TEXT + 1),
                                .gzip = m->gzip,
                                .text = m->array ? array_text : coordinate_text,
                                .arg = m,
                                .done_end = 1};
    wisp_status status = WISP_OK;
    if (m->ctx->rank == 0) {
        WISP_TRY(wisp__out_open(&out, m->ctx, m->path));
        WISP_TRY(write_head(&out, m, m->array ? 0 : m->before[m->rows]));
    }
    WISP_TRY(wisp__write_rows(&out, &w));
    if (m->ctx->rank == 0) status = wisp__out_commit(&out);
out:
    wisp__out_abort(&out);
    return status;
}

wisp_status wisp__write_mtx(const wisp_src *src, wisp_ctx *ctx, const char *path, const wisp_write_opts *opts,
                            bool gzip)
{
    mtx_out m = {.ctx = ctx,
                 .path = path,
                 .symmetry = opts->symmetry,
                 .array = opts->array,
                 .pattern = opts->pattern,
                 .complex = wisp_type_is_complex(src->type),
                 .gzip = gzip,
                 .comment = opts->comment,
                 .rows = src->rows,
                 .cols = src->cols,
                 .range = wisp__rows_to_write(src, ctx)};
    if (!m.complex && m.symmetry == WISP_SYM_HERMITIAN) m.symmetry = WISP_SYM_SYMMETRIC;
    wisp__crs *t = NULL;
    wisp_src columns = {0};
    wisp_map *col_map = NULL, *row_map = NULL;
    int64_t *before = NULL;
    wisp_status status;
    WISP_TRY(check_opts(&m));
    WISP_TRY(wisp__map_alone(&col_map, ctx, src->cols));
    WISP_TRY(prepare(&m, src, col_map, &before, &t));
    if (m.range.own) WISP_TRY(wisp__before_of_ranks(ctx, m.rows, m.range, &before));
    m.before = before;
    if (m.array) {
        WISP_TRY(wisp__map_alone(&row_map, ctx, src->rows));
        wisp__crs_source(&columns, t);
        status = write_all(&m, &columns, row_map, (wisp__rows_range){0, m.cols, false});
    } else {
        status = write_all(&m, src, col_map, m.range);
    }
out:
    wisp__crs_free(t);
    wisp_free(ctx, before);
    wisp_map_free(col_map);
    wisp_map_free(row_map);
    return status;
}
