/* Ranks as threads of one process, which copy from each other's memory: for tests.

   In a round each rank posts what it has for the others, waits until all have posted, and copies what it needs. Short
   data travel in the post itself. A rank has two posts and takes them in turn. Who posts in a round has read all posts
   of the round before, so nobody reads a post any more when its turn comes again. Of longer data a post has the address
   alone: then the ranks also wait until all have copied, and what was posted is its owner's again. They do so after a
   failure, too, for its message. All ranks find the same, since they read the same posts. */
#include "comm.h"
#include "../base/futex.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POST_DATA = 512 }; /* bytes */

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
    bool lent;    /* the data, or the messages: what was posted is read until all have copied */
} post;

typedef struct {
    _Alignas(64) atomic_llong posted; /* rounds; others read this line again and again */
    atomic_llong copied;
    atomic_bool ended; /* its thread has */
    _Alignas(64) post post[2];
    char data[2][POST_DATA];
    double sent;        /* when its messages went out */
    double waits, busy; /* since when it waits for those of others; until when its link is busy */
    int taken;          /* of them */
    double *sum;        /* started and not waited for: [sum_n]; NULL: none */
    size_t sum_n;
    double sum_since;
    char message[sizeof(((wisp_ctx *)0)->message)];
} place;

typedef struct {
    _Alignas(64) atomic_uint news; /* counts what those that sleep may wait for */
    atomic_int sleepers;
    atomic_bool ended; /* some rank's thread has */
    int ranks;
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

static int64_t rounds(const place *p, bool copied) { return (int64_t)atomic_load(copied ? &p->copied : &p->posted); }

/* The post of a rank in the present round of this one. */
static post *post_of(const wisp_ctx *ctx, int rank)
{
    const world *w = ctx->world;
    return &w->place[rank].post[rounds(&w->place[ctx->rank], false) % 2];
}

/* The lowest rank that has not posted (copied) in a round; -1: all have. */
static int missing(const world *w, int64_t round, bool copied)
{
    for (int r = 0; r < w->ranks; r++)
        if (rounds(&w->place[r], copied) < round) return r;
    return -1;
}

static void wake(world *w)
{
    atomic_fetch_add(&w->news, 1);
    if (atomic_load(&w->sleepers) > 0) wisp__futex_wake(&w->news);
}

/* Wakes the others when this rank was the last they wait for; and always when a rank has ended, for then the rest may
   be in different rounds. */
static void wake_if_last(world *w, int64_t round, bool copied)
{
    if (atomic_load(&w->ended) || missing(w, round, copied) < 0) wake(w);
}

static void arrive(wisp_ctx *ctx, post p)
{
    world *w = ctx->world;
    place *me = &w->place[ctx->rank];
    const int64_t round = rounds(me, false) + 1;
    come_late(w, ctx->rank, round - 1);
    p.wish = wisp__held_wish(ctx);
    if (p.bytes > 0 && p.bytes <= POST_DATA && p.status == WISP_OK)
        p.data = memcpy(me->data[round % 2], p.data, p.bytes);
    else
        p.lent |= p.bytes > 0;
    me->post[round % 2] = p;
    me->sent = wisp_now();
    if (p.status != WISP_OK) wisp_ctx_message(ctx, me->message, sizeof me->message);
    atomic_store(&me->posted, round);
    wake_if_last(w, round, false);
}

/* Whether each rank has come, or never will; *gone is the lowest that will not, or -1. The others are waited for all
   the same: who has not come may still read the posts of the round before. (Whether one has ended is asked first: it
   may come, and end, in between.) */
static bool through(const world *w, int64_t round, bool copied, int *gone)
{
    *gone = -1;
    for (int r = 0; r < w->ranks; r++) {
        const bool ended = atomic_load(&w->place[r].ended);
        if (rounds(&w->place[r], copied) >= round) continue;
        if (!ended) return false;
        if (*gone < 0) *gone = r;
    }
    return true;
}

/* Waits for all ranks; the one that will never come, or -1. Where ranks have fewer cores, a yield lets those go on that
   this one waits for, and costs less than to sleep and be woken. */
static int await_all(world *w, int64_t round, bool copied)
{
    enum { AWAKE = 20 };
    int gone;
    for (int turns = 0; !through(w, round, copied, &gone); turns++) {
        if (turns < AWAKE) {
            wisp__yield();
            continue;
        }
        const unsigned seen = atomic_load(&w->news);
        atomic_fetch_add(&w->sleepers, 1);
        if (!through(w, round, copied, &gone)) wisp__futex_wait(&w->news, seen, NULL);
        atomic_fetch_sub(&w->sleepers, 1);
    }
    return gone;
}

static wisp_status failed(wisp_ctx *ctx, wisp_status status, const char *format, int rank, const char *words)
{
    ctx->failed = status;
    return wisp_ctx_failf(ctx, status, format, rank, words);
}

/* What the posts say together. */
static wisp_status judge(wisp_ctx *ctx)
{
    const world *w = ctx->world;
    const post *mine = post_of(ctx, ctx->rank);
    for (int r = 0; r < w->ranks; r++) ctx->agreed |= post_of(ctx, r)->wish;
    for (int r = 0; r < w->ranks; r++) {
        const wisp_status status = post_of(ctx, r)->status;
        if (status == WISP_OK) continue;
        if (r == ctx->rank) return ctx->failed = status;
        return failed(ctx, status, "process %d: %s", r, w->place[r].message);
    }
    for (int r = 0; r < w->ranks; r++)
        if (strcmp(post_of(ctx, r)->call, mine->call) || post_of(ctx, r)->bytes != mine->bytes)
            return failed(ctx, WISP_ERR_MISMATCH, "process %d calls something else than this one (%s)", r, mine->call);
    return WISP_OK;
}

/* All have posted: what all ranks make of it. */
static wisp_status all_here(wisp_ctx *ctx)
{
    world *w = ctx->world;
    const int64_t round = rounds(&w->place[ctx->rank], false);
    const int gone = await_all(w, round, false);
    come_late(w, ctx->rank, round); /* to read */
    return gone < 0 ? judge(ctx) : failed(ctx, WISP_ERR_CANCELLED, "process %d has ended%s", gone, "");
}

/* The round is through: what was lent is read no more. */
static void all_through(wisp_ctx *ctx)
{
    world *w = ctx->world;
    place *me = &w->place[ctx->rank];
    const int64_t round = rounds(me, false);
    if (!post_of(ctx, ctx->rank)->lent && ctx->failed == WISP_OK) return;
    atomic_store(&me->copied, round);
    wake_if_last(w, round, true);
    await_all(w, round, true);
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
    const double left = until - wisp_now();
    if (left > 0) usleep((unsigned)(1e6 * left));
}

static void travel_sum(const wisp_ctx *ctx)
{
    const world *w = ctx->world;
    double from = w->asleep ? wisp_now() : 0;
    if (w->latency == 0) return;
    for (int r = 0; r < w->ranks; r++) from = fmax(from, post_of(ctx, r)->since);
    hold_up(from + w->latency);
}

static wisp_status sum_since(wisp_ctx *ctx, double *x, size_t n, double since)
{
    const world *w = ctx->world;
    double *sum = NULL;
    wisp_status status = wisp_alloc(ctx, &sum, n, sizeof *sum);
    arrive(ctx, (post){.call = "sum", .status = status, .data = x, .bytes = n * sizeof *x, .since = since});
    status = all_here(ctx);
    if (status == WISP_OK) travel_sum(ctx);
    for (int r = 0; r < w->ranks && status == WISP_OK; r++) {
        const double *other = post_of(ctx, r)->data;
        for (size_t i = 0; i < n; i++) sum[i] = r ? sum[i] + other[i] : other[i];
    }
    all_through(ctx);
    if (status == WISP_OK && n) memcpy(x, sum, n * sizeof *x);
    wisp_free(ctx, sum);
    return status;
}

static wisp_status threads_sum(wisp_ctx *ctx, double *x, size_t n)
{
    return ctx->failed != WISP_OK ? ctx->failed : sum_since(ctx, x, n, wisp_now());
}

/* All is done in the wait: only the link would be busy meanwhile. */
static wisp_status threads_sum_start(wisp_ctx *ctx, double *x, size_t n)
{
    static double nothing;
    place *me = &((world *)ctx->world)->place[ctx->rank];
    if (ctx->failed != WISP_OK) return ctx->failed;
    if (me->sum) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a sum begins before the one before it is waited for");
    me->sum = n ? x : &nothing;
    me->sum_n = n;
    me->sum_since = wisp_now();
    return WISP_OK;
}

static wisp_status threads_sum_wait(wisp_ctx *ctx)
{
    place *me = &((world *)ctx->world)->place[ctx->rank];
    double *x = me->sum;
    if (ctx->failed != WISP_OK) return ctx->failed;
    if (!x) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "no sum was started that could be waited for");
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
        memcpy((char *)all + (size_t)r * bytes, post_of(ctx, r)->data, bytes);
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
    arrive(ctx, (post){.call = "exchange", .to = to, .to_count = to_count, .lent = true});
    return WISP_OK;
}

