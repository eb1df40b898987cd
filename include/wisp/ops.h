/* What is computed with matrices and blocks. Part of wisp.h, which says what holds for all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_OPS_H
#define WISP_PUBLIC_OPS_H

#include "matrix.h"
#include "slot.h"

#ifdef __cplusplus
extern "C" {
#endif

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

enum {
    WISP_KAHAN = 256,   /* compensated sums */
    WISP_ADJOINT = 2048 /* X^H for X */
};

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
/* V^H W goes to a place: element (i, j) is number i * ldx + j, the same bits as above. Numbers between rows are not
   touched. On one rank nobody waits for it: of several products a solver brings all to the host at once
   (wisp_slot_read). */
WISP_API wisp_status wisp_tsm_gram_at(wisp_place X, int64_t ldx, const wisp_blk *V, const wisp_blk *W, unsigned flags);
/* W = alpha V X + beta W; X[i * ldx + j] as above, rounded with alpha to the blocks' type. beta = 0 never reads W.
   In place if W and V are the same memory (W may be a view of V's first columns); they must not overlap otherwise.
   The same bits for any number of threads. Where X is upper triangular, half of the work is left out. */
WISP_API wisp_status wisp_tsm_update(wisp_blk *W, wisp_scalar alpha, const wisp_blk *V, const wisp_scalar *X,
                                     int64_t ldx, wisp_scalar beta);
/* The same with X in a place: element (i, j) is number i * ldx + j, or, with WISP_ADJOINT in flags, the conjugate of
   number j * ldx + i. So W -= V (V^H W) is wisp_tsm_gram_at and this with alpha = -1, and nobody waits. Of X for real
   blocks the real parts are taken. Where a device has memory of its own all of X counts, also what is 0. */
WISP_API wisp_status wisp_tsm_update_at(wisp_blk *W, wisp_scalar alpha, const wisp_blk *V, wisp_place X, int64_t ldx,
                                        wisp_scalar beta, unsigned flags);

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
    /* Places that, where they have a slot, stand for the arrays of these names. All of dot's rows are written then,
       those that are not asked for with 0. Of factors for real blocks the real parts are taken. */
    wisp_place shift_at, add_at, dot_at;
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
    int *depth_used;      /* becomes the depth of the first steps; those left over at the end may have a smaller one. */
                          /* 1 where steps can't be interleaved (several ranks, operators, ..). May be NULL */
    const wisp_blk *u;    /* apart from the blocks of v and z; for add, and for DOT_UY */
    const wisp_scalar *add; /* [steps][width]; NULL: nothing is added */
    wisp_place dot_at;      /* where it has a slot: the dots go there, in the order of dot; all rows are written */
    int64_t near;           /* of a matrix of wisp_src_near (see wisp_mat_info.near_rows): 1 + how many steps of this */
                            /* series were made before, from a first v[0] that was zero but on the given rows. The */
                            /* first step of all does all rows; then those that are not reached yet are 0 in both */
                            /* stored blocks, of which there are 2, and are left alone. It does not go with add. 0: */
                            /* every step does all rows */
} wisp_mpk_opts;

/* Steps of a three-term recurrence with a square matrix: matrix powers, Chebyshev and Newton bases are settings of the
   coefficients (level-based blocking: Alappat et al. 2022; the fused step: KPM paper, fig. 5). v_-1 and v_0 are given;
   v_i is stored in v[(i + 1) % stored], stored >= 2. With 2 blocks v[k+1] takes the place of v[k-1] (Chebyshev); with
   steps + 2 all are kept. beta_k = 0 never reads v[k-1]: so with beta_0 = 0 v_-1 is not read, and v[0] may be NULL if
   all are kept. A call is continued by another one that is given the last two blocks. Each step is one of wisp_spmmv,
   bit by bit, with SCALE where there is alpha and SHIFT where there is gamma; types, maps and statuses are as there. No
   two blocks of v and z may overlap. Dots are summed over the ranks once, at the end. */
WISP_SIZED wisp_status wisp_mpk(wisp_blk *const *v, int stored, const wisp_mat *A, const wisp_mpk_opts *opts);

/* What a call will take, as far as it is known before the call, on this rank. */
typedef struct {
    int64_t bytes;      /* that the call holds beside what it is given (matrix, blocks): about, */
    int64_t bytes_most; /* and at most */
    double products;    /* of A with one vector. NaN (so are the numbers below): not known before the call */
    double sweeps;      /* over the matrix; steps that are interleaved count each */
    double seconds;     /* by the model of docs/model.md, or by what was timed */
    double iteration_bytes, iteration_seconds; /* of an iteration, where it is their number that is not known: least */
                                               /* traffic, and time; else NaN */
    int64_t device_bytes; /* of wisp_eig, among `bytes`: about what a device with memory of its own has of them, but */
                          /* for what it holds for its calls; the rest is the host's. Else 0: it is not told apart */
} wisp_plan;
/* For those who write plans: bytes of a call's lists, options and other small arrays; and what a dot of so many columns
   over so many rows holds at most, the sums of row blocks. */
