/* Conductivities of moments of two velocities: Kubo-Bastin (Garcia, Covaci, Rappoport, Phys. Rev. Lett. 114, 116602
   (2015), eq. 3 and 4) and Kubo-Greenwood.
   With x = cos t, s = sin t and G = Gamma with damping (and half of the terms of index 0), Bastin's integrand is
   Re S(t), S = sum over j, k of T_j (G + G^H)_jk (x - i k s) exp(i k t), over s^4. Products of T_j with cosines and
   sines of k t are sums of those of (j + k) t and (k - j) t: so S = x P(t) + s Q(t) with series of 2 n terms each,
   which are made once for all energies. That of Greenwood is sum T_j G_jk T_k over s^2, a series of cosines. */
#include <string.h>
#include "sigma.h"

enum { POINTS_OVER_TERMS = 8 };

typedef struct {
    wisp_ctx *ctx;
    const wisp_moments *m;
    wisp_sigma_opts o; /* with every default filled in */
    double temperature;
    int64_t count;
    const double *mu;
    double *g;       /* [n] damping, half of it for index 0 */
    double *series;  /* [4][2 n] of one vector: cosines and sines of P, cosines and sines of Q */
    double *density; /* [points] of one vector: the integrand over energy, where Bastin's formula weighs it by f, and */
                     /* Greenwood's by -df/dE */
    double *value;   /* [vectors][count] */
} sigma_run;

static wisp_status options(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts, wisp_sigma_opts *o,
                           const char *caller)
{
    enum { MOST_POINTS = 1 << 26 };
    wisp_status status;
    *o = opts ? *opts : (wisp_sigma_opts){0};
    if (!m->square || !m->mu || !m->imag)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "there are no moments of two velocities, as wisp_kubo makes them");
    if (m->vectors < 1) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "there are no moments: no vector was completed");
    if (o->n == 0) o->n = m->square;
    if (o->points == 0) o->points = POINTS_OVER_TERMS * o->n;
    if (o->volume == 0) o->volume = m->volume > 0 ? m->volume : 1;
    if (o->lambda == 0) o->lambda = 4;
    WISP_TRY(wisp__check_range(ctx, caller, "n", o->n, 2, m->square));
    WISP_TRY(wisp__check_range(ctx, caller, "points", o->points, 2, MOST_POINTS));
    if (o->formula != WISP_BASTIN && o->formula != WISP_GREENWOOD)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.formula: unknown value %d", (int)o->formula);
    if (o->kernel < WISP_JACKSON || o->kernel > WISP_DIRICHLET)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.kernel: unknown value %d", (int)o->kernel);
    if (!(o->lambda > 0) || !isfinite(o->lambda))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.lambda is %g, it must be positive", o->lambda);
    if (!(o->volume > 0) || !isfinite(o->volume))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.volume is %g, it must be positive", o->volume);
out:
    return status;
}

/* Adds c cos lt + s sin lt, of any sign of l. */
static void add(double *cosine, double *sine, int64_t l, double c, double s)
{
    const int64_t at = l < 0 ? -l : l;
    cosine[at] += c;
    sine[at] += l < 0 ? -s : s;
}

static void collect_bastin(const sigma_run *r, int64_t v)
{
    const int64_t n = r->o.n, M = r->m->square, terms = 2 * n;
    const double *re = r->m->mu + v * r->m->n, *im = r->m->imag + v * r->m->n;
    double *pc = r->series, *ps = pc + terms, *qc = ps + terms, *qs = qc + terms;
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++) {
            const double g = 0.5 * r->g[j] * r->g[k], l = (double)k;
            const double a = g * (re[j * M + k] + re[k * M + j]), b = g * (im[j * M + k] - im[k * M + j]);
            /* T_j times a (x cos kt + k s sin kt) - b (x sin kt - k s cos kt) */
            add(pc, ps, k + j, a, -b);
            add(pc, ps, k - j, a, -b);
            add(qc, qs, k + j, l * b, l * a);
            add(qc, qs, k - j, l * b, l * a);
        }
}

static void collect_greenwood(const sigma_run *r, int64_t v)
{
    const int64_t n = r->o.n, M = r->m->square;
    const double *re = r->m->mu + v * r->m->n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++) {
            const double a = 0.5 * r->g[j] * r->g[k] * re[j * M + k];
            r->series[k + j] += a;
            r->series[k > j ? k - j : j - k] += a;
        }
}

double wisp__sigma_series(const double *c, const double *s, int64_t terms, double x, double y)
{
    double c1 = 0, c2 = 0, s1 = 0, s2 = 0;
    for (int64_t l = terms - 1; l > 0; l--) {
        const double c0 = c[l] + 2 * x * c1 - c2, s0 = (s ? s[l] : 0) + 2 * x * s1 - s2;
        c2 = c1, c1 = c0, s2 = s1, s1 = s0;
    }
    return c[0] + x * c1 - c2 + y * s1;
}

