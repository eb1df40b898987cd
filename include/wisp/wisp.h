/* wisp: very large sparse spectral problems at the hardware's limit.
 *
 * Words. Block: a block vector, rows times a few columns; their number is its width, and a block row is one of its
 * rows. Row block: a range of rows that one thread does at a time. Sweep: one pass over a matrix. Order: where rows lie
 * in memory. C and sigma: the height of a chunk and the length of a sorting window in SELL-C-sigma. Depth: the number
 * of steps of a recurrence that are interleaved, 1 for one sweep after the other. Rank: a process, or what stands for
 * it. The KPM paper is Kreutzer et al., "Performance engineering of the kernel polynomial method on large-scale CPU-GPU
 * systems"; the GHOST paper is Kreutzer et al., "GHOST: building blocks for high performance sparse linear algebra on
 * heterogeneous systems".
 *
 * Calls. No function aborts or prints. A function that can fail returns a wisp_status, and its context keeps a message
 * (wisp_ctx_message). A zeroed options struct means the defaults. Free functions accept NULL; so do functions that
 * return a number or a pointer, which answer 0 or NULL. Arrays, structs and texts that are passed in stay the user's
 * and are read during the call alone, unless the comment says otherwise. After a failure a handle that the call would
 * have made is NULL, and blocks and arrays that it writes hold anything.
 *
 * Statuses. Any call may return WISP_ERR_ARG (a pointer is NULL that may not be, a number or an option is out of its
 * range, a size is negative) and WISP_ERR_NOMEM. Calls that take long return WISP_ERR_CANCELLED (wisp_ctx_cancel).
 * WISP_ERR_MISMATCH: blocks, maps and matrices do not fit together. WISP_ERR_OVERFLOW: there are more rows or columns
 * than the index limit. Calls that read a source return WISP_ERR_CALLBACK if its row function fails. Other statuses are
 * named with each call.
 *
 * Numbers. Rows and columns are counted from 0 in the natural order, that of the source. How wisp orders and stores
 * them is invisible. Complex numbers are (re, im) pairs, binary compatible with C99 and C++.
 *
 * Threads. Calls on different contexts never meet. Several threads may use one context: calls that compute (ops on
 * blocks, products, solvers, measuring) take turns, so that the second one waits; the message is that of whichever
 * failed last (wisp_ctx_copy_message). Objects may be read by several threads at once. Who writes to an object, changes
 * or frees it must be alone with it: a block that is written, filled or mapped, a matrix under wisp_mat_update, a
 * source that is closed. A call pins the calling thread at most until it returns, and then gives it its own mask back,
 * as it does while a progress or log function runs. But row functions and that of wisp_ctx_each run on pinned threads;
 * a thread that one of them starts inherits that core, and has to set a mask of its own.
 *
 * Fork. The child may use and free what its parent made. Threads are started anew there, and are not pinned. If another
 * thread was in a call that computes on a context just then, such calls on it are WISP_ERR_UNSUPPORTED in the child; a
 * new context works. A child that is forked in a callback must not return from it.
 */
#ifndef WISP_H
#define WISP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
#else
#define WISP_SIZED static inline
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
   matrix (where steps are interleaved: once per call of wisp_mpk). If it returns anything but 0, the call is cancelled
   (WISP_ERR_CANCELLED). */
typedef struct {
    const char *task; /* "reading", "assembling", "bounds", "moments", ... */
    double done;      /* in [0, 1] */
    double flops;     /* floating-point operations done in this task so far; 0 where not counted */
} wisp_progress;
typedef int (*wisp_progress_fn)(void *arg, const wisp_progress *progress);

/* When a product on several ranks exchanges the rows that these need of each other (its halo). All but NOCOMM give the
   same, and all but COLUMNS dots of the same bits. AUTO: the first products of a matrix try NONE, OVERLAP, TASK and
   NEIGHBOURS in turn, and the fastest stays. */
typedef enum {
    WISP_HALO_AUTO,
    WISP_HALO_NONE,       /* before it multiplies */
    WISP_HALO_OVERLAP,    /* while it multiplies the rows that need none of it */
    WISP_HALO_TASK,       /* so, and a thread of its own waits for the messages (MPI_THREAD_SERIALIZED) */
    WISP_HALO_NEIGHBOURS, /* as OVERLAP; then the rows that need one neighbour alone, as soon as its message is here */
    WISP_HALO_COLUMNS,    /* some columns at a time, while it multiplies those before */
    WISP_HALO_NOCOMM      /* never, for measurements: results are wrong */
} wisp_halo;

typedef struct {
    int threads; /* up to 4096; 0: OMP_NUM_THREADS, else SLURM_CPUS_PER_TASK, else the cores we may use */
    int no_pin;  /* 1: the system places threads (also with OMP_PROC_BIND=false). 0: each has a core that no other */
                 /* context of this user's processes has; if too few are left, or it can't be known, none is */
                 /* pinned. The calling thread is on its core only while it computes */
    const char *device;   /* NULL: $WISP_DEVICE, else "cpu". "far", for tests: the CPU with memory of its own */
    const char *isa;      /* NULL: $WISP_ISA, else the best of this CPU; "generic", "avx2", "avx512", "neon" */
    wisp_log_fn log;      /* NULL: silent */
    void *log_arg;        /* passed to log */
    wisp_log_level level; /* messages up to this level; DEFAULT: WARN */
    wisp_progress_fn progress;
    void *progress_arg;
    int64_t index_limit;    /* most local rows, or columns with halo; 0: $WISP_INDEX_LIMIT, else 2^31 - 1 */
    int64_t memory_limit;   /* bytes that wisp may hold at once; 0: no limit */
    const int64_t *weights; /* one for each rank, the same list on all: rows of every map are shared in these */
                            /* proportions. From 0 to 2^40, not all 0 (else WISP_ERR_ARG). NULL: $WISP_WEIGHTS, such */
                            /* as 2,0,1 for three ranks, else equal ones. See wisp_src_weights, wisp_mat_weights */
    wisp_halo halo;         /* AUTO: $WISP_HALO, else by trial. The same on all ranks */
    int reserved;           /* 0: room for a field that comes later */
} wisp_ctx_opts;

/* Makes a context. opts may be NULL. On failure *ctx is NULL, and wisp_ctx_message(NULL) says why.
   WISP_ERR_UNSUPPORTED: there is no such device, or this CPU or this build lacks the instruction set. */
WISP_SIZED wisp_status wisp_ctx_create(wisp_ctx **ctx, const wisp_ctx_opts *opts);
/* Objects that were made on it may still be freed afterwards, in any order; nothing else may be done with them. Its
   tasks are waited for. Called by one of them, or by a task for which one of them waits, it logs a warning and frees
   nothing. */
WISP_API void wisp_ctx_free(wisp_ctx *ctx);
/* One line on the last failure in this context, with what failed, where, and what to do; "" if there was none. The text
   stays until the next failure. ctx = NULL: on the last failure of this thread in a call without a context, such as
   wisp_ctx_create. */
WISP_API const char *wisp_ctx_message(const wisp_ctx *ctx);
/* The same as a copy, cut where `size` bytes are too few, for contexts that other threads use meanwhile: their failures
   write over the text above. Returns the length of the whole; text may be NULL. */
