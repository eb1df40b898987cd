/* Hermitian matrices as lists of their entries, and calls of the op on their halves against sums over these lists. */
#ifndef HALF_CASES_H
#define HALF_CASES_H
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    wisp_type mat, blk;
} combo[] = {{WISP_S, WISP_S}, {WISP_D, WISP_D}, {WISP_S, WISP_C},
             {WISP_D, WISP_Z}, {WISP_C, WISP_C}, {WISP_Z, WISP_Z}};
enum { COMBOS = 6, ALL_TERMS = 128, MOST_WIDTH = 33 };

/* ---- Hermitian matrices as lists of their entries -------------------------------------------- */

typedef struct {
    int64_t row, col;
    cplx a;
} entry;

typedef struct {
    int64_t rows, n, capacity;
    entry *e;
    int64_t *ptr;
} herm;

static inline void push(herm *h, int64_t row, int64_t col, cplx a)
{
    if (h->n == h->capacity) {
        h->capacity = 2 * h->capacity + 64;
        h->e = realloc(h->e, (size_t)h->capacity * sizeof *h->e);
    }
    h->e[h->n++] = (entry){row, col, a};
}

static inline void push_pair(herm *h, ref_rng *r, wisp_type type, int64_t i, int64_t j)
{
    cplx a = ref_value(r, type);
    if (i == j) {
        push(h, i, i, creal(a));
    } else {
        push(h, i, j, a);
        push(h, j, i, conj(a));
    }
}

static inline int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->col < y->col ? -1 : x->col > y->col;
}

enum { SPARSE, EMPTY, BAND, RING, ARROW, LAST_DENSE, APART, LATTICE, DENSE_END, DENSE, PATTERNS };
static const char *const pattern_name[] = {"sparse", "empty",      "band",    "ring",      "arrow",
                                           "last",   "components", "lattice", "dense end", "dense"};

/* Places of a pattern; duplicates are removed later. */
static inline void place(herm *h, ref_rng *r, wisp_type type, int pattern)
{
    const int64_t n = h->rows;
    for (int64_t i = 0; i < n; i++) {
        if (pattern == EMPTY && ref_below(r, 4)) continue;
        if (ref_below(r, 3)) push_pair(h, r, type, i, i);
        if (pattern == SPARSE || pattern == EMPTY)
            for (int64_t k = ref_below(r, 4); k > 0; k--) push_pair(h, r, type, i, ref_below(r, n));
        if (pattern == BAND)
            for (int64_t j = i + 1; j < n && j < i + 9; j += 1 + ref_below(r, 3)) push_pair(h, r, type, i, j);
        if (pattern == RING && n > 2) push_pair(h, r, type, i, (i + 1) % n);
        if ((pattern == ARROW || pattern == LAST_DENSE) && ref_below(r, 8))
            push_pair(h, r, type, pattern == ARROW ? 0 : n - 1, i);
        if (pattern == APART && i % 5 && i + 1 < n) push_pair(h, r, type, i, i + 1);
        if (pattern == LATTICE) { /* periodic, rows of 20 */
            push_pair(h, r, type, i, (i + 20) % n);
            push_pair(h, r, type, i, i / 20 * 20 + (i + 1) % 20 < n ? i / 20 * 20 + (i + 1) % 20 : i);
        }
        if (pattern == DENSE_END) /* one strip has more to do than a block should: blocks behind it are empty */
            for (int64_t j = i; i >= (n - 1) / 128 * 128 && j < n; j++) push_pair(h, r, type, i, j);
        if (pattern == DENSE)
            for (int64_t j = i; j < n; j++) push_pair(h, r, type, i, j);
    }
}

static inline herm herm_new(ref_rng *r, wisp_type type, int64_t rows, int pattern)
{
    herm h = {.rows = rows};
    place(&h, r, type, pattern);
    /* Of entries for one place the first in order of the upper half counts, and its conjugate below. */
    int64_t m = 0;
    for (int64_t k = 0; k < h.n; k++)
        if (h.e[k].row <= h.e[k].col) h.e[m++] = h.e[k];
    if (m) qsort(h.e, (size_t)m, sizeof *h.e, by_place);
    h.n = 0;
    for (int64_t k = 0; k < m; k++)
        if (k == 0 || by_place(&h.e[k], &h.e[h.n - 1])) h.e[h.n++] = h.e[k];
    m = h.n;
    for (int64_t k = 0; k < m; k++)
        if (h.e[k].row != h.e[k].col) push(&h, h.e[k].col, h.e[k].row, conj(h.e[k].a));
    if (h.n) qsort(h.e, (size_t)h.n, sizeof *h.e, by_place);
    return h;
}

