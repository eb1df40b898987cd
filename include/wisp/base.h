/* Statuses, numbers, the context in which work runs, and ranks. Part of wisp.h, which says what holds for all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_BASE_H
#define WISP_PUBLIC_BASE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__GNUC__)
#define WISP_API __attribute__((visibility("default")))
#define WISP_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define WISP_API
#define WISP_PRINTF(f, a)
#endif
/* Functions with structs whose size the program tells the library: see sized.h. */
#ifdef WISP_BUILDING
#define WISP_SIZED
#define WISP_TEXT
#else
#define WISP_SIZED static inline
#define WISP_TEXT static inline /* functions that make a text as printf does: languages without C headers give one */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---------------------------------------------------------------------------------- */

#define WISP_STATUS_LIST(X)                                                   \
    X(OK, "success")                                                          \
    X(ERR_ARG, "invalid argument")                                            \
    X(ERR_NOMEM, "out of memory")                                             \
    X(ERR_OVERFLOW, "index too large")                                        \
    X(ERR_IO, "input or output failed")                                       \
    X(ERR_FORMAT, "malformed input")                                          \
    X(ERR_UNSUPPORTED, "not supported")                                       \
    X(ERR_MISMATCH, "objects do not fit together")                            \
    X(ERR_CALLBACK, "a callback reported failure")                            \
    X(ERR_CANCELLED, "cancelled")                                             \
    X(ERR_HERMITIAN, "the matrix is not Hermitian")                           \
    X(ERR_BOUNDS, "the spectrum leaves the given bounds")                     \
    X(ERR_NUMERIC, "a value is not finite")                                   \
    X(ERR_PRECISION, "single precision is not enough")                        \
    X(ERR_ITERATIONS, "not converged in so many iterations")                  \
    X(ERR_STAGNATION, "the residual no longer falls")                         \
    X(ERR_BREAKDOWN, "the method broke down")                                 \
    X(ERR_INDEFINITE, "the matrix is not positive definite")                  \
    X(ERR_SINGULAR, "the matrix is singular, and the system has no solution") \
    X(ERR_INCOMPLETE, "something may be missing")

typedef enum {
#define WISP_STATUS_ENUM(name, text) WISP_##name,
    WISP_STATUS_LIST(WISP_STATUS_ENUM)
#undef WISP_STATUS_ENUM
} wisp_status;

/* A status in words; never NULL. */
WISP_API const char *wisp_status_string(wisp_status status);
/* The library's version, "major.minor.patch". */
WISP_API const char *wisp_version(void);
/* The optional parts of this build, such as "hdf5 hwloc mpi". */
WISP_API const char *wisp_features(void);
/* Seconds of a clock that only runs forward. */
WISP_API double wisp_now(void);
/* How many letters are put in, left out or replaced from one word to the other (Levenshtein 1966), of the first 64 of
   each: for "did you mean". */
WISP_API int wisp_word_distance(const char *a, const char *b);

/* ---- numbers --------------------------------------------------------------------------------- */

/* float, double, complex float, complex double; DEFAULT is the type of the matrix at hand. */
typedef enum { WISP_DEFAULT, WISP_S, WISP_D, WISP_C, WISP_Z } wisp_type;
typedef struct {
    double re, im;
} wisp_scalar; /* every scalar of the interface, whatever the type of the data */

WISP_API size_t wisp_type_size(wisp_type type);      /* bytes; 0 for WISP_DEFAULT */
WISP_API int wisp_type_is_complex(wisp_type type);   /* 1 or 0 */
WISP_API const char *wisp_type_name(wisp_type type); /* "single", "complex double", ... */

/* ---- context: where work runs ---------------------------------------------------------------- */

typedef struct wisp_ctx wisp_ctx;

/* PERF: messages on a path that is slower than it could be, once each. */
typedef enum { WISP_LOG_DEFAULT, WISP_LOG_WARN, WISP_LOG_PERF, WISP_LOG_INFO, WISP_LOG_DEBUG } wisp_log_level;
/* A context's log function is called by one thread at a time, under no lock: it may call wisp. Messages that come while
   it runs, its own among them, follow in the thread that is in it. */
typedef void (*wisp_log_fn)(void *arg, wisp_log_level level, const char *message);

