/* The augmented SpMMV for one block width, vectorised along the block row: y_row = sum over the row's entries
   of a value times a block row of x. An include-template: the file that includes it defines

     REAL_BYTES (by simd.cpu.h), MAT_COMPLEX, PARTS (reals in a block element: 1 or 2), WIDTH (a power of two).

   A complex matrix entry meets the block row twice, once with its real and once with its imaginary part, in
   separate accumulators that are joined after the row: no shuffle in the inner loop. Sums run over the entries
   in their order whatever the width, so that columns come out bit-identical in every width. */

#define FN(name) PASTE(PASTE(name, _w), WIDTH)
#define ROW_REALS (WIDTH * PARTS)
#if ROW_REALS * REAL_BYTES < SIMD_BYTES
#define VL ROW_REALS
#else
#define VL (SIMD_BYTES / REAL_BYTES)
#endif
#define NV (ROW_REALS / VL)
#define ROW_LINES ((ROW_REALS * REAL_BYTES + 63) / 64)

#if VL == 1 /* vectors of one element make slow code */
typedef real FN(vec);
typedef real FN(vec_mem);
#else
typedef real FN(vec) __attribute__((vector_size(VL * REAL_BYTES)));
typedef real FN(vec_mem) __attribute__((vector_size(VL * REAL_BYTES), aligned(REAL_BYTES), may_alias));
#endif
#define vec FN(vec)

#if PARTS == 1
#define SWAP(v) (v)
#elif VL == 2
#define SWAP(v) SWAP_2(v)
#elif VL == 4
#define SWAP(v) SWAP_4(v)
#elif VL == 8
#define SWAP(v) SWAP_8(v)
#else
#define SWAP(v) SWAP_16(v)
#endif

INLINE vec FN(load)(const real *p) { return *(const FN(vec_mem) *)p; }
INLINE void FN(store)(real *p, vec v) { *(FN(vec_mem) *)p = v; }
/* i v: (re, im) -> (-im, re) */
INLINE vec FN(times_i)(vec v) { return FN(load)(simd_sign) * SWAP(v); }
/* f v, f = (re, im); c says whether im counts. */
INLINE vec FN(cmul)(const double f[2], int c, vec v)
{
    vec r = (real)f[0] * v;
    if (PARTS == 2 && c) r += (real)f[1] * FN(times_i)(v);
    return r;
}

/* A row of y that is not read again soon: the first sweep of a plain product. */
INLINE void FN(store_row)(const wisp__spmmv_params *p, unsigned terms, real *y, vec v[NV])
{
#if VL * REAL_BYTES == SIMD_BYTES && ROW_REALS * REAL_BYTES >= 64
    if (terms == 0 && p->past) {
        UNROLL for (int i = 0; i < NV; i++) simd_store_past(y + i * VL, v[i]);
        return;
    }
#endif
    (void)p, (void)terms;
    UNROLL for (int i = 0; i < NV; i++) FN(store)(y + i * VL, v[i]);
}

#include "epilogue.h"

/* The sum over a row's entries, of columns at/PARTS .. + WIDTH - 1. */
INLINE void FN(multiply)(const wisp__spmmv_params *p, const unsigned coded, row_entries r, int64_t at, vec ar[NV],
                         vec ai[NV])
{
    const int64_t ld = p->ld_gather;
    const real *gather = (const real *)p->gather + r.base * ld + at, *val = (const real *)p->val;
    for (int k = 0; k < r.len; k++) {
        const int64_t e = r.first + ((int64_t)k << r.log_step);
        const real *x = gather + (coded & SHORT_COLS ? p->short_col[e] : p->col[e]) * ld;
        const int64_t i = (coded & CODES ? p->code[e] : e) * (1 + MAT_COMPLEX);
        const real a = val[i];
        UNROLL for (int v = 0; v < NV; v++) ar[v] += a * FN(load)(x + v * VL);
        if (MAT_COMPLEX) {
            const real b = val[i + MAT_COMPLEX];
            UNROLL for (int v = 0; v < NV; v++) ai[v] += b * FN(load)(x + v * VL);
        }
    }
}

#if WIDTH * PARTS == 2 && SIMD_BYTES >= 8 * REAL_BYTES
/* The columns are a quarter of a register: four entries of the row at a time, where their values follow one
   another. Returns how many entries it took. */
