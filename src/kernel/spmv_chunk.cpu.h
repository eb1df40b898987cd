/* Width 1, real, on compact vectors: vectorised along the rows of a chunk, so that the matrix streams in full
   registers. All rows of a chunk go on together through their entries; where some rows are empty, only to the length of
   the shortest, and each row does the rest alone. Rows that follow one another with the same pattern or list need no
   gather: their columns are next to each other. */

/* Registers at a time: a chunk of the least C, where so many do, so that its lines are met once. */
enum { CHUNK_VL = SIMD_BYTES / REAL_BYTES, CHUNK_REGS = K_CHUNKED_C / CHUNK_VL < 4 ? 2 : 4, CHUNK_RUN = 4 };
typedef W(vec) chunk_vec;
typedef real chunk_mem __attribute__((vector_size(SIMD_BYTES), aligned(REAL_BYTES), may_alias));
typedef mat_real chunk_stored __attribute__((vector_size(CHUNK_VL * MAT_BYTES), aligned(MAT_BYTES), may_alias));
typedef W(sums) chunk_sums;

INLINE chunk_vec chunk_load(const real *p) { return *(const chunk_mem *)p; }
/* Values of the matrix. */
INLINE chunk_vec chunk_widen(const mat_real *p) { return __builtin_convertvector(*(const chunk_stored *)p, chunk_vec); }

/* What follows A x, for CHUNK_VL rows. */
INLINE void chunk_epilogue(const wisp__spmmv_params *p, unsigned terms, int64_t row, chunk_vec ax, chunk_sums *s)
{
    if (p->a.diagonal) ax += chunk_widen((const mat_real *)p->a.diagonal + row) * chunk_load((const real *)p->x + row);
    W(epilogue)(p, terms, row, 0, &ax, s);
}

/* Values `at` of CHUNK_VL rows. */
INLINE chunk_vec chunk_values(const wisp__spmmv_params *p, const unsigned coded, int64_t at)
{
    const mat_real *val = (const mat_real *)p->a.val;
    if (!(coded & CODES)) return chunk_widen(val + at);
#define ELEMENT(l) (real) val[p->a.code[at + (l)]]
    return SIMD_EACH;
#undef ELEMENT
}

/* Which of `regs` registers of rows have columns that follow one another, so that what they gather is a register as it
   lies: bit v for register v. Those of one half of K_FOLLOW_ROWS agree. */
INLINE unsigned chunk_follow(const wisp__spmmv_params *p, const int regs, int64_t row)
{
    enum { HALF = K_FOLLOW_ROWS / 2 };
    if (!K_SWEEP(p)->cpu.follow) return 0;
    const uint8_t *f = K_SWEEP(p)->cpu.follow + row / K_FOLLOW_ROWS;
    unsigned bits = 0;
    UNROLL for (int v = 0; v < regs; v++)
    {
        const int64_t at = row % K_FOLLOW_ROWS + v * CHUNK_VL, half = at % K_FOLLOW_ROWS / HALF;
        const int which = CHUNK_VL > (int)HALF ? K_FOLLOW_ALL : half ? K_FOLLOW_SECOND : K_FOLLOW_FIRST;
        bits |= (f[at / K_FOLLOW_ROWS] & which ? 1u : 0u) << v;
    }
    return bits;
}

/* Entry `at` of CHUNK_VL rows from `row`: their values times what they gather. */
INLINE chunk_vec chunk_gathered(const wisp__spmmv_params *p, const unsigned coded, int64_t row, int64_t at)
{
    const real *x = (const real *)p->gather;
    chunk_vec xv;
    if (coded & SHORT_COLS) {
#define ELEMENT(l) x[row + (l) + p->a.short_col[at + (l)]]
        xv = SIMD_EACH;
#undef ELEMENT
    } else {
#define ELEMENT(l) x[p->a.col[at + (l)]]
        xv = SIMD_EACH;
#undef ELEMENT
    }
    return chunk_values(p, coded, at) * xv;
}

/* The matrix streams past faster than the hardware asks for it. What is asked for while too many loads are pending is
   dropped, so values are asked for again at half the distance. */
