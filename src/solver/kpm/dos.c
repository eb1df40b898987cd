/* From moments to spectra: damping kernels, density of states, eigenvalue counts, and their errors. Equation
   numbers are those of Weisse, Wellein, Alvermann, Fehske, Rev. Mod. Phys. 78, 275 (2006). */
#include "values.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Points evaluated side by side, moments between two exact restarts of the recurrence, and points (times moments)
   between two looks at the cancel flag. */
enum { LANES = 16, RESTART = 64 };
static const double work_per_step = 2e8;

/* ---- damping kernels ------------------------------------------------------------------------- */

/* g[n], with the 2 of all but the first term of the series. */
static void damping(const wisp_eval_opts *o, double *g)
{
    for (int64_t n = 0; n < o->n; n++)
        g[n] = (n > 0 ? 2 : 1) * wisp__damping(o->kernel, o->lambda, (double)n, (double)o->n);
}

/* ---- means -------------------------------------------------------------------------------------- */

/* The moments of one part, [vectors][n]. */
static const double *part_of(const wisp_moments *m, wisp_part part)
{
    return part == WISP_IMAGINARY_PART ? m->imag : m->mu;
}

wisp_status wisp_moments_mean(wisp_ctx *ctx, const wisp_moments *m, wisp_part part, double *mean, double *error)
{
    wisp_eval_opts full;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, mean);
    wisp_status status = wisp__eval_options(ctx, m, &(wisp_eval_opts){.part = part}, -1, &full);
    if (status != WISP_OK) return status;
    wisp__chosen all = wisp__choose(m, -1);
    for (int64_t n = 0; n < m->n; n++)
        mean[n] = wisp__combine(&all, part_of(m, part) + n, m->n, error ? error + n : NULL);
    return WISP_OK;
}

/* ---- density of states (eq. 81) ---------------------------------------------------------------- */

typedef struct {
    const wisp_moments *m;
    const double *mu; /* of the part */
    wisp__chosen chosen;
    int64_t moments;
    const double *g;
    int64_t points;
    const double *energy;
    double *dos, *error;
} density;

/* T[i][p] = g[n + i] T_{n + i}(cos theta_p) for i < count, from two exact values on. */
static void damped_chebyshev(const double *g, int64_t n, int64_t count, const double *theta, double (*T)[LANES])
{
    double before[LANES], now[LANES], twice_x[LANES];
    for (int p = 0; p < LANES; p++) {
        now[p] = cos((double)n * theta[p]);
        before[p] = cos((double)(n - 1) * theta[p]);
        twice_x[p] = 2 * cos(theta[p]);
    }
    for (int64_t i = 0; i < count; i++)
        for (int p = 0; p < LANES; p++) {
            double next = twice_x[p] * now[p] - before[p];
            T[i][p] = g[n + i] * now[p];
            before[p] = now[p];
            now[p] = next;
        }
}

/* Plain loops over doubles gcc joins along the moments, which takes twice as long. */
typedef double pair __attribute__((vector_size(16)));

/* sum[v][p] += the series of every vector, a stretch of moments at a time. */
static void sum_series(const density *d, const double *theta, double (*sum)[LANES])
{
    double T[RESTART][LANES];
    memset(sum, 0, (size_t)d->chosen.count * sizeof *sum);
    for (int64_t n = 0; n < d->moments; n += RESTART) {
        int64_t count = d->moments - n < RESTART ? d->moments - n : RESTART;
        damped_chebyshev(d->g, n, count, theta, T);
        for (int64_t v = 0; v < d->chosen.count; v++) {
            const double *mu = d->mu + (d->chosen.first + v) * d->m->n + n;
            pair s[LANES / 2], t[LANES / 2];
            memcpy(s, sum[v], sizeof s);
            for (int64_t i = 0; i < count; i++) {
                memcpy(t, T[i], sizeof t);
                for (int p = 0; p < LANES / 2; p++) s[p] += mu[i] * t[p];
            }
            memcpy(sum[v], s, sizeof s);
        }
    }
}

