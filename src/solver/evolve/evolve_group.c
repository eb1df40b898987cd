/* What evolutions under H and H(t) share: the coefficients of times that are summed at once, and times in a state. */
#include "evolve.h"
#include <float.h>
#include <math.h>

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

wisp_status wisp__evolve_start(const wisp_blk *psi, double *norm)
{
    wisp_status status;
    WISP_TRY(wisp_norm(psi, norm));
    for (int j = 0; j < wisp_blk_width(psi); j++)
        if (!isfinite(norm[j]))
            return wisp_ctx_failf(wisp_blk_ctx(psi), WISP_ERR_NUMERIC,
                                  "evolve: psi has a NaN or an infinity in column %d", j);
out:
    return status;
}

/* Products of entries and elements are rounded to denormal numbers: after t in a series of h t terms, each of which
   divides by h, by about that times t, and by h t as much where that is over 1. */
wisp_status wisp__evolve_fits(const wisp_blk *psi, const double *norm, const wisp_bounds *b, double t, double tolerance)
{
    const wisp_type type = wisp_blk_type(psi);
    const bool is_single = wisp__is_single(type);
    const double tiny = is_single ? 0x1p-149 : 0x1p-1074, most = is_single ? FLT_MAX : DBL_MAX, h = b->halfwidth,
                 rows = (double)wisp_map_rows(wisp_blk_map(psi));
    for (int j = 0; j < wisp_blk_width(psi); j++) {
        const double off = tiny / norm[j] * 2 * sqrt(rows) * fabs(t) * fmax(1, h * fabs(t));
        const bool is_large = norm[j] > most / 16 / (fabs(b->center) + h);
        if (norm[j] == 0 || (off <= tolerance && !is_large)) continue;
        return wisp_ctx_failf(
            wisp_blk_ctx(psi), WISP_ERR_NUMERIC,
            "evolve: column %d of psi, of norm %.3g, times a matrix of %.3g is too %s for %s: multiply "
            "psi by about 1e%+.0f%s",
            j, norm[j], fabs(b->center) + h, is_large ? "large" : "small", wisp_type_name(type), -floor(log10(norm[j])),
            is_single ? ", or take double precision" : "");
    }
    return WISP_OK;
}
