/* Streams over a device's memory and caches, and multiply-adds: what ceilings are measured by. From pass to pass a
   group takes other units, so that they come from the last cache, not from one near to it. What is summed is written
   only where it is what it never is. Compile-time: REAL, PARTS = 1, GROUP_SIZE, STREAM. */
KERNEL(stream, k_stream)
{
    GLOBAL real *a = PLACE(real, STREAM_A);
    GLOBAL const real *b = PLACE(const real, STREAM_B), *c = PLACE(const real, STREAM_C);
    const real scale = (real)p.scale;
    real s[2 * G_ABREAST];
    for (int k = 0; k < 2 * G_ABREAST; k++) s[k] = (real)k * scale;
    for (i64 pass = 0; pass < p.passes; pass++) {
#if STREAM == G_FMA
        for (int i = 0; i < G_FMAS; i++)
            for (int k = 0; k < 2 * G_ABREAST; k++) s[k] = FMA(s[k], scale, scale);
#else
        for (i64 u = (GROUP + pass * p.turn) % GROUPS; u < p.units; u += GROUPS) {
            const i64 at = u * (G_ABREAST * GROUP_SIZE) + ITEM;
            for (int k = 0; k < G_ABREAST; k++) {
                const i64 i = at + (i64)k * GROUP_SIZE;
#if STREAM == G_LOAD
                s[k] += b[i];
#elif STREAM == G_COPY
                a[i] = b[i];
#elif STREAM == G_TRIAD
                a[i] = FMA(scale, c[i], b[i]);
#else
                a[i] = scale * a[i];
#endif
            }
        }
#endif
    }
    real sum = 0;
    for (int k = 0; k < 2 * G_ABREAST; k++) sum += s[k];
    if (sum == (real)p.never) a[ITEM] = sum;
}
