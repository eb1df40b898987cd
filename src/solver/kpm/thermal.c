/* Thermodynamics from moments. With t = (E - a)/T, a the lower bound, everything is made of tr t^j exp(-t), j = 0, 1,
   2, pure numbers that neither the unit nor the temperature makes too large. */
#include "values.h"

enum { SUMS = 3, LOG_Z = 0, ENERGY, CAPACITY, ENTROPY, QUANTITIES };

typedef struct {
    wisp_ctx *ctx;
    const wisp_moments *m;
    double *mean; /* [m->n] moments of the trace, by which is found how far it may be off */
    double tolerance;
} heat_bath;

/* At one temperature. */
typedef struct {
    wisp__series s[SUMS];
    double f[SUMS];         /* of all vectors */
    double q[QUANTITIES];   /* ln Z + a/T, (E - a)/T, C, S */
    double off[QUANTITIES]; /* at most, beside chance */
    double beside;          /* the largest of these */
} state;

/* ---- how many moments ---------------------------------------------------------------------------- */

double wisp_thermal_coldest(double halfwidth) { return halfwidth / 4000; } /* a hundredth of it over 40 */

/* exp(-x) times the sum of I_j(x) over j >= k is the chance that the difference of two Poisson numbers with mean x/2 is
   at least k, and Chernoff's bound of that has this logarithm. */
static double log_tail(double k, double x) { return k * (k / (sqrt(k * k + x * x) + x) - asinh(k / x)); }

int64_t wisp_thermal_moments(double halfwidth, double temperature)
{
    static const double nothing = -44; /* 1e-19: of products with t^2, too, no rounding shows it */
    const double x = halfwidth / temperature;
    if (!(halfwidth > 0) || !(temperature > 0) || x == 0) return 2;
    if (x > 1e30) return INT64_MAX;
    double low = 1, high = 2;
    while (log_tail(high, x) > nothing) low = high, high *= 2;
    while (high - low > 1 && high - low > 1e-12 * high) {
        const double middle = floor(0.5 * (low + high));
        if (log_tail(middle, x) > nothing)
            low = middle;
        else
            high = middle;
    }
    const int64_t n = wisp_whole_number(high);
    return n + n % 2; /* a sweep gives two */
}

/* ---- one temperature ----------------------------------------------------------------------------- */

typedef struct {
    double beta; /* halfwidths over temperatures */
    int power;
} weight;

/* t^power exp(-t). */
static int weight_at(void *arg, double above, wisp_scalar *value)
{
    const weight *w = arg;
    const double t = w->beta * above;
    double f = exp(-t);
    for (int i = 0; i < w->power; i++) f *= t;
    *value = wisp__real(f);
    return 0;
}

static void close_state(const heat_bath *h, state *s)
{
    for (int j = 0; j < SUMS; j++) wisp_free(h->ctx, s->s[j].c);
    *s = (state){0};
}

/* As exactly as numbers allow: where the transform's rounding is too much for the tolerance, it takes a coarser one. */
static wisp_status find_series(const heat_bath *h, double temperature, state *s)
{
    static const wisp_bounds unit = {1, 1, 0};
    static const double coarsest = 1e-10;
    const double beta = h->m->bounds.halfwidth / temperature;
    wisp_status status = WISP_OK;
    for (int j = 0; j < SUMS && status == WISP_OK; j++) {
        weight w = {beta, j};
        wisp__fit_want want = {.ctx = h->ctx,
                               .bounds = &unit,
                               .number = j,
                               .value = weight_at,
                               .arg = &w,
                               .tolerance = 32 * DBL_EPSILON,
                               .terms = 2 * wisp_thermal_moments(beta, 1),
                               .above_low = true};
        for (status = WISP_ERR_ARG; status == WISP_ERR_ARG && want.tolerance < coarsest; want.tolerance *= 2) {
            wisp_free(h->ctx, s->s[j].c);
            status = wisp__fit(&s->s[j], &want);
        }
    }
    return status;
}

