/* Elements of a block become a value, word by word of 4 bytes. Compile-time: GROUP_SIZE. */
KERNEL(fill, k_fill)
{
    GLOBAL u32 *x = PLACE(u32, F_X);
    GLOBAL const i64 *only = PLACE_OR_NULL(const i64, F_ONLY);
    GLOBAL const i32 *column = PLACE_OR_NULL(const i32, F_COLUMN);
    const i64 row_words = p.width * p.words;
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.rows * row_words; e += GROUPS * GROUP_SIZE) {
        const i64 row = e / row_words, j = e % row_words / p.words, k = e % p.words;
        const u32 word = (u32)(p.value[k / 2] >> (k % 2 ? 32 : 0));
        x[(row * p.ld + (column ? column[j] : j)) * p.words + k] = only && only[j] != row ? 0 : word;
    }
}
