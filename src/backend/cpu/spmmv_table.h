/* All kernels of one matrix type and precision of blocks for one instruction set. A file that CMake writes
   (kernels.cmake) sets TABLE, REAL_BYTES (of a block element's parts), MAT_BYTES (of a matrix value's) and MAT_COMPLEX,
   and includes this. */
#include "kernels.h"
#include "../../kernel/simd.cpu.h"
#include "../../kernel/simd_x86.cpu.h"
#include "../../kernel/spmmv_rows.cpu.h"

/* Bytes ahead that are prefetched in the matrix, where it is most of the traffic. */
enum { STREAM_AHEAD = 4096 };

static void any_width(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot);
#if defined(WISP_ISA_generic) || MAT_BYTES != REAL_BYTES
#define WIDTH_LIST(X) X(8) X(4) X(2) X(1)
#ifndef WISP_ISA_generic
#if !MAT_COMPLEX /* narrow kernels have constants, wider ones have not */
#define WIDTH 32
#include "../../kernel/spmmv.cpu.h"
#define ANY_WIDE {32, any_w32}, {16, any_w16},
#else
#define ANY_WIDE {16, any_w16},
#endif
#define WIDTH 16
#include "../../kernel/spmmv.cpu.h"
#define COMPACT
#endif
#define WIDTH 8
#include "../../kernel/spmmv.cpu.h"
#define WIDTH 4
#include "../../kernel/spmmv.cpu.h"
#define WIDTH 2
#include "../../kernel/spmmv.cpu.h"
#define WIDTH 1
#include "../../kernel/spmmv.cpu.h"
#else
#define COMPACT
#include "widths.h" /* written by CMake: the kernels of each width, and their list */
#endif
#ifdef COMPACT
#define KERNEL(w) kernel_w##w
#else /* nothing is compiled in */
#define KERNEL(w) any_width
#endif
#ifndef ANY_WIDE
#define ANY_WIDE
#endif
#include "../../kernel/spmmv_any.cpu.h"

#if !MAT_COMPLEX || (defined(SIMD_TAKE) && defined(COMPACT))
#include "../../kernel/wide.cpu.h"
#endif
#if !MAT_COMPLEX
#include "../../kernel/spmv_chunk.cpu.h"
#define CHUNKED(w) (w == 1 ? chunked : NULL)
#else
#define CHUNKED(w) NULL
#endif

#if defined(SIMD_TAKE) && defined(COMPACT) && MAT_BYTES == REAL_BYTES
#include "../../kernel/spmv_bundle.cpu.h"
#define BUNDLED(w) (w == 1 ? bundled : NULL)
#else
#define BUNDLED(w) NULL
#endif

#define ENTRY(w) {w, KERNEL(w), CHUNKED(w), BUNDLED(w)},
#define TABLE_NAME(isa) PASTE(PASTE(wisp__spmmv_, PASTE(TABLE, _)), isa)
extern const wisp__spmmv_entry TABLE_NAME(WISP_ISA)[];
const wisp__spmmv_entry TABLE_NAME(WISP_ISA)[] = {WIDTH_LIST(ENTRY){0, any_width, NULL, NULL}};
