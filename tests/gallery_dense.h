/* Gallery matrices as dense ones, and small dense linear algebra, for the gallery's tests. */
#ifndef GALLERY_DENSE_H
#define GALLERY_DENSE_H
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <wisp/wisp.h>
#include "message.h"

typedef double complex cplx;
typedef struct {
    int n;
    cplx *a; /* row-major */
} dense;

static inline dense dense_zero(int n)
{
    dense m = {n, calloc((size_t)n * (size_t)n + 1, sizeof(cplx))};
    assert_non_null(m.a);
    return m;
}
static inline cplx *at(dense m, int i, int j) { return &m.a[(size_t)i * (size_t)m.n + (size_t)j]; }
static inline dense dense_eye(int n)
{
    dense m = dense_zero(n);
    for (int i = 0; i < n; i++) *at(m, i, i) = 1;
    return m;
}
static inline dense dense_from(int n, const cplx *a)
{
    dense m = dense_zero(n);
    memcpy(m.a, a, (size_t)(n * n) * sizeof *a);
    return m;
}
/* Kronecker product; frees both factors. */
static inline dense kron(dense x, dense y)
{
    dense m = dense_zero(x.n * y.n);
    for (int i = 0; i < m.n; i++) {
        for (int j = 0; j < m.n; j++) *at(m, i, j) = *at(x, i / y.n, j / y.n) * *at(y, i % y.n, j % y.n);
    }
    free(x.a);
    free(y.a);
    return m;
}
/* m += s x, and with hc also its Hermitian conjugate; frees x. */
static inline void add(dense m, cplx s, dense x, int hc)
{
    assert_int_equal(m.n, x.n);
    for (int i = 0; i < m.n; i++) {
        for (int j = 0; j < m.n; j++) {
            *at(m, i, j) += s * *at(x, i, j);
            if (hc) *at(m, i, j) += conj(s * *at(x, j, i));
        }
    }
    free(x.a);
}
/* Moves a line of n sites up by one. */
static inline dense shift(int n, int periodic)
{
    dense m = dense_zero(n);
    for (int i = 0; i + 1 < n; i++) *at(m, i + 1, i) += 1;
    if (periodic) *at(m, 0, n - 1) += 1;
    return m;
}
/* Pauli matrices 1, 2, 3; 0 is the identity. */
static inline dense pauli(int i)
{
    static const cplx s[4][4] = {{1, 0, 0, 1}, {0, 1, 1, 0}, {0, -I, I, 0}, {1, 0, 0, -1}};
    return dense_from(2, s[i]);
}

static inline wisp_src open_spec(wisp_ctx *ctx, const char *spec)
{
    wisp_src src;
    wisp_status status = wisp_src_open_gallery(&src, ctx, spec);
    if (status != WISP_OK) fail_msg("%s: %s", spec, message_of(ctx));
    assert_int_equal(src.rows, src.cols);
    assert_non_null(src.row);
    return src;
}
static inline void close_src(wisp_src *src)
{
    if (src->free_arg) src->free_arg(src->arg);
    memset(src, 0, sizeof *src);
}
static inline cplx entry(const wisp_src *src, const void *val, int i)
{
    const double *v = val;
    assert_true(src->type == WISP_D || src->type == WISP_Z);
    return src->type == WISP_Z ? v[2 * i] + v[2 * i + 1] * I : v[i];
}
enum { ROOM = 96 }; /* for a row and an entry more */
/* One row: what it counts is what it writes, and that is at most max_row; all columns and values are sound. */
static inline int get_row(const wisp_src *src, int64_t row, int64_t *col, cplx *val)
{
    int64_t guard = -12345;
    double buffer[2 * ROOM];
    assert_in_range(src->max_row, 1, ROOM - 1);
    for (int64_t i = 0; i <= src->max_row; i++) col[i] = guard;
    int count = src->row(src->arg, row, NULL, NULL), n = src->row(src->arg, row, col, buffer);
    assert_int_equal(count, n);
    assert_true(n >= 0 && n <= src->max_row);
    assert_int_equal(col[n], guard);
    for (int i = 0; i < n; i++) {
        assert_true(col[i] >= 0 && col[i] < src->cols);
        val[i] = entry(src, buffer, i);
        assert_true(isfinite(creal(val[i])) && isfinite(cimag(val[i])));
    }
    return n;
}
/* The whole matrix. */
static inline dense expand_general(wisp_ctx *ctx, const char *spec)
{
    wisp_src src = open_spec(ctx, spec);
    dense m = dense_zero((int)src.rows);
    int64_t col[ROOM];
    cplx val[ROOM];
    for (int i = 0; i < m.n; i++) {
        int n = get_row(&src, i, col, val);
        for (int j = 0; j < n; j++) *at(m, i, (int)col[j]) += val[j];
    }
    close_src(&src);
    return m;
}
/* The same, exactly Hermitian. */
static inline dense expand(wisp_ctx *ctx, const char *spec)
{
    dense m = expand_general(ctx, spec);
    for (int i = 0; i < m.n; i++) {
        for (int j = 0; j <= i; j++) {
            if (*at(m, i, j) != conj(*at(m, j, i))) fail_msg("%s: not Hermitian at %d, %d", spec, i, j);
        }
    }
    return m;
}
/* Compares, and frees both. */
static inline void assert_same(const char *spec, dense x, dense y, double tolerance)
{
    assert_int_equal(x.n, y.n);
    for (int i = 0; i < x.n; i++) {
        for (int j = 0; j < x.n; j++) {
            cplx a = *at(x, i, j), b = *at(y, i, j);
            if (!(cabs(a - b) <= tolerance)) {
                fail_msg("%s: entry %d, %d is %g%+gi, expected %g%+gi", spec, i, j, creal(a), cimag(a), creal(b),
                         cimag(b));
            }
        }
    }
    free(x.a);
    free(y.a);
}
#endif
