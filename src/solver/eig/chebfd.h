/* Chebyshev filter diagonalization: what its parts share. */
#ifndef WISP_CHEBFD_H
#define WISP_CHEBFD_H
#include "eigen.h"
#include "filter.h"

enum { WISP__FILTER_BLOCKS = 4, WISP__VECTORS = 32 }; /* the latter: random vectors of the density */
/* Of a call of wisp_mpk, where the device does not ask for more: progress and interrupts in between. */
enum { WISP__FILTER_STEPS = 32 };
/* Of a product in single precision, about, over that of one in double precision. */
static const double wisp__single_time = 0.6;

/* Columns that are filtered at once. */
typedef struct {
    int n;                            /* 0: none are */
    int step;                         /* of the recurrence that are done */
    bool refines;                     /* u is of the residuals */
    wisp_blk *v[WISP__FILTER_BLOCKS]; /* views. v[0], v[1]: the last two of the recurrence, the newest in v[1]; v[2]:
                                         between two products; v[3]: u, which steps add */
    wisp_blk *exact[2];               /* refines: for residuals, of the space's type */
    int steps;                        /* of a call of wisp_mpk */
    wisp_scalar *add, *factor;        /* what its steps add of u; [3][steps] alpha, beta, gamma */
    double *x, *before, *last; /* [n] refines: the Ritz values on p's scale, the last two of p's recurrence there */
} wisp__batch;

/* How far the run has come; its states have this. */
typedef enum { WISP__LOOKS, WISP__FILTERS, WISP__CHECKS } wisp__chebfd_phase;
typedef struct {
    wisp__chebfd_phase phase;
    int look;              /* number of the look at the density */
    int64_t moments;       /* that it takes */
    double seen;           /* eigenvalues in the target by the look before */
    int through;           /* columns of this round, or of those that are checked, that are filtered, up to here */
    int round, terms;      /* of this round */
    int stalls, growths;   /* rounds without progress; larger spaces (some: narrower filters) for that reason */
    double last;           /* the largest residual before */
    int tries, time, rank; /* of a check: its number, how often its columns are filtered, and how many these are */
    bool turned;           /* they are Ritz vectors */
    bool some;             /* the target lies in a level, any pairs of it do, and the space has room for a few alone */
    double level[2];       /* some: states between these are taken for those of the level */
    double all;            /* some: the work of all of the level */
} wisp__chebfd_at;

typedef struct {
    wisp__eig *k;
    wisp__chebfd_at at;
    wisp_moments *m;        /* of the density of states; the result's */
    wisp_moments mean;      /* of its vectors, as one */
    double low, high;       /* the target */
    double wanted;          /* eigenvalues in it, by the density */
    wisp__filter_plan plan; /* the first round's filter */
    double work;            /* of a run with it: flops of dense kernels */
    int search;             /* columns of the search space; 0: no filter does */
    int width;              /* of the blocks that are filtered */
    int row_bytes;          /* of these. Chosen once, by the model of time, for that goes by the threads, and the */
                            /* course of a run that goes on must not. 0: not yet */
    double look_began;      /* wisp_now() */
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
    double gain;   /* natural logarithm of how much less the filter damps values in the target than those outside */
    bool whole;    /* the space would be all there is: the dense method answers */
    double done;   /* products so far, for progress */
    wisp__batch batch;
    wisp_blk *fresh;         /* columns that are checked */
    double *fresh_theta;     /* [2][their number]: Ritz values, and room for residuals */
    wisp__eig_times checked; /* when the check began */
    wisp_blk *view[2];       /* of states: of the space, and the fresh columns */
} wisp__chebfd;

static inline bool wisp__chebfd_converged(const wisp__chebfd *c, int i) { return c->residual[i] <= c->k->o.tolerance; }

/* As far as its residual tells. */
static inline bool wisp__chebfd_in_target(const wisp__chebfd *c, int i)
{
    const double room = wisp__eig_room(c->k, c->theta[i], c->residual[i]);
    return c->theta[i] >= c->low - room && c->theta[i] <= c->high + room;
}

static inline double wisp__chebfd_resolution(const wisp__chebfd *c)
{
    return wisp_resolution(c->m->bounds.halfwidth, c->m->n);
}

/* A residual that is small beside the density's resolution: there is an eigenvalue. */
static inline double wisp__chebfd_sharp(const wisp__chebfd *c)
{
    return 0.1 * wisp__chebfd_resolution(c) / c->k->scale;
}

/* ---- chebfd_check.c ---- */

/* Both checks. *more: the space was too small, and another round is needed. */
wisp_status wisp__chebfd_verify(wisp__chebfd *c, bool *more);

/* ---- chebfd_state.c ---- */

/* The items of a state (wisp_items_fn). */
wisp_status wisp__chebfd_items(void *chebfd, wisp_state *state);

/* ---- chebfd_look.c ---- */

/* Bounds, the density of states, the target, the size of the search space and the filter. */
wisp_status wisp__chebfd_look(wisp__chebfd *c);
/* at.some: the filter becomes narrower, so that it damps states nearer to the target, too. Where that does not pay,
   at.some ends, and the target is that which holds all of the level. */
