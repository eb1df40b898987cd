/* Kernels of CUDA: NVRTC makes PTX of a text, and the driver the device's own code of that. */
#include "cuda.h"
#include <stdio.h>
#include <stdlib.h>

/* Products are fused where kernels say so, and nowhere else. Functions that say nothing of the kind are the device's.
 */
static const char *const option[] = {"-fmad=false", "-std=c++17", "-default-device"};
enum { OPTIONS = sizeof option / sizeof option[0] };

/* The newest architecture that NVRTC knows and the device has, as 90 is 9.0; 0: none. */
static int newest(const wisp__nvrtc_calls *n, int device)
{
    enum { MOST = 128 };
    int count = 0, best = 0, arch[MOST];
    if (n->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > MOST) return 0;
    if (n->nvrtcGetSupportedArchs(arch) != NVRTC_SUCCESS) return 0;
    for (int i = 0; i < count; i++)
        if (arch[i] <= device) best = WISP__MAX(best, arch[i]);
    return best;
}

/* Whether kernels can be compiled by this NVRTC, and how. PTX, since it is what later drivers and devices understand,
   too. But a driver takes that of no later version than its own: of one with the same first number it takes code of the
   device's architecture, or of one that runs there. */
static bool suits(wisp__cuda *c, const wisp__nvrtc_calls *n, int device, int driver, int version)
{
    const int arch = newest(n, device);
    const bool older = version > driver;
    if (!arch || (older && (version / 1000 != driver / 1000 || arch / 10 != device / 10))) return false;
    c->nvrtc = n;
    c->cubin = older;
    snprintf(c->arch, sizeof c->arch, "-arch=%s_%d", older ? "sm" : "compute", arch);
    const int length = snprintf(c->made_by, sizeof c->made_by, "cuda NVRTC %d %s", version, c->arch);
    for (size_t i = 0, at = (size_t)length; i < OPTIONS; at += strlen(option[i++]) + 1)
        snprintf(c->made_by + at, sizeof c->made_by - at, " %s", option[i]);
    return true;
}

wisp_status wisp__cuda_compiler_open(wisp__gpu *g)
{
    wisp__cuda *c = wisp__cuda_of(g);
    static const int capability[] = {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR};
    int driver = 0, major = 0, minor = 0, of_device[2] = {0};
    wisp_status status = WISP_OK;
    for (int i = 0; i < 2; i++)
        WISP_TRY(wisp__cuda_status(g, "what it is", c->cu->cuDeviceGetAttribute(of_device + i, capability[i], c->id)));
    WISP_TRY(wisp__cuda_status(g, "its driver's version", c->cu->cuDriverGetVersion(&driver)));
    const int device = 10 * of_device[0] + of_device[1];
    for (int i = 0; i < CUDA_NVRTCS; i++) {
        const wisp__nvrtc_calls *n = wisp__nvrtc_calls_of(i);
        if (!n || n->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) continue;
        if (suits(c, n, device, driver, 1000 * major + 10 * minor)) return WISP_OK;
    }
    if (major)
        return wisp_ctx_failf(
            g->ctx, WISP_ERR_UNSUPPORTED,
            "the device '%s' has compute capability %d.%d and a driver of CUDA %d.%d, for which NVRTC "
            "%d.%d does not compile; install NVRTC of that CUDA, or an older one",
            wisp_ctx_device(g->ctx), device / 10, device % 10, driver / 1000, driver % 1000 / 10, major, minor);
    return wisp_ctx_failf(g->ctx, WISP_ERR_UNSUPPORTED,
                          "the device '%s' needs NVRTC (libnvrtc.so.13, .12 or .11.2), which compiles its kernels; "
                          "install it, or name its folder in LD_LIBRARY_PATH",
                          wisp_ctx_device(g->ctx));
out:
    return status;
}

static wisp_status out_of_memory(const wisp__gpu *g)
{
    return wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for a kernel of the device 'cuda'");
}

static wisp_status does_not_compile(wisp__gpu *g, const char *name, nvrtcProgram program, nvrtcResult error)
{
    const wisp__nvrtc_calls *n = wisp__cuda_of(g)->nvrtc;
    size_t bytes = 0;
    char *log = NULL;
    if (error == NVRTC_ERROR_OUT_OF_MEMORY) return out_of_memory(g);
    if (n->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS) log = calloc(bytes + 1, 1);
    if (log) n->nvrtcGetProgramLog(program, log);
    const wisp_status status = wisp__gpu_not_compiled(g, name, error, log ? log : "");
    free(log);
    return status;
}

