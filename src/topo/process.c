/* The list of all teams of the process, so that no two hold the same unit, and a child of fork finds them all. What
   teams of other processes hold is seen, too (hold.c). */
#include "crew.h"
#include "task.h"
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static wisp__crew *first;
static wisp__units held;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool watched;

/* Nobody else is at the list, nor at tasks, while the process is copied. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    wisp__tasks_lock();
}
static void after_fork(void)
{
    wisp__tasks_unlock();
    pthread_mutex_unlock(&lock);
}
/* Only the calling thread is left. */
static void crew_forked(wisp__crew *c)
{
    wisp_ctx *ctx = c->team.ctx;
    const pthread_t holder = atomic_load(&c->holder);
    const bool mine = pthread_equal(holder, pthread_self());
    wisp__log_forked(ctx);
    pthread_mutex_init(&ctx->device_lock, NULL);
    pthread_mutex_init(&ctx->source_lock, NULL);
    pthread_mutex_init(&c->turn, NULL);
    if (mine) {
        pthread_mutex_lock(&c->turn);
    } else {
        c->lost |= holder != (pthread_t)0;
        if (c->lost) memset(c->team.scratch, 0, sizeof c->team.scratch); /* it may have been freed just then */
        if (c->lost) memset(c->team.scratch_bytes, 0, sizeof c->team.scratch_bytes);
        atomic_store(&c->holder, (pthread_t)0);
        c->depth = 0;
        c->pin.known = c->pin.set = false;
    }
    for (int i = 0; i < c->team.threads; i++) {
        wisp__member *m = &c->member[i];
        atomic_store(&m->part, PART_NONE);
        atomic_store(&m->waits, false);
        atomic_store(&m->away, false);
    }
    atomic_store(&c->busy, false);
    atomic_store(&c->looking, false);
    atomic_store(&c->asleep, 0);
    atomic_store(&c->away, 0);
    c->there = 1;
    c->gone = c->team.threads > 1;
    c->pinned = false; /* the parent's threads are there */
}

/* The parent's units stay held, so that teams that the child opens keep off them. */
static void in_child(void)
{
    wisp__tasks_forked();
    for (wisp__crew *c = first; c; c = c->next) {
        crew_forked(c);
        wisp__task_threads_forked(c->team.ctx);
    }
    after_fork();
}
static void watch(void) { watched = !pthread_atfork(before_fork, after_fork, in_child); }

static void claim(wisp__crew *crew, const int *unit, int n)
{
    int found = 0;
    if (n >= crew->team.threads) crew->held_known = wisp__holds_known();
    if (!crew->held_known) n = 0;
    for (int i = 0; i < n && found < crew->team.threads; i++) {
        if (wisp__units_has(&held, unit[i]) || !wisp__hold(unit[i])) continue;
        wisp__units_add(&crew->units, unit[i]);
        atomic_store(&crew->member[found++].cpu, unit[i]);
    }
    crew->pinned = found == crew->team.threads;
    if (!crew->pinned) {
        wisp__hold_end(&crew->units);
        crew->units = (wisp__units){0};
    }
    wisp__units_join(&held, &crew->units);
}

bool wisp__crew_join(wisp__crew *crew, const int *unit, int n)
{
    pthread_once(&once, watch);
    if (!watched) return false;
    pthread_mutex_lock(&lock);
    claim(crew, unit, n);
    crew->next = first;
    first = crew;
    pthread_mutex_unlock(&lock);
    return true;
}

void wisp__crew_leave(wisp__crew *crew)
{
    pthread_mutex_lock(&lock);
    wisp__crew **c = &first;
    while (*c != crew) c = &(*c)->next;
    *c = crew->next;
    wisp__units_leave(&held, &crew->units); /* all of them are set there */
    wisp__hold_end(&crew->units);
    pthread_mutex_unlock(&lock);
}
