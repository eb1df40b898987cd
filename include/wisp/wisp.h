/* wisp: very large sparse spectral problems at the hardware's limit.
 *
 * Every function returns a wisp_status, never aborts and never prints; the context keeps the message of
 * the last failure (wisp_ctx_message). A zeroed options struct always means the defaults. Free functions
 * accept NULL; so do queries, which answer 0 or NULL. Elsewhere NULL is WISP_ERR_ARG unless the comment allows it;
 * negative sizes and limits are WISP_ERR_ARG too. Rows and columns are counted from 0 in the user's (natural) order
 * everywhere; how wisp orders and stores them is invisible. "width" is the number of columns of a block vector, "C" the
 * chunk height of SELL-C-sigma. Complex numbers are (re, im) pairs, binary compatible with C99 and C++.
 *
 * Threads: calls on different contexts never meet. Several threads may use one context: calls that compute (ops on
 * blocks, products, solvers, measuring) take turns, so that the second one waits; wisp_ctx_message is that of whichever
 * failed last. Objects may be read by several threads at once. Who writes to an object, changes or frees it must be
 * alone with it: a block that is written, filled or mapped, a matrix under wisp_mat_update, a source that is closed.
 * A call pins the calling thread at most until it returns, and gives it back its own mask, also for callbacks: progress
 * and log. But row functions and that of wisp_ctx_each run on pinned threads; a thread that one of them starts inherits
 * that core, and has to set a mask of its own.
 *
 * Fork: the child may use and free what its parent made. Threads are started anew there, and are not pinned. If another
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

#define WISP_STATUS_LIST(X)                               \
    X(OK, "success")                                      \
    X(ERR_ARG, "invalid argument")                        \
    X(ERR_NOMEM, "out of memory")                         \
    X(ERR_OVERFLOW, "index too large")                    \
    X(ERR_IO, "input or output failed")                   \
    X(ERR_FORMAT, "malformed input")                      \
    X(ERR_UNSUPPORTED, "not supported")                   \
    X(ERR_MISMATCH, "objects do not fit together")        \
    X(ERR_CALLBACK, "a callback reported failure")        \
    X(ERR_CANCELLED, "cancelled")                         \
    X(ERR_HERMITIAN, "the matrix is not Hermitian")       \
    X(ERR_BOUNDS, "the spectrum leaves the given bounds") \
    X(ERR_NUMERIC, "a value is not finite")               \
    X(ERR_PRECISION, "single precision is not enough")

typedef enum {
#define WISP_STATUS_ENUM(name, text) WISP_##name,
    WISP_STATUS_LIST(WISP_STATUS_ENUM)
#undef WISP_STATUS_ENUM
} wisp_status;

/* What a status means, in words; never NULL. */
WISP_API const char *wisp_status_string(wisp_status status);
/* The library's version, "major.minor.patch". */
WISP_API const char *wisp_version(void);
/* The optional parts of this build, such as "hdf5 hwloc". */
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

/* PERF tells of a slower path than there could be, once each. */
typedef enum { WISP_LOG_DEFAULT, WISP_LOG_WARN, WISP_LOG_PERF, WISP_LOG_INFO, WISP_LOG_DEBUG } wisp_log_level;
typedef void (*wisp_log_fn)(void *arg, wisp_log_level level, const char *message);

/* How far a long call is. A progress function is called from the calling thread, at least once per
   sweep over the matrix (with powers: per call of wisp_mpk); a non-zero return cancels the call (WISP_ERR_CANCELLED).
 */
typedef struct {
    const char *task; /* "reading", "assembling", "bounds", "moments", ... */
    double done;      /* in [0, 1] */
    double flops;     /* floating-point operations done in this task so far; 0 where not counted */
} wisp_progress;
typedef int (*wisp_progress_fn)(void *arg, const wisp_progress *progress);

