/* A device for tests: the CPU's kernels on memory that the host can't touch. A buffer has three ranges of addresses.
   That of the device, which the host is given, has nothing behind it, ever; that of the host, which map gives, is
   closed (mprotect) but between map and unmap; and that of the kernels nobody is told: a call puts it in place of each
   address of the device's that it names. So whoever follows a device's address, on the host at any time or in a kernel
   whose call did not name it, or what map gave after unmap, ends in a segmentation fault, and so does whoever goes past
   the last cache line of an array; an address that is no buffer's is refused. What comes with a call from the host is
   copied to the device first, as a device would. A child of fork has the buffers in common with its parent. */
#include "backend.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct buffer {
    struct buffer *next;
    char *range, *at;     /* where the device's range begins, and the array in it; the other ranges follow: */
    size_t apart;         /* from one range to the next */
    size_t bytes, mapped; /* asked for; in whole pages: no range has memory behind these */
    int maps;             /* how often the host was let in */
} buffer;

typedef struct {
    pthread_mutex_t *lock; /* the context's: in a child of fork nobody holds it */
    buffer *first;
    char *constants;   /* what came with the call; it is not counted */
    size_t room, used; /* of it, in bytes */
} far;

static far *far_of(wisp_ctx *ctx) { return ctx->device; }

