/* Ranks as threads of one process, which copy from each other's memory: for tests.

   In a round each rank posts what it has for the others, waits until all have posted, copies what it needs, and waits
   until all have copied; then what it posted is its own again. */
#include "comm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a rank posts in a round. */
typedef struct {
    const char *call;
    wisp_status status; /* not WISP_OK: it failed, and has nothing */
    bool wish;          /* to cancel, see wisp__held_wish */
    const void *data;
    size_t bytes;
    const wisp__message *to;
    int to_count;
    double since; /* sums: when the rank had its part */
} post;

typedef struct {
    post post;
    int64_t posted, copied; /* rounds */
    bool ended;             /* its thread has */
    double sent;            /* when its messages went out */
    double waits, busy;     /* since when it waits for those of others; until when its link is busy */
    int taken;              /* of them */
    double *sum;            /* started and not waited for: [sum_n]; NULL: none */
    size_t sum_n;
    double sum_since;
    char message[sizeof(((wisp_ctx *)0)->message)];
} place;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t news;
    int ranks;
    bool ended;           /* some rank's thread has */
    unsigned jitter;      /* microseconds by which ranks come late at most, to shake their order in tests */
    double latency, rate; /* of the links: seconds, bytes a second; 0: none */
    bool asleep;          /* messages only travel while their receiver waits for them */
    wisp_rank_fn fn;
    void *arg;
    place *place; /* [ranks] */
} world;

typedef struct {
    world *world;
    int rank, result;
    pthread_t thread;
} rank_thread;

static _Thread_local rank_thread *here; /* NULL: this thread stands for no rank */

const wisp__comm *wisp__threads_here(void) { return here ? &wisp__comm_threads : NULL; }

static wisp_status threads_open(wisp_ctx *ctx)
{
    ctx->world = here->world;
    ctx->rank = here->rank;
    ctx->ranks = ctx->ranks_here = here->world->ranks;
    ctx->may_wait_beside = true;
    return WISP_OK;
}

/* ---- a round ---------------------------------------------------------------------------------- */

static void come_late(const world *w, int rank, int64_t round)
{
    unsigned seed = (unsigned)(rank * 7919 + round);
    if (w->jitter) usleep((unsigned)rand_r(&seed) % w->jitter);
}

/* The lowest rank that has not posted (copied) in the present round of `me`; -1: all have. */
static int missing(const world *w, const place *me, bool copied)
{
    for (int r = 0; r < w->ranks; r++)
        if ((copied ? w->place[r].copied : w->place[r].posted) < me->posted) return r;
    return -1;
}

/* Wakes the others, with the lock, when `me` was the last they wait for; and always when a rank has ended, for then the
   rest may be in different rounds. */
static void tell(world *w, const place *me, bool copied)
{
    if (w->ended || missing(w, me, copied) < 0) pthread_cond_broadcast(&w->news);
}

static void arrive(wisp_ctx *ctx, post p)
{
    world *w = ctx->world;
    place *me = &w->place[ctx->rank];
    come_late(w, ctx->rank, me->posted);
    pthread_mutex_lock(&w->lock);
    me->post = p;
    me->post.wish = wisp__held_wish(ctx);
    me->posted++;
    me->sent = wisp__now();
    if (p.status != WISP_OK) wisp_ctx_copy_message(ctx, me->message, sizeof me->message);
    tell(w, me, false);
    pthread_mutex_unlock(&w->lock);
}

/* Waits, with the lock, for all ranks; the one that will never come, or -1. */
static int await_all(world *w, const place *me, bool copied)
{
    int r;
    while ((r = missing(w, me, copied)) >= 0 && !w->place[r].ended) pthread_cond_wait(&w->news, &w->lock);
    return r;
}

static wisp_status failed(wisp_ctx *ctx, wisp_status status, const char *format, int rank, const char *words)
{
    ctx->failed = status;
    return wisp_ctx_fail(ctx, status, format, rank, words);
}

