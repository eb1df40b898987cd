/* The memory of a GPU: which buffer of the driver's an address stands for, and loans of it to the host. */
#include "gpu.h"
#include <stdlib.h>
#include <sys/mman.h>

struct wisp__gpu_buffer {
    wisp__gpu_buffer *next;
    void *handle;    /* the driver's; NULL of 0 bytes */
    char *range;     /* addresses that stand for it: nothing is behind them. NULL: of the backend's own */
    size_t reserved; /* bytes of that */
    size_t bytes;
    char *shadow; /* what is lent of it, at the same offsets; NULL: nothing is */
    int loans;
};

/* Bytes at .. end - 1 of a buffer. */
struct wisp__gpu_loan {
    wisp__gpu_loan *next;
    wisp__gpu_buffer *buffer;
    const void *address;
    size_t at, end;
    bool writes;
    char *was; /* what was there, of a loan to WRITE: kernels may write other columns meanwhile */
};

void *wisp__gpu_handle(const wisp__gpu_buffer *b) { return b->handle; }
bool wisp__gpu_fits(const wisp__gpu_buffer *b, size_t bytes) { return bytes <= b->bytes; }

static wisp__gpu_buffer *find(const wisp__gpu *g, const void *address)
{
    const char *at = address;
    wisp__gpu_buffer *b = g->buffer;
    while (b && !(at >= b->range && at < b->range + b->reserved)) b = b->next;
    return b;
}

wisp_status wisp__gpu_place(wisp_ctx *ctx, const void *address, void **buffer, int64_t *at)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    pthread_mutex_lock(g->lock);
    const wisp__gpu_buffer *b = find(g, address);
    if (b) {
        *buffer = b->handle;
        *at = (const char *)address - b->range;
    }
    pthread_mutex_unlock(g->lock);
    if (b) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a kernel of the device '%s' was given an address that is no buffer's",
                          g->driver->name);
}

/* ---- buffers ----------------------------------------------------------------------------------- */

static void drop(wisp__gpu *g, wisp__gpu_buffer *b)
{
    if (b->handle) g->driver->free(g, b->handle);
    if (b->range) munmap(b->range, b->reserved);
    free(b);
}

static wisp_status out_of_memory(const wisp__gpu *g, size_t bytes)
{
    return wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory: no %zu bytes on the device '%s'", bytes,
                          g->driver->name);
}

static wisp_status new_buffer(wisp__gpu *g, size_t bytes, wisp__gpu_buffer **made)
{
    wisp__gpu_buffer *b = wisp__alloc_fails(g->ctx) ? NULL : calloc(1, sizeof *b);
    *made = NULL;
    if (!b) return out_of_memory(g, bytes);
    b->bytes = wisp__lines(WISP__MAX(bytes, 1));
    const wisp_status status = g->driver->alloc(g, b->bytes, &b->handle);
    if (status == WISP_OK) *made = b;
    if (status != WISP_OK) drop(g, b);
    return status;
}

/* With addresses for it. */
static wisp_status new_array(wisp__gpu *g, size_t bytes, wisp__gpu_buffer **made)
{
    enum { BEHIND = 1 << 24 }; /* a view without rows may begin behind the last byte, by a row */
    const size_t page = wisp__page_bytes();
    wisp__gpu_buffer *b;
    const wisp_status status = new_buffer(g, bytes, &b);
    *made = NULL;
    if (status != WISP_OK) return status;
    b->reserved = (b->bytes + BEHIND + page - 1) / page * page;
    b->range = mmap(NULL, b->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->range == MAP_FAILED) {
        b->range = NULL;
        drop(g, b);
        return out_of_memory(g, bytes);
    }
    pthread_mutex_lock(g->lock);
    b->next = g->buffer;
    g->buffer = b;
    pthread_mutex_unlock(g->lock);
    *made = b;
    return WISP_OK;
}

