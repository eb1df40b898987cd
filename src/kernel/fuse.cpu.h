/* One pass over blocks: updates y = the sum of terms, then dots of the results. Strip by strip of rows, whose numbers
   stay in the first-level cache from one update to the next, and to the dots. */

#if SIMD_BYTES == 2 * REAL_BYTES
#define LANES 2
#elif SIMD_BYTES == 4 * REAL_BYTES
#define LANES 4
#elif SIMD_BYTES == 8 * REAL_BYTES
#define LANES 8
#else
#define LANES 16
#endif
#define SWAP(v) PASTE(SWAP_, LANES)(v)
#define FIRSTS(v) PASTE(FIRSTS_, LANES)(v)
#define SECONDS(v) PASTE(SECONDS_, LANES)(v)
enum { MOST = 8 }; /* registers at a time */

typedef real fuse_mem __attribute__((vector_size(SIMD_BYTES), aligned(REAL_BYTES), may_alias));
INLINE simd_vec fuse_load(const real *p) { return *(const fuse_mem *)p; }

void OUT(fuse)(const wisp__fuse_params *p, int64_t begin, int64_t end, double *sum);

/* What multiplies the rows of a block: none, a stream as the block is, or one number for a whole period. */
typedef struct {
    const real *stream, *number;
} fuse_rows;

INLINE fuse_rows rows_at(const wisp__fuse_params *p, const void *rows, int64_t ld, int64_t i, int l)
{
    const real *at = (const real *)rows + i * ld;
    if (!rows) return (fuse_rows){0, 0};
    return p->row == p->parts ? (fuse_rows){at + l, 0} : (fuse_rows){0, at};
}

/* A register of x, that begins so many numbers from where the rows are. */
INLINE simd_vec fuse_times(const int complex, const fuse_rows *r, int from, simd_vec x)
{
    if (r->stream) {
        const simd_vec f = fuse_load(r->stream + from);
        return complex ? FIRSTS(f) * x + fuse_load(simd_sign) * SECONDS(f) * SWAP(x) : f * x;
    }
    return complex ? r->number[0] * x + r->number[1] * fuse_load(simd_sign) * SWAP(x) : r->number[0] * x;
}

/* ---- number by number: what is shorter than a register ----------------------------------------- */

/* v = number l of period i of x, times that of its row. */
INLINE void number_at(const wisp__fuse_params *p, const void *x, int64_t ld, const fuse_rows *r, int64_t i, int l,
                      real v[2])
{
    const real *at = (const real *)x + i * ld + l, *f = r->stream ? r->stream : r->number;
    const int parts = p->parts;
    v[0] = at[0], v[1] = parts == 2 ? at[1] : 0;
    if (!f) return;
    const real re = v[0], im = v[1], f_im = parts == 2 ? f[1] : 0;
    v[0] = f[0] * re - f_im * im;
    v[1] = f[0] * im + f_im * re;
}

INLINE void update_number(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i, int l)
{
    real s[2] = {0, 0}, *y = (real *)u->y + i * u->ld_y + l;
    const int parts = p->parts;
    for (int t = 0; t < u->terms; t++) {
        const wisp__fuse_term *term = u->term + t;
        const real *f = (const real *)p->factors + term->factors + l, *w = f + p->period;
        const fuse_rows r = rows_at(p, term->rows, term->ld_rows, i, l);
        real v[2];
        number_at(p, term->x, term->ld_x, &r, i, l, v);
        for (int k = 0; k < parts; k++) {
            s[k] += (u->kind == K_FUSE_ONE ? (real)term->factor : f[k]) * v[k];
            if (u->kind == K_FUSE_COMPLEX) s[k] += w[k] * v[1 - k];
        }
    }
    for (int k = 0; k < parts; k++) y[k] = s[k];
}

INLINE void dot_number(const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t i, int l, double *sum)
{
    const real *x = (const real *)d->x + i * d->ld_x + l;
    const fuse_rows r = rows_at(p, d->rows, d->ld_rows, i, l);
    const int parts = p->parts;
    double *s = sum + d->set * p->period + l;
    real v[2];
    number_at(p, d->y, d->ld_y, &r, i, l, v);
    for (int k = 0; k < parts; k++) {
        s[k] += (double)x[k] * (double)v[k];
        if (d->cross) s[p->period + k] += (double)x[k] * (double)v[1 - k];
    }
}

