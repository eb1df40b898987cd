/* Width 1 on compact vectors, for rows that repeat: as many rows at a time as fill a register (a bundle). A bundle is a
   sum of terms. For a term a register of x is loaded and its elements are moved to the rows that have an entry there;
   the result is multiplied by a register of values. So nothing is looked up or gathered row by row. Shift, chain and
   dots are done by the template of the width that fills a register: to it the WIDE rows of a bundle, of one element
   each, are one row. */

enum { BUNDLE_REGS = 4, BUNDLE_LANES = SIMD_BYTES / 4 };

typedef real bundle_half __attribute__((vector_size(SIMD_BYTES / 2), aligned(REAL_BYTES), may_alias));

/* A X of `regs` bundles of one kind, one after the other; same: of rows of one pattern, which take x as it lies. */
INLINE void bundle_product(const wisp__spmmv_params *p, const int regs, const int same, int64_t row, int kind,
                           W(vec) sum[BUNDLE_REGS])
{
    const wisp__bundles *b = K_SWEEP(p)->cpu.bundles;
    const real *x = (const real *)p->gather + row * PARTS;
    UNROLL for (int v = 0; v < regs; v++) SIMD_KEEP(sum[v]);
    for (int64_t t = b->first[kind]; t < b->first[kind + 1]; t++) {
        const int32_t *take = b->take + t * BUNDLE_LANES;
        W(vec) factor = W(load)((const real *)b->factor + t * WIDE_REALS);
        SIMD_KEEP(factor);
        UNROLL for (int v = 0; v < regs; v++)
        {
            const W(vec) xv = W(load)(x + ((int64_t)b->offset[t] + v * WIDE) * PARTS);
            sum[v] += factor * (same ? xv : (W(vec))simd_take((simd_vec)xv, take));
        }
    }
}

/* The diagonal that is stored apart: one real number a row. */
INLINE W(vec) bundle_diagonal(const wisp__spmmv_params *p, int64_t row)
{
    const real *d = (const real *)p->a.diagonal + row;
#if PARTS == 1
    const W(vec) v = W(load)(d);
#else
    const bundle_half half = *(const bundle_half *)d;
    const W(vec) v = PASTE(TWICE_, WIDE)(half);
#endif
    return v * W(load)((const real *)p->x + row * PARTS);
}

INLINE void bundle_rows(const wisp__spmmv_params *p, const wisp__spmmv_params *wide, const unsigned terms,
                        const int regs, int64_t row, int kind, W(strip_sums) s)
{
    W(vec) sum[BUNDLE_REGS] = {{0}};
    if (PARTS == 1 && kind & K_SAME)
        bundle_product(p, regs, 1, row, kind & ~K_SAME, sum);
    else
        bundle_product(p, regs, 0, row, kind, sum);
    UNROLL for (int v = 0; v < regs; v++)
    {
        const int64_t at = row + v * WIDE;
        if (p->a.diagonal) sum[v] += bundle_diagonal(p, at);
        W(epilogue)(wide, terms, at, 0, sum + v, s);
    }
}

/* Whether the next ones are of one kind. */
INLINE int bundle_run(const uint16_t *kind)
{
    int same = 1;
    for (int i = 1; i < BUNDLE_REGS; i++) same &= kind[i] == kind[0];
    return same;
}

/* Whether the row, a multiple of WIDE, and those up to the next one are in no bundle. */
INLINE int is_alone(const wisp__spmmv_params *p, int64_t row, int64_t end)
{
    return row + WIDE > end || K_SWEEP(p)->cpu.bundles->kind[row / WIDE] == K_ALONE;
}

/* A row that is in no bundle. */
INLINE void bundle_alone(const wisp__spmmv_params *p, const unsigned terms, int64_t row, strip_sums_w1 single)
{
    vec_w1 ax[1] = {0};
    product_w1(p, ROWS_PATTERNS, row, entries_of(p, ROWS_PATTERNS, row), 0, ax);
    epilogue_w1(p, terms, row, 0, ax, single);
}

