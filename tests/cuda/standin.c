/* The stand-in for CUDA's driver: its functions. (standin.h says what it is told by the environment.) */
#include "standin.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DECLARE(name, arguments) __attribute__((visibility("default"))) CUresult name arguments;
CUDA_FUNCTIONS(DECLARE)
DECLARE(cuGetExportTable, (const void **table, const void *name))

enum { DEVICES = 4, DEEPEST = 16, ENDS_WITH = 99 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st context[DEVICES];
static _Thread_local CUcontext current[DEEPEST];
static _Thread_local int depth;
static pid_t process; /* that has called cuInit */
static long calls, wrong;
static uint64_t dice;
handle *standin_handles;

/* ---- what all calls do ----------------------------------------------------------------------------- */

static long number_of(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text ? strtol(text, NULL, 10) : otherwise;
}

CUresult standin_wrong(CUresult error, const char *format, ...)
{
    va_list list;
    fprintf(stderr, "stand-in: ");
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "\n");
    wrong++;
    return error;
}

uint64_t standin_seed(void)
{
    static long seed = -1;
    if (seed < 0) dice = (uint64_t)(seed = number_of("WISP_STANDIN_SEED", 0));
    return (uint64_t)seed;
}

uint64_t standin_chance(uint64_t below)
{
    dice += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = dice;
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9), h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return (h ^ h >> 31) % below;
}

CUcontext standin_current(void) { return depth > 0 ? current[depth - 1] : NULL; }

void *standin_new(size_t bytes, standin_kind kind)
{
    handle *h = calloc(1, bytes);
    if (!h) abort();
    *h = (handle){kind, kind, standin_handles};
    standin_handles = h;
    return h;
}

void standin_dead(handle *h) { h->kind = A_DEAD; }

static const char *const kind_name[] = {"a context", "a stream", "an event", "a module", "a function"};
CUresult standin_is(const void *p, standin_kind kind)
{
    const char *name = kind_name[kind - A_CONTEXT];
    for (const handle *h = standin_handles; h; h = h->next)
        if (h == p && h->kind == kind) return CUDA_SUCCESS;
    for (const handle *h = standin_handles; h; h = h->next)
        if (h == p && h->kind == A_DEAD && h->was == kind)
            return standin_wrong(INVALID_HANDLE, "%s that was destroyed", name);
    return standin_wrong(INVALID_HANDLE, "%p is not %s", p, name);
}

/* ANYWHERE: without a current context, and whatever a kernel has done. */
typedef enum { ALLOCATES = 1, RELEASES = 2, ANYWHERE = 4 } call_flags;

/* Whether this call is to fail. Who can't make a context current can't release what it has: that goes with it. */
static bool unreachable;
static bool is_to_fail(const char *name, unsigned flags)
{
    const char *text = getenv("WISP_STANDIN_FAIL");
    if (!text) return false;
    char *end;
    if (calls != strtol(text, &end, 10)) return false;
    fprintf(stderr, "stand-in: call %ld, %s, fails\n", calls, name);
    unreachable |= !strcmp(name, "cuCtxPushCurrent_v2");
    if (*end == '+' && !(flags & ANYWHERE)) {
        standin_current()->failed = LAUNCH_FAILED;
        for (handle *h = standin_handles; h; h = h->next)
            if (h->kind == A_STREAM) standin_finish((CUstream)(void *)h, NULL);
    }
    return true;
}

typedef struct {
    CUresult error;
    bool done; /* nevertheless */
} call;

static call begin(const char *name, unsigned flags)
{
    pthread_mutex_lock(&lock);
    calls++;
    if (number_of("WISP_STANDIN_TRACE", 0)) fprintf(stderr, "stand-in: %ld %s\n", calls, name);
    if (process != getpid())
        return (call){standin_wrong(NOT_INITIALIZED, "%s before cuInit, or in a child", name), false};
    if (!(flags & ANYWHERE)) {
        if (!standin_current()) return (call){standin_wrong(INVALID_CONTEXT, "%s without a context", name), false};
        standin_run_some();
    }
    if (is_to_fail(name, flags))
        return (call){flags & ALLOCATES ? CUDA_ERROR_OUT_OF_MEMORY : LAUNCH_FAILED, flags & RELEASES};
    const CUresult failed = flags & ANYWHERE ? CUDA_SUCCESS : standin_current()->failed;
    return (call){failed, !failed || flags & RELEASES};
}

