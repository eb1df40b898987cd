/* One interface for one process (serial.c) and for many (mpi.c, to come). */
#ifndef WISP_COMM_H
#define WISP_COMM_H
#include "../base/base.h"

struct wisp_halo; /* what to send and to receive: made with the map */

typedef struct wisp__comm {
    const char *name;
    int (*rank)(const wisp_ctx *ctx);
    int (*size)(const wisp_ctx *ctx);
    /* x[n] becomes its sum over the processes. */
    wisp_status (*sum)(wisp_ctx *ctx, double *x, size_t n);
    /* The halo rows of a block: start sends ours and asks for theirs, wait has them in place. */
    wisp_status (*halo_start)(wisp_ctx *ctx, const struct wisp_halo *halo, const void *x, void **ticket);
    wisp_status (*halo_wait)(wisp_ctx *ctx, void *ticket);
} wisp__comm;

extern const wisp__comm wisp__comm_serial;
#endif
