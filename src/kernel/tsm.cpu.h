/* Products of tall and skinny blocks, both in real arithmetic: a complex block is one of twice as many real columns,
   and the small matrix is joined from (gram), or taken apart into (update), its real form by the op. OUT names
   the instances; REAL_BYTES is set by the file that includes this.

   gram: a tile of V columns times registers of W columns is summed over a strip of rows in registers: each row costs
   one load per register of W and one broadcast per column of V. The last register may reach beyond W's columns: what
   it reads there ends in lanes that are thrown away; only the last rows, behind which the array may end, are copied.
   update: a tile of rows times registers of W columns, strip by strip, all rows of a strip with one panel of columns
   after the other; the last register is shifted back to end with the row, so that it overlaps the one before: both
   write the same values. Rows narrower than a register use a shorter one. */

#include "simd_x86.cpu.h"
#include <stdint.h>

void OUT(gram)(const wisp__gram_params *p, int64_t begin, int64_t end, double *sum, double *error);
void OUT(update)(const wisp__update_params *p, int64_t begin, int64_t end, void *copy);

#define FULL (SIMD_BYTES / REAL_BYTES) /* reals in a register */
#if SIMD_BYTES == 64
enum { TILE = 8 }; /* times two registers: 16 accumulators of 32 */
#else
enum { TILE = 4 }; /* 8 of 16 */
#endif

typedef real vec __attribute__((vector_size(SIMD_BYTES)));
typedef real vec_mem __attribute__((vector_size(SIMD_BYTES), aligned(REAL_BYTES), may_alias));

/* Loops over a tile, whose size is a constant of the caller: clang unrolls before it knows that. */
#define EACH_ROW(r) UNROLL for (int r = 0; r < TILE; r++) if (r < mr)
#define EACH_REG(k) UNROLL for (int k = 0; k < 2; k++) if (k < nv)
#define EACH_SUM(u) UNROLL for (int u = 0; u < 4; u++) if (u < each)

/* ---- gram ------------------------------------------------------------------------------------ */

enum { OVER = 2 * FULL, PREFETCH_BYTES = 4096, LINE_BYTES = 64 };

/* Part of a strip: rows of V from column a, rows of W from column b. */
typedef struct {
    const real *v, *w;
    int64_t ld_v, ld_w;
    int rows, n;               /* n: columns of W that count */
    int64_t ld;                /* of the sums */
    double *sum, *error;       /* error: NULL if plain */
    const char *far_v, *far_w; /* what is fetched with the first row, and how far from there with the next */
    int64_t step_v, step_w;
    int lines; /* of W that a row fetches, 1 or 2, with one of V; 0: nothing is fetched */
} strip_part;

enum { DOUBLES = SIMD_BYTES / 8 };
typedef double sums __attribute__((vector_size(SIMD_BYTES)));
typedef double sums_mem __attribute__((vector_size(SIMD_BYTES), aligned(8), may_alias));

INLINE sums widened(const real *p)
{
#if REAL_BYTES == 8
    return *(const sums_mem *)p;
#else
    typedef float half __attribute__((vector_size(SIMD_BYTES / 2), aligned(4), may_alias));
    return __builtin_convertvector(*(const half *)p, sums);
#endif
}

/* sum += acc for one register, and with it the rounding errors of these sums. */
INLINE void flush(vec acc, const int compensated, double *sum, double *error)
{
    real part[FULL] __attribute__((aligned(64)));
    *(vec *)(void *)part = acc;
    UNROLL for (int k = 0; k < FULL; k += DOUBLES)
    {
        const sums a = *(sums_mem *)(sum + k), b = widened(part + k), s = a + b;
        *(sums_mem *)(sum + k) = s;
        if (compensated) *(sums_mem *)(error + k) += SUM_ERROR(a, b, s);
    }
}

/* The same for the first n elements. */
static __attribute__((noinline)) void flush_some(const real *part, int n, double *sum, double *error)
{
    for (int k = 0; k < n; k++) {
        const double a = sum[k], b = (double)part[k], s = a + b;
        sum[k] = s;
        if (error) error[k] += SUM_ERROR(a, b, s);
    }
}

/* Adds the sums over the rows to s->sum. Small tiles take several rows at a time, each with accumulators of its own:
   the latency of one would show. */
