/* z = delta z + eta y in the rows of a sweep: the chains beyond the first one. Compile-time: REAL, PARTS, GROUP_SIZE.
 */
KERNEL(chain, k_sweep)
{
    GLOBAL const elem *y = PLACE(const elem, A_Y);
    GLOBAL elem *z = PLACE(elem, A_Z);
    GLOBAL const i32 *order = PLACE_OR_NULL(const i32, A_ORDER);
    const i64 block = order ? order[p.first + GROUP] : p.first + GROUP;
    const i64 begin = block * p.rows_per_block, end = block_end(block, p.rows_per_block, p.rows);
    for (i64 e = begin * p.width + ITEM; e < end * p.width; e += GROUP_SIZE) {
        const i64 row = e / p.width, at = e % p.width;
        elem sum = factor_add(p.eta[0], p.eta[1], y[row * p.ld_y + at], make(0, 0));
        if (p.terms & G_DELTA) sum = factor_add(p.delta[0], p.delta[1], z[row * p.ld_z + at], sum);
        z[row * p.ld_z + at] = sum;
    }
}
