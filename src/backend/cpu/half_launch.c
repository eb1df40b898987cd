/* Half of a Hermitian matrix on the CPU's team. Threads take row blocks of their shares, in order. Where
   other row blocks have sums for a strip, it is finished when those are through: at once if they are by then, else when
   all row blocks are begun, so that nobody waits for a thread that waits. Either way the sums are added in one order,
   so that the result does not depend on the number of threads. */
#include "cpu.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    atomic_bool done;
    int64_t left; /* the first strip that is still to be finished */
} block_state;

typedef struct {
    wisp_ctx *ctx;
    const wisp__half *half;
    const wisp__half_entry *kernels;
    int columns;                    /* of the matrix's kind, real or complex */
    wisp__half_params whole, first; /* all terms; those of a strip that is not finished by its own block */
    double *partial;                /* of each block: strips that it finishes as it goes, and the others */
    size_t dot_size, row_bytes;
    block_state *state;        /* [blocks] */
    wisp__shares shares, rest; /* blocks to do; those to finish */
    atomic_bool stopped; /* some block will never be done: nobody shall wait for it, even if the call is resumed */
} half_run;

/* Part i of the parts into which threads cut the blocks, by entries. */
static int64_t first_block(const wisp__half *h, int part, int parts)
{
    const int64_t rows_weight = wisp__cpu_row_cut.row_weight;
    const int64_t target = wisp__split(h->row[h->rows] + rows_weight * h->rows, parts, part);
    int64_t b = 0;
    if (part >= parts) return h->blocks;
    /* The border that is nearest to the target. */
    while (b < h->blocks) {
        const int64_t mid =
            (h->row[h->first[b]] + h->row[h->first[b + 1]]) / 2 + rows_weight * ((h->first[b] + h->first[b + 1]) / 2);
        if (mid >= target) break;
        b++;
    }
    return b;
}

/* All columns of a strip, by the widest kernels that fit; a complex column of two reals stays whole. */
static void do_strip(const half_run *r, const wisp__half_params *p, bool finish, int64_t strip, int64_t begin,
                     double *dot)
{
    const wisp__half_entry *k = r->kernels;
    for (int at = 0; at < r->columns; at += k->width) {
        while (k->width > r->columns - at || ((p->s.p.terms & K_PAIRS) && k->width % 2)) k++;
        (finish ? k->finish : k->multiply)(p, strip, begin, at, dot);
    }
}

static bool ready(const half_run *r, int64_t block)
{
    const wisp__half *h = r->half;
    for (int64_t k = h->source_at[block]; k < h->source_at[block + 1]; k++)
        if (!atomic_load(&r->state[h->source[k]].done)) return false;
    return true;
}

static double *dots_of(const half_run *r, int64_t block, int which)
{
    return r->partial ? r->partial + (size_t)(2 * block + which) * r->dot_size : NULL;
}

static bool is_late(const wisp__half *h, int64_t strip) { return h->incoming[strip + 1] > h->incoming[strip]; }

static void do_block(const half_run *r, int64_t block)
{
    const wisp__half *h = r->half;
    /* Both rounded up: an empty block at the end may begin behind a strip that is not whole. */
    const int64_t begin = (h->first[block] + K_STRIP - 1) / K_STRIP,
                  end = (h->first[block + 1] + K_STRIP - 1) / K_STRIP;
    int64_t reach = h->first[block], left = end;
    if (r->partial) memset(dots_of(r, block, 0), 0, 2 * r->dot_size * sizeof(double));
    const size_t spilled = (size_t)(h->spill[block + 1] - h->spill[block]) * r->row_bytes;
    if (spilled) memset((char *)r->whole.spill + (size_t)h->spill[block] * r->row_bytes, 0, spilled);
    for (int64_t s = begin; s < end; reach = h->reach[s++]) {
        const bool late = is_late(h, s);
        do_strip(r, late ? &r->first : &r->whole, false, s, reach, dots_of(r, block, 0));
        if (!late || left < end) continue;
        if (ready(r, block))
            do_strip(r, &r->whole, true, s, 0, dots_of(r, block, 1));
        else
            left = s;
    }
    r->state[block].left = left;
    atomic_store(&r->state[block].done, true);
    wisp__team_tell(r->ctx->team);
}

typedef struct {
    half_run *run;
    int64_t block;
} awaited;

static bool ready_or_stopped(const void *arg)
{
    const awaited *a = arg;
    return (atomic_load(&a->run->state[a->block].done) && ready(a->run, a->block)) ||
           wisp__team_stop(a->run->ctx->team, &a->run->stopped);
}

