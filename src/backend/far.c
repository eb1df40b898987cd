/* A device for tests: the CPU's kernels on memory that the host can't touch. Each buffer is memory that is mapped
   twice: to the device's address, which is closed (mprotect) but while one of the backend's calls runs, and to the
   host's, which is closed but between map and unmap. So whoever follows a device's address on the host, or what map
   gave after unmap, ends in a segmentation fault, and an address that is no buffer's is refused. What comes with a call
   from the host is copied to the device first, as a device would. A child of fork has the buffers in common with its
   parent. */
#include "backend.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct buffer {
    struct buffer *next;
    char *at, *host;      /* the device's address, and the host's */
    size_t bytes, mapped; /* asked for; in whole pages */
    int maps;             /* how often the host was let in */
} buffer;

typedef struct {
    pthread_mutex_t *lock; /* the context's: in a child of fork nobody holds it */
    buffer *first;
    int calls;         /* of the backend's that run */
    buffer *constants; /* what came with the call; it is not counted */
    size_t used;       /* of it, in bytes */
} far;

static far *far_of(wisp_ctx *ctx) { return ctx->device; }

/* ---- memory ----------------------------------------------------------------------------------- */

/* The buffer around an address of the device's. */
static buffer *find(far *f, const void *address)
{
    const char *at = address;
    buffer *b = f->first;
    while (b && !(at >= b->at && at < b->at + b->mapped)) b = b->next;
    return b;
}

static void let(const buffer *b, char *at, bool in)
{
    mprotect(at, b->mapped, in ? PROT_READ | PROT_WRITE : PROT_NONE);
}
static void let_device(const buffer *b, bool in) { let(b, b->at, in); }
static void let_host(const buffer *b, bool in) { let(b, b->host, in); }

/* A call of the backend begins, or ends. */
static void open_all(far *f, bool begins)
{
    pthread_mutex_lock(f->lock);
    f->calls += begins ? 1 : -1;
    for (buffer *b = f->first; b; b = b->next) let_device(b, f->calls > 0);
    pthread_mutex_unlock(f->lock);
}

static void drop(buffer *b)
{
    if (!b) return;
    if (b->at != MAP_FAILED) munmap(b->at, b->mapped);
    if (b->host != MAP_FAILED) munmap(b->host, b->mapped);
    free(b);
}

/* Two closed mappings of new memory; false: there is none. (No file of a size: the limit of files would count.) */
static bool map_twice(buffer *b)
{
    b->host = MAP_FAILED;
    b->at = mmap(NULL, b->mapped, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b->at != MAP_FAILED) b->host = mremap(b->at, 0, b->mapped, MREMAP_MAYMOVE); /* of length 0: it stays, too */
    return b->host != MAP_FAILED;
}

/* Memory that is not counted yet; NULL: there is none. */
static buffer *new_buffer(far *f, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    buffer *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->bytes = WISP__MAX(bytes, 1);
    b->mapped = (b->bytes / page + 1) * page; /* a view without rows may begin behind the last byte */
    if (!map_twice(b)) {
        drop(b);
        return NULL;
    }
    pthread_mutex_lock(f->lock);
    b->next = f->first;
    f->first = b;
    if (f->calls) let_device(b, true);
    pthread_mutex_unlock(f->lock);
    return b;
}

static wisp_status far_alloc(wisp_ctx *ctx, void *pointer_to_address, size_t count, size_t size)
{
    size_t bytes;
    *(void **)pointer_to_address = NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory: an array of %zu times %zu bytes", count, size);
    const wisp_status status = wisp__memory_book(ctx, WISP__MAX(bytes, 1));
    if (status != WISP_OK) return status;
    buffer *b = new_buffer(far_of(ctx), bytes);
    if (!b) {
        wisp__memory_unbook(ctx, WISP__MAX(bytes, 1));
        return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory: no mapping of %zu bytes for the device", bytes);
    }
    wisp__memory_is_there(ctx);
    *(void **)pointer_to_address = b->at;
    return WISP_OK;
}

