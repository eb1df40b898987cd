/* What is made of states that are cooled: the canonical ensemble. Z is the mean of their squared norms, and energies
   are ratios of means. */
#include "evolve.h"
#include <stdlib.h>

enum { LOG_Z, ENERGY, CAPACITY, ENTROPY, QUANTITIES };

typedef struct {
    const wisp_cooled_state *of; /* [vectors] */
    int64_t vectors;
    double temperature, log_rows, shift; /* the largest log_norm, twice: weights are exp(2 log_norm - shift) */
} sample;

void wisp_cooled_free(wisp_cooled *c)
{
    if (!c) return;
    free(c->temperature);
    free(c->state);
    free(c->off);
    *c = (wisp_cooled){0};
}

static double weight(const sample *s, int64_t v) { return exp(2 * s->of[v].log_norm - s->shift); }

/* By all vectors but one; by all of them, where that is -1. */
static void quantities(const sample *s, int64_t without, double q[QUANTITIES])
{
    double sum = 0, energy = 0, squares = 0;
    for (int64_t v = 0; v < s->vectors; v++) {
        if (v == without) continue;
        sum += weight(s, v);
        energy += weight(s, v) * (s->of[v].energy - s->of[0].energy);
    }
    energy = s->of[0].energy + energy / sum;
    for (int64_t v = 0; v < s->vectors; v++)
        if (v != without)
            squares += weight(s, v) *
                       (pow(s->of[v].spread / s->temperature, 2) + pow((s->of[v].energy - energy) / s->temperature, 2));
    const int64_t count = s->vectors - (without >= 0);
    q[LOG_Z] = s->log_rows + s->shift + log(sum / (double)count);
    q[ENERGY] = energy;
    q[CAPACITY] = squares / sum;
    q[ENTROPY] = q[LOG_Z] + energy / s->temperature;
}

/* Errors by leaving one vector out after the other. */
static void jackknife(const sample *s, double error[QUANTITIES])
{
    const double R = (double)s->vectors;
    double mean[QUANTITIES] = {0}, squares[QUANTITIES] = {0};
    for (int64_t v = 0; v < s->vectors; v++) {
        double q[QUANTITIES];
        quantities(s, v, q);
        for (int i = 0; i < QUANTITIES; i++) {
            const double d = q[i] - mean[i];
            mean[i] += d / (double)(v + 1);
            squares[i] += d * (q[i] - mean[i]);
        }
    }
    for (int i = 0; i < QUANTITIES; i++) error[i] = sqrt((R - 1) / R * squares[i]);
}

/* The standard error of Z over Z. */
static double relative_error(const sample *s)
{
    const double R = (double)s->vectors;
    double mean = 0, squares = 0;
    for (int64_t v = 0; v < s->vectors; v++) mean += weight(s, v) / R;
    for (int64_t v = 0; v < s->vectors; v++) squares += pow(weight(s, v) / mean - 1, 2);
    return sqrt(squares / (R * (R - 1)));
}

/* Half of a bar over the error: with fewer degrees of freedom where few states make up Z, as for moments. */
static double quantile(const sample *s, double relative)
{
    const double R = (double)s->vectors, variance = fmin(R * relative * relative, 1);
    const double freedom = 1 / (1 / (R - 1) + variance / R);
    return wisp_student95(1 + (int64_t)fmax(1, floor(freedom)));
}

/* How far each may be off beside chance, about: errors at the lowest energies grow, relative to a state, at most as the
   state loses norm beside the coldest one of all, which tells about where energies begin; higher ones fade, but for
   those of the last step. */
