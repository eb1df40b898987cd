/* Optical conductivities of moments of two velocities: the absorption of light by double sums of moments, as Weisse et
   al., Rev. Mod. Phys. 78, 275 (2006), have them: the density j(E, E') = Tr[V_a delta(E' - A) V_b delta(E - A)], each
   delta a damped sum of polynomials, integrated over E with E' = E + omega. The integral goes by cells between
   equidistant angles of E'. For each of them the sums over j are made once, for all omega; then a value takes one sum
   over k. In a cell the sum is taken as constant; roots at the edges of the bounds, of E and of E', and the filled
   states are integrated. */
#include "sigma.h"

typedef struct {
    const wisp_moments *m;
    wisp_sigma_opts o; /* with every default filled in */
    double temperature, mu;
    int64_t count, vector;
    const double *omega;
    double *g;     /* [n] damping, half of it for index 0 */
    double *sums;  /* [threads][n] of a cell: over j */
    double *cell;  /* [points][count] of one vector: the integral over each cell */
    double *value; /* [vectors][count] */
} optical_run;

/* to[k] = sum over j of T_j(cos t) Re Gamma_jk, damped. */
static void sum_left(const optical_run *r, double t, double *to)
{
    const int64_t n = r->o.n, M = r->m->square;
    const double *re = r->m->mu + r->vector * r->m->n;
    for (int64_t k = 0; k < n; k++) to[k] = 0;
    for (int64_t j = 0; j < n; j++) {
        const double T = r->g[j] * cos((double)j * t);
        for (int64_t k = 0; k < n; k++) to[k] += T * re[j * M + k];
    }
    for (int64_t k = 0; k < n; k++) to[k] *= r->g[k];
}

/* The mean of (f(E) - f(E')) / omega where E' goes from low to high. */
static double filled(const optical_run *r, double low, double high, double omega)
{
    return wisp__fermi_drop_rate(low - r->mu, high - r->mu, omega, r->temperature);
}

static void cell_at(void *arg, int64_t p, int part)
{
    const optical_run *r = arg;
    const wisp_bounds *b = &r->m->bounds;
    const double step = wisp__pi / (double)r->o.points, t = ((double)p + 0.5) * step, y = cos(t), h = b->halfwidth;
    const double top = cos((double)p * step), bottom = cos((double)(p + 1) * step);
    double *sums = r->sums + (int64_t)part * r->o.n;
    sum_left(r, t, sums);
    for (int64_t i = 0; i < r->count; i++) {
        const double omega = r->omega[i], w = omega / h, low = fmax(bottom, w - 1);
        r->cell[p * r->count + i] = 0;
        if (!(low < top)) continue; /* E lies below the bounds */
        const double angles = (acos(low) - acos(top)) * (acos(fmax(low - w, -1)) - acos(top - w)) / (top - low);
        const double states = filled(r, b->center + h * low, b->center + h * top, omega);
        const double S = wisp__sigma_series(sums, NULL, r->o.n, fmax(fmax(y, low) - w, -1), 0);
        r->cell[p * r->count + i] = 8 / (r->o.volume * h) * states * angles * S;
    }
}

static wisp_status evaluate(optical_run *r, wisp_ctx *ctx, int64_t v)
{
    wisp_status status;
    double *value = r->value + v * r->count;
    r->vector = v;
    WISP_TRY(wisp_ctx_step(ctx, "optical conductivity", (double)v / (double)r->m->vectors, 0));
    WISP_TRY(wisp_ctx_each(ctx, r->o.points, cell_at, r));
    for (int64_t i = 0; i < r->count; i++) {
        value[i] = 0;
        for (int64_t p = 0; p < r->o.points; p++) value[i] += r->cell[p * r->count + i];
    }
out:
    return status;
}

wisp_status wisp_sigma_optical(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts, double temperature,
                               double mu, int64_t count, const double *omega, wisp_estimate *sigma)
{
    wisp_status status;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, omega);
    WISP_NEED(ctx, sigma);
    optical_run r = {.m = m, .temperature = temperature, .mu = mu, .count = count, .omega = omega};
    WISP_TRY(wisp__sigma_check(ctx, m, opts, &r.o, temperature, count, omega, "frequency", "wisp_sigma_optical: "));
    if (!isfinite(mu)) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the chemical potential is %g", mu);
    for (int64_t i = 0; i < count; i++)
        if (!(omega[i] > 0))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                                  "frequency %lld is %g; it must be positive (wisp_sigma has the limit of 0)",
                                  (long long)i, omega[i]);
    WISP_TRY(wisp__sigma_damping(ctx, &r.o, &r.g));
    WISP_TRY(wisp_alloc(ctx, &r.sums, (size_t)wisp_ctx_threads(ctx) * (size_t)r.o.n, sizeof *r.sums));
    WISP_TRY(wisp_alloc(ctx, &r.cell, (size_t)r.o.points * (size_t)count, sizeof *r.cell));
    WISP_TRY(wisp_alloc(ctx, &r.value, (size_t)(count * m->vectors), sizeof *r.value));
    for (int64_t v = 0; v < m->vectors; v++) WISP_TRY(evaluate(&r, ctx, v));
    for (int64_t i = 0; i < count; i++) WISP_TRY(wisp__sigma_estimate(ctx, m, r.value + i, count, omega[i], sigma + i));
out:
    wisp_free(ctx, r.g);
    wisp_free(ctx, r.sums);
    wisp_free(ctx, r.cell);
    wisp_free(ctx, r.value);
    return status;
}