typedef struct {
    int threads; /* up to 4096; 0: OMP_NUM_THREADS, else SLURM_CPUS_PER_TASK, else the cores we may use */
    int no_pin;  /* 1: leave thread placement alone (also with OMP_PROC_BIND=false). Else each thread has a core that */
                 /* no other context of the process has, if enough are left; the calling one only while it computes */
    const char *device;   /* NULL: $WISP_DEVICE, else "cpu". "far", for tests: the CPU with memory of its own */
    const char *isa;      /* NULL: $WISP_ISA, else the best of this CPU; "generic", "avx2", "avx512", "neon" */
    wisp_log_fn log;      /* NULL: silent */
    void *log_arg;        /* passed to log */
    wisp_log_level level; /* messages up to this level; DEFAULT: WARN */
    wisp_progress_fn progress;
    void *progress_arg;
    int64_t index_limit;  /* largest local row or column index; 0: $WISP_INDEX_LIMIT, else 2^31 - 1 */
    int64_t memory_limit; /* bytes that wisp may hold at once; 0: no limit */
} wisp_ctx_opts;

/* Makes a context. On failure *ctx is NULL, and wisp_ctx_message(NULL) says why. opts may be NULL. */
WISP_SIZED wisp_status wisp_ctx_create(wisp_ctx **ctx, const wisp_ctx_opts *opts);
/* Objects that were made on it may still be freed afterwards, in any order; nothing else may be done with them. */
WISP_API void wisp_ctx_free(wisp_ctx *ctx);
/* One line on the last failure in this context: what, where, what to do; "" if there was none. NULL: on the
   last failure of this thread in a call without a context, such as wisp_ctx_create. */
WISP_API const char *wisp_ctx_message(const wisp_ctx *ctx);
WISP_API int wisp_ctx_threads(const wisp_ctx *ctx);
/* Calls fn(arg, i, part) for each i from 0 to n - 1, from all threads at once, in any order. `part` is below the number
   of threads, and no two calls at a time have the same: for memory that each needs of its own. (A wisp_ctx_each inside
   or beside another one calls with part 0 alone.) */
typedef void (*wisp_each_fn)(void *arg, int64_t i, int part);
WISP_API wisp_status wisp_ctx_each(wisp_ctx *ctx, int64_t n, wisp_each_fn fn, void *arg);
WISP_API const char *wisp_ctx_device(const wisp_ctx *ctx);
WISP_API const char *wisp_ctx_isa(const wisp_ctx *ctx);
/* Bytes of the last cache that all threads together really keep, as wisp_machine_measure found in an earlier run (what
   it finds now it sets by itself). 0: not known, 0.6 of the cache is assumed. */
WISP_API void wisp_ctx_set_cache(wisp_ctx *ctx, int64_t kept_bytes);
/* What is counted on. *measured, which may be NULL: whether it was set. */
WISP_API int64_t wisp_ctx_cache(wisp_ctx *ctx, int *measured);
/* Bytes held now, and the most that were held at once. */
WISP_API void wisp_ctx_memory(const wisp_ctx *ctx, int64_t *now, int64_t *peak);
/* Stops what takes long (reading, assembling, random numbers, spmmv and the solvers; now and from now on) with
   WISP_ERR_CANCELLED within a fraction of a sweep. May be called from a signal handler or another thread. resume clears
   it; a call that stopped early tells so even then. */
WISP_API void wisp_ctx_cancel(wisp_ctx *ctx);
WISP_API void wisp_ctx_resume(wisp_ctx *ctx);

/* ---- ranks: processes that share the work ------------------------------------------------------

   Each rank has some of the rows of every map, and makes the same calls in the same order. Calls that need the others
   (a matrix is made, looked at or multiplied; dots, norms and grams; solvers; files) end with the same status on all
   ranks: if one fails, so do the others, with its message. Today ranks are threads of one process, for tests. */

/* How many there are, and which this context belongs to, from 0. One rank: 1 and 0. */
WISP_API int wisp_ctx_processes(const wisp_ctx *ctx);
WISP_API int wisp_ctx_rank(const wisp_ctx *ctx);
/* x[n] becomes its sum over the ranks (the dots of WISP_NOREDUCE, at the end), the same bits on all of them. */
WISP_API wisp_status wisp_ctx_sum(wisp_ctx *ctx, double *x, size_t n);
/* For those who write solvers: what lies between them is one call that all ranks make together, also where it does
   something on one rank alone. leave returns the status of the lowest rank that failed. Each enter needs one leave;
   pairs may be nested. */
WISP_API void wisp_ctx_enter(wisp_ctx *ctx);
WISP_API wisp_status wisp_ctx_leave(wisp_ctx *ctx, wisp_status status);
/* Runs fn(arg, rank) on so many threads at once, up to 1024, each of which stands for a rank: the contexts that it
   makes share the work with those of the others. Returns when all have; *result, which may be NULL, is that of the
   lowest rank for which fn was not 0. The environment's WISP_WEIGHTS=2,0,1 shares rows so among three ranks. */
