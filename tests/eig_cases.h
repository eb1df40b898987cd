/* Random Hermitian matrices of known spectra, and what a result of wisp_eig must hold: every eigenvalue that was asked
   for once, right pairs, and "complete" only if nothing is missing. */
#ifndef EIG_CASES_H
#define EIG_CASES_H
#include "ref.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum { SPREAD, CLUSTERED, MULTIPLE, GAPPED, LINEAR, TWO_LEVELS, EQUAL, SPECTRA } spectrum;
static const char *const spectrum_name[] = {"spread",     "clustered",  "multiple", "gapped",
                                            "linear DOS", "two levels", "equal"};

/* An operator whose function is the product with a stored matrix, its arg. */
static inline wisp_status apply_stored(void *arg, wisp_blk *y, const wisp_blk *x)
{
    return wisp_spmmv(y, arg, x, NULL);
}

static inline int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* n eigenvalues, ascending, in about -1 .. 1. */
static inline double *spectrum_of(ref_rng *r, spectrum kind, int64_t n)
{
    double *e = calloc((size_t)n, sizeof *e);
    assert_non_null(e);
    const double center = ref_uniform(r);
    for (int64_t i = 0; i < n; i++) {
        const double x = ref_uniform(r);
        e[i] = x;
        if (kind == CLUSTERED) e[i] = 0.25 * floor(4 * x) + 1e-5 * ref_uniform(r);
        if (kind == MULTIPLE) e[i] = (double)(i / (1 + i % 7)) / (double)n;
        if (kind == GAPPED) e[i] = x < 0 ? -0.5 + 0.4 * x : 0.5 + 0.4 * x;
        if (kind == LINEAR) e[i] = copysign(sqrt(fabs(x)), x);
        if (kind == TWO_LEVELS) e[i] = x < 0.3 ? -0.3 : 0.7;
        if (kind == EQUAL) e[i] = center;
    }
    qsort(e, (size_t)n, sizeof *e, by_size);
    return e;
}

/* Q diag(e) Q^H with Q a product of three random reflections; exactly Hermitian. */
static inline ref_mat hermitian_of(ref_rng *r, const double *e, int64_t n, wisp_type type)
{
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) REF_AT(m, i, i) = e[i];
    cplx *v = calloc(2 * (size_t)n, sizeof *v), *w = v + n;
    assert_non_null(v);
    for (int turn = 0; turn < 3 && n > 1; turn++) {
        double norm = 0;
        for (int64_t i = 0; i < n; i++) v[i] = ref_value(r, type), norm += creal(v[i] * conj(v[i]));
        for (int64_t i = 0; i < n; i++) v[i] /= sqrt(norm);
        /* (I - 2 v v^H) M (I - 2 v v^H) = M - v u^H - u v^H, u = 2 M v - 2 v <v, M v> */
        cplx vmv = 0;
        for (int64_t i = 0; i < n; i++) {
            w[i] = 0;
            for (int64_t j = 0; j < n; j++) w[i] += REF_AT(m, i, j) * v[j];
            vmv += conj(v[i]) * w[i];
        }
        for (int64_t i = 0; i < n; i++) w[i] = 2 * w[i] - 2 * v[i] * vmv;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) REF_AT(m, i, j) -= v[i] * conj(w[j]) + w[i] * conj(v[j]);
    }
    for (int64_t i = 0; i < n; i++) {
        REF_AT(m, i, i) = creal(REF_AT(m, i, i));
        for (int64_t j = 0; j < i; j++) REF_AT(m, i, j) = conj(REF_AT(m, j, i));
    }
    free(v);
    ref_round(m, type);
    return m;
}

/* Eigenvalues e[from] .. e[to - 1] are asked for without doubt, and none outside may_from .. may_to. */
typedef struct {
    int64_t from, to, may_from, may_to;
} demand;

static inline demand demand_of(const wisp_eig_opts *o, const double *e, int64_t n, double blur)
{
    demand d = {0, n, 0, n};
    if (o->which == WISP_EIG_INTERVAL) {
        while (d.from < n && e[d.from] < o->low + blur) d.from++;
        while (d.to > d.from && e[d.to - 1] > o->high - blur) d.to--;
        while (d.may_from < n && e[d.may_from] < o->low - blur) d.may_from++;
        while (d.may_to > d.may_from && e[d.may_to - 1] > o->high + blur) d.may_to--;
        return d;
    }
    const int64_t count = o->count > 0 ? o->count : 1;
    if (o->which == WISP_EIG_SMALLEST) d.to = count;
    if (o->which == WISP_EIG_LARGEST || o->which == WISP_EIG_LARGEST_REAL) d.from = n - count;
    if (o->which == WISP_EIG_NEAREST)
        while (d.to - d.from > count) {
            if (o->target - e[d.from] > e[d.to - 1] - o->target)
                d.from++;
            else
                d.to--;
        }
    d.may_from = d.from, d.may_to = d.to;
    while (d.may_from > 0 && e[d.from] - e[d.may_from - 1] <= blur) d.may_from--;
    while (d.may_to < n && e[d.may_to] - e[d.to - 1] <= blur) d.may_to++;
    if (o->which == WISP_EIG_NEAREST) { /* as far on the other side */
        const double far = fmax(o->target - e[d.from], e[d.to - 1] - o->target);
        while (d.may_from > 0 && o->target - e[d.may_from - 1] <= far + blur) d.may_from--;
        while (d.may_to < n && e[d.may_to] - o->target <= far + blur) d.may_to++;
        while (d.from < d.to && o->target - e[d.from] >= far - blur) d.from++;
        while (d.to > d.from && e[d.to - 1] - o->target >= far - blur) d.to--;
    }
    return d;
}

