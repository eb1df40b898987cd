/* The augmented SpMMV for one block width, vectorised along the block row: y_row = sum over the row's entries
   of a value times a block row of x. An include-template: the file that includes it defines

     REAL_BYTES (by simd.cpu.h), MAT_BYTES (of a matrix value's parts: widened when they are loaded), MAT_COMPLEX,
     PARTS (reals in a block element: 1 or 2), WIDTH.

   A complex matrix entry meets the block row twice, once with its real and once with its imaginary part, in
   separate accumulators that are joined after the row: no shuffle in the inner loop. Sums run over the entries
   in their order whatever the width, so that columns come out bit-identical in every width but the narrowest, which
   take several entries at a time (spmmv_some.cpu.h). */

#include "row.cpu.h"

/* Sums begin as registers, not as a constant that gcc would move to and fro in every turn of the loop. */
INLINE void FN(begin)(vec ar[NV], vec ai[NV])
{
#if VL * REAL_BYTES >= 16 && VL * REAL_BYTES <= SIMD_BYTES
    UNROLL for (int v = 0; v < NV; v++) SIMD_KEEP(ar[v]);
    if (MAT_COMPLEX) UNROLL for (int v = 0; v < NV; v++) SIMD_KEEP(ai[v]);
#endif
    (void)ar, (void)ai;
}

/* A factor of the sum. Where an element is one number, gcc else multiplies several entries at once in some loops, not
   in others, and adds them up one by one, which is not fused: the last bit would depend on what else is asked for. */
INLINE real FN(factor)(real a)
{
#if REALS == 1
    SIMD_KEEP(a);
#endif
    return a;
}

