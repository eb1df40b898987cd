/* A team: threads, each on a processing unit that no other team of this process holds, which do the parts of a run side
   by side with the calling thread. A context has one of its own; further teams may be opened, to run beside it. Other
   work may hold a thread up on its core at any time. So the calling thread does the parts that nobody has begun, and a
   thread that would wait for one that is held up lends it its own core (wait.c). */
#ifndef WISP_TEAM_H
#define WISP_TEAM_H
#include "../base/base.h"

/* Part `part` of `parts`. Which thread does it, and when, does not matter to the result. */
typedef void (*wisp__team_fn)(void *arg, int part, int parts);
/* False if it was cancelled meanwhile, even if it has been resumed since: threads may have stopped early. Those that
   never stop may ignore it. A call from inside another one, or beside it, is done by the calling thread alone, in one
   part. The calling thread goes to its unit, and gets its own mask back at the end of its turn, or of a run without. */
bool wisp__team_run(wisp__team *team, wisp__team_fn fn, void *arg);
/* The same, each part by its own thread: to place memory, and to measure. */
bool wisp__team_run_each(wisp__team *team, wisp__team_fn fn, void *arg);
bool wisp__alone_run(wisp__team *team, wisp__team_fn fn, void *arg); /* by the calling thread, where it is */
/* Elements below which the team costs more than it saves, even where the others are awake. */
enum { WISP__SMALL = 8192 };
/* In a turn: whether the calling thread had better do so many elements alone. They are few; or the others sleep, and to
   wake them would take longer: they are woken when much has come together. */
bool wisp__is_little(wisp__team *team, int64_t elements);
/* Little work is done by the calling thread alone. */
static inline bool wisp__run_some(wisp__team *team, bool little, wisp__team_fn fn, void *arg)
{
    return little ? wisp__alone_run(team, fn, arg) : wisp__team_run(team, fn, arg);
}

/* In a part: returns when something that other parts do is ready. Only what parts have begun may be waited for, for one
   thread may do several parts, one after the other. */
typedef bool (*wisp__ready_fn)(const void *arg);
void wisp__team_wait(wisp__team *team, wisp__ready_fn ready, const void *arg);
/* In a part: something is ready. It must have been stored with memory_order_seq_cst. */
void wisp__team_tell(wisp__team *team);
/* In a part: whether the run is to end early. Once it is, it stays so, even if the call is resumed; whoever finds out
   first tells those who wait. */
bool wisp__team_stop(wisp__team *team, atomic_bool *stopped);

/* Calls that compute take turns on a team, whose scratch memory they share: a call of another thread waits until this
   one is through; one inside it goes on at once. Ended in any case. WISP_ERR_UNSUPPORTED: this is a child of fork, and
   what was computed here then is in pieces. */
wisp_status wisp__turn_begin(wisp__team *team);
wisp_status wisp__turn_end(wisp__team *team, wisp_status status);

/* Starts a team of so many threads, one of which is the calling one, on units that no other team of this process holds.
   If there are not so many, or the options or OMP_PROC_BIND=false leave threads to the system, they are not pinned.
   If fewer can be started, there are fewer. To be closed before its context is freed. */
wisp_status wisp__team_open(wisp__team **team, wisp_ctx *ctx, int threads);
void wisp__team_close(wisp__team *team);
/* The context's own team, of as many threads as its options or the environment ask for. */
wisp_status wisp__team_open_own(wisp_ctx *ctx);
/* What the context calls by its pointers of these names. */
void wisp__zero(wisp_ctx *ctx, char *p, size_t bytes);
void wisp__aside(wisp_ctx *ctx, void (*call)(void *arg), void *arg);

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
   below team->threads, and no two ranges at a time have the same. */
typedef void (*wisp__each_fn)(void *arg, int64_t begin, int64_t end, int part);
void wisp__team_each(wisp__team *team, int64_t n, int64_t unit, wisp__each_fn fn, void *arg);
#endif
