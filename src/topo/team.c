#include "crew.h"
#include "place.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Whether no cancel came, and none was on, since `before`. */
static bool undisturbed(wisp_ctx *ctx, unsigned before) { return !(before & 1) && atomic_load(&ctx->cancel) == before; }

bool wisp__alone_run(wisp_ctx *ctx, wisp__team_fn fn, void *arg)
{
    const unsigned before = atomic_load(&ctx->cancel);
    fn(arg, 0, 1);
    return undisturbed(ctx, before);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static bool take_part(wisp__member *m)
{
    int open = PART_OPEN;
    return atomic_load_explicit(&m->part, memory_order_relaxed) == PART_OPEN &&
           atomic_compare_exchange_strong(&m->part, &open, PART_TAKEN);
}

static bool all_done(const void *arg)
{
    const wisp__team *team = arg;
    for (int i = 1; i < team->threads; i++)
        if (atomic_load(&team->member[i].part) != PART_NONE) return false;
    return true;
}

/* The calling thread is the first member, whichever it is. (The number of a thread that has ended may come again, with
   another clock.) */
static void enter(wisp__team *team)
{
    wisp__member *m = team->member;
    const pthread_t self = pthread_self();
    if (!pthread_equal(m->thread, self)) m->thread = self;
    if (pthread_getcpuclockid(self, &m->clock)) m->clock = CLOCK_MONOTONIC;
    atomic_store_explicit(&m->guest, !pthread_equal(self, team->owner), memory_order_relaxed);
    atomic_store_explicit(&m->part, PART_TAKEN, memory_order_relaxed);
}

static bool run(wisp_ctx *ctx, wisp__team_fn fn, void *arg, bool each)
{
    wisp__team *team = ctx->team;
    if (!team || atomic_exchange(&team->busy, true)) return wisp__alone_run(ctx, fn, arg);
    const unsigned before = atomic_load(&ctx->cancel);
    enter(team);
    team->fn = fn, team->arg = arg;
    for (int i = 1; i < team->threads; i++) atomic_store(&team->member[i].part, PART_OPEN);
    wisp__team_tell(ctx);
    fn(arg, 0, team->threads);
    for (int i = 1; i < team->threads && !each; i++)
        if (take_part(&team->member[i])) {
            fn(arg, i, team->threads);
            atomic_store(&team->member[i].part, PART_NONE);
        }
    wisp__crew_wait(ctx, all_done, team, false);
    atomic_store_explicit(&team->member->part, PART_NONE, memory_order_relaxed);
    atomic_store(&team->busy, false);
    while (atomic_load(&team->looking)) sched_yield(); /* nobody moves this thread later: it may end */
    if (atomic_load(&team->member->away)) wisp__team_tell(ctx);
    return undisturbed(ctx, before);
}

bool wisp__team_run(wisp_ctx *ctx, wisp__team_fn fn, void *arg) { return run(ctx, fn, arg, false); }
bool wisp__team_run_each(wisp_ctx *ctx, wisp__team_fn fn, void *arg) { return run(ctx, fn, arg, true); }

/* ---- a thread -------------------------------------------------------------------------------- */

static bool has_part(const void *arg)
{
    const wisp__member *m = arg;
    const int part = atomic_load(&m->part);
    return part == PART_OPEN || part == PART_END;
}

/* Or the run is over. */
static bool has_part_or_rest(const void *arg)
{
    const wisp__member *m = arg;
    return has_part(m) || !atomic_load(&m->ctx->team->busy);
}

static void *work(void *arg)
{
    wisp__member *me = arg;
    wisp_ctx *ctx = me->ctx;
    wisp__team *team = ctx->team;
    for (;;) {
        while (!wisp__crew_spin(team->spin, has_part, me)) {
            wisp__crew_wait(ctx, has_part_or_rest, me, true);
            if (!has_part(me)) wisp__crew_sleep(team, me, has_part, me);
        }
        if (atomic_load(&me->part) == PART_END) return NULL;
        if (!take_part(me)) continue;                     /* another thread has it */
        if (atomic_load(&me->away)) wisp__team_tell(ctx); /* home, if it was moved at the end of the last part */
        team->fn(team->arg, (int)(me - team->member), team->threads);
        atomic_store(&me->part, PART_NONE);
        wisp__team_tell(ctx);
        wisp__crew_wait(ctx, has_part_or_rest, me, true);
    }
}

/* ---- its life -------------------------------------------------------------------------------- */

/* How long threads stay awake: hardly, if they would wait for each other's cores or are asked not to. */
static void set_patience(wisp__team *team, int cpus)
{
    enum { SPIN_NS = 200000, LOOKS = 5 };
    const char *policy = getenv("OMP_WAIT_POLICY");
    if (team->threads > cpus || (policy && !strcasecmp(policy, "passive"))) return;
    team->spin = SPIN_NS;
    team->looks = LOOKS;
}

/* Starts the members but the first, each at its home if it has one; returns how many threads there are. */
static int start(wisp_ctx *ctx, const int *home)
{
    wisp__team *team = ctx->team;
    int n = 0;
    for (; n < team->threads; n++) {
        wisp__member *m = &team->member[n];
        cpu_set_t set = ctx->allowed_cpus;
        m->ctx = ctx;
        m->thread = pthread_self();
        if (n > 0 && pthread_create(&m->thread, NULL, work, m)) break;
        if (pthread_getcpuclockid(m->thread, &m->clock)) m->clock = CLOCK_MONOTONIC; /* seems to run all the time */
        if (home) {
            CPU_ZERO(&set);
            CPU_SET((size_t)home[n], &set);
            atomic_store(&m->cpu, home[n]);
        }
        if (home || n > 0) pthread_setaffinity_np(m->thread, sizeof set, &set);
    }
    return n;
}

typedef struct {
    char *p;
    size_t bytes;
} zero_run;

/* First touch by the threads that will compute on the same part. */
static void zero_part(void *arg, int part, int parts)
{
    enum { UNIT = 65536 };
    const zero_run *r = arg;
    const int64_t units = (int64_t)((r->bytes + UNIT - 1) / UNIT);
    const size_t begin = (size_t)wisp__split(units, parts, part) * UNIT,
                 end = WISP__MIN((size_t)wisp__split(units, parts, part + 1) * UNIT, r->bytes);
    if (begin < end) memset(r->p + begin, 0, end - begin);
}

static void zero(wisp_ctx *ctx, char *p, size_t bytes) { wisp__team_run_each(ctx, zero_part, &(zero_run){p, bytes}); }

wisp_status wisp__team_open(wisp_ctx *ctx)
{
    ctx->zero = zero;
    int cpus = wisp__allowed_cpus(&ctx->allowed_cpus), threads = 0;
    const wisp_status status = wisp__threads_wanted(ctx, cpus, &threads);
    if (status != WISP_OK) return status;
    ctx->threads = threads;
    if (threads > cpus)
        wisp_ctx_log(ctx, WISP_LOG_WARN, "%d threads on %d cores: they will wait for each other; use at most %d",
                     threads, cpus, cpus);
    int *cpu = malloc((size_t)cpus * sizeof *cpu); /* without it they are not pinned: slower, not wrong */
    const int n = cpu ? wisp__cpu_order(&ctx->allowed_cpus, cpu, cpus, &ctx->one_node) : 0;
    if (threads > 1) {
        const size_t bytes = sizeof(wisp__team) + (size_t)threads * sizeof(wisp__member);
        ctx->team = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (!ctx->team) {
            free(cpu);
            return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "no memory for %d threads", threads);
        }
        memset(ctx->team, 0, bytes);
        ctx->pinned = !ctx->opts.no_pin && n >= threads && wisp__may_pin();
        ctx->team->threads = threads;
        ctx->team->owner = pthread_self();
        set_patience(ctx->team, cpus);
        ctx->threads = ctx->team->threads = start(ctx, ctx->pinned ? cpu : NULL);
    }
    free(cpu);
    if (ctx->threads < threads)
        wisp_ctx_log(ctx, WISP_LOG_WARN, "only %d of %d threads could be started: look at `ulimit -u` and `ulimit -v`",
                     ctx->threads, threads);
    return WISP_OK;
}

void wisp__team_close(wisp_ctx *ctx)
{
    wisp__team *team = ctx->team;
    if (!team) return;
    for (int i = 1; i < ctx->threads; i++) atomic_store(&team->member[i].part, PART_END);
    wisp__team_tell(ctx);
    for (int i = 1; i < ctx->threads; i++) pthread_join(team->member[i].thread, NULL);
    if (ctx->pinned) sched_setaffinity(0, sizeof ctx->allowed_cpus, &ctx->allowed_cpus);
    free(team);
    ctx->team = NULL;
}
