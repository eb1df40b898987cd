/* Calls that compute take turns on a team. The calling thread goes to its unit for its turn, and has its own mask again
   afterwards: threads that the user starts between calls may go wherever the process may. */
#include "crew.h"

/* ---- the calling thread's mask ------------------------------------------------------------------ */

/* Two changes of a mask and a look at it take about 2 us, which brief runs would feel (docs/performance.md). A thread
   that is at its unit is not moved by the system within such a time, or hardly ever. So it is not pinned, nor its mask
   looked at, while all runs are brief. But those who find it held up may move it: then they look first. */
enum { BRIEF_RUNS = 8, BRIEF_NS = 100000 };

bool wisp__pin_set(wisp__crew *crew, wisp__pin *pin, bool firmly)
{
    const int unit = atomic_load(&crew->member->cpu);
    if (!crew->pinned) return false;
    if (!pin->set && !firmly && crew->brief >= BRIEF_RUNS && wisp__place_here() == unit) return true;
    if (!wisp__pin_know(pin, pthread_self()) || !wisp__units_has(&pin->own, unit)) return false;
    if (pin->set && pin->unit == unit) return true;
    const wisp__units set = wisp__units_one(unit);
    if (!wisp__place_set_own(&set)) return pin->set;
    pin->set = true;
    pin->unit = unit;
    return true;
}

void wisp__pin_settle(wisp__crew *crew, wisp__pin *pin)
{
    while (atomic_load(&crew->looking)) wisp__yield(); /* after that nobody moves this thread: it may end */
    if (atomic_load(&crew->member->away)) wisp__team_tell(&crew->team);
    if (!atomic_load(&crew->moved)) return; /* a load first: others read this line as well */
    atomic_store(&crew->moved, false);
    pin->set = true;
    pin->unit = atomic_load(&crew->member->cpu);
}

void wisp__pin_learn(wisp__crew *crew)
{
    const bool brief = 1e9 * (wisp_now() - crew->began) < BRIEF_NS;
    crew->brief = brief ? WISP__MIN(crew->brief + 1, BRIEF_RUNS) : 0;
}

void wisp__pin_lift(wisp__pin *pin)
{
    if (pin->set) wisp__place_set_own(&pin->own);
    pin->known = pin->set = false;
}

/* ---- turns -------------------------------------------------------------------------------------- */

static bool is_mine(wisp__crew *c) { return pthread_equal(atomic_load(&c->holder), pthread_self()); }

wisp__pin *wisp__turn_pin(wisp__crew *crew) { return is_mine(crew) ? &crew->pin : NULL; }

wisp_status wisp__turn_begin(wisp__team *team)
{
    wisp__crew *c = wisp__crew_of(team);
    if (!is_mine(c)) {
        pthread_mutex_lock(&c->turn);
        atomic_store(&c->holder, pthread_self());
    }
    c->depth++;
    if (!c->lost) return WISP_OK;
    return wisp_ctx_failf(team->ctx, WISP_ERR_UNSUPPORTED,
                          "another thread was computing on this context when the process was forked; make one here");
}

wisp_status wisp__turn_end(wisp__team *team, wisp_status status)
{
    wisp__crew *c = wisp__crew_of(team);
    if (--c->depth > 0) return status;
    wisp__pin_lift(&c->pin);
    atomic_store(&c->holder, (pthread_t)0);
    pthread_mutex_unlock(&c->turn);
    return status;
}

/* ---- callbacks ---------------------------------------------------------------------------------- */

/* In a run the thread is pinned again afterwards, in a turn by the next run. */
void wisp__aside(wisp_ctx *ctx, void (*call)(void *arg), void *arg)
{
    wisp__crew *c = ctx->team ? wisp__crew_of(ctx->team) : NULL;
    wisp__member *m = c ? c->member : NULL;
    const bool in_run = m && atomic_load(&m->part) == PART_TAKEN &&
                        pthread_equal(atomic_load_explicit(&m->thread, memory_order_relaxed), pthread_self());
    wisp__pin *pin = in_run ? c->of_run : c ? wisp__turn_pin(c) : NULL;
    if (in_run) {
        atomic_store(&m->guest, true);
        wisp__pin_settle(c, pin);
    }
    if (pin) wisp__pin_lift(pin);
    call(arg);
    if (in_run) atomic_store(&m->guest, !wisp__pin_set(c, pin, false));
}
