/* The queue of the device `far`: items run one after the other, in their order, by the device's thread or by whoever
   waits for them. */
#include "far.h"
#include <signal.h>
#include <stdlib.h>

/* ---- with f->lock ----------------------------------------------------------------------------- */

/* Runs the first item, without the lock meanwhile. */
static void run_first(wisp__far *f)
{
    wisp__far_item *i = f->first;
    const bool runs = i->always || f->failed == WISP_OK;
    wisp_status status = WISP_OK;
    f->first = i->next;
    f->busy = true;
    f->runs = pthread_self();
    pthread_mutex_unlock(f->lock);
    char *const copies = i->copies; /* an item that is part of something else may go with it */
    const double began = wisp_now();
    if (runs) status = i->run(f->ctx, i->call);
    const double took = wisp_now() - began;
    if (copies) free(i);
    pthread_mutex_lock(f->lock);
    f->worked += took;
    if (status != WISP_OK) {
        f->failed = status;
        wisp_ctx_message(f->ctx, f->message, sizeof f->message);
    }
    f->busy = false;
    f->over++;
    pthread_cond_broadcast(&f->news);
}

/* What is queued by now: other threads may go on for ever. */
void wisp__far_drain_locked(wisp__far *f)
{
    for (const uint64_t goal = f->queued; f->over < goal;)
        if (f->busy)
            pthread_cond_wait(&f->news, f->lock);
        else
            run_first(f);
}

static void *run_all(void *arg)
{
    wisp__far *f = arg;
    pthread_mutex_lock(f->lock);
    while (!f->ending)
        if (f->first && !f->busy && f->patience < 0)
            run_first(f);
        else
            pthread_cond_wait(&f->news, f->lock);
    pthread_mutex_unlock(f->lock);
    return NULL;
}

/* Without one, those who wait do all. */
static void start_thread(wisp__far *f)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before); /* the thread takes no signals */
    f->has_thread = !pthread_create(&f->thread, NULL, run_all, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* How many more calls are to be queued before the thread begins: -1 is at once. */
static int next_patience(wisp__far *f)
{
    enum { MOST = 8 };
    f->random = f->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)(f->random >> 33) % MOST - 1;
}

/* ---- the queue -------------------------------------------------------------------------------- */

/* An item that is cancelled does not wait for itself. */
static wisp_status settle(wisp_ctx *ctx)
{
    wisp__far *f = wisp__far_of(ctx);
    pthread_mutex_lock(f->lock);
    const bool within = f->busy && pthread_equal(f->runs, pthread_self());
    pthread_mutex_unlock(f->lock);
    return within ? WISP_OK : wisp__far_finish(ctx);
}

wisp_status wisp__far_queue_open(wisp_ctx *ctx)
{
    wisp__far *f = calloc(1, sizeof *f);
    if (!f) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for the device 'far'");
    f->ctx = ctx;
    f->lock = &ctx->device_lock;
    pthread_cond_init(&f->news, NULL);
    ctx->device = f;
    ctx->settle = settle;
    return WISP_OK;
}

void wisp__far_queue_close(wisp_ctx *ctx)
{
    wisp__far *f = wisp__far_of(ctx);
    if (!f) return;
    pthread_mutex_lock(f->lock);
    wisp__far_drain_locked(f);
    f->ending = true;
    pthread_cond_broadcast(&f->news);
    pthread_mutex_unlock(f->lock);
    if (f->has_thread) pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->news);
    free(f);
    ctx->device = NULL;
    ctx->settle = NULL;
}

wisp_status wisp__far_item_new(wisp_ctx *ctx, size_t bytes, wisp__far_item **item)
{
    const size_t head = wisp__far_padded(sizeof **item), room = wisp__far_padded(bytes);
    wisp__far_item *i = aligned_alloc(WISP__LINE, head + room);
    *item = i;
    if (!i) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory: %zu bytes for a call", bytes);
    *i = (wisp__far_item){.copies = (char *)i + head, .room = room};
    return WISP_OK;
}