/* The points first .. first + LANES - 1, as far as they go. */
static void evaluate(const density *d, int64_t first, double (*sum)[LANES])
{
    double x[LANES], theta[LANES];
    int count = d->points - first < LANES ? (int)(d->points - first) : LANES;
    for (int p = 0; p < LANES; p++) {
        x[p] = (d->energy[first + (p < count ? p : 0)] - d->m->bounds.center) / d->m->bounds.halfwidth;
        theta[p] = fabs(x[p]) < 1 ? acos(x[p]) : 0;
    }
    sum_series(d, theta, sum);
    for (int p = 0; p < count; p++) {
        double error = 0, value = wisp__combine(&d->chosen, &sum[0][p], LANES, &error);
        double scale = fabs(x[p]) < 1 ? 1 / (pi * d->m->bounds.halfwidth * sqrt((1 - x[p]) * (1 + x[p]))) : 0;
        d->dos[first + p] = scale * value;
        if (d->error) d->error[first + p] = scale > 0 ? scale * error : 0;
    }
}

typedef struct {
    const density *d;
    int64_t first; /* group */
    double (*sums)[LANES];
} evaluation;

static void evaluate_group(void *arg, int64_t i, int part)
{
    const evaluation *e = arg;
    evaluate(e->d, (e->first + i) * LANES, e->sums + part * e->d->chosen.count);
}

static wisp_status evaluate_all(wisp_ctx *ctx, const density *d)
{
    wisp_status status = WISP_OK;
    int threads = wisp_ctx_threads(ctx);
    double(*sums)[LANES] = NULL;
    int64_t vectors = d->chosen.count, groups = (d->points + LANES - 1) / LANES;
    double work = (double)vectors * (double)d->moments * LANES;
    int64_t per_step = work < work_per_step ? (int64_t)(work_per_step / work) : 1;
    if (per_step < threads) per_step = threads;
    WISP_TRY(wisp_alloc(ctx, &sums, (size_t)threads * (size_t)vectors, sizeof *sums));
    for (int64_t begin = 0; begin < groups; begin += per_step) {
        int64_t end = groups - begin < per_step ? groups : begin + per_step;
        WISP_TRY(wisp_ctx_step(ctx, "evaluating", (double)begin / (double)groups, 0));
        WISP_TRY(wisp_ctx_each(ctx, end - begin, evaluate_group, &(evaluation){d, begin, sums}));
    }
out:
    wisp_free(ctx, sums);
    return status;
}

wisp_status wisp_dos(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector, int64_t points,
                     const double *energy, double *dos, double *error)
{
    wisp_status status = WISP_OK;
    wisp_eval_opts full;
    double *g = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    if (points < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a density of states at %lld points", (long long)points);
    if (points > 0) {
        WISP_NEED(ctx, energy);
        WISP_NEED(ctx, dos);
    }
    WISP_TRY(wisp__eval_options(ctx, m, opts, vector, &full));
    for (int64_t i = 0; i < points; i++)
        if (isnan(energy[i])) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "energy number %lld is NaN", (long long)i);
    WISP_TRY(wisp_alloc(ctx, &g, (size_t)full.n, sizeof *g));
    damping(&full, g);
    density d = {m, part_of(m, full.part), wisp__choose(m, vector), full.n, g, points, energy, dos, error};
    WISP_TRY(evaluate_all(ctx, &d));
    for (int64_t i = 0; i < points; i++)
        if (isinf(dos[i]) || (error && isinf(error[i])))
            status = wisp_ctx_failf(ctx, WISP_ERR_NUMERIC,
                                    "the density at energy %g is beyond double precision: the spectrum is %.3g wide; "
                                    "multiply the matrix by a large number",
                                    energy[i], 2 * m->bounds.halfwidth);
out:
    wisp_free(ctx, g);
    return status;
}

/* ---- eigenvalue count --------------------------------------------------------------------------- */

