/* Spectra of dense matrices by LAPACK, for the gallery's tests. */
#ifndef GALLERY_SPECTRA_H
#define GALLERY_SPECTRA_H
#include "gallery_dense.h"
#define lapack_complex_double double complex
#define lapack_complex_float float complex
#include <lapacke.h>
#include "ref.h"

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Ascending eigenvalues; frees the matrix. A complex one H is written as the real [Re H, -Im H; Im H, Re H], which has
   each eigenvalue twice: the complex solvers crash in OpenBLAS 0.3.21 (its issue 3740). */
static inline double *eigenvalues(dense m)
{
    int twice = 1;
    for (size_t i = 0; i < (size_t)m.n * (size_t)m.n; i++) {
        if (cimag(m.a[i]) != 0) twice = 2;
    }
    int n = m.n, size = twice * n;
    double *a = ref_lapack((size_t)size * (size_t)size, size), *w = ref_lapack((size_t)size, size);
    for (int i = 0; i < size; i++) {
        for (int j = 0; j < size; j++) {
            cplx v = *at(m, i % n, j % n);
            a[(size_t)i * (size_t)size + (size_t)j] = i / n == j / n ? creal(v) : i < n ? -cimag(v) : cimag(v);
        }
    }
    /* Exactly symmetric, so its order in memory does not matter. */
    assert_int_equal(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'U', size, a, size, w), 0);
    for (int i = 0; i < n; i++) w[i] = w[twice * i];
    free(a);
    free(m.a);
    return w;
}
static inline void assert_spectrum(void *ctx, const char *spec, double *expected, int count, double tolerance)
{
    dense h = expand(ctx, spec);
    assert_int_equal(h.n, count);
    double *w = eigenvalues(h);
    qsort(expected, (size_t)count, sizeof *expected, ascending);
    for (int i = 0; i < count; i++) {
        if (!(fabs(w[i] - expected[i]) <= tolerance)) {
            fail_msg("%s: eigenvalue %d is %.15g, expected %.15g", spec, i, w[i], expected[i]);
        }
    }
    free(w);
}
#endif
