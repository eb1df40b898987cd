/* The files of Lanczos share this. */
#ifndef WISP_LANCZOS_H
#define WISP_LANCZOS_H
#include "arnoldi.h"

/* Bounds of so many tolerances are not far from it. */
enum { WISP__NEAR = 10 };

typedef struct {
    wisp__eig *k;
    wisp__arnoldi a;
    int m;           /* columns of V before a restart */
    wisp_scalar *Q;  /* [m][m] eigenvectors of V^H Op V; those of the ends that is wanted come first */
    double *mu;      /* [m] their values, by wisp__lanczos_size, descending */
    double *lambda;  /* [m] the values of A to them, on its scale */
    int looked;      /* so many values the last look had */
    double *bound;   /* [m] bounds of residuals |Op v - mu v| */
    int good;        /* the first Ritz vectors of the last restart whose bounds are within the tolerance */
    double *value;   /* [most] of A, to the locked columns */
    int most;        /* locked columns that may count; as many others may be locked, too */
    int most_degree; /* of Op */
    int lowered;     /* 1: values that are wanted lay where Op damps; its degree was lowered, and stays so */
    int early;       /* 1: some pairs were locked before the others, at another degree */
    double radius;   /* of an inverse: all values up to so far from the target are searched for; 0: those wanted */
    int enough;      /* a search for what is missing ends once so many were locked; 0: when there are no more */
    int beside;      /* any: so many further ones of the last multiplet the search for what is missing has met */
} wisp__lanczos;

/* The larger, the more wanted: Op's value, or its size where all values near the center are wanted. */
static inline double wisp__lanczos_size(const wisp__lanczos *L, int i)
{
    return L->a.op.inverse ? fabs(L->mu[i]) : L->mu[i];
}

/* ---- lanczos_restart.c ---- */

/* The bound of pair i, over the halfwidth of the spectrum. */
double wisp__lanczos_residual(const wisp__lanczos *L, int i);
/* V takes in a tenth more columns, or half of all at first: *to in all; then its Ritz values. To look at these takes
   little. */
wisp_status wisp__lanczos_look(wisp__lanczos *L, int *to);
/* V becomes its first `kept` Ritz vectors, and H their values. */
wisp_status wisp__lanczos_restart(wisp__lanczos *L, int kept);
/* What a restart keeps: those that are wanted, and half of the rest. */
int wisp__lanczos_kept(const wisp__lanczos *L, int wanted);
/* Residuals of the locked columns and the first n Ritz vectors, from the vectors themselves: *over is by what factor
   the latter exceed what they may have. Where that may be rounding, or restarts no longer help, all of these become
   Ritz vectors of A itself, if they are within the tolerance then. */
wisp_status wisp__lanczos_verify(wisp__lanczos *L, int n, double *over);
/* Of restarts that have changed little for a while some are so: pairs that are not far from the tolerance are worth to
   be verified. */
bool wisp__lanczos_stalls(const wisp__lanczos *L);
/* Z's columns become Ritz vectors of A itself, with these values and residuals, which exceed the tolerance by the
   factor *over; and again, multiplied by Op before, until that is 1 at most or no longer helps. What is left is
   rounding, which is another one each time. */
wisp_status wisp__lanczos_polish(wisp__lanczos *L, wisp_blk *Z, double *value, double *residual, double *over);
/* WISP_ERR_STAGNATION: the columns that were found depend on each other. */
wisp_status wisp__lanczos_dependent(const wisp__eig *k);
/* Bounds have to be smaller, but not far below rounding: they would tell nothing, and may never be as small. */
wisp_status wisp__lanczos_be_stricter(wisp__lanczos *L, double over);
/* The first n Ritz vectors of the last restart, of which wisp__lanczos_verify has told, are locked. */
void wisp__lanczos_lock(wisp__lanczos *L, int n);

/* ---- lanczos_degree.c ---- */

/* Whether a polynomial of at least twice the present degree damps all from behind the values that are wanted on, and
   which. As many values as are wanted shall stay outside of what is damped: Ritz values lie further in than those of
   A; those of random vectors tell how many there are, too. full: V has all of its columns; else only by the latter. */
bool wisp__lanczos_raises(const wisp__lanczos *L, bool full, wisp__op *op);
/* Whether values that are wanted lie where Op damps: all outside of that are good, and they are too few. *op then has
   half the degree. */
bool wisp__lanczos_lowers(const wisp__lanczos *L, int wanted, int good, wisp__op *op);
/* Op becomes *op. The first Ritz vectors, which are good, are locked, if that is right; V is made anew of those that
   follow. */
wisp_status wisp__lanczos_change(wisp__lanczos *L, const wisp__op *op, int good);
/* All that is wanted is locked: Op gets a lower degree where what is searched for next lies where it damps. */
void wisp__lanczos_fit_border(wisp__lanczos *L);

/* ---- lanczos_missing.c ---- */

/* Searches for pairs that count and were not found, and locks them. */
wisp_status wisp__lanczos_missing(wisp__lanczos *L);
/* The distance from the target that so many locked values, or all, do not exceed. */
double wisp__lanczos_distance(const wisp__lanczos *L, int count);
/* Another such search, by products with vectors alone. */
wisp_status wisp__lanczos_search(wisp__lanczos *L);

/* ---- lanczos_inverse.c: where Op is (A - center)^-1 ---- */

/* Searches until as many values were locked as A has up to beyond the last one that is wanted, by counts of those below
   two numbers. WISP_ERR_INCOMPLETE: they stay fewer; or there are no counts, so that the search alone has looked. */
wisp_status wisp__lanczos_prove(wisp__lanczos *L);
/* Of these values, ascending, those are taken that come before the first one whose residual is above the tolerance, by
   their distance from the target. */
void wisp__lanczos_nearest(const wisp__eig *k, const double *theta, const double *residual, int *first, int *found);
#endif
