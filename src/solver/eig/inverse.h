/* (A - shift I)^-1, by the user's function or by factors of the library's own, for Krylov spaces of it. Of a pencil's C
   by those of A - shift S. */
#ifndef WISP_INVERSE_H
#define WISP_INVERSE_H
#include "arnoldi.h"

/* For k->o; k->inverse becomes it. A plan has its memory and flops at once; nothing is factored yet. */
wisp_status wisp__inverse_open(wisp__eig *k);
void wisp__inverse_close(wisp__eig *k);
/* Once k's bounds and scale are known, if it has any: factors. The shift is the target, or near it where that is too
   near to an eigenvalue. */
wisp_status wisp__inverse_begin(wisp__inverse *v);
/* The user's target: that of k->o may be another one, from which values have the same order. */
double wisp__inverse_asked(const wisp__inverse *v);
/* For residuals that stay above the tolerance in force: a larger one takes its place, up to that which was asked for.
   false: that is in force already. */
bool wisp__inverse_loosen(wisp__inverse *v);
/* The operator, on A's map. */
const wisp_mat *wisp__inverse_matrix(const wisp__inverse *v);
wisp__op wisp__inverse_op(const wisp__inverse *v);
/* Whether it tells how many eigenvalues lie below a number. */
bool wisp__inverse_counts(const wisp__inverse *v);
/* How many eigenvalues A has below the number; -1: nothing tells. */
wisp_status wisp__inverse_below(wisp__inverse *v, double shift, int64_t *below);
/* So far a value may be from that which is counted, over the largest |value|. */
double wisp__inverse_count_error(const wisp__inverse *v);
/* Whether there will be factors of a pencil's S; makes them, WISP_ERR_NUMERIC: it is not positive definite; and
   y = T^-1 x, which may be x; and length[width], |T^-1/2 x|. Where others were made meanwhile, they are made anew. */
bool wisp__inverse_has_S(const wisp__inverse *v);
wisp_status wisp__inverse_factor_S(wisp__inverse *v);
wisp_status wisp__inverse_of_S(wisp__inverse *v, wisp_blk *y, const wisp_blk *x);
wisp_status wisp__inverse_length(wisp__inverse *v, const wisp_blk *x, double *length);
/* Of a pencil without roots: the condition of S, and |A| over |S|, in k's units; both about. */
void wisp__inverse_take_sizes(wisp__inverse *v, double condition, double of_A);
/* Where A is the C of a pencil: that, and the operator has its vectors: it is self-adjoint in their inner product by T.
   Else NULL. */
const wisp__pencil *wisp__inverse_pencil(const wisp__inverse *v);
/* "A - target I", or that of a pencil. */
const char *wisp__inverse_of(const wisp__inverse *v);
/* What it holds at most beside what the library counts. */
int64_t wisp__inverse_bytes(const wisp__inverse *v);
/* Of a whole search with factors, in flops of dense kernels on all threads. */
double wisp__inverse_work(const wisp__inverse *v);
/* Flops to factor once; 0: the user's function. */
double wisp__inverse_flops(const wisp__inverse *v);
#endif
