/* Memory of the stand-in: addresses of the device are a range that nobody may touch, and what they stand for lies
   elsewhere. No address is given twice. */
#include "standin.h"
#include <stdlib.h>
#include <sys/mman.h>

#define RANGE (UINT64_C(1) << 38)
enum { SLOTS = RANGE / RUN_SLOT, MOST = 1 << 20, FRESH = 0xff };
static uint32_t slot[SLOTS];
static run_range range[MOST];
static run_memory memory;
static uint64_t next_slot = 1, in_use;
static uint32_t next_range = 1;

typedef struct host_range {
    struct host_range *next;
    char *at;
    size_t bytes;
} host_range;
static host_range *pinned;

const run_memory *standin_memory(void)
{
    if (memory.begin) return &memory;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *begin = mmap(NULL, RANGE, PROT_NONE, flags, -1, 0), *real = mmap(NULL, RANGE, PROT_NONE, flags, -1, 0);
    if (begin == MAP_FAILED || real == MAP_FAILED) abort();
    const uint64_t at = ((uint64_t)(uintptr_t)begin + RUN_SLOT - 1) / RUN_SLOT * RUN_SLOT;
    memory = (run_memory){at, RANGE - RUN_SLOT, real, slot, range};
    return &memory;
}

size_t standin_room(void)
{
    const char *bytes = getenv("WISP_STANDIN_MEMORY");
    return bytes ? strtoull(bytes, NULL, 10) : (size_t)4 << 30;
}

CUresult standin_alloc(CUdeviceptr *at, size_t bytes)
{
    const run_memory *m = standin_memory();
    const uint64_t slots = (bytes + RUN_SLOT - 1) / RUN_SLOT + 1; /* one stays free behind it */
    if (!at || bytes == 0) return standin_wrong(INVALID_VALUE, "an allocation of %zu bytes", bytes);
    if (bytes > standin_room() - in_use || next_slot + slots >= SLOTS - 1 || next_range == MOST)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t off = next_slot * RUN_SLOT;
    if (mprotect(m->memory + off, (slots - 1) * RUN_SLOT, PROT_READ | PROT_WRITE)) return CUDA_ERROR_OUT_OF_MEMORY;
    memset(m->memory + off, FRESH, bytes);
    range[next_range] = (run_range){m->begin + off, m->begin + off + bytes};
    for (uint64_t i = 0; i < slots - 1; i++) slot[next_slot + i] = next_range;
    next_slot += slots, next_range++, in_use += bytes;
    *at = m->begin + off;
    return CUDA_SUCCESS;
}

static run_range *range_of(CUdeviceptr at)
{
    const uint64_t off = at - standin_memory()->begin;
    if (off >= memory.bytes || !slot[off / RUN_SLOT]) return NULL;
    run_range *r = range + slot[off / RUN_SLOT];
    return at >= r->begin && at < r->end ? r : NULL;
}

CUresult standin_free(CUdeviceptr at)
{
    run_range *r = range_of(at);
    if (!r || r->begin != at) return standin_wrong(INVALID_VALUE, "no memory begins at %#llx, or it was freed", at);
    const size_t bytes = r->end - r->begin, off = at - memory.begin, slots = (bytes + RUN_SLOT - 1) / RUN_SLOT;
    const char *use = standin_uses(at, bytes, NULL, 0, NULL);
    if (use) return standin_wrong(INVALID_VALUE, "memory at %#llx is freed, and %s is queued that uses it", at, use);
    for (size_t i = 0; i < slots; i++) slot[off / RUN_SLOT + i] = 0;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(memory.memory + off, slots * RUN_SLOT, PROT_NONE, flags, -1, 0) == MAP_FAILED) abort();
    r->end = r->begin;
    in_use -= bytes;
    return CUDA_SUCCESS;
}

char *standin_at(CUdeviceptr at, size_t bytes)
{
    const run_range *r = range_of(at);
    return r && bytes <= r->end - at ? memory.memory + (at - memory.begin) : NULL;
}

/* ---- of the host --------------------------------------------------------------------------------- */

CUresult standin_host_alloc(void **host, size_t bytes)
{
    host_range *h = malloc(sizeof *h);
    if (!host || bytes == 0) {
        free(h);
        return standin_wrong(INVALID_VALUE, "an allocation of %zu bytes", bytes);
    }
    char *at = h ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
    if (!at) {
        free(h);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(at, FRESH, bytes);
    *h = (host_range){pinned, at, bytes};
    pinned = h;
    *host = at;
    return CUDA_SUCCESS;
}

CUresult standin_host_free(void *host)
{
    host_range **at = &pinned;
    while (*at && (*at)->at != host) at = &(*at)->next;
    host_range *h = *at;
    if (!h) return standin_wrong(INVALID_VALUE, "no pinned memory begins at %p, or it was freed", host);
    const char *use = standin_uses(0, 0, h->at, h->bytes, NULL);
    if (use) return standin_wrong(INVALID_VALUE, "pinned memory is freed, and %s is queued that uses it", use);
    *at = h->next;
    free(h->at);
    free(h);
    return CUDA_SUCCESS;
}

int standin_pinned(const void *host, size_t bytes)
{
    const char *begin = host;
    for (const host_range *h = pinned; h; h = h->next) {
        if (begin >= h->at && begin + bytes <= h->at + h->bytes) return 1;
        if (begin < h->at + h->bytes && begin + bytes > h->at) return -1;
    }
    return 0;
}

void standin_left(size_t *device, size_t *host)
{
    *device = in_use, *host = 0;
    for (const host_range *h = pinned; h; h = h->next) *host += h->bytes;
}
