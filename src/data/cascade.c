/* Orders of (group of rows, step). A group may do step k + 1 when it and all its neighbours have done step k: then
   what it reads is there, and what it overwrites (the vector before) has been read. So groups are walked in an order
   that suits the caches, doing their first step, and after each task whatever neighbour has become ready goes on, last
   in, first out: rows are used again while they are near. On a chain of levels this is the diagonal wavefront of
   level-based blocking (Alappat et al. 2022), on a stencil time skewing; nothing is asked of the graph.
   Which walk is best is found by following the groups through a model of the cache. */
#include "cascade.h"
#include "order.h"
#include <string.h>

struct wisp__cascades {
    pthread_mutex_t lock;
    bool known, far;    /* the graph was made; it has too many entries */
    int64_t *begin;     /* [blocks + 1] */
    int32_t *neighbour; /* of blocks of rows, in both directions, some twice */
    wisp__cascade *first;
};

wisp_status wisp__cascades_open(wisp_mat *A)
{
    wisp_status status = wisp_alloc(A->ctx, &A->cascades, 1, sizeof *A->cascades);
    if (status == WISP_OK) pthread_mutex_init(&A->cascades->lock, NULL);
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
    wisp_free(A->ctx, s->begin);
    wisp_free(A->ctx, s->neighbour);
    pthread_mutex_destroy(&s->lock);
    wisp_free(A->ctx, s);
}

/* ---- the graph of blocks --------------------------------------------------------------------- */

typedef struct {
    const wisp_mat *A;
    int64_t *begin; /* counts, then places */
    int32_t *neighbour, *mark;
    bool fill;
} graph_run;

static void look_at_blocks(void *arg, int thread, int threads)
{
    const graph_run *r = arg;
    const wisp_mat *A = r->A;
    const int64_t blocks = A->grid.blocks, per = A->grid.chunks_per_block << A->log_c;
    int32_t *mark = r->mark + thread * blocks;
    const int64_t end = wisp__split(blocks, threads, thread + 1);
    for (int64_t b = wisp__split(blocks, threads, thread); b < end; b++) {
        int64_t n = r->fill ? r->begin[b] : 0;
        for (int64_t row = b * per; row < WISP__MIN(A->rows, (b + 1) * per); row++) {
            const int len = wisp__row_len(&A->local, row);
            int64_t low = 0, high = 0; /* rows of the block of the entry before */
            for (int k = 0; k < len; k++) {
                const int64_t col = wisp__entry_col(A, row, k);
                if (col >= low && col < high) continue;
                const int64_t to = col / per;
                low = to * per;
                high = low + per;
                if (to == b || mark[to] == b + 1) continue;
                mark[to] = (int32_t)(b + 1);
                if (r->fill) r->neighbour[n] = (int32_t)to;
                n++;
            }
        }
        if (!r->fill) r->begin[b + 1] = n;
    }
}

/* Neighbours both ways: what leads to a block is added behind what it leads to. */
static wisp_status add_transposed(const wisp_mat *A, int64_t **begin, int32_t **neighbour)
{
    const int64_t blocks = A->grid.blocks, *b = *begin, entries = b[blocks];
    int64_t *both = NULL;
    int32_t *to = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(A->ctx, &both, (size_t)blocks + 2, sizeof *both));
    WISP_TRY(wisp__alloc_raw(A->ctx, &to, (size_t)WISP__MAX(2 * entries, 1), sizeof *to));
    for (int64_t i = 0; i < blocks; i++) {
        both[i + 2] += b[i + 1] - b[i];
        for (int64_t e = b[i]; e < b[i + 1]; e++) both[(*neighbour)[e] + 2]++;
    }
    for (int64_t i = 0; i < blocks; i++) both[i + 2] += both[i + 1];
    for (int64_t i = 0; i < blocks; i++)
        for (int64_t e = b[i]; e < b[i + 1]; e++) {
            const int32_t j = (*neighbour)[e];
            to[both[i + 1]++] = j;
            to[both[j + 1]++] = (int32_t)i;
        }
    wisp_free(A->ctx, *begin);
    wisp_free(A->ctx, *neighbour);
    *begin = both;
    *neighbour = to;
    both = NULL;
out:
    wisp_free(A->ctx, both);
    return status;
}

