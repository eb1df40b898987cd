/* A function on an interval as a Chebyshev series, to a tolerance: L. N. Trefethen, Approximation Theory and
   Approximation Practice (2013), chapters 3 and 4. It is interpolated at Chebyshev points, by a cosine transform, cut,
   and compared with the function at these points and others between them. */
#include <math.h>
#include <string.h>
#include "solver.h"

/* Points of the first interpolation; exponents that are left as they are, and the largest; points between two looks at
   the wish to cancel. */
enum { LEAST = 512, SLACK = 32, SCALED = 1000, STEP = 256 };

/* f at n + 1 points, n a power of 2, and the memory of the transforms. */
typedef struct {
    const wisp__fit_want *f;
    int64_t n;
    wisp_scalar *value, *cosine; /* [n + 1] */
    wisp_scalar *work, *root;    /* [2n]; [n]: of 2n-th roots of 1 */
} fit;

static double size_of(wisp_scalar z) { return hypot(z.re, z.im); }
static wisp_scalar times_power(wisp_scalar z, int exponent)
{
    return (wisp_scalar){ldexp(z.re, exponent), ldexp(z.im, exponent)};
}

int wisp__exponent(double x, int slack, int most)
{
    const int e = x > 0 ? ilogb(x) : 0;
    if (e >= -slack && e <= slack) return 0;
    return e < -most ? -most : e > most ? most : e;
}

/* Fourier transform of a[n], n a power of 2 up to 2t->n. */
static void fourier(const fit *t, wisp_scalar *a, int64_t n)
{
    for (int64_t i = 1, j = 0; i < n; i++) { /* j has the bits of i in the other order */
        int64_t bit = n / 2;
        for (; j & bit; bit /= 2) j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        const wisp_scalar other = a[i];
        a[i] = a[j], a[j] = other;
    }
    for (int64_t half = 1; half < n; half *= 2)
        for (int64_t i = 0; i < n; i += 2 * half)
            for (int64_t k = 0; k < half; k++) {
                const wisp_scalar w = t->root[k * (t->n / half)], p = a[i + k], q = a[i + k + half];
                const wisp_scalar wq = {w.re * q.re - w.im * q.im, w.re * q.im + w.im * q.re};
                a[i + k] = (wisp_scalar){p.re + wq.re, p.im + wq.im};
                a[i + k + half] = (wisp_scalar){p.re - wq.re, p.im - wq.im};
            }
}

/* t->cosine[j] = sum over k < count of c_k cos(pi j k / n), j <= n; count <= n + 1, n <= t->n. c may be t->cosine. */
static void cosines(const fit *t, const wisp_scalar *c, int64_t count, int64_t n)
{
    memset(t->work, 0, 2 * (size_t)n * sizeof *t->work);
    for (int64_t k = 0; k < count; k++) {
        const double part = k == 0 || k == n ? 1 : 0.5;
        t->work[k] = (wisp_scalar){part * c[k].re, part * c[k].im};
        if (part < 1) t->work[2 * n - k] = t->work[k];
    }
    fourier(t, t->work, 2 * n);
    memcpy(t->cosine, t->work, (size_t)(n + 1) * sizeof *t->work);
}

/* Chebyshev point j of n + 1, which falls from 1 to -1. */
static double point(int64_t j, int64_t n) { return sin(M_PI * (double)(n - 2 * j) / (double)(2 * n)); }

/* 1 + x of that point, or of any share of the way from 1 to -1 along the half circle, with all its digits. */
static double above_low(double way)
{
    const double s = sin(M_PI * (1 - way) / 2);
    return 2 * s * s;
}

