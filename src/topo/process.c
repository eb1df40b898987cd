/* Teams of one process: no two hold the same unit. */
#include "crew.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cpu_set_t held;

static void claim(wisp__crew *crew, const int *unit, int n)
{
    int found = 0;
    for (int i = 0; i < n && found < crew->team.threads; i++) {
        if (CPU_ISSET((size_t)unit[i], &held)) continue;
        CPU_SET((size_t)unit[i], &crew->units);
        atomic_store(&crew->member[found++].cpu, unit[i]);
    }
    crew->pinned = found == crew->team.threads;
    if (!crew->pinned) CPU_ZERO(&crew->units);
    CPU_OR(&held, &held, &crew->units);
}

void wisp__crew_join(wisp__crew *crew, const int *unit, int n)
{
    pthread_mutex_lock(&lock);
    claim(crew, unit, n);
    pthread_mutex_unlock(&lock);
}

void wisp__crew_leave(wisp__crew *crew)
{
    pthread_mutex_lock(&lock);
    CPU_XOR(&held, &held, &crew->units); /* all of them are set there */
    pthread_mutex_unlock(&lock);
}
