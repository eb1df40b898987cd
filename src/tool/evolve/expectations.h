/* Expectation values that wisp evolve finds along the way. */
#ifndef WISP_TOOL_EXPECTATIONS_H
#define WISP_TOOL_EXPECTATIONS_H
#include "../tool.h"

/* <psi|B|psi> at each time, of the matrix itself (--energy) and of those of --operator. */
typedef struct {
    int count;
    bool energy;           /* the first one is the matrix itself */
    const char **name;     /* [count] */
    wisp_src *src;         /* [count], open until the matrices are made; of the matrix itself none */
    wisp_mat **mat;        /* [count]; of the matrix itself NULL */
    const wisp_mat *own;   /* the matrix itself */
    bool *hermitian;       /* [count] */
    double *largest;       /* [count] |B| at most; NaN: not known, of one that is not Hermitian */
    double *rounding;      /* [count] what rounding adds to a value, at most about */
    double *re, *im, *off; /* [count][times]; off: how far the value is off at most, NaN where that is not known */
    int64_t times;
    double epsilon; /* of psi's type */
    uint64_t hash;  /* of all of them */
    wisp_blk *y;    /* B psi */
} expectations;

/* By how much of itself a sum of squares of psi's numbers is off at most about: strips of rows in psi's type, their
   sums in double. Of a norm it is half as much. */
double sum_rounding(wisp_type type, int64_t rows);
/* Files that --operator names are opened for so many rows. */
int expectations_open(tool *t, expectations *x, int64_t rows, int64_t times);
/* Matrices on A's map, for psi of this type. */
int expectations_make(tool *t, expectations *x, const wisp_mat *A, wisp_type type);
/* Of time i. tolerance: |psi - exact| at most; norm: |psi|. */
int expectations_take(tool *t, expectations *x, int64_t i, const wisp_blk *psi, double tolerance, double norm);
/* The matrix itself is H - iW, whose parts have these bounds, and so |H - iW| one; times so far, with what was told of
   their states: how far <psi|H - iW|psi> may be off, in each of both parts. */
void expectations_absorbed(expectations *x, const wisp_bounds *H, const wisp_bounds *W, int64_t done, const double *off,
                           const double *norm);
wisp_status expectations_items(expectations *x, wisp_state *s);
/* Bytes of the matrices, and what one of them takes beside it while it is made, at most or about. */
int expectations_bytes(tool *t, const expectations *x, wisp_type type, bool most, int64_t *bytes, int64_t *making);
/* How an operator's matrix is made for psi of this type, and what it adds to both. */
wisp_mat_opts expectations_options(const wisp_src *src, wisp_type type, wisp_map *map);
int expectations_add_bytes(tool *t, const wisp_src *src, wisp_type type, bool most, int64_t *bytes, int64_t *making);
void expectations_close(tool *t, expectations *x);
#endif
