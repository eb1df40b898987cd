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
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    POST_DATA = 240,
    PIECES = 1 << 20, /* bytes of the pieces in which long data are gathered, of all ranks together */
    LEAST_PIECE = 4096,
    LONGEST = 1 << 30, /* message; MPI counts by int */
    PLANS = 16,
    NOTICE_TAG = 1,
    FIRST_TAG = 2,
    TAGS = 16384,
    SLEEP = 20, /* microseconds */
};

typedef enum { LEAVE, SUM, GATHER, EXCHANGE, SUM_START } call_kind;
static const char *const call_name[] = {"leave", "sum", "gather", "exchange", "sum_start"};

/* What a rank gives in a round. */
typedef struct {
    int16_t call, wish; /* to cancel, see wisp__held_wish */
    int32_t status;     /* not WISP_OK: it failed, and has nothing */
    uint64_t bytes;     /* of its data, which are here if they fit */
    char data[POST_DATA];
} post;

typedef struct {
    post mine, *all; /* [ranks] */
    MPI_Request request;
    bool under_way;
} round;

/* The persistent requests of an exchange; the lists by which it is known again. */
typedef struct {
    wisp__message *list; /* to, then from */
    int to_count, from_count;
    MPI_Request *request; /* receives, then sends */
    int receives, requests;
    int *message; /* [receives] whose part it is */
    int *left;    /* [from_count] parts that are still to come */
    int *index;   /* [receives] those that have come of late */
} plan;

typedef struct {
    MPI_Comm comm;
    unsigned epoch;         /* the number of rounds that failed */
    unsigned notice;        /* being sent: the epoch that a failure ends */
    bool failing;           /* the next round will fail */
    round meeting, summing; /* the latter: of a sum that was started */
    double *sum;            /* that is not waited for: [sum_n]; NULL: none */
    size_t sum_n;
    char *piece; /* [ranks][piece_bytes] */
    size_t piece_bytes;
    plan plan[PLANS], *active;
    int oldest; /* plan */
} world;

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

/* ---- waiting ----------------------------------------------------------------------------------- */

static int tag_of(const world *w) { return FIRST_TAG + (int)(w->epoch % TAGS); }

/* Takes a message that nobody wants any more, if there is one. */
static bool drop_message(const world *w, int tag)
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

/* The core is given up in between, for another rank, or MPI's own threads, may need it. Who has waited for long sleeps:
   where ranks share cores, each look takes the time of one that computes. */
static void give_way(int *turns)
{
    enum { AWAKE = 200 };
    if (++*turns < AWAKE)
        sched_yield();
    else
        usleep(SLEEP);
}

static void finish(world *w, MPI_Request *request, int n)
{
    int done, turns = 0;
    for (;;) {
        MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
        if (done) return;
        if (w->failing) drop_message(w, tag_of(w));
        give_way(&turns);
    }
}

/* Whether a rank has failed since the last round. Notices of earlier failures are late. */
static bool has_notice(world *w)
{
    MPI_Status s;
    unsigned epoch;
    int there;
    MPI_Iprobe(MPI_ANY_SOURCE, NOTICE_TAG, w->comm, &there, &s);
    if (!there) return false;
    MPI_Recv(&epoch, 1, MPI_UNSIGNED, s.MPI_SOURCE, NOTICE_TAG, w->comm, MPI_STATUS_IGNORE);
    return epoch == w->epoch;
}

/* ---- a round ----------------------------------------------------------------------------------- */

