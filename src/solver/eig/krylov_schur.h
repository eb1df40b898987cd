/* The files of Krylov-Schur share this. */
#ifndef WISP_KRYLOV_SCHUR_H
#define WISP_KRYLOV_SCHUR_H
#include "arnoldi.h"

/* The line or circle beyond which values count, for the search that is under way: krylov_sure.c. */
enum { WISP__PARTS = 1024 };
typedef struct {
    int set;
    int line;    /* Re z = edge, of which the parts are those from -ends to ends; 0: |z| = edge */
    int crossed; /* a restart left out a value beyond it */
    int unused;
    double edge, ends; /* of Op's values */
} wisp__outline;
/* Sums of logarithms of distances from zeros: of those that are not near, at either end; the least of the others. */
typedef struct {
    double end[2], near;
} wisp__outline_part;

typedef struct {
    wisp__eig *k;
    wisp__arnoldi a;
    int m;                      /* columns of V before a restart */
    wisp_scalar *S, *U, *X, *Y; /* [m][m] Schur form, its vectors, eigenvectors of S and of H */
    wisp_scalar *mu, *value;    /* [m] in the order of S: Op's values, and A's to them */
    int *order, *chosen;        /* [m] by how much they are wanted; for the order of S */
    double *bound, *residual;   /* [m] in the order of S: of |Op v - mu v|; of |A v - value v| over |value| */
    wisp_scalar *locked;        /* [most] values of the locked columns */
    int most;
    int most_degree;
    double sine;        /* of the pairs that the last restart put in front, see wisp__dense_schur_order */
    double wanted_sine; /* the same when all that are wanted had converged */
    double first, next; /* of a polynomial: where the first locked value's ellipse ends; the first other one's, about */
    wisp__schur_seen seen;
    int sure;       /* the first columns, whose pairs were all within the tolerance; 0: none yet */
    wisp__z *room;  /* [m] */
    bool delivered; /* the result is that of the locked columns already */
    bool rounded;   /* rounding keeps residuals above the tolerance */
    bool unfit;     /* the polynomial does not do: all begins anew with A itself */
    bool plain;     /* so it has, and stays */
    bool proven;    /* that nothing is missing */
    bool doubtful;  /* the search for what is missing came to no sure end */
    wisp__outline outline;
    wisp__outline_part *parts; /* [WISP__PARTS] */
    int beside; /* any: so many further ones of the last multiplet the search for what is missing has met */
} wisp__schur;

/* One step of a run. */
typedef struct {
    int wanted, good; /* for the user: of so many pairs so many are good, */
    double next;      /* the residual of the next one, */
    double of_norm;   /* and how much of |A| that is */
    int front, kept;  /* pairs that a restart puts in front, and that it keeps in all */
    bool anew;        /* V has begun anew: there is no restart, and nothing to take */
    bool again;       /* all has begun again: there is nothing to tell */
    bool ended;
} wisp__schur_step;
typedef wisp_status (*wisp__schur_step_fn)(wisp__schur *K, wisp__schur_step *s);

/* ---- krylov_restart.c ---- */

/* Steps until one has ended: look() has V take in columns, and says what a restart keeps of them; then take() locks
   those that count. */
wisp_status wisp__schur_run(wisp__schur *K, wisp__schur_step_fn look, wisp__schur_step_fn take);
/* V takes in columns until it has m; then the Schur form of H, its values in order, and the bounds. */
wisp_status wisp__schur_cycle(wisp__schur *K, int m);
/* How many pairs a restart keeps: half, and more as more of them are good. */
int wisp__schur_kept(const wisp__schur *K, int wanted, int good);
/* The next pair of a step is number i of S. */
void wisp__schur_next(const wisp__schur *K, wisp__schur_step *s, int i);
/* The first n columns of V, whose values lie in front, are locked. Values that a polynomial tells are no good as a
   border: they are measured afterwards, and until then the border lies where it was, or further in. */
void wisp__schur_lock(wisp__schur *K, int n);
/* By which locked value i is compared with others. */
double wisp__schur_own_key(const wisp__schur *K, int i);
/* After a polynomial: A's values in the span of the first n columns, as far as they are wanted; *right if they are
   within the tolerance. */
wisp_status wisp__schur_measure(wisp__schur *K, int n, bool *right);

/* ---- krylov_sure.c ---- */

/* A search begins, of values beyond the edge: a real one of A for a polynomial, else their key. V has its first values.
 */
void wisp__schur_outline(wisp__schur *K, double edge);
/* A restart leaves out the values from number `from` on. */
void wisp__schur_left_out(wisp__schur *K, int from);
/* No value lies beyond the edge, but for a chance of wisp__overlooked. */
bool wisp__schur_sure(const wisp__schur *K);

/* ---- krylov_missing.c ---- */

/* Searches for pairs that count and were not found, and locks them: K->proven if nothing is missing then. */
wisp_status wisp__schur_missing(wisp__schur *K);
#endif
