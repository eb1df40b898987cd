/* What the ops share. */
#ifndef WISP_OP_H
#define WISP_OP_H
#include "../data/data.h"

/* Adds partial[blocks][size] up in a fixed tree; the sum is in partial[0]. */
void wisp__tree_sum(double *partial, int64_t blocks, size_t size);
/* Both blocks have one map, shape and type. */
wisp_status wisp__same_shape(const char *op, const wisp_blk *y, const wisp_blk *x);
/* Whether two blocks share an element. */
bool wisp__overlap(const wisp_blk *x, const wisp_blk *y);
#endif
