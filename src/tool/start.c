/* The vectors that wisp power, evolve and solve are given. */
#include "out/out.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void free_columns(void *arg)
{
    columns_free(arg);
    free(arg);
}

static int open_hdf5(tool *t, wisp_src *src, const char *path)
{
    columns *c = calloc(1, sizeof *c);
    if (!c) return tool_fail(t, "out of memory for %s", path);
    const int rc = hdf5_read(t, c, path);
    if (rc) {
        free(c);
        return rc;
    }
    *src = columns_source(c);
    src->free_arg = free_columns;
    return EXIT_FINE;
}

int start_check_pipe(tool *t, const char *path)
{
    if (t->processes == 1 || t->opt.weights_by != WEIGHTS_MEASURED || !file_reads_once(path)) return EXIT_FINE;
    return tool_fail(t, "%s can be read only once, and --weights measured may have to read it again; keep it in a file",
                     path);
}

int start_open(tool *t, wisp_src *src, const char *path, const char *what, int64_t rows)
{
    *src = (wisp_src){0};
    if (has_extension(path, "h5")) {
        const int rc = tool_agree(t, open_hdf5(t, src, path));
        if (rc) wisp_src_close(src);
        if (rc) return rc;
    } else if (wisp_src_open_file(src, t->ctx, path)) {
        const char *words = !strcmp(what, "right-hand side") ? "ones or random[:SEED[xK]]"
                            : !strcmp(what, "null space")    ? "constant"
                                                             : NULL;
        if (!words || strchr(path, '.') || strchr(path, '/') || tool_is_stopped(t)) return tool_fail_ctx(t);
        return tool_fail(t, "%s; nor is it %s", tool_message(t), words);
    }
    if (src->rows == rows && src->cols >= 1 && src->cols <= 4096) return EXIT_FINE;
    const int64_t r = src->rows, c = src->cols;
    wisp_src_close(src);
    if (r == rows) return tool_fail(t, "%s has %lld columns; 1 to 4096 are taken", path, (long long)c);
    return tool_fail(t, "%s is %lld x %lld; a %s of %lld rows and at least one column is needed", path, (long long)r,
                     (long long)c, what, (long long)rows);
}

static void add(wisp_type type, void *p, int64_t i, wisp_scalar v)
{
    float *s = p;
    double *d = p;
    switch (type) {
    case WISP_S: s[i] += (float)v.re; break;
    case WISP_D: d[i] += v.re; break;
    case WISP_C: s[2 * i] += (float)v.re, s[2 * i + 1] += (float)v.im; break;
    default: d[2 * i] += v.re, d[2 * i + 1] += v.im;
    }
}

/* Numbers of a column that single precision holds with all digits; those, but 0, that are too small for that. */
typedef struct {
    double kept, lost;
} narrowed;

/* A column whose numbers are all below those of single precision is refused: it would be another one, or 0. */
static wisp_status refuse_too_small(tool *t, narrowed *columns, int width, const char *path)
{
    const wisp_status status = wisp_ctx_sum(t->ctx, &columns->kept, 2 * (size_t)width);
    for (int j = 0; j < width && status == WISP_OK; j++)
        if (columns[j].kept == 0 && columns[j].lost > 0)
            return wisp_ctx_failf(t->ctx, WISP_ERR_NUMERIC,
                                  "%s: the numbers of column %d (counted from 0) are too small for single precision: "
                                  "multiply them, or take --precision double",
                                  path, j);
    return status;
}

