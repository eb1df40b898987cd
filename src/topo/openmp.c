/* GNU's OpenMP binds a program's first thread to one place as it is loaded, before main, where OMP_PROC_BIND or
   OMP_PLACES asks for places. All of these are of the units that the process began with: taskset and launchers said so
   before. */
#include "../late/late.h"
#include "cpus.h"
#include "place.h"
#include <stdlib.h>

typedef struct {
    int (*places)(void);
    int (*units)(int place);
    void (*numbers)(int place, int *unit);
} calls;

static wisp__units units_of(const calls *c, int place)
{
    const int n = c->units(place);
    int *unit = n > 0 ? malloc((size_t)n * sizeof *unit) : NULL;
    wisp__units set = {0};
    if (unit) c->numbers(place, unit);
    for (int i = 0; unit && i < n; i++) wisp__units_add(&set, unit[i]);
    free(unit);
    return set;
}

void wisp__openmp_units(wisp__units *set)
{
    /* To ask for these binds no thread. */
    static const char *const name[] = {"omp_get_num_places", "omp_get_place_num_procs", "omp_get_place_proc_ids"};
    calls c;
    wisp__units own, all = {0};
    bool bound = false;
    if (!wisp__late_loaded("libgomp.so.1", name, sizeof name / sizeof *name, &c) || !wisp__place_own(&own)) return;
    for (int i = 0; i < c.places(); i++) {
        const wisp__units place = units_of(&c, i);
        bound |= wisp__units_equal(&place, &own);
        wisp__units_join(&all, &place);
    }
    if (bound) wisp__units_join(set, &all);
}
