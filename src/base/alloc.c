/* The one allocator: 64-byte aligned, huge pages for large arrays, counted against the limit. */
#include "base.h"
#include "system.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Arrays of two huge pages and more ask for these, and begin at different lines of theirs: see place(). The sizes of
   pages are those of x86 and of most systems on ARM; where they are others, it is but not asked for what could help. */
enum { HEADER = WISP__LINE, HUGE_PAGE = 2 << 20, LARGE = 2 * HUGE_PAGE, PAGE_SHIFTS = 16, SHIFT = 5 * WISP__LINE };

typedef struct {
    void *base;           /* what free() or munmap() takes */
    size_t bytes, mapped; /* mapped: 0, or what munmap() takes, too */
    wisp_ctx *ctx;        /* that counts it */
} header;

/* For tests: behind the array's last cache line is a page that nobody may touch, not even code that no sanitizer knows.
   It begins full of NaNs, so that what is read before it is written shows. */
static char *place_guarded(wisp_ctx *ctx, size_t bytes)
{
    const size_t page = wisp__page_bytes(), lines = wisp__lines(bytes),
                 usable = (lines + HEADER + page - 1) / page * page;
    char *base = mmap(NULL, usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    mprotect(base + usable, page, PROT_NONE);
    char *p = base + usable - lines;
    memset(p, 0xff, bytes);
    *(header *)(void *)(p - HEADER) = (header){base, bytes, usable + page, ctx};
    return p;
}

static void release(const header *h)
{
    if (h->mapped)
        munmap(h->base, h->mapped);
    else
        free(h->base);
}

/* Large arrays begin on a huge page plus a few cache lines, different from one array to the next: streams at
   a power-of-two distance from each other share cache sets and halve a core's bandwidth (seen on the machine of
   docs/performance.md). */
static char *place(wisp_ctx *ctx, size_t bytes, unsigned number)
{
    void *base = NULL;
    size_t shift = 0;
    if (ctx->alloc_guard) return place_guarded(ctx, bytes);
    if (bytes >= LARGE) {
        shift = (number % PAGE_SHIFTS) * SHIFT;
        size_t total = bytes + HEADER + shift;
        if (posix_memalign(&base, HUGE_PAGE, total)) return NULL;
        wisp__want_huge_pages(base, total);
    } else if (posix_memalign(&base, WISP__LINE, bytes + HEADER)) {
        return NULL;
    }
    char *p = (char *)base + shift + HEADER;
    *(header *)(void *)(p - HEADER) = (header){base, bytes, 0, ctx};
    return p;
}

enum { SIZE_TEXT = 24 };

/* A size with four digits, in the unit that leaves the fewest before the point. */
static const char *size_text(char text[SIZE_TEXT], double bytes)
{
    static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    int i = 0;
    while (bytes >= 999.95 && i < 6) bytes /= 1000, i++;
    snprintf(text, SIZE_TEXT, "%.4g %s", bytes, unit[i]);
    return text;
}

/* `more` bytes are refused with so many held. */
static wisp_status refuse(wisp_ctx *ctx, size_t more, long long held, bool limit)
{
    char a[SIZE_TEXT], b[SIZE_TEXT], c[SIZE_TEXT];
    size_text(a, (double)more);
    size_text(b, (double)held);
    if (!limit) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: %s more were refused with %s held", a, b);
    return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "memory limit: %s more, with %s held, would pass the limit of %s", a, b,
                          size_text(c, (double)ctx->opts.memory_limit));
}

wisp_status wisp__memory_book(wisp_ctx *ctx, size_t bytes)
{
    atomic_fetch_add(&ctx->held, 1);
    const long long now = atomic_fetch_add(&ctx->memory_now, (long long)bytes) + (long long)bytes -
                          atomic_load(&ctx->device_now) + atomic_load(&ctx->device_calls);
    if (ctx->opts.memory_limit > 0 && now > ctx->opts.memory_limit) {
        wisp__memory_unbook(ctx, bytes);
        return refuse(ctx, bytes, now - (long long)bytes, true);
    }
    return WISP_OK;
}

static void raise_peak(atomic_llong *peak_of, long long now)
{
    long long peak = atomic_load(peak_of);
    while (now > peak && !atomic_compare_exchange_weak(peak_of, &peak, now)) {}
}

void wisp__memory_is_there(wisp_ctx *ctx) { raise_peak(&ctx->memory_peak, atomic_load(&ctx->memory_now)); }

wisp_status wisp__device_book(wisp_ctx *ctx, size_t bytes)
{
    const long long before = atomic_fetch_add(&ctx->device_now, (long long)bytes), now = before + (long long)bytes;
    char a[SIZE_TEXT], b[SIZE_TEXT], c[SIZE_TEXT];
    if (now <= ctx->device_limit) {
        raise_peak(&ctx->device_peak, now);
        return WISP_OK;
    }
    atomic_fetch_sub(&ctx->device_now, (long long)bytes);
    return wisp_ctx_failf(ctx, WISP_ERR_NOMEM,
                          "memory of the device '%s': %s more, with %s held, would pass the %s that %s",
                          ctx->device_name, size_text(a, (double)bytes), size_text(b, (double)before),
                          size_text(c, (double)ctx->device_limit),
                          ctx->opts.device_memory_limit > 0   ? "may be held"
                          : ctx->of_rank[ctx->rank].ranks > 1 ? "each process on it may have"
                                                              : "it has");
}

void wisp__device_unbook(wisp_ctx *ctx, size_t bytes) { atomic_fetch_sub(&ctx->device_now, (long long)bytes); }

