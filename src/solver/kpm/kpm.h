/* A run of the kernel polynomial method: what its files share. */
#ifndef WISP_KPM_H
#define WISP_KPM_H
#include "../solver.h"

/* Of a column of the present batch, where vectors are the user's, or there are left ones. */
typedef struct {
    double norm, limit; /* of the vector at hand; no moment is larger in size */
    int exponent;       /* of 2: the vectors were multiplied by 2^-exponent in all, which moments get back */
} wisp__kpm_column;

typedef struct wisp__kpm_run {
    wisp_ctx *ctx;
    const wisp_mat *A;
    const wisp_kpm_opts *opts; /* with every default filled in */
    const char *task;          /* for the progress */
    wisp_bounds bounds;
    double edge;         /* see wisp__rounded_edge */
    int64_t vectors;     /* of the whole run: random ones, sites, the user's, or all unit vectors */
    wisp_blk *v, *w, *u; /* |nu_m>; |nu_m-1>, which becomes |nu_m+1>; u for the naive variant alone */
    wisp_blk *left;      /* B^H |l>, where moments have two sides; else NULL */
    int width;           /* their columns */
    int most;            /* of them: those of all batches but the last */
    int per_call;        /* steps of a call of wisp_mpk, */
    bool near;           /* sweeps leave out rows that are not reached yet */
    int asked_depth;     /* and the depth that it is given; 0: left to it */
    int depth;           /* of the last call that had all its steps; 1: there was none */
    int parts;           /* 2: moments are complex, see wisp__kpm_two_sides; else 1 */
    wisp_scalar *factor; /* [3][per_call]: alpha, beta, gamma of these steps */
    wisp_scalar *dot;    /* [per_call][3 or, with two sides, 4][width] of one call, as wisp_mpk gives them */
    double *eta;  /* [moments][parts][width] all dots of the batch: <nu_m|nu_m> and <nu_m+1|nu_m> in turn; with */
                  /* two sides <left|nu_m>, real parts and imaginary ones */
    int64_t *row; /* [width] of the unit vectors */
    wisp__kpm_column *column; /* [width]; NULL: none is needed */
    wisp_scalar *scale;       /* [width], where there is `column` */
    double *stamp;            /* of the user's vectors, see wisp__kpm_items; else NULL */
    int64_t sweeps;           /* of the present batch that are done */
    double sweep_flops;       /* of one sweep and vector */
    double flops;             /* so far */
    double rounding_seconds;  /* of find_rounding, which are not those of the moments */
    double before;            /* seconds of the calls that this one goes on from */
    double began;             /* when this one began, see wisp_now */
    wisp_moments *m;
    int64_t first;    /* vector of the present batch */
    bool goes_on;     /* in the middle of that batch, from a kept state */
    wisp_state *live; /* NULL: it is not offered */
    wisp_status (*steps)(struct wisp__kpm_run *k, int64_t first, int count);
} wisp__kpm_run;

/* Whether the vectors on the left are others than those on the right: then each step gives one moment, and moments are
   complex. */
static inline bool wisp__kpm_two_sides(const wisp_kpm_opts *o) { return o->left || o->adjoint; }
/* Sweeps of a batch. */
static inline int64_t wisp__kpm_sweeps(const wisp_kpm_opts *o)
{
    return wisp__kpm_two_sides(o) ? o->moments - 1 : o->moments / 2;
}
/* Whether columns have norms and exponents. */
static inline bool wisp__kpm_has_columns(const wisp_kpm_opts *o)
{
    return o->trace == WISP_TRACE_GIVEN || wisp__kpm_two_sides(o);
}
/* Whether each rank has the dots of all ranks after each call; else each has its own part of them. */
static inline bool wisp__kpm_whole_each_step(const wisp_kpm_opts *o)
{
    return o->reduce_each_step || o->variant == WISP_KPM_NAIVE;
}

/* kpm_start.c: blocks for a batch, of which the last one may be narrower; 0: none. */
wisp_status wisp__kpm_set_width(wisp__kpm_run *k, int width);
/* |v> = |nu_0>: vector number `first` and those that follow it; the left vectors, and their moment 0. */
wisp_status wisp__kpm_start(wisp__kpm_run *k, int64_t first);
/* Keeps one dot of each column as eta_n. */
void wisp__kpm_keep(wisp__kpm_run *k, int64_t n, const wisp_scalar *dot);
/* v becomes the columns of x from `first` on, of norms below 1: their norms and exponents are in k->column, the latter
   added `times` times. `name` of x is for the refusal of what is not finite. */
wisp_status wisp__kpm_take(wisp__kpm_run *k, wisp_blk *v, const wisp_blk *x, int64_t first, const char *name,
                           int times);
/* The same of the vectors on the right, wherever they come from. */
wisp_status wisp__kpm_take_right(wisp__kpm_run *k, wisp_blk *v, int64_t first, int times);

/* kpm_state.c: the state between two calls of wisp_mpk (a wisp_items_fn). */
wisp_status wisp__kpm_items(void *k, wisp_state *s);
/* What the state tells the user's vectors by; before the first batch. */
wisp_status wisp__kpm_stamp(wisp__kpm_run *k);
#endif
