/* Topology, placement, ceilings and cost: that they are there and fit together. How fast the machine is can't be
   asserted. */
#include "backend/backend.h"
#include "model/model.h"
#include "ref.h"
#include "topo/features.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the compiler's own library tells it. (That of zig tells nothing; the Python package is built by zig.) */
static void features(void **state)
{
    (void)state;
#ifdef __x86_64__
    __builtin_cpu_init();
    const bool fma = __builtin_cpu_supports("avx") && __builtin_cpu_supports("fma"),
               avx2 = fma && __builtin_cpu_supports("avx2"),
               avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    assert_int_equal(wisp__cpu_features(), fma * WISP__CPU_FMA + avx2 * WISP__CPU_AVX2 + avx512 * WISP__CPU_AVX512);
#else
    assert_int_equal(wisp__cpu_features(), 0);
#endif
}

static void topology(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_machine m;
    REF_OK(ctx, wisp_machine_measure(ctx, &m, 0));
    assert_true(strlen(m.cpu) > 0);
    assert_string_equal(m.isa, wisp_ctx_isa(ctx));
    assert_int_equal(m.threads, wisp_ctx_threads(ctx));
    assert_true(m.packages >= 1 && m.nodes >= 1 && m.cores >= m.packages && m.cpus >= m.cores);
    assert_true(m.memory_bytes > 0);
    assert_string_equal(wisp_level_name(WISP_L1), "L1");
    assert_string_equal(wisp_level_name(WISP_MEMORY), "memory");
    assert_null(wisp_level_name(WISP_LEVELS));
    assert_null(wisp_level_name(-1));
    assert_string_equal(wisp_rows_name(WISP_ROWS_IN_TURN), "in turn");
    assert_true(!wisp_rows_name(WISP_ROW_KINDS) && !wisp_rows_name(-1));
    for (int l = 1; l < WISP_MEMORY; l++)
        if (m.cache_bytes[l] > 0) assert_true(m.cache_bytes[l] >= m.cache_bytes[l - 1]);
    for (int s = 0; s < WISP_STREAMS; s++)
        for (int l = 0; l < WISP_LEVELS; l++) assert_true(m.gbs[s][l][1] == 0);
    wisp_ctx_free(ctx);
}

/* All numbers up to 8, some of those up to `most`, and that; 0: no more. */
static int next_number(int n, int most)
{
    const int next = n < 8 ? n + 1 : 2 * n;
    return n == most ? 0 : next < most ? next : most;
}

/* Threads run where the process may: pinned, each on a processor of its own; else, on any of several. */
static void placement(void **state)
{
    (void)state;
    cpu_set_t allowed;
    int cpu[CPU_SETSIZE];
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    const int cpus = CPU_COUNT(&allowed);
    unsetenv("OMP_PROC_BIND"); /* with it, contexts leave threads where they are */
    for (int pin = 0; pin < 2; pin++)
        for (int threads = 1; threads > 0; threads = next_number(threads, cpus)) {
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = !pin});
            const bool fixed = cpus == 1 || pin;
            cpu_set_t taken;
            CPU_ZERO(&taken);
            REF_OK(ctx, wisp_ctx_placement(ctx, cpu));
            for (int i = 0; i < threads; i++) {
                assert_int_equal(cpu[i] >= 0, fixed);
                const size_t place = (size_t)(fixed ? cpu[i] : -1 - cpu[i]);
                assert_true(CPU_ISSET(place, &allowed));
                assert_false(fixed && CPU_ISSET(place, &taken));
                CPU_SET(place, &taken);
            }
            wisp_ctx_free(ctx);
        }
}

static void ceilings(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads});
        wisp_machine m;
        double gbs;
        REF_OK(ctx, wisp_machine_measure(ctx, &m, WISP_MEASURE_MEMORY | WISP_MEASURE_FMA));
        for (int s = 0; s < WISP_STREAMS; s++)
            for (int all = 0; all < 2; all++) {
                assert_true(isfinite(m.gbs[s][WISP_MEMORY][all]) && m.gbs[s][WISP_MEMORY][all] > 0);
                assert_true(m.gbs[s][WISP_L1][all] == 0);
            }
        for (int i = 0; i < 4; i++) assert_true(m.fma_gflops[i / 2][i % 2] > 0 && isfinite(m.fma_gflops[i / 2][i % 2]));
        REF_OK(ctx, wisp_load_bandwidth(ctx, &gbs));
        assert_true(gbs > 0 && isfinite(gbs));
        wisp_ctx_free(ctx);
    }
}

