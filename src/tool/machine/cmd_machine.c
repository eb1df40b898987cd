/* wisp machine: the topology of this machine, the processors of the threads, and measured ceilings, which are kept. */
#include "machine.h"
#include "../out/out.h"
#include "../out/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const machine_stream[WISP_STREAMS] = {"load", "copy", "copy_past", "triad", "triad_past", "update"};

int machine_measure(tool *t, wisp_machine *m, gemm_rates *g, unsigned what)
{
    if (wisp_machine_measure(t->ctx, m, what)) return tool_fail_ctx(t);
    *g = (gemm_rates){.coretype = "default"};
    if (!*m->device) gemm_measure(t, g, m->fma_gflops[1][1]);
    return EXIT_FINE;
}

/* All that is kept. Kernels twice, for what disturbs them once may be over then. */
static int measure_all(tool *t, wisp_machine *m, gemm_rates *g)
{
    const unsigned ceilings =
        WISP_MEASURE_MEMORY | WISP_MEASURE_CACHES | WISP_MEASURE_KEPT | WISP_MEASURE_EXCHANGE | WISP_MEASURE_FMA;
    if (wisp_machine_measure(t->ctx, m, ceilings) || wisp_machine_kernels(t->ctx, m)) return tool_fail_ctx(t);
    *g = (gemm_rates){.coretype = "default"};
    if (*m->device) return EXIT_FINE;
    gemm_measure(t, g, m->fma_gflops[1][1]);
    return wisp_machine_kernels(t->ctx, m) ? tool_fail_ctx(t) : EXIT_FINE;
}

static json_t *measured(double v) { return v > 0 ? json_number(v) : json_null(); }
static json_t *pair(const double v[2]) { return json_pack("[o, o]", measured(v[0]), measured(v[1])); }

json_t *machine_json(const wisp_machine *m, const gemm_rates *g)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    json_t *caches = json_array(), *bandwidth = json_object();
    for (int l = 0; l < WISP_MEMORY; l++)
        if (m->cache_bytes[l] > 0)
            json_array_append_new(caches, JSON_NEW(J("level", wisp_level_name(l)), J("bytes", m->cache_bytes[l]),
                                                   J("cores", m->cache_cores[l])));
    for (int l = WISP_LEVELS - 1; l >= 0; l--) {
        json_t *level = json_object();
        for (int s = 0; s < WISP_STREAMS; s++)
            if (m->gbs[s][l][1] > 0) JSON_PUT(level, J(machine_stream[s], pair(m->gbs[s][l])));
        JSON_PUT(bandwidth, J(wisp_level_name(l), level));
    }
    return JSON_NEW(
        J("version", wisp_version()), J("host", host), J("cpu", m->cpu), J("isa", m->isa), J("threads", m->threads),
        J("packages", m->packages), J("nodes", m->nodes), J("cores", m->cores), J("cpus", m->cpus),
        J("memory_bytes", m->memory_bytes), J("caches", caches),
        J_IF(m->kept_bytes > 0, "cache_kept_bytes", m->kept_bytes), J("exchange_gbs", measured(m->exchange_gbs)),
        J("load_gbs", measured(m->gbs[WISP_LOAD][WISP_MEMORY][1])), J("bandwidth_gbs", bandwidth),
        J("fma_gflops", JSON_NEW(J("single", pair(m->fma_gflops[0])), J("double", pair(m->fma_gflops[1])))),
        J("dgemm_gflops", measured(g->dgemm)), J("zgemm_gflops", measured(g->zgemm)), J("gemm_coretype", g->coretype),
        J_MAYBE(m->kernel_ns[0][0][0][0] > 0, "kernel_ns", kernels_json(m)), J_MAYBE(*m->device, "device", m->device),
        J_MAYBE(*m->device, "launch_seconds", measured(m->launch_seconds)),
        J_MAYBE(*m->device, "round_trip_seconds", measured(m->round_trip_seconds)));
}

/* ---- what other commands take of it ----------------------------------------------------------- */

int machine_cache(tool *t, int64_t asked, int64_t *budget)
{
    wisp_machine m;
    t->machine_unknown = !machine_kept(t, &m);
    return machine_budget(t, &m, asked, budget);
}

