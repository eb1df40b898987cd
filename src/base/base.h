/* The base of every file of the library: the inside of a context, allocation, types. */
#ifndef WISP_BASE_H
#define WISP_BASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <wisp/wisp.h>
#include "units.h"

enum { WISP__LINE = 64 }; /* bytes of a cache line of the host: arrays begin at one */
/* As many bytes in whole lines. */
static inline size_t wisp__lines(size_t bytes) { return (bytes + WISP__LINE - 1) / WISP__LINE * WISP__LINE; }

struct wisp__backend;
struct wisp__isa;
struct wisp__tasks;
struct wisp__comm;
struct wisp__message;
struct wisp__said;

/* A team: processing units, the threads on them, the scratch memory of the call whose turn it is, and the wish to
   cancel what they do. This is its face; topo/team.h runs work on it. */
typedef struct wisp__team {
    wisp_ctx *ctx;      /* whose memory and log it uses */
    int threads;        /* the calling one is the first */
    atomic_uint cancel; /* odd: cancelled; it only grows, so that a run sees a cancel that was resumed since */
    void *scratch[2];   /* see wisp__scratch */
    size_t scratch_bytes[2];
} wisp__team;

/* What all threads of a context do together at most, as measured, else assumed. */
typedef struct {
    double memory, l3, l2; /* bytes a second */
    double exchange;       /* the same, of what another thread has written */
    double loads;          /* registers a second from the first-level cache */
    double l2_bytes;       /* of the second-level caches together */
    double wait;           /* seconds in which a sweep begins and ends; 0: as the device's table has it */
    /* seconds of a thread, as wisp_machine.kernel_ns; 0: as the device's table has them */
    double kernel[WISP_ROW_KINDS][WISP_KERNEL_TYPES][WISP_KERNEL_WIDTHS][2];
    const char *assumed; /* whose rates these are, where none were measured; NULL: they were */
} wisp__rates;

/* The device of a rank, and how many ranks of its machine have it. */
typedef struct {
    char name[32];
    int ranks;
} wisp__rank_device;

struct wisp_ctx {
    wisp_ctx_opts opts;
    wisp__team *team;                                          /* its own, for all that it computes */
    int threads;                                               /* of that team */
    void (*zero)(struct wisp_ctx *ctx, char *p, size_t bytes); /* by the team, which also places the pages */
    void (*aside)(struct wisp_ctx *ctx, void (*call)(void *arg), void *arg); /* a callback, of a thread not pinned */
    wisp_status (*settle)(struct wisp_ctx *ctx); /* waits for a queue of which a cancel may end some; or NULL */
    bool one_node;                               /* the threads share one memory node, as far as is known */
    int64_t index_limit;                         /* local rows, and columns with halo, stay at or below this */
    const struct wisp__comm *comm;
    int rank, ranks;
    int ranks_here;     /* of this process: they share its cores */
    int node;           /* the lowest rank on the same machine */
    int cache_ranks;    /* that share its last cache, itself among them */
    wisp__units units;  /* processing units that this rank leaves to no other on the machine; none: it may use all */
    int64_t *weight;    /* [ranks + 1] running weights by which rows are shared; NULL: all ranks get as many */
    void *world;        /* what comm keeps: */
    int entered;        /* collective calls that are open */
    wisp_status failed; /* on some rank, in the outermost of them */
    unsigned failures;  /* outermost ones that have failed, the same number on all ranks */
    atomic_bool wish;   /* to cancel; while the context is held (wisp_ctx_hold), its team does not know of it */
    atomic_bool is_held;
    int holds;                 /* of them, one within the other */
    bool agreed;               /* while held: some rank has the wish, and all know it since the same round */
    bool may_wait_beside;      /* another thread than the calling one may wait for messages */
    bool waits_beside;         /* one does: it sleeps in between, for it may share a core with one that computes */
    struct wisp__tasks *tasks; /* what it has for its tasks, from the first one on */
    atomic_uint task_news;     /* of them, counted: what sleeps until there are any sleeps on it */
    wisp_halo halo;            /* of matrices that leave it open */
    const struct wisp__message *from; /* what is awaited */
    int from_count;
    const struct wisp__backend *backend;
    char device_name[32];           /* as wisp_device_find takes it */
    int device_number;              /* of those of this kind */
    wisp__rank_device *of_rank;     /* [ranks] which device each has */
    int asked_steps, asked_columns; /* by the device of any rank, see wisp__facts; 0: not known yet */
    const struct wisp__isa *isa;    /* of the CPU's kernels, for the backend alone; what others ask of it: */
    const char *isa_name;
    int register_bytes, bundle_bytes; /* of a register; of a bundle of rows, 0: there are none */

