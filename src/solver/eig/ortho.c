/* Orthonormal columns, in passes over the block that each end with V := V X, where X is the inverse of a Cholesky
   factor of the columns' dots. How much of a column is rounding errors is kept beside it, from pass to pass: that tells
   what adds nothing to the columns, and may be dropped, from what is only short. Yamamoto et al. 2015, ETNA 44, 306
   (twice); Fukaya et al. 2020, SIAM J. Sci. Comput. 42, A477 (with a shift); for lost rank a factor with pivots. */
#include "eigen.h"
#include <string.h>

enum { ONCE = 1, TWICE, SHIFTED, PIVOTED };

typedef struct {
    wisp_ctx *ctx;
    wisp_blk *V; /* a view: columns that are left */
    const wisp_blk *Q;
    const wisp__pencil *pencil; /* dots are by its T; NULL: they are plain */
    wisp_blk *x, *s;            /* for these: columns of V, and T times them */
    bool is_complex;
    int n, q;
    double eps, rows;
    wisp_scalar *G;              /* [n * n] dots, of columns scaled to length 1; behind them [q * n] dots with Q's */
    wisp_scalar *X;              /* [n * n] */
    wisp_slot *slot;             /* for what G has */
    double *length, *noise;      /* [n] of a column, and of the rounding errors in it */
    double *scale, *part, *lost; /* [n] 1 / length, or 0: nothing but noise; noise / length; length before / after
                                    Q was projected out */
    double *value;               /* [n] */
    double unsure;               /* rounding errors in G, and in its eigenvalues */
} ortho;

static double square(wisp_scalar x) { return x.re * x.re + x.im * x.im; }

/* V -= Q Q^H V; then G = V^H V. length: of the columns before. The host waits once. */
static wisp_status dots(ortho *o, wisp__ortho *how)
{
    wisp_status status;
    const int n = o->n;
    const double each = (o->is_complex ? 8 : 2) * o->rows * n;
    const wisp_place G = {o->slot, 0}, P = {o->slot, (int64_t)n * n};
    if (o->q > 0) {
        WISP_TRY(wisp_tsm_gram_at(P, n, o->Q, o->V, 0));
        WISP_TRY(wisp_tsm_update_at(o->V, wisp__real(-1), o->Q, P, n, wisp__real(1), 0));
        how->flops += 2 * each * o->q;
    }
    const wisp__product by_S = {wisp__times_S, o->pencil, o->x, o->s};
    WISP_TRY(o->pencil ? wisp__gram_of(&by_S, o->V, o->V, NULL, G) : wisp_tsm_gram_at(G, n, o->V, o->V, 0));
    how->flops += each * n / 2;
    WISP_TRY(wisp_slot_read(o->slot, 0, (int64_t)n * (n + o->q), o->G));
    for (int j = 0; j < n; j++) o->length[j] = 0;
    for (int i = 0; i < o->q; i++)
        for (int j = 0; j < n; j++) o->length[j] += square(o->G[(n + i) * n + j]);
    for (int j = 0; j < n; j++) o->length[j] = wisp__root(o->length[j] + o->G[j * n + j].re);
out:
    return status;
}

/* Dots of very long or short columns leave the range of numbers: these columns are scaled, and all is done again. */
static wisp_status first_dots(ortho *o, wisp__ortho *how)
{
    const bool single = o->eps > 1e-10;
    const double least = single ? 1e-12 : 1e-130, factor = single ? 0x1p60 : 0x1p500;
    bool within = true;
    wisp_status status;
    WISP_TRY(dots(o, how));
    memset(o->X, 0, (size_t)o->n * (size_t)o->n * sizeof *o->X);
    for (int j = 0; j < o->n; j++) {
        const double length = o->length[j], by = length < least ? factor : length < 1 / least ? 1 : 1 / factor;
        if (by != 1) within = false;
        o->X[j * o->n + j].re = by;
    }
    if (within) goto out;
    WISP_TRY(wisp_tsm_update(o->V, wisp__real(1), o->V, o->X, o->n, wisp__real(0)));
    WISP_TRY(dots(o, how));
out:
    return status;
}

