/* Preconditioners that work on plain arrays of the host's: a block's numbers go there, and come back as M^-1 times
   them. */
#include "precond.h"
#include "../solver.h"

static int64_t numbers_of(const wisp__host *h, int width)
{
    return h->rows * width * (wisp_type_is_complex(h->type) ? 2 : 1);
}

wisp_status wisp__host_open(wisp__host *h, const wisp_mat *A, wisp_type type, int width)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_status status;
    *h = (wisp__host){.ctx = ctx, .type = type, .rows = wisp_map_local(wisp_mat_map(A), NULL)};
    const size_t n = (size_t)numbers_of(h, width);
    WISP_TRY(wisp_alloc(ctx, &h->x, n > 0 ? n : 1, sizeof *h->x));
    if (wisp__is_single(type)) WISP_TRY(wisp_alloc(ctx, &h->singles, n > 0 ? n : 1, sizeof *h->singles));
out:
    return status;
}

/* Blocks of doubles whose rows lie in the natural order; other ones, and those with gaps, are left. */
static wisp_status apply_in_place(wisp__host *h, wisp_blk *y, const wisp_blk *x, int width, bool *done)
{
    void *from, *to;
    int64_t from_stride, to_stride;
    wisp_status status = WISP_OK;
    *done = false;
    if (!h->between || h->singles || !wisp_map_is_natural(wisp_blk_map(x))) return WISP_OK;
    WISP_TRY(wisp_blk_lend(x, WISP_READ, &from, &from_stride));
    status = wisp_blk_lend(y, WISP_DISCARD, &to, &to_stride);
    if (status == WISP_OK) {
        *done = from_stride == wisp_blk_width(x) && to_stride == from_stride;
        if (*done) status = h->between(h->arg, to, from, width);
        wisp_blk_return(y);
    }
    wisp_blk_return(x);
out:
    return status;
}

wisp_status wisp__host_apply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    wisp__host *h = arg;
    const int width = wisp_blk_width(x), reals = wisp_type_is_complex(h->type) && !h->pairs ? 2 : 1;
    const int64_t n = numbers_of(h, width);
    void *const numbers = h->singles ? (void *)h->singles : (void *)h->x;
    bool done;
    wisp_status status;
    WISP_TRY(apply_in_place(h, y, x, reals * width, &done));
    if (done) return WISP_OK;
    WISP_TRY(wisp_blk_get(x, WISP_ROW_MAJOR, numbers, width));
    for (int64_t i = 0; h->singles && i < n; i++) h->x[i] = (double)h->singles[i];
    WISP_TRY(h->apply(h->arg, h->x, reals * width));
    for (int64_t i = 0; h->singles && i < n; i++) h->singles[i] = (float)h->x[i];
    WISP_TRY(wisp_blk_put(y, WISP_ROW_MAJOR, numbers, width));
out:
    return status;
}

double wisp__host_plan(double rows, wisp_type type, int width)
{
    const double numbers = rows * width * (wisp_type_is_complex(type) ? 2 : 1);
    return numbers * (double)(sizeof(double) + (wisp__is_single(type) ? sizeof(float) : 0));
}

void wisp__host_close(wisp__host *h)
{
    wisp_free(h->ctx, h->x);
    wisp_free(h->ctx, h->singles);
}
