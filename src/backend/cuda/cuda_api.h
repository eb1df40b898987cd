/* What is used of CUDA's driver API (libcuda.so.1) and of NVRTC: types, values and signatures of the public interface,
   by the names that the libraries export. Both are opened at run time, and their headers are not needed to build.

   CUDA_FUNCTIONS is all that is called of the driver. What stands in for it has these, and no others: */
#ifndef WISP_CUDA_API_H
#define WISP_CUDA_API_H
#include <stddef.h>

typedef int CUresult;
enum { CUDA_SUCCESS = 0, CUDA_ERROR_OUT_OF_MEMORY = 2 };
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

/* Of a device. */
enum {
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, /* kHz */
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,       /* kHz; twice a turn */
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81
};
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2, CU_MEMHOSTALLOC_DEFAULT = 0 };
/* Options of cuModuleLoadDataEx: the compiler's errors, and the bytes that they have room in. */
enum { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };

/* X(name, arguments); each returns a CUresult. The version of the driver (12040 is 12.4) says which PTX it takes: where
   NVRTC's is later, modules are cubins, else always PTX, a text that ends with 0. */
#define CUDA_FUNCTIONS(X)                                                                                             \
    X(cuInit, (unsigned flags))                                                                                       \
    X(cuDriverGetVersion, (int *version))                                                                             \
    X(cuGetErrorName, (CUresult error, const char **name))                                                            \
    X(cuDeviceGetCount, (int *count))                                                                                 \
    X(cuDeviceGet, (CUdevice * device, int ordinal))                                                                  \
    X(cuDeviceGetName, (char *name, int room, CUdevice device))                                                       \
    X(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                                         \
    X(cuDeviceGetPCIBusId, (char *id, int room, CUdevice device))                                                     \
    X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                                             \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                               \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                                \
    X(cuCtxPushCurrent_v2, (CUcontext context))                                                                       \
    X(cuCtxPopCurrent_v2, (CUcontext * context))                                                                      \
    X(cuStreamCreate, (CUstream * stream, unsigned flags))                                                            \
    X(cuStreamDestroy_v2, (CUstream stream))                                                                          \
    X(cuStreamSynchronize, (CUstream stream))                                                                         \
    X(cuEventCreate, (CUevent * event, unsigned flags))                                                               \
    X(cuEventDestroy_v2, (CUevent event))                                                                             \
    X(cuEventRecord, (CUevent event, CUstream stream))                                                                \
    X(cuEventSynchronize, (CUevent event))                                                                            \
    X(cuMemAlloc_v2, (CUdeviceptr * at, size_t bytes))                                                                \
    X(cuMemFree_v2, (CUdeviceptr at))                                                                                 \
    X(cuMemHostAlloc, (void **host, size_t bytes, unsigned flags))                                                    \
    X(cuMemFreeHost, (void *host))                                                                                    \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                        \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                              \
    X(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t words, CUstream stream))                              \
    X(cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned options, int *option, void **option_value)) \
    X(cuModuleUnload, (CUmodule module))                                                                              \
    X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                                \
    X(cuLaunchKernel,                                                                                                 \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,    \
       unsigned block_z, unsigned shared_bytes, CUstream stream, void **argument, void **extra))

typedef int nvrtcResult;
enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_OUT_OF_MEMORY = 1 };
typedef struct _nvrtcProgram *nvrtcProgram;
/* X(name, arguments); each returns an nvrtcResult. */
#define NVRTC_FUNCTIONS(X)                                                                        \
    X(nvrtcVersion, (int *major, int *minor))                                                     \
    X(nvrtcGetNumSupportedArchs, (int *count))                                                    \
    X(nvrtcGetSupportedArchs, (int *arch))                                                        \
    X(nvrtcCreateProgram, (nvrtcProgram * program, const char *text, const char *name, int files, \
                           const char *const *file, const char *const *file_name))                \
    X(nvrtcDestroyProgram, (nvrtcProgram * program))                                              \
    X(nvrtcCompileProgram, (nvrtcProgram program, int options, const char *const *option))        \
    X(nvrtcGetPTXSize, (nvrtcProgram program, size_t * bytes))                                    \
    X(nvrtcGetPTX, (nvrtcProgram program, char *ptx))                                             \
    X(nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))                                  \
    X(nvrtcGetCUBIN, (nvrtcProgram program, char *cubin))                                         \
    X(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes))                             \
    X(nvrtcGetProgramLog, (nvrtcProgram program, char *log))
#endif
