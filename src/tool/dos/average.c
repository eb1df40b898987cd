/* --average: moments of several realizations of disorder, on the same bounds, as those of one run. */
#include "../moments.h"
#include "../out/text.h"
#include "dos.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the value of a key of a gallery spec begins; NULL: it has none. */
static const char *key_of(const char *spec, const char *key)
{
    const size_t n = strlen(key);
    for (const char *at = strchr(spec, ':'); at; at = strchr(at, ',')) {
        at++;
        if (!strncmp(at, key, n) && at[n] == '=') return at + n + 1;
    }
    return NULL;
}

int average_check(tool *t)
{
    const options *o = &t->opt;
    if (!o->average || o->from) return EXIT_FINE;
    if (o->checkpoint || o->resume)
        return tool_usage(t, "--average does not go with --checkpoint and --resume; --save keeps whole realizations");
    if (!key_of(o->arg[0], "disorder") && !key_of(o->arg[0], "vacancies"))
        return tool_usage(t, "--average needs a lattice of the gallery with disorder=W or vacancies=P, and %s has none",
                          o->arg[0]);
    const char *seed = key_of(o->arg[0], "seed");
    if (seed && (strspn(seed, "0123456789") != strcspn(seed, ",") || !isdigit((unsigned char)*seed)))
        return tool_usage(t, "--average counts up from the seed of %s, which must be a whole number from 0 on",
                          o->arg[0]);
    return EXIT_FINE;
}

/* A copy of the spec with another seed: its own one, or 1, and so many more. */
static char *with_seed(const char *spec, int64_t more)
{
    const char *at = key_of(spec, "seed");
    const unsigned long long seed = (at ? strtoull(at, NULL, 10) : 1) + (unsigned long long)more;
    char *text = NULL;
    if (!at) return asprintf(&text, "%s,seed=%llu", spec, seed) < 0 ? NULL : text;
    const char *rest = at + strcspn(at, ",");
    return asprintf(&text, "%.*s%llu%s", (int)(at - spec), spec, seed, rest) < 0 ? NULL : text;
}

typedef struct {
    const char *spec; /* as it was given */
    char *text;       /* of the realization */
    wisp_bounds_method method;
    wisp_bounds bounds; /* of all, where the method has found them, */
    double seconds;     /* in so many */
} realization;

static int set_realization(tool *t, realization *of, int64_t number)
{
    free(of->text);
    of->text = with_seed(of->spec, number);
    t->opt.arg[0] = of->text ? of->text : of->spec;
    return of->text ? EXIT_FINE : tool_fail(t, "out of memory for the name of a realization");
}

/* ---- bounds ---------------------------------------------------------------------------------------- */

/* Those of a realization, which widen the others'; the chances of failure add up. */
static int widen_bounds(tool *t, wisp_bounds *all)
{
    wisp_src src = {0};
    wisp_mat *A = NULL;
    wisp_bounds b = *all;
    int rc = source_open(t, &src);
    const wisp_mat_opts mo = source_options(&t->opt, tool_type(&t->opt, src.type), (int)t->opt.width);
    const wisp_kpm_opts k = {.moments = t->opt.moments, .bounds = bounds_options(&t->opt)};
    if (!rc) rc = source_square(t, &src, "a Hamiltonian is square");
    const wisp_bounds_opts o = wisp_kpm_bounds_opts(mo.type, src.rows, &k);
    if (!rc && (wisp_mat_create(&A, t->ctx, &src, &mo) || wisp_bounds_find(&b, A, &o))) rc = tool_fail_ctx(t);
    wisp_mat_free(A);
    wisp_src_close(&src);
    if (rc) return rc;
    const bool first = !(all->halfwidth > 0);
    const double low = b.center - b.halfwidth, high = b.center + b.halfwidth;
    const double least = first ? low : fmin(low, all->center - all->halfwidth);
    const double most = first ? high : fmax(high, all->center + all->halfwidth);
    *all = (wisp_bounds){(least + most) / 2, (most - least) / 2,
                         (first ? 0 : all->failure_probability) + b.failure_probability};
    return EXIT_FINE;
}

static int find_bounds(tool *t, realization *of, wisp_bounds *all)
{
    int rc = EXIT_FINE;
    for (int64_t i = 0; i < t->opt.average && !rc; i++) {
        rc = set_realization(t, of, i);
        if (!rc && tool_step(t, "bounds", (double)i / (double)t->opt.average, 0)) rc = tool_fail_ctx(t);
        if (!rc) rc = widen_bounds(t, all);
    }
    t->opt.bounds_method = WISP_BOUNDS_GIVEN;
    t->opt.bounds[0] = all->center - all->halfwidth;
    t->opt.bounds[1] = all->center + all->halfwidth;
    return rc;
}