WISP_API size_t wisp_ctx_copy_message(const wisp_ctx *ctx, char *text, size_t size);
/* The number of its threads, the calling one included. */
WISP_API int wisp_ctx_threads(const wisp_ctx *ctx);
/* Calls fn(arg, i, part) for each i from 0 to n - 1, from all threads at once, in any order. `part` is below the number
   of threads, and no two calls at a time have the same: it may number memory that each needs of its own. Within another
   wisp_ctx_each, or while another thread computes on the context, all calls come from the calling thread with part 0.
   It can't be cancelled. */
typedef void (*wisp_each_fn)(void *arg, int64_t i, int part);
WISP_API wisp_status wisp_ctx_each(wisp_ctx *ctx, int64_t n, wisp_each_fn fn, void *arg);
/* How its products exchange halos: as was asked for (OVERLAP instead of TASK where MPI allows too few threads for it),
   or, with AUTO, what the last trial found, AUTO before its end. And the name in lower case, such as "overlap"; NULL if
   there is no such value. */
WISP_API wisp_halo wisp_ctx_halo(const wisp_ctx *ctx);
WISP_API const char *wisp_halo_name(wisp_halo halo);
/* The names of its device and of its instruction set, as in wisp_ctx_opts. */
WISP_API const char *wisp_ctx_device(const wisp_ctx *ctx);
WISP_API const char *wisp_ctx_isa(const wisp_ctx *ctx);
/* Sets the bytes of the last cache that all threads together really keep, as wisp_machine_measure found them in an
   earlier run (in this run it sets them by itself). 0: not known, 0.6 of the cache is assumed. */
WISP_API void wisp_ctx_set_cache(wisp_ctx *ctx, int64_t kept_bytes);
/* The bytes of the last cache that are counted on. *measured, which may be NULL: 1 if they were set, 0 if assumed. */
WISP_API int64_t wisp_ctx_cache(wisp_ctx *ctx, int *measured);
/* Bytes that wisp holds now, and the most that it held at once. Each pointer may be NULL. */
WISP_API void wisp_ctx_memory(const wisp_ctx *ctx, int64_t *now, int64_t *peak);
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
   - wisp_map_create_ordered; wisp_mat_create, open, update, plan, bound, get_props, row_histogram, fill_in, choose,
     weights; wisp_src_choose, weights;
   - wisp_spmmv, wisp_mpk, wisp_fuse, wisp_tsm_gram, dots and norms, wisp_blk_fill_fn, wisp_ctx_sum, sum_start,
   sum_wait;
   - wisp_bounds_find, wisp_kpm, wisp_evolve, wisp_solve, wisp_eig;
   - wisp_src_open, wisp_src_open_file, wisp_src_hermitian_part; wisp_src_write, wisp_moments_save (rank 0 writes).
   Sizes, types, options and names must be the same on all ranks. Such a call ends with the same status on all of them:
   if a rank fails or is cancelled, the others return its status and have its message. All other calls are of one rank
   alone, among them ops that only change blocks, and copies in and out.

   A source answers for any row on each rank, or for the rank's own rows alone (wisp_src.own_rows), as files do: each
   rank reads a range of the file's bytes (.mtx) or rows (.crs), and gives the entries to the ranks that have their
   rows. So no rank holds the whole matrix. Gzip, pipes, and arrays in .mtx, are read by rank 0, which deals the entries
   out. A matrix reads its own rows of a source, and has a halo: the rows of other ranks that its columns name. An x
   that is multiplied has room for the halo behind its own rows, which the product fills, so that nobody may read or map
   that x meanwhile. Not supported on several ranks (WISP_ERR_UNSUPPORTED): CRS arrays in place, half storage, and user
   memory as an x that needs a halo. Steps are not interleaved there yet: the depth is 1. */

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
   belongs together, and calls that compute with it still work until on = 0. One may be within another. */
WISP_API void wisp_ctx_hold(wisp_ctx *ctx, int on);
/* Runs fn(arg, rank) on as many threads at once as there are ranks, 1 to 1024. Each thread stands for a rank: contexts
   that it makes share the work with those of the others. Returns when all threads have ended. *result, which may be
   NULL, becomes 0, or the value of the lowest rank for which fn was not 0. WISP_ERR_UNSUPPORTED: this thread stands
   for a rank already. WISP_ERR_NOMEM: not all threads could be started. */
typedef int (*wisp_rank_fn)(void *arg, int rank);
WISP_API wisp_status wisp_ranks_run(int ranks, wisp_rank_fn fn, void *arg, int *result);

/* For those who write solvers. fail keeps the message in ctx (which may be NULL) and returns `status`. log hands a
   message to the log function. step reports progress, and returns WISP_ERR_CANCELLED if the user wants to stop. alloc
   sets the pointer at pointer_to_pointer to memory for count elements of `size` bytes, 64-byte aligned and all zero,
   which counts against the memory limit; large arrays are on huge pages. */
WISP_API wisp_status wisp_ctx_fail(wisp_ctx *ctx, wisp_status status, const char *format, ...) WISP_PRINTF(3, 4);
WISP_API void wisp_ctx_log(wisp_ctx *ctx, wisp_log_level level, const char *format, ...) WISP_PRINTF(3, 4);
WISP_API wisp_status wisp_ctx_step(wisp_ctx *ctx, const char *task, double done, double flops);
WISP_API wisp_status wisp_alloc(wisp_ctx *ctx, void *pointer_to_pointer, size_t count, size_t size);
/* Frees memory of wisp_alloc. ctx is not looked at, and may be NULL: memory knows its own context. */
WISP_API void wisp_free(wisp_ctx *ctx, void *pointer);
/* At the beginning of a function: refuses a pointer that is NULL. ctx (which may be NULL) keeps the message. */
#define WISP_NEED(ctx, pointer)                                                                        \
    do {                                                                                               \
        if (!(pointer)) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "%s: %s is NULL", __func__, #pointer); \
    } while (0)
/* In a function with a variable `status` and one clean-up label `out`. */
#define WISP_TRY(call)                              \
    do {                                            \
        if ((status = (call)) != WISP_OK) goto out; \
    } while (0)

/* ---- matrix sources: a matrix given row by row ----------------------------------------------- */

/* Writes the entries of one row: columns to col, values of the source's type to val. Returns their number; a negative
   one is a failure (WISP_ERR_CALLBACK). With col = NULL (and val too) it only counts. Columns come in any order;
   duplicates are added. It is called from many threads at once, at least twice a row. It must answer the same each time
   (another number is WISP_ERR_CALLBACK), and return at most max_row entries with columns in range (WISP_ERR_ARG). */
typedef int (*wisp_row_fn)(void *arg, int64_t row, int64_t *col, void *val);

typedef struct {
    int64_t rows, cols;
    int64_t max_row; /* the most entries that row() returns */
    wisp_type type;  /* of the values that row() writes */
    wisp_row_fn row;
    void *arg;                /* passed to row() */
    void (*free_arg)(void *); /* called by wisp_src_close; may be NULL */
    int64_t own_rows; /* 1: on several ranks row() answers for the rank's own rows alone, those that wisp_map_local */
                      /* names of a map of so many rows, and fails for others. 0: for any row */
} wisp_src;