/* The angle of an energy; outside the bounds that of the nearer edge. */
static double angle(const wisp_bounds *b, double energy)
{
    return acos(fmax(-1, fmin(1, (energy - b->center) / b->halfwidth)));
}

/* The density's integral, term by term: of T_n(cos theta) d theta it is sin(n theta) / n. */
wisp_status wisp_count(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector, double a,
                       double b, double *count, double *error)
{
    wisp_status status = WISP_OK;
    wisp_eval_opts full;
    double *g = NULL, *value = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, count);
    WISP_TRY(wisp__eval_options(ctx, m, opts, vector, &full));
    if (!(a <= b)) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "interval: %g to %g is empty", a, b);
    wisp__chosen chosen = wisp__choose(m, vector);
    WISP_TRY(wisp_alloc(ctx, &g, (size_t)full.n, sizeof *g));
    WISP_TRY(wisp_alloc(ctx, &value, (size_t)chosen.count, sizeof *value));
    damping(&full, g);
    double from = angle(&m->bounds, a), to = angle(&m->bounds, b);
    g[0] *= (from - to) / pi;
    for (int64_t n = 1; n < full.n; n++) g[n] *= (sin((double)n * from) - sin((double)n * to)) / ((double)n * pi);
    const double *mu = part_of(m, full.part);
    for (int64_t v = 0; v < chosen.count; v++)
        for (int64_t n = 0; n < full.n; n++) value[v] += g[n] * mu[(chosen.first + v) * m->n + n];
    *count = wisp__combine(&chosen, value, 1, error);
out:
    wisp_free(ctx, g);
    wisp_free(ctx, value);
    return status;
}

/* ---- resolution, energies, error bars ------------------------------------------------------------ */

/* Jackson's kernel of N = 2n + 1 moments is q^2/(n + 1), q(t) = sum of cos(pi m/(2n + 2)) cos(m t) from -n to n (Weisse
   et al., Rev. Mod. Phys. 78, 275, eq. 60 to 71), Fejer's q^2/(2n + 1) with factors of 1, around angles t and -t of an
   energy. Their sum squared is that of the squares, but for a product of each with the far end of the other one: over
   the peak about (resolution/distance from the end)^2 of Jackson's, and resolution/distance of Fejer's. */
void wisp_kernel_root(const wisp_bounds *bounds, wisp_damping kernel, double energy, int64_t terms, wisp_scalar *c)
{
    if (!bounds || !c) return;
    const double h = bounds->halfwidth, x = (energy - bounds->center) / h, t = acos(x), n1 = (double)terms;
    const bool jackson = kernel == WISP_JACKSON, has = fabs(x) < 1 && (jackson || kernel == WISP_FEJER);
    const double squares = jackson ? n1 : 2 * n1 - 1, unit = has ? sqrt(1 / (2 * pi * squares * sin(t) * h)) : 0;
    for (int64_t m = 0; m < terms; m++) {
        const double factor = jackson ? cos(pi * (double)m / (2 * n1)) : 1;
        c[m] = (wisp_scalar){has ? unit * (m ? 4 : 2) * factor * cos((double)m * t) : 0, 0};
    }
}

void wisp_sums_mean(int64_t samples, int64_t count, double *sum, double *square)
{
    const double n = (double)samples;
    if (!sum || !square) return;
    for (int64_t i = 0; i < count; i++) {
        const double mean = sum[i] / n, scatter = square[i] / n - mean * mean;
        sum[i] = mean;
        square[i] = samples > 1 ? sqrt(fmax(0, scatter) / (n - 1)) : (double)NAN;
    }
}

double wisp_resolution(double halfwidth, int64_t moments) { return pi * halfwidth / (double)moments; }

int64_t wisp_moments_for(double halfwidth, double resolution)
{
    const double n = ceil(pi * halfwidth / resolution);
    return n > 2 ? wisp_whole_number(n) : 2;
}

void wisp_energies(const wisp_bounds *bounds, int64_t points, double *energy)
{
    if (!bounds || !energy) return;
    for (int64_t i = 0; i < points; i++)
        energy[i] = bounds->center - bounds->halfwidth * cos(pi * ((double)i + 0.5) / (double)points);
}

