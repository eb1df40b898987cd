/* One row at a time from a source: columns mapped to positions, sorted, duplicates added, values converted. */
#ifndef WISP_ROWS_H
#define WISP_ROWS_H
#include "data.h"

typedef struct {
    int64_t col; /* position */
    int64_t at;  /* where the source wrote it */
} wisp__entry;

/* The rows that a source's many() has given last. */
typedef struct {
    int64_t first, rows; /* of them */
    bool counted;        /* their lengths alone are there */
    int64_t read;        /* how many of them the reader was asked for */
    int64_t ask;         /* so many rows are asked for next: more while it is asked for many of them */
    int64_t room;
    int64_t *rowptr, *col; /* [WISP__PIECE + 1], [room] */
    void *val;             /* [room] */
} wisp__many;

/* A thread's buffers for reading rows. */
typedef struct {
    const wisp_src *src;
    const wisp_map *col_map;
    const int64_t *col; /* of the row read last, as the source gave it */
    const void *val;
    wisp__many many;
    int64_t *own_col; /* [max_row] where the source's row() writes, and then free for use */
    void *own_val;
    wisp__entry *entry;
    wisp_scalar *sum; /* [n] values of the merged row */
    int32_t *merged;  /* [n] columns of the merged row */
    int raw;          /* entries of the row as the source gave it, duplicates too */
} wisp__row_reader;

/* Refuses more rows or columns than a process can index. */
wisp_status wisp__index_check(wisp_ctx *ctx, int64_t rows, int64_t cols);
/* Refuses a source that can't be a matrix here. */
wisp_status wisp__src_check(wisp_ctx *ctx, const wisp_src *src);
/* wisp_src_numbers of an open matrix; NULL: it is none. */
const int64_t *wisp__reopened_numbers(const wisp_src *src);
wisp_status wisp__row_reader_open(wisp__row_reader *r, wisp_ctx *ctx, const wisp_src *src, const wisp_map *col_map);
void wisp__row_reader_close(wisp__row_reader *r, wisp_ctx *ctx);
int64_t wisp__row_reader_bytes(const wisp_src *src);
/* Reads a row (as the source counts them) to r->merged and r->sum; *n is its number of distinct columns. */
wisp_status wisp__read_row(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, int *n);
/* Refuses such a row of n columns if this type has no number for one of its values, but has infinity. */
wisp_status wisp__refuse_too_large(const wisp__row_reader *r, wisp_ctx *ctx, int64_t row, int n, wisp_type type);
/* The columns of a row as the source gives them, unsorted and checked, in r->col. */
wisp_status wisp__read_columns(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, int *n);
/* The number of entries that a source announces for a row, checked. */
wisp_status wisp__count_row(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, int32_t *n);
/* Refuses a row that has another number of entries (duplicates count) than when it was counted. */
wisp_status wisp__same_count(wisp_ctx *ctx, const wisp_src *src, int64_t row, int raw, int32_t counted);

enum { WISP__PIECE = 1024 }; /* rows of a unit of work, usually; a multiple of every C */
/* Runs fn(arg, reader, begin, end) over [0, n) in parallel, in pieces of `piece` (a static share a thread), with
   progress and cancellation. The status is that of the piece of lowest number that failed. */
typedef wisp_status (*wisp__rows_fn)(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end);
wisp_status wisp__for_rows(wisp_ctx *ctx, const char *task, const wisp_src *src, const wisp_map *col_map, int64_t n,
                           int64_t piece, wisp__rows_fn fn, void *arg);
/* (*len)[rows] of wisp_alloc: the entries that a source announces for each of its rows from `first` on. */
wisp_status wisp__count_rows(wisp_ctx *ctx, const wisp_src *src, int64_t first, int64_t rows, int32_t **len);

/* ---- many.c: one row of a source that gives many at once. All read rows through the reader, so that nobody else has
   to know of the two kinds of sources ---- */

wisp_status wisp__many_open(wisp__row_reader *r, wisp_ctx *ctx);
int64_t wisp__many_bytes(const wisp_src *src);
/* *n entries of a row, their number unchecked; fills: also r->col and r->val, if there are at most max_row. */
wisp_status wisp__many_row(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, bool fills, int64_t *n);
#endif
