/* A schedule of interleaved steps, for one matrix, width and number of steps.

   A group may do step k + 1 when it and all its neighbours have done step k: then all that it reads is there, and the
   vector that it overwrites has been read. So groups are walked in an order that suits the caches, each doing its first
   step. After each task any neighbour that has become ready goes on, last in, first out (with several threads, one task
   later): rows are used again while they are near. This is the cascade; it asks nothing of the graph.

   Where each level of the graph is a group, and levels are walked one after the other, it is, task by task with one
   thread, the diagonal wavefront of level-based blocking (Alappat et al. 2022): step 0 of level l, step 1 of level
   l - 1, and so on. On finer groups the front is the same, but a level need not be whole before its neighbours go on.
   On a stencil in slices it is time skewing. Which walk is best is found by running each through a model of the cache.
 */
#include "cascade.h"
#include <math.h>
#include <string.h>

/* ---- groups ---------------------------------------------------------------------------------- */

typedef wisp__groups plan;

static wisp_status merge_blocks(plan *p, const wisp_mat *A, const wisp__graph *s)
{
    wisp__graph *graph = &p->graph;
    const int64_t blocks = A->grid.blocks, n = p->groups;
    int32_t *mark = NULL;
    int64_t at = 0;
    wisp_status status;
    WISP_TRY(wisp_alloc(p->ctx, &mark, (size_t)n, sizeof *mark));
    graph->rows = n;
    WISP_TRY(wisp__alloc_raw(p->ctx, &graph->begin, (size_t)n + 1, sizeof *graph->begin));
    WISP_TRY(wisp__alloc_raw(p->ctx, &graph->neighbour, (size_t)(s->begin[blocks] + n), sizeof *graph->neighbour));
    for (int64_t g = 0; g < n; g++) {
        graph->begin[g] = at;
        graph->neighbour[at++] = (int32_t)g;
        mark[g] = (int32_t)(g + 1);
        const int64_t last = WISP__MIN(blocks, (g + 1) * p->group_blocks);
        for (int64_t e = s->begin[g * p->group_blocks]; e < s->begin[last]; e++) {
            const int64_t to = s->neighbour[e] / p->group_blocks;
            if (mark[to] == g + 1) continue;
            mark[to] = (int32_t)(g + 1);
            graph->neighbour[at++] = (int32_t)to;
        }
    }
    graph->begin[n] = at;
out:
    wisp_free(p->ctx, mark);
    return status;
}

/* ---- a schedule ------------------------------------------------------------------------------ */

typedef struct {
    wisp__task *task; /* [groups * steps] */
    int64_t tasks;
    int64_t top;        /* of the stack of groups that are ready for their next step */
    int64_t wave_begin; /* the first task of the wave, where there are waves: its tasks don't wait for each other */
} schedule;

static bool ready(const plan *p, int32_t g)
{
    if (p->step[g] == 0 || p->step[g] == p->steps) return false;
    for (int64_t e = p->graph.begin[g] + 1; e < p->graph.begin[g + 1]; e++)
        if (p->step[p->graph.neighbour[e]] < p->step[g]) return false;
    return true;
}

/* The next step of g; what it waited for last was task `after`. */
static void append(const plan *p, schedule *s, int32_t g, int32_t after)
{
    s->task[s->tasks++] = (wisp__task){.group = g, .step = p->step[g]++, .after = after};
}

/* A group that became ready by the task before is put off for another one, if there is any: else every task would wait
   for the slowest thread of the one before; or by a task of its wave. became[]: the tasks that made them ready; these
   rise. */
static int64_t pick(const plan *p, const schedule *s, const int32_t *became)
{
    const int64_t before = p->wave_groups > 0 ? s->wave_begin : s->tasks - (p->ctx->threads > 1);
    int64_t i = s->top;
    while (i > 0 && became[i - 1] >= before) i--;
    return i - 1;
}

