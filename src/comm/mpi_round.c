/* Ranks as processes, by MPI: rounds, in which all meet, and how one waits for them and for messages. */
#include "config.h"
#ifdef WISP_HAVE_MPI
#include "mpi_world.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef wisp__mpi_world world;
typedef wisp__mpi_plan plan;
typedef wisp__mpi_round round;

static const char *const call_name[] = {"leave", "sum", "gather", "exchange", "sum_start"};

/* ---- waiting ----------------------------------------------------------------------------------- */

bool wisp__mpi_drop(const world *w, int tag)
{
    MPI_Message message;
    MPI_Status s;
    int there, bytes;
    MPI_Improbe(MPI_ANY_SOURCE, tag, w->comm, &there, &message, &s);
    if (!there) return false;
    MPI_Get_count(&s, MPI_BYTE, &bytes);
    void *room = malloc((size_t)bytes + 1);
    if (!room) MPI_Abort(w->comm, EXIT_FAILURE); /* a shorter receive would be an error, too */
    MPI_Mrecv(room, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    free(room);
    return true;
}

void wisp__mpi_give_way(int *turns)
{
    enum { AWAKE = 200 };
    if (++*turns < AWAKE)
        wisp__yield();
    else
        usleep(WISP__MPI_SLEEP);
}

void wisp__mpi_finish(world *w, MPI_Request *request, int n)
{
    int done, turns = 0;
    for (;;) {
        MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
        if (done) return;
        if (w->failing) wisp__mpi_drop(w, wisp__mpi_tag(w));
        wisp__mpi_give_way(&turns);
    }
}

bool wisp__mpi_has_notice(world *w)
{
    MPI_Status s;
    unsigned epoch;
    int there;
    MPI_Iprobe(MPI_ANY_SOURCE, WISP__MPI_NOTICE_TAG, w->comm, &there, &s);
    if (!there) return false;
    MPI_Recv(&epoch, 1, MPI_UNSIGNED, s.MPI_SOURCE, WISP__MPI_NOTICE_TAG, w->comm, MPI_STATUS_IGNORE);
    return epoch == w->epoch;
}

/* ---- a round ----------------------------------------------------------------------------------- */

static void give_notice(world *w, int rank, int ranks)
{
    w->notice = w->epoch;
    for (int r = 0; r < ranks; r++) {
        MPI_Request request;
        if (r == rank) continue;
        MPI_Isend(&w->notice, 1, MPI_UNSIGNED, r, WISP__MPI_NOTICE_TAG, w->comm, &request);
        MPI_Request_free(&request); /* who does not wait for messages reads it later, or never */
    }
}

/* What was sent is taken or dropped by its receiver. */
static void give_up(world *w)
{
    const plan *p = w->active;
    for (int i = 0, done; i < p->receives; i++) {
        MPI_Request_get_status(p->request[i], &done, MPI_STATUS_IGNORE);
        if (!done) MPI_Cancel(&p->request[i]);
    }
    wisp__mpi_finish(w, p->request, p->requests);
    w->active = NULL;
}

void wisp__mpi_free_plan(plan *p)
{
    for (int i = 0; i < p->requests; i++) MPI_Request_free(&p->request[i]);
    free(p->request);
    free(p->message);
    free(p->list);
    *p = (plan){0};
}

void wisp__mpi_free_plans(world *w)
{
    for (int i = 0; i < WISP__MPI_PLANS; i++) wisp__mpi_free_plan(&w->plan[i]);
}

static wisp_status failed(wisp_ctx *ctx, wisp_status status, const char *format, int rank, const char *words)
{
    ctx->failed = status;
    return wisp_ctx_failf(ctx, status, format, rank, words);
}

/* A new epoch begins, with the message of the rank that failed. */
static wisp_status end_epoch(wisp_ctx *ctx, int rank, wisp_status status)
{
    world *w = ctx->world;
    char message[sizeof ctx->message];
    MPI_Request request;
    memset(message, 0, sizeof message); /* all of it is sent */
    wisp_ctx_message(ctx, message, sizeof message);
    MPI_Ibcast(message, sizeof message, MPI_CHAR, rank, w->comm, &request);
    wisp__mpi_finish(w, &request, 1);
    w->epoch++;
    w->failing = false;
    wisp__mpi_free_plans(w); /* they have the old tag */
    if (rank == ctx->rank) return ctx->failed = status;
    return failed(ctx, status, "process %d: %s", rank, message);
}

static wisp_status judge(wisp_ctx *ctx, const round *m)
{
    for (int r = 0; r < ctx->ranks; r++) ctx->agreed |= m->all[r].wish;
    for (int r = 0; r < ctx->ranks; r++)
        if (m->all[r].status != WISP_OK) return end_epoch(ctx, r, (wisp_status)m->all[r].status);
    for (int r = 0; r < ctx->ranks; r++)
        if (m->all[r].call != m->mine.call || m->all[r].bytes != m->mine.bytes)
            return failed(ctx, WISP_ERR_MISMATCH, "process %d calls something else than this one (%s)", r,
                          call_name[m->mine.call]);
    return WISP_OK;
}

void wisp__mpi_begin(wisp_ctx *ctx, round *m, wisp__mpi_call call, wisp_status status, const void *data, size_t bytes)
{
    const world *w = ctx->world;
    m->mine.call = (int16_t)call;
    m->mine.wish = wisp__held_wish(ctx);
    m->mine.status = (int32_t)status;
    m->mine.bytes = bytes;
    if (bytes && bytes <= WISP__MPI_POST) memcpy(m->mine.data, data, bytes);
    MPI_Iallgather(&m->mine, sizeof m->mine, MPI_BYTE, m->all, sizeof m->mine, MPI_BYTE, w->comm, &m->request);
    m->under_way = true;
}

wisp_status wisp__mpi_end(wisp_ctx *ctx, round *m)
{
    if (!m->under_way) return WISP_OK;
    wisp__mpi_finish(ctx->world, &m->request, 1);
    m->under_way = false;
    return judge(ctx, m);
}

wisp_status wisp__mpi_meet(wisp_ctx *ctx, wisp__mpi_call call, wisp_status status, const void *data, size_t bytes)
{
    world *w = ctx->world;
    if (status != WISP_OK) {
        w->failing = true;
        give_notice(w, ctx->rank, ctx->ranks);
        if (w->active) give_up(w);
    }
    const wisp_status before = wisp__mpi_end(ctx, &w->summing);
    if (before != WISP_OK) return before;
    wisp__mpi_begin(ctx, &w->meeting, call, status, data, bytes);
    return wisp__mpi_end(ctx, &w->meeting);
}

wisp_status wisp__mpi_join(wisp_ctx *ctx)
{
    world *w = ctx->world;
    w->failing = true;
    give_up(w);
    return wisp__mpi_meet(ctx, WISP__MPI_EXCHANGE, WISP_OK, NULL, 0);
}
#endif