typedef int (*wisp_rank_fn)(void *arg, int rank);
WISP_API wisp_status wisp_ranks_run(int ranks, wisp_rank_fn fn, void *arg, int *result);

/* For those who write solvers on the ops. fail keeps the message and returns status; step reports
   progress and returns WISP_ERR_CANCELLED if the user wants to stop; alloc gives 64-byte aligned memory
   (large arrays on huge pages, counted against the memory limit), all zero. */
WISP_API wisp_status wisp_ctx_fail(wisp_ctx *ctx, wisp_status status, const char *format, ...) WISP_PRINTF(3, 4);
WISP_API void wisp_ctx_log(wisp_ctx *ctx, wisp_log_level level, const char *format, ...) WISP_PRINTF(3, 4);
WISP_API wisp_status wisp_ctx_step(wisp_ctx *ctx, const char *task, double done, double flops);
WISP_API wisp_status wisp_alloc(wisp_ctx *ctx, void *pointer_to_pointer, size_t count, size_t size);
/* Frees what wisp_alloc gave. ctx is not looked at, and may be NULL: memory knows its own context. */
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

/* Writes the entries of one row: columns to col, values of the source's type to val, and returns their
   number; negative aborts (WISP_ERR_CALLBACK). With col = NULL (val too) it only counts. Columns come in any
   order, duplicates are added. It is called from many threads at once, at least twice a row, with the
   same answer each time (another number is WISP_ERR_CALLBACK), and must return at most the declared maximum. */
typedef int (*wisp_row_fn)(void *arg, int64_t row, int64_t *col, void *val);

typedef struct {
    int64_t rows, cols;
    int64_t max_row; /* the most entries that row() returns */
    wisp_type type;  /* of the values that row() writes */
    wisp_row_fn row;
    void *arg;                /* passed to row() */
    void (*free_arg)(void *); /* called by wisp_src_close; may be NULL */
} wisp_src;

/* Opens NAME: a gallery spec ("topi:nx=10,ny=10,nz=4") or a file (.mtx, .mtx.gz, .crs), read into memory. */
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
/* The arrays as a source; they are read in place and must stay until the source is closed. Columns in any order. */
WISP_SIZED wisp_status wisp_src_open_crs(wisp_src *src, wisp_ctx *ctx, const wisp_crs *crs);
/* (A + A^H)/2 of a square source, which may be closed afterwards, held in memory: for a matrix that is Hermitian up to
   rounding, and exactly Hermitian. *change, which may be NULL: by how much entries change at most, over the largest
   |a_ij|; above 1e-10 (single precision: 1e-6) the log has a warning. */
WISP_SIZED wisp_status wisp_src_hermitian_part(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, double *change);
WISP_SIZED void wisp_src_close(wisp_src *src);

typedef enum { WISP_SYM_GENERAL, WISP_SYM_SYMMETRIC, WISP_SYM_HERMITIAN, WISP_SYM_SKEW } wisp_symmetry;
typedef struct {
    wisp_symmetry symmetry; /* .mtx: store one half only; the matrix must have this symmetry exactly */
    int array;              /* .mtx: dense "array" format instead of "coordinate" */
    int pattern;            /* .mtx: "pattern" field, without values */
    const char *comment;    /* .mtx: written as a comment line; may be NULL */
} wisp_write_opts;
/* Writes a source to path (.mtx, .mtx.gz or .crs by its name), by way of a temporary file that is synced and
   renamed, so that an old file survives a failure. opts may be NULL. */
WISP_SIZED wisp_status wisp_src_write(const wisp_src *src, wisp_ctx *ctx, const char *path,
                                      const wisp_write_opts *opts);
/* Any other file in the same way. A symbolic link is followed, also to a file that is not there yet; a device or a pipe
   is written in place. */
WISP_API wisp_status wisp_file_write(wisp_ctx *ctx, const char *path, const void *data, size_t bytes);
/* Whether a file could be written so, to know before a long run. */
WISP_API wisp_status wisp_file_check(wisp_ctx *ctx, const char *path);
WISP_API int wisp_file_same(const char *a, const char *b); /* 1: both names stand for one file; it need not be there */

