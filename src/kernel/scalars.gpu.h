/* A step of kernel/scalars.h, an item for each column. Compile-time: GROUP_SIZE. */
KERNEL(scalars, k_scalar_step)
{
    GLOBAL double *at = PLACE(double, N_AT);
    for (i64 j = GROUP * GROUP_SIZE + ITEM; j < p.width; j += GROUPS * GROUP_SIZE) {
        k_column c;
        c.at = at, c.uniform = p.uniform, c.width = (int)p.width, c.column = (int)j;
        k_scalars(&c, (int)p.step);
    }
}
