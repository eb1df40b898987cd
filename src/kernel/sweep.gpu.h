/* A block of rows of the fused sweep, by one group: for kernels that have such blocks to do. Compile-time: REAL, PARTS
   (of a block's element), MATRIX_REAL, MATRIX_PARTS, GROUP_SIZE, and how entries are stored: PATTERNS, LISTS, SHORT,
   CODES; maybe WIDTH and TERMS, else they come with the call. Items lie along the block row, `lanes` of them, then
   along the rows; a block row that is wider goes by panels. */
#ifdef WIDTH
#define COLUMNS WIDTH
#else
#define COLUMNS ((int)p.width)
#endif
#ifdef TERMS
#define HAS(term) ((TERMS) & (term))
#else
#define HAS(term) (p.terms & (term))
#endif

#if MATRIX_PARTS == 2
typedef struct {
    MATRIX_REAL x, y;
} entry;
#define TIMES(v, b, sum) mul_add(make((real)(v).x, (real)(v).y), b, sum)
#else
typedef MATRIX_REAL entry;
#define TIMES(v, b, sum) real_mul_add((real)(v), b, sum)
#endif
#ifdef SHORT
typedef i16 column;
#else
typedef i32 column;
#endif
#ifdef CODES
#define ENTRY(e) val[code[e]]
#else
#define ENTRY(e) val[e]
#endif

/* Where the entries of a row are, and from where their columns count. */
typedef struct {
    i64 first, step, col, col_step, base;
    int n;
} row_place;

INLINE row_place place_of(i64 row, i64 log_c, GLOBAL const i64 *chunk, GLOBAL const i32 *row_len,
                          GLOBAL const u16 *list, GLOBAL const i64 *list_first)
{
    row_place r;
#ifdef PATTERNS
    r.first = r.col = chunk[list[row]];
    r.n = (int)(chunk[list[row] + 1] - r.first);
    r.step = r.col_step = 1;
    r.base = row;
#else
    r.first = chunk[row >> log_c] + (row & (((i64)1 << log_c) - 1));
    r.step = (i64)1 << log_c;
#ifdef LISTS
    r.col = list_first[list[row]];
    r.n = (int)(list_first[list[row] + 1] - r.col);
    r.col_step = 1;
    r.base = row;
#else
    r.n = row_len[row];
    r.col = r.first, r.col_step = r.step;
#ifdef SHORT
    r.base = row;
#else
    r.base = 0;
#endif
#endif
#endif
    return r;
}

/* What a sweep reads and writes. */
typedef struct {
    GLOBAL const i64 *chunk, *list_first;
    GLOBAL const i32 *row_len;
    GLOBAL const column *col;
    GLOBAL const entry *val;
    GLOBAL const u8 *code;
    GLOBAL const u16 *list;
    GLOBAL const MATRIX_REAL *diagonal;
    GLOBAL const elem *gather, *x, *prev, *u;
    GLOBAL elem *y, *z;
    GLOBAL const double *shift, *add;
    GLOBAL double *partial;
} sweep_arrays;
/* AT(type, i): array i, or NULL. */
#define SWEEP_ARRAYS(a, AT)                                                                                \
    (a).chunk = AT(const i64, A_CHUNK), (a).list_first = AT(const i64, A_LIST_FIRST);                      \
    (a).row_len = AT(const i32, A_ROW_LEN), (a).col = AT(const column, A_COL);                             \
    (a).val = AT(const entry, A_VAL), (a).code = AT(const u8, A_CODE), (a).list = AT(const u16, A_LIST);   \
    (a).diagonal = AT(const MATRIX_REAL, A_DIAGONAL);                                                      \
    (a).gather = AT(const elem, A_GATHER), (a).x = AT(const elem, A_X), (a).prev = AT(const elem, A_PREV); \
    (a).u = AT(const elem, A_U), (a).y = AT(elem, A_Y), (a).z = AT(elem, A_Z);                             \
    (a).shift = AT(const double, A_SHIFT), (a).add = AT(const double, A_ADD);                              \
    (a).partial = AT(double, A_PARTIAL)

/* z = delta z + eta y, for one element of y. */
INLINE void add_chain(k_sweep p, double re, double im, elem y, GLOBAL elem *z, i64 at)
{
    elem sum = factor_add(re, im, y, make(0, 0));
    if (HAS(G_DELTA)) sum = factor_add(p.delta[0], p.delta[1], SEE(z, at), sum);
    PUT(z, at, sum);
}

INLINE void sweep_block(k_sweep p, sweep_arrays a, i64 block, IN_LOCAL double *all)
{
    GLOBAL const entry *val = a.val;
#ifdef CODES
    GLOBAL const u8 *code = a.code;
#endif
    const i64 begin = block * p.rows_per_block, end = block_end(block, p.rows_per_block, p.rows);
    const int lanes = (int)p.lanes, lane = ITEM % lanes, abreast = GROUP_SIZE / lanes;
    for (int panel = 0; panel < COLUMNS; panel += lanes) {
        const int at = panel + lane;
        double s[8];
        for (int i = 0; i < 8; i++) s[i] = 0;
        for (i64 row = begin + ITEM / lanes; row < end && at < COLUMNS; row += abreast) {
            const row_place r = place_of(row, p.log_c, a.chunk, a.row_len, a.list, a.list_first);
            elem ax = make(0, 0);
            for (int k = 0; k < r.n; k++)
                ax = TIMES(ENTRY(r.first + k * r.step),
                           SEE(a.gather, (r.base + a.col[r.col + k * r.col_step]) * p.ld_gather + at), ax);
            elem own = make(0, 0), v = make(0, 0);
            if (a.diagonal || HAS(G_SHIFT | G_DOT_XX | G_DOT_XY)) own = SEE(a.x, row * p.ld_x + at);
            if (HAS(G_ADD | G_DOT_UY)) v = SEE(a.u, row * p.ld_u + at);
            if (a.diagonal) ax = real_mul_add((real)a.diagonal[row], own, ax);
            if (HAS(G_SHIFT)) ax = factor_add(-a.shift[2 * at], -a.shift[2 * at + 1], own, ax);
            if (HAS(G_SCALE)) ax = factor_add(p.alpha[0], p.alpha[1], ax, make(0, 0));
            if (HAS(G_AXPBY)) ax = factor_add(p.beta[0], p.beta[1], SEE(a.prev, row * p.ld_prev + at), ax);
            if (HAS(G_ADD)) ax = factor_add(a.add[2 * at], a.add[2 * at + 1], v, ax);
            PUT(a.y, row * p.ld_y + at, ax);
            if (HAS(G_CHAIN)) add_chain(p, p.eta[0], p.eta[1], ax, a.z, row * p.ld_z + at);
            if (HAS(G_DOT_XX)) add_dot(s, own, own, 0);
            if (HAS(G_DOT_XY)) add_dot(s + 2, own, ax, 1);
            if (HAS(G_DOT_YY)) add_dot(s + 4, ax, ax, 0);
            if (HAS(G_DOT_UY)) add_dot(s + 6, v, ax, 1);
        }
        if (HAS(G_DOTS)) {
            group_sums(s, 8, lanes, all);
            if (ITEM < lanes && at < COLUMNS)
                for (int i = 0; i < 8; i++)
                    if (2 * ((i / 2) * COLUMNS + at) + i % 2 < p.dot_size)
                        a.partial[block * p.dot_size + 2 * ((i / 2) * COLUMNS + at) + i % 2] =
                            all[i * GROUP_SIZE + ITEM];
            BARRIER();
        }
    }
}
