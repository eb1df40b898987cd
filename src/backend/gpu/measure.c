/* The measured ceilings of a GPU: streams over its memory and its last cache, multiply-adds, launches and waiting. */
#include "../../base/sort.h"
#include "gpu.h"
#include <stdlib.h>

/* What a stream moves of each number, in how many arrays. */
static const struct {
    int code, arrays, moves;
} streams[WISP_STREAMS] = {[WISP_LOAD] = {G_LOAD, 1, 1},
                           [WISP_COPY] = {G_COPY, 2, 2},
                           [WISP_TRIAD] = {G_TRIAD, 3, 3},
                           [WISP_UPDATE] = {G_UPDATE, 1, 2}};
/* Stores past caches are no other ones here. */
static bool is_measured(int stream) { return streams[stream].moves > 0; }

enum { MOST_ROUNDS = 9 };
typedef struct {
    wisp_ctx *ctx;
    int code, rounds;
    bool is_single;
    char *array[3];
    int64_t groups;
    k_stream k;
} run;

static wisp_status launch(wisp_ctx *ctx, void *arg)
{
    const run *r = arg;
    k_stream k = r->k;
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    for (int i = 0; i < 3; i++) wisp__gpu_at(&c, STREAM_A + i, r->array[i]);
    return wisp__gpu_launch(&c, "stream", r->groups, "#define REAL %s\n#define PARTS 1\n#define STREAM %d\n",
                            WISP__GPU_REAL(!r->is_single), r->code);
}

static int64_t unit_bytes(wisp_ctx *ctx)
{
    return G_ABREAST * (int64_t)wisp__gpu_of(ctx)->group_size * (int64_t)sizeof(double);
}

/* Arrays that have so many bytes together, so often. */
static void set_arrays(run *r, char *buffer, int64_t set, int arrays, int64_t passes)
{
    const wisp__gpu *g = wisp__gpu_of(r->ctx);
    r->k = (k_stream){.units = WISP__MAX(set / arrays / unit_bytes(r->ctx), 1),
                      .passes = passes,
                      .turn = 37,
                      .scale = 0.5,
                      .never = -3};
    r->groups = WISP__MIN(r->k.units, g->most_groups);
    for (int i = 0; i < 3; i++) r->array[i] = buffer + WISP__MIN(i, arrays - 1) * r->k.units * unit_bytes(r->ctx);
}

static double bytes_of(const run *r, int moves)
{
    return (double)r->k.units * (double)unit_bytes(r->ctx) * (double)r->k.passes * moves;
}

/* Seconds of one launch: of some rounds, each long enough to be timed, the least or the median. */
static wisp_status seconds_of(run *r, bool least, double *seconds)
{
    const double wanted = WISP__MIN(5e-3, r->ctx->measure_seconds), long_one = 0.1;
    double found[MOST_ROUNDS];
    int rounds = r->rounds;
    wisp_status status;
    WISP_TRY(launch(r->ctx, r)); /* it is compiled */
    WISP_TRY(wisp__time_launches(r->ctx, launch, r, 1, seconds));
    const int64_t n = (int64_t)WISP__MIN(WISP__MAX(wanted / WISP__MAX(*seconds, 1e-9), 1), 1000);
    if (*seconds > long_one) rounds = 1;
    for (int i = 0; i < rounds; i++) {
        WISP_TRY(wisp__unless_cancelled(r->ctx, "measuring"));
        WISP_TRY(wisp__time_launches(r->ctx, launch, r, n, found + i));
    }
    qsort(found, (size_t)rounds, sizeof *found, wisp__by_value);
    *seconds = WISP__MAX(found[least ? 0 : rounds / 2], 1e-9);
out:
    return status;
}

/* Far more than the last cache holds, in all arrays together. */
static int64_t memory_set(const wisp__gpu *g, const wisp_machine *m)
{
    const int64_t wanted = WISP__MAX(g->on_cpu ? 0 : (int64_t)256 << 20, 8 * m->cache_bytes[WISP_L2]),
                  most = m->memory_bytes > 0 ? m->memory_bytes / 8 : wanted;
    return WISP__MAX(WISP__MIN(WISP__MIN(wanted, most), g->ctx->stream_limit), 1 << 16);
}

