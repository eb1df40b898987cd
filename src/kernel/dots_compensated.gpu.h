/* Sums <x_j, y_j> of the rows of each group, and their rounding errors. Compile-time: REAL, PARTS, GROUP_SIZE. */
KERNEL(dots_compensated, k_dot)
{
    LOCAL double all[4 * GROUP_SIZE];
    GLOBAL const elem *x = PLACE(const elem, D_X), *y = PLACE(const elem, D_Y);
    const i64 begin = GROUP * p.rows_per_block, end = block_end(GROUP, p.rows_per_block, p.rows);
    const int lanes = (int)p.lanes, lane = ITEM % lanes, abreast = GROUP_SIZE / lanes;
    GLOBAL double *partial = PLACE(double, D_PARTIAL) + 4 * GROUP * p.width;
    for (int panel = 0; panel < p.width; panel += lanes) {
        const int at = panel + lane;
        double s[2], error[2];
        s[0] = s[1] = error[0] = error[1] = 0;
        for (i64 row = begin + ITEM / lanes; row < end && at < p.width; row += abreast) {
            elem a = x[row * p.ld_x + at], b = y[row * p.ld_y + at];
            if (p.scale != 1) {
                a = real_mul_add((real)p.scale, a, make(0, 0));
                b = real_mul_add((real)p.scale, b, make(0, 0));
            }
#if PARTS == 2
            add_product((double)a.x, (double)b.x, s, error);
            add_product((double)a.y, (double)b.y, s, error);
            if (p.cross) {
                add_product((double)a.x, (double)b.y, s + 1, error + 1);
                add_product(-(double)a.y, (double)b.x, s + 1, error + 1);
            }
#else
            add_product((double)a, (double)b, s, error);
#endif
        }
        group_sums_errors(s, error, 2, lanes, all);
        for (int k = 0; k < 2 && ITEM < lanes && at < p.width; k++) {
            partial[2 * at + k] = all[k * GROUP_SIZE + ITEM];
            partial[2 * (p.width + at) + k] = all[(2 + k) * GROUP_SIZE + ITEM];
        }
    }
}
