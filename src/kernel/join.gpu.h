/* Products of a panel from the sums of gram (wisp__joined): an item for each. Compile-time: GROUP_SIZE. */
INLINE double joined(GLOBAL const double *sum, GLOBAL const double *error, i64 one, i64 two, double sign, int pairs)
{
    double a = sum[one], e = error ? error[one] : 0;
    if (pairs) {
        const double b = sign * sum[two], s = a + b, bb = s - a;
        if (error) e += sign * error[two] + ((a - (s - bb)) + (b - bb));
        a = s;
    }
    return a + e;
}

KERNEL(join, k_join)
{
    GLOBAL const double *sum = PLACE(const double, J_SUM);
    GLOBAL double *to = PLACE(double, J_TO);
    const i64 reals = p.reals, q = p.w_count * reals;
    GLOBAL const double *error = p.compensated ? sum + p.v_count * reals * q : (GLOBAL const double *)0;
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.v_count * p.w_count; e += GROUPS * GROUP_SIZE) {
        const i64 i = e / p.w_count, j = e % p.w_count, at = i * reals * q + j * reals, v = p.v + i, w = p.w + j;
        if (p.mirror && p.v == p.w && j < i) continue;
        const double re = joined(sum, error, at, at + q + 1, 1, reals == 2);
        const double im = reals == 2 ? joined(sum, error, at + 1, at + q, -1, 1) : 0;
        to[2 * (v * p.ld + w)] = re;
        to[2 * (v * p.ld + w) + 1] = im;
        if (p.mirror && v != w) {
            to[2 * (w * p.ld + v)] = re;
            to[2 * (w * p.ld + v) + 1] = -im;
        }
    }
}