/* Progress of a long call. A progress function is called from the calling thread, at least once per sweep over the
   matrix (where steps are interleaved, or the device asks for many: once per call of wisp_mpk, see
   wisp_ctx_steps_per_call). If it returns anything but 0, the call is cancelled (WISP_ERR_CANCELLED). */
typedef struct {
    const char *task; /* "reading", "assembling", "bounds", "moments", ... */
    double done;      /* in [0, 1] */
    double flops;     /* floating-point operations done in this task so far; 0 where not counted */
} wisp_progress;
typedef int (*wisp_progress_fn)(void *arg, const wisp_progress *progress);

/* When a product on several ranks exchanges the rows that these need of each other (its halo). All but NOCOMM give the
   same, and all but COLUMNS dots of the same bits. It is an option of the matrix (wisp_mat_opts.halo). AUTO: $WISP_HALO
   as it was when the context was made, such as "overlap"; else the first products of the matrix try NONE, OVERLAP, TASK
   and NEIGHBOURS in turn, and the fastest stays. */
typedef enum {
    WISP_HALO_AUTO,
    WISP_HALO_NONE,       /* the whole halo is here before the product begins */
    WISP_HALO_OVERLAP,    /* messages are on their way while rows are multiplied that need no halo */
    WISP_HALO_TASK,       /* as OVERLAP, and a thread of its own waits for the messages (MPI_THREAD_SERIALIZED) */
    WISP_HALO_NEIGHBOURS, /* as OVERLAP; then, when the message of a neighbour is here, the rows that need it alone */
    WISP_HALO_COLUMNS,    /* some columns of the halo are on their way while the columns before them are multiplied */
    WISP_HALO_NOCOMM      /* no messages, for measurements: results are wrong */
} wisp_halo;
/* Its name in lower case, such as "overlap"; NULL if there is no such value. */
WISP_API const char *wisp_halo_name(wisp_halo halo);

typedef struct {
    int threads; /* up to 4096; 0: OMP_NUM_THREADS, else SLURM_CPUS_PER_TASK, else the cores we may use */
    int no_pin;  /* 1: the system places threads (also with OMP_PROC_BIND=false). 0: each has a core that no other */
                 /* context of this user's processes has; if too few are left, or it can't be known, none is */
                 /* pinned. The calling thread is on its core only while it computes */
    const char *device; /* NULL: $WISP_DEVICE, else "cpu". A name of wisp_device_info (wisp/machine.h). On several */
                        /* ranks: one of them, or several with commas between them, "cpu,cuda,cuda", which the ranks */
                        /* of a machine take in turn. Where several name a kind without a number, each has the one */
                        /* that fewest have: "cuda" on four ranks and two GPUs is cuda:0, cuda:1, cuda:0, cuda:1 */
    const char *isa;    /* NULL: $WISP_ISA, else the best of this CPU; "generic", "avx2", "avx512", "neon" */
    wisp_log_fn log;    /* NULL: silent */
    void *log_arg;      /* passed to log */
    wisp_log_level level; /* messages up to this level; DEFAULT: WARN */
    wisp_progress_fn progress;
    void *progress_arg;
    int64_t index_limit;    /* most local rows, or columns with halo; 0: $WISP_INDEX_LIMIT, else 2^31 - 1 */
    int64_t memory_limit;   /* bytes that wisp may hold at once, of the host's memory alone; 0: no limit */
    const int64_t *weights; /* one for each rank, the same list on all: they share the rows of maps and sources in */
                            /* these proportions, where those have no weights of their own. From 0 to 2^40, not all */
                            /* 0 (else WISP_ERR_ARG). NULL: $WISP_WEIGHTS, such as 2,0,1 for three ranks, else */
                            /* equal ones. See wisp_src_weights, wisp_mat_weights */
    int64_t device_memory_limit; /* bytes that it may hold of a device's own memory; 0: what the device has, of which */
                                 /* ranks that have the same one get a part each. Where no rank's device has memory */
                                 /* of its own, it is WISP_ERR_ARG */
} wisp_ctx_opts;

/* Makes a context. opts may be NULL. On failure *ctx is NULL, and wisp_ctx_message(NULL, ..) says why.
   WISP_ERR_UNSUPPORTED: there is no such device, or this CPU or this build lacks the instruction set. */
