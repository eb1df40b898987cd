/* The blocks on the diagonal of a matrix, inverted; the diagonal itself is blocks of one row. In double precision
   whatever the type, one block after the other, by all threads. */
#include "precond.h"
#include "../solver.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef double complex number;

/* What a thread works with, and the first of its blocks that could not be inverted. */
typedef struct {
    number *block, *inverse; /* [n][n] */
    number *null, *image;    /* [n][nulls] */
    int64_t *pivot;          /* [n] */
    int64_t *col;            /* [max_row] */
    char *val;
    int64_t bad; /* a row of the rank, or -1 */
    wisp_status why;
} part;

typedef struct {
    wisp__diagonal *d;
    wisp_type type;       /* of the matrix */
    wisp_src src;         /* its rows; where blocks are numbers, and real, they are not needed */
    double factor;        /* of the matrix */
    const char *definite; /* blocks must be positive definite: what to take else; NULL: they need not */
    int64_t at_a_time;    /* blocks */
    char *null;           /* [rows][nulls] of null_type */
    int nulls;            /* 0: none are given */
    wisp_type null_type;
    part *parts;
} run;

double complex wisp__number_at(wisp_type type, const void *p, int64_t i)
{
    const double *d = p;
    const float *f = p;
    switch (type) {
    case WISP_S: return (double)f[i];
    case WISP_D: return d[i];
    case WISP_C: return (double)f[2 * i] + I * (double)f[2 * i + 1];
    default: return d[2 * i] + I * d[2 * i + 1];
    }
}

void wisp__number_put(wisp_type type, void *p, int64_t i, double complex v)
{
    wisp__put(type, p, i, (wisp_scalar){creal(v), cimag(v)});
}

static bool is_finite(number v) { return isfinite(creal(v)) && isfinite(cimag(v)); }

/* The block of m local rows from `row` on. */
static wisp_status read_block(const run *r, part *p, int64_t row, int64_t m)
{
    const int64_t corner = r->d->first + row;
    memset(p->block, 0, (size_t)(m * m) * sizeof *p->block);
    for (int64_t i = 0; i < m; i++) {
        const int count = r->src.row(r->src.arg, corner + i, p->col, p->val);
        if (count < 0) return WISP_ERR_CALLBACK;
        for (int k = 0; k < count; k++)
            if (p->col[k] >= corner && p->col[k] < corner + m)
                p->block[i * m + p->col[k] - corner] += r->factor * wisp__number_at(r->src.type, p->val, k);
    }
    for (int64_t i = 0; i < m * m; i++)
        if (!is_finite(p->block[i])) return WISP_ERR_NUMERIC;
    return WISP_OK;
}

/* Where the null space leaves a block without an inverse it gets one. */
static void fill_null(const run *r, part *p, int64_t row, int64_t m)
{
    const bool is_single = wisp__is_single(r->null_type) || wisp__is_single(r->src.type);
    for (int64_t i = 0; i < m * r->nulls; i++) p->null[i] = wisp__number_at(r->null_type, r->null, row * r->nulls + i);
    if (r->nulls > 0) wisp__fill_null(p->block, m, p->null, p->image, r->nulls, is_single ? 1e-5 : 1e-12);
}

static void swap(number *a, number *b)
{
    const number t = *a;
    *a = *b, *b = t;
}

/* a[m][m] becomes its inverse, by Gauss and Jordan with partial pivoting. false: a pivot is 0. */
static bool invert(number *a, int64_t m, int64_t *pivot)
{
    for (int64_t k = 0; k < m; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < m; i++)
            if (cabs(a[i * m + k]) > cabs(a[p * m + k])) p = i;
        pivot[k] = p;
        if (a[p * m + k] == 0) return false;
        for (int64_t j = 0; j < m && p != k; j++) swap(&a[k * m + j], &a[p * m + j]);
        const number f = 1 / a[k * m + k];
        a[k * m + k] = 1;
        for (int64_t j = 0; j < m; j++) a[k * m + j] *= f;
        for (int64_t i = 0; i < m; i++) {
            const number g = a[i * m + k];
            if (i == k || g == 0) continue;
            a[i * m + k] = 0;
            for (int64_t j = 0; j < m; j++) a[i * m + j] -= g * a[k * m + j];
        }
    }
    for (int64_t k = m - 1; k >= 0; k--)
        for (int64_t i = 0; i < m && pivot[k] != k; i++) swap(&a[i * m + k], &a[i * m + pivot[k]]);
    return true;
}

/* Whether the inverse b of a is rounding alone: sum_j |b_ij| |a_ji|, which no scaling of rows and columns changes, is
   the inverse of a relative distance to a matrix without one. */
