/* The augmented SpMMV with half of a Hermitian matrix, for some columns of a block, vectorised along the block row. An
   include-template: as spmmv.cpu.h. Each entry a of row i and column j is used twice while it is in registers:
   row i gathers a x_j, and a_conj alpha x_i is scattered to row j of y, or to a spill row of the row block. Rows come
   in order, so that when a row itself is added, all that its row block has for it is there. */
#define ONE_PANEL
#include "row.cpu.h"

/* y_j += conj(a) alpha x_i: the scaled row, and i times it. */
typedef struct {
    vec x[NV], ix[NV];
} FN(own);

INLINE void FN(pair)(const mat_real *restrict a, const real *restrict x, real *restrict y, const FN(own) * own,
                     vec ar[NV], vec ai[NV])
{
    UNROLL for (int v = 0; v < NV; v++)
    {
        const vec xv = FN(load)(x + v * VL);
        vec yv = FN(load)(y + v * VL);
        ar[v] += (real)a[0] * xv;
        yv += (real)a[0] * own->x[v];
        if (MAT_COMPLEX) {
            ai[v] += (real)a[MAT_COMPLEX] * xv;
            yv -= (real)a[MAT_COMPLEX] * own->ix[v];
        }
        FN(store)(y + v * VL, yv);
    }
}

#if REALS * REAL_BYTES >= 64
/* The block rows that a row some rows ahead gathers and scatters to. */
INLINE void FN(prefetch_pairs)(const wisp__half_params *h, int64_t row, int64_t at)
{
    const wisp__half *m = h->half;
    if (row >= m->rows) return;
    const int64_t begin = m->row[row], inside = begin + m->inside[row], end = m->row[row + 1];
    const real *x = (const real *)h->s.p.gather + at, *y = (const real *)h->s.p.y + at;
    for (int64_t e = begin; e < end; e++) {
        UNROLL for (int l = 0; l < ROW_LINES; l++)
        {
            PREFETCH((const char *)(x + m->col[e] * h->s.p.ld_gather) + 64 * l, 0);
            if (e < inside) PREFETCH((const char *)(y + m->col[e] * h->s.p.ld_y) + 64 * l, ROW_LINES == 1);
        }
    }
}
#else
#define FN_NO_PREFETCH
#endif

/* One row, whose first entry outside its block has the number `outside`. */
INLINE void FN(half_row)(const wisp__half_params *h, unsigned terms, int64_t row, int64_t outside, int64_t at,
                         FN(sums) *restrict s)
{
    const wisp__spmmv_params *p = &h->s.p;
    const wisp__half *m = h->half;
    const real *gather = (const real *)p->gather + at;
    const mat_real *val = (const mat_real *)m->val;
    real *y = (real *)p->y + at, *spill = (real *)h->spill + at;
    const int32_t *col = m->col, *spill_row = m->spill_row;
    const int64_t ld_x = p->ld_gather, ld_y = p->ld_y, ld_spill = h->ld_spill;
    int64_t e = m->row[row];
    const int64_t inside_end = e + m->inside[row], end = m->row[row + 1];
    const real *x_row = (const real *)p->x + row * p->ld_x + at;
    FN(own) own;
    UNROLL for (int v = 0; v < NV; v++)
    {
        own.x[v] = FN(load)(x_row + v * VL);
        if (terms & K_SCALE) own.x[v] = FN(cmul)(p->alpha, !!(terms & K_COMPLEX), own.x[v]);
        if (MAT_COMPLEX) own.ix[v] = FN(times_i)(own.x[v]);
    }
    vec ar[NV] = {0}, ai[NV] = {0};
    if (e < inside_end && col[e] == row) {
        const real *x = gather + row * ld_x;
        UNROLL for (int v = 0; v < NV; v++) ar[v] = (real)val[e * (1 + MAT_COMPLEX)] * FN(load)(x + v * VL);
        e++;
    }
    /* Of a real matrix every other entry has the second accumulator: two chains of additions. */
    vec *odd = MAT_COMPLEX ? ar : ai;
#define PAIR(e, to, sum) FN(pair)(val + (e) * (1 + MAT_COMPLEX), gather + col[e] * ld_x, to, &own, sum, ai)
    for (; e + 1 < inside_end; e += 2) {
        PAIR(e, y + col[e] * ld_y, ar);
        PAIR(e + 1, y + col[e + 1] * ld_y, odd);
    }
    for (; e < end; e++) {
        real *to = e < inside_end ? y + col[e] * ld_y : spill + spill_row[outside++] * ld_spill;
        PAIR(e, to, ar);
    }
#undef PAIR
    UNROLL for (int v = 0; v < NV; v++) ar[v] += MAT_COMPLEX ? FN(times_i)(ai[v]) : ai[v];
    FN(epilogue)(p, terms, row, at, ar, s);
}

