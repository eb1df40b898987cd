/* The files of the inverse share this. */
#ifndef WISP_INVERSE_PARTS_H
#define WISP_INVERSE_PARTS_H
#include "factor.h"
#include "inverse.h"

struct wisp__inverse {
    wisp__eig *k;
    wisp_mat *matrix;     /* the operator */
    wisp__factor *factor; /* NULL: the user's function */
    double shift, size;   /* the shift's real part; its imaginary one is that of the target. |A - shift I|, about */
    double asked;         /* the user's target, where k->o.target has been moved towards the spectrum */
    double allowed;       /* the tolerance that was asked for, of which k->o.tolerance is a part at first */
    double factored;      /* the shift whose factors there are; NaN: none */
    double far;           /* over size: the farthest value that is wanted is about so far from the target */
    bool is_pencil;       /* k->A is C, of this pencil */
    wisp__pencil pencil;
    double of_A;     /* of one without roots: |A| over |S|, about */
    wisp_blk *x;     /* 2^-exponent x, for the user */
    wisp_blk *Sx;    /* T x */
    double *column;  /* [columns][rows], for factors */
    int64_t columns; /* as many has `column` room for */
};

/* Factors at this shift. *singular: there are none. */
wisp_status wisp__inverse_factor_at(wisp__inverse *v, double shift, int64_t *below, bool *singular);
/* *x becomes a block like this one. */
wisp_status wisp__inverse_like(wisp_blk **x, const wisp_blk *like);
/* Of a pencil, over the largest |value|: so far rounding takes values, with vectors of this precision. */
double wisp__inverse_rounding(const wisp__inverse *v, double eps);
/* Before anything is factored. */
wisp_status wisp__inverse_check_bytes(const wisp__inverse *v);
#endif