/* Takes a buffer out of the list; NULL: there is none at this address. */
static buffer *take_out(far *f, const void *address)
{
    pthread_mutex_lock(f->lock);
    buffer **b = &f->first;
    while (*b && (*b)->at != address) b = &(*b)->next;
    buffer *found = *b;
    if (found) *b = found->next;
    pthread_mutex_unlock(f->lock);
    return found;
}

/* Arrays that the device has not taken are the host's. */
static void far_free(wisp_ctx *ctx, void *address)
{
    if (!address) return;
    buffer *b = take_out(far_of(ctx), address);
    if (!b) {
        wisp_free(ctx, address);
        return;
    }
    const size_t bytes = b->bytes;
    drop(b);
    wisp__memory_unbook(ctx, bytes); /* which may end the context */
}

/* Whether an address is one that map gave. */
static bool is_host(const far *f, const void *address)
{
    const char *at = address;
    const buffer *b = f->first;
    while (b && !(at >= b->host && at < b->host + b->mapped)) b = b->next;
    return b;
}

/* Arrays that the device has not taken are the host's already. */
static wisp_status far_map(wisp_ctx *ctx, void *address, void *pointer_to_host)
{
    far *f = far_of(ctx);
    void *host = address;
    pthread_mutex_lock(f->lock);
    buffer *b = find(f, address);
    const bool wrong = !b && is_host(f, address);
    if (b) host = b->host + ((char *)address - b->at);
    if (b && b->maps++ == 0) let_host(b, true);
    pthread_mutex_unlock(f->lock);
    if (wrong) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "the device 'far' was given an address of the host's to map");
    *(void **)pointer_to_host = host;
    return WISP_OK;
}

static void far_unmap(wisp_ctx *ctx, void *address)
{
    far *f = far_of(ctx);
    pthread_mutex_lock(f->lock);
    buffer *b = find(f, address);
    if (b && b->maps > 0 && --b->maps == 0) let_host(b, false);
    pthread_mutex_unlock(f->lock);
}

static wisp_status far_take(wisp_ctx *ctx, void *pointer_to_array)
{
    void **array = pointer_to_array;
    const size_t bytes = wisp__array_bytes(*array);
    buffer *b = new_buffer(far_of(ctx), bytes);
    if (!b) return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory: no mapping of %zu bytes for the device", bytes);
    let_host(b, true);
    memcpy(b->host, *array, bytes);
    let_host(b, false);
    wisp__array_replaced(*array);
    *array = b->at;
    return WISP_OK;
}

static wisp_status far_borrow(wisp_ctx *ctx, const void *host)
{
    (void)host;
    return wisp_ctx_fail(ctx, WISP_ERR_UNSUPPORTED,
                         "the device 'far' has memory of its own and can't use arrays in place; copy them");
}

/* ---- launches --------------------------------------------------------------------------------- */

/* WISP_OK if all addresses are those of buffers, or NULL. */
static wisp_status ours(wisp_ctx *ctx, const void *const *address, size_t n)
{
    far *f = far_of(ctx);
    bool all = true;
    pthread_mutex_lock(f->lock);
    for (size_t i = 0; i < n; i++) all = all && (!address[i] || find(f, address[i]));
    pthread_mutex_unlock(f->lock);
    if (all) return WISP_OK;
    return wisp_ctx_fail(ctx, WISP_ERR_ARG, "a kernel of the device 'far' was given an address that is no buffer's");
}
#define OURS(ctx, ...) \
    ours(ctx, (const void *const[]){__VA_ARGS__}, sizeof((const void *[]){__VA_ARGS__}) / sizeof(void *))

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* A call begins: with room for so many bytes from the host. */
static wisp_status begin(wisp_ctx *ctx, size_t bytes)
{
    far *f = far_of(ctx);
    if (bytes > (f->constants ? f->constants->bytes : 0)) {
        if (f->constants) drop(take_out(f, f->constants->at));
        f->constants = new_buffer(f, bytes);
        if (!f->constants) return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory: no mapping of %zu bytes", bytes);
    }
    f->used = 0;
    open_all(f, true);
    return WISP_OK;
}

