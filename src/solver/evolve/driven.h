/* H(t): what its steps (driven.c) and their looks at the drives (driven_look.c) share. */
#ifndef WISP_EVOLVE_DRIVEN_H
#define WISP_EVOLVE_DRIVEN_H
#include "evolve.h"

/* A step may be off by so small a part of the tolerance, however short it is. */
enum { DRIVEN_SHARES = 1000000, DRIVEN_NODES = 4, DRIVEN_SEEN = DRIVEN_NODES + 2 };

typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *A;
    wisp_evolve_opts o;
    wisp_evolution *e;
    int64_t times;
    const double *time;
    wisp_bounds *of; /* [1 + drives] of A and of each drive */
    double *f, *g;   /* [2][drives] f at both nodes; [drives] */
    double *seen;    /* [DRIVEN_SEEN][drives] f at the nodes of both halves, at a place between, and how rough it is */
    double *breaks;  /* [o.breaks] ascending */
    double budget;   /* of the tolerance, for what the steps are off by */
    double largest, largest_at; /* of H(t), where it was looked at, and when */
    wisp_mat *H;                /* A + sum of g_j H_j */
    wisp_bounds now;            /* of H */
    /* the same with centers that don't cancel each other: each part's product is rounded by itself */
    wisp_bounds parts;
    wisp_blk *psi, *z, *kept;
    wisp__chebyshev_sum sum;
    wisp__evolve_group series; /* of the one exponential */
    double *start_norm, *norm; /* [width] */
    double t, step, span;      /* psi is at t; the next step; of all times */
    double off, counted;       /* of psi, over its norm: as is told; with rounding as it is about */
    double made, rounded;      /* what the exponentials of a try are off by, without rounding, and by rounding */
    double sweep_flops, before, began;
    wisp_evolution then; /* *e when the step began, and */
    double wanted;       /* the step that was to be taken: what a state of that time holds */
    double at, share;    /* what part of all is done when it begins, and what it adds */
    double leg, told;    /* what part a unit of time is; what was told of all */
    int exponentials;    /* of this try that are done */
    wisp_state *live;
} wisp__driven;

/* f at this time. */
wisp_status wisp__driven_look(const wisp__driven *s, double t, double *f);
/* o.break_at in order, as `breaks`. */
wisp_status wisp__driven_sort_breaks(wisp__driven *s);
/* Bounds of H with the functions as they are in g. */
void wisp__driven_bounds(wisp__driven *s);
/* The end of the next step at most: the time that is on the way to, or a break before it. */
double wisp__driven_end(const wisp__driven *s, double to);
/* What a step of this length may be off by. */
double wisp__driven_allowed(const wisp__driven *s, double step);
/* A first look at all the way: WISP_ERR_ARG if rounding alone is about the tolerance. Sets the budget. */
wisp_status wisp__driven_survey(wisp__driven *s);
/* s->step becomes so long, at most, from s->t on; it ends where the clock has a number. */
void wisp__driven_set_step(wisp__driven *s, double end, double step);
/* The step becomes shorter until the nodes see all of f that a closer look sees. *missed: what is left of it in psi. */
wisp_status wisp__driven_fit(wisp__driven *s, double end, double least, double *missed);
#endif
