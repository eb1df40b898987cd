/* Tiles: levels cut into slices, and each slice taken through all levels before the next. Rows stay where they are;
   only the visit changes: the order in which a sweep takes row blocks. */
#include "order.h"

/* The slice of a row; *level is that of an earlier row. */
static int64_t slice_of(const wisp__levels *v, int64_t row, int64_t tiles, int64_t *level)
{
    while (v->begin[*level + 1] <= row) ++*level;
    const int64_t begin = v->begin[*level], size = v->begin[*level + 1] - begin;
    return (row - begin) * tiles / size;
}

wisp_status wisp__tiles_visit(wisp_ctx *ctx, const wisp__levels *v, int64_t rows, int64_t tiles, int64_t visit_rows,
                              int32_t *visit)
{
    const int64_t blocks = (rows + visit_rows - 1) / visit_rows;
    int32_t *at; /* where the next block of each slice goes */
    wisp_status status = wisp_alloc(ctx, &at, (size_t)tiles + 1, sizeof *at);
    if (status != WISP_OK) return status;
    for (int place = 0; place < 2; place++) { /* count, then place */
        for (int64_t b = 0, level = 0; b < blocks; b++) {
            const int64_t begin = b * visit_rows, end = WISP__MIN(rows, begin + visit_rows);
            const int64_t slice = slice_of(v, (begin + end) / 2, tiles, &level);
            if (place)
                visit[at[slice]++] = (int32_t)b;
            else
                at[slice + 1]++;
        }
        for (int64_t t = 0; t < tiles && !place; t++) at[t + 1] += at[t];
    }
    wisp_free(ctx, at);
    return status;
}