WISP_SIZED wisp_status wisp_ctx_create(wisp_ctx **ctx, const wisp_ctx_opts *opts);
/* Objects that were made on it may still be freed afterwards, in any order; nothing else may be done with them. Its
   tasks are waited for. Called by one of them, or by a task for which one of them waits, it logs a warning and frees
   nothing. */
WISP_API void wisp_ctx_free(wisp_ctx *ctx);
/* text[size] becomes one line on the last failure in this context, with what failed, where, and what to do; "" if there
   was none. It is cut where `size` bytes, the zero at its end among them, are too few; WISP_MESSAGE are enough for any.
   ctx = NULL: on the last failure of this thread in a call without a context, such as wisp_ctx_create. Returns text, or
   "" if that is NULL or size 0. */
enum { WISP_MESSAGE = 1024 };
WISP_API const char *wisp_ctx_message(const wisp_ctx *ctx, char *text, size_t size);
/* The number of its threads, the calling one included. */
WISP_API int wisp_ctx_threads(const wisp_ctx *ctx);
/* Calls fn(arg, i, part) for each i from 0 to n - 1, from all threads at once, in any order. `part` is below the number
   of threads, and no two calls at a time have the same: it may number memory that each needs of its own. Within another
   wisp_ctx_each, or while another thread computes on the context, all calls come from the calling thread with part 0.
   It can't be cancelled. */
typedef void (*wisp_each_fn)(void *arg, int64_t i, int part);
WISP_API wisp_status wisp_ctx_each(wisp_ctx *ctx, int64_t n, wisp_each_fn fn, void *arg);
/* The names of its device and of its instruction set, as in wisp_ctx_opts. */
WISP_API const char *wisp_ctx_device(const wisp_ctx *ctx);
WISP_API const char *wisp_ctx_isa(const wisp_ctx *ctx);
/* The name of the device that a rank has, on its machine; NULL: there is no such rank. *ranks, which may be NULL: how
   many ranks of that machine have the same one, which share its memory, too. */
WISP_API const char *wisp_ctx_device_of(const wisp_ctx *ctx, int rank, int *ranks);
/* The iterations after which a solver looks at its numbers, where the device asks for that: to wait for it takes long.
   1: after each (the CPU). */
WISP_API int wisp_ctx_look_every(wisp_ctx *ctx);
/* The steps that its device asks for in a call of wisp_mpk, at least, for it may have to be waited for between two
   calls: solvers give it so many where there are so many. 1: it does not ask for more (the CPU). */
WISP_API int wisp_ctx_steps_per_call(wisp_ctx *ctx);
/* Sets the bytes of the last cache that all threads together really keep, as wisp_machine_measure found them in an
   earlier run (in this run it sets them by itself). 0: not known, 0.6 of the cache is assumed. */
WISP_API void wisp_ctx_set_cache(wisp_ctx *ctx, int64_t kept_bytes);
/* The bytes of the last cache that are counted on. *measured, which may be NULL: 1 if they were set, 0 if assumed. */
WISP_API int64_t wisp_ctx_cache(wisp_ctx *ctx, int *measured);
/* Bytes that wisp holds now, arrays on the device among them, and the most that it held at once. Each pointer may be
   NULL. */
WISP_API void wisp_ctx_memory(const wisp_ctx *ctx, int64_t *now, int64_t *peak);
/* Counts memory that something beside wisp holds for a call, such as a library that a solver opens: so many bytes more,
   or fewer where that is below 0. WISP_ERR_NOMEM: with these it would be more than memory_limit; none are counted. */
WISP_API wisp_status wisp_ctx_count_memory(wisp_ctx *ctx, int64_t bytes);
/* The same of a device's own memory alone, with what its calls hold; *limit: what it may hold of that at once. All 0
   where the device's memory is the host's. */
WISP_API void wisp_ctx_device_memory(const wisp_ctx *ctx, int64_t *now, int64_t *peak, int64_t *limit);
/* Ends calls that take long (reading, assembling, random numbers, products, solvers), now and from now on, with
   WISP_ERR_CANCELLED within a fraction of a sweep, and tasks (wisp/task.h) that have not begun: who waits for one goes
   on. It may be called from a signal handler or another thread. resume clears the wish; a call that stopped early, and
   a task that had not begun, returns WISP_ERR_CANCELLED even then. */
