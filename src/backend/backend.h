/* A device as the rooms above see it: its memory, its kernels, and launches of them over ranges of work. */
#ifndef WISP_BACKEND_H
#define WISP_BACKEND_H
#include "../base/base.h"
#include "../comm/comm.h"
#include "../model/facts.h"
#include "../topo/team.h"
#include "../kernel/params.h"
#include "../kernel/params_move.h"
#include <string.h>

/* Ways to store the entries of a matrix, as bits of a set: kernel/params.h says what each is to a kernel. */
#define WISP__NUMBER(KIND, name) WISP__NUMBER_##KIND,
enum { WISP__KINDS(WISP__NUMBER) WISP__NUMBERS };
#undef WISP__NUMBER
#define WISP__BIT(KIND, name) WISP__##KIND = 1 << WISP__NUMBER_##KIND,
typedef enum { WISP__KINDS(WISP__BIT) } wisp__kind;
#undef WISP__BIT
enum { WISP__ALL_KINDS = ((1 << WISP__NUMBERS) - 1) & ~WISP__OPERATOR };

/* Names one kernel. */
typedef struct {
    wisp_type matrix, block; /* that fit each other */
    int width, log_c;        /* columns of the matrix's kind, real or complex */
    bool pairs;              /* these are the parts of complex columns */
} wisp__key;

/* The handle of a kernel: only the backend that found it knows its meaning. */
typedef struct {
    uintptr_t id;
} wisp__kernel;

/* Work is cut into blocks of chunks, fixed by the layout alone, so that dots do not depend on the number of
   threads: each block of work has its own partial dots. */
typedef struct {
    int64_t blocks, chunks_per_block, chunks;
    int64_t elements;    /* entries, and one for each row: how much work that is */
    int64_t early;       /* of the blocks, in this order, that need no rows of other ranks: these come first */
    const void *weight;  /* [chunks + 1] running weight (the chunk offsets, in the device's memory), by which threads */
                         /* share blocks; NULL: all blocks weigh the same */
    wisp_int weight_int; /* of what weight points to */
    const int32_t *order; /* [blocks] in which they are taken; NULL: as they come */
} wisp__grid;

/* A matrix as a backend is given it: its entries, and what there is to know of them. */
typedef struct {
    const wisp__entries *entries; /* in the device's memory; NULL, where it is but foreseen */
    wisp__kind kind;
    wisp_type type;
    int width, log_c;   /* width: of the blocks that it was made for */
    int64_t rows, cols; /* cols: of the blocks that are multiplied, */
    int64_t halo;       /* and those that come from other ranks, behind them */
    int64_t patterns;   /* that rows share; 0: they have entries of their own */
    bool repeats;       /* rows share patterns or lists */
    int64_t stored;     /* entries: with padding; of all patterns */
    int64_t longest;    /* entries of a row, at most: where it is foreseen */
    int64_t bytes;      /* that a sweep reads of them */
    int64_t foretold;   /* of bytes that are made, by some of its rows; -1: not known */
    const wisp__grid *grid;
} wisp__given;

/* What a backend has made of it for itself begins with what others may know of that. */
typedef struct wisp__prepared {
    int64_t bytes;  /* of memory, */
    double per_row; /* and of each further row alike, in a matrix with patterns */
    int64_t spared; /* bytes of the entries that a sweep does not read then */
    bool bundles;   /* see wisp__shape, as for: */
    double follows;
} wisp__prepared;

/* Steps of a recurrence in an order of their own: task i is one step of one group of rows (group_blocks blocks of the
   grid; the last group may have fewer). It begins when task `after` is done, and so are those before it: every
   thread has found no block of them left to begin, and finished those that it began; -1: at once. */
typedef struct {
    int32_t group, step, after;
    bool near; /* what it gathers has been met so lately that it is in the caches */
} wisp__task;
typedef struct {
    const wisp__task *task;
    int64_t tasks, group_blocks;
} wisp__schedule;
typedef struct {
    wisp__kernel kernel;
    const wisp__spmmv_params *p;
    double *dot; /* [dot_size], in the device's memory; NULL without dots */
} wisp__step;

#define WISP__WHOLE_ARRAY SIZE_MAX

/* The load bandwidth of memory, as wisp_load_bandwidth. */
enum { WISP__MEASURE_NOW = 1 << 16 };

/* What dots of blocks there are to be. */
typedef struct {
    bool is_double;
    bool cross; /* with imaginary parts */
    bool adds;  /* to what is there */
} wisp__dot_kind;

