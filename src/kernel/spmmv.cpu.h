/* The augmented SpMMV for one block width, vectorised along the block row: y_row = sum over the row's entries
   of a value times a block row of x. An include-template: the file that includes it defines

     REAL_BYTES (by simd.cpu.h), MAT_BYTES (of a matrix value's parts: widened when they are loaded), MAT_COMPLEX,
     WIDTH; COMPACT, if the common cases shall be compiled in.

   The widths 1, 2, 4 and 8 (and others without COMPACT) do whatever p says, and all that is not compiled in is put
   together from these (spmmv_any.cpu.h). To a real matrix a complex block is a real one of twice the width, of which
   the epilogue is told (K_PAIRS). A complex matrix entry meets the block row twice, once with its real and once with
   its imaginary part, in separate accumulators that are joined after the row: no shuffle in the inner loop. Sums run
   over the entries in their order whatever the width, so that columns come out bit-identical in every width but the
   narrowest of real matrices, which take several entries at a time (spmmv_some.cpu.h). */

#include "row.cpu.h"

/* Whether the kernel takes blocks of any multiple of its width, too, part by part: the constants are missed least
   here. */
#if defined(COMPACT) && WIDTH >= K_MULTIPLES
#define MULTIPLES 1
#else
#define MULTIPLES 0
#endif

/* Sums begin as registers, not as a constant that gcc would move to and fro in every turn of the loop. */
INLINE void FN(begin)(vec ar[NV], vec ai[NV])
{
#if VL * REAL_BYTES >= 16 && VL * REAL_BYTES <= SIMD_BYTES
    UNROLL for (int v = 0; v < NV; v++) SIMD_KEEP(ar[v]);
    if (MAT_COMPLEX) UNROLL for (int v = 0; v < NV; v++) SIMD_KEEP(ai[v]);
#endif
    (void)ar, (void)ai;
}

/* Where an element is one number, gcc else multiplies several entries, or rows, at once in some loops, not in others,
   and adds them up one by one, which is not fused: the last bit would depend on what else is asked for. So factors and
   sums are taken one by one. */
INLINE real FN(alone)(real a)
{
#if REALS == 1
    SIMD_KEEP(a);
#endif
    return a;
}

/* Adds a row's entries times the columns at/PARTS .. + COLUMNS - 1 of what they gather; coded: p says how. */
INLINE void FN(multiply)(const wisp__spmmv_params *p, const int coded, row_entries r, int64_t at, vec ar[NV],
                         vec ai[NV])
{
    const int64_t ld = p->ld_gather;
    const real *gather = (const real *)p->gather + r.base * ld + at;
    const mat_real *val = (const mat_real *)p->a.val;
    const int64_t step = (int64_t)1 << r.log_step, col_step = (int64_t)1 << r.col_step;
    FN(begin)(ar, ai);
    for (int64_t k = 0, e = r.first, c = r.cols; k < r.len; k++, e += step, c += col_step) {
        const real *x = gather + (coded && p->a.short_col ? p->a.short_col[c] : p->a.col[c]) * ld;
        const int64_t i = (coded && p->a.code ? p->a.code[e] : e) * (1 + MAT_COMPLEX);
        const real a = FN(alone)((real)val[i]);
        UNROLL for (int v = 0; v < NV; v++) ar[v] += a * FN(load)(x + AT(v));
        if (MAT_COMPLEX) {
            const real b = (real)val[i + MAT_COMPLEX];
            UNROLL for (int v = 0; v < NV; v++) ai[v] += b * FN(load)(x + AT(v));
        }
    }
}

#if !MAT_COMPLEX && (REALS == 1 || (REALS == 2 && SIMD_BYTES >= 8 * REAL_BYTES))
#define SOME
#include "spmmv_some.cpu.h"

/* Whether several entries of a row are taken at a time. Rows with lists go side by side instead, and so do pairs of
   real columns with patterns. */
INLINE int FN(takes_some)(const wisp__spmmv_params *p, const int stored)
{
    return !has_lists(p, stored) && !(REALS == 2 && has_patterns(p, stored));
}
#endif

