/* What tests of tasks have in common: contexts with units that are made up, and gates that hold tasks up. */
#ifndef WISP_TEST_TASKS_H
#define WISP_TEST_TASKS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ref.h"
#include <pthread.h>
#include <stdlib.h>
#include <wisp/task.h>

enum { MOST = 64 };

/* Nodes as "1,1,2"; NULL: the units that there are. */
static inline wisp_ctx *ctx_that_logs(const char *nodes, wisp_log_fn log, void *arg)
{
    wisp_ctx *ctx;
    const wisp_ctx_opts opts = {.threads = 1, .no_pin = 1, .log = log, .log_arg = arg};
    if (nodes)
        setenv("WISP_TASK_NODES", nodes, 1);
    else
        unsetenv("WISP_TASK_NODES");
    assert_int_equal(wisp_ctx_create(&ctx, &opts), WISP_OK);
    assert_true(wisp_task_map(ctx, NULL, 0) > 0); /* the units are looked up here */
    unsetenv("WISP_TASK_NODES");
    return ctx;
}

static inline wisp_ctx *ctx_with(const char *nodes) { return ctx_that_logs(nodes, NULL, NULL); }

static inline wisp_task *start(wisp_ctx *ctx, wisp_task_opts o)
{
    wisp_task *t;
    REF_OK(ctx, wisp_task_start(&t, ctx, &o));
    return t;
}

/* A task's function. */
static inline wisp_status nothing(wisp_task *t, void *arg)
{
    (void)t, (void)arg;
    return WISP_OK;
}

static inline void end(wisp_task *t, wisp_status status)
{
    assert_int_equal(wisp_task_wait(t), status);
    assert_int_equal(wisp_task_over(t), 1);
    wisp_task_free(t);
}

/* Holds tasks up until it is opened. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t news;
    int open, inside;
} gate;
#define GATE                                                      \
    {                                                             \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 \
    }

static inline wisp_status stand_at(wisp_task *t, void *arg)
{
    gate *g = arg;
    (void)t;
    pthread_mutex_lock(&g->lock);
    g->inside++;
    pthread_cond_broadcast(&g->news);
    while (!g->open) pthread_cond_wait(&g->news, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return WISP_OK;
}

static inline void await_inside(gate *g, int n)
{
    pthread_mutex_lock(&g->lock);
    while (g->inside < n) pthread_cond_wait(&g->news, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static inline void open_gate(gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = 1;
    pthread_cond_broadcast(&g->news);
    pthread_mutex_unlock(&g->lock);
}
#endif
