/* The set of numbered byte strings: a hash table to which many threads add at once (strings.h). */
#include "strings.h"
#include <string.h>

static int64_t slots_for(int64_t max_strings)
{
    int64_t slots = 64;
    while (slots < 2 * max_strings) slots *= 2;
    return slots;
}

wisp_status wisp__strings_open(wisp__strings *s, wisp_ctx *ctx, int64_t max_strings, int64_t max_bytes)
{
    wisp_status status;
    *s = (wisp__strings){.ctx = ctx,
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .max_strings = max_strings,
                         .max_bytes = max_bytes,
                         .slots = slots_for(max_strings)};
    WISP_TRY(wisp_alloc(ctx, &s->begin, (size_t)max_strings + 1, sizeof *s->begin));
    WISP_TRY(wisp_alloc(ctx, &s->bytes, (size_t)max_bytes, 1));
    WISP_TRY(wisp_alloc(ctx, &s->slot, (size_t)s->slots, sizeof *s->slot));
out:
    return status;
}

int64_t wisp__strings_most(int64_t max_strings, int64_t max_bytes)
{
    const wisp__strings *s = NULL;
    return (max_strings + 1) * (int64_t)sizeof *s->begin + max_bytes +
           slots_for(max_strings) * (int64_t)sizeof *s->slot;
}

void wisp__strings_close(wisp__strings *s, wisp_ctx *ctx)
{
    wisp_free(ctx, s->begin);
    wisp_free(ctx, s->bytes);
    wisp_free(ctx, (void *)s->slot);
    s->begin = NULL, s->bytes = NULL, s->slot = NULL;
}

bool wisp__strings_full(wisp__strings *s) { return atomic_load(&s->strings) > s->max_strings; }

/* FNV-1a by words of four bytes, which all strings consist of, with a final mix. */
static uint64_t hash(const char *p, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word;
        memcpy(&word, p + i, 4);
        h = (h ^ word) * UINT64_C(0x100000001b3);
    }
    return h ^ h >> 32;
}

/* The string's number, or -1; *slot is where it is or would be. */
static int find(const wisp__strings *s, const char *p, size_t n, int64_t *slot)
{
    for (*slot = (int64_t)(hash(p, n) & (uint64_t)(s->slots - 1));; *slot = (*slot + 1) & (s->slots - 1)) {
        const int i = atomic_load_explicit(&s->slot[*slot], memory_order_acquire) - 1;
        if (i < 0) return -1;
        if ((size_t)(s->begin[i + 1] - s->begin[i]) == n && !memcmp(s->bytes + s->begin[i], p, n)) return i;
    }
}

int wisp__strings_add(wisp__strings *s, const char *p, size_t n)
{
    int64_t slot;
    int i = find(s, p, n, &slot);
    if (i >= 0 || wisp__strings_full(s)) return i;
    pthread_mutex_lock(&s->lock);
    i = find(s, p, n, &slot);
    const int64_t count = atomic_load(&s->strings);
    if (i < 0 && (count >= s->max_strings || s->begin[count] + (int64_t)n > s->max_bytes)) {
        atomic_store(&s->strings, s->max_strings + 1);
    } else if (i < 0) {
        memcpy(s->bytes + s->begin[count], p, n);
        s->begin[count + 1] = s->begin[count] + (int64_t)n;
        atomic_store(&s->strings, count + 1);
        atomic_store_explicit(&s->slot[slot], (int)count + 1, memory_order_release);
        i = (int)count;
    }
    pthread_mutex_unlock(&s->lock);
    return i;
}
