/* CUDA's driver and NVRTC: opened when they are first asked for, so that wisp runs without. */
#include "cuda.h"
#include <dlfcn.h>

static wisp__cuda_calls cuda;
static bool has_cuda;
static int devices;

static bool find(void *library, const char *name, void *pointer_to_function)
{
    void *symbol = dlsym(library, name);
    memcpy(pointer_to_function, &symbol, sizeof symbol);
    return symbol;
}

#define FIND_CUDA(name, arguments) &&find(library, #name, &cuda.name)
static void open_libcuda(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    has_cuda = library CUDA_FUNCTIONS(FIND_CUDA) && cuda.cuInit(0) == CUDA_SUCCESS &&
               cuda.cuDeviceGetCount(&devices) == CUDA_SUCCESS;
}

const wisp__cuda_calls *wisp__cuda_calls_of(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_libcuda);
    return has_cuda ? &cuda : NULL;
}

int wisp__cuda_devices(void) { return wisp__cuda_calls_of() ? devices : 0; }

#define FIND_NVRTC(name, arguments) &&find(library, #name, &to->name)
static bool open_nvrtc(const char *name, wisp__nvrtc_calls *to)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library NVRTC_FUNCTIONS(FIND_NVRTC);
}

const wisp__nvrtc_calls *wisp__nvrtc_calls_of(int i)
{
    static const char *const name[CUDA_NVRTCS] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                                  "libnvrtc.so"};
    static wisp__nvrtc_calls calls[CUDA_NVRTCS];
    static bool tried[CUDA_NVRTCS], there[CUDA_NVRTCS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!tried[i]) there[i] = open_nvrtc(name[i], calls + i);
    tried[i] = true;
    pthread_mutex_unlock(&lock);
    return there[i] ? calls + i : NULL;
}