/* ---- updates ----------------------------------------------------------------------------------- */

/* Adds a term to n registers of sums, from element l of period i on. */
INLINE void add_term(const int n, const wisp__fuse_kind kind, const wisp__fuse_params *p, const wisp__fuse_term *t,
                     int64_t i, int l, simd_vec *s)
{
    const real *x = (const real *)t->x + i * t->ld_x + l, one = (real)t->factor;
    const real *f = (const real *)p->factors + t->factors + l, *w = f + p->period;
    const fuse_rows r = rows_at(p, t->rows, t->ld_rows, i, l);
    UNROLL for (int k = 0; k < n; k++)
    {
        simd_vec v = fuse_load(x + k * LANES);
        if (t->rows) v = p->parts == 2 ? fuse_times(1, &r, k * LANES, v) : fuse_times(0, &r, k * LANES, v);
        s[k] += kind == K_FUSE_ONE ? one * v : fuse_load(f + k * LANES) * v;
        if (kind == K_FUSE_COMPLEX) s[k] += fuse_load(w + k * LANES) * SWAP(v);
    }
}

INLINE void update_registers(const int n, const wisp__fuse_kind kind, const wisp__fuse_params *p,
                             const wisp__fuse_update *u, int64_t i, int l)
{
    simd_vec s[MOST];
    UNROLL for (int k = 0; k < n; k++) s[k] = (simd_vec){0};
    for (int t = 0; t < u->terms; t++) add_term(n, kind, p, u->term + t, i, l, s);
    real *y = (real *)u->y + i * u->ld_y + l;
    UNROLL for (int k = 0; k < n; k++) * (fuse_mem *)(y + k * LANES) = s[k];
}

/* n elements from the begin of period i on. */
INLINE void update_run(const wisp__fuse_kind kind, const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i,
                       int n)
{
    int l = 0;
    for (; l + MOST * LANES <= n; l += MOST * LANES) update_registers(MOST, kind, p, u, i, l);
    for (; l + LANES <= n; l += LANES) update_registers(1, kind, p, u, i, l);
    for (; l < n; l += p->parts) update_number(p, u, i, l);
}

/* Elements of period i; the last one may be short. */
INLINE int length_of(const wisp__fuse_params *p, int64_t i)
{
    const int64_t left = (p->count - i * p->rows) * p->row;
    return left < p->period ? (int)left : p->period;
}

INLINE void update_strip(const wisp__fuse_kind kind, const wisp__fuse_params *p, const wisp__fuse_update *u,
                         int64_t begin, int64_t end)
{
    if (kind == K_FUSE_ONE && p->flat && !(u->scaled && p->row != p->parts)) {
        update_run(kind, p, u, begin, (int)(end - 1 - begin) * p->period + length_of(p, end - 1));
        return;
    }
    for (int64_t i = begin; i < end; i++) update_run(kind, p, u, i, length_of(p, i));
}

/* Functions of their own: gcc would run out of registers with all in one. */
#define UPDATE(name, kind)                                                                                            \
    static __attribute__((noinline)) void name(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t begin, \
                                               int64_t end)                                                           \
    {                                                                                                                 \
        update_strip(kind, p, u, begin, end);                                                                         \
    }
UPDATE(update_one, K_FUSE_ONE)
UPDATE(update_real, K_FUSE_REAL)
UPDATE(update_complex, K_FUSE_COMPLEX)

/* ---- dots -------------------------------------------------------------------------------------- */

typedef enum { SQUARE, PLAIN, CROSS } dot_kind;

/* sum += n registers, but for the first `skip` elements. */
INLINE void add_lanes(const int n, const simd_vec *s, int skip, double *sum)
{
    UNROLL for (int k = 0; k < n; k++, sum += LANES)
    {
        real lane[LANES];
        __builtin_memcpy(lane, &s[k], sizeof lane);
        for (int l = n == 1 ? skip : 0; l < LANES; l++) sum[l] += (double)lane[l];
    }
}

