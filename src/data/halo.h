/* A rank's part of a matrix: which rows of other ranks it needs, and their exchange. */
#ifndef WISP_HALO_H
#define WISP_HALO_H
#include "rows.h"

/* Rows that go to a rank, or come from it. */
typedef struct {
    int rank;
    int64_t first, count;
    int64_t row; /* of those that go: the first local row, if they follow one another; else -1 */
} wisp__range;

/* Which order of exchange and work is the fastest, as far as it was tried: with blocks of so many bytes a row. */
typedef struct {
    size_t row;
    unsigned failures;              /* of the context's calls when it began: a rank may have missed a sweep since */
    int sweeps;                     /* tried */
    double least[WISP_HALO_NOCOMM]; /* seconds of a sweep, of each */
    wisp_halo best;                 /* AUTO: not known yet */
} wisp__halo_trial;

/* The halo: rows of other ranks that a rank's rows point to. In a block that is multiplied they lie behind the local
   rows, in the order of their numbers, and so rank by rank. */
typedef struct wisp__halo {
    wisp_ctx *ctx;
    int64_t rows, sends;
    int64_t *global; /* [rows] their numbers */
    int32_t *send;   /* [sends] where the local rows are that others need, rank by rank; in the device's memory */
    wisp__range *from, *to; /* [from_count] of the halo, [to_count] of send */
    int from_count, to_count;
    int64_t *group; /* [from_count + 2] of the row blocks, in the grid's order: from group[i] on they need from[i]
                       alone, and from group[from_count] on, up to group[from_count + 1], several of these */
    bool *here; /* [2 from_count] which messages of the exchange under way have come; and had before the last look */
    wisp__message *message; /* [to_count + from_count] of the exchange under way */
    char *buffer;           /* what goes out, then what comes in */
    size_t buffer_bytes;
    wisp__halo_trial trial;
    wisp_halo found; /* by the last trial that has ended */
} wisp__halo;

/* A source as a rank's matrix sees it: rows from the rank's first one on, and columns in the order of its blocks, local
   ones and then the halo, all counted from 0. With one rank it is the source itself, and there is no halo. */
typedef struct {
    wisp_src src;
    const wisp_src *whole;
    const int64_t *weights; /* by which the ranks share rows, and columns; NULL: the context's */
    int64_t first, col_first, col_local;
    int64_t nnz; /* entries of its rows, duplicates too; with one rank not known, 0 */
    wisp__halo *halo;
} wisp__part;
/* Collective. Refuses a source that can't be a matrix, or a part that has more rows or columns than can be indexed, or
   other rows than the ranks have on the map, which may be NULL. */
wisp_status wisp__part_open(wisp__part *part, wisp_ctx *ctx, const wisp_src *src, const wisp_map *map);
void wisp__part_close(wisp__part *part);
/* part_rows.c: the part's source, once the rest of it is there. */
void wisp__part_source(wisp__part *part);
/* The number of a row of a source for the user, be the source whole or a part. */
int64_t wisp__row_number(const wisp_src *src, int64_t row);

/* The fields of *info that tell of the exchange, in this way; without a halo numbers stay as they are. */
void wisp__halo_info(const wisp__halo *h, wisp_halo way, wisp_mat_info *info);
/* The first of these rows, if they follow one another, else -1. */
int64_t wisp__halo_run(const int32_t *row, int64_t count);
/* When the rows of the map have their places: a matrix takes the plan over. */
wisp_status wisp__halo_settle(wisp__halo *h, const wisp_map *col_map);
void wisp__halo_free(wisp__halo *h);
/* The user's number of a column of the matrix, be it local or in the halo. */
static inline int64_t wisp__col_number(const wisp_mat *A, int64_t col)
{
    const int64_t local = A->col_map->local;
    return col < local ? wisp__map_user(A->col_map, col) : A->halo->global[col - local];
}
/* Which of the halo's rows this is, by its number; -1: none. */
int64_t wisp__halo_find(const wisp__halo *h, int64_t global);
/* Makes room for the halo behind x; WISP_ERR_UNSUPPORTED for memory of the user's. Its address may change. */
wisp_status wisp__halo_room(const wisp__halo *h, const wisp_blk *x);
/* The exchange of the halo of x, which nobody may write to in between. Collective. */
wisp_status wisp__halo_start(wisp__halo *h, const wisp_blk *x);
wisp_status wisp__halo_wait(wisp__halo *h, const wisp_blk *x);
/* The wait in two parts: all is in the buffer (another thread may wait for that); and it is behind x. */
wisp_status wisp__halo_come(wisp__halo *h);
wisp_status wisp__halo_unpack(wisp__halo *h, const wisp_blk *x, int64_t first, int64_t count);
/* Before the wait: more is behind x, all that h->here says. */
wisp_status wisp__halo_some(wisp__halo *h, const wisp_blk *x);
/* Which neighbour a row of the halo comes from. */
int wisp__halo_source(const wisp__halo *h, int64_t row);
#endif
