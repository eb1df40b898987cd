/* Positions that are listed: files with a line of 1 to 3 numbers for each row, and arrays. */
#include "../comm/comm.h"
#include "../base/system.h"
#include "../gallery/gallery.h"
#include "io.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    wisp_ctx *ctx;
    double (*xyz)[3];
} listed;

static int position(void *arg, int64_t row, double *xyz)
{
    memcpy(xyz, ((const listed *)arg)->xyz[row], sizeof(double[3]));
    return 0;
}

static void free_listed(void *arg)
{
    listed *l = arg;
    wisp_free(l->ctx, l->xyz);
    wisp_free(l->ctx, l);
}

/* The numbers of a line; -1: it has none, or other things; 0: it does not count. */
static int read_line(const char *text, double xyz[3], locale_t c)
{
    int n = 0;
    for (;;) {
        text += strspn(text, " \t\r\n,");
        if (!*text || *text == '#') return n;
        char *end;
        const double v = strtod_l(text, &end, c);
        if (end == text || n == 3 || !isfinite(v) || (*end && !strchr(" \t\r\n,", *end))) return -1;
        xyz[n++] = v;
        text = end;
    }
}

static wisp_status read_lines(wisp_ctx *ctx, const char *path, FILE *file, int64_t rows, listed *l, int *columns)
{
    enum { LOOK = 4096 };
    char *line = NULL;
    size_t room = 0;
    int64_t row = 0, number = 0;
    wisp_status status = WISP_OK;
    const locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c == (locale_t)0) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "%s: out of memory while reading", path);
    while (status == WISP_OK && getline(&line, &room, file) >= 0) {
        double xyz[3] = {0};
        const int n = read_line(line, xyz, c);
        number++;
        if (n == 0) continue;
        if (n < 0 || (*columns && n != *columns))
            status = wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: line %lld: expected %s for a position, as on all lines",
                                    path, (long long)number,
                                    *columns == 0   ? "1 to 3 numbers"
                                    : *columns == 1 ? "1 number"
                                    : *columns == 2 ? "2 numbers"
                                                    : "3 numbers");
        else if (number % LOOK == 0 && wisp__cancelled(ctx->team))
            status = wisp_ctx_failf(ctx, WISP_ERR_CANCELLED, "%s: cancelled while reading", path);
        *columns = n;
        if (row < rows) memcpy(l->xyz[row], xyz, sizeof xyz);
        row++;
    }
    if (status == WISP_OK && ferror(file)) status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: cannot read", path);
    if (status == WISP_OK && row != rows)
        status = wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                                "%s: there are %lld positions, and the matrix has %lld rows: one for each is needed",
                                path, (long long)row, (long long)rows);
    free(line);
    freelocale(c);
    return status;
}

/* All ranks must see the same numbers. */
static wisp_status same_on_all(wisp_ctx *ctx, const char *path, const listed *l, int64_t rows)
{
    uint64_t *all = NULL, hash = (uint64_t)rows;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    for (int64_t i = 0; i < rows; i++)
        for (int d = 0; d < 3; d++) {
            uint64_t bits;
            memcpy(&bits, &l->xyz[i][d], sizeof bits);
            hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
            hash ^= hash >> 29;
        }
    WISP_TRY(ctx->comm->gather(ctx, &hash, sizeof hash, all));
    if (hash != all[0]) status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: process 0 sees another file of this name", path);
out:
    wisp_free(ctx, all);
    return status;
}

/* Whether all rows lie in the line, or plane, of the vectors of the cell. */
static bool is_flat(const wisp_positions *p, const listed *l, int vectors)
{
    const double same = 1e-6;
    double e[3][3], largest = 0;
    for (int i = 0; i < vectors; i++) { /* made orthonormal */
        memcpy(e[i], p->cell[i], sizeof e[i]);
        for (int j = 0; j <= i; j++) {
            double part = 0;
            for (int d = 0; d < 3; d++) part += e[i][d] * e[j][d];
            for (int d = 0; d < 3; d++) e[i][d] = j < i ? e[i][d] - part * e[j][d] : e[i][d] / sqrt(part);
        }
        for (int d = 0; d < 3; d++) largest = fmax(largest, fabs(p->cell[i][d]));
    }
    for (int64_t row = 1; row < p->rows; row++) {
        double off[3];
        for (int d = 0; d < 3; d++) off[d] = l->xyz[row][d] - l->xyz[0][d];
        for (int i = 0; i < vectors; i++) {
            const double part = off[0] * e[i][0] + off[1] * e[i][1] + off[2] * e[i][2];
            for (int d = 0; d < 3; d++) off[d] -= part * e[i][d];
        }
        if (!(fabs(off[0]) + fabs(off[1]) + fabs(off[2]) <= same * largest)) return false;
    }
    return true;
}