static bool is_noise(const number *a, const number *b, int64_t m)
{
    const double most = 1 / (16 * (double)m * DBL_EPSILON);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < m; j++) sum += cabs(b[i * m + j]) * cabs(a[j * m + i]);
        if (!(sum < most)) return true;
    }
    return false;
}

static bool is_hermitian(const number *a, int64_t m)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++)
            if (a[i * m + j] != conj(a[j * m + i])) return false;
    return true;
}

static void make_hermitian(number *a, int64_t m)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++) {
            const number mean = a[i * m + j] / 2 + conj(a[j * m + i]) / 2;
            a[i * m + j] = mean, a[j * m + i] = conj(mean);
        }
}

/* By the pivots of L D L^H; a is overwritten. */
static bool is_definite(number *a, int64_t m)
{
    for (int64_t k = 0; k < m; k++) {
        const double pivot = creal(a[k * m + k]);
        if (!(pivot > 0)) return false;
        for (int64_t i = k + 1; i < m; i++) {
            const number f = a[i * m + k] / pivot;
            for (int64_t j = k + 1; j <= i; j++) a[i * m + j] -= f * conj(a[j * m + k]);
        }
    }
    return true;
}

static wisp_status invert_block(const run *r, part *p, int64_t row)
{
    const wisp__diagonal *d = r->d;
    const int64_t m = d->n < d->rows - row ? d->n : d->rows - row;
    wisp_status status;
    WISP_TRY(read_block(r, p, row, m));
    fill_null(r, p, row, m);
    memcpy(p->inverse, p->block, (size_t)(m * m) * sizeof *p->block);
    if (!invert(p->inverse, m, p->pivot) || is_noise(p->block, p->inverse, m)) return WISP_ERR_BREAKDOWN;
    if (is_hermitian(p->block, m)) make_hermitian(p->inverse, m);
    if (r->definite && !is_definite(p->block, m)) return WISP_ERR_INDEFINITE;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) {
            const int64_t at = (row + i) * d->n + j;
            wisp__number_put(d->type, d->inverse, at, p->inverse[i * m + j]);
            if (!is_finite(wisp__number_at(d->type, d->inverse, at))) return WISP_ERR_BREAKDOWN;
        }
out:
    return status;
}

/* The same of a block of one row, whose number is there, and real. */
static wisp_status invert_real(const run *r, int64_t row)
{
    const wisp__diagonal *d = r->d;
    const double number = r->factor * creal(wisp__number_at(d->type, d->inverse, row)), inverse = 1 / number;
    if (!isfinite(number)) return WISP_ERR_NUMERIC;
    if (number == 0) return WISP_ERR_BREAKDOWN;
    if (r->definite && number < 0) return WISP_ERR_INDEFINITE;
    wisp__number_put(d->type, d->inverse, row, inverse);
    return isfinite(creal(wisp__number_at(d->type, d->inverse, row))) ? WISP_OK : WISP_ERR_BREAKDOWN;
}

/* Whether blocks are numbers, all of them real. */
static bool is_real(const run *r) { return r->d->n == 1 && !wisp_type_is_complex(r->type) && r->nulls == 0; }

static void invert_some(void *arg, int64_t i, int number_of_part)
{
    const run *r = arg;
    part *p = &r->parts[number_of_part];
    const bool real = is_real(r);
    const int64_t step = r->at_a_time * r->d->n, begin = i * step;
    for (int64_t row = begin; row < begin + step && row < r->d->rows; row += r->d->n) {
        if (p->bad >= 0 && p->bad < row) continue; /* the first one is named */
        const wisp_status status = real ? invert_real(r, row) : invert_block(r, p, row);
        if (status != WISP_OK) p->bad = row, p->why = status;
    }
}

static wisp_status refuse(wisp_ctx *ctx, const run *r, const part *p)
{
    const wisp__diagonal *d = r->d;
    const long long row = d->first + p->bad;
    const long long last = row + (d->n < d->rows - p->bad ? d->n : d->rows - p->bad) - 1;
    char name[96];
    if (d->n == 1)
        snprintf(name, sizeof name, "the diagonal of row %lld", row);
    else
        snprintf(name, sizeof name, "the diagonal block of rows %lld to %lld", row, last);
    switch (p->why) {
    case WISP_ERR_BREAKDOWN:
        return wisp_ctx_failf(ctx, p->why, "%s is %s in %s arithmetic%s: take %s", name,
                              d->n == 1 ? "zero, missing or without an inverse" : "singular", wisp_type_name(d->type),
                              r->nulls > 0 ? ", which opts.null does not explain" : "",
                              d->n == 1 ? "another preconditioner" : "other opts.block_rows, or another opts.precond");
    case WISP_ERR_INDEFINITE:
        return wisp_ctx_failf(ctx, p->why, "%s is not positive definite, so that neither is the matrix: take %s", name,
                              r->definite);
    case WISP_ERR_NUMERIC: return wisp_ctx_failf(ctx, p->why, "%s holds a NaN or an infinity", name);
    default: return wisp_ctx_failf(ctx, p->why, "%s could not be read", name);
    }
}

