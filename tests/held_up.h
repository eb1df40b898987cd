/* A thread that seems to be held up in its part of a run, until another one has moved it. In one file of a program. */
#ifndef WISP_HELD_UP_H
#define WISP_HELD_UP_H
#include "topo/crew.h"
#include <dlfcn.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t news;
} held_up = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};

/* In place of the C library's: by this one thread moves another, when it has noted where to. Those who sleep hear it.
 */
int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
    int (*move)(pthread_t, size_t, const cpu_set_t *);
    *(void **)&move = dlsym(RTLD_NEXT, "pthread_setaffinity_np");
    const int status = move(thread, bytes, set);
    pthread_mutex_lock(&held_up.lock);
    pthread_cond_broadcast(&held_up.news);
    pthread_mutex_unlock(&held_up.lock);
    return status;
}

/* In a part that another thread waits for, or will. It does not run: so whoever looks takes it to be held up. */
static inline void held_up_until_moved(wisp__team *team, int part)
{
    wisp__crew *crew = wisp__crew_of(team);
    wisp__member *first = crew->member, *me = crew->member + part;
    const int home = atomic_load(&me->cpu);
    if (!crew->pinned) return; /* nobody is moved */
    const bool is_first = pthread_equal(atomic_load(&first->thread), pthread_self());
    pthread_mutex_lock(&held_up.lock);
    while (!atomic_load(&first->guest) &&
           !(is_first ? atomic_load(&crew->moved) : atomic_load(&me->away) || atomic_load(&me->cpu) != home))
        pthread_cond_wait(&held_up.news, &held_up.lock);
    pthread_mutex_unlock(&held_up.lock);
}
#endif
