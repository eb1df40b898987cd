/* Finds the entries that gather a block row which no row nearby has gathered: those are worth a prefetch. */
#include "hints.h"
#include "store.h"
#include <string.h>

enum {
    LINE = 64,
    UNIT = 16,    /* bytes; the clock counts what was fetched in these */
    FEW = 16,     /* an entry of a pattern is prefetched if one in so many of its rows needs it */
    MASK = 32,    /* entries of a row that have a bit */
    SEARCHES = 4, /* threads at most: each has a clock for every column */
    /* Rows of many lines from memory fill all the room for pending loads, and a prefetch that finds none is lost: there
       it pays to ask for all entries, which asks again, unless that is as much work as the sums (real matrices). (topi
       100x100x40, width 16: 105 against 92 Gflop/s; 27-point stencil, width 32: 28 against 46.) */
    SHORT_REAL = 4 * LINE,
    SHORT_COMPLEX = 2 * LINE,
    SMALL = 4, /* times what is near */
    SAMPLE = 1 << 20
};

typedef struct {
    const wisp_mat *A;
    int64_t row_bytes, entry_bytes;
    uint32_t near;           /* units: block rows fetched less than this ago are in the second-level cache */
    _Atomic uint32_t *votes; /* [patterns][MASK] rows in which an entry was fresh; NULL: there are no patterns */
    _Atomic uint32_t *heard; /* [patterns] rows */
    bool sample;             /* some ranges of blocks are enough */
    int threads;
    atomic_int failed;
} fresh_run;

/* Follows the rows of blocks [begin, end), in the order in which they are taken, from an empty cache. */
static void follow(const fresh_run *r, int64_t begin, int64_t end, uint32_t *when)
{
    const wisp_mat *A = r->A;
    const wisp__stored *s = &A->local;
    const int64_t per = A->grid.chunks_per_block << A->log_c;
    const uint32_t units = (uint32_t)(r->row_bytes / UNIT);
    uint32_t now = 1u << 31;
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = (A->grid.order ? A->grid.order[b] : b) * per,
                      last = WISP__MIN(A->local_rows, first + per);
        for (int64_t row = first; row < last; row++) {
            const wisp__row entries = wisp__row_of(A, row);
            uint32_t fresh = 0;
            for (int k = 0; k < entries.n; k++) {
                const int64_t col = wisp__row_col(&entries, k);
                if (now - when[col] >= r->near) {
                    now += units;
                    if (k < MASK) fresh |= 1u << k;
                }
                when[col] = now;
            }
            now += (uint32_t)((r->row_bytes + entries.n * r->entry_bytes) / UNIT); /* y, and the matrix */
            if (!r->votes) {
                s->fresh[row] = fresh;
                continue;
            }
            const uint16_t pattern = s->patterns.of[row];
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
    const wisp__stored *s = &r->A->local;
    for (int64_t i = 0; i < s->patterns.count; i++) {
        s->fresh[i] = 0;
        for (int k = 0; k < MASK; k++)
            if (r->votes[i * MASK + k] * FEW >= r->heard[i]) s->fresh[i] |= 1u << k;
        const int64_t n = s->chunk[i + 1] - s->chunk[i];
        if (n < MASK) s->fresh[i] &= (1u << n) - 1;
    }
}

enum { WINDOWS = 8 };

/* A range of blocks, from memory of its own. */
static void follow_range(fresh_run *r, int i, int ranges)
{
    const wisp_mat *A = r->A;
    const int64_t blocks = A->grid.blocks, per = A->grid.chunks_per_block << A->log_c;
    const int64_t begin = wisp__split(blocks, ranges, i);
    int64_t end = wisp__split(blocks, ranges, i + 1);
    uint32_t *when;
    if (r->sample) end = WISP__MIN(end, begin + SAMPLE / WINDOWS / per + 1);
    if (wisp_alloc(A->ctx, &when, (size_t)A->local_cols, sizeof *when) != WISP_OK) {
        atomic_store(&r->failed, 1);
        return;
    }
    follow(r, begin, end, when);
    wisp_free(A->ctx, when);
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
    const wisp_mat *A = r->A;
    r->threads = WISP__MIN(A->ctx->threads, SEARCHES);
    r->sample = r->votes && A->local_rows > 2 * SAMPLE;
    wisp__team_each(A->ctx->team, r->threads, 1, follow_some, r);
    return atomic_load(&r->failed) ? WISP_ERR_NOMEM : WISP_OK;
}

static int64_t row_bytes_of(const wisp_mat *A) { return (int64_t)wisp_type_size(A->type) * WISP__MAX(A->width, 1); }

/* Whether the bits are worth having. repeats: rows share patterns or lists; bytes: of the matrix. */
static bool pays(const wisp_mat *A, bool repeats, int64_t bytes)
{
    const int64_t row = row_bytes_of(A), most = wisp_type_is_complex(A->type) ? SHORT_COMPLEX : SHORT_REAL;
    if (row < LINE || A->local_rows == 0 || A->format == WISP_FORMAT_HERMITIAN) return false;
    if (row > most && A->local_cols * row > SMALL * wisp__near_bytes(A->ctx)) return false;
    return wisp__asks_gathered(A->ctx, repeats, (double)row, (double)A->local_cols, (double)bytes);
}

void wisp__fresh_bytes(const wisp_mat *A, int64_t patterns, bool lists, int64_t bytes, int64_t *kept, int64_t *making)
{
    const fresh_run *r = NULL;
    *kept = *making = 0;
    if (!pays(A, patterns || lists, bytes)) return;
    *kept = (patterns ? patterns : A->local_rows) * (int64_t)sizeof *A->local.fresh;
    *making = WISP__MIN(A->ctx->threads, SEARCHES) * A->local_cols * (int64_t)sizeof(uint32_t) +
              patterns * (MASK * (int64_t)sizeof *r->votes + (int64_t)sizeof *r->heard);
}

wisp_status wisp__find_fresh(wisp_mat *A)
{
    wisp_ctx *ctx = A->ctx;
    wisp__stored *s = &A->local;
    fresh_run r = {.A = A, .row_bytes = row_bytes_of(A), .near = (uint32_t)(wisp__near_bytes(ctx) / UNIT)};
    const bool patterns = wisp__is_kind(s, WISP__PATTERNS);
    const int64_t n = patterns ? s->patterns.count : A->local_rows;
    wisp_status status = WISP_OK;
    if (!pays(A, s->how->repeats, wisp__mat_bytes(A, false))) return WISP_OK;
    r.entry_bytes = patterns ? 0 : (s->how->repeats ? 0 : 4) + (int64_t)wisp_type_size(A->type);
    if (!s->fresh) WISP_TRY(wisp_alloc(ctx, &s->fresh, (size_t)n, sizeof *s->fresh));
    if (patterns) {
        WISP_TRY(wisp_alloc(ctx, &r.votes, (size_t)n * MASK, sizeof *r.votes));
        WISP_TRY(wisp_alloc(ctx, &r.heard, (size_t)n, sizeof *r.heard));
    }
    WISP_TRY(follow_all(&r));
    if (patterns) count_votes(&r);
out:
    wisp_free(ctx, r.votes);
    wisp_free(ctx, r.heard);
    if (status == WISP_ERR_NOMEM) { /* it is a gain, not a need */
        wisp_free(ctx, s->fresh);
        s->fresh = NULL;
        status = WISP_OK;
    }
    return status;
}
