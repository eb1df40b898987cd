/* What the conductivities of moments share: their options and arguments, weights of filled states, and bars (sigma.c).
 */
#ifndef WISP_SIGMA_H
#define WISP_SIGMA_H
#include "../solver.h"

static const double wisp__pi = 3.14159265358979323846;

/* Fills in every default of opts, and checks them, the moments, the temperature and count numbers x, called `what`, for
   a function of this name. */
wisp_status wisp__sigma_check(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts, wisp_sigma_opts *full,
                              double temperature, int64_t count, const double *x, const char *what, const char *caller);
/* *g becomes the damping of each of full->n polynomials, half of it for number 0; freed by wisp_free. */
wisp_status wisp__sigma_damping(wisp_ctx *ctx, const wisp_sigma_opts *full, double **g);
/* f(a) - f(b) of Fermi's function, a <= b over the chemical potential, to its last digits, also where both are nearly
   the same; and its mean where the first goes from a to b while the other one goes evenly from to_a to to_b. */
double wisp__fermi_drop(double a, double b, double temperature);
double wisp__fermi_drop_mean(double a, double b, double to_a, double to_b, double temperature);
/* The mean of (f(e - step) - f(e)) / step while e goes from a to b > a, to its last digits for any step > 0: of a small
   one it is minus the mean slope of f. */
double wisp__fermi_drop_rate(double a, double b, double step, double temperature);
/* sum of c_l cos lt + s_l sin lt, l < terms, by Clenshaw's recurrence; x = cos t, y = sin t. s may be NULL: 0. */
double wisp__sigma_series(const double *c, const double *s, int64_t terms, double x, double y);
/* The mean of value[i * stride] of each vector, with Student's bar. WISP_ERR_NUMERIC: it is too large for a number; the
   message says at which x. */
wisp_status wisp__sigma_estimate(wisp_ctx *ctx, const wisp_moments *m, const double *value, int64_t stride, double x,
                                 wisp_estimate *sigma);
#endif