/* Chance of |t| <= sqrt(f) tan(theta) in Student's distribution with f degrees of freedom (Abramowitz and Stegun
   26.7.3 and 26.7.4). */
static double student_within(int64_t f, double theta)
{
    double c = cos(theta), s = sin(theta), term = f % 2 ? c : 1, sum = 0;
    for (int64_t k = f % 2 ? 3 : 2; k <= f; k += 2) {
        sum += term;
        term *= c * c * (double)(k - 1) / (double)k;
    }
    return f % 2 ? 2 / pi * (theta + s * sum) : s * sum;
}

static const double normal95 = 1.959963984540054;

/* Expanded about the normal distribution's quantile (Abramowitz and Stegun 26.7.5). */
double wisp__student_expanded(double f)
{
    const double z = normal95, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * f * f * f);
}

double wisp_student95(int64_t vectors)
{
    if (vectors < 2) return (double)NAN;
    int64_t f = vectors - 1;
    if (f > 1000) return wisp__student_expanded((double)f);
    double low = 0, high = pi / 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (student_within(f, middle) < 0.95)
            low = middle;
        else
            high = middle;
    }
    return sqrt((double)f) * tan(low);
}

/* Quantile of chi-square with f degrees of freedom over f, at z of the normal distribution (Wilson and Hilferty
   1931). */
static double chi_square(double f, double z)
{
    double variance = 2 / (9 * f), root = 1 - variance + z * sqrt(variance);
    return root * root * root;
}

/* The bar of a mean of R values <v|K|v>, where K has no negative eigenvalue. Such a value is about chi-square times a
   constant, with twice as many degrees of freedom as its shape, mean^2 / variance. The shape is taken from the sample;
   - 1/R, for the mean's own scatter makes the relative variance look small. How uncertain the shape is then widens the
   bar, by Student's t with the degrees of freedom that the relative variance of such a sample has. But the degrees of
   freedom of the mean are at least R, or 2R for complex vectors: the variance is at most twice (once) mean^2. */
static void positive_bar(double mean, double error, double R, double most_variance, double *low, double *high)
{
    double relative = error / mean, shape = fmax(0, (1 / (relative * relative) - 1) / R);
    double variance = shape * most_variance > 1 ? 1 / shape : most_variance;
    double wider = wisp__student_expanded(1 / (1 / (R - 1) + variance / R)) / normal95;
    double f = fmax(2 * R * shape / (wider * wider), 2 * R / most_variance);
    *low = mean / chi_square(f, normal95);
    *high = mean / chi_square(f, -normal95);
}

void wisp_bars95(const wisp_moments *m, const wisp_eval_opts *opts, int64_t count, const double *value,
                 const double *error, double *low, double *high)
{
    if (!m || !value || !error || !low || !high) return;
    const double R = (double)m->vectors, t95 = wisp_student95(m->vectors);
    const bool is_random = m->trace == WISP_TRACE_RANDOM, has_disorder = wisp__of_realizations(m),
               positive = !m->imag && (!opts || opts->kernel != WISP_DIRICHLET);
    const double equal = wisp__is_single(m->type) ? 1e-6 : 1e-12;
    for (int64_t i = 0; i < count; i++) {
        double v = value[i], e = error[i];
        low[i] = high[i] = is_random && isnan(e) ? e : v;
        if (!is_random || !(e > equal * fabs(v))) continue;
        /* Of values none of which is negative, the error is at most the mean: else there is rounding alone. */
        if (positive && has_disorder && v >= 0) /* what disorder does to a density, no chi-square knows */
            low[i] = fmax(0, v - t95 * e), high[i] = v + t95 * e;
        else if (positive && v > 0.99 * e)
            positive_bar(v, e, R, wisp_type_is_complex(m->type) ? 1 : 2, low + i, high + i);
        else
            low[i] = v - t95 * e, high[i] = v + t95 * e;
    }
}
