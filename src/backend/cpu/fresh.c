/* Finds the entries that gather a block row which no row nearby has gathered: those are worth a prefetch. */
#include "prepare.h"

enum {
    UNIT = 16,       /* bytes; the clock counts what was fetched in these */
    MASK = 32,       /* entries of a row that have a bit */
    SEARCHES = 4,    /* threads at most: each has a clock for every column */
    SAMPLE = 1 << 20 /* rows, in windows all over a longer matrix: its entries vote as all of them would */
};

typedef struct {
    wisp_ctx *ctx;
    const wisp__given *g;
    uint32_t *fresh; /* what is found */
    int64_t row_bytes, entry_bytes;
    uint32_t near;           /* units: block rows fetched less than this ago are in the second-level cache */
    _Atomic uint32_t *votes; /* [patterns][MASK] rows in which an entry was fresh; NULL: there are no patterns */
    _Atomic uint32_t *heard; /* [patterns] rows */
    bool sample;             /* some ranges of blocks are enough */
    int threads;
    atomic_int failed;
} fresh_run;

/* With the halo. */
static int64_t columns(const wisp__given *g) { return g->cols + g->halo; }

/* Follows the rows of blocks [begin, end), in the order in which they are taken, from an empty cache. */
static void follow(const fresh_run *r, int64_t begin, int64_t end, uint32_t *when)
{
    const wisp__entries *a = r->g->entries;
    const wisp__grid *grid = r->g->grid;
    const int64_t per = grid->chunks_per_block << a->log_c;
    const uint32_t units = (uint32_t)(r->row_bytes / UNIT);
    uint32_t now = 1u << 31;
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = (grid->order ? grid->order[b] : b) * per, last = WISP__MIN(a->rows, first + per);
        for (int64_t row = first; row < last; row++) {
            int n;
            const wisp__columns columns = wisp__columns_of(a, row, &n);
            uint32_t fresh = 0;
            for (int k = 0; k < n; k++) {
                const int64_t col = wisp__column_of(&columns, k);
                if (now - when[col] >= r->near) {
                    now += units;
                    if (k < MASK) fresh |= 1u << k;
                }
                when[col] = now;
            }
            now += (uint32_t)((r->row_bytes + n * r->entry_bytes) / UNIT); /* y, and the matrix */
            if (!r->votes) {
                r->fresh[row] = fresh;
                continue;
            }
            const uint16_t pattern = a->pattern[row];
            _Atomic uint32_t *votes = r->votes + (int64_t)pattern * MASK;
            atomic_fetch_add_explicit(&r->heard[pattern], 1, memory_order_relaxed);
            for (; fresh; fresh &= fresh - 1)
                atomic_fetch_add_explicit(&votes[__builtin_ctz(fresh)], 1, memory_order_relaxed);
        }
    }
}

/* Patterns that were not met keep all bits. */
static void count_votes(const fresh_run *r)
{
    const int64_t *first = r->g->entries->chunk;
    for (int64_t i = 0; i < r->g->patterns; i++) {
        r->fresh[i] = 0;
        for (int k = 0; k < MASK; k++)
            if (r->votes[i * MASK + k] * TUNED_FEW >= r->heard[i]) r->fresh[i] |= 1u << k;
        const int64_t n = first[i + 1] - first[i];
        if (n < MASK) r->fresh[i] &= (1u << n) - 1;
    }
}

enum { WINDOWS = 8 };

/* A range of blocks, from memory of its own. */
static void follow_range(fresh_run *r, int i, int ranges)
{
    const wisp__grid *grid = r->g->grid;
    const int64_t blocks = grid->blocks, per = grid->chunks_per_block << r->g->log_c;
    const int64_t begin = wisp__split(blocks, ranges, i);
    int64_t end = wisp__split(blocks, ranges, i + 1);
    uint32_t *when;
    if (r->sample) end = WISP__MIN(end, begin + SAMPLE / WINDOWS / per + 1);
    if (wisp_alloc(r->ctx, &when, (size_t)columns(r->g), sizeof *when) != WISP_OK) {
        atomic_store(&r->failed, 1);
        return;
    }
    follow(r, begin, end, when);
    wisp_free(r->ctx, when);
}