void wisp__memory_unbook(wisp_ctx *ctx, size_t bytes)
{
    atomic_fetch_sub(&ctx->memory_now, (long long)bytes);
    wisp__ctx_let_go(ctx);
}

void wisp__ctx_let_go(wisp_ctx *ctx)
{
    if (atomic_fetch_sub(&ctx->held, 1) == 1) ctx->end(ctx);
}

bool wisp__alloc_fails(wisp_ctx *ctx) { return atomic_fetch_add(&ctx->alloc_number, 1u) + 1 == ctx->alloc_fail_at; }

wisp_status wisp__alloc_raw(wisp_ctx *ctx, void *pointer_to_pointer, size_t count, size_t size)
{
    void **out = pointer_to_pointer;
    *out = NULL;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: an array of %zu times %zu bytes", count, size);
    if (bytes == 0) bytes = 1;
    const unsigned number = atomic_fetch_add(&ctx->alloc_number, 1u) + 1;
    wisp_status status = wisp__memory_book(ctx, bytes);
    if (status != WISP_OK) return status;
    char *p = number == ctx->alloc_fail_at ? NULL : place(ctx, bytes, number);
    if (!p) {
        wisp__memory_unbook(ctx, bytes);
        return refuse(ctx, bytes, atomic_load(&ctx->memory_now), false);
    }
    wisp__memory_is_there(ctx);
    *out = p;
    return WISP_OK;
}

wisp_status wisp__widen(wisp_ctx *ctx, void *pointer_to_array, size_t used, size_t room, size_t size)
{
    void **array = pointer_to_array, *wider;
    const wisp_status status = wisp__alloc_raw(ctx, &wider, room, size);
    if (status != WISP_OK) return status;
    if (*array && used > 0) memcpy(wider, *array, used * size);
    wisp_free(ctx, *array);
    *array = wider;
    return status;
}

size_t wisp__array_bytes(const void *array)
{
    return ((const header *)(const void *)((const char *)array - HEADER))->bytes;
}

wisp_status wisp_alloc(wisp_ctx *ctx, void *pointer_to_pointer, size_t count, size_t size)
{
    WISP_NEED(ctx, pointer_to_pointer);
    *(void **)pointer_to_pointer = NULL;
    WISP_NEED(NULL, ctx);
    wisp_status status = wisp__alloc_raw(ctx, pointer_to_pointer, count, size);
    if (status != WISP_OK) return status;
    char *p = *(char **)pointer_to_pointer;
    size_t bytes = count * size;
    if (bytes < LARGE) {
        memset(p, 0, bytes);
        return WISP_OK;
    }
    ctx->zero(ctx, p, bytes);
    return WISP_OK;
}

void wisp__array_replaced(void *array) { release((const header *)(void *)((char *)array - HEADER)); }

void wisp_free(wisp_ctx *ctx, void *pointer)
{
    if (!pointer) return;
    header *h = (header *)(void *)((char *)pointer - HEADER);
    wisp_ctx *counted = h->ctx;
    const size_t bytes = h->bytes;
    (void)ctx;
    release(h);
    wisp__memory_unbook(counted, bytes); /* which may end the context */
}

wisp_status wisp__scratch(wisp__team *team, wisp__scratch_user user, void *pointer_to_pointer, size_t count,
                          size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
    if (bytes > team->scratch_bytes[user]) {
        wisp_free(team->ctx, team->scratch[user]);
        team->scratch_bytes[user] = 0;
        wisp_status status = wisp__alloc_raw(team->ctx, &team->scratch[user], 1, bytes);
        if (status != WISP_OK) return status;
        team->scratch_bytes[user] = bytes;
    }
    *(void **)pointer_to_pointer = team->scratch[user];
    return WISP_OK;
}

void wisp__scratch_free(wisp__team *team)
{
    for (int i = 0; i < 2; i++) {
        wisp_free(team->ctx, team->scratch[i]);
        team->scratch[i] = NULL;
        team->scratch_bytes[i] = 0;
    }
}

void wisp_ctx_memory(const wisp_ctx *ctx, int64_t *now, int64_t *peak)
{
    if (now) *now = ctx ? atomic_load(&ctx->memory_now) : 0;
    if (peak) *peak = ctx ? atomic_load(&ctx->memory_peak) : 0;
}

wisp_status wisp_ctx_count_memory(wisp_ctx *ctx, int64_t bytes)
{
    WISP_NEED(NULL, ctx);
    if (bytes <= 0) {
        atomic_fetch_add(&ctx->memory_now, (long long)bytes);
        return WISP_OK;
    }
    const wisp_status status = wisp__memory_book(ctx, (size_t)bytes);
    if (status != WISP_OK) return status;
    wisp__memory_is_there(ctx);
    wisp__ctx_let_go(ctx); /* the caller holds it */
    return WISP_OK;
}

void wisp_ctx_device_memory(const wisp_ctx *ctx, int64_t *now, int64_t *peak, int64_t *limit)
{
    if (now) *now = ctx ? atomic_load(&ctx->device_now) : 0;
    if (peak) *peak = ctx ? atomic_load(&ctx->device_peak) : 0;
    if (limit) *limit = ctx ? ctx->device_limit : 0;
}

char *wisp__strdup(wisp_ctx *ctx, const char *s)
{
    char *copy = NULL;
    if (wisp__alloc_raw(ctx, &copy, strlen(s) + 1, 1) == WISP_OK) strcpy(copy, s);
    return copy;
}
