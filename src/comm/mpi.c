/* Ranks as processes, by MPI.

   In a round each rank gives all others a post of one size, whatever it calls. So a rank that has failed meets those
   that go on, in whichever of their calls it is. Sums and gathered data that are short travel in the post.

   An exchange is no round: it concerns neighbours alone. So a rank that fails sends all others a notice, and goes to
   its round. Who gets the notice while it waits for messages gives them up, and joins that round. Messages may be on
   their way then to ranks that no longer want them: those take them and drop them until the round is through. Any that
   come later still have the tag of an epoch that is past.

   A sum that is started is a round, too, which may go on beside exchanges, but is through before the next round begins:
   who failed before it, or in it, makes no further one. MPI need not move it along by itself. It does so, at the least,
   where this process asks it for something: in the start, in the polls of a product's exchange and in the wait. What a
   sum lacks after these is not hidden. */
#include "comm.h"
#include "config.h"
#ifdef WISP_HAVE_MPI
#include "mpi_world.h"
#include <stdlib.h>
#include <string.h>

enum {
    PIECES = 1 << 20, /* bytes of the pieces in which long data are gathered, of all ranks together */
    LEAST_PIECE = 4096,
};

typedef wisp__mpi_world world;
typedef wisp__mpi_round round;

/* The communicator for the contexts that this thread makes. */
static _Thread_local struct {
    bool set;
    MPI_Comm comm;
} here;

const wisp__comm *wisp__mpi_here(void) { return here.set ? &wisp__comm_mpi : NULL; }

void wisp__mpi_set(const void *comm)
{
    here.set = comm != NULL;
    if (comm) memcpy(&here.comm, comm, sizeof here.comm);
}

/* ---- collective calls -------------------------------------------------------------------------- */

static void mpi_enter(wisp_ctx *ctx) { ctx->entered++; }

static wisp_status mpi_leave(wisp_ctx *ctx, wisp_status status)
{
    if (ctx->entered == 1) {
        status = ctx->failed != WISP_OK ? ctx->failed : wisp__mpi_meet(ctx, WISP__MPI_LEAVE, status, NULL, 0);
        if (status != WISP_OK) ((world *)ctx->world)->sum = NULL;
        ctx->failures += status != WISP_OK;
        ctx->failed = WISP_OK;
    }
    ctx->entered--;
    return status;
}

/* What rank r gave: in its post, or the next piece of it. */
static const char *given(const world *w, const round *m, int r, size_t n)
{
    return m->mine.bytes <= WISP__MPI_POST ? m->all[r].data : w->piece + (size_t)r * n;
}

/* The bytes from `at` on of what all ranks gave in this round; how many. */
static size_t next_piece(world *w, const round *m, const char *mine, size_t at)
{
    const size_t rest = m->mine.bytes - at, n = WISP__MIN(rest, w->piece_bytes);
    MPI_Request request;
    if (m->mine.bytes <= WISP__MPI_POST) return rest;
    MPI_Iallgather(mine + at, (int)n, MPI_BYTE, w->piece, (int)n, MPI_BYTE, w->comm, &request);
    wisp__mpi_finish(w, &request, 1);
    return n;
}

/* x[n] is what this rank gave in a round that is through. */
static void add_up(wisp_ctx *ctx, const round *m, double *x, size_t n)
{
    world *w = ctx->world;
    const size_t bytes = n * sizeof *x;
    for (size_t at = 0, got; at < bytes; at += got) {
        got = next_piece(w, m, (const char *)x, at);
        double *sum = x + at / sizeof *x;
        memcpy(sum, given(w, m, 0, got), got);
        for (int r = 1; r < ctx->ranks; r++) {
            const double *other = (const double *)given(w, m, r, got);
            for (size_t i = 0; i < got / sizeof *x; i++) sum[i] += other[i];
        }
    }
}

static wisp_status mpi_sum(wisp_ctx *ctx, double *x, size_t n)
{
    if (ctx->failed != WISP_OK) return ctx->failed;
    const wisp_status status = wisp__mpi_meet(ctx, WISP__MPI_SUM, WISP_OK, x, n * sizeof *x);
    if (status == WISP_OK) add_up(ctx, &((world *)ctx->world)->meeting, x, n);
    return status;
}

/* What is too long for a post is gathered in the wait. */
static wisp_status mpi_sum_start(wisp_ctx *ctx, double *x, size_t n)
{
    static double nothing;
    world *w = ctx->world;
    if (ctx->failed != WISP_OK) return ctx->failed;
    if (w->sum) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a sum begins before the one before it is waited for");
    wisp__mpi_begin(ctx, &w->summing, WISP__MPI_SUM_START, WISP_OK, x, n * sizeof *x);
    w->sum = n ? x : &nothing;
    w->sum_n = n;
    return WISP_OK;
}

static wisp_status mpi_sum_wait(wisp_ctx *ctx)
{
    world *w = ctx->world;
    double *x = w->sum;
    if (ctx->failed != WISP_OK) return ctx->failed;
    if (!x) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "no sum was started that could be waited for");
    const wisp_status status = wisp__mpi_end(ctx, &w->summing);
    if (status == WISP_OK) add_up(ctx, &w->summing, x, w->sum_n);
    w->sum = NULL;
    return status;
}

