/* Small dense matrices, by LAPACK. Matrices are row-major, as wisp_tsm_gram writes them. With several ranks all of them
   call together; rank 0 computes, and all get its bits. */
#ifndef WISP_DENSE_H
#define WISP_DENSE_H
#include "../solver.h"

/* H[n * n], Hermitian, becomes its eigenvectors: column j is that of value[j], ascending. is_complex: else H is real.
   WISP_ERR_NUMERIC: H is not finite. WISP_ERR_UNSUPPORTED: there is no LAPACK. */
wisp_status wisp__dense_eigh(wisp_ctx *ctx, bool is_complex, int n, wisp_scalar *H, double *value);
/* G[n * n], Hermitian, becomes R^-1, upper triangular with zeros below, where G = R^H R. *good is n; or the number of
   leading columns for which G is positive definite, if that is less: then G holds anything. */
wisp_status wisp__dense_cholesky(wisp_ctx *ctx, bool is_complex, int n, wisp_scalar *G, int *good);

/* ---- dense_schur.c: matrices that are not Hermitian. WISP_ERR_NUMERIC and WISP_ERR_UNSUPPORTED as above ---- */

/* H[n * n] becomes S and U, H = U S U^H; S is upper triangular with the eigenvalues value[n], or, for real matrices,
   has a block of two rows for each conjugate pair. */
wisp_status wisp__dense_schur(wisp_ctx *ctx, bool is_complex, int n, wisp_scalar *S, wisp_scalar *U,
                              wisp_scalar *value);
/* Brings the chosen values to the front, in their order (of a conjugate pair both are chosen); S, U and value follow.
   *sine: 1 over the norm of the projector on their vectors along the others'. A small error of H moves their mean by up
   to its norm over this. */
wisp_status wisp__dense_schur_order(wisp_ctx *ctx, bool is_complex, int n, wisp_scalar *S, wisp_scalar *U,
                                    wisp_scalar *value, const int *chosen, double *sine);
/* Column j of X[n * n], of length 1, becomes S's eigenvector to value[j]. */
wisp_status wisp__dense_schur_vectors(wisp_ctx *ctx, bool is_complex, int n, const wisp_scalar *S,
                                      const wisp_scalar *value, wisp_scalar *X);

/* ---- lapack.c: for further functions of this kind ---- */

/* A function of LAPACK by its name, such as "zheevd", for calls between a begin and an end of wisp__lapack_alone; NULL:
   there is none, or no LAPACK, and ctx has a message. The first call loads the library, where the program gave none. */
typedef void (*wisp__lapack_fn)(void);
wisp__lapack_fn wisp__lapack(wisp_ctx *ctx, const char *name);
/* Zeroed memory for LAPACK, with room for a column of `rows` complex numbers behind it: OpenBLAS 0.3.21's zgemv reads
   up to so much beyond a matrix. All that LAPACK gets comes from here. */
wisp_status wisp__lapack_alloc(wisp_ctx *ctx, double **array, size_t count, int rows);
/* Between begin and its end the LAPACK stays the same one (wisp_set_lapack waits), and OpenBLAS computes with one
   thread, so that the bits do not depend on their number. */
void wisp__lapack_alone(bool begin);
/* data[n] and *info of rank 0 go to all ranks. */
wisp_status wisp__dense_share(wisp_ctx *ctx, double *data, size_t n, int *info);
/* LAPACK may loop for ever on numbers that are not. */
bool wisp__dense_finite(const double *a, size_t n);
/* LAPACK has its matrices by columns, and real ones of doubles: from row-major and back. */
void wisp__dense_pack(bool is_complex, int rows, int cols, const wisp_scalar *from, double *to);
void wisp__dense_unpack(bool is_complex, int rows, int cols, const double *from, wisp_scalar *to);
#endif
