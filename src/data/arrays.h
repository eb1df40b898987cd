/* CRS arrays of the user (wisp_crs), with integers of 32 or 64 bits. */
#ifndef WISP_ARRAYS_H
#define WISP_ARRAYS_H
#include "../base/base.h"

/* Refuses arrays that are no matrix. `function` is the public one that was given them, for messages. *max_row becomes
   the length of the longest row, *unordered the first row whose columns do not rise, or -1. */
wisp_status wisp__arrays_check(wisp_ctx *ctx, const wisp_crs *a, const char *function, int64_t *max_row,
                               int64_t *unordered);

static inline int64_t wisp__arrays_begin(const wisp_crs *a, int64_t row)
{
    return wisp__int_at(a->rowptr, a->rowptr_int, row);
}
static inline int64_t wisp__arrays_col(const wisp_crs *a, int64_t k) { return wisp__int_at(a->col, a->col_int, k); }
#endif
