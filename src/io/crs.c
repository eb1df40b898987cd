/* Compressed rows in memory: built from entries in any order, served as a source. */
#include "../comm/comm.h"
#include "../data/data.h"
#include "io.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

wisp_status wisp__check_size(wisp_ctx *ctx, const char *path, const char *where, int64_t rows, int64_t cols)
{
    int64_t size = WISP__MAX(rows, cols);
    if (size <= ctx->index_limit) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "%s%s: %lld %s are more than the limit of %lld of one process", path,
                          where, (long long)size, rows == size ? "rows" : "columns", (long long)ctx->index_limit);
}

wisp_status wisp__run_alloc(wisp_ctx *ctx, wisp__run *run, wisp_type type, int64_t count)
{
    size_t size = wisp_type_size(type) + 2 * sizeof(int32_t), n = (size_t)count;
    memset(run, 0, sizeof *run);
    wisp_status status = wisp__alloc_raw(ctx, &run->memory, n, size);
    if (status != WISP_OK) return status;
    run->val = run->memory;
    run->row = (int32_t *)(void *)((char *)run->memory + n * wisp_type_size(type));
    run->col = run->row + n;
    return WISP_OK;
}

wisp_status wisp__coo_add(wisp_ctx *ctx, wisp__coo *coo, wisp__run run)
{
    if (coo->runs == coo->room) {
        const int64_t room = 2 * coo->room + 64;
        const wisp_status status = wisp__widen(ctx, &coo->run, (size_t)coo->runs, (size_t)room, sizeof *coo->run);
        if (status != WISP_OK) {
            wisp_free(ctx, run.memory);
            return status;
        }
        coo->room = room;
    }
    coo->run[coo->runs++] = run;
    coo->entries += run.count;
    return WISP_OK;
}

void wisp__coo_free(wisp_ctx *ctx, wisp__coo *coo)
{
    for (int64_t i = 0; i < coo->runs; i++) wisp_free(ctx, coo->run[i].memory);
    wisp_free(ctx, coo->run);
    memset(coo, 0, sizeof *coo);
}

void wisp__crs_free(wisp__crs *crs)
{
    if (!crs) return;
    wisp_ctx *ctx = crs->ctx;
    wisp_free(ctx, crs->list);
    wisp_free(ctx, crs->rowptr);
    wisp_free(ctx, crs->col);
    wisp_free(ctx, crs->val);
    wisp_free(ctx, crs->weights);
    wisp_free(ctx, crs);
}

static int compare_rows(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool is_here(const wisp__crs *crs, int64_t row) { return row >= crs->first && row - crs->first < crs->local; }

/* The rows that have entries, where they are few. */
static wisp_status list_rows(wisp__crs *crs, const wisp__coo *coo, bool mirrored)
{
    wisp_status status = wisp__alloc_raw(crs->ctx, &crs->list, (size_t)coo->entries * 2, sizeof *crs->list);
    if (status != WISP_OK) return status;
    int64_t n = 0, unique = 0;
    for (int64_t i = 0; i < coo->runs; i++)
        for (int64_t k = 0; k < coo->run[i].count; k++) {
            const int64_t row = coo->run[i].row[k], col = coo->run[i].col[k];
            if (is_here(crs, row)) crs->list[n++] = row;
            if (mirrored && is_here(crs, col)) crs->list[n++] = col;
        }
    qsort(crs->list, (size_t)n, sizeof *crs->list, compare_rows);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || crs->list[i] != crs->list[i - 1]) crs->list[unique++] = crs->list[i];
    crs->listed = unique;
    return WISP_OK;
}