static void quantities(const double f[SUMS], double q[QUANTITIES])
{
    const double t = f[1] / f[0];
    q[LOG_Z] = log(f[0]);
    q[ENERGY] = t;
    q[CAPACITY] = f[2] / f[0] - t * t;
    q[ENTROPY] = q[LOG_Z] + t;
}

/* How far they are off where f is off by d. */
static void find_off(const double f[SUMS], const double d[SUMS], double off[QUANTITIES])
{
    const double least = f[0] - d[0], t = fabs(f[1] / f[0]), dt = (d[1] + t * d[0]) / least;
    const bool known = least > f[0] / 2;
    off[LOG_Z] = known ? -log1p(-d[0] / f[0]) : HUGE_VAL;
    off[ENERGY] = known ? dt : HUGE_VAL;
    off[CAPACITY] = known ? (d[2] + fabs(f[2] / f[0]) * d[0]) / least + (2 * t + dt) * dt : HUGE_VAL;
    off[ENTROPY] = off[LOG_Z] + off[ENERGY];
}

/* Closed by close_state, also after a failure. Where moments are far too few there are no series. */
static wisp_status open_state(const heat_bath *h, double temperature, state *s)
{
    enum { FAR = 4 };
    const wisp_moments *m = h->m;
    wisp_status status = WISP_OK;
    double d[SUMS];
    *s = (state){.beside = HUGE_VAL};
    if (wisp_thermal_moments(m->bounds.halfwidth, temperature) / FAR > m->n) return WISP_OK;
    WISP_TRY(find_series(h, temperature, s));
    for (int j = 0; j < SUMS; j++) {
        const wisp__series_errors e = wisp__series_error(&s->s[j], m);
        s->f[j] = ldexp(wisp__series_sum(&s->s[j], h->mean, m->n), s->s[j].exponent);
        d[j] = ldexp(h->mean[0] * (e.truncation + e.rounding), s->s[j].exponent);
    }
    quantities(s->f, s->q);
    find_off(s->f, d, s->off);
    /* Rounding of what is made of these numbers; of ln Z and E, which are told from the unit's 0 on, also of that. */
    for (int i = 0; i < QUANTITIES; i++) s->off[i] += 4 * DBL_EPSILON * (1 + fabs(s->q[i]));
    const double zero = 4 * DBL_EPSILON * (fabs(m->bounds.center) + m->bounds.halfwidth) / temperature;
    s->off[LOG_Z] += zero;
    s->off[ENERGY] += zero;
    s->beside = 0;
    for (int i = 0; i < QUANTITIES; i++) s->beside = fmax(s->beside, s->off[i]);
out:
    return status;
}

/* ---- what these moments serve --------------------------------------------------------------------- */

static wisp_status beside_at(const heat_bath *h, double temperature, double *beside)
{
    state s;
    const wisp_status status = open_state(h, temperature, &s);
    *beside = s.beside;
    close_state(h, &s);
    return status;
}

/* The lowest temperature above this one that is within the tolerance, to a hundredth; infinity: there is none. */
static wisp_status lowest_served(const heat_bath *h, double temperature, double *lowest)
{
    const double width = h->m->bounds.halfwidth, n = (double)h->m->n;
    wisp_status status = WISP_OK;
    double low = fmax(temperature, width / (n * n) / 16), high = low, beside;
    for (;;) {
        WISP_TRY(beside_at(h, high, &beside));
        if (beside <= h->tolerance) break;
        if (!(high < 1e6 * width) || !isfinite(high)) {
            *lowest = HUGE_VAL;
            goto out;
        }
        low = high, high *= 2;
    }
    while (high > 1.01 * low) {
        const double middle = low * sqrt(high / low);
        WISP_TRY(beside_at(h, middle, &beside));
        *(beside <= h->tolerance ? &high : &low) = middle;
    }
    *lowest = high;
out:
    return status;
}

