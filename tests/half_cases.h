/* Hermitian matrices as lists of their entries, and their halves. */
#ifndef HALF_CASES_H
#define HALF_CASES_H
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The oracle's. */
static inline ref_sparse herm_sparse(herm *h, wisp_type type)
{
    wisp_src src = herm_src(h, type);
    return ref_sparse_of(&src, type);
}

static inline wisp_order order_of(const herm *h) { return h->rows % 3 ? WISP_ROWS_NATURAL : WISP_ROWS_RCM; }

/* The order is named: the one that the model picks hangs on the machine and on the threads. */
static inline wisp_mat *half_of(wisp_ctx *ctx, herm *h, wisp_type type)
{
    wisp_mat *A;
    wisp_src src = herm_src(h, type);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src,
                                &(wisp_mat_opts){.type = type, .format = WISP_FORMAT_HERMITIAN, .order = order_of(h)}));
    return A;
}
#endif