/* The integrand over energy at cos(t), times 8 / (h^2 volume): e^2/h is e^2/(2 pi hbar). */
static double integrand(const sigma_run *r, double t)
{
    const int64_t terms = 2 * r->o.n;
    const double x = cos(t), s = sin(t), h = r->m->bounds.halfwidth, *p = r->series, *q = p + 2 * terms;
    const double unit = 8 / r->o.volume;
    if (r->o.formula == WISP_GREENWOOD) return unit * wisp__sigma_series(p, NULL, terms, x, s) / (s * s) / h / h;
    const double S =
        x * wisp__sigma_series(p, p + terms, terms, x, s) + s * wisp__sigma_series(q, q + terms, terms, x, s);
    return unit * S / (s * s) / (s * s) / h / h / h;
}

/* So close to the edges of the bounds, of which no spectrum comes near, Bastin's integrand is nothing but what the
   kernel leaves there; and over s^3, which grows without end as points come closer. */
static bool is_edge(const sigma_run *r, double t)
{
    const double edge = 0.4999 * wisp__pi / (POINTS_OVER_TERMS * (double)r->o.n);
    return r->o.formula == WISP_BASTIN && (t < edge || wisp__pi - t < edge);
}

static void integrand_at(void *arg, int64_t i, int part)
{
    const sigma_run *r = arg;
    const double t = wisp__pi * ((double)i + 0.5) / (double)r->o.points;
    (void)part;
    r->density[i] = is_edge(r, t) ? 0 : integrand(r, t);
}

/* ---- Fermi's function --------------------------------------------------------------------------- */

static double fermi(double d, double T)
{
    if (T == 0) return d < 0 ? 1 : d > 0 ? 0 : 0.5;
    return d > 0 ? exp(-d / T) / (1 + exp(-d / T)) : 1 / (1 + exp(d / T));
}

double wisp__fermi_drop(double a, double b, double T)
{
    if (T == 0) return fermi(a, 0) - fermi(b, 0);
    return fermi(a, T) * fermi(-b, T) * -expm1(-(b - a) / T);
}

/* Its integral from -infinity up, but for a constant. */
static double fermi_integral(double d, double T)
{
    if (T == 0) return d < 0 ? d : 0;
    return d < 0 ? d - T * log1p(exp(d / T)) : -T * log1p(exp(-d / T));
}

static double fermi_mean(double a, double b, double T)
{
    return b > a ? (fermi_integral(b, T) - fermi_integral(a, T)) / (b - a) : fermi(a, T);
}

/* Of a narrow interval integrals are nearly the same number: there it is Gauss's rule, right to rounding. */
double wisp__fermi_drop_mean(double a, double b, double to_a, double to_b, double T)
{
    enum { WIDE = 16 };
    if (b - a > T / WIDE) return fermi_mean(a, b, T) - fermi_mean(to_a, to_b, T);
    const double middle = (a + b) / 2, off = 0.77459666924148338 * (b - a) / 2;
    const double to_middle = (to_a + to_b) / 2, to_off = 0.77459666924148338 * (to_b - to_a) / 2;
    return (8 * wisp__fermi_drop(middle, to_middle, T) + 5 * (wisp__fermi_drop(middle - off, to_middle - to_off, T) +
                                                              wisp__fermi_drop(middle + off, to_middle + to_off, T))) /
           18;
}

/* (f(e - step) - f(e)) / step at a temperature above 0. */
static double fermi_rate(double e, double step, double T)
{
    const double x = step / T;
    return fermi(e - step, T) * fermi(-e, T) * (x < 1e-8 ? 1 / T : -expm1(-x) / step);
}

/* The mean of f from d - step to d: that of temperature 0, and what is beside it, which is below T. */
static double fermi_mean_below(double d, double step, double T)
{
    enum { WIDE = 16 };
    const double c = d - step / 2, off = 0.77459666924148338 * step / 2;
    if (step < T / WIDE) return (8 * fermi(c, T) + 5 * (fermi(c - off, T) + fermi(c + off, T))) / 18;
    const double flat = d <= 0 ? 1 : d >= step ? 0 : (step - d) / step;
    if (T == 0) return flat;
    return flat + T * (log1p(exp(-fabs(d - step) / T)) - log1p(exp(-fabs(d) / T))) / step;
}

double wisp__fermi_drop_rate(double a, double b, double step, double T)
{
    enum { WIDE = 16 };
    if (b - a > T / WIDE) return (fermi_mean_below(a, step, T) - fermi_mean_below(b, step, T)) / (b - a);
    const double middle = (a + b) / 2, off = 0.77459666924148338 * (b - a) / 2;
    return (8 * fermi_rate(middle, step, T) +
            5 * (fermi_rate(middle - off, step, T) + fermi_rate(middle + off, step, T))) /
           18;
}

/* What Bastin's integrand is multiplied by from a to b, energies over mu: Fermi's function less its value at the end of
   the band. All states filled alike conduct nothing, but the kernel and rounding make a little of that, which counts
   where temperatures are far above the band. */
static double bastin_weight(double a, double b, double end, double T)
{
    return (b - a) * wisp__fermi_drop_mean(a, b, end, end, T);
}

