/* hwloc's view of the machine, which all contexts of a process share. */
#include "config.h"
#ifdef WISP_HAVE_HWLOC
#include "hwloc_once.h"
#include <pthread.h>

static hwloc_topology_t topology;

static void load(void)
{
    if (hwloc_topology_init(&topology)) {
        topology = NULL;
    } else if (hwloc_topology_load(topology)) {
        hwloc_topology_destroy(topology);
        topology = NULL;
    }
}

hwloc_topology_t wisp__hwloc(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return topology;
}
#endif