int machine_budget(tool *t, const wisp_machine *m, int64_t asked, int64_t *budget)
{
    *budget = asked;
    if (asked >= 0) return EXIT_FINE;
    const int level = m->cache_bytes[WISP_L3] > 0 ? WISP_L3 : WISP_L2, sharing = m->cache_cores[level];
    const int caches = sharing > 0 ? (m->threads + sharing - 1) / sharing : 0; /* at least so many are used */
    *budget = (int64_t)(-1e-5 * (double)asked * (double)m->cache_bytes[level] * caches);
    return *budget > 0 ? EXIT_FINE
                       : tool_fail(t, "the size of the last cache is not known; give --cache-budget in bytes");
}

int64_t machine_counted(tool *t, int64_t budget) { return budget ? budget : wisp_ctx_cache(t->ctx, NULL); }

/* ---- the tables -------------------------------------------------------------------------------- */

static void print_rate(double v) { text_number(9, NULL, "%.1f", v > 0 ? v : NAN); }
static void print_number(const json_t *v) { print_rate(json_number_value(v)); }

static void print_topology(const json_t *o)
{
    char b[TEXT];
    size_t i;
    json_t *c;
    text_line("processor", "%s", json_string_value(json_object_get(o, "cpu")));
    long long n[4];
    static const char *const key[] = {"packages", "cores", "cpus", "nodes"};
    for (int k = 0; k < 4; k++) n[k] = json_integer_value(json_object_get(o, key[k]));
    text_line("cores", "%lld in %lld package%s, %lld hardware threads, %lld memory node%s", n[1], n[0],
              n[0] == 1 ? "" : "s", n[2], n[3], n[3] == 1 ? "" : "s");
    json_array_foreach(json_object_get(o, "caches"), i, c)
    {
        int cores = (int)json_integer_value(json_object_get(c, "cores"));
        text_line(json_string_value(json_object_get(c, "level")), "%lld KiB for %d core%s",
                  json_integer_value(json_object_get(c, "bytes")) / 1024, cores, cores == 1 ? "" : "s");
    }
    json_t *cache = json_object_get(o, "cache_kept_bytes");
    const char *measured = json_string_value(json_object_get(o, "measured"));
    if (json_is_integer(cache))
        text_line("cache", "%s of the last one stay for the threads in use: the budget of interleaved steps",
                  text_bytes(b, json_number_value(cache)));
    text_line("memory", "%s", text_bytes(b, json_number_value(json_object_get(o, "memory_bytes"))));
    if (measured) text_line("measured", "%.10s", measured);
}

static void print_placement(const json_t *o)
{
    size_t i;
    json_t *cpu;
    printf("%-12s%lld, on processors", "threads", json_integer_value(json_object_get(o, "threads")));
    json_array_foreach(json_object_get(o, "placement"), i, cpu) printf(" %lld", json_integer_value(cpu));
    puts(json_is_true(json_object_get(o, "pinned")) ? ", each kept there" : ", free to move");
    text_line("kernels", "%s", json_string_value(json_object_get(o, "isa")));
}

static void print_ceilings(const json_t *o)
{
    static const char *const heads[WISP_STREAMS] = {"load",  "copy",        "copy, past caches",
                                                    "triad", "triad, past", "update"};
    json_t *bandwidth = json_object_get(o, "bandwidth_gbs");
    printf("\n%-20s", "GB/s, 1 thread, all");
    for (int l = WISP_LEVELS - 1; l >= 0; l--) printf("  %20s", wisp_level_name(l));
    putchar('\n');
    for (int s = 0; s < WISP_STREAMS; s++) {
        printf("%-20s", heads[s]);
        for (int l = WISP_LEVELS - 1; l >= 0; l--) {
            json_t *v = json_object_get(json_object_get(bandwidth, wisp_level_name(l)), machine_stream[s]);
            for (size_t k = 0; k < 2; k++) print_number(json_array_get(v, k));
        }
        putchar('\n');
    }
    printf("%-20s  %9s", "from other threads", "");
    print_number(json_object_get(o, "exchange_gbs"));
    printf("   (what another one has just written)\n\n%-20s  %20s\n", "Gflop/s, 1 thread, all", "");
    json_t *fma = json_object_get(o, "fma_gflops");
    for (int p = 1; p >= 0; p--) {
        printf("multiply-add, %s", p ? "double" : "single");
        json_t *v = json_object_get(fma, p ? "double" : "single");
        for (size_t k = 0; k < 2; k++) print_number(json_array_get(v, k));
        putchar('\n');
    }
    for (int p = 0; p < 2; p++) {
        printf("%-20s  %9s", p ? "ZGEMM" : "DGEMM", "");
        print_number(json_object_get(o, p ? "zgemm_gflops" : "dgemm_gflops"));
        printf("   (OPENBLAS_CORETYPE: %s)\n", json_string_value(json_object_get(o, "gemm_coretype")));
    }
}

