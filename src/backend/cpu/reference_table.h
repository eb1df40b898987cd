/* The reference kernels of one type. A file that CMake writes (kernels.cmake) sets TABLE, REAL_BYTES and
   PARTS, and includes this. */
#include "kernels.h"
#include "../../kernel/simd.cpu.h"

#define WIDTH 1
#include "../../kernel/reference.cpu.h"
#define WIDTH 2
#include "../../kernel/reference.cpu.h"
#define WIDTH 4
#include "../../kernel/reference.cpu.h"
#define WIDTH 8
#include "../../kernel/reference.cpu.h"
#define WIDTH 16
#include "../../kernel/reference.cpu.h"
#define WIDTH 32
#include "../../kernel/reference.cpu.h"

#define TABLE_NAME(isa) PASTE(PASTE(wisp__reference_, PASTE(TABLE, _)), isa)
extern const wisp__reference_fn TABLE_NAME(WISP_ISA)[];
const wisp__reference_fn TABLE_NAME(WISP_ISA)[] = {step_w1, step_w2, step_w4, step_w8, step_w16, step_w32};
