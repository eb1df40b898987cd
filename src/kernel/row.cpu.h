/* Registers over one row of a block and what is done to them, for the templates of row kernels. The file that includes
   it defines REAL_BYTES (by simd.cpu.h), MAT_BYTES, MAT_COMPLEX and WIDTH (of columns of 1 + MAT_COMPLEX numbers);
   ONE_PANEL, if rows are not to be cut.

   A row is cut into full registers; where its length is no multiple of one, the last register is shifted back to end
   with the row, so that it overlaps the one before: both hold and write the same values. A row of more registers than
   the CPU has accumulators for goes in panels of equal width, one after the other over the row's entries. */

#undef FN
#undef ROW_LINES
#undef ROWS_AHEAD
#undef FITS
#undef PANELS
#undef COLUMNS
#undef REALS
#undef VL
#undef NV
#undef AT
#undef KEPT
#undef SWAP
#undef vec

#define FN(name) PASTE(PASTE(name, _w), WIDTH)
#define ROW_LINES ((WIDTH * PARTS * REAL_BYTES + 63) / 64)
/* Asks for a line that will be written: it is taken from other threads that have read it. Or for one that will be read:
   block rows of several lines come into the second-level cache alone, for of the first-level one few misses may be
   pending at once, and these are left to what is read now. */
#define PREFETCH(line, to_write)                      \
    ((to_write)      ? __builtin_prefetch(line, 1)    \
     : ROW_LINES > 1 ? __builtin_prefetch(line, 0, 2) \
                     : __builtin_prefetch(line, 0))
/* Rows ahead whose gathered block rows are prefetched: what they gather stays in the second-level cache till then. */
#define ROWS_AHEAD (ROW_LINES < 8 ? 16 : 8)

/* Panels: as few as fit; a width without a fitting divisor (a large prime) goes in one, with accumulators in memory. */
#define FITS(panels)        \
    (WIDTH % panels == 0 && \
     (WIDTH / panels * PARTS * REAL_BYTES + SIMD_BYTES - 1) / SIMD_BYTES * (1 + MAT_COMPLEX) <= SIMD_SUMS)
#if defined(ONE_PANEL) || FITS(1)
#define PANELS 1
#elif FITS(2)
#define PANELS 2
#elif FITS(3)
#define PANELS 3
#elif FITS(4)
#define PANELS 4
#elif FITS(5)
#define PANELS 5
#elif FITS(6)
#define PANELS 6
#elif FITS(7)
#define PANELS 7
#elif FITS(8)
#define PANELS 8
#else
#define PANELS 1
#endif
#define COLUMNS (WIDTH / PANELS)
#define REALS (COLUMNS * PARTS)

/* Reals in a register, registers in a panel, where register v begins, and where real r is kept among them. */
#if REALS * REAL_BYTES >= SIMD_BYTES
#define VL (SIMD_BYTES / REAL_BYTES)
#elif REALS >= 8
#define VL 8
#elif REALS >= 4
#define VL 4
#elif REALS >= 2
#define VL 2
#else
#define VL 1
#endif
#define NV ((REALS + VL - 1) / VL)
#define AT(v) ((v) < NV - 1 ? (v)*VL : REALS - VL)
#define KEPT(r) ((r) < (NV - 1) * VL ? (r) : (r) + NV * VL - REALS)

#if VL == 1 /* vectors of one element make slow code */
typedef real FN(vec);
typedef real FN(vec_mem);
#else
typedef real FN(vec) __attribute__((vector_size(VL * REAL_BYTES)));
typedef real FN(vec_mem) __attribute__((vector_size(VL * REAL_BYTES), aligned(REAL_BYTES), may_alias));
#endif
#define vec FN(vec)

#if VL == 1
#define SWAP(v) (v) /* of no use */
#elif VL == 2
#define SWAP(v) SWAP_2(v)
#elif VL == 4
#define SWAP(v) SWAP_4(v)
#elif VL == 8
#define SWAP(v) SWAP_8(v)
#else
#define SWAP(v) SWAP_16(v)
#endif

INLINE vec FN(load)(const real *p) { return *(const FN(vec_mem) *)p; }
INLINE void FN(store)(real *p, vec v) { *(FN(vec_mem) *)p = v; }
/* i v: (re, im) -> (-im, re) */
INLINE vec FN(times_i)(vec v) { return FN(load)(simd_sign) * SWAP(v); }
/* f v, f = (re, im); c says whether im counts. (+ 0: else a compiler may fuse the product with a sum that follows, in
   some kernels and not in others, and columns would differ in their last bit.) */
INLINE vec FN(cmul)(const double f[2], int c, vec v)
{
    vec r = (real)f[0] * v + (vec){0};
    if (c) r += (real)f[1] * FN(times_i)(v);
    return r;
}

/* A row of y; past the caches if p says so, and lines are written whole: those of a row, or of rows of one column that
   follow one another without gaps (wide.cpu.h) and may begin anywhere. */
INLINE void FN(store_row)(const wisp__spmmv_params *p, unsigned terms, real *y, vec v[NV])
{
#if VL * REAL_BYTES == SIMD_BYTES && (REALS * REAL_BYTES % 64 == 0 || NV == 1)
    if (terms == 0 && K_SWEEP(p)->cpu.past &&
        (NV > 1 || ((REALS * REAL_BYTES % 64 == 0 || p->ld_y == PARTS) && (uintptr_t)y % SIMD_BYTES == 0))) {
        UNROLL for (int i = 0; i < NV; i++)
        {
            const vec sum = v[i]; /* v itself has no address: gcc would move it about */
            simd_store_past(y + i * VL, &sum, SIMD_BYTES);
        }
        return;
    }
#endif
    (void)p, (void)terms;
    UNROLL for (int i = 0; i < NV; i++) FN(store)(y + AT(i), v[i]);
}

#include "epilogue.h"
