/* Which device each rank has: the one that it names, or, where it names but a kind, one for itself as far as there are
   so many. Devices of a machine are shared out among its ranks alone. */
#include "backend.h"
#include <stdio.h>
#include <stdlib.h>

enum { ID = 64, ANY = -1 };

/* What a rank asks for, then what it has. */
typedef struct {
    int node, number;                /* number: ANY of its kind */
    char kind[16], name[32], id[ID]; /* id: the same of two ranks with the same device */
} place;

/* *pointer becomes an array with so many bytes for each rank. It is not counted: the context is only being made. */
static wisp_status for_ranks(wisp_ctx *ctx, void *pointer, size_t bytes)
{
    void *all = calloc((size_t)ctx->ranks, bytes);
    if (!all) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %d ranks", ctx->ranks);
    memcpy(pointer, &all, sizeof all);
    return WISP_OK;
}

/* ---- what is asked for ---------------------------------------------------------------------------- */

/* Entry i of a list with commas, in turn. */
static void entry_of(const char *list, int i, char *name, size_t room)
{
    int entries = 1;
    for (const char *c = list; *c; c++) entries += *c == ',';
    for (i %= entries; i > 0; i--) list = strchr(list, ',') + 1;
    snprintf(name, room, "%.*s", (int)strcspn(list, ","), list);
}

static wisp_status there_is_none(wisp_ctx *ctx, const char *name)
{
    wisp_device d;
    char names[256] = "";
    for (int k = 0; wisp__device(k, &d); k++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s'%s'", k ? ", " : "", d.name);
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "there is no device '%.64s': take one of %s%s", name, names,
                          ctx->opts.device ? "" : ", or unset WISP_DEVICE");
}

/* Takes the device of this name. */
static wisp_status take(wisp_ctx *ctx, const char *name, place *mine)
{
    wisp_device d;
    const int i = wisp_device_find(name);
    if (i < 0) return there_is_none(ctx, name);
    ctx->backend = wisp__device(i, &d);
    ctx->device_number = d.number;
    snprintf(ctx->device_name, sizeof ctx->device_name, "%s", d.name);
    snprintf(mine->kind, sizeof mine->kind, "%s", ctx->backend->name);
    snprintf(mine->name, sizeof mine->name, "%s", d.name);
    mine->number = strchr(name, ':') ? d.number : ANY;
    return WISP_OK;
}

/* ---- who gets which ------------------------------------------------------------------------------- */

static bool same_kind(const place *a, const place *b) { return a->node == b->node && !strcmp(a->kind, b->kind); }

static int count_devices(const wisp__backend *backend)
{
    wisp_device d = {.number = 0};
    while (backend->describe(&d)) d.number++;
    return d.number;
}

/* The device of its kind that fewest ranks of the machine have: first come those that are named, then the others, in
   the order of their ranks. */
static int number_of_its_own(const wisp_ctx *ctx, const place *all)
{
    enum { MOST = 64 };
    const place *mine = &all[ctx->rank];
    const int count = WISP__MIN(count_devices(ctx->backend), MOST);
    int has[MOST] = {0}, best = 0;
    for (int r = 0; r < ctx->ranks; r++)
        if (same_kind(&all[r], mine) && all[r].number >= 0 && all[r].number < count) has[all[r].number]++;
    for (int r = 0; r <= ctx->rank; r++) {
        if (!same_kind(&all[r], mine) || all[r].number != ANY) continue;
        best = 0;
        for (int i = 1; i < count; i++)
            if (has[i] < has[best]) best = i;
        has[best]++;
    }
    return best;
}

static wisp_status take_its_own(wisp_ctx *ctx, const place *all, place *mine)
{
    char name[32];
    if (mine->number != ANY) return WISP_OK;
    snprintf(name, sizeof name, "%s:%d", mine->kind, number_of_its_own(ctx, all));
    return take(ctx, name, mine);
}