WISP_API void wisp_ctx_cancel(wisp_ctx *ctx);
WISP_API void wisp_ctx_resume(wisp_ctx *ctx);

/* ---- ranks: processes that share the work ------------------------------------------------------

   Each rank has a range of the rows of every map (wisp_map_local), and the same rows of the matrices and blocks on it.
   Ranks are the processes of an MPI communicator (wisp/mpi.h), or threads of one process, for tests (wisp_ranks_run).

   All ranks make these calls together, one at a time, in the same order:
   - wisp_ctx_create;
   - wisp_map_create_ordered; wisp_mat_create, open, borrow_crs, update, plan, bound, get_props, row_histogram,
     fill_in, choose, weights; wisp_src_choose, weights;
   - wisp_spmmv, wisp_mpk, wisp_fuse, wisp_tsm_gram(_at), dots and norms, wisp_slot_sum, wisp_blk_fill_fn, wisp_ctx_sum,
     sum_start, sum_wait;
   - wisp_bounds_find, wisp_kpm, wisp_kubo, wisp_chebyshev_apply, wisp_evolve, wisp_solve, wisp_solver_solve,
     wisp_solver_update, wisp_eig, wisp_svd;
   - wisp_src_open, wisp_src_open_file, wisp_src_hermitian_part, wisp_src_adjoint, wisp_src_augmented, wisp_mat_adjoint,
     wisp_src_partition, wisp_src_near, wisp_src_deal;
   - wisp_src_write, wisp_moments_save (rank 0 writes).

   Sizes, types, options and names must be the same on all ranks, but for $WISP_DEVICE. Such a call ends with the same
   status on all of them: if a rank fails or is cancelled, the others return its status and have its message. All other
   calls are of one rank alone, among them ops that only change blocks, and copies in and out.

   A source answers for any row on each rank, or for the rank's own rows alone (wisp_src.own_rows), as files do: each
   rank reads a range of the file's bytes (.mtx) or rows (.crs), and gives the entries to the ranks that have their
   rows. So no rank holds the whole matrix. Gzip, .npz, pipes, and arrays in .mtx, are read by rank 0, which deals the
   entries out. A matrix reads its own rows of a source, and has a halo: the rows of other ranks that its columns name.
   An x that is multiplied has room for the halo behind its own rows, which the product fills, so that nobody may read
   or lend that x meanwhile. Not supported on several ranks (WISP_ERR_UNSUPPORTED): half storage, and user memory as an
   x that needs a halo. CRS arrays are copied there. Steps are not interleaved there yet: the depth is 1. */

/* The number of ranks, and the rank of this context, from 0. With a single rank: 1 and 0. */
WISP_API int wisp_ctx_processes(const wisp_ctx *ctx);
WISP_API int wisp_ctx_rank(const wisp_ctx *ctx);
/* weights[ranks]: those of wisp_ctx_opts, by which the ranks share rows; equal ones are 1 each. */
WISP_API wisp_status wisp_ctx_weights(const wisp_ctx *ctx, int64_t *weights);
/* x[n] becomes its sum over the ranks, with the same bits on all of them; for dots that WISP_NOREDUCE left apart. */
WISP_API wisp_status wisp_ctx_sum(wisp_ctx *ctx, double *x, size_t n);
/* The same in two parts, with the same bits: between them, and between an enter and its leave, other calls go on while
   the numbers are on their way, a product best of all, as it exchanges messages itself. x is left alone until the wait.
   One such sum at a time. A call that fails, on any rank, ends it: no wait is due then. On several ranks a second start
   before the wait, and a wait without a start, are WISP_ERR_ARG. */
WISP_API wisp_status wisp_ctx_sum_start(wisp_ctx *ctx, double *x, size_t n);
WISP_API wisp_status wisp_ctx_sum_wait(wisp_ctx *ctx);
/* For those who write solvers. Everything between enter and leave is one call that all ranks make together, even where
   some of it is done by one rank alone. Each enter needs one leave; pairs may be nested. The outermost leave returns
   the status of the lowest rank that failed, on all ranks; an inner one returns `status` as it is. */