/* Opens NAME as a source, to be closed by wisp_src_close: a gallery spec ("topi:nx=10,ny=10,nz=4"), whose rows are
   computed, or a file (.mtx, .mtx.gz, .crs), which is read into memory, by each rank its own rows. A file goes before
   a spec of the same name, if rank 0 sees it. WISP_ERR_IO: the file can't be read; WISP_ERR_FORMAT: it is malformed,
   and the message names the place; WISP_ERR_ARG: an unknown name or key. */
WISP_SIZED wisp_status wisp_src_open(wisp_src *src, wisp_ctx *ctx, const char *name);
WISP_SIZED wisp_status wisp_src_open_file(wisp_src *src, wisp_ctx *ctx, const char *path);
WISP_SIZED wisp_status wisp_src_open_gallery(wisp_src *src, wisp_ctx *ctx, const char *spec);
/* CRS arrays of the user: row pointers, and columns counted from 0, each of 64 or 32 bits (scipy: 32, or 64). */
typedef enum { WISP_INT64, WISP_INT32 } wisp_int;
typedef struct {
    int64_t rows, cols;
    wisp_type type;               /* of the values */
    wisp_int rowptr_int, col_int; /* of what rowptr and col point to */
    const void *rowptr;           /* [rows + 1], from 0 */
    const void *col, *val;        /* [rowptr[rows]]; NULL if there is none */
} wisp_crs;
/* Opens the arrays as a source. They are read in place and must stay until the source is closed; the struct need not.
   Columns come in any order. WISP_ERR_ARG: the arrays are no matrix, and the message names the place. */
WISP_SIZED wisp_status wisp_src_open_crs(wisp_src *src, wisp_ctx *ctx, const wisp_crs *crs);
/* Opens (A + A^H)/2 of a square source, which may be closed afterwards. The entries are held in memory, by each rank
   those of its own rows (wisp_src.own_rows). This makes a matrix exactly Hermitian that is so up to rounding. *change,
   which may be NULL, becomes the largest change of an entry over the largest |a_ij|; above 1e-10 (single precision:
   1e-6) the log has a warning. WISP_ERR_HERMITIAN: the source is not square. */
WISP_SIZED wisp_status wisp_src_hermitian_part(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, double *change);
/* Deals the rows of a square source out anew, so that ranks have less to send each other: *src has the rows and columns
   of `other` in another order, and the entries are held in memory, by each rank those of its own rows
   (wisp_src.own_rows), and once more while they are dealt; `other` may be closed afterwards. LEVELS: by the levels of a
   breadth-first search of the graph (Cuthill and McKee 1969), cut into as many consecutive parts as there are ranks.
   SCOTCH: parts that have few entries between them, by PT-SCOTCH (of ranks as threads by SCOTCH, whose parts are
   others); the pattern must be symmetric (WISP_ERR_ARG), and the build have it (WISP_ERR_UNSUPPORTED). A matrix from it
   has a map in that order; random vectors on it are as if rows had kept their places, while other vectors go by the new
   numbers, and so does what is told of a row. With one rank there is nothing to cut: *src is then `other`, which must
   stay open. WISP_ERR_ARG: the source is not square. Collective. */
typedef enum { WISP_PARTITION_ROWS, WISP_PARTITION_LEVELS, WISP_PARTITION_SCOTCH } wisp_partition;
WISP_SIZED wisp_status wisp_src_partition(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, wisp_partition how);
/* The numbers that the rank's rows had before that, as long as the source is open; NULL: they have them still. */
WISP_SIZED const int64_t *wisp_src_numbers(const wisp_src *src);
/* Calls free_arg, and empties the struct, which is the caller's. src may be NULL. */
WISP_SIZED void wisp_src_close(wisp_src *src);

typedef enum { WISP_SYM_GENERAL, WISP_SYM_SYMMETRIC, WISP_SYM_HERMITIAN, WISP_SYM_SKEW } wisp_symmetry;
typedef struct {
    wisp_symmetry symmetry; /* .mtx: store one half only; the matrix must have this symmetry exactly */
    int array;              /* .mtx: dense "array" format instead of "coordinate" */
    int pattern;            /* .mtx: "pattern" field, without values */
    const char *comment;    /* .mtx: written as a comment line; may be NULL */
} wisp_write_opts;
/* Writes a source to path (.mtx, .mtx.gz or .crs by its name). A temporary file is written, synced and renamed, so that
   an old file survives a failure. opts may be NULL. Where ranks have their own rows alone, rank 0 gets them from the
   others, some at a time. WISP_ERR_IO: the file can't be written; WISP_ERR_MISMATCH: the matrix has not the symmetry of
   opts; WISP_ERR_ARG: also if the name has another ending; WISP_ERR_UNSUPPORTED: an array of such rows. */
WISP_SIZED wisp_status wisp_src_write(const wisp_src *src, wisp_ctx *ctx, const char *path,
                                      const wisp_write_opts *opts);
/* Writes data[bytes] to path in the same way (WISP_ERR_IO). A symbolic link is followed, also to a file that is not
   there yet; a device or a pipe is written in place. */
WISP_API wisp_status wisp_file_write(wisp_ctx *ctx, const char *path, const void *data, size_t bytes);
/* WISP_OK if wisp_file_write could write there, else WISP_ERR_IO: to know before a long run. */
WISP_API wisp_status wisp_file_check(wisp_ctx *ctx, const char *path);
WISP_API int wisp_file_same(const char *a, const char *b); /* 1: both names stand for one file; it need not be there */

/* The gallery, for listings: entry number i, or NULL past the end. The texts are the library's. */
typedef struct {
    const char *name, *summary;
    const char *keys; /* one line per key: "key=default  meaning\n" */
} wisp_gallery_entry;
WISP_API const wisp_gallery_entry *wisp_gallery_list(int i);

/* ---- map: which rows live where and in which order ------------------------------------------- */

typedef struct wisp_map wisp_map;

/* The natural order of `rows` rows, shared among the ranks. Maps are reference-counted: objects made on a map keep it
   alive, so that it may be freed when they are made. */
WISP_API wisp_status wisp_map_create(wisp_map **map, wisp_ctx *ctx, int64_t rows);
WISP_API void wisp_map_free(wisp_map *map);
WISP_API int64_t wisp_map_rows(const wisp_map *map); /* of all ranks */
/* The number of local rows: those of this rank, from *first (which may be NULL) on, in the natural order. */
WISP_API int64_t wisp_map_local(const wisp_map *map, int64_t *first);
WISP_API int wisp_map_is_natural(const wisp_map *map); /* 1: rows lie in the natural order in memory; else 0 */

/* ---- matrix ---------------------------------------------------------------------------------- */

typedef struct wisp_mat wisp_mat;
typedef struct wisp_blk wisp_blk; /* rows x width, row-major, on a map; or a view of one */

/* The order of rows in memory: natural; reverse Cuthill-McKee; or tiles, whose block rows stay in cache until they are
   gathered again. Each rank orders its own rows. DEFAULT: the order that a model of the caches finds best, for this
   machine and number of threads. Orders differ in the last bits of results; for the same bits with another number of
   threads, name NATURAL or RCM, or share a map. */