INLINE void chunk_ahead(const wisp__spmmv_params *p, const unsigned coded, const int regs, int64_t at)
{
    if (K_SWEEP(p)->cpu.near) return;
    const char *val = (const char *)p->a.val + at * MAT_BYTES, *col = (const char *)(p->a.col + at);
    if (!(coded & CODES)) UNROLL for (int i = 0; i < regs * CHUNK_VL * MAT_BYTES; i += 64)
        {
            __builtin_prefetch(val + STREAM_AHEAD + i);
            if (K_SWEEP(p)->cpu.streams) __builtin_prefetch(val + STREAM_AHEAD / 2 + i);
        }
    if (coded & (SHORT_COLS | LISTS)) return;
    UNROLL for (int i = 0; i < regs * CHUNK_VL * 4; i += 64) __builtin_prefetch(col + STREAM_AHEAD + i);
}

/* `regs` registers of rows of one list, whose first entries are at e, e + 1, ... */
INLINE void chunk_list(const wisp__spmmv_params *p, const unsigned coded, const int regs, int64_t row, int64_t e,
                       chunk_vec sum[CHUNK_REGS])
{
    const int64_t *first = p->a.list_first + p->a.list[row];
    const int32_t *col = p->a.col + first[0];
    const int n = (int)(first[1] - first[0]);
    const real *x = (const real *)p->gather + row;
    chunk_vec s[CHUNK_REGS] = {{0}};
    for (int k = 0; k < n; k++) {
        const int64_t at = e + ((int64_t)k << p->a.log_c);
        chunk_ahead(p, coded, regs, at);
        UNROLL for (int v = 0; v < regs; v++) s[v] +=
            chunk_values(p, coded, at + v * CHUNK_VL) * chunk_load(x + col[k] + v * CHUNK_VL);
    }
    UNROLL for (int v = 0; v < regs; v++) sum[v] = s[v];
}

/* The first `n` entries of `regs` registers of rows, those of `follow` without gathering. */
INLINE void chunk_entries(const wisp__spmmv_params *p, const unsigned coded, const unsigned follow, const int regs,
                          int64_t row, int64_t e, int n, chunk_vec sum[CHUNK_REGS])
{
    const int64_t c = (int64_t)1 << p->a.log_c, end = e + n * c;
    const real *x = (const real *)p->gather;
    chunk_vec s[CHUNK_REGS] = {{0}};
    for (int64_t at = e; at < end; at += c) {
        chunk_ahead(p, coded, regs, at);
        UNROLL for (int v = 0; v < regs; v++)
        {
            const int64_t i = at + v * CHUNK_VL;
            if (follow >> v & 1)
                s[v] += chunk_values(p, coded, i) * chunk_load(x + p->a.col[i]);
            else
                s[v] += chunk_gathered(p, coded, row + v * CHUNK_VL, i);
        }
    }
    UNROLL for (int v = 0; v < regs; v++) sum[v] = s[v];
}

/* Each case has its loop, so that nothing is asked inside. What comes from memory waits for that, and does best with no
   more cases than one: there all is gathered. */
INLINE void chunk_columns(const wisp__spmmv_params *p, const unsigned coded, const int regs, int64_t row, int64_t e,
                          int n, chunk_vec sum[CHUNK_REGS])
{
    const unsigned all = (1u << regs) - 1, low = (1u << regs / 2) - 1;
    const unsigned follow = coded & SHORT_COLS || K_SWEEP(p)->cpu.streams ? 0 : chunk_follow(p, regs, row);
    if (follow == 0)
        chunk_entries(p, coded, 0, regs, row, e, n, sum);
    else if (follow == all)
        chunk_entries(p, coded, all, regs, row, e, n, sum);
    else if (follow == low)
        chunk_entries(p, coded, low, regs, row, e, n, sum);
    else
        chunk_entries(p, coded, all & ~low, regs, row, e, n, sum);
}

