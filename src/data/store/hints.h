/* Hints, which are added to a matrix when its entries are stored, so that kernels gather and prefetch less. */
#ifndef WISP_HINTS_H
#define WISP_HINTS_H
#include "../../model/model.h"
#include "../data.h"

/* Which rows of a matrix in SELL that is else complete have columns that follow one another (local.follow). */
wisp_status wisp__find_follow(wisp_mat *A);
/* Which entries of a matrix that is else complete gather from afar, for blocks of its usual width (local.fresh): block
   rows that were last met more bytes ago than stay near (wisp__near_bytes). */
wisp_status wisp__find_fresh(wisp_mat *A);
/* Bytes of that for a matrix of this shape and size with so many patterns (0: none), or with lists, and what is held
   besides while it is made; both 0 where it is not. */
void wisp__fresh_bytes(const wisp_mat *A, int64_t patterns, bool lists, int64_t bytes, int64_t *kept, int64_t *making);
#endif