typedef enum { WISP_ROWS_DEFAULT, WISP_ROWS_NATURAL, WISP_ROWS_RCM, WISP_ROWS_TILES } wisp_row_order;
/* How entries are stored.
   SELL: SELL-C-sigma, each entry with its column and value.
   COMPRESSED: without loss, by whichever of these the matrix has: repeated rows once, lists of columns that rows share
   once, repeated values once, short column differences. WISP_ERR_UNSUPPORTED: it has none of them.
   HERMITIAN: one half of a Hermitian matrix, with C = 1; while it is made, the whole one is there, too.
   WISP_ERR_HERMITIAN: the matrix is not exactly Hermitian; WISP_ERR_UNSUPPORTED: there are several ranks.
   OPERATOR: not stored (wisp_mat_from_apply); it can't be asked for.
   DEFAULT: SELL, or COMPRESSED where that pays and neither C nor sigma is named. */
typedef enum {
    WISP_FORMAT_DEFAULT,
    WISP_FORMAT_SELL,
    WISP_FORMAT_COMPRESSED,
    WISP_FORMAT_HERMITIAN,
    WISP_FORMAT_OPERATOR
} wisp_format;

typedef struct {
    wisp_type type; /* of the stored values; DEFAULT: the source's */
    int width;      /* the usual block width, from which order and C are chosen; 0: 1 */
    int C;          /* chunk height, a power of two up to 128; 0: chosen. SELL-1-1 is CRS */
    int64_t sigma;  /* rows are sorted by length in windows of sigma, 1 or a multiple of C; 0: chosen */
    wisp_map *map;  /* put the rows on this map; NULL: a new one (in the order that order and sigma ask for) */
    wisp_row_order order;
    wisp_format format;
} wisp_mat_opts;

/* Assembles a matrix from a source in two parallel passes; the source may be closed afterwards. opts may be NULL. A
   square matrix has one map for rows and columns; a rectangular one has a natural map for its columns.
   WISP_ERR_MISMATCH: opts->map has another number of rows. WISP_ERR_UNSUPPORTED: complex values in a real matrix, or
   see wisp_format. WISP_ERR_NUMERIC: it is to be in single precision, and all numbers of a source in double precision
   are 0 or too small for that, or one is too large. */
WISP_SIZED wisp_status wisp_mat_create(wisp_mat **A, wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts);
/* Makes the map alone that wisp_mat_create would give the rows of this source with these options: for blocks and
   matrices that share it (opts.map). */
WISP_SIZED wisp_status wisp_map_create_ordered(wisp_map **map, wisp_ctx *ctx, const wisp_src *src,
                                               const wisp_mat_opts *opts);
/* wisp_src_open, wisp_mat_create and wisp_src_close in one. */
WISP_SIZED wisp_status wisp_mat_open(wisp_mat **A, wisp_ctx *ctx, const char *name, const wisp_mat_opts *opts);
/* A matrix that uses CRS arrays in place, as SELL-1-1 in natural order; they must outlive it. Columns are sorted and
   unique in each row (WISP_ERR_ARG). Row pointers of 32 bits and columns of 64 are copied. The values are always the
   user's: whatever is written there later counts. WISP_ERR_UNSUPPORTED: on several ranks, or on a device with memory of
   its own. */
WISP_SIZED wisp_status wisp_mat_borrow_crs(wisp_mat **A, wisp_ctx *ctx, const wisp_crs *crs);
/* New values on the same pattern. A matrix whose values are compressed is stored anew as DEFAULT would: it may become
   SELL. WISP_ERR_MISMATCH: the source has another size, kind or pattern (values are undefined then), or the matrix is
   borrowed; WISP_ERR_UNSUPPORTED: it is an operator; WISP_ERR_HERMITIAN: see wisp_format; WISP_ERR_NUMERIC:
   as for wisp_mat_create. */
WISP_SIZED wisp_status wisp_mat_update(wisp_mat *A, const wisp_src *src);
WISP_API void wisp_mat_free(wisp_mat *A);
/* Opens a matrix as a source: rows and columns in the natural order, values of the matrix's type. Rows are read where
   they are stored: the matrix must stay as it is until the source is closed. A half-stored one gets an index of the
   entries that it lacks, 12 bytes each. On several ranks each has its own rows (own_rows). WISP_ERR_UNSUPPORTED: it is
   an operator. */
WISP_SIZED wisp_status wisp_src_open_mat(wisp_src *src, const wisp_mat *A);

/* y = A x, all columns: writes all of y and reads nothing of what was there. Both are blocks on the operator's map, of
   one width and type, with or without gaps between their rows. Their type is any that a stored matrix of op.type takes.
   They may be given to ops and mapped (wisp_blk_map; x to be read alone), but not kept.
   The function is called from the calling thread of the op or solver, once for each product, on every rank. There x and
   y have the local rows; rows of other ranks are for the function to get, for example by products with a stored matrix.
   From this thread it may call ops on the same context, and share its work among the threads (wisp_ctx_each).
   Anything but WISP_OK is a failure: the op then ends with WISP_ERR_CALLBACK and the message that wisp_ctx_fail left;
   WISP_ERR_CANCELLED is passed on as it is. */
typedef wisp_status (*wisp_apply_fn)(void *arg, wisp_blk *y, const wisp_blk *x);

typedef struct {
    wisp_map *map;  /* of rows and columns: it is square. Kept alive by the matrix */
    wisp_type type; /* of the entries that it stands for */
    wisp_apply_fn apply;
    void *arg;                /* passed to apply() */
    void (*free_arg)(void *); /* called by wisp_mat_free; may be NULL. (Not if the matrix could not be made.) */
} wisp_operator;

/* A matrix that is nowhere stored: an operator, given by its product with a block. It stands where a matrix does in
   wisp_spmmv, wisp_mpk, wisp_kpm, wisp_bounds_find, wisp_evolve, wisp_solve. All terms beside A x are done by ops on
   blocks, one after the other (a block like y is held for AXPBY), so that a fused product of a stored matrix moves
   less. Steps are not interleaved. Solvers for Hermitian matrices take it on the user's word that it is one: nothing is
   checked, and if it is not, their results mean nothing. Calls that look at entries (wisp_mat_update,
   wisp_src_open_mat, wisp_mat_get_props, wisp_mat_row_histogram, wisp_mat_fill_in, wisp_mat_gather, Gershgorin's
   bounds) are WISP_ERR_UNSUPPORTED. */
WISP_SIZED wisp_status wisp_mat_from_apply(wisp_mat **A, wisp_ctx *ctx, const wisp_operator *op);

