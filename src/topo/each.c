/* Loops whose ranges the threads of a team share (wisp__team_each, wisp_ctx_each). */
#include "team.h"

typedef struct {
    wisp__each_fn fn;
    void *arg;
    int64_t n, unit;
    wisp__shares shares;
} each_run;

static void each_part(void *arg, int part, int parts)
{
    each_run *r = arg;
    (void)parts;
    for (int64_t u; (u = wisp__share_next(&r->shares, part)) >= 0;)
        r->fn(r->arg, u * r->unit, WISP__MIN((u + 1) * r->unit, r->n), part);
}

void wisp__team_each(wisp__team *team, int64_t n, int64_t unit, wisp__each_fn fn, void *arg)
{
    each_run r;
    const int64_t units = (n + unit - 1) / unit;
    const int shares = (int)WISP__MIN(WISP__MIN(team->threads, WISP__MOST_SHARES), WISP__MAX(units, 1));
    r.fn = fn, r.arg = arg, r.n = n, r.unit = unit, r.shares.count = shares;
    for (int i = 0; i < shares; i++)
        wisp__share_set(&r.shares, i, wisp__split(units, shares, i), wisp__split(units, shares, i + 1));
    wisp__run_some(team, units <= 1, each_part, &r);
}

typedef struct {
    wisp_each_fn fn;
    void *arg;
} public_each;

static void call_each(void *arg, int64_t begin, int64_t end, int part)
{
    const public_each *e = arg;
    for (int64_t i = begin; i < end; i++) e->fn(e->arg, i, part);
}

wisp_status wisp_ctx_each(wisp_ctx *ctx, int64_t n, wisp_each_fn fn, void *arg)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, fn);
    wisp__team_each(ctx->team, n, WISP__MAX(1, n >> 30), call_each, &(public_each){fn, arg}); /* counted in 32 bits */
    return WISP_OK;
}