/* Passes over what stays in a cache, so that a launch has enough to do. */
static int64_t passes_over(const wisp__gpu *g, int64_t set)
{
    const int64_t enough = WISP__MIN(g->on_cpu ? 16 << 20 : 512 << 20, g->ctx->stream_limit);
    return WISP__MAX(enough / WISP__MAX(set, 1), 1);
}

static wisp_status measure_stream(run *r, char *buffer, wisp_machine *m, int stream, wisp_level level, int64_t most)
{
    const wisp__gpu *g = wisp__gpu_of(r->ctx);
    const int64_t set = level == WISP_MEMORY ? most : WISP__MIN(m->cache_bytes[level] / 2, most);
    double seconds;
    wisp_status status;
    r->code = streams[stream].code;
    set_arrays(r, buffer, set, streams[stream].arrays, level == WISP_MEMORY ? 1 : passes_over(g, set));
    WISP_TRY(seconds_of(r, level != WISP_MEMORY, &seconds));
    m->gbs[stream][level][1] = 1e-9 * bytes_of(r, streams[stream].moves) / seconds;
out:
    return status;
}

/* The largest set that, as all smaller ones, is loaded at three quarters of the fastest one's rate or more. */
static wisp_status measure_kept(run *r, char *buffer, wisp_machine *m, int64_t most)
{
    enum { SETS = 14 };
    const double step = 1.19, nearly_all = 0.75;
    double set = (double)m->cache_bytes[WISP_L2] / 8, rate[SETS], bytes[SETS], fastest = 0;
    int n = 0;
    wisp_status status = WISP_OK;
    r->code = G_LOAD;
    for (; n < SETS && set <= (double)WISP__MIN(most, m->cache_bytes[WISP_L2]); n++, set *= step) {
        double seconds;
        set_arrays(r, buffer, (int64_t)set, 1, passes_over(wisp__gpu_of(r->ctx), (int64_t)set));
        WISP_TRY(seconds_of(r, true, &seconds));
        bytes[n] = (double)r->k.units * (double)unit_bytes(r->ctx);
        rate[n] = bytes_of(r, 1) / seconds;
        fastest = WISP__MAX(fastest, rate[n]);
    }
    for (int i = 0, slow = 0; i < n && slow < 2; i++) {
        slow = rate[i] >= nearly_all * fastest ? 0 : slow + 1;
        if (slow == 0) m->kept_bytes = (int64_t)bytes[i];
    }
out:
    return status;
}

static wisp_status measure_fma(run *r, char *buffer, wisp_machine *m)
{
    const wisp__gpu *g = wisp__gpu_of(r->ctx);
    const double flops = 2.0 * 2 * G_ABREAST * G_FMAS;
    double seconds;
    wisp_status status = WISP_OK;
    r->code = G_FMA;
    for (int is_double = 0; is_double < 2; is_double++) {
        r->is_single = !is_double;
        set_arrays(r, buffer, unit_bytes(r->ctx), 1, g->on_cpu ? 16 : 256);
        r->groups = g->most_groups;
        WISP_TRY(seconds_of(r, true, &seconds));
        m->fma_gflops[is_double][1] =
            1e-9 * flops * (double)r->k.passes * (double)r->groups * (double)g->group_size / seconds;
    }
out:
    r->is_single = false;
    return status;
}