typedef struct {
    int64_t rows, cols, nnz; /* of all ranks (all else is of this rank). nnz: stored entries, duplicates merged; of */
                             /* an operator 0 */
    wisp_type type;
    int C;
    int64_t sigma;
    int64_t bytes; /* of the stored arrays */
    wisp_row_order order;
    wisp_format format;
    int64_t spill_bytes; /* half storage, operators: what wisp_spmmv holds beside it at most, per column of a block */
                         /* of its type */
    int64_t assembly_bytes; /* wisp_mat_plan, wisp_mat_bound: the most that is held while it is made; else 0 */
    int64_t work_blocks;    /* row blocks, each of which has dots of its own in a sweep */
    int64_t local_rows;
    int64_t halo_rows; /* of other ranks, which a block that is multiplied has behind its own */
    /* Before a product each rank gets its halo, and sends rows of its own that others need: a row counts once for each
       of these. A row of a block of `width` columns has width times the bytes of its type. */
    int64_t local_nnz; /* entries of the local rows; of wisp_mat_plan on several ranks exact, but for duplicates */
    int64_t send_rows;
    int64_t receive_ranks, send_ranks; /* how many ranks it gets rows from, and sends rows to */
    int64_t exchange_bytes;            /* of the lists by which this is done, beside `bytes` */
    int64_t packed_rows; /* rows of a block that are copied before they are sent, if it has no gaps between its rows */
} wisp_mat_info;
/* *info becomes the facts about A; all zero if A is NULL. */
WISP_SIZED void wisp_mat_get_info(const wisp_mat *A, wisp_mat_info *info);
WISP_API wisp_map *wisp_mat_map(const wisp_mat *A);     /* rows; borrowed, not to be freed */
WISP_API wisp_map *wisp_mat_col_map(const wisp_mat *A); /* columns; the same for a square matrix */
WISP_API wisp_ctx *wisp_mat_ctx(const wisp_mat *A);
/* Predict the matrix that wisp_mat_create would make of this source, and the bytes that it and its maps would take.
   plan: about, in the storage that is likely to be chosen, for which a million rows are read as when the matrix is
   made; the spill of half storage is that of lattices and bands. bound: at most, whatever is chosen, for which all rows
   are counted (nnz with duplicates, then). Statuses are those of wisp_mat_create. */
WISP_SIZED wisp_status wisp_mat_plan(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts,
                                     wisp_mat_info *info);
WISP_SIZED wisp_status wisp_mat_bound(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts,
                                      wisp_mat_info *info);
/* Find the width of blocks of this type in which so many steps of a recurrence of `vectors` columns in all take least
   time, by the model of docs/model.md; and that time. steps = 1: none are interleaved. wisp_src_choose does it for a
   source, with the width to be given to wisp_mat_create (opts.width > 0: that width is taken, and its time found);
   wisp_mat_choose for a matrix. Both must be square (WISP_ERR_ARG). For an operator block rows are 128 bytes long, or
   shorter if there are fewer vectors. All ranks get the choice of the slowest. */
typedef struct {
    int width;
    double seconds;    /* for each step of all columns; 0: not known */
    const char *limit; /* of the time: "memory", "cache" or "core"; "operator", whose time is not known */
} wisp_choice;
WISP_SIZED wisp_status wisp_src_choose(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts, wisp_type type,
                                       int64_t vectors, int64_t steps, wisp_choice *choice);
WISP_SIZED wisp_status wisp_mat_choose(const wisp_mat *A, wisp_type type, int64_t vectors, int64_t steps,
                                       wisp_choice *choice);

/* Find weights for the ranks, weights[ranks], for wisp_ctx_opts.weights: how ranks share rows is settled when a context
   is made, so that maps, sources and matrices on it fit together. So a source is opened once more on a context with
   these weights, and what was made on the first context is freed.
   wisp_src_weights shares the source's nonzeros (duplicates counted) instead of its rows, in the proportions of this
   context's weights: no rank has more than its part and one row. The weights are the numbers of rows that the ranks
   then have; each rank counts the rows that are its own now.
   wisp_mat_weights measures how many rows of this matrix each rank does in a second: all at the same time, each on its
   own rows, in products with blocks of this width and type (DEFAULT: the matrix's) without any exchange, for about 0.3
   seconds. The weights are percents of the fastest rank, without common factors. From the
   fastest rank on, those within 10% of the fastest one of their group have equal weights, so that the same machine
   gives the same layout (rates of 100, 92 and 90 are two groups: 92 goes with 100, 90 does not); ranks without rows
   have 0. Rates of a matrix whose rows are far from equal hold for the rows that a rank has now. It holds two blocks
   meanwhile. WISP_ERR_UNSUPPORTED: it is an operator, or blocks of that type do not go with it. */
WISP_SIZED wisp_status wisp_src_weights(wisp_ctx *ctx, const wisp_src *src, int64_t *weights);
WISP_API wisp_status wisp_mat_weights(const wisp_mat *A, wisp_type type, int width, int64_t *weights);

/* Traffic of x in a sweep (wisp_spmmv with AXPBY and dots with x) over a block of this type and width, by a model of
   the caches that follows the entries in their order; with C and sigma as they are, and for the rows of this rank. */
typedef struct {
    double excess;  /* block rows of x from memory, over x once (the KPM paper's Omega, of x alone) */
    double from_l3; /* bytes of x from the last cache, beside those that come from memory */
} wisp_gather;
WISP_SIZED wisp_status wisp_mat_gather(const wisp_mat *A, wisp_type type, int width, wisp_gather *gather);

/* Exact properties, found by looking at every entry of all ranks. */
typedef struct {
    int square, pattern_symmetric, symmetric, hermitian; /* 1 or 0 */
    int nearly_hermitian; /* asymmetry is at most 1e-10 (single precision: 1e-6) of the largest |a_ij| */
    int skew;
    int64_t bad_row, bad_col;     /* the first entry (in row order) that is not Hermitian; -1 if none */
    double asymmetry;             /* largest |a_ij - conj a_ji|; 0 if Hermitian */
    int64_t bandwidth;            /* largest |row - column| */
    int64_t empty_rows, diagonal; /* rows without entries; entries on the diagonal */
    int64_t min_row, max_row;     /* shortest and longest row */
    double row_mean, row_sdev;
    double gershgorin_min, gershgorin_max; /* the real parts of all eigenvalues lie in here */
    int64_t nonfinite_row;                 /* first row with a NaN or infinity; -1 if none */
    double largest;                        /* |a_ij| */
} wisp_mat_props;
WISP_SIZED wisp_status wisp_mat_get_props(const wisp_mat *A, wisp_mat_props *props);
/* hist[i], i < bins: the number of rows with i entries, of all ranks; the last bin holds all longer rows too. */
WISP_API wisp_status wisp_mat_row_histogram(const wisp_mat *A, int64_t *hist, int bins);
/* *ratio becomes the number of stored entries with padding over nonzeros, had the matrix this C and sigma; 1 is no
   padding. Of all ranks. */
WISP_API wisp_status wisp_mat_fill_in(const wisp_mat *A, int C, int64_t sigma, double *ratio);

/* ---- block vectors --------------------------------------------------------------------------- */

typedef enum { WISP_ROW_MAJOR, WISP_COL_MAJOR } wisp_order;
typedef enum {
    WISP_RANDOM_TRACE, /* +1, -1 (real) or 1, i, -1, -i (complex): Philox bits */
    WISP_RANDOM_GAUSS  /* standard normal; complex: each part with variance 1/2 */
} wisp_random;
/* Writes the value at (row, column) of the block's type to val; anything but 0 is a failure. */
typedef int (*wisp_fill_fn)(void *arg, int64_t row, int column, void *val);

/* A new block of zeros, of the local rows. */
WISP_API wisp_status wisp_blk_create(wisp_blk **x, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width);
/* A block in user memory, which must outlive it: element (i, j) of the local rows is data[i * stride + j], with stride
   >= width. Natural maps only (WISP_ERR_MISMATCH). On several ranks it can't be the x of a matrix that has a halo: then
   wisp_spmmv is WISP_ERR_UNSUPPORTED, or this call WISP_ERR_MISMATCH if the matrix is there already. It is
   WISP_ERR_UNSUPPORTED on a device with memory of its own. */
