#define REAL_BYTES 4
#include "../../kernel/simd.cpu.h"
#define GRAM PASTE(wisp__gram_s_, WISP_ISA)
#define UPDATE PASTE(wisp__update_s_, WISP_ISA)
#include "../../kernel/tsm.cpu.h"
