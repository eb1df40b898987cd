#include "op.h"

void wisp__tree_sum(double *partial, int64_t blocks, size_t size)
{
    for (int64_t step = 1; step < blocks; step *= 2)
        for (int64_t b = 0; b + step < blocks; b += 2 * step) {
            double *into = partial + (size_t)b * size;
            const double *from = partial + (size_t)(b + step) * size;
            for (size_t i = 0; i < size; i++) into[i] += from[i];
        }
}

wisp_status wisp__same_shape(const char *op, const wisp_blk *y, const wisp_blk *x)
{
    if (y->map == x->map && y->type == x->type && y->width == x->width && y->nrows == x->nrows &&
        y->first_row == x->first_row)
        return WISP_OK;
    return wisp_ctx_fail(y->ctx, WISP_ERR_MISMATCH,
                         "%s: blocks of %lld x %d %s and %lld x %d %s%s must have one map, shape and type", op,
                         (long long)y->nrows, y->width, wisp_type_name(y->type), (long long)x->nrows, x->width,
                         wisp_type_name(x->type), y->map == x->map ? "" : " on different maps");
}

bool wisp__overlap(const wisp_blk *x, const wisp_blk *y)
{
    const size_t sx = wisp_type_size(x->type), sy = wisp_type_size(y->type);
    if (x->nrows == 0 || y->nrows == 0) return false;
    const uintptr_t xb = (uintptr_t)x->data, xe = xb + ((size_t)((x->nrows - 1) * x->stride + x->width)) * sx;
    const uintptr_t yb = (uintptr_t)y->data, ye = yb + ((size_t)((y->nrows - 1) * y->stride + y->width)) * sy;
    if (xe <= yb || ye <= xb) return false;
    /* Two sets of columns of one array lie between each other without meeting. */
    if (x->store == y->store && x->stride == y->stride) {
        const int64_t row = x->stride * (int64_t)sx;
        const int64_t shift = (((int64_t)yb - (int64_t)xb) % row + row) % row;
        return shift < x->width * (int64_t)sx || shift + y->width * (int64_t)sy > row;
    }
    return true;
}

void wisp__spread(wisp_type type, const wisp_scalar *f, bool per_column, int width, int period, void *factor,
                  void *swapped)
{
    const int parts = wisp__parts(type);
    const wisp_type real_type = wisp__type_is_double(type) ? WISP_D : WISP_S;
    const size_t size = wisp_type_size(real_type);
    for (int l = 0; l < period; l++) {
        const wisp_scalar v = f[per_column ? l / parts % width : 0];
        wisp__store(real_type, (char *)factor + (size_t)l * size, (wisp_scalar){v.re, 0});
        /* (a + ib)(x + iy): re gets -b y, im gets +b x */
        wisp__store(real_type, (char *)swapped + (size_t)l * size, (wisp_scalar){l % 2 ? v.im : -v.im, 0});
    }
}
