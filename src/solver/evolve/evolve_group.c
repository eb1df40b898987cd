/* What evolutions under H and H(t) share: the coefficients of times that are summed at once, and times in a state. */
#include "evolve.h"

wisp_scalar wisp__evolve_coefficient(const void *group, int i, int64_t k)
{
    const wisp__evolve_group *g = group;
    if (k >= g->terms[i]) return (wisp_scalar){0, 0};
    if (g->c[i]) {
        const wisp_scalar c = g->c[i][k], p = g->phase[i];
        return (wisp_scalar){c.re * p.re - c.im * p.im, c.re * p.im + c.im * p.re};
    }
    const double f = (k == 0 ? 1 : 2) * g->J[i][k], re = f * g->phase[i].re, im = f * g->phase[i].im;
    switch (k % 4) { /* times (-i)^k */
    case 0: return (wisp_scalar){re, im};
    case 1: return (wisp_scalar){im, -re};
    case 2: return (wisp_scalar){-re, -im};
    default: return (wisp_scalar){-im, re};
    }
}

wisp_status wisp__evolve_same_times(wisp_ctx *ctx, int64_t times, const double *time, wisp_state *state)
{
    wisp_status status;
    double *kept = NULL;
    const size_t bytes = (size_t)times * sizeof *kept;
    WISP_TRY(wisp_state_samef(state, "times", "%lld", (long long)times));
    if (!wisp_state_is_kept(state)) return wisp_state_data(state, "time", (void *)(uintptr_t)time, bytes);
    WISP_TRY(wisp_alloc(ctx, &kept, (size_t)times, sizeof *kept));
    WISP_TRY(wisp_state_data(state, "time", kept, bytes));
    for (int64_t i = 0; i < times && status == WISP_OK; i++)
        if (kept[i] != time[i])
            status = wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                                    "the state is of a run to other times: number %lld is %.10g, and here %.10g",
                                    (long long)i, kept[i], time[i]);
out:
    wisp_free(ctx, kept);
    return status;
}
