/* What the ops share. */
#ifndef WISP_OP_H
#define WISP_OP_H
#include "../data/data.h"

/* Adds partial[blocks][size] up in a fixed tree; the sum is in partial[0]. */
void wisp__tree_sum(double *partial, int64_t blocks, size_t size);
/* Both blocks have one map, shape and type. */
wisp_status wisp__same_shape(const char *op, const wisp_blk *y, const wisp_blk *x);
/* Real numbers in an element. */
static inline int wisp__parts(wisp_type type) { return wisp_type_is_complex(type) ? 2 : 1; }
/* Factors f[width] (or f[0] for all columns) as kernels take them, for `period` real elements of a stream of rows:
   what multiplies the element, and what multiplies its partner in a complex pair. */
void wisp__spread(wisp_type type, const wisp_scalar *f, bool per_column, int width, int period, void *factor,
                  void *swapped);
/* Whether two blocks share an element. */
bool wisp__overlap(const wisp_blk *x, const wisp_blk *y);
#endif
