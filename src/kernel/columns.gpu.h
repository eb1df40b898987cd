/* Columns of a block become columns of another one, rounded or widened. Compile-time: FROM, TO, GROUP_SIZE. */
KERNEL(columns, k_columns)
{
    GLOBAL const FROM *from = PLACE(const FROM, C_FROM);
    GLOBAL TO *to = PLACE(TO, C_TO);
    GLOBAL const i32 *from_column = PLACE_OR_NULL(const i32, C_FROM_COLUMN),
                     *to_column = PLACE_OR_NULL(const i32, C_TO_COLUMN);
    const i64 row_reals = p.width * p.reals;
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.rows * row_reals; e += GROUPS * GROUP_SIZE) {
        const i64 row = e / row_reals, j = e % row_reals / p.reals, k = e % p.reals;
        const i64 source = from_column ? from_column[j] : j, target = to_column ? to_column[j] : j;
        to[(row * p.ld_to + target) * p.reals + k] = (TO)from[(row * p.ld_from + source) * p.reals + k];
    }
}