/* Columns of length 1 in G, and what is known of them. *all: none of them is noise alone. */
static wisp_status scale(ortho *o, bool *all)
{
    const int n = o->n;
    const double noisy = 4 * sqrt(n);
    double largest = 0;
    *all = true;
    for (int j = 0; j < n; j++) {
        const double before = o->length[j], length = wisp__root(o->G[j * n + j].re);
        o->noise[j] = fmax(o->noise[j], o->eps * before);
        o->length[j] = length;
        o->scale[j] = length > noisy * o->noise[j] ? 1 / length : 0;
        o->part[j] = o->scale[j] * o->noise[j];
        o->lost[j] = o->scale[j] * before;
        if (o->scale[j] == 0) *all = false;
    }
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) {
            wisp_scalar *g = &o->G[i * n + j];
            if (!isfinite(g->re) || !isfinite(g->im))
                return wisp_ctx_failf(o->ctx, WISP_ERR_NUMERIC, "dots of columns %d and %d are not finite", i, j);
            g->re *= o->scale[i] * o->scale[j];
            g->im *= o->scale[i] * o->scale[j];
            sum += sqrt(square(*g));
        }
        largest = fmax(largest, sum);
    }
    o->unsure = (10 * o->eps + 4 * n * DBL_EPSILON) * largest;
    return WISP_OK;
}

/* X[n * columns] for columns of length 1: how far it spreads errors. value[j]: noise of the new column j. */
static double spread(const ortho *o, int columns)
{
    double one = 0, infinite = 0;
    for (int j = 0; j < columns; j++) {
        double sum = 0, noise = 0;
        for (int i = 0; i < o->n; i++) {
            const double x = square(o->X[i * columns + j]);
            sum += sqrt(x) * o->lost[i];
            noise += x * o->part[i] * o->part[i];
        }
        one = fmax(one, sum);
        o->value[j] = sqrt(noise);
    }
    for (int i = 0; i < o->n; i++) {
        double sum = 0;
        for (int j = 0; j < columns; j++) sum += sqrt(square(o->X[i * columns + j])) * o->lost[i];
        infinite = fmax(infinite, sum);
    }
    return one * infinite; /* at least the square of the largest singular value */
}

/* X = R^-1, R^H R = G + shift. *good: that can be relied on, and no new column is noise. */
static wisp_status cholesky(ortho *o, bool shifted, double *spreads, bool *good)
{
    const int n = o->n;
    int definite;
    memcpy(o->X, o->G, (size_t)n * (size_t)n * sizeof *o->X);
    for (int j = 0; shifted && j < n; j++) o->X[j * n + j].re += o->unsure;
    wisp_status status = wisp__dense_cholesky(o->ctx, o->is_complex, n, o->X, &definite);
    *good = status == WISP_OK && definite == n;
    if (!*good) return status;
    *spreads = spread(o, n);
    double trace = 0; /* of the inverse of G */
    for (int i = 0; i < n * n; i++) trace += square(o->X[i]);
    if (!shifted && trace * o->unsure > 1) *good = false;
    for (int j = 0; j < n; j++)
        if (4 * sqrt(n) * o->value[j] > 1) *good = false;
    return WISP_OK;
}

/* to[n] -= a x[n] */
static void subtract(wisp_scalar *to, wisp_scalar a, const wisp_scalar *x, int n)
{
    if (a.re == 0 && a.im == 0) return;
    for (int j = 0; j < n; j++) {
        to[j].re -= a.re * x[j].re - a.im * x[j].im;
        to[j].im -= a.re * x[j].im + a.im * x[j].re;
    }
}

/* Columns of G one after the other, always the one that is farthest above its noise once those before are projected
   out: so no column suffers from a noisier one. R[k * n + j], row k: of column[k], the k-th that stays. Where only
   noise is left, the column is dropped. Where less is left than G's rounding errors, the others keep their parts along
   it, and it is made no longer than these errors allow: the next pass sees it clear of the others (*clean: none is so).
 */
