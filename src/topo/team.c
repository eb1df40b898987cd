/* Teams: their threads start, run the parts of a run, and end. */
#include "crew.h"
#include "cpus.h"
#include "task.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool wisp__alone_run(wisp__team *team, wisp__team_fn fn, void *arg)
{
    const unsigned before = atomic_load(&team->cancel);
    fn(arg, 0, 1);
    return wisp__undisturbed(team, before);
}

bool wisp__is_little(wisp__team *team, int64_t elements)
{
    enum { WAKING = 16 * WISP__SMALL }; /* what takes about as long as to wake another thread */
    wisp__crew *c = wisp__crew_of(team);
    const int others = c->there - 1;
    if (elements < WISP__SMALL) return true;
    c->put_off += WISP__MIN(elements, WAKING);
    if (others > 0 && atomic_load(&c->asleep) >= others && c->put_off < WAKING) return true;
    c->put_off = 0;
    return false;
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
    const wisp__crew *c = arg;
    for (int i = 1; i < c->there; i++)
        if (atomic_load(&c->member[i].part) != PART_NONE) return false;
    return true;
}

/* Says whose a member's part is. (The number of a thread that has ended may come again, with another clock.) */
static void set_thread(wisp__member *m, pthread_t thread)
{
    atomic_store_explicit(&m->thread, thread, memory_order_relaxed);
    if (!wisp__place_clock(thread, &m->clock)) m->clock = CLOCK_MONOTONIC; /* seems to run all the time */
}

static void start(wisp__crew *c);

/* The calling thread is the first member, whichever it is. */
static void enter(wisp__crew *c, wisp__pin *pin, bool each)
{
    wisp__member *m = c->member;
    if (c->gone) start(c);
    c->of_run = pin;
    c->began = wisp_now();
    set_thread(m, pthread_self());
    atomic_store_explicit(&m->guest, !wisp__pin_set(c, pin, each), memory_order_relaxed);
    atomic_store_explicit(&m->part, PART_TAKEN, memory_order_release); /* now it may be moved */
}

static void leave(wisp__crew *c, wisp__pin *pin)
{
    atomic_store(&c->member->part, PART_NONE);
    wisp__pin_settle(c, pin);
    wisp__pin_learn(c);
    if (pin != &c->pin) wisp__pin_lift(pin);
    atomic_store(&c->busy, false);
}

static bool run(wisp__team *team, wisp__team_fn fn, void *arg, bool each)
{
    wisp__crew *c = wisp__crew_of(team);
    if (atomic_exchange(&c->busy, true)) return wisp__alone_run(team, fn, arg);
    wisp__pin of_run = {.known = false}, *of_turn = wisp__turn_pin(c), *pin = of_turn ? of_turn : &of_run;
    const unsigned before = atomic_load(&team->cancel);
    enter(c, pin, each);
    const int threads = c->there;
    for (int i = 1; i < threads; i++) {
        c->member[i].fn = fn, c->member[i].arg = arg;
        atomic_store(&c->member[i].part, PART_OPEN);
    }
    wisp__team_tell(team);
    fn(arg, 0, threads);
    for (int i = 1; i < threads && !each; i++)
        if (take_part(&c->member[i])) {
            fn(arg, i, threads);
            atomic_store(&c->member[i].part, PART_NONE);
        }
    wisp__crew_wait(c, c->member, all_done, c, false);
    leave(c, pin);
    return wisp__undisturbed(team, before);
}

bool wisp__team_run(wisp__team *team, wisp__team_fn fn, void *arg) { return run(team, fn, arg, false); }
bool wisp__team_run_each(wisp__team *team, wisp__team_fn fn, void *arg) { return run(team, fn, arg, true); }

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
    return has_part(m) || !atomic_load(&m->crew->busy);
}

static void *work(void *arg)
{
    wisp__member *me = arg;
    wisp__crew *c = me->crew;
    for (;;) {
        while (!wisp__crew_spin(c->spin, has_part, me)) {
            wisp__crew_wait(c, me, has_part_or_rest, me, true);
            if (!has_part(me)) wisp__crew_sleep(c, me, has_part, me);
        }
        if (atomic_load(&me->part) == PART_END) return NULL;
        if (!take_part(me)) continue;                          /* another thread has it */
        if (atomic_load(&me->away)) wisp__team_tell(&c->team); /* home, if it was moved at the end of the last part */
        me->fn(me->arg, (int)(me - c->member), c->there);
        atomic_store(&me->part, PART_NONE);
        wisp__team_tell(&c->team);
        wisp__crew_wait(c, me, has_part_or_rest, me, true);
    }
}

/* ---- its life -------------------------------------------------------------------------------- */

/* How long threads stay awake: hardly, if they would wait for each other's cores or are asked not to. */
static void set_patience(wisp__crew *c, int cpus)
{
    enum { SPIN_NS = 200000, LOOKS = 5 };
    const char *policy = getenv("OMP_WAIT_POLICY");
    if (c->team.threads > cpus || (policy && !strcasecmp(policy, "passive"))) return;
    c->spin = SPIN_NS;
    c->looks = LOOKS;
}