static inline int64_t slot_of(const wisp__crs *crs, int64_t row)
{
    if (!crs->list) return is_here(crs, row) ? row - crs->first : -1;
    int64_t lo = 0, hi = crs->listed;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (crs->list[mid] < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < crs->listed && crs->list[lo] == row ? lo : -1;
}

typedef struct {
    int32_t low, high; /* rows of a run, with their mirror images */
} span;

/* Each thread goes through all runs and handles the entries of its own rows: no locks, and entries stay in order. In
   a file that is sorted by rows a thread skips most runs. */
typedef struct {
    wisp__crs *crs;
    const wisp__coo *coo;
    wisp_symmetry symmetry;
    int64_t *next; /* [listed]: entries counted so far, then the place of the row's next entry */
    int parts;
    int64_t *part_begin; /* [parts + 1] slots of each part */
    span *spans;         /* [runs] */
} builder;

static void find_spans(void *arg, int thread, int threads)
{
    const builder *b = arg;
    for (int64_t i = thread; i < b->coo->runs; i += threads) {
        const wisp__run *run = &b->coo->run[i];
        const int32_t *other = b->symmetry == WISP_SYM_GENERAL ? run->row : run->col;
        int32_t low = INT32_MAX, high = -1;
        for (int64_t k = 0; k < run->count; k++) {
            low = WISP__MIN(low, WISP__MIN(run->row[k], other[k]));
            high = WISP__MAX(high, WISP__MAX(run->row[k], other[k]));
        }
        b->spans[i] = (span){low, high};
    }
}

/* Whether no entry of the run belongs to these slots. */
static bool is_elsewhere(const builder *b, int64_t run, int64_t lo, int64_t hi)
{
    lo += b->crs->first, hi += b->crs->first;
    return b->parts > 1 && !b->crs->list && (b->spans[run].high < lo || b->spans[run].low >= hi);
}

static void count_part(const builder *b, int64_t lo, int64_t hi)
{
    bool mirrored = b->symmetry != WISP_SYM_GENERAL;
    for (int64_t i = 0; i < b->coo->runs && !wisp__cancelled(b->crs->ctx->team); i++) {
        const wisp__run *run = &b->coo->run[i];
        if (is_elsewhere(b, i, lo, hi)) continue;
        for (int64_t k = 0; k < run->count; k++) {
            int64_t s = slot_of(b->crs, run->row[k]);
            if (s >= lo && s < hi) b->next[s]++;
            if (!mirrored || run->row[k] == run->col[k]) continue;
            s = slot_of(b->crs, run->col[k]);
            if (s >= lo && s < hi) b->next[s]++;
        }
    }
}

static void mirror(const builder *b, void *to, const void *from)
{
    wisp_scalar v = wisp__load(b->crs->type, from);
    if (b->symmetry == WISP_SYM_SKEW) v = (wisp_scalar){-v.re, -v.im};
    if (b->symmetry == WISP_SYM_HERMITIAN) v.im = -v.im;
    wisp__store(b->crs->type, to, v);
}

/* Inlined once per value size. */
static inline __attribute__((always_inline)) void place_part(const builder *b, int64_t lo, int64_t hi, size_t size)
{
    bool mirrored = b->symmetry != WISP_SYM_GENERAL;
    char *val = b->crs->val;
    for (int64_t i = 0; i < b->coo->runs && !wisp__cancelled(b->crs->ctx->team); i++) {
        const wisp__run *run = &b->coo->run[i];
        const char *from = run->val;
        if (is_elsewhere(b, i, lo, hi)) continue;
        for (int64_t k = 0; k < run->count; k++, from += size) {
            int64_t s = slot_of(b->crs, run->row[k]);
            if (s >= lo && s < hi) {
                int64_t at = b->next[s]++;
                b->crs->col[at] = run->col[k];
                memcpy(val + (size_t)at * size, from, size);
            }
            if (!mirrored || run->row[k] == run->col[k]) continue;
            s = slot_of(b->crs, run->col[k]);
            if (s >= lo && s < hi) {
                int64_t at = b->next[s]++;
                b->crs->col[at] = run->row[k];
                mirror(b, val + (size_t)at * size, from);
            }
        }
    }
}

static void count_all(void *arg, int thread, int threads)
{
    const builder *b = arg;
    for (int p = thread; p < b->parts; p += threads)
        count_part(b, wisp__split(b->crs->listed, b->parts, p), wisp__split(b->crs->listed, b->parts, p + 1));
}

static void place_all(void *arg, int thread, int threads)
{
    const builder *b = arg;
    for (int p = thread; p < b->parts; p += threads) {
        int64_t lo = b->part_begin[p], hi = b->part_begin[p + 1];
        switch (wisp_type_size(b->crs->type)) {
        case 4: place_part(b, lo, hi, 4); break;
        case 8: place_part(b, lo, hi, 8); break;
        default: place_part(b, lo, hi, 16); break;
        }
    }
}

/* Row pointers from counts, and parts of about equally many entries. */
static void sum_counts(builder *b)
{
    wisp__crs *crs = b->crs;
    int64_t sum = 0;
    crs->max_row = 0;
    for (int64_t s = 0; s < crs->listed; s++) {
        int64_t n = b->next[s];
        crs->max_row = WISP__MAX(crs->max_row, n);
        crs->rowptr[s] = b->next[s] = sum;
        sum += n;
    }
    crs->rowptr[crs->listed] = crs->nnz = sum;
    int64_t s = 0;
    for (int p = 0; p <= b->parts; p++) {
        int64_t target = p == b->parts ? INT64_MAX : wisp__split(sum, b->parts, p);
        while (s < crs->listed && crs->rowptr[s] < target) s++;
        b->part_begin[p] = p == 0 ? 0 : s;
    }
}

static wisp_status build(builder *b, const char *path)
{
    wisp_status status;
    wisp__crs *crs = b->crs;
    wisp_ctx *ctx = crs->ctx;
    crs->listed = crs->local;
    if (crs->local > (1 << 16) && crs->local / 8 > b->coo->entries)
        WISP_TRY(list_rows(crs, b->coo, b->symmetry != WISP_SYM_GENERAL));
    bool little = crs->listed + b->coo->entries < WISP__LITTLE;
    b->parts = little ? 1 : ctx->threads;
    WISP_TRY(wisp__alloc_raw(ctx, &b->part_begin, (size_t)b->parts + 1, sizeof *b->part_begin));
    WISP_TRY(wisp__alloc_raw(ctx, &b->spans, (size_t)b->coo->runs, sizeof *b->spans));
    WISP_TRY(wisp_alloc(ctx, &b->next, (size_t)crs->listed, sizeof *b->next));
    WISP_TRY(wisp__alloc_raw(ctx, &crs->rowptr, (size_t)crs->listed + 1, sizeof *crs->rowptr));
    if (b->parts > 1) wisp__team_run(ctx->team, find_spans, b);
    WISP_TRY(wisp__whole(ctx, "sorting", wisp__run_some(ctx->team, little, count_all, b)));
    WISP_TRY(wisp_ctx_step(ctx, "sorting", 0.3, 0));
    sum_counts(b);
    if (crs->max_row > INT_MAX) {
        status = wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "%s: a row has %lld entries, more than the limit of %d", path,
                                (long long)crs->max_row, INT_MAX);
        goto out;
    }
    WISP_TRY(wisp__alloc_raw(ctx, &crs->col, (size_t)crs->nnz, sizeof *crs->col));
    WISP_TRY(wisp__alloc_raw(ctx, &crs->val, (size_t)crs->nnz, wisp_type_size(crs->type)));
    WISP_TRY(wisp__whole(ctx, "sorting", wisp__run_some(ctx->team, little, place_all, b)));
    status = wisp_ctx_step(ctx, "sorting", 1, 0);
out:
    wisp_free(ctx, b->next);
    wisp_free(ctx, b->part_begin);
    wisp_free(ctx, b->spans);
    return status;
}