enum { WISP_PLAN_LITTLE = 16 << 10 };
static inline double wisp_dot_bytes(double rows, double columns)
{
    const double blocks = rows < 1024 ? rows : 1024, each = 32; /* of a column */
    return blocks * each * columns;
}
/* Bytes of the sums that wisp_tsm_gram has at most, for v and w columns of this type with so many rows on this rank. */
WISP_API double wisp_tsm_gram_bytes(wisp_ctx *ctx, wisp_type type, double rows, double v, double w);
/* *plan becomes what wisp_mpk with such options will take, for blocks of this type (DEFAULT: the matrix's) and width.
   A: what is known of the matrix, from wisp_mat_plan, wisp_mat_bound (only with this one bytes_most holds before the
   matrix is there) or wisp_mat_get_info. step: what wisp_src_choose or wisp_mat_choose found for the columns of all
   these blocks; NULL: seconds are not known. Of the arrays and blocks in *opts it counts alone whether they are there.
   WISP_ERR_ARG: the type does not go with A. */
WISP_SIZED wisp_status wisp_mpk_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                                     const wisp_mpk_opts *opts, const wisp_choice *step);

/* *cost becomes the cost of wisp_spmmv with these terms on this rank, for blocks of this type and width (WISP_ERR_ARG:
   they do not go with A). Bytes are those of the matrix as it is stored (without padding and row lengths), of x (with
   the rows of other ranks that it has for A) and u once, and of y and z once for each direction. For an operator they
   are what its cost() says, and those of the terms, op by op; without a cost() the function's x and y count once, and
   its arithmetic and all else that it reads do not. */
WISP_SIZED wisp_status wisp_spmmv_cost(const wisp_mat *A, wisp_type type, int width, unsigned terms, wisp_cost *cost);

/* ---- updates and dots in one pass ---------------------------------------------------------------- */

/* c_j x_j for each column j; with `rows`, row i of x is also multiplied by row i of `rows`. */
typedef struct {
    const wisp_blk *x;
    const wisp_scalar *factor; /* [width] c; NULL: 1 */
    const wisp_blk *rows;      /* a block of width 1 of the same map and type (a diagonal matrix); NULL: 1 */
    wisp_place factor_at; /* where it has a slot: factor is there. Of those for real blocks the real parts are taken; */
                          /* a term whose factors are all 0 may be left out, or not */
} wisp_term;
typedef struct { /* y = the sum of the terms, in their order (on a GPU those whose x is y come first) */
    wisp_blk *y;
    int terms;             /* 1 or more */
    const wisp_term *term; /* [terms]; their x may be y */
} wisp_update;
typedef struct { /* dot[j] = <x_j, y_j> = sum of conj(x) y; with `rows`: <x_j, rows y_j> */
    const wisp_blk *x, *y;
    const wisp_blk *rows; /* as in wisp_term */
    wisp_scalar *dot;     /* [width] */
    wisp_place dot_at;    /* where it has a slot: the dot goes there */
} wisp_inner;
/* One pass over a set of blocks that carries out a list of updates, row by row in the order of the list (an update
   sees the results of those before it in the list), and then a list of dots of the results: the vector work of an
   iteration of a Krylov method (Rupp et al. 2016, SIAM J. Sci. Comput. 38, C412). Each block comes from memory once,
   and goes there once. All blocks have one map, rows, type and width (WISP_ERR_MISMATCH); they are the same memory or
   do not overlap, and a block of `rows` overlaps none that is written (WISP_ERR_ARG). Real blocks take no complex
   factors (WISP_ERR_ARG). A term whose factors are all 0 is left out: its x is not read. Dots are summed over the
   ranks; with WISP_NOREDUCE in flags they stay local to this rank, for wisp_ctx_sum. They have the same bits for any
   number of threads; the last ones may be others in another list. Either list may be empty. All ranks make this call
   together. */
WISP_API wisp_status wisp_fuse(const wisp_update *update, int updates, const wisp_inner *inner, int inners,
                               unsigned flags);
/* *plan becomes what calls of wisp_fuse will take, for so many local rows, terms of all updates, and dots. */
WISP_SIZED wisp_status wisp_fuse_plan(wisp_plan *plan, wisp_ctx *ctx, int64_t rows, wisp_type type, int width,
                                      int terms, int dots);
/* *cost becomes the cost of wisp_fuse on this rank: each block once in each direction that it is needed. */
WISP_SIZED wisp_status wisp_fuse_cost(const wisp_update *update, int updates, const wisp_inner *inner, int inners,
                                      wisp_cost *cost);

/* What ops on a context have done so far: passes over block vectors (a product of one step, an op on blocks, a pass of
   wisp_fuse; a call of wisp_mpk counts its steps), products with a matrix among them, and reductions (sums over the
   ranks, of any number of dots at once; also counted where there is one rank). And what this rank has sent to others
   for products: messages, and bytes in them. Round trips: how often a call waited until numbers or memory of the device
   were there for the host (dots; wisp_blk_lend, wisp_blk_get and their like), or work was done (wisp_ctx_finish),
   without those that only several ranks need; counted on the CPU as on a device that is far from the host (but
   for factors of places that a product with an operator brings there). */
typedef struct {
    int64_t passes, products, reductions;
    int64_t messages, sent_bytes;
    int64_t round_trips;
} wisp_counts;
WISP_SIZED void wisp_ctx_counts(const wisp_ctx *ctx, wisp_counts *counts);

/* Waits until all is done that calls on this context have begun. An op may return while the device still works; what
   fails there is told by the next call that waits, or by this one. On the CPU there is nothing to wait for. */
WISP_API wisp_status wisp_ctx_finish(wisp_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