/* The gallery, for listings: entry number i, or NULL past the end. */
typedef struct {
    const char *name, *summary;
    const char *keys; /* one line per key: "key=default  meaning\n" */
} wisp_gallery_entry;
WISP_API const wisp_gallery_entry *wisp_gallery_list(int i);

/* ---- map: which rows live where and in which order ------------------------------------------- */

typedef struct wisp_map wisp_map;

/* The natural order of `rows` rows, shared among the ranks. Maps are reference-counted: objects made on a map keep it
   alive. */
WISP_API wisp_status wisp_map_create(wisp_map **map, wisp_ctx *ctx, int64_t rows);
WISP_API void wisp_map_free(wisp_map *map);
WISP_API int64_t wisp_map_rows(const wisp_map *map); /* of all ranks */
/* How many of them this rank has: *first, which may be NULL, and those that follow it. */
WISP_API int64_t wisp_map_local(const wisp_map *map, int64_t *first);
WISP_API int wisp_map_is_natural(const wisp_map *map);

/* ---- matrix ---------------------------------------------------------------------------------- */

typedef struct wisp_mat wisp_mat;
typedef struct wisp_blk wisp_blk; /* rows x width, row-major, on a map; or a view of one */

/* How rows are put in order in memory, invisible to the user: as they come, reverse Cuthill-McKee, or tiles whose
   block rows stay in cache until they are gathered again. DEFAULT: what a model of the caches finds best, for this
   machine and number of threads: who wants the same bits with another number names the natural order or RCM, or shares
   a map. */
typedef enum { WISP_ROWS_DEFAULT, WISP_ROWS_NATURAL, WISP_ROWS_RCM, WISP_ROWS_TILES } wisp_row_order;
/* How entries are stored: SELL-C-sigma as they are; compressed without loss (repeated rows once, lists of columns that
   rows share once, repeated values once, short column differences; WISP_ERR_UNSUPPORTED if there is none of that); or
   one half of a Hermitian matrix (on request alone; C = 1; WISP_ERR_HERMITIAN if it is not exactly that; while it is
   made, the whole one is there, too). DEFAULT: SELL, or COMPRESSED where that pays and neither C nor sigma is named.
   OPERATOR: not at all, see wisp_mat_from_apply. */
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

/* Assembles a matrix from a source in two parallel passes. opts may be NULL. A square matrix has one map
   for rows and columns; a rectangular one has a natural map for its columns. */
WISP_SIZED wisp_status wisp_mat_create(wisp_mat **A, wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts);
/* The map that wisp_mat_create would give the rows of this source with these options: for blocks and matrices that
   share it (opts.map), or to make it once. */
WISP_SIZED wisp_status wisp_map_create_ordered(wisp_map **map, wisp_ctx *ctx, const wisp_src *src,
                                               const wisp_mat_opts *opts);
/* wisp_src_open, wisp_mat_create and wisp_src_close in one. */
WISP_SIZED wisp_status wisp_mat_open(wisp_mat **A, wisp_ctx *ctx, const char *name, const wisp_mat_opts *opts);
/* Uses CRS arrays in place as SELL-1-1; they must outlive the matrix. Columns sorted and unique in each row. Row
   pointers of 32 bits and columns of 64 are copied; the values are always the user's: what is written there later
   counts. WISP_ERR_UNSUPPORTED on a device with memory of its own. */
WISP_SIZED wisp_status wisp_mat_borrow_crs(wisp_mat **A, wisp_ctx *ctx, const wisp_crs *crs);
/* New values on the same pattern; WISP_ERR_MISMATCH (and values undefined) if a row's pattern differs. A matrix
   whose values are compressed is stored anew as DEFAULT would: it may become SELL. */
WISP_SIZED wisp_status wisp_mat_update(wisp_mat *A, const wisp_src *src);
WISP_API void wisp_mat_free(wisp_mat *A);

/* y = A x, all columns: writes all of y and reads nothing of what was there. Both are blocks on the operator's map, of
   one width and type, with or without gaps between their rows; the type is any that a stored matrix of op.type takes.
   They may be given to ops and mapped (wisp_blk_map; x to be read alone), but not kept. Called from the calling thread
   of wisp_spmmv and of the solvers, once for each product, on every process; it may call ops on the same context, from
   this thread, and share its work among the threads (wisp_ctx_each). Anything but WISP_OK is a failure: the op then
   ends with WISP_ERR_CALLBACK and the message that wisp_ctx_fail left, but with WISP_ERR_CANCELLED as it is. */
