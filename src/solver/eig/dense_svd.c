/* Singular values of small dense matrices, by rotations of pairs of columns until all are orthogonal. Columns lie in a
   row each meanwhile. */
#include "dense_svd.h"
#include <stdlib.h>
#include <string.h>
#include "dense.h"

static wisp_scalar dot(int n, const wisp_scalar *x, const wisp_scalar *y)
{
    wisp_scalar sum = {0, 0};
    for (int i = 0; i < n; i++) {
        sum.re += x[i].re * y[i].re + x[i].im * y[i].im;
        sum.im += x[i].re * y[i].im - x[i].im * y[i].re;
    }
    return sum;
}

/* (x, y) := (c x - s conj(e) y, s e x + c y), |e| = 1. */
static void rotate(int n, wisp_scalar *x, wisp_scalar *y, double c, double s, wisp_scalar e)
{
    for (int i = 0; i < n; i++) {
        const wisp_scalar a = x[i], b = y[i];
        x[i] = (wisp_scalar){c * a.re - s * (e.re * b.re + e.im * b.im), c * a.im - s * (e.re * b.im - e.im * b.re)};
        y[i] = (wisp_scalar){s * (e.re * a.re - e.im * a.im) + c * b.re, s * (e.re * a.im + e.im * a.re) + c * b.im};
    }
}

/* Makes columns p and q of W orthogonal; whether they were not. */
static bool make_orthogonal(int rows, int cols, wisp_scalar *W, wisp_scalar *V, int p, int q)
{
    wisp_scalar *x = W + (size_t)p * (size_t)rows, *y = W + (size_t)q * (size_t)rows;
    const wisp_scalar xy = dot(rows, x, y);
    const double xx = dot(rows, x, x).re, yy = dot(rows, y, y).re, size = hypot(xy.re, xy.im);
    if (!(size > DBL_EPSILON * sqrt(xx) * sqrt(yy))) return false;
    const double z = (yy - xx) / (2 * size);
    const double t = copysign(1, z) / (fabs(z) + hypot(1, z)), c = 1 / hypot(1, t);
    const wisp_scalar e = {xy.re / size, xy.im / size};
    rotate(rows, x, y, c, c * t, e);
    rotate(cols, V + (size_t)p * (size_t)cols, V + (size_t)q * (size_t)cols, c, c * t, e);
    return true;
}

static void scale(int n, wisp_scalar *x, double by)
{
    for (int i = 0; i < n; i++) x[i].re *= by, x[i].im *= by;
}

/* Column number j of W, which is nothing beside others: a unit vector without its part along those before it. */
static void complete(int rows, wisp_scalar *W, int j)
{
    wisp_scalar *x = W + (size_t)j * (size_t)rows;
    for (int unit = 0; unit < rows; unit++) {
        memset(x, 0, (size_t)rows * sizeof *x);
        x[unit].re = 1;
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < j; k++) {
                const wisp_scalar *w = W + (size_t)k * (size_t)rows, part = dot(rows, w, x);
                for (int i = 0; i < rows; i++) {
                    x[i].re -= w[i].re * part.re - w[i].im * part.im;
                    x[i].im -= w[i].re * part.im + w[i].im * part.re;
                }
            }
        const double length = sqrt(dot(rows, x, x).re);
        scale(rows, x, length > 0 ? 1 / length : 0);
        if (length * length * rows > 0.5) return; /* of all units one has so much left */
    }
}

/* W's columns become of length 1, in the order of their lengths; V's follow. */
static void order(int rows, int cols, wisp_scalar *W, wisp_scalar *V, double *value)
{
    const size_t m = (size_t)rows, n = (size_t)cols;
    for (int j = 0; j < cols; j++) value[j] = sqrt(dot(rows, W + (size_t)j * m, W + (size_t)j * m).re);
    for (int j = 0; j < cols; j++) {
        int best = j;
        for (int k = j + 1; k < cols; k++)
            if (value[k] > value[best]) best = k;
        if (best == j) continue;
        const double v = value[j];
        value[j] = value[best], value[best] = v;
        for (size_t i = 0; i < m; i++) {
            const wisp_scalar w = W[(size_t)j * m + i];
            W[(size_t)j * m + i] = W[(size_t)best * m + i], W[(size_t)best * m + i] = w;
        }
        for (size_t i = 0; i < n; i++) {
            const wisp_scalar w = V[(size_t)j * n + i];
            V[(size_t)j * n + i] = V[(size_t)best * n + i], V[(size_t)best * n + i] = w;
        }
    }
    for (int j = 0; j < cols; j++)
        if (value[j] > DBL_EPSILON * value[0] / 16 && value[j] > DBL_MIN)
            scale(rows, W + (size_t)j * m, 1 / value[j]);
        else
            complete(rows, W, j);
}

static void transpose(int rows, int cols, const wisp_scalar *from, wisp_scalar *to)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            to[(size_t)j * (size_t)rows + (size_t)i] = from[(size_t)i * (size_t)cols + (size_t)j];
}

static void find(int rows, int cols, wisp_scalar *W, double *value, wisp_scalar *V)
{
    enum { SWEEPS = 40 };
    memset(V, 0, (size_t)cols * (size_t)cols * sizeof *V);
    for (int i = 0; i < cols; i++) V[(size_t)i * (size_t)cols + (size_t)i].re = 1;
    bool again = true;
    for (int sweep = 0; again && sweep < SWEEPS; sweep++) {
        again = false;
        for (int p = 0; p < cols; p++)
            for (int q = p + 1; q < cols; q++) again |= make_orthogonal(rows, cols, W, V, p, q);
    }
    order(rows, cols, W, V, value);
}

wisp_status wisp__dense_svd(wisp_ctx *ctx, int rows, int cols, wisp_scalar *S, double *value, wisp_scalar *V)
{
    wisp_status status = WISP_OK;
    wisp_scalar *W = NULL, *X = NULL;
    const size_t m = (size_t)rows, n = (size_t)cols;
    double finite = 0;
    int info = 0;
    for (size_t i = 0; i < m * n; i++) finite += 0 * S[i].re + 0 * S[i].im;
    if (finite != 0) return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC, "a small matrix holds a NaN or an infinity");
    WISP_TRY(wisp_alloc(ctx, &W, m * n + 1, sizeof *W));
    WISP_TRY(wisp_alloc(ctx, &X, n * n + 1, sizeof *X));
    transpose(rows, cols, S, W);
    find(rows, cols, W, value, X);
    transpose(cols, rows, W, S);
    transpose(cols, cols, X, V);
    WISP_TRY(wisp__dense_share(ctx, (double *)S, 2 * m * n, &info));
    WISP_TRY(wisp__dense_share(ctx, (double *)V, 2 * n * n, &info));
    WISP_TRY(wisp__dense_share(ctx, value, n, &info));
out:
    wisp_free(ctx, W);
    wisp_free(ctx, X);
    return status;
}
