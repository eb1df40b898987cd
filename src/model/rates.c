/* The rates of memory and caches that a context's threads have, measured or assumed; and the terms of the model of time
   that are made of these rates. */
#include "../topo/machine.h"
#include "model.h"
#include <math.h>

/* Rates that were not measured are those of a common core: two loads of a register in each turn of a clock of 3 GHz,
   half a cache line from the second level, a quarter from the third, and a part of what a socket loads from memory. */
void wisp__rates_find(wisp_ctx *ctx, wisp__rates *r)
{
    const double clock = 3e9, line = 64, memory = 20e9, most = 200e9;
    const double threads = ctx->threads;
    const wisp_machine *m = wisp__topology(ctx);
    pthread_mutex_lock(&ctx->lock);
    *r = ctx->rates;
    pthread_mutex_unlock(&ctx->lock);
    if (r->l2_bytes == 0) r->l2_bytes = wisp__cache_count(m, WISP_L2, ctx->threads) * (double)wisp__l2_bytes(ctx);
    if (r->loads == 0) r->loads = 2 * clock * threads;
    if (r->l2 == 0) r->l2 = line / 2 * clock * threads;
    if (r->l3 == 0) r->l3 = line / 4 * clock * threads;
    if (r->exchange == 0) r->exchange = r->l3 / 2;
    if (r->memory == 0) r->memory = WISP__MIN(memory * threads, most);
}

void wisp__caches_find(wisp_ctx *ctx, int width, int64_t row_bytes, double rows, wisp__caches *c)
{
    const wisp_machine *m = wisp__topology(ctx);
    const double l3 = (double)WISP__MAX(m->cache_bytes[WISP_L3], m->cache_bytes[WISP_L2]);
    const int sharing = WISP__MAX(1, WISP__MIN(m->cache_cores[WISP_L3], ctx->threads)), ranks = ctx->cache_ranks;
    const bool together = wisp__side_by_side(ctx, width, 2 * rows * (double)row_bytes);
    const int64_t range = (int64_t)rows / ctx->threads + 1;
    c->threads = ctx->threads;
    c->block_rows = together ? WISP__MIN(wisp__rows_per_turn((int64_t)rows, row_bytes, ctx->threads), range) : range;
    c->l1 = (double)WISP__MAX(m->cache_bytes[WISP_L1], 32 << 10);
    c->l2 = (double)wisp__l2_bytes(ctx);
    c->all_l1 = c->l1 * ctx->threads;
    c->all_l2 = c->l2 * wisp__cache_count(m, WISP_L2, ctx->threads);
    c->l3 = (together ? l3 : l3 / sharing) / ranks;
    c->l3 = WISP__MAX(c->l3, c->l2);
    c->kept = WISP__MAX((double)wisp_ctx_cache(ctx, NULL), c->all_l2);
}

bool wisp__may_interleave(const wisp__rates *r)
{
    const double faster = 1.3;
    return r->l3 >= faster * r->memory;
}

/* The memory of today has a way of its own for writes. (Measured against loads in alternation: 0.34 to 0.40, past the
   caches 0.63 to 0.70.) */
const double wisp__cost_of_writing = 0.37;

double wisp_model_memory(double read, double written, int past, double load_gbs)
{
    const double cost = past ? 0.65 : wisp__cost_of_writing;
    return 1e-9 * (read + cost * written) / load_gbs;
}

/* Neither is waited for in full, as in the larger of the two (an exponent of infinity), nor do they follow each other,
   as in their sum (1). (7 and 27 points, the band, entries stored, width 1: 0.93 to 1.1 of an exponent of 4, at 30 to
   65 GB/s.) */
double wisp__overlapped(double traffic, double core, double exponent)
{
    return pow(pow(traffic, exponent) + pow(core, exponent), 1 / exponent);
}

double wisp_model_overlap(double traffic, double core, int ahead)
{
    return wisp__overlapped(traffic, core, ahead ? 4 : 1.7);
}