/* Loans of a buffer that goes end with it. With the lock. */
static void end_loans(wisp__gpu *g, const wisp__gpu_buffer *b)
{
    for (wisp__gpu_loan **at = &g->loan, *loan; (loan = *at);)
        if (loan->buffer == b) {
            *at = loan->next;
            free(loan->was);
            free(loan);
        } else {
            at = &loan->next;
        }
    if (b->shadow) munmap(b->shadow, b->bytes);
}

/* Takes a buffer out of the list; NULL: there is none at this address. */
static wisp__gpu_buffer *take_out(wisp__gpu *g, const void *address)
{
    pthread_mutex_lock(g->lock);
    wisp__gpu_buffer **b = &g->buffer;
    while (*b && (*b)->range != address) b = &(*b)->next;
    wisp__gpu_buffer *found = *b;
    if (found) {
        *b = found->next;
        end_loans(g, found);
    }
    pthread_mutex_unlock(g->lock);
    return found;
}

wisp_status wisp__gpu_alloc(wisp_ctx *ctx, void *pointer_to_address, size_t count, size_t size)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp__gpu_buffer *b = NULL;
    size_t bytes;
    wisp_status status;
    *(void **)pointer_to_address = NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: an array of %zu times %zu bytes", count, size);
    bytes = WISP__MAX(bytes, 1);
    status = wisp__device_book(ctx, bytes);
    if (status != WISP_OK) return status;
    status = wisp__memory_book(ctx, bytes);
    if (status != WISP_OK) {
        wisp__device_unbook(ctx, bytes);
        return status;
    }
    WISP_TRY(new_array(g, bytes, &b));
    WISP_TRY(g->driver->clear(g, b->handle, b->bytes));
    wisp__memory_is_there(ctx);
    *(void **)pointer_to_address = b->range;
    b->bytes = bytes;
out:
    if (status != WISP_OK) {
        if (b) drop(g, take_out(g, b->range));
        wisp__device_unbook(ctx, bytes);
        wisp__memory_unbook(ctx, bytes);
    }
    return status;
}

/* Arrays that the device has not taken are the host's. */
void wisp__gpu_free(wisp_ctx *ctx, void *address)
{
    if (!address) return;
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp__gpu_buffer *b = take_out(g, address);
    if (!b) {
        wisp_free(ctx, address);
        return;
    }
    const size_t bytes = b->bytes;
    drop(g, b);
    wisp__device_unbook(ctx, bytes);
    wisp__memory_unbook(ctx, bytes); /* which may end the context */
}

wisp_status wisp__gpu_take(wisp_ctx *ctx, void *pointer_to_array)
{
    void **array = pointer_to_array;
    const size_t bytes = wisp__array_bytes(*array);
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp__gpu_buffer *b = NULL;
    wisp_status status = wisp__device_book(ctx, bytes);
    if (status != WISP_OK) return status;
    WISP_TRY(new_array(g, bytes, &b));
    b->bytes = bytes;
    if (bytes > 0) WISP_TRY(g->driver->write(g, b->handle, 0, *array, bytes));
    wisp__array_replaced(*array);
    *array = b->range;
    return WISP_OK;
out:
    if (b) drop(g, take_out(g, b->range));
    wisp__device_unbook(ctx, bytes);
    return status;
}

wisp_status wisp__gpu_borrow(wisp_ctx *ctx, const void *host)
{
    (void)host;
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                          "the device '%s' has memory of its own and can't use arrays in place; copy them",
                          wisp__gpu_of(ctx)->driver->name);
}

wisp_status wisp__gpu_room(wisp__gpu *g, wisp__gpu_buffer **b, size_t bytes)
{
    if (*b && (*b)->bytes >= bytes) return WISP_OK;
    wisp__gpu_room_free(g, *b);
    *b = NULL;
    const size_t lines = wisp__lines(WISP__MAX(bytes, 1)); /* as a buffer has */
    wisp_status status = wisp__device_book(g->ctx, lines);
    if (status != WISP_OK) return status;
    status = new_buffer(g, lines, b);
    if (status != WISP_OK) wisp__device_unbook(g->ctx, lines);
    if (status == WISP_OK) atomic_fetch_add(&g->ctx->device_calls, (long long)lines);
    return status;
}

