/* Parts of a graph by PT-SCOTCH (Chevalier and Pellegrini 2008): as large as the shares of the ranks, with few entries
   between them. Ranks that are threads have no communicator: one of them then cuts the whole graph, by SCOTCH. */
#include "../comm/comm.h"
#include "../late/late.h"
#include "order.h"
#include "config.h"
#include <stdlib.h>
#include <string.h>
#ifdef WISP_HAVE_SCOTCH
#include <pthread.h>
#include <ptscotch.h>

/* ---- the library ---------------------------------------------------------------------------------- */

/* What is called of it, without its SCOTCH_. */
#define FUNCTIONS(X)       \
    X(randomReset)         \
    X(contextInit)         \
    X(contextThreadSpawn)  \
    X(contextBindDgraph)   \
    X(contextBindGraph)    \
    X(contextExit)         \
    X(archInit)            \
    X(stratInit)           \
    X(archCmpltw)          \
    X(dgraphInit)          \
    X(stratDgraphMapBuild) \
    X(dgraphBuild)         \
    X(dgraphMap)           \
    X(dgraphExit)          \
    X(graphInit)           \
    X(stratGraphMapBuild)  \
    X(graphBuild)          \
    X(graphMap)            \
    X(graphExit)           \
    X(stratExit)           \
    X(archExit)

static struct {
#define MEMBER(name) __typeof__(SCOTCH_##name) *name;
    FUNCTIONS(MEMBER)
} scotch;
static char why[WISP__LATE_WHY]; /* it could not be opened */

static void open_library(void)
{
    static const char *const name[] = {
#define NAME(name) "SCOTCH_" #name,
        FUNCTIONS(NAME)};
    wisp__late_open(WISP_SCOTCH_LIBRARY, name, sizeof name / sizeof *name, &scotch, why);
}

static wisp_status find_library(wisp_ctx *ctx)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    if (!*why) return WISP_OK;
    return wisp_ctx_failf(
        ctx, WISP_ERR_UNSUPPORTED,
        "PT-SCOTCH's library can't be opened (Debian: libptscotch-dev): %s; take WISP_PARTITION_LEVELS", why);
}

/* ---- the parts ------------------------------------------------------------------------------------ */

typedef SCOTCH_Num num;

/* A rank's rows, without the diagonal, each column once. */
typedef struct {
    num rows, edges;
    num *begin, *col; /* [rows + 1], [edges] numbers of all ranks' rows */
} edges;

static int by_number(const void *a, const void *b)
{
    const num x = *(const num *)a, y = *(const num *)b;
    return x < y ? -1 : x > y;
}

static wisp_status find_edges(wisp_ctx *ctx, const wisp__graph *g, const wisp__halo *h, int64_t first, edges *e)
{
    const int64_t rows = g->rows;
    wisp_status status;
    e->rows = (num)rows;
    WISP_TRY(wisp_alloc(ctx, &e->begin, (size_t)rows + 1, sizeof *e->begin));
    WISP_TRY(wisp__alloc_raw(ctx, &e->col, (size_t)WISP__MAX(g->begin[rows], 1), sizeof *e->col));
    for (int64_t i = 0; i < rows; i++) {
        num *const col = e->col + e->edges;
        int64_t n = 0, unique = 0;
        for (int64_t k = g->begin[i]; k < g->begin[i + 1]; k++) {
            const int64_t to = g->neighbour[k];
            if (to != i) col[n++] = (num)(to < rows ? first + to : h->global[to - rows]);
        }
        qsort(col, (size_t)n, sizeof *col, by_number);
        for (int64_t k = 0; k < n; k++)
            if (unique == 0 || col[unique - 1] != col[k]) col[unique++] = col[k];
        e->edges += (num)unique;
        e->begin[i + 1] = e->edges;
    }
out:
    return status;
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0x632be59bd9b4e019)) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 29;
}

/* All ranks' edges in all, and whether each has its mirror: else these sums of random numbers differ. */
typedef struct {
    int64_t edges;
    uint64_t there, back;
} check;

