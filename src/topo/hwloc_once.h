/* hwloc's view of the machine, for the files of this room that build with hwloc. */
#ifndef WISP_HWLOC_ONCE_H
#define WISP_HWLOC_ONCE_H
#include <hwloc.h>

/* Loaded once for the process, for it is many small files and plugins; to be read alone. NULL if that failed. */
hwloc_topology_t wisp__hwloc(void);
#endif
