/* Operations on registers that take the processor's own intrinsics; included behind simd.cpu.h. (A file apart: their
   header takes longer to compile than most files of kernels that do without them.) */
#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

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

#ifdef SIMD_TAKE
/* The parts of four bytes of a register that from[] names (by number, with the sign bit), zero where it names none. */
#if SIMD_BYTES == 64
INLINE simd_vec simd_take(simd_vec v, const int32_t *from)
{
    const __m512i f = _mm512_loadu_si512(from);
    return (simd_vec)_mm512_maskz_permutexvar_ps(_mm512_movepi32_mask(f), f, (__m512)v);
}
#else
INLINE simd_vec simd_take(simd_vec v, const int32_t *from)
{
    const __m256i f = _mm256_loadu_si256((const __m256i_u *)from);
    const __m256 taken = _mm256_permutevar8x32_ps((__m256)v, f);
    return (simd_vec)_mm256_and_ps(taken, (__m256)_mm256_srai_epi32(f, 31));
}
#endif
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