/* What the driver loads, of a program. */
static wisp_status compiled(wisp__gpu *g, const char *name, const char *text, char **data, size_t *bytes)
{
    const wisp__cuda *c = wisp__cuda_of(g);
    const wisp__nvrtc_calls *n = c->nvrtc;
    const char *all[1 + OPTIONS] = {c->arch};
    nvrtcProgram program = NULL;
    wisp_status status = WISP_OK;
    memcpy(all + 1, option, sizeof option);
    nvrtcResult error = n->nvrtcCreateProgram(&program, text, name, 0, NULL, NULL);
    if (error != NVRTC_SUCCESS) return wisp__gpu_not_compiled(g, name, error, "");
    error = n->nvrtcCompileProgram(program, 1 + OPTIONS, all);
    if (error == NVRTC_SUCCESS)
        error = c->cubin ? n->nvrtcGetCUBINSize(program, bytes) : n->nvrtcGetPTXSize(program, bytes);
    if (error == NVRTC_SUCCESS) {
        *data = malloc(*bytes);
        if (!*data) status = out_of_memory(g);
        if (*data) error = c->cubin ? n->nvrtcGetCUBIN(program, *data) : n->nvrtcGetPTX(program, *data);
    }
    if (error != NVRTC_SUCCESS) status = does_not_compile(g, name, program, error);
    n->nvrtcDestroyProgram(&program);
    return status;
}

static CUresult load(const wisp__cuda *c, const char *data, char *log, size_t room, CUmodule *module)
{
    int what[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)(uintptr_t)room};
    memset(log, 0, room);
    return c->cu->cuModuleLoadDataEx(module, data, 2, what, value);
}

/* Of what was kept, or compiled now. */
static wisp_status module_of(wisp__gpu *g, const char *name, const char *text, CUmodule *module)
{
    const wisp__cuda *c = wisp__cuda_of(g);
    char log[1024];
    size_t bytes = 0;
    wisp_status status = WISP_OK;
    char *data = wisp__gpu_kept(c->made_by, text, &bytes);
    if (data && load(c, data, log, sizeof log, module) == CUDA_SUCCESS) goto out;
    free(data);
    data = NULL;
    g->compiled = true;
    WISP_TRY(compiled(g, name, text, &data, &bytes));
    const CUresult error = load(c, data, log, sizeof log, module);
    if (error == CUDA_SUCCESS)
        wisp__gpu_keep(c->made_by, text, data, bytes);
    else
        status = *log ? wisp__gpu_not_compiled(g, name, error, log) : wisp__cuda_status(g, "a kernel", error);
out:
    free(data);
    return status;
}

wisp_status wisp__cuda_compile(wisp__gpu *g, const char *name, const char *text, void **kernel)
{
    const wisp__cuda *c = wisp__cuda_of(g);
    wisp__cuda_kernel *k = NULL;
    wisp_status status = wisp__cuda_enter(g);
    if (status != WISP_OK) return status;
    k = calloc(1, sizeof *k);
    if (!k) {
        status = out_of_memory(g);
        goto out;
    }
    WISP_TRY(module_of(g, name, text, &k->module));
    WISP_TRY(wisp__cuda_status(g, "a kernel", c->cu->cuModuleGetFunction(&k->function, k->module, name)));
    *kernel = k;
    k = NULL;
out:
    if (k && k->module) c->cu->cuModuleUnload(k->module);
    free(k);
    wisp__cuda_leave(g);
    return status;
}

void wisp__cuda_drop(wisp__gpu *g, void *kernel)
{
    const wisp__cuda *c = wisp__cuda_of(g);
    wisp__cuda_kernel *k = kernel;
    CUcontext own;
    if (wisp__gpu_is_child(g)) return;
    if (c->cu->cuCtxPushCurrent_v2(c->context) == CUDA_SUCCESS) { /* else the context's end is the module's, too */
        c->cu->cuModuleUnload(k->module);
        c->cu->cuCtxPopCurrent_v2(&own);
    }
    free(k);
}
