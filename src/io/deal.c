/* Entries go to the ranks that have their rows, in rounds: each rank sends a message to each other one, which is a run
   as wisp__run_alloc lays it out. */
#include "../comm/comm.h"
#include "../data/data.h"
#include "io.h"
#include <string.h>

/* Entries of a round, and where they go. */
typedef struct {
    const wisp__deal *deal;
    const wisp__coo *coo;
    int64_t *at;     /* [runs][ranks] how many entries of a run go to a rank, then where they begin in its message */
    wisp__run *sent; /* [ranks] the messages */
} deal_round;

wisp_status wisp__deal_open(wisp__deal *d, wisp_ctx *ctx, const int64_t *weights, wisp_type type, int64_t rows,
                            bool mirrored)
{
    *d = (wisp__deal){.ctx = ctx, .type = type, .mirrored = mirrored};
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &d->from, (size_t)ctx->ranks, sizeof *d->from));
    WISP_TRY(wisp_alloc(ctx, &d->begin, (size_t)ctx->ranks + 1, sizeof *d->begin));
    for (int r = 0; r <= ctx->ranks; r++) d->begin[r] = wisp__share_begin(ctx, weights, rows, r);
out:
    return status;
}

void wisp__deal_close(wisp__deal *d)
{
    if (!d->ctx) return;
    for (int r = 0; d->from && r < d->ctx->ranks; r++) wisp__coo_free(d->ctx, &d->from[r]);
    wisp_free(d->ctx, d->from);
    wisp_free(d->ctx, d->begin);
    *d = (wisp__deal){0};
}

/* Who has the row; `near` is a guess. */
static inline int owner_of(const wisp__deal *d, int64_t row, int near)
{
    if (row >= d->begin[near] && row < d->begin[near + 1]) return near;
    int lo = 0, hi = d->ctx->ranks; /* begin[lo] <= row < begin[hi] */
    while (hi - lo > 1) {
        const int mid = lo + (hi - lo) / 2;
        if (d->begin[mid] <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* The ranks that an entry goes to: one, or two. */
static inline int owners(const wisp__deal *d, const wisp__run *run, int64_t k, int who[2])
{
    who[0] = owner_of(d, run->row[k], who[0]);
    if (!d->mirrored || run->row[k] == run->col[k]) return 1;
    who[1] = owner_of(d, run->col[k], who[1]);
    return who[1] == who[0] ? 1 : 2;
}

static void count_runs(void *arg, int thread, int threads)
{
    const deal_round *c = arg;
    const int ranks = c->deal->ctx->ranks;
    for (int64_t i = thread; i < c->coo->runs; i += threads) {
        int who[2] = {0, 0};
        for (int64_t k = 0; k < c->coo->run[i].count; k++)
            for (int n = owners(c->deal, &c->coo->run[i], k, who); n > 0; n--) c->at[i * ranks + who[n - 1]]++;
    }
}

static void put_runs(void *arg, int thread, int threads)
{
    const deal_round *c = arg;
    const int ranks = c->deal->ctx->ranks;
    const size_t size = wisp_type_size(c->deal->type);
    for (int64_t i = thread; i < c->coo->runs; i += threads) {
        const wisp__run *run = &c->coo->run[i];
        int who[2] = {0, 0};
        for (int64_t k = 0; k < run->count; k++)
            for (int n = owners(c->deal, run, k, who); n > 0; n--) {
                const wisp__run *to = &c->sent[who[n - 1]];
                const int64_t at = c->at[i * ranks + who[n - 1]]++;
                to->row[at] = run->row[k];
                to->col[at] = run->col[k];
                memcpy((char *)to->val + (size_t)at * size, (const char *)run->val + (size_t)k * size, size);
            }
    }
}

/* The messages, from the entries of the round, which are freed. */
static wisp_status pack(deal_round *c, wisp__coo *coo)
{
    wisp_ctx *ctx = c->deal->ctx;
    const int ranks = ctx->ranks;
    const bool little = coo->entries < WISP__LITTLE;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &c->at, (size_t)(coo->runs * ranks), sizeof *c->at));
    wisp__run_some(ctx->team, little, count_runs, c);
    for (int r = 0; r < ranks; r++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < coo->runs; i++) {
            const int64_t n = c->at[i * ranks + r];
            c->at[i * ranks + r] = sum;
            sum += n;
        }
        if (sum > 0) WISP_TRY(wisp__run_alloc(ctx, &c->sent[r], c->deal->type, sum));
        c->sent[r].count = sum;
    }
    wisp__run_some(ctx->team, little, put_runs, c);
    wisp__coo_free(ctx, coo);
out:
    return status;
}

