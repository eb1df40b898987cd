/* The augmented SpMMV for one block width, vectorised along the block row: y_row = sum over the row's entries
   of a value times a block row of x. An include-template: the file that includes it defines

     REAL_BYTES (by simd.cpu.h), MAT_COMPLEX, PARTS (reals in a block element: 1 or 2), WIDTH (a power of two).

   A complex matrix entry meets the block row twice, once with its real and once with its imaginary part, in
   separate accumulators that are joined after the row: no shuffle in the inner loop. Sums run over the entries
   in their order whatever the width, so that columns come out bit-identical in every width. */

#include "row.cpu.h"

/* Columns at/PARTS .. + WIDTH - 1 of one row, whose entry k is at col[k << log_c] and val[k << log_c]. */
INLINE void FN(tile)(const wisp__spmmv_params *p, unsigned terms, int64_t row, int64_t first_entry, int len, int64_t at,
                     FN(sums) *restrict s)
{
    const real *gather = (const real *)p->gather + at, *val = (const real *)p->val;
    const int64_t ld = p->ld_gather;
    vec ar[NV] = {0}, ai[NV] = {0};
    for (int k = 0; k < len; k++) {
        const int64_t e = first_entry + ((int64_t)k << p->log_c);
        const real *x = gather + p->col[e] * ld;
        const real a = val[e * (1 + MAT_COMPLEX)];
        UNROLL for (int v = 0; v < NV; v++) ar[v] += a * FN(load)(x + v * VL);
        if (MAT_COMPLEX) {
            const real b = val[2 * e + MAT_COMPLEX];
            UNROLL for (int v = 0; v < NV; v++) ai[v] += b * FN(load)(x + v * VL);
        }
    }
    if (MAT_COMPLEX) UNROLL for (int v = 0; v < NV; v++) ar[v] += FN(times_i)(ai[v]);
    FN(epilogue)(p, terms, row, at, ar, s);
}

#if ROW_REALS * REAL_BYTES >= 64
/* The block rows that a row some rows ahead will gather: the hardware can't guess them. */
INLINE void FN(prefetch)(const wisp__spmmv_params *p, int64_t row)
{
    if (row >= p->rows) return;
    const int64_t e = p->chunk[row >> p->log_c] + (row & ((1 << p->log_c) - 1));
    for (int k = 0; k < p->row_len[row]; k++) {
        const char *x = (const char *)((const real *)p->gather + p->col[e + ((int64_t)k << p->log_c)] * p->ld_gather);
        UNROLL for (int l = 0; l < ROW_LINES; l++) __builtin_prefetch(x + 64 * l);
    }
}
#else
#define NO_PREFETCH
#endif

INLINE void FN(range)(const wisp__spmmv_params *p, unsigned terms, int64_t begin, int64_t end, double *dot)
{
    const int64_t row_end = (end << p->log_c) < p->rows ? end << p->log_c : p->rows;
    for (int64_t strip = begin << p->log_c; strip < row_end; strip += K_STRIP) {
        FN(sums) s = {};
        const int64_t strip_end = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
        for (int64_t row = strip; row < strip_end; row++) {
#ifndef NO_PREFETCH
            FN(prefetch)(p, row + PREFETCH_ROWS);
#endif
            FN(tile)(p, terms, row, p->chunk[row >> p->log_c] + (row & ((1 << p->log_c) - 1)), p->row_len[row], 0, &s);
        }
        if (terms & K_DOTS) FN(flush)(&s, terms, WIDTH, 0, dot);
    }
}

/* The compiled masks: none, the KPM step (real factors), and whatever p->terms says. */
static void FN(none)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(range)(p, 0, begin, end, dot);
}
static void FN(kpm)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(range)(p, K_MASK_KPM, begin, end, dot);
}
static void FN(all)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(range)(p, p->terms, begin, end, dot);
}

#undef FN
#undef ROW_REALS
#undef ROW_LINES
#undef VL
#undef NV
#undef SWAP
#undef vec

#undef NO_PREFETCH
#undef WIDTH