wisp_status wisp__chebfd_narrow_level(wisp__chebfd *c);
wisp_status wisp__chebfd_take_all(wisp__chebfd *c);
/* NEAREST: a wider target, as the one before held fewer eigenvalues than were asked for. */
wisp_status wisp__chebfd_widen(wisp__chebfd *c, int found);

/* ---- chebfd_density.c ---- */

/* Of the call that finds so many moments of it. */
wisp_kpm_opts wisp__chebfd_look_opts(const wisp__chebfd *c, int64_t moments);
/* c->mean becomes that of c->m. */
wisp_status wisp__chebfd_mean(wisp__chebfd *c);
/* Eigenvalues from .. to (wisp__states_fn); those that lie outside the bounds are none. */
double wisp__chebfd_states(void *chebfd, double from, double to);
/* at.some: the same, but all of the level counts as no more states than are asked for. */
double wisp__chebfd_beside(void *chebfd, double from, double to);
/* How many eigenvalues lie in low .. high, and half of the bar. */
double wisp__chebfd_bar(const wisp__chebfd *c, double low, double high, double *count);
/* Whether theta[n], the eigenvalues that were found in the target and around it, make up the density there: *missing
   is how many it has more, and *error half of its 95% bar. */
wisp_status wisp__chebfd_compare(const wisp__chebfd *c, int n, const double *theta, double *missing, double *error);

/* ---- chebfd_size.c ---- */

/* In which precision the filter may be. */
void wisp__chebfd_choose_precision(wisp__chebfd *c);
/* The filter is of double precision from the next choice on. */
void wisp__chebfd_give_up_single(wisp__chebfd *c);
/* Another size of the search space, for so many eigenvalues in the target; it never shrinks. */
wisp_status wisp__chebfd_enlarge(wisp__chebfd *c, double wanted);
/* k->filter_work, for the choice between it and the inverse, becomes that of this filter, or what it takes at least. */
void wisp__chebfd_tell_work(const wisp__chebfd *c);
/* The space would be nearly all there is, and the matrix is small: the dense method answers. */
bool wisp__chebfd_is_whole(const wisp__chebfd *c);
/* There is no filter: the message says why. */
wisp_status wisp__chebfd_refuse(const wisp__chebfd *c);
/* Bytes that a run holds beside the matrix. */
int64_t wisp__chebfd_memory(const wisp__chebfd *c);
/* Of these, about what a device with memory of its own has. */
int64_t wisp__chebfd_on_device(const wisp__chebfd *c);
/* Of the vectors, so many at most are delivered as a block beside the space; where there are more the space is kept. */
int wisp__chebfd_copied(const wisp__chebfd *c);
/* The density alone. */
int64_t wisp__chebfd_look_bytes(const wisp__chebfd *c);
/* A residual, times k->scale, up to which a pair is one in the target. */
double wisp__chebfd_narrow(const wisp__chebfd *c);
/* A look for what is missing: so many columns are filtered so often with so many terms. */
typedef struct {
    int columns, times, terms;
} wisp__chebfd_check;
wisp__chebfd_check wisp__chebfd_plan_check(const wisp__chebfd *c);
/* As many columns as it has, if there are so many beside the space. */
int wisp__chebfd_fresh(const wisp__chebfd *c);

/* ---- chebfd_space.c ---- */

void wisp__chebfd_free(wisp__chebfd *c);
/* Room for c->search columns; those that are there stay, and the first ones are the user's. */
wisp_status wisp__chebfd_space(wisp__chebfd *c);
/* Columns from c->columns on become random, of numbers that were not used before. */
wisp_status wisp__chebfd_fill_up(wisp__chebfd *c);
/* The columns, with their pairs, come in the order of c->order[columns]. */
wisp_status wisp__chebfd_permute(wisp__chebfd *c);

/* ---- chebfd_apply.c ---- */

/* Columns first .. first + n - 1 of the space are filtered with so many terms of the filter. theta[n]: they are Ritz
   vectors with these values; NULL: they may be anything. Those before c->at.through are left as they are: that goes on
   as columns are done. */
wisp_status wisp__chebfd_apply(wisp__chebfd *c, wisp_blk *space, int first, int n, int terms, const double *theta);
/* Of the blocks that are filtered. */
wisp_type wisp__chebfd_type(const wisp__chebfd *c);
/* c->copy is made, if the filter needs it and it is not there. */
wisp_status wisp__chebfd_copy(wisp__chebfd *c);
/* c->width becomes that of rows of c->row_bytes, if there are so many columns. */
void wisp__chebfd_width(wisp__chebfd *c, int columns);
wisp_status wisp__chebfd_blocks(wisp__chebfd *c);
void wisp__chebfd_free_blocks(wisp__chebfd *c);
/* c->batch becomes n columns, with nothing in them. */
wisp_status wisp__chebfd_open_batch(wisp__chebfd *c, int n, bool refines);
void wisp__chebfd_close_batch(wisp__chebfd *c);

#endif
