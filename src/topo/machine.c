/* The topology of the machine, by hwloc or from /proc and /sys; and where the threads of a context are. */
#include "machine.h"
#include "config.h"
#include "place.h"
#include "team.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WISP_HAVE_HWLOC
#include "hwloc_once.h"
#endif

static void find_name(char *name, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value) continue;
        for (value++; isspace((unsigned char)*value);) value++;
        snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (f) fclose(f);
}

#ifdef WISP_HAVE_HWLOC
static int count_of(hwloc_topology_t t, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(t, type);
    return n > 0 ? n : 0;
}

static bool find_parts(wisp_machine *m)
{
    static const hwloc_obj_type_t cache[WISP_MEMORY] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE};
    hwloc_topology_t t = wisp__hwloc();
    if (!t) return false;
    m->packages = count_of(t, HWLOC_OBJ_PACKAGE);
    m->nodes = count_of(t, HWLOC_OBJ_NUMANODE);
    m->cores = count_of(t, HWLOC_OBJ_CORE);
    m->cpus = count_of(t, HWLOC_OBJ_PU);
    for (int l = 0; l < WISP_MEMORY; l++) {
        hwloc_obj_t one = hwloc_get_obj_by_type(t, cache[l], 0);
        if (!one) continue;
        m->cache_bytes[l] = (int64_t)one->attr->cache.size;
        m->cache_cores[l] = hwloc_get_nbobjs_inside_cpuset_by_type(t, one->cpuset, HWLOC_OBJ_CORE);
    }
    return true;
}
#else
/* The first line of a file of /sys; false if there is none. */
static bool sys_line(char *line, int size, const char *format, int i, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, format, i, name);
    FILE *f = fopen(path, "r");
    bool ok = f && fgets(line, size, f);
    if (f) fclose(f);
    return ok;
}

/* Numbers in a list such as 0-3,8. */
static int list_length(const char *list)
{
    int n = 0;
    while (isdigit((unsigned char)*list)) {
        char *end;
        long a = strtol(list, &end, 10), b = *end == '-' ? strtol(end + 1, &end, 10) : a;
        n += (int)(b - a + 1);
        list = *end == ',' ? end + 1 : end;
    }
    return n;
}

static bool find_parts(wisp_machine *m)
{
    char line[256];
    int per_core = 1;
    if (sys_line(line, sizeof line, "/sys/devices/system/cpu/cpu%d/topology/%s", 0, "thread_siblings_list"))
        per_core = WISP__MAX(1, list_length(line));
    m->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    m->cores = WISP__MAX(1, m->cpus / per_core);
    for (int i = 0; i < m->cpus; i++)
        if (sys_line(line, sizeof line, "/sys/devices/system/cpu/cpu%d/topology/%s", i, "physical_package_id"))
            m->packages = WISP__MAX(m->packages, atoi(line) + 1);
    while (sys_line(line, sizeof line, "/sys/devices/system/node/node%d/%s", m->nodes, "cpulist")) m->nodes++;
    for (int i = 0; i < 8; i++) {
        const char *index = "/sys/devices/system/cpu/cpu0/cache/index%d/%s";
        if (!sys_line(line, sizeof line, index, i, "type") || line[0] == 'I') continue;
        int l = sys_line(line, sizeof line, index, i, "level") ? atoi(line) - 1 : -1;
        if (l < 0 || l >= WISP_MEMORY || !sys_line(line, sizeof line, index, i, "size")) continue;
        m->cache_bytes[l] = atoll(line) * (strchr(line, 'M') ? 1 << 20 : 1 << 10);
        if (sys_line(line, sizeof line, index, i, "shared_cpu_list"))
            m->cache_cores[l] = WISP__MAX(1, list_length(line) / per_core);
    }
    return true;
}
#endif

int64_t wisp__memory_installed(void) { return (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE); }

static void find_topology(wisp_machine *m)
{
    find_name(m->cpu, sizeof m->cpu);
    m->memory_bytes = wisp__memory_installed();
    if (!find_parts(m)) m->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    m->packages = WISP__MAX(m->packages, 1);
    m->nodes = WISP__MAX(m->nodes, 1);
    m->cpus = WISP__MAX(m->cpus, 1);
    m->cores = m->cores > 0 ? m->cores : m->cpus;
    for (int l = 0; l < WISP_MEMORY; l++)
        if (m->cache_bytes[l] > 0) m->cache_cores[l] = WISP__MAX(m->cache_cores[l], 1);
}

const wisp_machine *wisp__topology(wisp_ctx *ctx)
{
    if (!atomic_load(&ctx->topology_known)) {
        pthread_mutex_lock(&ctx->lock);
        if (!atomic_load(&ctx->topology_known)) find_topology(&ctx->topology);
        atomic_store(&ctx->topology_known, true);
        pthread_mutex_unlock(&ctx->lock);
    }
    return &ctx->topology;
}

int wisp__cache_count(const wisp_machine *m, wisp_level level, int threads)
{
    const int sharing = WISP__MAX(m->cache_cores[level], 1), cores = WISP__MIN(threads, WISP__MAX(m->cores, 1));
    return (cores + sharing - 1) / sharing;
}

static void place_thread(void *arg, int thread, int threads)
{
    int *cpu = arg, here = wisp__place_here();
    wisp__units set;
    (void)threads;
    bool fixed = wisp__place_own(&set) && wisp__units_count(&set) == 1;
    cpu[thread] = fixed ? here : -1 - here;
}

wisp_status wisp_ctx_placement(wisp_ctx *ctx, int *cpu)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, cpu);
    for (int i = 0; i < ctx->threads; i++) cpu[i] = -1;
    wisp__team_run_each(ctx->team, place_thread, cpu);
    return WISP_OK;
}