/* What is measured is counted on until something else is set. */
static void kept(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2});
    wisp_machine m;
    int measured;
    const int64_t assumed = wisp_ctx_cache(ctx, &measured);
    assert_true(assumed > 0);
    assert_false(measured);
    REF_OK(ctx, wisp_machine_measure(ctx, &m, WISP_MEASURE_KEPT));
    assert_true(m.kept_bytes >= 0 && m.kept_bytes <= 3 * m.cache_bytes[WISP_L3]);
    assert_true(m.gbs[WISP_LOAD][WISP_MEMORY][1] == 0);
    assert_int_equal(wisp_ctx_cache(ctx, &measured), m.kept_bytes > 0 ? m.kept_bytes : assumed);
    assert_int_equal(measured, m.kept_bytes > 0);
    wisp_ctx_set_cache(ctx, 12345678);
    assert_int_equal(wisp_ctx_cache(ctx, &measured), 12345678);
    assert_true(measured);
    wisp_ctx_set_cache(ctx, 0);
    assert_int_equal(wisp_ctx_cache(ctx, &measured), assumed);
    assert_false(measured);
    wisp_ctx_free(ctx);
}

static int cancel(void *arg, const wisp_progress *p)
{
    (void)p;
    return ++*(int *)arg > 2;
}

static void failures(void **state)
{
    (void)state;
    int calls = 0;
    wisp_machine m;
    double gbs;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.progress = cancel, .progress_arg = &calls});
    REF_FAILS(ctx, wisp_machine_measure(ctx, &m, WISP_MEASURE_CACHES), WISP_ERR_CANCELLED, "measuring");
    wisp_ctx_free(ctx);
    ctx = ref_ctx(&(wisp_ctx_opts){.memory_limit = 1 << 20});
    REF_FAILS(ctx, wisp_load_bandwidth(ctx, &gbs), WISP_ERR_NOMEM, "memory limit");
    wisp_ctx_free(ctx);
    /* Neither is the memory for it filled, nor kept, nor measured once it is there. */
    int64_t before, after;
    ctx = ref_ctx(NULL);
    for (int again = 0; again < 2; again++) {
        wisp_ctx_memory(ctx, &before, NULL);
        wisp_ctx_cancel(ctx);
        REF_FAILS(ctx, wisp_load_bandwidth(ctx, &gbs), WISP_ERR_CANCELLED, "measuring the bandwidth");
        wisp_ctx_memory(ctx, &after, NULL);
        assert_int_equal(after, before);
        wisp_ctx_resume(ctx);
        REF_OK(ctx, wisp_load_bandwidth(ctx, &gbs));
        assert_true(gbs > 0);
    }
    wisp_ctx_free(ctx);
}

/* What threads have from each other; one thread has nothing. */
static void exchange(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        wisp_machine m;
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1});
        REF_OK(ctx, wisp_machine_measure(ctx, &m, WISP_MEASURE_EXCHANGE));
        assert_true(threads == 1 ? m.exchange_gbs == 0 : m.exchange_gbs > 0 && isfinite(m.exchange_gbs));
        assert_true(m.gbs[WISP_LOAD][WISP_MEMORY][1] == 0);
        wisp_ctx_free(ctx);
    }
}

/* What was measured is taken whether or not something was assumed before it; what is not sound, or of another number of
   threads, is not. */
static void rates(void **state)
{
    (void)state;
    wisp_ctx *ctx[2];
    wisp__rates found[2], assumed = {0};
    wisp_machine m = {.threads = 2};
    for (int l = 0; l < WISP_LEVELS; l++) m.gbs[WISP_LOAD][l][1] = 100.0 * (WISP_LEVELS - l);
    for (int i = 0; i < 2; i++) {
        ctx[i] = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
        if (i) assumed = wisp__facts_of(ctx[i]).rates;
        wisp_ctx_set_machine(ctx[i], &m);
        found[i] = wisp__facts_of(ctx[i]).rates;
    }
    assert_memory_equal(&found[0], &found[1], sizeof found[0]);
    assert_true(found[0].memory == 100e9 && found[0].l3 == 200e9);
    assert_true(found[0].exchange == found[0].l3 / 2 && assumed.exchange == assumed.l3 / 2);
    for (int i = 0; i < 4; i++) {
        static const double bad[] = {NAN, -1, 1e308, 7};
        for (int l = 0; l < WISP_LEVELS; l++) m.gbs[WISP_LOAD][l][1] = bad[i];
        m.threads = i == 3 ? 3 : 2;
        wisp_ctx_set_machine(ctx[0], &m);
        found[1] = wisp__facts_of(ctx[0]).rates;
        assert_memory_equal(&found[0], &found[1], sizeof found[0]);
    }
    for (int i = 0; i < 2; i++) wisp_ctx_free(ctx[i]);
}