WISP_API void wisp_ctx_enter(wisp_ctx *ctx);
WISP_API wisp_status wisp_ctx_leave(wisp_ctx *ctx, wisp_status status);
/* From on = 1 to on = 0, between an enter and its leave, a cancel stops no call in the middle: wisp_ctx_step alone
   tells of it (WISP_ERR_CANCELLED), on all ranks at the same step, which may be one later. So what the ranks have then
   belongs together, and calls that compute with it still work until on = 0. One may be within another. On devices with
   a queue what is only queued by then may be cancelled: wisp_ctx_finish comes before on = 0. */
WISP_API void wisp_ctx_hold(wisp_ctx *ctx, int on);
/* Runs fn(arg, rank) on as many threads at once as there are ranks, 1 to 1024. Each thread stands for a rank: contexts
   that it makes share the work with those of the others. Returns when all threads have ended. *result, which may be
   NULL, becomes 0, or the value of the lowest rank for which fn was not 0. WISP_ERR_UNSUPPORTED: this thread stands
   for a rank already. WISP_ERR_NOMEM: not all threads could be started. */
typedef int (*wisp_rank_fn)(void *arg, int rank);
WISP_API wisp_status wisp_ranks_run(int ranks, wisp_rank_fn fn, void *arg, int *result);

/* For those who write solvers. fail keeps the text as the message of ctx (which may be NULL) and returns `status`. log
   hands a text to the log function. failf and logf are the same with a text as printf makes it. step reports progress,
   and returns WISP_ERR_CANCELLED if the user wants to stop. alloc sets the pointer at pointer_to_pointer to memory for
   count elements of `size` bytes, 64-byte aligned and all zero, which counts against the memory limit; large arrays are
   on huge pages. */
WISP_API wisp_status wisp_ctx_fail(wisp_ctx *ctx, wisp_status status, const char *text);
WISP_API void wisp_ctx_log(wisp_ctx *ctx, wisp_log_level level, const char *text);
WISP_TEXT wisp_status wisp_ctx_failf(wisp_ctx *ctx, wisp_status status, const char *format, ...) WISP_PRINTF(3, 4);
WISP_TEXT void wisp_ctx_logf(wisp_ctx *ctx, wisp_log_level level, const char *format, ...) WISP_PRINTF(3, 4);
WISP_API wisp_status wisp_ctx_step(wisp_ctx *ctx, const char *task, double done, double flops);
WISP_API wisp_status wisp_alloc(wisp_ctx *ctx, void *pointer_to_pointer, size_t count, size_t size);
/* Frees memory of wisp_alloc. ctx is not looked at, and may be NULL: memory knows its own context. */
WISP_API void wisp_free(wisp_ctx *ctx, void *pointer);
/* At the beginning of a function: refuses a pointer that is NULL. ctx (which may be NULL) keeps the message. */
#define WISP_NEED(ctx, pointer)                                                                         \
    do {                                                                                                \
        if (!(pointer)) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s is NULL", __func__, #pointer); \
    } while (0)
/* In a function whose last parameters are `format` and `...`: text[bytes], which printf's way makes of them. */
#define WISP_FORMATTED(text, bytes, format)            \
    char text[bytes];                                  \
    va_list text##_list;                               \
    va_start(text##_list, format);                     \
    vsnprintf(text, sizeof text, format, text##_list); \
    va_end(text##_list)
/* x, at least 0, without its fraction, as plans tell bytes; the largest number if x is too large. */
static inline int64_t wisp_whole_number(double x) { return x < 9e18 ? (int64_t)x : INT64_MAX; }
/* In a function with a variable `status` and one clean-up label `out`. */
#define WISP_TRY(call)                              \
    do {                                            \
        if ((status = (call)) != WISP_OK) goto out; \
    } while (0)

#ifndef WISP_BUILDING
static inline wisp_status wisp_ctx_failf(wisp_ctx *ctx, wisp_status status, const char *format, ...)
{
    WISP_FORMATTED(text, WISP_MESSAGE, format);
    return wisp_ctx_fail(ctx, status, text);
}
static inline void wisp_ctx_logf(wisp_ctx *ctx, wisp_log_level level, const char *format, ...)
{
    WISP_FORMATTED(text, WISP_MESSAGE, format);
    wisp_ctx_log(ctx, level, text);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