static wisp_status find_graph(const wisp_mat *A, struct wisp__cascades *s)
{
    enum { MOST_NEIGHBOURS = 96 }; /* of a block, on average; beyond, everything is next to everything */
    wisp_ctx *ctx = A->ctx;
    const int64_t blocks = A->grid.blocks;
    graph_run r = {.A = A};
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &r.begin, (size_t)blocks + 1, sizeof *r.begin));
    WISP_TRY(wisp_alloc(ctx, &r.mark, (size_t)(ctx->threads * blocks), sizeof *r.mark));
    wisp__team_run(ctx, look_at_blocks, &r);
    for (int64_t i = 0; i < blocks; i++) r.begin[i + 1] += r.begin[i];
    s->far = s->known = r.begin[blocks] > MOST_NEIGHBOURS * blocks;
    if (s->far) goto out;
    WISP_TRY(wisp__alloc_raw(ctx, &r.neighbour, (size_t)WISP__MAX(r.begin[blocks], 1), sizeof *r.neighbour));
    memset(r.mark, 0, (size_t)(ctx->threads * blocks) * sizeof *r.mark);
    r.fill = true;
    wisp__team_run(ctx, look_at_blocks, &r);
    WISP_TRY(add_transposed(A, &r.begin, &r.neighbour));
    s->known = true;
    s->begin = r.begin;
    s->neighbour = r.neighbour;
    r.begin = NULL;
    r.neighbour = NULL;
out:
    wisp_free(ctx, r.begin);
    wisp_free(ctx, r.neighbour);
    wisp_free(ctx, r.mark);
    return status;
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct {
    wisp_ctx *ctx;
    int64_t groups, group_blocks, group_rows;
    int64_t *begin; /* [groups + 1] neighbours, the group itself first */
    int32_t *neighbour;
    double vector_bytes, matrix_bytes; /* of a group */
    double budget;                     /* of the cache */
    int steps;
    /* For making and following an order: */
    int32_t *walk, *stack, *step, *done; /* done[groups][steps]: the task that did it */
    double *when;                        /* [3][groups]: v of even and odd steps, matrix */
} plan;

static wisp_status merge_blocks(plan *p, const wisp_mat *A, const struct wisp__cascades *s)
{
    const int64_t blocks = A->grid.blocks, n = p->groups;
    int32_t *mark = NULL;
    int64_t at = 0;
    wisp_status status;
    WISP_TRY(wisp_alloc(p->ctx, &mark, (size_t)n, sizeof *mark));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->begin, (size_t)n + 1, sizeof *p->begin));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->neighbour, (size_t)(s->begin[blocks] + n), sizeof *p->neighbour));
    for (int64_t g = 0; g < n; g++) {
        p->begin[g] = at;
        p->neighbour[at++] = (int32_t)g;
        mark[g] = (int32_t)(g + 1);
        const int64_t last = WISP__MIN(blocks, (g + 1) * p->group_blocks);
        for (int64_t e = s->begin[g * p->group_blocks]; e < s->begin[last]; e++) {
            const int64_t to = s->neighbour[e] / p->group_blocks;
            if (mark[to] == g + 1) continue;
            mark[to] = (int32_t)(g + 1);
            p->neighbour[at++] = (int32_t)to;
        }
    }
    p->begin[n] = at;
out:
    wisp_free(p->ctx, mark);
    return status;
}

/* How far, in groups, nearly all neighbours are; those that wrap around stay outside. */
static wisp_status find_reach(const plan *p, int64_t *reach)
{
    const double nearly_all = 0.95;
    int64_t *count, pairs = 0, sum = 0;
    wisp_status status = wisp_alloc(p->ctx, &count, (size_t)p->groups, sizeof *count);
    if (status != WISP_OK) return status;
    for (int64_t g = 0; g < p->groups; g++)
        for (int64_t e = p->begin[g] + 1; e < p->begin[g + 1]; e++) {
            const int64_t d = p->neighbour[e] - g;
            count[d < 0 ? -d : d]++;
            pairs++;
        }
    *reach = 0;
    while (*reach + 1 < p->groups && (double)sum < nearly_all * (double)pairs) sum += count[++*reach];
    wisp_free(p->ctx, count);
    return status;
}

/* ---- an order -------------------------------------------------------------------------------- */

typedef struct {
    wisp__task *task; /* [groups * steps] */
    int64_t tasks;
} order;

static bool ready(const plan *p, int32_t g)
{
    if (p->step[g] == 0 || p->step[g] == p->steps) return false;
    for (int64_t e = p->begin[g] + 1; e < p->begin[g + 1]; e++)
        if (p->step[p->neighbour[e]] < p->step[g]) return false;
    return true;
}

static void append(const plan *p, order *o, int32_t g)
{
    const int32_t k = p->step[g];
    int32_t after = -1;
    for (int64_t e = p->begin[g]; k > 0 && e < p->begin[g + 1]; e++) {
        const int32_t done = p->done[(int64_t)p->neighbour[e] * p->steps + k - 1];
        after = WISP__MAX(after, done);
    }
    p->done[(int64_t)g * p->steps + k] = (int32_t)o->tasks;
    o->task[o->tasks++] = (wisp__task){g, k, after};
    p->step[g]++;
}

