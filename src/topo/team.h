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
#endif
