/* Orders of (group of rows, step) in which the steps of a recurrence find rows and vectors in cache. */
#ifndef WISP_CASCADE_H
#define WISP_CASCADE_H
#include "data.h"

/* One order, kept with the matrix. */
typedef struct wisp__cascade {
    wisp__schedule schedule;
    int steps;
    int64_t row_bytes;  /* of the blocks it was made for */
    double bytes;       /* from and to memory, for each step, by a model */
    double plain_bytes; /* the same for one sweep after the other */
    bool useful;        /* it saves enough */
    struct wisp__cascade *next;
} wisp__cascade;

/* The order for `steps` steps with blocks of that many bytes a row, from the graph of the matrix; *c is NULL if there
   is none: rows reach too far or are too few, half of the matrix is stored, threads are on several memory nodes, or
   there is no memory for it. */
wisp_status wisp__cascade_find(const wisp_mat *A, int64_t row_bytes, int steps, const wisp__cascade **c);
#endif
