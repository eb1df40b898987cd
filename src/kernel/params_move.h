/* The parameters of calls that move data, on every device, as those of params.h. */
#ifndef WISP_PARAMS_MOVE_H
#define WISP_PARAMS_MOVE_H
#include "params.h"

/* A block, or a view of one: element (i, j) is x[i * ld + column[j]], in elements of so many bytes. */
typedef struct {
    void *x;
    int64_t rows, ld;
    const int *column; /* [width]; NULL: side by side */
    int width, bytes;
} wisp__view;

/* All elements become a value; or, of each column, the one in row only[j] alone, and the others 0. */
typedef struct {
    wisp__view v;
    const void *value;   /* an element */
    const int64_t *only; /* [width]; -1: none; NULL: all do */
} wisp__fill_params;

/* Random numbers: Philox's at (seed, the row's number, first + j, stream). The number of row i is number[r], or
   first_row
   + r without a list, where r is row[i], or i. */
typedef struct {
    wisp__view v;
    int reals;  /* numbers of an element, 1 or 2 */
    bool gauss; /* normal ones; else those of traces */
    uint64_t seed;
    uint32_t stream, first;
    int64_t first_row;
    const int32_t *row;    /* [rows]; NULL: as they come */
    const int64_t *number; /* [rows]; NULL: one after the other */
} wisp__random_params;

/* Rows that go to an array of the host's, or come from there: element (i, j) is its element row[i] * row_step +
   j * column_step. */
typedef struct {
    wisp__view v;
    const int32_t *row; /* [rows]; NULL: as they come */
    int64_t row_step, column_step;
} wisp__array_params;
#endif