/* ---- the realizations ------------------------------------------------------------------------------ */

/* The moments of one more. Its vectors follow those that are there. */
static int append(tool *t, wisp_moments *m, wisp_moments *one)
{
    if (!m->mu) {
        *m = *one;
        *one = (wisp_moments){0};
        m->realizations = 1;
        return EXIT_FINE;
    }
    const size_t old = (size_t)(m->vectors * m->n), new = (size_t)(one->vectors * one->n);
    double *mu = one->n == m->n ? realloc(m->mu, (old + new) * sizeof *mu) : NULL;
    if (!mu) return tool_fail(t, "out of memory for the moments of %d realizations", m->realizations + 1);
    memcpy(mu + old, one->mu, new * sizeof *mu);
    m->mu = mu;
    m->vectors += one->vectors;
    m->seconds += one->seconds;
    m->flops += one->flops;
    m->realizations++;
    return EXIT_FINE;
}

static void tell_bounds(wisp_moments *m, const realization *of)
{
    if (of->method == WISP_BOUNDS_GIVEN) return;
    m->bounds = of->bounds;
    m->bounds_method = of->method;
    m->bounds_seconds = of->seconds;
}

/* A run that was stopped keeps those that are whole. */
static int run_all(tool *t, results *r, wisp_moments *m, realization *of,
                   int (*run)(tool *t, results *r, wisp_moments *m))
{
    const int64_t N = t->opt.average;
    int rc = EXIT_FINE;
    for (int64_t i = 0; i < N && !rc; i++) {
        wisp_moments one = {0};
        rc = set_realization(t, of, i);
        if (!rc && tool_step(t, "realizations", (double)i / (double)N, 0)) rc = EXIT_CUT;
        if (!rc) rc = run(t, r, &one);
        if (!rc && !t->opt.plan) rc = append(t, m, &one);
        wisp_moments_free(&one);
        if (t->opt.plan) return rc; /* which is of all of them */
        if (rc != EXIT_CUT) continue;
        t->opt.arg[0] = of->spec;
        m->partial = 1;
        tell_bounds(m, of);
        if (!t->opt.save && m->realizations > 0) { /* the mean of these is told */
            tool_keep(t);
            return EXIT_FINE;
        }
        return moments_stopped(t, m, N * r->path.count * r->path.at.orbitals, t->command_line);
    }
    return rc;
}

int average_run(tool *t, results *r, wisp_moments *m, int (*run)(tool *t, results *r, wisp_moments *m))
{
    realization of = {.spec = t->opt.arg[0], .method = bounds_options(&t->opt).method};
    const double start = wisp_now();
    int rc = of.method == WISP_BOUNDS_GIVEN || t->opt.plan ? EXIT_FINE : find_bounds(t, &of, &of.bounds);
    of.seconds = wisp_now() - start;
    if (!rc) rc = run_all(t, r, m, &of, run);
    t->opt.arg[0] = of.spec;
    free(of.text);
    if (rc || t->opt.plan) return rc;
    tell_bounds(m, &of);
    return tool_agree(t, wisp_moments_label(t->ctx, m, of.spec, t->command_line) ? tool_fail_ctx(t) : EXIT_FINE);
}

/* ---- evaluated ------------------------------------------------------------------------------------- */

static int64_t curves_of_each(const results *r) { return r->path.count * r->path.at.orbitals; }

wisp_status average_step(tool *t, const results *r, int64_t curve)
{
    if (curve % curves_of_each(r)) return WISP_OK;
    return wisp_ctx_step(t->ctx, "averaging", (double)curve / (double)r->curves, 0);
}

bool average_cut(tool *t, results *r, int64_t curve)
{
    const int64_t each = curves_of_each(r), whole = curve < each ? 1 : curve / each;
    if (!r->averaged || t->done || t->keeping) return false;
    tool_keep(t);
    if (wisp_ctx_rank(t->ctx) > 0) return true; /* it writes nothing, and must not end the first one */
    r->m->partial |= whole < r->m->realizations;
    r->m->realizations = (int)whole;
    r->m->vectors = r->curves = whole * each;
    return true;
}
