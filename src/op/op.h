/* What the ops share. */
#ifndef WISP_OP_H
#define WISP_OP_H
#include "../data/data.h"

/* Adds partial[blocks][size] up in a fixed tree; the sum is in partial[0]. */
void wisp__tree_sum(double *partial, int64_t blocks, size_t size);
/* The same of sums with their rounding errors, partial[blocks][2][size]. */
void wisp__tree_sum_compensated(double *partial, int64_t blocks, size_t size);
/* a += b, compensated if error (that of a) is not NULL; b_error belongs to b. */
static inline void wisp__add(double *a, double *error, double b, double b_error)
{
    const double old = *a, s = old + b, bb = s - old;
    *a = s;
    if (error) *error += b_error + ((old - (s - bb)) + (b - bb));
}
/* sum[n] with its errors becomes the compensated sum over the processes. */
wisp_status wisp__sum_compensated(wisp_ctx *ctx, double *sum, double *error, size_t n);
/* How sums over rows are cut into blocks: as wisp__rows_per_block, but all blocks' sums, `size` each, are not much more
   than `most` (one thread adds them up), and a block is at least some strips. */
int64_t wisp__rows_per_sum(int64_t rows, size_t size, size_t most, int strips);
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
