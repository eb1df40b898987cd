/* The processing units and the number of threads for a team. */
#ifndef WISP_CPUS_H
#define WISP_CPUS_H
#include "../base/base.h"

/* All processing units that this process may use; how many. */
int wisp__process_cpus(wisp__units *set);
/* A set of units gets those of all places of OpenMP, if it has bound the calling thread to one of them. */
void wisp__openmp_units(wisp__units *set);
/* They in the order in which threads take them: one of each core first; how many. */
int wisp__cpu_order(const wisp__units *allowed, int *cpu, int max, bool *one_node);
/* They in an order in which neighbours have most in common; how many. */
int wisp__cpus_side_by_side(const wisp__units *allowed, int *cpu, int max);
/* The cores on which units are, each by its lowest unit. */
void wisp__cores_of(const wisp__units *units, wisp__units *cores);
/* The lowest of the units that share a unit's last cache; itself, where the system does not tell. */
int wisp__last_cache(int unit);
/* What the options ask for, else the environment, else one for each of the cpus. */
wisp_status wisp__threads_wanted(wisp_ctx *ctx, int cpus, int *threads);
/* False if OMP_PROC_BIND=false leaves it to the system where threads run, or the system does not ask. */
bool wisp__may_pin(void);
#endif
