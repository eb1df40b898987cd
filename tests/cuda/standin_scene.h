/* The stand-in for CUDA's driver in its own tests. */
#ifndef STANDIN_SCENE_H
#define STANDIN_SCENE_H
#include "backend/cuda/cuda_api.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define DECLARE(name, arguments) CUresult name arguments;
CUDA_FUNCTIONS(DECLARE)
#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
enum {
    INVALID_VALUE = 1,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    ILLEGAL = 700,
    NO_RESOURCES = 701,
    TIMEOUT = 702,
    MISALIGNED = 716,
    FAILED = 719,
    STRICT = 99
};

static CUcontext context;
static CUstream stream;

static inline void opened(void)
{
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static inline void closed(void)
{
    OK(cuStreamDestroy_v2(stream));
    OK(cuCtxPopCurrent_v2(&context));
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n";

static inline CUfunction kernel(CUmodule *module, const char *text, const char *name)
{
    CUfunction f;
    OK(cuModuleLoadDataEx(module, text, 0, NULL, NULL));
    OK(cuModuleGetFunction(&f, *module, name));
    return f;
}

static inline void standin_settings(void)
{
    setenv("WISP_STANDIN_SEED", "0", 1);
    unsetenv("WISP_STANDIN_FAIL");
}
#endif
