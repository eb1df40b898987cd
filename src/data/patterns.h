/* Pieces and bundles: two further forms of row patterns, which are made beside them where they pay, for kernels that
   take them (kernel/params.h). */
#ifndef WISP_PATTERNS_H
#define WISP_PATTERNS_H
#include "data.h"

/* Whether a part (0: real, 1: imaginary) of an entry of a pattern, with this value, is a product of its own: it is not
   zero, or is all there is of the entry. The diagonal that is stored apart is no part of the pattern. */
static inline bool wisp__is_piece(const wisp__stored *s, int64_t entry, wisp_scalar v, int part)
{
    if (s->diagonal && s->col[entry] == 0) return false;
    return part ? v.im != 0 : v.re != 0 || v.im == 0;
}
static inline wisp_scalar wisp__pattern_value(const wisp_mat *A, int64_t entry)
{
    return wisp__load(A->type, (const char *)A->local.val + (size_t)entry * wisp_type_size(A->type));
}

/* Make the pieces (of a complex matrix) and the bundles (of one for blocks of width 1) of a matrix with patterns
   that is else complete, where they pay; otherwise nothing. */
wisp_status wisp__pieces_find(wisp_mat *A);
wisp_status wisp__bundles_find(wisp_mat *A);
int64_t wisp__pieces_bytes(const wisp_mat *A);
/* The most that pieces take, of so many patterns with so many entries in all. */
int64_t wisp__pieces_most(wisp_type type, int64_t patterns, int64_t entries);
int64_t wisp__bundles_bytes(const wisp_mat *A);
/* Rows in a bundle: less than 2 if the instruction set has none for this type. */
int wisp__bundle_rows(const wisp_ctx *ctx, wisp_type type);
/* The most that is held for bundles of a matrix of so many rows of at most `longest` entries, while they are made (0:
   there are none of this type). */
int64_t wisp__bundles_most(const wisp_ctx *ctx, wisp_type type, int64_t rows, int64_t longest);
#endif