char *wisp__far_copies(wisp__far_item *item, size_t bytes)
{
    char *to = item->copies + item->used;
    if (item->used + bytes > item->room) abort(); /* of the device itself: it would write past its item */
    item->used += wisp__far_padded(bytes);
    return to;
}

void *wisp__far_copied(wisp__far_item *item, const void *host, size_t bytes)
{
    return host ? memcpy(wisp__far_copies(item, bytes), host, bytes) : NULL;
}

/* Who queues faster than work is done does some of it. */
static bool is_full(const wisp__far *f)
{
    enum { MOST = 256 };
    return f->queued - f->over >= MOST;
}

void wisp__far_queue(wisp_ctx *ctx, wisp__far_item *item)
{
    wisp__far *f = wisp__far_of(ctx);
    pthread_mutex_lock(f->lock);
    while (f->forking || (is_full(f) && !item->always)) /* to free memory never waits */
        if (f->forking || f->busy)
            pthread_cond_wait(&f->news, f->lock);
        else
            run_first(f);
    item->next = NULL;
    f->queued++;
    if (f->first)
        f->last->next = item;
    else
        f->first = item;
    f->last = item;
    if (!f->has_thread) start_thread(f);
    if (f->patience < 0) f->patience = next_patience(f);
    if (--f->patience < 0) pthread_cond_broadcast(&f->news);
    pthread_mutex_unlock(f->lock);
}

wisp_status wisp__far_is_lost(wisp_ctx *ctx)
{
    return wisp_ctx_failf(ctx, WISP_ERR_NOMEM,
                          "out of memory: when the process was forked there was no room to copy the device's; make a "
                          "context here");
}

void wisp__far_drain(wisp_ctx *ctx)
{
    wisp__far *f = wisp__far_of(ctx);
    if (!f) return;
    pthread_mutex_lock(f->lock);
    wisp__far_drain_locked(f);
    pthread_mutex_unlock(f->lock);
}

wisp_status wisp__far_finish(wisp_ctx *ctx)
{
    wisp__far *f = wisp__far_of(ctx);
    char text[WISP_MESSAGE];
    if (!f) return WISP_OK;
    if (f->lost) return wisp__far_is_lost(ctx);
    pthread_mutex_lock(f->lock);
    wisp__far_drain_locked(f);
    const wisp_status status = f->failed;
    if (status != WISP_OK) memcpy(text, f->message, sizeof text);
    f->failed = WISP_OK;
    pthread_mutex_unlock(f->lock);
    return status == WISP_OK ? status : wisp_ctx_fail(ctx, status, text);
}

static double worked(wisp__far *f)
{
    pthread_mutex_lock(f->lock);
    const double seconds = f->worked;
    pthread_mutex_unlock(f->lock);
    return seconds;
}

/* All is through before and after: the work in between is the launches'. */
wisp_status wisp__far_time_launches(wisp_ctx *ctx, wisp__launch_fn launch, void *arg, int64_t n, double *seconds)
{
    wisp__far *f = wisp__far_of(ctx);
    wisp_status status;
    WISP_TRY(wisp__far_finish(ctx));
    const double before = worked(f);
    for (int64_t i = 0; i < n; i++) WISP_TRY(launch(ctx, arg));
    WISP_TRY(wisp__far_finish(ctx));
    *seconds = (worked(f) - before) / (double)n;
out:
    return status;
}

wisp_status wisp__far_submit(wisp_ctx *ctx, wisp_status status, wisp__far_item *item,
                             wisp_status (*run)(wisp_ctx *, void *), const void *call, size_t bytes)
{
    if (status != WISP_OK) {
        free(item);
        return status;
    }
    item->run = run;
    item->call = wisp__far_copied(item, call, bytes);
    wisp__far_queue(ctx, item);
    return WISP_OK;
}
