/* A chain beyond the first one, in the rows of a sweep. sweep.gpu.h stands before it. */
KERNEL(chain, k_sweep)
{
    GLOBAL const elem *y = PLACE(const elem, A_Y);
    GLOBAL elem *z = PLACE(elem, A_Z);
    GLOBAL const i32 *order = PLACE_OR_NULL(const i32, A_ORDER);
    const i64 block = order ? order[p.first + GROUP] : p.first + GROUP;
    const i64 begin = block * p.rows_per_block, end = block_end(block, p.rows_per_block, p.rows);
    for (i64 e = begin * p.width + ITEM; e < end * p.width; e += GROUP_SIZE) {
        const i64 row = e / p.width, at = e % p.width;
        add_chain(p, p.eta[0], p.eta[1], y[row * p.ld_y + at], z, row * p.ld_z + at);
    }
}
