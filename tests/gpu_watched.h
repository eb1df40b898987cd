/* The device plain with its calls looked at, and with groups that take turns where they wait for each other. A test
   that includes it exports what its kernels call (ENABLE_EXPORTS). */
#ifndef GPU_WATCHED_H
#define GPU_WATCHED_H
#include "gpu_devices.h"
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

/* ---- a device whose calls are looked at -------------------------------------------------------- */

enum { GROUPS = 4, MOST_BUFFERS = 256 };
static wisp__tuned tuned;
static wisp__backend backend;
static wisp__gpu_driver driver, own; /* the former calls the latter */
static const wisp__backend *own_backend;
static struct {
    char *at;
    size_t bytes;
} memory[MOST_BUFFERS];
static int sweeps, launches; /* kernels of one task, and of several */
static const char *removed;  /* the remark at a line of interleaved.gpu.h that is left out */
static bool watched, backwards;

static void facts(wisp_ctx *ctx, wisp__facts *f)
{
    own_backend->facts(ctx, f);
    f->tuned = &tuned;
}

static wisp_status alloc(wisp__gpu *g, size_t bytes, void **buffer)
{
    const wisp_status status = own.alloc(g, bytes, buffer);
    int i = 0;
    while (i < MOST_BUFFERS && memory[i].at) i++;
    assert_true(i < MOST_BUFFERS);
    memory[i].at = *buffer, memory[i].bytes = bytes;
    return status;
}

static void release(wisp__gpu *g, void *buffer)
{
    for (int i = 0; i < MOST_BUFFERS; i++)
        if (memory[i].at == buffer) memory[i].at = NULL;
    own.free(g, buffer);
}

/* A copy of a kernel for each group, with what is LOCAL to that. */
typedef struct {
    void *copy[GROUPS];
} kernels;

/* Words for what groups share, which this program has. */
static const char words[] = "#define WATCHED\n"
                            "#define SEE(a, i) ({ elem e_; watch_see(&e_, (a) + (i), sizeof e_); e_; })\n"
                            "#define PUT(a, i, e) ({ const elem e_ = (e); watch_put((a) + (i), &e_, sizeof e_); })\n"
                            "#define FENCE() watch_fence()\n"
                            "#define ATOMIC_ADD(at, n) watch_add(at, n)\n"
                            "#define LOAD_FLAG(at) watch_add(at, 0)\n"
                            "#define PAUSE() ((void)0)\n";
static const char functions[] = "void watch_see(void *to, const void *at, size_t bytes);\nvoid watch_put(void *at, "
                                "const void *from, size_t bytes);\n"
                                "void watch_fence(void);\nint watch_add(int *at, int n);\n";

/* The program with these words, and without a line. */
static char *changed(const char *text)
{
    char *all = malloc(strlen(text) + sizeof words + sizeof functions + 200);
    const size_t defines = (size_t)(strstr(text, "/*") - text); /* of the program: its first lines */
    sprintf(all, "%.*s%s%s%s%s", (int)defines, text, backwards ? "#define ITEM_TURN(i) (GROUP_SIZE - 1 - (i))\n" : "",
            words, functions, text + defines);
    if (!removed) return all;
    char *at = strstr(all, removed);
    assert_non_null(at);
    while (at[-1] != '\n') at--;
    for (at += strspn(at, " "); strncmp(at, "/*", 2); at++) *at = at[-1] == ' ' ? ';' : ' ';
    return all;
}

static wisp_status compile(wisp__gpu *g, const char *name, const char *text, void **kernel)
{
    const bool change = watched && !strcmp(name, "interleaved");
    char *all = change ? changed(text) : NULL;
    kernels *k = calloc(1, sizeof *k);
    wisp_status status = WISP_OK;
    for (int i = 0; i < (change ? GROUPS : 1) && status == WISP_OK; i++)
        status = own.compile(g, name, change ? all : text, &k->copy[i]);
    free(all);
    *kernel = k;
    return status;
}

static void drop(wisp__gpu *g, void *kernel)
{
    kernels *k = kernel;
    for (int i = 0; i < GROUPS; i++)
        if (k->copy[i]) own.drop(g, k->copy[i]);
    free(k);
}

/* ---- groups that take turns -------------------------------------------------------------------- */

/* A group sees memory as it was at its last fence, and what it has put itself; others see that after its next fence.
   Flags are there at once. One group runs at a time; which goes on at a flag or a fence, a number says. */
typedef struct {
    void *at;
    size_t bytes;
    char element[16];
} put;
typedef struct {
    ucontext_t here;
    char *stack, *view[K_PLACES];
    put *put;
    size_t puts, room;
    bool ended;
} group;
static struct {
    ref_rng r;
    int groups, left;
    int64_t looks;
    group group[GROUPS];
    ucontext_t back;
    char *memory[K_PLACES];
    size_t bytes[K_PLACES];
    wisp__gpu *g;
    kernels *kernel;
    const void *params;
    void *const *buffer;
    wisp_status status;
} w;
static int me;

