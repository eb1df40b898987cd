/* Rows that repeat, as many as fill a register: which follow one another with the same patterns, and what is to be
   loaded and multiplied for them (kernel/spmv_bundle.cpu.h). */
#include "patterns.h"
#include "strings.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 16, MOST_KINDS = 4096, MOST_TERMS = 4096 };

typedef struct {
    const wisp_mat *A;
    wisp__bundles *b;
    wisp__strings *kinds; /* the patterns of their rows */
    int parts, lanes;     /* reals of an element, parts of four bytes of a register */
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

/* The pieces of a bundle whose rows have these patterns: how many. */
static int64_t pieces_of(const bundle_run *r, const uint16_t *pattern, piece *out)
{
    const wisp__sell *s = &r->A->local;
    int64_t n = 0;
    for (int row = 0; row < r->b->rows; row++)
        for (int64_t e = s->chunk[pattern[row]]; e < s->chunk[pattern[row] + 1]; e++) {
            const wisp_scalar v = wisp__pattern_value(r->A, e);
            for (int part = 0; part < 2; part++) {
                if (!wisp__is_piece(s, e, v, part)) continue;
                out[n++] = (piece){row + s->col[e], row, part, {part ? -v.im : v.re, part ? v.im : v.re}};
            }
        }
    qsort(out, (size_t)n, sizeof *out, by_place);
    return n;
}

static size_t term_bytes(const bundle_run *r) { return (size_t)r->lanes * 4; }

static void clear_term(const bundle_run *r, int64_t term, int32_t offset)
{
    const size_t bytes = term_bytes(r);
    r->b->offset[term] = offset;
    memset(r->b->take + term * r->lanes, 0, bytes);
    memset((char *)r->b->factor + (size_t)term * bytes, 0, bytes);
}

static void set_lane(const bundle_run *r, int64_t term, const piece *p, int32_t begin)
{
    const wisp_type real = wisp__real_type(r->A->type);
    const int size = (int)wisp_type_size(real), words = size / 4, lane = p->row * r->parts,
              from = (p->col - begin) * r->parts;
    for (int i = 0; i < r->parts; i++) {
        const int source = from + (p->swapped ? 1 - i : i);
        for (int w = 0; w < words; w++)
            r->b->take[term * r->lanes + (lane + i) * words + w] = (source * words + w) | INT32_MIN;
        wisp__store(real, (char *)r->b->factor + (size_t)((term * r->b->rows * r->parts + lane + i) * size),
                    (wisp_scalar){p->factor[i], 0});
    }
}

/* Terms for a kind's pieces behind those of the kind before: registers of x begin with the first column that is left,
   and are taken as often as the row needs it that has most there. How many, those included for which there is no room.
 */
static int64_t make_terms(const bundle_run *r, const piece *p, int64_t n, int64_t first)
{
    int64_t term = first;
    for (int64_t i = 0, end; i < n; i = end) {
        int used[MOST_ROWS] = {0}, most = 0;
        const int64_t beyond = (int64_t)p[i].col + r->b->rows;
        for (end = i; end < n && p[end].col < beyond; end++) {
            const int k = used[p[end].row]++;
            const bool room = term + k < MOST_TERMS;
            if (k == most) {
                if (room) clear_term(r, term + k, p[i].col);
                most++;
            }
            if (room) set_lane(r, term + k, p + end, p[i].col);
        }
        term += most;
    }
    return term - first;
}

/* ---- which rows are of which kind ------------------------------------------------------------ */

static void number_kinds(void *arg, int thread, int threads)
{
    const bundle_run *r = arg;
    const int rows = r->b->rows;
    const int64_t bundles = r->A->rows / rows, end = wisp__split(bundles, threads, thread + 1);
    for (int64_t i = wisp__split(bundles, threads, thread); i < end && !wisp__strings_full(r->kinds); i++) {
        const uint16_t *pattern = r->A->local.pattern + i * rows;
        r->b->kind[i] = (uint16_t)wisp__strings_add(r->kinds, (const char *)pattern, (size_t)rows * sizeof *pattern);
    }
}

/* The patterns of a kind's rows. */
static void patterns_of(const bundle_run *r, int64_t kind, uint16_t *pattern)
{
    memcpy(pattern, r->kinds->bytes + r->kinds->begin[kind], (size_t)r->b->rows * sizeof *pattern);
}

/* Where registers of x begin and end, from a bundle's first row. */
typedef struct {
    int64_t begin, end;
    bool alone; /* rows of the kind are better taken alone, since each term serves few of them */
} reach;

static reach reach_of(const wisp__bundles *b, int64_t kind)
{
    reach r = {0};
    for (int64_t t = b->first[kind]; t < b->first[kind + 1]; t++) {
        r.begin = WISP__MIN(r.begin, b->offset[t]);
        r.end = WISP__MAX(r.end, (int64_t)b->offset[t] + b->rows);
    }
    return r;
}

/* False: there is no room for them all. */
static wisp_status make_kinds(const bundle_run *r, reach *reaches, bool *fit)
{
    enum { LEAST = 2 }; /* rows that a term serves, on average */
    wisp_ctx *ctx = r->A->ctx;
    wisp__bundles *b = r->b;
    piece *p = NULL;
    uint16_t pattern[MOST_ROWS];
    const wisp__sell *s = &r->A->local;
    int64_t longest = 1;
    wisp_status status;
    for (int64_t i = 0; i < s->patterns; i++) longest = WISP__MAX(longest, s->chunk[i + 1] - s->chunk[i]);
    WISP_TRY(wisp__alloc_raw(ctx, &p, (size_t)(longest * b->rows * r->parts), sizeof *p));
    for (int64_t i = 0; i < b->kinds && *fit; i++) {
        patterns_of(r, i, pattern);
        const int64_t n = pieces_of(r, pattern, p);
        int64_t terms = make_terms(r, p, n, b->first[i]);
        const bool few = n < LEAST * terms;
        if (few) terms = 0; /* the next kind's take their place */
        b->first[i + 1] = b->first[i] + terms;
        *fit = b->first[i + 1] <= MOST_TERMS; /* whatever the order of the kinds, which threads number as they come */
        if (!*fit) break;
        reaches[i] = few ? (reach){.alone = true} : reach_of(b, i);
    }
out:
    wisp_free(ctx, p);
    return status;
}

/* Whether the rows of a bundle have one pattern. */
static bool alike(const uint16_t *pattern, int rows)
{
    return memcmp(pattern, pattern + 1, (size_t)(rows - 1) * sizeof *pattern) == 0;
}

/* Leaves alone what would read beyond x, and what pays less than other ways; the rows of the others. */
static int64_t settle(const bundle_run *r, const reach *reaches)
{
    wisp__bundles *b = r->b;
    const wisp_mat *A = r->A;
    int64_t rows = 0;
    for (int64_t i = 0; i < A->rows / b->rows; i++) {
        const int64_t row = i * b->rows;
        const reach at = reaches[b->kind[i]];
        if (at.alone || row + at.begin < 0 || row + at.end > A->cols || row + b->rows > A->cols) {
            b->kind[i] = K_ALONE;
            continue;
        }
        if (r->parts == 1 && alike(A->local.pattern + row, b->rows)) b->kind[i] |= K_SAME;
        rows += b->rows;
    }
    return rows;
}

/* Rows in a bundle: less than 2 if the instruction set has none for this type. */
static int rows_of(const wisp_ctx *ctx, wisp_type type) { return ctx->isa->bundle_bytes / (int)wisp_type_size(type); }

static wisp_status open_run(bundle_run *r, wisp_mat *A)
{
    wisp__bundles *b;
    wisp_status status;
    WISP_TRY(wisp_alloc(A->ctx, &r->b, 1, sizeof *r->b));
    b = r->b;
    b->rows = rows_of(A->ctx, A->type);
    const int64_t kinds = WISP__MIN(MOST_KINDS, A->rows / b->rows);
    WISP_TRY(wisp__strings_open(r->kinds, A->ctx, kinds, kinds * b->rows * (int64_t)sizeof(uint16_t)));
    WISP_TRY(wisp__alloc_raw(A->ctx, &b->kind, (size_t)(A->rows / b->rows), sizeof *b->kind));
    WISP_TRY(wisp_alloc(A->ctx, &b->offset, MOST_TERMS, sizeof *b->offset));
    WISP_TRY(wisp_alloc(A->ctx, &b->take, MOST_TERMS, term_bytes(r)));
    WISP_TRY(wisp_alloc(A->ctx, &b->factor, MOST_TERMS, term_bytes(r)));
out:
    return status;
}

/* Cuts an array down to what is used of it. */
static wisp_status trim(wisp_ctx *ctx, void *pointer_to_pointer, size_t bytes)
{
    void *all, *used = NULL;
    memcpy(&all, pointer_to_pointer, sizeof all);
    const wisp_status status = wisp__alloc_raw(ctx, &used, WISP__MAX(bytes, 1), 1);
    if (status != WISP_OK) return status;
    memcpy(used, all, bytes);
    memcpy(pointer_to_pointer, &used, sizeof used);
    wisp_free(ctx, all);
    return WISP_OK;
}

static wisp_status trim_terms(const bundle_run *r)
{
    wisp__bundles *b = r->b;
    wisp_ctx *ctx = r->A->ctx;
    const size_t terms = (size_t)b->first[b->kinds];
    wisp_status status;
    WISP_TRY(trim(ctx, &b->offset, terms * sizeof *b->offset));
    WISP_TRY(trim(ctx, &b->take, terms * term_bytes(r)));
    WISP_TRY(trim(ctx, &b->factor, terms * term_bytes(r)));
out:
    return status;
}

static wisp_status find(bundle_run *r, wisp_mat *A)
{
    wisp_ctx *ctx = A->ctx;
    reach *reaches = NULL;
    bool fit = true;
    wisp_status status;
    WISP_TRY(open_run(r, A));
    wisp__team_run(ctx, number_kinds, r);
    if (wisp__strings_full(r->kinds)) goto out;
    r->b->kinds = atomic_load(&r->kinds->strings);
    WISP_TRY(wisp_alloc(ctx, &r->b->first, (size_t)r->b->kinds + 1, sizeof *r->b->first));
    WISP_TRY(wisp__alloc_raw(ctx, &reaches, (size_t)r->b->kinds, sizeof *reaches));
    WISP_TRY(make_kinds(r, reaches, &fit));
    if (!fit || 2 * settle(r, reaches) < A->rows) goto out;
    wisp_ctx_log(ctx, WISP_LOG_DEBUG, "single columns take %d rows at a time, of %lld kinds with %lld terms in all",
                 r->b->rows, (long long)r->b->kinds, (long long)r->b->first[r->b->kinds]);
    WISP_TRY(trim_terms(r));
    A->local.bundles = r->b;
    r->b = NULL;
out:
    wisp_free(ctx, reaches);
    return status;
}

wisp_status wisp__bundles_find(wisp_mat *A)
{
    wisp__strings kinds = {0};
    bundle_run r = {.A = A,
                    .kinds = &kinds,
                    .parts = wisp_type_is_complex(A->type) ? 2 : 1,
                    .lanes = A->ctx->isa->bundle_bytes / 4};
    const int rows = rows_of(A->ctx, A->type);
    if (!A->local.pattern || A->width > 1 || rows < 2 || A->rows < rows) return WISP_OK;
    const wisp_status status = find(&r, A);
    wisp__strings_close(&kinds, A->ctx);
    wisp__bundles_free(A->ctx, r.b);
    if (status != WISP_ERR_NOMEM) return status;
    wisp_ctx_log(A->ctx, WISP_LOG_PERF, "no memory for rows in bundles; single columns go row by row");
    return WISP_OK;
}

int64_t wisp__bundles_plan(const wisp_ctx *ctx, wisp_type type, int64_t rows, int64_t longest, int64_t *making)
{
    const wisp__bundles *b = NULL;
    const int64_t bytes = ctx->isa->bundle_bytes, in_one = rows_of(ctx, type),
                  parts = wisp_type_is_complex(type) ? 2 : 1;
    *making = 0;
    if (in_one < 2 || rows < in_one) return 0;
    const int64_t kinds = WISP__MIN(MOST_KINDS, rows / in_one), term = (int64_t)sizeof *b->offset + 2 * bytes;
    const int64_t tables = wisp__strings_most(kinds, kinds * in_one * (int64_t)sizeof(uint16_t));
    const int64_t each = (int64_t)(sizeof(reach) + sizeof *b->first);
    *making = tables + (kinds + 1) * each + longest * in_one * parts * (int64_t)sizeof(piece) + 2 * MOST_TERMS * term;
    return rows / in_one * (int64_t)sizeof *b->kind;
}

int64_t wisp__bundles_bytes(const wisp_mat *A)
{
    const wisp__bundles *b = A->local.bundles;
    if (!b) return 0;
    const int64_t bytes = A->ctx->isa->bundle_bytes;
    return A->rows / b->rows * (int64_t)sizeof *b->kind + (b->kinds + 1) * (int64_t)sizeof *b->first +
           b->first[b->kinds] * ((int64_t)sizeof *b->offset + 2 * bytes);
}