INLINE void FN(begin_rows)(const wisp__half_params *h, int64_t row, int64_t end, int64_t at)
{
    real *y = (real *)h->s.p.y + row * h->s.p.ld_y + at;
    const real *prev = (const real *)h->s.p.prev + row * h->s.p.ld_prev + at;
    const int c = !!(h->s.p.terms & K_COMPLEX);
    for (; row < end; row++, y += h->s.p.ld_y, prev += h->s.p.ld_prev) {
        if (h->reads_prev)
            UNROLL for (int v = 0; v < NV; v++) FN(store)(y + v * VL, FN(cmul)(h->beta, c, FN(load)(prev + v * VL)));
        else
            UNROLL for (int v = 0; v < NV; v++) FN(store)(y + v * VL, (vec){0});
    }
}

INLINE void FN(half_strip)(const wisp__half_params *h, const unsigned terms, int64_t strip, int64_t begin, int column,
                           double *dot)
{
    const wisp__half *m = h->half;
    const int64_t at = (int64_t)column * PARTS,
                  last = (strip + 1) * K_STRIP < m->rows ? (strip + 1) * K_STRIP : m->rows;
    FN(begin_rows)(h, begin, m->reach[strip], at);
    FN(sums) s;
    FN(clear)(&s, 1);
    int64_t outside = m->outside[strip];
    for (int64_t row = strip * K_STRIP; row < last; row++) {
#ifndef FN_NO_PREFETCH
        FN(prefetch_pairs)(h, row + ROWS_AHEAD, at);
#endif
        FN(half_row)(h, terms, row, outside, at, &s);
        outside += m->row[row + 1] - m->row[row] - m->inside[row];
    }
    if (terms & K_DOTS) FN(flush_panel)(&s, terms, h->s.p.reals, at, dot);
}

#if !defined(WISP_ISA_generic) && MAT_BYTES == REAL_BYTES && WIDTH != 2
#define HALF_KPM
/* The usual terms with their constants, in a function of its own. */
static __attribute__((noinline)) void FN(half_kpm)(const wisp__half_params *h, int64_t strip, int64_t begin, int column,
                                                   double *dot)
{
    FN(half_strip)(h, K_MASK_KPM, strip, begin, column, dot);
}
#endif

static void FN(half_multiply)(const wisp__half_params *h, int64_t strip, int64_t begin, int column, double *dot)
{
#ifdef HALF_KPM
    if (h->s.p.terms == K_MASK_KPM) {
        FN(half_kpm)(h, strip, begin, column, dot);
        return;
    }
#endif
    FN(half_strip)(h, h->s.p.terms, strip, begin, column, dot);
}

static void FN(half_finish)(const wisp__half_params *h, int64_t strip, int64_t begin, int column, double *dot)
{
    (void)begin;
    const wisp__half *m = h->half;
    const unsigned terms = h->s.p.terms & (K_AXPBY | K_CHAIN | K_DELTA | K_DOTS | K_COMPLEX | K_PAIRS);
    const int64_t at = (int64_t)column * PARTS,
                  last = (strip + 1) * K_STRIP < m->rows ? (strip + 1) * K_STRIP : m->rows;
    real *y = (real *)h->s.p.y + at;
    const real *spill = (const real *)h->spill + at;
    for (int64_t k = m->incoming[strip]; k < m->incoming[strip + 1]; k++) {
        real *to = y + m->into[k] * h->s.p.ld_y;
        const real *from = spill + m->from[k] * h->ld_spill;
        UNROLL for (int v = 0; v < NV; v++) FN(store)(to + v * VL, FN(load)(to + v * VL) + FN(load)(from + v * VL));
    }
    if (!(terms & (K_CHAIN | K_DOTS))) return;
    FN(sums) s;
    FN(clear)(&s, 1);
    for (int64_t row = strip * K_STRIP; row < last; row++) {
        vec none[NV] = {0};
        FN(epilogue)(&h->s.p, terms, row, at, none, &s);
    }
    if (terms & K_DOTS) FN(flush_panel)(&s, terms, h->s.p.reals, at, dot);
}
#undef FN_NO_PREFETCH
#undef HALF_KPM
#undef WIDTH
