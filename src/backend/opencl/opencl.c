/* GPUs, and whatever else speaks OpenCL 1.2 with double precision. Its loader is opened when it is first asked for, so
   that wisp runs without one. */
#include "../gpu/gpu.h"
#include "config.h"
#include <stdio.h>
#ifdef WISP_HAVE_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>

/* ---- the library ------------------------------------------------------------------------------- */

#define FUNCTIONS(X)             \
    X(clGetPlatformIDs)          \
    X(clGetDeviceIDs)            \
    X(clGetDeviceInfo)           \
    X(clCreateContext)           \
    X(clReleaseContext)          \
    X(clCreateCommandQueue)      \
    X(clReleaseCommandQueue)     \
    X(clCreateBuffer)            \
    X(clReleaseMemObject)        \
    X(clEnqueueFillBuffer)       \
    X(clEnqueueWriteBuffer)      \
    X(clEnqueueReadBuffer)       \
    X(clSetEventCallback)        \
    X(clReleaseEvent)            \
    X(clCreateProgramWithSource) \
    X(clCreateProgramWithBinary) \
    X(clBuildProgram)            \
    X(clGetProgramBuildInfo)     \
    X(clGetProgramInfo)          \
    X(clReleaseProgram)          \
    X(clCreateKernel)            \
    X(clReleaseKernel)           \
    X(clSetKernelArg)            \
    X(clEnqueueNDRangeKernel)    \
    X(clFlush)                   \
    X(clFinish)
#define POINTER(f) __typeof__(f) *f;
static struct {
    FUNCTIONS(POINTER)
} cl;
enum { MOST_DEVICES = 64 };
static struct {
    cl_device_id device[MOST_DEVICES];
    int count;
} all;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool has_doubles(cl_device_id d)
{
    cl_device_fp_config config = 0;
    cl_bool compiles = CL_FALSE;
    return cl.clGetDeviceInfo(d, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof config, &config, NULL) == CL_SUCCESS &&
           (config & CL_FP_FMA) &&
           cl.clGetDeviceInfo(d, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiles, &compiles, NULL) == CL_SUCCESS &&
           compiles;
}

static void list(cl_platform_id platform, cl_device_type type)
{
    cl_device_id d[MOST_DEVICES];
    cl_uint n = 0;
    if (cl.clGetDeviceIDs(platform, type, MOST_DEVICES, d, &n) != CL_SUCCESS) return;
    for (cl_uint i = 0; i < n && i < MOST_DEVICES && all.count < MOST_DEVICES; i++)
        if (has_doubles(d[i])) all.device[all.count++] = d[i];
}

/* GPUs first. */
static void load(void)
{
    static const cl_device_type type[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU};
    cl_platform_id platform[16];
    cl_uint n = 0;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
    if (!library) return;
#define FIND(f)                  \
    symbol = dlsym(library, #f); \
    if (!symbol) return;         \
    memcpy(&cl.f, &symbol, sizeof symbol);
    FUNCTIONS(FIND)
    if (cl.clGetPlatformIDs(16, platform, &n) != CL_SUCCESS) return;
    for (size_t t = 0; t < sizeof type / sizeof type[0]; t++)
        for (cl_uint i = 0; i < n && i < 16; i++) list(platform[i], type[t]);
}

static void text_of(cl_device_id d, cl_device_info what, char *to, size_t room)
{
    if (cl.clGetDeviceInfo(d, what, room, to, NULL) != CL_SUCCESS) snprintf(to, room, "?");
    to[room - 1] = 0;
}

/* Of the compiler; kept kernels are known by them, too. */
static const char options[] = "-cl-std=CL1.2";

/* ---- a device ---------------------------------------------------------------------------------- */

typedef struct {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    char made_by[512];
    pthread_mutex_t lock; /* arguments of kernels are set one after the other */
    unsigned launches;
} opencl;
static opencl *of(wisp__gpu *g) { return g->device; }

static wisp_status told(wisp__gpu *g, const char *what, cl_int error)
{
    static const struct {
        cl_int error;
        const char *name;
    } names[] = {{CL_MEM_OBJECT_ALLOCATION_FAILURE, "no memory for a buffer"},
                 {CL_OUT_OF_RESOURCES, "out of resources"},
                 {CL_OUT_OF_HOST_MEMORY, "out of the host's memory"},
                 {CL_INVALID_BUFFER_SIZE, "a buffer is too large"},
                 {CL_DEVICE_NOT_AVAILABLE, "it is not available"},
                 {CL_BUILD_PROGRAM_FAILURE, "a program does not compile"}};
    const char *name = "see CL/cl.h";
    if (error == CL_SUCCESS) return WISP_OK;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].error == error) name = names[i].name;
    const bool memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
                        error == CL_OUT_OF_HOST_MEMORY || error == CL_INVALID_BUFFER_SIZE;
    return wisp_ctx_failf(g->ctx, memory ? WISP_ERR_NOMEM : WISP_ERR_UNSUPPORTED,
                          "the device '%s': %s: error %d of OpenCL (%s)", wisp_ctx_device(g->ctx), what, (int)error,
                          name);
}

