#define REAL_BYTES 8
#include "../../kernel/simd.cpu.h"
#define AXPBY PASTE(wisp__axpby_d_, WISP_ISA)
#define DOT PASTE(wisp__dot_d_, WISP_ISA)
#define SUM PASTE(wisp__sum_, WISP_ISA)
#define FOLD PASTE(wisp__fold_, WISP_ISA)
#include "../../kernel/blas1.cpu.h"