static void give_notice(world *w, int rank, int ranks)
{
    w->notice = w->epoch;
    for (int r = 0; r < ranks; r++) {
        MPI_Request request;
        if (r == rank) continue;
        MPI_Isend(&w->notice, 1, MPI_UNSIGNED, r, NOTICE_TAG, w->comm, &request);
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
    finish(w, p->request, p->requests);
    w->active = NULL;
}

static wisp_status failed(wisp_ctx *ctx, wisp_status status, const char *format, int rank, const char *words)
{
    ctx->failed = status;
    return wisp_ctx_fail(ctx, status, format, rank, words);
}

static void free_plan(plan *p)
{
    for (int i = 0; i < p->requests; i++) MPI_Request_free(&p->request[i]);
    free(p->request);
    free(p->message);
    free(p->list);
    *p = (plan){0};
}

/* A new epoch begins, with the message of the rank that failed. */
static wisp_status end_epoch(wisp_ctx *ctx, int rank, wisp_status status)
{
    world *w = ctx->world;
    char message[sizeof ctx->message];
    MPI_Request request;
    memset(message, 0, sizeof message); /* all of it is sent */
    wisp_ctx_copy_message(ctx, message, sizeof message);
    MPI_Ibcast(message, sizeof message, MPI_CHAR, rank, w->comm, &request);
    finish(w, &request, 1);
    w->epoch++;
    w->failing = false;
    for (int i = 0; i < PLANS; i++) free_plan(&w->plan[i]); /* they have the old tag */
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

static void begin_round(wisp_ctx *ctx, round *m, call_kind call, wisp_status status, const void *data, size_t bytes)
{
    const world *w = ctx->world;
    m->mine.call = (int16_t)call;
    m->mine.wish = wisp__held_wish(ctx);
    m->mine.status = (int32_t)status;
    m->mine.bytes = bytes;
    if (bytes && bytes <= POST_DATA) memcpy(m->mine.data, data, bytes);
    MPI_Iallgather(&m->mine, sizeof m->mine, MPI_BYTE, m->all, sizeof m->mine, MPI_BYTE, w->comm, &m->request);
    m->under_way = true;
}

/* What all ranks make of it together. */
static wisp_status end_round(wisp_ctx *ctx, round *m)
{
    if (!m->under_way) return WISP_OK;
    finish(ctx->world, &m->request, 1);
    m->under_way = false;
    return judge(ctx, m);
}

static wisp_status meet(wisp_ctx *ctx, call_kind call, wisp_status status, const void *data, size_t bytes)
{
    world *w = ctx->world;
    if (status != WISP_OK) {
        w->failing = true;
        give_notice(w, ctx->rank, ctx->ranks);
        if (w->active) give_up(w);
    }
    const wisp_status before = end_round(ctx, &w->summing);
    if (before != WISP_OK) return before;
    begin_round(ctx, &w->meeting, call, status, data, bytes);
    return end_round(ctx, &w->meeting);
}

/* ---- collective calls -------------------------------------------------------------------------- */

static void mpi_enter(wisp_ctx *ctx) { ctx->entered++; }

static wisp_status mpi_leave(wisp_ctx *ctx, wisp_status status)
{
    if (ctx->entered == 1) {
        status = ctx->failed != WISP_OK ? ctx->failed : meet(ctx, LEAVE, status, NULL, 0);
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
    return m->mine.bytes <= POST_DATA ? m->all[r].data : w->piece + (size_t)r * n;
}

/* The bytes from `at` on of what all ranks gave in this round; how many. */
static size_t next_piece(world *w, const round *m, const char *mine, size_t at)
{
    const size_t rest = m->mine.bytes - at, n = WISP__MIN(rest, w->piece_bytes);
    MPI_Request request;
    if (m->mine.bytes <= POST_DATA) return rest;
    MPI_Iallgather(mine + at, (int)n, MPI_BYTE, w->piece, (int)n, MPI_BYTE, w->comm, &request);
    finish(w, &request, 1);
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
    const wisp_status status = meet(ctx, SUM, WISP_OK, x, n * sizeof *x);
    if (status == WISP_OK) add_up(ctx, &((world *)ctx->world)->meeting, x, n);
    return status;
}

/* What is too long for a post is gathered in the wait. */
static wisp_status mpi_sum_start(wisp_ctx *ctx, double *x, size_t n)
{
    static double nothing;
    world *w = ctx->world;
    if (ctx->failed != WISP_OK) return ctx->failed;
    if (w->sum) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "a sum begins before the one before it is waited for");
    begin_round(ctx, &w->summing, SUM_START, WISP_OK, x, n * sizeof *x);
    w->sum = n ? x : &nothing;
    w->sum_n = n;
    return WISP_OK;
}

static wisp_status mpi_sum_wait(wisp_ctx *ctx)
{
    world *w = ctx->world;
    double *x = w->sum;
    if (ctx->failed != WISP_OK) return ctx->failed;
    if (!x) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "no sum was started that could be waited for");
    const wisp_status status = end_round(ctx, &w->summing);
    if (status == WISP_OK) add_up(ctx, &w->summing, x, w->sum_n);
    w->sum = NULL;
    return status;
}

static wisp_status mpi_gather(wisp_ctx *ctx, const void *mine, size_t bytes, void *all)
{
    world *w = ctx->world;
    if (ctx->failed != WISP_OK) return ctx->failed;
    const wisp_status status = meet(ctx, GATHER, WISP_OK, mine, bytes);
    const round *m = &w->meeting;
    for (size_t at = 0, got; at < bytes && status == WISP_OK; at += got) {
        got = next_piece(w, m, mine, at);
        for (int r = 0; r < ctx->ranks; r++) memcpy((char *)all + (size_t)r * bytes + at, given(w, m, r, got), got);
    }
    return status;
}

/* ---- exchange ---------------------------------------------------------------------------------- */

static bool same_list(const wisp__message *a, const wisp__message *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].rank != b[i].rank || a[i].data != b[i].data || a[i].bytes != b[i].bytes) return false;
    return true;
}

