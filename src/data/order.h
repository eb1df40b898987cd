/* Orders of rows: level structures of a matrix's graph, tiles through the levels, and a model of the caches. */
#ifndef WISP_ORDER_H
#define WISP_ORDER_H
#include "rows.h"

/* ---- the model ------------------------------------------------------------------------------- */

/* What the threads of a context have together while they sweep over rows for blocks of some width. */
typedef struct {
    double l2, l3; /* bytes that a sweep can keep */
} wisp__caches;
void wisp__caches_find(wisp_ctx *ctx, int width, wisp__caches *c);

/* A pattern in some order: place i holds row user[i] of s, and column j of s is at place[j] (NULL: as they are). */
typedef struct {
    const wisp__sell *s;
    int log_c;
    int64_t rows, cols;
    const int32_t *user, *place;
    int64_t row_bytes;   /* of a block row */
    int64_t entry_bytes; /* of a matrix entry */
} wisp__sweep;

/* Bytes per row that one sweep of the fused step moves: the streams (matrix, y in and out, x once), and block rows of x
   that come again from memory, or from the last cache. */
typedef struct {
    double stream, again, from_l3;
    double core;   /* what the gathering itself takes, in bytes as cost */
    double excess; /* block rows of x loaded from memory, over x once */
    double cost;   /* in bytes from memory: time times bandwidth */
} wisp__traffic;
wisp_status wisp__sweep_traffic(wisp_ctx *ctx, const wisp__sweep *sweep, const wisp__caches *c, wisp__traffic *t);
/* The same, worked out for a band in which the rows of a sweep reach `reach` rows far. */
void wisp__band_traffic(int64_t reach, int64_t row_bytes, double entries, int64_t entry_bytes, const wisp__caches *c,
                        wisp__traffic *t);

/* ---- level structures ------------------------------------------------------------------------ */

/* Rows in levels: neighbours of a row are in its level or in the two beside it (all but a few). */
typedef struct {
    int32_t *row, *place; /* rows level by level, and the inverse; NULL: as they come */
    int64_t *begin;       /* [levels + 1] */
    int64_t levels, widest;
} wisp__levels;
void wisp__levels_free(wisp_ctx *ctx, wisp__levels *v);
/* Levels of `reach` consecutive rows. */
wisp_status wisp__levels_natural(wisp_ctx *ctx, int64_t rows, int64_t reach, wisp__levels *v);
/* Reverse Cuthill-McKee from a pseudo-peripheral row in each component. */
wisp_status wisp__levels_rcm(wisp_ctx *ctx, const wisp__sell *graph, int64_t rows, wisp__levels *v);

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Cuts the widest level into `pieces` and carries the pieces' numbers through the levels: label[row]. */
wisp_status wisp__tiles_label(wisp_ctx *ctx, const wisp__sell *graph, const wisp__levels *v, int32_t pieces,
                              int32_t *label);
/* Rows by label >> shift, then by level. begin[(pieces - 1 >> shift) + 2] takes the first row of each tile. */
void wisp__tiles_sort(int64_t rows, const wisp__levels *v, const int32_t *label, int32_t pieces, int shift,
                      int32_t *user, int64_t *begin);
#endif