void machine_device_table(const wisp_machine *m)
{
    printf("%-20s", "GB/s");
    text_cell(9, "memory", NULL);
    text_cell(9, "L2", NULL);
    putchar('\n');
    for (int s = 0; s < WISP_STREAMS; s++) {
        if (!(m->gbs[s][WISP_MEMORY][1] > 0)) continue;
        printf("%-20s", machine_stream[s]);
        print_rate(m->gbs[s][WISP_MEMORY][1]);
        print_rate(m->gbs[s][WISP_L2][1]);
        putchar('\n');
    }
}

/* A GPU: what it is, and its ceilings. */
static void print_gpu(const wisp_machine *m, const json_t *o)
{
    char b[TEXT];
    const char *date = json_string_value(json_object_get(o, "measured"));
    text_line("device", "%s: %s", m->device, m->cpu);
    text_line("units", "%d", m->cores);
    text_line("L2", "%s", text_bytes(b, (double)m->cache_bytes[WISP_L2]));
    if (m->kept_bytes > 0)
        text_line("cache", "%s of it stay from sweep to sweep", text_bytes(b, (double)m->kept_bytes));
    text_line("memory", "%s", text_bytes(b, (double)m->memory_bytes));
    if (date) text_line("measured", "%.10s", date);
    putchar('\n');
    machine_device_table(m);
    printf("\n%-20s\n", "Gflop/s");
    for (int p = 1; p >= 0; p--) {
        printf("multiply-add, %-6s", p ? "double" : "single");
        print_rate(m->fma_gflops[p][1]);
        putchar('\n');
    }
    printf("\n%-20s\n", "microseconds");
    for (int i = 0; i < 2; i++) {
        printf("%-20s", i ? "waited for" : "a launch");
        print_rate(1e6 * (i ? m->round_trip_seconds : m->launch_seconds));
        putchar('\n');
    }
}

/* Where the threads are in this run. */
static int add_placement(tool *t, json_t *o)
{
    int threads = wisp_ctx_threads(t->ctx), *cpu;
    bool pinned = true;
    if (wisp_alloc(t->ctx, &cpu, (size_t)threads, sizeof *cpu)) return tool_fail_ctx(t);
    int rc = wisp_ctx_placement(t->ctx, cpu) ? tool_fail_ctx(t) : EXIT_FINE;
    json_t *list = json_array();
    for (int i = 0; i < threads; i++) {
        pinned &= cpu[i] >= 0;
        json_array_append_new(list, json_integer(cpu[i] >= 0 ? cpu[i] : -1 - cpu[i]));
    }
    JSON_PUT(o, J("placement", list), J("pinned", json_boolean(pinned)));
    wisp_free(t->ctx, cpu);
    return rc;
}

/* What this wisp can run on. */
static void add_devices(json_t *o)
{
    json_t *list = json_array();
    wisp_device d;
    for (int i = 0; wisp_device_info(i, &d); i++)
        json_array_append_new(list, JSON_NEW(J("name", d.name), J("number", d.number), J("what", d.what),
                                             J_IF(d.memory_bytes > 0, "memory_bytes", d.memory_bytes),
                                             J("for_tests", json_boolean(d.for_tests))));
    JSON_PUT(o, J("devices", list));
}

