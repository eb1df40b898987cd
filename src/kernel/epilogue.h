/* What happens to a row after A x: shift, scale, axpby, add, chains, dots. Included by the template of a row tile
   (spmmv.cpu.h), and so used by all kernels, also those that take several rows of one column for a row of more
   (wide.cpu.h). The template defines vec, NV, VL, AT, KEPT, COLUMNS and the helpers FN(load), FN(store), FN(cmul). */

/* The sums of a strip of rows; see K_STRIP. same: products of equal parts, cross: of swapped parts. */
typedef struct {
    vec xx[NV], xy[NV], xy_cross[NV], yy[NV], uy[NV], uy_cross[NV];
} FN(sums);

/* Array by array: gcc 12 may clear them as a whole with stores that want 16 bytes, whatever their place on the stack.
 */
INLINE void FN(clear)(FN(sums) * s, int n)
{
    for (int i = 0; i < n; i++) UNROLL for (int v = 0; v < NV; v++)
        {
            s[i].xx[v] = s[i].xy[v] = s[i].xy_cross[v] = (vec){0};
            s[i].yy[v] = s[i].uy[v] = s[i].uy_cross[v] = (vec){0};
        }
}

/* A factor of a dot. (A pair of floats is no operand of its own for clang: it goes as a double.) Where it is one
   number, gcc else multiplies two at once, which is not fused with their sums. */
INLINE vec FN(here)(vec x)
{
#if REALS == 1
    SIMD_KEEP(x);
#elif VL * REAL_BYTES == 8 && VL == 2
    double both;
    __builtin_memcpy(&both, &x, sizeof both);
    SIMD_HERE(both);
    __builtin_memcpy(&x, &both, sizeof both);
#else
    SIMD_HERE(x);
#endif
    return x;
}

INLINE void FN(epilogue)(const wisp__spmmv_params *p, unsigned terms, int64_t row, int64_t at, vec ax[NV],
                         FN(sums) *restrict s)
{
    const real *x = (const real *)p->x + row * p->ld_x + at;
    real *y = (real *)p->y + row * p->ld_y + at;
    const int c = !!(terms & K_COMPLEX);
    vec xv[NV] = {0};
    if (terms & (K_SHIFT | K_DOT_XX | K_DOT_XY)) UNROLL for (int v = 0; v < NV; v++) xv[v] = FN(load)(x + AT(v));
    if (terms & K_SHIFT) {
        const real *shift = (const real *)p->factors[K_FACTORS_SHIFT] + at, *swapped = shift + p->reals;
        UNROLL for (int v = 0; v < NV; v++) ax[v] -= FN(load)(shift + AT(v)) * xv[v];
        if (c) UNROLL for (int v = 0; v < NV; v++) ax[v] -= FN(load)(swapped + AT(v)) * SWAP(xv[v]);
    }
    if (terms & K_SCALE) UNROLL for (int v = 0; v < NV; v++) ax[v] = FN(cmul)(p->alpha, c, ax[v]);
    if (terms & K_AXPBY) {
        const real *prev = terms & K_PREV ? (const real *)p->prev + row * p->ld_prev + at : y;
        UNROLL for (int v = 0; v < NV; v++) ax[v] += FN(cmul)(p->beta, c, FN(load)(prev + AT(v)));
    }
    if (terms & K_ADD) {
        const real *u = (const real *)p->u + row * p->ld_u + at;
        const real *add = (const real *)p->factors[K_FACTORS_ADD] + at, *swapped = add + p->reals;
        UNROLL for (int v = 0; v < NV; v++) ax[v] += FN(load)(add + AT(v)) * FN(load)(u + AT(v));
        if (c) UNROLL for (int v = 0; v < NV; v++) ax[v] += FN(load)(swapped + AT(v)) * SWAP(FN(load)(u + AT(v)));
    }
    FN(store_row)(p, terms, y, ax);
    for (int i = 0; (terms & K_CHAIN) && i < p->chains; i++) {
        real *z = (real *)p->chain[i].z + row * p->chain[i].ld + at;
        vec zv[NV]; /* all of it before anything is stored: the last two registers may overlap */
        UNROLL for (int v = 0; v < NV; v++)
        {
            zv[v] = FN(cmul)(p->chain[i].eta, c, ax[v]);
            if (terms & K_DELTA) zv[v] += FN(cmul)(p->delta, c, FN(load)(z + AT(v)));
        }
        UNROLL for (int v = 0; v < NV; v++) FN(store)(z + AT(v), zv[v]);
    }
    if (terms & K_DOT_XX) UNROLL for (int v = 0; v < NV; v++) s->xx[v] += FN(here)(xv[v]) * xv[v];
    if (terms & K_DOT_XY) UNROLL for (int v = 0; v < NV; v++)
        {
            const vec f = FN(here)(xv[v]);
            s->xy[v] += f * ax[v];
            if (PARTS == 2 || (REALS > 1 && (terms & K_PAIRS))) s->xy_cross[v] += f * SWAP(ax[v]);
        }
    if (terms & K_DOT_YY) UNROLL for (int v = 0; v < NV; v++) s->yy[v] += FN(here)(ax[v]) * ax[v];
    if (terms & K_DOT_UY) UNROLL for (int v = 0; v < NV; v++)
        {
            const vec f = FN(here)(FN(load)((const real *)p->u + row * p->ld_u + at + AT(v)));
            s->uy[v] += f * ax[v];
            if (PARTS == 2 || (REALS > 1 && (terms & K_PAIRS))) s->uy_cross[v] += f * SWAP(ax[v]);
        }
}

/* Adds a strip's sums for reals first .. first + REALS - 1 of a block row to dot[K_DOT_SETS][columns] pairs. Where
   columns are pairs of reals the imaginary part of <x,y> is the difference of the crossed products. */
INLINE void FN(flush_panel)(const FN(sums) * s, unsigned terms, int64_t reals, int64_t first, double *dot)
{
    const real *xx = (const real *)s->xx, *xy = (const real *)s->xy, *xc = (const real *)s->xy_cross,
               *yy = (const real *)s->yy, *uy = (const real *)s->uy, *uc = (const real *)s->uy_cross;
    const int parts = REALS > 1 && (PARTS == 2 || (terms & K_PAIRS)) ? 2 : 1;
    const int64_t next = 2 * (reals / parts);
    for (int r = 0; r < REALS; r += parts) {
        const int re = KEPT(r), im = KEPT((r + parts - 1));
        double *d = dot + 2 * ((first + r) / parts);
        if (parts == 2) {
            if (terms & K_DOT_XX) d[0] += (double)xx[re] + (double)xx[im];
            if (terms & K_DOT_XY) {
                d[next] += (double)xy[re] + (double)xy[im];
                d[next + 1] += (double)xc[re] - (double)xc[im];
            }
            if (terms & K_DOT_YY) d[2 * next] += (double)yy[re] + (double)yy[im];
            if (terms & K_DOT_UY) {
                d[3 * next] += (double)uy[re] + (double)uy[im];
                d[3 * next + 1] += (double)uc[re] - (double)uc[im];
            }
        } else {
            if (terms & K_DOT_XX) d[0] += (double)xx[re];
            if (terms & K_DOT_XY) d[next] += (double)xy[re];
            if (terms & K_DOT_YY) d[2 * next] += (double)yy[re];
            if (terms & K_DOT_UY) d[3 * next] += (double)uy[re];
        }
    }
}
