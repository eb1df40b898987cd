/* Orders of rows: level structures of a matrix's graph, and tiles through the levels. */
#ifndef WISP_ORDER_H
#define WISP_ORDER_H
#include "../data/halo.h"
#include "../data/rows.h"
#include "../data/shape.h"
#include "graph.h"

/* near.c: of wisp_src_near, how many rows there are up to the end of each level; NULL: of another source. */
const int64_t *wisp__near_levels(const wisp_src *src, int64_t *levels);

/* ---- the choice ------------------------------------------------------------------------------ */

/* What is asked for, as in wisp_mat_opts. */
typedef struct {
    wisp_order order, tiles_on;
    int64_t slices;
} wisp__order_want;

/* What wisp__map_ordered will do with a square source of nnz entries. */
typedef struct {
    bool looks;            /* it looks at the whole pattern; else rows stay as they come */
    bool banded;           /* tiles need no other order, mostly as rows reach a small part of the matrix */
    int64_t bytes, likely; /* that it holds at most while it looks, beside the lengths of rows; as a rule */
} wisp__order_plan;
wisp_status wisp__order_foresee(wisp__order_plan *p, wisp_ctx *ctx, const wisp_src *src, int64_t nnz,
                                const wisp__order_want *want, wisp_type type, int width);

/* A map for a square matrix with rows of these lengths: in the order asked for, or in the one that a model of
   time finds best for blocks of this width and type. */
wisp_status wisp__map_ordered(wisp_map **map, wisp_ctx *ctx, const wisp_src *src, const int32_t *row_len,
                              const wisp__order_want *want, wisp_type type, int width);

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
wisp_status wisp__levels_rcm(wisp_ctx *ctx, const wisp__graph *graph, wisp__levels *v);

/* Breadth-first levels of the graph that all ranks have together, component by component, each from a row far out:
   level[rows], all below *levels. The graph has columns in the rank's rows, from number `first` on, and behind them in
   the halo. Rows without neighbours are of level 0; very long graphs end in rows of one level. Collective. */
wisp_status wisp__levels_of_ranks(wisp_ctx *ctx, const wisp__graph *graph, const wisp__halo *halo, int64_t first,
                                  int32_t *level, int64_t *levels);

/* Parts of that graph of a part of a source, a rank for each of the rank's rows, about as large as the ranks' shares
   and with few entries between them. WISP_ERR_ARG: the pattern is not symmetric; WISP_ERR_UNSUPPORTED: this build has
   no PT-SCOTCH. Collective. */
wisp_status wisp__parts_of_ranks(wisp_ctx *ctx, const wisp__graph *graph, const wisp__part *rows, int32_t *part);

/* Breadth-first levels of a part of a graph, for those who cut it again and again. */
typedef struct {
    wisp_ctx *ctx;
    const wisp__graph *graph;
    uint8_t *found; /* [rows] all 1 between searches */
    int64_t *begin; /* [levels + 1] of the levels in what was found last */
    int64_t levels;
    int32_t *queue; /* where that is */
} wisp__level_search;
wisp_status wisp__level_search_open(wisp_ctx *ctx, const wisp__graph *graph, wisp__level_search *s);
void wisp__level_search_close(wisp__level_search *s);
/* Puts the rows part[n] (NULL: all n) into row[n], which is memory of its own, level by level: from row `start`, then
   component by component from pseudo-peripheral rows; start = -1: these alone. */
wisp_status wisp__level_search_run(wisp__level_search *s, const int32_t *part, int64_t n, int64_t start, int32_t *row);

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Levels in slices of `tiles` equal parts, one after the other: visit[visits] are the row blocks, of visit_rows rows
   each, as a sweep takes them (visits = rows / visit_rows, rounded up). */
wisp_status wisp__tiles_visit(wisp_ctx *ctx, const wisp__levels *v, int64_t rows, int64_t tiles, int64_t visit_rows,
                              int32_t *visit);
#endif