/* Adds a row's entries times the columns at/PARTS .. + COLUMNS - 1 of what they gather. */
INLINE void FN(multiply)(const wisp__spmmv_params *p, const unsigned coded, row_entries r, int64_t at, vec ar[NV],
                         vec ai[NV])
{
    const int64_t ld = p->ld_gather;
    const real *gather = (const real *)p->gather + r.base * ld + at;
    const mat_real *val = (const mat_real *)p->val;
    FN(begin)(ar, ai);
    for (int k = 0; k < r.len; k++) {
        const int64_t e = r.first + ((int64_t)k << r.log_step), c = r.cols + ((int64_t)k << r.col_step);
        const real *x = gather + (coded & SHORT_COLS ? p->short_col[c] : p->col[c]) * ld;
        const int64_t i = (coded & CODES ? p->code[e] : e) * (1 + MAT_COMPLEX);
        const real a = FN(factor)((real)val[i]);
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

#if MAT_COMPLEX
/* The same for a row with pieces, half as many products where entries are real or imaginary. What is left out is zero,
   so that sums are those of whole entries bit by bit. */
INLINE void FN(multiply_pieces)(const wisp__spmmv_params *p, int64_t row, int64_t at, vec ar[NV], vec ai[NV])
{
    const int64_t ld = p->ld_gather, *first = p->pieces->first + 2 * (int64_t)p->pattern[row];
    const real *gather = (const real *)p->gather + row * ld + at;
    const mat_real *val = (const mat_real *)p->pieces->val;
    const int32_t *col = p->pieces->col;
    FN(begin)(ar, ai);
    for (int64_t e = first[0]; e < first[1]; e++)
        UNROLL for (int v = 0; v < NV; v++) ar[v] += (real)val[e] * FN(load)(gather + col[e] * ld + AT(v));
    for (int64_t e = first[1]; e < first[2]; e++)
        UNROLL for (int v = 0; v < NV; v++) ai[v] += (real)val[e] * FN(load)(gather + col[e] * ld + AT(v));
}
#endif

/* What follows a row's sums. */
INLINE void FN(finish)(const wisp__spmmv_params *p, unsigned terms, int64_t row, int64_t at, vec ar[NV], vec ai[NV],
                       FN(sums) *restrict s)
{
    if (MAT_COMPLEX) UNROLL for (int v = 0; v < NV; v++) ar[v] += FN(times_i)(ai[v]);
    if (p->diagonal) {
        const real d = (real)((const mat_real *)p->diagonal)[row], *x = (const real *)p->x + row * p->ld_x + at;
        UNROLL for (int v = 0; v < NV; v++) ar[v] += d * FN(load)(x + AT(v));
    }
    FN(epilogue)(p, terms, row, at, ar, s);
}

/* One panel of a row. */
INLINE void FN(panel)(const wisp__spmmv_params *p, unsigned terms, const int stored, int64_t row, row_entries r,
                      int64_t at, FN(sums) *restrict s)
{
    const int plain = stored != ROWS_ANY;
    vec ar[NV] = {0}, ai[NV] = {0};
#ifdef SOME
    if ((plain || !(p->code || p->short_col)) && !p->list && r.log_step == 0) { /* lists go side by side */
        const int done = FN(some)(p, r, at, ar, ai);
        r.first += done;
        r.cols += done;
        r.len -= done;
    }
#endif
#if MAT_COMPLEX && !defined(SOME)
    if (stored == ROWS_PIECES || (stored == ROWS_ANY && p->pieces))
        FN(multiply_pieces)(p, row, at, ar, ai);
    else
#endif
        if (plain || !(p->code || p->short_col))
        FN(multiply)(p, 0, r, at, ar, ai);
    else if (p->code && p->short_col)
        FN(multiply)(p, SHORT_COLS | CODES, r, at, ar, ai);
    else if (p->code)
        FN(multiply)(p, CODES, r, at, ar, ai);
    else
        FN(multiply)(p, SHORT_COLS, r, at, ar, ai);
    FN(finish)(p, terms, row, at, ar, ai, s);
}

/* The same for columns at/PARTS .. + WIDTH - 1. */
typedef FN(sums) FN(tile_sums)[PANELS];
INLINE void FN(tile)(const wisp__spmmv_params *p, unsigned terms, const int stored, int64_t row, row_entries r,
                     int64_t at, FN(sums) s[PANELS])
{
    UNROLL for (int i = 0; i < PANELS; i++) FN(panel)(p, terms, stored, row, r, at + i * REALS, s + i);
}

/* Adds a strip's sums for columns first .. first + WIDTH - 1 to dot[3][width] pairs. */
INLINE void FN(flush)(const FN(sums) s[PANELS], unsigned terms, int width, int first, double *dot)
{
    for (int i = 0; i < PANELS; i++) FN(flush_panel)(s + i, terms, width, first + i * COLUMNS, dot);
}

/* The matrix streams past faster than the hardware asks for it: what lies ahead of n entries, the first of them e. */
INLINE void FN(matrix_ahead)(const wisp__spmmv_params *p, const int stored, int64_t e, int64_t n)
{
    enum { VALUE = (1 + MAT_COMPLEX) * MAT_BYTES };
    const char *val = (const char *)p->val + e * VALUE + STREAM_AHEAD, *col = (const char *)(p->col + e) + STREAM_AHEAD;
    for (int64_t i = 0; i < n * VALUE; i += 64) __builtin_prefetch(val + i);
    for (int64_t i = 0; stored == ROWS_CRS && i < n * 4; i += 64) __builtin_prefetch(col + i);
}

/* Rows of one list or pattern that go side by side, as many as there are accumulators for: their columns, and values
   of a pattern, are looked up once, and their sums do not wait for each other. */
#define SIDE_FITS(rows) (PANELS == 1 && rows * NV * (1 + MAT_COMPLEX) <= SIMD_SUMS)
#if SIDE_FITS(4)
#define SIDE 4
#elif SIDE_FITS(2)
#define SIDE 2
#else
#define SIDE 1
#endif

INLINE void FN(side_by_side)(const wisp__spmmv_params *p, unsigned terms, const int stored, int64_t row,
                             FN(sums) *restrict s)
{
    const int patterns = stored == ROWS_PATTERNS;
    const int64_t *first = patterns ? p->chunk + p->pattern[row] : p->list_first + p->list[row], ld = p->ld_gather;
    const int32_t *col = p->col + first[0];
    const int n = (int)(first[1] - first[0]);
    const real *gather = (const real *)p->gather + row * ld;
    const mat_real *val[SIDE];
    vec ar[SIDE][NV], ai[SIDE][NV];
    UNROLL for (int i = 0; i < SIDE; i++)
    {
        val[i] = (const mat_real *)p->val + (patterns ? first[0] : p->chunk[row + i]) * (1 + MAT_COMPLEX);
        UNROLL for (int v = 0; v < NV; v++) ar[i][v] = ai[i][v] = (vec){0};
        FN(begin)(ar[i], ai[i]);
    }
    if (!patterns && p->streams) FN(matrix_ahead)(p, ROWS_LISTS, p->chunk[row], SIDE * n);
    for (int k = 0; k < n; k++) {
        const real *x = gather + col[k] * ld;
        UNROLL for (int i = 0; i < SIDE; i++)
        {
            const mat_real *a = val[i] + k * (1 + MAT_COMPLEX);
            const real f = FN(factor)((real)a[0]);
            UNROLL for (int v = 0; v < NV; v++) ar[i][v] += f * FN(load)(x + i * ld + AT(v));
            if (MAT_COMPLEX)
                UNROLL for (int v = 0; v < NV; v++) ai[i][v] += (real)a[MAT_COMPLEX] * FN(load)(x + i * ld + AT(v));
        }
    }
    UNROLL for (int i = 0; i < SIDE; i++) FN(finish)(p, terms, row + i, 0, ar[i], ai[i], s);
}

/* Whether the next rows go so. */
INLINE int FN(sides)(const wisp__spmmv_params *p, const int stored, int64_t row, int64_t end)
{
    if (SIDE == 1 || row + SIDE > end) return 0;
#ifndef SOME /* which takes several entries of a row at once */
    if (stored == ROWS_PATTERNS) return alike(p->pattern + row, SIDE);
#endif
    const int lists = stored == ROWS_LISTS || (stored == ROWS_ANY && p->list && !p->code && p->log_c == 0);
    return lists && alike(p->list + row, SIDE);
}

#if WIDTH * PARTS * REAL_BYTES >= 64
INLINE void FN(ask)(const real *row)
{
    UNROLL for (int l = 0; l < ROW_LINES; l++) __builtin_prefetch((const char *)row + 64 * l);
}

/* The row of y that is read and written some rows ahead: between what is gathered the hardware does not see a stream.
   And the block rows that are gathered from afar then, which it can't guess. Those that rows nearby have gathered are
   still in the second-level cache, and asking for them would cost more than half of what the core can do. */
INLINE void FN(prefetch)(const wisp__spmmv_params *p, unsigned terms, const int stored, int64_t row)
{
    if (p->near || row >= p->rows) return;
    if (terms || !p->past) FN(ask)((const real *)p->y + row * p->ld_y);
    if (terms & K_PREV) FN(ask)((const real *)p->prev + row * p->ld_prev);
    const row_entries r = entries_of(p, stored, row);
    const real *gather = (const real *)p->gather + r.base * p->ld_gather;
    uint32_t fresh = fresh_of(p, stored, row, r.len);
    for (int k = fresh ? __builtin_ctz(fresh) : 32; k < r.len;) {
        const int64_t c = r.cols + ((int64_t)k << r.col_step);
        const int64_t col = stored != ROWS_ANY || p->col ? p->col[c] : p->short_col[c];
        FN(ask)(gather + col * p->ld_gather);
        fresh &= fresh - 1;
        k = fresh ? __builtin_ctz(fresh) : k < 32 ? 32 : k + 1;
    }
}
#else
#define NO_PREFETCH
#endif

INLINE void FN(range)(const wisp__spmmv_params *p, unsigned terms, const int stored, int64_t begin, int64_t end,
                      double *dot)
{
    const int64_t row_end = (end << p->log_c) < p->rows ? end << p->log_c : p->rows;
    for (int64_t strip = begin << p->log_c; strip < row_end; strip += K_STRIP) {
        FN(tile_sums) s;
        __builtin_memset(&s, 0, sizeof s);
        const int64_t strip_end = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
        for (int64_t row = strip; row < strip_end; row++) {
            if (FN(sides)(p, stored, row, strip_end)) {
#ifndef NO_PREFETCH
                UNROLL for (int i = 0; i < SIDE; i++) FN(prefetch)(p, terms, stored, row + i + ROWS_AHEAD);
#endif
                FN(side_by_side)(p, terms, stored, row, s);
                row += SIDE - 1;
                continue;
            }
#ifndef NO_PREFETCH
            FN(prefetch)(p, terms, stored, row + ROWS_AHEAD);
#endif
            const row_entries r = entries_of(p, stored, row);
#ifndef SOME /* which asks itself */
            if ((stored == ROWS_CRS || stored == ROWS_LISTS) && p->streams) FN(matrix_ahead)(p, stored, r.first, r.len);
#endif
            FN(tile)(p, terms, stored, row, r, 0, s);
        }
        if (terms & K_DOTS) FN(flush)(s, terms, WIDTH, 0, dot);
    }
    if (terms == 0 && p->past) simd_fence();
}

/* Whatever p says. */
static void FN(all)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(range)(p, p->terms, ROWS_ANY, begin, end, dot);
}

/* The common case with its constants compiled in: uncoded rows, one after the other, with lists or as patterns, and
   blocks without gaps. */
INLINE void FN(compact)(const wisp__spmmv_params *p, const unsigned terms, int64_t begin, int64_t end, double *dot)
{
    enum { LD = WIDTH * PARTS };
    const bool compact = p->ld_gather == LD && p->ld_x == LD && p->ld_y == LD;
    if (!compact || p->log_c || p->code || p->short_col) {
        FN(all)(p, begin, end, dot);
        return;
    }
    wisp__spmmv_params q = *p;
    q.log_c = 0;
    q.width = WIDTH;
    q.ld_gather = q.ld_x = q.ld_y = LD;
    if (MAT_COMPLEX && p->pieces) {
        FN(range)(&q, terms, ROWS_PIECES, begin, end, dot);
    } else if (p->pattern) {
        FN(range)(&q, terms, ROWS_PATTERNS, begin, end, dot);
    } else if (p->list) {
        q.diagonal = NULL;
        FN(range)(&q, terms, ROWS_LISTS, begin, end, dot);
    } else {
        q.diagonal = NULL;
        FN(range)(&q, terms, ROWS_CRS, begin, end, dot);
    }
}
static void FN(none)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(compact)(p, 0, begin, end, dot);
}
static void FN(kpm)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    FN(compact)(p, K_MASK_KPM, begin, end, dot);
}

#undef NO_PREFETCH
#undef SIDE
#undef SIDE_FITS
#undef SOME
#undef WIDTH
