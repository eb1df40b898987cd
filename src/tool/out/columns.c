/* The columns of blocks as a dense matrix in memory, to be written or read again. */
#include "out.h"
#include <stdlib.h>
#include <string.h>

static size_t row_bytes(const columns *c) { return (size_t)c->width * wisp_type_size(c->type); }

int columns_make(tool *t, columns *c, const wisp_blk *like, int64_t blocks)
{
    *c = (columns){.rows = wisp_map_rows(wisp_blk_map(like)),
                   .blocks = blocks,
                   .width = wisp_blk_width(like),
                   .type = wisp_blk_type(like)};
    return wisp_alloc(t->ctx, &c->data, (size_t)(blocks * c->rows), row_bytes(c)) ? tool_fail_ctx(t) : EXIT_FINE;
}

void columns_free(columns *c)
{
    wisp_free(NULL, c->data);
    c->data = NULL;
}

/* The rows of the other ranks are 0 so far: then the sum over the ranks has all rows. */
static wisp_status add_ranks(tool *t, const columns *c, char *data)
{
    enum { SOME = 4096 };
    double sum[SOME];
    float *s = (float *)(void *)data;
    const int64_t parts = c->rows * c->width * (wisp_type_is_complex(c->type) ? 2 : 1);
    wisp_status status = WISP_OK;
    if (c->type == WISP_D || c->type == WISP_Z) return wisp_ctx_sum(t->ctx, (double *)(void *)data, (size_t)parts);
    for (int64_t i = 0; i < parts && status == WISP_OK; i += SOME) {
        const int64_t n = parts - i < SOME ? parts - i : SOME;
        for (int64_t k = 0; k < n; k++) sum[k] = (double)s[i + k];
        status = wisp_ctx_sum(t->ctx, sum, (size_t)n);
        for (int64_t k = 0; k < n; k++) s[i + k] = (float)sum[k];
    }
    return status;
}

int columns_take(tool *t, columns *c, int64_t block, const wisp_blk *x)
{
    char *data = c->data + (size_t)(block * c->rows) * row_bytes(c);
    int64_t first;
    wisp_map_local(wisp_blk_map(x), &first);
    wisp_ctx_enter(t->ctx);
    wisp_status status = wisp_blk_get(x, WISP_ROW_MAJOR, data + (size_t)first * row_bytes(c), c->width);
    if (status == WISP_OK && wisp_ctx_processes(t->ctx) > 1) status = add_ranks(t, c, data);
    return wisp_ctx_leave(t->ctx, status) ? tool_fail_ctx(t) : EXIT_FINE;
}

static int row(void *arg, int64_t i, int64_t *col, void *val)
{
    const columns *c = arg;
    const size_t part = row_bytes(c);
    for (int64_t b = 0; col && b < c->blocks; b++) {
        memcpy((char *)val + (size_t)b * part, c->data + (size_t)(b * c->rows + i) * part, part);
        for (int j = 0; j < c->width; j++) col[b * c->width + j] = b * c->width + j;
    }
    return (int)c->blocks * c->width;
}

wisp_src columns_source(columns *c)
{
    const int64_t cols = c->blocks * c->width;
    return (wisp_src){.rows = c->rows, .cols = cols, .max_row = cols, .type = c->type, .row = row, .arg = c};
}

int columns_write(tool *t, columns *c, const char *path)
{
    const wisp_src src = columns_source(c);
    char *comment = NULL;
    if (asprintf(&comment, "wisp %s: %s", wisp_version(), t->command_line) < 0) comment = NULL;
    const wisp_write_opts wo = {.array = 1, .comment = comment};
    const wisp_status status = wisp_src_write(&src, t->ctx, path, &wo);
    free(comment);
    if (status) return tool_fail_ctx(t);
    outfile_done(t, path);
    return EXIT_FINE;
}

int columns_save_rows(tool *t, const wisp_blk *x, int64_t first, int64_t rows, const json_t *object, const char *path)
{
    columns c = {0}, part;
    char *data = NULL;
    size_t size = 0;
    int rc = object ? columns_make(t, &c, x, 1) : tool_fail(t, "out of memory for the results");
    rc = tool_agree(t, rc);
    if (!rc) rc = columns_take(t, &c, 0, x);
    part = c;
    part.data += (size_t)first * row_bytes(&c);
    part.rows = rows;
    if (!rc && !has_extension(path, "h5")) {
        rc = columns_write(t, &part, path);
    } else if (!rc && wisp_ctx_rank(t->ctx) == 0) {
        rc = hdf5_make(t, object, &part, &data, &size);
        columns_free(&c);
        if (!rc) rc = outfile_write(t, path, data, size);
        free(data);
    }
    columns_free(&c);
    return rc;
}

int columns_save(tool *t, const wisp_blk *x, const json_t *object, const char *path)
{
    return columns_save_rows(t, x, 0, wisp_map_rows(wisp_blk_map(x)), object, path);
}
