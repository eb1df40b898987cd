/* Seeds of the disorder of several realizations, and runs of these that are taken together: each process, or machine,
   has computed some. The name of the matrix tells the seeds: seed=S of one run, which go up from it; of runs that do
   not follow each other seed=3-6+11-14. */
#include "average.h"
#include "moments.h"
#include "out/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *average_key(const char *spec, const char *key)
{
    const size_t n = strlen(key);
    for (const char *at = strchr(spec, ':'); at; at = strchr(at, ',')) {
        at++;
        if (!strncmp(at, key, n) && at[n] == '=') return at + n + 1;
    }
    return NULL;
}

/* A stretch of seeds that a name has, from *at on, which goes on behind it; false: there is no more. `all`:
   realizations, of which *at tells the first one alone if there is one stretch. */
static bool next_stretch(const char **at, int64_t all, uint64_t *first, int64_t *count)
{
    char *end;
    if (!**at || **at == ',') return false;
    *first = strtoull(*at, &end, 10);
    if (end == *at) return false;
    *count = *end == '-' ? (int64_t)(strtoull(end + 1, &end, 10) - *first) + 1 : all;
    *at = end + (*end == '+');
    return true;
}

/* Where these are told. */
static const char *seeds_of(const char *spec)
{
    const char *at = average_key(spec, "seed");
    return at ? at : "1";
}

uint64_t average_seed(const char *spec, int64_t number)
{
    const char *at = seeds_of(spec);
    uint64_t first = 0;
    for (int64_t count; next_stretch(&at, INT64_MAX, &first, &count); number -= count)
        if (number < count) return first + (uint64_t)number;
    return first + (uint64_t)number; /* no name of ours */
}

char *average_name(const char *spec, const char *seeds)
{
    const char *at = average_key(spec, "seed");
    char *text = NULL;
    if (!at) return asprintf(&text, "%s,seed=%s", spec, seeds) < 0 ? NULL : text;
    return asprintf(&text, "%.*s%s%s", (int)(at - spec), spec, seeds, at + strcspn(at, ",")) < 0 ? NULL : text;
}

const char *average_seeds(const char *spec, int64_t all, char *buf)
{
    const char *at = seeds_of(spec);
    size_t n = 0;
    uint64_t first;
    *buf = '\0';
    enum { LEAVE = 60 }; /* of two numbers, and "..." */
    for (int64_t count; next_stretch(&at, all, &first, &count); n = strlen(buf)) {
        if (n > TEXT_BAR - LEAVE) {
            snprintf(buf + n, TEXT_BAR - n, ", ...");
            break;
        }
        n += (size_t)snprintf(buf + n, TEXT_BAR - n, "%s%llu", n ? ", " : "", (unsigned long long)first);
        if (count > 1)
            snprintf(buf + n, TEXT_BAR - n, " to %llu", (unsigned long long)first + (unsigned long long)count - 1);
    }
    return buf;
}

/* ---- runs that are taken together ------------------------------------------------------------------- */

/* Whether a run has a realization that another one has. */
static bool overlap(const wisp_moments *a, const wisp_moments *b)
{
    uint64_t x, y;
    int64_t m, n;
    for (const char *i = seeds_of(a->matrix); next_stretch(&i, a->realizations, &x, &m);)
        for (const char *j = seeds_of(b->matrix); next_stretch(&j, b->realizations, &y, &n);)
            if (x < y + (uint64_t)n && y < x + (uint64_t)m) return true;
    return false;
}

/* Whether its name tells a seed for each realization. */
static bool tells_seeds(const wisp_moments *m)
{
    const uint64_t most = INT64_MAX;
    const char *at = m->matrix ? seeds_of(m->matrix) : "";
    uint64_t first;
    int64_t sum = 0;
    for (int64_t count; next_stretch(&at, m->realizations, &first, &count); sum += count)
        if (count < 1 || count > m->realizations || first > most - (uint64_t)count) return false;
    return sum == m->realizations && (!*at || *at == ',');
}

/* Random vectors of each realization, as its command has them or leaves them. */
static double vectors_of(const wisp_moments *m)
{
    char *asked = moments_value(m->command, "vectors");
    const double vectors = asked ? strtod(asked, NULL) : m->square ? 4 : 32;
    free(asked);
    return vectors;
}

/* The means become those of random vectors of one run, as wisp_moments_merge takes them together. */
static void as_random(wisp_moments *m, int64_t first_vector)
{
    m->realizations = 0, m->matrix = NULL, m->seed = 0;
    m->first_vector = first_vector;
    memset(m->mark, 0, sizeof m->mark);
}

