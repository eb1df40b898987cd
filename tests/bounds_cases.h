/* Random Hermitian matrices of many kinds, whose extreme eigenvalues must lie inside the bounds found. */
#ifndef BOUNDS_CASES_H
#define BOUNDS_CASES_H
#include "kpm_dense.h"

enum { FULL, SPARSE, NEGATIVE, BLOCKS, HOLES, IDENTITY, CLUSTERS, WIDE, ARROW, OUTLIER, SHIFTED, CHAIN, KINDS };

/* Multiplies entry (i, j) by phases p_i conj(p_j): complex, with the same spectrum. */
static inline void add_phases(ref_rng *r, ref_mat m)
{
    if (m.rows < 1) return;
    cplx *p = calloc((size_t)m.rows, sizeof *p);
    for (int64_t i = 0; i < m.rows; i++) p[i] = cexp(I * 3.2 * ref_uniform(r));
    for (int64_t i = 0; i < m.rows; i++)
        for (int64_t j = 0; j < i; j++) {
            REF_AT(m, i, j) *= p[i] * conj(p[j]);
            REF_AT(m, j, i) = conj(REF_AT(m, i, j));
        }
    free(p);
}

static inline void set_diagonal(ref_rng *r, ref_mat m, int kind)
{
    int64_t n = m.rows;
    double level[3] = {ref_uniform(r), ref_uniform(r), ref_uniform(r)}, base = 1e3 * ref_uniform(r);
    for (int64_t i = 0; i < n; i++) {
        cplx *d = &REF_AT(m, i, i);
        switch (kind) {
        case NEGATIVE: *d = -10 + ref_uniform(r); break;
        case IDENTITY: *d = base; break;
        case CLUSTERS: *d = level[ref_below(r, 3)] + 1e-13 * ref_uniform(r); break;
        case WIDE: *d = ref_uniform(r) * pow(10, 8 * ref_uniform(r)); break;
        case OUTLIER: *d = i == n / 2 ? base : 1e-3 * ref_uniform(r); break;
        case SHIFTED: *d = 1e6 * base + ref_uniform(r); break;
        default: break;
        }
    }
}

/* Rows and columns of holes are empty; blocks are not coupled to each other. */
static inline void cut(ref_rng *r, ref_mat m, int kind)
{
    int64_t size = 1 + ref_below(r, 20);
    for (int64_t i = 0; i < m.rows; i++) {
        int empty = kind == HOLES && ref_below(r, 2);
        for (int64_t j = 0; j < m.rows; j++)
            if (empty || (kind == BLOCKS && i / size != j / size) || (kind == ARROW && i != j && i && j) ||
                (kind == CHAIN && i - j != 1 && j - i != 1))
                REF_AT(m, i, j) = REF_AT(m, j, i) = 0;
    }
}

static inline ref_mat bounds_case(ref_rng *r, int number)
{
    int kind = number % KINDS;
    double u = ref_uniform(r);
    int64_t n = 1 + (int64_t)(300 * u * u), few = kind == FULL ? n : kind == SPARSE ? 5 : kind >= WIDE ? 1 : 8;
    int mixes = kind != IDENTITY && kind != CLUSTERS && kind != WIDE && kind != OUTLIER;
    int is_complex = number / KINDS % 2, gauge = n > 80;
    if (kind == ARROW || kind == CHAIN) few = n;
    ref_mat m = mixes ? random_hermitian(r, is_complex && !gauge ? WISP_Z : WISP_D, n, fmin(1, (double)few / (double)n))
                      : ref_new(n, n);
    set_diagonal(r, m, kind);
    cut(r, m, kind);
    if (is_complex && gauge) add_phases(r, m);
    double scale = number % 7 ? 1 : pow(10, 8 * ref_uniform(r));
    for (int64_t i = 0; i < n * n; i++) m.a[i] *= scale;
    return m;
}

/* Rounds to single precision, real and imaginary part. */
static inline void to_single(ref_mat m)
{
    for (int64_t i = 0; i < m.rows * m.cols; i++) m.a[i] = (float)creal(m.a[i]) + I * (float)cimag(m.a[i]);
}

static inline void check_bounds(wisp_ctx *ctx, int count, uint64_t seed)
{
    ref_rng r = {seed};
    for (int i = 0; i < count; i++) {
        ref_mat m = bounds_case(&r, i);
        int is_complex = 0, single = i % 5 == 4;
        if (single) to_single(m);
        for (int64_t k = 0; k < m.rows * m.rows; k++) is_complex |= cimag(m.a[k]) != 0;
        wisp_type type = single ? is_complex ? WISP_C : WISP_S : is_complex ? WISP_Z : WISP_D;
        double *energy = eigenvalues(m);
        wisp_mat *A = ref_mat_of(ctx, m, type);
        for (int method = 0; method < 2; method++) {
            wisp_bounds b;
            char what[120];
            REF_OK(ctx, wisp_bounds_find(
                            &b, A, &(wisp_bounds_opts){.method = (wisp_bounds_method)method, .seed = (uint64_t)i}));
            snprintf(what, sizeof what, "matrix %d, kind %d, %s, %lld rows, method %d", i, i % KINDS,
                     wisp_type_name(type), (long long)m.rows, method);
            assert_inside(what, &b, energy[0], energy[m.rows - 1]);
            assert_true(b.failure_probability >= 0 && b.failure_probability <= 1.0001e-8);
        }
        wisp_mat_free(A);
        free(energy);
        ref_free(m);
    }
}
#endif