static wisp_status refuse(const heat_bath *h, double temperature, const state *s)
{
    enum { TEXT = 128, MANY = 1 << 30 };
    double lowest;
    char more[TEXT] = "bounds closer to the lowest eigenvalue serve lower ones";
    const int64_t needed = wisp_thermal_moments(h->m->bounds.halfwidth, temperature);
    wisp_status status = lowest_served(h, temperature, &lowest);
    if (status != WISP_OK) return status;
    if (isinf(lowest))
        return wisp_ctx_failf(h->ctx, WISP_ERR_ARG,
                              "opts.tolerance, %g, can't be met at any temperature: rounding of these moments, or "
                              "their small number, %lld, leaves more",
                              h->tolerance, (long long)h->m->n);
    /* That is what the series takes; how far the lowest eigenvalue is from the bound, moments do not tell. */
    if (needed > h->m->n)
        snprintf(more, sizeof more, "this one takes %s %lld moments, and bounds close to the lowest eigenvalue",
                 needed > MANY ? "over" : "at least", (long long)(needed > MANY ? MANY : needed));
    return wisp_ctx_failf(h->ctx, WISP_ERR_ARG,
                          "at temperature %g these %lld moments leave an error of up to %.2g in ln Z, E/T, C or S, and "
                          "opts.tolerance is %g: they serve temperatures from %.4g on; %s",
                          temperature, (long long)h->m->n, s->beside, h->tolerance, lowest, more);
}

/* ---- what chance makes ---------------------------------------------------------------------------- */

/* error[i] becomes the jackknife's of quantity i; value[vectors][SUMS]. */
static void jackknife(const double (*value)[SUMS], int64_t vectors, double error[QUANTITIES])
{
    const double R = (double)vectors;
    double sum[SUMS] = {0}, mean[QUANTITIES] = {0}, squares[QUANTITIES] = {0};
    for (int64_t v = 0; v < vectors; v++)
        for (int j = 0; j < SUMS; j++) sum[j] += value[v][j];
    for (int64_t v = 0; v < vectors; v++) { /* without vector v; mean and squares of the deviations, as they come in */
        double f[SUMS], q[QUANTITIES];
        for (int j = 0; j < SUMS; j++) f[j] = (sum[j] - value[v][j]) / (R - 1);
        quantities(f, q);
        for (int i = 0; i < QUANTITIES; i++) {
            const double d = q[i] - mean[i];
            mean[i] += d / (double)(v + 1);
            squares[i] += d * (q[i] - mean[i]);
        }
    }
    for (int i = 0; i < QUANTITIES; i++) error[i] = sqrt((R - 1) / R * squares[i]);
}

/* Half of a bar over the error. Where few states make up Z, of this relative error, values scatter as chi-square with
   few degrees of freedom, and so does the error's own estimate: as in wisp_bars95, it has fewer degrees of freedom
   then. */
static double quantile(const wisp_moments *m, double relative)
{
    const double R = (double)m->vectors, most = wisp_type_is_complex(m->type) ? 1 : 2;
    const double variance = fmin(R * relative * relative, most);
    if (wisp__of_realizations(m)) return wisp_student95(m->vectors);
    return fmax(wisp_student95(m->vectors), wisp__student_expanded(1 / (1 / (R - 1) + variance / R)));
}

/* Errors and half bars of the quantities, and the bar of ln Z, by the random vectors. */
typedef struct {
    double error[QUANTITIES], half[QUANTITIES], log_low, log_high;
} chance;

static wisp_status find_chance(const heat_bath *h, const state *s, chance *c)
{
    const wisp_moments *m = h->m;
    const wisp__chosen all = wisp__choose(m, -1);
    wisp_status status = WISP_OK;
    double(*value)[SUMS] = NULL, z, error, low, high;
    *c = (chance){.log_low = s->q[LOG_Z], .log_high = s->q[LOG_Z]};
    if (m->trace != WISP_TRACE_RANDOM) return WISP_OK;
    if (m->vectors < 2) {
        for (int i = 0; i < QUANTITIES; i++) c->error[i] = c->half[i] = NAN;
        c->log_low = c->log_high = NAN;
        return WISP_OK;
    }
    WISP_TRY(wisp_alloc(h->ctx, &value, (size_t)m->vectors, sizeof *value));
    for (int64_t v = 0; v < m->vectors; v++)
        for (int j = 0; j < SUMS; j++)
            value[v][j] = ldexp(wisp__series_sum(&s->s[j], m->mu + v * m->n, m->n), s->s[j].exponent);
    jackknife((const double(*)[SUMS])value, m->vectors, c->error);
    z = wisp__combine(&all, *value, SUMS, &error);
    for (int i = 0; i < QUANTITIES; i++) c->half[i] = quantile(m, error / z) * c->error[i];
    wisp_bars95(m, NULL, 1, &z, &error, &low, &high);
    c->log_low = low > 0 ? log(low) : -HUGE_VAL;
    c->log_high = log(high);
out:
    wisp_free(h->ctx, value);
    return status;
}

