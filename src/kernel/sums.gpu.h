/* Sums of the groups' sums, one group for each, in a tree of a fixed order. Compile-time: GROUP_SIZE. */
KERNEL(sums, k_sums)
{
    LOCAL double all[GROUP_SIZE];
    GLOBAL const double *partial = PLACE_OR_NULL(const double, S_PARTIAL);
    GLOBAL double *to = PLACE(double, S_TO) + p.to_at[GROUP / p.each] + GROUP % p.each;
    double s[1];
    s[0] = 0;
    for (i64 b = ITEM; b < p.blocks; b += GROUP_SIZE) s[0] += partial[b * p.size + GROUP];
    group_sums(s, 1, 1, all);
    if (ITEM == 0) *to = p.adds ? *to + all[0] : all[0];
}
