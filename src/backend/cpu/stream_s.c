#define REAL_BYTES 4
#include "../../kernel/simd.cpu.h"
#define STREAM_TABLE PASTE(wisp__stream_s_, WISP_ISA)
#include "../../kernel/stream.cpu.h"
