/* Whether all bonds of a source have one nearest image (image.h). */
#include "../data/rows.h"
#include "image.h"
#include <math.h>

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

typedef struct {
    wisp_ctx *ctx;
    const wisp__image *image;
    int64_t first;
} look;

static wisp_status look_at_bond(const look *l, int64_t row, int64_t col)
{
    double step[3] = {0};
    const wisp__image_result r = row == col ? WISP__IMAGE_FOUND : wisp__image_step(l->image, row, col, step);
    if (r == WISP__IMAGE_FOUND) return WISP_OK;
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
    const look *l = arg;
    wisp_status status = WISP_OK;
    for (int64_t row = l->first + begin; row < l->first + end; row++) {
        int n;
        WISP_TRY(wisp__read_columns(reader, l->ctx, row, &n));
        for (int k = 0; k < n; k++) WISP_TRY(look_at_bond(l, row, reader->col[k]));
    }
out:
    return status;
}

wisp_status wisp__image_look(wisp_ctx *ctx, const wisp__image *m, const wisp_src *h)
{
    wisp_map *map = NULL;
    look l = {.ctx = ctx, .image = m};
    wisp_status status;
    if (!(m->p.reach < m->half * (1 - 1e-9)))
        return wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "bonds are up to %g long, and the periodic cell is only %g around, so that bonds can't be "
            "told from their images: take a larger cell, more than %g around",
            m->p.reach, 2 * m->half, 2 * m->p.reach);
    WISP_TRY(wisp_map_create_weighted(&map, ctx, h->rows, h->weights));
    const int64_t rows = wisp_map_local(map, &l.first);
    WISP_TRY(wisp__for_rows(ctx, "looking at bonds", h, NULL, rows, WISP__PIECE, look_at_rows, &l));
out:
    wisp_map_free(map);
    return status;
}
