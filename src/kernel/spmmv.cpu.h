/* The augmented SpMMV for one block width, vectorised along the block row: y_row = sum over the row's entries
   of a value times a block row of x. An include-template: the file that includes it defines

     REAL_BYTES (by simd.cpu.h), MAT_BYTES (of a matrix value's parts: widened when they are loaded), MAT_COMPLEX,
     PARTS (reals in a block element: 1 or 2), WIDTH.

   A row is cut into full registers; where its length is no multiple of one, the last register is shifted back to end
   with the row, so that it overlaps the one before: both hold and write the same values. A row of more registers than
   the CPU has accumulators for goes in panels of equal width, one after the other over the row's entries.
   A complex matrix entry meets the block row twice, once with its real and once with its imaginary part, in
   separate accumulators that are joined after the row: no shuffle in the inner loop. Sums run over the entries
   in their order whatever the width, so that columns come out bit-identical in every width but the narrowest, which
   take several entries at a time (spmmv_some.cpu.h). */

#define FN(name) PASTE(PASTE(name, _w), WIDTH)
#define ROW_LINES ((WIDTH * PARTS * REAL_BYTES + 63) / 64)

/* Panels: as few as fit; a width without a fitting divisor (a large prime) goes in one, with accumulators in memory. */
#define FITS(panels)        \
    (WIDTH % panels == 0 && \
     (WIDTH / panels * PARTS * REAL_BYTES + SIMD_BYTES - 1) / SIMD_BYTES * (1 + MAT_COMPLEX) <= SIMD_SUMS)
#if FITS(1)
#define PANELS 1
#elif FITS(2)
#define PANELS 2
#elif FITS(3)
#define PANELS 3
#elif FITS(4)
#define PANELS 4
#elif FITS(5)
#define PANELS 5
#elif FITS(6)
#define PANELS 6
#elif FITS(7)
#define PANELS 7
#elif FITS(8)
#define PANELS 8
#else
#define PANELS 1
#endif
#define COLUMNS (WIDTH / PANELS)
#define REALS (COLUMNS * PARTS)

/* Reals in a register, registers in a panel, where register v begins, and where real r is kept among them. */
#if REALS * REAL_BYTES >= SIMD_BYTES
#define VL (SIMD_BYTES / REAL_BYTES)
#elif REALS >= 8
#define VL 8
#elif REALS >= 4
#define VL 4
#elif REALS >= 2
#define VL 2
#else
#define VL 1
#endif
#define NV ((REALS + VL - 1) / VL)
#define AT(v) ((v) < NV - 1 ? (v)*VL : REALS - VL)
#define KEPT(r) ((r) < (NV - 1) * VL ? (r) : (r) + NV * VL - REALS)

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
/* f v, f = (re, im); c says whether im counts. (+ 0: else a compiler may fuse the product with a sum that follows, in
   some kernels and not in others, and columns would differ in their last bit.) */
INLINE vec FN(cmul)(const double f[2], int c, vec v)
{
    vec r = (real)f[0] * v + (vec){0};
    if (PARTS == 2 && c) r += (real)f[1] * FN(times_i)(v);
    return r;
}

/* A row of y; past the caches if p says so, which it does where its lines are whole. */
INLINE void FN(store_row)(const wisp__spmmv_params *p, unsigned terms, real *y, vec v[NV])
{
#if VL * REAL_BYTES == SIMD_BYTES && REALS * REAL_BYTES % 64 == 0
    if (terms == 0 && p->past) {
        UNROLL for (int i = 0; i < NV; i++) simd_store_past(y + i * VL, v[i]);
        return;
    }
#endif
    (void)p, (void)terms;
    UNROLL for (int i = 0; i < NV; i++) FN(store)(y + AT(i), v[i]);
}

#include "epilogue.h"

/* Adds a row's entries times the columns at/PARTS .. + COLUMNS - 1 of what they gather. */
INLINE void FN(multiply)(const wisp__spmmv_params *p, const unsigned coded, row_entries r, int64_t at, vec ar[NV],
                         vec ai[NV])
{
    const int64_t ld = p->ld_gather;
    const real *gather = (const real *)p->gather + r.base * ld + at;
    const mat_real *val = (const mat_real *)p->val;
    for (int k = 0; k < r.len; k++) {
        const int64_t e = r.first + ((int64_t)k << r.log_step);
        const real *x = gather + (coded & SHORT_COLS ? p->short_col[e] : p->col[e]) * ld;
        const int64_t i = (coded & CODES ? p->code[e] : e) * (1 + MAT_COMPLEX);
        const real a = (real)val[i];
        UNROLL for (int v = 0; v < NV; v++) ar[v] += a * FN(load)(x + AT(v));
        if (MAT_COMPLEX) {
            const real b = (real)val[i + MAT_COMPLEX];
            UNROLL for (int v = 0; v < NV; v++) ai[v] += b * FN(load)(x + AT(v));
        }
    }
}

#if (REALS == 1 || (REALS == 2 && SIMD_BYTES >= 8 * REAL_BYTES)) && !(REALS == 1 && MAT_COMPLEX)
#define SOME
#include "spmmv_some.cpu.h"
#endif

/* One panel of a row. Where `plain` is set, entries are not coded. */
INLINE void FN(panel)(const wisp__spmmv_params *p, unsigned terms, const int plain, int64_t row, row_entries r,
                      int64_t at, FN(sums) *restrict s)
{
    vec ar[NV] = {0}, ai[NV] = {0};
#ifdef SOME
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
        const real d = (real)((const mat_real *)p->diagonal)[row], *x = (const real *)p->x + row * p->ld_x + at;
        UNROLL for (int v = 0; v < NV; v++) ar[v] += d * FN(load)(x + AT(v));
    }
    FN(epilogue)(p, terms, row, at, ar, s);
}

/* The same for columns at/PARTS .. + WIDTH - 1. */
typedef FN(sums) FN(tile_sums)[PANELS];
INLINE void FN(tile)(const wisp__spmmv_params *p, unsigned terms, const int plain, int64_t row, row_entries r,
                     int64_t at, FN(sums) s[PANELS])
{
    UNROLL for (int i = 0; i < PANELS; i++) FN(panel)(p, terms, plain, row, r, at + i * REALS, s + i);
}

/* Adds a strip's sums for columns first .. first + WIDTH - 1 to dot[3][width] pairs. */
INLINE void FN(flush)(const FN(sums) s[PANELS], unsigned terms, int width, int first, double *dot)
{
    for (int i = 0; i < PANELS; i++) FN(flush_panel)(s + i, terms, width, first + i * COLUMNS, dot);
}

#if WIDTH * PARTS * REAL_BYTES >= 64
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
        FN(tile_sums) s;
        __builtin_memset(&s, 0, sizeof s);
        const int64_t strip_end = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
        for (int64_t row = strip; row < strip_end; row++) {
#ifndef NO_PREFETCH
            FN(prefetch)(p, row + PREFETCH_ROWS);
#endif
            FN(tile)(p, terms, plain, row, entries_of(p, row), 0, s);
        }
        if (terms & K_DOTS) FN(flush)(s, terms, WIDTH, 0, dot);
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
#undef ROW_LINES
#undef FITS
#undef PANELS
#undef COLUMNS
#undef REALS
#undef VL
#undef NV
#undef AT
#undef KEPT
#undef SWAP
#undef vec

#undef NO_PREFETCH
#undef SOME
#undef WIDTH
