/* One pass over blocks: updates y = the sum of terms, then dots of the results. Strip by strip of rows, whose numbers
   stay in the first-level cache from one update to the next, and to the dots. An update takes some registers of y at a
   time, and adds all terms to them, or those of a long sum in parts (terms_at_once), before it stores them: a term may
   be y itself. */

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
enum { MOST = 8, GROUP = 4 }; /* at a time: registers; and updates, terms of a long sum, or dots */

typedef real fuse_mem __attribute__((vector_size(SIMD_BYTES), aligned(REAL_BYTES), may_alias));
INLINE simd_vec fuse_load(const real *p) { return *(const fuse_mem *)p; }
INLINE void fuse_store(real *p, simd_vec v) { *(fuse_mem *)p = v; }

void OUT(fuse)(const wisp__fuse_params *p, int64_t begin, int64_t end, int64_t strip, double *sum);

/* Where the numbers are that multiply the rows of element l of period i: as many as rows, or one for all of them. */
INLINE const real *rows_at(const wisp__fuse_params *p, const void *rows, int64_t ld, int64_t i, int l)
{
    return (const real *)rows + i * ld + (p->row == p->reals ? l : 0);
}

/* to[n] = x[n] times the numbers of its rows; whole registers. */
static __attribute__((noinline)) void times_rows(const wisp__fuse_params *p, const real *x, const real *f, int n,
                                                 real *to)
{
    const int complex = p->reals == 2, each = p->row == p->reals;
    simd_vec re = (simd_vec){0} + f[0], im = (simd_vec){0};
    if (complex) im = fuse_load(simd_sign) * f[1];
    for (int l = 0; l < n; l += LANES) {
        const simd_vec v = fuse_load(x + l);
        if (each) {
            const simd_vec g = fuse_load(f + l);
            re = complex ? FIRSTS(g) : g;
            im = fuse_load(simd_sign) * SECONDS(g);
        }
        fuse_store(to + l, complex ? SIMD_MADD(re, v, im * SWAP(v)) : re * v);
    }
}

/* Where n elements of x are, from element l of period i on: in x itself, or, times their rows, in the buffer. */
INLINE const real *elements_of(const wisp__fuse_params *p, const void *x, int64_t ld, const void *rows, int64_t ld_rows,
                               int64_t i, int l, int n, real *buffer)
{
    const real *at = (const real *)x + i * ld + l;
    if (!rows) return at;
    times_rows(p, at, rows_at(p, rows, ld_rows, i, l), n, buffer);
    return buffer;
}

/* ---- number by number: what is shorter than a register ----------------------------------------- */

/* v = number l of period i of x, times that of its row. */
INLINE void number_at(const wisp__fuse_params *p, const void *x, int64_t ld, const void *rows, int64_t ld_rows,
                      int64_t i, int l, real v[2])
{
    const real *at = (const real *)x + i * ld + l;
    const int reals = p->reals;
    v[0] = at[0], v[1] = reals == 2 ? at[1] : 0;
    if (!rows) return;
    const real *f = rows_at(p, rows, ld_rows, i, l), re = v[0], im = v[1], f_im = reals == 2 ? f[1] : 0;
    v[0] = REAL_MADD(f[0], re, -(f_im * im));
    v[1] = REAL_MADD(f[0], im, f_im * re);
}

INLINE void update_number(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i, int l)
{
    real s[2] = {0, 0}, *y = (real *)u->y + i * u->ld_y + l;
    const int reals = p->reals;
    for (int t = 0; t < u->terms; t++) {
        const wisp__fuse_term *term = u->term + t;
        const real *f = (const real *)p->factors + term->factors + l, *w = f + p->period;
        real v[2];
        number_at(p, term->x, term->ld_x, term->rows, term->ld_rows, i, l, v);
        for (int k = 0; k < reals; k++) {
            s[k] = REAL_MADD(u->kind == K_FUSE_ONE ? (real)term->factor : f[k], v[k], s[k]);
            if (u->kind == K_FUSE_COMPLEX) s[k] = REAL_MADD(w[k], v[1 - k], s[k]);
        }
    }
    for (int k = 0; k < reals; k++) y[k] = s[k];
}

/* Elements l .. n - 1 of period i. Functions of their own, like those below: one copy is enough. */
static __attribute__((noinline)) void update_numbers(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i,
                                                     int l, int n)
{
    for (; l < n; l += p->reals) update_number(p, u, i, l);
}

