/* Bundles: as many rows as fill a register, side by side, in a matrix with row patterns. The patterns of its rows are
   the kind of a bundle. This finds the kinds, and works out for each of them the registers that are loaded and the
   products that are made (kernel/spmv_bundle.cpu.h). */
#include "../../base/strings.h"
#include "prepare.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 16 }; /* of a bundle: the numbers in the widest register */

/* A kind of bundles: its number as threads came, how many bundles are of it, and the first of them. */
typedef struct {
    int64_t bundles, first;
    int32_t came;
} met;

typedef struct {
    wisp_ctx *ctx;
    const wisp__given *g;
    wisp__bundles *b;
    wisp__strings *kinds; /* the patterns of their rows */
    met *met;             /* [kinds] those that are met most come first */
    int reals, lanes;     /* reals of an element, parts of four bytes of a register */
} bundle_run;

/* What lane `row` takes from column `col`, both counted from the first row of the bundle: the real part of a value is a
   factor of x, the imaginary one of i x. */
typedef struct {
    int32_t col;
    int row;
    bool swapped;
    double factor[2];
} piece;

void wisp__bundles_free(wisp_ctx *ctx, wisp__bundles *b)
{
    if (!b) return;
    void *own[] = {b->kind, b->first, b->offset, b->take, b->factor, b};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(ctx, own[i]);
}

/* ---- the terms of a kind --------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return x->row != y->row ? (x->row > y->row) - (x->row < y->row) : (int)x->swapped - (int)y->swapped;
}

/* Whether the rows of a bundle have one pattern. */
static bool alike(const uint16_t *pattern, int rows)
{
    return memcmp(pattern, pattern + 1, (size_t)(rows - 1) * sizeof *pattern) == 0;
}

/* The pieces of a bundle whose rows have these patterns: how many. */
static int64_t pieces_of(const bundle_run *r, const uint16_t *pattern, piece *out)
{
    const wisp__entries *a = r->g->entries;
    int64_t n = 0;
    for (int row = 0; row < r->b->rows; row++)
        for (int64_t e = a->chunk[pattern[row]]; e < a->chunk[pattern[row] + 1]; e++) {
            const wisp_scalar v = wisp__entry_value(a, r->g->type, e);
            for (int part = 0; part < 2; part++) {
                if (!wisp__is_piece(a, e, v, part)) continue;
                out[n++] = (piece){row + a->col[e], row, part, {part ? -v.im : v.re, part ? v.im : v.re}};
            }
        }
    qsort(out, (size_t)n, sizeof *out, by_place);
    return n;
}

static size_t term_bytes(const bundle_run *r) { return (size_t)r->lanes * 4; }

static void set_lane(const bundle_run *r, int64_t term, const piece *p, int32_t begin)
{
    const wisp_type real = wisp__real_type(r->g->type);
    const int size = (int)wisp_type_size(real), words = size / 4, lane = p->row * r->reals,
              from = (p->col - begin) * r->reals;
    for (int i = 0; i < r->reals; i++) {
        const int source = from + (p->swapped ? 1 - i : i);
        for (int w = 0; w < words; w++)
            r->b->take[term * r->lanes + (lane + i) * words + w] = (source * words + w) | INT32_MIN;
        wisp__store(real, (char *)r->b->factor + (size_t)((term * r->b->rows * r->reals + lane + i) * size),
                    (wisp_scalar){p->factor[i], 0});
    }
}

/* Terms for a kind's pieces, from `first` on: registers of x begin with the first column that is left, and are taken as
   often as the row needs it that has most there. How many; they are only counted before there is room for terms. */
static int64_t make_terms(const bundle_run *r, const piece *p, int64_t n, int64_t first)
{
    const bool room = r->b->offset;
    int64_t term = first;
    for (int64_t i = 0, end; i < n; i = end) {
        int used[MOST_ROWS] = {0}, most = 0;
        const int64_t beyond = (int64_t)p[i].col + r->b->rows;
        for (end = i; end < n && p[end].col < beyond; end++) {
            const int k = used[p[end].row]++;
            if (k == most) {
                if (room) r->b->offset[term + k] = p[i].col;
                most++;
            }
            if (room) set_lane(r, term + k, p + end, p[i].col);
        }
        term += most;
    }
    return term - first;
}

