/* What GPUs share: a backend's calls as launches of the kernels of kernel/NAME.gpu.h, whatever compiles and runs them.
   A driver gives memory, a queue in order and compiled kernels (cuda/, opencl/; plain/, for tests). Nothing lies behind
   an address of the device's: it is a place in a reserved range, by which a buffer of the driver's and an offset are
   found. */
#ifndef WISP_GPU_H
#define WISP_GPU_H
#include "../backend.h"
#include <sys/types.h>

typedef int64_t i64;
typedef int32_t i32;
#include "../../kernel/params_gpu.h"

typedef struct wisp__gpu wisp__gpu;

/* Calls return when their work is queued, and work runs in the order of the calls. What the host gives is read before a
   call returns. */
typedef struct {
    const char *name;
    wisp_status (*open)(wisp__gpu *g, int number);
    void (*close)(wisp__gpu *g); /* all buffers and kernels are gone */
    /* A buffer of the driver's. It may be freed while work that uses it is queued. */
    wisp_status (*alloc)(wisp__gpu *g, size_t bytes, void **buffer);
    void (*free)(wisp__gpu *g, void *buffer);
    wisp_status (*clear)(wisp__gpu *g, void *buffer, size_t bytes);
    wisp_status (*write)(wisp__gpu *g, void *buffer, size_t at, const void *host, size_t bytes);
    wisp_status (*read)(wisp__gpu *g, void *buffer, size_t at, void *host, size_t bytes); /* waits */
    /* Memory of the host's from which and to which copies go straight: then write reads it until the next wait. NULL:
       there is none. */
    wisp_status (*stage)(wisp__gpu *g, size_t bytes, void **host);
    void (*unstage)(wisp__gpu *g, void *host); /* waits */
    /* The kernel of this name in a program; its text is in kernel/dialect.h's language. */
    wisp_status (*compile)(wisp__gpu *g, const char *name, const char *text, void **kernel);
    void (*drop)(wisp__gpu *g, void *kernel);
    /* params: a struct of kernel/params_gpu.h. */
    wisp_status (*launch)(wisp__gpu *g, void *kernel, int64_t groups, const void *params, size_t bytes,
                          void *const buffer[K_PLACES]);
    wisp_status (*finish)(wisp__gpu *g); /* waits */
} wisp__gpu_driver;

typedef struct wisp__gpu_buffer wisp__gpu_buffer;
typedef struct wisp__gpu_loan wisp__gpu_loan;
typedef struct wisp__gpu_kernel wisp__gpu_kernel;
/* How interleaved steps are launched. */
typedef enum {
    WISP__STEPS_WAVES, /* as many tasks at once as don't wait for each other */
    WISP__STEPS_DRAWN, /* all at once: groups wait for each other */
    WISP__STEPS_EACH,  /* task by task */
} wisp__gpu_steps;
struct wisp__gpu {
    wisp_ctx *ctx;
    const wisp__gpu_driver *driver;
    void *device;          /* the driver's */
    int group_size;        /* items of a group, a power of 2; the driver says so, and: */
    int64_t most_groups;   /* that are worth launching, where any number does */
    wisp__gpu_steps steps; /* DRAWN where each group goes on whatever others do, and sees what they have fenced */
    bool on_cpu;           /* it is a CPU, which compiles slowly: kernels for any width and terms alone */
    bool driver_keeps;     /* compiled kernels by itself; and compiles each once more where it is to give it away */
    /* What the driver knows of it; 0: not known. */
    int units;                        /* that groups run on */
    int64_t cache_bytes, local_bytes; /* of the last cache; of a unit's memory for its groups */
    double memory_rate, clock;        /* bytes a second, as built; turns a second */
    pid_t process;                    /* that has opened it */
    pthread_mutex_t *lock;            /* the context's, for buffers and loans */
    wisp__gpu_buffer *buffer;
    wisp__gpu_loan *loan;
    wisp_status failed;         /* what is to be told by the next call that waits, */
    char message[WISP_MESSAGE]; /* in these words */
    wisp__gpu_kernel *kernel;
    int shapes;                /* of calls of wisp_fuse that may still get a kernel of their own */
    int64_t launches;          /* so far */
    wisp__gpu_buffer *partial; /* sums of groups; or x of an update from a place */
    wisp__gpu_buffer *staged;  /* what comes with a call that is made in its turn */
    wisp__gpu_buffer *moved;   /* rows for other ranks, and from there */
    pthread_mutex_t compiling; /* for the list of kernels, launches, and: (blocks are filled without a turn) */
    bool compiled;             /* a kernel, which was not kept: drivers say so */
};
static inline wisp__gpu *wisp__gpu_of(wisp_ctx *ctx) { return ctx->device; }

