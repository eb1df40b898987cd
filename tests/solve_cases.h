/* Random systems for the tests of wisp_solve, and what holds of every solution, by naive arithmetic. */
#ifndef SOLVE_CASES_H
#define SOLVE_CASES_H
#include "ref_levels.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 33, STATUSES = WISP_ERR_SINGULAR + 1, METHODS = WISP_IDR + 1 };

typedef enum {
    DEFINITE,   /* Hermitian, condition up to 100 */
    STIFF,      /* the same, up to 1e10, in single precision 1e4 */
    INDEFINITE, /* Hermitian, singular values as in DEFINITE */
    GENERAL,    /* singular values as in DEFINITE */
    NEAR,       /* one singular value is nearly 0 */
    OPEN,       /* Laplacian of a graph; the right-hand side is any */
    CLOSED,     /* the same, and the right-hand side is in its range */
    SCALED,     /* DEFINITE, with rows and columns of very different sizes */
    EMPTY,      /* sparse; some rows are empty */
    DIAGONAL,
    DEFECTIVE, /* one Jordan block */
    KINDS
} kind;
static const char *const kind_name[KINDS] = {"definite", "stiff",  "indefinite", "general",  "near",     "open",
                                             "closed",   "scaled", "empty",      "diagonal", "defective"};
static const char *const method_name[METHODS] = {"default", "cg", "bicgstab", "gmres", "minres", "lsmr", "idr"};

typedef struct {
    kind kind;
    ref_types t;
    ref_mat A, b, x0;
    wisp_mat *mat;
    int hermitian; /* up to rounding */
} linear;

/* Whether M^-1 may be on the left. */
static inline int has_sides(wisp_method m) { return m == WISP_GMRES || m == WISP_BICGSTAB || m == WISP_IDR; }
static inline int is_single(wisp_type type) { return type == WISP_S || type == WISP_C; }
static inline double unit(wisp_type type) { return is_single(type) ? FLT_EPSILON : DBL_EPSILON; }

/* ---- matrices ------------------------------------------------------------------------------------- */

/* A = H A, or A H with right, for the reflection H = I - 2 v v^H. */
static inline void reflect(ref_mat A, const cplx *v, int right)
{
    for (int64_t j = 0; j < A.rows; j++) {
        cplx sum = 0;
        for (int64_t i = 0; i < A.rows; i++) sum += right ? REF_AT(A, j, i) * v[i] : conj(v[i]) * REF_AT(A, i, j);
        for (int64_t i = 0; i < A.rows; i++)
            if (right)
                REF_AT(A, j, i) -= 2 * sum * conj(v[i]);
            else
                REF_AT(A, i, j) -= 2 * v[i] * sum;
    }
}

/* Random reflections from both sides; the same ones if A is to stay Hermitian. */
static inline void mix(ref_rng *r, ref_mat A, wisp_type type, int hermitian)
{
    cplx *v = calloc((size_t)A.rows + 1, sizeof *v);
    for (int k = 0; k < 8; k++) {
        double norm = 0;
        if (!hermitian || k % 2 == 0)
            for (int64_t i = 0; i < A.rows; i++) v[i] = ref_value(r, type);
        for (int64_t i = 0; i < A.rows; i++) norm += creal(v[i] * conj(v[i]));
        for (int64_t i = 0; i < A.rows && norm > 0; i++) v[i] /= sqrt(norm);
        reflect(A, v, k % 2);
    }
    for (int64_t i = 0; i < A.rows && hermitian; i++)
        for (int64_t j = 0; j <= i; j++) REF_AT(A, i, j) = i == j ? creal(REF_AT(A, i, i)) : conj(REF_AT(A, j, i));
    free(v);
}

/* Eigenvalues, or singular values, from 1 / condition to 1. */
static inline ref_mat spread(ref_rng *r, int64_t n, double condition, int signs)
{
    ref_mat A = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) {
        const double at = i < 2 ? (double)i : (1 + ref_uniform(r)) / 2;
        REF_AT(A, i, i) = pow(condition, -at) * (signs && ref_below(r, 2) ? -1 : 1);
    }
    return A;
}