/* Queues some work: what is timed. */
typedef wisp_status (*wisp__launch_fn)(wisp_ctx *ctx, void *arg);

/* A device: its memory, its kernels, and a queue of work for them.

   A call returns when its work is queued, and work runs in the order of the calls. What comes with a call from the host
   (parameters, factors, chains, lists of columns, a small matrix) is read before the call returns. Only read, get,
   pack, lend, time_launches and finish wait, until all work before them is done. Where work fails, the next of these
   tells, once, and what was queued behind that work does not run. To free memory never waits: it stays until the work
   that uses it is over. Making and preparing a matrix, releasing what was prepared, and reserve_steps where there is
   less room, may wait, too. On the CPU all work is done when its call returns.

   An address in a device's memory stands for that memory: views add bytes to it, and kernels take it. Only the backend
   may follow it; the host follows what lend gives. Dots go to the device's memory: summed over the blocks of the grid
   in a fixed order, so that they depend on the layout alone. */
typedef struct wisp__backend {
    const char *name;
    bool host_memory; /* its addresses are the host's, all the time: messages may come from there, and go there */
    unsigned kinds;   /* of storage that its kernels take: WISP__SELL, and others */
    const wisp__tuned *tuned;
    /* What device d->number is; false: there is none, nor are there any of higher numbers. */
    bool (*describe)(wisp_device *d);
    /* What tells device `number` from all others of the machine, by whatever number a process has it. NULL, or nothing:
       its number does. */
    void (*identify)(int number, char *id, size_t room);
    wisp_status (*open)(wisp_ctx *ctx);
    void (*close)(wisp_ctx *ctx);
    void (*facts)(wisp_ctx *ctx, wisp__facts *f);
    /* Figures of a device's own: what it is, and what is to be measured of it (WISP_MEASURE_..., WISP__MEASURE_NOW).
       NULL: those of the CPU are its own. */
    wisp_status (*measure)(wisp_ctx *ctx, wisp_machine *m, unsigned what);

    /* Zeroed memory, placed by the threads that will use it. */
    wisp_status (*alloc)(wisp_ctx *ctx, void *pointer_to_address, size_t count, size_t size);
    /* Memory of the host that holds anything, and is there as it is written. NULL: alloc is as good. */
    wisp_status (*alloc_raw)(wisp_ctx *ctx, void *pointer_to_address, size_t count, size_t size);
    void (*free)(wisp_ctx *ctx, void *address);
    /* An array of wisp_alloc becomes the device's: *array is freed, or goes on as its address there. */
    wisp_status (*take)(wisp_ctx *ctx, void *pointer_to_array);
    /* What it may make for itself of a matrix that it has taken, and frees in the end. */
    wisp_status (*prepare)(wisp_ctx *ctx, const wisp__given *g, wisp__prepared **made);
    void (*release)(wisp_ctx *ctx, wisp__prepared *made);
    /* The bytes of that, at most if nothing is foretold; and what is held besides while it is made. */
    void (*foresee)(wisp_ctx *ctx, const wisp__given *g, int64_t *kept, int64_t *making);
    /* Memory of the user's as the device's; WISP_ERR_UNSUPPORTED where a device has memory of its own. */
    wisp_status (*borrow)(wisp_ctx *ctx, const void *host);

    /* Lends the host so many bytes from an address on (WISP__WHOLE_ARRAY: all to the end of its array), until unlend
       with the same address; loans may be nested. Only they may be followed, and only in this way: where the host can't
       be let into the memory itself, they are copied there (but for DISCARD), and back (but for READ). */
    wisp_status (*lend)(wisp_ctx *ctx, void *address, size_t bytes, wisp_access how, void *pointer_to_host);
    void (*unlend)(wisp_ctx *ctx, void *address);
    /* Copies bytes to the host, and from it. */
    wisp_status (*read)(wisp_ctx *ctx, const void *address, void *host, size_t bytes);
    wisp_status (*write)(wisp_ctx *ctx, void *address, const void *host, size_t bytes);
    wisp_status (*finish)(wisp_ctx *ctx);
    /* Memory of the host's, from which and to which copies go fastest. What unpack is given of it is read until the
       next call that waits. NULL: any memory is as good, and is read before the call returns. */
    wisp_status (*stage)(wisp_ctx *ctx, size_t bytes, void *pointer_to_host);
    void (*unstage)(wisp_ctx *ctx, void *host);

    /* The kernel for a key and such entries; there is one for every valid key (a generic one at worst, logged once). */
    wisp__kernel (*find_spmmv)(wisp_ctx *ctx, const wisp__key *key, const wisp__entries *a);
    /* Runs it over blocks first .. end - 1 of the grid, in their order. The dots of each block, dot_size numbers (0:
       there are none), are kept; when all blocks have been launched, in one piece or several and with nothing else in
       between, finish_dots adds them up. */
    wisp_status (*launch_spmmv)(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p, const wisp__grid *grid,
                                int64_t first, int64_t end, size_t dot_size);
    /* dot[dot_size]. */
    wisp_status (*finish_dots)(wisp_ctx *ctx, const wisp__grid *grid, double *dot, size_t dot_size);
    /* Room for the dots of so many steps, kept for the calls of launch_steps that follow. */
    wisp_status (*reserve_steps)(wisp_ctx *ctx, int steps, const wisp__grid *grid, size_t dot_size);
    /* So many steps, whose tasks are interleaved. */
    wisp_status (*launch_steps)(wisp_ctx *ctx, const wisp__step *step, int steps, const wisp__schedule *schedule,
                                const wisp__grid *grid, size_t dot_size);
    /* The same as launch_spmmv with half of a Hermitian matrix. */
    wisp_status (*launch_half)(wisp_ctx *ctx, const wisp__key *key, const wisp__spmmv_params *p, const wisp__half *half,
                               double *dot, size_t dot_size);
    /* Calls launch(ctx, arg) n times, which queues work, and waits for it: *seconds becomes the device's time of one,
       by its own clock. NULL: by the host's, from one wait to the next (wisp__time_launches, which others call, sees to
       that), as is right where work is done when its call returns. */
    wisp_status (*time_launches)(wisp_ctx *ctx, wisp__launch_fn launch, void *arg, int64_t n, double *seconds);
    /* Moving data. Lists of rows and columns, and values, come from the host with the call. */
    wisp_status (*fill)(wisp_ctx *ctx, const wisp__fill_params *p);
    wisp_status (*random)(wisp_ctx *ctx, const wisp__random_params *p);
    wisp_status (*put)(wisp_ctx *ctx, const wisp__array_params *p, const void *host);
    wisp_status (*get)(wisp_ctx *ctx, const wisp__array_params *p, void *host); /* waits */
    /* Each line of the blocks is met once. */
    wisp_status (*copy_columns)(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows);
    /* Copies rows of a block to the host, one after the other, for which it waits; and from there. The list of rows is
       in the device's memory. */
    wisp_status (*pack)(wisp_ctx *ctx, const wisp__rows_params *p, void *host);
    wisp_status (*unpack)(wisp_ctx *ctx, const wisp__rows_params *p, const void *host);
    wisp_status (*axpby)(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count);
    /* Sums of products over blocks of per_block periods (a multiple of K_STRIP), as complex numbers: dot[width]. error,
       if not NULL: the sums are compensated, and these are their errors. */
    wisp_status (*dot)(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                       int64_t per_block, double *dot, double *error);
    /* One pass, over blocks of per_block periods; each dot goes where its parameters say. */
    wisp_status (*fuse)(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block);
    /* Sums of products over blocks of per_block rows, a multiple of K_STRIP: sum[1 or, compensated, 2][p][q]. */
    wisp_status (*gram)(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p, int64_t per_block,
                        double *sum);
    /* Products from such sums (wisp__joined). */
    wisp_status (*join)(wisp_ctx *ctx, const wisp__join_params *p);
    wisp_status (*update)(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows);
    /* A step of kernel/scalars.h. */
    wisp_status (*scalars)(wisp_ctx *ctx, const wisp__scalars_params *p);
} wisp__backend;

