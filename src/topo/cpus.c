/* The processing units that a team may take, and the number of threads, from options and environment. */
#include "cpus.h"
#include "config.h"
#include "place.h"
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>
#ifdef WISP_HAVE_HWLOC
#include "hwloc_once.h"
#endif

/* What any of its threads may, for this one may be pinned, in a callback. */
int wisp__process_cpus(wisp__units *set)
{
    wisp__place_process(set);
    wisp__openmp_units(set);
    if (wisp__units_count(set) == 0) wisp__units_add(set, 0);
    return WISP__MAX(1, wisp__units_count(set));
}

int wisp__cpu_order(const wisp__units *allowed, int *cpu, int max, bool *one_node)
{
    int n = 0;
    *one_node = false;
#ifdef WISP_HAVE_HWLOC
    hwloc_topology_t topology = wisp__hwloc();
    if (topology) {
        *one_node = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) == 1;
        int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        for (unsigned level = 0; level < 8; level++)
            for (int i = 0; i < cores; i++) {
                hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)i);
                hwloc_obj_t pu = hwloc_get_obj_inside_cpuset_by_type(topology, core->cpuset, HWLOC_OBJ_PU, level);
                if (pu && wisp__units_has(allowed, (int)pu->os_index) && n < max) cpu[n++] = (int)pu->os_index;
            }
    }
    if (n > 0) return n;
#endif
    *one_node = !access("/sys/devices/system/node/node0", F_OK) && access("/sys/devices/system/node/node1", F_OK);
    for (int i = 0; i < WISP__UNITS && n < max; i++)
        if (wisp__units_has(allowed, i)) cpu[n++] = i;
    return n;
}

int wisp__cpus_side_by_side(const wisp__units *allowed, int *cpu, int max)
{
    int n = 0;
#ifdef WISP_HAVE_HWLOC
    hwloc_topology_t topology = wisp__hwloc();
    hwloc_obj_t pu = NULL;
    while (topology && (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)))
        if (wisp__units_has(allowed, (int)pu->os_index) && n < max) cpu[n++] = (int)pu->os_index;
    if (n > 0) return n;
#endif
    for (int i = 0; i < WISP__UNITS && n < max; i++)
        if (wisp__units_has(allowed, i)) cpu[n++] = i;
    return n;
}

/* More than machines have, and as many as a process may well start. */
enum { MOST_THREADS = 4096 };

/* The first number of a file of a unit in /sys; false if there is none. */
static bool first_number(int unit, const char *name, int i, int *number)
{
    char path[96];
    const int n = snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/", unit);
    snprintf(path + n, sizeof path - (size_t)n, name, i);
    FILE *f = fopen(path, "r");
    const bool found = f && fscanf(f, "%d", number) == 1;
    if (f) fclose(f);
    return found;
}

void wisp__cores_of(const wisp__units *units, wisp__units *cores)
{
    *cores = (wisp__units){0};
#ifdef WISP_HAVE_HWLOC
    hwloc_topology_t topology = wisp__hwloc();
    hwloc_obj_t core = NULL;
    while (topology && (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)))
        for (int i = hwloc_bitmap_first(core->cpuset); i >= 0; i = hwloc_bitmap_next(core->cpuset, i))
            if (wisp__units_has(units, i)) wisp__units_add(cores, hwloc_bitmap_first(core->cpuset));
    if (wisp__units_count(cores) > 0) return;
#endif
    for (int i = 0, lowest; i < WISP__UNITS; i++) {
        if (!wisp__units_has(units, i)) continue;
        if (!first_number(i, "topology/thread_siblings_list", 0, &lowest)) lowest = i;
        wisp__units_add(cores, lowest);
    }
}

int wisp__last_cache(int unit)
{
    enum { MOST = 8 };
    int lowest = unit;
    for (int i = MOST; i >= 0; i--)
        if (first_number(unit, "cache/index%d/shared_cpu_list", i, &lowest)) break;
    return lowest;
}

/* The first number above 0: of the options, then of the environment. */
wisp_status wisp__threads_wanted(wisp_ctx *ctx, int cpus, int *threads)
{
    static const char *const variable[] = {"OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"};
    long wanted = ctx->opts.threads;
    const char *env, *from = "";
    if (wanted < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.threads is %ld; 0 is for as many as there are cores", wanted);
    for (size_t i = 0; i < sizeof variable / sizeof *variable && wanted <= 0; i++)
        if ((env = getenv(variable[i]))) wanted = strtol(env, NULL, 10), from = variable[i];
    if (wanted > MOST_THREADS)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s%s%ld threads are too many; take at most %d, or one for each core",
                              from, *from ? ": " : "", wanted, MOST_THREADS);
    *threads = wanted > 0 ? (int)wanted : WISP__MAX(1, cpus / ctx->ranks_here);
    return WISP_OK;
}

bool wisp__may_pin(void)
{
    const char *bind = getenv("OMP_PROC_BIND");
    if (!wisp__place_can()) return false;
    return !bind || strcasecmp(bind, "false");
}