typedef wisp_status (*wisp_apply_fn)(void *arg, wisp_blk *y, const wisp_blk *x);

typedef struct {
    wisp_map *map;  /* of rows and columns: it is square. Kept alive by the matrix */
    wisp_type type; /* of the entries that it stands for */
    wisp_apply_fn apply;
    void *arg;                /* passed to apply() */
    void (*free_arg)(void *); /* called by wisp_mat_free; may be NULL. (Not if the matrix could not be made.) */
} wisp_operator;

/* A matrix that is nowhere stored: an operator, given by what it does to a block. It stands where a matrix does in
   wisp_spmmv, wisp_mpk, wisp_kpm, wisp_bounds_find, wisp_evolve. All terms beside A x are done by ops on blocks, one
   after the other (a block like y is held for AXPBY), so that a fused product of a stored matrix moves less. Steps are
   not interleaved. Solvers for Hermitian matrices take it on the user's word that it is one: nothing is checked, and if
   it is not, what they find means nothing. What looks at entries (wisp_mat_update, wisp_mat_get_props,
   wisp_mat_row_histogram, wisp_mat_fill_in, wisp_mat_gather, Gershgorin's bounds) is WISP_ERR_UNSUPPORTED. */
WISP_SIZED wisp_status wisp_mat_from_apply(wisp_mat **A, wisp_ctx *ctx, const wisp_operator *op);

typedef struct {
    int64_t rows, cols, nnz; /* nnz: stored entries, duplicates merged; of an operator 0 */
    wisp_type type;
    int C;
    int64_t sigma;
    int64_t bytes; /* of the stored arrays */
    wisp_row_order order;
    wisp_format format;
    int64_t spill_bytes; /* half storage, operators: what wisp_spmmv holds beside it at most, per column of a block */
                         /* of its type */
    int64_t assembly_bytes; /* wisp_mat_plan, wisp_mat_bound: the most that is held while it is made; else 0 */
    int64_t work_blocks;    /* of rows, each of which has dots of its own in a sweep */
    int64_t local_rows;     /* this rank's; bytes, spill and assembly are its own, too */
    int64_t halo_rows;      /* of other ranks, which each block that is multiplied has behind its own */
} wisp_mat_info;
WISP_SIZED void wisp_mat_get_info(const wisp_mat *A, wisp_mat_info *info);
WISP_API wisp_map *wisp_mat_map(const wisp_mat *A);     /* rows; borrowed, not to be freed */
WISP_API wisp_map *wisp_mat_col_map(const wisp_mat *A); /* columns; the same for a square matrix */
WISP_API wisp_ctx *wisp_mat_ctx(const wisp_mat *A);
/* What wisp_mat_create would make of this source, and the bytes that it would take with its maps: about (plan), in the
   storage that is likely to be chosen, for which a million rows are read as when the matrix is made; and at most
   (bound), whatever is chosen, for which all rows are counted (nnz with duplicates, then). The spill of the first is
   that of lattices and bands. */
WISP_SIZED wisp_status wisp_mat_plan(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts,
                                     wisp_mat_info *info);
WISP_SIZED wisp_status wisp_mat_bound(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts,
                                      wisp_mat_info *info);
/* The width of blocks of this type in which so many steps of a recurrence of `vectors` columns in all take least time,
   by the model of docs/model.md; and that time. steps = 1: none are interleaved. Of a source, with the width to be
   given to wisp_mat_create (opts.width > 0: that width is taken, and its time found), or of a matrix that stands. It
   must be square (WISP_ERR_ARG). Of an operator: block rows of 128 bytes. */
typedef struct {
    int width;
    double seconds;    /* for each step of all columns; 0: not known */
    const char *limit; /* of it: "memory", "cache" or "core"; "operator", whose time is not known */
} wisp_choice;
WISP_SIZED wisp_status wisp_src_choose(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts, wisp_type type,
                                       int64_t vectors, int64_t steps, wisp_choice *choice);
WISP_SIZED wisp_status wisp_mat_choose(const wisp_mat *A, wisp_type type, int64_t vectors, int64_t steps,
                                       wisp_choice *choice);

/* What a sweep (wisp_spmmv with AXPBY and dots with x) over a block of this type and width moves, by a model of the
   caches that follows the entries in their order; with C and sigma as they are, bytes for the whole matrix. */