/* What the posts say together. */
static wisp_status judge(wisp_ctx *ctx)
{
    const world *w = ctx->world;
    const post *mine = &w->place[ctx->rank].post;
    for (int r = 0; r < w->ranks; r++) ctx->agreed |= w->place[r].post.wish;
    for (int r = 0; r < w->ranks; r++) {
        const place *p = &w->place[r];
        if (p->post.status == WISP_OK) continue;
        if (r == ctx->rank) return ctx->failed = p->post.status;
        return failed(ctx, p->post.status, "process %d: %s", r, p->message);
    }
    for (int r = 0; r < w->ranks; r++)
        if (strcmp(w->place[r].post.call, mine->call) || w->place[r].post.bytes != mine->bytes)
            return failed(ctx, WISP_ERR_MISMATCH, "process %d calls something else than this one (%s)", r, mine->call);
    return WISP_OK;
}

/* All have posted: what all ranks make of it. */
static wisp_status all_here(wisp_ctx *ctx)
{
    world *w = ctx->world;
    wisp_status status = WISP_OK;
    pthread_mutex_lock(&w->lock);
    const int gone = await_all(w, &w->place[ctx->rank], false);
    if (gone < 0) status = judge(ctx);
    pthread_mutex_unlock(&w->lock);
    if (gone >= 0) status = failed(ctx, WISP_ERR_CANCELLED, "process %d has ended%s", gone, "");
    return status;
}

static void all_through(wisp_ctx *ctx)
{
    world *w = ctx->world;
    place *me = &w->place[ctx->rank];
    pthread_mutex_lock(&w->lock);
    me->copied = me->posted;
    tell(w, me, true);
    await_all(w, me, true);
    pthread_mutex_unlock(&w->lock);
}

/* A round in which nothing is copied, if that can be. */
static wisp_status agree(wisp_ctx *ctx, wisp_status status)
{
    arrive(ctx, (post){.call = "leave", .status = status});
    status = all_here(ctx);
    all_through(ctx);
    return status;
}

/* ---- collective calls ------------------------------------------------------------------------- */

static void threads_enter(wisp_ctx *ctx) { ctx->entered++; }

static wisp_status threads_leave(wisp_ctx *ctx, wisp_status status)
{
    if (ctx->entered == 1) {
        status = ctx->failed != WISP_OK ? ctx->failed : agree(ctx, status);
        if (status != WISP_OK) ((world *)ctx->world)->place[ctx->rank].sum = NULL;
        ctx->failures += status != WISP_OK;
        ctx->failed = WISP_OK;
    }
    ctx->entered--;
    return status;
}

/* A link holds messages up, and sums, which take as long as one of them from when the last rank had its part. */
static void hold_up(double until)
{
    const double left = until - wisp__now();
    if (left > 0) usleep((unsigned)(1e6 * left));
}

static void travel_sum(const world *w)
{
    double from = w->asleep ? wisp__now() : 0;
    if (w->latency == 0) return;
    for (int r = 0; r < w->ranks; r++) from = fmax(from, w->place[r].post.since);
    hold_up(from + w->latency);
}

static wisp_status sum_since(wisp_ctx *ctx, double *x, size_t n, double since)
{
    const world *w = ctx->world;
    double *sum = NULL;
    wisp_status status = wisp_alloc(ctx, &sum, n, sizeof *sum);
    arrive(ctx, (post){.call = "sum", .status = status, .data = x, .bytes = n * sizeof *x, .since = since});
    status = all_here(ctx);
    if (status == WISP_OK) travel_sum(w);
    for (int r = 0; r < w->ranks && status == WISP_OK; r++) {
        const double *other = w->place[r].post.data;
        for (size_t i = 0; i < n; i++) sum[i] = r ? sum[i] + other[i] : other[i];
    }
    all_through(ctx);
    if (status == WISP_OK && n) memcpy(x, sum, n * sizeof *x);
    wisp_free(ctx, sum);
    return status;
}

static wisp_status threads_sum(wisp_ctx *ctx, double *x, size_t n)
{
    return ctx->failed != WISP_OK ? ctx->failed : sum_since(ctx, x, n, wisp__now());
}