static wisp_status end(wisp_ctx *ctx, wisp_status status)
{
    open_all(far_of(ctx), false);
    return status;
}

/* The device's copy of an array of the host's, for the call that has begun. */
static const void *copied(wisp_ctx *ctx, const void *host, size_t bytes)
{
    far *f = far_of(ctx);
    if (!host) return NULL;
    void *to = f->constants->at + f->used;
    memcpy(to, host, bytes);
    f->used += padded(bytes);
    return to;
}

/* Of each set. */
static size_t factor_bytes(const wisp__spmmv_params *p) { return 2 * (size_t)p->reals * (size_t)p->real_bytes; }
static size_t chain_bytes(const wisp__spmmv_params *p) { return (size_t)p->chains * sizeof *p->chain; }
static size_t sweep_bytes(const wisp__spmmv_params *p)
{
    return K_FACTOR_SETS * padded(factor_bytes(p)) + padded(chain_bytes(p));
}

static wisp_status check_sweep(wisp_ctx *ctx, const wisp__spmmv_params *p)
{
    const wisp__pieces none = {0}, *pieces = p->cpu.pieces ? p->cpu.pieces : &none;
    const wisp__bundles no_bundles = {0}, *b = p->cpu.bundles ? p->cpu.bundles : &no_bundles;
    wisp_status status;
    WISP_TRY(OURS(ctx, K_ADDRESSES(p), p->cpu.follow, p->cpu.fresh, pieces->first, pieces->col, pieces->val, b->kind,
                  b->first, b->offset, b->take, b->factor));
    for (int i = 0; i < p->chains; i++) WISP_TRY(OURS(ctx, p->chain[i].z));
out:
    return status;
}

/* In a call that has begun. */
static wisp__spmmv_params sweep_there(wisp_ctx *ctx, const wisp__spmmv_params *p)
{
    wisp__spmmv_params q = *p;
    for (int s = 0; s < K_FACTOR_SETS; s++) q.factors[s] = copied(ctx, p->factors[s], factor_bytes(p));
    q.chain = copied(ctx, p->chains ? p->chain : NULL, chain_bytes(p));
    return q;
}

static wisp__kernel far_find_spmmv(wisp_ctx *ctx, const wisp__key *key)
{
    return wisp__backend_cpu.find_spmmv(ctx, key);
}

static wisp_status far_launch_spmmv(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p,
                                    const wisp__grid *grid, int64_t first, int64_t last, size_t dot_size)
{
    wisp_status status;
    WISP_TRY(check_sweep(ctx, p));
    WISP_TRY(begin(ctx, sweep_bytes(p)));
    const wisp__spmmv_params q = sweep_there(ctx, p);
    status = end(ctx, wisp__backend_cpu.launch_spmmv(ctx, kernel, &q, grid, first, last, dot_size));
out:
    return status;
}

static wisp_status far_finish_dots(wisp_ctx *ctx, const wisp__grid *grid, double *dot, size_t dot_size)
{
    return wisp__backend_cpu.finish_dots(ctx, grid, dot, dot_size);
}

static wisp_status far_reserve_steps(wisp_ctx *ctx, int steps, const wisp__grid *grid, size_t dot_size)
{
    return wisp__backend_cpu.reserve_steps(ctx, steps, grid, dot_size);
}