/* What is left of a block when it and those that spill into it are through; false if the call was cancelled. */
static bool finish_block(half_run *r, int64_t block)
{
    const wisp__half *h = r->half;
    const int64_t strips = (h->first[block + 1] + K_STRIP - 1) / K_STRIP;
    const awaited a = {r, block};
    if (!ready_or_stopped(&a)) wisp__team_wait(r->ctx->team, ready_or_stopped, &a);
    if (wisp__team_stop(r->ctx->team, &r->stopped)) return false;
    for (int64_t s = r->state[block].left; s < strips; s++)
        if (is_late(h, s)) do_strip(r, &r->whole, true, s, 0, dots_of(r, block, 1));
    return true;
}

static void half_thread(void *arg, int thread, int threads)
{
    half_run *r = arg;
    (void)threads;
    for (int64_t b; (b = wisp__share_next(&r->shares, thread)) >= 0;) {
        if (wisp__team_stop(r->ctx->team, &r->stopped)) return;
        do_block(r, b);
    }
    /* Now all blocks are begun. */
    for (int64_t b; (b = wisp__share_next(&r->rest, thread)) >= 0;)
        if (!finish_block(r, b)) return;
}

static void set_shares(half_run *r, int threads)
{
    const int n = WISP__MIN(threads, WISP__MOST_SHARES);
    r->shares.count = r->rest.count = n;
    for (int i = 0; i < n; i++) {
        const int64_t begin = first_block(r->half, i, n), end = first_block(r->half, i + 1, n);
        wisp__share_set(&r->shares, i, begin, end);
        wisp__share_set(&r->rest, i, begin, end);
    }
}

wisp_status wisp__cpu_launch_half(wisp_ctx *ctx, const wisp__key *key, const wisp__spmmv_params *p,
                                  const wisp__half *half, double *dot, size_t dot_size)
{
#define BLOCK(name, matrix, block) WISP_##block,
    static const wisp_type block[] = {WISP__COMBO_LIST(BLOCK)}; /* complex if the matrix is */
#undef BLOCK
    const wisp__combo combo = wisp__combo_of(key->matrix, key->block);
    const int64_t ld_spill = p->reals, blocks = 2 * half->blocks; /* dots of two kinds for each */
    const size_t row_bytes = (size_t)ld_spill * (size_t)p->real_bytes;
    const size_t spill_bytes = wisp__lines((size_t)half->spill_rows * row_bytes);
    const size_t dot_bytes = dot ? (size_t)WISP__MAX(blocks, 1) * dot_size * sizeof *dot : 0;
    char *spill;
    wisp_status status = wisp__scratch(ctx->team, WISP__DEVICE_SCRATCH, &spill, 1, spill_bytes + dot_bytes);
    if (status != WISP_OK) return status;
    double *partial = (double *)(void *)(spill + spill_bytes);
    const wisp__half_params whole = {.s.p = *p,
                                     .half = half,
                                     .beta = {p->beta[0], p->beta[1]},
                                     .reads_prev = !!(p->terms & K_AXPBY),
                                     .spill = spill,
                                     .ld_spill = ld_spill};
    half_run run = {.ctx = ctx,
                    .half = half,
                    .kernels = ctx->isa->half[combo],
                    .columns = (int)(wisp_type_is_complex(block[combo]) ? p->reals / 2 : p->reals),
                    .whole = whole,
                    .partial = dot ? partial : NULL,
                    .dot_size = dot_size,
                    .row_bytes = row_bytes};
    run.whole.s.p.terms = (p->terms | K_AXPBY) & ~(unsigned)K_PREV; /* prev is in y once it has begun */
    run.whole.s.p.beta[0] = 1, run.whole.s.p.beta[1] = 0;
    run.first = run.whole;
    run.first.s.p.terms &= ~(unsigned)(K_CHAIN | K_DELTA | K_DOTS);
    status = wisp_alloc(ctx, &run.state, (size_t)half->blocks, sizeof *run.state);
    if (status != WISP_OK) return status;
    set_shares(&run, ctx->threads);
    const int64_t elements = (2 * half->row[half->rows] + half->rows) * p->reals;
    const bool little = half->blocks <= 1 || wisp__is_little(ctx->team, elements);
    status = wisp__whole(ctx, "multiplying", wisp__run_some(ctx->team, little, half_thread, &run));
    if (dot && status == WISP_OK) {
        wisp__cpu_add_up(ctx, false, partial, blocks, dot_size);
        memcpy(dot, partial, dot_size * sizeof *dot);
    }
    wisp_free(ctx, run.state);
    return status;
}
