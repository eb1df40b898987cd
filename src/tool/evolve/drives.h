/* --drive of wisp evolve: H(t) = MATRIX + sum of f_j(t) OPERATOR_j. */
#ifndef WISP_TOOL_DRIVES_H
#define WISP_TOOL_DRIVES_H
#include "../tool.h"

/* f of one of them: an expression, or a table of times and values that is followed along straight lines, or with
   --smooth along a cubic spline. */
typedef struct {
    char *name;           /* of the matrix */
    const char *function; /* as it was given */
    int64_t points;       /* of the table; 0: an expression */
    double *time, *value; /* [points], times ascend */
    double *second;       /* [points] derivatives of the spline; NULL: straight lines */
    wisp_src src;         /* open until the matrix is made */
} drive;

typedef struct {
    int count;
    drive *one;     /* [count] */
    wisp_mat **mat; /* [count] */
    double *breaks; /* [break_count] times of tables */
    int64_t break_count;
    bool smooth;   /* a table is followed along a spline */
    uint64_t hash; /* of all matrices and functions */
} drives;

/* spline.c: second[n] of the cubic spline through n >= 4 points, above[n] is for its use; false: they are too large for
   numbers. And what it has at a part of the way from one point to the next, so wide, beyond the straight line. */
bool spline_fit(int64_t n, const double *x, const double *y, double *second, double *above);
double spline_bend(double width, double part, double second_left, double second_right);

/* Files that --drive names are opened for so many rows; each f must be known from one time to the other. */
int drives_open(tool *t, drives *d, int64_t rows, double from, double to);
/* Matrices on A's map, for psi of this type, and their place in opts. */
int drives_make(tool *t, drives *d, const wisp_mat *A, wisp_type type);
/* What the options have to say of them, also where there are no matrices yet. */
void drives_set(const tool *t, const drives *d, wisp_evolve_opts *opts);
wisp_status drives_items(const tool *t, const drives *d, wisp_state *s);
/* Bytes of the matrices, and what one of them takes beside it while it is made, at most or about. */
int drives_bytes(tool *t, const drives *d, wisp_type type, bool most, int64_t *bytes, int64_t *making);
void drives_close(tool *t, drives *d);
#endif
