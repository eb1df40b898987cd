/* S^-1/2, for products with C and for those of the pencil. */
#ifndef WISP_OVERLAP_INTERNAL_H
#define WISP_OVERLAP_INTERNAL_H
#include "solver.h"

struct wisp_overlap {
    wisp_ctx *ctx;
    const wisp_mat *S;
    wisp_overlap_opts o;
    wisp_bounds bounds;
    wisp__series series;
    wisp__chebyshev_sum sum; /* its v and w are kept for further blocks of their kind */
    int exponent;            /* series: S^-1/2 times 2^-exponent, which is 0 but where that is far from 1 */
    wisp_blk *between;       /* of a product with C */
    double *norm;            /* [2][width] */
    wisp_scalar *factor;     /* [width] */
    int *by;                 /* [width] powers of 2 that were taken out of columns */
    int64_t beyond;          /* products that met eigenvalues of S beyond the bounds */
    double largest;          /* entry of S, where nothing else is known of it yet */
    double condition;        /* likewise, by factors of S; 0: not known */
};

/* Bounds and polynomial, if they were not made yet: before the others. */
wisp_status wisp__overlap_ready(wisp_overlap *v);

/* v and w, and `between` where it is of use, become like this block. */
wisp_status wisp__overlap_blocks(wisp_overlap *v, const wisp_blk *like, bool between);
/* y = S^-1/2 v 2^-exponent; v is lost. */
wisp_status wisp__overlap_root(wisp_overlap *v, wisp_blk *y);
#endif
