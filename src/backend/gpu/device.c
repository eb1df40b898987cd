/* A GPU as a device of a context. */
#include "gpu.h"
#include <stdlib.h>
#include <unistd.h>

/* $WISP_GROUP: items of a group, for tests; no more than the device has. */
static void set_group(wisp__gpu *g)
{
    const char *text = getenv("WISP_GROUP");
    const int size = text ? atoi(text) : 0;
    if (size > 0 && size <= g->group_size && (size & (size - 1)) == 0) g->group_size = size;
}

/* Kernels for calls of wisp_fuse, each of one shape: solvers have few shapes, GMRES some for each restart. */
enum { SHAPES = 64 };

/* $WISP_STEPS: how interleaved steps are launched, for tests. */
static void set_steps(wisp__gpu *g)
{
    static const char *const word[] = {"waves", "drawn", "each"}; /* as wisp__gpu_steps */
    const char *text = getenv("WISP_STEPS");
    for (int i = 0; text && i < 3; i++)
        if (!strcmp(text, word[i])) g->steps = (wisp__gpu_steps)i;
}

/* What it may hold of the device's memory: its part of what there is, where the driver tells. */
static void set_limit(wisp_ctx *ctx)
{
    wisp_device d = {.number = ctx->device_number};
    const int64_t asked = ctx->opts.device_memory_limit, unknown = INT64_MAX / 2;
    const bool there = ctx->backend->describe(&d) && d.memory_bytes > 0;
    ctx->device_limit = asked > 0 ? asked : there ? d.memory_bytes / wisp__ranks_on_device(ctx) : unknown;
}

/* What the host does for it, on lent memory, it does with the CPU's kernels. */
wisp_status wisp__gpu_open(wisp_ctx *ctx, const wisp__gpu_driver *driver)
{
    wisp_status status;
    wisp__gpu *g = calloc(1, sizeof *g);
    if (!g) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for the device '%s'", driver->name);
    g->ctx = ctx;
    g->driver = driver;
    g->lock = &ctx->device_lock;
    g->process = getpid();
    pthread_mutex_init(&g->compiling, NULL);
    WISP_TRY(driver->open(g, ctx->device_number));
    set_group(g);
    g->shapes = SHAPES;
    set_steps(g);
    set_limit(ctx);
    ctx->device = g;
    status = wisp__backend_cpu.open(ctx);
out:
    if (status != WISP_OK && !ctx->device) {
        pthread_mutex_destroy(&g->compiling);
        free(g);
    }
    return status;
}

void wisp__gpu_close(wisp_ctx *ctx)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp__backend_cpu.close(ctx);
    if (!g) return;
    g->driver->finish(g);
    wisp__gpu_room_free(g, g->partial);
    wisp__gpu_room_free(g, g->staged);
    wisp__gpu_room_free(g, g->moved);
    wisp__gpu_kernels_free(g);
    g->driver->close(g);
    pthread_mutex_destroy(&g->compiling);
    free(g);
    ctx->device = NULL;
}

/* What the driver tells, or, where it does not or the machine is another one ($WISP_MACHINE), sizes of a common GPU. */
typedef struct {
    int units;
    double cache, local, clock, memory;
} sizes;
static sizes sizes_of(wisp_ctx *ctx)
{
    const wisp__gpu *g = wisp__gpu_of(ctx), common = {0};
    const double a_unit = 15e9; /* bytes a second of memory, as most are built */
    if (ctx->simulated) g = &common;
    sizes s = {.units = g->units > 0 ? g->units : 64,
               .cache = (double)(g->cache_bytes > 0 ? g->cache_bytes : 8 << 20),
               .local = (double)(g->local_bytes > 0 ? g->local_bytes : 48 << 10),
               .clock = g->clock > 0 ? g->clock : 1.5e9};
    s.memory = g->memory_rate > 0 ? g->memory_rate : a_unit * s.units;
    return s;
}

