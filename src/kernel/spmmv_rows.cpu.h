/* Where the entries of a row are, in each of the ways to store them (params.h). */
typedef struct {
    int64_t first, cols, base; /* first value, first column; base is added to the columns */
    int len, log_step, col_step;
} row_entries;

/* Columns and values that are not stored as they are. */
enum { SHORT_COLS = 1, CODES = 2, LISTS = 4 };

/* What rows are compiled for: any way in which p says that they are stored, and blocks with gaps; or compact blocks and
   uncoded rows, one after the other, with columns of their own (CRS) or with lists of these, as patterns, or as
   patterns that have pieces. */
enum { ROWS_ANY, ROWS_CRS, ROWS_LISTS, ROWS_PATTERNS, ROWS_PIECES };

INLINE int has_patterns(const wisp__spmmv_params *p, const int stored)
{
    return stored == ROWS_PATTERNS || stored == ROWS_PIECES || (stored == ROWS_ANY && p->a.pattern);
}

INLINE int has_lists(const wisp__spmmv_params *p, const int stored)
{
    return stored == ROWS_LISTS || (stored == ROWS_ANY && p->a.list);
}

INLINE row_entries entries_of(const wisp__spmmv_params *p, const int stored, int64_t row)
{
    if (has_patterns(p, stored)) {
        const int64_t *first = p->a.chunk + p->a.pattern[row];
        return (row_entries){first[0], first[0], row, (int)(first[1] - first[0]), 0, 0};
    }
    const int log_c = stored == ROWS_ANY ? p->a.log_c : 0;
    const int64_t begin = p->a.chunk[row >> log_c] + (row & ((1 << log_c) - 1));
    if (has_lists(p, stored)) {
        const int64_t *first = p->a.list_first + p->a.list[row];
        return (row_entries){begin, first[0], row, (int)(first[1] - first[0]), log_c, 0};
    }
    const int64_t base = stored == ROWS_ANY && p->a.short_col ? row : 0;
    const int log_words = stored == ROWS_ANY ? p->a.log_words : 0;
    return (row_entries){begin, begin << log_words, base, p->a.row_len[row], log_c, log_c + log_words};
}

INLINE int in_place(const wisp__spmmv_params *p) { return !p->a.row_len && !p->a.pattern; }

/* CRS arrays in place have no lengths of rows, and row pointers of either width. What rows go by is made of them for a
   strip, and those rows ahead of it for which something is asked: so kernels are those of any other matrix. */
static __attribute__((noinline)) void in_strips(const wisp__spmmv_params *p, wisp__spmmv_fn fn, int64_t begin,
                                                int64_t end, double *dot)
{
    enum { AHEAD = 16 };
    const int64_t row_end = end < p->a.rows ? end : p->a.rows;
    int64_t chunk[K_STRIP + AHEAD];
    int32_t row_len[K_STRIP + AHEAD];
    wisp__cpu_sweep q = *K_SWEEP(p);
    for (int64_t strip = begin, last; strip < row_end; strip = last) {
        last = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
        for (int64_t row = strip; row < last + AHEAD && row < p->a.rows; row++) {
            chunk[row - strip] = wisp__chunk_at(&p->a, row);
            row_len[row - strip] = (int32_t)(wisp__chunk_at(&p->a, row + 1) - chunk[row - strip]);
        }
        q.p.a.chunk = chunk - strip;
        q.p.a.row_len = row_len - strip;
        fn(&q.p, strip, last, dot);
    }
}

/* Whether each of rows * apart rows has the list, or pattern, of the row `apart` before it. */
INLINE int alike(const uint16_t *id, const int rows, const int apart)
{
    int differ = 0;
    if (apart == 1)
        UNROLL for (int i = 1; i < rows; i++) differ |= id[i] ^ id[0];
    else
        for (int i = apart; i < rows * apart && !differ; i++) differ = id[i] ^ id[i - apart];
    return !differ;
}

/* The entries among a row's first 32 whose block rows are worth a prefetch. */
INLINE uint32_t fresh_of(const wisp__spmmv_params *p, const int stored, int64_t row, int len)
{
    if (K_SWEEP(p)->cpu.fresh) return K_SWEEP(p)->cpu.fresh[has_patterns(p, stored) ? p->a.pattern[row] : row];
    return len < 32 ? (1u << len) - 1 : ~0u;
}

/* A kernel for `reals` numbers of a block row takes all of them, part by part. */
INLINE void each_part(const wisp__spmmv_params *p, wisp__spmmv_fn fn, int64_t reals, int64_t begin, int64_t end,
                      double *dot)
{
    wisp__cpu_sweep s = *K_SWEEP(p);
    wisp__spmmv_params *q = &s.p;
    for (; q->first < q->reals; q->first += reals) {
        fn(q, begin, end, dot);
        s.cpu.near = true;
        q->gather = (const real *)q->gather + reals;
        q->x = (const real *)q->x + reals;
        q->y = (real *)q->y + reals;
        if (q->terms & K_PREV) q->prev = (const real *)q->prev + reals;
        if (q->terms & K_ADD) q->u = (const real *)q->u + reals;
        UNROLL for (int i = 0; i < K_FACTOR_SETS; i++) if (q->factors[i]) q->factors[i] =
            (const real *)q->factors[i] + reals;
    }
}

/* Rows whose product is kept until their terms follow: so many of the longest, more of shorter ones. */
enum { TERMS_ROWS = 8, TERMS_REALS = 128 * PARTS };
