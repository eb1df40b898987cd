/* The processing units of a machine, divided among the processes on it that share the work. A launcher may have done
   that; else processes that may use the same units take as many each, side by side. */
#include "../topo/cpus.h"
#include "../topo/task.h"
#include "backend.h"
#include <stdlib.h>

typedef struct {
    int node, cache;
    wisp__units units, cores; /* cores: of the units */
} place;

/* Whether two processes of one machine may use some unit both. */
static bool overlap(const place *a, const place *b)
{
    return a->node == b->node && wisp__units_meet(&a->units, &b->units);
}

/* Part `i` of `parts` of the units, whole cores as far as that goes; one in turn where there are too few. */
static wisp_status take_part(wisp_ctx *ctx, const wisp__units *units, int parts, int i)
{
    const int n = wisp__units_count(units);
    int *cpu;
    const wisp_status status = wisp__alloc_raw(ctx, &cpu, (size_t)n, sizeof *cpu);
    if (status != WISP_OK) return status;
    const int known = wisp__cpus_side_by_side(units, cpu, n);
    const int64_t first = parts > known ? i % known : wisp__split(known, parts, i);
    const int64_t end = parts > known ? first + 1 : wisp__split(known, parts, i + 1);
    for (int64_t k = first; k < end; k++) wisp__units_add(&ctx->units, cpu[k]);
    wisp_free(ctx, cpu);
    return status;
}

/* Says so if more processes than there are cores may use the same ones, with a launcher's leave, or as its binding to
   parts of cores makes them. The first of them says it. */
static void say_crowded(wisp_ctx *ctx, const place *all)
{
    const place *mine = &all[ctx->rank];
    const int cores = wisp__units_count(&mine->cores);
    int crowd = 0;
    for (int r = 0; r < ctx->ranks; r++) {
        if (all[r].node != mine->node || !wisp__units_equal(&all[r].cores, &mine->cores)) continue;
        if (crowd++ == 0 && r < ctx->rank) return;
    }
    if (crowd > cores && !ctx->opts.no_pin)
        wisp_ctx_logf(
            ctx, WISP_LOG_WARN,
            "%d processes share %d core%s of a machine: they will wait for each other; start at most %d there", crowd,
            cores, cores == 1 ? "" : "s", cores);
}

static wisp_status divide(wisp_ctx *ctx, const place *all)
{
    const place *mine = &all[ctx->rank];
    int sharing = 0, before = 0, other = -1;
    for (int r = 0; r < ctx->ranks; r++) {
        if (!overlap(&all[r], mine)) continue;
        const bool same = wisp__units_equal(&all[r].units, &mine->units);
        if (!same && other < 0) other = r;
        if (same && r < ctx->rank) before++;
        if (same) sharing++;
    }
    say_crowded(ctx, all);
    if (other > ctx->rank && !ctx->opts.no_pin)
        wisp_ctx_logf(ctx, WISP_LOG_WARN,
                      "processes %d and %d may run on the same cores, but not on all of them: bind them to cores of "
                      "their own, or leave them all unbound (mpirun --bind-to none)",
                      ctx->rank, other);
    if (other >= 0 || sharing == 1) return WISP_OK;
    return take_part(ctx, &mine->units, sharing, before);
}

/* Those that run beside the same last cache have a part of it each. */
static wisp_status count_at_cache(wisp_ctx *ctx, place *mine, place *all)
{
    int unit = 0;
    if (wisp__units_count(&ctx->units)) mine->units = ctx->units;
    while (unit < WISP__UNITS && !wisp__units_has(&mine->units, unit)) unit++;
    mine->cache = wisp__last_cache(unit);
    const wisp_status status = ctx->comm->gather(ctx, mine, sizeof *mine, all);
    ctx->cache_ranks = 0;
    for (int r = 0; r < ctx->ranks; r++) ctx->cache_ranks += all[r].node == mine->node && all[r].cache == mine->cache;
    return status;
}

wisp_status wisp__share_units(wisp_ctx *ctx)
{
    place mine = {.node = ctx->node}, *all = NULL;
    wisp_status status = WISP_OK;
    ctx->cache_ranks = ctx->ranks_here;
    if (ctx->ranks == 1 || ctx->ranks_here > 1) return status;
    WISP_TRY(wisp__alloc_raw(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    wisp__allowed_cpus(&mine.units);
    wisp__cores_of(&mine.units, &mine.cores);
    WISP_TRY(ctx->comm->gather(ctx, &mine, sizeof mine, all));
    WISP_TRY(divide(ctx, all));
    status = count_at_cache(ctx, &mine, all);
out:
    wisp_free(ctx, all);
    return status;
}
