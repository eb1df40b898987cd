/* The fused sweep on GPUs. Compile-time: REAL, PARTS (of a block's element), MATRIX_REAL, MATRIX_PARTS, GROUP_SIZE, and
   how entries are stored: PATTERNS, LISTS, SHORT, CODES; maybe WIDTH and TERMS, else they come with the call. A group
   has a block of rows. Its items lie along the block row, `lanes` of them, then along the rows; a block row that is
   wider goes by panels. */
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

KERNEL(spmmv, k_sweep)
{
    LOCAL double all[8 * GROUP_SIZE];
    GLOBAL const i64 *chunk = PLACE(const i64, A_CHUNK), *list_first = PLACE_OR_NULL(const i64, A_LIST_FIRST);
    GLOBAL const i32 *row_len = PLACE_OR_NULL(const i32, A_ROW_LEN);
    GLOBAL const column *col = PLACE(const column, A_COL);
    GLOBAL const entry *val = PLACE(const entry, A_VAL);
#ifdef CODES
    GLOBAL const u8 *code = PLACE(const u8, A_CODE);
#endif
    GLOBAL const u16 *list = PLACE_OR_NULL(const u16, A_LIST);
    GLOBAL const MATRIX_REAL *diagonal = PLACE_OR_NULL(const MATRIX_REAL, A_DIAGONAL);
    GLOBAL const elem *gather = PLACE(const elem, A_GATHER), *x = PLACE(const elem, A_X),
                      *prev = HAS(G_PREV) ? PLACE(const elem, A_PREV) : PLACE(const elem, A_Y),
                      *u = PLACE_OR_NULL(const elem, A_U);
    GLOBAL elem *y = PLACE(elem, A_Y), *z = PLACE_OR_NULL(elem, A_Z);
    const i64 ld_prev = HAS(G_PREV) ? p.ld_prev : p.ld_y;
    GLOBAL const double *shift = PLACE_OR_NULL(const double, A_SHIFT), *add = PLACE_OR_NULL(const double, A_ADD);
    GLOBAL const i32 *order = PLACE_OR_NULL(const i32, A_ORDER);
    GLOBAL double *partial = PLACE_OR_NULL(double, A_PARTIAL);
    const i64 block = order ? order[p.first + GROUP] : p.first + GROUP;
    const i64 begin = block * p.rows_per_block, to = begin + p.rows_per_block, end = to < p.rows ? to : p.rows;
    const int lanes = (int)p.lanes, lane = ITEM % lanes, abreast = GROUP_SIZE / lanes;
    for (int panel = 0; panel < COLUMNS; panel += lanes) {
        const int at = panel + lane;
        double s[8];
        for (int i = 0; i < 8; i++) s[i] = 0;
        for (i64 row = begin + ITEM / lanes; row < end && at < COLUMNS; row += abreast) {
            const row_place r = place_of(row, p.log_c, chunk, row_len, list, list_first);
            elem ax = make(0, 0);
            for (int k = 0; k < r.n; k++)
                ax = TIMES(ENTRY(r.first + k * r.step),
                           gather[(r.base + col[r.col + k * r.col_step]) * p.ld_gather + at], ax);
            elem own = make(0, 0), v = make(0, 0);
            if (diagonal || HAS(G_SHIFT | G_DOT_XX | G_DOT_XY)) own = x[row * p.ld_x + at];
            if (HAS(G_ADD | G_DOT_UY)) v = u[row * p.ld_u + at];
            if (diagonal) ax = real_mul_add((real)diagonal[row], own, ax);
            if (HAS(G_SHIFT)) ax = factor_add(-shift[2 * at], -shift[2 * at + 1], own, ax);
            if (HAS(G_SCALE)) ax = factor_add(p.alpha[0], p.alpha[1], ax, make(0, 0));
            if (HAS(G_AXPBY)) ax = factor_add(p.beta[0], p.beta[1], prev[row * ld_prev + at], ax);
            if (HAS(G_ADD)) ax = factor_add(add[2 * at], add[2 * at + 1], v, ax);
            y[row * p.ld_y + at] = ax;
            if (HAS(G_CHAIN)) {
                elem sum = factor_add(p.eta[0], p.eta[1], ax, make(0, 0));
                if (HAS(G_DELTA)) sum = factor_add(p.delta[0], p.delta[1], z[row * p.ld_z + at], sum);
                z[row * p.ld_z + at] = sum;
            }
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
                        partial[block * p.dot_size + 2 * ((i / 2) * COLUMNS + at) + i % 2] = all[i * GROUP_SIZE + ITEM];
            BARRIER();
        }
    }
}
