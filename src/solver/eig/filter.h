/* Polynomial filters for Chebyshev filter diagonalization: which one, of which degree, takes fewest products. Plain
   numbers: no matrix is known here. */
#ifndef WISP_FILTER_H
#define WISP_FILTER_H
#include "../solver.h"

/* The number of eigenvalues between two energies. */
typedef double (*wisp__states_fn)(void *arg, double from, double to);

typedef struct {
    double lowest, highest; /* of the spectrum */
    double low, high;       /* the target: its eigenvalues are wanted */
    double rows;
    int search;       /* columns of the search space, more than there are eigenvalues in the target */
    double gain;      /* natural logarithm: by how much all that lies outside has to be damped against the target */
    double most_peak; /* the same: the largest filter value over those outside that a round may have */
    int most_degree;  /* that a round may have, in products */
    int most_terms;   /* of a series: it takes long to find, in proportion to its terms */
    wisp__states_fn states;
    void *states_arg;
} wisp__filter_want;

typedef struct {
    wisp_filter f;
    int rounds;      /* that the gain takes */
    double products; /* of one column, in all these rounds */
    double edge;     /* natural logarithm of the least |p| in the target over the largest outside the search space */
    double first;    /* the same of the first round, from random columns: the sum over what lies outside counts */
    double peak;     /* the largest |p| over the largest outside */
} wisp__filter_plan;

/* The distance r, up to `most`, at which from - r .. to + r holds so many eigenvalues, to 1e-5 of it and of `unit`.
   side: -1, 1: on that side alone; 0: on both. */
double wisp__filter_reach(wisp__states_fn fn, void *arg, double from, double to, int side, double most, double unit,
                          double count);
/* The best filter for a search space of this size. plan->f.c is to be freed. WISP_ERR_NOMEM. */
wisp_status wisp__filter_choose(wisp_ctx *ctx, const wisp__filter_want *want, wisp__filter_plan *plan);
/* The same filter with as many terms as a round takes that gains at least so much (a natural logarithm); or, where
   its terms depend on their number, as it is. */
int wisp__filter_terms(const wisp__filter_plan *plan, double gain);
#endif