INLINE int FN(some)(const wisp__spmmv_params *p, row_entries r, int64_t at, vec *ar, vec *ai)
{
    typedef real eight __attribute__((vector_size(8 * REAL_BYTES)));
    typedef real values
        __attribute__((vector_size(4 * (1 + MAT_COMPLEX) * REAL_BYTES), aligned(REAL_BYTES), may_alias));
    const real *x = (const real *)p->gather + r.base * p->ld_gather + at;
    eight re = {0}, im = {0};
    int k = 0;
    for (; k + 4 <= r.len; k += 4) {
        const int32_t *col = p->col + r.first + k;
        const real *val = (const real *)p->val + (r.first + k) * (1 + MAT_COMPLEX);
        if (!p->pattern) {
            __builtin_prefetch((const char *)val + STREAM_AHEAD);
            __builtin_prefetch((const char *)col + STREAM_AHEAD);
        }
#define X(i) FN(load)(x + col[i] * p->ld_gather)
        const eight xv = JOIN_4(JOIN_2(X(0), X(1)), JOIN_2(X(2), X(3)));
#undef X
        const values a = *(const values *)val;
#if MAT_COMPLEX
        re += __builtin_shufflevector(a, a, 0, 0, 2, 2, 4, 4, 6, 6) * xv;
        im += __builtin_shufflevector(a, a, 1, 1, 3, 3, 5, 5, 7, 7) * xv;
#else
        re += __builtin_shufflevector(a, a, 0, 0, 1, 1, 2, 2, 3, 3) * xv;
#endif
    }
    const simd_4 re4 = __builtin_shufflevector(re, re, 0, 1, 2, 3) + __builtin_shufflevector(re, re, 4, 5, 6, 7);
    const simd_4 im4 = __builtin_shufflevector(im, im, 0, 1, 2, 3) + __builtin_shufflevector(im, im, 4, 5, 6, 7);
    *ar = __builtin_shufflevector(re4, re4, 0, 1) + __builtin_shufflevector(re4, re4, 2, 3);
    *ai = __builtin_shufflevector(im4, im4, 0, 1) + __builtin_shufflevector(im4, im4, 2, 3);
    return k;
}
#define AT_A_TIME
#elif WIDTH * PARTS == 1
/* One column: a register of entries of the row at a time, where their values follow one another. */
INLINE int FN(some)(const wisp__spmmv_params *p, row_entries r, int64_t at, vec *ar, vec *ai)
{
    enum { N = SIMD_BYTES / REAL_BYTES };
    typedef real values __attribute__((vector_size(SIMD_BYTES), aligned(REAL_BYTES), may_alias));
    const real *x = (const real *)p->gather + r.base * p->ld_gather + at;
    simd_vec sum = {0};
    int k = 0;
    for (; k + N <= r.len; k += N) {
        const int32_t *col = p->col + r.first + k;
        const real *val = (const real *)p->val + r.first + k;
        if (!p->pattern) {
            __builtin_prefetch((const char *)val + STREAM_AHEAD);
            __builtin_prefetch((const char *)col + STREAM_AHEAD);
        }
#define AT(l) x[col[l] * p->ld_gather]
        sum += *(const values *)val * SIMD_EACH;
#undef AT
    }
    for (int l = 0; k && l < N; l++) *ar += sum[l];
    (void)ai;
    return k;
}
#define AT_A_TIME
#endif

/* Columns at/PARTS .. + WIDTH - 1 of one row. Where `plain` is set, entries are not coded. */
INLINE void FN(tile)(const wisp__spmmv_params *p, unsigned terms, const int plain, int64_t row, row_entries r,
                     int64_t at, FN(sums) *restrict s)
{
    vec ar[NV] = {0}, ai[NV] = {0};
#ifdef AT_A_TIME
    if ((plain || !(p->code || p->short_col)) && r.log_step == 0) {
        const int done = FN(some)(p, r, at, ar, ai);
        r.first += done;
        r.len -= done;
    }
#endif
    if (plain || !(p->code || p->short_col))
        FN(multiply)(p, 0, r, at, ar, ai);
    else if (p->code && p->short_col)
        FN(multiply)(p, SHORT_COLS | CODES, r, at, ar, ai);
    else if (p->code)
        FN(multiply)(p, CODES, r, at, ar, ai);
    else
        FN(multiply)(p, SHORT_COLS, r, at, ar, ai);
    if (MAT_COMPLEX) UNROLL for (int v = 0; v < NV; v++) ar[v] += FN(times_i)(ai[v]);
    if (p->diagonal) {
        const real d = ((const real *)p->diagonal)[row], *x = (const real *)p->x + row * p->ld_x + at;
        UNROLL for (int v = 0; v < NV; v++) ar[v] += d * FN(load)(x + v * VL);
    }
    FN(epilogue)(p, terms, row, at, ar, s);
}

#if ROW_REALS * REAL_BYTES >= 64
/* The block rows that a row some rows ahead will gather: the hardware can't guess them. */
INLINE void FN(prefetch)(const wisp__spmmv_params *p, int64_t row)
{
    if (row >= p->rows) return;
    const row_entries r = entries_of(p, row);
    const real *gather = (const real *)p->gather + r.base * p->ld_gather;
    for (int k = 0; k < r.len; k++) {
        const int64_t e = r.first + ((int64_t)k << r.log_step);
        const char *x = (const char *)(gather + (p->col ? p->col[e] : p->short_col[e]) * p->ld_gather);
        UNROLL for (int l = 0; l < ROW_LINES; l++) __builtin_prefetch(x + 64 * l);
    }
}
#else
#define NO_PREFETCH
#endif

INLINE void FN(range)(const wisp__spmmv_params *p, unsigned terms, const int plain, int64_t begin, int64_t end,
                      double *dot)
{
    const int64_t row_end = (end << p->log_c) < p->rows ? end << p->log_c : p->rows;
    for (int64_t strip = begin << p->log_c; strip < row_end; strip += K_STRIP) {
        FN(sums) s;
        __builtin_memset(&s, 0, sizeof s);
        const int64_t strip_end = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
        for (int64_t row = strip; row < strip_end; row++) {
#ifndef NO_PREFETCH
            FN(prefetch)(p, row + PREFETCH_ROWS);
#endif
            FN(tile)(p, terms, plain, row, entries_of(p, row), 0, &s);
        }
        if (terms & K_DOTS) FN(flush)(&s, terms, WIDTH, 0, dot);
    }
    if (terms == 0 && p->past) simd_fence();
}

/* The compiled masks: none, the KPM step (real factors), and whatever p->terms says, with coded entries too. */
static void FN(none)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(range)(p, 0, 1, begin, end, dot);
}
static void FN(kpm)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(range)(p, K_MASK_KPM, 1, begin, end, dot);
}
static void FN(all)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(range)(p, p->terms, 0, begin, end, dot);
}

#undef FN
#undef ROW_REALS
#undef ROW_LINES
#undef VL
#undef NV
#undef SWAP
#undef vec

#undef NO_PREFETCH
#undef AT_A_TIME
#undef WIDTH
