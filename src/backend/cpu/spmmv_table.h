/* All kernels of one matrix and block type for one instruction set. Included by spmmv_XX.c, which sets TABLE,
   REAL_BYTES, MAT_COMPLEX and PARTS. WIDTH is listed once per specialised width: the list of instances. */
#include "../backend.h"
#include "../../kernel/simd.cpu.h"

#include "../../kernel/spmmv_rows.cpu.h"

/* Rows ahead whose gathered block rows are prefetched; bytes ahead in the matrix, where it is most of the traffic. */
enum { PREFETCH_ROWS = 4, STREAM_AHEAD = 4096 };

#define WIDTH 1
#include "../../kernel/spmmv.cpu.h"
#define WIDTH 2
#include "../../kernel/spmmv.cpu.h"
#define WIDTH 4
#include "../../kernel/spmmv.cpu.h"
#define WIDTH 8
#include "../../kernel/spmmv.cpu.h"
#define WIDTH 16
#include "../../kernel/spmmv.cpu.h"
#if SIMD_BYTES == 64
#define WIDTH 32
#include "../../kernel/spmmv.cpu.h"
#endif
#include "../../kernel/spmmv_any.cpu.h"
#if PARTS == 1
#include "../../kernel/spmv_chunk.cpu.h"
#define CHUNKED chunked
#else
#define CHUNKED NULL
#endif

#define KERNELS(w)                               \
    {                                            \
        w, {none_w##w, kpm_w##w, all_w##w}, NULL \
    }
#define TABLE_NAME(isa) PASTE(PASTE(wisp__spmmv_, PASTE(TABLE, _)), isa)
extern const wisp__spmmv_entry TABLE_NAME(WISP_ISA)[];
const wisp__spmmv_entry TABLE_NAME(WISP_ISA)[] = {
    {1, {none_w1, kpm_w1, all_w1}, CHUNKED},
    KERNELS(2),
    KERNELS(4),
    KERNELS(8),
    KERNELS(16),
#if SIMD_BYTES == 64
    KERNELS(32), /* 16 accumulators for complex double: what 32 registers hold */
#endif
    {0, {any_width, any_width, any_width}, NULL},
};
