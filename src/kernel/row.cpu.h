/* Registers over one row of a block and what is done to them, for the templates of row kernels. The file that includes
   it defines REAL_BYTES (by simd.cpu.h), PARTS (reals in a block element: 1 or 2) and WIDTH (a power of two). */

#undef FN
#undef ROW_REALS
#undef ROW_LINES
#undef VL
#undef NV
#undef SWAP
#undef vec

#define FN(name) PASTE(PASTE(name, _w), WIDTH)
#define ROW_REALS (WIDTH * PARTS)
#if ROW_REALS * REAL_BYTES < SIMD_BYTES
#define VL ROW_REALS
#else
#define VL (SIMD_BYTES / REAL_BYTES)
#endif
#define NV (ROW_REALS / VL)
#define ROW_LINES ((ROW_REALS * REAL_BYTES + 63) / 64)

#if VL == 1 /* gcc sends vectors of one element through memory */
typedef real FN(vec);
typedef real FN(vec_mem);
#else
typedef real FN(vec) __attribute__((vector_size(VL * REAL_BYTES)));
typedef real FN(vec_mem) __attribute__((vector_size(VL * REAL_BYTES), aligned(REAL_BYTES), may_alias));
#endif
#define vec FN(vec)

#if PARTS == 1
#define SWAP(v) (v)
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
/* f v, f = (re, im); c says whether im counts. */
INLINE vec FN(cmul)(const double f[2], int c, vec v)
{
    vec r = (real)f[0] * v;
    if (PARTS == 2 && c) r += (real)f[1] * FN(times_i)(v);
    return r;
}

#include "epilogue.h"
