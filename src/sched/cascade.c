/* The schedules of interleaved steps that a matrix keeps, and the graph of its row blocks, from which they are made. */
#include "cascade.h"
#include "../data/store/store.h"
#include <string.h>

wisp_status wisp__cascades_open(wisp_mat *A)
{
    wisp_status status = wisp_alloc(A->ctx, &A->cascades, 1, sizeof *A->cascades);
    if (status != WISP_OK) return status;
    pthread_mutex_init(&A->cascades->lock, NULL);
    return status;
}

static void cascade_free(wisp_ctx *ctx, wisp__cascade *c)
{
    if (!c) return;
    void *task;
    memcpy(&task, &c->schedule.task, sizeof task); /* const for those who run it */
    wisp_free(ctx, task);
    wisp_free(ctx, c);
}

void wisp__cascades_free(wisp_mat *A)
{
    struct wisp__cascades *s = A->cascades;
    if (!s) return;
    for (wisp__cascade *c = s->first, *next; c; c = next) {
        next = c->next;
        cascade_free(A->ctx, c);
    }
    wisp__graph_free(A->ctx, &s->blocks.graph);
    pthread_mutex_destroy(&s->lock);
    wisp_free(A->ctx, s);
}

/* ---- the graph of row blocks ----------------------------------------------------------------- */

typedef struct {
    const wisp_mat *A;
    wisp__graph graph; /* begin[]: counts, then places */
    int32_t *mark;
    bool fill;
} graph_run;

static void look_at_blocks(void *arg, int thread, int threads)
{
    const graph_run *r = arg;
    const wisp_mat *A = r->A;
    const int64_t blocks = A->grid.blocks, per = A->grid.chunks_per_block << A->log_c;
    int32_t *mark = r->mark + thread * blocks;
    const int64_t end = wisp__split(blocks, threads, thread + 1);
    for (int64_t b = wisp__split(blocks, threads, thread); b < end && !wisp__cancelled(A->ctx->team); b++) {
        int64_t n = r->fill ? r->graph.begin[b] : 0;
        for (int64_t row = b * per; row < WISP__MIN(A->local_rows, (b + 1) * per); row++) {
            const wisp__row entries = wisp__row_of(A, row);
            int64_t low = 0, high = 0; /* rows of the row block of the entry before */
            for (int k = 0; k < entries.n; k++) {
                const int64_t col = wisp__row_col(&entries, k);
                if (col >= low && col < high) continue;
                const int64_t to = col / per;
                low = to * per;
                high = low + per;
                if (to == b || mark[to] == b + 1) continue;
                mark[to] = (int32_t)(b + 1);
                if (r->fill) r->graph.neighbour[n] = (int32_t)to;
                n++;
            }
        }
        if (!r->fill) r->graph.begin[b + 1] = n;
    }
}

/* Neighbours both ways: row blocks that lead to one are added behind those that it leads to. */
static wisp_status add_transposed(wisp_ctx *ctx, wisp__graph *g)
{
    const int64_t rows = g->rows, entries = g->begin[rows];
    wisp__graph both = {.rows = rows};
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &both.begin, (size_t)rows + 2, sizeof *both.begin));
    WISP_TRY(wisp__alloc_raw(ctx, &both.neighbour, (size_t)WISP__MAX(2 * entries, 1), sizeof *both.neighbour));
    int64_t *at = both.begin + 1; /* of row i in the end: where those of the next one begin */
    for (int64_t i = 0; i < rows; i++) {
        at[i + 1] += wisp__degree(g, i);
        for (int64_t e = g->begin[i]; e < g->begin[i + 1]; e++) at[g->neighbour[e] + 1]++;
    }
    for (int64_t i = 0; i < rows; i++) at[i + 1] += at[i];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t e = g->begin[i]; e < g->begin[i + 1]; e++) {
            const int32_t j = g->neighbour[e];
            both.neighbour[at[i]++] = j;
            both.neighbour[at[j]++] = (int32_t)i;
        }
    wisp__graph_free(ctx, g);
    *g = both;
    both = (wisp__graph){0};
out:
    wisp__graph_free(ctx, &both);
    return status;
}

static wisp_status look_for_graph(const wisp_mat *A, wisp__block_graph *g)
{
    wisp_ctx *ctx = A->ctx;
    const int64_t blocks = A->grid.blocks;
    graph_run r = {.A = A, .graph = {.rows = blocks}};
    int64_t *begin;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &r.graph.begin, (size_t)blocks + 1, sizeof *r.graph.begin));
    WISP_TRY(wisp_alloc(ctx, &r.mark, (size_t)(ctx->threads * blocks), sizeof *r.mark));
    WISP_TRY(wisp__whole(ctx, "ordering", wisp__team_run(ctx->team, look_at_blocks, &r)));
    begin = r.graph.begin;
    for (int64_t i = 0; i < blocks; i++) begin[i + 1] += begin[i];
    g->far = g->known = begin[blocks] > wisp__tuned_of(ctx)->schedule.neighbours * blocks;
    if (g->far) goto out;
    WISP_TRY(wisp__alloc_raw(ctx, &r.graph.neighbour, (size_t)WISP__MAX(begin[blocks], 1), sizeof(int32_t)));
    memset(r.mark, 0, (size_t)(ctx->threads * blocks) * sizeof *r.mark);
    r.fill = true;
    WISP_TRY(wisp__whole(ctx, "ordering", wisp__team_run(ctx->team, look_at_blocks, &r)));
    WISP_TRY(add_transposed(ctx, &r.graph));
    g->known = true;
    g->graph = r.graph;
    r.graph = (wisp__graph){0};
