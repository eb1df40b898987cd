/* Processing units as Linux has them. */
#include "../base/system.h"
#ifdef WISP__LINUX
#include "place.h"
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>

_Static_assert(sizeof(wisp__units) == sizeof(cpu_set_t) && (int)WISP__UNITS == (int)CPU_SETSIZE,
               "one is copied to the other");

static cpu_set_t to_system(const wisp__units *units)
{
    cpu_set_t set;
    memcpy(&set, units, sizeof set);
    return set;
}

static bool from_system(wisp__units *units, const cpu_set_t *set, int failed)
{
    if (!failed) memcpy(units, set, sizeof *set);
    return !failed;
}

bool wisp__place_can(void) { return true; }

int wisp__place_here(void) { return sched_getcpu(); }

bool wisp__place_own(wisp__units *units)
{
    cpu_set_t set;
    return from_system(units, &set, sched_getaffinity(0, sizeof set, &set));
}

bool wisp__place_set_own(const wisp__units *units)
{
    const cpu_set_t set = to_system(units);
    return !sched_setaffinity(0, sizeof set, &set);
}

bool wisp__place_of(pthread_t thread, wisp__units *units)
{
    cpu_set_t set;
    return from_system(units, &set, pthread_getaffinity_np(thread, sizeof set, &set));
}

bool wisp__place_set(pthread_t thread, const wisp__units *units)
{
    const cpu_set_t set = to_system(units);
    return !pthread_setaffinity_np(thread, sizeof set, &set);
}

void wisp__place_new(pthread_attr_t *attr, const wisp__units *units)
{
    const cpu_set_t set = to_system(units);
    pthread_attr_setaffinity_np(attr, sizeof set, &set);
}

void wisp__place_process(wisp__units *units)
{
    *units = (wisp__units){0};
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        cpu_set_t set;
        wisp__units one;
        const int tid = atoi(e->d_name);
        if (tid > 0 && from_system(&one, &set, sched_getaffinity(tid, sizeof set, &set))) wisp__units_join(units, &one);
    }
    if (tasks) closedir(tasks);
    if (wisp__units_count(units) == 0) (void)wisp__place_own(units);
}

bool wisp__place_clock(pthread_t thread, clockid_t *clock) { return !pthread_getcpuclockid(thread, clock); }

void wisp__sleep_lightly(void)
{
    enum { NANOSECONDS = 1000 };
    prctl(PR_SET_TIMERSLACK, (unsigned long)NANOSECONDS);
}
#else
typedef int wisp__not_linux;
#endif
