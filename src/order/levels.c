/* Level structures: consecutive rows of a band, or breadth first (Cuthill and McKee 1969; George and Liu 1979). */
#include "order.h"
#include <string.h>

void wisp__levels_free(wisp_ctx *ctx, wisp__levels *v)
{
    wisp_free(ctx, v->row);
    wisp_free(ctx, v->place);
    wisp_free(ctx, v->begin);
    *v = (wisp__levels){0};
}

wisp_status wisp__levels_natural(wisp_ctx *ctx, int64_t rows, int64_t reach, wisp__levels *v)
{
    *v = (wisp__levels){0};
    v->widest = WISP__MAX(reach, 1);
    v->levels = (rows + v->widest - 1) / v->widest;
    wisp_status status = wisp__alloc_raw(ctx, &v->begin, (size_t)v->levels + 1, sizeof *v->begin);
    if (status != WISP_OK) return status;
    for (int64_t l = 0; l <= v->levels; l++) v->begin[l] = WISP__MIN(rows, l * v->widest);
    return status;
}

/* ---- breadth first --------------------------------------------------------------------------- */

typedef wisp__level_search search;

wisp_status wisp__level_search_open(wisp_ctx *ctx, const wisp__graph *graph, search *s)
{
    const int64_t rows = graph->rows;
    *s = (search){.ctx = ctx, .graph = graph};
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &s->begin, (size_t)rows + 1, sizeof *s->begin));
    WISP_TRY(wisp__alloc_raw(ctx, &s->found, (size_t)rows, sizeof *s->found));
    memset(s->found, 1, (size_t)rows);
out:
    return status;
}

void wisp__level_search_close(search *s)
{
    if (!s->ctx) return;
    wisp_free(s->ctx, s->begin);
    wisp_free(s->ctx, s->found);
}

static int64_t degree(const search *s, int64_t row) { return wisp__degree(s->graph, row); }

/* Appends the new neighbours of queue[i]; the new end. */
static int64_t find_neighbours(search *s, int64_t i, int64_t tail)
{
    const wisp__graph *g = s->graph;
    const int64_t row = s->queue[i], end = g->begin[row + 1];
    for (int64_t e = g->begin[row]; e < end; e++) {
        const int32_t to = g->neighbour[e];
        if (s->found[to]) continue;
        s->found[to] = 1;
        s->queue[tail++] = to;
    }
    return tail;
}

/* The row with the fewest entries in the last level seen from root, and how far that is; unmarks all. */
static int32_t farthest(search *s, int32_t root, int64_t at, int64_t *depth)
{
    int64_t begin = at, end = at + 1;
    s->queue[at] = root;
    s->found[root] = 1;
    for (*depth = 0; !wisp__cancelled(s->ctx->team); ++*depth) {
        int64_t tail = end;
        for (int64_t i = begin; i < end; i++) tail = find_neighbours(s, i, tail);
        if (tail == end) break;
        begin = end;
        end = tail;
    }
    int32_t best = s->queue[begin];
    for (int64_t i = begin; i < end; i++)
        if (degree(s, s->queue[i]) < degree(s, best)) best = s->queue[i];
    for (int64_t i = at; i < end; i++) s->found[s->queue[i]] = 0;
    return best;
}

static int32_t peripheral(search *s, int32_t root, int64_t at)
{
    enum { TRIES = 3 };
    int64_t depth, deeper;
    if (degree(s, root) == 0) return root;
    int32_t end = farthest(s, root, at, &depth);
    for (int i = 0; i < TRIES; i++) {
        const int32_t other = farthest(s, end, at, &deeper);
        if (deeper <= depth) break;
        depth = deeper;
        end = other;
    }
    return end;
}

static bool shorter(const search *s, int32_t a, int32_t b)
{
    const int64_t of_a = degree(s, a), of_b = degree(s, b);
    return of_a != of_b ? of_a < of_b : a < b;
}

/* Sinks row[i] of a heap of n rows with the longest on top. */
static void sink(const search *s, int32_t *row, int64_t i, int64_t n)
{
    const int32_t own = row[i];
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && shorter(s, row[child], row[child + 1])) child++;
        if (!shorter(s, own, row[child])) break;
        row[i] = row[child];
    }
    row[i] = own;
}