    pthread_mutex_t lock;        /* message, log, the list of what was logged once, rates, topology */
    pthread_mutex_t device_lock; /* what a backend keeps; no callback comes under it */
    pthread_mutex_t source_lock; /* a source's many() runs under it, unless several may run at once */
    char message[WISP_MESSAGE];
    atomic_uint complaints;  /* such messages, counted */
    struct wisp__said *said; /* what the log function is still to be told */
    bool logging;            /* a thread is at it: */
    pthread_t logger;
    atomic_llong memory_now, memory_peak; /* the host's, and arrays of the device's */
    atomic_llong device_now, device_peak; /* of a device's own memory, */
    atomic_llong device_calls;            /* among it what its calls hold for themselves; */
    int64_t device_limit;                 /* that there is, or may be held; 0: it has none of its own */
    atomic_llong held;                    /* by its user, and by each piece of memory that objects on it have */
    void (*end)(struct wisp_ctx *c);      /* when nothing holds it any more */
    atomic_uint alloc_number;             /* staggers large arrays; counts for failure injection */
    unsigned alloc_fail_at;               /* this allocation fails, for tests */
    bool alloc_guard;                     /* arrays end where a page begins that nobody may touch, for tests */
    void *device;                         /* what a backend keeps */
    double *dots;                         /* in the device's memory: see wisp__dots_room */
    size_t dots_room;                     /* numbers */
    void *stream;                         /* what the bandwidth tests run over; kept with the context */
    size_t stream_bytes;
    int64_t stream_limit;            /* $WISP_STREAM_LIMIT: they run over so many bytes at most, for tests */
    double measure_seconds;          /* $WISP_MEASURE_LIMIT: that a rate is measured for at most, for tests */
    atomic_llong cache_kept;         /* bytes of the last cache that the threads keep; 0: not measured */
    wisp__rates rates;               /* 0: not measured, not looked up yet */
    const struct wisp__known *known; /* the CPU whose rates are assumed where none were measured */
    atomic_bool topology_known;
    bool simulated;          /* it is of $WISP_MACHINE, with its rates */
    wisp_machine topology;   /* see wisp__topology */
    atomic_uint logged_once; /* bits of WISP__ONCE_* */

    atomic_llong passes, products, reductions, messages, sent_bytes, round_trips; /* see wisp_counts */
};

/* Refuses what are no weights[ranks], in these words. NULL is fine. */
wisp_status wisp__weights_check(wisp_ctx *ctx, const int64_t *weights, const char *from);

/* Warnings that are logged once per context. */
enum {
    WISP__ONCE_WIDTH = 1,
    WISP__ONCE_ISA = 2,
    WISP__ONCE_DEPTH = 4,
    WISP__ONCE_COMPILE = 8,
    WISP__ONCE_CELL = 16,
    WISP__ONCE_RATES = 32
};
void wisp__log_once(wisp_ctx *ctx, unsigned bit, wisp_log_level level, const char *message);
/* In a child of fork, in which only the calling thread is left. */
void wisp__log_forked(wisp_ctx *ctx);