static void identify(const wisp_ctx *ctx, place *mine)
{
    if (ctx->backend->identify) ctx->backend->identify(mine->number, mine->id, sizeof mine->id);
    if (!*mine->id) snprintf(mine->id, sizeof mine->id, "%d", mine->number);
}

/* ---- what comes of it ----------------------------------------------------------------------------- */

static wisp_status keep(wisp_ctx *ctx, const place *all)
{
    const wisp_status status = for_ranks(ctx, &ctx->of_rank, sizeof *ctx->of_rank);
    if (status != WISP_OK) return status;
    for (int r = 0; r < ctx->ranks; r++) {
        memcpy(ctx->of_rank[r].name, all[r].name, sizeof all[r].name);
        for (int s = 0; s < ctx->ranks; s++)
            ctx->of_rank[r].ranks += same_kind(&all[r], &all[s]) && !strcmp(all[r].id, all[s].id);
    }
    return WISP_OK;
}

/* One line of all, where any has more than its processors. */
static void say(wisp_ctx *ctx)
{
    char text[WISP_MESSAGE / 2] = "";
    size_t n = 0;
    bool all_cpu = true, shared = false;
    for (int r = 0; r < ctx->ranks; r++) {
        const wisp__rank_device *d = &ctx->of_rank[r];
        const bool cpu = !strcmp(d->name, wisp__backend_cpu.name), with = !cpu && d->ranks > 1;
        char others[32] = "";
        all_cpu &= cpu;
        shared |= with;
        if (with) snprintf(others, sizeof others, " (shared by %d)", d->ranks);
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d %s%s", r ? ", " : "", r, d->name, others);
    }
    if (!all_cpu)
        wisp_ctx_logf(ctx, shared ? WISP_LOG_PERF : WISP_LOG_INFO, "devices of the processes: %s%s", text,
                      n >= sizeof text ? " ..." : "");
}

wisp_status wisp__take_device(wisp_ctx *ctx)
{
    const char *asked = ctx->opts.device ? ctx->opts.device : getenv("WISP_DEVICE");
    place mine = {.node = ctx->node}, *all = NULL;
    char name[ID];
    int turn = 0;
    wisp_status status;
    WISP_TRY(for_ranks(ctx, &all, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, &mine, sizeof mine, all));
    for (int r = 0; r < ctx->rank; r++) turn += all[r].node == mine.node;
    entry_of(asked && *asked ? asked : wisp__backend_cpu.name, turn, name, sizeof name);
    WISP_TRY(take(ctx, name, &mine));
    WISP_TRY(ctx->comm->gather(ctx, &mine, sizeof mine, all));
    WISP_TRY(take_its_own(ctx, all, &mine));
    identify(ctx, &mine);
    WISP_TRY(ctx->comm->gather(ctx, &mine, sizeof mine, all));
    WISP_TRY(keep(ctx, all));
    if (ctx->ranks > 1 && ctx->rank == 0) say(ctx);
out:
    free(all);
    return status;
}

wisp_status wisp__agree(wisp_ctx *ctx)
{
    struct {
        int steps, columns;
        bool limited;
    } mine, *all = NULL;
    const wisp__facts f = wisp__facts_of(ctx);
    bool limited = false;
    wisp_status status;
    memset(&mine, 0, sizeof mine); /* all of its bytes go to the others */
    mine.steps = f.steps, mine.columns = f.columns, mine.limited = ctx->device_limit > 0;
    WISP_TRY(for_ranks(ctx, &all, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, &mine, sizeof mine, all));
    for (int r = 0; r < ctx->ranks; r++) {
        ctx->asked_steps = WISP__MAX(ctx->asked_steps, all[r].steps);
        ctx->asked_columns = WISP__MAX(ctx->asked_columns, all[r].columns);
        limited |= all[r].limited;
    }
    if (ctx->opts.device_memory_limit > 0 && !limited)
        status = wisp_ctx_failf(
            ctx, WISP_ERR_ARG, "opts.device_memory_limit: the device '%s' has no memory of its own that it would limit",
            ctx->device_name);
out:
    free(all);
    return status;
}
