/* GPUs of CUDA. Neither its driver nor NVRTC, which compiles kernels, has to be there until they are asked for. */
#include "cuda.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Without the device's context, as when it has failed, all is left to the release of that. The message stays that of
   what failed. */
static void cuda_close(wisp__gpu *g)
{
    wisp__cuda *c = wisp__cuda_of(g);
    CUcontext own;
    if (wisp__gpu_is_child(g)) return; /* its memory belongs to the parent's CUDA */
    const bool entered = c->context && c->cu->cuCtxPushCurrent_v2(c->context) == CUDA_SUCCESS;
    if (entered && c->stream) c->cu->cuStreamSynchronize(c->stream);
    wisp__cuda_memory_close(g, entered);
    if (entered && c->stream) c->cu->cuStreamDestroy_v2(c->stream);
    if (entered) c->cu->cuCtxPopCurrent_v2(&own);
    if (c->context) c->cu->cuDevicePrimaryCtxRelease_v2(c->id);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->writing);
    pthread_mutex_destroy(&c->reading);
    free(c);
}

/* In its context. */
static wisp_status open_queue(wisp__gpu *g)
{
    wisp__cuda *c = wisp__cuda_of(g);
    wisp_status status = wisp__cuda_enter(g);
    if (status != WISP_OK) return status;
    WISP_TRY(wisp__cuda_status(g, "no queue for it", c->cu->cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING)));
    status = wisp__cuda_copies_open(g);
out:
    wisp__cuda_leave(g);
    return status;
}

/* What it does not tell is 0. */
static int attribute(const wisp__cuda *c, int which)
{
    int value = 0;
    return c->cu->cuDeviceGetAttribute(&value, which, c->id) == CUDA_SUCCESS ? value : 0;
}

/* With as many groups as it runs at once. */
static void find_sizes(wisp__gpu *g)
{
    enum { GROUP = 128 };
    const wisp__cuda *c = wisp__cuda_of(g);
    const double bus_bytes = attribute(c, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0;
    const int64_t items = attribute(c, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    g->group_size = GROUP;
    g->units = attribute(c, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    g->most_groups = WISP__MAX(g->units * items / GROUP, 1);
    g->clock = 1e3 * attribute(c, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    g->cache_bytes = attribute(c, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    g->local_bytes = attribute(c, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    g->memory_rate = 2e3 * attribute(c, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * bus_bytes;
}

static wisp_status cuda_open(wisp__gpu *g, int number)
{
    wisp_status status;
    wisp__cuda *c = calloc(1, sizeof *c);
    if (!c) return wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for the device 'cuda'");
    g->device = c;
    c->cu = wisp__cuda_calls_of();
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->writing, NULL);
    pthread_mutex_init(&c->reading, NULL);
    WISP_TRY(wisp__cuda_status(g, "it can't be found", c->cu->cuDeviceGet(&c->id, number)));
    WISP_TRY(wisp__cuda_compiler_open(g));
    WISP_TRY(wisp__cuda_status(g, "it can't be opened", c->cu->cuDevicePrimaryCtxRetain(&c->context, c->id)));
    WISP_TRY(open_queue(g));
    g->steps = WISP__STEPS_DRAWN;
    find_sizes(g);
out:
    if (status != WISP_OK) cuda_close(g);
    return status;
}

static wisp_status cuda_launch(wisp__gpu *g, void *kernel, int64_t groups, const void *params, size_t bytes,
                               void *const buffer[K_PLACES])
{
    const wisp__cuda *c = wisp__cuda_of(g);
    const wisp__cuda_kernel *k = kernel;
    CUdeviceptr place[K_PLACES];
    void *argument[1 + K_PLACES] = {(void *)(uintptr_t)params};
    (void)bytes;
    if (groups > INT_MAX)
        return wisp_ctx_failf(g->ctx, WISP_ERR_OVERFLOW, "the device '%s' can't launch %lld groups at once",
                              wisp_ctx_device(g->ctx), (long long)groups);
    wisp_status status = wisp__cuda_enter(g);
    if (status != WISP_OK) return status;
    for (int i = 0; i < K_PLACES; i++) {
        place[i] = buffer[i] ? ((const wisp__cuda_buffer *)buffer[i])->at : 0;
        argument[1 + i] = place + i;
    }
    status = wisp__cuda_status(g, "a launch",
                               c->cu->cuLaunchKernel(k->function, (unsigned)groups, 1, 1, (unsigned)g->group_size, 1, 1,
                                                     0, c->stream, argument, NULL));
    wisp__cuda_leave(g);
    return status;
}

static const wisp__gpu_driver driver = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .alloc = wisp__cuda_alloc,
    .free = wisp__cuda_free,
    .clear = wisp__cuda_clear,
    .write = wisp__cuda_write,
    .read = wisp__cuda_read,
    .stage = wisp__cuda_new_stage,
    .unstage = wisp__cuda_free_stage,
    .compile = wisp__cuda_compile,
    .drop = wisp__cuda_drop,
    .launch = cuda_launch,
    .finish = wisp__cuda_finish,
};

static bool cuda_describe(wisp_device *d)
{
    const wisp__cuda_calls *cu = wisp__cuda_calls_of();
    CUdevice id = 0;
    size_t bytes = 0;
    if (d->number >= wisp__cuda_devices()) return false;
    snprintf(d->what, sizeof d->what, "?");
    if (cu->cuDeviceGet(&id, d->number) == CUDA_SUCCESS) {
        if (cu->cuDeviceGetName(d->what, sizeof d->what, id) != CUDA_SUCCESS) snprintf(d->what, sizeof d->what, "?");
        if (cu->cuDeviceTotalMem_v2(&bytes, id) != CUDA_SUCCESS) bytes = 0;
    }
    d->what[sizeof d->what - 1] = 0;
    d->memory_bytes = (int64_t)bytes;
    return true;
}

/* Where it is in the machine: processes that see different devices (CUDA_VISIBLE_DEVICES) number them from 0, each. */
static void cuda_identify(int number, char *id, size_t room)
{
    const wisp__cuda_calls *cu = wisp__cuda_calls_of();
    CUdevice device = 0;
    if (cu->cuDeviceGet(&device, number) != CUDA_SUCCESS ||
        cu->cuDeviceGetPCIBusId(id, (int)room, device) != CUDA_SUCCESS)
        *id = 0;
}

static wisp_status open_ctx(wisp_ctx *ctx) { return wisp__gpu_open(ctx, &driver); }

const wisp__backend wisp__backend_cuda = {
    .name = "cuda", .describe = cuda_describe, .identify = cuda_identify, .open = open_ctx, WISP__GPU_CALLS};
