/* Which order the rows of a new matrix get: candidates from its pattern, judged by a model of time. */
#include "order.h"
#include "../data/store/store.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 24 }; /* candidates; there are fewer */

static const char *const order_name[] = {"", "natural", "RCM", "tiles"};

/* ---- candidates ------------------------------------------------------------------------------ */

typedef struct {
    wisp_order order;
    int from; /* which levels */
    int64_t tiles;
    wisp__traffic traffic;
    wisp_status status;
} candidate;

typedef struct {
    wisp_ctx *ctx;
    wisp_order want;
    const wisp__order_want *asked;
    int64_t rows;
    wisp_type type;
    int width;
    int64_t reach; /* -1: not known */
    bool repeats; /* rows do, as they are numbered: with other numbers they would not, and the matrix be stored whole */
    double entries; /* of a row */
    wisp__facts facts;
    wisp__caches caches;
    wisp__graph graph;
    wisp__levels levels[2]; /* of the natural order, and breadth first */
    candidate list[MOST];
    int n;
} search;

static int64_t row_bytes(const search *s) { return s->width * (int64_t)wisp_type_size(s->type); }

/* The visit of row blocks: some to each slice of a level. */
static wisp_status tiles_make(const search *s, const candidate *c, int32_t **visit, int64_t *visits,
                              int64_t *visit_rows)
{
    const wisp__levels *v = &s->levels[c->from];
    const int64_t strips = v->widest / (c->tiles * s->facts.tuned->order.per_slice * K_STRIP);
    *visit_rows = WISP__MIN(WISP__MAX(strips, 1) * K_STRIP, wisp__rows_per_block(&s->facts.cut, s->rows));
    *visits = (s->rows + *visit_rows - 1) / *visit_rows;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(s->ctx, visit, (size_t)*visits, sizeof **visit));
    WISP_TRY(wisp__tiles_visit(s->ctx, v, s->rows, c->tiles, *visit_rows, *visit));
out:
    return status;
}

static wisp__row row_of(const void *graph, int64_t row)
{
    const wisp__graph *g = graph;
    return (wisp__row){.row = row, .n = (int)wisp__degree(g, row), .columns = {.col = g->neighbour + g->begin[row]}};
}

static wisp_status judge(const search *s, candidate *c)
{
    const wisp__levels *v = &s->levels[c->from];
    wisp__ordered w = {.of = &s->graph, .row = row_of, .rows = s->rows, .entries = s->graph.begin[s->rows]};
    int32_t *visit = NULL;
    wisp_status status = WISP_OK;
    if (c->order != WISP_ROWS_NATURAL) w.user = v->row, w.place = v->place;
    if (c->order == WISP_ROWS_TILES) WISP_TRY(tiles_make(s, c, &visit, &w.visits, &w.visit_rows));
    w.visit = visit;
    WISP_TRY(wisp__ordered_traffic(s->ctx, &w, s->type, s->width, &s->caches, &c->traffic));
out:
    wisp_free(s->ctx, visit);
    return status;
}

typedef struct {
    search *s;
    int first;
    atomic_int taken;
} judge_run;

/* One of those who judge at once. */
static void judge_some(void *arg, int64_t begin, int64_t end, int part)
{
    judge_run *r = arg;
    (void)begin, (void)end, (void)part;
    for (int64_t i; (i = wisp__take(&r->taken, r->first, r->s->n)) >= 0;)
        r->s->list[i].status = judge(r->s, &r->s->list[i]);
}

static int judges_of(const search *s) { return WISP__MIN(s->ctx->threads, s->facts.tuned->order.judges); }

/* Judges the candidates from number `first` on. */
static wisp_status judge_all(search *s, int first)
{
    wisp__team_each(s->ctx->team, judges_of(s), 1, judge_some, &(judge_run){s, first, 0});
    for (int i = first; i < s->n; i++) {
        const candidate *c = &s->list[i];
        if (c->status != WISP_OK) return c->status;
        wisp_ctx_logf(
            s->ctx, WISP_LOG_DEBUG,
            "order %s from %s, %lld slices: %.3g s a sweep, %.2f times x from memory, %.0f bytes a row from L3",
            order_name[c->order], c->from ? "levels" : "rows", (long long)WISP__MAX(c->tiles, 1), c->traffic.seconds,
            c->traffic.excess, c->traffic.from_l3);
    }
    return wisp__cancelled(s->ctx->team) ? wisp_ctx_failf(s->ctx, WISP_ERR_CANCELLED, "cancelled while ordering")
                                         : WISP_OK;
}

static void add(search *s, wisp_order order, int from, int64_t tiles)
{
    if (s->n < MOST) s->list[s->n++] = (candidate){.order = order, .from = from, .tiles = tiles};
}