/* Does the first step of g, and whatever has become ready; at the end of the walk, all of it. */
static void advance(const plan *p, schedule *s, int32_t g, bool end)
{
    int32_t *waiting = p->stack + p->groups, *became = waiting + p->groups;
    for (int32_t now = g, after = -1;;) {
        append(p, s, now, after);
        waiting[now] = 0;
        for (int64_t e = p->graph.begin[now]; e < p->graph.begin[now + 1]; e++) {
            const int32_t h = p->graph.neighbour[e];
            if (waiting[h] || !ready(p, h)) continue;
            waiting[h] = 1;
            became[s->top] = (int32_t)s->tasks - 1;
            p->stack[s->top++] = h;
        }
        int64_t i = pick(p, s, became);
        if (i < 0 && end) {
            i = s->top - 1;
            s->wave_begin = s->tasks;
        }
        if (i < 0) return;
        now = p->stack[i];
        after = became[i];
        for (s->top--; i < s->top; i++) {
            p->stack[i] = p->stack[i + 1];
            became[i] = became[i + 1];
        }
    }
}

static void make_schedule(const plan *p, schedule *s)
{
    s->tasks = s->top = 0;
    memset(p->step, 0, (size_t)p->groups * sizeof *p->step);
    memset(p->stack, 0, 3 * (size_t)p->groups * sizeof *p->stack);
    for (int64_t i = 0; i < p->groups && !wisp__cancelled(p->ctx->team); i++) {
        if (p->wave_groups > 0 && i % p->wave_groups == 0) s->wave_begin = s->tasks;
        advance(p, s, p->walk[i], i == p->groups - 1);
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct {
    double now, bytes; /* fetched so far: also the clock */
    double budget;
} cache;

/* How much of what was met before comes from memory, by how much was fetched since: as if whatever is fetched took the
   place of any line with equal chance. So traffic grows smoothly with what the steps in flight hold, well before that
   is all the cache. (Evicting what was used longest ago, exactly, was tried instead: group by group it falls off a
   cliff that real caches do not have; with a clock that moves with what is fetched alone nothing is ever lost from a
   front that is larger than the cache.) Returns the bytes that were fetched. */
static double touch(cache *c, double *when, double bytes)
{
    const double missed = -bytes * expm1((*when - c->now) / c->budget);
    c->bytes += missed;
    c->now += missed;
    *when = c->now;
    return missed;
}

/* One task: *gathered grows by what is not there of the vector that its entries name, *written by what is not there of
   the vector that it overwrites, and that will go back. Returns the former with what is not there of the matrix. */
static double meet(const plan *p, double *when, cache *c, wisp__task t, double *gathered, double *written)
{
    double *x = when + (t.step & 1) * p->groups, *y = when + (~t.step & 1) * p->groups;
    const double before = c->bytes;
    const int64_t begin = p->graph.begin[t.group], end = p->graph.begin[t.group + 1];
    for (int64_t e = begin; e < end; e++) touch(c, x + p->graph.neighbour[e], p->vector_bytes);
    *gathered += c->bytes - before;
    touch(c, when + 2 * p->groups + t.group, p->matrix_bytes);
    const double missed = c->bytes - before;
    *written += touch(c, y + t.group, p->vector_bytes);
    return missed;
}

static void forget(const plan *p, double *when)
{
    for (int64_t i = 0; i < 3 * p->groups; i++) when[i] = -INFINITY;
}

/* Runs a schedule through the model of the cache: bytes from and to memory for each step. Tasks that find nearly all in
   the cache are marked: these run without prefetch, which costs the core much and them nothing. */
static wisp__step_cost simulate(const plan *p, schedule *s)
{
    cache c = {.budget = p->budget};
    double written = 0, gathered = 0;
    forget(p, p->when);
    for (int64_t i = 0; i < s->tasks; i++) {
        const int32_t g = s->task[i].group;
        const double reads = (double)wisp__degree(&p->graph, g) * p->vector_bytes + p->matrix_bytes;
        s->task[i].near = meet(p, p->when, &c, s->task[i], &gathered, &written) <= p->tuned->schedule.near * reads;
    }
    return (wisp__step_cost){.read = c.bytes / p->steps, .written = written / p->steps};
}

/* The same for the second-level caches: bytes that they have lost by then come from the last cache, or from the caches
   of other threads. Tasks that jump from step to step and place to place find less there than a sweep does, whose
   neighbours are those of the rows before; and a group's neighbours were written by all threads, each its part, but in
   a sweep of long ranges. */
static void simulate_near(const plan *p, const schedule *s, const wisp__rates *r, bool ranges, wisp__step_cost *cost)
{
    cache c = {.budget = r->l2_bytes};
    double written = 0, gathered = 0;
    double *when = p->when + 3 * p->groups;
    forget(p, when);
    for (int64_t i = 0; i < s->tasks; i++) meet(p, when, &c, s->task[i], &gathered, &written);
    cost->from_l3 = WISP__MAX(c.bytes / p->steps - cost->read, 0);
    if (!ranges) cost->from_others = WISP__MIN(gathered / p->steps * (1 - 1.0 / p->ctx->threads), cost->from_l3);
    cost->from_l3 -= cost->from_others;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Bytes for each step if everything comes once in all steps. */
static double least_bytes(const plan *p)
{
    return (double)p->groups * (3 * p->vector_bytes + p->matrix_bytes) / p->steps;
}

static double moved(const wisp__step_cost *c) { return c->read + c->written; }

static wisp_status try_way(const plan *p, schedule *s, const wisp__walk_way *way, int64_t *parts, wisp__step_cost *cost)
{
    wisp_status status;
    WISP_TRY(wisp__walk_make(p, way, parts));
    make_schedule(p, s);
    *cost = simulate(p, s);
    status = wisp__whole(p->ctx, "ordering", s->tasks == p->groups * p->steps);
out:
    return status;
}

/* The schedule whose way to walk moves least. The first ways are the plainest; a good enough one ends the search. */
static wisp_status best_schedule(const plan *p, schedule *s, wisp__step_cost *cost)
{
    wisp__walk_way way[WISP__WALK_WAYS];
    int ways, best = 0, last = 0;
    int64_t parts, best_parts = 0;
    wisp_status status;
    WISP_TRY(wisp__walk_ways(p, way, &ways));
    for (int i = 0; i < ways && (i == 0 || moved(cost) > p->tuned->schedule.good_way * least_bytes(p)); i++) {
        wisp__step_cost c;
        WISP_TRY(try_way(p, s, &way[i], &parts, &c));
        wisp_ctx_logf(p->ctx, WISP_LOG_DEBUG, "cascade of %d steps by %s, %lld parts: %.1f MB a step", p->steps,
                      way[i].by_levels ? "levels" : "rows", (long long)parts, 1e-6 * moved(&c));
        last = i;
        if (i > 0 && moved(&c) >= p->tuned->schedule.better_way * moved(cost)) continue;
        *cost = c;
        best = i;
        best_parts = parts;
    }
    if (best != last) WISP_TRY(try_way(p, s, &way[best], &parts, cost));
    wisp_ctx_logf(p->ctx, WISP_LOG_DEBUG,
                  "cascade of %d steps: %lld groups of %lld rows, by %s in %lld parts (%d ways tried); cache %.1f MB",
                  p->steps, (long long)p->groups, (long long)p->group_rows, way[best].by_levels ? "levels" : "rows",
                  (long long)best_parts, last + 1, 1e-6 * p->budget);
out:
    return status;
}

static wisp_status plan_open(plan *p, const wisp_mat *A, const wisp__graph *blocks)
{
    const size_t n = (size_t)p->groups;
    wisp_status status;
    WISP_TRY(merge_blocks(p, A, blocks));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->walk, n, sizeof *p->walk));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->stack, 3 * n, sizeof *p->stack));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->step, n, sizeof *p->step));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->when, 6 * n, sizeof *p->when));
