/* The vectors that wisp power and evolve begin with. */
#include "tool.h"
#include <math.h>
#include <string.h>

int start_open(tool *t, wisp_src *src, int64_t rows)
{
    if (wisp_src_open_file(src, t->ctx, t->opt.start)) return tool_fail_ctx(t);
    if (src->rows == rows && src->cols >= 1 && src->cols <= 4096) return EXIT_FINE;
    const int64_t r = src->rows, c = src->cols;
    wisp_src_close(src);
    return tool_fail(t, "%s is %lld x %lld; a start of %lld rows and at least one column is needed", t->opt.start,
                     (long long)r, (long long)c, (long long)rows);
}

static wisp_scalar load(wisp_type type, const void *p, int64_t i)
{
    const float *s = p;
    const double *d = p;
    switch (type) {
    case WISP_S: return (wisp_scalar){(double)s[i], 0};
    case WISP_D: return (wisp_scalar){d[i], 0};
    case WISP_C: return (wisp_scalar){(double)s[2 * i], (double)s[2 * i + 1]};
    default: return (wisp_scalar){d[2 * i], d[2 * i + 1]};
    }
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

int start_from_file(tool *t, wisp_blk *x, const wisp_src *src)
{
    const wisp_type type = wisp_blk_type(x);
    char *array = NULL, *val = NULL;
    int64_t *col = NULL;
    const size_t most = (size_t)(src->max_row > 0 ? src->max_row : 1);
    int rc = EXIT_FINE;
    if (wisp_alloc(t->ctx, &array, (size_t)(src->rows * src->cols), wisp_type_size(type)) ||
        wisp_alloc(t->ctx, &col, most, sizeof *col) || wisp_alloc(t->ctx, &val, most, wisp_type_size(src->type)))
        rc = tool_fail_ctx(t);
    for (int64_t i = 0; i < src->rows && !rc; i++) {
        const int n = src->row(src->arg, i, col, val);
        for (int k = 0; k < n; k++) add(type, array, i * src->cols + col[k], load(src->type, val, k));
    }
    if (!rc && wisp_blk_put(x, WISP_ROW_MAJOR, array, src->cols)) rc = tool_fail_ctx(t);
    wisp_free(t->ctx, val);
    wisp_free(t->ctx, col);
    wisp_free(t->ctx, array);
    return rc;
}

int start_from_sites(tool *t, wisp_blk *x)
{
    const wisp_type type = wisp_blk_type(x);
    char *array;
    int rc = EXIT_FINE;
    if (wisp_alloc(t->ctx, &array, (size_t)wisp_blk_nrows(x), wisp_type_size(type))) return tool_fail_ctx(t);
    for (int64_t i = 0; i < t->opt.site_count; i++) add(type, array, t->opt.sites[i], (wisp_scalar){1, 0});
    if (wisp_blk_put(x, WISP_ROW_MAJOR, array, 1)) rc = tool_fail_ctx(t);
    wisp_free(t->ctx, array);
    return rc;
}

int start_normalise(tool *t, wisp_blk *x)
{
    const int width = wisp_blk_width(x);
    double *norm = NULL;
    wisp_scalar *factor = NULL;
    int rc = EXIT_FINE;
    if (wisp_alloc(t->ctx, &norm, (size_t)width, sizeof *norm) ||
        wisp_alloc(t->ctx, &factor, (size_t)width, sizeof *factor) || wisp_norm(x, norm))
        rc = tool_fail_ctx(t);
    for (int j = 0; j < width && !rc; j++) {
        factor[j] = (wisp_scalar){1 / norm[j], 0};
        if (!(norm[j] > 0) || !isfinite(norm[j]) || !isfinite(factor[j].re))
            rc = tool_fail(t, "the norm of the start is %g; it can't be normalised", norm[j]);
    }
    if (!rc && wisp_vscal(x, factor)) rc = tool_fail_ctx(t);
    wisp_free(t->ctx, norm);
    wisp_free(t->ctx, factor);
    return rc;
}
