/* Singular values of small dense matrices: by LAPACK, or by rotations of pairs of columns until all are orthogonal. */
#include "dense_svd.h"
#include <string.h>
#include "../jacobi.h"
#include "dense.h"

/* ---- by rotations ---------------------------------------------------------------------------------- */

/* Columns of W and V lie in a row each. */

static wisp_scalar dot(int n, const wisp_scalar *x, const wisp_scalar *y)
{
    wisp_scalar sum = {0, 0};
    for (int i = 0; i < n; i++) {
        sum.re += x[i].re * y[i].re + x[i].im * y[i].im;
        sum.im += x[i].re * y[i].im - x[i].im * y[i].re;
    }
    return sum;
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

/* Numbers of a, row by row, to x, column by column. */
static void take_columns(int rows, int cols, const double complex *a, wisp_scalar *x)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            const double complex v = a[(size_t)i * (size_t)cols + (size_t)j];
            x[(size_t)j * (size_t)rows + (size_t)i] = (wisp_scalar){creal(v), cimag(v)};
        }
}

static void transpose(int rows, int cols, const wisp_scalar *from, wisp_scalar *to)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            to[(size_t)j * (size_t)rows + (size_t)i] = from[(size_t)i * (size_t)cols + (size_t)j];
}

static wisp_status by_rotations(wisp_ctx *ctx, int rows, int cols, wisp_scalar *S, double *value, wisp_scalar *V)
{
    enum { SWEEPS = 40 };
    static const char *const task = "singular vectors";
    const size_t m = (size_t)rows, n = (size_t)cols;
    const bool cancelled = wisp_ctx_step(ctx, task, 0, 0) != WISP_OK; /* what there is by then is still wanted */
    wisp_status status = WISP_OK;
    double complex *a = NULL, *b = NULL;
    wisp_scalar *W = NULL, *X = NULL;
    WISP_TRY(wisp_alloc(ctx, &a, m * n, sizeof *a));
    WISP_TRY(wisp_alloc(ctx, &b, n * n, sizeof *b));
    for (size_t i = 0; i < m * n; i++) a[i] = S[i].re + S[i].im * I;
    for (size_t i = 0; i < n; i++) b[i * n + i] = 1;
    for (int sweep = 0; sweep < SWEEPS && wisp__jacobi_sweep(a, rows, b, cols, cols, DBL_EPSILON); sweep++)
        if (!cancelled) WISP_TRY(wisp_ctx_step(ctx, task, 0, 0));
    WISP_TRY(wisp_alloc(ctx, &W, m * n, sizeof *W));
    WISP_TRY(wisp_alloc(ctx, &X, n * n, sizeof *X));
    take_columns(rows, cols, a, W);
    take_columns(cols, cols, b, X);
    order(rows, cols, W, X, value);
    transpose(cols, rows, W, S);
    transpose(cols, cols, X, V);
out:
    wisp_free(ctx, a), wisp_free(ctx, b);
    wisp_free(ctx, W), wisp_free(ctx, X);
    return status;
}

/* ---- by LAPACK ------------------------------------------------------------------------------------- */

typedef void (*dgesdd_fn)(const char *, const int *, const int *, double *, const int *, double *, double *,
                          const int *, double *, const int *, double *, const int *, int *, int *, size_t);
typedef void (*zgesdd_fn)(const char *, const int *, const int *, double *, const int *, double *, double *,
                          const int *, double *, const int *, double *, const int *, double *, int *, int *, size_t);

/* Numbers of one call; u, v (V^H) and value are one array, which goes to all ranks. */
typedef struct {
    bool is_complex;
    int rows, cols;
    double *a, *u, *v, *value, *work, *real;
    int *whole;
} gesdd;

static void call(const gesdd *g, wisp__lapack_fn fn, double *work, int works, int *info)
{
    const int m = g->rows, n = g->cols;
    if (g->is_complex)
        ((zgesdd_fn)fn)("S", &m, &n, g->a, &m, g->value, g->u, &m, g->v, &n, work, &works, g->real, g->whole, info, 1);
    else
        ((dgesdd_fn)fn)("S", &m, &n, g->a, &m, g->value, g->u, &m, g->v, &n, work, &works, g->whole, info, 1);
}