/* Terms of real rows of one pattern: a register of x for each entry, as it lies. */
static int64_t make_same(const bundle_run *r, const piece *p, int64_t n, int64_t first)
{
    int64_t used[MOST_ROWS] = {0};
    for (int64_t i = 0; r->b->offset && i < n; i++) {
        const int64_t term = first + used[p[i].row]++;
        r->b->offset[term] = p[i].col - p[i].row;
        set_lane(r, term, p + i, r->b->offset[term]);
    }
    return n / r->b->rows;
}

/* ---- which rows are of which kind ------------------------------------------------------------ */

static void number_kinds(void *arg, int thread, int threads)
{
    const bundle_run *r = arg;
    const int rows = r->b->rows;
    const int64_t bundles = r->g->entries->rows / rows, end = wisp__split(bundles, threads, thread + 1);
    for (int64_t i = wisp__split(bundles, threads, thread); i < end; i++) {
        const uint16_t *pattern = r->g->entries->pattern + i * rows;
        const int kind = wisp__strings_add(r->kinds, (const char *)pattern, (size_t)rows * sizeof *pattern);
        r->b->kind[i] = kind < 0 ? K_ALONE : (uint16_t)kind;
    }
}

static int by_bundles(const void *a, const void *b)
{
    const met *x = a, *y = b;
    return x->bundles != y->bundles ? (x->bundles < y->bundles) - (x->bundles > y->bundles)
                                    : (x->first > y->first) - (x->first < y->first);
}

/* Counts the bundles of each kind, and numbers kinds anew, since there may be no room for terms of all: those that are
   met most come first, and of others that are met as often those that are met earlier, whatever the threads. */
static wisp_status rank_kinds(bundle_run *r)
{
    wisp__bundles *b = r->b;
    wisp_ctx *ctx = r->ctx;
    uint16_t *rank = NULL;
    wisp_status status;
    b->kinds = WISP__MIN(atomic_load(&r->kinds->strings), r->kinds->max_strings);
    WISP_TRY(wisp_alloc(ctx, &r->met, (size_t)b->kinds, sizeof *r->met));
    WISP_TRY(wisp_alloc(ctx, &rank, (size_t)b->kinds, sizeof *rank));
    for (int64_t i = 0; i < b->kinds; i++) r->met[i].came = (int32_t)i;
    for (int64_t i = 0; i < r->g->entries->rows / b->rows; i++) {
        if (b->kind[i] == K_ALONE) continue;
        met *m = &r->met[b->kind[i]];
        if (!m->bundles++) m->first = i;
    }
    qsort(r->met, (size_t)b->kinds, sizeof *r->met, by_bundles);
    for (int64_t i = 0; i < b->kinds; i++) rank[r->met[i].came] = (uint16_t)i;
    for (int64_t i = 0; i < r->g->entries->rows / b->rows; i++)
        if (b->kind[i] != K_ALONE) b->kind[i] = rank[b->kind[i]];
out:
    wisp_free(ctx, rank);
    return status;
}

/* The patterns of a kind's rows. */
static void patterns_of(const bundle_run *r, int64_t kind, uint16_t *pattern)
{
    memcpy(pattern, r->kinds->bytes + r->kinds->begin[r->met[kind].came], (size_t)r->b->rows * sizeof *pattern);
}

/* Terms of a kind, from `first` on; 0: its rows are better taken alone. Only counted before there is room for them. */
static int64_t terms_of(const bundle_run *r, int64_t kind, int64_t first, piece *p)
{
    uint16_t pattern[MOST_ROWS];
    patterns_of(r, kind, pattern);
    const int64_t n = pieces_of(r, pattern, p);
    if (r->reals == 1 && alike(pattern, r->b->rows)) return make_same(r, p, n, first);
    const int64_t terms = make_terms(r, p, n, first);
    return n < TUNED_BUNDLE_ROWS * terms ? 0 : terms;
}