/* Moments of rows, vectors or waves, and of which ones: moment 0 of a vector is <l|r>, whatever the disorder is. */
static const char *other_curves(tool *t, const wisp_moments *a, const wisp_moments *b)
{
    const int64_t each = a->vectors / a->realizations;
    wisp_moments x = *a, y = *b;
    as_random(&x, 0);
    as_random(&y, a->vectors);
    x.trace = y.trace = WISP_TRACE_RANDOM;
    x.rows = y.rows, x.nnz = y.nnz; /* of the last realization, which may lack other sites */
    if (wisp_moments_fit(t->ctx, &x, &y)) return tool_message(t);
    const size_t points = (size_t)(a->point_count * WISP_POINT) * sizeof *a->points;
    bool same = !a->sites == !b->sites && each == b->vectors / b->realizations && a->orbitals == b->orbitals &&
                !a->points == !b->points && a->point_count == b->point_count && a->columns == b->columns;
    same = same && (!a->points || !memcmp(a->points, b->points, points)) &&
           (!a->sites || !memcmp(a->sites, b->sites, (size_t)each * sizeof *a->sites));
    for (int64_t v = 0; v < each && same; v++) {
        const double *m = a->mu + v * a->n, *n = b->mu + v * b->n;
        same = fabs(*m - *n) <= (type_is_single(a->type) ? 1e-5 : 1e-12) * fabs(*m);
    }
    return same ? NULL : "they are of other rows, vectors or waves";
}

/* Why a run does not go with the first one; NULL: it does. */
static const char *other_run(tool *t, const wisp_moments *a, const wisp_moments *b)
{
    const char *why = NULL;
    const bool curves = a->trace != WISP_TRACE_RANDOM;
    if (!a->realizations != !b->realizations) return "one of them is of realizations of disorder, the other is not";
    if (a->trace != b->trace) return "one of them is of a trace, or of rows, and the other is not";
    if (curves && (why = other_curves(t, a, b))) return why;
    if (!tells_seeds(a) || !tells_seeds(b)) return "of one of them it is not known which realizations it has";
    char *x = average_name(a->matrix, ""), *y = average_name(b->matrix, "");
    if (!x || !y)
        why = "out of memory";
    else if (strcmp(x, y))
        why = "they are of other lattices, or of the same one with another order of its words";
    else if (curves)
        why = NULL;
    else if (a->first_vector != b->first_vector)
        why = "one of them has exact traces, the other random vectors";
    else if (a->first_vector && vectors_of(a) != vectors_of(b))
        why = "their --vectors differ";
    else if (a->first_vector && a->seed - average_seed(a->matrix, 0) != b->seed - average_seed(b->matrix, 0))
        why = "their --seed differs";
    free(x), free(y);
    return why;
}

int average_fit(tool *t, wisp_moments *runs, int count, char **name)
{
    int64_t vectors = 0;
    for (int i = 1; i < count; i++) {
        const char *why = other_run(t, &runs[0], &runs[i]);
        for (int j = 0; j < i && !why; j++)
            if (overlap(&runs[j], &runs[i])) why = "both have some realization, which would count twice";
        if (why)
            return tool_fail(t, "%s and %s cannot be taken together: %s", t->opt.from_list[0], t->opt.from_list[i],
                             why);
    }
    char *seeds = NULL;
    size_t size;
    FILE *f = open_memstream(&seeds, &size);
    uint64_t from = 0, first;
    int64_t there = 0, n; /* of the stretch that is not written yet */
    for (int i = 0; i < count && f; i++)
        for (const char *at = seeds_of(runs[i].matrix); next_stretch(&at, runs[i].realizations, &first, &n);) {
            if (there && first == from + (uint64_t)there) {
                there += n;
                continue;
            }
            if (there)
                fprintf(f, "%llu-%llu+", (unsigned long long)from,
                        (unsigned long long)from + (unsigned long long)there - 1);
            from = first, there = n;
        }
    if (f) fprintf(f, "%llu-%llu", (unsigned long long)from, (unsigned long long)from + (unsigned long long)there - 1);
    *name = f && !fclose(f) ? average_name(runs[0].matrix, seeds) : NULL;
    free(seeds);
    if (!*name) return tool_fail(t, "out of memory for the name of %d runs", count);
    for (int i = 0; i < count; i++) {
        as_random(&runs[i], vectors);
        vectors += runs[i].vectors;
    }
    return EXIT_FINE;
}
