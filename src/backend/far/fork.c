/* A process that uses the device `far` is forked: nothing is under way then, and the child has no thread. */
#include "far.h"

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static wisp__far *all; /* of the process */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
    for (wisp__far *f = all; f; f = f->next) {
        pthread_mutex_lock(f->lock);
        f->forking = true;
        wisp__far_drain_locked(f);
        wisp__far_copy(f);
    }
}

static void after_fork(void)
{
    for (wisp__far *f = all; f; f = f->next) {
        f->forking = false;
        wisp__far_end_copy(f, false);
        pthread_cond_broadcast(&f->news);
        pthread_mutex_unlock(f->lock);
    }
    pthread_mutex_unlock(&all_lock);
}

static void in_child(void)
{
    for (wisp__far *f = all; f; f = f->next) {
        pthread_mutex_init(f->lock, NULL);
        pthread_cond_init(&f->news, NULL);
        f->has_thread = f->forking = false;
        wisp__far_end_copy(f, true);
    }
    pthread_mutex_init(&all_lock, NULL);
}

static void watch(void) { pthread_atfork(before_fork, after_fork, in_child); }

void wisp__far_watch(wisp__far *f)
{
    pthread_once(&once, watch);
    pthread_mutex_lock(&all_lock);
    f->next = all;
    all = f;
    pthread_mutex_unlock(&all_lock);
}

void wisp__far_unwatch(const wisp__far *f)
{
    pthread_mutex_lock(&all_lock);
    wisp__far **at = &all;
    while (*at && *at != f) at = &(*at)->next;
    if (*at) *at = f->next;
    pthread_mutex_unlock(&all_lock);
}
