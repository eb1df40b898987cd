/* Moments of two operators: the options with all defaults filled in, and the sizes that follow (kubo_opts.c), for the
   run itself (kubo.c). */
#ifndef WISP_KUBO_H
#define WISP_KUBO_H
#include "../solver.h"

/* Of left vectors in a block, over the columns of a right one: a product reads each left block once for so many right
   columns. */
enum { WISP__LEFT_OVER_RIGHT = 2 };
/* Vectors that are made one after the other before they become columns of a block, all in one pass over it: a line of
   memory has several columns of a row. So many at most, and no more than a right block has columns. */
enum { WISP__GROUP = 16 };
static inline int wisp__kubo_group(const wisp_kubo_opts *o) { return o->width < WISP__GROUP ? o->width : WISP__GROUP; }

/* Fills in every default and checks what does not need the matrices' entries. */
wisp_status wisp__kubo_options(wisp_kubo_opts *full, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_mat_info *V_a,
                               const wisp_mat_info *V_b, const wisp_kubo_opts *opts);
/* Vectors of the whole run; sweeps over A of one of them. */
static inline int64_t wisp__kubo_vectors(const wisp_kubo_opts *o, int64_t rows)
{
    return o->trace == WISP_TRACE_EXACT ? rows : o->vectors;
}
static inline int64_t wisp__kubo_sweeps(const wisp_kubo_opts *o)
{
    return (o->moments - 1) * (1 + (o->moments + o->left - 1) / o->left);
}
wisp_bounds_opts wisp__kubo_bounds_opts(const wisp_kubo_opts *o, int64_t rows);

/* Two vectors of a recurrence: T_k and, where k > 0, T_k-1 (before). */
typedef struct {
    wisp_blk *before, *v;
    int64_t k;
} wisp__kubo_sequence;

/* How far the moments are there: those of earlier vectors; of this one, the left vectors before j with all right ones,
   and those that are held from j on with the right ones before l. */
typedef struct {
    int64_t vector, j, l, sweeps; /* sweeps that it took, as an uninterrupted run counts them, and operations */
    double flops;
} wisp__kubo_place;

typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *A, *V_a, *V_b;
    const wisp_kubo_opts *o; /* with every default filled in */
    wisp_moments *m;
    wisp__kubo_sequence left, right;
    wisp_blk *next[WISP__GROUP]; /* what either becomes, until it is among the columns of a block */
    wisp_blk **block;            /* [blocks] of left vectors, of so many columns but for the last one */
    int blocks, columns;
    wisp_blk *wide;   /* of left vectors that are held in single precision, a block of them in double; else NULL */
    wisp_blk *x, *y;  /* right vectors, and V_b times these */
    wisp_scalar *dot; /* [columns][width] */
    double norm;      /* of |r> */
    double edge;      /* see wisp__rounded_edge */
    int64_t sweeps, all_sweeps;
    double flops, sweep_flops, dot_flops; /* so far; of a sweep; of an element of a product of two blocks */
    double *re, *im;                      /* [M][M] of the vector at hand */
    double *one;                          /* of an exact trace: where both are */
    wisp__kubo_place at, from;            /* from: of the kept state that this vector goes on from, else zeros */
    bool again;                           /* what is made now is not counted: it was, before the run was interrupted */
    wisp_state *live;                     /* NULL: it is not offered */
    double before, began;                 /* seconds of earlier runs; when this one began */
} wisp__kubo_run;

/* kubo_state.c: the state between two blocks of right vectors (a wisp_items_fn). */
wisp_status wisp__kubo_items(void *k, wisp_state *s);
#endif
