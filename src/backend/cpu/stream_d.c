#define REAL_BYTES 8
#include "../../kernel/simd.cpu.h"
#define STREAM_TABLE PASTE(wisp__stream_d_, WISP_ISA)
#include "../../kernel/stream.cpu.h"