/* Sums over periods [begin, end) of n registers from element l on, of which the first `skip` elements do not count. */
INLINE void dot_registers(const int n, const dot_kind kind, const wisp__fuse_params *p, const wisp__fuse_dot *d,
                          int64_t begin, int64_t end, int l, int skip, double *sum)
{
    simd_vec s[MOST], c[MOST];
    UNROLL for (int k = 0; k < n; k++) s[k] = c[k] = (simd_vec){0};
    for (int64_t i = begin; i < end; i++) {
        const real *x = (const real *)d->x + i * d->ld_x + l, *y = (const real *)d->y + i * d->ld_y + l;
        const fuse_rows r = rows_at(p, d->rows, d->ld_rows, i, l);
        UNROLL for (int k = 0; k < n; k++)
        {
            const simd_vec xv = fuse_load(x + k * LANES);
            simd_vec yv = kind == SQUARE ? xv : fuse_load(y + k * LANES);
            if (d->rows) yv = p->parts == 2 ? fuse_times(1, &r, k * LANES, yv) : fuse_times(0, &r, k * LANES, yv);
            s[k] += xv * yv;
            if (kind == CROSS) c[k] += xv * SWAP(yv);
        }
    }
    sum += d->set * p->period + l;
    add_lanes(n, s, skip, sum);
    if (kind == CROSS) add_lanes(n, c, skip, sum + p->period);
}

/* The first n elements of periods [begin, end). */
INLINE void dot_run(const dot_kind kind, const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t begin,
                    int64_t end, int n, double *sum)
{
    enum { HALF = MOST / 2 };
    int l = 0;
    for (; kind != CROSS && l + MOST * LANES <= n; l += MOST * LANES)
        dot_registers(MOST, kind, p, d, begin, end, l, 0, sum);
    for (; l + HALF * LANES <= n; l += HALF * LANES) dot_registers(HALF, kind, p, d, begin, end, l, 0, sum);
    for (; l + LANES <= n; l += LANES) dot_registers(1, kind, p, d, begin, end, l, 0, sum);
    if (l < n && n >= LANES) /* the last register begins within the one before */
        dot_registers(1, kind, p, d, begin, end, n - LANES, l + LANES - n, sum);
    else
        for (int64_t i = begin; i < end; i++)
            for (int k = l; k < n; k += p->parts) dot_number(p, d, i, k, sum);
}

INLINE void dot_strip(const dot_kind kind, const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t begin,
                      int64_t end, double *sum)
{
    const int last = length_of(p, end - 1);
    const int64_t whole = last < p->period ? end - 1 : end;
    if (begin < whole) dot_run(kind, p, d, begin, whole, p->period, sum);
    if (whole < end) dot_run(kind, p, d, whole, end, last, sum);
}

#define DOT(name, kind)                                                                                            \
    static __attribute__((noinline)) void name(const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t begin, \
                                               int64_t end, double *sum)                                           \
    {                                                                                                              \
        dot_strip(kind, p, d, begin, end, sum);                                                                    \
    }
DOT(dot_square, SQUARE)
DOT(dot_plain, PLAIN)
DOT(dot_cross, CROSS)

/* ---- all together ------------------------------------------------------------------------------ */

void OUT(fuse)(const wisp__fuse_params *p, int64_t begin, int64_t end, double *sum)
{
    for (int64_t strip = begin; strip < end; strip += p->strip) {
        const int64_t strip_end = strip + p->strip < end ? strip + p->strip : end;
        for (const wisp__fuse_update *u = p->update; u < p->update + p->updates; u++)
            (u->kind == K_FUSE_ONE    ? update_one
             : u->kind == K_FUSE_REAL ? update_real
                                      : update_complex)(p, u, strip, strip_end);
        for (const wisp__fuse_dot *d = p->dot; d < p->dot + p->dots; d++)
            (d->cross                                         ? dot_cross
             : d->x == d->y && d->ld_x == d->ld_y && !d->rows ? dot_square
                                                              : dot_plain)(p, d, strip, strip_end, sum);
    }
}