/* From + unit times quantity i. */
static wisp_estimate estimate(const state *s, const chance *c, int i, double from, double unit)
{
    const double half = c->half[i] + s->off[i];
    return (wisp_estimate){from + unit * s->q[i], unit * c->error[i], from + unit * (s->q[i] - half),
                           from + unit * (s->q[i] + half)};
}

static wisp_status fill(const heat_bath *h, double temperature, const state *s, wisp_ensemble *e)
{
    const wisp_moments *m = h->m;
    const double a = m->bounds.center - m->bounds.halfwidth;
    chance c;
    const wisp_status status = find_chance(h, s, &c);
    if (status != WISP_OK) return status;
    e->temperature = temperature;
    e->log_z =
        (wisp_estimate){s->q[LOG_Z] - a / temperature, c.error[LOG_Z], c.log_low - s->off[LOG_Z] - a / temperature,
                        c.log_high + s->off[LOG_Z] - a / temperature};
    e->energy = estimate(s, &c, ENERGY, a, temperature);
    e->heat_capacity = estimate(s, &c, CAPACITY, 0, 1);
    e->entropy = estimate(s, &c, ENTROPY, 0, 1);
    e->beside = s->beside;
    for (int j = 0; j < SUMS; j++) e->terms = s->s[j].terms > e->terms ? s->s[j].terms : e->terms;
    if (e->terms > m->n) e->terms = m->n;
    return WISP_OK;
}

static wisp_status check(wisp_ctx *ctx, const wisp_moments *m, double temperature, double *tolerance)
{
    wisp_eval_opts any;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__eval_options(ctx, m, NULL, -1, &any));
    WISP_TRY(wisp__one_sided(ctx, m, "thermal"));
    if (!(temperature > 0) || !isfinite(temperature))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "temperature %g: it must be a number above 0", temperature);
    if (*tolerance == 0) *tolerance = wisp__is_single(m->type) ? 1e-2 : 1e-6;
    if (!(*tolerance > 0) || !isfinite(*tolerance))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.tolerance is %g, it must be above 0", *tolerance);
out:
    return status;
}

wisp_status wisp_thermal(wisp_ctx *ctx, const wisp_moments *m, const wisp_thermal_opts *opts, double temperature,
                         wisp_ensemble *e)
{
    wisp_status status = WISP_OK;
    state s = {0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, e);
    *e = (wisp_ensemble){0};
    heat_bath h = {.ctx = ctx, .m = m, .tolerance = opts ? opts->tolerance : 0};
    WISP_TRY(check(ctx, m, temperature, &h.tolerance));
    WISP_TRY(wisp_alloc(ctx, &h.mean, (size_t)m->n, sizeof *h.mean));
    WISP_TRY(wisp_moments_mean(ctx, m, WISP_REAL_PART, h.mean, NULL));
    WISP_TRY(open_state(&h, temperature, &s));
    if (!(s.beside <= h.tolerance)) {
        status = refuse(&h, temperature, &s);
        goto out;
    }
    WISP_TRY(fill(&h, temperature, &s, e));
    if (!isfinite(e->log_z.value) || !isfinite(e->energy.value))
        status = wisp_ctx_failf(ctx, WISP_ERR_NUMERIC,
                                "ln Z or E at temperature %g is too large for a number: energies begin at %g",
                                temperature, m->bounds.center - m->bounds.halfwidth);
out:
    close_state(&h, &s);
    wisp_free(ctx, h.mean);
    return status;
}