/* Most eigenvalues, or singular values, are near 1, so that residuals fall for a while; a few are of both signs, down
   to 1e-4, so that those of BiCGStab then wander. */
static inline ref_mat wild(ref_rng *r, int64_t n, wisp_type type)
{
    ref_mat A = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        REF_AT(A, i, i) = i % 3 ? 1 + ref_uniform(r) / 10 : pow(10, -4 * ref_uniform(r)) * (ref_below(r, 2) ? -1 : 1);
    mix(r, A, type, ref_below(r, 2) == 0);
    return A;
}

/* Entries and sums are small whole numbers, times powers of i if they may be complex. */
static inline ref_mat graph(ref_rng *r, wisp_type type, int64_t n)
{
    static const cplx power[] = {1, I, -1, -I};
    ref_mat A = ref_new(n, n);
    for (int64_t e = 0; e < 2 * n; e++) {
        const int64_t i = ref_below(r, n), j = ref_below(r, n);
        const double weight = (double)(1 + ref_below(r, 3));
        if (i == j || REF_AT(A, i, j) != 0) continue;
        REF_AT(A, i, j) = REF_AT(A, j, i) = -weight;
        REF_AT(A, i, i) += weight, REF_AT(A, j, j) += weight;
    }
    for (int64_t i = 0; i < n && wisp_type_is_complex(type); i++)
        for (int64_t j = 0; j < n; j++) REF_AT(A, i, j) *= power[(i * i) % 4] * conj(power[(j * j) % 4]);
    return A;
}

static inline void scale_rows(ref_rng *r, ref_mat A, double decades)
{
    for (int64_t i = 0; i < A.rows; i++) {
        const double d = exp2(rint(decades * ref_uniform(r) * log2(10)));
        for (int64_t j = 0; j < A.rows; j++) REF_AT(A, i, j) *= d, REF_AT(A, j, i) *= d;
    }
}

static inline ref_mat sparse_matrix(ref_rng *r, wisp_type type, int64_t n)
{
    wisp_src src = ref_random_src(r, type, n, n, 6);
    ref_mat A = ref_dense(&src);
    const int hermitian = ref_below(r, 2) == 0;
    for (int64_t i = 0; i < n && hermitian; i++)
        for (int64_t j = 0; j <= i; j++) REF_AT(A, i, j) = i == j ? creal(REF_AT(A, i, i)) : conj(REF_AT(A, j, i));
    wisp_src_close(&src);
    return A;
}

static inline ref_mat kind_matrix(ref_rng *r, kind k, wisp_type type, int64_t n)
{
    static const double lambda[] = {1, 0.5, 2, 0};
    const double chance = (1 + ref_uniform(r)) / 2;
    ref_mat A;
    switch (k) {
    case STIFF: A = spread(r, n, pow(10, 2 + chance * (is_single(type) ? 2 : 8)), 0); break;
    case INDEFINITE: A = spread(r, n, pow(10, 2 * chance), 1); break;
    case OPEN:
    case CLOSED: return graph(r, type, n);
    case EMPTY: return sparse_matrix(r, type, n);
    case DIAGONAL:
        A = ref_new(n, n);
        for (int64_t i = 0; i < n; i++)
            REF_AT(A, i, i) = (double)(1 + ref_below(r, 5)) * (ref_below(r, 9) || chance < 0.5 ? 1 : -1);
        return A;
    case DEFECTIVE:
        A = ref_new(n, n);
        for (int64_t i = 0; i < n; i++) {
            REF_AT(A, i, i) = lambda[(int)(4 * chance)];
            if (i > 0) REF_AT(A, i - 1, i) = 1;
        }
        return A;
    default: A = spread(r, n, pow(10, 2 * chance), 0);
    }
    if (k == NEAR && n > 1) REF_AT(A, n - 1, n - 1) = 1e-3 * unit(type);
    mix(r, A, type, k != GENERAL && (k != NEAR || chance < 0.5));
    if (k == SCALED) scale_rows(r, A, is_single(type) ? 1 : 3);
    return A;
}

