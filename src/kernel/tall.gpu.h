/* w_ib = the sum of v_ia x_ab, and beta w_ib; in complex blocks, whose numbers are pairs of real columns, beta may be
   complex. Compile-time: REAL, PARTS = 1, GROUP_SIZE. */
KERNEL(tall, k_tall)
{
    GLOBAL const real *v = PLACE(const real, T_V), *x = PLACE(const real, T_X);
    GLOBAL real *w = PLACE(real, T_W);
    const i64 each = p.pairs ? 2 : 1, units = p.q / each;
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.rows * units; e += GROUPS * GROUP_SIZE) {
        const i64 row = e / units, b = e % units * each, last = (b | 1) + 1;
        const i64 most = p.upper && last < p.p ? last : p.p; /* what is not needed may be NaN */
        real s[2], old[2];
        for (int k = 0; k < each; k++) {
            s[k] = 0;
            for (i64 a = 0; a < most; a++) s[k] = FMA(v[row * p.ld_v + a], x[a * p.ld_x + b + k], s[k]);
            if (p.reads_w) old[k] = w[row * p.ld_w + b + k];
        }
        for (int k = 0; k < each; k++) {
            if (p.reads_w) s[k] = FMA((real)p.beta[0], old[k], s[k]);
            if (p.reads_w && p.pairs) s[k] = FMA(k ? (real)p.beta[1] : -(real)p.beta[1], old[1 - k], s[k]);
            w[row * p.ld_w + b + k] = s[k];
        }
    }
}
