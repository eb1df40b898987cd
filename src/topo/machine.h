/* The topology of the machine: processor, cores, caches, memory. */
#ifndef WISP_MACHINE_H
#define WISP_MACHINE_H
#include "../base/base.h"

/* The processor's name, counts and sizes; what is not known is 0 (counts: 1). Looked up once for a context: it is many
   small files. */
const wisp_machine *wisp__topology(wisp_ctx *ctx);
/* Takes the topology, and rates, from the file $WISP_MACHINE, if it is set; for tests. Threads stay on this machine. */
wisp_status wisp__simulate(wisp_ctx *ctx);
/* Bytes of the memory of this machine. */
int64_t wisp__memory_installed(void);
/* How many caches of this level so many threads have together, one on each core as long as there are cores. */
int wisp__cache_count(const wisp_machine *m, wisp_level level, int threads);
/* Whether figures of it can't be true, and why, in words. Those that are 0 are not known. */
bool wisp__machine_doubt(const wisp_machine *m, char *why, size_t size);
#endif
