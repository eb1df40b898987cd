/* The fused sweep on GPUs: a block of rows for each group. sweep.gpu.h stands before it. */
KERNEL(spmmv, k_sweep)
{
    LOCAL double all[8 * GROUP_SIZE];
    GLOBAL const i32 *order = PLACE_OR_NULL(const i32, A_ORDER);
    sweep_arrays a;
    SWEEP_ARRAYS(a, PLACE_OR_NULL);
    sweep_block(p, a, order ? order[p.first + GROUP] : p.first + GROUP, all);
}
