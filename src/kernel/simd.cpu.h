/* The running instruction set's registers, for kernels written with the compilers' vector types. A file that
   includes this sets REAL_BYTES (4 or 8). */
#include "params.h"
#include <stddef.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* SIMD_SUMS: accumulators that a kernel may keep, so that room is left for what is added to them. */
#if defined(WISP_ISA_avx512)
#define SIMD_BYTES 64
#elif defined(WISP_ISA_avx2)
#define SIMD_BYTES 32
#else
#define SIMD_BYTES 16
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

/* The signs of i (re, im) = (-im, re) after a swap. */
static const real simd_sign[16]
    __attribute__((aligned(64), unused)) = {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1};

typedef real simd_vec __attribute__((vector_size(SIMD_BYTES)));
/* A register of so many bytes to memory past the caches, where the instruction set can; p is aligned to it. */
INLINE void simd_store_past(void *p, const void *v, const int bytes)
{
#ifdef __AVX512F__
    if (bytes == 64) return _mm512_stream_si512(p, _mm512_loadu_si512(v));
#endif
#ifdef __AVX__
    if (bytes == 32) return _mm256_stream_si256(p, _mm256_loadu_si256(v));
#endif
#ifdef __SSE2__
    if (bytes == 16) return _mm_stream_si128(p, _mm_loadu_si128(v));
#endif
    __builtin_memcpy(p, v, (size_t)bytes);
}
/* SIMD_TAKE: the parts of four bytes of a register that from[] names (by number, with the sign bit), zero where it
   names none. */
#if SIMD_BYTES == 64 && defined(__AVX512DQ__)
#define SIMD_TAKE
INLINE simd_vec simd_take(simd_vec v, const int32_t *from)
{
    const __m512i f = _mm512_loadu_si512(from);
    return (simd_vec)_mm512_maskz_permutexvar_ps(_mm512_movepi32_mask(f), f, (__m512)v);
}
#elif SIMD_BYTES == 32 && defined(__AVX2__)
#define SIMD_TAKE
INLINE simd_vec simd_take(simd_vec v, const int32_t *from)
{
    const __m256i f = _mm256_loadu_si256((const __m256i_u *)from);
    const __m256 taken = _mm256_permutevar8x32_ps((__m256)v, f);
    return (simd_vec)_mm256_and_ps(taken, (__m256)_mm256_srai_epi32(f, 31));
}
#endif
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
/* clang else turns "if (c) sum += a * b" into "sum += c ? a * b : 0", which is not fused, where it does not split the
   loop by c: then the last bit of a dot depends on what else is asked for. A factor that is made opaque behind the
   branch keeps the branch. */
#ifdef __clang__
#define SIMD_HERE(x) SIMD_KEEP(x)
#else
#define SIMD_HERE(x) ((void)(x))
#endif
/* Before what was written past the caches is read by another thread. */
INLINE void simd_fence(void)
{
#ifdef __x86_64__
    __builtin_ia32_sfence();
#endif
}

/* Registers from parts: two halves side by side, and elements given by ELEMENT(0), ELEMENT(1), ... (compilers build
   them from single elements one after the other, which takes as long as there are elements; and gcc puts halves
   together by a shuffle of full registers, with moves that clear what is beside them). */
typedef real simd_2 __attribute__((vector_size(2 * REAL_BYTES)));
typedef real simd_4 __attribute__((vector_size(4 * REAL_BYTES)));
typedef real simd_8 __attribute__((vector_size(8 * REAL_BYTES)));
typedef real simd_16 __attribute__((vector_size(16 * REAL_BYTES)));
#ifdef __AVX__
#define JOIN_16_BYTES(a, b) _mm256_insertf128_ps(_mm256_castps128_ps256((__m128)(a)), (__m128)(b), 1)
#endif
#ifdef __AVX512F__
#define JOIN_32_BYTES(a, b) _mm512_insertf64x4(_mm512_castpd256_pd512((__m256d)(a)), (__m256d)(b), 1)
#endif
#if defined(JOIN_16_BYTES) && REAL_BYTES == 8
#define JOIN_2(a, b) ((simd_4)JOIN_16_BYTES(a, b))
#else
#define JOIN_2(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3)
#endif
#if defined(JOIN_32_BYTES) && REAL_BYTES == 8
#define JOIN_4(a, b) ((simd_8)JOIN_32_BYTES(a, b))
#elif defined(JOIN_16_BYTES) && REAL_BYTES == 4
#define JOIN_4(a, b) ((simd_8)JOIN_16_BYTES(a, b))
#else
#define JOIN_4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#endif
#if defined(JOIN_32_BYTES) && REAL_BYTES == 4
#define JOIN_8(a, b) ((simd_16)JOIN_32_BYTES(a, b))
#else
#define JOIN_8(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#endif
#define EACH_2(l) ((simd_2){ELEMENT(l), ELEMENT(l + 1)})
#if REAL_BYTES == 8
#define EACH_4(l) JOIN_2(EACH_2(l), EACH_2(l + 2))
#else
#define EACH_4(l) ((simd_4){ELEMENT(l), ELEMENT(l + 1), ELEMENT(l + 2), ELEMENT(l + 3)})
#endif
#define EACH_8(l) JOIN_4(EACH_4(l), EACH_4(l + 4))
#define EACH_16(l) JOIN_8(EACH_8(l), EACH_8(l + 8))
#if SIMD_BYTES / REAL_BYTES == 2
#define SIMD_EACH EACH_2(0)
#elif SIMD_BYTES / REAL_BYTES == 4
#define SIMD_EACH EACH_4(0)
#elif SIMD_BYTES / REAL_BYTES == 8
#define SIMD_EACH EACH_8(0)
#else
#define SIMD_EACH EACH_16(0)
#endif
