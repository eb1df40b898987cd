/* The memory of the device `far`: what lies behind its addresses, and when. A child of fork has memory of its own at
   the same addresses, with what was there at the fork. */
#include "far.h"
#include "../../base/system.h"
#include <stdlib.h>
#include <sys/mman.h>

struct wisp__far_buffer {
    wisp__far_buffer *next;
    wisp__far_item gone;  /* by which it is freed */
    char *range, *at;     /* where the device's range begins, and the array in it; the other ranges follow: */
    size_t apart;         /* from one range to the next */
    size_t bytes, mapped; /* asked for; in whole pages: no range has memory behind these */
    int reads, writes;    /* loans of it */
    void *copy;           /* for the child of a fork that is under way; MAP_FAILED: there is no room for one */
};

struct wisp__far_loan {
    wisp__far_loan *next;
    const void *address;
    bool writes;
};

/* ---- ranges of addresses ---------------------------------------------------------------------- */

/* The same place in the host's range, and in the kernels'. */
static char *of_host(const wisp__far_buffer *b, const void *at) { return (char *)at + b->apart; }
static char *of_kernels(const wisp__far_buffer *b, const void *at) { return (char *)at + 2 * b->apart; }

/* The buffer around an address of the device's. */
static wisp__far_buffer *find(wisp__far *f, const void *address)
{
    const char *at = address;
    wisp__far_buffer *b = f->buffer;
    while (b && !(at >= b->at && at < b->range + b->apart)) b = b->next;
    return b;
}

static int access_of(const wisp__far_buffer *b)
{
    return b->writes ? PROT_READ | PROT_WRITE : b->reads ? PROT_READ : PROT_NONE;
}

/* One more loan of a kind, or one less. Where that changes nothing, nothing is done. */
static void count_loan(wisp__far_buffer *b, bool writes, int more)
{
    const int before = access_of(b);
    *(writes ? &b->writes : &b->reads) += more;
    if (access_of(b) != before) mprotect(of_host(b, b->range), b->mapped, access_of(b));
}

static void drop(wisp__far_buffer *b)
{
    if (b->range != MAP_FAILED) munmap(b->range, 3 * b->apart);
    free(b);
}

/* New memory in the host's and the kernels' ranges; false: there is none. (No file of a size: the limit of files would
   count.) */
static bool map_memory(wisp__far_buffer *b)
{
    const int open = PROT_READ | PROT_WRITE, all = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
    char *host = of_host(b, b->range), *kernels = of_kernels(b, b->range);
    if (mmap(kernels, b->mapped, open, all, -1, 0) == MAP_FAILED) return false;
    if (!wisp__map_again(kernels, b->mapped, host)) return false;
    mprotect(host, b->mapped, access_of(b));
    return true;
}

