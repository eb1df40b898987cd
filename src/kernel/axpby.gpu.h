/* y = a x + b y, number by number, with factors for each number of a period. Numbers go in pairs where some factor
   meets the other one of a pair. Compile-time: REAL, PARTS = 1, GROUP_SIZE. */
KERNEL(axpby, k_axpby)
{
    GLOBAL const real *x = PLACE(const real, B_X);
    GLOBAL real *y = PLACE(real, B_Y);
    GLOBAL const double *f = PLACE(const double, B_FACTORS);
    const i64 each = p.swaps ? 2 : 1, units = p.period / each;
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.count * units; e += GROUPS * GROUP_SIZE) {
        const i64 row = e / units, i = e % units * each;
        GLOBAL const real *v = x + row * p.ld_x + i;
        GLOBAL real *w = y + row * p.ld_y + i;
        real s[2];
        for (int k = 0; k < each; k++) {
            s[k] = (real)f[i + k] * v[k];
            if (p.swaps) s[k] = FMA((real)f[p.period + i + k], v[1 - k], s[k]);
            if (p.reads_y) s[k] = FMA((real)f[2 * p.period + i + k], w[k], s[k]);
            if (p.swaps && p.reads_y) s[k] = FMA((real)f[3 * p.period + i + k], w[1 - k], s[k]);
        }
        for (int k = 0; k < each; k++) w[k] = s[k];
    }
}
