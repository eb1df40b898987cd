/* Factors of A - shift I, or of A - shift S, by MUMPS (Amestoy, Duff, L'Excellent, Koster 2001, SIAM J. Matrix Anal.
   Appl. 23, 15), of stored matrices on one rank. Its library is opened when it is first asked for. */
#ifndef WISP_FACTOR_H
#define WISP_FACTOR_H
#include "eigen.h"

typedef struct wisp__factor wisp__factor;

/* Reads k->A, or the A and S of a pencil (NULL: it is none), orders the rows, and tells what the factors will take;
   nothing is factored. *f is to be freed, also after a failure. WISP_ERR_UNSUPPORTED: there is no such library, several
   ranks, or an operator. */
wisp_status wisp__factor_open(wisp__factor **f, const wisp__eig *k, const wisp__pencil *pencil);
void wisp__factor_free(wisp__factor *f);
/* Most bytes of the factors, and flops to make them, as MUMPS expects; flops of a solution with one vector. */
int64_t wisp__factor_bytes(const wisp__factor *f);
double wisp__factor_flops(const wisp__factor *f);
double wisp__factor_solve_flops(const wisp__factor *f);
/* Factors. *below: eigenvalues of a Hermitian A below the shift, else -1. *singular: a pivot is 0, and there are no
   factors. */
wisp_status wisp__factor_make(wisp__factor *f, double shift, int64_t *below, bool *singular);
/* x[columns][rows] becomes (A - shift I)^-1 x, of a pencil (2^-exponent (A - shift S))^-1 x; complex numbers as pairs.
 */
wisp_status wisp__factor_solve(wisp__factor *f, double *x, int columns);
#endif
