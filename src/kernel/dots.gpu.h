/* Sums <x_j, rows y_j> of the rows of each group. Compile-time: REAL, PARTS, GROUP_SIZE; maybe
   COMPENSATED. */
KERNEL(dots, k_dot)
{
    LOCAL double all[SUM_NUMBERS * 2 * GROUP_SIZE];
    GLOBAL const elem *x = PLACE(const elem, D_X), *y = PLACE(const elem, D_Y),
                      *rows = PLACE_OR_NULL(const elem, D_ROWS);
    GLOBAL double *partial = PLACE(double, D_PARTIAL) + SUM_NUMBERS * GROUP * p.size;
    const i64 begin = GROUP * p.rows_per_block, end = block_end(GROUP, p.rows_per_block, p.rows);
    const int lanes = (int)p.lanes, lane = ITEM % lanes, abreast = GROUP_SIZE / lanes;
    for (int panel = 0; panel < p.width; panel += lanes) {
        const int at = panel + lane;
        double s[SUM_NUMBERS * 2];
        for (int k = 0; k < SUM_NUMBERS * 2; k++) s[k] = 0;
        for (i64 row = begin + ITEM / lanes; row < end && at < p.width; row += abreast) {
            elem a = x[row * p.ld_x + at], b = y[row * p.ld_y + at];
#ifndef COMPENSATED /* these have no rows */
            if (rows) b = mul_add(rows[row * p.ld_rows], b, make(0, 0));
#endif
            if (p.scale != 1) {
                a = real_mul_add((real)p.scale, a, make(0, 0));
                b = real_mul_add((real)p.scale, b, make(0, 0));
            }
            add_dot(s, a, b, p.cross != 0);
        }
        group_sums(s, 2, lanes, all);
        for (int k = 0; k < SUM_NUMBERS * 2 && ITEM < lanes && at < p.width; k++)
            partial[2 * (k / 2 * p.width + at) + k % 2] = all[k * GROUP_SIZE + ITEM];
    }
}
