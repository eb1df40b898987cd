/* The graph of a source's pattern. */
#include "graph.h"
#include "../data/rows.h"

typedef struct {
    wisp_ctx *ctx;
    const wisp_src *src;
    bool halo;
    const wisp__graph *graph;
} pattern_run;

static wisp_status read_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    const pattern_run *r = arg;
    for (int64_t i = begin; i < end; i++) {
        int n;
        wisp_status status = wisp__read_columns(reader, r->ctx, i, &n);
        if (status != WISP_OK) return status;
        status = wisp__same_count(r->ctx, reader->src, i, n, (int)wisp__degree(r->graph, i));
        if (status != WISP_OK) return status;
        int32_t *to = r->graph->neighbour + r->graph->begin[i];
        for (int e = 0; e < n; e++) to[e] = (int32_t)(r->halo || reader->col[e] < r->src->rows ? reader->col[e] : i);
    }
    return WISP_OK;
}

wisp_status wisp__graph_read(wisp_ctx *ctx, const wisp_src *src, const int32_t *len, bool halo, wisp__graph *g)
{
    const int64_t rows = src->rows;
    wisp_status status;
    g->rows = rows;
    WISP_TRY(wisp__alloc_raw(ctx, &g->begin, (size_t)rows + 1, sizeof *g->begin));
    g->begin[0] = 0;
    for (int64_t i = 0; i < rows; i++) g->begin[i + 1] = g->begin[i] + len[i];
    WISP_TRY(wisp__alloc_raw(ctx, &g->neighbour, (size_t)g->begin[rows], sizeof *g->neighbour));
    pattern_run run = {ctx, src, halo, g};
    WISP_TRY(wisp__for_rows(ctx, "ordering", src, NULL, rows, WISP__PIECE, read_rows, &run));
out:
    return status;
}

void wisp__graph_free(wisp_ctx *ctx, wisp__graph *g)
{
    wisp_free(ctx, g->begin);
    wisp_free(ctx, g->neighbour);
    *g = (wisp__graph){0};
}