out:
    wisp__graph_free(ctx, &r.graph);
    wisp_free(ctx, r.mark);
    return status;
}

static wisp_status find_graph(const wisp_mat *A, wisp__block_graph *g)
{
    wisp__host_mat host;
    wisp_status status = wisp__mat_lend(A, WISP_READ, &host);
    if (status != WISP_OK) return status;
    status = look_for_graph(&host.mat, g);
    wisp__mat_return(&host);
    return status;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static const char *cannot(const wisp_mat *A)
{
    if (A->local.how->never_interleaved) return A->local.how->never_interleaved;
    if (A->map != A->col_map) return "the matrix is not that of one process";
    if (A->ctx->threads > 1 && !A->ctx->one_node) return "the threads are on several memory nodes";
    return NULL;
}

static void log_cascade(const wisp_mat *A, const wisp__cascade *c, int64_t asked)
{
    wisp_ctx *ctx = A->ctx;
    int measured;
    wisp_ctx_cache(ctx, &measured);
    const char *budget = asked > 0 ? "asked for" : measured ? "measured" : "assumed";
    if (c->schedule.tasks > 0)
        wisp_ctx_logf(ctx, WISP_LOG_DEBUG,
                      "cascade of %d steps: %.0f MB from and to memory for each, %.0f MB by sweeps; cache budget %.1f "
                      "MB (%s); %.2f ms, %.2f ms by sweeps, at %.1f GB/s",
                      c->steps, 1e-6 * (c->step.read + c->step.written), 1e-6 * (c->plain.read + c->plain.written),
                      1e-6 * c->budget, budget, 1e3 * c->step.seconds, 1e3 * c->plain.seconds, 1e-9 * c->rates.memory);
    const wisp_log_level level = c->why == A->cascades->last_why ? WISP_LOG_DEBUG : WISP_LOG_INFO;
    if (c->why)
        wisp_ctx_logf(ctx, level, "%d interleaved steps %s: %s", c->steps,
                      c->schedule.tasks > 0 ? "gain nothing" : "are not to be had", c->why);
    A->cascades->last_why = c->why;
}

/* Makes room for one more. Schedules are few: some types and widths, depths, budgets, ceilings. Beyond so many, the
   one used longest ago goes. */
static void drop_oldest(wisp_ctx *ctx, struct wisp__cascades *s, int most)
{
    wisp__cascade **oldest = NULL;
    int count = 0;
    for (wisp__cascade **c = &s->first; *c; c = &(*c)->next, count++)
        if ((*c)->users == 0 && (!oldest || (*c)->last_use < (*oldest)->last_use)) oldest = c;
    if (count < most || !oldest) return;
    wisp__cascade *c = *oldest;
    *oldest = c->next;
    cascade_free(ctx, c);
}

static wisp_status add(const wisp_mat *A, const wisp__cascade *like, int64_t asked, wisp__cascade **out)
{
    struct wisp__cascades *s = A->cascades;
    wisp__cascade *c = NULL;
    wisp_status status;
    drop_oldest(A->ctx, s, wisp__tuned_of(A->ctx)->schedule.kept);
    WISP_TRY(wisp_alloc(A->ctx, &c, 1, sizeof *c));
    *c = *like;
    c->why = cannot(A);
    if (!c->why && !s->blocks.known) WISP_TRY(find_graph(A, &s->blocks));
    if (!c->why) WISP_TRY(wisp__cascade_make(A, &s->blocks, c));
    log_cascade(A, c, asked);
    c->next = s->first;
    s->first = *out = c;
    c = NULL;
out:
    cascade_free(A->ctx, c);
    return status;
}

static bool same(const wisp__cascade *a, const wisp__cascade *b)
{
    return a->steps == b->steps && a->type == b->type && a->width == b->width && a->budget == b->budget &&
           !memcmp(&a->rates, &b->rates, sizeof a->rates);
}

wisp_status wisp__cascade_find(const wisp_mat *A, wisp_type type, int width, int steps, int64_t cache_budget,
                               const wisp__cascade **out)
{
    struct wisp__cascades *s = A->cascades;
    wisp_status status = WISP_OK;
    *out = NULL;
    if (steps < 2) return status;
    const wisp__facts facts = wisp__facts_of(A->ctx);
    pthread_mutex_lock(&s->lock);
    const wisp__cascade like = {.steps = steps,
                                .type = type,
                                .width = width,
                                .row_bytes = width * (int64_t)wisp_type_size(type),
                                .budget = cache_budget > 0 ? (double)cache_budget : facts.kept,
                                .rates = facts.rates};
    wisp__cascade *c = s->first;
    while (c && !same(c, &like)) c = c->next;
    if (!c) status = add(A, &like, cache_budget, &c);
    if (c) c->last_use = ++s->finds;
    if (c && c->schedule.tasks > 0) {
        c->users++;
        *out = c;
    }
    pthread_mutex_unlock(&s->lock);
    if (status == WISP_ERR_NOMEM) { /* it is a gain, not a need */
        wisp_ctx_logf(A->ctx, WISP_LOG_PERF, "no memory to interleave steps; one sweep follows the other");
        status = WISP_OK;
    }
    return status;
}

void wisp__cascade_release(const wisp_mat *A, const wisp__cascade *c)
{
    if (!c) return;
    pthread_mutex_lock(&A->cascades->lock);
    for (wisp__cascade *i = A->cascades->first; i; i = i->next) i->users -= i == c;
    pthread_mutex_unlock(&A->cascades->lock);
}
