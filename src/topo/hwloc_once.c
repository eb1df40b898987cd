/* hwloc's view of the machine, which all contexts of a process share. */
#include "config.h"
#ifdef WISP_HAVE_HWLOC
#include "hwloc_once.h"
#include <pthread.h>

static hwloc_topology_t topology;

static void discover(unsigned long flags)
{
    if (hwloc_topology_init(&topology)) {
        topology = NULL;
    } else if (hwloc_topology_set_flags(topology, flags) || hwloc_topology_load(topology)) {
        hwloc_topology_destroy(topology);
        topology = NULL;
    }
}

/* The thread does not go to each core to ask that for its caches, where it may have to wait for others: Linux tells
   them. Where it does not, cores are asked. */
static void load(void)
{
#if HWLOC_API_VERSION >= 0x00020500
    discover(HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
    if (topology && hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L1CACHE) > 0) return;
    if (topology) hwloc_topology_destroy(topology);
#endif
    discover(0);
}

hwloc_topology_t wisp__hwloc(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return topology;
}
#endif