extern const wisp__backend wisp__backend_cpu, wisp__backend_far, wisp__backend_plain, wisp__backend_cuda,
    wisp__backend_opencl;
/* Device i of all that there are (devices.c); NULL: there are not so many. */
const wisp__backend *wisp__device(int i, wisp_device *device);
extern const wisp__row_cut wisp__cpu_row_cut, wisp__gpu_row_cut;
extern const wisp__tuned wisp__cpu_tuned, wisp__gpu_tuned;

/* time.c */
wisp_status wisp__time_launches(wisp_ctx *ctx, wisp__launch_fn launch, void *arg, int64_t n, double *seconds);

/* Memory for pack and unpack. */
static inline wisp_status wisp__stage(wisp_ctx *ctx, size_t bytes, void *pointer_to_host)
{
    return ctx->backend->stage ? ctx->backend->stage(ctx, bytes, pointer_to_host)
                               : wisp_alloc(ctx, pointer_to_host, bytes, 1);
}
static inline void wisp__unstage(wisp_ctx *ctx, void *host)
{
    if (host && ctx->backend->unstage)
        ctx->backend->unstage(ctx, host);
    else
        wisp_free(ctx, host);
}

/* a += b, compensated if error (that of a) is not NULL; b_error belongs to b. */
static inline void wisp__add(double *a, double *error, double b, double b_error)
{
    const double old = *a, s = old + b, bb = s - old;
    *a = s;
    if (error) *error += b_error + ((old - (s - bb)) + (b - bb));
}

