/* Width 1 on compact vectors, of rows that repeat: as many rows as fill a register at a time. A term of theirs is a
   register of x, with each of its parts where the row that has an entry there wants it, times a register of values: no
   value is looked up and nothing gathered row by row. The rest is what the template of the width that fills a register
   does, for which BUNDLE rows of one element, one after the other, are one row. */

#undef vec /* the template's of the width before */
#if SIMD_BYTES == 2 * PARTS * REAL_BYTES
#define BUNDLE 2
#elif SIMD_BYTES == 4 * PARTS * REAL_BYTES
#define BUNDLE 4
#elif SIMD_BYTES == 8 * PARTS * REAL_BYTES
#define BUNDLE 8
#else
#define BUNDLE 16
#endif
#define B(name) PASTE(PASTE(name, _w), BUNDLE)
enum { BUNDLE_REGS = 4, BUNDLE_REALS = BUNDLE * PARTS, BUNDLE_LANES = SIMD_BYTES / 4 };

typedef real bundle_half __attribute__((vector_size(SIMD_BYTES / 2), aligned(REAL_BYTES), may_alias));

/* A X of `regs` bundles of one kind, one after the other; same: of rows of one pattern, which take x as it lies. */
INLINE void bundle_product(const wisp__spmmv_params *p, const int regs, const int same, int64_t row, int kind,
                           B(vec) sum[BUNDLE_REGS])
{
    const wisp__bundles *b = p->cpu.bundles;
    const real *x = (const real *)p->gather + row * PARTS;
    UNROLL for (int v = 0; v < regs; v++) SIMD_KEEP(sum[v]);
    for (int64_t t = b->first[kind]; t < b->first[kind + 1]; t++) {
        const int32_t *take = b->take + t * BUNDLE_LANES;
        B(vec) factor = B(load)((const real *)b->factor + t * BUNDLE_REALS);
        SIMD_KEEP(factor);
        UNROLL for (int v = 0; v < regs; v++)
        {
            const B(vec) xv = B(load)(x + ((int64_t)b->offset[t] + v * BUNDLE) * PARTS);
            sum[v] += factor * (same ? xv : (B(vec))simd_take((simd_vec)xv, take));
        }
    }
}

/* The diagonal that is stored apart: one real number a row. */
INLINE B(vec) bundle_diagonal(const wisp__spmmv_params *p, int64_t row)
{
    const real *d = (const real *)p->diagonal + row;
#if PARTS == 1
    const B(vec) v = B(load)(d);
#else
    const bundle_half half = *(const bundle_half *)d;
    const B(vec) v = PASTE(TWICE_, BUNDLE)(half);
#endif
    return v * B(load)((const real *)p->x + row * PARTS);
}

INLINE void bundle_rows(const wisp__spmmv_params *p, const wisp__spmmv_params *wide, const unsigned terms,
                        const int regs, int64_t row, int kind, B(strip_sums) s)
{
    B(vec) sum[BUNDLE_REGS] = {{0}};
    if (PARTS == 1 && kind & K_SAME)
        bundle_product(p, regs, 1, row, kind & ~K_SAME, sum);
    else
        bundle_product(p, regs, 0, row, kind, sum);
    UNROLL for (int v = 0; v < regs; v++)
    {
        const int64_t at = row + v * BUNDLE;
        if (p->diagonal) sum[v] += bundle_diagonal(p, at);
        if (terms == 0 || terms == K_MASK_KPM) {
            B(epilogue)(wide, terms, at, 0, sum + v, s);
        } else {
            const B(vec) ax = sum[v]; /* the sums themselves have no address: they stay in registers */
            B(epilogues)(wide, at, 1, (const real *)&ax, 0, s);
        }
    }
}

/* Sums of the columns of wide rows, which are one column. */
INLINE void bundle_flush(const B(strip_sums) s, const unsigned terms, double *dot)
{
    double columns[6 * BUNDLE] = {0};
    B(flush_panel)(s, terms, BUNDLE_REALS, 0, columns);
    for (int t = 0; t < 3; t++)
        for (int j = 0; j < BUNDLE; j++)
            UNROLL for (int i = 0; i < 2; i++) dot[2 * t + i] += columns[2 * (t * BUNDLE + j) + i];
}