/* ---- systems -------------------------------------------------------------------------------------- */

static inline int nearly_hermitian(ref_mat A, wisp_type type)
{
    const double most = (is_single(type) ? 1e-6 : 1e-10) * ref_largest(A);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t j = 0; j <= i; j++)
            if (cabs(REF_AT(A, i, j) - conj(REF_AT(A, j, i))) > most) return 0;
    return 1;
}

/* Right-hand sides: any; in the range of A; some of 0, or large, or small. */
static inline ref_mat right_sides(ref_rng *r, const linear *l, int width)
{
    ref_mat x = ref_random_block(r, l->t.blk, l->A.rows, width);
    for (int64_t i = 0; i < l->A.rows * width; i++)
        if (l->kind == CLOSED) x.a[i] = rint(8 * creal(x.a[i])) / 8 + I * rint(8 * cimag(x.a[i])) / 8;
    if (l->kind == CLOSED || (l->kind != OPEN && ref_below(r, 2))) {
        ref_mat b = ref_times(l->A, x);
        ref_free(x);
        x = b;
    }
    for (int j = 0; j < width; j++) {
        const double s = ref_below(r, 10) == 0 ? 0 : exp2((double)ref_below(r, is_single(l->t.blk) ? 20 : 60) - 10);
        for (int64_t i = 0; i < l->A.rows; i++) REF_AT(x, i, j) *= s;
    }
    ref_round(x, l->t.blk);
    return x;
}

static inline linear linear_of(wisp_ctx *ctx, ref_mat A, ref_types t, ref_mat b)
{
    ref_round(A, t.mat);
    ref_round(b, t.blk);
    linear l = {.kind = KINDS, .t = t, .A = A, .b = b, .mat = ref_mat_of(ctx, A, t.mat)};
    l.hermitian = nearly_hermitian(A, t.mat);
    l.x0 = ref_new(b.rows, b.cols);
    return l;
}

static inline linear random_linear(wisp_ctx *ctx, ref_rng *r, kind k, ref_types t, int64_t n, int width)
{
    linear l = {.kind = k, .t = t};
    l.A = kind_matrix(r, k, t.mat, n);
    ref_round(l.A, t.mat);
    l.hermitian = nearly_hermitian(l.A, t.mat);
    l.b = right_sides(r, &l, width);
    l.x0 = ref_random_block(r, t.blk, n, width);
    l.mat = ref_mat_of(ctx, l.A, t.mat);
    return l;
}

static inline void linear_free(linear *l)
{
    ref_free(l->A), ref_free(l->b), ref_free(l->x0);
    wisp_mat_free(l->mat);
}

/* ---- what must hold ------------------------------------------------------------------------------- */

/* |b - A x| of each column, and how far rounding may take such a norm that is computed in the blocks' type. */
typedef struct {
    double b[COLUMNS], r[COLUMNS], noise[COLUMNS];
} residuals;
static inline residuals residuals_of(const linear *l, ref_mat x)
{
    residuals s = {0};
    for (int64_t j = 0; j < x.cols; j++) {
        for (int64_t i = 0; i < l->A.rows; i++) {
            const cplx b = REF_AT(l->b, i, j);
            cplx sum = b;
            double size = cabs(b);
            int terms = 4;
            for (int64_t k = 0; k < l->A.cols; k++) {
                const cplx a = REF_AT(l->A, i, k);
                if (a == 0) continue;
                sum -= a * REF_AT(x, k, j);
                size += cabs(a) * cabs(REF_AT(x, k, j));
                terms++;
            }
            const double e = terms * unit(l->t.blk) * size;
            s.b[j] += creal(b * conj(b));
            s.r[j] += creal(sum * conj(sum));
            s.noise[j] += e * e;
        }
        s.b[j] = sqrt(s.b[j]), s.r[j] = sqrt(s.r[j]), s.noise[j] = sqrt(s.noise[j]);
    }
    return s;
}

/* The least |b_j - A x| of any x, where singular values under `small` times the largest count as 0: by LAPACK, of the
   real matrix [Re A, -Im A; Im A, Re A]. */