/* The entries that are left of rows of different lengths, some of them empty. */
INLINE void chunk_rest(const wisp__spmmv_params *p, const unsigned coded, int rows, int64_t row, int64_t e, int begin,
                       chunk_vec sum[CHUNK_REGS])
{
    const real *x = (const real *)p->gather;
    for (int l = 0; l < rows; l++)
        for (int k = begin; k < p->a.row_len[row + l]; k++) {
            const int64_t at = e + l + ((int64_t)k << p->a.log_c);
            const int64_t c = coded & LISTS        ? row + l + p->a.col[p->a.list_first[p->a.list[row + l]] + k]
                              : coded & SHORT_COLS ? row + l + p->a.short_col[at]
                                                   : p->a.col[at];
            sum[l / CHUNK_VL][l % CHUNK_VL] +=
                (real)((const mat_real *)p->a.val)[coded & CODES ? p->a.code[at] : at] * x[c];
        }
}

static __attribute__((noinline)) void chunk_rest_any(const wisp__spmmv_params *p, int rows, int64_t row, int64_t e,
                                                     int begin, chunk_vec *sum)
{
    chunk_rest(p, (p->a.short_col ? SHORT_COLS : 0) | (p->a.code ? CODES : 0), rows, row, e, begin, sum);
}

/* A register of rows of different lists. */
INLINE void chunk_mixed(const wisp__spmmv_params *p, const unsigned coded, int64_t row, int64_t e, chunk_vec *sum)
{
    const real *x = (const real *)p->gather + row;
    const int32_t *col[CHUNK_VL];
    int shortest = INT32_MAX;
    for (int l = 0; l < CHUNK_VL; l++) {
        const int64_t *first = p->a.list_first + p->a.list[row + l];
        const int n = (int)(first[1] - first[0]);
        col[l] = p->a.col + first[0];
        shortest = n < shortest ? n : shortest;
    }
    chunk_vec s = {0};
    for (int k = 0; k < shortest; k++) {
        const int64_t at = e + ((int64_t)k << p->a.log_c);
        chunk_ahead(p, coded, 1, at);
#define ELEMENT(l) x[(l) + col[l][k]]
        s += chunk_values(p, coded, at) * SIMD_EACH;
#undef ELEMENT
    }
    *sum = s;
    chunk_rest(p, coded, CHUNK_VL, row, e, shortest, sum);
}

/* Registers of rows with lists: all at once, or one by one where these differ. */
INLINE void chunk_lists(const wisp__spmmv_params *p, const unsigned coded, const int regs, int64_t row, int64_t e,
                        chunk_vec sum[CHUNK_REGS])
{
    if (alike(p->a.list + row, regs * CHUNK_VL, 1)) {
        chunk_list(p, coded, regs, row, e, sum);
        return;
    }
    for (int v = 0; v < regs * CHUNK_VL; v += CHUNK_VL)
        if (regs > 1 && alike(p->a.list + row + v, CHUNK_VL, 1))
            chunk_list(p, coded, 1, row + v, e + v, sum + v / CHUNK_VL);
        else
            chunk_mixed(p, coded, row + v, e + v, sum + v / CHUNK_VL);
}

/* Entries that each of `regs` registers of rows has. */
INLINE int chunk_shared(const wisp__spmmv_params *p, const int regs, int64_t row)
{
    if (p->a.padded) {
        const int64_t *chunk = p->a.chunk + (row >> p->a.log_c);
        return (int)((chunk[1] - chunk[0]) >> p->a.log_c);
    }
    const int32_t *len = p->a.row_len + row;
    int shortest = len[0];
    for (int l = 1; l < regs * CHUNK_VL; l++) shortest = len[l] < shortest ? len[l] : shortest;
    return shortest;
}

/* A x of `regs` registers of rows whose first entries are at e, e + 1, ..., with columns of their own: of the first n
   of each row. Functions of their own, since within the loops over rows compilers keep addresses in vector registers
   or in memory. */
INLINE void chunk_product(const wisp__spmmv_params *p, const unsigned coded, const int regs, int64_t row, int64_t e,
                          int n, chunk_vec sum[CHUNK_REGS])
{
    if (coded & LISTS)
        chunk_lists(p, coded, regs, row, e, sum);
    else
        chunk_columns(p, coded, regs, row, e, n, sum);
}

