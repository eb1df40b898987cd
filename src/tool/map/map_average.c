/* wisp map --average: the densities of each realization are one sample; bars are over these. */
#include "map.h"
#include <math.h>

typedef struct {
    map_run *all;
    int (*run)(tool *t, map_run *one, wisp_bounds *found);
} averaging;

static int bounds_of_one(tool *t, void *arg, wisp_bounds *b)
{
    map_run one = {0};
    const int rc = ((averaging *)arg)->run(t, &one, b);
    map_free(t, &one);
    return rc;
}

/* value becomes the mean of n samples, and square the sum of their squared distances from it: one realization after the
   other, for maps of all would take as many times the memory. */
static void add(map_run *all, const map_run *one, int64_t n)
{
    for (int64_t i = 0; i < all->energies * all->sites; i++) {
        const double d = one->value[i] - all->value[i];
        all->value[i] += d / (double)n;
        all->square[i] += d * (one->value[i] - all->value[i]);
    }
}

static int add_one(tool *t, void *arg)
{
    averaging *of = arg;
    map_run one = {0}, *all = of->all;
    const int rc = of->run(t, &one, NULL);
    if (rc || t->opt.plan) {
        map_free(t, &one);
        return rc;
    }
    if (all->value) {
        all->seconds += one.seconds;
        add(all, &one, ++all->average.done);
        map_free(t, &one);
        return EXIT_FINE;
    }
    *all = one;
    all->average.done = 1;
    for (int64_t i = 0; i < all->energies * all->sites; i++) all->square[i] = 0;
    return EXIT_FINE;
}

int map_average(tool *t, map_run *r, int (*run)(tool *t, map_run *one, wisp_bounds *found))
{
    averaging of = {r, run};
    average a;
    const int rc = average_run(t, &a, &(average_of){&of, bounds_of_one, add_one});
    if ((rc && rc != EXIT_CUT) || t->opt.plan) return rc;
    if (!a.done) return tool_fail(t, "stopped by %s; nothing was kept", stop_reason());
    r->matrix = t->opt.arg[0];
    a.vectors = r->exact ? 0 : r->done;
    a.trace = r->exact ? WISP_TRACE_EXACT : WISP_TRACE_RANDOM;
    r->average = a;
    if (a.method != WISP_BOUNDS_GIVEN) r->bounds = a.bounds, r->method = a.method, r->bounds_seconds = a.seconds;
    if ((r->cut = rc == EXIT_CUT)) tool_keep(t);
    const double N = (double)a.done;
    const int64_t all = r->energies * r->sites;
    for (int64_t i = 0; i < all; i++) r->square[i] = a.done > 1 ? sqrt(r->square[i] / (N * (N - 1))) : (double)NAN;
    average_bars(a.done, all, r->eval.kernel != WISP_DIRICHLET, r->value, r->square, r->low, r->high);
    return EXIT_FINE;
}