#if MAT_COMPLEX
/* The same for a row with pieces, half as many products where entries are real or imaginary. What is left out is zero,
   so that sums are those of whole entries bit by bit. */
INLINE void FN(multiply_pieces)(const wisp__spmmv_params *p, int64_t row, int64_t at, vec ar[NV], vec ai[NV])
{
    const int64_t ld = p->ld_gather, *first = K_SWEEP(p)->cpu.pieces->first + 2 * (int64_t)p->a.pattern[row];
    const real *gather = (const real *)p->gather + row * ld + at;
    const mat_real *val = (const mat_real *)K_SWEEP(p)->cpu.pieces->val;
    const int32_t *col = K_SWEEP(p)->cpu.pieces->col;
    FN(begin)(ar, ai);
    for (int64_t e = first[0]; e < first[1]; e++)
        UNROLL for (int v = 0; v < NV; v++) ar[v] += (real)val[e] * FN(load)(gather + col[e] * ld + AT(v));
    for (int64_t e = first[1]; e < first[2]; e++)
        UNROLL for (int v = 0; v < NV; v++) ai[v] += (real)val[e] * FN(load)(gather + col[e] * ld + AT(v));
}
#endif

/* The two accumulators become one, and the diagonal that is stored apart is added. */
INLINE void FN(join)(const wisp__spmmv_params *p, int64_t row, int64_t at, vec ar[NV], vec ai[NV])
{
    if (MAT_COMPLEX) UNROLL for (int v = 0; v < NV; v++) ar[v] += FN(times_i)(ai[v]);
    if (!p->a.diagonal) return;
    const real d = (real)((const mat_real *)p->a.diagonal)[row], *x = (const real *)p->x + row * p->ld_x + at;
    UNROLL for (int v = 0; v < NV; v++) ar[v] += d * FN(load)(x + AT(v));
}

/* What A has in a row, times x: one panel. */
INLINE void FN(product)(const wisp__spmmv_params *p, const int stored, int64_t row, row_entries r, int64_t at,
                        vec ar[NV])
{
    const int uncoded = stored != ROWS_ANY || !(p->a.code || p->a.short_col);
    vec ai[NV] = {0};
#ifdef SOME
    if (uncoded && r.log_step == 0 && r.col_step == 0 && FN(takes_some)(p, stored)) {
        const int done = FN(some)(p, r, at, ar);
        r.first += done;
        r.cols += done;
        r.len -= done;
    }
#endif
#if MAT_COMPLEX
    if (stored == ROWS_PIECES || (stored == ROWS_ANY && K_SWEEP(p)->cpu.pieces))
        FN(multiply_pieces)(p, row, at, ar, ai);
    else
#endif
        if (uncoded)
        FN(multiply)(p, 0, r, at, ar, ai);
    else
        FN(multiply)(p, 1, r, at, ar, ai);
    FN(join)(p, row, at, ar, ai);
}

/* Where rows with epilogues of their own keep what A x is, before these. */
enum {
    FN(BATCH) = 4096 / (WIDTH * PARTS * REAL_BYTES) < 8             ? 8
                : 4096 / (WIDTH * PARTS * REAL_BYTES) > K_STRIP / 4 ? K_STRIP / 4
                                                                    : 4096 / (WIDTH * PARTS * REAL_BYTES)
};

/* Where rows go: the common epilogues follow at once, in registers; else they are written (to y itself if nothing
   follows). */
typedef struct {
    FN(sums) * sums; /* of the common epilogues */
    real *out;       /* the first row */
    int64_t ld, row; /* of out; which row that is */
} FN(sink);

/* What follows a row's product. The sums of four registers a row must lie in memory beside CRS: in registers, they
   leave gcc 12 too few for the loop over entries, which then goes through memory (docs/performance.md). */
INLINE void FN(finish)(const wisp__spmmv_params *p, const int stored, int64_t row, int panel, vec ar[NV],
                       const FN(sink) * to)
{
    if (stored == ROWS_ANY) {
        FN(store_row)(p, p->terms, to->out + (row - to->row) * to->ld + panel * REALS, ar);
    } else {
        if (stored == ROWS_CRS && NV == 4) __asm__("" : "+m"(to->sums[panel]));
        FN(epilogue)(p, p->terms, row, panel * REALS, ar, to->sums + panel);
    }
}

