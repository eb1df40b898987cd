/* An inverse of the test's own, by Gaussian elimination, and a count of values that are known. */
#ifndef INVERT_CASES_H
#define INVERT_CASES_H
#include "eig_cases.h"

typedef struct {
    ref_mat inverse;
    const double *value; /* [n] of A, ascending; NULL: not known */
    double scale;        /* A is so many times what the others say */
    int solved, counted; /* columns, calls */
    wisp_status fails;
} by_test;

static inline ref_mat inverse_of(ref_mat a, cplx target)
{
    const int64_t n = a.rows;
    ref_mat m = ref_new(n, 2 * n), x = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) REF_AT(m, i, j) = REF_AT(a, i, j) - (i == j ? target : 0);
        REF_AT(m, i, n + i) = 1;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k; i < n; i++)
            if (cabs(REF_AT(m, i, k)) > cabs(REF_AT(m, best, k))) best = i;
        for (int64_t j = 0; j < 2 * n; j++) {
            const cplx swapped = REF_AT(m, k, j);
            REF_AT(m, k, j) = REF_AT(m, best, j);
            REF_AT(m, best, j) = swapped;
        }
        assert_true(REF_AT(m, k, k) != 0);
        for (int64_t i = 0; i < n; i++) {
            const cplx f = REF_AT(m, i, k) / REF_AT(m, k, k);
            if (i != k && f != 0)
                for (int64_t j = k; j < 2 * n; j++) REF_AT(m, i, j) -= f * REF_AT(m, k, j);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) REF_AT(x, i, j) = REF_AT(m, i, n + j) / REF_AT(m, i, i);
    ref_free(m);
    return x;
}

static inline wisp_status solve(void *arg, wisp_blk *y, const wisp_blk *x)
{
    by_test *t = arg;
    ref_mat b = ref_get(x), s = ref_times(t->inverse, b);
    const int64_t n = s.rows * s.cols;
    for (int64_t i = 0; i < n; i++) s.a[i] = creal(s.a[i]) / t->scale + I * (cimag(s.a[i]) / t->scale);
    ref_put(y, s);
    t->solved += (int)b.cols;
    ref_free(b);
    ref_free(s);
    return t->fails;
}

static inline wisp_status count_below(void *arg, double shift, int64_t *below)
{
    by_test *t = arg;
    for (*below = 0; *below < t->inverse.rows && t->scale * t->value[*below] < shift;) ++*below;
    t->counted++;
    return t->fails;
}
#endif
