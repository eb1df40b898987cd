/* The trace of a function of a matrix: its Chebyshev series, of which a vector's moments make its value. */
#include "values.h"

/* A function that has to be real, and the least value that it had. */
typedef struct {
    const wisp_function *f;
    double least, at; /* at: an energy where it is complex; NaN: there is none */
} real_function;

static int real_value(void *arg, double energy, wisp_scalar *value)
{
    real_function *r = arg;
    const int failed = r->f->value(r->f->arg, energy, value);
    if (failed) return failed;
    r->least = fmin(r->least, value->re);
    if (value->im == 0) return 0;
    r->at = energy;
    return 1;
}

static wisp_status check_coefficients(wisp_ctx *ctx, const wisp_function *f)
{
    if (!f->c) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the function has neither values nor coefficients");
    if (f->terms < 1 || f->terms > WISP__MOST_TERMS)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the function has %lld coefficients; 1 to %d are taken",
                              (long long)f->terms, WISP__MOST_TERMS);
    for (int64_t k = 0; k < f->terms; k++)
        if (f->c[k].im != 0)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                                  "coefficient %lld of the function is complex; take the trace of its real and "
                                  "imaginary part one by one",
                                  (long long)k);
    return WISP_OK;
}

/* The defaults, and whether all that is given can be. */
static wisp_status check_options(wisp_ctx *ctx, const wisp_bounds *b, const wisp_function *f, bool single,
                                 wisp_function_opts *o)
{
    static const double least = 1e-13; /* of a tolerance: less would be looked for in vain among rounding errors */
    const double reach = fabs(b->center) + b->halfwidth;
    wisp_status status = WISP_OK;
    if (!(b->halfwidth > 0) || !isfinite(reach))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "bounds with center %g and halfwidth %g are no interval", b->center,
                              b->halfwidth);
    wisp__fit_want want = {ctx, .tolerance = o->tolerance, .terms = o->terms, .points = o->points,
                           .jackson = o->jackson};
    WISP_TRY(wisp__fit_options(&want, "", single));
    o->tolerance = want.tolerance, o->terms = want.terms;
    if (o->tolerance < least)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.tolerance, %g, can't be met: rounding alone leaves about %g",
                              o->tolerance, least);
    if (!f->value) status = check_coefficients(ctx, f);
out:
    return status;
}

/* The series of f, within half of the tolerance; whether f has no value below 0, as far as it was looked at. */
static wisp_status find_series(wisp_ctx *ctx, const wisp_bounds *b, const wisp_function *f, const wisp_function_opts *o,
                               wisp__series *s, bool *positive)
{
    real_function real = {f, HUGE_VAL, NAN};
    const wisp__fit_want want = {.ctx = ctx,
                                 .bounds = b,
                                 .value = f->value ? real_value : NULL,
                                 .arg = &real,
                                 .c = f->c,
                                 .given = f->terms,
                                 .tolerance = o->tolerance / M_SQRT2, /* of which wisp__fit takes half, see there */
                                 .terms = o->terms,
                                 .points = o->points,
                                 .jackson = o->jackson};
    const wisp_status status = wisp__fit(s, &want);
    *positive = f->value && real.least >= 0;
    if (status != WISP_ERR_CALLBACK || isnan(real.at)) return status;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "the function is complex at energy %.10g; take the trace of its real and imaginary part one "
                          "by one",
                          real.at);
}

wisp_status wisp_function_moments(wisp_ctx *ctx, const wisp_bounds *bounds, const wisp_function *f,
                                  const wisp_function_opts *opts, int64_t *moments)
{
    wisp_status status = WISP_OK;
    wisp__series s = {0};
    bool positive;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, bounds);
    WISP_NEED(ctx, f);
    WISP_NEED(ctx, moments);
    wisp_function_opts full = opts ? *opts : (wisp_function_opts){0};
    WISP_TRY(check_options(ctx, bounds, f, false, &full));
    WISP_TRY(find_series(ctx, bounds, f, &full, &s, &positive));
    *moments = s.terms > 2 ? s.terms : 2;
