/* The device `far` for its own tests: a context, some queued work, and what becomes of a process. */
#ifndef WISP_FAR_SCENE_H
#define WISP_FAR_SCENE_H
#include "ref.h"
#include "backend/far/far.h"
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static inline wisp_ctx *far_ctx(void) { return ref_ctx(&(wisp_ctx_opts){.device = "far", .threads = 2}); }

/* What becomes of a process that does so: 0, or its signal. */
static inline int fate(void (*act)(const void *arg), const void *arg)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* the test's runner has its own */
        act(arg);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

enum { LONG = 1003, CALLS = 50 };

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *y;
} queued;

static inline queued queued_open(void)
{
    queued q = {.ctx = far_ctx()};
    char name[64];
    snprintf(name, sizeof name, "laplace:points=5,nx=%d,ny=17", LONG / 17);
    REF_OK(q.ctx, wisp_mat_open(&q.A, q.ctx, name, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN}));
    wisp_blk **all[] = {&q.x, &q.y};
    for (int i = 0; i < 2; i++) {
        REF_OK(q.ctx, wisp_blk_create(all[i], q.ctx, wisp_mat_map(q.A), WISP_D, 2));
        REF_OK(q.ctx, wisp_blk_fill(*all[i], (wisp_scalar){1, 0}));
    }
    return q;
}

static inline void queued_close(queued *q)
{
    wisp_blk_free(q->x);
    wisp_blk_free(q->y);
    wisp_mat_free(q->A);
    wisp_ctx_free(q->ctx);
}
#endif
