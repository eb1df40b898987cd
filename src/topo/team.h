/* The pinned thread team: one OpenMP parallel region per call. */
#ifndef WISP_TEAM_H
#define WISP_TEAM_H
#include "../base/base.h"

typedef void (*wisp__team_fn)(void *arg, int thread, int threads);
/* False if it was cancelled meanwhile, even if it has been resumed since: threads may have stopped early. Those that
   never stop may ignore it. */
bool wisp__team_run(wisp_ctx *ctx, wisp__team_fn fn, void *arg);
bool wisp__alone_run(wisp_ctx *ctx, wisp__team_fn fn, void *arg); /* by the calling thread */
/* Elements below which waking the team costs more than it saves. */
enum { WISP__SMALL = 8192 };
/* Little work is done by the calling thread alone. */
static inline bool wisp__run_some(wisp_ctx *ctx, bool little, wisp__team_fn fn, void *arg)
{
    return little ? wisp__alone_run(ctx, fn, arg) : wisp__team_run(ctx, fn, arg);
}

/* Chooses ctx->threads and pins them, one per core, unless the user or OpenMP placed them. */
void wisp__team_open(wisp_ctx *ctx);
void wisp__team_close(wisp_ctx *ctx); /* lets the threads go where they could before */

/* Part `i` of `parts` of [0, n): its begin; its end is the begin of part i + 1. */
static inline int64_t wisp__split(int64_t n, int parts, int i) { return (int64_t)((__int128)n * i / parts); }

/* Blocks of work are cut into parts, one for each thread. Before the run each part is set; in it every thread takes
   blocks until there are none (-1): of its own part, then what others have not begun of theirs, for cores are not
   equally fast from moment to moment. With a single part all threads take the next block in turn. */
static inline void wisp__part_set(wisp_ctx *ctx, int i, int64_t begin, int64_t end)
{
    atomic_store_explicit(&ctx->part[i].next, begin, memory_order_relaxed);
    ctx->part[i].end = end;
}
static inline void wisp__parts_even(wisp_ctx *ctx, int parts, int64_t blocks)
{
    for (int i = 0; i < parts; i++)
        wisp__part_set(ctx, i, wisp__split(blocks, parts, i), wisp__split(blocks, parts, i + 1));
}
static inline int64_t wisp__part_next(wisp_ctx *ctx, int parts, int thread)
{
    for (int i = 0; i < parts; i++) {
        wisp__part *p = ctx->part + (thread + i) % parts;
        if (atomic_load_explicit(&p->next, memory_order_relaxed) >= p->end) continue;
        const int64_t b = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (b < p->end) return b;
    }
    return -1;
}
#endif