static wisp_status value_at(const fit *t, double x, double above, wisp_scalar *v)
{
    const double energy = t->f->bounds->center + t->f->bounds->halfwidth * x;
    const double low = t->f->bounds->center - t->f->bounds->halfwidth,
                 high = t->f->bounds->center + t->f->bounds->halfwidth;
    *v = wisp__real(0);
    const int failed = t->f->value(t->f->arg, t->f->above_low ? t->f->bounds->halfwidth * above : energy, v);
    if (failed)
        return wisp_ctx_failf(t->f->ctx, WISP_ERR_CALLBACK, "function %d failed (%d) at energy %.10g", t->f->number,
                              failed, energy);
    if (!isfinite(v->re) || !isfinite(v->im) || !isfinite(size_of(*v)))
        return wisp_ctx_failf(t->f->ctx, WISP_ERR_NUMERIC,
                              "function %d is %g%+gi at energy %.10g; it must be finite on all of the "
                              "bounds, %.10g to %.10g",
                              t->f->number, v->re, v->im, energy, low, high);
    if (v->im == 0 || t->f->takes_complex) return WISP_OK;
    return wisp_ctx_failf(t->f->ctx, WISP_ERR_ARG,
                          "function %d is complex, %g%+gi at energy %.10g, and x is real; take complex "
                          "blocks, also with a real matrix",
                          t->f->number, v->re, v->im, energy);
}

static void close_fit(fit *t)
{
    wisp_free(t->f->ctx, t->value);
    t->value = NULL;
}

/* Memory for n + 1 points; of a function by its values all these, every other one from the n/2 + 1 points before. */
static wisp_status resize(fit *t, int64_t n)
{
    wisp_status status;
    fit next = *t;
    next.n = n;
    WISP_TRY(wisp_alloc(t->f->ctx, &next.value, 5 * (size_t)n + 2, sizeof *next.value));
    next.cosine = next.value + n + 1, next.work = next.cosine + n + 1, next.root = next.work + 2 * n;
    for (int64_t k = 0; k < n; k++) {
        const double angle = -M_PI * (double)k / (double)n;
        next.root[k] = (wisp_scalar){cos(angle), sin(angle)};
    }
    for (int64_t j = 0; j <= n && t->f->value && status == WISP_OK; j++) {
        if (j % STEP == 0) status = wisp_ctx_step(t->f->ctx, "functions", (double)j / (double)n, 0);
        if (t->value && j % 2 == 0)
            next.value[j] = t->value[j / 2];
        else if (status == WISP_OK)
            status = value_at(&next, point(j, n), above_low((double)j / (double)n), next.value + j);
    }
    close_fit(t);
    *t = next;
out:
    return status;
}

/* What the n + 1 values say of f itself. */
static void measure(const fit *t, wisp__series *s)
{
    s->largest = s->slope = 0;
    for (int64_t j = 0; j <= t->n; j++) s->largest = fmax(s->largest, size_of(t->value[j]));
    s->exponent = wisp__exponent(s->largest, SLACK, SCALED);
    s->largest = ldexp(s->largest, -s->exponent);
    for (int64_t j = 1; j <= t->n; j++) {
        const wisp_scalar a = times_power(t->value[j - 1], -s->exponent), b = times_power(t->value[j], -s->exponent);
        const double dx = point(j - 1, t->n) - point(j, t->n);
        s->slope = fmax(s->slope, hypot(b.re - a.re, b.im - a.im) / dx);
    }
    s->points = t->n + 1;
}

/* t->cosine becomes the coefficients of the polynomial of degree n/2 through every other value. */
static void interpolate(const fit *t, const wisp__series *s)
{
    const int64_t n = t->n / 2;
    for (int64_t j = 0; j <= n; j++) {
        const wisp_scalar v = times_power(t->value[2 * j], -s->exponent);
        const double part = (j == 0 || j == n ? 1.0 : 2.0) / (double)n;
        t->cosine[j] = (wisp_scalar){part * v.re, part * v.im};
    }
    cosines(t, t->cosine, n + 1, n);
    for (int64_t k = 0; k <= n; k += n) t->cosine[k] = (wisp_scalar){t->cosine[k].re / 2, t->cosine[k].im / 2};
}

/* The least number of terms from which on the others are together at most `allowed`; what the transform's rounding
   makes of nothing is none. */
static int64_t cut(const fit *t, const wisp__series *s, double allowed)
{
    const double nothing = 4 * DBL_EPSILON * s->largest / sqrt((double)t->n);
    double rest = 0;
    int64_t n = t->n / 2 + 1;
    for (; n > 1; n--) {
        const double c = size_of(t->cosine[n - 1]);
        if (c > nothing) rest += c;
        if (rest > allowed) break;
    }
    return n;
}

