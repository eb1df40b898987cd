/* Queues of the stand-in: work runs in the order of its stream, and as late as it may, or at points by chance. */
#include "standin.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {"a copy to the device", "a copy from the device", "a memset", "a launch",
                                    "a record of an event"};

op *standin_queue(CUstream stream, op what)
{
    op *o = malloc(sizeof *o);
    if (!o) abort();
    *o = what;
    o->next = NULL;
    o->stream = stream;
    *stream->last = o;
    stream->last = &o->next;
    return o;
}

/* The kernel's error, in a line with its name and the address. */
static CUresult launch_failed(const op *o, const run_failure *f)
{
    const char *name = o->function->entry->name;
    switch (f->failed) {
    case RUN_ACCESS:
        return standin_wrong(ILLEGAL_ADDRESS, "kernel '%s', group %u, item %u: %u bytes at %#llx are in no memory",
                             name, f->group, f->item, f->bytes, (unsigned long long)f->address);
    case RUN_ALIGNMENT:
        return standin_wrong(MISALIGNED_ADDRESS, "kernel '%s', group %u, item %u: %u bytes at %#llx are not aligned",
                             name, f->group, f->item, f->bytes, (unsigned long long)f->address);
    case RUN_BARRIER:
        return standin_wrong(LAUNCH_FAILED, "kernel '%s', group %u: a barrier that not all items reach", name,
                             f->group);
    case RUN_ENDLESS:
        return standin_wrong(LAUNCH_TIMEOUT, "kernel '%s', group %u: it waits for what nobody writes", name, f->group);
    case RUN_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    default: return standin_wrong(LAUNCH_FAILED, "kernel '%s', group %u: it ended itself", name, f->group);
    }
}

static CUresult do_launch(const op *o)
{
    run_failure failure;
    const uint64_t seed = standin_seed() ? standin_chance(UINT32_MAX) + 1 : 0;
    if (!run_launch(standin_memory(), o->function->entry, o->staged, o->groups, o->items, o->shared_bytes, seed,
                    &failure))
        return CUDA_SUCCESS;
    return launch_failed(o, &failure);
}

static CUresult do_copy(const op *o)
{
    char *device = standin_at(o->at, o->bytes);
    if (!device)
        return standin_wrong(ILLEGAL_ADDRESS, "%s of %zu bytes at %#llx, which are in no memory", names[o->what],
                             o->bytes, o->at);
    if (o->what == DO_COPY_TO) memcpy(device, o->staged ? o->staged : o->host, o->bytes);
    if (o->what == DO_COPY_FROM) memcpy(o->host, device, o->bytes);
    for (size_t i = 0; o->what == DO_SET && i < o->bytes; i += sizeof o->value)
        memcpy(device + i, &o->value, sizeof o->value);
    return CUDA_SUCCESS;
}

/* Behind an error of a kernel nothing is done any more. */
static void run_one(CUstream s)
{
    op *o = s->first;
    CUcontext c = standin_current();
    s->first = o->next;
    if (!s->first) s->last = &s->first;
    if (o->what == DO_RECORD) {
        if (o->event && o->event->pending == o) o->event->pending = NULL;
    } else if (c && !c->failed) {
        c->failed = o->what == DO_LAUNCH ? do_launch(o) : do_copy(o);
    }
    free(o->staged);
    free(o);
}

CUresult standin_finish(CUstream s, const op *last)
{
    while (s->first) {
        const bool done = s->first == last;
        run_one(s);
        if (done) break;
    }
    return standin_current()->failed;
}

/* Some of the work of each stream. */
void standin_run_some(void)
{
    if (!standin_seed() || !standin_current()) return;
    for (handle *h = standin_handles; h; h = h->next) {
        if (h->kind != A_STREAM) continue;
        CUstream s = (CUstream)(void *)h;
        for (uint64_t n = standin_chance(8); n > 4 && s->first; n--) run_one(s);
    }
}

static bool meets(uint64_t a, size_t a_bytes, uint64_t b, size_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

/* Parameters of kernels are looked through for addresses. */
static bool op_uses(const op *o, CUdeviceptr at, size_t bytes, const char *host, size_t host_bytes, CUmodule module)
{
    if (o->what == DO_RECORD) return false;
    if (o->what != DO_LAUNCH)
        return meets(o->at, o->bytes, at, bytes) ||
               (!o->staged && meets((uintptr_t)o->host, o->bytes, (uintptr_t)host, host_bytes));
    const run_entry *e = o->function->entry;
    for (uint32_t i = 0; i < e->params; i++) {
        uint64_t address = 0;
        if (e->param[i].bytes != sizeof address) continue;
        memcpy(&address, o->staged + e->param[i].offset, sizeof address);
        if (meets(address, 1, at, bytes)) return true;
    }
    return module && o->function->module == module;
}

const char *standin_uses(CUdeviceptr at, size_t bytes, const char *host, size_t host_bytes, CUmodule module)
{
    for (handle *h = standin_handles; h; h = h->next) {
        if (h->kind != A_STREAM) continue;
        for (const op *o = ((CUstream)(void *)h)->first; o; o = o->next)
            if (op_uses(o, at, bytes, host, host_bytes, module)) return names[o->what];
    }
    return NULL;
}
