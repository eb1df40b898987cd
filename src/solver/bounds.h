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
/* The lowest eigenvalue of a symmetric tridiagonal matrix, or its highest. */
double wisp__tridiagonal_edge(int n, const double *diagonal, const double *beside, int highest);
/* Bounds from the outermost Ritz values of so many runs of so many steps, where nothing else is known. */
wisp_bounds wisp__bounds_of_runs(double lowest, double highest, double rows, int columns, int steps, double eps);
/* Lanczos runs and steps of each, at most; both 0 where there are none. */
void wisp__bounds_size(const wisp_mat_info *A, const wisp_bounds_opts *opts, int *columns, int *steps);
#endif
