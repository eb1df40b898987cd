/* The device `cuda`: what its files share. */
#ifndef WISP_CUDA_H
#define WISP_CUDA_H
#include "../gpu/gpu.h"
#include "cuda_api.h"

/* ---- library.c: the driver and NVRTC, opened when they are first asked for ------------------------ */

#define WISP__CUDA_POINTER(name, arguments) int(*name) arguments;
typedef struct {
    CUDA_FUNCTIONS(WISP__CUDA_POINTER)
} wisp__cuda_calls;
typedef struct {
    NVRTC_FUNCTIONS(WISP__CUDA_POINTER)
} wisp__nvrtc_calls;
/* NULL: it is not there. */
const wisp__cuda_calls *wisp__cuda_calls_of(void);
int wisp__cuda_devices(void); /* counted once: what is listed may be asked for later */
/* Of several versions, the newest first. */
enum { CUDA_NVRTCS = 4 };
const wisp__nvrtc_calls *wisp__nvrtc_calls_of(int i);

/* ---- memory.c ------------------------------------------------------------------------------------ */

enum { CUDA_PIECES = 8, CUDA_PIECE = 1 << 20 };
/* Pinned memory, by which all copies go. */
typedef struct {
    char *host;
    CUevent copied; /* what was last copied by it */
} wisp__cuda_piece;

/* The same of a user's own, for copies that go straight. */
typedef struct wisp__cuda_stage {
    struct wisp__cuda_stage *next;
    char *host;
    size_t bytes;
} wisp__cuda_stage;

typedef struct wisp__cuda_buffer {
    struct wisp__cuda_buffer *next;
    CUdeviceptr at;
    size_t bytes;
    int64_t freed; /* waits that had begun then */
} wisp__cuda_buffer;

typedef struct {
    const wisp__cuda_calls *cu;
    const wisp__nvrtc_calls *nvrtc;
    CUdevice id;
    CUcontext context; /* the device's primary one, which is the program's, too */
    CUstream stream;
    char arch[64], made_by[256]; /* the option of NVRTC, and what kept kernels are known by */
    bool cubin;
    pthread_mutex_t lock, writing, reading; /* for what is below; `reading` is taken before `lock` */
    /* lock: */
    wisp__cuda_buffer *freed;
    wisp__cuda_stage *stage;
    int64_t waits; /* that have begun */
    /* writing: */
    wisp__cuda_piece to[CUDA_PIECES]; /* in a circle */
    int piece;
    size_t filled;
    /* reading: */
    wisp__cuda_piece from[2];
    char *pinned; /* the memory of all pieces */
} wisp__cuda;
static inline wisp__cuda *wisp__cuda_of(const wisp__gpu *g) { return g->device; }

wisp_status wisp__cuda_copies_open(wisp__gpu *g);
/* The queue is empty; entered: the device's context is the thread's. */
void wisp__cuda_memory_close(wisp__gpu *g, bool entered);
wisp_status wisp__cuda_alloc(wisp__gpu *g, size_t bytes, void **buffer);
void wisp__cuda_free(wisp__gpu *g, void *buffer);
wisp_status wisp__cuda_clear(wisp__gpu *g, void *buffer, size_t bytes);
wisp_status wisp__cuda_write(wisp__gpu *g, void *buffer, size_t at, const void *host, size_t bytes);
wisp_status wisp__cuda_read(wisp__gpu *g, void *buffer, size_t at, void *host, size_t bytes);
wisp_status wisp__cuda_finish(wisp__gpu *g);
wisp_status wisp__cuda_new_stage(wisp__gpu *g, size_t bytes, void **host);
void wisp__cuda_free_stage(wisp__gpu *g, void *host);

/* ---- compile.c ----------------------------------------------------------------------------------- */

typedef struct {
    CUmodule module;
    CUfunction function;
} wisp__cuda_kernel;
/* How programs are compiled for the device. */
wisp_status wisp__cuda_compiler_open(wisp__gpu *g);
wisp_status wisp__cuda_compile(wisp__gpu *g, const char *name, const char *text, void **kernel);
void wisp__cuda_drop(wisp__gpu *g, void *kernel);

/* ---- call.c: of the driver's functions ----------------------------------------------------------- */

wisp_status wisp__cuda_status(wisp__gpu *g, const char *what, CUresult error);
/* The device's context is the thread's until leave: whatever context the program has there comes back then. Fails in a
   child of fork. */
wisp_status wisp__cuda_enter(wisp__gpu *g);
void wisp__cuda_leave(wisp__gpu *g);
#endif
