/* --average: several realizations of the disorder of a lattice, one after the other, as samples of one quantity. */
#include "average.h"
#include "moments.h"
#include "out/text.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Plane waves are as many with any number of rows. */
static bool vacancies_fit(const tool *t) { return t->cmd->bit == CMD_SPECTRAL; }

int average_check(tool *t)
{
    const options *o = &t->opt;
    if (!o->average || o->from) return EXIT_FINE;
    if (o->checkpoint || o->resume)
        return tool_usage(t, "--average does not go with --checkpoint and --resume; --save keeps whole realizations");
    const bool vacancies = average_key(o->arg[0], "vacancies");
    if (!average_key(o->arg[0], "disorder") && !vacancies)
        return tool_usage(t, "--average needs a lattice of the gallery with disorder=W%s, and %s has none",
                          vacancies_fit(t) ? " or vacancies=P" : "", o->arg[0]);
    if (vacancies && !vacancies_fit(t))
        return tool_usage(t,
                          "--average of wisp %s is not for vacancies=, which leave another number of rows in each "
                          "realization; wisp spectral takes them",
                          t->cmd->name);
    if (o->overlap) return tool_usage(t, "--average does not go with --overlap");
    const char *seed = average_key(o->arg[0], "seed");
    if (seed && (strspn(seed, "0123456789") != strcspn(seed, ",") || !isdigit((unsigned char)*seed)))
        return tool_usage(t, "--average counts up from the seed of %s, which must be a whole number from 0 on",
                          o->arg[0]);
    return EXIT_FINE;
}

/* What t->opt was before, and the spec of the realization that it tells now. */
typedef struct {
    const char *spec;
    uint64_t seed;
    int bounds_method;
    double bounds[2];
    char *text;
} realization;

/* Other random vectors as well: an error that all have would be in no bar. They go by the disorder's seed, so that
   those of other realizations are others in other runs, too. */
static int set_realization(tool *t, realization *of, int64_t number)
{
    const uint64_t seed = average_seed(of->spec, number);
    char word[TEXT];
    snprintf(word, sizeof word, "%llu", (unsigned long long)seed);
    free(of->text);
    of->text = average_name(of->spec, word);
    t->opt.arg[0] = of->text ? of->text : of->spec;
    t->opt.seed = of->seed + seed;
    monitor_part(&t->monitor, (int)number + 1, (int)t->opt.average);
    return tool_agree(t, of->text ? EXIT_FINE : tool_fail(t, "out of memory for the name of a realization"));
}

static void reset(tool *t, realization *of)
{
    options *o = &t->opt;
    o->arg[0] = of->spec, o->seed = of->seed, o->bounds_method = of->bounds_method;
    memcpy(o->bounds, of->bounds, sizeof of->bounds);
    monitor_part(&t->monitor, 0, 0);
    free(of->text);
}

/* ---- bounds ---------------------------------------------------------------------------------------- */

/* Those of one more, which widen the others'; the chances of failure add up. */
static void widen(wisp_bounds *all, const wisp_bounds *b)
{
    const bool first = !(all->halfwidth > 0);
    const double low = b->center - b->halfwidth, high = b->center + b->halfwidth;
    const double least = first ? low : fmin(low, all->center - all->halfwidth);
    const double most = first ? high : fmax(high, all->center + all->halfwidth);
    *all = (wisp_bounds){(least + most) / 2, (most - least) / 2,
                         (first ? 0 : all->failure_probability) + b->failure_probability};
}

static int find_bounds(tool *t, realization *is, average *a, const average_of *of)
{
    const double start = wisp_now();
    int rc = EXIT_FINE;
    for (int64_t i = 0; i < t->opt.average && !rc; i++) {
        wisp_bounds b;
        rc = set_realization(t, is, i);
        if (!rc && tool_step(t, "bounds", (double)i / (double)t->opt.average, 0)) rc = tool_fail_ctx(t);
        if (!rc) rc = of->bounds(t, of->arg, &b);
        if (!rc) widen(&a->bounds, &b);
    }
    a->seconds = wisp_now() - start;
    t->opt.bounds_method = WISP_BOUNDS_GIVEN;
    t->opt.bounds[0] = a->bounds.center - a->bounds.halfwidth;
    t->opt.bounds[1] = a->bounds.center + a->bounds.halfwidth;
    return rc;
}

/* ---- the realizations ------------------------------------------------------------------------------ */

/* A realization that a signal stopped is no failure, wherever it was, even in making its matrix: so its message waits
   until all processes have said whether one of them has the signal; the others have failed with that one. */
