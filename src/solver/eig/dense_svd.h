/* Singular values of small dense matrices. */
#ifndef WISP_DENSE_SVD_H
#define WISP_DENSE_SVD_H
#include "../solver.h"

/* S[rows * cols], row-major, rows >= cols, becomes U, with S = U diag(value) V^H: U and V[cols * cols] have orthonormal
   columns, value[cols] descends. One-sided Jacobi rotations (Hestenes 1958; Demmel and Veselic 1992, SIAM J. Matrix
   Anal. Appl. 13, 1204): small values are as right as large ones. With several ranks all of them call together, with
   the same numbers, and get the bits of rank 0. WISP_ERR_NUMERIC: S is not finite. */
wisp_status wisp__dense_svd(wisp_ctx *ctx, int rows, int cols, wisp_scalar *S, double *value, wisp_scalar *V);
#endif
