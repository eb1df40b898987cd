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
#endif
