/* Complex routines of LAPACK for tests, with work arrays that have room behind them: those that LAPACKE takes by itself
   have none, and OpenBLAS 0.3.21 reads past them (ref_lapack). Matrices go column by column, and are overwritten. */
#ifndef REF_LAPACK_H
#define REF_LAPACK_H
#include "ref.h"
#include <lapacke.h>
#include <stdlib.h>

enum { REF_LAPACK_BLOCK = 66 }; /* columns that a routine works on at once, and two more */

/* n values w, ascending, and with job 'V' vectors, of the triangle uplo of a Hermitian matrix. */
static inline void ref_zheev(char job, char uplo, int n, lapack_complex_double *a, double *w)
{
    const int works = REF_LAPACK_BLOCK * n;
    lapack_complex_double *work = (lapack_complex_double *)ref_lapack(2 * (size_t)works, n);
    double *real = ref_lapack(3 * (size_t)n, n);
    assert_int_equal(LAPACKE_zheev_work(LAPACK_COL_MAJOR, job, uplo, n, a, n, w, work, works, real), 0);
    free(work), free(real);
}

/* n values w, ascending, of the lower triangles of A x = w S x. */
static inline void ref_zhegv(int n, lapack_complex_double *a, lapack_complex_double *s, double *w)
{
    const int works = REF_LAPACK_BLOCK * n;
    lapack_complex_double *work = (lapack_complex_double *)ref_lapack(2 * (size_t)works, n);
    double *real = ref_lapack(3 * (size_t)n, n);
    assert_int_equal(LAPACKE_zhegv_work(LAPACK_COL_MAJOR, 1, 'N', 'L', n, a, n, s, n, w, work, works, real), 0);
    free(work), free(real);
}

/* All singular values, descending, of m x n. */
static inline void ref_zgesvd(int m, int n, lapack_complex_double *a, double *value)
{
    const int works = REF_LAPACK_BLOCK * (m + n);
    lapack_complex_double *work = (lapack_complex_double *)ref_lapack(2 * (size_t)works, m + n), none[1];
    double *real = ref_lapack(5 * (size_t)(m + n), m + n);
    assert_int_equal(
        LAPACKE_zgesvd_work(LAPACK_COL_MAJOR, 'N', 'N', m, n, a, m, value, none, 1, none, 1, work, works, real), 0);
    free(work), free(real);
}

/* The shortest least-squares solutions of m x n, over b[ld x columns]; singular values s, of which those below `small`
   of the largest are 0. */
static inline void ref_zgelsd(int m, int n, int columns, lapack_complex_double *a, lapack_complex_double *b, int ld,
                              double *s, double small)
{
    lapack_complex_double ask;
    double ask_real;
    lapack_int ask_int, rank;
    assert_int_equal(LAPACKE_zgelsd_work(LAPACK_COL_MAJOR, m, n, columns, a, m, b, ld, s, small, &rank, &ask, -1,
                                         &ask_real, &ask_int),
                     0);
    const int works = (int)creal(ask);
    lapack_complex_double *work = (lapack_complex_double *)ref_lapack(2 * (size_t)works, m + n);
    double *real = ref_lapack((size_t)ask_real, m + n);
    lapack_int *whole = calloc((size_t)ask_int + 1, sizeof *whole);
    assert_non_null(whole);
    assert_int_equal(
        LAPACKE_zgelsd_work(LAPACK_COL_MAJOR, m, n, columns, a, m, b, ld, s, small, &rank, work, works, real, whole),
        0);
    free(work), free(real), free(whole);
}
#endif