WISP_API wisp_status wisp_blk_borrow(wisp_blk **x, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width, void *data,
                                     int64_t stride);
/* Views of x: of its columns first .. first+width-1; of its local rows first .. first+count-1, counted from 0 (natural
   maps only, else WISP_ERR_MISMATCH). A view keeps the memory of x alive, and is freed by wisp_blk_free. */
WISP_API wisp_status wisp_blk_cols(wisp_blk **view, wisp_blk *x, int first, int width);
WISP_API wisp_status wisp_blk_rows(wisp_blk **view, wisp_blk *x, int64_t first, int64_t count);
/* A view of the columns column[count] of x, in this order, each at most once (WISP_ERR_ARG). Columns j, j+1,
   j+2, ... give the same view as wisp_blk_cols. Any other choice gives a scattered view: it can be filled, copied to
   and from user arrays, and viewed; ops on blocks (wisp_copy to wisp_norm_kahan) take it, too. wisp_copy goes over each
   block once, the other ops once for each run of neighbours. All else (wisp_blk_map, products, wisp_fuse) is
   WISP_ERR_UNSUPPORTED: copy such a view into a block of its own, and back. Views of one block without a column in
   common do not overlap. */
WISP_API wisp_status wisp_blk_pick(wisp_blk **view, wisp_blk *x, int count, const int *column);
WISP_API void wisp_blk_free(wisp_blk *x);

WISP_API int wisp_blk_width(const wisp_blk *x);
WISP_API int64_t wisp_blk_nrows(const wisp_blk *x); /* local rows, or those of the view */
WISP_API wisp_type wisp_blk_type(const wisp_blk *x);
WISP_API wisp_map *wisp_blk_map_of(const wisp_blk *x); /* borrowed, not to be freed */
WISP_API wisp_ctx *wisp_blk_ctx(const wisp_blk *x);

/* Every element becomes `value` (whose imaginary part a real block leaves out). */
WISP_API wisp_status wisp_blk_fill(wisp_blk *x, wisp_scalar value);
/* Every element becomes the value of fn(arg, row, column, ..), where row is the number among the rows of all ranks. fn
   is called from many threads at once. WISP_ERR_CALLBACK: it failed; the message names the first such row. */
WISP_API wisp_status wisp_blk_fill_fn(wisp_blk *x, wisp_fill_fn fn, void *arg);
/* Column j gets the values of random column `first + j` of (seed, stream): the same numbers in any layout and on any
   number of ranks. Philox4x32-10 (Salmon et al. 2011), counter (row, column, stream), key seed. */
WISP_API wisp_status wisp_blk_fill_random(wisp_blk *x, wisp_random kind, uint64_t seed, uint32_t stream,
                                          uint32_t first);
/* Column j becomes the unit vector of row[j], a number among the rows of all ranks; it is zero on ranks that have other
   rows. */
WISP_API wisp_status wisp_blk_fill_units(wisp_blk *x, const int64_t *row);
/* Copies all elements from and to a user array of the block's type, with the local rows (or those of the view) in the
   natural order. ld is the distance between rows (row-major) or columns (column-major) in elements. */
WISP_API wisp_status wisp_blk_put(wisp_blk *x, wisp_order order, const void *data, int64_t ld);
WISP_API wisp_status wisp_blk_get(const wisp_blk *x, wisp_order order, void *data, int64_t ld);
/* The block's memory on the host, until unmap: element (i, j) is at (*data)[i * *stride + j], with the local rows in
   wisp's own order. stride may be NULL. Who was given x as const only reads. */
WISP_API wisp_status wisp_blk_map(const wisp_blk *x, void **data, int64_t *stride);
WISP_API wisp_status wisp_blk_unmap(const wisp_blk *x);

/* ---- ops on blocks --------------------------------------------------------------------------------

   Blocks of one op have the same map, rows, type and width (WISP_ERR_MISMATCH). They are the same memory or do not
   overlap (WISP_ERR_ARG). A factor with an imaginary part needs complex blocks (WISP_ERR_ARG). wisp_copy alone also
   goes from single to double precision and back: numbers are widened, or rounded (beyond the range to infinity). */

WISP_API wisp_status wisp_copy(wisp_blk *y, const wisp_blk *x);
/* y += alpha x;  y = alpha x + beta y (beta = 0 never reads y);  x = alpha x */
WISP_API wisp_status wisp_axpy(wisp_blk *y, wisp_scalar alpha, const wisp_blk *x);
WISP_API wisp_status wisp_axpby(wisp_blk *y, wisp_scalar alpha, const wisp_blk *x, wisp_scalar beta);
WISP_API wisp_status wisp_scal(wisp_blk *x, wisp_scalar alpha);
/* The same with one scalar per column, [width]. */
WISP_API wisp_status wisp_vaxpy(wisp_blk *y, const wisp_scalar *alpha, const wisp_blk *x);
WISP_API wisp_status wisp_vaxpby(wisp_blk *y, const wisp_scalar *alpha, const wisp_blk *x, const wisp_scalar *beta);
WISP_API wisp_status wisp_vscal(wisp_blk *x, const wisp_scalar *alpha);
/* dot[j] = <x_j, y_j> = sum of conj(x) y over the rows of all ranks;  norm[j] = ||x_j||_2. The same bits for any number
   of threads. x and y may overlap. A norm is right for numbers of any size, though their squares may be none of the
   type. */
WISP_API wisp_status wisp_dot(const wisp_blk *x, const wisp_blk *y, wisp_scalar *dot);
WISP_API wisp_status wisp_norm(const wisp_blk *x, double *norm);
/* The same with compensated sums: plain FMA sums over at most 128 rows each, and sums (in double) of these with their
   rounding errors over all rows, threads and ranks. The error of a dot is at most (128 u + 2^-52) sum |x_i| |y_i|,
   where u is the rounding unit of the type, plus 2^-53 of the result; where the plain sums are exact, it is right to
   the last bit but one. (For complex blocks: of each part of the dot, |x_i| |y_i| with both parts of x and y.) The
   relative error of a norm is at most 64 u + 2^-52. */
WISP_API wisp_status wisp_dot_kahan(const wisp_blk *x, const wisp_blk *y, wisp_scalar *dot);
WISP_API wisp_status wisp_norm_kahan(const wisp_blk *x, double *norm);

/* ---- products of tall and skinny blocks ------------------------------------------------------- */

enum { WISP_KAHAN = 256 }; /* compensated sums */

/* X = alpha V^H W + beta X, summed over the rows of all ranks. X[i * ldx + j] belongs to column i of V and column j of
   W, ldx >= width of W. V and W are on one map and of one type (WISP_ERR_MISMATCH), of any widths; they may be the
   same. beta = 0 never reads X. The same bits for any number of threads. flags: 0, or WISP_KAHAN for compensated sums
   (in double) of plain FMA sums over strips of at most 128 rows. With it the error of an element of V^H W is at most
   (128 u + 2^-52) sum |v_i| |w_i|, where u is the rounding unit of the type, plus 2^-53 of the result; where the plain
   sums are exact, it is right to the last bit but one. (For a complex element take both parts of v and w.)
   Where W is V, or the same view, half of the sums are computed, and alpha V^H V is Hermitian bit by bit for real
   alpha. */
