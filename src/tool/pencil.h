/* A x = lambda S x: --overlap of wisp eig, dos and count. */
#ifndef WISP_TOOL_PENCIL_H
#define WISP_TOOL_PENCIL_H
#include "out/out.h"

typedef struct {
    wisp_src src;
    const wisp_mat *A; /* where there is C */
    wisp_mat *S, *C;   /* C = S^-1/2 A S^-1/2; NULL: there is no S */
    wisp_overlap *overlap;
    wisp_overlap_info info;
    double unit;   /* by which residuals are divided, where rounding asks for it; 0: the halfwidth, or 1 */
    int64_t bytes; /* of S */
    uint64_t hash; /* of it, where there are checkpoints */
} pencil;

int pencil_check(tool *t); /* options that do not go with it */
int pencil_open(tool *t, pencil *p, int64_t rows);
wisp_status pencil_items(const pencil *p, wisp_state *s);              /* what a kept state knows S by */
wisp_mat_opts pencil_options(const pencil *p, wisp_type A, int width); /* of S, beside an A of this type */
int pencil_measure(tool *t, pencil *p, wisp_type A, int width); /* finds p->info alone, of a run that is planned */
/* Of A, stored in blocks of this width; the bytes of the info become those of both, its type that of C. */
int pencil_make(tool *t, pencil *p, const wisp_mat *A, int width, wisp_mat_info *info);
/* Of blocks that products with C hold beside the solver's, so many columns each. */
int64_t pencil_blocks(const pencil *p, int64_t columns, int64_t column_bytes);
/* Of pencil_finish, with so many vectors, at most. */
int64_t pencil_finish_bytes(const pencil *p, double columns, int64_t column_bytes);
/* Why a solver that was given C failed. */
int pencil_fail(tool *t, const pencil *p, wisp_status status);
/* Vectors of the pencil to those of C. */
int pencil_start(tool *t, const pencil *p, wisp_blk *x);
/* Eigenvectors of C become those of the pencil, with residuals, as *e has them, and orthogonality by A and S.
   tolerance: that residuals are held against, and whether it is an absolute one. */
int pencil_finish(tool *t, pencil *p, const wisp_mat *A, wisp_eigen *e, double tolerance, bool absolute);
/* By how much the error of S^-1/2 moves eigenvalues of C, whose bounds these are, at most. */
double pencil_error(const pencil *p, const wisp_bounds *C);
json_t *pencil_json(const tool *t, const pencil *p);
void pencil_summary(const tool *t, const pencil *p);
void pencil_close(pencil *p); /* what is told of it stays; before A is freed */
#endif
