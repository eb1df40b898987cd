/* Whether all bonds of a source have one nearest image (image.h). */
#include "../data/rows.h"
#include "image.h"
#include <math.h>
#include <stdio.h>

wisp_status wisp__image_fits(wisp_ctx *ctx, const wisp_src *h, const wisp_positions *p)
{
    const wisp_status status = wisp__src_check(ctx, h);
    if (status != WISP_OK) return status;
    if (h->rows != h->cols || !p->at || p->rows != h->rows)
        return wisp_ctx_failf(
            ctx, WISP_ERR_MISMATCH,
            "a square matrix with a position for each row is needed; it is %lld x %lld, and there are "
            "%lld positions",
            (long long)h->rows, (long long)h->cols, (long long)(p->at ? p->rows : 0));
    if (p->dimensions < 1 || p->dimensions > 3)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "positions have 1 to 3 dimensions, not %d", p->dimensions);
    if (wisp_src_numbers(h))
        return wisp_ctx_failf(
            ctx, WISP_ERR_UNSUPPORTED,
            "rows that were partitioned anew have other numbers than their positions: take the matrix "
            "as it was before");
    return WISP_OK;
}

/* Of each vector of the cell, in its lengths: how far positions reach along it, and whether bonds go over nearly all of
   that, and over a small part. */
typedef struct {
    wisp_ctx *ctx;
    const wisp__image *image;
    int64_t first;
    bool listed;
    double extent[3];
    atomic_bool far[3], near[3];
} look;

static double along(const double dual[3], const double a[3])
{
    return dual[0] * a[0] + dual[1] * a[1] + dual[2] * a[2];
}

/* Whether rows that are bound are at the same place but for vectors of the cell; notes how far apart they are. */
static bool look_at_way(look *l, int64_t row, int64_t col, const double step[3])
{
    const double same = 1e-6;
    const wisp__image *m = l->image;
    double a[3], b[3];
    bool together = true, moved = false;
    if (m->p.at(m->p.arg, row, a) || m->p.at(m->p.arg, col, b)) return false;
    const double way[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    for (int d = 0; d < 3; d++) together &= fabs(step[d]) <= same * (fabs(way[0]) + fabs(way[1]) + fabs(way[2]));
    for (int i = 0; i < m->vectors; i++) {
        const double part = fabs(along(m->given[i], way)), extent = l->extent[i];
        moved |= part > 0.5;
        if (part > 0.75 * extent && part < 0.5) atomic_store_explicit(&l->far[i], true, memory_order_relaxed);
        if (part > same && part < 0.25 * extent) atomic_store_explicit(&l->near[i], true, memory_order_relaxed);
    }
    return together && moved;
}

static wisp_status look_at_bond(look *l, int64_t row, int64_t col)
{
    double step[3] = {0};
    const wisp__image_result r = row == col ? WISP__IMAGE_FOUND : wisp__image_step(l->image, row, col, step);
    if (r == WISP__IMAGE_FOUND && (row == col || !l->listed || !look_at_way(l, row, col, step))) return WISP_OK;
    if (r == WISP__IMAGE_FOUND)
        return wisp_ctx_failf(
            l->ctx, WISP_ERR_ARG,
            "rows %lld and %lld are bound, and the periodic cell makes them images of each other: it does "
            "not fit the positions; does it leave out the way from the last row back to the first?",
            (long long)row, (long long)col);
    if (r == WISP__IMAGE_FAILED)
        return wisp_ctx_failf(l->ctx, WISP_ERR_CALLBACK,
                              "the positions of rows %lld or %lld are not there, or not finite", (long long)row,
                              (long long)col);
    const double length = sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    return wisp_ctx_failf(l->ctx, WISP_ERR_ARG,
                          "rows %lld and %lld are bound, and two of their images are equally near in the periodic cell "
                          "(%g): take a larger cell, more than %g around",
                          (long long)row, (long long)col, length, 2 * length);
}

static wisp_status look_at_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    look *l = arg;
    wisp_status status = WISP_OK;
    for (int64_t row = l->first + begin; row < l->first + end; row++) {
        int n;
        WISP_TRY(wisp__read_columns(reader, l->ctx, row, &n));
        for (int k = 0; k < n; k++) WISP_TRY(look_at_bond(l, row, reader->col[k]));
    }
out:
    return status;
}

/* Positions that fill more than the cell are of another one: so no image that is taken is the right one. */
static wisp_status look_at_extent(look *l)
{
    const double rounding = 1e-6;
    const wisp__image *m = l->image;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, a[3];
    for (int64_t row = 0; row < m->p.rows; row++) {
        if (m->p.at(m->p.arg, row, a)) continue; /* bonds tell, if there are any */
        for (int i = 0; i < m->vectors; i++) {
            const double x = along(m->given[i], a);
            low[i] = fmin(low[i], x), high[i] = fmax(high[i], x);
        }
    }
    for (int i = 0; i < m->vectors; i++) {
        const double *v = m->p.cell[m->number[i]];
        l->extent[i] = high[i] - low[i];
        if (l->extent[i] > 1 + rounding)
            return wisp_ctx_failf(
                l->ctx, WISP_ERR_ARG,
                "the positions extend over %.4g times the vector %g,%g,%g of the periodic cell, and must "
                "lie in one cell: take a larger one, or move the rows into it",
                l->extent[i], v[0], v[1], v[2]);
    }
    return WISP_OK;
}

/* Ways back to the first row of a sample look like bonds from end to end where the cell is far too large. */
static void warn_of_room(look *l)
{
    const double most = 0.5;
    for (int i = 0; i < l->image->vectors; i++) {
        const double *v = l->image->p.cell[l->image->number[i]];
        char text[256];
        if (l->extent[i] >= most || !atomic_load(&l->far[i]) || !atomic_load(&l->near[i])) continue;
        snprintf(text, sizeof text,
                 "the vector %g,%g,%g of the periodic cell is %.3g times as long as the sample, in which bonds go from "
                 "end to end: if these are to lead around, the cell is too large",
                 v[0], v[1], v[2], 1 / l->extent[i]);
        wisp__log_once(l->ctx, WISP__ONCE_CELL, WISP_LOG_WARN, text);
    }
}

wisp_status wisp__image_look(wisp_ctx *ctx, const wisp__image *m, const wisp_src *h)
{
    wisp_map *map = NULL;
    look l = {.ctx = ctx, .image = m, .listed = m->vectors > 0 && m->p.reach == 0};
    wisp_status status;
    if (!(m->p.reach < m->half * (1 - 1e-9)))
        return wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "bonds are up to %g long, and the periodic cell is only %g around, so that bonds can't be "
            "told from their images: take a larger cell, more than %g around",
            m->p.reach, 2 * m->half, 2 * m->p.reach);
    if (l.listed) WISP_TRY(look_at_extent(&l));
    WISP_TRY(wisp_map_create_weighted(&map, ctx, h->rows, h->weights));
    const int64_t rows = wisp_map_local(map, &l.first);
    WISP_TRY(wisp__for_rows(ctx, "looking at bonds", h, NULL, rows, WISP__PIECE, look_at_rows, &l));
    if (l.listed) warn_of_room(&l);
out:
    wisp_map_free(map);
    return status;
}
