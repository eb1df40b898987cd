/* Random pencils A x = lambda S x, their values by LAPACK, and S^-1/2 A S^-1/2 of the library. */
#ifndef PENCIL_CASES_H
#define PENCIL_CASES_H
#include "ref.h"
#include "ref_lapack.h"
#include <math.h>
#include <stdlib.h>

static inline ref_mat random_hermitian(ref_rng *r, wisp_type type, int64_t n, double size)
{
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const int far = i - j > 3 && ref_uniform(r) < 0.8;
            const cplx v = far ? 0 : size * ref_value(r, type);
            REF_AT(m, i, j) = i == j ? creal(v) : v;
            REF_AT(m, j, i) = conj(REF_AT(m, i, j));
        }
    ref_round(m, type);
    return m;
}

/* 1 and random numbers beside the diagonal, each row of them less than 1 together, so that it is positive definite. */
static inline ref_mat random_overlap(ref_rng *r, wisp_type type, int64_t n)
{
    ref_mat m = random_hermitian(r, type, n, 1);
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += cabs(REF_AT(m, i, j));
        most = fmax(most, sum);
    }
    for (int64_t i = 0; i < n * n; i++) m.a[i] *= 0.9 / most;
    for (int64_t i = 0; i < n; i++) REF_AT(m, i, i) += 1;
    ref_round(m, type);
    return m;
}

static inline cplx *by_columns(ref_mat m)
{
    const int n = (int)m.rows;
    cplx *a = (cplx *)ref_lapack(2 * (size_t)n * (size_t)n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[i + j * n] = REF_AT(m, i, j);
    return a;
}

/* The values of the pencil, ascending. */
static inline double *values_of(ref_mat A, ref_mat S)
{
    const int n = (int)A.rows;
    cplx *a = by_columns(A), *s = by_columns(S);
    double *w = ref_lapack((size_t)n, n);
    ref_zhegv(n, a, s, w);
    free(a), free(s);
    return w;
}

/* S^power. */
static inline ref_mat power_of(ref_mat S, double power)
{
    const int n = (int)S.rows;
    cplx *v = by_columns(S);
    double *w = ref_lapack((size_t)n, n);
    ref_mat root = ref_new(n, n);
    ref_zheev('V', 'L', n, v, w);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) REF_AT(root, i, j) += pow(w[k], power) * v[i + k * n] * conj(v[j + k * n]);
    free(v), free(w);
    return root;
}

/* m becomes 2^exponent m. */
static inline void times(ref_mat m, int exponent, wisp_type type)
{
    for (int64_t i = 0; i < m.rows * m.cols; i++)
        m.a[i] = ldexp(creal(m.a[i]), exponent) + I * ldexp(cimag(m.a[i]), exponent);
    ref_round(m, type);
}

typedef struct {
    ref_mat dense_A, dense_S;
    wisp_mat *A, *S, *C;
    wisp_overlap *overlap;
} pencil;

static inline wisp_mat *on_map(wisp_ctx *ctx, ref_mat m, wisp_type type, wisp_map *map)
{
    wisp_src src = ref_dense_src(m, type);
    wisp_mat *made;
    REF_OK(ctx, wisp_mat_create(&made, ctx, &src, &(wisp_mat_opts){.type = type, .map = map}));
    wisp_src_close(&src);
    return made;
}

static inline pencil make(wisp_ctx *ctx, ref_mat A, wisp_type type_A, ref_mat S, wisp_type type_S,
                          const wisp_overlap_opts *o)
{
    pencil p = {.dense_A = A, .dense_S = S, .A = ref_mat_of(ctx, A, type_A)};
    p.S = on_map(ctx, S, type_S, wisp_mat_map(p.A));
    REF_OK(ctx, wisp_overlap_create(&p.overlap, p.S, o));
    REF_OK(ctx, wisp_overlap_matrix(&p.C, p.overlap, p.A));
    return p;
}

static inline void drop(pencil *p)
{
    wisp_mat_free(p->C);
    wisp_overlap_free(p->overlap);
    wisp_mat_free(p->S);
    wisp_mat_free(p->A);
    ref_free(p->dense_A), ref_free(p->dense_S);
}
#endif