static inline int herm_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const herm *h = arg;
    const int64_t n = h->ptr[row + 1] - h->ptr[row];
    for (int64_t k = 0; col && k < n; k++) {
        col[k] = h->e[h->ptr[row] + k].col;
        ((cplx *)val)[k] = h->e[h->ptr[row] + k].a;
    }
    return (int)n;
}

static inline int herm_row_real(void *arg, int64_t row, int64_t *col, void *val)
{
    const herm *h = arg;
    const int64_t n = h->ptr[row + 1] - h->ptr[row];
    for (int64_t k = 0; col && k < n; k++) {
        col[k] = h->e[h->ptr[row] + k].col;
        ((double *)val)[k] = creal(h->e[h->ptr[row] + k].a);
    }
    return (int)n;
}

/* The source of a matrix; single-precision values are exact in double. */
static inline wisp_src herm_src(herm *h, wisp_type type)
{
    int64_t most = 0;
    free(h->ptr);
    h->ptr = calloc((size_t)h->rows + 1, sizeof *h->ptr);
    for (int64_t k = 0; k < h->n; k++) h->ptr[h->e[k].row + 1]++;
    for (int64_t i = 0; i < h->rows; i++) {
        most = h->ptr[i + 1] > most ? h->ptr[i + 1] : most;
        h->ptr[i + 1] += h->ptr[i];
    }
    const int complex_type = wisp_type_is_complex(type);
    return (wisp_src){.rows = h->rows,
                      .cols = h->rows,
                      .max_row = most,
                      .type = complex_type ? WISP_Z : WISP_D,
                      .row = complex_type ? herm_row : herm_row_real,
                      .arg = h};
}

static inline void herm_free(herm *h)
{
    free(h->e);
    free(h->ptr);
}

/* y = A x by entries: the oracle for the product alone, without a dense matrix. */
static inline ref_mat herm_times(const herm *h, ref_mat x)
{
    ref_mat y = ref_new(h->rows, x.cols);
    for (int64_t k = 0; k < h->n; k++)
        for (int64_t j = 0; j < x.cols; j++) REF_AT(y, h->e[k].row, j) += h->e[k].a * REF_AT(x, h->e[k].col, j);
    return y;
}

/* ---- one call -------------------------------------------------------------------------------- */

typedef struct {
    ref_mat y, z;
    wisp_scalar dot[3 * MOST_WIDTH];
} result;

typedef struct {
    wisp_type blk;
    int width;
    unsigned terms;
    ref_aug f;
    cplx shift[MOST_WIDTH];
    ref_mat x, y, z;
} call;

static inline call random_call(ref_rng *r, wisp_type blk, int64_t rows, int width, unsigned terms, int real_factors)
{
    const wisp_type factor = real_factors ? WISP_D : blk;
    call c = {.blk = blk, .width = width, .terms = terms};
    c.f =
        (ref_aug){terms, ref_value(r, factor), ref_value(r, factor), ref_value(r, factor), ref_value(r, factor), NULL};
    if (ref_below(r, 4) == 0) c.f.beta = 0;
    if (ref_below(r, 4) == 0) c.f.delta = 0;
    for (int j = 0; j < width; j++) c.shift[j] = ref_value(r, factor);
    c.x = ref_random_block(r, blk, rows, width);
    c.y = ref_random_block(r, blk, rows, width);
    c.z = ref_random_block(r, blk, rows, width);
    return c;
}

static inline void call_free(call *c) { ref_free(c->x), ref_free(c->y), ref_free(c->z); }
static inline void result_free(result *s) { ref_free(s->y), ref_free(s->z); }