/* ---- memory.c ---------------------------------------------------------------------------------- */

wisp_status wisp__gpu_alloc(wisp_ctx *ctx, void *pointer_to_address, size_t count, size_t size);
void wisp__gpu_free(wisp_ctx *ctx, void *address);
wisp_status wisp__gpu_take(wisp_ctx *ctx, void *pointer_to_array);
wisp_status wisp__gpu_borrow(wisp_ctx *ctx, const void *host);
wisp_status wisp__gpu_lend(wisp_ctx *ctx, void *address, size_t bytes, wisp_access how, void *pointer_to_host);
void wisp__gpu_unlend(wisp_ctx *ctx, void *address);
wisp_status wisp__gpu_read(wisp_ctx *ctx, const void *address, void *host, size_t bytes);
wisp_status wisp__gpu_write(wisp_ctx *ctx, void *address, const void *host, size_t bytes);
wisp_status wisp__gpu_finish(wisp_ctx *ctx);
wisp_status wisp__gpu_stage(wisp_ctx *ctx, size_t bytes, void *pointer_to_host);
void wisp__gpu_unstage(wisp_ctx *ctx, void *host);
wisp_status wisp__gpu_told(wisp__gpu *g); /* what has failed, once */
/* The driver's buffer around an address, and the bytes from its begin. */
wisp_status wisp__gpu_place(wisp_ctx *ctx, const void *address, void **buffer, int64_t *at);
/* Memory of the backend's own, with room for so many bytes; what was in it is lost when it grows. */
wisp_status wisp__gpu_room(wisp__gpu *g, wisp__gpu_buffer **b, size_t bytes);
void wisp__gpu_room_free(wisp__gpu *g, wisp__gpu_buffer *b);
void *wisp__gpu_handle(const wisp__gpu_buffer *b);
bool wisp__gpu_fits(const wisp__gpu_buffer *b, size_t bytes);

/* ---- call.c: the call of a kernel ---------------------------------------------------------------- */

/* What a kernel is called with, put together step by step; the first failure stays. */
typedef struct {
    wisp__gpu *g;
    wisp_status status;
    void *params;
    size_t bytes;
    void *buffer[K_PLACES];
    wisp__gpu_buffer **staged; /* where what comes with it goes, */
    size_t staged_at;          /* from so many bytes on, */
    size_t expected;           /* of so many in all, if that was said */
} wisp__gpu_call;
#define WISP__GPU_CALL(ctx, params) wisp__gpu_begin(ctx, &(params), sizeof(params))
wisp__gpu_call wisp__gpu_begin(wisp_ctx *ctx, void *params, size_t bytes);
/* Array i is at an address of the device's; NULL: there is none. */
void wisp__gpu_at(wisp__gpu_call *c, int i, const void *address);
/* Array i is memory of the backend's own, from so many bytes on. */
void wisp__gpu_own(wisp__gpu_call *c, int i, const wisp__gpu_buffer *b, size_t at);
/* A copy of this array of the host's may go with the call; NULL: there is none. A call with several such arrays says
   so of all of them before the first goes: there is room for what was said. */
