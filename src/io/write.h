/* The writers of matrix files share this: rows are counted, and turned into bytes by all threads, in order. */
#ifndef WISP_IO_WRITE_H
#define WISP_IO_WRITE_H
#include "../base/outfile.h"
#include "../data/rows.h"
#include "io.h"

/* Rows first .. first + count - 1 of a source. */
typedef struct {
    int64_t first, count;
    bool own; /* they are those of this rank, and not all: what is done with them is collective */
} wisp__rows_range;

/* Number of distinct entries before each of these rows, [count + 1]; to be freed. */
wisp_status wisp__count_entries(wisp_ctx *ctx, const wisp_src *src, const wisp_map *cols, wisp__rows_range rows,
                                int64_t **before);
/* The transposed matrix, in double precision: all of it from all rows, else this rank's rows. */
wisp_status wisp__transpose(wisp__crs **t, wisp_ctx *ctx, const wisp_src *src, const wisp_map *cols,
                            wisp__rows_range rows, const int64_t *before, const char *path);
/* [[0, A], [A^H, 0]] from rows that are all here, or this rank's: likewise. A has rows. */
wisp_status wisp__augment(wisp__crs **both, wisp_ctx *ctx, const wisp_src *src, const wisp_map *cols,
                          wisp__rows_range rows, const int64_t *before);

/* Turns one row into bytes; returns their end. */
typedef char *(*wisp__row_text)(void *arg, int64_t row, int n, const int32_t *col, const wisp_scalar *val, char *to);
typedef struct {
    wisp_ctx *ctx;
    const wisp_src *src;
    const wisp_map *cols;
    wisp__rows_range rows; /* to be written; if they are this rank's own, rank 0 writes those of all ranks */
    const int64_t *before; /* [src->rows + 1] entries before each row, by which rows are grouped; on rank 0 */
    int64_t entry_bytes;   /* the most bytes that text() makes of an entry counted there */
    bool gzip;
    wisp__row_text text;
    void *arg;
    double done_begin, done_end; /* of the whole task, for progress */
} wisp__row_writer;
/* Rows that are all here. */
wisp_status wisp__write_rows_here(wisp__out *out, const wisp__row_writer *writer);
/* The rows of a file from the ranks: all, or for each its own. What is only for rank 0 to do is `out`. */
wisp__rows_range wisp__rows_to_write(const wisp_src *src, wisp_ctx *ctx);
/* before[] of the rows of each rank becomes that of all rows on rank 0, and NULL elsewhere. Collective. */
wisp_status wisp__before_of_ranks(wisp_ctx *ctx, int64_t rows, wisp__rows_range own, int64_t **before);
/* Also of several ranks, some at a time: only rank 0 has `out` open. Then it is collective. */
wisp_status wisp__write_rows(wisp__out *out, const wisp__row_writer *writer);
/* The first row behind so many that one thread turns into bytes at a time: fixed by the matrix alone, so that a
   compressed file is too. */
int64_t wisp__write_block_end(const int64_t *before, int64_t row, int64_t rows);
/* Bytes as they are, or as a gzip member of their own (gzip files may have many). */
wisp_status wisp__write_some(wisp__out *out, const void *data, size_t bytes, bool gzip);
#endif