/* Does the next step of g, and whatever becomes ready by it. */
static void advance(const plan *p, order *o, int32_t g)
{
    int64_t top = 0;
    int32_t *waiting = p->stack + p->groups; /* [groups] whether it is on the stack */
    for (p->stack[top++] = g; top > 0;) {
        const int32_t now = p->stack[--top];
        waiting[now] = 0;
        append(p, o, now);
        for (int64_t e = p->begin[now]; e < p->begin[now + 1]; e++) {
            const int32_t h = p->neighbour[e];
            if (waiting[h] || !ready(p, h)) continue;
            waiting[h] = 1;
            p->stack[top++] = h;
        }
    }
}

static void make_order(const plan *p, order *o)
{
    o->tasks = 0;
    memset(p->step, 0, (size_t)p->groups * sizeof *p->step);
    memset(p->stack, 0, 2 * (size_t)p->groups * sizeof *p->stack);
    for (int64_t i = 0; i < p->groups; i++) advance(p, o, p->walk[i]);
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct {
    double now, bytes; /* fetched so far: also the clock */
    double budget;
} cache;

/* What was not met while so much was fetched as the cache holds comes from memory. `times`: 2 if it goes back, too. */
static void touch(cache *c, double *when, double bytes, double times)
{
    if (c->now - *when > c->budget) {
        c->bytes += times * bytes;
        c->now += bytes;
    }
    *when = c->now;
}

/* Bytes from and to memory for each step. */
static double follow(const plan *p, const order *o)
{
    cache c = {.budget = p->budget};
    for (int64_t i = 0; i < 3 * p->groups; i++) p->when[i] = -2 * p->budget;
    for (int64_t i = 0; i < o->tasks; i++) {
        const wisp__task t = o->task[i];
        double *x = p->when + (t.step & 1) * p->groups, *y = p->when + (~t.step & 1) * p->groups;
        for (int64_t e = p->begin[t.group]; e < p->begin[t.group + 1]; e++)
            touch(&c, x + p->neighbour[e], p->vector_bytes, 1);
        touch(&c, y + t.group, p->vector_bytes, 2);
        touch(&c, p->when + 2 * p->groups + t.group, p->matrix_bytes, 1);
    }
    return c.bytes / p->steps;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Levels of `reach` groups in that many slices, one after the other. */
static wisp_status try_walk(const plan *p, order *o, int64_t reach, int64_t slices, double *bytes)
{
    wisp__levels v = {0};
    wisp_status status;
    WISP_TRY(wisp__levels_natural(p->ctx, p->groups, reach, &v));
    WISP_TRY(wisp__tiles_visit(p->ctx, &v, p->groups, slices, 1, p->walk));
    make_order(p, o);
    *bytes = follow(p, o);
out:
    wisp__levels_free(p->ctx, &v);
    return status;
}

/* Slices of which as many levels as there are steps, and two, fit the cache; and some more or fewer. */
static wisp_status best_order(const plan *p, order *o, double *bytes)
{
    enum { TRIES = 5 };
    int64_t reach, best = 1;
    wisp_status status;
    WISP_TRY(find_reach(p, &reach));
    reach = WISP__MAX(reach, 1);
    const double level = (double)reach * (2 * p->vector_bytes + p->matrix_bytes);
    const double wanted = level * (p->steps + 2) / p->budget;
    *bytes = -1;
    int64_t before = 0, slices = 1, last = 1;
    for (int i = 0; i < TRIES; i++, before = slices) {
        slices = i == 0 ? 1 : (int64_t)(wanted * (1 << (i - 1)) / 2 + 0.5);
        slices = WISP__MIN(WISP__MAX(slices, 1), reach);
        if (slices == before) continue;
        double b;
        WISP_TRY(try_walk(p, o, reach, slices, &b));
        last = slices;
        if (*bytes >= 0 && b >= *bytes) continue;
        *bytes = b;
        best = slices;
    }
    if (best != last) WISP_TRY(try_walk(p, o, reach, best, bytes));
    wisp_ctx_log(p->ctx, WISP_LOG_DEBUG,
                 "cascade of %d steps: %lld groups of %lld rows, reach %lld groups, %lld slices", p->steps,
                 (long long)p->groups, (long long)p->group_rows, (long long)reach, (long long)best);
out:
    return status;
}

static wisp_status plan_open(plan *p, const wisp_mat *A, const struct wisp__cascades *s)
{
    const size_t n = (size_t)p->groups;
    wisp_status status;
    WISP_TRY(merge_blocks(p, A, s));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->walk, n, sizeof *p->walk));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->stack, 2 * n, sizeof *p->stack));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->step, n, sizeof *p->step));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->done, n * (size_t)p->steps, sizeof *p->done));
    WISP_TRY(wisp__alloc_raw(p->ctx, &p->when, 3 * n, sizeof *p->when));
