/* The common cases with their constants compiled in: uncoded rows, one after the other, blocks without gaps, and the
   usual terms. Functions of their own: in one, compilers keep the addresses of each in vector registers. Included by
   spmmv.cpu.h; FN(kernel) takes which of them a call needs. */
INLINE void FN(compact_rows)(const wisp__spmmv_params *p, const int stored, const unsigned terms, int64_t begin,
                             int64_t end, double *dot)
{
    wisp__cpu_sweep q = *K_SWEEP(p);
    q.p.terms = terms;
    q.p.a.log_c = 0;
    if (!MULTIPLES) q.p.ld_gather = q.p.ld_x = q.p.ld_y = q.p.reals = WIDTH * PARTS;
    if (stored == ROWS_CRS || stored == ROWS_LISTS) q.p.a.diagonal = NULL;
    for (int64_t strip = begin; strip < end; strip += K_STRIP) {
        FN(strip_sums) s;
        const FN(sink) to = {.sums = s};
        FN(clear)(s, PANELS);
        FN(rows)(&q.p, stored, strip, strip + K_STRIP < end ? strip + K_STRIP : end, &to);
        FN(flush)(s, &q.p, dot);
    }
}

#define COMPACT_KERNEL(name, stored, terms)                                                                 \
    static __attribute__((noinline)) void FN(name)(const wisp__spmmv_params *p, int64_t begin, int64_t end, \
                                                   double *dot)                                             \
    {                                                                                                       \
        FN(compact_rows)(p, stored, terms, begin, end, dot);                                                \
    }
COMPACT_KERNEL(crs_none, ROWS_CRS, 0)
COMPACT_KERNEL(crs_kpm, ROWS_CRS, K_MASK_KPM)
COMPACT_KERNEL(patterns_none, ROWS_PATTERNS, 0)
COMPACT_KERNEL(patterns_kpm, ROWS_PATTERNS, K_MASK_KPM)
#if !MAT_COMPLEX && MAT_BYTES == REAL_BYTES /* complex lattices without repeating values are rare */
#define COMPACT_LISTS
COMPACT_KERNEL(lists_none, ROWS_LISTS, 0)
COMPACT_KERNEL(lists_kpm, ROWS_LISTS, K_MASK_KPM)
#elif MAT_COMPLEX
COMPACT_KERNEL(pieces_none, ROWS_PIECES, 0)
COMPACT_KERNEL(pieces_kpm, ROWS_PIECES, K_MASK_KPM)
#endif
#if WIDTH > 2
#define STEP_KERNEL(name, stored) COMPACT_KERNEL(name, stored, K_MASK_STEP | (p->terms & K_MASK_STEP_TOO))
STEP_KERNEL(crs_step, ROWS_CRS)
STEP_KERNEL(patterns_step, ROWS_PATTERNS)
#ifdef COMPACT_LISTS
STEP_KERNEL(lists_step, ROWS_LISTS)
#elif MAT_COMPLEX
STEP_KERNEL(pieces_step, ROWS_PIECES)
#endif
#undef STEP_KERNEL
#define STEP_ONE(stored) FN(stored##_step)
#else
#define STEP_ONE(stored) NULL
#endif
#if !MAT_COMPLEX && WIDTH > 2 && REALS % 2 == 0 /* pairs of real columns: one more dot */
#define PAIRS_TOO 1
#define KPM_ONE(stored) (p->terms & K_PAIRS ? FN(stored##_pairs) : FN(stored##_kpm))
COMPACT_KERNEL(crs_pairs, ROWS_CRS, K_MASK_KPM | K_PAIRS)
COMPACT_KERNEL(patterns_pairs, ROWS_PATTERNS, K_MASK_KPM | K_PAIRS)
#ifdef COMPACT_LISTS
COMPACT_KERNEL(lists_pairs, ROWS_LISTS, K_MASK_KPM | K_PAIRS)
#endif
#else
#define PAIRS_TOO 0
#define KPM_ONE(stored) FN(stored##_kpm)
#endif
#undef COMPACT_KERNEL
#define COMPACT_ONE(stored) (mask == 0 ? FN(stored##_none) : mask == K_MASK_KPM ? KPM_ONE(stored) : STEP_ONE(stored))

/* The one for p's rows, for the product alone, the KPM step, or a step without dots; or NULL. */
INLINE wisp__spmmv_fn FN(compact)(const wisp__spmmv_params *p, const unsigned mask)
{
    const int64_t ld = MULTIPLES ? p->reals : WIDTH * PARTS;
    if (p->ld_gather != ld || p->ld_x != ld || p->ld_y != ld || p->reals != ld) return NULL;
    if (p->a.log_c || p->a.code || p->a.short_col || p->a.log_words) return NULL;
#if MAT_COMPLEX
    if (K_SWEEP(p)->cpu.pieces) return COMPACT_ONE(pieces);
#endif
    if (p->a.pattern) return COMPACT_ONE(patterns);
#ifdef COMPACT_LISTS
    if (p->a.list) return COMPACT_ONE(lists);
#else
    if (p->a.list) return NULL;
#endif
    return COMPACT_ONE(crs);
}

/* Unusual terms behind a kernel with constants, for 2 and 4 columns, and for 8 at a time; not in mixed precision. */
#if MAT_BYTES == REAL_BYTES && WIDTH % 8 == 0
#define TERMS_AFTER terms_after_w8
#elif MAT_BYTES == REAL_BYTES && (WIDTH == 2 || WIDTH == 4)
#define TERMS_AFTER FN(terms_after)
#endif
#ifdef TERMS_AFTER
static void TERMS_AFTER(const wisp__spmmv_params *p, wisp__spmmv_fn multiply, int64_t part, int64_t begin, int64_t end,
                        double *dot);
#else
#define TERMS_AFTER(p, multiply, part, begin, end, dot) any_width(p, begin, end, dot)
#endif

static void FN(kernel)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    if (in_place(p)) {
        in_strips(p, FN(kernel), begin, end, dot);
        return;
    }
    const unsigned terms = p->terms & ~(unsigned)K_PAIRS;
    const bool is_step = WIDTH > 2 && (terms & ~(unsigned)K_MASK_STEP_TOO) == K_MASK_STEP;
    const bool usual = is_step || p->terms == 0 || (PAIRS_TOO ? terms : p->terms) == K_MASK_KPM;
    const wisp__spmmv_fn compact = FN(compact)(p, is_step ? K_MASK_STEP : usual && terms ? K_MASK_KPM : 0);
    const int64_t row_end = end < p->a.rows ? end : p->a.rows;
    if (!compact || (!usual && p->reals > TERMS_REALS)) {
        any_width(p, begin, end, dot);
    } else if (!usual) {
        TERMS_AFTER(p, compact, WIDTH * PARTS, begin, row_end, dot);
    } else {
        if (!MULTIPLES || p->reals == WIDTH * PARTS)
            compact(p, begin, row_end, dot);
        else
            for (int64_t row = begin; row < row_end; row += K_STRIP)
                each_part(p, compact, WIDTH * PARTS, row, row + K_STRIP < row_end ? row + K_STRIP : row_end, dot);
        if (p->terms == 0 && K_SWEEP(p)->cpu.past) simd_fence();
    }
}
