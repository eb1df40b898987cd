/* Small dense matrices that are Hermitian, and what all ranks get of them. */
#include "dense.h"
#include <string.h>

wisp_status wisp__dense_share(wisp_ctx *ctx, double *data, size_t n, int *info)
{
    if (wisp_ctx_processes(ctx) == 1) return WISP_OK;
    double status = *info;
    if (wisp_ctx_rank(ctx) > 0) {
        status = 0;
        memset(data, 0, n * sizeof *data);
    }
    const wisp_status result = wisp_ctx_sum(ctx, &status, 1);
    *info = (int)status;
    return result == WISP_OK ? wisp_ctx_sum(ctx, data, n) : result;
}

void wisp__dense_pack(bool is_complex, int rows, int cols, const wisp_scalar *from, double *to)
{
    const size_t m = (size_t)rows, n = (size_t)cols, parts = is_complex ? 2 : 1;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double *x = to + (i + j * m) * parts;
            x[0] = from[i * n + j].re;
            if (is_complex) x[1] = from[i * n + j].im;
        }
}

void wisp__dense_unpack(bool is_complex, int rows, int cols, const double *from, wisp_scalar *to)
{
    const size_t m = (size_t)rows, n = (size_t)cols, parts = is_complex ? 2 : 1;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const double *x = from + (i + j * m) * parts;
            to[i * n + j] = (wisp_scalar){x[0], is_complex ? x[1] : 0};
        }
}

/* ---- Hermitian eigenproblems ------------------------------------------------------------------ */

typedef void (*dsyevd_fn)(const char *, const char *, const int *, double *, const int *, double *, double *,
                          const int *, int *, const int *, int *, size_t, size_t);
typedef void (*zheevd_fn)(const char *, const char *, const int *, double *, const int *, double *, double *,
                          const int *, double *, const int *, int *, const int *, int *, size_t, size_t);

/* a[n * n] by columns becomes its eigenvectors, by divide and conquer. */
static wisp_status eigh(wisp_ctx *ctx, bool is_complex, int n, double *a, double *value, int *info)
{
    wisp_status status = WISP_OK;
    double work_size[2] = {0}, real_size = 0, *work = NULL, *real = NULL;
    int query = -1, whole_size = 0, *whole = NULL;
    wisp__lapack_alone(true);
    const wisp__lapack_fn fn = wisp__lapack(ctx, is_complex ? "zheevd" : "dsyevd");
    if (!fn) {
        status = WISP_ERR_UNSUPPORTED;
        goto out;
    }
    if (is_complex)
        ((zheevd_fn)fn)("V", "L", &n, a, &n, value, work_size, &query, &real_size, &query, &whole_size, &query, info, 1,
                        1);
    else
        ((dsyevd_fn)fn)("V", "L", &n, a, &n, value, work_size, &query, &whole_size, &query, info, 1, 1);
    const int works = (int)work_size[0], reals = (int)real_size, wholes = whole_size;
    WISP_TRY(wisp__lapack_alloc(ctx, &work, (size_t)works * (is_complex ? 2 : 1), n));
    WISP_TRY(wisp__lapack_alloc(ctx, &real, (size_t)reals, n));
    WISP_TRY(wisp_alloc(ctx, &whole, (size_t)wholes, sizeof *whole));
    if (is_complex)
        ((zheevd_fn)fn)("V", "L", &n, a, &n, value, work, &works, real, &reals, whole, &wholes, info, 1, 1);
    else
        ((dsyevd_fn)fn)("V", "L", &n, a, &n, value, work, &works, whole, &wholes, info, 1, 1);
out:
    wisp__lapack_alone(false);
    wisp_free(ctx, work);
    wisp_free(ctx, real);
    wisp_free(ctx, whole);
    return status;
}

bool wisp__dense_finite(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += 0 * a[i];
    return sum == 0;
}