static wisp_status far_launch_steps(wisp_ctx *ctx, const wisp__step *step, int steps, const wisp__schedule *schedule,
                                    const wisp__grid *grid, size_t dot_size)
{
    wisp__spmmv_params *there = NULL;
    wisp__step *list = NULL;
    size_t bytes = 0;
    wisp_status status = WISP_OK;
    for (int i = 0; i < steps; i++) {
        WISP_TRY(check_sweep(ctx, step[i].p));
        bytes += sweep_bytes(step[i].p);
    }
    WISP_TRY(wisp_alloc(ctx, &there, (size_t)steps, sizeof *there));
    WISP_TRY(wisp_alloc(ctx, &list, (size_t)steps, sizeof *list));
    WISP_TRY(begin(ctx, bytes));
    for (int i = 0; i < steps; i++) {
        there[i] = sweep_there(ctx, step[i].p);
        list[i] = (wisp__step){step[i].kernel, &there[i], step[i].dot};
    }
    status = end(ctx, wisp__backend_cpu.launch_steps(ctx, list, steps, schedule, grid, dot_size));
out:
    wisp_free(ctx, there);
    wisp_free(ctx, list);
    return status;
}

static wisp_status far_launch_half(wisp_ctx *ctx, const wisp__key *key, const wisp__spmmv_params *p,
                                   const wisp__half *h, double *dot, size_t dot_size)
{
    wisp_status status;
    WISP_TRY(check_sweep(ctx, p));
    WISP_TRY(OURS(ctx, h->first, h->row, h->inside, h->col, h->val, h->outside, h->reach, h->incoming, h->slot, h->into,
                  h->from, h->spill, h->source_at, h->source));
    WISP_TRY(begin(ctx, sweep_bytes(p)));
    const wisp__spmmv_params q = sweep_there(ctx, p);
    status = end(ctx, wisp__backend_cpu.launch_half(ctx, key, &q, h, dot, dot_size));
out:
    return status;
}

static wisp_status far_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host)
{
    wisp_status status;
    WISP_TRY(OURS(ctx, p->x, p->row));
    WISP_TRY(begin(ctx, 0));
    status = end(ctx, wisp__backend_cpu.pack(ctx, p, host));
out:
    return status;
}

static wisp_status far_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host)
{
    wisp_status status;
    WISP_TRY(OURS(ctx, p->x, p->row));
    WISP_TRY(begin(ctx, 0));
    status = end(ctx, wisp__backend_cpu.unpack(ctx, p, host));
out:
    return status;
}

static wisp_status far_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows)
{
    const size_t bytes = (size_t)p->width * sizeof *p->from_column;
    wisp__columns_params q = *p;
    wisp_status status;
    WISP_TRY(OURS(ctx, p->from, p->to));
    WISP_TRY(begin(ctx, 2 * padded(bytes)));
    q.from_column = copied(ctx, p->from_column, bytes);
    q.to_column = copied(ctx, p->to_column, bytes);
    status = end(ctx, wisp__backend_cpu.copy_columns(ctx, &q, rows));
out:
    return status;
}

static wisp_status far_axpby(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count)
{
    const size_t bytes = (size_t)p->period * (is_double ? sizeof(double) : sizeof(float));
    wisp__axpby_params q = *p;
    wisp_status status;
    WISP_TRY(OURS(ctx, p->x, p->y));
    WISP_TRY(begin(ctx, 4 * padded(bytes)));
    q.a = copied(ctx, p->a, bytes);
    q.aw = copied(ctx, p->aw, bytes);
    q.b = copied(ctx, p->b, bytes);
    q.bw = copied(ctx, p->bw, bytes);
    status = end(ctx, wisp__backend_cpu.axpby(ctx, is_double, &q, count));
out:
    return status;
}

static wisp_status far_dot(wisp_ctx *ctx, bool is_double, bool cross, bool compensated, const wisp__dot_params *p,
                           int64_t count, int64_t per_block, double *sum)
{
    wisp_status status;
    WISP_TRY(OURS(ctx, p->x, p->y));
    WISP_TRY(begin(ctx, 0));
    status = end(ctx, wisp__backend_cpu.dot(ctx, is_double, cross, compensated, p, count, per_block, sum));
out:
    return status;
}