static int run_one(tool *t, const average_of *of)
{
    char why[sizeof t->monitor.error];
    t->monitor.waits = true;
    const int rc = of->run(t, of->arg);
    t->monitor.waits = false;
    if (rc == EXIT_FINE || rc >= EXIT_LAYOUT) return rc; /* nothing was said */
    double stopped = tool_is_stopped(t);
    wisp_ctx_resume(t->ctx);
    if (!wisp_ctx_sum(t->ctx, &stopped, 1) && stopped > 0) return EXIT_CUT;
    memcpy(why, t->monitor.error, sizeof why);
    return tool_end(t, rc, "%s", why);
}

int average_run(tool *t, average *a, const average_of *of)
{
    options *o = &t->opt;
    realization is = {.spec = o->arg[0], .seed = o->seed, .bounds_method = o->bounds_method};
    memcpy(is.bounds, o->bounds, sizeof is.bounds);
    *a = (average){.method = bounds_options(o).method};
    int rc = a->method == WISP_BOUNDS_GIVEN || o->plan ? EXIT_FINE : find_bounds(t, &is, a, of);
    for (int64_t i = 0; i < o->average && !rc; i++) {
        rc = set_realization(t, &is, i);
        if (!rc && tool_step(t, "realizations", (double)i / (double)o->average, 0)) rc = EXIT_CUT;
        if (!rc) rc = run_one(t, of);
        if (o->plan) break;
        if (!rc) a->done++;
    }
    reset(t, &is);
    return rc;
}

/* ---- of moments ------------------------------------------------------------------------------------ */

typedef struct {
    const average_of_moments *of;
    average *a;
    wisp_moments *all;
} moments_run;

/* The mean of its vectors, whatever they are of, stands for a realization. */
static void reduce(wisp_moments *one)
{
    for (int64_t k = 0; k < one->n; k++) {
        for (int64_t v = 1; v < one->vectors; v++) one->mu[k] += one->mu[v * one->n + k];
        one->mu[k] /= (double)one->vectors;
        for (int64_t v = 1; v < one->vectors && one->imag; v++) one->imag[k] += one->imag[v * one->n + k];
        if (one->imag) one->imag[k] /= (double)one->vectors;
    }
    one->vectors = 1;
    one->first_vector = one->trace == WISP_TRACE_RANDOM ? -1 : 0; /* of several seeds; 0: without chance of their own */
    one->trace = WISP_TRACE_RANDOM;
}

static bool of_trace(const wisp_moments *m) { return m->trace == WISP_TRACE_RANDOM || m->trace == WISP_TRACE_EXACT; }

/* Room for `more` behind the `old` ones. Where there is none the array stays as it is. */
static bool grow(void *array, size_t old, size_t more, size_t size)
{
    void *a = realloc(*(void **)array, (old + more) * size);
    if (a) *(void **)array = a;
    return a;
}

int average_append(tool *t, wisp_moments *m, const wisp_moments *one)
{
    const size_t old = (size_t)(m->vectors * m->n), new = (size_t)(one->vectors * one->n);
    if (one->n != m->n || !one->imag != !m->imag || (one->rows != m->rows && t->cmd->bit != CMD_SPECTRAL))
        return tool_fail(t, "realization %d has %lld rows and %lld moments, and the first one %lld and %lld",
                         m->realizations + 1, (long long)one->rows, (long long)one->n, (long long)m->rows,
                         (long long)m->n);
    if (!grow(&m->mu, old, new, sizeof *m->mu) || (m->imag && !grow(&m->imag, old, new, sizeof *m->imag)) ||
        (m->sites && !grow(&m->sites, (size_t)m->vectors, (size_t)one->vectors, sizeof *m->sites)))
        return tool_fail(t, "out of memory for the moments of %d realizations", m->realizations + 1);
    memcpy(m->mu + old, one->mu, new * sizeof *m->mu);
    if (m->imag) memcpy(m->imag + old, one->imag, new * sizeof *m->imag);
    if (m->sites) memcpy(m->sites + m->vectors, one->sites, (size_t)one->vectors * sizeof *m->sites);
    m->vectors += one->vectors;
    m->seconds += one->seconds;
    m->flops += one->flops;
    m->rounding = fmax(m->rounding, one->rounding);
    m->realizations += one->realizations > 0 ? one->realizations : 1;
    return EXIT_FINE;
}