INLINE void gram_tile(const int mr, const int nv, const strip_part *s)
{
    const int each = mr * nv >= 8 ? 1 : mr * nv >= 4 ? 2 : 4;
    vec acc[4][TILE][2];
    EACH_SUM(u) EACH_ROW(r) EACH_REG(k) acc[u][r][k] = (vec){0};
    const real *v = s->v, *w = s->w;
    const char *far_v = s->far_v, *far_w = s->far_w;
    const int lines = s->lines;
    /* The rows of a turn may share a line. */
    const int once = each * (s->step_v > s->step_w ? s->step_v : s->step_w) <= LINE_BYTES;
    const int64_t step_v = once ? each * s->step_v : s->step_v, step_w = once ? each * s->step_w : s->step_w;
    int i = 0;
    for (; i + each <= s->rows; i += each) {
        if (lines) EACH_SUM(u) if (u == 0 || !once)
            {
                __builtin_prefetch(far_v);
                __builtin_prefetch(far_w);
                if (lines > 1) __builtin_prefetch(far_w + LINE_BYTES);
                far_v += step_v;
                far_w += step_w;
            }
        EACH_SUM(u)
        {
            vec x[2];
            EACH_REG(k) x[k] = *(const vec_mem *)(w + k * FULL);
            EACH_ROW(r) EACH_REG(k) acc[u][r][k] += v[r] * x[k];
            v += s->ld_v;
            w += s->ld_w;
        }
    }
    for (; i < s->rows; i++, v += s->ld_v, w += s->ld_w)
        EACH_ROW(r) EACH_REG(k) acc[0][r][k] += v[r] * *(const vec_mem *)(w + k * FULL);
    UNROLL for (int u = 1; u < each; u++) EACH_ROW(r) EACH_REG(k) acc[0][r][k] += acc[u][r][k];
    if (s->n == nv * FULL && s->error) {
        EACH_ROW(r) EACH_REG(k) flush(acc[0][r][k], 1, s->sum + r * s->ld + k * FULL, s->error + r * s->ld + k * FULL);
    } else if (s->n == nv * FULL) {
        EACH_ROW(r) EACH_REG(k) flush(acc[0][r][k], 0, s->sum + r * s->ld + k * FULL, NULL);
    } else {
        real part[TILE][OVER];
        EACH_ROW(r) EACH_REG(k) * (vec_mem *)(part[r] + k * FULL) = acc[0][r][k];
        for (int r = 0; r < mr; r++)
            flush_some(part[r], s->n, s->sum + r * s->ld, s->error ? s->error + r * s->ld : NULL);
    }
}

#define GRAM_TILES(mr)                                                      \
    static void gram_##mr##_1(const strip_part *s) { gram_tile(mr, 1, s); } \
    static void gram_##mr##_2(const strip_part *s) { gram_tile(mr, 2, s); }
#define GRAM_PAIR(mr)                \
    {                                \
        gram_##mr##_1, gram_##mr##_2 \
    }
typedef void (*gram_tile_fn)(const strip_part *s);
GRAM_TILES(1)
GRAM_TILES(2)
GRAM_TILES(3)
GRAM_TILES(4)
#if SIMD_BYTES == 64
GRAM_TILES(5)
GRAM_TILES(6)
GRAM_TILES(7)
GRAM_TILES(8)
#endif
static const gram_tile_fn gram_tiles[TILE][2] = {
    GRAM_PAIR(1), GRAM_PAIR(2), GRAM_PAIR(3), GRAM_PAIR(4),
#if SIMD_BYTES == 64
    GRAM_PAIR(5), GRAM_PAIR(6), GRAM_PAIR(7), GRAM_PAIR(8),
#endif
};

/* How a block's next rows are fetched while a strip is gone through, tile by tile: each tile has its part of them,
   whole and in order as memory likes it; or its columns, if there are gaps between rows. */
typedef struct {
    int64_t ahead, step, tile; /* bytes to the first line, from row to row, from tile to tile */
    int tiles;                 /* so many have a part */
} gram_ahead;

