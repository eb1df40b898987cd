/* Ways to share rows among ranks, which must make no difference. */
#ifndef RANK_WAYS_H
#define RANK_WAYS_H
#include "ref.h"
#include <math.h>
#include <stdlib.h>

/* Even ones, and with weights. The first one is alone. */
static const struct {
    int ranks;
    const char *weights;
} way[] = {{1, ""}, {2, ""}, {3, ""}, {5, ""}, {3, "2,0,1"}, {5, "0,1,7,0,2"}};
enum { WAYS = sizeof way / sizeof way[0] };

static inline void run_ways(wisp_rank_fn fn, void *arg, int first)
{
    for (int w = first; w < WAYS; w++) {
        setenv("WISP_WEIGHTS", way[w].weights, 1);
        ref_ranks_each(way[w].ranks, fn, arg);
    }
    unsetenv("WISP_WEIGHTS");
}

static inline wisp_ctx *own_ctx(void) { return ref_isa_ctx(NULL, 1); }

/* Those of one rank alone, up to rounding. */
static inline void same_moments(const wisp_moments *m, const wisp_moments *alone, const char *what, int rank)
{
    const double tolerance = m->type == WISP_S || m->type == WISP_C ? 1e-5 : 1e-12;
    for (int64_t i = 0; i < m->n * m->vectors; i++)
        if (!(fabs(m->mu[i] - alone->mu[i]) <= tolerance * (double)m->rows))
            fail_msg("%s, rank %d: moment %lld is %.17g, should be %.17g", what, rank, (long long)i, m->mu[i],
                     alone->mu[i]);
}
#endif
