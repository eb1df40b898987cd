/* Between the files of incomplete factors: runs over rows by threads. */
#ifndef WISP_ILU_H
#define WISP_ILU_H
#include "precond.h"

enum { WISP__LOWER = 0, WISP__UPPER = 1 };

/* The first row of a thread's that is refused: its number, why, and its pivot or diagonal. */
typedef struct {
    int64_t row; /* -1: none */
    wisp_status why;
    double pivot;
    int64_t *col;
    char *val; /* [max_row] each, to read a row */
} wisp__ilu_part;

typedef struct wisp__ilu_run wisp__ilu_run;
/* Rows from one on to another; p is NULL while factors are applied. */
typedef void (*wisp__ilu_fn)(wisp__ilu_run *r, wisp__ilu_part *p, int64_t from, int64_t to);
struct wisp__ilu_run {
    wisp__ilu *f;
    wisp_src src;
    int32_t *order;                          /* [rows] which of A's rows is at a place of the order of levels */
    double *size;                            /* [rows], as A has them: what pivots are compared with */
    const struct wisp__ilu_pattern *pattern; /* while there are no levels */
    double factor, alpha;                    /* of A; of the shift */
    wisp__ilu_part *parts;
    wisp__ilu_fn some;
    int64_t from, to, at_a_time;
    int64_t at_once; /* rows between two questions whether to stop; 0: none is asked */
    int64_t since;   /* rows since the last one */
    bool alone;      /* this call is the only one */
    const double *x; /* from there, */
    double *z;       /* to there */
    int width;
};

/* ---- ilu_each.c ---- */

wisp_status wisp__ilu_each_row(wisp__ilu_run *r, int64_t from, int64_t to, wisp__ilu_fn some);
/* Level after level, of U from the last one on, until a row is refused. */
wisp_status wisp__ilu_each_level(wisp__ilu_run *r, int side, wisp__ilu_fn some);
void wisp__ilu_refuse(wisp__ilu_part *p, int64_t row, wisp_status why, double pivot);
const wisp__ilu_part *wisp__ilu_refused(const wisp__ilu_run *r);
wisp_status wisp__ilu_refusal(const wisp__ilu_run *r, const wisp__ilu_part *p, const char *definite);

/* ---- ilu_read.c ---- */

/* Reads the pattern, finds the levels of rows, and makes room for the factors. */
wisp_status wisp__ilu_levels(wisp__ilu_run *r);

#endif