/* All is done in the wait: only the link would be busy meanwhile. */
static wisp_status threads_sum_start(wisp_ctx *ctx, double *x, size_t n)
{
    static double nothing;
    place *me = &((world *)ctx->world)->place[ctx->rank];
    if (ctx->failed != WISP_OK) return ctx->failed;
    if (me->sum) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "a sum begins before the one before it is waited for");
    me->sum = n ? x : &nothing;
    me->sum_n = n;
    me->sum_since = wisp__now();
    return WISP_OK;
}

static wisp_status threads_sum_wait(wisp_ctx *ctx)
{
    place *me = &((world *)ctx->world)->place[ctx->rank];
    double *x = me->sum;
    if (ctx->failed != WISP_OK) return ctx->failed;
    if (!x) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "no sum was started that could be waited for");
    me->sum = NULL;
    return sum_since(ctx, x, me->sum_n, me->sum_since);
}

static wisp_status threads_gather(wisp_ctx *ctx, const void *mine, size_t bytes, void *all)
{
    const world *w = ctx->world;
    if (ctx->failed != WISP_OK) return ctx->failed;
    arrive(ctx, (post){.call = "gather", .data = mine, .bytes = bytes});
    const wisp_status status = all_here(ctx);
    for (int r = 0; r < w->ranks && status == WISP_OK && bytes; r++)
        memcpy((char *)all + (size_t)r * bytes, w->place[r].post.data, bytes);
    all_through(ctx);
    return status;
}

static wisp_status threads_start(wisp_ctx *ctx, const wisp__message *to, int to_count, const wisp__message *from,
                                 int from_count)
{
    if (ctx->failed != WISP_OK) return ctx->failed;
    ctx->from = from;
    ctx->from_count = from_count;
    ((world *)ctx->world)->place[ctx->rank].taken = 0;
    arrive(ctx, (post){.call = "exchange", .to = to, .to_count = to_count});
    return WISP_OK;
}

/* What the other rank has for this one; NULL: nothing of that length. */
static const void *message_of(const world *w, const wisp_ctx *ctx, const wisp__message *want)
{
    const post *p = &w->place[want->rank].post;
    for (int i = 0; i < p->to_count; i++)
        if (p->to[i].rank == ctx->rank && p->to[i].bytes == want->bytes) return p->to[i].data;
    return NULL;
}

/* A link carries one message after the other, those of an exchange in their order. */
static void travel(const world *w, place *me, const wisp__message *m)
{
    const double from = w->asleep ? me->waits : w->place[m->rank].sent;
    if (w->latency == 0 && w->rate == 0) return;
    me->busy = fmax(me->busy, from + w->latency) + (w->rate > 0 ? (double)m->bytes / w->rate : 0);
    hold_up(me->busy);
}

/* The next message. */
static wisp_status take_message(wisp_ctx *ctx)
{
    world *w = ctx->world;
    place *me = &w->place[ctx->rank];
    const wisp__message *m = &ctx->from[me->taken++];
    const void *data = message_of(w, ctx, m);
    if (!data)
        return wisp_ctx_fail(ctx, WISP_ERR_MISMATCH, "process %d sent another message than was expected", m->rank);
    travel(w, me, m);
    memcpy(m->data, data, m->bytes);
    return WISP_OK;
}

/* So many of the messages, or all that are left. */
static wisp_status take_messages(wisp_ctx *ctx, int most)
{
    place *me = &((world *)ctx->world)->place[ctx->rank];
    const int end = WISP__MIN(me->taken + most, ctx->from_count);
    wisp_status status = all_here(ctx);
    me->waits = wisp__now();
    while (status == WISP_OK && me->taken < end) status = take_message(ctx);
    return status;
}

static wisp_status threads_wait(wisp_ctx *ctx)
{
    if (ctx->failed != WISP_OK) return ctx->failed;
    const wisp_status status = take_messages(ctx, ctx->from_count);
    all_through(ctx);
    return status;
}