/* One for each way in which columns and values are stored, for all registers at a time and for one. */
typedef void chunk_product_fn(const wisp__spmmv_params *p, int64_t row, int64_t e, int n, chunk_vec sum[CHUNK_REGS]);
#define CHUNK_PRODUCTS(name, coded)                                                                              \
    static __attribute__((noinline)) void name##_all(const wisp__spmmv_params *p, int64_t row, int64_t e, int n, \
                                                     chunk_vec *s)                                               \
    {                                                                                                            \
        chunk_product(p, coded, CHUNK_REGS, row, e, n, s);                                                       \
    }                                                                                                            \
    static __attribute__((noinline)) void name##_1(const wisp__spmmv_params *p, int64_t row, int64_t e, int n,   \
                                                   chunk_vec *s)                                                 \
    {                                                                                                            \
        chunk_product(p, coded, 1, row, e, n, s);                                                                \
    }
CHUNK_PRODUCTS(chunk_plain, 0)
CHUNK_PRODUCTS(chunk_short, SHORT_COLS)
CHUNK_PRODUCTS(chunk_codes, CODES)
CHUNK_PRODUCTS(chunk_short_codes, SHORT_COLS | CODES)
CHUNK_PRODUCTS(chunk_listed, LISTS)
CHUNK_PRODUCTS(chunk_listed_codes, LISTS | CODES)
static chunk_product_fn *const chunk_products[6][2] = {
    {chunk_plain_1, chunk_plain_all},   {chunk_short_1, chunk_short_all},
    {chunk_codes_1, chunk_codes_all},   {chunk_short_codes_1, chunk_short_codes_all},
    {chunk_listed_1, chunk_listed_all}, {chunk_listed_codes_1, chunk_listed_codes_all}};

ONE_COPY void chunk_finish_any(const wisp__spmmv_params *p, const int regs, int64_t row, const chunk_vec *sum,
                               chunk_sums *s)
{
    for (int v = 0; v < regs; v++) chunk_epilogue(p, p->terms, row + v * CHUNK_VL, sum[v], s);
}

/* What follows: the usual terms with their constants. */
INLINE void chunk_finish(const wisp__spmmv_params *p, const int regs, int64_t row, const chunk_vec *sum, chunk_sums *s)
{
    if (p->terms == 0)
        UNROLL for (int v = 0; v < regs; v++) chunk_epilogue(p, 0, row + v * CHUNK_VL, sum[v], s);
    else if (p->terms == K_MASK_KPM)
        UNROLL for (int v = 0; v < regs; v++) chunk_epilogue(p, K_MASK_KPM, row + v * CHUNK_VL, sum[v], s);
    else if (p->terms == K_MASK_STEP)
        UNROLL for (int v = 0; v < regs; v++) chunk_epilogue(p, K_MASK_STEP, row + v * CHUNK_VL, sum[v], s);
    else if (K_WITHIN(p->terms, K_MASK_DOTS))
        UNROLL for (int v = 0; v < regs; v++) chunk_epilogue(p, K_MASK_DOTS, row + v * CHUNK_VL, sum[v], s);
    else
        chunk_finish_any(p, regs, row, sum, s);
}

/* `regs` registers of rows of one pattern. */
INLINE void chunk_run(const wisp__spmmv_params *p, const int regs, int64_t row, chunk_sums *s)
{
    const row_entries r = entries_of(p, ROWS_PATTERNS, row);
    const mat_real *val = (const mat_real *)p->a.val + r.first;
    const real *x = (const real *)p->gather + row;
    const int32_t *col = p->a.col + r.first;
    chunk_vec sum[CHUNK_RUN] = {{0}};
    for (int k = 0; k < r.len; k++)
        UNROLL for (int v = 0; v < regs; v++) sum[v] += (real)val[k] * chunk_load(x + col[k] + v * CHUNK_VL);
    chunk_finish(p, regs, row, sum, s);
}

/* The rows from `row`, `most` at most, that have its pattern. */
INLINE int chunk_run_length(const wisp__spmmv_params *p, int64_t row, int most)
{
    int n = 1;
    while (n < most && p->a.pattern[row + n] == p->a.pattern[row]) n++;
    return n;
}

/* The next `regs` registers of rows. */
INLINE void chunk_group(const wisp__spmmv_params *p, chunk_product_fn *product, const int regs, int64_t row,
                        chunk_sums *s)
{
    chunk_vec sum[CHUNK_REGS];
    const int64_t e = p->a.chunk[row >> p->a.log_c] + (row & (((int64_t)1 << p->a.log_c) - 1));
    const int n = p->a.list ? 0 : chunk_shared(p, regs, row);
    product(p, row, e, n, sum);
    if (!p->a.list && !p->a.padded) chunk_rest_any(p, regs * CHUNK_VL, row, e, n, sum);
    chunk_finish(p, regs, row, sum, s);
}

