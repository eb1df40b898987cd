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

/* mr rows at a time, nv registers of each: all of a tile is read before anything of it is stored, for the registers
   may overlap. */
INLINE void UN(tiles)(const int mr, const int nv, const update_part *s)
{
    const wisp__update_params *p = s->p;
    const int64_t ld_v = s->ld_v, ld_w = p->ld_w, ld_x = p->ld_x, second = s->second;
    const int n = s->terms;
    const real *v = s->v, re = (real)p->beta[0], im = (real)p->beta[1];
    real *w = s->w;
    fetches far_v = s->far_v, far_w = s->far_w;
    for (int i = 0; i + mr <= s->rows; i += mr, v += mr * ld_v, w += mr * ld_w) {
        fetch_rows(&far_v);
        fetch_rows(&far_w);
        UN(vec) acc[TILE][2];
        EACH_ROW(r) EACH_REG(k) acc[r][k] = (UN(vec)){0};
        const real *x = s->x;
        for (int c = 0; c < n; c++, x += ld_x) {
            UN(vec) xv[2];
            EACH_REG(k) xv[k] = UN(load)(x + k * second);
            EACH_ROW(r) EACH_REG(k) acc[r][k] += v[r * ld_v + c] * xv[k];
        }
        if (p->reads_w) {
            EACH_ROW(r) EACH_REG(k)
            {
                const UN(vec) old = UN(load)(w + r * ld_w + k * second);
                acc[r][k] += re * old;
                if (im != 0) acc[r][k] += im * UN(times_i)(old);
            }
        }
        EACH_ROW(r) EACH_REG(k)
        {
            const UN(vec) sum = acc[r][k]; /* acc itself has no address: gcc would move it about */
            if (s->stream)
                simd_store_past(w + r * ld_w + k * second, &sum, VEC_BYTES);
            else
                *(UN(vec_mem) *)(w + r * ld_w + k * second) = sum;
        }
    }
}

/* Functions of their own: with all in one, gcc runs out of registers. */
static __attribute__((noinline)) void UN(tiles_1)(const update_part *s) { UN(tiles)(TILE, 1, s); }
static __attribute__((noinline)) void UN(tiles_2)(const update_part *s) { UN(tiles)(TILE, 2, s); }
static __attribute__((noinline)) void UN(rows_1)(const update_part *s) { UN(tiles)(1, 1, s); }
static __attribute__((noinline)) void UN(rows_2)(const update_part *s) { UN(tiles)(1, 2, s); }

/* nv registers from column b on of all rows of a strip. */
INLINE void UN(columns)(const int nv, int b, update_part s)
{
    const int whole = s.rows / TILE * TILE, left = s.p->q - b, panel = (b / VL + 1) / 2;
    s.w += b;
    s.x = (const real *)s.p->x + b;
    s.second = left < 2 * VL ? left - VL : VL;
    s.terms = s.p->upper && b + nv * VL < s.p->p ? b + nv * VL : s.p->p;
    fetch_from_panel(&s.far_v, panel);
    fetch_from_panel(&s.far_w, panel);
    if (whole) (nv == 1 ? UN(tiles_1) : UN(tiles_2))(&s);
    if (whole == s.rows) return;
    s.v += whole * s.ld_v;
    s.w += whole * s.p->ld_w;
    s.rows -= whole;
    s.far_v.rows = s.far_w.rows = 0;
    (nv == 1 ? UN(rows_1) : UN(rows_2))(&s);
}

/* Strip by strip, whose rows then come from the first level of cache for all columns but the first. */
static void UN(update)(const wisp__update_params *p, int64_t begin, int64_t end, real *copy)
{
    const int stream = p->stream && VEC_BYTES >= 16 && p->q % VL == 0 && (uintptr_t)p->w % VEC_BYTES == 0 &&
                       (size_t)p->ld_w * REAL_BYTES % VEC_BYTES == 0;
    const int copies = p->in_place && p->q > 2 * VL; /* later columns need V as it was */
    const int registers = (p->q + VL - 1) / VL, panels = (registers + 1) / 2;
    for (int64_t i = begin; i < end; i += K_UPDATE_ROWS) {
        const real *v = (const real *)p->v + i * p->ld_v;
        real *w = (real *)p->w + i * p->ld_w;
        update_part s = {.p = p,
                         .v = v,
                         .w = w,
                         .ld_v = p->ld_v,
                         .rows = (int)(end - i < K_UPDATE_ROWS ? end - i : K_UPDATE_ROWS),
                         .stream = stream};
        s.far_v = fetches_of(v, p->ld_v, p->p, panels);
        if (p->reads_w && !p->in_place) s.far_w = fetches_of(w, p->ld_w, p->q, panels);
        if (copies) {
            for (int r = 0; r < s.rows; r++)
                for (int c = 0; c < p->p; c++) copy[r * p->p + c] = v[r * p->ld_v + c];
            s.v = copy;
            s.ld_v = p->p;
        }
        /* One register where their number is odd, then pairs, the last of which may overlap. */
        int b = 0;
        if (registers % 2) {
            UN(columns)(1, b, s);
            b = VL;
        }
        for (; b < p->q; b += 2 * VL) UN(columns)(2, b, s);
    }
    if (stream) simd_fence();
}

#undef UN
#undef VEC_BYTES
#undef VL