/* The first n coefficients, and how far from f they are at all points. */
static wisp_status keep(const fit *t, wisp__series *s, int64_t n)
{
    wisp_free(t->f->ctx, s->c);
    s->c = NULL;
    const wisp_status status = wisp_alloc(t->f->ctx, &s->c, (size_t)n, sizeof *s->c);
    if (status != WISP_OK) return status;
    s->terms = n;
    for (int64_t k = 0; k < n; k++) {
        const double damping = t->f->jackson ? wisp__jackson((double)k, (double)n) : 1;
        s->c[k] = (wisp_scalar){damping * t->cosine[k].re, t->f->takes_complex ? damping * t->cosine[k].im : 0};
    }
    cosines(t, s->c, n, t->n);
    s->error = 0;
    for (int64_t j = 0; j <= t->n; j++) {
        const wisp_scalar v = times_power(t->value[j], -s->exponent), p = t->cosine[j];
        s->error = fmax(s->error, hypot(p.re - v.re, p.im - v.im));
    }
    return WISP_OK;
}

/* The same at points of no grid: T_2048 is 1 on all of the first one. */
static wisp_status look_between(const fit *t, wisp__series *s)
{
    enum { SOME = 16 };
    for (int i = 1; i <= SOME; i++) {
        const double way = fmod(i * 0.6180339887498949, 1), x = cos(M_PI * way);
        wisp_scalar v, b = {0, 0}, c = {0, 0};
        const wisp_status status = value_at(t, x, above_low(way), &v);
        if (status != WISP_OK) return status;
        for (int64_t k = s->terms - 1; k >= 0; k--) { /* Clenshaw */
            const double f = k ? 2 * x : x;
            const wisp_scalar a = {s->c[k].re + f * b.re - c.re, s->c[k].im + f * b.im - c.im};
            c = b, b = a;
        }
        v = times_power(v, -s->exponent);
        s->error = fmax(s->error, hypot(b.re - v.re, b.im - v.im));
    }
    return WISP_OK;
}

static wisp_status not_met(const fit *t, const wisp__series *s)
{
    return wisp_ctx_failf(
        t->f->ctx, WISP_ERR_ARG,
        "function %d is not met to opts.tolerance, %g, with %lld terms, but to %.1g: it may have a "
        "step "
        "or a kink, or be too steep; smooth it over %.2g or more, or take more opts.terms, or opts.jackson",
        t->f->number, t->f->tolerance, (long long)s->terms, s->error / s->largest,
        20 * t->f->bounds->halfwidth / (double)t->f->terms);
}

/* The series of a function by its values. */
static wisp_status fit_values(fit *t, wisp__series *s)
{
    const double rounded = 16 * DBL_EPSILON; /* what the transform's rounding may add to what is cut */
    const int64_t jackson = t->f->jackson;
    wisp_status status = WISP_OK;
    for (int64_t n = LEAST;; n *= 2) {
        WISP_TRY(resize(t, 2 * n));
        if (2 * n + 1 < t->f->points || n < 2 * jackson) continue;
        measure(t, s);
        interpolate(t, s);
        const double allowed = t->f->tolerance / 2 * s->largest;
        const int64_t terms = cut(t, s, fmax(allowed / 2, allowed - rounded * s->largest));
        WISP_TRY(keep(t, s, jackson ? jackson : terms < t->f->terms ? terms : t->f->terms));
        if (jackson || s->error <= allowed) WISP_TRY(look_between(t, s));
        if (jackson || s->error <= allowed) break;
        if (n >= t->f->terms) {
            status = not_met(t, s);
            break;
        }
    }
out:
    return status;
}

/* A series that is given: scaled, and looked at. */
static wisp_status fit_series(fit *t, wisp__series *s)
{
    const wisp__fit_want *f = t->f;
    wisp_status status = WISP_OK;
    double largest = 0;
    for (int64_t k = 0; k < f->given; k++) {
        const wisp_scalar c = f->c[k];
        if (!isfinite(c.re) || !isfinite(c.im))
            return wisp_ctx_failf(t->f->ctx, WISP_ERR_NUMERIC, "coefficient %lld of function %d is %g%+gi",
                                  (long long)k, t->f->number, c.re, c.im);
        if (c.im != 0 && !t->f->takes_complex)
            return wisp_ctx_failf(t->f->ctx, WISP_ERR_ARG,
                                  "coefficient %lld of function %d is complex, and x is real; take "
                                  "complex blocks, also with a real matrix",
                                  (long long)k, t->f->number);
        largest = fmax(largest, fmax(fabs(c.re), fabs(c.im)));
    }
    int64_t n = 2 * LEAST;
    while (n < 4 * f->given) n *= 2;
    const int exponent = wisp__exponent(largest, SLACK, SCALED);
    WISP_TRY(wisp_alloc(t->f->ctx, &s->c, (size_t)f->given, sizeof *s->c));
    WISP_TRY(resize(t, n));
    for (int64_t k = 0; k < f->given; k++) s->c[k] = times_power(f->c[k], -exponent);
    s->terms = f->given;
    cosines(t, s->c, f->given, n);
    memcpy(t->value, t->cosine, (size_t)(n + 1) * sizeof *t->value);
    measure(t, s);
    s->largest = ldexp(s->largest, s->exponent), s->slope = ldexp(s->slope, s->exponent);
    s->exponent = exponent;
out:
    return status;
}