static inline double least_residual(const linear *l, int64_t column, double small)
{
    const int64_t n = l->A.rows, m = 2 * n;
    double *a = real_form(l->A, 2), *x = ref_lapack((size_t)m, m), *s = ref_lapack((size_t)m, m);
    lapack_int rank;
    for (int64_t i = 0; i < m; i++) {
        const cplx b = REF_AT(l->b, i % n, column);
        x[i] = i < n ? creal(b) : cimag(b);
    }
    assert_int_equal(LAPACKE_dgelsd(LAPACK_COL_MAJOR, (int)m, (int)m, 1, a, (int)m, x, (int)m, s, small, &rank), 0);
    ref_mat y = ref_new(n, l->b.cols);
    for (int64_t i = 0; i < n; i++) REF_AT(y, i, column) = x[i] + I * x[n + i];
    const double least = residuals_of(l, y).r[column];
    free(a), free(x), free(s);
    ref_free(y);
    return least;
}

/* What comes out of a call, checked. */
typedef struct {
    wisp_status status;
    wisp_solution s; /* its arrays are gone */
    wisp_status of[COLUMNS];
    int64_t iterations[COLUMNS];
    double residual[COLUMNS]; /* the true one over |b| */
    ref_mat x;
} outcome;

typedef struct {
    int64_t calls;
    double last;
    int64_t stop; /* at this iteration; 0: never */
} watcher;
static inline int watch(void *arg, int64_t iteration, double residual)
{
    watcher *w = arg;
    w->calls++;
    w->last = residual;
    if (iteration != w->calls) return 1;
    return iteration == w->stop;
}

/* Statuses of a call that solves nothing, and leaves x as it is. */
static inline int is_refusal(wisp_status s)
{
    return s == WISP_ERR_ARG || s == WISP_ERR_MISMATCH || s == WISP_ERR_UNSUPPORTED || s == WISP_ERR_NUMERIC ||
           s == WISP_ERR_HERMITIAN;
}
/* Those after which a residual need not be known. */
static inline int is_interruption(wisp_status s)
{
    return s == WISP_ERR_CANCELLED || s == WISP_ERR_CALLBACK || s == WISP_ERR_NOMEM;
}

static inline void check_column(const linear *l, const wisp_solve_opts *o, const wisp_solution *s, const residuals *got,
                                const residuals *start, int j, const char *what)
{
    const double tolerance = o->tolerance > 0 ? o->tolerance : is_single(l->t.blk) ? 1e-4 : 1e-8;
    const double b = got->b[j], r = got->r[j], noise = got->noise[j] + start->noise[j];
    if (s->status[j] == WISP_OK && !(r <= tolerance * b * (1 + 1e-6) + got->noise[j]))
        fail_msg("%s: column %d is said to have converged; its residual is %g, wanted %g", what, j, r / b, tolerance);
    if (b == 0 && (s->residuals[j] != 0 || s->status[j] != WISP_OK || r != 0))
        fail_msg("%s: column %d of 0: %s, residual %g", what, j, wisp_status_string(s->status[j]), s->residuals[j]);
    const int known = !is_interruption(s->status[j]) || !isnan(s->residuals[j]);
    if (b > 0 && known && !(fabs(s->residuals[j] - r / b) <= 1e-6 * r / b + got->noise[j] / b))
        fail_msg("%s: column %d: residual %g, is said to be %g", what, j, r / b, s->residuals[j]);
    if (!(r <= start->r[j] * (1 + 1e-6) + noise))
        fail_msg("%s: column %d is worse than the guess: %g, from %g", what, j, r, start->r[j]);
    if (s->iterations_of[j] > s->iterations || s->iterations_of[j] < 0)
        fail_msg("%s: column %d: %lld iterations", what, j, (long long)s->iterations_of[j]);
    if (s->status[j] != WISP_ERR_SINGULAR) return;
    const double least = least_residual(l, j, 1000 * unit(l->t.blk));
    /* With a preconditioner minres makes another norm of the residual least. */
    const double most = o->precond == WISP_PRECOND_NONE ? 1.5 * least : b;
    if (!(r <= most + got->noise[j]) || !(least > tolerance * b - got->noise[j]))
        fail_msg("%s: column %d is said to have no solution; residual %g, could be %g", what, j, r / b, least / b);
}

