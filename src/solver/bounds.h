/* Spectral bounds: the search (bounds.c), and its options, sizes and plan (bounds_plan.c). */
#ifndef WISP_BOUNDS_H
#define WISP_BOUNDS_H
#include "solver.h"

/* Runs side by side, and steps, at most. */
enum { WISP__BOUNDS_RUNS = 8, WISP__BOUNDS_STEPS = 256 };
#define WISP__BOUNDS_FAILURE 1e-8 /* the chance of it */
/* Room, in halfwidths, between the spectrum and the bounds, however exact these are (Weisse et al. 2006, eq. 24): near
   the edge a Chebyshev recurrence amplifies rounding, and at it the density of states has a pole. */
#define WISP__BOUNDS_ROOM 0.01

/* By how much the spectrum may reach beyond the Ritz values, over the spread of these; infinity: too much. */
double wisp__bounds_margin(double rows, int columns, int steps);
/* Lanczos runs and steps of each, at most; both 0 where there are none. */
void wisp__bounds_size(const wisp_mat_info *A, const wisp_bounds_opts *opts, int *columns, int *steps);

/* ---- bounds_runs.c ---- */

/* Lanczos runs of (A - center) / scale side by side, each with a column of blocks. The struct is the first member of
   that of who makes the steps. */
typedef struct wisp__runs {
    wisp_ctx *ctx;
    wisp_status (*start)(struct wisp__runs *r);       /* from random vectors */
    wisp_status (*step)(struct wisp__runs *r, int j); /* alpha[..][j], and beta[..][j] by wisp__run_goes_on */
    double rows, center, scale;
    double room; /* WISP__BOUNDS_ROOM; 0: the bounds are to be near, and on no grid */
    int columns, steps;
    int length[WISP__BOUNDS_RUNS];                       /* steps of each column */
    double alpha[WISP__BOUNDS_RUNS][WISP__BOUNDS_STEPS]; /* the tridiagonal matrices */
    double beta[WISP__BOUNDS_RUNS][WISP__BOUNDS_STEPS];
} wisp__runs;
/* Whether column i has a step after j, whose beta is this one; -1: before the first. A beta up to `tiny` is rounding:
   the column's Krylov space is complete. */
bool wisp__run_goes_on(wisp__runs *r, int i, int j, double beta, double tiny);
/* Narrows low..high, which Gershgorin gave (or nobody: they are infinite), to the Ritz values and their margin, if that
   is less. *probability: that they are wrong, where it is more than was. */
wisp_status wisp__runs_narrow(wisp__runs *r, double *low, double *high, double *probability);
/* The interval as center and halfwidth: widened by rounding, and never so narrow that (A - center) / halfwidth would
   be rounding alone. */
wisp_bounds wisp__bounds_interval(double low, double high, double eps, double probability);
#endif