/* Rates that were not measured: the last cache gives some times what memory does, and the memory of a unit, where its
   groups find what neighbours have gathered, a register in each turn. Ranks on one device have a part of it each. */
static wisp__rates rates_of(wisp_ctx *ctx, const sizes *s)
{
    const double faster = 2.5, ranks = wisp__ranks_on_device(ctx);
    pthread_mutex_lock(&ctx->lock);
    wisp__rates r = ctx->rates;
    pthread_mutex_unlock(&ctx->lock);
    if (r.memory == 0) r.memory = s->memory / ranks;
    if (r.l3 == 0) r.l3 = faster * r.memory;
    if (r.loads == 0) r.loads = s->clock * s->units / ranks;
    r.l2 = r.exchange = r.l3;
    r.l2_bytes = 0;
    return r;
}

/* Groups are begun in the order of their rows, so that the last cache meets rows in their order, whatever unit has
   them; what a unit has of it stands for a second-level cache. Units keep nothing from one launch to the next, and what
   one of them has written the others find in the last cache. A device asks for much as one that takes long to wait for,
   and is at work with many rows and columns alone. */
void wisp__gpu_facts(wisp_ctx *ctx, wisp__facts *f)
{
    enum { LOOK_EVERY = 16, STEPS = 64, COLUMNS = 4, C = 32, REGISTER = 128 };
    const double left_by_others = 0.8; /* of the last cache, as a rule */
    const sizes s = sizes_of(ctx);
    const int64_t kept = atomic_load(&ctx->cache_kept);
    const int ranks = wisp__ranks_on_device(ctx);
    *f = (wisp__facts){.threads = WISP__MAX(s.units / ranks, 1),
                       .one_node = true,
                       .register_bytes = REGISTER,
                       .C = C,
                       .sides = 1,
                       .apart = 1,
                       .bundle_bytes = 0,
                       .l1 = s.local,
                       .l2 = WISP__MAX(s.local, s.cache / s.units),
                       .l2_caches = 0,
                       .l3 = s.cache,
                       .l3_threads = 1,
                       .l3_ranks = ranks,
                       .last = s.cache / ranks,
                       .kept = kept > 0 ? (double)kept : left_by_others * s.cache / ranks,
                       .rates = rates_of(ctx, &s),
                       .cut = wisp__gpu_row_cut,
                       .tuned = &wisp__gpu_tuned,
                       .look_every = LOOK_EVERY,
                       .steps = STEPS,
                       .columns = COLUMNS};
}

wisp_status wisp__gpu_prepare(wisp_ctx *ctx, const wisp__given *g, wisp__prepared **made)
{
    (void)ctx, (void)g;
    *made = NULL;
    return WISP_OK;
}

void wisp__gpu_release(wisp_ctx *ctx, wisp__prepared *made) { (void)ctx, (void)made; }

void wisp__gpu_foresee(wisp_ctx *ctx, const wisp__given *g, int64_t *kept, int64_t *making)
{
    (void)ctx, (void)g;
    *kept = *making = 0;
}

/* ---- what drivers share -------------------------------------------------------------------------- */

bool wisp__gpu_is_child(const wisp__gpu *g) { return g->process != getpid(); }

wisp_status wisp__gpu_not_here(wisp__gpu *g)
{
    return wisp_ctx_failf(g->ctx, WISP_ERR_UNSUPPORTED,
                          "the device '%s' does not go with its context into a child of fork; make a context here, on "
                          "another device where this one does not open",
                          wisp_ctx_device(g->ctx));
}

wisp_status wisp__gpu_not_compiled(wisp__gpu *g, const char *name, int error, const char *log)
{
    const char *at = strstr(log, "error"), *from = at ? at : log;
    return wisp_ctx_failf(g->ctx, WISP_ERR_UNSUPPORTED,
                          "the device '%s' can't compile the kernel '%s' (error %d): %.*s", wisp_ctx_device(g->ctx),
                          name, error, (int)WISP__MIN(strcspn(from, "\n"), (size_t)160), from);
}
