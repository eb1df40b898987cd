/* What the tests of the kernel polynomial method compare with: eigenvalues by LAPACK, moments as sums over them. */
#ifndef KPM_DENSE_H
#define KPM_DENSE_H
#include "ref_levels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* T_n((E - c)/h) summed over all eigenvalues. */
static inline double true_moment(const double *eigenvalue, int64_t rows, const wisp_bounds *b, int64_t n)
{
    long double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += cosl((long double)n * acosl(((long double)eigenvalue[i] - b->center) / b->halfwidth));
    return (double)sum;
}

static inline double worst_difference(const double *a, const double *b, int64_t count)
{
    double worst = 0;
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= worst)) worst = fabs(a[i] - b[i]);
    return worst;
}

static inline void assert_inside(const char *what, const wisp_bounds *b, double lowest, double highest)
{
    if (!(b->halfwidth > 0) || !isfinite(b->center) || !isfinite(b->halfwidth) ||
        !(lowest > b->center - b->halfwidth) || !(highest < b->center + b->halfwidth))
        fail_msg("%s: eigenvalues %.17g to %.17g, bounds %.17g -+ %.17g", what, lowest, highest, b->center,
                 b->halfwidth);
}

/* A random Hermitian matrix of n rows: real, or with complex entries; each off-diagonal one is there with the given
   chance. */
static inline ref_mat random_hermitian(ref_rng *r, wisp_type type, int64_t n, double chance)
{
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) {
        REF_AT(m, i, i) = creal(ref_value(r, type));
        for (int64_t j = 0; j < i; j++)
            if (ref_uniform(r) < 2 * chance - 1) {
                REF_AT(m, i, j) = ref_value(r, type);
                REF_AT(m, j, i) = conj(REF_AT(m, i, j));
            }
    }
    return m;
}

static inline wisp_mat *mat_of_spec_as(wisp_ctx *ctx, const char *spec, wisp_type type, ref_mat *dense)
{
    wisp_src src;
    wisp_mat *A;
    REF_OK(ctx, wisp_src_open_gallery(&src, ctx, spec));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = type}));
    if (dense) *dense = ref_dense(&src);
    wisp_src_close(&src);
    return A;
}
static inline wisp_mat *mat_of_spec(wisp_ctx *ctx, const char *spec, ref_mat *dense)
{
    return mat_of_spec_as(ctx, spec, WISP_DEFAULT, dense);
}
#endif