/* ---- updates ----------------------------------------------------------------------------------- */

/* Adds a term to n registers of sums, from element l of period i on. */
INLINE void add_term(const int n, const wisp__fuse_kind kind, const wisp__fuse_params *p, const wisp__fuse_term *t,
                     int64_t i, int l, simd_vec *s)
{
    real buffer[MOST * LANES];
    const int each = kind == K_FUSE_ONE && t->rows && p->row == 1; /* the usual way to multiply by a diagonal */
    const real *rows = each ? rows_at(p, t->rows, t->ld_rows, i, l) : NULL;
    const real *x = elements_of(p, t->x, t->ld_x, each ? NULL : t->rows, t->ld_rows, i, l, n * LANES, buffer);
    const real *f = (const real *)p->factors + t->factors + l, *w = f + p->period, one = (real)t->factor;
    UNROLL for (int k = 0; k < n; k++)
    {
        simd_vec v = fuse_load(x + k * LANES);
        if (each) v *= fuse_load(rows + k * LANES);
        s[k] = SIMD_MADD(kind == K_FUSE_ONE ? SIMD_ALL(one) : fuse_load(f + k * LANES), v, s[k]);
        if (kind == K_FUSE_COMPLEX) s[k] = SIMD_MADD(fuse_load(w + k * LANES), SWAP(v), s[k]);
    }
}

/* Terms [first, last) of n registers; what those before them gave is in y. */
INLINE void update_registers(const int n, const wisp__fuse_kind kind, const wisp__fuse_params *p,
                             const wisp__fuse_update *u, int first, int last, int64_t i, int l)
{
    simd_vec s[MOST];
    real *y = (real *)u->y + i * u->ld_y + l;
    UNROLL for (int k = 0; k < n; k++) s[k] = first ? fuse_load(y + k * LANES) : (simd_vec){0};
    for (int t = first; t < last; t++) add_term(n, kind, p, u->term + t, i, l, s);
    UNROLL for (int k = 0; k < n; k++) fuse_store(y + k * LANES, s[k]);
}

/* Elements l .. n - 1 of period i: register by register, then number by number. */
INLINE void update_rest(const wisp__fuse_kind kind, const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i,
                        int l, int n)
{
    for (; l + LANES <= n; l += LANES) update_registers(1, kind, p, u, 0, u->terms, i, l);
    if (l < n) update_numbers(p, u, i, l, n);
}

/* n elements from the begin of period i on. */
INLINE void update_run(const wisp__fuse_kind kind, const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i,
                       int n)
{
    int l = 0;
    for (; l + MOST * LANES <= n; l += MOST * LANES) update_registers(MOST, kind, p, u, 0, u->terms, i, l);
    update_rest(kind, p, u, i, l, n);
}

/* How many terms are added to a strip at once: memory is read faster in few streams side by side than in many. A block
   that is changed comes among the first terms, or all are taken. */
static int terms_at_once(const wisp__fuse_update *u)
{
    for (int t = GROUP; t < u->terms; t++)
        if (u->term[t].x == u->y) return u->terms;
    return GROUP;
}

/* n elements without gaps, from the begin of period i on, all with one factor. */
INLINE void update_flat(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i, int n)
{
    const int whole = n - n % (MOST * LANES), some = terms_at_once(u);
    for (int first = 0; first < u->terms; first += some) {
        const int last = first + some < u->terms ? first + some : u->terms;
        for (int l = 0; l < whole; l += MOST * LANES) update_registers(MOST, K_FUSE_ONE, p, u, first, last, i, l);
    }
    update_rest(K_FUSE_ONE, p, u, i, u->terms ? whole : 0, n);
}

/* ---- updates of blocks without gaps, where each term has one factor for all columns -------------- */

INLINE int is_uniform(const wisp__fuse_update *u) { return (u->kind == K_FUSE_ONE || u->uniform) && !u->scaled; }

/* s += f v; what f lacks is left out. */
INLINE void add_uniform(const int n, const wisp__fuse_term *t, const simd_vec *v, simd_vec *s)
{
    const real re = (real)t->factor, im = (real)t->im;
    if (re != 0 || im == 0) UNROLL for (int k = 0; k < n; k++) s[k] = SIMD_MADD(SIMD_ALL(re), v[k], s[k]);
    if (im == 0) return;
    const simd_vec turned = fuse_load(simd_sign) * im;
    UNROLL for (int k = 0; k < n; k++) s[k] = SIMD_MADD(turned, SWAP(v[k]), s[k]);
}

