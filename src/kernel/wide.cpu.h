/* Rows of one column, one after the other without gaps, are like one row of a wider block: WIDE of them fill a
   register. Kernels that take so many at a time (along chunks, in bundles) hand their sums to the template of that
   width, whose functions are W(name). */
#undef vec /* the template's of the width before */
#if SIMD_BYTES == 2 * PARTS * REAL_BYTES
#define WIDE 2
#elif SIMD_BYTES == 4 * PARTS * REAL_BYTES
#define WIDE 4
#elif SIMD_BYTES == 8 * PARTS * REAL_BYTES
#define WIDE 8
#else
#define WIDE 16
#endif
#define W(name) PASTE(PASTE(name, _w), WIDE)
enum { WIDE_REALS = WIDE * PARTS };

/* Whether no block has gaps between its rows. */
INLINE int wide_compact(const wisp__spmmv_params *p)
{
    return p->ld_gather == PARTS && p->ld_x == PARTS && p->ld_y == PARTS && K_SWEEP(p)->cpu.gapless;
}

/* The factors of one column become those of WIDE rows. */
INLINE void wide_factors(wisp__spmmv_params *p, real factors[K_FACTOR_SETS][2 * WIDE_REALS])
{
    for (int s = 0; s < K_FACTOR_SETS; s++) {
        const real *one = (const real *)p->factors[s];
        if (!one) continue;
        for (int i = 0; i < 2 * WIDE_REALS; i++) factors[s][i] = one[i / WIDE_REALS * PARTS + i % PARTS];
        p->factors[s] = factors[s];
    }
}

/* Adds the sums of all WIDE rows to the dots of the one column. */
INLINE void wide_flush(const W(sums) * s, const unsigned terms, double *dot)
{
    double columns[2 * K_DOT_SETS * WIDE] = {0};
    W(flush_panel)(s, terms, WIDE_REALS, 0, columns);
    UNROLL for (int t = 0; t < K_DOT_SETS; t++) for (int j = 0; j < WIDE && (terms & ((unsigned)K_DOT_XX << t)); j++)
        UNROLL for (int i = 0; i < 2; i++) dot[2 * t + i] += columns[2 * (t * WIDE + j) + i];
}