/* Rows of the file that are this rank's, in `array`. */
static wisp_status copy_rows(tool *t, wisp_blk *x, const wisp_src *src, const char *path, char *array)
{
    const wisp_type type = wisp_blk_type(x);
    const int width = wisp_blk_width(x);
    const size_t most = (size_t)(src->max_row > 0 ? src->max_row : 1);
    const bool narrows = type_is_single(type) && !type_is_single(src->type);
    int64_t *col = NULL, first;
    char *val = NULL;
    narrowed *columns = NULL;
    wisp_status status = WISP_OK;
    wisp_map_local(wisp_blk_map(x), &first);
    WISP_TRY(wisp_alloc(t->ctx, &col, most, sizeof *col));
    WISP_TRY(wisp_alloc(t->ctx, &val, most, wisp_type_size(src->type)));
    WISP_TRY(wisp_alloc(t->ctx, &columns, (size_t)width, sizeof *columns));
    for (int64_t i = first; i < first + wisp_blk_nrows(x); i++) {
        const int n = src->row(src->arg, i, col, val);
        const int64_t at = (i - first) * width;
        for (int k = 0; k < n; k++) {
            const wisp_scalar v = type_load(src->type, val, k);
            if (!isfinite(v.re) || !isfinite(v.im))
                WISP_TRY(wisp_ctx_failf(t->ctx, WISP_ERR_NUMERIC,
                                        "%s: row %lld, column %lld (counted from 0) holds a NaN or an infinity", path,
                                        (long long)i, (long long)col[k]));
            const double size = fmax(fabs(v.re), fabs(v.im));
            if (narrows && size > (double)FLT_MAX)
                WISP_TRY(wisp_ctx_failf(t->ctx, WISP_ERR_NUMERIC,
                                        "%s: row %lld, column %lld (counted from 0) holds %.3g, too large for single "
                                        "precision: take --precision double",
                                        path, (long long)i, (long long)col[k], size));
            narrowed *c = &columns[src->cols == width ? col[k] : 0];
            c->kept += size >= (double)FLT_MIN;
            c->lost += size > 0 && size < (double)FLT_MIN;
            if (src->cols == width) add(type, array, at + col[k], v);
            for (int j = 0; src->cols != width && j < width; j++) add(type, array, at + j, v);
        }
    }
    if (narrows) WISP_TRY(refuse_too_small(t, columns, width, path));
out:
    wisp_free(t->ctx, columns);
    wisp_free(t->ctx, val);
    wisp_free(t->ctx, col);
    return status;
}

int start_from_file(tool *t, wisp_blk *x, const wisp_src *src, const char *path)
{
    const int width = wisp_blk_width(x);
    char *array = NULL;
    wisp_status status = WISP_OK;
    wisp_ctx_enter(t->ctx);
    WISP_TRY(wisp_alloc(t->ctx, &array, (size_t)wisp_blk_nrows(x) * (size_t)width, wisp_type_size(wisp_blk_type(x))));
    WISP_TRY(copy_rows(t, x, src, path, array));
    status = wisp_blk_put(x, WISP_ROW_MAJOR, array, width);
out:
    status = wisp_ctx_leave(t->ctx, status);
    wisp_free(t->ctx, array);
    return status ? tool_fail_ctx(t) : EXIT_FINE;
}

int start_from_sites(tool *t, wisp_blk *x)
{
    const wisp_type type = wisp_blk_type(x);
    char *array;
    int rc = EXIT_FINE;
    if (wisp_alloc(t->ctx, &array, (size_t)wisp_blk_nrows(x), wisp_type_size(type))) return tool_fail_ctx(t);
    for (int64_t i = 0; i < t->opt.site_count; i++) /* a row that is named twice counts once: amplitudes are equal */
        if (type_load(type, array, t->opt.sites[i]).re == 0) add(type, array, t->opt.sites[i], (wisp_scalar){1, 0});
    if (wisp_blk_put(x, WISP_ROW_MAJOR, array, 1)) rc = tool_fail_ctx(t);
    wisp_free(t->ctx, array);
    return rc;
}

/* In two steps, for the inverse of a norm that is small or large need be no number of the type. */
int start_normalise(tool *t, wisp_blk *x)
{
    const int width = wisp_blk_width(x);
    double *norm = NULL;
    wisp_scalar *factor = NULL;
    int rc = EXIT_FINE;
    if (wisp_alloc(t->ctx, &norm, (size_t)width, sizeof *norm) ||
        wisp_alloc(t->ctx, &factor, (size_t)width, sizeof *factor) || wisp_norm(x, norm))
        rc = tool_fail_ctx(t);
    for (int step = 0; step < 2 && !rc; step++) {
        for (int j = 0; j < width && !rc; j++) {
            if (!(norm[j] > 0) || !isfinite(norm[j])) {
                rc = tool_fail(t, "the norm of the start is %g; it can't be normalised", norm[j]);
                continue;
            }
            factor[j] = (wisp_scalar){step ? 1 / norm[j] : ldexp(1, -ilogb(norm[j]) / 2), 0};
            norm[j] *= factor[j].re;
        }
        if (!rc && wisp_vscal(x, factor)) rc = tool_fail_ctx(t);
    }
    wisp_free(t->ctx, norm);
    wisp_free(t->ctx, factor);
    return rc;
}