void wisp__gpu_room_free(wisp__gpu *g, wisp__gpu_buffer *b)
{
    if (!b) return;
    wisp__device_unbook(g->ctx, b->bytes);
    atomic_fetch_sub(&g->ctx->device_calls, (long long)b->bytes);
    drop(g, b);
}

/* ---- loans ------------------------------------------------------------------------------------- */

/* Whether an address is one that lend gave. */
static bool is_lent(const wisp__gpu *g, const void *address)
{
    const char *at = address;
    const wisp__gpu_buffer *b = g->buffer;
    while (b && !(b->shadow && at >= b->shadow && at < b->shadow + b->bytes)) b = b->next;
    return b;
}

static wisp_status past_the_end(const wisp__gpu *g, size_t bytes)
{
    return wisp_ctx_failf(g->ctx, WISP_ERR_ARG, "the device '%s' was asked for %zu bytes, past the end of an array",
                          g->driver->name, bytes);
}

/* From byte `at` on: where the next byte is that no loan has yet, and where these end. */
static size_t next_gap(const wisp__gpu *g, const wisp__gpu_buffer *b, size_t at, size_t end, size_t *gap_end)
{
    *gap_end = end;
    for (const wisp__gpu_loan *l = g->loan; l; l = l->next) {
        if (l->buffer != b || l->end <= at || !l->writes) continue;
        if (l->at <= at) return next_gap(g, b, l->end, end, gap_end);
        *gap_end = WISP__MIN(*gap_end, l->at);
    }
    return WISP__MIN(at, end);
}

/* Brings what is not there yet of bytes at .. end - 1. */
static wisp_status bring(wisp__gpu *g, wisp__gpu_buffer *b, size_t at, size_t end)
{
    wisp_status status = WISP_OK;
    for (size_t gap_end; (at = next_gap(g, b, at, end, &gap_end)) < end && status == WISP_OK; at = gap_end)
        status = g->driver->read(g, b->handle, at, b->shadow + at, gap_end - at);
    return status;
}

/* A place for what is lent: pages that nobody looks at take no memory. */
static bool open_shadow(wisp__gpu_buffer *b)
{
    if (b->shadow) return true;
    void *shadow = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shadow == MAP_FAILED) return false;
    b->shadow = shadow;
    return true;
}

static void close_shadow(wisp__gpu_buffer *b)
{
    if (!b->shadow || b->loans) return;
    munmap(b->shadow, b->bytes);
    b->shadow = NULL;
}

/* What the host has changed of a loan goes to the device; else what is there now stays. */
static wisp_status write_back(wisp__gpu *g, const wisp__gpu_buffer *b, wisp__gpu_loan *l)
{
    const size_t bytes = l->end - l->at;
    char *const here = b->shadow + l->at;
    wisp_status status = WISP_OK;
    if (!l->was) return g->driver->write(g, b->handle, l->at, here, bytes);
    if (!memcmp(here, l->was, bytes)) return WISP_OK;
    char *now = malloc(bytes);
    if (!now) return wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for a loan of %zu bytes", bytes);
    WISP_TRY(g->driver->read(g, b->handle, l->at, now, bytes));
    for (size_t i = 0; i < bytes; i++) now[i] = here[i] == l->was[i] ? now[i] : here[i];
    status = g->driver->write(g, b->handle, l->at, now, bytes);
out:
    free(now);
    return status;
}

