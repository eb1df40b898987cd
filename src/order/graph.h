/* Graphs: rows and their neighbours, as orders, walks and partitions see a matrix. */
#ifndef WISP_GRAPH_H
#define WISP_GRAPH_H
#include "../base/base.h"

/* Neighbours need not be mutual; a row may be its own, or have one twice. */
typedef struct {
    int64_t rows;
    int64_t *begin;     /* [rows + 1] where a row's neighbours are */
    int32_t *neighbour; /* [begin[rows]] */
} wisp__graph;

static inline int64_t wisp__degree(const wisp__graph *g, int64_t row) { return g->begin[row + 1] - g->begin[row]; }

/* The pattern of a source with rows of these lengths, entries of the diagonal too; a column behind the square (of
   another rank) is kept with `halo`, else it becomes the row's own. */
wisp_status wisp__graph_read(wisp_ctx *ctx, const wisp_src *src, const int32_t *len, bool halo, wisp__graph *g);
void wisp__graph_free(wisp_ctx *ctx, wisp__graph *g);
#endif