/* Where the terms of each kind begin: kinds have some until there is no room for more. */
static void count_terms(const bundle_run *r, piece *p)
{
    wisp__bundles *b = r->b;
    bool room = true;
    for (int64_t i = 0; i < b->kinds; i++) {
        const int64_t terms = room ? terms_of(r, i, b->first[i], p) : 0;
        room = room && b->first[i] + terms <= TUNED_BUNDLE_TERMS;
        b->first[i + 1] = b->first[i] + (room ? terms : 0);
    }
}

static wisp_status make_kinds(const bundle_run *r)
{
    wisp_ctx *ctx = r->ctx;
    wisp__bundles *b = r->b;
    piece *p = NULL;
    const int64_t *chunk = r->g->entries->chunk;
    int64_t longest = 1;
    wisp_status status;
    for (int64_t i = 0; i < r->g->patterns; i++) longest = WISP__MAX(longest, chunk[i + 1] - chunk[i]);
    WISP_TRY(wisp__alloc_raw(ctx, &p, (size_t)(longest * b->rows * r->reals), sizeof *p));
    WISP_TRY(wisp_alloc(ctx, &b->first, (size_t)b->kinds + 1, sizeof *b->first));
    count_terms(r, p);
    const size_t terms = (size_t)WISP__MAX(b->first[b->kinds], 1);
    WISP_TRY(wisp_alloc(ctx, &b->offset, terms, sizeof *b->offset));
    WISP_TRY(wisp_alloc(ctx, &b->take, terms, term_bytes(r)));
    WISP_TRY(wisp_alloc(ctx, &b->factor, terms, term_bytes(r)));
    for (int64_t i = 0; i < b->kinds; i++)
        if (b->first[i + 1] > b->first[i]) terms_of(r, i, b->first[i], p);
out:
    wisp_free(ctx, p);
    return status;
}

/* Where registers of x begin and end, from the first row of bundles of these kinds. */
typedef struct {
    int64_t begin, end;
} reach;

static reach reach_of(const wisp__bundles *b, int64_t kind, int64_t kinds)
{
    reach r = {0};
    for (int64_t t = b->first[kind]; t < b->first[kind + kinds]; t++) {
        r.begin = WISP__MIN(r.begin, b->offset[t]);
        r.end = WISP__MAX(r.end, (int64_t)b->offset[t] + b->rows);
    }
    return r;
}

/* Leaves alone the bundles whose kinds have no terms, and those that would read beyond x; the rows of the others. */
static int64_t settle(const bundle_run *r)
{
    wisp__bundles *b = r->b;
    const wisp__entries *a = r->g->entries;
    const int64_t cols = r->g->cols + r->g->halo;
    const reach all = reach_of(b, 0, b->kinds);
    int64_t rows = 0;
    for (int64_t i = 0; i < a->rows / b->rows; i++) {
        const int64_t row = i * b->rows, kind = b->kind[i];
        if (kind == K_ALONE) continue;
        b->kind[i] = K_ALONE;
        if (b->first[kind + 1] == b->first[kind]) continue;
        const bool inside = row + all.begin >= 0 && row + all.end <= cols;
        const reach at = inside ? all : reach_of(b, kind, 1);
        if (row + at.begin < 0 || row + at.end > cols || row + b->rows > cols) continue;
        b->kind[i] = (uint16_t)(r->reals == 1 && alike(a->pattern + row, b->rows) ? kind | K_SAME : kind);
        rows += b->rows;
    }
    return rows;
}

static int rows_in_one(const wisp_ctx *ctx, wisp_type type) { return ctx->bundle_bytes / (int)wisp_type_size(type); }

static wisp_status open_kinds(const bundle_run *r)
{
    const int rows = r->b->rows;
    const int64_t kinds = WISP__MIN(TUNED_BUNDLE_KINDS, r->g->entries->rows / rows);
    return wisp__strings_open(r->kinds, r->ctx, kinds, kinds * rows * (int64_t)sizeof(uint16_t));
}