/* What can't be true: one figure of a machine becomes another one. */
static void doubts(void **state)
{
    (void)state;
    static const struct {
        int stream, level, all; /* stream WISP_STREAMS: multiply-adds, of precision `level`; -1: exchange */
        double v;
        const char *words; /* NULL: it may be so */
    } row[] = {{WISP_LOAD, WISP_MEMORY, 1, 4.9, "memory, loads: all threads together have 4.9 GB/s, and one alone 10"},
               {WISP_LOAD, WISP_MEMORY, 1, 5, NULL},
               {WISP_LOAD, WISP_L1, 1, 39, "L1, loads: all threads together"},
               {WISP_LOAD, WISP_L1, 0, 19, "loads: L2 has 40 GB/s, and L1 no more than 19"},
               {WISP_LOAD, WISP_L1, 0, 20, NULL},
               {WISP_LOAD, WISP_MEMORY, 0, 161, "memory, loads: all threads together"},
               {WISP_LOAD, WISP_MEMORY, 1, 161, "loads: memory has 161 GB/s, and L2 no more than 80"},
               {WISP_LOAD, WISP_L3, 1, NAN, "L3, loads"},
               {WISP_LOAD, WISP_L3, 0, -1, "L3, loads"},
               {WISP_LOAD, WISP_L1, 1, 1e308, "L1, loads"},
               {WISP_COPY, WISP_L1, 1, 2.77, "L1, copies: all threads together have 2.77 GB/s, and one alone 80"},
               {WISP_UPDATE, WISP_L2, 1, 0, NULL},
               {WISP_STREAMS, 0, 1, 0.044, "multiply-adds, single: all threads together have 0.044 Gflop/s"},
               {WISP_STREAMS, 1, 1, 24, "multiply-adds, double: all threads together have 24 Gflop/s"},
               {WISP_STREAMS, 1, 1, INFINITY, NULL},
               {WISP_STREAMS, 1, 0, NAN, "multiply-adds, double"},
               {-1, 0, 0, 161, "what other threads have written comes at 161 GB/s, and L2 has 80"},
               {-1, 0, 0, NAN, "what other threads have written"},
               {-1, 0, 0, 160, NULL}};
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
    const wisp__rates before = wisp__facts_of(ctx).rates;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        /* Loads of one thread: 80, 40, 20, 10, of all twice as much; the whole kept file of such a machine is sound. */
        wisp_machine m = {.threads = 2, .kept_bytes = 1 << 20, .exchange_gbs = 30};
        for (int s = 0; s < WISP_STREAMS; s++)
            for (int l = 0; l < WISP_LEVELS; l++)
                for (int all = 0; all < 2; all++) m.gbs[s][l][all] = (all + 1) * 80.0 / (1 << l);
        for (int k = 0; k < 4; k++) m.fma_gflops[k / 2][k % 2] = 50 * (k % 2 + 1);
        m.threads = 3; /* so that it is not taken */
        REF_OK(ctx, wisp_ctx_set_machine(ctx, &m));
        m.threads = 2;
        *(row[i].stream < 0               ? &m.exchange_gbs
          : row[i].stream == WISP_STREAMS ? &m.fma_gflops[row[i].level][row[i].all]
                                          : &m.gbs[row[i].stream][row[i].level][row[i].all]) = row[i].v;
        if (row[i].words) {
            REF_FAILS(ctx, wisp_ctx_set_machine(ctx, &m), WISP_ERR_ARG, row[i].words);
            int measured;
            wisp_ctx_cache(ctx, &measured);
            assert_false(measured);
        } else {
            wisp_ctx *other = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
            REF_OK(other, wisp_ctx_set_machine(other, &m));
            assert_true(wisp__facts_of(other).rates.memory == 1e9 * m.gbs[WISP_LOAD][WISP_MEMORY][1]);
            wisp_ctx_free(other);
        }
        const wisp__rates after = wisp__facts_of(ctx).rates;
        assert_memory_equal(&before, &after, sizeof before);
    }
    wisp_ctx_free(ctx);
}

