/* The depth (how many steps of a recurrence are interleaved) where it is left to the library: the one that a model of
   time finds best. Trying other depths under way cost more than it found (docs/performance.md, interleaved steps).
   Results do not depend on any of this. */
#include "cascade.h"
#include "../data/store/store.h"
#include <string.h>

/* Whether even the best schedules gain nothing by the model of a sweep, so that making them (0.5 s for topi 100x100x40)
   is in vain; remembered, for each call of a run asks. */
static wisp_status hopeless(const wisp_mat *A, wisp_type type, int width, const wisp__facts *f, bool *yes)
{
    struct wisp__cascades *s = A->cascades;
    const wisp__foreseen now = {.type = type, .width = width, .kept = (int64_t)f->kept, .rates = f->rates};
    wisp__sample sample = {0};
    wisp__shape m;
    wisp__step_cost cost;
    const double bytes =
        (double)wisp__mat_bytes(A, false) + 2.0 * (double)A->local_rows * width * (double)wisp_type_size(type);
    wisp_status status = WISP_OK;
    *yes = bytes <= (double)now.kept;
    if (*yes) return status; /* the cache holds all */
    pthread_mutex_lock(&s->lock);
    const bool known = s->foreseen.type == type && s->foreseen.width == width && s->foreseen.kept == now.kept &&
                       !memcmp(&s->foreseen.rates, &f->rates, sizeof f->rates);
    *yes = s->foreseen.hopeless;
    pthread_mutex_unlock(&s->lock);
    if (known) return status;
    WISP_TRY(wisp__shape_of(A, &sample, &m));
    WISP_TRY(wisp__sweep_find(A->ctx, f, &m, type, width, f->tuned->schedule.deepest, &cost));
    *yes = cost.depth == 1;
    pthread_mutex_lock(&s->lock);
    s->foreseen = now;
    s->foreseen.hopeless = *yes;
    pthread_mutex_unlock(&s->lock);
    if (*yes)
        wisp__log_once(A->ctx, WISP__ONCE_DEPTH, WISP_LOG_INFO,
                       "steps are not interleaved: by the model of a sweep nothing is gained");
out:
    wisp__sample_close(&sample, A->ctx);
    if (status == WISP_ERR_NOMEM) { /* it is a gain, not a need */
        *yes = false;
        status = WISP_OK;
    }
    return status;
}

wisp_status wisp__depth_find(const wisp_mat *A, wisp_type type, int width, int steps, int64_t cache_budget,
                             const wisp__cascade **best)
{
    const wisp__cascade *c = NULL;
    wisp_status status = WISP_OK;
    const wisp__facts f = wisp__facts_of(A->ctx);
    *best = NULL;
    if (!wisp__may_interleave(&f)) {
        wisp__log_once(A->ctx, WISP__ONCE_DEPTH, WISP_LOG_INFO,
                       "steps are not interleaved: the last cache is hardly faster than memory");
        return WISP_OK;
    }
    bool vain = false;
    if (cache_budget == 0 && A->local.how->row) WISP_TRY(hopeless(A, type, width, &f, &vain));
    if (vain) return status;
    for (int depth = 2; depth <= f.tuned->schedule.deepest && depth <= steps; depth *= 2) {
        WISP_TRY(wisp__cascade_find(A, type, width, depth, cache_budget, &c));
        if (!c) break; /* there is none, or no memory for it now */
        const bool better = !c->why && (!*best || c->step.seconds <= f.tuned->schedule.deeper * (*best)->step.seconds);
        if (*best && !better) break;
        if (better) {
            wisp__cascade_release(A, *best);
            *best = c;
            c = NULL;
        }
        wisp__cascade_release(A, c);
        c = NULL;
    }
out:
    wisp__cascade_release(A, c);
    return status;
}