static int factor(const ortho *o, wisp_scalar *R, double *left, int *column, bool *clean)
{
    const int n = o->n;
    int kept = 0;
    *clean = true;
    for (int j = 0; j < n; j++) left[j] = o->scale[j] > 0 ? 1 : -1; /* squared; -1: done with */
    for (;;) {
        int p = -1;
        double best = -1;
        for (int j = 0; j < n; j++) {
            const double above = fmax(left[j], 0) / (o->part[j] * o->part[j]);
            if (left[j] != -1 && above > best) p = j, best = above;
        }
        if (p < 0) return kept;
        const double value = fmax(left[p], o->unsure);
        const bool sure = left[p] > o->unsure;
        left[p] = -1;
        if (sqrt(value) <= 4 * sqrt(n) * o->part[p]) continue;
        wisp_scalar *row = R + kept * n;
        memset(row, 0, (size_t)n * sizeof *row);
        if (sure) {
            memcpy(row, o->G + p * n, (size_t)n * sizeof *row);
            for (int k = 0; k < kept; k++)
                subtract(row, (wisp_scalar){R[k * n + p].re, -R[k * n + p].im}, R + k * n, n);
        }
        for (int j = 0; j < n; j++) {
            row[j].re /= sqrt(value), row[j].im /= sqrt(value);
            if (left[j] != -1) left[j] = fmax(left[j] - square(row[j]), 0);
        }
        row[p] = wisp__real(sqrt(value));
        column[kept++] = p;
        *clean = *clean && sure;
    }
}

/* X[n * *kept] = R^-1 with R as above. */
static wisp_status pivoted(ortho *o, int *kept, bool *clean, double *spreads)
{
    const int n = o->n;
    wisp_status status = WISP_OK;
    int *column = NULL;
    wisp_scalar *R = NULL;
    WISP_TRY(wisp_alloc(o->ctx, &column, (size_t)n, sizeof *column));
    WISP_TRY(wisp_alloc(o->ctx, &R, (size_t)n * (size_t)n, sizeof *R));
    const int m = *kept = factor(o, R, o->value, column, clean);
    memset(o->X, 0, (size_t)n * (size_t)n * sizeof *o->X);
    for (int i = m - 1; i >= 0; i--) {
        wisp_scalar *x = o->X + column[i] * m;
        const double diagonal = R[i * n + column[i]].re;
        x[i].re = 1;
        for (int l = i + 1; l < m; l++) subtract(x, R[i * n + column[l]], o->X + column[l] * m, m);
        for (int j = i; j < m; j++) x[j].re /= diagonal, x[j].im /= diagonal;
    }
    *spreads = spread(o, m);
out:
    wisp_free(o->ctx, column);
    wisp_free(o->ctx, R);
    return status;
}

/* V := V X, of so many columns; these are the ones that are left. */
static wisp_status multiply(ortho *o, int columns, double flops, wisp__ortho *how)
{
    wisp_blk *W = NULL;
    wisp_status status = WISP_OK;
    for (int i = 0; i < o->n; i++)
        for (int j = 0; j < columns; j++) {
            o->X[i * columns + j].re *= o->scale[i];
            o->X[i * columns + j].im *= o->scale[i];
        }
    if (columns > 0) {
        WISP_TRY(wisp_blk_cols(&W, o->V, 0, columns));
        WISP_TRY(wisp_tsm_update(W, wisp__real(1), o->V, o->X, columns, wisp__real(0)));
        wisp_blk *old = o->V;
        o->V = W, W = old;
    }
    memcpy(o->noise, o->value, (size_t)columns * sizeof *o->noise);
    how->flops += flops * o->rows * o->n * columns;
    o->n = columns;
out:
    wisp_blk_free(W);
    return status;
}