/* Another group goes on, or this one. */
static void pass_on(void)
{
    const int was = me;
    do me = (int)ref_below(&w.r, w.groups);
    while (w.group[me].ended);
    if (me != was) swapcontext(&w.group[was].here, &w.group[me].here);
}

/* Where an address is in the group's view. */
static char *seen(const void *at)
{
    const char *place = at;
    for (int i = 1; i < K_PLACES; i++)
        if (w.memory[i] && place >= w.memory[i] && place < w.memory[i] + w.bytes[i])
            return w.group[me].view[i] + (place - w.memory[i]);
    abort();
}

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void watch_see(void *to, const void *at, size_t bytes);
EXPORTED void watch_put(void *at, const void *from, size_t bytes);
EXPORTED void watch_fence(void);
EXPORTED int watch_add(int *at, int n);

void watch_see(void *to, const void *at, size_t bytes) { memcpy(to, seen(at), bytes); }

void watch_put(void *at, const void *from, size_t bytes)
{
    group *v = w.group + me;
    memcpy(seen(at), from, bytes);
    if (v->puts == v->room) v->put = realloc(v->put, (v->room = 2 * v->room + 64) * sizeof *v->put);
    v->put[v->puts].at = at, v->put[v->puts].bytes = bytes;
    memcpy(v->put[v->puts++].element, from, bytes);
}

static void fence(void)
{
    group *v = w.group + me;
    for (size_t i = 0; i < v->puts; i++) memcpy(v->put[i].at, v->put[i].element, v->put[i].bytes);
    v->puts = 0;
    for (int i = 1; i < K_PLACES; i++)
        if (w.memory[i]) memcpy(v->view[i], w.memory[i], w.bytes[i]);
}

void watch_fence(void)
{
    pass_on();
    fence();
    pass_on();
}

/* Who looks so often would do so for ever: it goes on, and gives something else. */
int watch_add(int *at, int n)
{
    enum { MOST_LOOKS = 1 << 20 };
    pass_on();
    if (n == 0 && ++w.looks > MOST_LOOKS) return INT32_MAX;
    const int was = *at;
    *at += n;
    pass_on();
    return was;
}

static void group_main(void)
{
    fence();
    const wisp_status status = own.launch(w.g, w.kernel->copy[me], 1, w.params, sizeof(k_steps), w.buffer);
    if (status != WISP_OK) w.status = status;
    w.group[me].ended = true;
    if (--w.left > 0) pass_on();
    setcontext(&w.back);
}

static void begin_group(int t)
{
    enum { STACK = 256 << 10 };
    group *v = w.group + t;
    *v = (group){.stack = malloc(STACK)};
    for (int i = 1; i < K_PLACES; i++) v->view[i] = w.memory[i] ? malloc(w.bytes[i]) : NULL;
    getcontext(&v->here);
    v->here.uc_stack.ss_sp = v->stack;
    v->here.uc_stack.ss_size = STACK;
    makecontext(&v->here, group_main, 0);
}

static void end_group(int t)
{
    me = t;
    fence(); /* the kernel ends */
    for (int i = 1; i < K_PLACES; i++) free(w.group[t].view[i]);
    free(w.group[t].put);
    free(w.group[t].stack);
}

static wisp_status launch(wisp__gpu *g, void *kernel, int64_t groups, const void *params, size_t bytes,
                          void *const buffer[K_PLACES])
{
    sweeps += bytes == sizeof(k_sweep);
    launches += bytes == sizeof(k_steps);
    if (!watched || bytes != sizeof(k_steps))
        return own.launch(g, ((kernels *)kernel)->copy[0], groups, params, bytes, buffer);
    w.g = g, w.kernel = kernel, w.params = params, w.buffer = buffer;
    w.status = WISP_OK, w.looks = 0, w.left = w.groups, me = 0;
    for (int i = 1; i < K_PLACES; i++) {
        w.memory[i] = buffer[i];
        for (int b = 0; b < MOST_BUFFERS; b++)
            if (buffer[i] && memory[b].at == w.memory[i]) w.bytes[i] = memory[b].bytes;
    }
    for (int t = 0; t < w.groups; t++) begin_group(t);
    swapcontext(&w.back, &w.group[0].here);
    for (int t = 0; t < w.groups; t++) end_group(t);
    return w.status;
}

/* ---- a context on it --------------------------------------------------------------------------- */

static wisp_ctx *new_ctx(const char *device)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device, .threads = 1});
    wisp__gpu *g = ctx->device;
    own_backend = ctx->backend, backend = *ctx->backend;
    tuned = *ctx->backend->tuned;
    tuned.schedule.group_bytes = 1; /* each block of rows is a group */
    backend.tuned = &tuned, backend.facts = facts;
    own = driver = *g->driver;
    driver.alloc = alloc, driver.free = release, driver.compile = compile, driver.drop = drop, driver.launch = launch;
    g->driver = &driver;
    ctx->backend = &backend;
    return ctx;
}
#endif
