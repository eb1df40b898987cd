/* Sums of the groups' sums, one group for each, in a tree of a fixed order. Compile-time: GROUP_SIZE; maybe
 * COMPENSATED.
 */
KERNEL(sums, k_sums)
{
    LOCAL double all[SUM_NUMBERS * GROUP_SIZE];
    GLOBAL const double *partial = PLACE_OR_NULL(const double, S_PARTIAL);
    GLOBAL double *const to[] = {PLACE(double, S_TO), PLACE_OR_NULL(double, S_ERROR)};
    double s[SUM_NUMBERS];
    for (int k = 0; k < SUM_NUMBERS; k++) s[k] = 0;
    for (i64 b = ITEM; b < p.blocks; b += GROUP_SIZE) {
        GLOBAL const double *of = partial + SUM_NUMBERS * b * p.size + GROUP;
        ADD_SUM(of[0], of[p.size], s, 1);
    }
    group_sums(s, 1, 1, all);
    if (ITEM == 0) {
        const i64 at = p.to_at[GROUP / p.each] + GROUP % p.each;
        for (int k = 0; k < SUM_NUMBERS; k++) s[k] = p.adds ? to[k][at] : 0;
        ADD_SUM(all[0], all[GROUP_SIZE], s, 1);
        for (int k = 0; k < SUM_NUMBERS; k++) to[k][at] = s[k];
    }
}