WISP_API wisp_status wisp_tsm_gram(wisp_scalar *X, int64_t ldx, wisp_scalar alpha, const wisp_blk *V, const wisp_blk *W,
                                   wisp_scalar beta, unsigned flags);
/* W = alpha V X + beta W; X[i * ldx + j] as above, rounded with alpha to the blocks' type. beta = 0 never reads W.
   In place if W and V are the same memory (W may be a view of V's first columns); they must not overlap otherwise.
   The same bits for any number of threads. Where X is upper triangular, half of the work is left out. */
WISP_API wisp_status wisp_tsm_update(wisp_blk *W, wisp_scalar alpha, const wisp_blk *V, const wisp_scalar *X,
                                     int64_t ldx, wisp_scalar beta);

/* ---- the fused op ---------------------------------------------------------------------------- */

enum {
    WISP_SCALE = 1,      /* alpha is used, else 1 */
    WISP_SHIFT = 2,      /* shift is used, else 0 */
    WISP_AXPBY = 4,      /* beta is used, else 0 */
    WISP_CHAIN = 8,      /* z, delta, eta are used */
    WISP_DOT_XX = 16,    /* dot[0 * width + j] = <x_j, x_j> */
    WISP_DOT_XY = 32,    /* dot[1 * width + j] = <x_j, y_j>, y the new one */
    WISP_DOT_YY = 64,    /* dot[2 * width + j] = <y_j, y_j> */
    WISP_NOREDUCE = 128, /* leave the dots local to this rank */
    WISP_ADD = 512,      /* u and add are used */
    WISP_DOT_UY = 1024,  /* dot[3 * width + j] = <u_j, y_j>; u is used */
    WISP_DOTS = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY | WISP_DOT_UY
};

typedef struct {    /* y = alpha (A - shift_j I) x + beta y + add_j u;  z = delta z + eta y;  dots */
    unsigned terms; /* 0: y = A x */
    wisp_scalar alpha, beta, delta, eta;
    const wisp_scalar *shift; /* [width], one per column */
    wisp_blk *z;
    wisp_scalar *dot;  /* [3][width], with DOT_UY [4][width]; rows of terms that are not asked for are left alone */
    const wisp_blk *u; /* a block on the row map, like y; it may be x */
    const wisp_scalar *add; /* [width], one per column */
} wisp_aug;

/* The augmented sparse matrix times block vector product (KPM paper, fig. 5; GHOST paper, sec. 5.3; ADD: Clenshaw's
   recurrence). x is on A's column map, y, z and u on its row map, all of one width and of one type: that of the matrix;
   a real matrix also takes complex blocks, a single-precision one also double blocks (else WISP_ERR_UNSUPPORTED). y, z
   and x must not overlap, nor y and z with u; real blocks take no complex factors (WISP_ERR_ARG). beta = 0 never reads
   y, delta = 0 never reads z. SHIFT and the dots with x need a square matrix (WISP_ERR_MISMATCH). Dots are summed over
   the ranks, but for NOREDUCE, and have the same bits for any number of threads. aug may be NULL: y = A x.
   WISP_ERR_CALLBACK: an operator's function failed. */
WISP_SIZED wisp_status wisp_spmmv(wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug);

/* v[k+1] = alpha_k (A - gamma_k I) v[k] + beta_k v[k-1] + add_kj u, k < steps;  z_i += eta_ik v[k+1];  dots */
typedef struct {
    int steps;
    const wisp_scalar *alpha, *beta, *gamma; /* [steps]; NULL: 1, 0, 0 */
    unsigned terms;                          /* of WISP_DOTS (x = v[k], y = v[k+1]) and WISP_NOREDUCE */
    wisp_scalar *dot; /* [steps][3][width], with DOT_UY [steps][4][width]; dot[k] as in wisp_aug */
    int sums;
    wisp_blk *const *z;     /* [sums] */
    const wisp_scalar *eta; /* [sums][steps]; where eta is 0, z is not touched */
    int depth;            /* steps that are interleaved, so that rows are met again in cache; 0: chosen by a model of */
                          /* time (wisp_ctx_set_machine); 1: one sweep after the other. The same results, bit by bit */
    int64_t cache_budget; /* bytes of the last cache that the steps may count on; 0: those of the context, see */
                          /* wisp_ctx_set_cache */
    int *interleaved;     /* becomes the depth of the first steps; those left over at the end may have a smaller one. */
                          /* 1 where steps can't be interleaved (several ranks, operators, ..). May be NULL */
    const wisp_blk *u;    /* apart from the blocks of v and z; for add, and for DOT_UY */
    const wisp_scalar *add; /* [steps][width]; NULL: nothing is added */
} wisp_mpk_opts;

/* Steps of a three-term recurrence with a square matrix: matrix powers, Chebyshev and Newton bases are settings of the
   coefficients (level-based blocking: Alappat et al. 2022; the fused step: KPM paper, fig. 5). v_-1 and v_0 are given;
   v_i is stored in v[(i + 1) % stored], stored >= 2. With 2 blocks v[k+1] takes the place of v[k-1] (Chebyshev); with
   steps + 2 all are kept. beta_k = 0 never reads v[k-1]: so with beta_0 = 0 v_-1 is not read, and v[0] may be NULL if
   all are kept. A call is continued by another one that is given the last two blocks. Each step is one of wisp_spmmv,
   bit by bit, with SCALE where there is alpha and SHIFT where there is gamma; types, maps and statuses are as there. No
   two blocks of v and z may overlap. Dots are summed over the ranks once, at the end. */
WISP_SIZED wisp_status wisp_mpk(wisp_blk *const *v, int stored, const wisp_mat *A, const wisp_mpk_opts *opts);
/* Bytes that wisp_mpk with dots holds beside matrix and blocks; depth as in wisp_mpk_opts. plan: about, for so many
   local rows of a matrix that was made for this width. bound: at most, for calls of so many steps with a matrix of
   which A (from wisp_mat_bound or wisp_mat_get_info) is known. */
WISP_API int64_t wisp_mpk_plan(int64_t rows, wisp_type type, int width, int depth);
WISP_SIZED int64_t wisp_mpk_bound(const wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width, int depth,
                                  int64_t steps);

typedef struct {
    double bytes; /* least traffic: each array once in each direction it is needed, no write-allocate */
    double flops; /* as table I of the KPM paper counts them */
} wisp_cost;
/* *cost becomes the cost of wisp_spmmv with these terms on this rank, for blocks of this type and width (WISP_ERR_ARG:
   they do not go with A). Bytes are those of the matrix as it is stored (without padding and row lengths), of x and u
   once, and of y and z once for each direction. For an operator they are those of the function's x and y once, and of
   the terms, op by op; its own arithmetic, and anything else that it reads, are not known and not counted. */
WISP_SIZED wisp_status wisp_spmmv_cost(const wisp_mat *A, wisp_type type, int width, unsigned terms, wisp_cost *cost);

/* ---- updates and dots in one pass ---------------------------------------------------------------- */

