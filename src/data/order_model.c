/* How much of a gathered block is still in cache: a model that follows every entry of a sweep. */
#include "order.h"
#include "../topo/machine.h"
#include <string.h>

enum {
    LINE = 64,
    UNIT = 16,         /* bytes; traffic is counted in these, so that 32 bits take what a cache holds */
    SAMPLE = 16 << 20, /* entries that are followed at most, in WINDOWS ranges of rows */
    WINDOWS = 4,
    /* Bandwidths against that of memory: of the last cache, and of what gathers rows that are near the core. */
    L3_SPEED = 5,
    CORE_SPEED = 4
};

void wisp__caches_find(wisp_ctx *ctx, int width, double block_bytes, wisp__caches *c)
{
    wisp_machine m = {0};
    wisp__topology_find(&m);
    const double l2 = (double)WISP__MAX(m.cache_bytes[WISP_L2], 256 << 10);
    const double l3 = (double)WISP__MAX(m.cache_bytes[WISP_L3], m.cache_bytes[WISP_L2]);
    const int sharing = WISP__MAX(1, WISP__MIN(m.cache_cores[WISP_L3], ctx->threads));
    const bool together = wisp__side_by_side(ctx, width, block_bytes);
    c->l2 = together ? l2 * ctx->threads : l2;
    c->l3 = together ? l3 : l3 / sharing;
    c->l3 = WISP__MAX(c->l3, c->l2);
}

/* Where the caches' clocks, which count what was fetched, stood when a block row (or a line of short ones) was. */
typedef struct {
    uint32_t l2, l3;
} stamp;

typedef struct {
    wisp_ctx *ctx;
    const wisp__walk *w;
    stamp *when;
    int per_line;        /* block rows of a line */
    uint32_t units;      /* of a block row, or of a line */
    uint32_t cap2, cap3; /* what the caches hold */
    uint32_t now2, now3;
    uint32_t dice;
    int64_t rows, gathered, from_l3, from_memory; /* counted */
    int64_t stream;                               /* units */
    bool count, stopped;
} clock_state;

/* First in, first out: a block row is still there if less than the cache holds was fetched since. Real caches are not
   that sharp: what counts as full lies between half and 1.25 of the last one's size, evenly by the golden ratio. */
static inline void gather(clock_state *k, int64_t column)
{
    stamp *t = k->when + column;
    k->gathered += k->count;
    if (k->now2 - t->l2 < k->cap2) return;
    k->dice += 0x9e3779b9u;
    const uint32_t full = k->cap3 / 2 + (uint32_t)(((uint64_t)k->cap3 * k->dice >> 32) * 3 / 4);
    if (k->now3 - t->l3 < full) {
        k->from_l3 += k->count;
    } else {
        k->from_memory += k->count;
        k->now3 += k->units;
        t->l3 = k->now3;
    }
    k->now2 += k->units;
    t->l2 = k->now2;
}

static inline int64_t slot(const clock_state *k, int64_t column)
{
    if (k->per_line == 1) return column;
    return (k->w->place ? k->w->place[column] : column) / k->per_line;
}

static void follow_rows(clock_state *k, int64_t begin, int64_t end, bool warm)
{
    const wisp__walk *w = k->w;
    const wisp__sell *s = w->s;
    const int64_t other = 12 + w->row_bytes; /* length, offset and y */
    const uint32_t start = k->now3;
    k->count = !warm;
    for (int64_t i = begin; i < end; i++) {
        if (i % 4096 == 0 && wisp__cancelled(k->ctx)) {
            k->stopped = true;
            return;
        }
        const int64_t place = w->visit ? w->visit[i / w->visit_rows] * w->visit_rows + i % w->visit_rows : i;
        if (place >= w->rows) continue; /* behind a short last block */
        const int64_t row = w->user ? w->user[place] : place;
        const int n = wisp__row_len(s, row);
        for (int e = 0; e < n; e++) gather(k, slot(k, wisp__sell_col(s, w->log_c, row, e)));
        if (w->rows == w->cols) gather(k, slot(k, row)); /* the dots and the shift want it */
        const uint32_t stream = (uint32_t)((other + n * w->entry_bytes) / UNIT);
        k->now2 += stream;
        k->now3 += stream;
        if (!k->count && k->now3 - start >= k->cap3) k->count = true;
        k->rows += k->count;
        k->stream += k->count ? stream : 0;
    }
}