/* In whole cache lines. */
enum { LINE = 64 };
static size_t padded(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

/* ---- memory ----------------------------------------------------------------------------------- */

/* The same place in the host's range, and in the kernels'. */
static char *of_host(const buffer *b, const void *at) { return (char *)at + b->apart; }
static char *of_kernels(const buffer *b, const void *at) { return (char *)at + 2 * b->apart; }

/* The buffer around an address of the device's. */
static buffer *find(far *f, const void *address)
{
    const char *at = address;
    buffer *b = f->first;
    while (b && !(at >= b->at && at < b->range + b->apart)) b = b->next;
    return b;
}

static void let_host(const buffer *b, bool in)
{
    mprotect(of_host(b, b->range), b->mapped, in ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void drop(buffer *b)
{
    if (b->range != MAP_FAILED) munmap(b->range, 3 * b->apart);
    free(b);
}

/* New memory in the host's and the kernels' ranges; false: there is none. (No file of a size: the limit of files would
   count.) */
static bool map_ranges(buffer *b)
{
    const int open = PROT_READ | PROT_WRITE, all = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
    b->range = mmap(NULL, 3 * b->apart, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->range == MAP_FAILED) return false;
    char *host = of_host(b, b->range), *kernels = of_kernels(b, b->range);
    if (mmap(kernels, b->mapped, open, all, -1, 0) == MAP_FAILED) return false;
    /* Of length 0: it stays where it is, too. */
    if (mremap(kernels, 0, b->mapped, MREMAP_MAYMOVE | MREMAP_FIXED, host) == MAP_FAILED) return false;
    let_host(b, false);
    return true;
}

/* Memory that is not counted yet; NULL: there is none. */
static buffer *new_buffer(far *f, size_t bytes)
{
    enum { BEHIND = 1 << 16 }; /* a view without rows may begin behind the last byte */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    buffer *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->bytes = WISP__MAX(bytes, 1);
    const size_t lines = padded(b->bytes);
    b->mapped = (lines + page - 1) / page * page;
    b->apart = b->mapped + (BEHIND + page - 1) / page * page;
    if (!map_ranges(b)) {
        drop(b);
        return NULL;
    }
    b->at = b->range + b->mapped - lines;
    pthread_mutex_lock(f->lock);
    b->next = f->first;
    f->first = b;
    pthread_mutex_unlock(f->lock);
    return b;
}

static wisp_status far_alloc(wisp_ctx *ctx, void *pointer_to_address, size_t count, size_t size)
{
    size_t bytes;
    *(void **)pointer_to_address = NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: an array of %zu times %zu bytes", count, size);
    const wisp_status status = wisp__memory_book(ctx, WISP__MAX(bytes, 1));
    if (status != WISP_OK) return status;
    buffer *b = new_buffer(far_of(ctx), bytes);
    if (!b) {
        wisp__memory_unbook(ctx, WISP__MAX(bytes, 1));
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: no mapping of %zu bytes for the device", bytes);
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
    while (b && !(at >= of_host(b, b->range) && at < of_kernels(b, b->range))) b = b->next;
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
    if (b) host = of_host(b, address);
    if (b && b->maps++ == 0) let_host(b, true);
    pthread_mutex_unlock(f->lock);
    if (wrong) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the device 'far' was given an address of the host's to map");
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
    if (!b) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: no mapping of %zu bytes for the device", bytes);
    memcpy(of_kernels(b, b->at), *array, bytes);
    wisp__array_replaced(*array);
    *array = b->at;
    return WISP_OK;
}

static wisp_status far_borrow(wisp_ctx *ctx, const void *host)
{
    (void)host;
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                          "the device 'far' has memory of its own and can't use arrays in place; copy them");
}

/* ---- launches --------------------------------------------------------------------------------- */

/* Puts the kernels' address in place of the device's at each of n places; NULL stays. Fails at an address that is no
   buffer's. */
static wisp_status enter(wisp_ctx *ctx, void *const *place, size_t n)
{
    far *f = far_of(ctx);
    bool ours = true;
    pthread_mutex_lock(f->lock);
    for (size_t i = 0; i < n && ours; i++) {
        char *address;
        memcpy(&address, place[i], sizeof address);
        if (!address) continue;
        const buffer *b = find(f, address);
        ours = b;
        if (b) address = of_kernels(b, address);
        memcpy(place[i], &address, sizeof address);
    }
    pthread_mutex_unlock(f->lock);
    if (ours) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a kernel of the device 'far' was given an address that is no buffer's");
}
#define ENTER(ctx, ...) enter(ctx, (void *const[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

/* Room for so many bytes from the host, for a call. */
static wisp_status begin(wisp_ctx *ctx, size_t bytes)
{
    far *f = far_of(ctx);
    f->used = 0;
    if (bytes <= f->room) return WISP_OK;
    free(f->constants);
    f->constants = aligned_alloc(LINE, padded(bytes));
    f->room = f->constants ? bytes : 0;
    if (!f->constants) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: %zu bytes for a call", bytes);
    return WISP_OK;
}

/* The device's copy of an array of the host's, for the call that has begun; NULL gives NULL. */
static void *copied(wisp_ctx *ctx, const void *host, size_t bytes)
{
    far *f = far_of(ctx);
    if (!host) return NULL;
    void *to = f->constants + f->used;
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

/* In a call that has begun. */
static wisp_status enter_sweep(wisp_ctx *ctx, wisp__spmmv_params *q, const wisp__spmmv_params *p)
{
    wisp_status status;
    *q = *p;
    WISP_TRY(ENTER(ctx, K_ENTRY_ADDRESSES(&q->a), K_ADDRESSES(q)));
    for (int i = 0; i < K_FACTOR_SETS; i++) q->factors[i] = copied(ctx, p->factors[i], factor_bytes(p));
    wisp__chain *chain = copied(ctx, p->chains ? p->chain : NULL, chain_bytes(p));
    for (int i = 0; i < p->chains; i++) WISP_TRY(ENTER(ctx, &chain[i].z));
    q->chain = chain;
out:
    return status;
}

/* What the CPU makes lies in memory of its own, which nobody else knows. */
static wisp_status far_prepare(wisp_ctx *ctx, const wisp__given *given, wisp__prepared **made)
{
    wisp__entries a = *given->entries;
    wisp__given g = *given;
    wisp_status status;
    *made = NULL;
    WISP_TRY(ENTER(ctx, K_ENTRY_ADDRESSES(&a)));
    g.entries = &a;
    status = wisp__backend_cpu.prepare(ctx, &g, made);
out:
    return status;
}

static void far_release(wisp_ctx *ctx, wisp__prepared *made) { wisp__backend_cpu.release(ctx, made); }

static void far_foresee(wisp_ctx *ctx, const wisp__given *g, int64_t *kept, int64_t *making)
{
    wisp__backend_cpu.foresee(ctx, g, kept, making);
}

static wisp__kernel far_find_spmmv(wisp_ctx *ctx, const wisp__key *key, const wisp__entries *a)
{
    return wisp__backend_cpu.find_spmmv(ctx, key, a);
}

static wisp_status far_launch_spmmv(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p,
                                    const wisp__grid *grid, int64_t first, int64_t last, size_t dot_size)
{
    wisp__grid g = *grid;
    wisp__spmmv_params q;
    wisp_status status;
    WISP_TRY(begin(ctx, sweep_bytes(p)));
    WISP_TRY(enter_sweep(ctx, &q, p));
    WISP_TRY(ENTER(ctx, &g.weight));
    status = wisp__backend_cpu.launch_spmmv(ctx, kernel, &q, &g, first, last, dot_size);
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
    wisp__grid g = *grid;
    wisp__spmmv_params *there = NULL;
    wisp__step *list = NULL;
    size_t bytes = 0;
    wisp_status status;
    for (int i = 0; i < steps; i++) bytes += sweep_bytes(step[i].p);
    WISP_TRY(wisp_alloc(ctx, &there, (size_t)steps, sizeof *there));
    WISP_TRY(wisp_alloc(ctx, &list, (size_t)steps, sizeof *list));
    WISP_TRY(begin(ctx, bytes));
    WISP_TRY(ENTER(ctx, &g.weight));
    for (int i = 0; i < steps; i++) {
        WISP_TRY(enter_sweep(ctx, &there[i], step[i].p));
        list[i] = (wisp__step){step[i].kernel, &there[i], step[i].dot};
    }
    status = wisp__backend_cpu.launch_steps(ctx, list, steps, schedule, &g, dot_size);
out:
    wisp_free(ctx, there);
    wisp_free(ctx, list);
    return status;
}

static wisp_status far_launch_half(wisp_ctx *ctx, const wisp__key *key, const wisp__spmmv_params *p,
                                   const wisp__half *half, double *dot, size_t dot_size)
{
    wisp__half h = *half;
    wisp__spmmv_params q;
    wisp_status status;
    WISP_TRY(begin(ctx, sweep_bytes(p)));
    WISP_TRY(enter_sweep(ctx, &q, p));
    WISP_TRY(ENTER(ctx, &h.first, &h.row, &h.inside, &h.col, &h.val, &h.outside, &h.reach, &h.incoming, &h.slot,
                   &h.into, &h.from, &h.spill, &h.source_at, &h.source));
    status = wisp__backend_cpu.launch_half(ctx, key, &q, &h, dot, dot_size);
out:
    return status;
}

static wisp_status far_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host)
{
    wisp__rows_params q = *p;
    wisp_status status;
    WISP_TRY(ENTER(ctx, &q.x, &q.row));
    status = wisp__backend_cpu.pack(ctx, &q, host);
out:
    return status;
}

static wisp_status far_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host)
{
    wisp__rows_params q = *p;
    wisp_status status;
    WISP_TRY(ENTER(ctx, &q.x, &q.row));
    status = wisp__backend_cpu.unpack(ctx, &q, host);
out:
    return status;
}

static wisp_status far_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows)
{
    const size_t bytes = (size_t)p->width * sizeof *p->from_column;
    wisp__columns_params q = *p;
    wisp_status status;
    WISP_TRY(ENTER(ctx, &q.from, &q.to));
    WISP_TRY(begin(ctx, 2 * padded(bytes)));
    q.from_column = copied(ctx, p->from_column, bytes);
    q.to_column = copied(ctx, p->to_column, bytes);
    status = wisp__backend_cpu.copy_columns(ctx, &q, rows);
out:
    return status;
}

static wisp_status far_axpby(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count)
{
    const size_t bytes = (size_t)p->period * (is_double ? sizeof(double) : sizeof(float));
    wisp__axpby_params q = *p;
    wisp_status status;
    WISP_TRY(ENTER(ctx, &q.x, &q.y));
    WISP_TRY(begin(ctx, 4 * padded(bytes)));
    q.a = copied(ctx, p->a, bytes);
    q.aw = copied(ctx, p->aw, bytes);
    q.b = copied(ctx, p->b, bytes);
    q.bw = copied(ctx, p->bw, bytes);
    status = wisp__backend_cpu.axpby(ctx, is_double, &q, count);
out:
    return status;
}

static wisp_status far_dot(wisp_ctx *ctx, bool is_double, bool cross, bool compensated, const wisp__dot_params *p,
                           int64_t count, int64_t per_block, double *sum)
{
    wisp__dot_params q = *p;
    wisp_status status;
    WISP_TRY(ENTER(ctx, &q.x, &q.y));
    status = wisp__backend_cpu.dot(ctx, is_double, cross, compensated, &q, count, per_block, sum);
out:
    return status;
}

/* In a call that has begun. */
static wisp_status enter_update(wisp_ctx *ctx, wisp__fuse_update *u)
{
    wisp__fuse_term *term = copied(ctx, u->term, (size_t)u->terms * sizeof *term);
    wisp_status status;
    WISP_TRY(ENTER(ctx, &u->y));
    for (int i = 0; i < u->terms; i++) WISP_TRY(ENTER(ctx, K_TERM_ADDRESSES(term + i)));
    u->term = term;
out:
    return status;
}

static wisp_status far_fuse(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block, double *sum)
{
    const size_t real = is_double ? sizeof(double) : sizeof(float), factors = (size_t)p->factor_count * real,
                 dots = (size_t)p->dots * sizeof *p->dot, updates = (size_t)p->updates * sizeof *p->update,
                 term = sizeof *p->update->term;
    wisp__fuse_params q = *p;
    wisp_status status;
    WISP_TRY(
        begin(ctx, padded(factors) + padded(dots) + padded(updates) + (size_t)(p->terms + p->updates) * padded(term)));
    wisp__fuse_update *update = copied(ctx, p->update, updates);
    wisp__fuse_dot *dot = copied(ctx, p->dot, dots);
    for (int i = 0; i < p->updates; i++) WISP_TRY(enter_update(ctx, update + i));
    for (int i = 0; i < p->dots; i++) WISP_TRY(ENTER(ctx, K_DOT_ADDRESSES(dot + i)));
    q.factors = copied(ctx, p->factors, factors);
    q.dot = dot;
    q.update = update;
    status = wisp__backend_cpu.fuse(ctx, is_double, &q, per_block, sum);
out:
    return status;
}

static wisp_status far_gram(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p,
                            int64_t per_block, double *sum)
{
    wisp__gram_params q = *p;
    wisp_status status;
    WISP_TRY(ENTER(ctx, &q.v, &q.w));
    status = wisp__backend_cpu.gram(ctx, is_double, compensated, &q, per_block, sum);
out:
    return status;
}

static wisp_status far_update(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows)
{
    const size_t bytes = (size_t)(p->p * p->ld_x) * (is_double ? sizeof(double) : sizeof(float));
    wisp__update_params q = *p;
    wisp_status status;
    WISP_TRY(ENTER(ctx, &q.v, &q.w));
    WISP_TRY(begin(ctx, padded(bytes)));
    q.x = copied(ctx, p->x, bytes);
    status = wisp__backend_cpu.update(ctx, is_double, &q, rows);
out:
    return status;
}

/* ---- the device ------------------------------------------------------------------------------- */

static wisp_status far_open(wisp_ctx *ctx)
{
    far *f = calloc(1, sizeof *f);
    if (!f) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for the device 'far'");
    f->lock = &ctx->device_lock;
    ctx->device = f;
    return wisp__backend_cpu.open(ctx);
}

static void far_close(wisp_ctx *ctx)
{
    far *f = far_of(ctx);
    if (f) free(f->constants);
    free(f);
    wisp__backend_cpu.close(ctx);
}

static void far_facts(wisp_ctx *ctx, wisp__facts *f) { wisp__backend_cpu.facts(ctx, f); }

const wisp__backend wisp__backend_far = {
    .name = "far",
    .kinds = WISP__ALL_KINDS,
    .open = far_open,
    .close = far_close,
    .facts = far_facts,
    .alloc = far_alloc,
    .free = far_free,
    .take = far_take,
    .prepare = far_prepare,
    .release = far_release,
    .foresee = far_foresee,
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
