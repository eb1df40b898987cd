/* The parameters and the type of the reference kernels. */
#ifndef WISP_TOOL_REFERENCE_KERNEL_H
#define WISP_TOOL_REFERENCE_KERNEL_H
#include <stdint.h>

/* y = alpha (A - center) x + beta y for rows [begin, end); the real parts of <x,x> and <y,x> are added to
   dot[2][width]. */
typedef struct {
    const int64_t *rowptr;
    const int32_t *col;
    const double *val, *x;
    double *y;
    double alpha, center, beta;
} reference_params;
typedef void (*reference_fn)(const reference_params *p, int64_t begin, int64_t end, double *dot);

/* The kernels of an instruction set, by WISP_ISA: reference_avx2, say. [real, complex][width 1, 2, 4, .. 32] */
enum { REFERENCE_WIDTHS = 6 };
typedef const reference_fn reference_table[2][REFERENCE_WIDTHS];
#endif