/* One pass. *enough: how much errors may be spread by the last one; 0 afterwards: it was that. */
static wisp_status pass(ortho *o, bool first, bool shifted, double *enough, wisp__ortho *how)
{
    wisp_status status;
    bool all, good = false, clean = true;
    int columns = o->n, rung = first ? ONCE : TWICE;
    double spreads = 0, flops = o->is_complex ? 4 : 1;
    WISP_TRY(first ? first_dots(o, how) : dots(o, how));
    WISP_TRY(scale(o, &all));
    if (all && !shifted) WISP_TRY(cholesky(o, false, &spreads, &good));
    if (all && !good && how->rung < SHIFTED) {
        WISP_TRY(cholesky(o, true, &spreads, &good));
        rung = SHIFTED, clean = false;
    }
    if (!good) {
        WISP_TRY(pivoted(o, &columns, &clean, &spreads));
        rung = PIVOTED, flops *= 2;
    }
    if (rung > how->rung) how->rung = rung;
    WISP_TRY(multiply(o, columns, flops, how));
    how->defect = o->eps * spreads;
    if (clean && spreads <= *enough) *enough = 0;
out:
    return status;
}

static void free_all(ortho *o)
{
    wisp_blk_free(o->V);
    wisp_blk_free(o->x);
    wisp_blk_free(o->s);
    wisp_free(o->ctx, o->G);
    wisp_free(o->ctx, o->X);
    wisp_slot_free(o->slot);
    wisp_free(o->ctx, o->length);
}

/* k: where dots may be by a pencil's T, and there is no Q; else NULL. */
static wisp_status orthonormal(const wisp__eig *k, wisp_blk *V, const wisp_blk *Q, double condition, wisp__ortho *how)
{
    enum { PASSES = 10, ARRAYS = 6 };
    wisp_status status = WISP_OK;
    const int n = wisp_blk_width(V), q = Q ? wisp_blk_width(Q) : 0;
    const size_t columns = (size_t)n;
    const wisp_type type = wisp_blk_type(V);
    ortho o = {.ctx = wisp_blk_ctx(V),
               .Q = Q,
               .pencil = k ? k->pencil : NULL,
               .is_complex = wisp_type_is_complex(type),
               .n = n,
               .q = q,
               .eps = wisp__is_single(type) ? FLT_EPSILON : DBL_EPSILON,
               .rows = (double)wisp_map_rows(wisp_blk_map(V))};
    /* One pass leaves errors of the square of the condition; in a second one V is nearly orthonormal already. */
    double enough = condition > 0 && condition < 20 ? 400 * n : 4;
    *how = (wisp__ortho){0};
    WISP_TRY(wisp_blk_cols(&o.V, V, 0, n));
    if (o.pencil) {
        const int width = wisp__ritz_width(k, n);
        WISP_TRY(wisp_blk_create(&o.x, o.ctx, wisp_blk_map(V), type, width));
        WISP_TRY(wisp_blk_create(&o.s, o.ctx, wisp_blk_map(V), type, width));
        o.eps *= sqrt(o.pencil->condition);
    }
    WISP_TRY(wisp_alloc(o.ctx, &o.G, columns * (columns + (size_t)q), sizeof *o.G));
    WISP_TRY(wisp_alloc(o.ctx, &o.X, columns * columns, sizeof *o.X));
    WISP_TRY(wisp_slot_create(&o.slot, o.ctx, (int64_t)n * (n + q)));
    WISP_TRY(wisp_alloc(o.ctx, &o.length, ARRAYS * columns, sizeof *o.length));
    o.noise = o.length + n, o.scale = o.noise + n, o.part = o.scale + n, o.lost = o.part + n, o.value = o.lost + n;
    for (int j = 0; j < n; j++) o.noise[j] = 0;
    const bool shifted = condition * sqrt(o.eps) > 0.1;
    for (int i = 0; i < PASSES && enough > 0 && o.n > 0; i++)
        WISP_TRY(pass(&o, i == 0, shifted && i == 0, &enough, how));
    if (enough > 0 && o.n > 0)
        status =
            wisp_ctx_failf(o.ctx, WISP_ERR_BREAKDOWN, "%d columns do not become orthonormal in %d passes", n, PASSES);
    how->rank = o.n;
out:
    free_all(&o);
    return status;
}

wisp_status wisp__orthonormal(wisp_blk *V, const wisp_blk *Q, double condition, wisp__ortho *how)
{
    return orthonormal(NULL, V, Q, condition, how);
}

wisp_status wisp__eig_orthonormal(const wisp__eig *k, wisp_blk *V, double condition, wisp__ortho *how)
{
    return orthonormal(k, V, NULL, condition, how);
}
