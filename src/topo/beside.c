#include "beside.h"
#include "place.h"
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef struct wisp__beside {
    pthread_t thread;
    pid_t process; /* that has the thread: a child of fork has it not */
    pthread_mutex_t lock;
    pthread_cond_t news;
    void (*job)(void *arg);
    void *arg;
    bool to_do, ended;
} beside;

static void *stay_beside(void *arg)
{
    beside *b = arg;
    prctl(PR_SET_TIMERSLACK, 1000ul); /* ns: its sleeps between two looks are short */
    pthread_mutex_lock(&b->lock);
    while (!b->ended) {
        if (!b->to_do) {
            pthread_cond_wait(&b->news, &b->lock);
            continue;
        }
        pthread_mutex_unlock(&b->lock);
        b->job(b->arg);
        pthread_mutex_lock(&b->lock);
        b->to_do = false;
        pthread_cond_broadcast(&b->news);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* On all units that the process may use: it may be the pinned thread that starts it. */
static bool start(beside *b)
{
    cpu_set_t units;
    pthread_attr_t attr;
    wisp__allowed_cpus(&units);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->news, NULL);
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof units, &units);
    const bool there = !pthread_create(&b->thread, &attr, stay_beside, b);
    pthread_attr_destroy(&attr);
    b->process = there ? getpid() : 0;
    return there;
}

/* The context's, which is there from the first job on; NULL: there can be none. */
static beside *beside_of(wisp_ctx *ctx)
{
    beside *b = ctx->beside;
    if (b && b->process == getpid()) return b;
    free(b); /* the parent's */
    ctx->beside = b = calloc(1, sizeof *b);
    if (!b || start(b)) return b;
    free(b);
    return ctx->beside = NULL;
}

void wisp__beside_begin(wisp_ctx *ctx, void (*job)(void *arg), void *arg)
{
    beside *b = beside_of(ctx);
    if (!b) {
        job(arg);
        return;
    }
    pthread_mutex_lock(&b->lock);
    b->job = job;
    b->arg = arg;
    b->to_do = true;
    pthread_cond_broadcast(&b->news);
    pthread_mutex_unlock(&b->lock);
}

void wisp__beside_end(wisp_ctx *ctx)
{
    beside *b = ctx->beside;
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    while (b->to_do) pthread_cond_wait(&b->news, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

void wisp__beside_close(wisp_ctx *ctx)
{
    beside *b = ctx->beside;
    ctx->beside = NULL;
    if (!b) return;
    if (b->process == getpid()) {
        pthread_mutex_lock(&b->lock);
        b->ended = true;
        pthread_cond_broadcast(&b->news);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->thread, NULL);
        pthread_mutex_destroy(&b->lock);
        pthread_cond_destroy(&b->news);
    }
    free(b);
}