static bool map_ranges(wisp__far_buffer *b)
{
    b->range = mmap(NULL, 3 * b->apart, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return b->range != MAP_FAILED && map_memory(b);
}

/* Memory that is not counted yet; NULL: there is none. */
static wisp__far_buffer *new_buffer(wisp__far *f, size_t bytes)
{
    enum { BEHIND = 1 << 16 }; /* a view without rows may begin behind the last byte */
    const size_t page = wisp__page_bytes();
    wisp__far_buffer *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->bytes = WISP__MAX(bytes, 1);
    const size_t lines = wisp__far_padded(b->bytes);
    b->mapped = (lines + page - 1) / page * page;
    b->apart = b->mapped + (BEHIND + page - 1) / page * page;
    if (!map_ranges(b)) {
        drop(b);
        return NULL;
    }
    b->at = b->range + b->mapped - lines;
    pthread_mutex_lock(f->lock);
    b->next = f->buffer;
    f->buffer = b;
    pthread_mutex_unlock(f->lock);
    return b;
}

wisp_status wisp__far_alloc(wisp_ctx *ctx, void *pointer_to_address, size_t count, size_t size)
{
    size_t bytes;
    *(void **)pointer_to_address = NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: an array of %zu times %zu bytes", count, size);
    const wisp_status status = wisp__memory_book(ctx, WISP__MAX(bytes, 1));
    if (status != WISP_OK) return status;
    wisp__far_buffer *b = new_buffer(wisp__far_of(ctx), bytes);
    if (!b) {
        wisp__memory_unbook(ctx, WISP__MAX(bytes, 1));
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: no mapping of %zu bytes for the device", bytes);
    }
    wisp__memory_is_there(ctx);
    *(void **)pointer_to_address = b->at;
    return WISP_OK;
}

/* Takes a buffer out of the list; NULL: there is none at this address. */
static wisp__far_buffer *take_out(wisp__far *f, const void *address)
{
    pthread_mutex_lock(f->lock);
    wisp__far_buffer **b = &f->buffer;
    while (*b && (*b)->at != address) b = &(*b)->next;
    wisp__far_buffer *found = *b;
    if (found) *b = found->next;
    pthread_mutex_unlock(f->lock);
    return found;
}

static wisp_status drop_call(wisp_ctx *ctx, void *call)
{
    (void)ctx;
    drop(call);
    return WISP_OK;
}

/* Its address is no buffer's from now on; the memory stays until the calls before this one are through. Arrays that the
   device has not taken are the host's. */
void wisp__far_free(wisp_ctx *ctx, void *address)
{
    if (!address) return;
    wisp__far_buffer *b = take_out(wisp__far_of(ctx), address);
    if (!b) {
        wisp_free(ctx, address);
        return;
    }
    const size_t bytes = b->bytes;
    b->gone = (wisp__far_item){.run = drop_call, .call = b, .always = true};
    wisp__far_queue(ctx, &b->gone);
    wisp__memory_unbook(ctx, bytes); /* which may end the context */
}

wisp_status wisp__far_take(wisp_ctx *ctx, void *pointer_to_array)
{
    void **array = pointer_to_array;
    const size_t bytes = wisp__array_bytes(*array);
    wisp__far_buffer *b = new_buffer(wisp__far_of(ctx), bytes);
    if (!b) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: no mapping of %zu bytes for the device", bytes);
    memcpy(of_kernels(b, b->at), *array, bytes);
    wisp__array_replaced(*array);
    *array = b->at;
    return WISP_OK;
}

wisp_status wisp__far_borrow(wisp_ctx *ctx, const void *host)
{
    (void)host;
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                          "the device 'far' has memory of its own and can't use arrays in place; copy them");
}

/* ---- fork ------------------------------------------------------------------------------------- */

/* Ranges that name one memory are common to a parent and its child. So there is a copy of each for the child to fill
   new memory with; the parent may go on meanwhile. */
void wisp__far_copy(wisp__far *f)
{
    for (wisp__far_buffer *b = f->buffer; b; b = b->next) {
        b->copy = mmap(NULL, b->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (b->copy != MAP_FAILED) memcpy(b->copy, of_kernels(b, b->range), b->mapped);
    }
}

void wisp__far_end_copy(wisp__far *f, bool child)
{
    for (wisp__far_buffer *b = f->buffer; b; b = b->next) {
        const bool there = b->copy != MAP_FAILED;
        if (child && there && map_memory(b))
            memcpy(of_kernels(b, b->range), b->copy, b->mapped);
        else if (child)
            f->lost = true;
        if (there) munmap(b->copy, b->mapped);
    }
}

/* ---- loans ------------------------------------------------------------------------------------ */

/* Whether an address is one that lend gave. */
static bool is_host(const wisp__far *f, const void *address)
{
    const char *at = address;
    const wisp__far_buffer *b = f->buffer;
    while (b && !(at >= of_host(b, b->range) && at < of_kernels(b, b->range))) b = b->next;
    return b;
}

/* Bytes of a buffer's memory from an address on, to the end of its last cache line. */
static size_t rest(const wisp__far_buffer *b, const void *address)
{
    const char *end = b->at + wisp__far_padded(b->bytes);
    return (const char *)address < end ? (size_t)(end - (const char *)address) : 0;
}

static wisp_status past_the_end(wisp_ctx *ctx, size_t bytes)
{
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the device 'far' was asked for %zu bytes, past the end of an array",
                          bytes);
}