static wisp_status check_edges(wisp_ctx *ctx, const edges *e, int64_t first)
{
    check own = {.edges = e->edges}, sum = {0}, *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    for (num i = 0; i < e->rows; i++)
        for (num k = e->begin[i]; k < e->begin[i + 1]; k++) {
            own.there += mixed((uint64_t)(first + i), (uint64_t)e->col[k]);
            own.back += mixed((uint64_t)e->col[k], (uint64_t)(first + i));
        }
    WISP_TRY(ctx->comm->gather(ctx, &own, sizeof own, all));
    for (int r = 0; r < ctx->ranks; r++) {
        sum.edges += all[r].edges;
        sum.there += all[r].there, sum.back += all[r].back;
    }
    if (sum.there != sum.back)
        status = wisp_ctx_failf(ctx, WISP_ERR_ARG,
                                "SCOTCH takes matrices with a symmetric pattern; this one has "
                                "entries without their mirrors");
    else if (sizeof(num) < sizeof(int64_t) && sum.edges > INT32_MAX)
        status = wisp_ctx_failf(
            ctx, WISP_ERR_OVERFLOW,
            "a matrix of %lld entries, and this SCOTCH has numbers of 32 bits; take WISP_PARTITION_LEVELS",
            (long long)sum.edges);
out:
    wisp_free(ctx, all);
    return status;
}

/* Ranks that get rows, and how many. */
typedef struct {
    int *rank;
    num *share;
    num count;
} target;

static const double uneven = 0.0001; /* parts may be off by so much of their shares; more cuts through more edges */

static wisp_status find_target(wisp_ctx *ctx, target *t, const int64_t *weights, int64_t rows)
{
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &t->rank, (size_t)ctx->ranks, sizeof *t->rank));
    WISP_TRY(wisp_alloc(ctx, &t->share, (size_t)ctx->ranks, sizeof *t->share));
    for (int r = 0; r < ctx->ranks; r++) {
        const int64_t share = wisp__share_begin(ctx, weights, rows, r + 1) - wisp__share_begin(ctx, weights, rows, r);
        if (share == 0) continue;
        t->rank[t->count] = r;
        t->share[t->count++] = (num)share;
    }
out:
    return status;
}

/* part[e->rows] of the graph that the processes have together; without a communicator, of one that is all here. */
static bool cut(const target *t, const edges *e, const MPI_Comm *comm, int ranks, num *part)
{
    SCOTCH_Context context;
    SCOTCH_Arch arch;
    SCOTCH_Strat strat;
    SCOTCH_Graph whole, whole_bound; /* a graph, and the same one within the context */
    SCOTCH_Dgraph g, bound;
    bool done;
    if (t->count < 2) {
        memset(part, 0, (size_t)e->rows * sizeof *part);
        return true;
    }
    scotch.randomReset(); /* the same parts each time */
    if (scotch.contextInit(&context)) return false;
    scotch.archInit(&arch);
    scotch.stratInit(&strat);
    /* One thread. Debian's takes two by itself, which call MPI at once, whatever level MPI was started with. */
    done = !scotch.contextThreadSpawn(&context, 1, NULL) && !scotch.archCmpltw(&arch, t->count, t->share);
    if (comm && done && (done = !scotch.dgraphInit(&g, *comm))) {
        done = !scotch.stratDgraphMapBuild(&strat, SCOTCH_STRATBALANCE, (num)ranks, t->count, uneven) &&
               !scotch.dgraphBuild(&g, 0, e->rows, e->rows, e->begin, NULL, NULL, NULL, e->edges, e->edges, e->col,
                                   NULL, NULL) &&
               !scotch.contextBindDgraph(&context, &g, &bound) && !scotch.dgraphMap(&bound, &arch, &strat, part);
        scotch.dgraphExit(&g);
    } else if (!comm && done && (done = !scotch.graphInit(&whole))) {
        done = !scotch.stratGraphMapBuild(&strat, SCOTCH_STRATBALANCE, t->count, uneven) &&
               !scotch.graphBuild(&whole, 0, e->rows, e->begin, NULL, NULL, NULL, e->edges, e->col, NULL) &&
               !scotch.contextBindGraph(&context, &whole, &whole_bound) &&
               !scotch.graphMap(&whole_bound, &arch, &strat, part);
        scotch.graphExit(&whole);
    }
    scotch.stratExit(&strat);
    scotch.archExit(&arch);
    scotch.contextExit(&context);
    return done;
}