void wisp__gpu_expect(wisp__gpu_call *c, const void *host, size_t bytes);
/* Array i is a copy of the host's, which goes with the call; NULL: there is none. */
void wisp__gpu_staged(wisp__gpu_call *c, int i, const void *host, size_t bytes);
/* Launches kernel `name`, compiled with these definitions, in so many groups; 0: nothing is to be done. */
wisp_status wisp__gpu_launch(wisp__gpu_call *c, const char *name, int64_t groups, const char *defines, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether that has been compiled. */
bool wisp__gpu_has(wisp__gpu *g, const char *name, const char *defines);
void wisp__gpu_kernels_free(wisp__gpu *g);
/* The program of a kernel with these definitions, to be freed; NULL: out of memory. */
char *wisp__gpu_program(int group_size, const char *name, const char *defines);
/* The text of a file of kernel/. */
const char *wisp__gpu_text(const char *name);
/* Groups for so many items' work. */
int64_t wisp__gpu_groups(const wisp__gpu *g, int64_t items);
/* Items along a block row. */
int wisp__gpu_lanes(const wisp__gpu *g, int64_t width);
/* The word of a kernel's text for real numbers of this type, as REAL is defined. */
#define WISP__GPU_REAL(is_double) ((is_double) ? "double" : "float")
/* The definition of a kernel whose sums are compensated. */
#define WISP__GPU_COMPENSATED "#define COMPENSATED\n"

/* to[2 width] = factors of columns, as complex numbers, from those of a call on the host, `reals` for each; `behind`
   them are those that multiply the other part. */
void wisp__gpu_complex(double *to, const void *factors, bool is_double, int reals, int width, int64_t behind);

/* Number i of the host's, of this type. */
static inline double wisp__gpu_real_at(const void *x, bool is_double, int64_t i)
{
    return is_double ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* ---- kept.c: compiled kernels on the disk ------------------------------------------------------- */

/* What was kept for a program, compiled by this device and compiler with these options; NULL: nothing. To be freed. */
void *wisp__gpu_kept(const char *made_by, const char *text, size_t *bytes);
void wisp__gpu_keep(const char *made_by, const char *text, const void *data, size_t bytes);

/* ---- device.c: what drivers share ---------------------------------------------------------------- */

/* A child of fork has none of a driver's threads and queues, and must not call it. */
bool wisp__gpu_is_child(const wisp__gpu *g);
wisp_status wisp__gpu_not_here(wisp__gpu *g);
/* With the first words of the compiler's that tell of an error. */
wisp_status wisp__gpu_not_compiled(wisp__gpu *g, const char *name, int error, const char *log);

/* ---- the backend's calls ------------------------------------------------------------------------- */

wisp_status wisp__gpu_open(wisp_ctx *ctx, const wisp__gpu_driver *driver);
void wisp__gpu_close(wisp_ctx *ctx);
void wisp__gpu_facts(wisp_ctx *ctx, wisp__facts *f);
wisp_status wisp__gpu_prepare(wisp_ctx *ctx, const wisp__given *g, wisp__prepared **made);
void wisp__gpu_release(wisp_ctx *ctx, wisp__prepared *made);
void wisp__gpu_foresee(wisp_ctx *ctx, const wisp__given *g, int64_t *kept, int64_t *making);
/* measure.c */
wisp_status wisp__gpu_measure(wisp_ctx *ctx, wisp_machine *m, unsigned what);
/* sweep.c */
wisp__kernel wisp__gpu_find_spmmv(wisp_ctx *ctx, const wisp__key *key, const wisp__entries *a);
wisp_status wisp__gpu_launch_spmmv(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p,
                                   const wisp__grid *grid, int64_t first, int64_t end, size_t dot_size);
wisp_status wisp__gpu_finish_dots(wisp_ctx *ctx, const wisp__grid *grid, double *dot, size_t dot_size);
/* The definitions of a sweep's program; any: for all widths and terms. */
void wisp__gpu_sweep_defines(const wisp__gpu *g, wisp__kernel kernel, const wisp__spmmv_params *p, bool any, char *to,
                             size_t room);
/* What a kernel is told of a sweep: all but which blocks it has, factors of columns, and where sums go. */
wisp__gpu_call wisp__gpu_sweep_call(wisp_ctx *ctx, k_sweep *k, const wisp__spmmv_params *p, const wisp__grid *grid,
                                    size_t dot_size);
/* Factors of columns as kernels take them: complex numbers. */
void wisp__gpu_sweep_factors(const wisp__spmmv_params *p, int set, double *to);
/* Blocks first .. end - 1; their dots go behind so many bytes of the groups' sums. */
wisp_status wisp__gpu_launch_blocks(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p,
                                    const wisp__grid *grid, int64_t first, int64_t end, size_t dot_size,
                                    size_t partial_at);
/* Room for the sums of the groups of so many steps. */
wisp_status wisp__gpu_reserve_steps(wisp_ctx *ctx, int steps, const wisp__grid *grid, size_t dot_size);
/* steps.c */
wisp_status wisp__gpu_launch_steps(wisp_ctx *ctx, const wisp__step *step, int steps, const wisp__schedule *schedule,
                                   const wisp__grid *grid, size_t dot_size);
/* move.c */
wisp_status wisp__gpu_fill(wisp_ctx *ctx, const wisp__fill_params *p);
wisp_status wisp__gpu_random(wisp_ctx *ctx, const wisp__random_params *p);
wisp_status wisp__gpu_put(wisp_ctx *ctx, const wisp__array_params *p, const void *host);
wisp_status wisp__gpu_get(wisp_ctx *ctx, const wisp__array_params *p, void *host);
wisp_status wisp__gpu_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows);
/* The same from memory of the backend's own, or to it, where that is given. */
wisp_status wisp__gpu_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows, const wisp__gpu_buffer *from,
                              const wisp__gpu_buffer *to);