out:
    return status;
}

static void plan_close(plan *p)
{
    void *own[] = {p->begin, p->neighbour, p->walk, p->stack, p->step, p->done, p->when};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(p->ctx, own[i]);
}

/* Groups of as many blocks as a part of the threads' second-level caches holds. (topi 100x100x40, width 8, depth 4:
   1.23 times plain sweeps with 128 KB, 1.31 with 256 KB, 1.33 with 512 KB; width 16: 0.67, 0.99, 0.94.) */
static void cut_groups(plan *p, const wisp_mat *A, int64_t row_bytes)
{
    enum { PART = 256 << 10 };
    wisp_ctx *ctx = A->ctx;
    wisp__caches caches;
    const int64_t per = A->grid.chunks_per_block << A->log_c;
    p->group_blocks = ctx->threads * WISP__MAX(PART / (2 * row_bytes * per), 1);
    p->group_rows = p->group_blocks * per;
    p->groups = (A->grid.blocks + p->group_blocks - 1) / p->group_blocks;
    p->vector_bytes = (double)(p->group_rows * row_bytes);
    p->matrix_bytes = (double)wisp__mat_bytes(A, false) / (double)WISP__MAX(A->rows, 1) * (double)p->group_rows;
    wisp__caches_find(ctx, ctx->threads > 1 ? 64 : 1, &caches); /* threads work side by side */
    p->budget = 0.6 * caches.l3;
}

static wisp_status make(const wisp_mat *A, const struct wisp__cascades *s, int64_t row_bytes, int steps,
                        wisp__cascade *c)
{
    enum { FEWEST = 4 };
    const double worth_it = 0.85; /* of the bytes: waiting for one another costs the threads something */
    wisp_ctx *ctx = A->ctx;
    plan p = {.ctx = ctx, .steps = steps};
    order o = {0};
    wisp_status status = WISP_OK;
    *c = (wisp__cascade){.steps = steps, .row_bytes = row_bytes};
    cut_groups(&p, A, row_bytes);
    if (s->far || p.groups < FEWEST || p.groups * steps > INT32_MAX) return status;
    WISP_TRY(plan_open(&p, A, s));
    WISP_TRY(wisp__alloc_raw(ctx, &o.task, (size_t)(p.groups * steps), sizeof *o.task));
    WISP_TRY(best_order(&p, &o, &c->bytes));
    c->schedule = (wisp__schedule){o.task, o.tasks, p.group_blocks};
    o.task = NULL;
    p.steps = 1;
    WISP_TRY(wisp__alloc_raw(ctx, &o.task, (size_t)p.groups, sizeof *o.task));
    for (int64_t g = 0; g < p.groups; g++) p.walk[g] = (int32_t)g;
    make_order(&p, &o);
    c->plain_bytes = follow(&p, &o);
    c->useful = c->bytes < worth_it * c->plain_bytes;
    wisp_ctx_log(ctx, WISP_LOG_DEBUG, "cascade of %d steps: %.0f MB from memory for each, %.0f MB by sweeps", steps,
                 1e-6 * c->bytes, 1e-6 * c->plain_bytes);
out:
    wisp_free(ctx, o.task);
    plan_close(&p);
    return status;
}

wisp_status wisp__cascade_find(const wisp_mat *A, int64_t row_bytes, int steps, const wisp__cascade **out)
{
    struct wisp__cascades *s = A->cascades;
    wisp__cascade *c;
    wisp_status status = WISP_OK;
    *out = NULL;
    if (A->half || steps < 2 || A->map != A->col_map || A->remote.chunks > 0 ||
        (A->ctx->threads > 1 && !A->ctx->one_node))
        return WISP_OK;
    pthread_mutex_lock(&s->lock);
    if (!s->known) WISP_TRY(find_graph(A, s));
    for (c = s->first; c && (c->steps != steps || c->row_bytes != row_bytes);) c = c->next;
    if (!c) {
        WISP_TRY(wisp_alloc(A->ctx, &c, 1, sizeof *c));
        status = make(A, s, row_bytes, steps, c);
        if (status != WISP_OK) {
            cascade_free(A->ctx, c);
            goto out;
        }
        c->next = s->first;
        s->first = c;
    }
    if (c->schedule.tasks > 0) *out = c;
out:
    pthread_mutex_unlock(&s->lock);
    if (status == WISP_ERR_NOMEM) { /* it is a gain, not a need */
        wisp_ctx_log(A->ctx, WISP_LOG_PERF, "no memory to interleave steps; one sweep follows the other");
        status = WISP_OK;
    }
    return status;
}