/* Tiles from slices of which three levels just fit a part of L2 up to those that fit the last cache. */
static void add_tiles(search *s, int from)
{
    if (s->asked->slices > 0) {
        add(s, WISP_ROWS_TILES, from, WISP__MIN(s->asked->slices, s->rows));
        return;
    }
    const wisp__levels *v = &s->levels[from];
    const double matrix = s->entries * (4 + (double)wisp_type_size(s->type)) + 12;
    const double bytes = 2 * (2 * (double)row_bytes(s) + matrix); /* fetched until a level's rows come again */
    const double least = WISP__MAX(s->facts.tuned->order.near_l2 * s->caches.l2 / bytes, K_STRIP),
                 most = s->caches.l3 / bytes;
    const double wanted = (double)v->widest / least;
    if (wanted <= 1 && s->want == WISP_ROWS_DEFAULT) return;
    int64_t tiles = WISP__MAX((int64_t)wanted, 2);
    do add(s, WISP_ROWS_TILES, from, tiles);
    while ((tiles /= 2) > 1 && (double)v->widest / (double)tiles < most);
}

/* The least time; of orders that take hardly more, the plainest (natural, RCM, tiles). */
static const candidate *best(const search *s)
{
    const candidate *least = s->list;
    for (int i = 1; i < s->n; i++)
        if (s->list[i].traffic.seconds < least->traffic.seconds) least = &s->list[i];
    const candidate *b = least;
    for (int i = 0; i < s->n; i++) {
        const candidate *c = &s->list[i];
        if (c->order < b->order && (1 - s->facts.tuned->order.worth_it) * c->traffic.seconds <= least->traffic.seconds)
            b = c;
    }
    return b;
}

/* Rows reach a small part of the matrix: tiles are on rows as they come, unless others are asked for. */
static bool is_banded(const search *s)
{
    if (s->asked->tiles_on) return s->asked->tiles_on == WISP_ROWS_NATURAL;
    return s->reach < s->rows / s->facts.tuned->order.levels;
}

static wisp_status search_orders(search *s)
{
    const bool choose = s->want == WISP_ROWS_DEFAULT, tiles = s->want != WISP_ROWS_RCM;
    const bool banded = is_banded(s);
    wisp_status status = WISP_OK;
    if (choose) add(s, WISP_ROWS_NATURAL, 0, 0);
    if (tiles && banded) {
        WISP_TRY(wisp__levels_natural(s->ctx, s->rows, s->reach, &s->levels[0]));
        add_tiles(s, 0);
    }
    if (choose) WISP_TRY(judge_all(s, 0));
    const int judged = choose ? s->n : 0;
    if (choose && s->repeats && banded) return status;
    if (choose ? best(s)->traffic.seconds > (1 + s->facts.tuned->order.bad) * s->list[0].traffic.least
               : !tiles || !banded) {
        WISP_TRY(wisp__levels_rcm(s->ctx, &s->graph, &s->levels[1]));
        if (choose || !tiles) add(s, WISP_ROWS_RCM, 1, 0);
        if (tiles) add_tiles(s, 1);
    }
    if (s->n - judged > 0 && s->n > 1) WISP_TRY(judge_all(s, judged));
out:
    return status;
}

/* ---- the map --------------------------------------------------------------------------------- */

static wisp_status make_map(search *s, const candidate *c, wisp_map **out)
{
    wisp_map *map;
    wisp_status status;
    WISP_TRY(wisp__map_alone(&map, s->ctx, s->rows));
    map->order = c->order;
    if (c->order == WISP_ROWS_TILES) {
        map->tiles_on = c->from ? WISP_ROWS_RCM : WISP_ROWS_NATURAL;
        map->slices = c->tiles;
    }
    map->user = s->levels[c->from].row;
    map->position = s->levels[c->from].place;
    s->levels[c->from].row = s->levels[c->from].place = NULL;
    if (c->order == WISP_ROWS_TILES) WISP_TRY(tiles_make(s, c, &map->visit, &map->visits, &map->visit_rows));
out:
    if (status != WISP_OK) {
        wisp_map_free(map);
        map = NULL;
    }
    *out = map;
    return status;
}

static void search_close(search *s)
{
    for (int i = 0; i < 2; i++) wisp__levels_free(s->ctx, &s->levels[i]);
    wisp__graph_free(s->ctx, &s->graph);
}

static void log_choice(const search *s, const candidate *c)
{
    const wisp__traffic *t = &c->traffic, *n = &s->list[0].traffic;
    if (s->want != WISP_ROWS_DEFAULT)
        wisp_ctx_logf(s->ctx, WISP_LOG_INFO, "row order: %s, as asked for", order_name[c->order]);
    else
        wisp_ctx_logf(s->ctx, WISP_LOG_INFO,
                      "row order: %s (%d tried); a sweep takes %.3g s by the model, x comes %.2f times from memory; in "
                      "natural order %.3g s, %.2f times",
                      order_name[c->order], s->n, t->seconds, t->excess, n->seconds, n->excess);
}