static gram_ahead ahead_of(int64_t ld, int reals, int rows, int tiles, int lines)
{
    const int64_t least = PREFETCH_BYTES / REAL_BYTES / ld, first = tiles > 1 ? rows : least > 1 ? least : 1;
    const int64_t row = ld * REAL_BYTES, part = (row + tiles - 1) / tiles;
    if (ld == reals) return (gram_ahead){first * row, part, part * rows, tiles};
    return (gram_ahead){first * row, row, lines * LINE_BYTES,
                        (reals * REAL_BYTES + lines * LINE_BYTES - 1) / (lines * LINE_BYTES)};
}

/* Where tile t begins; nothing new if it has no part. */
static const char *fetch_from(const gram_ahead *f, int t, const real *row, int64_t *step)
{
    *step = t < f->tiles ? f->step : 0;
    return (const char *)row + (t < f->tiles ? f->ahead + t * f->tile : 0);
}

/* Rows of V and W from the beginning of a strip, and what comes ahead of them. */
typedef struct {
    const real *v, *w;
    gram_ahead far_v, far_w;
    int tile; /* the next one's number */
} gram_rows;

/* Columns of V that n columns of W from b on meet. */
INLINE int gram_met(const wisp__gram_params *p, int b, int n) { return p->same && b + n < p->p ? b + n : p->p; }

/* Columns b .. b + n - 1 of W with those of V, over the rows of one part; from: NULL if nothing shall be fetched. */
static void gram_columns(const wisp__gram_params *p, strip_part s, gram_rows *from, int b)
{
    const int met = gram_met(p, b, s.n);
    for (int a = 0; a < met; a += TILE) {
        const int mr = p->p - a < TILE ? p->p - a : TILE;
        if (from) {
            s.far_v = fetch_from(&from->far_v, from->tile, from->v, &s.step_v);
            s.far_w = fetch_from(&from->far_w, from->tile++, from->w, &s.step_w);
            s.lines = s.step_w > LINE_BYTES ? 2 : 1;
        }
        gram_tiles[mr - 1][s.n > FULL](&s);
        s.v += mr;
        s.sum += mr * s.ld;
        if (s.error) s.error += mr * s.ld;
    }
}

/* The last rows of a strip, behind which the array may end. */
static void gram_copied(const wisp__gram_params *p, strip_part s, int b)
{
    real copy[FULL * OVER] = {0};
    for (int64_t i = 0; i < s.rows; i++)
        for (int k = 0; k < s.n; k++) copy[i * OVER + k] = s.w[i * s.ld_w + k];
    s.w = copy;
    s.ld_w = OVER;
    gram_columns(p, s, NULL, b);
}

/* What several tiles read comes ahead into the first level of cache, which holds few rows; but sums are added up after
   each strip, which takes longer if compensated. */
static int strip_rows(const wisp__gram_params *p, int tiles, int compensated)
{
    enum { HALF = K_STRIP / 2, FEW = K_STRIP / 4, NEAR = 16 << 10 };
    if (tiles == 1) return K_STRIP;
    return !compensated && FEW * (p->p + p->q) * REAL_BYTES <= NEAR ? FEW : HALF;
}

void OUT(gram)(const wisp__gram_params *p, int64_t begin, int64_t end, double *sum, double *error)
{
    /* Rows before this one may be read beyond their end by a register. */
    const int64_t lack = (p->q + FULL - 1) / FULL * FULL - p->q, unsafe = (lack + p->ld_w - 1) / p->ld_w;
    const int64_t safe = p->rows - unsafe;
    int tiles = 0;
    for (int b = 0; b < p->q; b += OVER) tiles += (gram_met(p, b, OVER) + TILE - 1) / TILE;
    const int rows = strip_rows(p, tiles, error != NULL);
    gram_rows from = {NULL, NULL, ahead_of(p->ld_v, p->p, rows, tiles, 1), ahead_of(p->ld_w, p->q, rows, tiles, 2), 0};
    for (int64_t strip = begin; strip < end; strip += rows) {
        const int64_t strip_end = strip + rows < end ? strip + rows : end;
        from.v = (const real *)p->v + strip * p->ld_v;
        from.w = (const real *)p->w + strip * p->ld_w;
        from.tile = 0;
        strip_part s = {.v = from.v, .ld_v = p->ld_v, .ld_w = p->ld_w, .ld = p->q};
        for (int b = 0; b < p->q; b += OVER) {
            s.n = p->q - b < OVER ? p->q - b : OVER;
            const int64_t direct = s.n % FULL == 0 || strip_end <= safe ? strip_end : safe > strip ? safe : strip;
            s.w = from.w + b;
            s.sum = sum + b;
            s.error = error ? error + b : NULL;
            s.rows = (int)(direct - strip);
            if (direct > strip) gram_columns(p, s, &from, b);
            if (direct == strip_end) continue;
            strip_part last = s;
            last.v += (direct - strip) * s.ld_v;
            last.w += (direct - strip) * s.ld_w;
            last.rows = (int)(strip_end - direct);
            gram_copied(p, last, b);
        }
    }
}

