/* Sums of v_ia w_ib over the rows of each group: an item has some of the sums. Compile-time: REAL, PARTS = 1,
 * GROUP_SIZE.
 */
KERNEL(gram, k_tall)
{
    GLOBAL const real *v = PLACE(const real, T_V), *w = PLACE(const real, T_W);
    GLOBAL double *partial = PLACE(double, T_X);
    const i64 begin = GROUP * p.rows_per_block, to = begin + p.rows_per_block, end = to < p.rows ? to : p.rows;
    for (i64 e = ITEM; e < p.p * p.q; e += GROUP_SIZE) {
        const i64 a = e / p.q, b = e % p.q;
        double s = 0;
        for (i64 row = begin; row < end; row++) s = FMA((double)v[row * p.ld_v + a], (double)w[row * p.ld_w + b], s);
        partial[GROUP * p.p * p.q + e] = s;
    }
}
