/* What matrices of a run do to a vector: by that its moments are told from those of other matrices. */
#ifndef WISP_MARKS_H
#define WISP_MARKS_H
#include "solver.h"

/* mark[3] becomes |M r| and <s|M r>/|M r|, with the same random |r> and |s> in each run: the same on any layout, but
   for rounding. x and y, blocks of one width, are overwritten; dot has room for as many. */
wisp_status wisp__mark(double *mark, const wisp_mat *M, wisp_blk *x, wisp_blk *y, wisp_scalar *dot);
/* Whether mark[which] of both is known, and they are of different matrices. */
bool wisp__marks_differ(const wisp_moments *a, const wisp_moments *b, int which);
#endif