/* Terms [first, last) of n registers of `updates` of them, from element l of the run at period i on: all but the first
   term are of the same blocks, each of which is loaded once. */
INLINE void uniform_registers(const int n, const int updates, const wisp__fuse_update *u, int first, int last,
                              int64_t i, int64_t l)
{
    simd_vec s[GROUP][MOST], v[MOST];
    UNROLL for (int g = 0; g < updates; g++)
    {
        const wisp__fuse_term *t = u[g].term;
        const real *x = first ? (const real *)u[g].y + i * u[g].ld_y : (const real *)t->x + i * t->ld_x;
        UNROLL for (int k = 0; k < n; k++) v[k] = fuse_load(x + l + k * LANES);
        UNROLL for (int k = 0; k < n; k++) s[g][k] = first ? v[k] : (simd_vec){0};
        if (!first) add_uniform(n, t, v, s[g]);
    }
    for (int t = first ? first : 1; t < last; t++) {
        const real *x = (const real *)u->term[t].x + i * u->term[t].ld_x + l;
        UNROLL for (int k = 0; k < n; k++) v[k] = fuse_load(x + k * LANES);
        UNROLL for (int g = 0; g < updates; g++) add_uniform(n, u[g].term + t, v, s[g]);
    }
    UNROLL for (int g = 0; g < updates; g++)
    {
        real *y = (real *)u[g].y + i * u[g].ld_y + l;
        UNROLL for (int k = 0; k < n; k++) fuse_store(y + k * LANES, s[g][k]);
    }
}

/* The numbers l .. n - 1 of a run: factors are listed for one period. */
static __attribute__((noinline)) void uniform_rest(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i,
                                                   int64_t l, int64_t n)
{
    while (l < n) {
        const int64_t done = l % p->period, more = n - l < p->period - done ? n - l : p->period - done;
        update_numbers(p, u, i + l / p->period, (int)done, (int)(done + more));
        l += more;
    }
}

/* n elements from the begin of period i on, of so many updates. */
INLINE void uniform_run(const wisp__fuse_params *p, const int updates, const wisp__fuse_update *u, int64_t i, int64_t n)
{
    enum { AT_ONCE = MOST / 2 };
    const int some = terms_at_once(u);
    int64_t l = 0;
    for (int first = 0; first < u->terms; first += some) {
        const int last = first + some < u->terms ? first + some : u->terms;
        for (l = 0; l + AT_ONCE * LANES <= n; l += AT_ONCE * LANES)
            uniform_registers(AT_ONCE, updates, u, first, last, i, l);
    }
    for (; l + LANES <= n; l += LANES) uniform_registers(1, updates, u, 0, u->terms, i, l);
    for (int g = 0; g < updates && l < n; g++) uniform_rest(p, u + g, i, l, n);
}

#define UNIFORM(name, updates)                                                                                    \
    static __attribute__((noinline)) void name(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i, \
                                               int64_t n)                                                         \
    {                                                                                                             \
        uniform_run(p, updates, u, i, n);                                                                         \
    }
UNIFORM(uniform_one, 1)
UNIFORM(uniform_two, 2)
UNIFORM(uniform_all, GROUP)

/* Whether both add the same blocks to a block of their own. */
static int adds_alike(const wisp__fuse_update *a, const wisp__fuse_update *b)
{
    int alike = a->y != b->y && a->terms == b->terms && is_uniform(b) && b->term[0].x == b->y;
    for (int t = 1; alike && t < a->terms; t++)
        alike = a->term[t].x == b->term[t].x && a->term[t].x != a->y && a->term[t].x != b->y;
    return alike;
}

/* How many updates from number u on are taken at once. */
static int alike_from(const wisp__fuse_params *p, int u)
{
    const wisp__fuse_update *first = p->update + u;
    int n = 1;
    if (!is_uniform(first) || first->terms < 2 || first->term[0].x != first->y) return 1;
    for (int other = 1; n < GROUP && u + n < p->updates && other; n += other)
        for (int i = 0; i < n && other; i++) other = adds_alike(first + i, first + n);
    return n == GROUP ? GROUP : n > 1 ? 2 : 1;
}

