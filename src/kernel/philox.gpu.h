/* Random numbers of traces: 1 and -1, or the four roots of 1, by bits of Philox4x32-10 (base/rng.h). Compile-time:
   REAL, PARTS = 1, GROUP_SIZE. */
INLINE u32 high_word(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }

/* The first 32 of 128 bits. */
INLINE u32 random_bits(i64 seed, i64 row, u32 column, u32 stream)
{
    u32 x0 = (u32)row, x1 = (u32)((u64)row >> 32), x2 = column, x3 = stream;
    u32 key0 = (u32)seed, key1 = (u32)((u64)seed >> 32);
    for (int round = 0; round < 10; round++) {
        const u32 high0 = high_word(0xD2511F53u, x0), low0 = 0xD2511F53u * x0;
        const u32 high1 = high_word(0xCD9E8D57u, x2), low1 = 0xCD9E8D57u * x2;
        x0 = high1 ^ x1 ^ key0, x1 = low1;
        x2 = high0 ^ x3 ^ key1, x3 = low0;
        key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    return x0;
}

KERNEL(philox, k_philox)
{
    GLOBAL real *x = PLACE(real, R_X);
    GLOBAL const i32 *column = PLACE_OR_NULL(const i32, R_COLUMN);
    GLOBAL const i64 *number = PLACE_OR_NULL(const i64, R_NUMBER);
    for (i64 e = GROUP * GROUP_SIZE + ITEM; e < p.rows * p.width; e += GROUPS * GROUP_SIZE) {
        const i64 row = e / p.width, j = e % p.width, at = (row * p.ld + (column ? column[j] : j)) * p.reals;
        const u32 bits =
            random_bits(p.seed, number ? number[row] : p.first_row + row, (u32)(p.first + j), (u32)p.stream);
        const real one = bits & 1 ? -1 : 1;
        if (p.reals == 1) {
            x[at] = one;
        } else {
            x[at] = bits & 2 ? 0 : one;
            x[at + 1] = bits & 2 ? one : 0;
        }
    }
}