static wisp_status check_fuse(wisp_ctx *ctx, const wisp__fuse_params *p)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < p->updates; i++) {
        WISP_TRY(OURS(ctx, p->update[i].y));
        for (int t = 0; t < p->update[i].terms; t++) WISP_TRY(OURS(ctx, K_TERM_ADDRESSES(p->update[i].term + t)));
    }
    for (int i = 0; i < p->dots; i++) WISP_TRY(OURS(ctx, K_DOT_ADDRESSES(p->dot + i)));
out:
    return status;
}

static wisp_status far_fuse(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block, double *sum)
{
    const size_t real = is_double ? sizeof(double) : sizeof(float), factors = (size_t)p->factor_count * real,
                 dots = (size_t)p->dots * sizeof *p->dot, updates = (size_t)p->updates * sizeof *p->update,
                 term = sizeof *p->update->term;
    wisp__fuse_params q = *p;
    wisp__fuse_update *there = NULL;
    wisp_status status;
    WISP_TRY(check_fuse(ctx, p));
    WISP_TRY(wisp__alloc_raw(ctx, &there, (size_t)p->updates, sizeof *there));
    WISP_TRY(
        begin(ctx, padded(factors) + padded(dots) + padded(updates) + (size_t)(p->terms + p->updates) * padded(term)));
    for (int i = 0; i < p->updates; i++) {
        there[i] = p->update[i];
        there[i].term = copied(ctx, p->update[i].term, (size_t)p->update[i].terms * term);
    }
    q.factors = copied(ctx, p->factors, factors);
    q.dot = copied(ctx, p->dot, dots);
    q.update = copied(ctx, there, updates);
    status = end(ctx, wisp__backend_cpu.fuse(ctx, is_double, &q, per_block, sum));
out:
    wisp_free(ctx, there);
    return status;
}

static wisp_status far_gram(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p,
                            int64_t per_block, double *sum)
{
    wisp_status status;
    WISP_TRY(OURS(ctx, p->v, p->w));
    WISP_TRY(begin(ctx, 0));
    status = end(ctx, wisp__backend_cpu.gram(ctx, is_double, compensated, p, per_block, sum));
out:
    return status;
}

static wisp_status far_update(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows)
{
    const size_t bytes = (size_t)(p->p * p->ld_x) * (is_double ? sizeof(double) : sizeof(float));
    wisp__update_params q = *p;
    wisp_status status;
    WISP_TRY(OURS(ctx, p->v, p->w));
    WISP_TRY(begin(ctx, padded(bytes)));
    q.x = copied(ctx, p->x, bytes);
    status = end(ctx, wisp__backend_cpu.update(ctx, is_double, &q, rows));
out:
    return status;
}

/* ---- the device ------------------------------------------------------------------------------- */

static wisp_status far_open(wisp_ctx *ctx)
{
    far *f = calloc(1, sizeof *f);
    if (!f) return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory for the device 'far'");
    f->lock = &ctx->device_lock;
    ctx->device = f;
    return wisp__backend_cpu.open(ctx);
}

static void far_close(wisp_ctx *ctx)
{
    far *f = far_of(ctx);
    if (f) {
        if (f->constants) drop(take_out(f, f->constants->at));
        free(f);
    }
    wisp__backend_cpu.close(ctx);
}

const wisp__backend wisp__backend_far = {
    .name = "far",
    .kinds = WISP__ALL_KINDS,
    .open = far_open,
    .close = far_close,
    .alloc = far_alloc,
    .free = far_free,
    .take = far_take,
    .borrow = far_borrow,
    .map = far_map,
    .unmap = far_unmap,
    .find_spmmv = far_find_spmmv,
    .launch_spmmv = far_launch_spmmv,
    .finish_dots = far_finish_dots,
    .reserve_steps = far_reserve_steps,
    .launch_steps = far_launch_steps,
    .launch_half = far_launch_half,
    .pack = far_pack,
    .unpack = far_unpack,
    .copy_columns = far_copy_columns,
    .axpby = far_axpby,
    .dot = far_dot,
    .fuse = far_fuse,
    .gram = far_gram,
    .update = far_update,
};