static inline void check_solution(const linear *l, const wisp_solve_opts *o, const wisp_solution *s, wisp_status status,
                                  const residuals *got, const residuals *start, const char *what)
{
    wisp_status first = WISP_OK;
    double most = 0, begin = 0;
    assert_int_equal(s->columns, l->b.cols);
    for (int j = 0; j < s->columns; j++) {
        check_column(l, o, s, got, start, j, what);
        if (first == WISP_OK) first = s->status[j];
        if (!(s->residuals[j] <= most) && !isnan(most)) most = s->residuals[j];
        if (start->b[j] > 0) begin = fmax(begin, start->r[j] / start->b[j]);
    }
    const int told = s->residual == most || (isnan(most) && isnan(s->residual));
    if ((status != first && !is_interruption(status)) || s->converged != (first == WISP_OK) || !told)
        fail_msg("%s: %s, of columns %s, converged %d, residual %g", what, wisp_status_string(status),
                 wisp_status_string(first), s->converged, s->residual);
    if (o->max_iterations > 0 && s->iterations > o->max_iterations)
        fail_msg("%s: %lld iterations", what, (long long)s->iterations);
    if (!(fabs(s->history[0] - begin) <= 1e-3 * begin))
        fail_msg("%s: the history begins with %g, not %g", what, s->history[0], begin);
    if (o->method != WISP_METHOD_DEFAULT && o->method != s->method &&
        !((o->method == WISP_CG || (o->method == WISP_BICGSTAB && l->hermitian)) && s->method == WISP_MINRES))
        fail_msg("%s: method %s", what, method_name[s->method]);
}

/* Solves a system, by `mat` in the place of its matrix if there is one, and fails unless all that is said is true. */
static inline outcome solve_by(wisp_ctx *ctx, const linear *l, const wisp_mat *mat, const wisp_solve_opts *o,
                               const char *what)
{
    outcome out = {0};
    wisp_blk *x, *b;
    const int width = (int)l->b.cols;
    watcher w = {0};
    wisp_solve_opts options = *o;
    if (!mat) mat = l->mat;
    if (!o->observe) options.observe = watch, options.observe_arg = &w;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(mat), l->t.blk, width));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(mat), l->t.blk, width));
    ref_put(b, l->b);
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){NAN, 0}));
    if (o->guess) ref_put(x, l->x0);
    out.status = wisp_solve(&out.s, x, mat, b, &options);
    out.x = ref_get(x);
    if (out.status != WISP_OK && !*message_of(ctx)) fail_msg("%s: no message", what);
    if (!is_refusal(out.status) && out.s.history) {
        ref_mat zero = ref_new(l->b.rows, width), kept = ref_get(b);
        const residuals start = residuals_of(l, o->guess ? l->x0 : zero), got = residuals_of(l, out.x);
        check_solution(l, o, &out.s, out.status, &got, &start, what);
        for (int64_t i = 0; i < kept.rows * width; i++) assert_true(kept.a[i] == l->b.a[i]);
        if (!o->observe && (w.calls != out.s.iterations || (w.calls && w.last != out.s.history[w.calls])))
            fail_msg("%s: %lld calls of the observer", what, (long long)w.calls);
        for (int j = 0; j < width; j++) {
            out.of[j] = out.s.status[j];
            out.iterations[j] = out.s.iterations_of[j];
            out.residual[j] = got.b[j] > 0 ? got.r[j] / got.b[j] : 0;
        }
        ref_free(zero), ref_free(kept);
    }
    wisp_solution arrays = out.s;
    wisp_solution_free(&arrays);
    wisp_blk_free(x);
    wisp_blk_free(b);
    return out;
}

static inline outcome solve(wisp_ctx *ctx, const linear *l, const wisp_solve_opts *o, const char *what)
{
    return solve_by(ctx, l, NULL, o, what);
}
#endif