static wisp_status take_cell(wisp_positions *p, wisp_ctx *ctx, const listed *l, const double *cell, int vectors)
{
    double most = 1;
    for (int i = 0; i < vectors; i++) {
        const double *v = cell + 3 * i;
        memcpy(p->cell[i], v, sizeof p->cell[i]);
        most *= sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
    const int columns = p->dimensions;
    p->dimensions = vectors;
    p->periodic = (1u << vectors) - 1;
    wisp__gal_positions_span(p);
    if (vectors > 0 && (!isfinite(most) || !isfinite(p->volume) || !(p->volume > 1e-10 * most)))
        return wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "the vectors of the cell span none: they must be finite, not 0, not huge, and point in different "
            "directions");
    if (columns <= vectors || (vectors > 0 && is_flat(p, l, vectors))) return WISP_OK;
    p->dimensions = columns;
    p->volume = 0; /* it is open along others */
    return WISP_OK;
}

/* Coordinates that are 0 in all rows, behind the others, are no dimensions: a plane may be listed with z. */
static int used_columns(const listed *l, int64_t rows, int columns)
{
    for (; columns > 1; columns--)
        for (int64_t row = 0; row < rows; row++)
            if (l->xyz[row][columns - 1] != 0) return columns;
    return columns;
}

static wisp_status make_list(wisp_positions *p, wisp_ctx *ctx, listed **made)
{
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, made, 1, sizeof **made));
    (*made)->ctx = ctx;
    p->arg = *made;
    p->free_arg = free_listed;
    status = wisp_alloc(ctx, &(*made)->xyz, (size_t)p->rows, sizeof *(*made)->xyz);
out:
    return status;
}

static wisp_status open_listed(wisp_positions *p, wisp_ctx *ctx, const char *path, const double *cell, int vectors)
{
    listed *l;
    char why[128];
    FILE *file = NULL;
    wisp_status status;
    WISP_TRY(make_list(p, ctx, &l));
    if (!(file = fopen(path, "re")))
        status =
            wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: cannot open: %s", path, wisp__error_text(errno, why, sizeof why));
    else
        status = read_lines(ctx, path, file, p->rows, l, &p->dimensions);
    if (status == WISP_OK) status = same_on_all(ctx, path, l, p->rows);
    if (status == WISP_OK) p->dimensions = used_columns(l, p->rows, p->dimensions);
    if (status == WISP_OK) status = take_cell(p, ctx, l, cell, vectors);
out:
    if (file) fclose(file);
    return status;
}

static wisp_status copy_array(wisp_positions *p, wisp_ctx *ctx, const double *from, const double *cell, int vectors)
{
    listed *l;
    wisp_status status;
    WISP_TRY(make_list(p, ctx, &l));
    for (int64_t row = 0; row < p->rows; row++)
        for (int d = 0; d < p->dimensions; d++) {
            const double v = from[row * p->dimensions + d];
            l->xyz[row][d] = v;
            if (isfinite(v)) continue;
            status = wisp_ctx_failf(ctx, WISP_ERR_ARG, "the position of row %lld is not finite", (long long)row);
            goto out;
        }
    p->dimensions = used_columns(l, p->rows, p->dimensions);
    status = take_cell(p, ctx, l, cell, vectors);
out:
    return status;
}

wisp_status wisp_positions_open_file(wisp_positions *positions, wisp_ctx *ctx, const char *path, int64_t rows,
                                     const double *cell, int vectors)
{
    WISP_NEED(ctx, positions);
    *positions = (wisp_positions){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, path);
    if (rows < 0 || vectors < 0 || vectors > 3)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "wisp_positions_open_file: rows must not be negative, and vectors 0 to 3");
    if (vectors > 0) WISP_NEED(ctx, cell);
    *positions = (wisp_positions){.rows = rows, .at = position};
    wisp_ctx_enter(ctx);
    const wisp_status status = wisp_ctx_leave(ctx, open_listed(positions, ctx, path, cell, vectors));
    if (status != WISP_OK) wisp_positions_close(positions);
    return status;
}

wisp_status wisp_positions_open_array(wisp_positions *positions, wisp_ctx *ctx, int64_t rows, int dimensions,
                                      const double *array, const double *cell, int vectors)
{
    WISP_NEED(ctx, positions);
    *positions = (wisp_positions){0};
    WISP_NEED(NULL, ctx);
    if (rows > 0) WISP_NEED(ctx, array);
    if (rows < 0 || dimensions < 1 || dimensions > 3 || vectors < 0 || vectors > 3)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "wisp_positions_open_array: rows must not be negative, dimensions 1 to 3, and vectors 0 "
                              "to 3");
    if (vectors > 0) WISP_NEED(ctx, cell);
    *positions = (wisp_positions){.rows = rows, .dimensions = dimensions, .at = position};
    wisp_ctx_enter(ctx);
    const wisp_status status = wisp_ctx_leave(ctx, copy_array(positions, ctx, array, cell, vectors));
    if (status != WISP_OK) wisp_positions_close(positions);
    return status;
}
