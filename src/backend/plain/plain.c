/* The device `plain`, for tests: kernels of GPUs as plain C, compiled by the system's compiler when they are called
   (kernel/item.h: work-items take turns, and groups go to some threads). Its memory is the host's, at addresses that
   only kernels are told. Work is done when its call returns. */
#include "../gpu/gpu.h"
#include "../../topo/features.h"
#include "../../topo/machine.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static wisp_status plain_open(wisp__gpu *g, int number)
{
    enum { GROUP = 32, MOST_GROUPS = 16, UNITS = 2, CACHE = 4 << 20, LOCAL = 32 << 10 };
    (void)number;
    g->group_size = GROUP;
    g->most_groups = MOST_GROUPS;
    g->steps = WISP__STEPS_DRAWN;
    g->on_cpu = true;
    g->units = UNITS;
    g->cache_bytes = CACHE;
    g->local_bytes = LOCAL;
    return WISP_OK;
}

static void plain_close(wisp__gpu *g) { (void)g; }

static wisp_status plain_alloc(wisp__gpu *g, size_t bytes, void **buffer)
{
    *buffer = aligned_alloc(WISP__LINE, wisp__lines(bytes));
    if (*buffer) return WISP_OK;
    return wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory: no %zu bytes on the device 'plain'", bytes);
}

static void plain_free(wisp__gpu *g, void *buffer)
{
    (void)g;
    free(buffer);
}

static wisp_status plain_clear(wisp__gpu *g, void *buffer, size_t bytes)
{
    (void)g;
    memset(buffer, 0, bytes);
    return WISP_OK;
}

static wisp_status plain_write(wisp__gpu *g, void *buffer, size_t at, const void *host, size_t bytes)
{
    (void)g;
    memcpy((char *)buffer + at, host, bytes);
    return WISP_OK;
}

static wisp_status plain_read(wisp__gpu *g, void *buffer, size_t at, void *host, size_t bytes)
{
    (void)g;
    memcpy(host, (const char *)buffer + at, bytes);
    return WISP_OK;
}

/* ---- kernels ----------------------------------------------------------------------------------- */

#define OPTIONS "cc", "-O2", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-U_FORTIFY_SOURCE"
typedef int launch_fn(int64_t first, int64_t step, int64_t groups, const void *p, char *const *a);
typedef struct {
    void *library;
    launch_fn *launch;
} plain_kernel;

/* The CPU's own fma, where it has to be asked for: the same bits, faster. NULL: nothing is to be said. */
static const char *fma_option(void) { return wisp__cpu_features() & WISP__CPU_FMA ? "-mfma" : NULL; }

/* Runs the compiler, and waits for it. */
static bool run_compiler(const char *const *command)
{
    pid_t child, gone;
    int ended = 0;
    if (posix_spawnp(&child, command[0], NULL, NULL, (char *const *)(uintptr_t)command, environ)) return false;
    do gone = waitpid(child, &ended, 0);
    while (gone < 0 && errno == EINTR);
    return ended == 0; /* who else has waited for it (SIGCHLD) knows how it ended: then what it made tells */
}

static bool write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    const bool whole = fputs(text, f) >= 0;
    return fclose(f) == 0 && whole;
}

static char *read_whole(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "r");
    char *data = NULL;
    struct stat is;
    if (f && !fstat(fileno(f), &is) && (data = malloc((size_t)is.st_size + 1)))
        *bytes = fread(data, 1, (size_t)is.st_size, f);
    if (f) fclose(f);
    return data;
}

/* The library that the compiler makes of a program; NULL: none. */
static char *compiled(const char *text, size_t *bytes)
{
    char folder[] = "/tmp/wisp-plain-XXXXXX", source[64], object[64];
    char *data = NULL;
    if (!mkdtemp(folder)) return NULL;
    snprintf(source, sizeof source, "%s/kernel.c", folder);
    snprintf(object, sizeof object, "%s/kernel.so", folder);
    const char *const command[] = {OPTIONS, "-o", object, source, "-lm", fma_option(), NULL};
    if (write_text(source, text) && run_compiler(command)) data = read_whole(object, bytes);
    unlink(source);
    unlink(object);
    rmdir(folder);
    return data;
}

/* By a name of its own: a name that was loaded before would give that library once more. */
static void *load(const char *data, size_t bytes)
{
    char path[] = "/tmp/wisp-plain-XXXXXX";
    void *library = NULL;
    const int fd = mkstemp(path);
    if (fd < 0) return NULL;
    if (write(fd, data, bytes) == (ssize_t)bytes) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(fd);
    unlink(path);
    return library;
}

