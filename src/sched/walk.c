/* Walks: orders in which the groups of a schedule begin. By rows, as they are stored, in slices; or by levels of the
   groups' graph, cut where they are too bulky. */
#include "cascade.h"
#include "../order/order.h"
#include <math.h>
#include <string.h>

typedef wisp__groups plan;

/* ---- by rows --------------------------------------------------------------------------------- */

/* How far, in groups, nearly all neighbours are; those that wrap around stay outside. */
static wisp_status find_reach(const plan *p, int64_t *reach)
{
    int64_t *count, pairs = 0, sum = 0;
    wisp_status status = wisp_alloc(p->ctx, &count, (size_t)p->groups, sizeof *count);
    if (status != WISP_OK) return status;
    for (int64_t g = 0; g < p->groups; g++)
        for (int64_t e = p->graph.begin[g] + 1; e < p->graph.begin[g + 1]; e++) {
            const int64_t d = p->graph.neighbour[e] - g;
            count[d < 0 ? -d : d]++;
            pairs++;
        }
    *reach = 0;
    while (*reach + 1 < p->groups && (double)sum < p->tuned->schedule.reach * (double)pairs) sum += count[++*reach];
    *reach = WISP__MAX(*reach, 1);
    wisp_free(p->ctx, count);
    return status;
}

/* Levels of `reach` groups in that many slices, one after the other. */
static wisp_status walk_rows(const plan *p, const wisp__walk_way *way)
{
    wisp__levels v = {0};
    wisp_status status;
    WISP_TRY(wisp__levels_natural(p->ctx, p->groups, way->reach, &v));
    WISP_TRY(wisp__tiles_visit(p->ctx, &v, p->groups, way->slices, 1, p->walk));
out:
    wisp__levels_free(p->ctx, &v);
    return status;
}

/* ---- by levels ------------------------------------------------------------------------------- */

static double group_bytes(const plan *p) { return 2 * p->vector_bytes + p->matrix_bytes; }

typedef struct {
    const plan *p;
    const wisp__walk_way *way;
    wisp__level_search search;
    int32_t *spare; /* [groups] */
    int64_t parts;
} cutter;

/* The most groups that steps + 2 levels in a row have, of those found last. */
static int64_t bulk(const cutter *c)
{
    const wisp__level_search *s = &c->search;
    int64_t most = 0;
    for (int64_t l = 0; l < s->levels; l++) {
        const int64_t end = WISP__MIN(l + c->p->steps + 2, s->levels);
        most = WISP__MAX(most, s->begin[end] - s->begin[l]);
    }
    return most;
}

/* An end of the widest place of the levels found last, whose groups are in spare: from there levels run across them.
   Two levels together, for those of a lattice are not connected in themselves. Overwrites part, and those levels. */
static wisp_status across(cutter *c, int32_t *part, int32_t *start)
{
    wisp__level_search *s = &c->search;
    int64_t widest = 0, begin = 0, n = 0;
    for (int64_t l = 0; l < s->levels; l++) {
        const int64_t end = WISP__MIN(l + 2, s->levels), size = s->begin[end] - s->begin[l];
        if (size <= widest) continue;
        widest = n = size;
        begin = s->begin[l];
    }
    wisp_status status = wisp__level_search_run(s, c->spare + begin, n, -1, part);
    *start = part[0];
    return status;
}

/* Puts the groups part[n] in their order. */
static wisp_status walk_part(cutter *c, int32_t *part, int64_t n, int depth)
{
    enum { DEEPEST = 12, MOST_PIECES = 32 };
    wisp__level_search *s = &c->search;
    int64_t at[MOST_PIECES + 1];
    int32_t start;
    wisp_status status;
    WISP_TRY(wisp__level_search_run(s, part, n, -1, c->spare));
    const double times = ceil((double)bulk(c) * group_bytes(c->p) / c->way->most);
    int64_t pieces = (int64_t)WISP__MIN(times, WISP__MIN(c->way->pieces, MOST_PIECES));
    if (pieces > 1 && depth < DEEPEST) {
        WISP_TRY(across(c, part, &start));
        WISP_TRY(wisp__level_search_run(s, c->spare, n, start, part));
        pieces = WISP__MIN(pieces, s->levels);
    }
    if (pieces <= 1 || depth == DEEPEST) {
        memcpy(part, c->spare, (size_t)n * sizeof *part);
        c->parts++;
        return status;
    }
    for (int64_t i = 0; i <= pieces; i++) at[i] = s->begin[s->levels * i / pieces];
    for (int64_t i = 0; i < pieces; i++) WISP_TRY(walk_part(c, part + at[i], at[i + 1] - at[i], depth + 1));
out:
    return status;
}

static wisp_status walk_levels(const plan *p, const wisp__walk_way *way, int64_t *parts)
{
    cutter c = {.p = p, .way = way};
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(p->ctx, &c.spare, (size_t)p->groups, sizeof *c.spare));
    WISP_TRY(wisp__level_search_open(p->ctx, &p->graph, &c.search));
    for (int64_t g = 0; g < p->groups; g++) p->walk[g] = (int32_t)g;
    WISP_TRY(walk_part(&c, p->walk, p->groups, 0));
    *parts = c.parts;
out:
    wisp__level_search_close(&c.search);
    wisp_free(p->ctx, c.spare);
    return status;
}

/* ---- which of them --------------------------------------------------------------------------- */

/* By rows in slices of which as many levels as there are steps, and two, fit the cache, and in some more or fewer; by
   whole levels, and by such as are cut until they fit it, or half of it, at once or by halves. */
wisp_status wisp__walk_ways(const plan *p, wisp__walk_way way[WISP__WALK_WAYS], int *n)
{
    enum { BY_ROWS = 5 };
    static const double most[] = {INFINITY, 1, 1, 0.5, 0.5};
    static const int pieces[] = {1, 2, INT32_MAX, 2, INT32_MAX};
    int64_t reach, before = 0;
    wisp_status status = find_reach(p, &reach);
    if (status != WISP_OK) return status;
    const double wanted = (double)reach * group_bytes(p) * (p->steps + 2) / p->budget;
    *n = 0;
    for (int i = 0; i < BY_ROWS; i++) {
        int64_t slices = i == 0 ? 1 : (int64_t)(wanted * (1 << (i - 1)) / 2 + 0.5);
        slices = WISP__MIN(WISP__MAX(slices, 1), reach);
        if (slices != before) way[(*n)++] = (wisp__walk_way){.reach = reach, .slices = slices};
        before = slices;
    }
    for (size_t i = 0; i < sizeof most / sizeof most[0]; i++)
        way[(*n)++] = (wisp__walk_way){.by_levels = true, .most = most[i] * p->budget, .pieces = pieces[i]};
    return status;
}

wisp_status wisp__walk_make(const plan *p, const wisp__walk_way *way, int64_t *parts)
{
    *parts = way->slices;
    return way->by_levels ? walk_levels(p, way, parts) : walk_rows(p, way);
}