/* Rows [row, end) of a strip: as many as go in registers; the number of the first that is left. */
INLINE int64_t chunk_stored_rows(const wisp__spmmv_params *p, chunk_product_fn *const product[2], int64_t row,
                                 int64_t end, chunk_sums *s)
{
    const int wide = 1 << p->a.log_c >= CHUNK_REGS * CHUNK_VL;
    for (; wide && row + CHUNK_REGS * CHUNK_VL <= end; row += CHUNK_REGS * CHUNK_VL)
        chunk_group(p, product[1], CHUNK_REGS, row, s);
    for (; row + CHUNK_VL <= end; row += CHUNK_VL) chunk_group(p, product[0], 1, row, s);
    return row;
}

/* Likewise with patterns, all of them: the longest runs first, single rows where none is as long as a register. */
INLINE void chunk_pattern_rows(const wisp__spmmv_params *p, int64_t row, int64_t end, chunk_sums *s,
                               strip_sums_w1 single)
{
    while (row < end) {
        const int64_t left = end - row;
        const int run = chunk_run_length(p, row, left < CHUNK_RUN * CHUNK_VL ? (int)left : CHUNK_RUN * CHUNK_VL);
        if (run == CHUNK_RUN * CHUNK_VL) {
            chunk_run(p, CHUNK_RUN, row, s);
            row += run;
        } else if (run >= CHUNK_VL) {
            chunk_run(p, 1, row, s);
            row += CHUNK_VL;
        } else {
            rows_w1(p, ROWS_PATTERNS, row, row + run, &(sink_w1){.sums = single});
            row += run;
        }
    }
}

INLINE void chunk_range(const wisp__spmmv_params *p, const int patterns, int64_t begin, int64_t end, double *dot)
{
    const int lists = p->a.list != NULL, way = (lists ? 4 : p->a.short_col ? 1 : 0) + (p->a.code ? lists ? 1 : 2 : 0);
    const int64_t row_end = (end << p->a.log_c) < p->a.rows ? end << p->a.log_c : p->a.rows;
    for (int64_t strip = begin << p->a.log_c; strip < row_end; strip += K_STRIP) {
        strip_sums_w1 single;
        clear_w1(single, 1);
        chunk_sums s;
        W(clear)(&s, 1);
        const int64_t strip_end = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
        if (patterns) {
            chunk_pattern_rows(p, strip, strip_end, &s, single);
        } else {
            const int64_t row = chunk_stored_rows(p, chunk_products[way], strip, strip_end, &s);
            if (row < strip_end) any_rows_w1(p, row, strip_end, single);
        }
        if (p->terms & K_DOTS) {
            wide_flush(&s, p->terms, dot);
            flush_w1(single, p, dot);
        }
    }
    if (p->terms == 0 && K_SWEEP(p)->cpu.past) simd_fence();
}

/* Rows with patterns have so little to do each that what follows is compiled with its terms. */
INLINE void chunk_pattern_range(const wisp__spmmv_params *p, const unsigned terms, int64_t begin, int64_t end,
                                double *dot)
{
    wisp__cpu_sweep same = *K_SWEEP(p);
    same.p.terms = terms;
    chunk_range(&same.p, 1, begin, end, dot);
}

static void chunked(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    if (!wide_compact(p)) {
        any_width(p, begin, end, dot);
        return;
    }
    wisp__cpu_sweep q = *K_SWEEP(p); /* with the factors of one row for all of them */
    real factors[K_FACTOR_SETS][2 * WIDE_REALS];
    wide_factors(&q.p, factors);
    if (!p->a.pattern)
        chunk_range(&q.p, 0, begin, end, dot);
    else if (p->terms == 0)
        chunk_pattern_range(&q.p, 0, begin, end, dot);
    else if (p->terms == K_MASK_KPM)
        chunk_pattern_range(&q.p, K_MASK_KPM, begin, end, dot);
    else
        chunk_pattern_range(&q.p, p->terms, begin, end, dot);
}
