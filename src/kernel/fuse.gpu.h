/* A call of wisp_fuse, or a part of one that is written down by its shape: each element of each block is read once,
   goes from update to update and to the dots in a register, and is stored once. Compile-time: REAL, PARTS, GROUP_SIZE;
   the number of DOTS; and, in the words below, FACTORS, LOADS, WORK and STORES. Array i is a block, a block of one
   column that multiplies rows, or factors of columns. A group has a block of rows, as in dots.gpu.h. */
#define FACTOR(i)                                                           \
    const double re##i = at < p.width ? PLACE(const double, i)[2 * at] : 0, \
                 im##i = at < p.width ? PLACE(const double, i)[2 * at + 1] : 0;
#define LOAD(i) elem v##i = PLACE(const elem, i)[row * p.ld[i] + at];
#define NEW(i) elem v##i;
#define ROWS(i) const elem v##i = PLACE(const elem, i)[row * p.ld[i]];
#define TIMES(i, x) mul_add(v##i, x, make(0, 0))
/* An update: a new sum, or one that is there and goes on; terms with the factor of all columns, or with one of each. */
#define BEGIN sum = make(0, 0);
#define MORE(i) sum = v##i;
#define GIVEN(t, x) sum = factor_add(p.factor[t][0], p.factor[t][1], x, sum);
#define PLACED(i, x) sum = factor_add(re##i, im##i, x, sum);
#define END(i) v##i = sum;
#define DOT(d, x, y, cross) add_dot(s + 2 * d, x, y, cross);
#define STORE(i) PLACE(elem, i)[row * p.ld[i] + at] = v##i;

KERNEL(fuse, k_fuse)
{
#if DOTS
    LOCAL double all[2 * DOTS * GROUP_SIZE];
    GLOBAL double *partial = PLACE(double, G_FUSE_PARTIAL);
    double s[2 * DOTS];
#endif
    const i64 begin = GROUP * p.rows_per_block, end = block_end(GROUP, p.rows_per_block, p.rows);
    const int lanes = (int)p.lanes, lane = ITEM % lanes, abreast = GROUP_SIZE / lanes;
    for (int panel = 0; panel < p.width; panel += lanes) {
        const int at = panel + lane;
        FACTORS
#if DOTS
        for (int i = 0; i < 2 * DOTS; i++) s[i] = 0;
#endif
        for (i64 row = begin + ITEM / lanes; row < end && at < p.width; row += abreast) {
            elem sum;
            LOADS WORK STORES
        }
#if DOTS
        group_sums(s, 2 * DOTS, lanes, all);
        if (ITEM < lanes && at < p.width)
            for (int i = 0; i < 2 * DOTS; i++)
                partial[GROUP * p.size + 2 * (i / 2 * p.width + at) + i % 2] = all[i * GROUP_SIZE + ITEM];
        BARRIER();
#endif
    }
}
