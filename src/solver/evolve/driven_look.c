/* What the steps under H(t) know of the drives: their numbers at a time, where they jump, and what a step's nodes don't
   see. */
#include "driven.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

wisp_status wisp__driven_look(const wisp__driven *s, double t, double *f)
{
    bool finite = true;
    if (s->o.drive_at(s->o.drive_arg, t, f))
        return wisp_ctx_failf(s->ctx, WISP_ERR_CALLBACK, "evolve: opts.drive_at failed at time %.10g", t);
    for (int j = 0; j < s->o.drives; j++) finite &= isfinite(f[j]);
    /* At the very place of a jump there may be no number, such as 0/0, but beside it. */
    if (!finite && s->o.drive_at(s->o.drive_arg, nextafter(t, INFINITY), f))
        return wisp_ctx_failf(s->ctx, WISP_ERR_CALLBACK, "evolve: opts.drive_at failed at time %.10g", t);
    for (int j = 0; j < s->o.drives; j++)
        if (!isfinite(f[j]))
            return wisp_ctx_failf(s->ctx, WISP_ERR_NUMERIC, "evolve: opts.drive_at tells f_%d = %g at time %.10g", j,
                                  f[j], t);
    return WISP_OK;
}

/* Of sums: c = sum of g_j c_j, h = sum of |g_j| h_j. */
void wisp__driven_bounds(wisp__driven *s)
{
    s->now = s->of[0];
    s->parts.center = fabs(s->now.center);
    for (int j = 0; j < s->o.drives; j++) {
        s->now.center += s->g[j] * s->of[1 + j].center;
        s->parts.center += fabs(s->g[j] * s->of[1 + j].center);
        s->now.halfwidth += fabs(s->g[j]) * s->of[1 + j].halfwidth;
    }
    if (!(s->now.halfwidth > 0)) s->now.halfwidth = 1e-3 / s->span; /* all parts are multiples of 1 */
    s->parts.halfwidth = s->now.halfwidth;
}

/* ---- breaks ------------------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

wisp_status wisp__driven_sort_breaks(wisp__driven *s)
{
    const size_t n = (size_t)s->o.breaks;
    wisp_status status = WISP_OK;
    if (n == 0) goto out;
    WISP_TRY(wisp_alloc(s->ctx, &s->breaks, n, sizeof *s->breaks));
    memcpy(s->breaks, s->o.break_at, n * sizeof *s->breaks);
    qsort(s->breaks, n, sizeof *s->breaks, by_time);
out:
    return status;
}

double wisp__driven_end(const wisp__driven *s, double to)
{
    const bool forth = to > s->t;
    int64_t low = 0, high = s->o.breaks; /* how many of them come before those behind t */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (forth ? s->breaks[middle] <= s->t : s->breaks[middle] < s->t)
            low = middle + 1;
        else
            high = middle;
    }
    if (forth) return low < s->o.breaks ? fmin(to, s->breaks[low]) : to;
    return low > 0 ? fmax(to, s->breaks[low - 1]) : to;
}

/* ---- all the way ------------------------------------------------------------------------------------- */

/* Of the whole way so many places at least are looked at, or of one step. */
enum { LOOKS_OF_WAY = 1 << 14, LOOKS_OF_STEP = 64, LOOKS_MOST = 1 << 20 };

/* *rounding grows by that of the way from one time to another. */
static wisp_status survey_leg(wisp__driven *s, double from, double to, double *rounding)
{
    const wisp_type type = wisp_blk_type(s->psi);
    const double nothing = wisp__evolve_rounding_of(&s->o, s->of, type, 0);
    const int64_t looks = 1 + (int64_t)(LOOKS_OF_WAY * (fabs(to - from) / s->span));
    wisp_status status = WISP_OK;
    for (int64_t i = 0; i < looks && to != from; i++) {
        const double t = from + (to - from) * (((double)i + 0.5) / (double)looks);
        WISP_TRY(wisp__driven_look(s, t, s->g));
        wisp__driven_bounds(s);
        const double size = s->parts.center + s->parts.halfwidth;
        if (size > s->largest) s->largest = size, s->largest_at = t;
        *rounding += wisp__evolve_rounding_of(&s->o, &s->parts, type, (to - from) / (double)looks) - nothing;
    }
out:
    return status;
}

wisp_status wisp__driven_survey(wisp__driven *s)
{
    const double tolerance = s->o.tolerance, series = tolerance / 8, most_of_it = 0.75;
    double rounding = 0;
    wisp_status status = WISP_OK;
    for (int64_t i = 0; i < s->times; i++)
        WISP_TRY(survey_leg(s, i ? s->time[i - 1] : s->o.start_time, s->time[i], &rounding));
    if (!(rounding <= most_of_it * tolerance))
        return wisp_ctx_failf(
            s->ctx, WISP_ERR_ARG,
            "evolve: opts.tolerance, %g, can't be met: over this time rounding alone makes about %.1g in %s, for H(t) "
            "is as large as %.3g, at time %.6g; take a larger one, or a shorter time",
            tolerance, rounding, wisp_type_name(wisp_blk_type(s->psi)), s->largest, s->largest_at);
    s->budget = fmin(tolerance / 2, 0.8 * (tolerance - series - rounding));
out:
    return status;
}