/* A call: what it does, and what comes of it. */
#define CALL(flags, work)                            \
    do {                                             \
        const call made = begin(__func__, flags);    \
        const CUresult own = made.done ? (work) : 0; \
        pthread_mutex_unlock(&lock);                 \
        return own ? own : made.error;               \
    } while (0)

/* A process that did something wrong, or has not released all, fails. */
static __attribute__((destructor)) void at_the_end(void)
{
    size_t device = 0, pinned = 0;
    if (process != getpid()) return;
    if (!unreachable) standin_left(&device, &pinned);
    for (const handle *h = standin_handles; h && !unreachable; h = h->next)
        if (h->kind != A_DEAD && h->kind != A_FUNCTION)
            standin_wrong(0, "%s is left at the end", kind_name[h->kind - A_CONTEXT]);
    for (int i = 0; i < DEVICES; i++)
        if (context[i].retained) standin_wrong(0, "the context of device %d is left at the end", i);
    if (device) standin_wrong(0, "%zu bytes of the device are left at the end", device);
    if (pinned) standin_wrong(0, "%zu bytes of pinned memory are left at the end", pinned);
    if (number_of("WISP_STANDIN_TRACE", 0)) fprintf(stderr, "stand-in: %ld calls, %ld wrong\n", calls, wrong);
    if (!wrong) return;
    fflush(NULL);
    _exit(ENDS_WITH);
}

/* ---- devices and contexts -------------------------------------------------------------------------- */

CUresult cuInit(unsigned flags)
{
    pthread_mutex_lock(&lock);
    process = getpid();
    pthread_mutex_unlock(&lock);
    CALL(ANYWHERE, flags ? standin_wrong(INVALID_VALUE, "cuInit(%u)", flags) : 0);
}

