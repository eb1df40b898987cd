/* Graphs of many kinds as rows of matrices: for schedules of interleaved steps, and their results. */
#ifndef GRAPH_ROWS_H
#define GRAPH_ROWS_H
#include "ref.h"

enum { ROWS = 12000, MOST_ROW = 8, GRAPHS = 11, PART = 256 };
enum { CHAIN, PERIODIC, LATTICE, TORUS, ONE_WAY, HALVES, STAR, CLIQUES, FAR_LINKS, SHUFFLED, RANDOM };

typedef struct {
    int graph;
    wisp_type type;
} graph_rows;

static inline uint64_t graph_hash(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 29;
}

static inline int graph_add(int64_t *col, int n, int64_t to)
{
    if (to < 0 || to >= ROWS) return n;
    for (int i = 0; i < n; i++)
        if (col[i] == to) return n;
    col[n] = to;
    return n + 1;
}

/* Row i of a chain whose parts of PART rows stand in another order, all but the last one; and back. */
static inline int64_t graph_shuffled(int64_t i, int64_t by)
{
    const int64_t parts = ROWS / PART;
    return i >= parts * PART || i < 0 ? i : i / PART * by % parts * PART + i % PART;
}

/* Some rows are empty in every graph. */
static inline int graph_columns(int graph, int64_t i, int64_t *col)
{
    const int64_t line = 100, plane = 1500;
    int n = 0;
    if (graph_hash((uint64_t)i, 77) % 50 == 0) return 0;
    switch (graph) {
    case PERIODIC: n = graph_add(col, n, (i + 1) % ROWS), n = graph_add(col, n, (i + ROWS - 1) % ROWS); break;
    case LATTICE:
        n = graph_add(col, n, i + plane), n = graph_add(col, n, i - plane), n = graph_add(col, n, i + line);
        break;
    case TORUS:
        n = graph_add(col, n, (i + plane) % ROWS), n = graph_add(col, n, (i + ROWS - plane) % ROWS);
        n = graph_add(col, n, i / plane * plane + (i + line) % plane);
        break;
    case ONE_WAY: n = graph_add(col, n, i + (int64_t)(graph_hash((uint64_t)i, 5) % 900)); return n;
    case HALVES: n = graph_add(col, n, i / (ROWS / 2) * (ROWS / 2) + (i + 700) % (ROWS / 2)); break;
    case STAR: n = graph_add(col, n, 0); break;
    case CLIQUES: n = graph_add(col, n, i / 6 * 6 + (int64_t)(graph_hash((uint64_t)i, 6) % 6)); break;
    case FAR_LINKS:
        if (i % 997 == 0) n = graph_add(col, n, (int64_t)(graph_hash((uint64_t)i, 7) % ROWS));
        break;
    case SHUFFLED: /* 46 parts; 17 and 19 are inverse to each other modulo 46 */
        n = graph_add(col, n, i), n = graph_add(col, n, graph_shuffled(graph_shuffled(i, 19) - 1, 17));
        return graph_add(col, n, graph_shuffled(graph_shuffled(i, 19) + 1, 17));
    case RANDOM:
        for (uint64_t k = 0; k < 4; k++) n = graph_add(col, n, (int64_t)(graph_hash((uint64_t)i, k) % ROWS));
        break;
    default: break;
    }
    n = graph_add(col, n, i), n = graph_add(col, n, i - 1), n = graph_add(col, n, i + 1);
    return n;
}

static inline int graph_row(void *arg, int64_t i, int64_t *col, void *val)
{
    const graph_rows *p = arg;
    int64_t mine[MOST_ROW];
    const int n = graph_columns(p->graph, i, col ? col : mine);
    const bool pairs = wisp_type_is_complex(p->type);
    for (int k = 0; col && k < n; k++) {
        double *v = (double *)val + (pairs ? 2 * k : k);
        v[0] = (double)(graph_hash((uint64_t)i, (uint64_t)col[k]) % 1000) / 3000 - 0.16;
        if (pairs) v[1] = 0.1;
    }
    return n;
}

static inline wisp_mat *graph_mat(wisp_ctx *ctx, graph_rows *p, int width, wisp_format format)
{
    wisp_mat *A;
    wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = MOST_ROW, .type = p->type, .row = graph_row, .arg = p};
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = width, .format = format}));
    return A;
}
#endif
