/* Green's functions from moments. For z outside [-1, 1] and w = z - sqrt(z^2 - 1), |w| < 1, the generating function of
   the Chebyshev polynomials (Abramowitz and Stegun 22.9.9) gives
       1 / (z - x) = 2 w / (1 - w^2) (1 + 2 sum over n > 0 of w^n T_n(x)),    |x| <= 1.
   The terms from N on are together at most 4 |w|^(N+1) / (|1 - w^2| (1 - |w|)) there: no kernel, and no fit. */
#include <complex.h>
#include "values.h"

/* Of one energy: w, and the factor of the sum, which is 1 / sqrt(z^2 - 1) / halfwidth. */
typedef struct {
    double complex w, factor;
} series;

static series series_at(const wisp_bounds *b, double energy, double eta)
{
    const double complex z = (energy - b->center) / b->halfwidth + I * (eta / b->halfwidth);
    /* By two roots there is no branch to be chosen for z above the real axis. 1 / (z + root) loses no digits. */
    const double complex root = csqrt(z - 1) * csqrt(z + 1);
    return (series){1 / (z + root), 1 / (root * b->halfwidth)};
}

/* What the terms from n on are together at most. */
static double tail(const series *s, int64_t n)
{
    const double size = cabs(s->w);
    return 2 * cabs(s->factor) * pow(size, (double)n) / (1 - size);
}

/* Energies are taken some at a time, so that their recurrences hide each other's latency. */
enum { LANES = 16, BATCH = 256 * LANES };
typedef struct {
    const wisp_moments *m;
    const wisp__chosen *chosen;
    const double *energy; /* [points] */
    double eta;
    int64_t points;
    const double *off; /* [n] how far the moments may be off */
    double *value;     /* [points][count][2] of each vector, real and imaginary part */
    double *rounding;  /* [points] what it may make */
} lanes_run;

/* sum of w^n x_n, n > 0, from the last on: in real numbers, for complex ones look for infinities at each step. */
static void add_up(const double *re, const double *im, int64_t n, const double *w_re, const double *w_im,
                   double *sum_re, double *sum_im)
{
    double s[LANES] = {0}, t[LANES] = {0};
    for (int64_t k = n - 1; k > 0; k--)
        for (int l = 0; l < LANES; l++) {
            const double x = s[l] + re[k], y = im ? t[l] + im[k] : t[l];
            s[l] = w_re[l] * x - w_im[l] * y;
            t[l] = w_re[l] * y + w_im[l] * x;
        }
    for (int l = 0; l < LANES; l++) sum_re[l] = s[l], sum_im[l] = t[l];
}

static void add_up_sizes(const double *off, int64_t n, const double *size, double *sum)
{
    double s[LANES] = {0};
    for (int64_t k = n - 1; k > 0; k--)
        for (int l = 0; l < LANES; l++) s[l] = size[l] * (s[l] + off[k]);
    for (int l = 0; l < LANES; l++) sum[l] = s[l];
}

static void lanes(void *arg, int64_t block, int part)
{
    const lanes_run *r = arg;
    const int64_t first = block * LANES, count = r->chosen->count, n = r->m->n;
    const int some = r->points - first < LANES ? (int)(r->points - first) : LANES;
    series s[LANES];
    double w_re[LANES], w_im[LANES], size[LANES], re[LANES], im[LANES];
    (void)part;
    for (int l = 0; l < LANES; l++) {
        s[l] = series_at(&r->m->bounds, r->energy[first + (l < some ? l : some - 1)], r->eta);
        w_re[l] = creal(s[l].w), w_im[l] = cimag(s[l].w), size[l] = cabs(s[l].w);
    }
    add_up_sizes(r->off, n, size, re);
    for (int l = 0; l < some; l++) r->rounding[first + l] = cabs(s[l].factor) * (r->off[0] + 2 * re[l]);
    for (int64_t v = 0; v < count; v++) {
        const int64_t at = (r->chosen->first + v) * n;
        const double *imag = r->m->imag ? r->m->imag + at : NULL;
        add_up(r->m->mu + at, imag, n, w_re, w_im, re, im);
        for (int l = 0; l < some; l++) {
            const double complex zero = r->m->mu[at] + I * (imag ? imag[0] : 0);
            const double complex g = s[l].factor * (zero + 2 * (re[l] + I * im[l]));
            double *value = r->value + 2 * ((first + l) * count + v);
            value[0] = creal(g), value[1] = cimag(g);
        }
    }
}

/* Over all energies: Im z = y; |w| is largest above the middle of the bounds, where |log w| = asinh y, and
   |sqrt(z^2 - 1)| is nowhere below sqrt(2 y), and 1 / sqrt(z^2 - 1) = 2 w / (1 - w^2). */
int64_t wisp_green_moments(double halfwidth, double eta, double tolerance)
{
    const double y = eta / halfwidth, a = asinh(y);
    const double first = 2 / (sqrt(2 * y) * -expm1(-a)), n = ceil(log(2 * first * y / tolerance) / a);
    return y > 0 && tolerance > 0 && n > 2 ? wisp_whole_number(n) : 2;
}