typedef struct {
    double excess;  /* block rows of x from memory, over x once (the KPM paper's Omega, of x alone) */
    double from_l3; /* bytes of x from the last cache, beside what comes from memory */
} wisp_gather;
WISP_SIZED wisp_status wisp_mat_gather(const wisp_mat *A, wisp_type type, int width, wisp_gather *gather);

/* Exact properties, found by looking at every entry. */
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
/* hist[i], i < bins: rows with i entries; the last bin holds all longer rows too. */
WISP_API wisp_status wisp_mat_row_histogram(const wisp_mat *A, int64_t *hist, int bins);
/* Stored entries with padding over nonzeros, had the matrix this C and sigma; 1 is no fill-in. */
WISP_API wisp_status wisp_mat_fill_in(const wisp_mat *A, int C, int64_t sigma, double *ratio);

/* ---- block vectors --------------------------------------------------------------------------- */

typedef enum { WISP_ROW_MAJOR, WISP_COL_MAJOR } wisp_order;
typedef enum {
    WISP_RANDOM_TRACE, /* +1, -1 (real) or 1, i, -1, -i (complex): Philox bits */
    WISP_RANDOM_GAUSS  /* standard normal; complex: each part with variance 1/2 */
} wisp_random;
/* Writes the value at (row, column) of the block's type to val; non-zero aborts. */
typedef int (*wisp_fill_fn)(void *arg, int64_t row, int column, void *val);

/* A new block of zeros. */
WISP_API wisp_status wisp_blk_create(wisp_blk **x, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width);
/* User memory in place: natural maps only; element (i, j) at data[i * stride + j], stride >= width. */
WISP_API wisp_status wisp_blk_borrow(wisp_blk **x, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width, void *data,
                                     int64_t stride);
/* Views: columns first .. first+width-1; rows first .. first+count-1 (natural maps only). A view keeps its
   parent's memory alive. */
WISP_API wisp_status wisp_blk_cols(wisp_blk **view, wisp_blk *x, int first, int width);
WISP_API wisp_status wisp_blk_rows(wisp_blk **view, wisp_blk *x, int64_t first, int64_t count);
WISP_API void wisp_blk_free(wisp_blk *x);

WISP_API int wisp_blk_width(const wisp_blk *x);
WISP_API int64_t wisp_blk_nrows(const wisp_blk *x);
WISP_API wisp_type wisp_blk_type(const wisp_blk *x);
WISP_API wisp_map *wisp_blk_map_of(const wisp_blk *x);
WISP_API wisp_ctx *wisp_blk_ctx(const wisp_blk *x);

WISP_API wisp_status wisp_blk_fill(wisp_blk *x, wisp_scalar value);
WISP_API wisp_status wisp_blk_fill_fn(wisp_blk *x, wisp_fill_fn fn, void *arg);
/* Column j gets the values of random column `first + j` of (seed, stream): the same numbers in any layout.
   Philox4x32-10 (Salmon et al. 2011), counter (row, column, stream), key seed. */
WISP_API wisp_status wisp_blk_fill_random(wisp_blk *x, wisp_random kind, uint64_t seed, uint32_t stream,
                                          uint32_t first);
/* Column j becomes the unit vector of row[j] (user's number). */
WISP_API wisp_status wisp_blk_fill_units(wisp_blk *x, const int64_t *row);
/* Copies from and to user arrays of the block's type in the natural order; ld is the distance between rows
   (row-major) or columns (column-major) in elements. */
WISP_API wisp_status wisp_blk_put(wisp_blk *x, wisp_order order, const void *data, int64_t ld);
WISP_API wisp_status wisp_blk_get(const wisp_blk *x, wisp_order order, void *data, int64_t ld);
/* The block's memory on the host, in wisp's own row order, until unmap. Who was given x as const only reads. */
WISP_API wisp_status wisp_blk_map(const wisp_blk *x, void **data, int64_t *stride);
WISP_API wisp_status wisp_blk_unmap(const wisp_blk *x);

/* ---- ops on blocks (same map, rows, type and width; in place where y is named first) ------------ */