static void print_devices(const json_t *o)
{
    char b[TEXT];
    size_t i;
    json_t *d;
    json_array_foreach(json_object_get(o, "devices"), i, d)
    {
        const double bytes = json_number_value(json_object_get(d, "memory_bytes"));
        text_line(i ? "" : "devices", "%s: %s%s%s", json_string_value(json_object_get(d, "name")),
                  json_string_value(json_object_get(d, "what")), bytes > 0 ? ", " : "",
                  bytes > 0 ? text_bytes(b, bytes) : "");
    }
}

/* The kept result, or one measured now, of which *keep_rc says whether it is kept; NULL with *rc otherwise. */
static json_t *find_result(tool *t, wisp_machine *m, int *rc, int *keep_rc)
{
    gemm_rates g = {.coretype = "default"};
    *rc = tool_start(t);
    if (*rc) return NULL;
    if (wisp_machine_measure(t->ctx, m, 0)) *rc = tool_fail_ctx(t);
    if (!*rc && *m->device) *rc = machine_ahead(t);
    if (*rc) return NULL;
    json_t *o = t->opt.measure ? NULL : machine_read(t, m, "it is measured anew");
    if (o && (*m->device || machine_is_whole(o))) return o;
    json_decref(o);
    *rc = measure_all(t, m, &g);
    if (*rc) return NULL;
    o = machine_json(m, &g);
    if (o) *keep_rc = machine_keep(t, m, o);
    return o;
}

static void print_process(const json_t *process, int number)
{
    const int threads = (int)json_integer_value(json_object_get(process, "threads"));
    char name[TEXT];
    size_t i;
    json_t *cpu;
    snprintf(name, sizeof name, "process %d", number);
    printf("%-12s%s, %d thread%s, %son", name, json_string_value(json_object_get(process, "host")), threads,
           threads == 1 ? "" : "s", json_is_true(json_object_get(process, "pinned")) ? "" : "not pinned, now ");
    json_array_foreach(json_object_get(process, "placement"), i, cpu) printf(" %lld", json_integer_value(cpu));
    putchar('\n');
}

/* Where the processes of one run are. */
static int show_processes(tool *t)
{
    char host[256] = "", *own = NULL, *all;
    size_t size;
    gethostname(host, sizeof host - 1);
    json_t *o = JSON_NEW(J("host", host), J("threads", wisp_ctx_threads(t->ctx))), *list = json_array();
    int rc = add_placement(t, o);
    if (!rc) own = json_dumps(o, JSON_COMPACT);
    if (!rc && !own) rc = tool_fail(t, "out of memory for the results");
    json_decref(o);
    rc = processes_gather(t, rc, own, &all, &size);
    for (int r = 0; all && r < t->processes; r++)
        json_array_append_new(list, json_loads(all + (size_t)r * size, 0, NULL));
    free(own);
    free(all);
    if (rc) {
        json_decref(list);
        return rc;
    }
    if (t->opt.json) {
        rc = json_print_new(t, JSON_NEW(J("version", wisp_version()), J("processes", json_incref(list))));
    } else
        for (size_t r = 0; r < json_array_size(list); r++) print_process(json_array_get(list, r), (int)r);
    json_decref(list);
    return rc;
}

int cmd_machine(tool *t)
{
    int rc, keep_rc = EXIT_FINE;
    wisp_machine m;
    if (t->processes > 1) {
        rc = tool_start(t);
        return rc ? rc : show_processes(t);
    }
    json_t *o = find_result(t, &m, &rc, &keep_rc);
    if (!rc && !o) rc = tool_fail(t, "out of memory for the results");
    if (!rc) rc = add_placement(t, o);
    if (!rc) add_devices(o);
    monitor_clear(&t->monitor);
    if (!rc && t->opt.json) {
        rc = json_print(t, o);
    } else if (!rc && !t->opt.quiet && *m.device) {
        print_gpu(&m, o);
    } else if (!rc && !t->opt.quiet) {
        print_topology(o);
        print_placement(o);
        print_devices(o);
        print_ceilings(o);
        kernels_print(&m);
    }
    json_decref(o);
    return rc ? rc : keep_rc;
}
