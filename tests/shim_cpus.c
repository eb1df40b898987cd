/* A machine of $CPUS processing units: preloaded (LD_PRELOAD), it answers in the system's place how many there are,
   which of them a thread may use, and on which it is. A thread keeps what it has set for itself; what is set for others
   is forgotten. Cores and caches are hwloc's to say (HWLOC_SYNTHETIC). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static _Thread_local cpu_set_t chosen;
static _Thread_local bool has_chosen;

static int cpus(void)
{
    const char *text = getenv("CPUS");
    return text ? atoi(text) : 1;
}

static cpu_set_t allowed(bool mine)
{
    cpu_set_t set;
    if (mine && has_chosen) return chosen;
    CPU_ZERO(&set);
    for (int i = 0; i < cpus(); i++) CPU_SET((size_t)i, &set);
    return set;
}

static int get(bool mine, size_t bytes, cpu_set_t *set)
{
    const cpu_set_t all = allowed(mine);
    CPU_ZERO_S(bytes, set);
    for (size_t i = 0; i < CPU_SETSIZE && i < 8 * bytes; i++)
        if (CPU_ISSET(i, &all)) CPU_SET_S(i, bytes, set);
    return 0;
}

static int set(bool mine, size_t bytes, const cpu_set_t *to)
{
    for (size_t i = 0; mine && i < CPU_SETSIZE; i++)
        if (i < 8 * bytes && CPU_ISSET_S(i, bytes, to))
            CPU_SET(i, &chosen);
        else
            CPU_CLR(i, &chosen);
    has_chosen |= mine;
    return 0;
}

static bool is_me(pid_t thread) { return thread == 0 || thread == gettid(); }

int sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *to) { return get(is_me(thread), bytes, to); }
int sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *to) { return set(is_me(thread), bytes, to); }
int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *to)
{
    return get(pthread_equal(thread, pthread_self()), bytes, to);
}
int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *to)
{
    return set(pthread_equal(thread, pthread_self()), bytes, to);
}

int sched_getcpu(void)
{
    const cpu_set_t mine = allowed(true);
    int i = 0;
    while (i < CPU_SETSIZE && !CPU_ISSET((size_t)i, &mine)) i++;
    return i;
}

long sysconf(int name)
{
    long (*other)(int);
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return cpus();
    *(void **)&other = dlsym(RTLD_NEXT, "sysconf");
    return other(name);
}
