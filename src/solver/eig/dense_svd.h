/* Singular values of small dense matrices. */
#ifndef WISP_DENSE_SVD_H
#define WISP_DENSE_SVD_H
#include "../solver.h"

/* S[rows * cols], row-major, rows >= cols, becomes U, with S = U diag(value) V^H: U and V[cols * cols] have orthonormal
   columns, those of values 0, too; value[cols] descends. is_complex: else S is real. By LAPACK's divide and conquer,
   whose values are right to some rounding units of the largest; where LAPACK has none, or it does not end, by one-sided
   Jacobi rotations (Demmel and Veselic 1992, SIAM J. Matrix Anal. Appl. 13, 1204). Between two sweeps of these a call
   may be cancelled (WISP_ERR_CANCELLED), unless it was so before. With several ranks all of them call together, with
   the same numbers, and get the bits of rank 0. WISP_ERR_NUMERIC: S is not finite. */
wisp_status wisp__dense_svd(wisp_ctx *ctx, bool is_complex, int rows, int cols, wisp_scalar *S, double *value,
                            wisp_scalar *V);
#endif
