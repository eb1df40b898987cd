/* What the making of matrices, their renewal and its plan share. */
#ifndef WISP_ASSEMBLE_H
#define WISP_ASSEMBLE_H
#include "rows.h"

/* Refuses a source that can't be a matrix here. */
wisp_status wisp__src_check(wisp_ctx *ctx, const wisp_src *src);
/* The shape of a new matrix from the options: type, C, sigma (0: to be found from the row lengths), order, format. */
wisp_status wisp__mat_shape(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *o, wisp_mat *A);
#endif