/* Whether the next ones are of one kind. */
INLINE int bundle_run(const uint16_t *kind)
{
    int same = 1;
    for (int i = 1; i < BUNDLE_REGS; i++) same &= kind[i] == kind[0];
    return same;
}

/* A row that is in no bundle. */
INLINE void bundle_alone(const wisp__spmmv_params *p, const unsigned terms, int64_t row, strip_sums_w1 single)
{
    vec_w1 ax[1] = {0};
    product_w1(p, ROWS_PATTERNS, row, entries_of(p, ROWS_PATTERNS, row), 0, ax);
    epilogue_w1(p, terms, row, 0, ax, single);
}

INLINE void bundle_strip(const wisp__spmmv_params *p, const wisp__spmmv_params *wide, const unsigned terms, int64_t row,
                         int64_t end, B(strip_sums) s, strip_sums_w1 single)
{
    const uint16_t *kind = p->cpu.bundles->kind;
    while (row < end) {
        const int k = row + BUNDLE <= end ? kind[row / BUNDLE] : K_ALONE;
        if (k == K_ALONE) {
            const int64_t last = row + BUNDLE < end ? row + BUNDLE : end;
            for (; row < last; row++) bundle_alone(p, terms, row, single);
        } else if (row + BUNDLE_REGS * BUNDLE <= end && bundle_run(kind + row / BUNDLE)) {
            bundle_rows(p, wide, terms, BUNDLE_REGS, row, k, s);
            row += BUNDLE_REGS * BUNDLE;
        } else {
            bundle_rows(p, wide, terms, 1, row, k, s);
            row += BUNDLE;
        }
    }
}

INLINE void bundle_range(const wisp__spmmv_params *p, const wisp__spmmv_params *wide, const unsigned terms,
                         int64_t begin, int64_t end, double *dot)
{
    const int64_t row_end = (end << p->log_c) < p->rows ? end << p->log_c : p->rows;
    for (int64_t strip = begin << p->log_c; strip < row_end; strip += K_STRIP) {
        strip_sums_w1 single;
        B(strip_sums) s;
        __builtin_memset(&single, 0, sizeof single);
        __builtin_memset(&s, 0, sizeof s);
        bundle_strip(p, wide, terms, strip, strip + K_STRIP < row_end ? strip + K_STRIP : row_end, s, single);
        if (terms & K_DOTS) {
            bundle_flush(s, terms, dot);
            flush_panel_w1(single, terms, PARTS, 0, dot);
        }
    }
    if (terms == 0 && p->cpu.past) simd_fence();
}

static void bundled(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    int compact =
        p->ld_gather == PARTS && p->ld_x == PARTS && p->ld_y == PARTS && (!(p->terms & K_PREV) || p->ld_prev == PARTS);
    for (int i = 0; (p->terms & K_CHAIN) && i < p->chains; i++) compact &= p->chain[i].ld == PARTS;
    if (!compact) {
        any_width(p, begin, end, dot);
        return;
    }
    wisp__spmmv_params wide = *p;
    real shift[2 * BUNDLE_REALS];
    wide.reals = BUNDLE_REALS;
    wide.ld_gather = wide.ld_x = wide.ld_y = wide.ld_prev = PARTS;
    wide.shift = shift;
    for (int i = 0; (p->terms & K_SHIFT) && i < 2 * BUNDLE_REALS; i++)
        shift[i] = ((const real *)p->shift)[i / BUNDLE_REALS * PARTS + i % PARTS];
    if (p->terms == 0)
        bundle_range(p, &wide, 0, begin, end, dot);
    else if (p->terms == K_MASK_KPM)
        bundle_range(p, &wide, K_MASK_KPM, begin, end, dot);
    else
        bundle_range(p, &wide, p->terms, begin, end, dot);
}
#undef B