static int run_moments(tool *t, void *arg)
{
    const moments_run *run = arg;
    wisp_moments *m = run->all, one = {0};
    int rc = run->of->run(t, run->of->arg, &one);
    if (!rc && !t->opt.plan) {
        run->a->vectors = one.vectors;
        run->a->trace = one.trace;
        if (of_trace(&one)) reduce(&one);
        if (m->mu) {
            rc = tool_agree(t, average_append(t, m, &one));
        } else {
            *m = one;
            one = (wisp_moments){0};
            m->realizations = 1;
        }
    }
    wisp_moments_free(&one);
    return rc;
}

static int find_moments_bounds(tool *t, void *arg, wisp_bounds *b)
{
    const moments_run *run = arg;
    return run->of->bounds(t, run->of->arg, b);
}

int average_moments(tool *t, average *a, const average_of_moments *of, wisp_moments *m)
{
    moments_run run = {of, a, m};
    const int rc = average_run(t, a, &(average_of){&run, find_moments_bounds, run_moments});
    if ((rc && rc != EXIT_CUT) || t->opt.plan) return rc;
    if (a->method != WISP_BOUNDS_GIVEN) {
        m->bounds = a->bounds;
        m->bounds_method = a->method;
        m->bounds_seconds = a->seconds;
    }
    m->rounding *= sqrt((double)t->opt.average); /* over the bar of the mean, not of one */
    if (rc == EXIT_CUT) {
        m->partial = 1;
        if (t->opt.save || m->realizations == 0) return moments_stopped(t, m, t->opt.average, t->command_line);
        tool_keep(t); /* the mean of these is told */
    }
    return tool_agree(t, wisp_moments_label(t->ctx, m, t->opt.arg[0], t->command_line) ? tool_fail_ctx(t) : EXIT_FINE);
}

/* ---- means and bars -------------------------------------------------------------------------------- */

double average_mean(int64_t N, int64_t apart, const double *value, double *error)
{
    double mean = 0, squares = 0;
    for (int64_t n = 0; n < N; n++) mean += value[n * apart];
    mean /= (double)N;
    for (int64_t n = 0; n < N && error; n++) {
        const double d = value[n * apart] - mean;
        squares += d * d;
    }
    if (error) *error = N > 1 ? sqrt(squares / ((double)N * (double)(N - 1))) : (double)NAN;
    return mean;
}

void average_fold(int64_t N, int64_t count, double *value, double *error)
{
    for (int64_t i = 0; i < count; i++) value[i] = average_mean(N, count, value + i, error ? error + i : NULL);
}

void average_bars(int64_t N, int64_t count, bool positive, const double *value, const double *error, double *low,
                  double *high)
{
    const double t95 = wisp_student95(N);
    for (int64_t i = 0; i < count; i++) {
        low[i] = value[i] - t95 * error[i];
        high[i] = value[i] + t95 * error[i];
        if (positive && value[i] >= 0 && low[i] < 0) low[i] = 0;
    }
}

/* ---- told ------------------------------------------------------------------------------------------ */

void average_summary(const average *a, const char *matrix, int64_t done)
{
    char n[TEXT], each[TEXT_BAR] = "", v[TEXT], seeds[TEXT_BAR];
    if (done < 1) return;
    if (a->vectors && a->trace == WISP_TRACE_EXACT)
        snprintf(each, sizeof each, ", exact trace each");
    else if (a->vectors && a->trace == WISP_TRACE_RANDOM)
        snprintf(each, sizeof each, ", %s random vector%s each", text_count(v, a->vectors), a->vectors == 1 ? "" : "s");
    text_line("average", "%s realization%s of disorder, seed %s%s", text_count(n, done), done == 1 ? "" : "s",
              average_seeds(matrix, done, seeds), each);
}

void average_json(json_t *o, const tool *t, const average *a, const char *matrix, int64_t done)
{
    if (done < 1) return;
    json_t *seeds = json_array();
    for (int64_t i = 0; i < done; i++) json_array_append_new(seeds, json_seed(average_seed(matrix, i)));
    JSON_PUT(o, J("realizations", done), J_MAYBE(t->opt.average, "realizations_asked", t->opt.average),
             J_MAYBE(a->vectors, "vectors_each", a->vectors), J("disorder_seeds", seeds));
}

void average_plan(const tool *t)
{
    char n[TEXT];
    if (t->opt.average) text_line("average", "%s realizations, one after the other", text_count(n, t->opt.average));
}

int average_end(tool *t, int64_t done, bool cut)
{
    if (!cut) return EXIT_FINE;
    return tool_fail(t, "stopped by %s; the mean is of %lld of %lld realizations", stop_reason(), (long long)done,
                     (long long)t->opt.average);
}