static plan *known_plan(world *w, const wisp__message *to, int to_count, const wisp__message *from, int from_count)
{
    for (plan *p = w->plan; p < w->plan + PLANS; p++)
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
            MPI_Recv_init(data, n, MPI_BYTE, m->rank, tag_of(w), w->comm, request);
        else
            MPI_Send_init(data, n, MPI_BYTE, m->rank, tag_of(w), w->comm, request);
    }
}

static plan *new_plan(world *w, const wisp__message *to, int to_count, const wisp__message *from, int from_count)
{
    plan *p = &w->plan[w->oldest];
    const size_t messages = (size_t)to_count + (size_t)from_count;
    free_plan(p);
    w->oldest = (w->oldest + 1) % PLANS;
    p->receives = parts_of(from, from_count);
    p->list = malloc((messages + 1) * sizeof *p->list);
    p->request = malloc((size_t)(parts_of(to, to_count) + p->receives + 1) * sizeof(MPI_Request));
    p->message = malloc((2 * (size_t)p->receives + (size_t)from_count + 1) * sizeof *p->message);
    if (!p->list || !p->request || !p->message) {
        free_plan(p);
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

static wisp_status mpi_start(wisp_ctx *ctx, const wisp__message *to, int to_count, const wisp__message *from,
                             int from_count)
{
    world *w = ctx->world;
    if (ctx->failed != WISP_OK) return ctx->failed;
    plan *p = known_plan(w, to, to_count, from, from_count);
    if (!p) p = new_plan(w, to, to_count, from, from_count);
    if (!p) return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory for %d messages", to_count + from_count);
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
        if (has_notice(w)) {
            w->failing = true;
            give_up(w);
            return meet(ctx, EXCHANGE, WISP_OK, NULL, 0);
        }
        if (ctx->waits_beside)
            usleep(SLEEP);
        else
            give_way(&turns);
    }
    if (!here) w->active = NULL;
    return WISP_OK;
}

static wisp_status mpi_wait(wisp_ctx *ctx) { return await_messages(ctx, NULL); }

static wisp_status mpi_some(wisp_ctx *ctx, bool *here) { return await_messages(ctx, here); }

/* ---- its life ---------------------------------------------------------------------------------- */

/* What failures have left behind. MPICH gives a later communicator the same number, and it would get these messages. */
static void take_rest(world *w)
{
    MPI_Request request;
    MPI_Ibarrier(w->comm, &request);
    finish(w, &request, 1);
    while (drop_message(w, MPI_ANY_TAG)) {}
}

static void mpi_close(wisp_ctx *ctx)
{
    world *w = ctx->world;
    int ended;
    if (!w) return;
    MPI_Finalized(&ended);
    for (int i = 0; i < PLANS && !ended; i++) free_plan(&w->plan[i]);
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
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "MPI is not %s: call MPI_Init_thread before wisp_ctx_create_mpi",
                             ended ? "there any more" : "started");
    if (here.comm == MPI_COMM_NULL) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "the communicator is MPI_COMM_NULL");
    MPI_Comm_test_inter(here.comm, &inter);
    if (inter) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "an intercommunicator: merge it (MPI_Intercomm_merge)");
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
        return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory for %d processes", ctx->ranks);
    }
    w->summing.all = w->meeting.all + ctx->ranks;
    find_node(ctx, w);
    MPI_Query_thread(&level);
    ctx->may_wait_beside = level >= MPI_THREAD_SERIALIZED;
    const char *name = level_name[WISP__MIN(WISP__MAX(level - MPI_THREAD_SINGLE, 0), 3)];
    wisp_ctx_log(ctx, WISP_LOG_INFO, "process %d of %d, threads of MPI: asked for serialized, given %s%s", ctx->rank,
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
    .start = mpi_start,
    .wait = mpi_wait,
    .some = mpi_some,
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
