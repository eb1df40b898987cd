/* Helpers and the sweep that several ops use. */
#ifndef WISP_OP_H
#define WISP_OP_H
#include "../data/halo.h"
#include "../data/slot.h"

/* Around a call that computes and that all ranks make. */
static inline wisp_status wisp__together_begin(wisp_ctx *ctx)
{
    const wisp_status status = wisp__turn_begin(ctx->team);
    ctx->comm->enter(ctx);
    return status;
}
static inline wisp_status wisp__together_end(wisp_ctx *ctx, wisp_status status)
{
    return wisp__turn_end(ctx->team, ctx->comm->leave(ctx, status));
}
/* sum[n] with its errors becomes the compensated sum over the processes. */
wisp_status wisp__sum_compensated(wisp_ctx *ctx, double *sum, double *error, size_t n);
/* Where a call has n numbers to be brought to `host`: there, or, if the device has memory of its own, in some of it
   that stays until the next such call. */
wisp_status wisp__dots_room(wisp_ctx *ctx, double *host, size_t n, double **there);
/* The same for an op that multiplies by A: memory of its own (*own, to be freed by the caller with the backend), if a
   function of the user's runs meanwhile. */
wisp_status wisp__op_dots(const wisp_mat *A, double **own, double *host, size_t n, double **there);
/* Waits for them. */
wisp_status wisp__dots_bring(wisp_ctx *ctx, const double *there, double *host, size_t n);
/* Into how many blocks sums over rows are cut: all blocks' sums, `size` each, are not much more than `most`, for adding
   them up is work, too. And the rows of one, which is at least some strips. */
int64_t wisp__sum_blocks(wisp_ctx *ctx, int64_t size, int most);
int64_t wisp__rows_per_sum(wisp_ctx *ctx, int64_t rows, size_t size, int most, int strips);
/* Memory for an op that multiplies by A, uninitialised: the context's scratch memory; or *own, to be freed by the
   caller (what was there is), if a function of the user's runs meanwhile, whose ops take the scratch memory. */
wisp_status wisp__op_memory(const wisp_mat *A, void **own, void *pointer_to_pointer, size_t bytes);
/* Both blocks have one map, shape and type. */
wisp_status wisp__same_shape(const char *op, const wisp_blk *y, const wisp_blk *x);
/* Whether two blocks share an element; whether two of one shape have all elements in the same places. */
bool wisp__overlap(const wisp_blk *x, const wisp_blk *y);
bool wisp__same_memory(const wisp_blk *x, const wisp_blk *y);

/* How a pass over blocks is cut: `count` periods of `rows` rows, then a tail of single rows. Several rows, if the
   blocks are compact: one long stream, so that narrow blocks run as fast as wide ones. */
typedef struct {
    int rows, period; /* period: real elements */
    int64_t count, tail;
} wisp__cut;
wisp__cut wisp__cut_of(const wisp_blk *x, bool compact);
/* Of factors f[n]; those of NULL are real. */
bool wisp__all_equal(const wisp_scalar *f, int n, double re, double im);
bool wisp__all_real(const wisp_scalar *f, int n);
/* Whether <x, y> has imaginary parts: <x, x> has none. */
bool wisp__crosses(const wisp_blk *x, const wisp_blk *y);
/* ---- blas1.c: what wisp_axpby and wisp_dot do, without checks, and without the sum over the processes ---- */

/* y = a x + b y, with one factor for all columns or one per column; b NULL: y = a x. */
wisp_status wisp__axpby(wisp_blk *y, const wisp_scalar *a, const wisp_blk *x, const wisp_scalar *b, bool per_column);
/* dot[2 width], in the device's memory. */
wisp_status wisp__dot_local(const wisp_blk *x, const wisp_blk *y, double *dot);

/* ---- sweep.c: one fused sweep ---- */

