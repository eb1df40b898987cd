/* The dots of a pass (fuse.cpu.h) over a strip: several of one block together where no block has gaps. */

INLINE void dot_number(const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t i, int l, double *sum)
{
    const real *x = (const real *)d->x + i * d->ld_x + l;
    const int reals = p->reals;
    double *s = sum + d->set * p->period + l;
    real v[2];
    number_at(p, d->y, d->ld_y, d->rows, d->ld_rows, i, l, v);
    for (int k = 0; k < reals; k++) {
        s[k] += (double)x[k] * (double)v[k];
        if (d->cross) s[p->period + k] += (double)x[k] * (double)v[1 - k];
    }
}

static __attribute__((noinline)) void dot_numbers(const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t begin,
                                                  int64_t end, int l, int n, double *sum)
{
    for (int64_t i = begin; i < end; i++)
        for (int k = l; k < n; k += p->reals) dot_number(p, d, i, k, sum);
}

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
        real buffer[MOST * LANES];
        const real *x = (const real *)d->x + i * d->ld_x + l;
        const real *y = elements_of(p, d->y, d->ld_y, d->rows, d->ld_rows, i, l, n * LANES, buffer);
        UNROLL for (int k = 0; k < n; k++)
        {
            const simd_vec xv = fuse_load(x + k * LANES), yv = kind == SQUARE ? xv : fuse_load(y + k * LANES);
            s[k] = SIMD_MADD(xv, yv, s[k]);
            if (kind == CROSS) c[k] = SIMD_MADD(xv, SWAP(yv), c[k]);
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
    else if (l < n)
        dot_numbers(p, d, begin, end, l, n, sum);
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

/* ---- dots of one block with others, without gaps --------------------------------------------------- */

/* Elements of a line of memory, its registers, and elements that a dot takes of its blocks at a time, whose products
   are added up before they go to its sums. So few registers hold the sums of several dots, whose blocks are read side
   by side: memory is read faster so than block by block. */
enum { LINE = 64 / REAL_BYTES, LINE_REGS = 64 / SIMD_BYTES, CHUNK = 4 * LINE };

/* s += x y of a chunk, for each register of a line; c += x y, numbers swapped. */
INLINE void add_chunk(const dot_kind kind, const real *x, const real *y, simd_vec *s, simd_vec *c)
{
    simd_vec t[LINE_REGS], u[LINE_REGS];
    UNROLL for (int k = 0; k < LINE_REGS; k++) t[k] = u[k] = (simd_vec){0};
    for (int line = 0; line < CHUNK; line += LINE) UNROLL for (int k = 0; k < LINE_REGS; k++)
        {
            const int l = line + k * LANES;
            const simd_vec xv = fuse_load(x + l), yv = fuse_load(y + l);
            t[k] = SIMD_MADD(xv, yv, t[k]);
            if (kind == CROSS) u[k] = SIMD_MADD(xv, SWAP(yv), u[k]);
        }
    UNROLL for (int k = 0; k < LINE_REGS; k++) s[k] += t[k];
    if (kind == CROSS) UNROLL for (int k = 0; k < LINE_REGS; k++) c[k] += u[k];
}

/* So many dots of one block, over whole chunks: n elements from the begin of period i on. */
INLINE void dots_together(const int dots, const dot_kind kind, const wisp__fuse_params *p, const wisp__fuse_dot *d,
                          int64_t i, int64_t n, double *sum)
{
    simd_vec s[GROUP][LINE_REGS], c[GROUP][LINE_REGS];
    const real *x[GROUP], *y = (const real *)d->y + i * d->ld_y;
    for (int g = 0; g < dots; g++) x[g] = (const real *)d[g].x + i * d[g].ld_x;
    UNROLL for (int g = 0; g < dots; g++) UNROLL for (int k = 0; k < LINE_REGS; k++) s[g][k] = c[g][k] = (simd_vec){0};
    for (int64_t l = 0; l < n; l += CHUNK)
        UNROLL for (int g = 0; g < dots; g++) add_chunk(kind, x[g] + l, y + l, s[g], c[g]);
    for (int g = 0; g < dots; g++) {
        add_lanes(LINE_REGS, s[g], 0, sum + d[g].set * p->period);
        if (kind == CROSS) add_lanes(LINE_REGS, c[g], 0, sum + (d[g].set + 1) * p->period);
    }
}

#define TOGETHER(name, dots, kind)                                                                             \
    static __attribute__((noinline)) void name(const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t i, \
                                               int64_t n, double *sum)                                         \
    {                                                                                                          \
        dots_together(dots, kind, p, d, i, n, sum);                                                            \
    }
TOGETHER(plain_two, 2, PLAIN)
TOGETHER(plain_all, GROUP, PLAIN)
TOGETHER(cross_two, 2, CROSS)
TOGETHER(cross_all, GROUP, CROSS)

/* How many dots from number d on are taken at once. Their sums are those of the places in a line, which must hold whole
   rows. */
static int dots_from(const wisp__fuse_params *p, int d)
{
    const wisp__fuse_dot *first = p->dot + d;
    int n = 1;
    if (!p->flat || LINE % p->row || p->period % CHUNK || first->rows) return 1;
    while (n < GROUP && d + n < p->dots && first[n].y == first->y && !first[n].rows && first[n].cross == first->cross)
        n++;
    return n == GROUP ? GROUP : n > 1 ? 2 : 1;
}