/* What wisp_ctx_counts tells: one of ctx->passes and the counters beside it grows. */
static inline void wisp__count(atomic_llong *counter, int64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* For threads that may stop early: whether work shall end now. That it did is what the end of the run tells
   (wisp__team_run): asked a second time the answer may be another, for a cancel may be resumed at any time. */
static inline bool wisp__cancelled(wisp__team *team)
{
    return atomic_load_explicit(&team->cancel, memory_order_relaxed) & 1;
}
/* Whether no cancel came, and none was on, since team->cancel was `before`. */
static inline bool wisp__undisturbed(wisp__team *team, unsigned before)
{
    return !(before & 1) && atomic_load(&team->cancel) == before;
}
/* As wisp_ctx_cancel and wisp_ctx_resume, which speak to the context's own team alone. */
void wisp__team_cancel(wisp__team *team);
void wisp__team_resume(wisp__team *team);
/* Wakes those who sleep on ctx->task_news; in signal handlers, too. */
void wisp__tell_of_tasks(wisp_ctx *ctx);
/* Whether this rank wishes to cancel what all of them do in a held context: it goes with what a round sends. */
static inline bool wisp__held_wish(wisp_ctx *ctx) { return atomic_load(&ctx->is_held) && atomic_load(&ctx->wish); }
/* Other threads and processes may have this core for a while. */
void wisp__yield(void);
size_t wisp__page_bytes(void); /* of the machine's memory */
/* What wisp_ctx_step reports. */
void wisp__tell_progress(wisp_ctx *ctx, const char *task, double done, double flops);
/* WISP_ERR_CANCELLED if a run is not whole, or what else has failed in the device's queue: what a cancel has ended
   there is told with that, for the next call, after a resume, is not to be told. Outside of runs of the team. */
wisp_status wisp__whole(wisp_ctx *ctx, const char *task, bool whole);
/* The same for what is not to begin while a cancel is on. */
static inline wisp_status wisp__unless_cancelled(wisp_ctx *ctx, const char *task)
{
    return wisp__whole(ctx, task, !wisp__cancelled(ctx->team));
}

/* Whether the next allocation is to fail, for tests; it counts as one. For memory that a device allocates. */
bool wisp__alloc_fails(wisp_ctx *ctx);
/* Uninitialised memory (wisp_alloc zeroes, on all threads, which also places the pages). */
wisp_status wisp__alloc_raw(wisp_ctx *ctx, void *pointer_to_pointer, size_t count, size_t size);
/* *array gets room for so many elements, of which the first `used` are as they were. It stays whole if that fails. */
wisp_status wisp__widen(wisp_ctx *ctx, void *pointer_to_array, size_t used, size_t room, size_t size);
/* At least this many bytes, uninitialised, until the next call for the same user; kept with the team. For the call
   whose turn it is (wisp__turn_begin). */
typedef enum { WISP__OP_SCRATCH, WISP__DEVICE_SCRATCH } wisp__scratch_user;
wisp_status wisp__scratch(wisp__team *team, wisp__scratch_user user, void *pointer_to_pointer, size_t count,
                          size_t size);
void wisp__scratch_free(wisp__team *team);
/* Counts a piece of memory against the limit (WISP_ERR_NOMEM), and among what holds the context. */
wisp_status wisp__memory_book(wisp_ctx *ctx, size_t bytes);
void wisp__memory_is_there(wisp_ctx *ctx); /* what was booked could be had: the peak may be higher */
void wisp__memory_unbook(wisp_ctx *ctx, size_t bytes);
/* Counts what of it is a device's own memory, against the limit of that (WISP_ERR_NOMEM). */
wisp_status wisp__device_book(wisp_ctx *ctx, size_t bytes);
void wisp__device_unbook(wisp_ctx *ctx, size_t bytes);
/* One holds it no longer; the last one ends it. */
void wisp__ctx_let_go(wisp_ctx *ctx);
/* Bytes of an array of wisp_alloc. And frees one in whose place other memory is counted from now on. */
size_t wisp__array_bytes(const void *array);
void wisp__array_replaced(void *array);
char *wisp__strdup(wisp_ctx *ctx, const char *s);

/* Whether a pipe or a device takes PIPE_BUF bytes at once (POLLOUT), or has some or has ended (POLLIN); else waits for
   it, not for long: read() and write() would sleep through a cancel that came just before them. */
bool wisp__fd_ready(int fd, short events);

#define WISP__MIN(a, b) ((a) < (b) ? (a) : (b))
#define WISP__MAX(a, b) ((a) > (b) ? (a) : (b))
/* Large enough for a value of any type. */
typedef union {
    float s;
    double d;
    float c[2];
    double z[2];
} wisp__value;

static inline bool wisp__type_ok(wisp_type t) { return t >= WISP_S && t <= WISP_Z; }
static inline bool wisp__type_is_double(wisp_type t) { return t == WISP_D || t == WISP_Z; }
/* Whether a matrix of one type can be multiplied with a block of the other: the block is as accurate, and complex if
   the matrix is. */
static inline bool wisp__types_fit(wisp_type matrix, wisp_type block)
{
    return wisp__type_ok(matrix) && wisp__type_ok(block) &&
           (wisp__type_is_double(block) || !wisp__type_is_double(matrix)) &&
           (wisp_type_is_complex(block) || !wisp_type_is_complex(matrix));
}
/* How far from Hermitian rounding alone may take a matrix, over its largest entry. */
static inline double wisp__rounding(wisp_type t) { return wisp__type_is_double(t) ? 1e-10 : 1e-6; }
/* Element i of an array of integers. */
static inline int64_t wisp__int_at(const void *array, wisp_int kind, int64_t i)
{
    return kind == WISP_INT32 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}
/* The type with so many real numbers in an element. */
static inline wisp_type wisp__type_of(int reals, bool is_double)
{
    return reals == 2 ? (is_double ? WISP_Z : WISP_C) : is_double ? WISP_D : WISP_S;
}
/* The type of its real and imaginary parts. */
static inline wisp_type wisp__real_type(wisp_type t) { return wisp__type_of(1, wisp__type_is_double(t)); }
/* One value of the given type to a scalar and back (the imaginary part is dropped for real types). */
wisp_scalar wisp__load(wisp_type type, const void *p);
void wisp__store(wisp_type type, void *p, wisp_scalar v);

#endif
