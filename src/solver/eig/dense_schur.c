/* Schur forms of small dense matrices, by LAPACK. */
#include "dense.h"
#include <math.h>

typedef void (*dgees_fn)(const char *, const char *, void *, const int *, double *, const int *, int *, double *,
                         double *, double *, const int *, double *, const int *, int *, int *, size_t, size_t);
typedef void (*zgees_fn)(const char *, const char *, void *, const int *, double *, const int *, int *, double *,
                         double *, const int *, double *, const int *, double *, int *, int *, size_t, size_t);
typedef void (*dtrsen_fn)(const char *, const char *, const int *, const int *, double *, const int *, double *,
                          const int *, double *, double *, int *, double *, double *, double *, const int *, int *,
                          const int *, int *, size_t, size_t);
typedef void (*ztrsen_fn)(const char *, const char *, const int *, const int *, double *, const int *, double *,
                          const int *, double *, int *, double *, double *, double *, const int *, int *, size_t,
                          size_t);
typedef void (*dtrevc_fn)(const char *, const char *, int *, const int *, const double *, const int *, double *,
                          const int *, double *, const int *, const int *, int *, double *, int *, size_t, size_t);
typedef void (*ztrevc_fn)(const char *, const char *, const int *, const int *, const double *, const int *, double *,
                          const int *, double *, const int *, const int *, int *, double *, double *, int *, size_t,
                          size_t);

/* Two matrices by columns, the values, and room for LAPACK; one array, of which rank 0's goes to all. */
typedef struct {
    wisp_ctx *ctx;
    bool is_complex;
    int n;
    int works;    /* room for so many numbers */
    int exponent; /* s is so many powers of two smaller than S: LAPACK's roots are not rounded alike in all units */
    size_t size, shared;
    double *s, *u, *value, *sine, *work;
} schur;

enum { NO_LAPACK = -999, NOT_FINITE = -998, WORK = 64 };

static void times(double *x, size_t n, int exponent)
{
    for (size_t i = 0; i < n && exponent != 0; i++) x[i] = ldexp(x[i], exponent);
}

/* The largest number of s is from 1 to 2 then. */
static void take_unit(schur *d)
{
    double most = 0;
    for (size_t i = 0; i < d->size; i++) most = fmax(most, fabs(d->s[i]));
    d->exponent = most > 0 && isfinite(most) ? ilogb(most) : 0;
    times(d->s, d->size, -d->exponent);
}

/* works: numbers of the matrix's kind that LAPACK needs; at least WORK for each row are there. */
static wisp_status take(schur *d, const wisp_scalar *S, const wisp_scalar *U, size_t works)
{
    const size_t n = (size_t)d->n, parts = d->is_complex ? 2 : 1, usual = WORK * n;
    d->size = n * n * parts;
    d->shared = 2 * d->size + 2 * n + 1;
    d->works = (int)(works > usual ? works : usual);
    const wisp_status status = wisp__lapack_alloc(d->ctx, &d->s, d->shared + ((size_t)d->works + 2 * n) * parts, d->n);
    if (status != WISP_OK) return status;
    d->u = d->s + d->size;
    d->value = d->u + d->size;
    d->sine = d->value + 2 * n;
    d->work = d->sine + 1;
    wisp__dense_pack(d->is_complex, d->n, d->n, S, d->s);
    take_unit(d);
    if (U) wisp__dense_pack(d->is_complex, d->n, d->n, U, d->u);
    wisp__lapack_alone(true);
    return WISP_OK;
}

/* All ranks have rank 0's results, or fail alike. */
static wisp_status share(schur *d, int info)
{
    wisp__lapack_alone(false);
    const wisp_status status = wisp__dense_share(d->ctx, d->s, d->shared, &info);
    if (status != WISP_OK || info == 0) return status;
    if (info == NO_LAPACK) /* rank 0 has a message */
        return wisp_ctx_rank(d->ctx) > 0 ? wisp_ctx_failf(d->ctx, WISP_ERR_UNSUPPORTED, "no LAPACK")
                                         : WISP_ERR_UNSUPPORTED;
    return wisp_ctx_failf(d->ctx, WISP_ERR_NUMERIC, "a dense matrix of %d rows has no Schur form: %s", d->n,
                          info == NOT_FINITE ? "it is not finite" : "LAPACK's iteration did not end");
}

static void give(const schur *d, wisp_scalar *S, wisp_scalar *U, wisp_scalar *value)
{
    const int n = d->n;
    times(d->s, d->size, d->exponent);
    times(d->value, 2 * (size_t)n, d->exponent);
    wisp__dense_unpack(d->is_complex, n, n, d->s, S);
    wisp__dense_unpack(d->is_complex, n, n, d->u, U);
    for (int i = 0; i < n; i++)
        value[i] = d->is_complex ? (wisp_scalar){d->value[2 * i], d->value[2 * i + 1]}
                                 : (wisp_scalar){d->value[i], d->value[n + i]};
}