static void opencl_close(wisp__gpu *g)
{
    opencl *o = of(g);
    if (wisp__gpu_is_child(g)) return; /* its memory belongs to the parent's OpenCL */
    if (o->queue) cl.clReleaseCommandQueue(o->queue);
    if (o->context) cl.clReleaseContext(o->context);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* What it does not tell stays 0. */
static void find_sizes(wisp__gpu *g, cl_device_id id)
{
    cl_uint units = 0, mhz = 0;
    cl_ulong cache = 0, local = 0;
    cl.clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    cl.clGetDeviceInfo(id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof mhz, &mhz, NULL);
    cl.clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof cache, &cache, NULL);
    cl.clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    g->units = (int)WISP__MIN(units, 1 << 16);
    g->clock = 1e6 * mhz;
    g->cache_bytes = (int64_t)cache;
    g->local_bytes = (int64_t)local;
}

static wisp_status opencl_open(wisp__gpu *g, int number)
{
    enum { CPU_GROUP = 32, GPU_GROUP = 128, CPU_GROUPS = 64, GPU_GROUPS = 1 << 14 };
    char name[160], version[160], driver[160];
    cl_device_type type = 0;
    cl_int error;
    wisp_status status;
    opencl *o = calloc(1, sizeof *o);
    if (!o) return wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for the device 'opencl'");
    g->device = o;
    pthread_mutex_init(&o->lock, NULL);
    o->id = all.device[number];
    o->context = cl.clCreateContext(NULL, 1, &o->id, NULL, NULL, &error);
    WISP_TRY(told(g, "it can't be opened", error));
    o->queue = cl.clCreateCommandQueue(o->context, o->id, 0, &error);
    WISP_TRY(told(g, "no queue for it", error));
    WISP_TRY(told(g, "its type", cl.clGetDeviceInfo(o->id, CL_DEVICE_TYPE, sizeof type, &type, NULL)));
    text_of(o->id, CL_DEVICE_NAME, name, sizeof name);
    text_of(o->id, CL_DEVICE_VERSION, version, sizeof version);
    text_of(o->id, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(o->made_by, sizeof o->made_by, "opencl %s %s %s %s", name, version, driver, options);
    g->driver_keeps = strstr(version, "pocl") || strstr(version, "PoCL");
    const bool cpu = type & CL_DEVICE_TYPE_CPU;
    g->group_size = cpu ? CPU_GROUP : GPU_GROUP;
    g->most_groups = cpu ? CPU_GROUPS : GPU_GROUPS;
    g->on_cpu = cpu;
    find_sizes(g, o->id);
out:
    if (status != WISP_OK) opencl_close(g);
    return status;
}

static wisp_status opencl_alloc(wisp__gpu *g, size_t bytes, void **buffer)
{
    cl_int error;
    *buffer = NULL;
    if (wisp__gpu_is_child(g)) return wisp__gpu_not_here(g);
    *buffer = cl.clCreateBuffer(of(g)->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    return told(g, "memory", error);
}

static void opencl_free(wisp__gpu *g, void *buffer)
{
    if (!wisp__gpu_is_child(g)) cl.clReleaseMemObject(buffer);
}

static wisp_status opencl_clear(wisp__gpu *g, void *buffer, size_t bytes)
{
    const cl_uint zero = 0;
    if (wisp__gpu_is_child(g)) return wisp__gpu_not_here(g);
    return told(g, "filling",
                cl.clEnqueueFillBuffer(of(g)->queue, buffer, &zero, sizeof zero, 0, bytes, 0, NULL, NULL));
}

static void CL_CALLBACK copied(cl_event event, cl_int ended, void *copy)
{
    (void)event, (void)ended;
    free(copy);
}

/* What is small is copied, so that nobody waits. */
static wisp_status opencl_write(wisp__gpu *g, void *buffer, size_t at, const void *host, size_t bytes)
{
    enum { SMALL = 1 << 20 };
    if (wisp__gpu_is_child(g)) return wisp__gpu_not_here(g);
    void *copy = bytes <= SMALL ? malloc(bytes) : NULL;
    cl_event event;
    cl_int error;
    if (!copy) {
        error = cl.clEnqueueWriteBuffer(of(g)->queue, buffer, CL_TRUE, at, bytes, host, 0, NULL, NULL);
        return told(g, "copying to it", error);
    }
    memcpy(copy, host, bytes);
    error = cl.clEnqueueWriteBuffer(of(g)->queue, buffer, CL_FALSE, at, bytes, copy, 0, NULL, &event);
    if (error == CL_SUCCESS) {
        error = cl.clSetEventCallback(event, CL_COMPLETE, copied, copy);
        cl.clReleaseEvent(event);
    } else {
        free(copy);
    }
    return told(g, "copying to it", error);
}

static wisp_status opencl_read(wisp__gpu *g, void *buffer, size_t at, void *host, size_t bytes)
{
    if (bytes == 0) return WISP_OK;
    if (wisp__gpu_is_child(g)) return wisp__gpu_not_here(g);
    return told(g, "copying from it",
                cl.clEnqueueReadBuffer(of(g)->queue, buffer, CL_TRUE, at, bytes, host, 0, NULL, NULL));
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static cl_program from_kept(wisp__gpu *g, const char *text)
{
    opencl *o = of(g);
    size_t bytes = 0;
    cl_int error = CL_SUCCESS, each = CL_SUCCESS;
    unsigned char *kept = wisp__gpu_kept(o->made_by, text, &bytes);
    if (!kept) return NULL;
    cl_program p =
        cl.clCreateProgramWithBinary(o->context, 1, &o->id, &bytes, (const unsigned char **)&kept, &each, &error);
    free(kept);
    if (error == CL_SUCCESS && cl.clBuildProgram(p, 1, &o->id, options, NULL, NULL) == CL_SUCCESS) return p;
    if (error == CL_SUCCESS) cl.clReleaseProgram(p);
    return NULL;
}

static void keep(wisp__gpu *g, const char *text, cl_program p)
{
    size_t bytes = 0;
    if (cl.clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS || bytes == 0) return;
    unsigned char *data = malloc(bytes);
    if (data && cl.clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof data, &data, NULL) == CL_SUCCESS)
        wisp__gpu_keep(of(g)->made_by, text, data, bytes);
    free(data);
}

static wisp_status does_not_compile(wisp__gpu *g, const char *name, cl_program p, cl_int error)
{
    char *log = NULL;
    size_t bytes = 0;
    if (cl.clGetProgramBuildInfo(p, of(g)->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) == CL_SUCCESS)
        log = calloc(bytes + 1, 1);
    if (log) cl.clGetProgramBuildInfo(p, of(g)->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    const wisp_status status = wisp__gpu_not_compiled(g, name, (int)error, log ? log : "");
    free(log);
    return status;
}

static wisp_status opencl_compile(wisp__gpu *g, const char *name, const char *text, void **kernel)
{
    opencl *o = of(g);
    cl_int error = CL_SUCCESS;
    wisp_status status = WISP_OK;
    if (wisp__gpu_is_child(g)) return wisp__gpu_not_here(g);
    cl_program p = g->driver_keeps ? NULL : from_kept(g, text);
    const bool kept = p;
    if (!p) p = cl.clCreateProgramWithSource(o->context, 1, &text, NULL, &error);
    if (!p) return told(g, "a program", error);
    if (!kept) {
        g->compiled = true;
        error = cl.clBuildProgram(p, 1, &o->id, options, NULL, NULL);
        if (error != CL_SUCCESS) status = does_not_compile(g, name, p, error);
        if (error == CL_SUCCESS && !g->driver_keeps) keep(g, text, p);
    }
    if (status == WISP_OK) {
        *kernel = cl.clCreateKernel(p, name, &error);
        status = told(g, "a kernel", error);
    }
    cl.clReleaseProgram(p);
    return status;
}

static void opencl_drop(wisp__gpu *g, void *kernel)
{
    if (!wisp__gpu_is_child(g)) cl.clReleaseKernel(kernel);
}

static wisp_status opencl_launch(wisp__gpu *g, void *kernel, int64_t groups, const void *params, size_t bytes,
                                 void *const buffer[K_PLACES])
{
    enum { FLUSH_EVERY = 16 };
    opencl *o = of(g);
    if (wisp__gpu_is_child(g)) return wisp__gpu_not_here(g);
    const size_t local = (size_t)g->group_size, global = (size_t)groups * local;
    pthread_mutex_lock(&o->lock);
    cl_int error = cl.clSetKernelArg(kernel, 0, bytes, params);
    for (cl_uint i = 0; i < K_PLACES && error == CL_SUCCESS; i++)
        error = cl.clSetKernelArg(kernel, 1 + i, sizeof(cl_mem), buffer[i] ? (const void *)&buffer[i] : NULL);
    if (error == CL_SUCCESS)
        error = cl.clEnqueueNDRangeKernel(o->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    if (error == CL_SUCCESS && ++o->launches % FLUSH_EVERY == 0) error = cl.clFlush(o->queue);
    pthread_mutex_unlock(&o->lock);
    return told(g, "a launch", error);
}

static wisp_status opencl_finish(wisp__gpu *g)
{
    return wisp__gpu_is_child(g) ? wisp__gpu_not_here(g) : told(g, "its work", cl.clFinish(of(g)->queue));
}

static const wisp__gpu_driver driver = {
    .name = "opencl",
    .open = opencl_open,
    .close = opencl_close,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .clear = opencl_clear,
    .write = opencl_write,
    .read = opencl_read,
    .compile = opencl_compile,
    .drop = opencl_drop,
    .launch = opencl_launch,
    .finish = opencl_finish,
};

static bool opencl_describe(wisp_device *d)
{
    cl_ulong bytes = 0;
    pthread_once(&once, load);
    if (d->number >= all.count) return false;
    text_of(all.device[d->number], CL_DEVICE_NAME, d->what, sizeof d->what);
    cl.clGetDeviceInfo(all.device[d->number], CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    d->memory_bytes = (int64_t)bytes;
    return true;
}

/* By its UUID, where the driver tells it (cl_khr_device_uuid). */
static void opencl_identify(int number, char *id, size_t room)
{
    enum { CL_DEVICE_UUID = 0x106A, BYTES = 16 };
    unsigned char uuid[BYTES];
    if (room <= 2 * BYTES || cl.clGetDeviceInfo(all.device[number], CL_DEVICE_UUID, BYTES, uuid, NULL) != CL_SUCCESS)
        return;
    for (int i = 0; i < BYTES; i++) snprintf(id + 2 * i, 3, "%02x", uuid[i]);
}

static wisp_status open_ctx(wisp_ctx *ctx) { return wisp__gpu_open(ctx, &driver); }
#else
static bool opencl_describe(wisp_device *d)
{
    (void)d;
    return false;
}

static void opencl_identify(int number, char *id, size_t room) { (void)number, (void)id, (void)room; }

static wisp_status open_ctx(wisp_ctx *ctx)
{
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "this build has no OpenCL");
}
#endif

const wisp__backend wisp__backend_opencl = {
    .name = "opencl", .describe = opencl_describe, .identify = opencl_identify, .open = open_ctx, WISP__GPU_CALLS};