/* The program, with what makes work-items of it behind its first lines, which define. */
static char *with_items(const char *text)
{
    const char *turns = wisp__gpu_text("turns.h"), *items = wisp__gpu_text("item.h"), *rest = text;
    char *whole = malloc(strlen(turns) + strlen(items) + strlen(text) + 1);
    while (*rest == '#') rest += strcspn(rest, "\n") + 1;
    if (whole) sprintf(whole, "%.*s%s%s%s", (int)(rest - text), text, turns, items, rest);
    return whole;
}

static wisp_status plain_compile(wisp__gpu *g, const char *name, const char *text, void **kernel)
{
    const char *const options[] = {OPTIONS};
    char made_by[256] = "plain ";
    plain_kernel *k = calloc(1, sizeof *k);
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) strcat(made_by, options[i]);
    if (fma_option()) strcat(made_by, fma_option());
    char *whole = with_items(text), *kept = whole ? wisp__gpu_kept(made_by, whole, &bytes) : NULL, *data = kept;
    if (k && kept) k->library = load(kept, bytes);
    if (k && whole && !k->library) { /* or another machine has kept it */
        free(kept);
        g->compiled = true;
        data = compiled(whole, &bytes);
        if (data) k->library = load(data, bytes);
        if (k->library) wisp__gpu_keep(made_by, whole, data, bytes);
    }
    void *symbol = k && k->library ? dlsym(k->library, "item_launch") : NULL;
    free(data);
    free(whole);
    *kernel = k;
    if (symbol) {
        memcpy(&k->launch, &symbol, sizeof symbol);
        return WISP_OK;
    }
    free(k);
    return wisp_ctx_failf(g->ctx, WISP_ERR_UNSUPPORTED,
                          "the device 'plain' could not compile the kernel '%s'; it needs a C compiler `cc` on the "
                          "path, and room in /tmp",
                          name);
}

static void plain_drop(wisp__gpu *g, void *kernel)
{
    plain_kernel *k = kernel;
    (void)g;
    dlclose(k->library);
    free(k);
}

typedef struct {
    launch_fn *launch;
    int64_t first, step, groups;
    const void *p;
    char *const *a;
    int failed;
} some_groups;

static void *run_groups(void *arg)
{
    some_groups *s = arg;
    s->failed = s->launch(s->first, s->step, s->groups, s->p, s->a);
    return NULL;
}

static wisp_status plain_launch(wisp__gpu *g, void *kernel, int64_t groups, const void *params, size_t bytes,
                                void *const buffer[K_PLACES])
{
    enum { THREADS = 2 };
    const plain_kernel *k = kernel;
    some_groups some[THREADS];
    pthread_t thread[THREADS];
    bool runs[THREADS] = {false};
    bool stuck = false, no_memory = false;
    (void)bytes;
    for (int t = 0; t < THREADS; t++) {
        some[t] = (some_groups){k->launch, t, THREADS, groups, params, (char *const *)buffer, 0};
        if (t > 0) runs[t] = groups > t && !pthread_create(&thread[t], NULL, run_groups, some + t);
    }
    run_groups(some);
    for (int t = 1; t < THREADS; t++) {
        if (runs[t])
            pthread_join(thread[t], NULL);
        else
            run_groups(some + t);
    }
    for (int t = 0; t < THREADS; t++) stuck |= some[t].failed == 1, no_memory |= some[t].failed == 2;
    if (no_memory) return wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for the items of a kernel");
    if (!stuck) return WISP_OK;
    return wisp_ctx_failf(g->ctx, WISP_ERR_ARG,
                          "a kernel of the device 'plain' has a barrier that not all items reach");
}

static wisp_status plain_finish(wisp__gpu *g)
{
    (void)g;
    return WISP_OK;
}

static const wisp__gpu_driver driver = {
    .name = "plain",
    .open = plain_open,
    .close = plain_close,
    .alloc = plain_alloc,
    .free = plain_free,
    .clear = plain_clear,
    .write = plain_write,
    .read = plain_read,
    .compile = plain_compile,
    .drop = plain_drop,
    .launch = plain_launch,
    .finish = plain_finish,
};

static bool plain_describe(wisp_device *d)
{
    snprintf(d->what, sizeof d->what, "for tests: kernels of GPUs as plain C");
    d->memory_bytes = wisp__memory_installed();
    d->for_tests = 1;
    return d->number == 0;
}

static wisp_status open_ctx(wisp_ctx *ctx) { return wisp__gpu_open(ctx, &driver); }

const wisp__backend wisp__backend_plain = {
    .name = "plain", .describe = plain_describe, .open = open_ctx, WISP__GPU_CALLS};
