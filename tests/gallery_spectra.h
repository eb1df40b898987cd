/* Spectra of dense matrices by LAPACK, for the gallery's tests. */
#ifndef GALLERY_SPECTRA_H
#define GALLERY_SPECTRA_H
#include "gallery_dense.h"
#include "ref_levels.h"

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Ascending eigenvalues; frees the matrix. */
static inline double *spectrum_of(dense m)
{
    double *w = eigenvalues((ref_mat){m.n, m.n, m.a});
    free(m.a);
    return w;
}
static inline void assert_spectrum(void *ctx, const char *spec, double *expected, int count, double tolerance)
{
    dense h = expand(ctx, spec);
    assert_int_equal(h.n, count);
    double *w = spectrum_of(h);
    qsort(expected, (size_t)count, sizeof *expected, ascending);
    for (int i = 0; i < count; i++) {
        if (!(fabs(w[i] - expected[i]) <= tolerance)) {
            fail_msg("%s: eigenvalue %d is %.15g, expected %.15g", spec, i, w[i], expected[i]);
        }
    }
    free(w);
}
#endif