static wisp_status open_run(bundle_run *r)
{
    wisp__bundles *b;
    wisp_status status;
    WISP_TRY(wisp_alloc(r->ctx, &r->b, 1, sizeof *r->b));
    b = r->b;
    b->rows = rows_in_one(r->ctx, r->g->type);
    WISP_TRY(open_kinds(r));
    WISP_TRY(wisp__alloc_raw(r->ctx, &b->kind, (size_t)(r->g->entries->rows / b->rows), sizeof *b->kind));
out:
    return status;
}

static int64_t bytes_of(const bundle_run *r)
{
    const wisp__bundles *b = r->b;
    const int64_t bytes = r->ctx->bundle_bytes;
    return r->g->entries->rows / b->rows * (int64_t)sizeof *b->kind + (b->kinds + 1) * (int64_t)sizeof *b->first +
           b->terms * ((int64_t)sizeof *b->offset + 2 * bytes);
}

static wisp_status find(bundle_run *r, wisp__cpu_prepared *to)
{
    wisp_ctx *ctx = r->ctx;
    const int64_t rows = r->g->entries->rows;
    wisp_status status;
    WISP_TRY(open_run(r));
    wisp__team_run(ctx->team, number_kinds, r);
    if (wisp__strings_full(r->kinds)) { /* which of them have numbers must not follow from who comes first */
        wisp__strings_close(r->kinds, ctx);
        WISP_TRY(open_kinds(r));
        number_kinds(r, 0, 1);
    }
    WISP_TRY(rank_kinds(r));
    WISP_TRY(make_kinds(r));
    if (2 * settle(r) < rows) goto out;
    wisp_ctx_logf(ctx, WISP_LOG_DEBUG, "single columns take %d rows at a time, of %lld kinds with %lld terms in all",
                  r->b->rows, (long long)r->b->kinds, (long long)r->b->first[r->b->kinds]);
    r->b->terms = r->b->first[r->b->kinds];
    to->known.bytes += bytes_of(r);
    to->known.spared = (rows - rows / r->b->rows) * (int64_t)sizeof(uint16_t); /* rows that share a number */
    to->known.per_row = (double)sizeof *r->b->kind / r->b->rows;
    to->known.bundles = true;
    to->bundles = r->b, r->b = NULL;
out:
    wisp_free(ctx, r->met);
    return status;
}

wisp_status wisp__bundles_find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to)
{
    wisp__strings kinds = {0};
    bundle_run r = {.ctx = ctx,
                    .g = g,
                    .kinds = &kinds,
                    .reals = wisp_type_is_complex(g->type) ? 2 : 1,
                    .lanes = ctx->bundle_bytes / 4};
    const int rows = rows_in_one(ctx, g->type);
    if (g->kind != WISP__PATTERNS || g->width > 1 || rows < 2 || g->entries->rows < rows) return WISP_OK;
    const wisp_status status = find(&r, to);
    wisp__strings_close(&kinds, ctx);
    wisp__bundles_free(ctx, r.b);
    if (status != WISP_ERR_NOMEM) return status;
    wisp_ctx_logf(ctx, WISP_LOG_PERF, "no memory for rows in bundles; single columns go row by row");
    return WISP_OK;
}

int64_t wisp__bundles_most(const wisp_ctx *ctx, const wisp__given *g)
{
    const wisp__bundles *b = NULL;
    const int64_t bytes = ctx->bundle_bytes, in_one = rows_in_one(ctx, g->type),
                  reals = wisp_type_is_complex(g->type) ? 2 : 1;
    if (g->kind != WISP__PATTERNS || g->width > 1 || in_one < 2 || g->rows < in_one) return 0;
    const int64_t kinds = WISP__MIN(TUNED_BUNDLE_KINDS, g->rows / in_one),
                  term = (int64_t)sizeof *b->offset + 2 * bytes;
    const int64_t tables = wisp__strings_most(kinds, kinds * in_one * (int64_t)sizeof(uint16_t));
    const int64_t each = (int64_t)(sizeof(met) + sizeof(uint16_t) + sizeof *b->first);
    return g->rows / in_one * (int64_t)sizeof *b->kind + tables + (kinds + 1) * each +
           g->longest * in_one * reals * (int64_t)sizeof(piece) + TUNED_BUNDLE_TERMS * term;
}