double wisp__driven_allowed(const wisp__driven *s, double step)
{
    return s->budget * fmax(fabs(step) / s->span, 1.0 / DRIVEN_SHARES);
}

/* ---- between the nodes of a step --------------------------------------------------------------------- */

void wisp__driven_set_step(wisp__driven *s, double end, double step)
{
    const double next = s->t + step;
    s->step = (next == s->t ? nextafter(s->t, end) : next) - s->t;
}

/* The cubic through the nodes at this part of the step is the sum of weight[k] f_k. */
static void cubic_weights(const double *x, double at, double *weight)
{
    for (int k = 0; k < DRIVEN_NODES; k++) {
        weight[k] = 1;
        for (int m = 0; m < DRIVEN_NODES; m++)
            if (m != k) weight[k] *= (at - x[m]) / (x[k] - x[m]);
    }
}

/* f at the nodes of both halves, and how rough f may be by the rounding of its numbers and of the clock. */
static wisp_status look_at_nodes(wisp__driven *s, const double *x)
{
    const int n = s->o.drives;
    double *rough = s->seen + (DRIVEN_NODES + 1) * n;
    wisp_status status = WISP_OK;
    for (int k = 0; k < DRIVEN_NODES; k++) WISP_TRY(wisp__driven_look(s, s->t + x[k] * s->step, s->seen + k * n));
    for (int j = 0; j < n; j++) {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (int k = 0; k < DRIVEN_NODES; k++) {
            low = fmin(low, s->seen[k * n + j]);
            high = fmax(high, s->seen[k * n + j]);
        }
        const double slope = (high - low) / fabs(s->step), size = fmax(fabs(low), fabs(high));
        rough[j] = 8 * DBL_EPSILON * (size + slope * fabs(s->t));
        s->g[j] = size;
    }
out:
    return status;
}

/* What f may do between the nodes of a step, or beside them, without a change at any node: the integral of how far it
   is from the cubic through the nodes of both halves, times the norm of its matrix. Psi changes by no more; where f is
   smooth it is of the order of the step's error. The looks are so dense that they see what the matrices can follow. */
static wisp_status find_missed(wisp__driven *s, double *missed)
{
    const double node = sqrt(3) / 12, x[DRIVEN_NODES] = {0.25 - node, 0.25 + node, 0.75 - node, 0.75 + node};
    const double inside = 0x1p-30, h = fabs(s->step);
    const int n = s->o.drives;
    double *is = s->seen + DRIVEN_NODES * n, *rough = is + n;
    wisp_status status;
    *missed = 0;
    WISP_TRY(look_at_nodes(s, x));
    wisp__driven_bounds(s);
    const double wanted = fmax(4 * h * s->now.halfwidth, LOOKS_OF_WAY * (h / s->span));
    const int looks = (int)fmin(fmax(wanted, LOOKS_OF_STEP), LOOKS_MOST);
    for (int i = 0; i <= looks; i++) {
        const bool at_end = i == 0 || i == looks;
        const double at = i == 0 ? inside : i == looks ? 1 - inside : (double)i / looks;
        double weight[DRIVEN_NODES];
        cubic_weights(x, at, weight);
        WISP_TRY(wisp__driven_look(s, s->t + at * s->step, is));
        for (int j = 0; j < n; j++) {
            double far = is[j];
            for (int k = 0; k < DRIVEN_NODES; k++) far -= weight[k] * s->seen[k * n + j];
            far = fmax(0, fabs(far) - rough[j]) * (fabs(s->of[1 + j].center) + s->of[1 + j].halfwidth);
            *missed += far * h / looks * (at_end ? 0.5 : 1);
        }
    }
out:
    return status;
}

wisp_status wisp__driven_fit(wisp__driven *s, double end, double least, double *missed)
{
    wisp_status status;
    WISP_TRY(find_missed(s, missed));
    for (;;) {
        const double h = fabs(s->step), allowed = wisp__driven_allowed(s, h);
        if (*missed <= allowed || h <= least) break;
        const double factor = fmin(0.8, fmax(0.1, 0.9 * pow(allowed / *missed, 0.25)));
        wisp__driven_set_step(s, end, s->step * factor);
        WISP_TRY(find_missed(s, missed));
        if (fabs(s->step) >= h) break; /* as short as the clock has them */
    }
out:
    return status;
}