static int decompose(schur *d)
{
    const wisp__lapack_fn fn = wisp__lapack(d->ctx, d->is_complex ? "zgees" : "dgees");
    const int n = d->n, works = WORK * n;
    int info = 0, none = 0;
    if (!wisp__dense_finite(d->s, d->size)) return NOT_FINITE;
    if (!fn) return NO_LAPACK;
    if (d->is_complex)
        ((zgees_fn)fn)("V", "N", NULL, &n, d->s, &n, &none, d->value, d->u, &n, d->work, &works,
                       d->work + 2 * (size_t)works, NULL, &info, 1, 1);
    else
        ((dgees_fn)fn)("V", "N", NULL, &n, d->s, &n, &none, d->value, d->value + n, d->u, &n, d->work, &works, NULL,
                       &info, 1, 1);
    return info;
}

wisp_status wisp__dense_schur(wisp_ctx *ctx, bool is_complex, int n, wisp_scalar *S, wisp_scalar *U, wisp_scalar *value)
{
    schur d = {.ctx = ctx, .is_complex = is_complex, .n = n};
    wisp_status status = WISP_OK;
    WISP_TRY(take(&d, S, NULL, 0));
    WISP_TRY(share(&d, wisp_ctx_rank(ctx) == 0 ? decompose(&d) : 0));
    give(&d, S, U, value);
out:
    wisp_free(ctx, d.s);
    return status;
}

static int order(schur *d, const int *chosen)
{
    const wisp__lapack_fn fn = wisp__lapack(d->ctx, d->is_complex ? "ztrsen" : "dtrsen");
    const int n = d->n, works = d->works, wholes = 1;
    int info = 0, leading, whole[1];
    double sep;
    if (!fn) return NO_LAPACK;
    if (d->is_complex)
        ((ztrsen_fn)fn)("E", "V", chosen, &n, d->s, &n, d->u, &n, d->value, &leading, d->sine, &sep, d->work, &works,
                        &info, 1, 1);
    else
        ((dtrsen_fn)fn)("E", "V", chosen, &n, d->s, &n, d->u, &n, d->value, d->value + n, &leading, d->sine, &sep,
                        d->work, &works, whole, &wholes, &info, 1, 1);
    if (info == 1) *d->sine = 0;
    return info == 1 ? 0 : info; /* 1: two blocks are too close to be swapped; what was done is right */
}

wisp_status wisp__dense_schur_order(wisp_ctx *ctx, bool is_complex, int n, wisp_scalar *S, wisp_scalar *U,
                                    wisp_scalar *value, const int *chosen, double *sine)
{
    schur d = {.ctx = ctx, .is_complex = is_complex, .n = n};
    wisp_status status = WISP_OK;
    WISP_TRY(take(&d, S, U, (size_t)n * (size_t)n / 4));
    WISP_TRY(share(&d, wisp_ctx_rank(ctx) == 0 ? order(&d, chosen) : 0));
    give(&d, S, U, value);
    *sine = *d.sine;
out:
    wisp_free(ctx, d.s);
    return status;
}

static int vectors(schur *d)
{
    const wisp__lapack_fn fn = wisp__lapack(d->ctx, d->is_complex ? "ztrevc" : "dtrevc");
    const int n = d->n, none = 1;
    int info = 0, given;
    double unused[2];
    if (!fn) return NO_LAPACK;
    if (d->is_complex)
        ((ztrevc_fn)fn)("R", "A", &none, &n, d->s, &n, unused, &none, d->u, &n, &n, &given, d->work,
                        d->work + 4 * (size_t)n, &info, 1, 1);
    else
        ((dtrevc_fn)fn)("R", "A", NULL, &n, d->s, &n, unused, &none, d->u, &n, &n, &given, d->work, &info, 1, 1);
    return info;
}

/* Element i of the eigenvector to value j: the columns j and j + 1 of a real matrix are real and imaginary part where
   j and j + 1 are a pair. */
static wisp_scalar element(const schur *d, const wisp_scalar *value, int i, int j)
{
    const double *u = d->u;
    const int n = d->n;
    if (d->is_complex) return (wisp_scalar){u[2 * (i + j * n)], u[2 * (i + j * n) + 1]};
    if (value[j].im > 0) return (wisp_scalar){u[i + j * n], u[i + (j + 1) * n]};
    if (value[j].im < 0) return (wisp_scalar){u[i + (j - 1) * n], -u[i + j * n]};
    return (wisp_scalar){u[i + j * n], 0};
}

wisp_status wisp__dense_schur_vectors(wisp_ctx *ctx, bool is_complex, int n, const wisp_scalar *S,
                                      const wisp_scalar *value, wisp_scalar *X)
{
    schur d = {.ctx = ctx, .is_complex = is_complex, .n = n};
    wisp_status status = WISP_OK;
    WISP_TRY(take(&d, S, NULL, 0));
    WISP_TRY(share(&d, wisp_ctx_rank(ctx) == 0 ? vectors(&d) : 0));
    for (int j = 0; j < n; j++) {
        double square = 0;
        for (int i = 0; i < n; i++) {
            const wisp_scalar x = X[i * n + j] = element(&d, value, i, j);
            square += x.re * x.re + x.im * x.im;
        }
        for (int i = 0; i < n; i++) X[i * n + j].re /= sqrt(square), X[i * n + j].im /= sqrt(square);
    }
out:
    wisp_free(ctx, d.s);
    return status;
}
