/* How many steps of a recurrence are interleaved: at first as many as a model of time finds best; then what turns out
   to be, for what the model goes by was measured some time ago, and a machine that others use is not always the same.
   Now and then another depth has a turn, just after one of the best. What takes clearly less time so twice is the best
   one from then on, until the other, which is tried at once again, beats it. Results do not depend on any of this. */
#include "cascade.h"
#include <math.h>
#include <string.h>

enum { TRIES = 2, PATIENCE = 2, EVERY = 32, SELDOM = 4 };
static const double clearly = 0.97; /* more steps hold more of the cache, which others use as well */
static const double hopeless = 1.3; /* such a depth is tried at every SELDOM-th challenge only */

static wisp__tuning *find(struct wisp__cascades *s, const wisp__steps_like *like, const wisp__rates *rates)
{
    for (int i = 0; i < WISP__TUNINGS; i++) {
        wisp__tuning *t = &s->tuning[i];
        const wisp__steps_like *l = &t->like;
        if (t->known > 0 && l->type == like->type && l->width == like->width && l->sums == like->sums &&
            l->terms == like->terms && l->cache_budget == like->cache_budget &&
            !memcmp(&t->rates, rates, sizeof *rates))
            return t;
    }
    return NULL;
}

/* In the place of the one that was not used for longest. */
static wisp__tuning *begin(struct wisp__cascades *s, const wisp__steps_like *like, const wisp__rates *rates)
{
    wisp__tuning *t = s->tuning;
    for (int i = 1; i < WISP__TUNINGS; i++)
        if (s->tuning[i].last_use < t->last_use) t = &s->tuning[i];
    *t = (wisp__tuning){.like = *like, .rates = *rates, .known = 1, .next = PATIENCE};
    return t;
}

/* Deeper candidates, as long as the model finds more steps to take clearly less time; the first that does not is the
   last one. Until others have had their turns the best is that of the model. */
static wisp_status look(const wisp_mat *A, wisp__tuning *t, int steps)
{
    const wisp__steps_like *l = &t->like;
    const wisp__cascade *c, *best = NULL;
    wisp_status status = WISP_OK;
    if (t->best > 0) WISP_TRY(wisp__cascade_find(A, l->type, l->width, 1 << t->best, l->cache_budget, &best));
    while (!t->ended && t->known < WISP__DEPTHS && 1 << t->known <= steps) {
        WISP_TRY(wisp__cascade_find(A, l->type, l->width, 1 << t->known, l->cache_budget, &c));
        t->ended = !c;
        if (!c) break;
        const bool better = !c->why && (!best || c->step.seconds <= clearly * best->step.seconds);
        t->ended = best && !better;
        wisp__cascade_release(A, better ? best : c);
        if (better) {
            best = c;
            if (t->challenges == 0) t->best = t->known;
        }
        t->known++;
    }
out:
    wisp__cascade_release(A, best);
    return status;
}

/* Another depth than the best one: one that had few tries, or the one that the last challenge came before. */
static int challenger(const wisp__tuning *t, int steps)
{
    for (int i = 0; i < t->known; i++)
        if (i != t->best && 1 << i <= steps && t->tries[i] < TRIES) return i;
    for (int n = 1; n <= t->known; n++) {
        const int i = (int)((t->challenges + n) % t->known);
        if (i != t->best && 1 << i <= steps && (t->ratio[i] < hopeless || t->challenges % SELDOM == 0)) return i;
    }
    return t->best;
}

/* Number i, or the deepest one that so many steps have. */
static int fitting(int i, int steps)
{
    while (i > 0 && 1 << i > steps) i--;
    return i;
}

static int choose(wisp__tuning *t, int steps)
{
    int i = fitting(t->best, steps);
    if (i < t->best || 1 << (t->known - 1) > steps) return i; /* what is left over at the end tells nothing */
    if (t->turns++ < t->next || t->seconds == 0 || t->known == 1) return i;
    i = challenger(t, steps);
    t->challenges++;
    t->next = t->turns + EVERY;
    return i;
}

wisp_status wisp__depth_take(const wisp_mat *A, const wisp__steps_like *like, int steps, const wisp__cascade **c)
{
    struct wisp__cascades *s = A->cascades;
    wisp_status status;
    wisp__rates rates;
    *c = NULL;
    wisp__rates_find(A->ctx, &rates);
    pthread_mutex_lock(&s->tuning_lock);
    wisp__tuning *t = find(s, like, &rates);
    if (!t) t = begin(s, like, &rates);
    t->last_use = ++s->takes;
    WISP_TRY(look(A, t, steps));
    WISP_TRY(wisp__cascade_find(A, like->type, like->width, 1 << choose(t, steps), like->cache_budget, c));
out:
    pthread_mutex_unlock(&s->tuning_lock);
    return status;
}

/* i is the best from now on. The other one is to show at once whether that was chance. */
static void promote(wisp__tuning *t, int i)
{
    const double ratio = t->ratio[i];
    for (int j = 0; j < t->known; j++) t->ratio[j] /= ratio;
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
    for (int j = 0; j < t->known; j++)
        if (j != t->best && t->tries[j] < TRIES) t->next = t->turns;
}

void wisp__depth_tell(const wisp_mat *A, const wisp__steps_like *like, int depth, double seconds)
{
    struct wisp__cascades *s = A->cascades;
    wisp__rates rates;
    wisp__rates_find(A->ctx, &rates);
    pthread_mutex_lock(&s->tuning_lock);
    wisp__tuning *t = find(s, like, &rates);
    int i = 0;
    while (1 << i < depth) i++;
    if (t && i == t->best)
        t->seconds = seconds;
    else if (t && i < t->known && t->seconds > 0 && seconds > 0)
        compare(t, i, seconds);
    pthread_mutex_unlock(&s->tuning_lock);
}

static int number(const wisp_mat *A, const wisp__steps_like *like, int steps, bool most)
{
    struct wisp__cascades *s = A->cascades;
    wisp__rates rates;
    wisp__rates_find(A->ctx, &rates);
    pthread_mutex_lock(&s->tuning_lock);
    const wisp__tuning *t = find(s, like, &rates);
    const int i = !t ? 0 : fitting(most ? t->known - 1 : t->best, steps);
    pthread_mutex_unlock(&s->tuning_lock);
    return 1 << i;
}

int wisp__depth_most(const wisp_mat *A, const wisp__steps_like *like, int steps)
{
    return number(A, like, steps, true);
}

int wisp__depth_best(const wisp_mat *A, const wisp__steps_like *like, int steps)
{
    return number(A, like, steps, false);
}