wisp_status wisp__sweep_traffic(wisp_ctx *ctx, const wisp__walk *w, const wisp__caches *c, wisp__traffic *t)
{
    clock_state k = {.ctx = ctx, .w = w};
    wisp_status status = WISP_OK;
    *t = (wisp__traffic){.excess = 1};
    if (w->rows == 0) return status;
    k.per_line = (int)WISP__MAX(LINE / w->row_bytes, 1);
    k.units = (uint32_t)((k.per_line > 1 ? LINE : w->row_bytes) / UNIT);
    k.cap2 = (uint32_t)WISP__MIN(c->l2 / UNIT, 1e9);
    k.cap3 = (uint32_t)WISP__MIN(c->l3 / UNIT, 1e9);
    k.now2 = k.now3 = 1u << 31;
    WISP_TRY(wisp_alloc(ctx, &k.when, (size_t)(w->cols / k.per_line + 1), sizeof *k.when));
    const double entries = (double)WISP__MAX(w->s->pattern ? w->s->nnz : w->s->entries, 1) / (double)w->rows;
    const double row_units = ((double)w->row_bytes * 2 + entries * (double)w->entry_bytes) / UNIT;
    const int64_t places = w->visit ? w->visits * w->visit_rows : w->rows;
    const int64_t window = (int64_t)WISP__MAX(SAMPLE / WINDOWS / entries, 3 * k.cap3 / row_units);
    if (window * WINDOWS >= places) {
        follow_rows(&k, 0, places, false);
    } else {
        for (int64_t i = 0; i < WINDOWS; i++) {
            const int64_t begin = (places - window) / (WINDOWS - 1) * i;
            follow_rows(&k, begin, begin + window, i > 0);
            k.now2 += 1u << 30; /* all of it is long ago */
            k.now3 += 1u << 30;
        }
    }
    const double rows = (double)WISP__MAX(k.rows, 1), unit = (double)k.units * UNIT;
    const double once = unit * (double)w->cols / (double)w->rows / k.per_line;
    const double loaded = unit * (double)k.from_memory / rows;
    /* y comes in and goes out. */
    t->stream = UNIT * (double)k.stream / rows + (double)w->row_bytes + once;
    t->again = WISP__MAX(loaded - once, 0);
    t->from_l3 = unit * (double)k.from_l3 / rows;
    t->excess = WISP__MAX(loaded / once, 1);
    t->core = (double)w->row_bytes * (double)k.gathered / rows / CORE_SPEED;
    t->cost = t->stream + t->again + t->from_l3 / L3_SPEED + t->core;
    status = wisp__whole(ctx, "ordering", !k.stopped);
out:
    wisp_free(ctx, k.when);
    return status;
}

void wisp__band_traffic(int64_t reach, int64_t row_bytes, double entries, int64_t entry_bytes, const wisp__caches *c,
                        wisp__traffic *t)
{
    const double matrix_bytes = entries * (double)entry_bytes + 12;
    const double row = (double)row_bytes, fetched = 2 * (double)reach * (2 * row + matrix_bytes);
    *t = (wisp__traffic){.stream = matrix_bytes + 3 * row, .excess = 1};
    if (fetched > c->l2) t->from_l3 = 2 * row;
    if (2 * fetched > c->l3) t->again = 2 * row, t->from_l3 = 0, t->excess = 3;
    t->core = row * entries / CORE_SPEED;
    t->cost = t->stream + t->again + t->from_l3 / L3_SPEED + t->core;
}

wisp_status wisp_mat_gather(const wisp_mat *A, wisp_type type, int width, wisp_gather *g)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, g);
    wisp__caches caches;
    wisp__traffic t;
    const wisp__walk w = {.s = &A->local,
                          .log_c = A->log_c,
                          .rows = A->rows,
                          .cols = A->cols,
                          .visit = A->grid.order,
                          .visits = A->grid.blocks,
                          .visit_rows = A->grid.chunks_per_block << A->log_c,
                          .row_bytes = (int64_t)wisp_type_size(type) * width,
                          .entry_bytes = wisp__mat_bytes(A, false) / WISP__MAX(A->local.nnz, 1)};
    *g = (wisp_gather){1, 0};
    if (!wisp__type_ok(type) || width < 1)
        return wisp_ctx_fail(A->ctx, WISP_ERR_ARG, "a sweep over a block of type %d and width %d", (int)type, width);
    if (A->half) return WISP_OK; /* what is scattered is not modelled */
    wisp__caches_find(A->ctx, width, 2.0 * (double)w.row_bytes * (double)A->rows, &caches);
    wisp_status status = wisp__sweep_traffic(A->ctx, &w, &caches, &t);
    if (status == WISP_OK) *g = (wisp_gather){t.excess, t.from_l3 * (double)A->rows};
    return status;
}
