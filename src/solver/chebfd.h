/* Chebyshev filter diagonalization: what its parts share. */
#ifndef WISP_CHEBFD_H
#define WISP_CHEBFD_H
#include "eigen.h"
#include "filter.h"

enum { WISP__FILTER_BLOCKS = 4 };
/* Of a product in single precision, about, over that of one in double precision. */
static const double wisp__single_time = 0.6;

typedef struct {
    wisp__eig *k;
    wisp_moments *m;        /* of the density of states; the result's */
    wisp_moments mean;      /* of its vectors, as one */
    double low, high;       /* the target */
    double wanted;          /* eigenvalues in it, by the density */
    wisp__filter_plan plan; /* the first round's filter */
    int search;             /* columns of the search space; 0: no filter does */
    int width;              /* of the blocks that are filtered */
    bool is_single;         /* the filter's products are of single precision, the space is not */
    bool may_be_single, must_be_single;
    wisp_mat *copy;                   /* of A in single precision; NULL: A itself, which takes such blocks */
    wisp_blk *v[WISP__FILTER_BLOCKS]; /* of that width and the filter's type */
    wisp_blk *exact[2];               /* is_single: likewise, of the space's type */
    wisp_blk *space;                  /* [search] */
    int columns;                      /* of it that hold vectors: the first ones */
    int known;                        /* the first of them are Ritz vectors, with their values in theta */
    double *theta;                    /* [search] Ritz values and residuals of the columns */
    double *residual;
    int *order;    /* [search] */
    int locked;    /* the first columns are pairs that have converged, and stay */
    int random;    /* random columns that were taken so far */
    int least;     /* columns that the space shall have at least */
    bool filtered; /* a round with this filter has been */
    double gain;   /* natural logarithm: what lies in the target is damped so much less than all outside */
    bool whole;    /* the space would be all there is: the dense method answers */
    double done;   /* products so far, for progress */
} wisp__chebfd;

void wisp__chebfd_free(wisp__chebfd *c);

/* ---- chebfd_look.c ---- */

/* Bounds, the density of states, the target, the size of the search space and the filter. */
wisp_status wisp__chebfd_look(wisp__chebfd *c);
/* Another size of the search space, for so many eigenvalues in the target; it never shrinks. */
wisp_status wisp__chebfd_enlarge(wisp__chebfd *c, double wanted);
/* NEAREST: a wider target, as the one before held fewer eigenvalues than were asked for. */
wisp_status wisp__chebfd_widen(wisp__chebfd *c, int found);
/* The filter is of double precision from the next choice on. */
void wisp__chebfd_give_up_single(wisp__chebfd *c);
/* The space would be nearly all there is, and the matrix is small: the dense method answers. */
bool wisp__chebfd_is_whole(const wisp__chebfd *c);
/* There is no filter: the message says why. */
wisp_status wisp__chebfd_refuse(const wisp__chebfd *c);
/* Bytes that a run holds beside the matrix. */
int64_t wisp__chebfd_memory(const wisp__chebfd *c);
/* Whether theta[n], the eigenvalues that were found in the target and around it, make up the density there: *missing
   is how many it has more, and *error half of its 95% bar. */
wisp_status wisp__chebfd_compare(const wisp__chebfd *c, int n, const double *theta, double *missing, double *error);

/* A look for what is missing: so many columns are filtered so often with so many terms. */
typedef struct {
    int columns, times, terms;
} wisp__chebfd_check;
wisp__chebfd_check wisp__chebfd_plan_check(const wisp__chebfd *c);

/* ---- chebfd_apply.c ---- */

/* Columns first .. first + n - 1 of the space are filtered with so many terms of the filter. theta[n]: they are Ritz
   vectors with these values; NULL: they may be anything. */
wisp_status wisp__chebfd_apply(wisp__chebfd *c, wisp_blk *space, int first, int n, int terms, const double *theta);
/* Of the blocks that are filtered. */
wisp_type wisp__chebfd_type(const wisp__chebfd *c);
/* c->copy is made, if the filter needs it and it is not there. */
wisp_status wisp__chebfd_copy(wisp__chebfd *c);
/* c->width is chosen, for so many columns and products with each, by the model of time. */
wisp_status wisp__chebfd_width(wisp__chebfd *c, int columns, int64_t steps);
wisp_status wisp__chebfd_blocks(wisp__chebfd *c);
void wisp__chebfd_free_blocks(wisp__chebfd *c);

#endif
