/* wisp apply: what it works on, its plan and its results. */
#ifndef WISP_TOOL_APPLY_H
#define WISP_TOOL_APPLY_H
#include "../tool.h"

typedef struct {
    wisp_mat *A;
    wisp_mat_info info;
    wisp_type type; /* of the vectors */
    int width;
    wisp_blk *v; /* x, and then f(A) x */
    wisp_function f;
    wisp_scalar *c; /* of --series; NULL without */
    wisp_chebyshev_opts opts;
    wisp_expansion e;
    wisp_bounds_method method; /* by which bounds are found */
    double bounds_seconds;
    double largest;               /* |f| on the bounds, at most */
    double *norm;                 /* [2][width] of x, and of f(A) x */
    uint64_t start;               /* a hash of the file's vectors */
    int64_t reading, start_bytes; /* the most that was held when the files were open; what that of x holds */
    double assemble_seconds, total_seconds;
} apply_run;

const char *apply_function(const tool *t, char *buf); /* as on the command line; TEXT bytes */
/* How far column j of y may be off, about: by the series, and by rounding. */
double apply_off(const apply_run *r, int j);

/* series.c: r->f of the file of --series, all ranks together. */
int series_read(tool *t, apply_run *r);

/* apply_plan.c: when the files are open. */
int apply_plan_show(tool *t, const apply_run *r, const wisp_src *src, const wisp_mat_opts *mo);
int apply_plan_check(tool *t, const apply_run *r, const wisp_src *src, const wisp_mat_opts *mo);

/* apply_out.c: the summary, and then -o and --json. */
int apply_write(tool *t, const apply_run *r);
#endif