wisp_status wisp__check_range(wisp_ctx *ctx, const char *call, const char *option, int64_t is, int64_t least,
                              int64_t most)
{
    if (is >= least && is <= most) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%sopts.%s is %lld; it is %lld to %lld", call, option, (long long)is,
                          (long long)least, (long long)most);
}

wisp_status wisp__fit_options(wisp__fit_want *want, const char *call, bool single)
{
    wisp_status status;
    if (want->tolerance == 0) want->tolerance = single ? 1e-4 : 1e-10;
    if (!(want->tolerance > 0) || !(want->tolerance < 1))
        return wisp_ctx_failf(want->ctx, WISP_ERR_ARG, "%sopts.tolerance is %g, it must lie between 0 and 1", call,
                              want->tolerance);
    if (want->terms == 0) want->terms = WISP_CHEBYSHEV_TERMS;
    WISP_TRY(wisp__check_range(want->ctx, call, "terms", want->terms, 1, WISP__MOST_TERMS));
    WISP_TRY(wisp__check_range(want->ctx, call, "points", want->points, 0, 2 * WISP__MOST_TERMS + 1));
    status = wisp__check_range(want->ctx, call, "jackson", want->jackson, 0, WISP__MOST_TERMS);
out:
    return status;
}

wisp_status wisp__fit(wisp__series *s, const wisp__fit_want *want)
{
    fit t = {.f = want};
    *s = (wisp__series){0};
    const wisp_status status = want->value ? fit_values(&t, s) : fit_series(&t, s);
    close_fit(&t);
    return status;
}

double wisp__fit_points(const wisp__fit_want *want, double terms)
{
    double n = 2 * LEAST;
    while (n < (want->jackson || !want->value ? 4 : 2) * terms || n + 1 < (double)want->points) n *= 2;
    return n + 1;
}

/* Values, their transform and its work, roots: five numbers for each point, those of half as many points before, and a
   series that was not good enough. */
double wisp__fit_bytes(double points) { return sizeof(wisp_scalar) * (7.75 * points + 8); }

/* ---- of all ranks ----------------------------------------------------------------------------- */

uint64_t wisp__series_hash(const wisp__series *s, int n)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < s[i].terms; k++) {
            uint64_t bits[2];
            memcpy(bits, &s[i].c[k], sizeof bits);
            for (int j = 0; j < 2; j++) hash = (hash ^ bits[j] ^ (bits[j] >> 32)) * 0x100000001b3;
        }
    return hash;
}

/* Sums of numbers and of their squares, which are exact, tell whether all ranks have the same series. */
wisp_status wisp__series_agree(wisp_ctx *ctx, const wisp__series *s, int n)
{
    enum { PARTS = 4, BITS = 16 };
    const uint64_t hash = wisp__series_hash(s, n);
    double sum[1 + 2 * PARTS] = {1};
    for (int i = 0; i < PARTS; i++) {
        const double part = (double)(hash >> (BITS * i) & ((1 << BITS) - 1));
        sum[1 + i] = part;
        sum[1 + PARTS + i] = part * part;
    }
    const wisp_status status = wisp_ctx_sum(ctx, sum, 1 + 2 * PARTS);
    for (int i = 1; i <= PARTS && status == WISP_OK; i++)
        if (sum[0] * sum[PARTS + i] != sum[i] * sum[i])
            return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                                  "chebyshev_apply: a function has other values on one rank than on another");
    return status;
}
