/* One-sided Jacobi: the columns of a small matrix become orthogonal by rotations of pairs of them (Hestenes 1958, J.
   SIAM 6, 51). Small columns keep their digits, which a Gram matrix would lose. */
#ifndef WISP_JACOBI_H
#define WISP_JACOBI_H
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

/* One sweep over all pairs of columns of a[rows][n], row-major; those of b[more][n] are changed as a's are (NULL: there
   is none). A dot of two columns of up to `least` times their lengths is none. false: nothing was left to do. */
bool wisp__jacobi_sweep(double complex *a, int64_t rows, double complex *b, int64_t more, int n, double least);
#endif
