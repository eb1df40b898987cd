/* A run that goes on from a kept one, see more.h. The recursion's vectors are not kept, so that more moments of the
   same vectors take a run from the start; but more vectors of as many moments take no more than theirs. */
#include "more.h"
#include "moments.h"
#include "out/out.h"
#include "out/text.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int more_check(tool *t)
{
    static const char *const kept[] = {"seed", "first-vector", "trace", "bounds", "sites"};
    static const char *const without[] = {"average", "operator", "where", "start", "left", "left-sites", "cool"};
    const options *o = &t->opt;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (option_seen(o, kept[i]))
            return tool_usage(t, "--%s is that of the run in --from, which goes on with MATRIX", kept[i]);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (option_seen(o, without[i]))
            return tool_usage(t, "a run of --%s can't go on; leave --from away, or MATRIX", without[i]);
    if (o->froms > 1) return tool_usage(t, "MATRIX goes on with one run, so it goes with one --from");
    return EXIT_FINE;
}

/* Whether a run can go on is seen by what is kept of it. */
static int check_kept(tool *t, const wisp_moments *m)
{
    const bool sigma = t->cmd->bit == CMD_SIGMA, rows = m->trace == WISP_TRACE_SITES;
    const char *file = t->opt.from, *why = NULL;
    if (!m->square != !sigma)
        why = sigma ? "holds no moments of two velocities" : "holds moments of two velocities";
    else if (m->realizations > 0)
        why = "is of several realizations of disorder (--average), and can't go on";
    else if (m->trace == WISP_TRACE_GIVEN || (m->imag && !sigma))
        why = "is of vectors, an operator or chosen rows on the left, and can't go on";
    else if (m->first_vector < 0)
        why = "is of several runs, and one alone can go on: give the file of one of them";
    else if (!sigma && rows != !!(t->cmd->bit & (CMD_LDOS | CMD_GREEN)))
        why = rows ? "is of single rows (wisp ldos)" : "is of no single rows (wisp dos)";
    return why ? tool_fail(t, "%s %s", file, why) : EXIT_FINE;
}

static int64_t moments_of(const wisp_moments *m) { return m->square ? m->square : m->n; }

/* How many moments and vectors there shall be in the end. */
static int check_more(tool *t, const wisp_moments *m)
{
    options *o = &t->opt;
    const int64_t n = moments_of(m);
    const bool random = m->trace == WISP_TRACE_RANDOM;
    if (o->resolution > 0) o->moments = wisp_moments_for(m->bounds.halfwidth, o->resolution);
    o->resolution = 0;
    if (o->vectors && !random)
        return tool_usage(t, "--vectors: those of %s are not random, and there are no others", o->from);
    if (!o->moments) o->moments = n;
    if (!o->vectors && random) o->vectors = m->vectors;
    if (o->moments >= n && (!random || o->vectors >= m->vectors) && (o->moments > n || o->vectors > m->vectors))
        return EXIT_FINE;
    if (random)
        return tool_usage(t,
                          "%s has %lld moments of %lld vectors; ask for more --moments or --vectors, or leave MATRIX "
                          "away",
                          o->from, (long long)n, (long long)m->vectors);
    return tool_usage(t, "%s has %lld moments; ask for more --moments, or leave MATRIX away", o->from, (long long)n);
}

int more_begin(tool *t, more_run *more)
{
    options *o = &t->opt;
    wisp_moments *m = &more->kept;
    if (!more_asked(o)) return EXIT_FINE;
    int rc = wisp_moments_load(t->ctx, m, o->from) ? tool_fail_ctx(t) : check_kept(t, m);
    if (!rc) rc = check_more(t, m);
    if (rc) return rc;
    more->file = o->from;
    more->added = o->moments == moments_of(m);
    o->from = NULL, o->froms = 0;
    o->seed = m->seed;
    o->first_vector = m->first_vector;
    o->trace = m->trace == WISP_TRACE_EXACT ? WISP_TRACE_EXACT : WISP_TRACE_RANDOM;
    o->bounds_method = WISP_BOUNDS_GIVEN;
    o->bounds[0] = m->bounds.center - m->bounds.halfwidth;
    o->bounds[1] = m->bounds.center + m->bounds.halfwidth;
    if (!option_seen(o, "precision")) {
        o->takes_precision = true;
        o->precision = type_is_single(m->type) ? PRECISION_SINGLE : PRECISION_DOUBLE;
    }
    if (more->added) {
        o->first_vector += m->vectors;
        o->vectors -= m->vectors;
    }
    if (m->trace != WISP_TRACE_SITES) return EXIT_FINE;
    o->sites = malloc((size_t)m->vectors * sizeof *o->sites);
    if (!o->sites) return tool_fail(t, "out of memory for %lld rows", (long long)m->vectors);
    memcpy(o->sites, m->sites, (size_t)m->vectors * sizeof *o->sites);
    o->site_count = m->vectors;
    return EXIT_FINE;
}