WISP_API wisp_status wisp_copy(wisp_blk *y, const wisp_blk *x);
/* y += alpha x;  y = alpha x + beta y (beta = 0 never reads y);  x = alpha x */
WISP_API wisp_status wisp_axpy(wisp_blk *y, wisp_scalar alpha, const wisp_blk *x);
WISP_API wisp_status wisp_axpby(wisp_blk *y, wisp_scalar alpha, const wisp_blk *x, wisp_scalar beta);
WISP_API wisp_status wisp_scal(wisp_blk *x, wisp_scalar alpha);
/* The same with one scalar per column, [width]. */
WISP_API wisp_status wisp_vaxpy(wisp_blk *y, const wisp_scalar *alpha, const wisp_blk *x);
WISP_API wisp_status wisp_vaxpby(wisp_blk *y, const wisp_scalar *alpha, const wisp_blk *x, const wisp_scalar *beta);
WISP_API wisp_status wisp_vscal(wisp_blk *x, const wisp_scalar *alpha);
/* dot[j] = <x_j, y_j> = sum of conj(x) y;  norm[j] = ||x_j||_2. Bit-identical for any number of threads. */
WISP_API wisp_status wisp_dot(const wisp_blk *x, const wisp_blk *y, wisp_scalar *dot);
WISP_API wisp_status wisp_norm(const wisp_blk *x, double *norm);
/* The same with compensated sums: plain FMA sums over at most 128 rows each, and sums (in double) of these with their
   rounding errors over all rows, threads and processes. The error of a dot is at most (128 u + 2^-52) sum |x_i| |y_i|,
   where u is the rounding unit of the type, plus 2^-53 of the result; where the plain sums are exact, it is right to
   the last bit but one. (For complex blocks: of each part of the dot, |x_i| |y_i| with both parts of x and y.) The
   relative error of a norm is at most 64 u + 2^-52. */
WISP_API wisp_status wisp_dot_kahan(const wisp_blk *x, const wisp_blk *y, wisp_scalar *dot);
WISP_API wisp_status wisp_norm_kahan(const wisp_blk *x, double *norm);

/* ---- products of tall and skinny blocks ------------------------------------------------------- */

enum { WISP_KAHAN = 256 }; /* compensated sums */

/* X = alpha V^H W + beta X; X[i * ldx + j] belongs to column i of V and column j of W, ldx >= width of W. V and W on
   one map and of one type, of any widths; they may be the same. beta = 0 never reads X. Bit-identical for any number
   of threads. flags: 0 or WISP_KAHAN: plain FMA sums over at most 128 rows, compensated sums (in double) of these
   strips over all rows: the error of an element of V^H W is at most (128 u + 2^-52) sum |v_i| |w_i| with each strip's
   terms, where u is the rounding unit of the type, plus 2^-53 of the result; so what is summed from strips that are
   exact in themselves is right to the last bit but one. (For a complex element take both parts of v and w.) */
WISP_API wisp_status wisp_tsm_gram(wisp_scalar *X, int64_t ldx, wisp_scalar alpha, const wisp_blk *V, const wisp_blk *W,
                                   wisp_scalar beta, unsigned flags);
/* W = alpha V X + beta W; X[i * ldx + j] as above, rounded with alpha to the blocks' type. beta = 0 never reads W.
   In place if W and V are the same memory (W may be a view of V's first columns); they must not overlap otherwise.
   Bit-identical for any number of threads. */
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
    WISP_NOREDUCE = 128, /* leave the dots local to this process */
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

/* The augmented sparse matrix times block vector product (Kreutzer et al., KPM paper, fig. 5; GHOST paper,
   sec. 5.3; ADD: Clenshaw's recurrence). x on A's column map, y, z and u on its row map, all of one width and of one
   type: that of the matrix; a real matrix also takes complex blocks, a single-precision one also double blocks. y, z
   and x must not overlap, nor y and z with u. beta = 0 never reads y, delta = 0 never reads z. SHIFT and the dots with
   x need a square matrix. aug may be NULL. */
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
    int *interleaved;     /* gets the depth that was used (with depth 0: mostly); 1 where steps can't be interleaved; */
                          /* may be NULL */
    const wisp_blk *u;    /* apart from the blocks of v and z; for add, and for DOT_UY */
    const wisp_scalar *add; /* [steps][width]; NULL: nothing is added */
} wisp_mpk_opts;

