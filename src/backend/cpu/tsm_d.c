#define REAL_BYTES 8
#include "../../kernel/simd.cpu.h"
#define GRAM PASTE(wisp__gram_d_, WISP_ISA)
#define UPDATE PASTE(wisp__update_d_, WISP_ISA)
#include "../../kernel/tsm.cpu.h"
