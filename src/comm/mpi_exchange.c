/* Ranks as processes, by MPI: exchanges of messages between neighbours, as persistent requests. */
#include "config.h"
#ifdef WISP_HAVE_MPI
#include "mpi_world.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 1 << 30 /* message; MPI counts by int */ };

typedef wisp__mpi_world world;
typedef wisp__mpi_plan plan;

/* ---- plans ------------------------------------------------------------------------------------- */

static bool same_list(const wisp__message *a, const wisp__message *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].rank != b[i].rank || a[i].data != b[i].data || a[i].bytes != b[i].bytes) return false;
    return true;
}

static plan *known_plan(world *w, const wisp__message *to, int to_count, const wisp__message *from, int from_count)
{
    for (plan *p = w->plan; p < w->plan + WISP__MPI_PLANS; p++)
        if (p->list && p->to_count == to_count && p->from_count == from_count && same_list(p->list, to, to_count) &&
            same_list(p->list + to_count, from, from_count))
            return p;
    return NULL;
}

/* How many messages of at most LONGEST bytes a message goes in. */
static int parts_in(const wisp__message *m) { return (int)((m->bytes + LONGEST - 1) / LONGEST); }

static int parts_of(const wisp__message *list, int n)
{
    int parts = 0;
    for (int i = 0; i < n; i++) parts += parts_in(&list[i]);
    return parts;
}

/* A long message goes in several, which stay in order. */
static void add_requests(const world *w, plan *p, const wisp__message *m, bool receive)
{
    for (size_t at = 0; at < m->bytes; at += LONGEST) {
        char *data = (char *)m->data + at;
        const int n = (int)WISP__MIN(m->bytes - at, (size_t)LONGEST);
        MPI_Request *request = &p->request[p->requests++];
        if (receive)
            MPI_Recv_init(data, n, MPI_BYTE, m->rank, wisp__mpi_tag(w), w->comm, request);
        else
            MPI_Send_init(data, n, MPI_BYTE, m->rank, wisp__mpi_tag(w), w->comm, request);
    }
}

static plan *new_plan(world *w, const wisp__message *to, int to_count, const wisp__message *from, int from_count)
{
    plan *p = &w->plan[w->oldest];
    const size_t messages = (size_t)to_count + (size_t)from_count;
    wisp__mpi_free_plan(p);
    w->oldest = (w->oldest + 1) % WISP__MPI_PLANS;
    p->receives = parts_of(from, from_count);
    p->list = malloc((messages + 1) * sizeof *p->list);
    p->request = malloc((size_t)(parts_of(to, to_count) + p->receives + 1) * sizeof(MPI_Request));
    p->message = malloc((2 * (size_t)p->receives + (size_t)from_count + 1) * sizeof *p->message);
    if (!p->list || !p->request || !p->message) {
        wisp__mpi_free_plan(p);
        return NULL;
    }
    p->to_count = to_count;
    p->from_count = from_count;
    if (to_count) memcpy(p->list, to, (size_t)to_count * sizeof *to);
    if (from_count) memcpy(p->list + to_count, from, (size_t)from_count * sizeof *from);
    p->index = p->message + p->receives;
    p->left = p->index + p->receives;
    for (int i = 0, n = 0; i < from_count; i++) {
        add_requests(w, p, &from[i], true);
        while (n < p->requests) p->message[n++] = i;
    }
    for (int i = 0; i < to_count; i++) add_requests(w, p, &to[i], false);
    return p;
}

/* ---- exchange ---------------------------------------------------------------------------------- */

wisp_status wisp__mpi_start(wisp_ctx *ctx, const wisp__message *to, int to_count, const wisp__message *from,
                            int from_count)
{
    world *w = ctx->world;
    if (ctx->failed != WISP_OK) return ctx->failed;
    plan *p = known_plan(w, to, to_count, from, from_count);
    if (!p) p = new_plan(w, to, to_count, from, from_count);
    if (!p) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %d messages", to_count + from_count);
    for (int i = 0; i < from_count; i++) p->left[i] = parts_in(&from[i]);
    if (p->requests) MPI_Startall(p->requests, p->request);
    w->active = p;
    return WISP_OK;
}

/* Whether messages have come of which nothing is missing any more; here[] says which. */
static bool some_have_come(const plan *p, bool *here)
{
    int n;
    bool whole = false;
    MPI_Testsome(p->receives, p->request, &n, p->index, MPI_STATUSES_IGNORE);
    if (n == MPI_UNDEFINED) return true; /* none is missing */
    for (int i = 0; i < n; i++) {
        const int m = p->message[p->index[i]];
        here[m] = --p->left[m] == 0;
        whole |= here[m];
    }
    return whole;
}

/* Until some messages have come (here is not NULL), or the whole exchange is done. */
static wisp_status await_messages(wisp_ctx *ctx, bool *here)
{
    world *w = ctx->world;
    int done = 0, turns = 0;
    if (ctx->failed != WISP_OK) return ctx->failed;
    const plan *p = w->active;
    for (;;) {
        if (here)
            done = some_have_come(p, here);
        else
            MPI_Testall(p->requests, p->request, &done, MPI_STATUSES_IGNORE);
        if (done) break;
        if (wisp__mpi_has_notice(w)) return wisp__mpi_join(ctx);
        if (ctx->waits_beside)
            usleep(WISP__MPI_SLEEP);
        else
            wisp__mpi_give_way(&turns);
    }
    if (!here) w->active = NULL;
    return WISP_OK;
}

wisp_status wisp__mpi_wait(wisp_ctx *ctx) { return await_messages(ctx, NULL); }

wisp_status wisp__mpi_some(wisp_ctx *ctx, bool *here) { return await_messages(ctx, here); }
#endif