static void follow_some(void *arg, int64_t begin, int64_t end, int part)
{
    fresh_run *r = arg;
    const int ranges = r->sample ? WINDOWS : r->threads;
    (void)part;
    for (int64_t t = begin; t < end; t++)
        for (int i = (int)t; i < ranges; i += r->threads) follow_range(r, i, ranges);
}

/* Some ranges of blocks are enough to know the patterns; the bits of single rows need all. */
static wisp_status follow_all(fresh_run *r)
{
    r->threads = WISP__MIN(r->ctx->threads, SEARCHES);
    r->sample = r->votes && r->g->rows > 2 * SAMPLE;
    wisp__team_each(r->ctx->team, r->threads, 1, follow_some, r);
    return atomic_load(&r->failed) ? WISP_ERR_NOMEM : WISP_OK;
}

int64_t wisp__near_bytes(const wisp__facts *f) { return WISP__MIN((int64_t)f->l2 / 2, (int64_t)1 << 30); }

bool wisp__asks_gathered(const wisp__facts *f, bool repeats, double row_bytes, double rows, double matrix_bytes)
{
    const double gathered = rows * row_bytes, all = matrix_bytes + 2 * gathered;
    if (gathered <= (double)wisp__near_bytes(f)) return false;
    return repeats || row_bytes > WISP__LINE || all > TUNED_MUCH * f->kept;
}

static int64_t row_bytes_of(const wisp__given *g) { return (int64_t)wisp_type_size(g->type) * WISP__MAX(g->width, 1); }

/* Whether the bits are worth having; bytes: of the matrix. */
static bool pays(const wisp__facts *f, const wisp__given *g, int64_t bytes)
{
    const int64_t row = row_bytes_of(g), most = wisp_type_is_complex(g->type) ? TUNED_SHORT_COMPLEX : TUNED_SHORT_REAL;
    if (row < WISP__LINE || g->rows == 0) return false;
    if (row > most * WISP__LINE && (double)bytes + 2 * (double)(columns(g) * row) > f->kept) return false;
    return wisp__asks_gathered(f, g->repeats, (double)row, (double)columns(g), (double)bytes);
}

void wisp__fresh_bytes(wisp_ctx *ctx, const wisp__given *g, int64_t bytes, int64_t *kept, int64_t *making)
{
    const wisp__facts f = wisp__facts_of(ctx);
    const fresh_run *r = NULL;
    *kept = *making = 0;
    if (!pays(&f, g, bytes)) return;
    *kept = (g->patterns ? g->patterns : g->rows) * (int64_t)sizeof *r->fresh;
    *making = WISP__MIN(ctx->threads, SEARCHES) * columns(g) * (int64_t)sizeof(uint32_t) +
              g->patterns * (MASK * (int64_t)sizeof *r->votes + (int64_t)sizeof *r->heard);
}

wisp_status wisp__fresh_find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to)
{
    const wisp__facts f = wisp__facts_of(ctx);
    fresh_run r = {.ctx = ctx, .g = g, .row_bytes = row_bytes_of(g), .near = (uint32_t)(wisp__near_bytes(&f) / UNIT)};
    const bool patterns = g->kind == WISP__PATTERNS;
    const int64_t n = patterns ? g->patterns : g->rows;
    wisp_status status = WISP_OK;
    if (!pays(&f, g, g->bytes)) return WISP_OK;
    r.entry_bytes = patterns ? 0 : (g->repeats ? 0 : 4) + (int64_t)wisp_type_size(g->type);
    WISP_TRY(wisp_alloc(ctx, &r.fresh, (size_t)n, sizeof *r.fresh));
    if (patterns) {
        WISP_TRY(wisp_alloc(ctx, &r.votes, (size_t)n * MASK, sizeof *r.votes));
        WISP_TRY(wisp_alloc(ctx, &r.heard, (size_t)n, sizeof *r.heard));
    }
    WISP_TRY(follow_all(&r));
    if (patterns) count_votes(&r);
    to->fresh = r.fresh, r.fresh = NULL;
    to->known.bytes += n * (int64_t)sizeof *r.fresh;
out:
    wisp_free(ctx, r.votes);
    wisp_free(ctx, r.heard);
    wisp_free(ctx, r.fresh);
    return status == WISP_ERR_NOMEM ? WISP_OK : status; /* it is a gain, not a need */
}
