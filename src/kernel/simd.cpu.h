/* The running instruction set's registers, for kernels written with the compilers' vector types. A file that
   includes this sets REAL_BYTES (4 or 8). */
#include "params_cpu.h"
#include <stddef.h>

/* SIMD_SUMS: accumulators that a kernel may keep, so that room is left for what is added to them. */
#if defined(WISP_ISA_avx512)
#define SIMD_BYTES 64
#elif defined(WISP_ISA_avx2)
#define SIMD_BYTES 32
#else
#define SIMD_BYTES 16
#endif
#if (SIMD_BYTES == 64 && defined(__AVX512DQ__)) || (SIMD_BYTES == 32 && defined(__AVX2__))
#define SIMD_TAKE /* simd_take stands, and with it the kernel along bundles */
#endif
#ifndef SIMD_SUMS
#if SIMD_BYTES == 64 || defined(WISP_ISA_neon)
#define SIMD_SUMS 16 /* of 32 registers */
#else
#define SIMD_SUMS 12 /* of 16 */
#endif
#endif

#if REAL_BYTES == 8
typedef double real;
#else
typedef float real;
#endif

/* Real numbers in a column of a block: to a real matrix a complex column is two real ones. */
#ifdef MAT_COMPLEX
#define PARTS (1 + MAT_COMPLEX)
#endif

/* A part of a matrix value, where the matrix's precision is another than the block's. */
#if defined(MAT_BYTES) && MAT_BYTES == 4
typedef float mat_real;
#else
typedef real mat_real;
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

/* Each of n elements twice: a register of half the length to a full one. */
#define TWICE_2(v) __builtin_shufflevector(v, v, 0, 0, 1, 1)
#define TWICE_4(v) __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3)
#define TWICE_8(v) __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7)

/* The first of each pair twice: (re, im) -> (re, re); and the second. */
#define FIRSTS_2(v) __builtin_shufflevector(v, v, 0, 0)
#define FIRSTS_4(v) __builtin_shufflevector(v, v, 0, 0, 2, 2)
#define FIRSTS_8(v) __builtin_shufflevector(v, v, 0, 0, 2, 2, 4, 4, 6, 6)
#define FIRSTS_16(v) __builtin_shufflevector(v, v, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14)
#define SECONDS_2(v) __builtin_shufflevector(v, v, 1, 1)
#define SECONDS_4(v) __builtin_shufflevector(v, v, 1, 1, 3, 3)
#define SECONDS_8(v) __builtin_shufflevector(v, v, 1, 1, 3, 3, 5, 5, 7, 7)
#define SECONDS_16(v) __builtin_shufflevector(v, v, 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15)

/* The signs of i (re, im) = (-im, re) after a swap. */
static const real simd_sign[16]
    __attribute__((aligned(64), unused)) = {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1};

typedef real simd_vec __attribute__((vector_size(SIMD_BYTES)));
/* A value that the compiler must take as it is in its register. */
#if defined(__AVX512F__)
#define SIMD_KEEP(x) __asm__("" : "+v"(x))
#elif defined(__x86_64__)
#define SIMD_KEEP(x) __asm__("" : "+x"(x))
#elif defined(__aarch64__)
#define SIMD_KEEP(x) __asm__("" : "+w"(x))
#else
#define SIMD_KEEP(x) ((void)(x))
#endif
/* One copy of a function is enough, also where gcc would make others for arguments that are constants. */
#ifdef __clang__
#define ONE_COPY static __attribute__((unused, noinline))
#else
#define ONE_COPY static __attribute__((unused, noinline, noclone))
#endif
/* clang else turns "if (c) sum += a * b" into "sum += c ? a * b : 0", which is not fused, where it does not split the
   loop by c: then the last bit of a dot depends on what else is asked for. A factor that is made opaque behind the
   branch keeps the branch. */
#ifdef __clang__
#define SIMD_HERE(x) SIMD_KEEP(x)
#else
#define SIMD_HERE(x) ((void)(x))
#endif

/* a b + c, rounded once where the instruction set can: of numbers, and of registers. gcc makes one operation of product
   and sum wherever they stand; clang only where no branch comes between them, and a branch comes and goes with what is
   around them. Where bits of one kernel must be those of another, clang is told. */
#if defined(__clang__) && (defined(__FMA__) || defined(__aarch64__))
#if REAL_BYTES == 8
#define REAL_MADD(a, b, c) __builtin_fma(a, b, c)
#else
#define REAL_MADD(a, b, c) __builtin_fmaf(a, b, c)
#endif
INLINE simd_vec simd_madd(simd_vec a, simd_vec b, simd_vec c)
{
#if __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#elif SIMD_BYTES == 64 && REAL_BYTES == 8 /* clang before 17 */
    return (simd_vec)__builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4);
#elif SIMD_BYTES == 64
    return (simd_vec)__builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4);
#elif SIMD_BYTES == 32 && REAL_BYTES == 8
    return (simd_vec)__builtin_ia32_vfmaddpd256(a, b, c);
#elif SIMD_BYTES == 32
    return (simd_vec)__builtin_ia32_vfmaddps256(a, b, c);
#else /* which is seen to be one instruction, mostly */
    UNROLL for (int l = 0; l < SIMD_BYTES / REAL_BYTES; l++) c[l] = REAL_MADD(a[l], b[l], c[l]);
    return c;
#endif
}
#define SIMD_MADD(a, b, c) simd_madd(a, b, c)
#else
#define REAL_MADD(a, b, c) ((a) * (b) + (c))
#define SIMD_MADD(a, b, c) ((a) * (b) + (c))
#endif
/* A register of one number. (Less zero: a sum with it would turn -0 into 0, and so be an operation.) */
#define SIMD_ALL(x) ((x) - (simd_vec){0})