/* The lengths of a rank's rows, then their columns, in one message to rank 0; there, all of them together. */
static wisp_status collect(wisp_ctx *ctx, const int64_t *weights, const edges *e, wisp__message *to,
                           wisp__message **from, edges *all)
{
    num *data = NULL, at = 0;
    wisp_status status;
    const size_t rows = (size_t)e->rows, count = rows + (size_t)e->edges;
    WISP_TRY(wisp__alloc_raw(ctx, &data, count + 1, sizeof *data));
    for (size_t i = 0; i < rows; i++) data[i] = e->begin[i + 1] - e->begin[i];
    memcpy(data + rows, e->col, (size_t)e->edges * sizeof *data);
    to[0] = (wisp__message){0, data, count * sizeof *data};
    WISP_TRY(wisp__comm_exchange(ctx, to, from));
    if (ctx->rank > 0) goto out;
    for (int r = 0; r < ctx->ranks; r++) all->edges += (num)((*from)[r].bytes / sizeof *data);
    all->edges -= all->rows;
    WISP_TRY(wisp_alloc(ctx, &all->begin, (size_t)all->rows + 1, sizeof *all->begin));
    WISP_TRY(wisp__alloc_raw(ctx, &all->col, (size_t)all->edges + 1, sizeof *all->col));
    for (int r = 0; r < ctx->ranks; r++) {
        const num own =
            (num)(wisp__share_begin(ctx, weights, all->rows, r + 1) - wisp__share_begin(ctx, weights, all->rows, r));
        const num *len = (*from)[r].data, begin = all->begin[at];
        for (num i = 0; i < own; i++, at++) all->begin[at + 1] = all->begin[at] + len[i];
        memcpy(all->col + begin, len + own, (size_t)(all->begin[at] - begin) * sizeof *len);
    }
out:
    wisp_free(ctx, data);
    return status;
}

static wisp_status failed(wisp_ctx *ctx)
{
    return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "PT-SCOTCH failed: out of memory, as a rule");
}

static wisp_status cut_by_one(wisp_ctx *ctx, const target *t, const edges *e, const wisp__part *p, num *part)
{
    const int64_t rows = p->whole->rows, *weights = p->weights;
    edges all = {.rows = (num)rows};
    num *parts = NULL;
    wisp__message *to = NULL, *from = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &to, (size_t)ctx->ranks, sizeof *to));
    for (int r = 0; r < ctx->ranks; r++) to[r].rank = r;
    WISP_TRY(collect(ctx, weights, e, to, &from, &all));
    wisp_free(ctx, from);
    from = NULL;
    to[0] = (wisp__message){0};
    if (ctx->rank == 0) {
        WISP_TRY(wisp_alloc(ctx, &parts, (size_t)rows, sizeof *parts));
        if (!cut(t, &all, NULL, 1, parts)) WISP_TRY(failed(ctx));
        for (int r = 0; r < ctx->ranks; r++) {
            const int64_t first = wisp__share_begin(ctx, weights, rows, r),
                          end = wisp__share_begin(ctx, weights, rows, r + 1);
            to[r] = (wisp__message){r, parts + first, (size_t)(end - first) * sizeof *parts};
        }
    }
    WISP_TRY(wisp__comm_exchange(ctx, to, &from));
    memcpy(part, from[0].data, from[0].bytes);
out:
    wisp_free(ctx, all.begin);
    wisp_free(ctx, all.col);
    wisp_free(ctx, parts);
    wisp_free(ctx, to);
    wisp_free(ctx, from);
    return status;
}

wisp_status wisp__parts_of_ranks(wisp_ctx *ctx, const wisp__graph *graph, const wisp__part *p, int32_t *part)
{
    const int64_t rows = graph->rows;
    edges e = {0};
    target t = {0};
    num *found = NULL;
    double ready = 1;
    MPI_Comm comm;
    wisp_status status;
    WISP_TRY(find_library(ctx));
    WISP_TRY(find_edges(ctx, graph, p->halo, p->first, &e));
    WISP_TRY(check_edges(ctx, &e, p->first));
    WISP_TRY(find_target(ctx, &t, p->weights, p->whole->rows));
    WISP_TRY(wisp_alloc(ctx, &found, (size_t)rows + 1, sizeof *found));
    WISP_TRY(ctx->comm->sum(ctx, &ready, 1)); /* nobody begins the library's own exchanges alone */
    if (!wisp__mpi_comm(ctx, &comm))
        WISP_TRY(cut_by_one(ctx, &t, &e, p, found));
    else if (!cut(&t, &e, &comm, ctx->ranks, found))
        WISP_TRY(failed(ctx));
    for (int64_t i = 0; i < rows; i++) part[i] = t.rank[found[i]];
out:
    wisp_free(ctx, t.rank);
    wisp_free(ctx, t.share);
    wisp_free(ctx, e.begin);
    wisp_free(ctx, e.col);
    wisp_free(ctx, found);
    return status;
}
#else
wisp_status wisp__parts_of_ranks(wisp_ctx *ctx, const wisp__graph *graph, const wisp__part *p, int32_t *part)
{
    (void)graph, (void)p, (void)part;
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                          "this build has no PT-SCOTCH (Debian: libptscotch-dev); take WISP_PARTITION_LEVELS");
}
#endif