/* Neighbours found from one row stand by rising length; the many of a hub are sorted by a heap. */
static void by_length(const search *s, int64_t begin, int64_t end)
{
    enum { FEW = 64 }; /* that are sorted by insertion, whose work grows with their square */
    int32_t *row = s->queue + begin;
    const int64_t n = end - begin;
    if (n <= FEW) {
        for (int64_t i = 1; i < n; i++) {
            const int32_t own = row[i];
            const int64_t length = degree(s, own);
            int64_t j = i;
            for (; j > 0 && degree(s, row[j - 1]) > length; j--) row[j] = row[j - 1];
            row[j] = own;
        }
        return;
    }
    for (int64_t i = n / 2; i-- > 0;) sink(s, row, i, n);
    for (int64_t last = n - 1; last > 0; last--) {
        const int32_t longest = row[0];
        row[0] = row[last];
        row[last] = longest;
        sink(s, row, 0, last);
    }
}

/* Cuthill-McKee over one component, whose first row goes to queue[at]; where the next one goes. */
static int64_t find_levels(search *s, int32_t root, int64_t at)
{
    int64_t begin = at, end = at + 1;
    s->queue[at] = root;
    s->found[root] = 1;
    while (begin < end && !wisp__cancelled(s->ctx->team)) {
        s->begin[s->levels++] = begin;
        int64_t tail = end;
        for (int64_t i = begin; i < end; i++) {
            const int64_t before = tail;
            tail = find_neighbours(s, i, tail);
            by_length(s, before, tail);
        }
        begin = end;
        end = tail;
    }
    return end;
}

wisp_status wisp__level_search_run(search *s, const int32_t *part, int64_t n, int64_t start, int32_t *row)
{
    int64_t at = 0;
    s->queue = row;
    s->levels = 0;
    for (int64_t i = 0; i < n; i++) s->found[part ? part[i] : i] = 0;
    if (start >= 0) at = find_levels(s, (int32_t)start, at);
    for (int64_t i = 0; i < n && !wisp__cancelled(s->ctx->team); i++) {
        const int32_t r = part ? part[i] : (int32_t)i;
        if (!s->found[r]) at = find_levels(s, peripheral(s, r, at), at);
        /* In an unsymmetric pattern what a row leads to need not lead back. */
        if (!s->found[r]) at = find_levels(s, r, at);
    }
    s->begin[s->levels] = at;
    return wisp__whole(s->ctx, "ordering", at == n);
}

/* Turns the order round, levels and all. */
static void reverse(search *s, int64_t rows, wisp__levels *v)
{
    v->levels = s->levels;
    for (int64_t i = 0, j = rows - 1; i < j; i++, j--) {
        const int32_t t = v->row[i];
        v->row[i] = v->row[j];
        v->row[j] = t;
    }
    for (int64_t i = 0, j = v->levels; i <= j; i++, j--) {
        const int64_t t = rows - s->begin[i];
        s->begin[i] = rows - s->begin[j];
        s->begin[j] = t;
    }
    for (int64_t i = 0; i < rows; i++) v->place[v->row[i]] = (int32_t)i;
    for (int64_t l = 0; l < v->levels; l++) v->widest = WISP__MAX(v->widest, s->begin[l + 1] - s->begin[l]);
}

wisp_status wisp__levels_rcm(wisp_ctx *ctx, const wisp__graph *graph, wisp__levels *v)
{
    const int64_t rows = graph->rows;
    search s;
    wisp_status status;
    *v = (wisp__levels){0};
    WISP_TRY(wisp__level_search_open(ctx, graph, &s));
    WISP_TRY(wisp__alloc_raw(ctx, &v->row, (size_t)rows, sizeof *v->row));
    WISP_TRY(wisp__alloc_raw(ctx, &v->place, (size_t)rows, sizeof *v->place));
    WISP_TRY(wisp__level_search_run(&s, NULL, rows, -1, v->row));
    v->begin = s.begin;
    reverse(&s, rows, v);
    s.begin = NULL;
out:
    wisp__level_search_close(&s);
    return status;
}
