/* Kernels of a GPU: their programs, compiled when they are first called, and calls of them. */
#include "gpu.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The texts of kernel/, each with its name. */
static const struct {
    const char *name, *text;
} texts[] = {
#include "gpu_texts.inc"
};

const char *wisp__gpu_text(const char *name)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!strcmp(texts[i].name, name)) return texts[i].text;
    return "";
}

struct wisp__gpu_kernel {
    wisp__gpu_kernel *next;
    char *key; /* its definitions, and its name */
    void *handle;
};

char *wisp__gpu_program(int group_size, const char *name, const char *defines)
{
    const bool scalars = !strcmp(name, "scalars"),
               sweeps = !strcmp(name, "spmmv") || !strcmp(name, "interleaved") || !strcmp(name, "chain");
    char file[64], size[64], *text = NULL;
    snprintf(file, sizeof file, "%s.gpu.h", name);
    snprintf(size, sizeof size, "#define GROUP_SIZE %d\n", group_size);
    const char *part[] = {size,
                          defines,
                          wisp__gpu_text("dialect.h"),
                          wisp__gpu_text("params_gpu.h"),
                          scalars ? wisp__gpu_text("steps.h") : "",
                          scalars ? wisp__gpu_text("scalars.h") : "",
                          sweeps ? wisp__gpu_text("sweep.gpu.h") : "",
                          wisp__gpu_text(file)};
    size_t bytes = 1;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) bytes += strlen(part[i]);
    text = malloc(bytes);
    if (!text) return NULL;
    *text = 0;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) strcat(text, part[i]);
    return text;
}

static wisp_status compile(wisp__gpu *g, const char *name, const char *defines, void **handle)
{
    wisp__gpu_kernel *k = calloc(1, sizeof *k);
    char *text = wisp__gpu_program(g->group_size, name, defines);
    wisp_status status;
    if (k) k->key = malloc(strlen(name) + strlen(defines) + 1);
    if (!k || !k->key || !text) {
        status = wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for a kernel");
        goto out;
    }
    strcpy(stpcpy(k->key, defines), name);
    WISP_TRY(g->driver->compile(g, name, text, &k->handle));
    k->next = g->kernel;
    g->kernel = k;
    *handle = k->handle;
    k = NULL;
out:
    if (k) free(k->key);
    free(k);
    free(text);
    return status;
}

/* NULL: it is not there. With the lock. */
static const wisp__gpu_kernel *find(const wisp__gpu *g, const char *name, const char *defines)
{
    const size_t head = strlen(defines);
    const wisp__gpu_kernel *k = g->kernel;
    while (k && !(!strncmp(k->key, defines, head) && !strcmp(k->key + head, name))) k = k->next;
    return k;
}

bool wisp__gpu_has(wisp__gpu *g, const char *name, const char *defines)
{
    pthread_mutex_lock(&g->compiling);
    const bool has = find(g, name, defines);
    pthread_mutex_unlock(&g->compiling);
    return has;
}

void wisp__gpu_kernels_free(wisp__gpu *g)
{
    for (wisp__gpu_kernel *k = g->kernel, *next; k; k = next) {
        next = k->next;
        g->driver->drop(g, k->handle);
        free(k->key);
        free(k);
    }
    g->kernel = NULL;
}

/* ---- calls ------------------------------------------------------------------------------------- */

wisp__gpu_call wisp__gpu_begin(wisp_ctx *ctx, void *params, size_t bytes)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    return (wisp__gpu_call){.g = g, .status = WISP_OK, .params = params, .bytes = bytes, .staged = &g->staged};
}

static int64_t *at_of(wisp__gpu_call *c) { return c->params; } /* of each struct, the first member */

void wisp__gpu_at(wisp__gpu_call *c, int i, const void *address)
{
    if (address && c->status == WISP_OK) c->status = wisp__gpu_place(c->g->ctx, address, c->buffer + i, at_of(c) + i);
}

void wisp__gpu_own(wisp__gpu_call *c, int i, const wisp__gpu_buffer *b, size_t at)
{
    c->buffer[i] = b ? wisp__gpu_handle(b) : NULL;
    at_of(c)[i] = (int64_t)at;
}

void wisp__gpu_expect(wisp__gpu_call *c, const void *host, size_t bytes)
{
    if (host) c->expected += wisp__lines(bytes);
}

/* Work before this call has read what was there: the queue is in order. */
void wisp__gpu_staged(wisp__gpu_call *c, int i, const void *host, size_t bytes)
{
    enum { LEAST = 1 << 16 };
    wisp__gpu *g = c->g;
    const size_t own = wisp__lines(bytes);
    if (!host || c->status != WISP_OK) return;
    if (c->staged_at == 0) c->status = wisp__gpu_room(g, c->staged, WISP__MAX(WISP__MAX(c->expected, own), LEAST));
    if (c->status != WISP_OK) return;
    if (!wisp__gpu_fits(*c->staged, c->staged_at + bytes)) {
        c->status = wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of room for what comes with a call");
        return;
    }
    wisp__gpu_own(c, i, *c->staged, c->staged_at);
    c->status = g->driver->write(g, wisp__gpu_handle(*c->staged), c->staged_at, host, bytes);
    c->staged_at += own;
}

void wisp__gpu_complex(double *to, const void *factors, bool is_double, int reals, int width, int64_t behind)
{
    for (int j = 0; j < width; j++) {
        to[2 * j] = wisp__gpu_real_at(factors, is_double, (int64_t)reals * j);
        to[2 * j + 1] = reals == 2 ? wisp__gpu_real_at(factors, is_double, behind + 2 * j + 1) : 0;
    }
}

/* A first run takes seconds for that. Under no lock. */
static void say_compiled(wisp_ctx *ctx)
{
    char text[160];
    snprintf(text, sizeof text, "compiling kernels for the device '%s' (once: they are kept on the disk)",
             wisp_ctx_device(ctx));
    wisp__log_once(ctx, WISP__ONCE_COMPILE, WISP_LOG_PERF, text);
}

wisp_status wisp__gpu_launch(wisp__gpu_call *c, const char *name, int64_t groups, const char *defines, ...)
{
    char head[2048];
    void *handle = NULL;
    va_list list;
    va_start(list, defines);
    const int length = vsnprintf(head, sizeof head, defines, list);
    va_end(list);
    if (groups == 0 || c->status != WISP_OK) return c->status;
    if (length < 0 || length >= (int)sizeof head)
        return c->status = wisp_ctx_failf(c->g->ctx, WISP_ERR_UNSUPPORTED,
                                          "the kernel '%s' has more definitions than there is room for", name);
    pthread_mutex_lock(&c->g->compiling);
    const wisp__gpu_kernel *kernel = find(c->g, name, head);
    if (kernel)
        handle = kernel->handle;
    else
        c->status = compile(c->g, name, head, &handle);
    c->g->launches += c->status == WISP_OK;
    const bool compiled = c->g->compiled;
    c->g->compiled = false;
    pthread_mutex_unlock(&c->g->compiling);
    if (compiled) say_compiled(c->g->ctx);
    if (c->status == WISP_OK) c->status = c->g->driver->launch(c->g, handle, groups, c->params, c->bytes, c->buffer);
    return c->status;
}

int64_t wisp__gpu_groups(const wisp__gpu *g, int64_t items)
{
    return WISP__MIN((items + g->group_size - 1) / g->group_size, g->most_groups);
}

int wisp__gpu_lanes(const wisp__gpu *g, int64_t width)
{
    int lanes = 1;
    while (lanes < width && lanes < 32 && lanes < g->group_size) lanes *= 2;
    return lanes;
}
