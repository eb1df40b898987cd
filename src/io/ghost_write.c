/* GHOST's binary CRS file out: general, base 0, in this machine's byte order. */
#include "ghost.h"
#include "write.h"
#include <string.h>

typedef struct {
    const int64_t *before;
    wisp_type type;
} rows_of;

static char *columns_text(void *arg, int64_t row, int n, const int32_t *col, const wisp_scalar *val, char *to)
{
    const rows_of *r = arg;
    (void)val;
    if (n != r->before[row + 1] - r->before[row]) return NULL;
    for (int k = 0; k < n; k++, to += 8) {
        int64_t c = col[k];
        memcpy(to, &c, 8);
    }
    return to;
}

static char *values_text(void *arg, int64_t row, int n, const int32_t *col, const wisp_scalar *val, char *to)
{
    const rows_of *r = arg;
    (void)col;
    if (n != r->before[row + 1] - r->before[row]) return NULL;
    size_t size = wisp_type_size(r->type);
    for (int k = 0; k < n; k++, to += size) {
        wisp__value v;
        wisp__store(r->type, &v, val[k]);
        memcpy(to, &v, size);
    }
    return to;
}

static wisp_status write_header(wisp__out *out, const wisp_src *src, int64_t nnz)
{
    int32_t type = (wisp__type_is_double(src->type) ? GHOST_DOUBLE : GHOST_FLOAT) |
                   (wisp_type_is_complex(src->type) ? GHOST_COMPLEX : GHOST_REAL);
    int32_t small[5] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, 1, 0, GHOST_GENERAL, type};
    int64_t large[3] = {src->rows, src->cols, nnz};
    char head[GHOST_HEADER];
    memcpy(head, small, sizeof small);
    memcpy(head + sizeof small, large, sizeof large);
    return wisp__out_write(out, head, sizeof head);
}

wisp_status wisp__write_crs(const wisp_src *src, wisp_ctx *ctx, const char *path)
{
    const wisp__rows_range rows = wisp__rows_to_write(src, ctx);
    wisp_status status;
    int64_t *before = NULL;
    wisp_map *cols = NULL;
    wisp__out out = {0};
    WISP_TRY(wisp__map_alone(&cols, ctx, src->cols));
    WISP_TRY(wisp__count_entries(ctx, src, cols, rows, &before));
    if (rows.own) WISP_TRY(wisp__before_of_ranks(ctx, src->rows, rows, &before));
    if (ctx->rank == 0) {
        WISP_TRY(wisp__out_open(&out, ctx, path));
        WISP_TRY(write_header(&out, src, before[src->rows]));
        WISP_TRY(wisp__out_write(&out, before, ((size_t)src->rows + 1) * sizeof *before));
    }
    rows_of r = {before, src->type};
    wisp__row_writer w = {.ctx = ctx, .src = src, .cols = cols, .rows = rows, .before = before, .arg = &r};
    w.entry_bytes = 8;
    w.text = columns_text;
    w.done_end = 0.5;
    WISP_TRY(wisp__write_rows(&out, &w));
    w.entry_bytes = (int64_t)wisp_type_size(src->type);
    w.text = values_text;
    w.done_begin = 0.5;
    w.done_end = 1;
    WISP_TRY(wisp__write_rows(&out, &w));
    if (ctx->rank == 0) status = wisp__out_commit(&out);
out:
    wisp__out_abort(&out);
    wisp_free(ctx, before);
    wisp_map_free(cols);
    return status;
}