static wisp_status mpi_gather(wisp_ctx *ctx, const void *mine, size_t bytes, void *all)
{
    world *w = ctx->world;
    if (ctx->failed != WISP_OK) return ctx->failed;
    const wisp_status status = wisp__mpi_meet(ctx, WISP__MPI_GATHER, WISP_OK, mine, bytes);
    const round *m = &w->meeting;
    for (size_t at = 0, got; at < bytes && status == WISP_OK; at += got) {
        got = next_piece(w, m, mine, at);
        for (int r = 0; r < ctx->ranks; r++) memcpy((char *)all + (size_t)r * bytes + at, given(w, m, r, got), got);
    }
    return status;
}

/* ---- its life ---------------------------------------------------------------------------------- */

/* What failures have left behind. MPICH gives a later communicator the same number, and it would get these messages. */
static void take_rest(world *w)
{
    MPI_Request request;
    MPI_Ibarrier(w->comm, &request);
    wisp__mpi_finish(w, &request, 1);
    while (wisp__mpi_drop(w, MPI_ANY_TAG)) {}
}

static void mpi_close(wisp_ctx *ctx)
{
    world *w = ctx->world;
    int ended;
    if (!w) return;
    MPI_Finalized(&ended);
    if (!ended) wisp__mpi_free_plans(w);
    if (!ended && w->comm != MPI_COMM_NULL) {
        take_rest(w);
        MPI_Comm_free(&w->comm);
    }
    free(w->meeting.all);
    free(w->piece);
    free(w);
    ctx->world = NULL;
}

/* The lowest rank on the same node, which stands for the node. */
static void find_node(wisp_ctx *ctx, const world *w)
{
    MPI_Comm node;
    ctx->node = ctx->rank;
    MPI_Comm_split_type(w->comm, MPI_COMM_TYPE_SHARED, ctx->rank, MPI_INFO_NULL, &node);
    MPI_Bcast(&ctx->node, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
}

static wisp_status usable(wisp_ctx *ctx)
{
    int begun, ended, inter;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (!begun || ended)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "MPI is not %s: call MPI_Init_thread before wisp_ctx_create_mpi",
                              ended ? "there any more" : "started");
    if (here.comm == MPI_COMM_NULL) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the communicator is MPI_COMM_NULL");
    MPI_Comm_test_inter(here.comm, &inter);
    if (inter) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "an intercommunicator: merge it (MPI_Intercomm_merge)");
    return WISP_OK;
}

static wisp_status mpi_open(wisp_ctx *ctx)
{
    static const char *const level_name[] = {"single", "funneled", "serialized", "multiple"};
    wisp_status status = usable(ctx);
    if (status != WISP_OK) return status;
    MPI_Comm comm;
    MPI_Comm_dup(here.comm, &comm); /* messages of others never meet ours */
    MPI_Comm_rank(comm, &ctx->rank);
    MPI_Comm_size(comm, &ctx->ranks);
    ctx->ranks_here = 1;
    world *w = ctx->world = calloc(1, sizeof *w);
    int there = w != NULL, level;
    if (w) {
        w->comm = comm;
        w->piece_bytes = WISP__MAX(LEAST_PIECE, PIECES / (size_t)ctx->ranks / LEAST_PIECE * LEAST_PIECE);
        w->meeting.all = calloc(2 * (size_t)ctx->ranks, sizeof *w->meeting.all);
        w->piece = malloc((size_t)ctx->ranks * w->piece_bytes);
        there = w->meeting.all && w->piece;
    }
    MPI_Allreduce(MPI_IN_PLACE, &there, 1, MPI_INT, MPI_MIN, comm);
    if (!there) { /* on all: what mpi_close would wait for, one may not have */
        if (w) free(w->meeting.all), free(w->piece);
        free(w);
        ctx->world = NULL;
        MPI_Comm_free(&comm);
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %d processes", ctx->ranks);
    }
    w->summing.all = w->meeting.all + ctx->ranks;
    find_node(ctx, w);
    MPI_Query_thread(&level);
    ctx->may_wait_beside = level >= MPI_THREAD_SERIALIZED;
    const char *name = level_name[WISP__MIN(WISP__MAX(level - MPI_THREAD_SINGLE, 0), 3)];
    wisp_ctx_logf(ctx, WISP_LOG_INFO, "process %d of %d, threads of MPI: asked for serialized, given %s%s", ctx->rank,
                  ctx->ranks, name,
                  ctx->may_wait_beside ? "" : ", too little for halos as 'task', which are exchanged as 'overlap'");
    return status;
}

const wisp__comm wisp__comm_mpi = {
    .open = mpi_open,
    .close = mpi_close,
    .enter = mpi_enter,
    .leave = mpi_leave,
    .sum = mpi_sum,
    .sum_start = mpi_sum_start,
    .sum_wait = mpi_sum_wait,
    .gather = mpi_gather,
    .start = wisp__mpi_start,
    .wait = wisp__mpi_wait,
    .some = wisp__mpi_some,
};

bool wisp__mpi_comm(const wisp_ctx *ctx, void *comm)
{
    if (ctx->comm != &wisp__comm_mpi) return false;
    *(MPI_Comm *)comm = ((const world *)ctx->world)->comm;
    return true;
}
#else
const wisp__comm *wisp__mpi_here(void) { return NULL; }
bool wisp__mpi_comm(const wisp_ctx *ctx, void *comm)
{
    (void)ctx, (void)comm;
    return false;
}
#endif
