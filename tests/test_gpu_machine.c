/* What is told and measured of a GPU, and its memory, which is counted and limited apart from the host's. On the device
   plain; how fast that is, nothing hangs on. */
#include "backend/gpu/gpu.h"
#include "model/model.h"
#include "ref.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static wisp_ctx *on_plain(int64_t limit)
{
    return ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1, .no_pin = 1, .device_memory_limit = limit});
}

static void described(void **state)
{
    (void)state;
    wisp_ctx *ctx = on_plain(0);
    wisp_machine m;
    const wisp__facts f = wisp__facts_of(ctx);
    REF_OK(ctx, wisp_machine_measure(ctx, &m, 0));
    assert_string_equal(m.device, "plain");
    assert_string_equal(m.isa, "plain");
    assert_int_equal(m.threads, f.threads);
    assert_int_equal(m.cache_bytes[WISP_L2], (int64_t)f.l3);
    assert_true(m.memory_bytes > 0 && m.gbs[WISP_LOAD][WISP_MEMORY][1] == 0 && m.launch_seconds == 0);
    assert_true(f.kept > 0 && f.kept <= f.l3 && f.rates.l3 > f.rates.memory && f.rates.memory > 0);
    assert_ptr_equal(f.tuned, wisp__tuned_of(ctx));
    assert_ptr_not_equal(f.tuned, &wisp__cpu_tuned);
    wisp_ctx_free(ctx);
}

static void measured(void **state)
{
    (void)state;
    setenv("WISP_STREAM_LIMIT", "300000", 1);
    setenv("WISP_MEASURE_LIMIT", "50", 1);
    wisp_ctx *ctx = on_plain(0);
    wisp_machine m;
    int64_t before, now;
    double gbs;
    wisp_ctx_device_memory(ctx, &before, NULL, NULL);
    REF_OK(ctx, wisp_machine_measure(ctx, &m, ~0u >> 17));
    for (int s = 0; s < WISP_STREAMS; s++)
        for (int l = 0; l < WISP_LEVELS; l++) {
            const bool there = s != WISP_COPY_PAST && s != WISP_TRIAD_PAST && (l == WISP_L2 || l == WISP_MEMORY);
            assert_true(there ? m.gbs[s][l][1] > 0 && isfinite(m.gbs[s][l][1]) : m.gbs[s][l][1] == 0);
            assert_true(m.gbs[s][l][0] == 0);
        }
    for (int i = 0; i < 2; i++) assert_true(m.fma_gflops[i][1] > 0 && isfinite(m.fma_gflops[i][1]));
    assert_true(m.launch_seconds > 0 && m.round_trip_seconds > 0);
    assert_true(m.kept_bytes >= 0 && m.kept_bytes <= m.cache_bytes[WISP_L2]);
    REF_OK(ctx, wisp_load_bandwidth(ctx, &gbs));
    assert_true(gbs > 0 && isfinite(gbs));
    wisp_ctx_device_memory(ctx, &now, NULL, NULL);
    assert_int_equal(now, before);
    wisp_ctx_free(ctx);
    unsetenv("WISP_STREAM_LIMIT");
    unsetenv("WISP_MEASURE_LIMIT");
}

/* Each number in its place: what streams do. */
static void streams(void **state)
{
    (void)state;
    enum { UNITS = 5, PASSES = 3 };
    wisp_ctx *ctx = on_plain(0);
    const int64_t n = UNITS * G_ABREAST * (int64_t)wisp__gpu_of(ctx)->group_size;
    double *array[3], *host = calloc((size_t)n, sizeof *host);
    for (int code = G_LOAD; code <= G_UPDATE; code++) {
        k_stream k = {.units = UNITS, .passes = PASSES, .turn = 37, .scale = 0.5, .never = -3};
        wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
        for (int i = 0; i < 3; i++) {
            for (int64_t j = 0; j < n; j++) host[j] = (double)((i + 1) * (j + 1));
            REF_OK(ctx, ctx->backend->alloc(ctx, array + i, (size_t)n, sizeof **array));
            REF_OK(ctx, ctx->backend->write(ctx, array[i], host, (size_t)n * sizeof *host));
            wisp__gpu_at(&c, STREAM_A + i, array[i]);
        }
        REF_OK(ctx,
               wisp__gpu_launch(&c, "stream", 3, "#define REAL double\n#define PARTS 1\n#define STREAM %d\n", code));
        REF_OK(ctx, ctx->backend->read(ctx, array[0], host, (size_t)n * sizeof *host));
        for (int64_t j = 0; j < n; j++) {
            const double a = (double)(j + 1), b = 2 * a, c2 = 3 * a;
            const double is = code == G_LOAD ? a : code == G_COPY ? b : code == G_TRIAD ? b + 0.5 * c2 : a / 8;
            assert_true(host[j] == is);
        }
        for (int i = 0; i < 3; i++) ctx->backend->free(ctx, array[i]);
    }
    free(host);
    wisp_ctx_free(ctx);
}

