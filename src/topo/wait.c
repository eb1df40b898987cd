/* Waiting. Where each core is ours alone, what a thread waits for comes within microseconds, so it first stays awake.
   Where other work has the core of the thread that is waited for, it may take milliseconds until the system lets that
   thread go on: then it is lent the core of the thread that waits, which sleeps meanwhile. */
#include "crew.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOOK_NS = 20000, SAMPLE_NS = 2000, SLEEP_NS = 1000000 };

static inline void pause_briefly(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    if (clock_gettime(clock, &t)) return -1; /* that thread is gone */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool wisp__crew_spin(int64_t nanoseconds, wisp__ready_fn ready, const void *arg)
{
    enum { BETWEEN = 16 };
    const int64_t end = clock_ns(CLOCK_MONOTONIC) + nanoseconds;
    do
        for (int i = 0; i < BETWEEN; i++) {
            if (ready(arg)) return true;
            pause_briefly();
        }
    while (clock_ns(CLOCK_MONOTONIC) < end);
    return false;
}

static bool never(const void *arg) { return (void)arg, false; }

static void move(const wisp__member *m, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    pthread_setaffinity_np(m->thread, sizeof set, &set);
}

static bool may_be_held_up(const wisp__member *m)
{
    return atomic_load(&m->part) == PART_TAKEN && !atomic_load(&m->waits) && !atomic_load(&m->away) &&
           !atomic_load(&m->guest);
}

/* A thread that is at its part, but does not run. */
static wisp__member *find_held_up(wisp__team *team, const wisp__member *me)
{
    int candidates = 0;
    for (wisp__member *m = team->member; m < team->member + team->threads; m++) {
        m->seen = m != me && may_be_held_up(m) ? clock_ns(m->clock) : -1;
        candidates += m->seen >= 0;
    }
    if (candidates == 0) return NULL;
    wisp__crew_spin(SAMPLE_NS, never, NULL);
    for (wisp__member *m = team->member; m < team->member + team->threads; m++)
        if (m->seen >= 0 && clock_ns(m->clock) == m->seen && may_be_held_up(m)) return m;
    return NULL;
}

/* Lends this thread's core to one that is held up, if there is one. One that is idle changes places with it, and
   so does any with the calling thread, without which there is no next run: it gets away from a core that other work
   uses. */
static bool help(wisp_ctx *ctx, wisp__member *me, bool idle)
{
    wisp__team *team = ctx->team;
    if (!ctx->pinned || atomic_load(&me->guest) || atomic_exchange(&team->looking, true)) return false;
    wisp__member *m = find_held_up(team, me);
    if (m && (idle || m == team->member) && ctx->one_node) {
        const int cpu = atomic_exchange(&m->cpu, atomic_load(&me->cpu));
        atomic_store(&me->cpu, cpu);
        move(m, atomic_load(&m->cpu));
        move(me, cpu);
    } else if (m) {
        atomic_fetch_add(&team->away, 1);
        atomic_store(&m->away, true);
        move(m, sched_getcpu());
    }
    atomic_store(&team->looking, false);
    return m != NULL;
}

void wisp__crew_sleep(wisp__team *team, wisp__member *me, wisp__ready_fn ready, const void *arg)
{
    const struct timespec briefly = {0, SLEEP_NS};
    const unsigned news = atomic_load(&team->news);
    atomic_fetch_add(&team->asleep, 1);
    if (me) atomic_store(&me->waits, true);
    const bool run = atomic_load(&team->busy);
    if (!ready(arg)) syscall(SYS_futex, &team->news, FUTEX_WAIT_PRIVATE, news, run ? &briefly : NULL);
    if (me) atomic_store(&me->waits, false);
    atomic_fetch_sub(&team->asleep, 1);
}

static wisp__member *self(wisp__team *team)
{
    const pthread_t thread = pthread_self();
    for (int i = 0; i < team->threads; i++)
        if (pthread_equal(team->member[i].thread, thread)) return &team->member[i];
    return NULL;
}

void wisp__crew_wait(wisp_ctx *ctx, wisp__ready_fn ready, const void *arg, bool idle)
{
    wisp__member *me = NULL;
    for (int looks = 0; !wisp__crew_spin(LOOK_NS, ready, arg); looks++) {
        if (!ctx->team) continue;
        if (!me) me = self(ctx->team);
        if ((me && help(ctx, me, idle)) || looks >= ctx->team->looks) wisp__crew_sleep(ctx->team, me, ready, arg);
    }
}

void wisp__team_wait(wisp_ctx *ctx, wisp__ready_fn ready, const void *arg) { wisp__crew_wait(ctx, ready, arg, false); }

void wisp__team_tell(wisp_ctx *ctx)
{
    wisp__team *team = ctx->team;
    if (!team) return;
    if (atomic_load(&team->asleep) > 0) {
        atomic_fetch_add(&team->news, 1);
        syscall(SYS_futex, &team->news, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
    }
    if (atomic_load(&team->away) == 0) return;
    wisp__member *me = self(team);
    if (!me || !atomic_exchange(&me->away, false)) return;
    atomic_fetch_sub(&team->away, 1);
    move(me, atomic_load(&me->cpu));
}

bool wisp__team_stop(wisp_ctx *ctx, atomic_bool *stopped)
{
    if (!atomic_load(stopped) && wisp__cancelled(ctx)) {
        atomic_store(stopped, true);
        wisp__team_tell(ctx);
    }
    return atomic_load(stopped);
}
