/* An update of wisp_fuse: y = the sum of factor_t,j rows_t x_t, of which one may be y itself. Compile-time: REAL,
   PARTS, GROUP_SIZE. */
INLINE elem term_add(int t, GLOBAL const elem *x, GLOBAL const elem *rows, GLOBAL const double *factors, i64 row,
                     i64 at, i64 ld_x, i64 ld_rows, double re, double im, elem sum)
{
    elem v = x[row * ld_x + at];
    if (rows) v = mul_add(rows[row * ld_rows], v, make(0, 0));
    if (factors) re = factors[2 * at], im = factors[2 * at + 1];
    return factor_add(re, im, v, sum);
}
/* a, b, c: U_X + t, U_ROWS + t, U_FACTORS + t, as numbers, for they become names of arguments. */
#define TERM(t, a, b, c)                                                                                           \
    if (p.terms > t)                                                                                               \
    sum = term_add(t, PLACE(const elem, a), PLACE_OR_NULL(const elem, b), PLACE_OR_NULL(const double, c), row, at, \
                   p.ld_x[t], p.ld_rows[t], p.factor[t][0], p.factor[t][1], sum)

KERNEL(fuse_update, k_fuse_update)
{
    GLOBAL elem *y = PLACE(elem, U_Y);
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.rows * p.width; e += GROUPS * GROUP_SIZE) {
        const i64 row = e / p.width, at = e % p.width;
        elem sum = make(0, 0);
        if (p.again)
            sum = PLACE(const elem, U_X)[row * p.ld_x[0] + at];
        else
            TERM(0, 1, 5, 9);
        TERM(1, 2, 6, 10);
        TERM(2, 3, 7, 11);
        TERM(3, 4, 8, 12);
        y[row * p.ld_y + at] = sum;
    }
}
