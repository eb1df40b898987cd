/* CPUs whose rates are known without measuring. */
#ifndef WISP_KNOWN_H
#define WISP_KNOWN_H
#include "../../base/base.h"

/* Of each kind of rows, type and width: of an entry, of a row beside its entries. */
typedef unsigned short wisp__kernel_ps[WISP_ROW_KINDS][WISP_KERNEL_TYPES][WISP_KERNEL_WIDTHS][2];

typedef struct wisp__known {
    const char *name;      /* in words */
    double loads;          /* registers a second of one thread from the first-level cache */
    double l2, l3, memory; /* bytes a second that one thread loads */
    double group;          /* bytes a second that the threads of one last cache load from memory at most; INFINITY:
                              no fewer than those of the package */
    const wisp__kernel_ps *kernels; /* NULL: not measured yet */
} wisp__known;

/* Lets the context assume them, unless its machine is simulated: then those of a common core. */
void wisp__known_assume(wisp_ctx *ctx);
#endif
