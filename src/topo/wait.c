/* How a thread waits. Where the team has its cores to itself, the other thread is ready within microseconds: so it
   first stays awake. Where other work has the core of the other thread, it may take milliseconds until the system lets
   that one go on: then the waiting thread lends it its own core, and sleeps meanwhile. */
#include "crew.h"
#include "../base/futex.h"

enum { LOOK_NS = 20000, SAMPLE_NS = 2000, SLEEP_NS = 1000000 };

static inline void pause_briefly(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

bool wisp__crew_spin(int64_t nanoseconds, wisp__ready_fn ready, const void *arg)
{
    enum { BETWEEN = 16 };
    if (ready(arg)) return true; /* as often as not, without a look at the clock */
    const int64_t end = wisp__clock_ns(CLOCK_MONOTONIC) + nanoseconds;
    do
        for (int i = 0; i < BETWEEN; i++) {
            if (ready(arg)) return true;
            pause_briefly();
        }
    while (wisp__clock_ns(CLOCK_MONOTONIC) < end);
    return false;
}

static bool never(const void *arg) { return (void)arg, false; }

static void move(wisp__member *m, int cpu)
{
    const wisp__units set = wisp__units_one(cpu);
    if (m == m->crew->member) atomic_store(&m->crew->moved, true);
    wisp__place_set(atomic_load(&m->thread), &set);
}

static bool may_be_held_up(const wisp__member *m)
{
    return atomic_load(&m->part) == PART_TAKEN && !atomic_load(&m->waits) && !atomic_load(&m->away) &&
           !atomic_load(&m->guest);
}

/* A thread that is at its part, but does not run. */
static wisp__member *find_held_up(wisp__crew *crew, const wisp__member *me)
{
    int candidates = 0;
    wisp__member *const end = crew->member + crew->team.threads;
    for (wisp__member *m = crew->member; m < end; m++) {
        m->seen = m != me && may_be_held_up(m) ? wisp__clock_ns(m->clock) : -1;
        candidates += m->seen >= 0;
    }
    if (candidates == 0) return NULL;
    wisp__crew_spin(SAMPLE_NS, never, NULL);
    for (wisp__member *m = crew->member; m < end; m++)
        if (m->seen >= 0 && wisp__clock_ns(m->clock) == m->seen && may_be_held_up(m)) return m;
    return NULL;
}

/* The calling thread goes where it may when the run is over, so whoever moves it first learns where that is. */
static bool may_be_moved(const wisp__member *m)
{
    return m != m->crew->member || wisp__pin_know(m->crew->of_run, atomic_load(&m->thread));
}

/* Lends this thread's core to one that is held up, if there is one. One that is idle changes places with it, and
   so does any with the calling thread, without which there is no next run: it gets away from a core that other work
   uses. */
static bool help(wisp__crew *crew, wisp__member *me, bool idle)
{
    if (!crew->pinned || atomic_load(&me->guest) || atomic_exchange(&crew->looking, true)) return false;
    wisp__member *m = find_held_up(crew, me);
    if (m && !may_be_moved(m)) m = NULL;
    if (m && (idle || m == crew->member) && crew->one_node) {
        const int cpu = atomic_exchange(&m->cpu, atomic_load(&me->cpu));
        atomic_store(&me->cpu, cpu);
        move(m, atomic_load(&m->cpu));
        move(me, cpu);
    } else if (m) {
        atomic_fetch_add(&crew->away, 1);
        atomic_store(&m->away, true);
        move(m, wisp__place_here());
    }
    atomic_store(&crew->looking, false);
    return m != NULL;
}

void wisp__crew_sleep(wisp__crew *crew, wisp__member *me, wisp__ready_fn ready, const void *arg)
{
    const struct timespec briefly = {0, SLEEP_NS};
    const unsigned news = atomic_load(&crew->news);
    atomic_fetch_add(&crew->asleep, 1);
    if (me) atomic_store(&me->waits, true);
    const bool run = atomic_load(&crew->busy);
    if (!ready(arg)) wisp__futex_wait(&crew->news, news, run ? &briefly : NULL);
    if (me) atomic_store(&me->waits, false);
    atomic_fetch_sub(&crew->asleep, 1);
}

static wisp__member *self(wisp__crew *crew)
{
    const pthread_t thread = pthread_self();
    for (int i = 0; i < crew->team.threads; i++)
        if (pthread_equal(atomic_load_explicit(&crew->member[i].thread, memory_order_relaxed), thread))
            return &crew->member[i];
    return NULL;
}

void wisp__crew_wait(wisp__crew *crew, wisp__member *me, wisp__ready_fn ready, const void *arg, bool idle)
{
    for (int looks = 0; !wisp__crew_spin(LOOK_NS, ready, arg); looks++) {
        if (!me) me = self(crew);
        if ((me && help(crew, me, idle)) || looks >= crew->looks) wisp__crew_sleep(crew, me, ready, arg);
    }
}

void wisp__team_wait(wisp__team *team, wisp__ready_fn ready, const void *arg)
{
    wisp__crew_wait(wisp__crew_of(team), NULL, ready, arg, false);
}

void wisp__team_tell(wisp__team *team)
{
    wisp__crew *crew = wisp__crew_of(team);
    if (atomic_load(&crew->asleep) > 0) {
        atomic_fetch_add(&crew->news, 1);
        wisp__futex_wake(&crew->news);
    }
    if (atomic_load(&crew->away) == 0) return;
    wisp__member *me = self(crew);
    if (!me || !atomic_exchange(&me->away, false)) return;
    atomic_fetch_sub(&crew->away, 1);
    move(me, atomic_load(&me->cpu));
}

bool wisp__team_stop(wisp__team *team, atomic_bool *stopped)
{
    if (!atomic_load(stopped) && wisp__cancelled(team)) {
        atomic_store(stopped, true);
        wisp__team_tell(team);
    }
    return atomic_load(stopped);
}