/* Arrays that the device has not taken are the host's already. */
wisp_status wisp__far_lend(wisp_ctx *ctx, void *address, size_t bytes, wisp_access how, void *pointer_to_host)
{
    wisp__far *f = wisp__far_of(ctx);
    wisp__far_loan *loan = NULL;
    void *host = address;
    bool wrong = false, past = false;
    wisp_status status;
    WISP_TRY(wisp__far_finish(ctx));
    loan = calloc(1, sizeof *loan);
    if (!loan) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for a loan");
    pthread_mutex_lock(f->lock);
    wisp__far_buffer *b = find(f, address);
    if (b) {
        if (bytes == WISP__WHOLE_ARRAY) bytes = rest(b, address);
        past = bytes > rest(b, address);
    } else {
        wrong = is_host(f, address);
    }
    if (b && !past) {
        host = of_host(b, address);
        if (how == WISP_DISCARD) memset(of_kernels(b, address), 0xff, bytes);
        *loan = (wisp__far_loan){f->loan, address, how != WISP_READ};
        f->loan = loan;
        loan = NULL;
        count_loan(b, how != WISP_READ, 1);
    }
    pthread_mutex_unlock(f->lock);
    if (wrong)
        status = wisp_ctx_failf(ctx, WISP_ERR_ARG, "the device 'far' was given an address of the host's to lend");
    if (past) status = past_the_end(ctx, bytes);
    if (status == WISP_OK) *(void **)pointer_to_host = host;
out:
    free(loan);
    return status;
}

void wisp__far_unlend(wisp_ctx *ctx, void *address)
{
    wisp__far *f = wisp__far_of(ctx);
    pthread_mutex_lock(f->lock);
    wisp__far_loan **at = &f->loan;
    while (*at && (*at)->address != address) at = &(*at)->next;
    wisp__far_loan *loan = *at;
    wisp__far_buffer *b = find(f, address);
    if (loan) *at = loan->next;
    if (loan && b) count_loan(b, loan->writes, -1);
    pthread_mutex_unlock(f->lock);
    free(loan);
}

wisp_status wisp__far_read(wisp_ctx *ctx, const void *address, void *host, size_t bytes)
{
    wisp__far *f = wisp__far_of(ctx);
    wisp_status status;
    if (bytes == 0) return wisp__far_finish(ctx);
    WISP_TRY(wisp__far_finish(ctx));
    pthread_mutex_lock(f->lock);
    const wisp__far_buffer *b = find(f, address);
    const bool past = !b || bytes > rest(b, address);
    const void *from = b ? of_kernels(b, address) : NULL;
    pthread_mutex_unlock(f->lock);
    if (past) return past_the_end(ctx, bytes);
    memcpy(host, from, bytes);
out:
    return status;
}

typedef struct {
    void *to;
    const void *from;
    size_t bytes;
} copy_call;

static wisp_status write_call(wisp_ctx *ctx, void *call)
{
    const copy_call *c = call;
    (void)ctx;
    memcpy(c->to, c->from, c->bytes);
    return WISP_OK;
}

wisp_status wisp__far_write(wisp_ctx *ctx, void *address, const void *host, size_t bytes)
{
    copy_call c = {.to = address, .bytes = bytes};
    wisp__far_item *item = NULL;
    wisp_status status;
    if (bytes == 0) return WISP_OK;
    WISP_TRY(WISP__FAR_ENTER(ctx, &c.to));
    WISP_TRY(wisp__far_item_new(ctx, wisp__far_padded(bytes) + wisp__far_padded(sizeof c), &item));
    c.from = wisp__far_copied(item, host, bytes);
    item->run = write_call;
    item->call = wisp__far_copied(item, &c, sizeof c);
    wisp__far_queue(ctx, item);
out:
    return status;
}

wisp_status wisp__far_enter(wisp_ctx *ctx, void *const *place, size_t n)
{
    wisp__far *f = wisp__far_of(ctx);
    bool ours = true;
    if (f->lost) return wisp__far_is_lost(ctx);
    pthread_mutex_lock(f->lock);
    for (size_t i = 0; i < n && ours; i++) {
        char *address;
        memcpy(&address, place[i], sizeof address);
        if (!address) continue;
        const wisp__far_buffer *b = find(f, address);
        ours = b;
        if (b) address = of_kernels(b, address);
        memcpy(place[i], &address, sizeof address);
    }
    pthread_mutex_unlock(f->lock);
    if (ours) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a kernel of the device 'far' was given an address that is no buffer's");
}
