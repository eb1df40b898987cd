/* A thread beside a context's team, which does one job at a time while the team computes: for what mostly waits. It is
   on no core of its own, and asleep between jobs. */
#ifndef WISP_BESIDE_H
#define WISP_BESIDE_H
#include "../base/base.h"

/* job(arg) begins; where there can be no thread, it is done at once. */
void wisp__beside_begin(wisp_ctx *ctx, void (*job)(void *arg), void *arg);
/* Returns when it is done. */
void wisp__beside_end(wisp_ctx *ctx);
/* Ends the thread, if there is one. */
void wisp__beside_close(wisp_ctx *ctx);
#endif