wisp_status wisp__gpu_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host);
wisp_status wisp__gpu_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host);
/* blocks.c */
wisp_status wisp__gpu_axpby(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count);
wisp_status wisp__gpu_gram(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p,
                           int64_t per_block, double *sum);
wisp_status wisp__gpu_join(wisp_ctx *ctx, const wisp__join_params *p);
wisp_status wisp__gpu_update(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows);
wisp_status wisp__gpu_scalars(wisp_ctx *ctx, const wisp__scalars_params *p);
/* dots.c */
wisp_status wisp__gpu_dot(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                          int64_t per_block, double *dot, double *error);
/* to[size] becomes, or grows by, the sums of so many groups, which lie from so many bytes of `partial` on. error: NULL,
   or where those sums are compensated, and their errors go. */
wisp_status wisp__gpu_sum(wisp_ctx *ctx, size_t partial_at, int64_t groups, int64_t size, bool adds, double *to,
                          double *error);
/* The sums from the begin of `partial` on, to n arrays of `each` numbers. */
wisp_status wisp__gpu_sums(wisp_ctx *ctx, int64_t groups, int64_t size, int64_t each, double *const *to, int n);
/* fuse.c */
wisp_status wisp__gpu_fuse(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block);

/* host.c: halves of Hermitian matrices. */
wisp_status wisp__gpu_launch_half(wisp_ctx *ctx, const wisp__key *key, const wisp__spmmv_params *p,
                                  const wisp__half *half, double *dot, size_t dot_size);

/* A GPU's table, but for its name, describe and open. */
#define WISP__GPU_CALLS                                                                                               \
    .kinds = WISP__ALL_KINDS, .close = wisp__gpu_close, .tuned = &wisp__gpu_tuned, .facts = wisp__gpu_facts,          \
    .measure = wisp__gpu_measure, .alloc = wisp__gpu_alloc, .free = wisp__gpu_free, .take = wisp__gpu_take,           \
    .prepare = wisp__gpu_prepare, .release = wisp__gpu_release, .foresee = wisp__gpu_foresee,                         \
    .borrow = wisp__gpu_borrow, .lend = wisp__gpu_lend, .unlend = wisp__gpu_unlend, .read = wisp__gpu_read,           \
    .write = wisp__gpu_write, .finish = wisp__gpu_finish, .stage = wisp__gpu_stage, .unstage = wisp__gpu_unstage,     \
    .find_spmmv = wisp__gpu_find_spmmv, .launch_spmmv = wisp__gpu_launch_spmmv, .finish_dots = wisp__gpu_finish_dots, \
    .reserve_steps = wisp__gpu_reserve_steps, .launch_steps = wisp__gpu_launch_steps,                                 \
    .launch_half = wisp__gpu_launch_half, .fill = wisp__gpu_fill, .random = wisp__gpu_random, .put = wisp__gpu_put,   \
    .get = wisp__gpu_get, .copy_columns = wisp__gpu_copy_columns, .pack = wisp__gpu_pack, .unpack = wisp__gpu_unpack, \
    .axpby = wisp__gpu_axpby, .dot = wisp__gpu_dot, .fuse = wisp__gpu_fuse, .gram = wisp__gpu_gram,                   \
    .join = wisp__gpu_join, .update = wisp__gpu_update, .scalars = wisp__gpu_scalars
#endif