/* Blocks that y is added to by factors, and room for what kernels are told of them. */
typedef struct {
    wisp_blk *const *z;
    const wisp_scalar *eta;
    wisp__chain *chain; /* all three: [count] */
    int count;
} wisp__sums;

/* y = alpha (A - shift_j I) x + beta prev, and all that goes with it. */
typedef struct {
    const wisp_mat *A;
    wisp_blk *y, *const *z; /* z: of the sums */
    const wisp_blk *x, *prev, *u;
    unsigned terms; /* of wisp_aug */
    int64_t blocks; /* the first row blocks, which are done; 0: all */
    wisp__spmmv_params p;
} wisp__sweep;

/* The blocks fit the matrix, and each other in width and type; z may be NULL. */
wisp_status wisp__sweep_check(const char *op, const wisp_mat *A, const wisp_blk *y, const wisp_blk *x,
                              const wisp_blk *z);
/* Where a call has factors f[width]: in an array, or in a place. */
typedef struct {
    const wisp_scalar *f; /* NULL: in the device's memory, */
    const double *at;     /* here; else NULL */
} wisp__factor_source;
/* Of a place, if it has a slot, else of the array. */
wisp_status wisp__factors_of(wisp_ctx *ctx, const char *op, const wisp_scalar *f, wisp_place place, int width,
                             wisp__factor_source *factors);
/* All arguments of wisp_spmmv. */
wisp_status wisp__spmmv_check(const wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug);
/* Fills s in. prev is y, or another block that beta reads; aug's z and eta are those of the sums; factors has room for
   wisp__factor_bytes. What these point to stays until the sweep is done. */
wisp_status wisp__sweep_set(wisp__sweep *s, const char *op, const wisp_mat *A, wisp_blk *y, const wisp_blk *x,
                            const wisp_blk *prev, const wisp_aug *aug, const wisp__sums *sums, void *factors);
static inline size_t wisp__factor_bytes(const wisp_blk *x)
{
    return 2 * K_FACTOR_SETS * (size_t)x->width * wisp_type_size(x->type);
}
/* Exchange, and all rows. dot takes wisp__dot_size numbers in the device's memory, the dots of this process (NULL
   without dots). */
wisp_status wisp__sweep_run(const wisp__sweep *s, double *dot);
/* The same for a matrix that has a halo (halo_run.c); dot has dot_size numbers, or is NULL. */
wisp_status wisp__sweep_with_halo(const wisp__sweep *s, double *dot, size_t dot_size);
/* The kernel's key. */
static inline wisp__key wisp__sweep_key(const wisp__sweep *s, const wisp__spmmv_params *p)
{
    const int width = (int)p->reals / wisp__reals(s->A->type);
    return (wisp__key){s->A->type, s->x->type, width, s->A->log_c, width != p->width};
}
/* The same with an operator (apply.c). */
wisp_status wisp__sweep_apply(const wisp__sweep *s, double *dot);
/* For a schedule of several steps. */
wisp__step wisp__sweep_as_step(wisp__sweep *s, double *dot);
/* Of one step with these terms; <u, y> comes last, if it is asked for. */
static inline size_t wisp__dot_size(const wisp_blk *x, unsigned terms)
{
    return 2 * (size_t)x->width * (terms & WISP_DOT_UY ? K_DOT_SETS : K_DOT_SETS - 1);
}
/* Such a set to dot[3 or 4][width]; what terms do not ask for is left alone. */
void wisp__dots_out(unsigned terms, int width, const double *sum, wisp_scalar *dot);

/* ---- weights.c ---- */

/* The rate at which a rank multiplies. */
typedef struct {
    double rate;
    int rank;
} wisp__ranked;

/* Weights of the ranks, percents of the fastest. From the fastest rank on, those within 10% of the fastest one of their
   group are one group, and have its mean rate: rates of 100, 92 and 90 are two groups. Sorts all[]. */
void wisp__weigh(wisp__ranked *all, int ranks, int64_t *weights);
#endif