/* The matrix streams past faster than the hardware asks for it: what lies ahead of n entries, the first of them e. */
INLINE void FN(matrix_ahead)(const wisp__spmmv_params *p, const int stored, int64_t e, int64_t n)
{
    enum { VALUE = (1 + MAT_COMPLEX) * MAT_BYTES };
    const int log_words = stored == ROWS_ANY ? p->a.log_words : 0;
    const char *val = (const char *)p->a.val + e * VALUE + STREAM_AHEAD,
               *col = (const char *)(p->a.col + (e << log_words)) + STREAM_AHEAD;
    for (int64_t i = 0; i < n * VALUE; i += 64) __builtin_prefetch(val + i);
    for (int64_t i = 0; !has_lists(p, stored) && i < n * 4 << log_words; i += 64) __builtin_prefetch(col + i);
}

/* Whether it does: rows are one after the other, and no other columns of the block have asked for it. */
INLINE int FN(asks_matrix)(const wisp__spmmv_params *p, const int stored)
{
    if (!K_SWEEP(p)->cpu.streams || has_patterns(p, stored)) return 0;
    return stored != ROWS_ANY || (p->a.log_c == 0 && !p->a.code && !p->a.short_col && p->first == 0);
}

/* Rows of one list or pattern that go side by side, as many as there are accumulators for: their columns, and values
   of a pattern, are looked up once, and their sums do not wait for each other. */
#define SIDE_FITS(rows) (PANELS == 1 && rows * NV * (1 + MAT_COMPLEX) <= SIMD_SUMS)
#if SIDE_FITS(K_MOST_SIDES)
#define SIDE K_MOST_SIDES
#elif SIDE_FITS(2)
#define SIDE 2
#else
#define SIDE 1
#endif

/* They are cpu.period rows apart, since the orbitals of a site, or sublattices, take turns. Real block rows of a
   line of cache gain by that. Wider ones go with their neighbours alone: others would fill the first-level cache. */
#define MOST_PERIOD (MAT_COMPLEX || ROW_LINES > 1 ? 1 : K_MOST_PERIOD)

/* What A has in SIDE rows that are so far apart, times x. */
INLINE void FN(side_products)(const wisp__spmmv_params *p, const int stored, int64_t row, const int64_t apart,
                              vec ar[SIDE][NV])
{
    const int patterns = has_patterns(p, stored);
    const int64_t *first = patterns ? p->a.chunk + p->a.pattern[row] : p->a.list_first + p->a.list[row],
                  ld = p->ld_gather;
    const int64_t at = stored == ROWS_ANY ? p->first : 0;
    const int32_t *col = p->a.col + first[0];
    const int n = (int)(first[1] - first[0]);
    const real *gather = (const real *)p->gather + row * ld + at;
    const mat_real *val[SIDE];
    vec ai[SIDE][NV];
    UNROLL for (int i = 0; i < SIDE; i++)
    {
        val[i] = (const mat_real *)p->a.val + (patterns ? first[0] : p->a.chunk[row + i * apart]) * (1 + MAT_COMPLEX);
        UNROLL for (int v = 0; v < NV; v++) ar[i][v] = ai[i][v] = (vec){0};
        FN(begin)(ar[i], ai[i]);
    }
    for (int k = 0; k < n; k++) {
        const real *x = gather + col[k] * ld;
        UNROLL for (int i = 0; i < SIDE; i++)
        {
            const mat_real *a = val[i] + k * (1 + MAT_COMPLEX);
            const real f = FN(alone)((real)a[0]);
            UNROLL for (int v = 0; v < NV; v++) ar[i][v] += f * FN(load)(x + i * apart * ld + AT(v));
            if (MAT_COMPLEX)
                UNROLL for (int v = 0; v < NV; v++) ai[i][v] +=
                    (real)a[MAT_COMPLEX] * FN(load)(x + i * apart * ld + AT(v));
        }
    }
    UNROLL for (int i = 0; i < SIDE; i++)
    {
#if REALS == 1
        ar[i][0] = FN(alone)(ar[i][0]);
#endif
        FN(join)(p, row + i * apart, at, ar[i], ai[i]);
    }
}