static wisp_status invert_all(run *r, wisp_ctx *ctx)
{
    const wisp__diagonal *d = r->d;
    const int threads = wisp_ctx_threads(ctx);
    const int64_t step = r->at_a_time * d->n;
    part *first = NULL;
    const wisp_status status = wisp_ctx_each(ctx, (d->rows + step - 1) / step, invert_some, r);
    if (status != WISP_OK) return status;
    for (int t = 0; t < threads; t++) {
        part *p = &r->parts[t];
        if (p->bad >= 0 && (!first || p->bad < first->bad)) first = p;
    }
    return first ? refuse(ctx, r, first) : WISP_OK;
}

static wisp_status read_null(run *r, wisp_ctx *ctx, const wisp_blk *null)
{
    wisp_status status = WISP_OK;
    if (!null) return WISP_OK;
    r->nulls = wisp_blk_width(null);
    r->null_type = wisp_blk_type(null);
    WISP_TRY(wisp_alloc(ctx, &r->null, (size_t)r->d->rows * (size_t)r->nulls + 1, wisp_type_size(r->null_type)));
    status = wisp_blk_get(null, WISP_ROW_MAJOR, r->null, r->nulls);
out:
    return status;
}

wisp_status wisp__diagonal_make(wisp__diagonal *d, const wisp_mat *A, double factor, const wisp_solve_opts *o,
                                const char *definite, wisp_type type)
{
    enum { ROWS_AT_A_TIME = 256 };
    wisp_ctx *ctx = wisp_mat_ctx(A);
    const int threads = wisp_ctx_threads(ctx);
    run r = {.d = d, .factor = factor, .definite = definite};
    number *blocks = NULL;
    int64_t *columns = NULL;
    char *values = NULL;
    wisp_status status;
    *d = (wisp__diagonal){.type = type, .n = o->precond == WISP_JACOBI ? 1 : o->block_rows};
    if (d->n < 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.block_rows is %d, at least 1 is needed", o->block_rows);
    d->rows = wisp_map_local(wisp_mat_map(A), &d->first);
    if (d->n > d->rows) d->n = d->rows > 0 ? d->rows : 1;
    r.at_a_time = d->n < ROWS_AT_A_TIME ? ROWS_AT_A_TIME / d->n : 1;
    WISP_TRY(read_null(&r, ctx, o->null));
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    r.type = info.type;
    const bool by_rows = !is_real(&r);
    if (by_rows) WISP_TRY(wisp_src_open_mat(&r.src, A));
    const size_t n = (size_t)d->n, longest = (size_t)r.src.max_row, value = wisp_type_size(r.type);
    const size_t of_part = 2 * n * (n + (size_t)r.nulls);
    WISP_TRY(wisp_alloc(ctx, &d->inverse, (size_t)d->rows, n * wisp_type_size(type)));
    WISP_TRY(wisp_alloc(ctx, &r.parts, (size_t)threads, sizeof *r.parts));
    WISP_TRY(wisp_alloc(ctx, &blocks, (size_t)threads, of_part * sizeof *blocks));
    WISP_TRY(wisp_alloc(ctx, &columns, (size_t)threads, (n + longest) * sizeof *columns));
    WISP_TRY(wisp_alloc(ctx, &values, (size_t)threads, longest * value));
    for (size_t t = 0; t < (size_t)threads; t++)
        r.parts[t] = (part){.block = blocks + t * of_part,
                            .inverse = blocks + t * of_part + n * n,
                            .null = blocks + t * of_part + 2 * n * n,
                            .image = blocks + t * of_part + 2 * n * n + n * (size_t)r.nulls,
                            .pivot = columns + t * (n + longest),
                            .col = columns + t * (n + longest) + n,
                            .val = values + t * longest * value,
                            .bad = -1};
    if (!by_rows) WISP_TRY(wisp_mat_diagonal(A, type, d->inverse));
    WISP_TRY(invert_all(&r, ctx));
out:
    wisp_free(ctx, r.null);
    wisp_free(ctx, r.parts);
    wisp_free(ctx, blocks);
    wisp_free(ctx, columns);
    wisp_free(ctx, values);
    wisp_src_close(&r.src);
    return status;
}

void wisp__diagonal_free(wisp_ctx *ctx, wisp__diagonal *d) { wisp_free(ctx, d->inverse); }
