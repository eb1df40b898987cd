/* Rows of a block go one behind the other, or come back from there, word by word of 4 bytes. Compile-time: GROUP_SIZE.
 */
KERNEL(pack, k_pack)
{
    GLOBAL u32 *x = PLACE(u32, M_X), *packed = PLACE(u32, M_PACKED);
    GLOBAL const i32 *row = PLACE_OR_NULL(const i32, M_ROW);
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.count * p.words; e += GROUPS * GROUP_SIZE) {
        const i64 i = e / p.words, at = (row ? row[i] : i) * p.ld + e % p.words;
        if (p.back)
            x[at] = packed[e];
        else
            packed[e] = x[at];
    }
}