/* How far apart rows are that go side by side. */
INLINE int FN(period)(const wisp__spmmv_params *p, const int stored)
{
    return MOST_PERIOD == 1 || stored == ROWS_ANY ? 1 : K_SWEEP(p)->cpu.period;
}

/* How many rows are taken next: one, or as many as go side by side. */
INLINE int FN(sides)(const wisp__spmmv_params *p, const int stored, int64_t row, int64_t end)
{
    const int patterns = has_patterns(p, stored), n = SIDE * FN(period)(p, stored);
    if (SIDE == 1 || stored == ROWS_CRS || stored == ROWS_PIECES || row + n > end) return 1;
    if (stored == ROWS_ANY && (patterns ? !!K_SWEEP(p)->cpu.pieces : !p->a.list || p->a.code || p->a.log_c)) return 1;
#ifdef SOME
    if (FN(takes_some)(p, stored)) return 1;
#endif
    return alike((patterns ? p->a.pattern : p->a.list) + row, SIDE, FN(period)(p, stored)) ? n : 1;
}

#if WIDTH * PARTS * REAL_BYTES >= 64
INLINE void FN(ask)(const real *row, int64_t reals, const int to_write)
{
    const char *line = (const char *)row;
    UNROLL for (int l = 0; l < ROW_LINES; l++) PREFETCH(line + 64 * l, to_write);
#if MULTIPLES /* the first part of a block row asks for all of it */
    for (int64_t l = WIDTH * PARTS * REAL_BYTES; l < reals * REAL_BYTES; l += 64) PREFETCH(line + l, to_write);
#endif
    (void)reals;
}

/* The rows of y that are read and written some rows ahead: between what is gathered the hardware does not see a stream.
   Those of several lines are asked for again just before, to be written, so that stores do not wait for other threads.
   And the block rows that are gathered from afar then, which it can't guess. The columns of `period` rows stand for
   those of all; where they are others', that costs a prefetch. Those that rows nearby have gathered are still in the
   second-level cache, and asking for them would cost more than half of what the core can do. */
INLINE void FN(prefetch)(const wisp__spmmv_params *p, const int stored, int64_t row, int64_t ahead, const int rows,
                         const int period)
{
    if (K_SWEEP(p)->cpu.near || ahead + rows * period > p->a.rows) return;
    const int64_t at = stored == ROWS_ANY ? p->first : 0, ld = p->ld_gather;
    const int64_t soon = row + (rows * period > 2 ? rows * period : 2), next = soon < ahead ? soon : ahead;
    const real *y = (const real *)p->y + at;
    for (int i = 0; i < rows * period; i++) {
        if (p->terms || !K_SWEEP(p)->cpu.past) {
            FN(ask)(y + (ahead + i) * p->ld_y, p->reals, ROW_LINES == 1);
            if (ROW_LINES > 1) FN(ask)(y + (next + i) * p->ld_y, p->reals, 1);
        }
        if (p->terms & K_PREV) FN(ask)((const real *)p->prev + (ahead + i) * p->ld_prev + at, p->reals, 0);
        if (p->terms & K_ADD) FN(ask)((const real *)p->u + (ahead + i) * p->ld_u + at, p->reals, 0);
    }
    for (int j = 0; K_SWEEP(p)->cpu.asks_gathered && j < period; j++) {
        const row_entries r = entries_of(p, stored, ahead + j);
        const real *gather = (const real *)p->gather + r.base * ld + at;
        uint32_t fresh = fresh_of(p, stored, ahead + j, r.len);
        for (int k = fresh ? __builtin_ctz(fresh) : 32; k < r.len;) {
            const int64_t c = r.cols + ((int64_t)k << r.col_step);
            const int64_t col = stored != ROWS_ANY || p->a.col ? p->a.col[c] : p->a.short_col[c];
            for (int i = 0; i < rows; i++) FN(ask)(gather + (col + i * period) * ld, p->reals, 0);
            fresh &= fresh - 1;
            k = fresh ? __builtin_ctz(fresh) : k < 32 ? 32 : k + 1;
        }
    }
}
#else
INLINE void FN(prefetch)(const wisp__spmmv_params *p, const int stored, int64_t row, int64_t ahead, const int rows,
                         const int period)
{
    (void)p, (void)stored, (void)row, (void)ahead, (void)rows, (void)period;
}
#endif