/* A context on the machine that a text describes, as `wisp machine` keeps it; NULL, and a message, if it does not. */
static wisp_ctx *on_machine(const char *text, int threads)
{
    static const char file[] = "test_machine.json";
    wisp_ctx *ctx = NULL;
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    fclose(f);
    setenv("WISP_MACHINE", file, 1);
    wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = threads, .no_pin = 1});
    unsetenv("WISP_MACHINE");
    remove(file);
    return ctx;
}

#define CACHES                                                                                                      \
    "\"caches\": [{\"level\": \"L1\", \"bytes\": 1000, \"cores\": 1}, {\"cores\": 2, \"bytes\": 20000, \"level\": " \
    "\"L2\"},"                                                                                                      \
    "{\"level\": \"L3\", \"bytes\": 800000, \"cores\": 4}]"
#define RATES "{\"cores\": 4, " CACHES ", "
#define KERNEL(ns) RATES "\"kernel_ns\": {\"stored\": {\"double\": [[1, 1], [" ns "]]}}}"

/* The model sees the machine of a file, with the threads of the context on it, and nothing of this one. What is
   measured is of this one, and steers nothing. */
static void simulated(void **state)
{
    (void)state;
    const char *text =
        "{\"cpu\": \"of a file\", \"isa\": \"generic\", \"cores\": 12, \"nodes\": 3, \"host\": null, " CACHES
        ", \"more\": {\"cores\": [1, [], {}, -2e3]}, \"cache_kept_bytes\": 1500000, \"exchange_gbs\": 120,\n"
        "\"bandwidth_gbs\": {\"memory\": {\"load\": [10, 35]}, \"L3\": {\"copy\": [1, 2], \"load\": [20, 240]}},\n"
        "\"kernel_ns\": {\"in turn\": {\"complex double\": [[1, 0], [2, 3]], \"half\": [[7, 7]]}, \"odd\": 3}}";
    for (int threads = 1; threads <= 6; threads += 5) {
        wisp_ctx *ctx = on_machine(text, threads);
        wisp_machine m;
        wisp__caches c;
        assert_non_null(ctx);
        REF_OK(ctx, wisp_machine_measure(ctx, &m, WISP_MEASURE_MEMORY | WISP_MEASURE_EXCHANGE));
        assert_true(m.gbs[WISP_LOAD][WISP_L3][1] == 0 && m.kept_bytes == 0);
        assert_string_equal(m.cpu, "of a file");
        assert_int_equal(m.threads, threads);
        assert_true(m.cores == 12 && m.nodes == 3 && m.packages == 1 && m.cpus == 12 && !ctx->one_node);
        assert_true(m.cache_bytes[WISP_L2] == 20000 && m.cache_cores[WISP_L2] == 2);
        assert_string_equal(wisp_ctx_isa(ctx), getenv("WISP_ISA") ? getenv("WISP_ISA") : "generic");
        const wisp__facts f = wisp__facts_of(ctx);
        const wisp__rates r = f.rates;
        assert_true(r.memory == (threads == 1 ? 10e9 : 35e9) && r.l3 == 20e9 * threads);
        const double *one = r.kernel[WISP_ROWS_IN_TURN][WISP_Z - WISP_S][0],
                     *two = r.kernel[WISP_ROWS_IN_TURN][WISP_Z - WISP_S][1];
        assert_true(one[0] == 1e-9 && one[1] == 0 && two[0] == 1e-9 * 2 && two[1] == 1e-9 * 3);
        assert_true(m.kernel_ns[WISP_ROWS_IN_TURN][WISP_Z - WISP_S][0][0] == 0);
        assert_true(r.exchange ==
                    (threads == 1 ? 10e9 : 60e9)); /* one has none, and half of the last cache is assumed */
        wisp__caches_find(&f, 4, 32, 1e6, &c);
        assert_true(c.l1 == 32 << 10 && c.l2 == 20000 && c.all_l2 == 20000.0 * (threads == 1 ? 1 : 3));
        assert_true(c.kept == 500000.0 * (threads == 1 ? 1 : 2));
        wisp_ctx_free(ctx);
    }
    static const struct {
        const char *text, *words;
    } bad[] = {{"", "it is empty"},
               {"cores", "\"cores\" is no number"},
               {"{\"cores\": 4, \"caches\": [", "it is no JSON"},
               {"{\"cores\": 4} 5", "it is no JSON"},
               {"{\"cores\": 4}", "has no L1 or no L2"},
               {"{" CACHES "}", "\"cores\" is no number"},
               {"{\"cores\": 4, \"caches\": [{\"level\": \"L4\", \"bytes\": 1, \"cores\": 1}]}", "none of L1, L2, L3"},
               {"{\"cores\": 4, \"caches\": [{\"level\": \"L1\", \"cores\": 1}]}", "has no \"bytes\""},
               {"{\"cores\": 4, \"caches\": [{\"level\": \"L1\", \"bytes\": 1e300, \"cores\": 1}]}",
                "\"bytes\" can't be true"},
               {"{\"cores\": -1e300, " CACHES "}", "\"cores\" is no number"},
               {"{\"cores\": 1e300, " CACHES "}", "\"cores\" is no number"},
               {KERNEL("-1, 0"), "can't be true: kernels: -1 ns"},
               {KERNEL("1, 1e300"), "can't be true: kernels: "},
               {KERNEL("-nan, 0"), "can't be true: kernels: "},
               {RATES "\"exchange_gbs\": -1}", "can't be true: loads: "},
               {RATES "\"cache_kept_bytes\": -5}", "can't be true: -5 bytes"},
               {RATES "\"cache_kept_bytes\": 1e300}", "bytes of the last cache stay"},
               {RATES "\"bandwidth_gbs\": {\"L1\": {\"load\": [1, 1e300]}}}", "can't be true: L1, loads: "},
               {RATES "\"bandwidth_gbs\": {\"L1\": {\"load\": [100, 1]}}}", "can't be true: L1, loads: "},
               {RATES "\"bandwidth_gbs\": {\"memory\": {\"load\": [8, 9]}, \"L2\": {\"load\": [1, 2]}}}",
                "can't be true: loads: memory"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(on_machine(bad[i].text, 1));
        if (!strstr(message_of(NULL), bad[i].words)) fail_msg("%s: %s", bad[i].text, message_of(NULL));
        assert_non_null(strstr(message_of(NULL), "WISP_MACHINE=test_machine.json: "));
    }
}

/* Against the counts of table I of the KPM paper, by hand. */
static void cost(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    const unsigned kpm = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY;
    wisp_mat *A;
    wisp_mat_info info;
    wisp_cost c;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        REF_OK(ctx, wisp_mat_open(&A, ctx, is_complex ? "topi:nx=4,ny=4,nz=3" : "laplace:nx=5,ny=4",
                                  &(wisp_mat_opts){.C = 4, .sigma = 1}));
        wisp_mat_get_info(A, &info);
        const double n = (double)info.rows, z = (double)info.nnz, chunks = ceil(n / 4);
        for (int width = 1; width <= 9; width += 4) {
            REF_OK(ctx, wisp_spmmv_cost(A, WISP_DEFAULT, width, kpm, &c));
            const double element = is_complex ? 16 : 8;
            assert_true(c.flops == width * (is_complex ? 8 * z + 34 * n : 2 * z + 9 * n));
            assert_true(c.bytes == z * (element + 4) + 8 * chunks + 3 * n * width * element);
            REF_OK(ctx, wisp_spmmv_cost(A, WISP_DEFAULT, width, 0, &c));
            assert_true(c.flops == width * z * (is_complex ? 8 : 2));
            assert_true(c.bytes == z * (element + 4) + 8 * chunks + 2 * n * width * element);
        }
        REF_FAILS(ctx, wisp_spmmv_cost(A, WISP_S, 1, 0, &c), WISP_ERR_ARG, "no product");
        wisp_mat_free(A);
    }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features),  cmocka_unit_test(topology), cmocka_unit_test(placement),
        cmocka_unit_test(ceilings),  cmocka_unit_test(kept),     cmocka_unit_test(failures),
        cmocka_unit_test(exchange),  cmocka_unit_test(rates),    cmocka_unit_test(cost),
        cmocka_unit_test(simulated), cmocka_unit_test(doubts),
    };
    unsetenv("WISP_MACHINE"); /* this one is meant */
    return REF_RUN(tests);
}