/* Figures of the device are taken, others are not; the model goes by them. */
static void taken(void **state)
{
    (void)state;
    wisp_ctx *ctx = on_plain(0);
    const wisp__facts before = wisp__facts_of(ctx);
    wisp_machine m = {.threads = before.threads, .isa = "plain", .launch_seconds = 7e-6, .kept_bytes = 123456};
    wisp__core_work work = {.threads = 2};
    m.gbs[WISP_LOAD][WISP_MEMORY][1] = 100;
    m.gbs[WISP_LOAD][WISP_L2][1] = 300;
    wisp_machine other = m;
    strcpy(other.isa, "opencl");
    REF_OK(ctx, wisp_ctx_set_machine(ctx, &other));
    other = m;
    other.threads++;
    REF_OK(ctx, wisp_ctx_set_machine(ctx, &other));
    wisp__facts f = wisp__facts_of(ctx);
    assert_memory_equal(&f.rates, &before.rates, sizeof f.rates);
    REF_OK(ctx, wisp_ctx_set_machine(ctx, &m));
    f = wisp__facts_of(ctx);
    assert_true(f.rates.memory == 100e9 && f.rates.l3 == 300e9 && f.kept == 123456);
    assert_true(wisp__core_seconds(f.tuned, &work, &f.rates) == 7e-6);
    assert_true(wisp__core_seconds(f.tuned, &work, &before.rates) == f.tuned->core.wait);
    static const double wait[][2] = {{NAN, 0}, {-1e-6, 1e-6}, {1, 0}, {1e-6, 1e308}, {1e-6, -1}, {2.1e-5, 1e-5}};
    for (size_t i = 0; i < sizeof wait / sizeof *wait; i++) {
        other = m;
        other.launch_seconds = wait[i][0], other.round_trip_seconds = wait[i][1];
        REF_FAILS(ctx, wisp_ctx_set_machine(ctx, &other), WISP_ERR_ARG, "can't be true: launches: ");
    }
    m.gbs[WISP_LOAD][WISP_MEMORY][1] = 700;
    REF_FAILS(ctx, wisp_ctx_set_machine(ctx, &m), WISP_ERR_ARG, "loads: memory has 700 GB/s");
    wisp_ctx_free(ctx);
}

/* On the machine of a file a device is a common one, so that tests hang on none. */
static void simulated(void **state)
{
    (void)state;
    const char *was = getenv("WISP_MACHINE");
    char kept[512] = "";
    if (was) snprintf(kept, sizeof kept, "%s", was);
    setenv("WISP_MACHINE", TEST_DATA "/../machines/laptop.json", 1);
    wisp_ctx *ctx = on_plain(0);
    const wisp__facts f = wisp__facts_of(ctx);
    assert_int_equal(f.threads, 64);
    assert_true(f.l3 == 8 << 20 && f.rates.memory == 64 * 15e9);
    wisp_ctx_free(ctx);
    if (*kept) setenv("WISP_MACHINE", kept, 1);
    if (!*kept) unsetenv("WISP_MACHINE");
}

static void memory(void **state)
{
    (void)state;
    enum { ROOM = 1 << 20 };
    wisp_ctx *ctx = on_plain(ROOM);
    int64_t now, peak, limit, all, host_now;
    double *a = NULL, *b = NULL, *host;
    wisp_ctx_device_memory(ctx, &now, &peak, &limit);
    assert_true(now == 0 && peak == 0 && limit == ROOM);
    wisp_ctx_memory(ctx, &host_now, NULL);
    REF_OK(ctx, ctx->backend->alloc(ctx, &a, ROOM / 2, 1));
    wisp_ctx_device_memory(ctx, &now, &peak, NULL);
    wisp_ctx_memory(ctx, &all, NULL);
    assert_true(now == ROOM / 2 && peak == now && all == host_now + now);
    REF_FAILS(
        ctx, ctx->backend->alloc(ctx, &b, ROOM / 2 + 1, 1), WISP_ERR_NOMEM,
        "memory of the device 'plain': 524.3 kB more, with 524.3 kB held, would pass the 1.049 MB that may be held");
    assert_null(b);
    REF_OK(ctx, ctx->backend->alloc(ctx, &b, ROOM / 2, 1));
    ctx->backend->free(ctx, b);
    /* What it takes of the host goes from there; what does not fit stays the host's. */
    REF_OK(ctx, wisp_alloc(ctx, &host, ROOM / 4, 1));
    REF_OK(ctx, ctx->backend->take(ctx, &host));
    wisp_ctx_device_memory(ctx, &now, NULL, NULL);
    wisp_ctx_memory(ctx, &all, NULL);
    assert_true(now == ROOM / 2 + ROOM / 4 && all == host_now + now);
    ctx->backend->free(ctx, host);
    REF_OK(ctx, wisp_alloc(ctx, &host, ROOM, 1));
    REF_FAILS(ctx, ctx->backend->take(ctx, &host), WISP_ERR_NOMEM, "memory of the device");
    host[0] = 1;
    wisp_free(ctx, host);
    ctx->backend->free(ctx, a);
    wisp_ctx_device_memory(ctx, &now, &peak, NULL);
    wisp_ctx_memory(ctx, &all, NULL);
    assert_true(now == 0 && peak == ROOM && all == host_now);
    wisp_ctx_free(ctx);
    /* The host's limit does not count it. */
    ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1, .no_pin = 1, .memory_limit = ROOM});
    REF_OK(ctx, ctx->backend->alloc(ctx, &a, 4 * ROOM, 1));
    REF_FAILS(ctx, wisp_alloc(ctx, &host, 2 * ROOM, 1), WISP_ERR_NOMEM, "memory limit");
    ctx->backend->free(ctx, a);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(described), cmocka_unit_test(measured),  cmocka_unit_test(streams),
        cmocka_unit_test(taken),     cmocka_unit_test(simulated), cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
