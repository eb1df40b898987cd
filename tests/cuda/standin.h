/* A stand-in for CUDA's driver (libcuda.so.1): what its files share. It runs PTX on the CPU (ptx2c.py, run.c), late,
   and is strict: what a program does wrong is told in a line, and makes it fail when it ends.

   WISP_STANDIN_SEED=N    work runs at points by chance; 0: only when it is waited for
   WISP_STANDIN_FAIL=N    call N fails; N+: and all that follow, as behind an error of a kernel (what releases
                          does so nevertheless)
   WISP_STANDIN_MEMORY=N  bytes of a device; WISP_STANDIN_ARCH=80 its capability; WISP_STANDIN_DEVICES=1 how many
   WISP_STANDIN_TRACE=1   each call is told
   What was translated is kept in $XDG_CACHE_HOME/wisp-standin. */
#ifndef STANDIN_H
#define STANDIN_H
#include "backend/cuda/cuda_api.h"
#include "run.h"
#include <stdbool.h>

enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
    LAUNCH_TIMEOUT = 702,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILED = 719
};

/* A handle; it stays when it is destroyed, so that whoever still uses it is found. */
typedef enum { A_CONTEXT = 0x57a1d100, A_STREAM, A_EVENT, A_MODULE, A_FUNCTION, A_DEAD } standin_kind;
typedef struct handle {
    standin_kind kind, was;
    struct handle *next;
} handle;

struct CUctx_st {
    handle h;
    int device, retained;
    CUresult failed; /* by a kernel: from then on by all */
};
typedef struct op {
    struct op *next;
    enum { DO_COPY_TO, DO_COPY_FROM, DO_SET, DO_LAUNCH, DO_RECORD } what;
    CUdeviceptr at; /* of the device */
    size_t bytes;
    char *host, *staged; /* staged: a copy, to be freed; or a launch's parameters */
    unsigned value;
    CUfunction function;
    unsigned groups, items, shared_bytes;
    CUevent event;
    struct CUstream_st *stream;
} op;
struct CUstream_st {
    handle h;
    op *first, **last;
};
struct CUevent_st {
    handle h;
    op *pending; /* NULL: done, or never recorded */
};
struct CUmod_st {
    handle h;
    void *library;
    const run_entry *entry;
    run_variable *variable;
};
struct CUfunc_st {
    handle h;
    CUmodule module;
    const run_entry *entry;
};

/* ---- standin.c ------------------------------------------------------------------------------------- */

/* What the program does wrong: told, and not forgiven. */
CUresult standin_wrong(CUresult error, const char *format, ...) __attribute__((format(printf, 2, 3)));
CUcontext standin_current(void);
uint64_t standin_chance(uint64_t below);
uint64_t standin_seed(void);
void *standin_new(size_t bytes, standin_kind kind);
void standin_dead(handle *h);
CUresult standin_is(const void *handle, standin_kind kind);
extern handle *standin_handles;

/* ---- standin_memory.c ------------------------------------------------------------------------------ */

const run_memory *standin_memory(void);
CUresult standin_alloc(CUdeviceptr *at, size_t bytes);
CUresult standin_free(CUdeviceptr at);
size_t standin_room(void);
/* What lies there, if all of it is in an allocation; else NULL. */
char *standin_at(CUdeviceptr at, size_t bytes);
CUresult standin_host_alloc(void **host, size_t bytes);
CUresult standin_host_free(void *host);
/* 1: all of it is pinned; 0: nothing; -1: some. */
int standin_pinned(const void *host, size_t bytes);
/* Of memory that is not freed: how much of the device's and of pinned. */
void standin_left(size_t *device, size_t *pinned);

/* ---- standin_queue.c ------------------------------------------------------------------------------- */

op *standin_queue(CUstream stream, op what);
CUresult standin_finish(CUstream stream, const op *last); /* NULL: all */
void standin_run_some(void);
/* The kind of work that is queued and uses this memory, or module; NULL: none. */
const char *standin_uses(CUdeviceptr at, size_t bytes, const char *host, size_t host_bytes, CUmodule module);

/* ---- standin_module.c ------------------------------------------------------------------------------ */

CUresult standin_load(CUmodule module, const char *text, char *log, size_t log_bytes);
CUresult standin_unload(CUmodule module);
#endif
