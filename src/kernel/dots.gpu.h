/* Sums <x_j, rows y_j> of the rows of each group. Compile-time: REAL, PARTS, GROUP_SIZE. */
KERNEL(dots, k_dot)
{
    LOCAL double all[2 * GROUP_SIZE];
    GLOBAL const elem *x = PLACE(const elem, D_X), *y = PLACE(const elem, D_Y),
                      *rows = PLACE_OR_NULL(const elem, D_ROWS);
    GLOBAL double *partial = PLACE(double, D_PARTIAL);
    const i64 begin = GROUP * p.rows_per_block, end = block_end(GROUP, p.rows_per_block, p.rows);
    const int lanes = (int)p.lanes, lane = ITEM % lanes, abreast = GROUP_SIZE / lanes;
    for (int panel = 0; panel < p.width; panel += lanes) {
        const int at = panel + lane;
        double s[2];
        s[0] = s[1] = 0;
        for (i64 row = begin + ITEM / lanes; row < end && at < p.width; row += abreast) {
            elem a = x[row * p.ld_x + at], b = y[row * p.ld_y + at];
            if (rows) b = mul_add(rows[row * p.ld_rows], b, make(0, 0));
            if (p.scale != 1) {
                a = real_mul_add((real)p.scale, a, make(0, 0));
                b = real_mul_add((real)p.scale, b, make(0, 0));
            }
            add_dot(s, a, b, p.cross != 0);
        }
        group_sums(s, 2, lanes, all);
        if (ITEM < lanes && at < p.width) {
            partial[GROUP * p.size + 2 * at] = all[ITEM];
            partial[GROUP * p.size + 2 * at + 1] = all[GROUP_SIZE + ITEM];
        }
        BARRIER();
    }
}
