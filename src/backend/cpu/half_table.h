/* The kernels for half of a Hermitian matrix, of one matrix type and precision of blocks for one instruction set.
   A file that CMake writes (kernels.cmake) sets TABLE, REAL_BYTES, MAT_BYTES and MAT_COMPLEX, and includes this. Any
   width is made of these, widest first. */
#include "kernels.h"
#include "../../kernel/simd.cpu.h"
#include "../../kernel/simd_x86.cpu.h"

#define WIDTH 1
#include "../../kernel/spmmv_half.cpu.h"
#define WIDTH 2
#include "../../kernel/spmmv_half.cpu.h"
#define WIDTH 4
#include "../../kernel/spmmv_half.cpu.h"
#define WIDTH 8
#include "../../kernel/spmmv_half.cpu.h"
#ifndef WISP_ISA_generic
#define WIDTH 16
#include "../../kernel/spmmv_half.cpu.h"
#define WIDER KERNELS(16),
#else
#define WIDER
#endif

#define KERNELS(w)                              \
    {                                           \
        w, half_multiply_w##w, half_finish_w##w \
    }
#define TABLE_NAME(isa) PASTE(PASTE(wisp__half_, PASTE(TABLE, _)), isa)
extern const wisp__half_entry TABLE_NAME(WISP_ISA)[];
const wisp__half_entry TABLE_NAME(WISP_ISA)[] = {WIDER KERNELS(8), KERNELS(4), KERNELS(2), KERNELS(1)};
