/* How many steps of a recurrence are interleaved where that is left to the library: as many as a model of time finds
   best. Trying other depths under way cost more than it found (docs/performance.md, interleaved steps). Results do not
   depend on any of this. */
#include "cascade.h"

/* More steps hold more of the cache, which others use as well. No more is to be gained than the last cache is faster
   than memory, and the model is not that good. */
static const double clearly = 0.97, faster = 1.3;

wisp_status wisp__depth_find(const wisp_mat *A, wisp_type type, int width, int steps, int64_t cache_budget,
                             const wisp__cascade **best)
{
    const wisp__cascade *c = NULL;
    wisp_status status = WISP_OK;
    wisp__rates r;
    *best = NULL;
    wisp__rates_find(A->ctx, &r);
    if (r.l3 < faster * r.memory) {
        wisp__log_once(A->ctx, WISP__ONCE_DEPTH, WISP_LOG_INFO,
                       "steps are not interleaved: the last cache is hardly faster than memory");
        return WISP_OK;
    }
    for (int depth = 2; depth <= WISP__MOST_DEPTH && depth <= steps; depth *= 2) {
        WISP_TRY(wisp__cascade_find(A, type, width, depth, cache_budget, &c));
        if (!c) break; /* there is none, or no memory for it now */
        const bool better = !c->why && (!*best || c->step.seconds <= clearly * (*best)->step.seconds);
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
