/* All kernels of one matrix and block type for one instruction set. Included by spmmv_XX.c, which sets TABLE,
   REAL_BYTES (of a block element's parts), MAT_BYTES (of a matrix value's), MAT_COMPLEX and PARTS. */
#include "../kernels.h"
#include "../../kernel/simd.cpu.h"
#include "../../kernel/spmmv_rows.cpu.h"

/* Bytes ahead that are prefetched in the matrix, where it is most of the traffic; entries ahead whose columns are
   looked at there, for what they will gather. */
enum { STREAM_AHEAD = 4096, GATHER_AHEAD = 256 };

#include "widths.h" /* written by CMake: the kernels of each width, and their list */
#include "../../kernel/spmmv_any.cpu.h"
#if PARTS == 1
#include "../../kernel/spmv_chunk.cpu.h"
#define CHUNKED(w) (w == 1 ? chunked : NULL)
#else
#define CHUNKED(w) NULL
#endif

#if defined(SIMD_TAKE) && MAT_BYTES == REAL_BYTES && MAT_COMPLEX == PARTS - 1
#include "../../kernel/spmv_bundle.cpu.h"
#define BUNDLED(w) (w == 1 ? bundled : NULL)
#else
#define BUNDLED(w) NULL
#endif

#define KERNELS(w) {w, {none_w##w, kpm_w##w, all_w##w}, CHUNKED(w), BUNDLED(w)},
#define TABLE_NAME(isa) PASTE(PASTE(wisp__spmmv_, PASTE(TABLE, _)), isa)
extern const wisp__spmmv_entry TABLE_NAME(WISP_ISA)[];
const wisp__spmmv_entry TABLE_NAME(WISP_ISA)[] = {
    WIDTH_LIST(KERNELS){0, {any_width, any_width, any_width}, NULL, NULL}};
