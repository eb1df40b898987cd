/* What the plan of a matrix, about and at most, has in common: the bytes of a way to store it. */
#ifndef WISP_WAY_H
#define WISP_WAY_H
#include "assemble.h"
#include "../data/store/store.h"
#include "../order/order.h"

/* A matrix as it may come to be: how it is stored, and what is looked for on the way. */
typedef struct {
    const wisp_mat *A; /* of its shape alone */
    const wisp__part *part;
    const wisp_src *src;  /* its rows */
    int64_t nnz, entries; /* without and with padding, before duplicates are added */
    bool compared;        /* rows are compared with one another, */
    bool tried_apart;     /* with their diagonals apart, too */
    const wisp__storage *how;
    bool pattern, list, codes, apart;
    int column_bytes;              /* of an entry; 0: it has no column of its own */
    int64_t strings, string_bytes; /* of patterns or lists */
    int64_t foretold;              /* of what the backend makes of patterns, about; -1: not known */
    int64_t spared;                /* of them that are not read then */
    int64_t values;                /* that have codes */
    bool permuted, sorted;         /* rows are in an order of their own; by length at last */
    int64_t visits;                /* blocks of rows in tiles */
    int64_t order_bytes;           /* held while an order is looked for */
    int64_t spill_rows, outside;   /* half storage: spill rows, entries that have one */
    bool most;                     /* what is small is not left out */
} wisp__way;

/* Entries of the upper half, the diagonal with them, at most. */
int64_t wisp__way_upper(const wisp__way *w);
/* As a matrix is stored of which this was found. */
void wisp__way_store(wisp__way *w, const wisp__compression *c);
/* Blocks of rows; tiles: of a matrix whose rows may be in these. */
int64_t wisp__way_blocks(const wisp_mat *A, bool tiles);
/* What an order takes, if one is looked for. */
wisp_status wisp__way_order(wisp__order_plan *p, const wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o,
                            int64_t nnz);
void wisp__way_describe(const wisp__way *w, int64_t work_blocks, wisp_mat_info *info);
/* The entries of all ranks; their status, too. */
wisp_status wisp__way_join(wisp_ctx *ctx, wisp_status status, wisp_mat_info *info);
#endif
