#define REAL_BYTES 4
#include "../../kernel/simd.cpu.h"
#define AXPBY PASTE(wisp__axpby_s_, WISP_ISA)
#define DOT PASTE(wisp__dot_s_, WISP_ISA)
#include "../../kernel/blas1.cpu.h"
