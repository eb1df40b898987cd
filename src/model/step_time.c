/* How long a sweep takes: the traffic of memory and of the last cache, and the cores' part; and the width in which a
   number of vectors takes least time. */
#include "model.h"

/* Data that other threads have written are gathered, and the core waits for them. */
double wisp__step_seconds(const wisp__tuned *t, const wisp__step_cost *c, const wisp__core_work *w,
                          const wisp__rates *r)
{
    const double memory = wisp__memory_seconds(t, c->read, c->written, false, 1e-9 * r->memory);
    const double traffic = memory + c->from_l3 / r->l3,
                 core = wisp__core_seconds(t, w, r) + c->from_others / r->exchange;
    return wisp__overlapped(traffic, core, w->late ? t->time.late : w->ahead ? t->time.ahead : t->time.overlap);
}

static const char *limit_of(const wisp__facts *f, const wisp__step_cost *c, const wisp__core_work *w)
{
    const wisp__rates *r = &f->rates;
    const double memory = wisp__memory_seconds(f->tuned, c->read, c->written, false, 1e-9 * r->memory);
    const double cache = c->from_l3 / r->l3, core = wisp__core_seconds(f->tuned, w, r);
    return core >= memory && core >= cache ? "core" : memory >= cache ? "memory" : "cache";
}

/* Steps that are interleaved, if that is faster: rows between the first and the last of them stay in the cache, as many
   levels as steps and one more, so that memory is asked once for all. How it goes in fact is found out when the orders
   of steps are made; here it matters only whether narrow blocks leave room for it. */
static void interleave(const wisp__facts *f, const wisp__shape *m, double row, const wisp__caches *caches,
                       const wisp__core_work *work, wisp__step_cost *c)
{
    const double level = m->sample->reach * (2 * row + m->bytes / m->rows);
    const double near = c->read + c->written + c->from_l3, others = (1 - 1.0 / f->threads) * m->rows * row;
    if (!wisp__may_interleave(f) || (f->threads > 1 && !f->one_node)) return;
    const wisp__step_cost plain = *c;
    for (int depth = 2; depth <= f->tuned->width.deepest && (depth + 1) * level <= caches->kept; depth *= 2) {
        wisp__step_cost p = {.read = plain.read / depth, .written = plain.written / depth, .depth = depth};
        p.from_others = WISP__MIN(others, near - p.read - p.written);
        p.from_l3 = near - p.read - p.written - p.from_others;
        p.seconds = wisp__step_seconds(f->tuned, &p, work, &f->rates);
        p.limit = limit_of(f, &p, work);
        if (p.seconds < f->tuned->width.saves * plain.seconds && p.seconds < c->seconds) *c = p;
    }
}

wisp_status wisp__shape_comings(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int width,
                                wisp__caches *c, wisp__comings *x)
{
    const int64_t row = width * (int64_t)wisp_type_size(type);
    wisp__caches_find(f, width, row, m->rows, c);
    return wisp__comings_find(ctx, f->tuned, m->sample, row, m->bytes / WISP__MAX(m->rows, 1) + (double)row, c, x);
}

wisp_status wisp__sweep_by(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int width,
                           const wisp__caches *caches, const wisp__comings *x, wisp__core_work *work,
                           wisp__step_cost *c)
{
    const double block = m->rows * width * (double)wisp_type_size(type), all = m->bytes + 2 * block;
    const double memory = 1 - wisp__kept_part(all, caches->kept), last = 1 - wisp__kept_part(all, caches->all_l2);
    wisp_status status;
    WISP_TRY(wisp__core_work_find(ctx, f, m, type, width, x, caches, work));
    *c =
        (wisp__step_cost){.read = memory * (m->bytes + block + block * x->last), .written = memory * block, .depth = 1};
    c->from_l3 =
        last * (m->bytes + block + block * x->l2) + f->tuned->time.writing * (last * block - c->written) - c->read;
    c->from_l3 = WISP__MAX(c->from_l3, 0);
    c->from_others = (1 - last) * block * (x->threads - 1);
    c->seconds = wisp__step_seconds(f->tuned, c, work, &f->rates);
    c->limit = limit_of(f, c, work);
out:
    return status;
}

wisp_status wisp__sweep_find(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int width,
                             int64_t steps, wisp__step_cost *c)
{
    wisp__caches caches;
    wisp__comings x;
    wisp__core_work work;
    wisp_status status;
    *c = (wisp__step_cost){.depth = 1, .limit = "core"};
    if (m->rows < 1) return WISP_OK;
    WISP_TRY(wisp__shape_comings(ctx, f, m, type, width, &caches, &x));
    WISP_TRY(wisp__sweep_by(ctx, f, m, type, width, &caches, &x, &work, c));
    if (steps > 1) interleave(f, m, width * (double)wisp_type_size(type), &caches, &work, c);
out:
    return status;
}

/* All of the vectors, in groups of so many. */
static wisp_status groups_find(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type,
                               int64_t vectors, int64_t steps, wisp_choice *c)
{
    wisp__step_cost group = {0}, rest = {0};
    const int64_t left = vectors % c->width;
    wisp_status status;
    WISP_TRY(wisp__sweep_find(ctx, f, m, type, c->width, steps, &group));
    if (left) WISP_TRY(wisp__sweep_find(ctx, f, m, type, (int)left, steps, &rest));
    c->seconds = (double)(vectors / c->width) * group.seconds + rest.seconds;
    c->limit = vectors >= c->width ? group.limit : rest.limit;
    wisp_ctx_logf(ctx, WISP_LOG_DEBUG, "width %d: %.4g s for each step of all columns by the model, limit %s", c->width,
                  c->seconds, c->limit);
out:
    return status;
}

/* Once in a context: what the choices rest on where nothing was measured. */
static void say_assumed(wisp_ctx *ctx, const wisp__facts *f)
{
    char text[WISP_MESSAGE];
    if (!f->rates.assumed) return;
    snprintf(text, sizeof text, "the rates of this machine were not measured: those of %s are assumed",
             f->rates.assumed);
    wisp__log_once(ctx, WISP__ONCE_RATES, WISP_LOG_INFO, text);
}

/* Of widths that take hardly longer than the best one, the narrowest: its blocks take least memory. None is narrower
   than the device asks for, if there are so many vectors. */
wisp_status wisp__width_find(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int64_t vectors,
                             int64_t steps, wisp_choice *choice)
{
    enum { MOST = 32 }; /* powers of two, and one more */
    const int widest = f->tuned->width.widest;
    wisp_choice list[MOST] = {{0}};
    const int most = (int)WISP__MIN(vectors, widest), least = WISP__MIN(f->columns, most);
    int n = 0, best = 0;
    wisp_status status = WISP_OK;
    say_assumed(ctx, f);
    if (choice->width > 0) return groups_find(ctx, f, m, type, vectors, steps, choice);
    for (int w = 1; w <= most; w *= 2)
        if (w >= least) list[n++].width = w;
    if (n == 0 || (vectors <= widest && vectors > list[n - 1].width)) list[n++].width = most;
    for (int i = 0; i < n; i++) {
        WISP_TRY(groups_find(ctx, f, m, type, vectors, steps, &list[i]));
        if (list[i].seconds < list[best].seconds) best = i;
    }
    for (int i = best; i >= 0; i--)
        if (list[i].seconds <= f->tuned->width.hardly * list[best].seconds) *choice = list[i];
out:
    return status;
}