static wisp_status check(wisp_ctx *ctx, const wisp_moments *m, wisp_green_opts *o, int64_t points, const double *energy)
{
    if (!(o->eta > 0) || !isfinite(o->eta))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.eta is %g, it must be a number above 0", o->eta);
    if (o->tolerance == 0) o->tolerance = wisp__is_single(m->type) ? 1e-4 : 1e-10;
    if (!(o->tolerance > 0) || !(o->tolerance < 1))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.tolerance is %g, it must lie between 0 and 1", o->tolerance);
    for (int64_t i = 0; i < points; i++)
        if (!isfinite(energy[i]))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "energy %lld is %g", (long long)i, energy[i]);
    return WISP_OK;
}

/* What is not of chance, over the norms of the vectors, where it is most: by series and rounding, and by rounding. */
typedef struct {
    double error, at, rounding, rounding_at;
} worst_of;

static void look_at(worst_of *w, double energy, double truncated, double rounding)
{
    const double both = isnan(truncated + rounding) ? INFINITY : truncated + rounding;
    if (both > w->error) w->error = both, w->at = energy;
    if (rounding > w->rounding) w->rounding = rounding, w->rounding_at = energy;
}

static wisp_status check_beside(wisp_ctx *ctx, const wisp_moments *m, const wisp_green_opts *o, const worst_of *w)
{
    const double allowed = o->tolerance / o->eta;
    if (w->error <= allowed) return WISP_OK;
    if (w->rounding <= allowed / 2)
        return wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "there are %lld moments, and %lld do for opts.tolerance, %g, with opts.eta %g; these leave "
            "an error of up to %.2g/eta, at energy %g",
            (long long)m->n, (long long)wisp_green_moments(m->bounds.halfwidth, o->eta, o->tolerance), o->tolerance,
            o->eta, w->error * o->eta, w->at);
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "opts.tolerance, %g, can't be met at energy %g: rounding of the moments alone may make "
                          "%.2g/eta; take a larger one, or a larger opts.eta",
                          o->tolerance, w->rounding_at, w->rounding * o->eta);
}

/* Of a batch of energies: means, errors, and how far they may be off beside. */
static void finish(const lanes_run *r, double norms, wisp_scalar *g, wisp_scalar *error, double *beside,
                   worst_of *worst)
{
    for (int64_t i = 0; i < r->points; i++) {
        const series s = series_at(&r->m->bounds, r->energy[i], r->eta);
        const double truncated = tail(&s, r->m->n), *value = r->value + 2 * i * r->chosen->count;
        wisp_scalar e;
        look_at(worst, r->energy[i], truncated, r->rounding[i]);
        g[i].re = wisp__combine(r->chosen, value, 2, &e.re);
        g[i].im = wisp__combine(r->chosen, value + 1, 2, &e.im);
        if (error) error[i] = e;
        if (beside) beside[i] = norms * (truncated + r->rounding[i]);
    }
}

wisp_status wisp_green(wisp_ctx *ctx, const wisp_moments *m, const wisp_green_opts *opts, int64_t vector,
                       int64_t points, const double *energy, wisp_scalar *g, wisp_scalar *error, double *beside)
{
    wisp_status status = WISP_OK;
    wisp_eval_opts any;
    double *value = NULL, *off = NULL;
    worst_of worst = {0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, opts);
    WISP_NEED(ctx, energy);
    WISP_NEED(ctx, g);
    wisp_green_opts full = *opts;
    WISP_TRY(wisp__eval_options(ctx, m, NULL, vector, &any));
    WISP_TRY(check(ctx, m, &full, points, energy));
    const wisp__chosen chosen = wisp__choose(m, vector);
    const double norms = m->imag ? 1 : wisp__combine(&chosen, m->mu + chosen.first * m->n, m->n, NULL);
    const size_t batch = (size_t)(points < BATCH ? points + 1 : BATCH);
    WISP_TRY(wisp_alloc(ctx, &value, batch * (2 * (size_t)chosen.count + 1), sizeof *value));
    WISP_TRY(wisp_alloc(ctx, &off, (size_t)m->n, sizeof *off));
    for (int64_t k = 0; k < m->n; k++) off[k] = wisp__moment_rounding(m, k);
    for (int64_t i = 0; i < points; i += BATCH) {
        lanes_run r = {.m = m, .chosen = &chosen, .energy = energy + i, .eta = full.eta, .off = off, .value = value};
        r.points = points - i < BATCH ? points - i : BATCH;
        r.rounding = value + 2 * chosen.count * r.points;
        WISP_TRY(wisp_ctx_step(ctx, "energies", (double)i / (double)points, 0));
        WISP_TRY(wisp_ctx_each(ctx, (r.points + LANES - 1) / LANES, lanes, &r));
        finish(&r, norms, g + i, error ? error + i : NULL, beside ? beside + i : NULL, &worst);
    }
    status = check_beside(ctx, m, &full, &worst);
out:
    wisp_free(ctx, value);
    wisp_free(ctx, off);
    return status;
}