/* SIDE rows of each place in the period. What follows the products goes row by row: dots are added up in the order of
   the rows, whichever go side by side. */
INLINE void FN(side_by_side)(const wisp__spmmv_params *p, const int stored, int64_t row, const FN(sink) * to)
{
    const int period = FN(period)(p, stored);
    const int64_t ahead = row + ROWS_AHEAD - ROWS_AHEAD % period; /* where the same patterns are */
    vec ar[SIDE][NV], ax[MOST_PERIOD * SIDE][NV];
    if (FN(asks_matrix)(p, stored))
        FN(matrix_ahead)(p, stored, p->a.chunk[row], p->a.chunk[row + SIDE * period] - p->a.chunk[row]);
    FN(prefetch)(p, stored, row, ahead, SIDE, period);
    if (period == 1) {
        FN(side_products)(p, stored, row, 1, ar);
        UNROLL for (int i = 0; i < SIDE; i++) FN(finish)(p, stored, row + i, 0, ar[i], to);
        return;
    }
    for (int j = 0; j < period; j++) {
        FN(side_products)(p, stored, row + j, period, ar);
        UNROLL for (int i = 0; i < SIDE; i++) UNROLL for (int v = 0; v < NV; v++) ax[i * period + j][v] = ar[i][v];
    }
    for (int i = 0; i < period * SIDE; i++) FN(finish)(p, stored, row + i, 0, ax[i], to);
}

/* Rows [row, end). */
INLINE void FN(rows)(const wisp__spmmv_params *p, const int stored, int64_t row, int64_t end, const FN(sink) * to)
{
    for (int n; row < end; row += n) {
        n = FN(sides)(p, stored, row, end);
        if (n > 1) {
            FN(side_by_side)(p, stored, row, to);
            continue;
        }
        FN(prefetch)(p, stored, row, row + ROWS_AHEAD, 1, 1);
        const row_entries r = entries_of(p, stored, row);
#ifndef SOME /* which asks itself */
        if (FN(asks_matrix)(p, stored)) FN(matrix_ahead)(p, stored, r.first, r.len);
#endif
        UNROLL for (int i = 0; i < PANELS; i++)
        {
            vec ar[NV] = {0};
            FN(product)(p, stored, row, r, (stored == ROWS_ANY ? p->first : 0) + i * REALS, ar);
            FN(finish)(p, stored, row, i, ar, to);
        }
    }
}

typedef FN(sums) FN(strip_sums)[PANELS];

/* Those of rows with terms that are known here, as a rule. */
INLINE void FN(epilogues_of)(const wisp__spmmv_params *p, const unsigned terms, int64_t row, int apart, int rows,
                             const real *ax, int64_t ld, FN(sums) * s)
{
    for (int r = 0; r < rows; r++, row += apart, ax += ld)
        for (int i = 0; i < PANELS; i++) {
            vec v[NV];
            UNROLL for (int k = 0; k < NV; k++) v[k] = FN(load)(ax + i * REALS + AT(k));
            FN(epilogue)(p, terms, row, p->first + i * REALS, v, s + i);
        }
}

/* The epilogues of rows, so many apart, whose product is in ax[rows][ld], whatever the terms. Dots of linear solvers
   have constants where rows are so short that looking the terms up takes long. */
ONE_COPY void FN(epilogues)(const wisp__spmmv_params *p, int64_t row, int apart, int rows, const real *ax, int64_t ld,
                            FN(sums) * s)
{
    if (WIDTH <= 8 && K_WITHIN(p->terms, K_MASK_DOTS))
        FN(epilogues_of)(p, K_MASK_DOTS, row, apart, rows, ax, ld, s);
    else if (WIDTH <= 8 && K_WITHIN(p->terms, K_MASK_DOTS | K_DOT_UY))
        FN(epilogues_of)(p, K_MASK_DOTS | K_DOT_UY, row, apart, rows, ax, ld, s);
    else
        FN(epilogues_of)(p, p->terms, row, apart, rows, ax, ld, s);
}