wisp_status wisp__dense_eigh(wisp_ctx *ctx, bool is_complex, int n, wisp_scalar *H, double *value)
{
    wisp_status status = WISP_OK;
    int info = 0;
    double *a = NULL;
    const size_t size = (size_t)n * (size_t)n * (is_complex ? 2 : 1);
    if (n == 0) return WISP_OK;
    WISP_TRY(wisp__lapack_alloc(ctx, &a, size + (size_t)n, n)); /* the values lie behind */
    if (wisp_ctx_rank(ctx) == 0) {
        wisp__dense_pack(is_complex, n, n, H, a);
        wisp_status made = WISP_OK;
        if (!wisp__dense_finite(a, size))
            info = -1;
        else if ((made = eigh(ctx, is_complex, n, a, a + size, &info)) != WISP_OK)
            info = made == WISP_ERR_NOMEM ? -3 : -2;
    }
    WISP_TRY(wisp__dense_share(ctx, a, size + (size_t)n, &info));
    if (info == -2 || info == -3) { /* rank 0 has a message */
        status = info == -3 ? WISP_ERR_NOMEM : WISP_ERR_UNSUPPORTED;
        if (wisp_ctx_rank(ctx) > 0) wisp_ctx_failf(ctx, status, info == -3 ? "out of memory" : "no LAPACK");
        goto out;
    }
    if (info != 0) {
        status = wisp_ctx_failf(ctx, WISP_ERR_NUMERIC, "a dense matrix of %d rows has no eigenvalues: %s", n,
                                info < 0 ? "it is not finite" : "LAPACK's iteration did not end");
        goto out;
    }
    wisp__dense_unpack(is_complex, n, n, a, H);
    memcpy(value, a + size, (size_t)n * sizeof *value);
out:
    wisp_free(ctx, a);
    return status;
}

/* ---- Cholesky --------------------------------------------------------------------------------- */

typedef void (*potrf_fn)(const char *, const int *, double *, const int *, int *, size_t);
typedef void (*trtri_fn)(const char *, const char *, const int *, double *, const int *, int *, size_t, size_t);

wisp_status wisp__dense_cholesky(wisp_ctx *ctx, bool is_complex, int n, wisp_scalar *G, int *good)
{
    wisp_status status = WISP_OK;
    int info = 0;
    double *a = NULL;
    const size_t columns = (size_t)n, parts = is_complex ? 2 : 1, size = columns * columns * parts;
    *good = n;
    if (n == 0) return WISP_OK;
    WISP_TRY(wisp__lapack_alloc(ctx, &a, size, n));
    if (wisp_ctx_rank(ctx) == 0) {
        wisp__lapack_alone(true);
        const wisp__lapack_fn factor = wisp__lapack(ctx, is_complex ? "zpotrf" : "dpotrf"),
                              invert = factor ? wisp__lapack(ctx, is_complex ? "ztrtri" : "dtrtri") : NULL;
        wisp__dense_pack(is_complex, n, n, G, a);
        if (!factor || !invert) {
            info = -2;
        } else if (!wisp__dense_finite(a, size)) {
            info = -1;
        } else {
            ((potrf_fn)factor)("U", &n, a, &n, &info, 1);
            if (info == 0) ((trtri_fn)invert)("U", "N", &n, a, &n, &info, 1, 1);
        }
        wisp__lapack_alone(false);
    }
    WISP_TRY(wisp__dense_share(ctx, a, size, &info));
    if (info < 0) {
        status = info == -2 && wisp_ctx_rank(ctx) == 0 ? WISP_ERR_UNSUPPORTED
                 : info == -2                          ? wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "no LAPACK")
                              : wisp_ctx_failf(ctx, WISP_ERR_NUMERIC, "dots of %d vectors are not finite", n);
        goto out;
    }
    if (info > 0) {
        *good = info - 1;
        goto out;
    }
    wisp__dense_unpack(is_complex, n, n, a, G);
    for (size_t i = 0; i < columns; i++) memset(G + i * columns, 0, i * sizeof *G);
out:
    wisp_free(ctx, a);
    return status;
}