out:
    return status;
}

static void plan_close(plan *p)
{
    void *own[] = {p->walk, p->stack, p->step, p->when};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(p->ctx, own[i]);
    wisp__graph_free(p->ctx, &p->graph);
}

/* Groups of as many blocks as a part of the threads' second-level caches holds, about, with their rows of the matrix.
 */
static void cut_groups(plan *p, const wisp_mat *A, int64_t row_bytes)
{
    const int64_t part = p->tuned->schedule.group_bytes;
    wisp_ctx *ctx = A->ctx;
    const int64_t per = A->grid.chunks_per_block << A->log_c;
    const int64_t matrix_row = wisp__mat_bytes(A, false) / WISP__MAX(A->local_rows, 1);
    p->group_blocks = ctx->threads * WISP__MAX((part + row_bytes * per) / ((2 * row_bytes + matrix_row) * per), 1);
    p->group_rows = p->group_blocks * per;
    p->groups = (A->grid.blocks + p->group_blocks - 1) / p->group_blocks;
    p->vector_bytes = (double)(p->group_rows * row_bytes);
    p->matrix_bytes = (double)wisp__mat_bytes(A, false) / (double)WISP__MAX(A->local_rows, 1) * (double)p->group_rows;
}

/* Groups that begin in a wave, so that the waves of all steps fit the cache. */
static int64_t wave_groups_of(const plan *p)
{
    const double wave =
        p->tuned->schedule.waves * p->budget / ((p->steps + 1) * (2 * p->vector_bytes + p->matrix_bytes));
    return p->tuned->schedule.waves > 0 ? (int64_t)WISP__MIN(WISP__MAX(wave, 1), (double)p->groups) : 0;
}

