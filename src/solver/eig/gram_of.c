/* Dots of a space with products of a space. */
#include "eigen.h"

/* Of the product's columns from j on, w of them. */
static wisp_status panel(const wisp__product *p, const wisp_blk *U, wisp_blk *V, int j, int w, wisp_scalar *G,
                         wisp_place at)
{
    wisp_status status = WISP_OK;
    const int n = wisp_blk_width(V);
    wisp_blk *from = NULL, *x = NULL, *y = NULL;
    WISP_TRY(wisp_blk_cols(&from, V, j, w));
    WISP_TRY(wisp_blk_cols(&x, p->x, 0, w));
    WISP_TRY(wisp_blk_cols(&y, p->y, 0, w));
    WISP_TRY(wisp_copy(x, from));
    WISP_TRY(p->times(p->arg, y, x));
    if (G)
        WISP_TRY(wisp_tsm_gram(G + j, n, wisp__real(1), U, y, wisp__real(0), 0));
    else
        WISP_TRY(wisp_tsm_gram_at((wisp_place){at.slot, at.first + j}, n, U, y, 0));
out:
    wisp_blk_free(from);
    wisp_blk_free(x);
    wisp_blk_free(y);
    return status;
}

wisp_status wisp__gram_of(const wisp__product *p, const wisp_blk *U, wisp_blk *V, wisp_scalar *G, wisp_place at)
{
    wisp_status status = WISP_OK;
    const int n = wisp_blk_width(V), width = wisp_blk_width(p->x);
    for (int j = 0; j < n && status == WISP_OK; j += width)
        status = panel(p, U, V, j, n - j < width ? n - j : width, G, at);
    return status;
}

wisp_status wisp__times_S(const void *pencil, wisp_blk *y, wisp_blk *x) { return wisp__pencil_times_S(pencil, y, x); }
