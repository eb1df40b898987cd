/* What is evaluated of moments. */
#ifndef WISP_VALUES_H
#define WISP_VALUES_H
#include "../solver.h"

/* Fills in the defaults and refuses what cannot be evaluated. */
wisp_status wisp__eval_options(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector,
                               wisp_eval_opts *full);
/* Refuses moments of two sides: how far a sum of them may be off is not known. */
wisp_status wisp__one_sided(wisp_ctx *ctx, const wisp_moments *m, const char *caller);
/* Whether each vector is the mean of a realization of disorder. */
static inline bool wisp__of_realizations(const wisp_moments *m)
{
    return m->trace == WISP_TRACE_RANDOM && m->realizations > 0;
}
/* dos.c: the quantile of Student's distribution for 0.975 and any number of degrees of freedom: within 1% from 2.5 on.
 */
double wisp__student_expanded(double f);

/* The sum of c_k mu_k, as far as there are moments; how far it is off at most over mu_0, for the whole function and the
   exact moments. Both times 2^-exponent, as the series. */
double wisp__series_sum(const wisp__series *s, const double *mu, int64_t n);
typedef struct {
    double truncation, rounding;
} wisp__series_errors;
/* About how far moment k may be off by rounding, at most, over mu_0 or the norms of both vectors. */
double wisp__moment_rounding(const wisp_moments *m, int64_t k);
wisp__series_errors wisp__series_error(const wisp__series *s, const wisp_moments *m);
#endif
