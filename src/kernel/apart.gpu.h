/* x of an update from a small matrix of complex numbers (wisp__apart): an item for each. Compile-time: REAL, PARTS = 1,
   GROUP_SIZE. */
KERNEL(apart, k_apart)
{
    GLOBAL const double *from = PLACE(const double, P_FROM);
    GLOBAL real *x = PLACE(real, P_X);
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.rows * p.columns; e += GROUPS * GROUP_SIZE) {
        const i64 i = e / p.columns, j = e % p.columns, at = 2 * (p.adjoint ? j * p.ld_from + i : i * p.ld_from + j);
        const double re = from[at], im = p.adjoint ? -from[at + 1] : from[at + 1];
        GLOBAL real *to = x + i * p.reals * p.ld_x + j * p.reals;
        double a_re = p.alpha[0] * re, a_im = p.alpha[0] * im;
        if (p.reals == 2 && p.alpha[1] != 0) {
            a_re -= p.alpha[1] * im;
            a_im += p.alpha[1] * re;
        }
        to[0] = (real)a_re;
        if (p.reals == 2) {
            to[1] = (real)a_im;
            to[p.ld_x] = (real)-a_im;
            to[p.ld_x + 1] = (real)a_re;
        }
    }
}