/* Small enough to stay in the first-level cache. */
static bool near_core(const search *s)
{
    return (double)(s->rows * row_bytes(s)) <= s->facts.tuned->order.near_l1 * s->caches.l1;
}

/* Whether it is plain without the whole pattern that no order is much better than the natural one. */
static wisp_status natural_will_do(search *s, const wisp_src *src, bool *yes)
{
    wisp__sample sample = {0};
    wisp_status status = WISP_OK;
    wisp__traffic t;
    double repeats;
    *yes = near_core(s);
    if (*yes && s->want == WISP_ROWS_DEFAULT) return status;
    WISP_TRY(wisp__sample_source(s->ctx, src, &sample));
    s->reach = (int64_t)ceil(sample.reach);
    const wisp__shape m = wisp__shape_stored(&sample, s->rows, s->type);
    WISP_TRY(wisp__traffic_find(s->ctx, &m, s->width, &s->caches, &t));
    *yes = (1 - s->facts.tuned->order.worth_it) * t.seconds < t.least;
    if (*yes) goto out;
    WISP_TRY(wisp__sample_repeats(s->ctx, &sample, 1, &repeats));
    s->repeats = repeats > s->facts.tuned->order.repeats;
out:
    wisp__sample_close(&sample, s->ctx);
    *yes = *yes && s->want == WISP_ROWS_DEFAULT;
    return status;
}

static void search_open(search *s, wisp_ctx *ctx, int64_t rows, int64_t nnz, const wisp__order_want *want,
                        wisp_type type, int width)
{
    *s = (search){.ctx = ctx,
                  .want = want->order,
                  .asked = want,
                  .rows = rows,
                  .type = type,
                  .width = width,
                  .entries = (double)nnz / (double)rows,
                  .reach = -1};
    s->facts = wisp__facts_of(ctx);
    wisp__caches_find(&s->facts, width, row_bytes(s), (double)rows, &s->caches);
}

wisp_status wisp__order_foresee(wisp__order_plan *p, wisp_ctx *ctx, const wisp_src *src, int64_t nnz,
                                const wisp__order_want *want, wisp_type type, int width)
{
    const int64_t rows = src->rows, blocks = rows / K_STRIP + 2; /* of a visit, and slices, at most */
    search s;
    bool natural;
    wisp_status status = WISP_OK;
    *p = (wisp__order_plan){0};
    if (want->order == WISP_ROWS_NATURAL || rows < 2) return status;
    search_open(&s, ctx, rows, nnz, want, type, width);
    WISP_TRY(natural_will_do(&s, src, &natural));
    if (s.reach >= 0) p->bytes = p->likely = wisp__sample_bytes(src, nnz);
    if (natural) return status;
    const int64_t graph = 4 * nnz + 8 * (rows + 1), breadth_first = (8 + 4 + 4 + 1) * (rows + 1);
    const int64_t judges = judges_of(&s) * (wisp__sample_bytes(src, nnz) + 3 * 4 * blocks);
    p->looks = true;
    p->banded = is_banded(&s);
    p->likely = WISP__MAX(p->likely, graph + judges);
    if (p->banded) p->likely += 8 * (rows / WISP__MAX(s.reach, 1) + 2);
    p->bytes = p->likely + breadth_first;
    if (!p->banded || want->order == WISP_ROWS_RCM) p->likely = p->bytes;
out:
    return status;
}

wisp_status wisp__map_ordered(wisp_map **map, wisp_ctx *ctx, const wisp_src *src, const int32_t *row_len,
                              const wisp__order_want *want, wisp_type type, int width)
{
    const int64_t rows = src->rows;
    search s;
    bool natural = want->order == WISP_ROWS_NATURAL || rows < 2;
    wisp_status status = WISP_OK;
    int64_t nnz = 0;
    *map = NULL;
    if (natural) return wisp__map_alone(map, ctx, rows);
    for (int64_t i = 0; i < rows; i++) nnz += row_len[i];
    search_open(&s, ctx, rows, nnz, want, type, width);
    WISP_TRY(natural_will_do(&s, src, &natural));
    if (natural && s.reach >= 0)
        wisp_ctx_logf(ctx, WISP_LOG_INFO, "row order: natural; most entries are within %lld rows of the diagonal",
                      (long long)s.reach);
    if (!natural) {
        WISP_TRY(wisp__graph_read(ctx, src, row_len, false, &s.graph));
        WISP_TRY(search_orders(&s));
        const candidate *c = best(&s);
        log_choice(&s, c);
        WISP_TRY(make_map(&s, c, map));
    }
out:
    search_close(&s);
    /* An order is a gain, not a need. */
    if (status == WISP_ERR_NOMEM && want->order == WISP_ROWS_DEFAULT) {
        wisp_ctx_logf(ctx, WISP_LOG_PERF, "no memory to look for an order of the rows; they stay as they are");
        natural = true;
        status = WISP_OK;
    }
    return status == WISP_OK && natural ? wisp__map_alone(map, ctx, rows) : status;
}