/* The found values are those of the spectrum, each once: e[first] .. e[first + found - 1] for some first. */
static inline bool matches(const wisp_eigen *v, const double *e, const demand *d, double error)
{
    for (int64_t first = d->may_from; first + v->found <= d->may_to; first++) {
        if (d->from < d->to && (first > d->from || first + v->found < d->to)) continue;
        bool fine = true;
        for (int i = 0; i < v->found && fine; i++) fine = fabs(v->value[i].re - e[first + i]) <= error;
        if (fine) return true;
    }
    return false;
}

/* |A v - lambda v| by the oracle, and, of a Hermitian matrix, |V^H V - I|. */
static inline void assert_pairs(const wisp_eigen *v, ref_mat m, double tolerance, double eps, const char *what)
{
    if (v->found == 0) return;
    ref_mat x = ref_get(v->vectors), y = ref_times(m, x);
    assert_int_equal(x.cols, v->found);
    for (int j = 0; j < v->found; j++) {
        double sum = 0, norm = 0;
        for (int64_t i = 0; i < x.rows; i++) {
            const cplx d = REF_AT(y, i, j) - (v->value[j].re + v->value[j].im * I) * REF_AT(x, i, j);
            sum += creal(d * conj(d)), norm += creal(REF_AT(x, i, j) * conj(REF_AT(x, i, j)));
        }
        const double room = 30 * eps * (double)m.rows;
        if (!(sqrt(sum) <= tolerance + room) || !(fabs(norm - 1) <= room))
            fail_msg("%s: pair %d, %.15g: residual %.2e, the tolerance is %.2e; length - 1 is %.1e", what, j,
                     v->value[j].re, sqrt(sum), tolerance, norm - 1);
        if (!v->condition && !(v->orthogonality <= room)) fail_msg("%s: orthogonality %.1e", what, v->orthogonality);
    }
    ref_free(x);
    ref_free(y);
}

typedef struct {
    int right, told; /* complete, and so it was; said not to be complete, or another failure */
} eig_tally;

/* One random question; fails the test where "complete" is not so. */
static inline void random_eig(wisp_ctx *ctx, uint64_t seed, int64_t most_rows, wisp_eig_method method, eig_tally *t)
{
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    ref_rng r = {seed};
    const wisp_type type = types[ref_below(&r, 4)];
    const bool single = type == WISP_S || type == WISP_C;
    const bool ends = method == WISP_LANCZOS || method == WISP_KRYLOV_SCHUR; /* of matrices that are not too small */
    const int64_t n = ends ? 250 + ref_below(&r, most_rows) : 1 + ref_below(&r, ref_below(&r, 8) ? most_rows : 3);
    const spectrum kind = (spectrum)ref_below(&r, SPECTRA);
    double *e = spectrum_of(&r, kind, n);
    ref_mat m = hermitian_of(&r, e, n, type);
    wisp_mat *A = ref_mat_of(ctx, m, type);
    const double eps = single ? 1.2e-7 : 2.2e-16, tolerance = single ? 2e-5 : 1e-8;
    wisp_eig_opts o = {.method = method, .tolerance = tolerance, .seed = seed};
    if (ends) {
        o.which = method == WISP_LANCZOS ? (wisp_eig_which)ref_below(&r, 2) : WISP_EIG_LARGEST_REAL;
        o.count = 1 + (int)ref_below(&r, 8);
        o.block = (int)ref_below(&r, 4);
    } else if (ref_below(&r, 2) || method == WISP_CHEBFD) {
        o.which = ref_below(&r, 2) ? WISP_EIG_INTERVAL : WISP_EIG_NEAREST;
        o.count = 1 + (int)ref_below(&r, n < 20 ? n : 20);
        o.target = ref_below(&r, 2) ? ref_uniform(&r) : e[ref_below(&r, n)];
        const double half = ref_below(&r, 4) ? 0.1 * (1 + ref_uniform(&r)) : ref_below(&r, 2) ? 0 : 2;
        o.low = o.target - half, o.high = o.target + half;
        if (ref_below(&r, 4) == 0) o.high = fmax(e[ref_below(&r, n)], o.low);
    } else {
        o.which = (wisp_eig_which)ref_below(&r, 2);
        o.count = 1 + (int)ref_below(&r, n);
    }
    if (method == WISP_CHEBFD && seed % 2) o.filter_type = WISP_S;
    char what[160];
    snprintf(what, sizeof what, "seed %llu: %lld rows, %s, %s, question %d, count %d, target %g, %g .. %g",
             (unsigned long long)seed, (long long)n, wisp_type_name(type), spectrum_name[kind], o.which, o.count,
             o.target, o.low, o.high);
    wisp_eigen v;
    const wisp_status status = wisp_eig(&v, A, &o);
    const double h = v.bounds.halfwidth, error = tolerance * h + 30 * eps * (double)n;
    assert_int_equal(v.complete, status == WISP_OK);
    if (status == WISP_OK) {
        const demand d = demand_of(&o, e, n, 3 * error);
        if (!matches(&v, e, &d, error)) {
            for (int i = 0; i < v.found; i++) print_message("found %.12g\n", v.value[i].re);
            for (int64_t i = d.may_from; i < d.may_to; i++) print_message("there is %.12g\n", e[i]);
            fail_msg("%s: %d found, from %lld to %lld are there", what, v.found, (long long)(d.to - d.from),
                     (long long)(d.may_to - d.may_from));
        }
        t->right++;
    } else {
        print_message("%s: %s\n", what, message_of(ctx));
        t->told++;
    }
    assert_pairs(&v, m, tolerance * h, eps, what);
    wisp_eigen_free(&v);
    wisp_mat_free(A);
    ref_free(m);
    free(e);
}
#endif
