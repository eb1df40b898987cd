/* Breadth-first levels of a graph whose rows several ranks have: each rank goes on from the rows of the last level that
   are its own, and tells its neighbours which of theirs it has reached. */
#include "../comm/comm.h"
#include "order.h"
#include <string.h>

enum { MOST_ROUNDS = 50000 }; /* of all searches: some seconds */

typedef struct {
    wisp_ctx *ctx;
    const wisp__graph *graph;
    const wisp__halo *halo;
    int64_t first, rows;
    int32_t *level;     /* [rows] -1: not found yet */
    int32_t *queue;     /* [rows] those found in this search, in this order */
    uint8_t *reached;   /* [halo rows] in this search */
    char *tell, *heard; /* [halo rows], [sends]: 1 for a row that was reached in this round */
    wisp__message *to, *from;
    int64_t rounds; /* of all searches */
} search;

static wisp_status open_search(search *s)
{
    const wisp__halo *h = s->halo;
    wisp_status status;
    WISP_TRY(wisp_alloc(s->ctx, &s->queue, (size_t)s->rows, sizeof *s->queue));
    WISP_TRY(wisp_alloc(s->ctx, &s->reached, (size_t)h->rows, 1));
    WISP_TRY(wisp_alloc(s->ctx, &s->tell, (size_t)h->rows, 1));
    WISP_TRY(wisp_alloc(s->ctx, &s->heard, (size_t)h->sends, 1));
    WISP_TRY(wisp_alloc(s->ctx, &s->to, (size_t)h->from_count, sizeof *s->to));
    WISP_TRY(wisp_alloc(s->ctx, &s->from, (size_t)h->to_count, sizeof *s->from));
    /* Against the way of a product: from who needs a row to who has it. */
    for (int i = 0; i < h->from_count; i++)
        s->to[i] = (wisp__message){h->from[i].rank, s->tell + h->from[i].first, (size_t)h->from[i].count};
    for (int i = 0; i < h->to_count; i++)
        s->from[i] = (wisp__message){h->to[i].rank, s->heard + h->to[i].first, (size_t)h->to[i].count};
out:
    return status;
}

static void close_search(search *s)
{
    void *own[] = {s->queue, s->reached, s->tell, s->heard, s->to, s->from};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(s->ctx, own[i]);
}

static void find(search *s, int64_t row, int64_t level, int64_t *tail)
{
    if (s->level[row] >= 0) return;
    s->level[row] = (int32_t)level;
    s->queue[(*tail)++] = (int32_t)row;
}

/* The neighbours of queue[begin .. end) become `level`; the new end. */
static wisp_status next_level(search *s, int64_t level, int64_t begin, int64_t end, int64_t *tail)
{
    const wisp__graph *g = s->graph;
    wisp_status status;
    memset(s->tell, 0, (size_t)s->halo->rows);
    *tail = end;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = s->queue[i];
        for (int64_t e = g->begin[row]; e < g->begin[row + 1]; e++) {
            const int64_t col = g->neighbour[e], foreign = col - s->rows;
            if (foreign < 0) {
                find(s, col, level, tail);
            } else if (!s->reached[foreign]) {
                s->reached[foreign] = 1;
                s->tell[foreign] = 1;
            }
        }
    }
    WISP_TRY(s->ctx->comm->start(s->ctx, s->to, s->halo->from_count, s->from, s->halo->to_count));
    WISP_TRY(s->ctx->comm->wait(s->ctx));
    for (int64_t i = 0; i < s->halo->sends; i++)
        if (s->heard[i]) find(s, s->halo->send[i], level, tail);
out:
    return status;
}

/* A row on any rank: the least key wins, then the least number. */
typedef struct {
    int64_t key, number; /* number -1: none */
} choice;

static wisp_status least_of_ranks(wisp_ctx *ctx, choice own, choice *least)
{
    choice *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, &own, sizeof own, all));
    *least = (choice){0, -1};
    for (int r = 0; r < ctx->ranks; r++) {
        const choice c = all[r];
        if (c.number < 0) continue;
        if (least->number < 0 || c.key < least->key || (c.key == least->key && c.number < least->number)) *least = c;
    }
out:
    wisp_free(ctx, all);
    return status;
}

/* From the row with this number, on levels from `level` on; *end: one behind the last. *last: a row of the last one
   that has few entries. Rows that were found are in queue[*found]. */
static wisp_status run(search *s, int64_t number, int64_t level, int64_t *end, int64_t *found, choice *last)
{
    wisp_ctx *ctx = s->ctx;
    int64_t begin = 0, tail = 0;
    double some = 1;
    wisp_status status;
    memset(s->reached, 0, (size_t)s->halo->rows);
    if (number >= s->first && number < s->first + s->rows) find(s, number - s->first, level, &tail);
    for (;;) {
        choice own = {0, -1};
        for (int64_t i = begin, row; i < tail; i++)
            if (row = s->queue[i], own.number < 0 || wisp__degree(s->graph, row) < own.key)
                own = (choice){wisp__degree(s->graph, row), s->first + row};
        *last = own; /* of this rank */
        *end = ++level;
        *found = tail;
        s->rounds++;
        WISP_TRY(wisp_ctx_step(ctx, "finding levels", 0, 0));
        WISP_TRY(next_level(s, level, begin, *found, &tail));
        begin = *found;
        some = (double)(tail - begin);
        WISP_TRY(ctx->comm->sum(ctx, &some, 1));
        if (some == 0 || s->rounds > MOST_ROUNDS) break;
    }
    status = least_of_ranks(ctx, *last, last);
out:
    return status;
}

/* A component, from a row as far out as one search finds; *level moves on. */
static wisp_status find_component(search *s, int64_t number, int64_t *level)
{
    int64_t end, found;
    choice last;
    wisp_status status;
    WISP_TRY(run(s, number, *level, &end, &found, &last));
    for (int64_t i = 0; i < found; i++) s->level[s->queue[i]] = -1;
    WISP_TRY(run(s, last.number, *level, level, &found, &last));
out:
    return status;
}

/* A row without neighbours is near to all. */
static bool is_alone(const wisp__graph *g, int64_t row)
{
    for (int64_t e = g->begin[row]; e < g->begin[row + 1]; e++)
        if (g->neighbour[e] != row) return false;
    return true;
}

wisp_status wisp__levels_of_ranks(wisp_ctx *ctx, const wisp__graph *graph, const wisp__halo *halo, int64_t first,
                                  int32_t *level, int64_t *levels)
{
    const int64_t rows = graph->rows;
    search s = {.ctx = ctx, .graph = graph, .halo = halo, .first = first, .rows = rows, .level = level};
    int64_t from = 0;
    wisp_status status;
    WISP_TRY(open_search(&s));
    for (int64_t i = 0; i < rows; i++) level[i] = is_alone(graph, i) ? 0 : -1;
    for (*levels = 1;;) {
        choice next;
        while (from < rows && level[from] >= 0) from++;
        WISP_TRY(least_of_ranks(ctx, (choice){0, from < rows ? first + from : -1}, &next));
        if (next.number < 0) break;
        if (s.rounds > MOST_ROUNDS) {
            for (int64_t i = from; i < rows; i++)
                if (level[i] < 0) level[i] = (int32_t)*levels;
            ++*levels;
            wisp_ctx_logf(ctx, WISP_LOG_PERF, "the graph has very many levels: most rows stay in the order they have");
            break;
        }
        WISP_TRY(find_component(&s, next.number, levels));
    }
out:
    close_search(&s);
    return status;
}