/* c_j x_j for each column j; with `rows`, row i of x is also multiplied by row i of `rows`. */
typedef struct {
    const wisp_blk *x;
    const wisp_scalar *factor; /* [width] c; NULL: 1 */
    const wisp_blk *rows;      /* a block of width 1 of the same map and type (a diagonal matrix); NULL: 1 */
} wisp_term;
typedef struct { /* y = the sum of the terms, in their order */
    wisp_blk *y;
    int terms;             /* 1 or more */
    const wisp_term *term; /* [terms]; their x may be y */
} wisp_update;
typedef struct { /* dot[j] = <x_j, y_j> = sum of conj(x) y; with `rows`: <x_j, rows y_j> */
    const wisp_blk *x, *y;
    const wisp_blk *rows; /* as in wisp_term */
    wisp_scalar *dot;     /* [width] */
} wisp_inner;
/* One pass over a set of blocks that carries out a list of updates, row by row in the order of the list (an update
   sees the results of those before it in the list), and then a list of dots of the results: the vector work of an
   iteration of a Krylov method (Rupp et al. 2016, SIAM J. Sci. Comput. 38, C412). Each block comes from memory once,
   and goes there once. All blocks have one map, rows, type and width (WISP_ERR_MISMATCH); they are the same memory or
   do not overlap, and a block of `rows` overlaps none that is written (WISP_ERR_ARG). Real blocks take no complex
   factors (WISP_ERR_ARG). A term whose factors are all 0 is left out: its x is not read. Dots are summed over the
   ranks; with WISP_NOREDUCE in flags they stay local to this rank, for wisp_ctx_sum. They have the same bits for any
   number of threads. Either list may be empty. All ranks make this call together. */
WISP_API wisp_status wisp_fuse(const wisp_update *update, int updates, const wisp_inner *inner, int inners,
                               unsigned flags);
/* Bytes that calls of wisp_fuse hold beside blocks, at most, for so many local rows, terms of all updates, and dots. */
WISP_API int64_t wisp_fuse_bound(const wisp_ctx *ctx, int64_t rows, wisp_type type, int width, int terms, int dots);
/* *cost becomes the cost of wisp_fuse on this rank: each block once in each direction that it is needed. */
WISP_SIZED wisp_status wisp_fuse_cost(const wisp_update *update, int updates, const wisp_inner *inner, int inners,
                                      wisp_cost *cost);

/* What ops on a context have done so far: passes over block vectors (a product of one step, an op on blocks, a pass of
   wisp_fuse; a call of wisp_mpk counts its steps), products with a matrix among them, and reductions (sums over the
   ranks, of any number of dots at once; also counted where there is one rank). And what this rank has sent to others
   for products: messages, and bytes in them. */
typedef struct {
    int64_t passes, products, reductions;
    int64_t messages, sent_bytes;
} wisp_counts;
WISP_SIZED void wisp_ctx_counts(const wisp_ctx *ctx, wisp_counts *counts);

/* ---- the machine and what it allows ------------------------------------------------------------ */

typedef enum { WISP_L1, WISP_L2, WISP_L3, WISP_MEMORY, WISP_LEVELS } wisp_level;
WISP_API const char *wisp_level_name(int level); /* "L1", ..., "memory"; NULL: there is no such level */
/* load: sum of b; copy: a = b; triad: a = b + s c; update: a = s a. PAST: with stores past the caches. */
typedef enum {
    WISP_LOAD,
    WISP_COPY,
    WISP_COPY_PAST,
    WISP_TRIAD,
    WISP_TRIAD_PAST,
    WISP_UPDATE,
    WISP_STREAMS
} wisp_stream;
/* Figures for wisp_machine_measure to find. MEMORY, CACHES: gbs of these levels; LOADS: gbs of WISP_LOAD alone, of all
   levels; FMA: fma_gflops; KEPT: kept_bytes; EXCHANGE: exchange_gbs. */
enum {
    WISP_MEASURE_MEMORY = 1,
    WISP_MEASURE_CACHES = 2,
    WISP_MEASURE_FMA = 4,
    WISP_MEASURE_LOADS = 8,
    WISP_MEASURE_KEPT = 16,
    WISP_MEASURE_EXCHANGE = 32
};

typedef struct {
    char cpu[128];                            /* the processor's name */
    int packages, nodes, cores, cpus;         /* sockets, memory nodes, cores, hardware threads */
    int64_t memory_bytes;                     /* installed */
    int64_t cache_bytes[WISP_MEMORY];         /* of one cache of this level; 0: there is none, or it is not known */
    int cache_cores[WISP_MEMORY];             /* cores that share it */
    int threads;                              /* of the context */
    char isa[16];                             /* of its kernels */
    double gbs[WISP_STREAMS][WISP_LEVELS][2]; /* GB/s with one thread and with all; 0: not measured. Bytes that the */
                                              /* loop names, without write-allocate */
    double fma_gflops[2][2];                  /* single, double; one thread, all */
    int64_t kept_bytes;  /* of the last cache: the largest set that all threads together load again and again at */
                         /* 3/4 or more of the rate of small ones; 0: not measured, or there is no such cache */
    double exchange_gbs; /* at which all threads load data that another one has just written, from its caches; 0: */
                         /* not measured, or one thread */
} wisp_machine;
/* Finds the topology, and measures the ceilings that `what` (WISP_MEASURE_...) asks for: a second or two for all. The
   context takes over the figures, as by wisp_ctx_set_machine. */
WISP_SIZED wisp_status wisp_machine_measure(wisp_ctx *ctx, wisp_machine *machine, unsigned what);
/* Gives a context the figures that wisp_machine_measure found in an earlier run: how fast all threads load from memory
   and from the caches, and from each other's, and how much of the last cache they keep (as wisp_ctx_set_cache). The
   library chooses by them, for example how many steps are interleaved. A figure of 0 is ignored; so is the whole struct
   if it was measured with other kernels, or with another number of threads (machine->threads = 0 fits any). Without
   figures the library assumes those of a common machine. */
WISP_SIZED void wisp_ctx_set_machine(wisp_ctx *ctx, const wisp_machine *machine);
/* *gbs becomes the load bandwidth of memory at this moment with all threads, measured in 10 to 20 ms. The first call
   takes a buffer of 256 MB or more, which stays with the context. */
WISP_API wisp_status wisp_load_bandwidth(wisp_ctx *ctx, double *gbs);
/* The model of time: the refined roofline of the KPM paper, section V. memory: seconds for so many bytes that are read
   from memory and written to it at a load bandwidth of load_gbs > 0; past: whether they are written past the caches, or
   to lines that were read. overlap: seconds of a step whose traffic and arithmetic take so long one by one, and overlap
   in part; ahead: whether kernels ask ahead for what they stream, so that nearly all of it overlaps. */
WISP_API double wisp_model_memory(double read, double written, int past, double load_gbs);
WISP_API double wisp_model_overlap(double traffic, double core, int ahead);
/* cpu[threads]: the processor that each thread runs on; negative if it may also run elsewhere: -1 - cpu. */
WISP_API wisp_status wisp_ctx_placement(wisp_ctx *ctx, int *cpu);

#ifdef __cplusplus
}
#endif

#include "state.h"
#include "solvers.h"
#include "solve.h"
#include "eig.h"
#include "sized.h"

#endif
