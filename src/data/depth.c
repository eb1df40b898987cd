/* How many steps of a recurrence are interleaved: at first as many as a model of time finds best; then what turns out
   to be, for what the model goes by was measured some time ago, and a machine that others use is not always the same.
   Now and then another depth has a turn, just after one of the best. What takes clearly less time so twice is the best
   one from then on, until the other, which is tried at once again, beats it. Results do not depend on any of this. */
#include "cascade.h"
#include <math.h>
#include <string.h>

enum {
    TRIES = 2,    /* that a depth has before it is judged */
    PATIENCE = 2, /* turns of the first choice before another depth has one */
    EVERY = 32,   /* turns between challenges later on */
    SELDOM = 7    /* a hopeless depth has a turn at every so many only: with no factor of the number of depths */
};
static const double clearly = 0.97; /* more steps hold more of the cache, which others use as well */
static const double hopeless = 1.3;

static wisp__tuning *find(struct wisp__cascades *s, const wisp__steps_like *like)
{
    for (int i = 0; i < WISP__TUNINGS; i++)
        if (s->tuning[i].candidates > 0 && !memcmp(&s->tuning[i].like, like, sizeof *like)) return &s->tuning[i];
    return NULL;
}

/* In the place of the one that was not used for longest. */
static wisp__tuning *begin(struct wisp__cascades *s, const wisp__steps_like *like)
{
    wisp__tuning *t = s->tuning;
    for (int i = 1; i < WISP__TUNINGS; i++)
        if (s->tuning[i].last_use < t->last_use) t = &s->tuning[i];
    *t = (wisp__tuning){.like = *like, .candidates = 1, .next = PATIENCE};
    return t;
}

/* Deeper candidates, as long as the model finds more steps to take clearly less time; the first that does not is the
   last one. Until others have had their turns the best is that of the model. */
static wisp_status add_candidates(const wisp_mat *A, wisp__tuning *t, int steps)
{
    const wisp__steps_like *l = &t->like;
    const wisp__cascade *c, *best = NULL;
    wisp_status status = WISP_OK;
    if (t->best > 0) WISP_TRY(wisp__cascade_find(A, l->type, l->width, 1 << t->best, l->cache_budget, &best));
    while (!t->ended && t->candidates < WISP__DEPTHS && 1 << t->candidates <= steps) {
        WISP_TRY(wisp__cascade_find(A, l->type, l->width, 1 << t->candidates, l->cache_budget, &c));
        if (!c) break; /* there is none, or no memory for it now */
        const bool better = !c->why && (!best || c->step.seconds <= clearly * best->step.seconds);
        t->ended = best && !better;
        wisp__cascade_release(A, better ? best : c);
        if (better) {
            best = c;
            if (t->challenges == 0) t->best = t->candidates, t->seconds = 0;
        }
        t->candidates++;
    }
out:
    wisp__cascade_release(A, best);
    return status;
}

/* Another depth than the best one: one that had few tries, else all in turn. */
static int challenger(const wisp__tuning *t)
{
    for (int i = 0; i < t->candidates; i++)
        if (i != t->best && t->tries[i] < TRIES) return i;
    for (int n = 1; n <= t->candidates; n++) {
        const int i = (int)((t->challenges + n) % t->candidates);
        if (i != t->best && (t->ratio[i] < hopeless || t->challenges % SELDOM == 0)) return i;
    }
    return t->best;
}

/* Number i, or the deepest one that so many steps have. */
static int fitting(int i, int steps)
{
    while (i > 0 && 1 << i > steps) i--;
    return i;
}

/* What is left over at the end of a run tells nothing. */
static bool is_turn(const wisp__tuning *t, int steps) { return 1 << (t->candidates - 1) <= steps; }

static int choose(wisp__tuning *t, int steps)
{
    if (!is_turn(t, steps)) return fitting(t->best, steps);
    if (t->turns++ < t->next || t->seconds == 0 || t->candidates == 1) return t->best;
    const int i = challenger(t);
    t->challenges++;
    t->next = t->turns + EVERY;
    return i;
}

wisp_status wisp__depth_take(const wisp_mat *A, const wisp__steps_like *like, int steps, const wisp__cascade **c)
{
    struct wisp__cascades *s = A->cascades;
    wisp_status status;
    *c = NULL;
    pthread_mutex_lock(&s->tuning_lock);
    wisp__tuning *t = find(s, like);
    if (!t) t = begin(s, like);
    t->last_use = ++s->takes;
    WISP_TRY(add_candidates(A, t, steps));
    WISP_TRY(wisp__cascade_find(A, like->type, like->width, 1 << choose(t, steps), like->cache_budget, c));
out:
    pthread_mutex_unlock(&s->tuning_lock);
    return status;
}

/* i is the best from now on. The other one is to show at once whether that was chance. */
static void promote(wisp__tuning *t, int i)
{
    const double ratio = t->ratio[i];
    for (int j = 0; j < t->candidates; j++) t->ratio[j] /= ratio;
    t->ratio[t->best] = 1 / ratio;
    t->tries[t->best] = 0;
    t->best = i;
}

static void compare(wisp__tuning *t, int i, double seconds)
{
    const double ratio = seconds / t->seconds;
    t->ratio[i] = t->tries[i]++ == 0 ? ratio : sqrt(t->ratio[i] * ratio);
    t->seconds = 0;
    if (ratio > hopeless) t->tries[i] = TRIES;
    if (t->tries[i] >= TRIES && t->ratio[i] < clearly) promote(t, i);
    for (int j = 0; j < t->candidates; j++)
        if (j != t->best && t->tries[j] < TRIES) t->next = t->turns;
}

void wisp__depth_tell(const wisp_mat *A, const wisp__steps_like *like, int steps, int depth, double seconds)
{
    struct wisp__cascades *s = A->cascades;
    const int i = __builtin_ctz((unsigned)depth);
    pthread_mutex_lock(&s->tuning_lock);
    wisp__tuning *t = find(s, like);
    if (t && !is_turn(t, steps)) t = NULL;
    if (t && i == t->best)
        t->seconds = seconds;
    else if (t && i < t->candidates && t->seconds > 0 && seconds > 0)
        compare(t, i, seconds);
    pthread_mutex_unlock(&s->tuning_lock);
}

void wisp__depth_known(const wisp_mat *A, const wisp__steps_like *like, int steps, int *most, int *best)
{
    struct wisp__cascades *s = A->cascades;
    pthread_mutex_lock(&s->tuning_lock);
    const wisp__tuning *t = find(s, like);
    *most = t ? 1 << fitting(t->candidates - 1, steps) : 1;
    *best = t ? 1 << fitting(t->best, steps) : 1;
    pthread_mutex_unlock(&s->tuning_lock);
}