INLINE void bundle_strip(const wisp__spmmv_params *p, const wisp__spmmv_params *wide, const unsigned terms, int64_t row,
                         int64_t end, W(strip_sums) s, strip_sums_w1 single)
{
    const uint16_t *kind = K_SWEEP(p)->cpu.bundles->kind;
    while (row < end) {
        if (is_alone(p, row, end)) {
            const int64_t last = row + WIDE < end ? row + WIDE : end;
            for (; row < last; row++) bundle_alone(p, terms, row, single);
        } else if (row + BUNDLE_REGS * WIDE <= end && bundle_run(kind + row / WIDE)) {
            bundle_rows(p, wide, terms, BUNDLE_REGS, row, kind[row / WIDE], s);
            row += BUNDLE_REGS * WIDE;
        } else {
            bundle_rows(p, wide, terms, 1, row, kind[row / WIDE], s);
            row += WIDE;
        }
    }
}

/* The product alone, which goes to y. */
ONE_COPY void bundle_strip_none(const wisp__spmmv_params *p, const wisp__spmmv_params *wide, int64_t row, int64_t end,
                                W(strip_sums) s, strip_sums_w1 single)
{
    bundle_strip(p, wide, 0, row, end, s, single);
}

/* Unusual terms: first the strip is multiplied, then they follow, bundle by bundle and row by row, in the order of the
   usual ones, so that dots have the same bits. */
static void bundle_strip_any(const wisp__spmmv_params *p, const wisp__spmmv_params *wide, int64_t row, int64_t end,
                             W(strip_sums) s, strip_sums_w1 single)
{
    real ax[K_STRIP * PARTS];
    wisp__cpu_sweep to_ax = *K_SWEEP(p);
    to_ax.p.terms = 0;
    to_ax.p.y = ax - row * PARTS;
    to_ax.cpu.past = false;
    bundle_strip_none(&to_ax.p, &to_ax.p, row, end, s, single);
    for (int64_t at = row, last; at < end; at = last) {
        const int alone = is_alone(p, at, end);
        for (last = at + WIDE; last < end && is_alone(p, last, end) == alone;) last += WIDE;
        if (last > end) last = end;
        if (alone)
            epilogues_w1(p, at, 1, (int)(last - at), ax + (at - row) * PARTS, PARTS, single);
        else
            W(epilogues)(wide, at, WIDE, (int)(last - at) / WIDE, ax + (at - row) * PARTS, WIDE_REALS, s);
    }
}

/* No usual terms. */
#define UNUSUAL (~0u)

INLINE void bundle_range(const wisp__spmmv_params *p, const wisp__spmmv_params *wide, const unsigned terms,
                         int64_t begin, int64_t end, double *dot)
{
    const int64_t row_end = (end << p->a.log_c) < p->a.rows ? end << p->a.log_c : p->a.rows;
    for (int64_t strip = begin << p->a.log_c; strip < row_end; strip += K_STRIP) {
        const int64_t strip_end = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
        strip_sums_w1 single;
        W(strip_sums) s;
        clear_w1(single, 1);
        W(clear)(s, 1);
        if (terms == 0)
            bundle_strip_none(p, wide, strip, strip_end, s, single);
        else if (terms == K_MASK_KPM || terms == K_MASK_DOTS || terms == K_MASK_STEP)
            bundle_strip(p, wide, terms, strip, strip_end, s, single);
        else
            bundle_strip_any(p, wide, strip, strip_end, s, single);
        if (p->terms & K_DOTS) {
            wide_flush(s, p->terms, dot);
            flush_panel_w1(single, p->terms, PARTS, 0, dot);
        }
    }
    if (terms == 0 && K_SWEEP(p)->cpu.past) simd_fence();
}

static void bundled(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    if (!wide_compact(p)) {
        any_width(p, begin, end, dot);
        return;
    }
    wisp__cpu_sweep wide = *K_SWEEP(p);
    real factors[K_FACTOR_SETS][2 * WIDE_REALS];
    wide.p.reals = WIDE_REALS;
    wide.p.ld_gather = wide.p.ld_x = wide.p.ld_y = wide.p.ld_prev = PARTS;
    wide_factors(&wide.p, factors);
    if (p->terms == 0)
        bundle_range(p, &wide.p, 0, begin, end, dot);
    else if (p->terms == K_MASK_KPM)
        bundle_range(p, &wide.p, K_MASK_KPM, begin, end, dot);
    else if (p->terms == K_MASK_STEP)
        bundle_range(p, &wide.p, K_MASK_STEP, begin, end, dot);
    else if (K_WITHIN(p->terms, K_MASK_DOTS))
        bundle_range(p, &wide.p, K_MASK_DOTS, begin, end, dot);
    else
        bundle_range(p, &wide.p, UNUSUAL, begin, end, dot);
}
#undef UNUSUAL