/* *info: as LAPACK has it; -1, too, where it has no such function. */
static wisp_status decompose(wisp_ctx *ctx, gesdd *g, int *info)
{
    wisp_status status = WISP_OK;
    const size_t n = (size_t)g->cols, m = (size_t)g->rows;
    double size[2] = {0};
    *info = -1;
    wisp__lapack_alone(true);
    const wisp__lapack_fn fn = wisp__lapack(ctx, g->is_complex ? "zgesdd" : "dgesdd");
    if (!fn) goto out;
    call(g, fn, size, -1, info);
    if (!(size[0] < INT32_MAX)) *info = -1;
    if (*info != 0) goto out;
    const int works = (int)size[0];
    WISP_TRY(wisp__lapack_alloc(ctx, &g->work, (size_t)works * (g->is_complex ? 2 : 1), g->rows));
    if (g->is_complex) WISP_TRY(wisp__lapack_alloc(ctx, &g->real, (2 * m + 7 * n + 7) * n, g->rows));
    WISP_TRY(wisp_alloc(ctx, &g->whole, 8 * n, sizeof *g->whole));
    call(g, fn, g->work, works, info);
out:
    wisp__lapack_alone(false);
    return status;
}

/* *found: whether LAPACK answered. */
static wisp_status by_lapack(wisp_ctx *ctx, bool is_complex, int rows, int cols, wisp_scalar *S, double *value,
                             wisp_scalar *V, bool *found)
{
    enum { NO_MEMORY = -999 };
    const size_t m = (size_t)rows, n = (size_t)cols, parts = is_complex ? 2 : 1, shared = (m + n) * n * parts + n;
    gesdd g = {.is_complex = is_complex, .rows = rows, .cols = cols};
    wisp_status status = WISP_OK;
    int info = 0;
    WISP_TRY(wisp__lapack_alloc(ctx, &g.u, shared, rows));
    g.v = g.u + m * n * parts, g.value = g.v + n * n * parts;
    if (wisp_ctx_rank(ctx) == 0) {
        status = wisp__lapack_alloc(ctx, &g.a, m * n * parts, rows);
        if (status == WISP_OK) {
            wisp__dense_pack(is_complex, rows, cols, S, g.a);
            status = decompose(ctx, &g, &info);
        }
        if (status != WISP_OK) info = NO_MEMORY;
    }
    WISP_TRY(wisp__dense_share(ctx, g.u, shared, &info));
    if (info == NO_MEMORY) { /* rank 0 has a message */
        status = wisp_ctx_rank(ctx) > 0 ? wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory") : WISP_ERR_NOMEM;
        goto out;
    }
    *found = info == 0 && wisp__dense_finite(g.u, shared);
    if (!*found) goto out;
    wisp__dense_unpack(is_complex, rows, cols, g.u, S);
    memcpy(value, g.value, n * sizeof *value);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double *x = g.v + (j + i * n) * parts; /* of row j, column i */
            V[i * n + j] = (wisp_scalar){x[0], is_complex ? -x[1] : 0};
        }
out:
    wisp_free(ctx, g.u), wisp_free(ctx, g.a);
    wisp_free(ctx, g.work), wisp_free(ctx, g.real), wisp_free(ctx, g.whole);
    return status;
}

wisp_status wisp__dense_svd(wisp_ctx *ctx, bool is_complex, int rows, int cols, wisp_scalar *S, double *value,
                            wisp_scalar *V)
{
    const size_t m = (size_t)rows, n = (size_t)cols;
    wisp_status status = WISP_OK;
    double finite = 0;
    bool found = false;
    int info = 0;
    for (size_t i = 0; i < m * n; i++) finite += 0 * S[i].re + 0 * S[i].im;
    if (finite != 0) return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC, "a small matrix holds a NaN or an infinity");
    WISP_TRY(by_lapack(ctx, is_complex, rows, cols, S, value, V, &found));
    if (found) return WISP_OK;
    WISP_TRY(by_rotations(ctx, rows, cols, S, value, V));
    WISP_TRY(wisp__dense_share(ctx, (double *)S, 2 * m * n, &info));
    WISP_TRY(wisp__dense_share(ctx, (double *)V, 2 * n * n, &info));
    WISP_TRY(wisp__dense_share(ctx, value, n, &info));
out:
    return status;
}