/* Of a launch with hardly anything to do: in a queue of them, and waited for. By the host's clock. */
static wisp_status measure_waiting(run *r, char *buffer, wisp_machine *m)
{
    enum { MANY = 64 };
    double queued[MOST_ROUNDS], waited[MOST_ROUNDS];
    wisp_status status;
    r->code = G_UPDATE;
    set_arrays(r, buffer, unit_bytes(r->ctx), 1, 1);
    WISP_TRY(launch(r->ctx, r));
    WISP_TRY(r->ctx->backend->finish(r->ctx));
    for (int i = 0; i < r->rounds; i++) {
        double start = wisp_now();
        for (int k = 0; k < MANY; k++) WISP_TRY(launch(r->ctx, r));
        WISP_TRY(r->ctx->backend->finish(r->ctx));
        queued[i] = (wisp_now() - start) / MANY;
        start = wisp_now();
        WISP_TRY(launch(r->ctx, r));
        WISP_TRY(r->ctx->backend->finish(r->ctx));
        waited[i] = wisp_now() - start;
    }
    qsort(queued, (size_t)r->rounds, sizeof *queued, wisp__by_value);
    qsort(waited, (size_t)r->rounds, sizeof *waited, wisp__by_value);
    m->launch_seconds = WISP__MAX(queued[r->rounds / 2], 1e-9);
    m->round_trip_seconds = WISP__MAX(waited[r->rounds / 2], 1e-9);
out:
    return status;
}

static void describe(wisp_ctx *ctx, wisp_machine *m)
{
    const wisp__facts f = wisp__facts_of(ctx);
    wisp_device d = {.number = ctx->device_number};
    ctx->backend->describe(&d);
    *m = (wisp_machine){.packages = 1,
                        .nodes = 1,
                        .cores = f.threads,
                        .cpus = f.threads,
                        .threads = f.threads,
                        .memory_bytes = d.memory_bytes,
                        .cache_bytes[WISP_L2] = (int64_t)f.l3,
                        .cache_cores[WISP_L2] = f.threads};
    snprintf(m->cpu, sizeof m->cpu, "%s", d.what);
    snprintf(m->isa, sizeof m->isa, "%s", ctx->backend->name);
    snprintf(m->device, sizeof m->device, "%s", ctx->device_name);
    /* Whole units, of each of three arrays. */
    m->measure_bytes = memory_set(wisp__gpu_of(ctx), m) + 3 * unit_bytes(ctx);
}

static wisp_status measure_streams(run *r, char *buffer, wisp_machine *m, unsigned what, int64_t most)
{
    enum { STEPS = 2 * WISP_STREAMS };
    wisp_status status = WISP_OK;
    for (int i = 0; i < STEPS; i++) {
        const wisp_level level = i < WISP_STREAMS ? WISP_L2 : WISP_MEMORY;
        const int stream = i % WISP_STREAMS;
        unsigned asked = level == WISP_MEMORY ? WISP_MEASURE_MEMORY : WISP_MEASURE_CACHES;
        if (stream == WISP_LOAD) asked |= WISP_MEASURE_LOADS;
        if (stream == WISP_LOAD && level == WISP_MEMORY) asked |= WISP__MEASURE_NOW;
        if (!is_measured(stream) || !(what & asked)) continue;
        if (what != WISP__MEASURE_NOW) WISP_TRY(wisp_ctx_step(r->ctx, "measuring", (double)i / STEPS, 0));
        WISP_TRY(measure_stream(r, buffer, m, stream, level, most));
    }
out:
    return status;
}

wisp_status wisp__gpu_measure(wisp_ctx *ctx, wisp_machine *m, unsigned what)
{
    run r = {.ctx = ctx, .rounds = MOST_ROUNDS};
    char *buffer = NULL;
    wisp_status status = WISP_OK;
    describe(ctx, m);
    if (!what) return WISP_OK;
    if (what == WISP__MEASURE_NOW) r.rounds = 3;
    const int64_t most = memory_set(wisp__gpu_of(ctx), m);
    WISP_TRY(wisp__gpu_alloc(ctx, &buffer, (size_t)m->measure_bytes, 1));
    WISP_TRY(measure_streams(&r, buffer, m, what, most));
    if (what & WISP_MEASURE_KEPT) WISP_TRY(measure_kept(&r, buffer, m, most));
    if (what & WISP_MEASURE_FMA) WISP_TRY(measure_fma(&r, buffer, m));
    if (what & WISP_MEASURE_EXCHANGE) WISP_TRY(measure_waiting(&r, buffer, m));
out:
    wisp__gpu_free(ctx, buffer);
    return status;
}
