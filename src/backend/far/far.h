/* The device `far`, for tests: the CPU's kernels on memory that the host can't touch, behind a queue. A buffer has
   three ranges of addresses. That of the device, which the host is given, has nothing behind it, ever; that of the
   host, which lend gives, is closed (mprotect) but while it is lent, and can't be written to by those who said that
   they read; and that of the kernels nobody is told: a call puts it in place of each address of the device's that it
   names. So whoever follows a device's address, on the host at any time or in a kernel whose call did not name it, or
   what lend gave after unlend, ends in a segmentation fault, and so does whoever goes past the last cache line of an
   array; an address that is no buffer's is refused. What is lent to be discarded has NaN in it.

   Calls are queued, with a copy of all that the host gives them. A thread of the device's own runs them, as late as it
   likes; who waits helps. So what the host changes too soon, frees too soon or reads too soon shows. */
#ifndef WISP_FAR_H
#define WISP_FAR_H
#include "../backend.h"

/* Work in the queue. */
typedef struct wisp__far_item {
    struct wisp__far_item *next;
    wisp_status (*run)(wisp_ctx *ctx, void *call);
    void *call;        /* what run gets */
    bool always;       /* it runs even where what was before it has failed */
    char *copies;      /* of what the host gave, behind the item; NULL: the item is part of something else */
    size_t room, used; /* of them, in bytes */
} wisp__far_item;

typedef struct wisp__far_buffer wisp__far_buffer;
typedef struct wisp__far_loan wisp__far_loan;
typedef struct wisp__far {
    wisp_ctx *ctx;
    struct wisp__far *next; /* of the process */
    pthread_mutex_t *lock;  /* the context's, for all that follows */
    wisp__far_buffer *buffer;
    wisp__far_loan *loan;
    wisp__far_item *first, *last;  /* of the queue */
    pthread_cond_t news;           /* an item is there, or over; or all ends */
    bool has_thread, busy, ending; /* busy: an item runs */
    pthread_t runs;                /* the thread that runs it */
    pthread_t thread;
    uint64_t random;
    int patience; /* so many more calls are queued before the thread begins */
    wisp_status failed;
    char message[WISP_MESSAGE];
    uint64_t queued, over; /* items so far */
    double worked;         /* seconds in which items ran */
    size_t reserved;       /* numbers for which there is room among the dots of steps */
    bool forking;          /* nothing more is queued until the process has been copied */
    bool lost;             /* this process is a child of fork for which there was no room for all the memory */
} wisp__far;

static inline wisp__far *wisp__far_of(wisp_ctx *ctx) { return ctx->device; }

/* In whole cache lines. */
static inline size_t wisp__far_padded(size_t bytes) { return wisp__lines(bytes); }

/* ---- queue.c ---------------------------------------------------------------------------------- */

wisp_status wisp__far_queue_open(wisp_ctx *ctx);
void wisp__far_queue_close(wisp_ctx *ctx); /* all of it has run */
/* An item with room for so many bytes from the host. */
wisp_status wisp__far_item_new(wisp_ctx *ctx, size_t bytes, wisp__far_item **item);
/* Some of that room; and a copy of an array of the host's in it, NULL of NULL. */
char *wisp__far_copies(wisp__far_item *item, size_t bytes);
void *wisp__far_copied(wisp__far_item *item, const void *host, size_t bytes);
void wisp__far_queue(wisp_ctx *ctx, wisp__far_item *item);
void wisp__far_drain(wisp_ctx *ctx);          /* until all has run that was queued before */
void wisp__far_drain_locked(wisp__far *f);    /* the same, with the lock */
wisp_status wisp__far_is_lost(wisp_ctx *ctx); /* tells that there was no room for its memory in a fork */
/* The same; what has failed is told. */
wisp_status wisp__far_finish(wisp_ctx *ctx);
/* Queues a call with its arguments, for which the item has room. After a failure the item goes. */
wisp_status wisp__far_submit(wisp_ctx *ctx, wisp_status status, wisp__far_item *item,
                             wisp_status (*run)(wisp_ctx *, void *), const void *call, size_t bytes);
/* The seconds in which items run that launch queues, without those between them. */
wisp_status wisp__far_time_launches(wisp_ctx *ctx, wisp__launch_fn launch, void *arg, int64_t n, double *seconds);

/* As a call's function takes them: `call` is a struct of its own. */
static inline size_t padded(size_t bytes) { return wisp__far_padded(bytes); }
#define COPIED(item, host, bytes) wisp__far_copied(item, host, bytes)
#define ROOM(ctx, call, bytes, item) wisp__far_item_new(ctx, padded(sizeof(call)) + (bytes), item)
#define SUBMIT(ctx, status, item, run, call) wisp__far_submit(ctx, status, item, run, &(call), sizeof(call))

/* ---- memory.c --------------------------------------------------------------------------------- */

wisp_status wisp__far_alloc(wisp_ctx *ctx, void *pointer_to_address, size_t count, size_t size);
void wisp__far_free(wisp_ctx *ctx, void *address);
wisp_status wisp__far_take(wisp_ctx *ctx, void *pointer_to_array);
wisp_status wisp__far_borrow(wisp_ctx *ctx, const void *host);
wisp_status wisp__far_lend(wisp_ctx *ctx, void *address, size_t bytes, wisp_access how, void *pointer_to_host);
void wisp__far_unlend(wisp_ctx *ctx, void *address);
wisp_status wisp__far_read(wisp_ctx *ctx, const void *address, void *host, size_t bytes);
wisp_status wisp__far_write(wisp_ctx *ctx, void *address, const void *host, size_t bytes);
/* Puts the kernels' address in place of the device's at each of n places; NULL stays. Fails at an address that is no
   buffer's. */
wisp_status wisp__far_enter(wisp_ctx *ctx, void *const *place, size_t n);
/* In a fork, with the lock: before it, and after it in the parent and the child. */
void wisp__far_copy(wisp__far *f);
void wisp__far_end_copy(wisp__far *f, bool child);
#define WISP__FAR_ENTER(ctx, ...) \
    wisp__far_enter(ctx, (void *const[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

/* ---- fork.c ------------------------------------------------------------------------------------ */

void wisp__far_watch(wisp__far *f); /* a fork sees to it, */
void wisp__far_unwatch(const wisp__far *f);

/* ---- move.c ------------------------------------------------------------------------------------ */

wisp_status wisp__far_fill(wisp_ctx *ctx, const wisp__fill_params *p);
wisp_status wisp__far_random(wisp_ctx *ctx, const wisp__random_params *p);
wisp_status wisp__far_put(wisp_ctx *ctx, const wisp__array_params *p, const void *host);
wisp_status wisp__far_get(wisp_ctx *ctx, const wisp__array_params *p, void *host);
wisp_status wisp__far_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows);
wisp_status wisp__far_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host);
wisp_status wisp__far_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host);
#endif