static wisp_status keep(wisp__deal *d, const wisp__message *from)
{
    const size_t size = wisp_type_size(d->type) + 2 * sizeof(int32_t);
    for (int r = 0; r < d->ctx->ranks; r++) {
        wisp__run run;
        if (from[r].bytes == 0) continue;
        const int64_t count = (int64_t)(from[r].bytes / size);
        wisp_status status = wisp__run_alloc(d->ctx, &run, d->type, count);
        if (status != WISP_OK) return status;
        run.count = count;
        memcpy(run.memory, from[r].data, from[r].bytes);
        if ((status = wisp__coo_add(d->ctx, &d->from[r], run)) != WISP_OK) return status;
    }
    return WISP_OK;
}

wisp_status wisp__deal_round(wisp__deal *d, wisp__coo *coo)
{
    wisp_ctx *ctx = d->ctx;
    const size_t size = wisp_type_size(d->type) + 2 * sizeof(int32_t);
    deal_round c = {.deal = d, .coo = coo};
    wisp__message *to = NULL, *from = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &c.sent, (size_t)ctx->ranks, sizeof *c.sent));
    WISP_TRY(wisp_alloc(ctx, &to, (size_t)ctx->ranks, sizeof *to));
    WISP_TRY(pack(&c, coo));
    for (int r = 0; r < ctx->ranks; r++) to[r] = (wisp__message){r, c.sent[r].memory, (size_t)c.sent[r].count * size};
    WISP_TRY(wisp__comm_exchange(ctx, to, &from));
out:
    for (int r = 0; c.sent && r < ctx->ranks; r++) wisp_free(ctx, c.sent[r].memory);
    if (status == WISP_OK) status = keep(d, from);
    wisp_free(ctx, from);
    wisp_free(ctx, to);
    wisp_free(ctx, c.sent);
    wisp_free(ctx, c.at);
    return status;
}

/* The next runs, of about as many bytes as go at a time. */
static wisp_status some_of(wisp__deal *d, wisp__coo *coo, int64_t *next, wisp__coo *some)
{
    const int64_t most = WISP__DEAL_BYTES / (int64_t)(wisp_type_size(d->type) + 2 * sizeof(int32_t));
    while (*next < coo->runs && some->entries < most) {
        wisp__run *run = &coo->run[(*next)++];
        const wisp_status status = wisp__coo_add(d->ctx, some, *run);
        run->memory = NULL;
        if (status != WISP_OK) return status;
    }
    return WISP_OK;
}

wisp_status wisp__deal_all(wisp__deal *d, wisp__coo *coo)
{
    wisp__coo some = {0};
    wisp_status status;
    int64_t next = 0;
    for (double more = 1; more > 0;) {
        WISP_TRY(some_of(d, coo, &next, &some));
        WISP_TRY(wisp__deal_round(d, &some));
        more = next < coo->runs;
        WISP_TRY(d->ctx->comm->sum(d->ctx, &more, 1));
    }
    wisp__coo_free(d->ctx, coo);
    status = wisp__deal_take(d, coo);
out:
    wisp__coo_free(d->ctx, &some);
    return status;
}

wisp_status wisp__deal_take(wisp__deal *d, wisp__coo *coo)
{
    int64_t runs = 0;
    for (int r = 0; r < d->ctx->ranks; r++) runs += d->from[r].runs;
    const wisp_status status = wisp__alloc_raw(d->ctx, &coo->run, (size_t)runs, sizeof *coo->run);
    if (status != WISP_OK) return status;
    coo->room = runs;
    for (int r = 0; r < d->ctx->ranks; r++) {
        wisp__coo *from = &d->from[r];
        if (from->runs) memcpy(coo->run + coo->runs, from->run, (size_t)from->runs * sizeof *from->run);
        coo->runs += from->runs;
        coo->entries += from->entries;
        from->runs = 0;
        wisp__coo_free(d->ctx, from);
    }
    return status;
}