/* Element (i, j) of the products that the sums of gram make: with v = vr + i vi and w likewise, conj(v) w = (vr wr + vi
   wi) + i (vr wi - vi wr). */
static inline wisp_scalar wisp__joined(const wisp__join_params *p, int i, int j)
{
    const size_t reals = (size_t)p->reals, q = (size_t)p->w_count * reals;
    const size_t at[2][2] = {{0, q + 1}, {1, q}}; /* rr and ii, ri and ir */
    const double *sum = p->sum + (size_t)i * reals * q + (size_t)j * reals;
    const double *error = p->compensated ? sum + (size_t)p->v_count * reals * q : NULL;
    double x[2] = {0, 0};
    for (size_t l = 0; l < reals; l++) {
        const double sign = l == 0 ? 1 : -1;
        double a = sum[at[l][0]], a_error = error ? error[at[l][0]] : 0;
        if (reals == 2)
            wisp__add(&a, error ? &a_error : NULL, sign * sum[at[l][1]], error ? sign * error[at[l][1]] : 0);
        x[l] = a + a_error;
    }
    return (wisp_scalar){x[0], x[1]};
}

/* Real numbers in an element. */
static inline int wisp__reals(wisp_type type) { return wisp_type_is_complex(type) ? 2 : 1; }
/* The bytes of one. */
static inline size_t wisp__real_bytes(bool is_double) { return is_double ? sizeof(double) : sizeof(float); }
/* Factors f[width] (or f[0] for all columns) as kernels take them, for `period` real elements of a stream of rows:
   what multiplies the element, and what multiplies its partner in a complex pair. */
void wisp__spread(wisp_type type, const wisp_scalar *f, bool per_column, int width, int period, void *factor,
                  void *swapped);
/* Those that lie in the device's memory, at an address that may be followed (NULL: these don't); there is room for them
   among the factors of a call. */
void wisp__spread_placed(const double *at, wisp_type type, int width, int period, const void *room);
/* The same, of a sweep. */
void wisp__spread_factors(const wisp__spmmv_params *p);
/* x[p][ld_x] becomes what p->x_from says, whose address may be followed. */
void wisp__take_apart(bool is_double, const wisp__update_params *p, void *x);
/* Element (i, j) of the X or X^H that is taken. */
static inline wisp_scalar wisp__apart_element(const wisp__apart *f, int i, int j)
{
    const wisp_scalar *X = (const wisp_scalar *)(const void *)f->at,
                      x = f->adjoint ? X[j * f->ld + i] : X[i * f->ld + j];
    return (wisp_scalar){x.re, f->adjoint ? -x.im : x.im};
}

/* The context takes over figures that were measured now; if they can't be true the log says so. */
void wisp__take_machine(wisp_ctx *ctx, const wisp_machine *m);
static inline wisp__facts wisp__facts_of(wisp_ctx *ctx)
{
    wisp__facts f;
    ctx->backend->facts(ctx, &f);
    f.steps = WISP__MAX(f.steps, ctx->asked_steps);
    f.columns = WISP__MAX(f.columns, ctx->asked_columns);
    return f;
}
static inline const wisp__tuned *wisp__tuned_of(const wisp_ctx *ctx) { return ctx->backend->tuned; }
/* Sets ctx->units, by all ranks together (share.c). */
wisp_status wisp__share_units(wisp_ctx *ctx);

/* ---- ranks.c: which device each rank has ---------------------------------------------------------- */

/* Sets ctx->backend and what there is beside it, by all ranks together. */
wisp_status wisp__take_device(wisp_ctx *ctx);
/* Ranks with different devices make the same calls: what one device asks for (steps, columns) is asked of all. And
   whether opts.device_memory_limit limits anything: one device with memory of its own is enough (WISP_ERR_ARG). */
wisp_status wisp__agree(wisp_ctx *ctx);
/* How many ranks of the machine have the same device as this one. */
static inline int wisp__ranks_on_device(const wisp_ctx *ctx) { return ctx->of_rank[ctx->rank].ranks; }
#endif