/* Steps of a three-term recurrence with a square matrix: matrix powers, Chebyshev and Newton bases are settings of the
   coefficients (level-based blocking: Alappat et al. 2022; the fused step: Kreutzer et al., KPM paper,
   fig. 5). v_-1 and v_0 are given; v_i is stored in v[(i + 1) % stored], stored >= 2. With 2 blocks v[k+1] takes the
   place of v[k-1] (Chebyshev); with steps + 2 all are kept. beta_k = 0 never reads v[k-1]: so with beta_0 = 0 v_-1 is
   not read, and v[0] may be NULL if all are kept. A call is continued by another one that is given the last two blocks.
   Each step is what wisp_spmmv does, bit by bit, with SCALE where there is alpha, SHIFT where there is gamma, and so
   are types, maps and refusals; no two blocks of v and z may overlap. After a failure or a cancel the blocks hold
   anything. */
WISP_SIZED wisp_status wisp_mpk(wisp_blk *const *v, int stored, const wisp_mat *A, const wisp_mpk_opts *opts);
/* Bytes, about, that wisp_mpk with dots holds beside matrix and blocks, for a matrix that was made for this width;
   depth as in wisp_mpk_opts. And at most, for calls of so many steps with a matrix of which this is known (from
   wisp_mat_bound or wisp_mat_get_info). */
WISP_API int64_t wisp_mpk_plan(int64_t rows, wisp_type type, int width, int depth);
WISP_SIZED int64_t wisp_mpk_bound(const wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width, int depth,
                                  int64_t steps);

typedef struct {
    double bytes; /* least traffic: each array once in each direction it is needed, no write-allocate */
    double flops; /* as table I of the KPM paper counts them */
} wisp_cost;
/* What wisp_spmmv with these terms costs for a block of this type and width. Bytes: the matrix as it is stored (without
   padding and row lengths), x and u once, y and z once for each direction. Of an operator: the function's x and y once,
   and what the terms move, op by op; its own arithmetic, and what else it reads, are not known and not counted. */
WISP_SIZED wisp_status wisp_spmmv_cost(const wisp_mat *A, wisp_type type, int width, unsigned terms, wisp_cost *cost);

/* ---- the machine and what it allows ------------------------------------------------------------ */

typedef enum { WISP_L1, WISP_L2, WISP_L3, WISP_MEMORY, WISP_LEVELS } wisp_level;
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
/* LOADS: those from every level alone. KEPT: kept_bytes. EXCHANGE: exchange_gbs. */
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
    double exchange_gbs; /* at which all threads load what another one has just written, from its caches; 0: not */
                         /* measured, or one thread */
} wisp_machine;
/* The topology, and the ceilings that `what` (WISP_MEASURE_...) asks for. Takes a second or two for all. */
WISP_SIZED wisp_status wisp_machine_measure(wisp_ctx *ctx, wisp_machine *machine, unsigned what);
/* Gives a context the figures that wisp_machine_measure found in an earlier run: how fast all threads load from memory
   and from the caches, and from each other's, and how much of the last cache they keep (as wisp_ctx_set_cache). The
   library chooses by them, for example how many steps are interleaved. A figure of 0 is ignored; so is the whole struct
   if it was measured with other kernels, or with another number of threads (machine->threads = 0 fits any). Without
   figures the library assumes those of a common machine. wisp_machine_measure gives its own context what it finds. */
WISP_SIZED void wisp_ctx_set_machine(wisp_ctx *ctx, const wisp_machine *machine);
/* Load bandwidth of memory at this moment with all threads, in 10 to 20 ms. The first call takes a buffer of 256 MB or
   more, which stays with the context. */
WISP_API wisp_status wisp_load_bandwidth(wisp_ctx *ctx, double *gbs);
/* The model of time: the refined roofline of the KPM paper, section V. Seconds for so many bytes from memory and to it
   (written past the caches, or of lines that were read); and of a step whose traffic and arithmetic take so long, one
   by one, and overlap in part (load_gbs > 0): nearly all where kernels ask for what they stream ahead. */
WISP_API double wisp_model_memory(double read, double written, int past, double load_gbs);
WISP_API double wisp_model_overlap(double traffic, double core, int ahead);
/* cpu[threads]: the processor that each thread runs on; negative if it may also run elsewhere: -1 - cpu. */
WISP_API wisp_status wisp_ctx_placement(wisp_ctx *ctx, int *cpu);

#ifdef __cplusplus
}
#endif

#include "solvers.h"

#endif
