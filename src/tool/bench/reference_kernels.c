/* The reference kernels of one instruction set; compiled once for each, with the flags of the library's kernels. */
#include "reference_kernel.h"

#if defined(WISP_ISA_avx512)
#define SIMD_BYTES 64
#elif defined(WISP_ISA_avx2)
#define SIMD_BYTES 32
#else
#define SIMD_BYTES 16
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

/* (re, im) -> (im, re) in each pair of a register of n elements; with these signs it is multiplied by i. */
#define SWAP_2(v) __builtin_shufflevector(v, v, 1, 0)
#define SWAP_4(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#define SWAP_8(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
static const double signs[8] __attribute__((aligned(64))) = {-1, 1, -1, 1, -1, 1, -1, 1};

#define PARTS 1
#include "reference_widths.cpu.h"
#undef PARTS
#define PARTS 2
#include "reference_widths.cpu.h"

#define TABLE PASTE(reference_, WISP_ISA)
extern reference_table TABLE;
reference_table TABLE = {{step_d1, step_d2, step_d4, step_d8, step_d16, step_d32},
                         {step_z1, step_z2, step_z4, step_z8, step_z16, step_z32}};
