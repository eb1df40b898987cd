/* The running instruction set's registers, for kernels written with the compilers' vector types. A file that
   includes this sets REAL_BYTES (4 or 8). */
#include "params.h"
#include <stddef.h>

#if defined(WISP_ISA_avx512)
#define SIMD_BYTES 64
#elif defined(WISP_ISA_avx2)
#define SIMD_BYTES 32
#else
#define SIMD_BYTES 16
#endif

#if REAL_BYTES == 8
typedef double real;
#else
typedef float real;
#endif

#define INLINE static inline __attribute__((always_inline, unused))
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
/* Full unrolling of the loops over a row's registers keeps them in registers. IVDEP: x and y are apart or the
   same, element by element. */
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#define IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#define IVDEP _Pragma("GCC ivdep")
#endif

/* The rounding error of s = a + b (Knuth's TwoSum; there is no product here that could be contracted). */
#define SUM_ERROR(a, b, s) (((a) - ((s) - ((s) - (a)))) + ((b) - ((s) - (a))))

/* (re, im) -> (im, re) in each pair of a register of n elements. */
#define SWAP_2(v) __builtin_shufflevector(v, v, 1, 0)
#define SWAP_4(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#define SWAP_8(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#define SWAP_16(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)

/* The signs of i (re, im) = (-im, re) after a swap. */
static const real simd_sign[16]
    __attribute__((aligned(64), unused)) = {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1};