wisp__crs wisp__crs_of_rank(wisp_ctx *ctx, const int64_t *weights, wisp_type type, int64_t rows, int64_t cols)
{
    const int64_t first = wisp__share_begin(ctx, weights, rows, ctx->rank);
    return (wisp__crs){.ctx = ctx,
                       .type = type,
                       .rows = rows,
                       .cols = cols,
                       .first = first,
                       .local = wisp__share_begin(ctx, weights, rows, ctx->rank + 1) - first};
}

wisp_status wisp__crs_build(wisp__crs **out, const wisp__crs *shape, const wisp__coo *coo, wisp_symmetry symmetry,
                            const char *path)
{
    *out = NULL;
    wisp__crs *crs;
    wisp_status status = wisp_alloc(shape->ctx, &crs, 1, sizeof *crs);
    if (status != WISP_OK) return status;
    *crs = *shape;
    builder b = {.crs = crs, .coo = coo, .symmetry = symmetry};
    status = build(&b, path);
    if (status == WISP_OK)
        *out = crs;
    else
        wisp__crs_free(crs);
    return status;
}

int64_t wisp__crs_slot(const wisp__crs *crs, int64_t row) { return slot_of(crs, row); }

static int crs_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp__crs *crs = arg;
    int64_t s = slot_of(crs, row);
    if (s < 0) return is_here(crs, row) ? 0 : -1;
    int64_t begin = crs->rowptr[s], n = crs->rowptr[s + 1] - begin;
    if (!col || n == 0) return (int)n;
    size_t size = wisp_type_size(crs->type);
    for (int64_t k = 0; k < n; k++) col[k] = crs->col[begin + k];
    memcpy(val, (const char *)crs->val + (size_t)begin * size, (size_t)n * size);
    return (int)n;
}

static void crs_close(void *arg) { wisp__crs_free(arg); }

/* The longest row of all ranks. */
static wisp_status agree_on_longest(wisp__crs *crs)
{
    wisp_ctx *ctx = crs->ctx;
    int64_t *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, &crs->max_row, sizeof crs->max_row, all));
    for (int r = 0; r < ctx->ranks; r++) crs->max_row = WISP__MAX(crs->max_row, all[r]);
out:
    wisp_free(ctx, all);
    return status;
}

void wisp__crs_source(wisp_src *src, wisp__crs *crs)
{
    *src = (wisp_src){.rows = crs->rows,
                      .cols = crs->cols,
                      .max_row = crs->max_row,
                      .type = crs->type,
                      .row = crs_row,
                      .arg = crs,
                      .free_arg = crs_close,
                      .weights = crs->weights};
}

wisp_status wisp__crs_source_of_ranks(wisp_src *src, wisp__crs *crs)
{
    const bool several = crs->ctx->ranks > 1;
    const wisp_status status = several ? agree_on_longest(crs) : WISP_OK;
    if (status != WISP_OK) return status;
    wisp__crs_source(src, crs);
    src->own_rows = several;
    return status;
}
