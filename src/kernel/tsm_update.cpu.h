/* W = V X + beta W with registers of VL reals; see tsm.cpu.h, which includes this for each VL. */

#define UN(name) PASTE(PASTE(name, _v), VL)
#define VEC_BYTES (VL * REAL_BYTES)
typedef real UN(vec) __attribute__((vector_size(VEC_BYTES)));
typedef real UN(vec_mem) __attribute__((vector_size(VEC_BYTES), aligned(REAL_BYTES), may_alias));

INLINE UN(vec) UN(load)(const real *p) { return *(const UN(vec_mem) *)p; }

/* i v: (re, im) -> (-im, re); rows of complex blocks have at least two reals. */
INLINE UN(vec) UN(times_i)(UN(vec) v)
{
#if VL == 1
    return v;
#else
    return UN(load)(simd_sign) * PASTE(SWAP_, VL)(v);
#endif
}

/* mr rows and nv registers of a row, the second `second` reals behind the first. */
INLINE void UN(tile)(const int mr, const int nv, const wisp__update_params *p, const real *v, int64_t ld_v, real *w,
                     const real *x, int64_t second, int stream)
{
    const int64_t ld_w = p->ld_w, ld_x = p->ld_x;
    UN(vec) acc[TILE][2];
    UNROLL for (int r = 0; r < mr; r++) UNROLL for (int k = 0; k < nv; k++) acc[r][k] = (UN(vec)){0};
    for (int c = 0; c < p->p; c++, x += ld_x) {
        UN(vec) xv[2];
        UNROLL for (int k = 0; k < nv; k++) xv[k] = UN(load)(x + k * second);
        UNROLL for (int r = 0; r < mr; r++) UNROLL for (int k = 0; k < nv; k++) acc[r][k] += v[r * ld_v + c] * xv[k];
    }
    if (p->reads_w) { /* all of it before anything is stored: the registers may overlap */
        const real re = (real)p->beta[0], im = (real)p->beta[1];
        UNROLL for (int r = 0; r < mr; r++) UNROLL for (int k = 0; k < nv; k++)
        {
            const UN(vec) old = UN(load)(w + r * ld_w + k * second);
            acc[r][k] += re * old;
            if (im != 0) acc[r][k] += im * UN(times_i)(old);
        }
    }
    if (stream)
        UNROLL for (int r = 0; r < mr; r++) UNROLL for (int k = 0; k < nv; k++)
            simd_store_past(w + r * ld_w + k * second, &acc[r][k], VEC_BYTES);
    else
        UNROLL for (int r = 0; r < mr; r++) UNROLL for (int k = 0; k < nv; k++) *
            (UN(vec_mem) *)(w + r * ld_w + k * second) = acc[r][k];
}

/* All columns of mr rows: one register where their number is odd, then pairs, the last of which may overlap. */
INLINE void UN(rows)(const int mr, const wisp__update_params *p, const real *v, int64_t ld_v, real *w, int stream)
{
    const real *x = p->x;
    int b = 0;
    if ((p->q + VL - 1) / VL % 2) {
        UN(tile)(mr, 1, p, v, ld_v, w, x, 0, stream);
        b = VL;
    }
    for (; b < p->q; b += 2 * VL)
        UN(tile)(mr, 2, p, v, ld_v, w + b, x + b, p->q - b < 2 * VL ? p->q - b - VL : VL, stream);
}

/* The lines of some rows, to the second level of cache. */
INLINE void UN(prefetch)(const real *row, int64_t ld, int reals, int rows)
{
    for (int r = 0; r < rows; r++, row += ld)
        for (int l = 0; l < reals; l += 64 / REAL_BYTES) __builtin_prefetch(row + l, 0, 2);
}

static void UN(update)(const wisp__update_params *p, int64_t begin, int64_t end, real *copy)
{
    const int64_t ld_v = p->ld_v, ld_w = p->ld_w;
    const int stream = p->stream && VEC_BYTES >= 16 && p->q % VL == 0 && (uintptr_t)p->w % VEC_BYTES == 0 &&
                       (size_t)ld_w * REAL_BYTES % VEC_BYTES == 0;
    const int copies = p->in_place && p->q > 2 * VL; /* later columns need V as it was */
    const int64_t least = PREFETCH_BYTES / REAL_BYTES / ld_v, ahead = least > TILE ? least : TILE;
    for (int64_t i = begin; i < end;) {
        const int mr = end - i >= TILE ? TILE : 1;
        const real *v = (const real *)p->v + i * ld_v;
        real *w = (real *)p->w + i * ld_w;
        int64_t ld = ld_v;
        UN(prefetch)(v + ahead * ld_v, ld_v, p->p, mr);
        if (p->reads_w && !p->in_place) UN(prefetch)(w + ahead * ld_w, ld_w, p->q, mr);
        if (copies) {
            for (int r = 0; r < mr; r++)
                for (int c = 0; c < p->p; c++) copy[r * p->p + c] = v[r * ld_v + c];
            v = copy;
            ld = p->p;
        }
        if (mr == TILE)
            UN(rows)(TILE, p, v, ld, w, stream);
        else
            UN(rows)(1, p, v, ld, w, stream);
        i += mr;
    }
    if (stream) simd_fence();
}

#undef UN
#undef VEC_BYTES
#undef VL