/* By how much one of the moments that are kept differs from what was computed now, over the vector's largest; rounding
   alone makes no more than `limit`. Which one: *v, *k. */
static bool same_numbers(const wisp_moments *m, const wisp_moments *kept, int64_t *v, int64_t *k)
{
    /* Left vectors may be in single precision though the others are not. */
    const double eps = type_is_single(kept->type) || kept->square ? FLT_EPSILON : DBL_EPSILON;
    const int64_t columns = moments_of(kept);
    for (*v = 0; *v < kept->vectors; ++*v) {
        const double *a = kept->mu + *v * kept->n, *b = m->mu + *v * m->n;
        double most = 0;
        for (*k = 0; *k < kept->n; ++*k) most = fmax(most, fabs(a[*k]));
        for (*k = 0; *k < kept->n; ++*k) {
            const int64_t there = *k / columns * moments_of(m) + *k % columns;
            if (!(fabs(a[*k] - b[there]) <= 64 * eps * (double)columns * most)) return false;
        }
    }
    return true;
}

/* Whether all moments that are kept were computed again. */
static int check_same(tool *t, const more_run *more, const wisp_moments *m)
{
    const wisp_moments *kept = &more->kept;
    int64_t v = 0, k = 0;
    if (kept->trace == WISP_TRACE_RANDOM) {
        /* Runs fit which could be taken together: other vectors, as many moments. */
        wisp_moments other = *m;
        other.n = kept->n, other.square = kept->square, other.seed = ~kept->seed;
        if (wisp_moments_fit(t->ctx, kept, &other))
            return tool_fail(t, "MATRIX is not that of %s: %s", more->file, tool_message(t));
    }
    if (kept->rows == m->rows && same_numbers(m, kept, &v, &k)) return EXIT_FINE;
    if (kept->rows != m->rows)
        return tool_fail(t, "MATRIX is not that of %s: it has %lld rows, not %lld", more->file, (long long)m->rows,
                         (long long)kept->rows);
    return tool_fail(t, "MATRIX is not that of %s: moment %lld of vector %lld, which is kept there, is another one",
                     more->file, (long long)k, (long long)v);
}

int more_end(tool *t, const more_run *more, wisp_moments *m)
{
    if (!more->file) return EXIT_FINE;
    int rc = EXIT_FINE;
    if (more->added) {
        const wisp_moments runs[2] = {more->kept, *m};
        wisp_moments all;
        if (wisp_moments_merge(t->ctx, &all, runs, 2))
            return tool_fail(t, "MATRIX is not that of %s: %s", more->file, tool_message(t));
        wisp_moments_free(m);
        *m = all;
    } else {
        rc = check_same(t, more, m);
    }
    m->bounds = more->kept.bounds;
    m->bounds_method = more->kept.bounds_method;
    return rc;
}

void more_line(const more_run *more)
{
    const wisp_moments *m = &more->kept;
    char a[TEXT], b[TEXT], n[TEXT], of[TEXT], seconds[TEXT];
    if (!more->file) return;
    snprintf(b, sizeof b, "%s vector%s", text_count(n, m->vectors), m->vectors == 1 ? "" : "s");
    snprintf(of, sizeof of, "whose values were kept; they took %s", text_seconds(seconds, m->seconds));
    text_line("adds to", "%s   (%s moments%s%s, %s)", more->file, text_count(a, moments_of(m)),
              m->trace == WISP_TRACE_EXACT ? "" : " of ", m->trace == WISP_TRACE_EXACT ? "" : b,
              more->added ? of : "which came out the same");
}

void more_times(const more_run *more, const wisp_moments *m, double total, double assembly, double evaluation)
{
    const wisp_moments none = {0}, *before = more->file && more->added ? &more->kept : &none;
    const double seconds = m->seconds - before->seconds;
    char b[5][TEXT];
    text_line("time", "%s   (assembly %s, bounds %s, moments %s, evaluation %s)", text_seconds(b[0], total),
              text_seconds(b[1], assembly), text_seconds(b[2], m->bounds_seconds - before->bounds_seconds),
              text_seconds(b[3], seconds), text_seconds(b[4], evaluation));
    text_rate(m->flops - before->flops, seconds);
}

void more_free(more_run *more) { wisp_moments_free(&more->kept); }
