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
    static const char *const word[] = {"rows", "drawn", "each"}; /* as wisp__gpu_steps */
    const char *text = getenv("WISP_STEPS");
    for (int i = 0; text && i < 3; i++)
        if (!strcmp(text, word[i])) g->steps = (wisp__gpu_steps)i;
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

/* Those of the CPU, until they are measured; and as a device asks that takes long to wait for, and is at work with many
   rows and columns alone. */
void wisp__gpu_facts(wisp_ctx *ctx, wisp__facts *f)
{
    enum { LOOK_EVERY = 16, STEPS = 64, COLUMNS = 4, C = 32 };
    wisp__backend_cpu.facts(ctx, f);
    f->C = C;
    f->bundle_bytes = 0;
    f->look_every = LOOK_EVERY;
    f->steps = STEPS;
    f->columns = COLUMNS;
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
                          "another device where this one is not found",
                          wisp_ctx_device(g->ctx));
}

wisp_status wisp__gpu_not_compiled(wisp__gpu *g, const char *name, int error, const char *log)
{
    const char *at = strstr(log, "error"), *from = at ? at : log;
    return wisp_ctx_failf(g->ctx, WISP_ERR_UNSUPPORTED,
                          "the device '%s' can't compile the kernel '%s' (error %d): %.*s", wisp_ctx_device(g->ctx),
                          name, error, (int)WISP__MIN(strcspn(from, "\n"), (size_t)160), from);
}
