/* What a CPU answers to the rooms above. */
#include "../../topo/machine.h"
#include "known.h"
#include "prepare.h"

static double l2_bytes(const wisp_machine *m)
{
    return (double)(m->cache_bytes[WISP_L2] > 0 ? m->cache_bytes[WISP_L2] : 256 << 10);
}

/* Rates that were not measured are those of the CPU that is assumed. */
static wisp__rates rates_of(wisp_ctx *ctx, const wisp_machine *m, int caches)
{
    const double package = 200e9; /* bytes a second of memory, hardly more in any of today */
    const wisp__known *known = ctx->known;
    const double threads = ctx->threads, link = known->group * caches / ctx->cache_ranks;
    pthread_mutex_lock(&ctx->lock);
    wisp__rates r = ctx->rates;
    pthread_mutex_unlock(&ctx->lock);
    if (r.l2_bytes == 0) r.l2_bytes = wisp__cache_count(m, WISP_L2, ctx->threads) * l2_bytes(m);
    if (r.memory == 0) r.assumed = known->name;
    if (r.loads == 0) r.loads = known->loads * threads;
    if (r.l2 == 0) r.l2 = known->l2 * threads;
    if (r.l3 == 0) r.l3 = known->l3 * threads;
    if (r.exchange == 0) r.exchange = r.l3 / 2;
    if (r.memory == 0) r.memory = WISP__MIN(WISP__MIN(known->memory * threads, link), package * m->packages);
    return r;
}

/* Bytes of the last cache that the threads keep, as measured; or what others leave of it, as a rule. */
static double kept_bytes(wisp_ctx *ctx, const wisp_machine *m)
{
    const double left_by_others = 0.6, least = 1 << 20;
    const int64_t kept = atomic_load(&ctx->cache_kept), near = ctx->threads * m->cache_bytes[WISP_L2],
                  last = WISP__MAX(m->cache_bytes[WISP_L3] / ctx->cache_ranks, near);
    return kept > 0 ? (double)kept : WISP__MAX((double)(int64_t)(left_by_others * (double)last), least);
}

void wisp__cpu_facts(wisp_ctx *ctx, wisp__facts *f)
{
    const wisp_machine *m = wisp__topology(ctx);
    const wisp_level last = m->cache_bytes[WISP_L3] > 0 ? WISP_L3 : WISP_L2;
    const int caches = wisp__cache_count(m, last, ctx->threads);
    *f = (wisp__facts){.threads = ctx->threads,
                       .one_node = ctx->one_node,
                       .register_bytes = ctx->register_bytes,
                       .C = K_CHUNKED_C,
                       .sides = K_MOST_SIDES,
                       .apart = K_MOST_PERIOD,
                       .bundle_bytes = ctx->bundle_bytes,
                       .l1 = (double)WISP__MAX(m->cache_bytes[WISP_L1], 32 << 10),
                       .l2 = l2_bytes(m),
                       .l2_caches = wisp__cache_count(m, WISP_L2, ctx->threads),
                       .l3 = (double)WISP__MAX(m->cache_bytes[WISP_L3], m->cache_bytes[WISP_L2]),
                       .l3_threads = WISP__MAX(1, WISP__MIN(m->cache_cores[WISP_L3], ctx->threads)),
                       .l3_ranks = ctx->cache_ranks,
                       .last = (double)(m->cache_bytes[last] * caches / ctx->cache_ranks),
                       .kept = kept_bytes(ctx, m),
                       .rates = rates_of(ctx, m, caches),
                       .cut = wisp__cpu_row_cut,
                       .tuned = &wisp__cpu_tuned,
                       .look_every = 1,
                       .steps = 1,
                       .columns = 1};
}
