/* What the run of an evolution and its plan share: options, and which times go together. */
#ifndef WISP_EVOLVE_H
#define WISP_EVOLVE_H
#include "../solver.h"

enum { WISP__MOST_AT_ONCE = 8, WISP__EVOLVE_TERMS = WISP_SCALE | WISP_SHIFT | WISP_AXPBY };

/* The times that share one sequence. */
typedef struct {
    int count;
    int64_t first;                     /* number of the first time */
    int64_t terms[WISP__MOST_AT_ONCE]; /* of the series of each */
    int64_t most;
    double *J[WISP__MOST_AT_ONCE];
    wisp_scalar phase[WISP__MOST_AT_ONCE];
} wisp__evolve_group;

/* What the choice of a group goes by. */
typedef struct {
    int64_t times;
    const double *time;
    int at_once; /* 0: chosen */
    double halfwidth, tolerance /* of one sequence */, sweep_bytes, z_bytes;
    bool given; /* the bounds are */
} wisp__evolve_times;

/* The times from number `first` on that share one sequence from psi(base): without J and phase. */
void wisp__evolve_choose(const wisp__evolve_times *t, int64_t first, double base, wisp__evolve_group *g);
/* Checks options, with the tolerance filled in, and times, for psi of this type. */
wisp_status wisp__evolve_check(wisp_ctx *ctx, wisp_evolve_opts *o, wisp_type type, int64_t times, const double *time);
/* What is asked of wisp_bounds_find. */
wisp_bounds_opts wisp__evolve_bounds_opts(const wisp_evolve_opts *o, int width, int64_t times, const double *time);
/* *rounding becomes what rounding does, in all: the matrix itself is known to its rounding only, and so are the phases
   h t and c t. WISP_ERR_ARG: it is more than the tolerance. */
wisp_status wisp__evolve_rounding(wisp_ctx *ctx, double tolerance, const wisp_bounds *b, wisp_type type, int64_t times,
                                  const double *time, double *rounding);
#endif