static wisp_status threads_some(wisp_ctx *ctx, bool *here)
{
    const place *me = &((world *)ctx->world)->place[ctx->rank];
    if (ctx->failed != WISP_OK) return ctx->failed;
    const wisp_status status = take_messages(ctx, 1);
    if (ctx->failed != WISP_OK) all_through(ctx); /* nobody waits any more */
    if (status == WISP_OK && me->taken > 0) here[me->taken - 1] = true;
    return status;
}

const wisp__comm wisp__comm_threads = {
    .open = threads_open,
    .enter = threads_enter,
    .leave = threads_leave,
    .sum = threads_sum,
    .sum_start = threads_sum_start,
    .sum_wait = threads_sum_wait,
    .gather = threads_gather,
    .start = threads_start,
    .wait = threads_wait,
    .some = threads_some,
};

/* ---- their life ------------------------------------------------------------------------------- */

static void *stand_for(void *arg)
{
    rank_thread *t = arg;
    world *w = t->world;
    here = t;
    t->result = w->fn(w->arg, t->rank);
    here = NULL;
    pthread_mutex_lock(&w->lock);
    w->place[t->rank].ended = w->ended = true;
    pthread_cond_broadcast(&w->news);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Starts them all; those that are missing have ended. */
static wisp_status run_all(world *w, rank_thread *t, int *result)
{
    wisp_status status = WISP_OK;
    int started = 0;
    for (; started < w->ranks; started++) {
        t[started] = (rank_thread){.world = w, .rank = started};
        if (pthread_create(&t[started].thread, NULL, stand_for, &t[started])) break;
    }
    pthread_mutex_lock(&w->lock);
    for (int r = started; r < w->ranks; r++) w->place[r].ended = w->ended = true;
    pthread_cond_broadcast(&w->news);
    pthread_mutex_unlock(&w->lock);
    if (started < w->ranks)
        status = wisp_ctx_fail(NULL, WISP_ERR_NOMEM, "only %d of %d threads could be started", started, w->ranks);
    for (int r = 0; r < started; r++) {
        pthread_join(t[r].thread, NULL);
        if (*result == 0) *result = t[r].result;
    }
    return status;
}

/* $WISP_RANKS_LINK, for measurements: microseconds and MB/s of each rank's link, such as "50,1000"; "50,1000,asleep" if
   messages and sums only travel while their receiver waits for them. */
static void set_link(world *w, const char *s)
{
    char how[8] = "";
    double latency = 0, rate = 0;
    sscanf(s, "%lf,%lf,%7s", &latency, &rate, how);
    w->latency = fmax(1e-6 * latency, 0);
    w->rate = fmax(1e6 * rate, 0);
    w->asleep = !strcmp(how, "asleep");
}

wisp_status wisp_ranks_run(int ranks, wisp_rank_fn fn, void *arg, int *result)
{
    enum { MOST = 1024 };
    const char *jitter = getenv("WISP_RANKS_JITTER"), *link = getenv("WISP_RANKS_LINK");
    int ignored;
    WISP_NEED(NULL, fn);
    if (!result) result = &ignored;
    *result = 0;
    if (ranks < 1 || ranks > MOST)
        return wisp_ctx_fail(NULL, WISP_ERR_ARG, "%d ranks: there can be 1 to %d", ranks, MOST);
    if (here) return wisp_ctx_fail(NULL, WISP_ERR_UNSUPPORTED, "this thread stands for a rank already");
    world w = {.lock = PTHREAD_MUTEX_INITIALIZER,
               .news = PTHREAD_COND_INITIALIZER,
               .ranks = ranks,
               .jitter = jitter ? (unsigned)atoi(jitter) : 0,
               .fn = fn,
               .arg = arg};
    if (link) set_link(&w, link);
    rank_thread *t = calloc((size_t)ranks, sizeof *t);
    w.place = calloc((size_t)ranks, sizeof *w.place);
    const wisp_status status = t && w.place ? run_all(&w, t, result)
                                            : wisp_ctx_fail(NULL, WISP_ERR_NOMEM, "out of memory for %d ranks", ranks);
    free(t);
    free(w.place);
    return status;
}