/* What the other rank has for this one; NULL: nothing of that length. */
static const void *message_of(const wisp_ctx *ctx, const wisp__message *want)
{
    const post *p = post_of(ctx, want->rank);
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
    const void *data = message_of(ctx, m);
    if (!data)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "process %d sent another message than was expected", m->rank);
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
    me->waits = wisp_now();
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

static void has_ended(world *w, int rank)
{
    atomic_store(&w->ended, true);
    atomic_store(&w->place[rank].ended, true);
    wake(w);
}

static void *stand_for(void *arg)
{
    rank_thread *t = arg;
    world *w = t->world;
    here = t;
    t->result = w->fn(w->arg, t->rank);
    here = NULL;
    has_ended(w, t->rank);
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
    for (int r = started; r < w->ranks; r++) has_ended(w, r);
    if (started < w->ranks)
        status = wisp_ctx_failf(NULL, WISP_ERR_NOMEM, "only %d of %d threads could be started", started, w->ranks);
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
        return wisp_ctx_failf(NULL, WISP_ERR_ARG, "%d ranks: there can be 1 to %d", ranks, MOST);
    if (here) return wisp_ctx_failf(NULL, WISP_ERR_UNSUPPORTED, "this thread stands for a rank already");
    world w = {.ranks = ranks, .jitter = jitter ? (unsigned)atoi(jitter) : 0, .fn = fn, .arg = arg};
    if (link) set_link(&w, link);
    rank_thread *t = calloc((size_t)ranks, sizeof *t);
    w.place = aligned_alloc(_Alignof(place), (size_t)ranks * sizeof *w.place);
    if (w.place) memset(w.place, 0, (size_t)ranks * sizeof *w.place);
    const wisp_status status = t && w.place ? run_all(&w, t, result)
                                            : wisp_ctx_failf(NULL, WISP_ERR_NOMEM, "out of memory for %d ranks", ranks);
    free(t);
    free(w.place);
    return status;
}
