/* The properties of a matrix, of the rows of this rank (props.c) and of all ranks (props_ranks.c); what
   both need is in props_pairs.c. */
#ifndef WISP_PROPS_H
#define WISP_PROPS_H
#include "halo.h"

/* The value at (row, col), both positions; *found says whether it is stored. */
wisp_scalar wisp__value_at(const wisp_mat *A, int64_t row, int64_t col, bool *found);
/* Whether w, the entry at (j, i) if there is one, is the conjugate of v, the one at (i, j); p is told. */
bool wisp__props_compare(wisp_mat_props *p, int64_t i, int64_t j, wisp_scalar v, wisp_scalar w, bool found);
/* The properties of two sets of rows together. */
void wisp__props_merge(wisp_mat_props *p, const wisp_mat_props *q);
/* Entries whose partners other ranks have. */
wisp_status wisp__props_across(const wisp_mat *A, wisp_mat_props *p);
/* All ranks' properties together; sum2, too. */
wisp_status wisp__props_of_ranks(const wisp_mat *A, wisp_mat_props *p, double *sum2);

/* Bytes of the tables for rows that repeat, at most: less than any block that comes after them. */
static inline int64_t wisp__props_tables(int64_t rows) { return (8 << 10) + 4 * rows; }
#endif