/* ---- update ---------------------------------------------------------------------------------- */

/* Rows to fetch ahead, whole and in order as memory likes it. */
typedef struct {
    const char *at;
    int64_t ld;
    int lines;
} fetch;

INLINE void fetch_row(fetch *f)
{
    for (int l = 0; l < f->lines; l++) __builtin_prefetch(f->at + l * LINE_BYTES, 0, 2);
    f->at += f->ld;
}

/* So many with each tile. */
typedef struct {
    fetch next;
    int rows;
} fetches;

INLINE void fetch_rows(fetches *f)
{
    for (int r = 0; r < f->rows; r++) fetch_row(&f->next);
}

/* Those of the panels before are left out; where nothing is fetched there is no row to begin from. */
INLINE void fetch_from_panel(fetches *f, int panel)
{
    if (f->rows) f->next.at += panel * (K_UPDATE_ROWS / TILE) * f->rows * f->next.ld;
}

/* A tile's share of the rows one strip ahead (and at least a few kilobytes), if a strip is gone through in so many
   panels; lines instead of rows where the rows have no gaps. Narrow rows are left to the hardware. */
INLINE fetches fetches_of(const real *row, int64_t ld, int reals, int panels)
{
    const int bytes = reals * REAL_BYTES, lines = TILE * bytes / LINE_BYTES / panels;
    const int64_t least = PREFETCH_BYTES / REAL_BYTES / ld;
    const char *at = (const char *)(row + (least > K_UPDATE_ROWS ? least : K_UPDATE_ROWS) * ld);
    if (bytes < LINE_BYTES) return (fetches){{NULL, 0, 0}, 0};
    if (ld == reals && lines) return (fetches){{at, lines * LINE_BYTES, lines}, 1};
    return (fetches){{at, ld * REAL_BYTES, (bytes + LINE_BYTES - 1) / LINE_BYTES}, panels < TILE ? TILE / panels : 1};
}

/* Rows of a strip, and some of their columns. */
typedef struct {
    const wisp__update_params *p;
    const real *v, *x;
    real *w;
    int64_t ld_v, second; /* second: the second register's distance from the first */
    int rows, terms, stream;
    fetches far_v, far_w;
} update_part;

#define VL 1
#include "tsm_update.cpu.h"
#define VL 2
#include "tsm_update.cpu.h"
#if FULL >= 4
#define VL 4
#include "tsm_update.cpu.h"
#endif
#if FULL >= 8
#define VL 8
#include "tsm_update.cpu.h"
#endif
#if FULL >= 16
#define VL 16
#include "tsm_update.cpu.h"
#endif

/* ---- update of one or two real columns ---------------------------------------------------------- */

/* Registers of V's columns times those of X's, and then the sum of a register: to broadcast elements of V to rows of so
   few reals takes an instruction for each. So many columns of V at most, and a register of them at least. */
enum { NARROW = 2, NARROW_MOST = 32 * FULL, NARROW_ROWS = 4, NARROW_AHEAD = 4096 };

#if FULL >= 8
typedef real four __attribute__((vector_size(4 * REAL_BYTES)));
#endif
#if FULL >= 16
typedef real eight __attribute__((vector_size(8 * REAL_BYTES)));
#endif

INLINE real total(vec a)
{
#if FULL >= 16
    const eight b = __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    const vec b = a;
#endif
#if FULL >= 8
    const four c = __builtin_shufflevector(b, b, 0, 1, 2, 3) + __builtin_shufflevector(b, b, 4, 5, 6, 7);
#else
    const vec c = b;
#endif
#if FULL >= 4
    return (c[0] + c[2]) + (c[1] + c[3]);
#else
    return c[0] + c[1];
#endif
}