/* The integrand is taken as constant between two angles, and its weight is integrated exactly: so temperature 0 is no
   exception. */
static double integral(const sigma_run *r, double mu)
{
    const wisp_bounds *b = &r->m->bounds;
    const double T = r->temperature, end = b->center + b->halfwidth - mu;
    const bool greenwood = r->o.formula == WISP_GREENWOOD;
    double sum = 0, above = end;
    for (int64_t i = 0; i < r->o.points; i++) {
        const double below = b->center + b->halfwidth * cos(wisp__pi * (double)(i + 1) / (double)r->o.points) - mu;
        sum += (greenwood ? wisp__fermi_drop(below, above, T) : bastin_weight(below, above, end, T)) * r->density[i];
        above = below;
    }
    return sum;
}

static void value_at(void *arg, int64_t i, int part)
{
    const sigma_run *r = arg;
    const wisp_bounds *b = &r->m->bounds;
    const double x = (r->mu[i] - b->center) / b->halfwidth;
    (void)part;
    if (r->o.formula == WISP_GREENWOOD && r->temperature == 0)
        r->value[i] = fabs(x) < 1 ? integrand(r, acos(x)) : 0;
    else
        r->value[i] = integral(r, r->mu[i]);
}

static wisp_status evaluate(sigma_run *r, int64_t v)
{
    wisp_status status;
    sigma_run of = *r;
    of.value = r->value + v * r->count;
    memset(r->series, 0, 8 * (size_t)r->o.n * sizeof *r->series);
    if (r->o.formula == WISP_GREENWOOD)
        collect_greenwood(r, v);
    else
        collect_bastin(r, v);
    WISP_TRY(wisp_ctx_step(r->ctx, "conductivity", (double)v / (double)r->m->vectors, 0));
    if (r->o.formula != WISP_GREENWOOD || r->temperature > 0)
        WISP_TRY(wisp_ctx_each(r->ctx, r->o.points, integrand_at, &of));
    status = wisp_ctx_each(r->ctx, r->count, value_at, &of);
out:
    return status;
}

wisp_status wisp__sigma_estimate(wisp_ctx *ctx, const wisp_moments *m, const double *value, int64_t stride, double x,
                                 wisp_estimate *sigma)
{
    const wisp__chosen all = wisp__choose(m, -1);
    double error;
    const double mean = wisp__combine(&all, value, stride, &error);
    const double bar = m->trace == WISP_TRACE_RANDOM ? wisp_student95(m->vectors) * error : 0;
    *sigma = (wisp_estimate){mean, error, mean - bar, mean + bar};
    if (isfinite(mean) && !isinf(error)) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC, "the conductivity at %g is too large for a number", x);
}

wisp_status wisp__sigma_check(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts, wisp_sigma_opts *full,
                              double temperature, int64_t count, const double *x, const char *what, const char *caller)
{
    wisp_status status;
    WISP_TRY(options(ctx, m, opts, full, caller));
    if (!(temperature >= 0) || !isfinite(temperature))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the temperature is %g; it must be 0 or more, and finite",
                              temperature);
    WISP_TRY(wisp__check_range(ctx, caller, "count", count, 1, (int64_t)1 << 30));
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s %lld is %g", what, (long long)i, x[i]);
out:
    return status;
}

wisp_status wisp__sigma_damping(wisp_ctx *ctx, const wisp_sigma_opts *full, double **g)
{
    const wisp_status status = wisp_alloc(ctx, g, (size_t)full->n, sizeof **g);
    for (int64_t j = 0; status == WISP_OK && j < full->n; j++)
        (*g)[j] = (j > 0 ? 1 : 0.5) * wisp__damping(full->kernel, full->lambda, (double)j, (double)full->n);
    return status;
}

wisp_status wisp_sigma(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts, double temperature,
                       int64_t count, const double *mu, wisp_estimate *sigma)
{
    wisp_status status;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, mu);
    WISP_NEED(ctx, sigma);
    sigma_run r = {.ctx = ctx, .m = m, .temperature = temperature, .count = count, .mu = mu};
    WISP_TRY(wisp__sigma_check(ctx, m, opts, &r.o, temperature, count, mu, "chemical potential", "wisp_sigma: "));
    WISP_TRY(wisp__sigma_damping(ctx, &r.o, &r.g));
    WISP_TRY(wisp_alloc(ctx, &r.series, 8 * (size_t)r.o.n, sizeof *r.series));
    WISP_TRY(wisp_alloc(ctx, &r.density, (size_t)r.o.points, sizeof *r.density));
    WISP_TRY(wisp_alloc(ctx, &r.value, (size_t)(count * m->vectors), sizeof *r.value));
    for (int64_t v = 0; v < m->vectors; v++) WISP_TRY(evaluate(&r, v));
    for (int64_t i = 0; i < count; i++) WISP_TRY(wisp__sigma_estimate(ctx, m, r.value + i, count, mu[i], sigma + i));
out:
    wisp_free(ctx, r.g);
    wisp_free(ctx, r.series);
    wisp_free(ctx, r.density);
    wisp_free(ctx, r.value);
    return status;
}
