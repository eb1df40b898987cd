/* What entries of the gallery share: sources, and boxes of sites. */
#include "gallery.h"
#include <stdlib.h>
#include <string.h>

wisp_status wisp__gal_product(wisp_ctx *ctx, const char *name, const int64_t *size, int count, int64_t *product)
{
    *product = 1;
    for (int i = 0; i < count; i++) {
        if (__builtin_mul_overflow(*product, size[i], product)) {
            return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW,
                                  "%s: the number of rows does not fit in 64 bits; take a smaller size", name);
        }
    }
    return WISP_OK;
}

wisp_status wisp__gal_source(wisp_src *src, wisp_ctx *ctx, const char *name, const wisp_src *shape, const void *params,
                             size_t size)
{
    int64_t entries_bound;
    if (__builtin_mul_overflow(shape->rows, shape->max_row, &entries_bound)) {
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW,
                              "%s: the number of nonzeros does not fit in 64 bits; take a smaller size", name);
    }
    /* Not wisp_alloc: wisp_src_close knows no context. */
    void *copy = malloc(size);
    if (!copy) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "%s: no memory for %zu bytes of parameters", name, size);
    memcpy(copy, params, size);
    *src = *shape;
    src->cols = src->rows;
    src->arg = copy;
    src->free_arg = free;
    return WISP_OK;
}

wisp_status wisp__gal_box_make(wisp__gal_box *box, wisp_ctx *ctx, const char *name, int64_t nx, int64_t ny, int64_t nz,
                               int64_t periodic, int64_t *sites)
{
    *box = (wisp__gal_box){.n = {nx, ny, nz}, .periodic = (unsigned)periodic};
    wisp_status status = wisp__gal_product(ctx, name, box->n, 3, sites);
    if (status != WISP_OK) return status;
    box->stride[0] = ny * nz;
    box->stride[1] = nz;
    box->stride[2] = 1;
    return WISP_OK;
}

/* The distances to the up to three points at -1, 0, +1 along d, and which of them is the 0. */
static int reach(const wisp__gal_box *box, const int64_t at[3], int d, int64_t step[3], int *centre)
{
    bool low, high;
    step[0] = wisp__gal_below(box, at, d, &low);
    step[low] = 0;
    step[low + 1] = wisp__gal_above(box, at, d, &high);
    *centre = low;
    return low + 1 + high;
}

int wisp__gal_cube(const wisp__gal_box *b, int64_t site, double diagonal, double neighbour, int64_t *col, double *val)
{
    int64_t at[3], step[3][3];
    int count[3], centre[3], n = 0;
    wisp__gal_where(b, site, at);
    for (int d = 0; d < 3; d++) count[d] = reach(b, at, d, step[d], &centre[d]);
    if (!col) return count[0] * count[1] * count[2];
    for (int i = 0; i < count[0]; i++) {
        for (int j = 0; j < count[1]; j++) {
            for (int k = 0; k < count[2]; k++) {
                col[n] = site + step[0][i] + step[1][j] + step[2][k];
                val[n++] = neighbour;
            }
        }
    }
    val[(centre[0] * count[1] + centre[1]) * count[2] + centre[2]] = diagonal;
    return n;
}