/* X by columns. The last register is shifted back to end with V's columns, and has zeros in X where it overlaps. */
static int narrow_factors(const wisp__update_params *p, real *x)
{
    const int registers = (p->p + FULL - 1) / FULL;
    for (int j = 0; j < p->q; j++)
        for (int k = 0; k < registers; k++)
            for (int l = 0; l < FULL; l++) {
                const int c = (k + 1 < registers ? k * FULL : p->p - FULL) + l;
                x[j * NARROW_MOST + k * FULL + l] = c < k * FULL ? 0 : ((const real *)p->x)[c * p->ld_x + j];
            }
    return registers;
}

#define EACH_COLUMN(j) UNROLL for (int j = 0; j < q; j++)
INLINE void narrow_rows(const int mr, const int q, const wisp__update_params *p, int64_t i, int registers,
                        const real *x)
{
    const real *v = (const real *)p->v + i * p->ld_v, *ahead = v + NARROW_AHEAD / REAL_BYTES;
    const int lines = (p->p * REAL_BYTES + LINE_BYTES - 1) / LINE_BYTES;
    vec acc[NARROW_ROWS][NARROW];
    UNROLL for (int r = 0; r < mr; r++)
    {
        for (int l = 0; l < lines; l++) __builtin_prefetch((const char *)(ahead + r * p->ld_v) + l * LINE_BYTES);
        EACH_COLUMN(j) acc[r][j] = (vec){0};
    }
    for (int k = 0; k < registers; k++) {
        const real *at = v + (k + 1 < registers ? k * FULL : p->p - FULL);
        vec xv[NARROW];
        EACH_COLUMN(j) xv[j] = *(const vec_mem *)(x + j * NARROW_MOST + k * FULL);
        UNROLL for (int r = 0; r < mr; r++)
        {
            const vec vv = *(const vec_mem *)(at + r * p->ld_v);
            EACH_COLUMN(j) acc[r][j] += vv * xv[j];
        }
    }
    const real re = (real)p->beta[0], im = (real)p->beta[1];
    UNROLL for (int r = 0; r < mr; r++)
    {
        real *w = (real *)p->w + (i + r) * p->ld_w, sum[NARROW];
        EACH_COLUMN(j) sum[j] = total(acc[r][j]);
        if (p->reads_w) {
            EACH_COLUMN(j) sum[j] += re * w[j];
            if (q == 2 && im != 0) sum[0] -= im * w[1], sum[1] += im * w[0];
        }
        EACH_COLUMN(j) w[j] = sum[j];
    }
}

INLINE void narrow(const int q, const wisp__update_params *p, int64_t begin, int64_t end)
{
    real x[NARROW * NARROW_MOST];
    const int registers = narrow_factors(p, x);
    int64_t i = begin;
    for (; i + NARROW_ROWS <= end; i += NARROW_ROWS) narrow_rows(NARROW_ROWS, q, p, i, registers, x);
    for (; i < end; i++) narrow_rows(1, q, p, i, registers, x);
}

static __attribute__((noinline)) void narrow_1(const wisp__update_params *p, int64_t begin, int64_t end)
{
    narrow(1, p, begin, end);
}
static __attribute__((noinline)) void narrow_2(const wisp__update_params *p, int64_t begin, int64_t end)
{
    narrow(2, p, begin, end);
}

/* The longest register that fits into a row. */
void OUT(update)(const wisp__update_params *p, int64_t begin, int64_t end, void *copy)
{
    if (p->q <= NARROW && p->p >= FULL && p->p <= NARROW_MOST) {
        (p->q == 1 ? narrow_1 : narrow_2)(p, begin, end);
        return;
    }
#if FULL >= 16
    if (p->q >= 16) {
        update_v16(p, begin, end, copy);
        return;
    }
#endif
#if FULL >= 8
    if (p->q >= 8) {
        update_v8(p, begin, end, copy);
        return;
    }
#endif
#if FULL >= 4
    if (p->q >= 4) {
        update_v4(p, begin, end, copy);
        return;
    }
#endif
    (p->q >= 2 ? update_v2 : update_v1)(p, begin, end, copy);
}
