/* A thread that seems to be held up in its part of a run, until another one has moved it. */
#ifndef WISP_HELD_UP_H
#define WISP_HELD_UP_H
#include "topo/crew.h"
#include <time.h>

/* In a part that another thread waits for, or will. It hardly runs: so whoever looks takes it to be held up. */
static inline void held_up_until_moved(wisp__team *team, int part)
{
    wisp__crew *crew = wisp__crew_of(team);
    wisp__member *first = crew->member, *me = crew->member + part;
    const struct timespec briefly = {.tv_nsec = 100000};
    const int home = atomic_load(&me->cpu);
    if (!crew->pinned) return; /* nobody is moved */
    if (pthread_equal(atomic_load(&first->thread), pthread_self()))
        while (!atomic_load(&first->guest) && !atomic_load(&crew->moved)) nanosleep(&briefly, NULL);
    else
        while (!atomic_load(&me->away) && atomic_load(&me->cpu) == home && !atomic_load(&first->guest))
            nanosleep(&briefly, NULL);
}
#endif