out:
    wisp_free(ctx, s.c);
    return status;
}

/* Refuses what the tolerance does not allow; errors over mu_0, as the series. */
static wisp_status check_errors(wisp_ctx *ctx, const wisp_moments *m, const wisp_function_opts *o,
                                const wisp__series *s, const wisp__series_errors *e)
{
    if (o->jackson > m->n)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.jackson is %lld, and there are %lld moments",
                              (long long)o->jackson, (long long)m->n);
    const double truncation = o->jackson ? 0 : e->truncation, all = truncation + e->rounding;
    if (all <= o->tolerance * s->largest) return WISP_OK;
    if (s->terms > m->n && e->rounding <= o->tolerance / 2 * s->largest)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "there are %lld moments, and the function needs %lld for opts.tolerance, %g; these leave "
                              "an error of up to %.2g times the largest |f|",
                              (long long)m->n, (long long)s->terms, o->tolerance, all / s->largest);
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "opts.tolerance, %g, can't be met: rounding of the moments alone may make %.2g times the "
                          "largest |f|",
                          o->tolerance, e->rounding / s->largest);
}

/* The bar: of the random vectors, and beside it what is not of chance. */
static void set_bar(const wisp_moments *m, bool positive, double beside, wisp_estimate *t)
{
    const wisp_eval_opts o = {.kernel = positive ? WISP_JACKSON : WISP_DIRICHLET}; /* whether values are negative */
    wisp_bars95(m, &o, 1, &t->value, &t->error, &t->low, &t->high);
    t->low -= beside;
    t->high += beside;
}

wisp_status wisp_trace_function(wisp_ctx *ctx, const wisp_moments *m, const wisp_function *f,
                                const wisp_function_opts *opts, int64_t vector, wisp_traced *t)
{
    wisp_status status = WISP_OK;
    wisp_eval_opts any;
    wisp__series s = {0};
    double *value = NULL;
    bool positive;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, f);
    WISP_NEED(ctx, t);
    *t = (wisp_traced){0};
    wisp_function_opts full = opts ? *opts : (wisp_function_opts){0};
    WISP_TRY(wisp__eval_options(ctx, m, NULL, vector, &any));
    WISP_TRY(wisp__one_sided(ctx, m, "trace_function"));
    WISP_TRY(check_options(ctx, &m->bounds, f, wisp__is_single(m->type), &full));
    WISP_TRY(find_series(ctx, &m->bounds, f, &full, &s, &positive));
    const wisp__series_errors e = wisp__series_error(&s, m);
    WISP_TRY(check_errors(ctx, m, &full, &s, &e));
    const wisp__chosen chosen = wisp__choose(m, vector);
    WISP_TRY(wisp_alloc(ctx, &value, (size_t)chosen.count, sizeof *value));
    for (int64_t v = 0; v < chosen.count; v++) value[v] = wisp__series_sum(&s, m->mu + (chosen.first + v) * m->n, m->n);
    t->trace.value = ldexp(wisp__combine(&chosen, value, 1, &t->trace.error), s.exponent);
    t->trace.error = ldexp(t->trace.error, s.exponent);
    const double mu_0 = wisp__combine(&chosen, m->mu + chosen.first * m->n, m->n, NULL);
    t->truncation = full.jackson ? (double)NAN : ldexp(mu_0 * e.truncation, s.exponent);
    t->rounding = ldexp(mu_0 * e.rounding, s.exponent);
    t->largest = ldexp(s.largest, s.exponent);
    t->terms = s.terms < m->n ? s.terms : m->n;
    set_bar(m, positive, t->rounding + (full.jackson ? 0 : t->truncation), &t->trace);
    if (!isfinite(t->trace.value) || isinf(t->trace.low) || isinf(t->trace.high))
        status = wisp_ctx_failf(ctx, WISP_ERR_NUMERIC,
                                "the trace is too large for a number: |f| is up to %.3g on the bounds", t->largest);
out:
    wisp_free(ctx, value);
    wisp_free(ctx, s.c);
    return status;
}