/* x and y are views of some columns of wider blocks: strides differ from the width. */
static inline result run(wisp_ctx *ctx, const wisp_mat *A, const call *c)
{
    result s = {0};
    wisp_blk *wide, *tall, *x, *y, *z;
    wisp_scalar shift[MOST_WIDTH];
    for (int j = 0; j < c->width; j++) shift[j] = ref_scalar(c->shift[j]);
    REF_OK(ctx, wisp_blk_create(&wide, ctx, wisp_mat_map(A), c->blk, c->width + 3));
    REF_OK(ctx, wisp_blk_create(&tall, ctx, wisp_mat_map(A), c->blk, c->width + 1));
    REF_OK(ctx, wisp_blk_cols(&x, wide, 2, c->width));
    REF_OK(ctx, wisp_blk_cols(&y, tall, 1, c->width));
    REF_OK(ctx, wisp_blk_create(&z, ctx, wisp_mat_map(A), c->blk, c->width));
    ref_put(x, c->x);
    ref_put(y, c->y);
    ref_put(z, c->z);
    if (!(c->terms & WISP_AXPBY) || c->f.beta == 0) wisp_blk_fill(y, (wisp_scalar){NAN, NAN}); /* must not be read */
    if (c->f.delta == 0 && (c->terms & WISP_CHAIN)) wisp_blk_fill(z, (wisp_scalar){NAN, NAN});
    wisp_aug aug = {
        c->terms, ref_scalar(c->f.alpha), ref_scalar(c->f.beta), ref_scalar(c->f.delta), ref_scalar(c->f.eta), shift, z,
        s.dot};
    REF_OK(ctx, wisp_spmmv(y, A, x, &aug));
    s.y = ref_get(y);
    s.z = ref_get(z);
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(z), wisp_blk_free(wide), wisp_blk_free(tall);
    return s;
}

/* What must come out: as ref_spmmv, from entries instead of a dense matrix. */
static inline void expect(const herm *h, const call *c, result *want, cplx dot[3 * MOST_WIDTH])
{
    ref_mat ax = herm_times(h, c->x);
    const unsigned t = c->terms;
    memset(dot, 0, 3 * MOST_WIDTH * sizeof *dot);
    want->y = ref_new(h->rows, c->width);
    want->z = ref_new(h->rows, c->width);
    for (int64_t i = 0; i < h->rows; i++)
        for (int j = 0; j < c->width; j++) {
            const cplx x = REF_AT(c->x, i, j);
            cplx s = REF_AT(ax, i, j);
            if (t & WISP_SHIFT) s -= c->shift[j] * x;
            if (t & WISP_SCALE) s *= c->f.alpha;
            if ((t & WISP_AXPBY) && c->f.beta != 0) s += c->f.beta * REF_AT(c->y, i, j);
            REF_AT(want->y, i, j) = s;
            cplx z = REF_AT(c->z, i, j);
            if (t & WISP_CHAIN) z = c->f.eta * s + (c->f.delta != 0 ? c->f.delta * z : 0);
            REF_AT(want->z, i, j) = z;
            dot[j] += conj(x) * x;
            dot[c->width + j] += conj(x) * s;
            dot[2 * c->width + j] += conj(s) * s;
        }
    ref_free(ax);
}

static inline void check_call(const char *what, const herm *h, const call *c, const result *got)
{
    static const unsigned bit[3] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY};
    result want;
    cplx dot[3 * MOST_WIDTH];
    char text[200];
    snprintf(text, sizeof text, "%s, %s block, width %d, terms %u", what, wisp_type_name(c->blk), c->width, c->terms);
    expect(h, c, &want, dot);
    const double eps = ref_eps(c->blk) * (1 + 0.01 * (double)h->rows), big = 1 + ref_largest(want.y);
    ref_assert_close(text, got->y, want.y, eps);
    ref_assert_close(text, got->z, want.z, c->terms & WISP_CHAIN ? eps : 0);
    for (int t = 0; t < 3; t++)
        for (int j = 0; (c->terms & bit[t]) && j < c->width; j++) {
            const cplx d = got->dot[t * c->width + j].re + I * got->dot[t * c->width + j].im;
            if (!(cabs(d - dot[t * c->width + j]) <= ref_eps(c->blk) * (1 + (double)h->rows * big * big)))
                fail_msg("%s: dot %d of column %d is %g%+gi, should be %g%+gi", text, t, j, creal(d), cimag(d),
                         creal(dot[t * c->width + j]), cimag(dot[t * c->width + j]));
        }
    result_free(&want);
}

static inline wisp_mat *half_of(wisp_ctx *ctx, herm *h, wisp_type type)
{
    wisp_mat *A;
    wisp_src src = herm_src(h, type);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = type, .format = WISP_FORMAT_HERMITIAN}));
    return A;
}
#endif
