/* The registry of the gallery, and what its entries share. */
#include "gallery.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wisp__gal_entry *const entries[] = {&wisp__gal_topi,       &wisp__gal_graphene, &wisp__gal_anderson,
                                                 &wisp__gal_laplace,    &wisp__gal_hpcg,     &wisp__gal_band,
                                                 &wisp__gal_spinchain,  &wisp__gal_delaunay, &wisp__gal_tetrahedra,
                                                 &wisp__gal_elasticity, &wisp__gal_matpde,   &wisp__gal_hubbard};
enum { ENTRIES = (int)(sizeof entries / sizeof *entries) };

const wisp_gallery_entry *wisp_gallery_list(int i) { return i >= 0 && i < ENTRIES ? &entries[i]->text : NULL; }

static wisp_status unknown_name(wisp_ctx *ctx, const char *spec, int length)
{
    const char *names[ENTRIES];
    char list[256] = "", word[32];
    size_t used = 0;
    for (int i = 0; i < ENTRIES; i++) {
        names[i] = entries[i]->text.name;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    snprintf(word, sizeof word, "%.*s", length, spec);
    for (char *c = word; *c; c++) {
        if ((unsigned char)*c < ' ') *c = '?';
    }
    const char *near = wisp__gal_nearest(word, names, ENTRIES, sizeof *names);
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "unknown gallery matrix '%s'%s%s%s (there are: %s)", word,
                          near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "", list);
}

wisp_status wisp_src_open_gallery(wisp_src *src, wisp_ctx *ctx, const char *spec)
{
    WISP_NEED(ctx, src);
    *src = (wisp_src){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, spec);
    size_t length = strcspn(spec, ":");
    for (int i = 0; i < ENTRIES; i++) {
        const wisp__gal_entry *e = entries[i];
        if (strlen(e->text.name) != length || strncmp(e->text.name, spec, length) != 0) continue;
        wisp__gal_value value[WISP__GAL_MAX_KEYS] = {0};
        wisp_status status = wisp__gal_parse(ctx, e, spec[length] ? spec + length + 1 : "", value);
        return status == WISP_OK ? e->open(src, ctx, value) : status;
    }
    return unknown_name(ctx, spec, (int)WISP__MIN(length, (size_t)1000));
}

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
