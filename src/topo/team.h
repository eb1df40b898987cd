/* The team: a context's threads, pinned one per core, which do the parts of a run side by side with the calling thread.
   Other work may hold a thread up on its core at any time. So the calling thread does the parts that nobody has begun,
   and a thread that would wait for one that is held up lends it its own core (wait.c). */
#ifndef WISP_TEAM_H
#define WISP_TEAM_H
#include "../base/base.h"

/* Part `part` of `parts`. Which thread does it, and when, does not matter to the result. */
typedef void (*wisp__team_fn)(void *arg, int part, int parts);
/* False if it was cancelled meanwhile, even if it has been resumed since: threads may have stopped early. Those that
   never stop may ignore it. A call from inside another one, or beside it, is done by the calling thread alone, in one
   part. */
bool wisp__team_run(wisp_ctx *ctx, wisp__team_fn fn, void *arg);
/* The same, each part by its own thread: to place memory, and to measure. */
bool wisp__team_run_each(wisp_ctx *ctx, wisp__team_fn fn, void *arg);
bool wisp__alone_run(wisp_ctx *ctx, wisp__team_fn fn, void *arg); /* by the calling thread */
/* Elements below which waking the team costs more than it saves. */
enum { WISP__SMALL = 8192 };
/* Little work is done by the calling thread alone. */
static inline bool wisp__run_some(wisp_ctx *ctx, bool little, wisp__team_fn fn, void *arg)
{
    return little ? wisp__alone_run(ctx, fn, arg) : wisp__team_run(ctx, fn, arg);
}

/* In a part: returns when something that other parts do is ready. Only what parts have begun may be waited for, for one
   thread may do several parts, one after the other. */
typedef bool (*wisp__ready_fn)(const void *arg);
void wisp__team_wait(wisp_ctx *ctx, wisp__ready_fn ready, const void *arg);
/* In a part: something is ready. It must have been stored with memory_order_seq_cst. */
void wisp__team_tell(wisp_ctx *ctx);
/* In a part: whether the run is to end early. Once it is, it stays so, even if the call is resumed; whoever finds out
   first tells those who wait. */
bool wisp__team_stop(wisp_ctx *ctx, atomic_bool *stopped);

/* Chooses ctx->threads, starts them, and pins them, one per core, unless the options or OMP_PROC_BIND=false leave them
   to the system. If fewer can be started, there are fewer. */
wisp_status wisp__team_open(wisp_ctx *ctx);
void wisp__team_close(wisp_ctx *ctx); /* the calling thread may go where it could before */

/* Part `i` of `parts` of [0, n): its begin; its end is the begin of part i + 1. */
static inline int64_t wisp__split(int64_t n, int parts, int i) { return (int64_t)((__int128)n * i / parts); }

/* The next of [begin, end) that nobody has begun; -1: there is none. */
static inline int64_t wisp__take(atomic_int *taken, int64_t begin, int64_t end)
{
    if (begin + atomic_load_explicit(taken, memory_order_relaxed) >= end) return -1;
    const int64_t i = begin + atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
    return i < end ? i : -1;
}

/* Blocks of work in shares, one for each thread (some of very many threads have one together) or one for all, which are
   set before a run. In it every thread takes blocks until there are none (-1): of its own share, then what others have
   not begun of theirs, for cores are not equally fast from moment to moment. */
enum { WISP__MOST_SHARES = 64 };
typedef struct {
    int count;
    struct {
        _Alignas(64) atomic_int taken;
        int64_t begin, end;
    } share[WISP__MOST_SHARES];
} wisp__shares;

static inline void wisp__share_set(wisp__shares *s, int i, int64_t begin, int64_t end)
{
    atomic_init(&s->share[i].taken, 0);
    s->share[i].begin = begin;
    s->share[i].end = end;
}
static inline int64_t wisp__share_next(wisp__shares *s, int thread)
{
    int64_t block = -1;
    for (int k = 0; k < s->count && block < 0; k++) {
        const int i = (thread + k) % s->count;
        block = wisp__take(&s->share[i].taken, s->share[i].begin, s->share[i].end);
    }
    return block;
}

/* fn for ranges of at most `unit` numbers that make up [0, n), each thread first in its own share of them. `part` is
   below ctx->threads, and no two ranges at a time have the same. */
typedef void (*wisp__each_fn)(void *arg, int64_t begin, int64_t end, int part);
void wisp__team_each(wisp_ctx *ctx, int64_t n, int64_t unit, wisp__each_fn fn, void *arg);
#endif