/* Elements of period i; the last one may be short. */
INLINE int length_of(const wisp__fuse_params *p, int64_t i)
{
    const int64_t left = (p->count - i * p->rows) * p->row;
    return left < p->period ? (int)left : p->period;
}

/* Periods of one or two numbers, as a column of a wider block has: a factor for each term, and no rows. */
INLINE void short_periods(const int n, const wisp__fuse_update *u, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        real s[2] = {0}, *y = (real *)u->y + i * u->ld_y;
        for (int t = 0; t < u->terms; t++) {
            const wisp__fuse_term *term = u->term + t;
            const real *x = (const real *)term->x + i * term->ld_x, factor = (real)term->factor;
            UNROLL for (int l = 0; l < n; l++) s[l] = REAL_MADD(factor, x[l], s[l]);
        }
        UNROLL for (int l = 0; l < n; l++) y[l] = s[l];
    }
}

static __attribute__((noinline)) void short_one(const wisp__fuse_update *u, int64_t begin, int64_t end)
{
    short_periods(1, u, begin, end);
}
static __attribute__((noinline)) void short_two(const wisp__fuse_update *u, int64_t begin, int64_t end)
{
    short_periods(2, u, begin, end);
}

INLINE void update_strip(const wisp__fuse_kind kind, const wisp__fuse_params *p, const wisp__fuse_update *u,
                         int64_t begin, int64_t end)
{
    if (kind == K_FUSE_ONE && p->flat && !(u->scaled && p->row != p->reals)) {
        update_flat(p, u, begin, (int)(end - 1 - begin) * p->period + length_of(p, end - 1));
        return;
    }
    if (kind == K_FUSE_ONE && !u->scaled && p->rows == 1 && p->period <= 2) {
        (p->period == 1 ? short_one : short_two)(u, begin, end);
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

#include "fuse_dots.cpu.h"

/* ---- all together ------------------------------------------------------------------------------ */

INLINE void update_any(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t begin, int64_t end)
{
    if (u->kind == K_FUSE_ONE)
        update_one(p, u, begin, end);
    else if (u->kind == K_FUSE_REAL)
        update_real(p, u, begin, end);
    else
        update_complex(p, u, begin, end);
}

/* Number u, and those behind it that go with it: how many. */
INLINE int update_some(const wisp__fuse_params *p, int u, int64_t begin, int64_t end)
{
    const wisp__fuse_update *first = p->update + u;
    const int n = p->flat ? alike_from(p, u) : 1;
    if (n == 1 && !(p->flat && first->uniform && !first->scaled)) {
        update_any(p, first, begin, end);
        return 1;
    }
    const int64_t length = (end - 1 - begin) * p->period + length_of(p, end - 1);
    (n == 1 ? uniform_one : n == 2 ? uniform_two : uniform_all)(p, first, begin, length);
    return n;
}

INLINE void dot_any(const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t begin, int64_t end, double *sum)
{
    if (d->cross)
        dot_cross(p, d, begin, end, sum);
    else if (d->x == d->y && d->ld_x == d->ld_y && !d->rows)
        dot_square(p, d, begin, end, sum);
    else
        dot_plain(p, d, begin, end, sum);
}

/* Number d, and those behind it that go with it: how many. */
INLINE int dot_some(const wisp__fuse_params *p, int d, int64_t begin, int64_t end, double *sum)
{
    const wisp__fuse_dot *first = p->dot + d;
    const int n = dots_from(p, d);
    const int64_t whole = length_of(p, end - 1) == p->period ? end : end - 1, length = (whole - begin) * p->period;
    if (n == 1) {
        dot_any(p, first, begin, end, sum);
        return 1;
    }
    if (first->cross)
        (n == 2 ? cross_two : cross_all)(p, first, begin, length, sum);
    else
        (n == 2 ? plain_two : plain_all)(p, first, begin, length, sum);
    for (int g = 0; g < n && whole < end; g++) dot_any(p, first + g, whole, end, sum);
    return n;
}

void OUT(fuse)(const wisp__fuse_params *p, int64_t begin, int64_t end, int64_t strip, double *sum)
{
    for (int64_t first = begin; first < end; first += strip) {
        const int64_t last = first + strip < end ? first + strip : end;
        for (int u = 0, n; u < p->updates; u += n) n = update_some(p, u, first, last);
        for (int d = 0, n; d < p->dots; d += n) n = dot_some(p, d, first, last, sum);
    }
}
