/* Kernels that know no matrix, of one precision for one instruction set: a file that CMake writes (kernels.cmake) sets
   TABLE, REAL_BYTES and TEMPLATE, and includes this. */
#include "kernels.h"
#include "../../kernel/simd.cpu.h"

#define OF_ALL(name) PASTE(wisp__##name##_, WISP_ISA)
#define OUT_(name, table) PASTE(PASTE(wisp__##name##_, PASTE(table, _)), WISP_ISA)
#define OUT(name) OUT_(name, TABLE)
#include TEMPLATE