/* Adds a strip's sums to dot[K_DOT_SETS][columns] pairs. */
INLINE void FN(flush)(const FN(strip_sums) s, const wisp__spmmv_params *p, double *dot)
{
    for (int i = 0; (p->terms & K_DOTS) && i < PANELS; i++)
        FN(flush_panel)(s + i, p->terms, p->reals, p->first + i * REALS, dot);
}

#if WIDTH == 1 || WIDTH == 2 || WIDTH == 4 || WIDTH == 8 || !defined(COMPACT)
/* Rows [row, end) of a strip, whatever p says. */
static void FN(any_rows)(const wisp__spmmv_params *p, int64_t row, int64_t end, FN(strip_sums) s)
{
    real ax[FN(BATCH) * WIDTH * PARTS];
    for (int64_t next; row < end; row = next) {
        next = p->terms && row + FN(BATCH) < end ? row + FN(BATCH) : end;
        FN(sink) to = {.out = ax, .ld = WIDTH * PARTS, .row = row};
        if (!p->terms) to = (FN(sink)){.out = (real *)p->y + row * p->ld_y + p->first, .ld = p->ld_y, .row = row};
        FN(rows)(p, ROWS_ANY, row, next, &to);
        if (p->terms) FN(epilogues)(p, row, 1, (int)(next - row), ax, WIDTH * PARTS, s);
    }
}

static void FN(any)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    for (int64_t strip = begin; strip < end; strip += K_STRIP) {
        FN(strip_sums) s;
        FN(clear)(s, PANELS);
        FN(any_rows)(p, strip, strip + K_STRIP < end ? strip + K_STRIP : end, s);
        FN(flush)(s, p, dot);
    }
}
#endif

#if defined(COMPACT) && (WIDTH == 2 || WIDTH == 4 || WIDTH == 8) && MAT_BYTES == REAL_BYTES
/* Unusual terms: a kernel with constants multiplies some rows at a time, of `part` numbers each, and the terms follow
   here, WIDTH columns at a time. */
static void FN(terms_after)(const wisp__spmmv_params *p, wisp__spmmv_fn multiply, int64_t part, int64_t begin,
                            int64_t end, double *dot)
{
    real ax[TERMS_ROWS * TERMS_REALS];
    const int64_t most = TERMS_ROWS * TERMS_REALS / p->reals, rows = most < K_STRIP / 4 ? most : K_STRIP / 4;
    const int panels = (int)(p->reals / (WIDTH * PARTS));
    for (int64_t strip = begin, last; strip < end; strip = last) {
        FN(sums) s[TERMS_REALS / (WIDTH * PARTS)];
        FN(clear)(s, panels);
        last = strip + K_STRIP < end ? strip + K_STRIP : end;
        for (int64_t row = strip, next; row < last; row = next) {
            wisp__cpu_sweep q = *K_SWEEP(p);
            next = row + rows < last ? row + rows : last;
            q.p.terms = 0;
            q.cpu.past = false;
            q.p.y = ax - row * p->reals;
            each_part(&q.p, multiply, part, row, next, NULL);
            q = *K_SWEEP(p);
            for (int i = 0; i < panels; i++, q.p.first += WIDTH * PARTS)
                FN(epilogues)(&q.p, row, 1, (int)(next - row), ax + q.p.first, p->reals, s + i);
        }
        for (int i = 0; (p->terms & K_DOTS) && i < panels; i++)
            FN(flush_panel)(s + i, p->terms, p->reals, i * WIDTH * PARTS, dot);
    }
}
#endif

#ifdef COMPACT
#include "spmmv_compact.cpu.h"
#endif

#undef COMPACT_LISTS
#undef COMPACT_ONE
#undef KPM_ONE
#undef STEP_ONE
#undef PAIRS_TOO
#undef TERMS_AFTER
#undef MULTIPLES
#undef SIDE
#undef SIDE_FITS
#undef MOST_PERIOD
#undef SOME
#undef WIDTH