/* The cost of each step in sweeps one after the other. */
static wisp__step_cost simulate_plain(plan *p, schedule *s, const wisp__facts *f, const wisp__rates *r, int width)
{
    p->steps = 1;
    for (int64_t g = 0; g < p->groups; g++) p->walk[g] = (int32_t)g;
    make_schedule(p, s);
    wisp__step_cost cost = simulate(p, s);
    simulate_near(p, s, r, !wisp__side_by_side(f, width, 2 * (double)p->groups * p->vector_bytes), &cost);
    return cost;
}

/* Times, and why the schedule is of no use, if so: it must save a part of the time, for what the model does not see
   (waiting for each other, what else uses the cache) is in its way alone. */
static wisp_status judge(const wisp_mat *A, const wisp__facts *f, const plan *p, wisp__cascade *c)
{
    wisp__sample sample = {0};
    wisp__shape shape;
    wisp__caches caches;
    wisp__comings x;
    wisp__core_work core;
    wisp_status status;
    WISP_TRY(wisp__shape_of(A, &sample, &shape));
    WISP_TRY(wisp__shape_comings(A->ctx, f, &shape, c->type, c->width, &caches, &x));
    WISP_TRY(wisp__core_work_find(A->ctx, f, &shape, c->type, c->width, &x, &caches, &core));
    c->step.seconds = wisp__step_seconds(f->tuned, &c->step, &core, &c->rates);
    c->plain.seconds = wisp__step_seconds(f->tuned, &c->plain, &core, &c->rates);
    c->why = (double)p->groups * (2 * p->vector_bytes + p->matrix_bytes) <= p->budget
                 ? "matrix and blocks fit the cache"
             : c->step.seconds < f->tuned->schedule.useful * c->plain.seconds ? NULL
             : moved(&c->step) < f->tuned->schedule.moves * moved(&c->plain)
                 ? "the cores and what comes from the cache take the time"
                 : "rows reach too far for the cache";
out:
    wisp__sample_close(&sample, A->ctx);
    return status;
}

wisp_status wisp__cascade_make(const wisp_mat *A, const wisp__block_graph *g, wisp__cascade *c)
{
    wisp_ctx *ctx = A->ctx;
    const wisp__facts facts = wisp__facts_of(ctx);
    plan p = {.ctx = ctx, .tuned = facts.tuned, .steps = c->steps, .budget = c->budget};
    schedule s = {0}, plain = {0};
    wisp_status status = WISP_OK;
    cut_groups(&p, A, c->row_bytes);
    p.wave_groups = wave_groups_of(&p);
    c->why = g->far                                    ? "rows have neighbours everywhere"
             : p.groups < facts.tuned->schedule.fewest ? "the matrix has too few rows"
             : p.groups > INT32_MAX / p.steps          ? "there are too many tasks"
                                                       : NULL;
    if (c->why) return status;
    WISP_TRY(plan_open(&p, A, &g->graph));
    WISP_TRY(wisp__alloc_raw(ctx, &s.task, (size_t)(p.groups * p.steps), sizeof *s.task));
    WISP_TRY(best_schedule(&p, &s, &c->step));
    simulate_near(&p, &s, &c->rates, false, &c->step);
    WISP_TRY(wisp__alloc_raw(ctx, &plain.task, (size_t)p.groups, sizeof *plain.task));
    c->plain = simulate_plain(&p, &plain, &facts, &c->rates, c->width);
    WISP_TRY(wisp__whole(ctx, "ordering", plain.tasks == p.groups));
    WISP_TRY(judge(A, &facts, &p, c));
    c->schedule = (wisp__schedule){s.task, s.tasks, p.group_blocks};
    s.task = NULL;
out:
    wisp_free(ctx, s.task);
    wisp_free(ctx, plain.task);
    plan_close(&p);
    return status;
}