/* Starts the members but the first, each at its home if it has one. */
static void start(wisp__crew *c)
{
    int n = 1;
    for (; n < c->team.threads; n++) {
        wisp__member *m = &c->member[n];
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, m)) break;
        set_thread(m, thread);
        const wisp__units set = c->pinned ? wisp__units_one(atomic_load(&m->cpu)) : c->allowed;
        wisp__place_set(thread, &set);
    }
    c->there = n;
    c->gone = false;
    if (n < c->team.threads)
        wisp_ctx_logf(c->team.ctx, WISP_LOG_WARN,
                      "only %d of %d threads could be started: look at `ulimit -u` and `ulimit -v`", n,
                      c->team.threads);
}

static wisp__crew *new_crew(wisp_ctx *ctx, int threads)
{
    const size_t bytes = wisp__lines(sizeof(wisp__crew) + (size_t)threads * sizeof(wisp__member));
    wisp__crew *c = aligned_alloc(WISP__LINE, bytes);
    if (!c) return NULL;
    memset(c, 0, bytes);
    c->team.ctx = ctx;
    c->team.threads = threads;
    for (int i = 0; i < threads; i++) c->member[i].crew = c;
    pthread_mutex_init(&c->turn, NULL);
    return c;
}

static void free_crew(wisp__crew *c)
{
    pthread_mutex_destroy(&c->turn);
    free(c);
}

/* Why threads run elsewhere than is usual: `units` could be had. */
static void log_places(const wisp__crew *c, int cpus, int units)
{
    wisp_ctx *ctx = c->team.ctx;
    const int wanted = c->team.threads;
    if (wanted > cpus)
        wisp_ctx_logf(ctx, WISP_LOG_WARN, "%d threads on %d cores: they will wait for each other; use at most %d",
                      wanted, cpus, cpus);
    else if (units >= wanted && !c->pinned && !c->held_known)
        wisp_ctx_logf(ctx, WISP_LOG_PERF,
                      "which cores other processes hold can't be known, for neither XDG_RUNTIME_DIR nor /tmp takes a "
                      "folder of this user's alone: threads are not pinned");
    else if (units >= wanted && !c->pinned)
        wisp_ctx_logf(
            ctx, WISP_LOG_PERF,
            "other contexts or processes hold cores, and fewer than %d of %d are left: threads are not pinned", wanted,
            cpus);
}

static wisp_status open_on(wisp__team **team, wisp_ctx *ctx, int threads, int cpus, const wisp__units *allowed)
{
    *team = NULL;
    wisp__crew *c = new_crew(ctx, threads);
    int *unit = malloc((size_t)cpus * sizeof *unit); /* without it they are not pinned: slower, not wrong */
    int n = 0;
    if (!c) goto out;
    c->allowed = *allowed;
    if (unit) n = wisp__cpu_order(allowed, unit, cpus, &c->one_node);
    if (ctx->opts.no_pin || !wisp__may_pin()) n = 0;
    set_patience(c, cpus);
    if (!wisp__crew_join(c, unit, n)) {
        free_crew(c);
        goto out;
    }
    log_places(c, cpus, n);
    start(c);
    c->team.threads = c->there;
    *team = &c->team;
out:
    free(unit);
    return *team ? WISP_OK : wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "no memory for %d threads", threads);
}

/* What other ranks on the machine leave, else what the process may use; how many. */
static int units_of(const wisp_ctx *ctx, wisp__units *units)
{
    *units = ctx->units;
    return wisp__units_count(units) > 0 ? wisp__units_count(units) : wisp__allowed_cpus(units);
}

wisp_status wisp__team_open(wisp__team **team, wisp_ctx *ctx, int threads)
{
    wisp__units allowed;
    const int cpus = units_of(ctx, &allowed);
    return open_on(team, ctx, threads, cpus, &allowed);
}

wisp_status wisp__team_open_own(wisp_ctx *ctx)
{
    wisp__units allowed;
    const int cpus = units_of(ctx, &allowed);
    int threads;
    wisp_status status;
    WISP_TRY(wisp__threads_wanted(ctx, cpus, &threads));
    WISP_TRY(open_on(&ctx->team, ctx, threads, cpus, &allowed));
    ctx->threads = ctx->team->threads;
    ctx->one_node = wisp__crew_of(ctx->team)->one_node;
out:
    return status;
}

void wisp__team_close(wisp__team *team)
{
    if (!team) return;
    wisp__crew *c = wisp__crew_of(team);
    for (int i = 1; i < c->there; i++) atomic_store(&c->member[i].part, PART_END);
    wisp__team_tell(team);
    for (int i = 1; i < c->there; i++) pthread_join(atomic_load(&c->member[i].thread), NULL);
    wisp__crew_leave(c);
    wisp__scratch_free(team);
    free_crew(c);
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

void wisp__zero(wisp_ctx *ctx, char *p, size_t bytes)
{
    wisp__team_run_each(ctx->team, zero_part, &(zero_run){p, bytes});
}