static void find_off(const wisp_cooled *c, const sample *s, const double made[2], double off[QUANTITIES])
{
    const wisp_bounds *b = &c->bounds;
    const double T = s->temperature, eps = 4 * DBL_EPSILON, zero = eps * (fabs(b->center) + b->halfwidth) / T;
    const wisp_cooled_state *lowest = c->state + (c->temperatures - 1) * c->vectors;
    double spread = 0, energy = -HUGE_VAL, grown = 0, coldest = HUGE_VAL;
    for (int64_t v = 0; v < s->vectors; v++) coldest = fmin(coldest, lowest[v].energy);
    for (int64_t v = 0; v < s->vectors; v++) {
        spread = fmax(spread, s->of[v].spread);
        energy = fmax(energy, s->of[v].energy);
        grown = fmax(grown, -s->of[v].log_norm - coldest * 0.5 / T);
    }
    const double d = made[0] * exp(grown), reach = energy - coldest + 2 * T;
    const double moved = reach * d + 2 * b->halfwidth * made[1];
    off[LOG_Z] = 2 * d + zero + eps * fabs(s->shift);
    off[ENERGY] = 2 * spread * d / T + zero;
    off[CAPACITY] = (2 * spread + moved) / T * (moved / T) + eps;
    off[ENTROPY] = off[LOG_Z] + off[ENERGY];
}

static void fill(const sample *s, const double off[QUANTITIES], wisp_ensemble *e)
{
    wisp_estimate *const to[] = {&e->log_z, &e->energy, &e->heat_capacity, &e->entropy};
    const double unit[] = {1, s->temperature, 1, 1};
    double q[QUANTITIES], error[QUANTITIES] = {NAN, NAN, NAN, NAN}, half[QUANTITIES] = {NAN, NAN, NAN, NAN};
    quantities(s, -1, q);
    if (s->vectors > 1) jackknife(s, error);
    const double relative = s->vectors > 1 ? relative_error(s) : NAN;
    e->temperature = s->temperature;
    for (int i = 0; i < QUANTITIES; i++) {
        if (s->vectors > 1) half[i] = quantile(s, relative) * error[i];
        half[i] += off[i] * unit[i];
        *to[i] = (wisp_estimate){q[i], error[i], q[i] - half[i], q[i] + half[i]};
        e->beside = fmax(e->beside, off[i]);
    }
    if (s->vectors < 2) return;
    const wisp_moments of = {.vectors = s->vectors, .type = WISP_Z}; /* bars of so many complex random vectors */
    const double one = 1;
    double low, high;
    wisp_bars95(&of, NULL, 1, &one, &relative, &low, &high);
    e->log_z.low = low > 0 ? q[LOG_Z] + log(low) - off[LOG_Z] : -HUGE_VAL;
    e->log_z.high = q[LOG_Z] + log(high) + off[LOG_Z];
}

wisp_status wisp_cooled_ensemble(wisp_ctx *ctx, const wisp_cooled *c, const wisp_thermal_opts *opts,
                                 int64_t temperature, wisp_ensemble *e)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, c);
    WISP_NEED(ctx, e);
    *e = (wisp_ensemble){0};
    const double given = opts ? opts->tolerance : 0, tolerance = given != 0                 ? given
                                                                 : wisp__is_single(c->type) ? 1e-2
                                                                                            : 1e-6;
    if (!(tolerance > 0) || !isfinite(tolerance))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.tolerance is %g, it must be above 0", tolerance);
    if (c->done < 1) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "no vector has come to all temperatures");
    if (temperature < 0 || temperature >= c->temperatures)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "temperature %lld of %lld: they are counted from 0",
                              (long long)temperature, (long long)c->temperatures);
    sample s = {.of = c->state + temperature * c->vectors,
                .vectors = c->done,
                .temperature = c->temperature[temperature],
                .log_rows = log((double)c->rows),
                .shift = -HUGE_VAL};
    double off[QUANTITIES];
    for (int64_t v = 0; v < s.vectors; v++) s.shift = fmax(s.shift, 2 * s.of[v].log_norm);
    find_off(c, &s, c->off + 2 * temperature, off);
    fill(&s, off, e);
    if (e->beside <= tolerance) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC,
                          "at temperature %g cooled states leave an error of up to %.2g in ln Z, E/T, C or S, and "
                          "opts.tolerance is %g",
                          s.temperature, e->beside, tolerance);
}
