/* What happens to a row after A x: shift, scale, axpby, chain, dots. Included by the template of a row tile
   (spmmv.cpu.h), which defines vec, NV, VL and the helpers FN(load), FN(store), FN(cmul). */

/* The sums of a strip of rows; see K_STRIP. same: products of equal parts, cross: of swapped parts. */
typedef struct {
    vec xx[NV], xy[NV], xy_cross[NV], yy[NV];
} FN(sums);

INLINE void FN(epilogue)(const wisp__spmmv_params *p, unsigned terms, int64_t row, int64_t at, vec ax[NV],
                         FN(sums) *restrict s)
{
    const real *x = (const real *)p->x + row * p->ld_x + at;
    real *y = (real *)p->y + row * p->ld_y + at;
    const int c = !!(terms & K_COMPLEX);
    vec xv[NV] = {0};
    if (terms & (K_SHIFT | K_DOT_XX | K_DOT_XY)) UNROLL for (int v = 0; v < NV; v++) xv[v] = FN(load)(x + v * VL);
    if (terms & K_SHIFT) {
        const real *shift = (const real *)p->shift + at, *swapped = shift + p->width * PARTS;
        UNROLL for (int v = 0; v < NV; v++) ax[v] -= FN(load)(shift + v * VL) * xv[v];
        if (c) UNROLL for (int v = 0; v < NV; v++) ax[v] -= FN(load)(swapped + v * VL) * SWAP(xv[v]);
    }
    if (terms & K_SCALE) UNROLL for (int v = 0; v < NV; v++) ax[v] = FN(cmul)(p->alpha, c, ax[v]);
    if (terms & K_AXPBY) UNROLL for (int v = 0; v < NV; v++) ax[v] += FN(cmul)(p->beta, c, FN(load)(y + v * VL));
    UNROLL for (int v = 0; v < NV; v++) FN(store)(y + v * VL, ax[v]);
    if (terms & K_CHAIN) {
        real *z = (real *)p->z + row * p->ld_z + at;
        UNROLL for (int v = 0; v < NV; v++)
        {
            vec zv = FN(cmul)(p->eta, c, ax[v]);
            if (terms & K_DELTA) zv += FN(cmul)(p->delta, c, FN(load)(z + v * VL));
            FN(store)(z + v * VL, zv);
        }
    }
    if (terms & K_DOT_XX) UNROLL for (int v = 0; v < NV; v++) s->xx[v] += xv[v] * xv[v];
    if (terms & K_DOT_XY) UNROLL for (int v = 0; v < NV; v++)
        {
            s->xy[v] += xv[v] * ax[v];
            if (PARTS == 2) s->xy_cross[v] += xv[v] * SWAP(ax[v]);
        }
    if (terms & K_DOT_YY) UNROLL for (int v = 0; v < NV; v++) s->yy[v] += ax[v] * ax[v];
}

/* Adds a strip's sums for columns first .. first + WIDTH - 1 to dot[3][width] pairs. */
INLINE void FN(flush)(const FN(sums) * s, unsigned terms, int width, int first, double *dot)
{
    const real *xx = (const real *)s->xx, *xy = (const real *)s->xy, *xc = (const real *)s->xy_cross,
               *yy = (const real *)s->yy;
    for (int j = 0; j < WIDTH; j++) {
        double *d = dot + 2 * (first + j);
        int64_t next = 2 * (int64_t)width;
        if (PARTS == 2) {
            if (terms & K_DOT_XX) d[0] += (double)xx[2 * j] + (double)xx[2 * j + 1];
            if (terms & K_DOT_XY) {
                d[next] += (double)xy[2 * j] + (double)xy[2 * j + 1];
                d[next + 1] += (double)xc[2 * j] - (double)xc[2 * j + 1];
            }
            if (terms & K_DOT_YY) d[2 * next] += (double)yy[2 * j] + (double)yy[2 * j + 1];
        } else {
            if (terms & K_DOT_XX) d[0] += (double)xx[j];
            if (terms & K_DOT_XY) d[next] += (double)xy[j];
            if (terms & K_DOT_YY) d[2 * next] += (double)yy[j];
        }
    }
}
