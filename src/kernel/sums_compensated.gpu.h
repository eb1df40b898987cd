/* Sums of the groups' sums with their rounding errors, one group for each, in a tree of a fixed order. Compile-time:
   GROUP_SIZE. */
KERNEL(sums_compensated, k_sums)
{
    LOCAL double all[2 * GROUP_SIZE];
    GLOBAL const double *partial = PLACE_OR_NULL(const double, S_PARTIAL);
    GLOBAL double *to = PLACE(double, S_TO), *to_error = PLACE(double, S_ERROR);
    double s[1], error[1];
    s[0] = error[0] = 0;
    for (i64 b = ITEM; b < p.blocks; b += GROUP_SIZE)
        add_sum(partial[2 * b * p.size + GROUP], partial[(2 * b + 1) * p.size + GROUP], s, error);
    group_sums_errors(s, error, 1, 1, all);
    if (ITEM == 0) {
        s[0] = p.adds ? to[GROUP] : 0;
        error[0] = p.adds ? to_error[GROUP] : 0;
        add_sum(all[0], all[GROUP_SIZE], s, error);
        to[GROUP] = s[0];
        to_error[GROUP] = error[0];
    }
}