/* NVRTC looks for a driver, and asks it for tables of its own. */
CUresult cuGetExportTable(const void **table, const void *name)
{
    (void)name;
    *table = NULL;
    return NOT_FOUND;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = (int)number_of("WISP_STANDIN_DRIVER", 12090);
    CALL(ANYWHERE, 0);
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    static const struct {
        CUresult error;
        const char *name;
    } known[] = {{0, "CUDA_SUCCESS"},
                 {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
                 {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
                 {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
                 {NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                 {INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
                 {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
                 {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                 {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 {OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
                 {LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT"},
                 {MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS"},
                 {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].error == error) {
            *name = known[i].name;
            return CUDA_SUCCESS;
        }
    *name = NULL;
    return INVALID_VALUE;
}

static int devices(void)
{
    const long n = number_of("WISP_STANDIN_DEVICES", 1);
    return n < 0 ? 0 : n > DEVICES ? DEVICES : (int)n;
}

static CUresult is_device(CUdevice device)
{
    return device >= 0 && device < devices() ? CUDA_SUCCESS : standin_wrong(INVALID_DEVICE, "no device %d", device);
}

CUresult cuDeviceGetCount(int *count) { CALL(ANYWHERE, (*count = devices(), 0)); }
CUresult cuDeviceGet(CUdevice *device, int ordinal) { CALL(ANYWHERE, (*device = ordinal, is_device(ordinal))); }

static CUresult device_name(char *name, int room, CUdevice device)
{
    snprintf(name, (size_t)room, "a stand-in of tests");
    return is_device(device);
}
CUresult cuDeviceGetName(char *name, int room, CUdevice device) { CALL(ANYWHERE, device_name(name, room, device)); }
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CALL(ANYWHERE, (*bytes = standin_room(), is_device(device)));
}

/* All see the same ones. */
static CUresult bus_id(char *id, int room, CUdevice device)
{
    snprintf(id, (size_t)room, "0000:%02x:00.0", (unsigned)device);
    return is_device(device);
}
CUresult cuDeviceGetPCIBusId(char *id, int room, CUdevice device) { CALL(ANYWHERE, bus_id(id, room, device)); }

/* Of a small device, whose figures nothing may hang on. */
static CUresult attribute_of(int *value, int attribute)
{
    const int arch = (int)number_of("WISP_STANDIN_ARCH", 80);
    const struct {
        int attribute, value;
    } all[] = {{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
               {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
               {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, arch / 10},
               {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, arch % 10},
               {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
               {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
               {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
               {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
               {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 96 << 10}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].attribute == attribute) {
            *value = all[i].value;
            return CUDA_SUCCESS;
        }
    return standin_wrong(INVALID_VALUE, "the attribute %d of a device: add it to the stand-in", attribute);
}
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    CALL(ANYWHERE, is_device(device) ? INVALID_DEVICE : attribute_of(value, attribute));
}

static CUresult retain(CUcontext *c, CUdevice device)
{
    if (is_device(device)) return INVALID_DEVICE;
    context[device].device = device;
    context[device].retained++;
    *c = context + device;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice device) { CALL(ANYWHERE | ALLOCATES, retain(c, device)); }

static bool is_context(CUcontext c) { return c >= context && c < context + DEVICES && c->retained > 0; }

/* With the last one all that the context has goes, and the error of a kernel. What is left is counted of all devices
   together. */
static CUresult release(CUdevice device)
{
    size_t memory = 0, pinned = 0;
    if (is_device(device)) return INVALID_DEVICE;
    CUcontext c = context + device;
    if (c->retained == 0) return standin_wrong(INVALID_CONTEXT, "a context is released that nobody has");
    standin_left(&memory, &pinned);
    if (--c->retained > 0) return CUDA_SUCCESS;
    c->failed = CUDA_SUCCESS;
    for (int d = 0; d < DEVICES; d++)
        if (context[d].retained > 0) return CUDA_SUCCESS;
    for (const handle *h = standin_handles; h; h = h->next) memory += h->kind != A_DEAD && h->kind != A_FUNCTION;
    return (memory || pinned) && !unreachable
               ? standin_wrong(0, "a context is released that still has memory or handles")
               : 0;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { CALL(ANYWHERE | RELEASES, release(device)); }

static CUresult push(CUcontext c)
{
    if (!is_context(c)) return standin_wrong(INVALID_CONTEXT, "%p is no context, or was released", (void *)c);
    if (depth == DEEPEST) return standin_wrong(INVALID_VALUE, "contexts are pushed, and never popped");
    current[depth++] = c;
    return CUDA_SUCCESS;
}
static CUresult pop(CUcontext *c)
{
    if (depth == 0) return standin_wrong(INVALID_CONTEXT, "no context to pop");
    *c = current[--depth];
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext c) { CALL(ANYWHERE, push(c)); }
CUresult cuCtxPopCurrent_v2(CUcontext *c) { CALL(ANYWHERE | RELEASES, pop(c)); }

/* ---- streams and events ---------------------------------------------------------------------------- */

static CUresult stream_create(CUstream *stream)
{
    *stream = standin_new(sizeof **stream, A_STREAM);
    (*stream)->last = &(*stream)->first;
    return CUDA_SUCCESS;
}
static CUresult stream_destroy(CUstream stream)
{
    if (standin_is(stream, A_STREAM)) return INVALID_HANDLE;
    const CUresult error = standin_finish(stream, NULL);
    standin_dead(&stream->h);
    return error;
}
CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    CALL(ALLOCATES, flags == CU_STREAM_NON_BLOCKING ? stream_create(stream)
                                                    : standin_wrong(INVALID_VALUE, "a stream that waits for others"));
}
CUresult cuStreamDestroy_v2(CUstream stream) { CALL(RELEASES, stream_destroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream)
{
    CALL(0, standin_is(stream, A_STREAM) ? INVALID_HANDLE : standin_finish(stream, NULL));
}

static CUresult event_destroy(CUevent event)
{
    if (standin_is(event, A_EVENT)) return INVALID_HANDLE;
    if (event->pending) event->pending->event = NULL;
    standin_dead(&event->h);
    return CUDA_SUCCESS;
}
static CUresult event_record(CUevent event, CUstream stream)
{
    if (standin_is(event, A_EVENT) || standin_is(stream, A_STREAM)) return INVALID_HANDLE;
    if (event->pending) event->pending->event = NULL;
    event->pending = standin_queue(stream, (op){.what = DO_RECORD, .event = event});
    return CUDA_SUCCESS;
}
static CUresult event_wait(CUevent event)
{
    if (standin_is(event, A_EVENT)) return INVALID_HANDLE;
    return event->pending ? standin_finish(event->pending->stream, event->pending) : standin_current()->failed;
}
CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    CALL(ALLOCATES, (*event = standin_new(sizeof **event, A_EVENT), flags & ~3u ? INVALID_VALUE : 0));
}
CUresult cuEventDestroy_v2(CUevent event) { CALL(RELEASES, event_destroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { CALL(0, event_record(event, stream)); }
CUresult cuEventSynchronize(CUevent event) { CALL(0, event_wait(event)); }

/* ---- memory ---------------------------------------------------------------------------------------- */

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) { CALL(ALLOCATES, standin_alloc(at, bytes)); }
CUresult cuMemFree_v2(CUdeviceptr at) { CALL(RELEASES, standin_free(at)); }
CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    CALL(ALLOCATES, flags & ~7u ? INVALID_VALUE : standin_host_alloc(host, bytes));
}
CUresult cuMemFreeHost(void *host) { CALL(RELEASES, standin_host_free(host)); }

/* What is pinned is read or written later; else a copy to the device has read it when the call returns, and one from
   the device is over. Until a copy comes, what is in its target says nothing. */
static CUresult copy(CUdeviceptr at, char *host, size_t bytes, CUstream stream, bool to_device)
{
    const int pinned = standin_pinned(host, bytes);
    op o = {.what = to_device ? DO_COPY_TO : DO_COPY_FROM, .at = at, .bytes = bytes, .host = host};
    if (standin_is(stream, A_STREAM)) return INVALID_HANDLE;
    if (bytes == 0) return CUDA_SUCCESS;
    if (pinned < 0) return standin_wrong(INVALID_VALUE, "a copy that goes beyond pinned memory");
    if (!standin_at(at, bytes))
        return standin_wrong(INVALID_VALUE, "a copy of %zu bytes at %#llx, which are in no memory", bytes, at);
    if (to_device && !pinned) {
        o.staged = malloc(bytes);
        if (!o.staged) abort();
        memcpy(o.staged, host, bytes);
    }
    if (!to_device) memset(host, 0xff, bytes);
    const op *queued = standin_queue(stream, o);
    return to_device || pinned ? CUDA_SUCCESS : standin_finish(stream, queued);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    CALL(0, copy(to, (char *)(uintptr_t)from, bytes, stream, true));
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CALL(0, copy(from, to, bytes, stream, false));
}

static CUresult set(CUdeviceptr at, unsigned value, size_t words, CUstream stream)
{
    const size_t bytes = words * sizeof value;
    if (standin_is(stream, A_STREAM)) return INVALID_HANDLE;
    if (words == 0) return CUDA_SUCCESS;
    if (at % sizeof value || !standin_at(at, bytes))
        return standin_wrong(INVALID_VALUE, "a memset of %zu bytes at %#llx, which are in no memory", bytes, at);
    standin_queue(stream, (op){.what = DO_SET, .at = at, .bytes = bytes, .value = value});
    return CUDA_SUCCESS;
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t words, CUstream stream)
{
    CALL(0, set(to, value, words, stream));
}

/* ---- modules and launches -------------------------------------------------------------------------- */

/* Whether this device can run a text, by the architecture that it is for. */
static CUresult suits(const char *text)
{
    const char *target = strstr(text, ".target sm_");
    if (!memcmp(text, "\177ELF", 4)) return standin_wrong(NO_BINARY, "a cubin, and the stand-in runs PTX alone");
    if (!target) return standin_wrong(INVALID_PTX, "a module without .target");
    const long arch = number_of("WISP_STANDIN_ARCH", 80), wants = strtol(target + strlen(".target sm_"), NULL, 10);
    return wants <= arch ? CUDA_SUCCESS
                         : standin_wrong(INVALID_PTX, "a module for %ld on a device of %ld", wants, arch);
}

static CUresult load(CUmodule *module, const char *text, unsigned options, const int *option, void **value)
{
    char own[256] = "", *log = own;
    size_t room = sizeof own;
    for (unsigned i = 0; i < options; i++) {
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER) log = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) room = (size_t)(uintptr_t)value[i];
    }
    CUresult error = suits(text);
    if (error) return error;
    CUmodule m = standin_new(sizeof *m, A_MODULE);
    error = standin_load(m, text, log, room);
    if (error) standin_dead(&m->h);
    *module = m;
    return error;
}
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned options, int *option, void **option_value)
{
    CALL(ALLOCATES, load(module, image, options, option, option_value));
}

static CUresult unload(CUmodule module)
{
    if (standin_is(module, A_MODULE)) return INVALID_HANDLE;
    const CUresult error = standin_unload(module);
    for (handle *h = standin_handles; h; h = h->next)
        if (h->kind == A_FUNCTION && ((CUfunction)(void *)h)->module == module) standin_dead(h);
    standin_dead(&module->h);
    return error;
}
CUresult cuModuleUnload(CUmodule module) { CALL(RELEASES, unload(module)); }

static CUresult find(CUfunction *function, CUmodule module, const char *name)
{
    if (standin_is(module, A_MODULE)) return INVALID_HANDLE;
    for (const run_entry *e = module->entry; e->name; e++)
        if (!strcmp(e->name, name)) {
            *function = standin_new(sizeof **function, A_FUNCTION);
            (*function)->module = module, (*function)->entry = e;
            return CUDA_SUCCESS;
        }
    return standin_wrong(NOT_FOUND, "a module has no kernel '%s'", name);
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CALL(0, find(function, module, name));
}

static CUresult launch(CUfunction f, const unsigned grid[3], const unsigned block[3], unsigned shared, CUstream stream,
                       void **argument)
{
    enum { SHARED_ROOM = 48 << 10 };
    if (standin_is(f, A_FUNCTION) || standin_is(stream, A_STREAM)) return INVALID_HANDLE;
    const run_entry *e = f->entry;
    if (grid[0] == 0 || grid[0] > INT32_MAX || grid[1] != 1 || grid[2] != 1 || block[1] != 1 || block[2] != 1)
        return standin_wrong(INVALID_VALUE, "kernel '%s' in %u x %u x %u groups", e->name, grid[0], grid[1], grid[2]);
    if (block[0] == 0 || block[0] > e->most_items || shared + e->shared_bytes > SHARED_ROOM)
        return standin_wrong(OUT_OF_RESOURCES, "kernel '%s' with %u items and %u bytes a group", e->name, block[0],
                             shared + e->shared_bytes);
    char *params = aligned_alloc(64, (e->params_bytes + 64) / 64 * 64);
    if (!params) abort();
    for (uint32_t i = 0; i < e->params; i++) memcpy(params + e->param[i].offset, argument[i], e->param[i].bytes);
    standin_queue(stream, (op){.what = DO_LAUNCH,
                               .function = f,
                               .staged = params,
                               .groups = grid[0],
                               .items = block[0],
                               .shared_bytes = shared});
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **argument,
                        void **extra)
{
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    CALL(0, extra ? standin_wrong(INVALID_VALUE, "a launch with extra arguments")
                  : launch(function, grid, block, shared_bytes, stream, argument));
}
