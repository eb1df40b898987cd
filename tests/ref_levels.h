/* Eigenvalues and eigenvectors of Hermitian matrices by LAPACK. A complex one, H, is solved as the real [Re H, -Im H;
   Im H, Re H], which has each eigenvalue twice: the complex solvers crash in OpenBLAS 0.3.21 (its issue 3740). */
#ifndef REF_LEVELS_H
#define REF_LEVELS_H
#include "ref.h"
#include <lapacke.h>

/* Re m, column by column; `twice` 2: [Re m, -Im m; Im m, Re m]. */
static inline double *real_form(ref_mat m, int64_t twice)
{
    const int64_t n = m.rows, size = twice * n;
    double *a = ref_lapack((size_t)(size * size), size);
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++) {
            const cplx v = REF_AT(m, i % n, j % n);
            a[j * size + i] = i / n == j / n ? creal(v) : i < n ? -cimag(v) : cimag(v);
        }
    return a;
}

/* 2 for a matrix with complex entries, else 1. */
static inline int64_t parts_of(ref_mat m)
{
    for (int64_t i = 0; i < m.rows * m.cols; i++)
        if (cimag(m.a[i]) != 0) return 2;
    return 1;
}

/* Ascending eigenvalues of a real symmetric matrix, which job 'V' overwrites with its eigenvectors. */
static inline double *solve_symmetric(char job, double *a, int64_t size)
{
    double *w = ref_lapack((size_t)size, size);
    assert_int_equal(LAPACKE_dsyevd(LAPACK_COL_MAJOR, job, 'U', (int)size, a, (int)size, w), 0);
    return w;
}

/* Eigenpairs of the real form of H's twofold size, whatever H is: each of H's is there twice, as v and i v. */
typedef struct {
    int64_t size;  /* 2 n */
    double *E, *q; /* [size] ascending; [size][size] vectors [Re v; Im v] */
} real_pairs;

static inline real_pairs pairs_of(ref_mat H)
{
    const int64_t size = 2 * H.rows;
    double *q = real_form(H, 2), *E = solve_symmetric('V', q, size);
    return (real_pairs){size, E, q};
}
static inline void pairs_free(real_pairs p) { free(p.E), free(p.q); }

/* Ascending eigenvalues of a Hermitian matrix. */
static inline double *eigenvalues(ref_mat m)
{
    const int64_t twice = parts_of(m);
    double *a = real_form(m, twice), *w = solve_symmetric('N', a, twice * m.rows);
    for (int64_t i = 0; i < m.rows; i++) w[i] = w[twice * i];
    free(a);
    return w;
}

/* The same, nearer than LAPACK's own rounding, which differs from machine to machine: the Rayleigh quotients of its
   eigenvectors, whose errors are squares of theirs. */
static inline long double *exact_eigenvalues(ref_mat m)
{
    const int64_t twice = parts_of(m), size = twice * m.rows;
    double *a = real_form(m, twice), *v = real_form(m, twice), *w = solve_symmetric('V', v, size);
    long double *exact = calloc((size_t)m.rows, sizeof *exact);
    assert_non_null(exact);
    for (int64_t k = 0; k < m.rows; k++) {
        const double *x = v + twice * k * size;
        long double energy = 0, norm = 0;
        for (int64_t j = 0; j < size; j++) {
            long double dot = 0;
            for (int64_t i = 0; i < size; i++) dot += (long double)a[j * size + i] * x[i];
            energy += x[j] * dot, norm += (long double)x[j] * x[j];
        }
        exact[k] = energy / norm;
    }
    free(a), free(v), free(w);
    return exact;
}
#endif