static wisp_status lend_bytes(wisp__gpu *g, wisp__gpu_buffer *b, void *address, size_t bytes, wisp_access how,
                              void *pointer_to_host)
{
    const size_t at = (size_t)((char *)address - b->range), rest = at < b->bytes ? b->bytes - at : 0;
    wisp__gpu_loan *loan = NULL;
    wisp_status status = WISP_OK;
    if (bytes == WISP__WHOLE_ARRAY) bytes = rest;
    if (bytes > rest) return past_the_end(g, bytes);
    loan = calloc(1, sizeof *loan);
    if (!loan || !open_shadow(b)) {
        status = wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for a loan of %zu bytes", bytes);
        goto out;
    }
    if (how != WISP_DISCARD) WISP_TRY(bring(g, b, at, at + bytes));
    char *was = how == WISP_WRITE && bytes > 0 ? malloc(bytes) : NULL;
    if (how == WISP_WRITE && bytes > 0 && !was) {
        status = wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for a loan of %zu bytes", bytes);
        goto out;
    }
    if (was) memcpy(was, b->shadow + at, bytes);
    *loan = (wisp__gpu_loan){g->loan, b, address, at, at + bytes, how != WISP_READ, was};
    g->loan = loan;
    b->loans++;
    loan = NULL;
    *(void **)pointer_to_host = b->shadow + at;
out:
    free(loan);
    close_shadow(b);
    return status;
}

/* Arrays that the device has not taken are the host's already. */
wisp_status wisp__gpu_lend(wisp_ctx *ctx, void *address, size_t bytes, wisp_access how, void *pointer_to_host)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp_status status;
    WISP_TRY(wisp__gpu_told(g));
    pthread_mutex_lock(g->lock);
    wisp__gpu_buffer *b = find(g, address);
    if (b) {
        status = lend_bytes(g, b, address, bytes, how, pointer_to_host);
    } else if (is_lent(g, address)) {
        status = wisp_ctx_failf(ctx, WISP_ERR_ARG, "the device '%s' was given an address of the host's to lend",
                                g->driver->name);
    } else {
        *(void **)pointer_to_host = address;
    }
    pthread_mutex_unlock(g->lock);
out:
    return status;
}

/* What can't be written back is told by the next call that waits. */
void wisp__gpu_unlend(wisp_ctx *ctx, void *address)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    pthread_mutex_lock(g->lock);
    wisp__gpu_loan **at = &g->loan;
    while (*at && (*at)->address != address) at = &(*at)->next;
    wisp__gpu_loan *loan = *at;
    if (loan) {
        wisp__gpu_buffer *b = loan->buffer;
        *at = loan->next;
        if (loan->writes && loan->end > loan->at) {
            const wisp_status status = write_back(g, b, loan);
            if (g->failed == WISP_OK && status != WISP_OK) {
                g->failed = status;
                wisp_ctx_message(ctx, g->message, sizeof g->message);
            }
        }
        b->loans--;
        close_shadow(b);
    }
    pthread_mutex_unlock(g->lock);
    if (loan) free(loan->was);
    free(loan);
}

wisp_status wisp__gpu_read(wisp_ctx *ctx, const void *address, void *host, size_t bytes)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    void *buffer = NULL;
    int64_t at = 0;
    wisp_status status;
    WISP_TRY(wisp__gpu_told(g));
    if (bytes == 0) return wisp__gpu_finish(ctx);
    WISP_TRY(wisp__gpu_place(ctx, address, &buffer, &at));
    status = g->driver->read(g, buffer, (size_t)at, host, bytes);
out:
    return status;
}

wisp_status wisp__gpu_write(wisp_ctx *ctx, void *address, const void *host, size_t bytes)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    void *buffer = NULL;
    int64_t at = 0;
    wisp_status status;
    if (bytes == 0) return WISP_OK;
    WISP_TRY(wisp__gpu_place(ctx, address, &buffer, &at));
    status = g->driver->write(g, buffer, (size_t)at, host, bytes);
out:
    return status;
}

wisp_status wisp__gpu_told(wisp__gpu *g)
{
    char text[WISP_MESSAGE] = "";
    pthread_mutex_lock(g->lock);
    const wisp_status status = g->failed;
    if (status != WISP_OK) memcpy(text, g->message, sizeof text);
    g->failed = WISP_OK;
    pthread_mutex_unlock(g->lock);
    return status == WISP_OK ? status : wisp_ctx_fail(g->ctx, status, text);
}

wisp_status wisp__gpu_finish(wisp_ctx *ctx)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    if (!g) return WISP_OK;
    const wisp_status before = wisp__gpu_told(g), status = g->driver->finish(g);
    return before == WISP_OK ? status : before;
}
