/* The measured ceilings of this machine: bandwidths and the rate of multiply-adds. */
#include "../../base/sort.h"
#include "../../topo/machine.h"
#include "cpu.h"
#include <stdlib.h>
#include <string.h>

/* Neighbouring arrays and threads start a few cache lines off a power of two; see base/alloc.c. */
enum { SKEW = 37 * WISP__LINE, MOST_REPEATS = 9, ARRAYS = 3 };

/* Which loops stand for a stream, the best counts; how many arrays it has and how often a byte is moved. */
static const struct {
    int kernel[2], arrays;
    double moves;
} streams[WISP_STREAMS] = {
    [WISP_LOAD] = {{K_LOAD, K_LOAD_AHEAD}, 1, 1},
    [WISP_COPY] = {{K_COPY, K_COPY}, 2, 2},
    [WISP_COPY_PAST] = {{K_COPY_PAST, K_COPY_PAST}, 2, 2},
    [WISP_TRIAD] = {{K_TRIAD, K_TRIAD}, 3, 3},
    [WISP_TRIAD_PAST] = {{K_TRIAD_PAST, K_TRIAD_PAST}, 3, 3},
    [WISP_UPDATE] = {{K_UPDATE, K_UPDATE}, 1, 2},
};

typedef struct {
    wisp__stream_fn fn;
    char *buffer;
    int64_t slice; /* of the buffer, for each thread */
    int64_t bytes; /* of one array of one thread */
    int arrays;
    int64_t passes;
    double *start, *end, *sum; /* [threads] */
    atomic_int ready;          /* threads that are there: they begin together */
} stream_run;

static void stream_thread(void *arg, int thread, int threads)
{
    stream_run *r = arg;
    char *base = r->buffer + thread * r->slice;
    const int64_t step = r->bytes + SKEW;
    const char *b = r->arrays > 1 ? base + step : base, *c = r->arrays > 2 ? b + step : b;
    const wisp__stream_params p = {base, b, c, r->bytes, r->passes, 0.5};
    atomic_fetch_add(&r->ready, 1);
    for (int i = 1; atomic_load(&r->ready) < threads; i++)
        if (i % 1024 == 0) wisp__yield();
    r->start[thread] = wisp_now();
    r->sum[thread] = r->fn(&p);
    r->end[thread] = wisp_now();
}

/* Seconds from the first thread's start to the last one's end. */
static double run_once(wisp_ctx *ctx, stream_run *r, bool all)
{
    const int threads = all ? ctx->threads : 1;
    atomic_store(&r->ready, 0);
    if (all)
        wisp__team_run_each(ctx->team, stream_thread, r);
    else
        stream_thread(r, 0, 1);
    double start = r->start[0], end = r->end[0];
    for (int i = 1; i < threads; i++) {
        start = WISP__MIN(start, r->start[i]);
        end = WISP__MAX(end, r->end[i]);
    }
    return WISP__MAX(end - start, 1e-9);
}

/* Far more than the last cache holds. */
static size_t buffer_bytes(const wisp_machine *m, int64_t limit)
{
    const int64_t last = m->cache_bytes[WISP_L3] * wisp__cache_count(m, WISP_L3, m->cores);
    const int64_t wanted = WISP__MAX((int64_t)256 << 20, 4 * last), most = WISP__MIN(m->memory_bytes / 4, limit);
    return (size_t)WISP__MAX(WISP__MIN(wanted, most), (int64_t)16 << 20);
}

typedef struct {
    wisp_ctx *ctx;
    char *p;
    size_t bytes;
} fill_run;

/* First touch by the thread that will load the same part. It may be gigabytes: a cancel ends it. */
static void fill_thread(void *arg, int thread, int threads)
{
    enum { UNIT = 65536 };
    const fill_run *f = arg;
    const int64_t units = (int64_t)((f->bytes + UNIT - 1) / UNIT), end = wisp__split(units, threads, thread + 1);
    for (int64_t u = wisp__split(units, threads, thread); u < end && !wisp__cancelled(f->ctx->team); u++)
        memset(f->p + u * UNIT, 0, WISP__MIN((size_t)UNIT, f->bytes - (size_t)u * UNIT));
}

static const char measuring[] = "measuring the bandwidth";

static wisp_status make_buffer(wisp_ctx *ctx, size_t front, size_t bytes)
{
    fill_run f = {.ctx = ctx, .bytes = front + bytes};
    wisp_status status = wisp__alloc_raw(ctx, &f.p, f.bytes, 1);
    if (status != WISP_OK) return status;
    status = wisp__whole(ctx, measuring, wisp__team_run_each(ctx->team, fill_thread, &f));
    if (status != WISP_OK) {
        wisp_free(ctx, f.p);
        return status;
    }
    ctx->stream = f.p;
    ctx->stream_bytes = bytes;
    return WISP_OK;
}

/* The context's buffer, made and touched in the first call, and the threads' clocks in front of it. */
static wisp_status open_run(wisp_ctx *ctx, stream_run *r)
{
    const size_t clocks = (size_t)ctx->threads * 3 * sizeof(double), front = (clocks + 4095) / 4096 * 4096;
    wisp_status status = WISP_OK;
    if (!ctx->stream) WISP_TRY(make_buffer(ctx, front, buffer_bytes(wisp__topology(ctx), ctx->stream_limit)));
    *r = (stream_run){.buffer = (char *)ctx->stream + front, .passes = 1};
    r->slice = (int64_t)ctx->stream_bytes / ctx->threads / K_STREAM_BYTES * K_STREAM_BYTES;
    if (r->slice > 1 << 20) r->slice -= SKEW;
    r->start = ctx->stream;
    r->end = r->start + ctx->threads;
    r->sum = r->end + ctx->threads;
out:
    return status;
}

/* Bytes of each of `arrays` arrays that fill `set` together. */
static void set_arrays(stream_run *r, int64_t set, int arrays)
{
    r->arrays = arrays;
    r->bytes = WISP__MAX(set / arrays / K_STREAM_BYTES, 1) * K_STREAM_BYTES;
}

wisp_status wisp_load_bandwidth(wisp_ctx *ctx, double *gbs)
{
    WISP_NEED(ctx, gbs);
    *gbs = 0;
    WISP_NEED(NULL, ctx);
    stream_run r;
    wisp_machine own;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__turn_begin(ctx->team));
    if (ctx->backend->measure) {
        WISP_TRY(ctx->backend->measure(ctx, &own, WISP__MEASURE_NOW));
        *gbs = own.gbs[WISP_LOAD][WISP_MEMORY][1];
        goto out;
    }
    WISP_TRY(open_run(ctx, &r));
    set_arrays(&r, r.slice, 1);
    for (int k = 0; k < 2; k++) {
        WISP_TRY(wisp__unless_cancelled(ctx, measuring));
        r.fn = ctx->isa->stream[1]->stream[streams[WISP_LOAD].kernel[k]];
        const double seconds = run_once(ctx, &r, true);
        *gbs = WISP__MAX(*gbs, 1e-9 * (double)r.bytes * ctx->threads / seconds);
    }
out:
    return wisp__turn_end(ctx->team, status);
}

/* ---- what a cache really keeps --------------------------------------------------------------- */

/* Sets from a few second-level caches (a last cache is large where others have most of it) to all last caches, each a
   little larger than the one before; one at least, and no larger ones than tests have time for. */
enum { MOST_SETS = 128, ROUNDS = 9, USUAL = 6 };

static int kept_sets(const wisp_ctx *ctx, const wisp_machine *m, int64_t set[MOST_SETS])
{
    const int64_t cache = m->cache_bytes[WISP_L3];
    const int caches = (m->cores + m->cache_cores[WISP_L3] - 1) / m->cache_cores[WISP_L3];
    const int64_t last = cache * WISP__MIN(caches, ctx->threads);
    const double step = 1.06;
    int n = 0;
    const int64_t near = ctx->threads * m->cache_bytes[WISP_L2];
    for (double b = (double)WISP__MAX(WISP__MIN(cache / 4, 4 * near), 2 * near); b < (double)last && n < MOST_SETS;
         b *= step) {
        if (n > 0 && b > (double)ctx->stream_limit) break;
        set[n++] = (int64_t)b;
    }
    return n;
}

/* Bandwidth of one set, all threads together, after one pass that brings it into the cache. */
static double set_bandwidth(wisp_ctx *ctx, stream_run *r, int64_t set)
{
    const int64_t about = WISP__MIN(INT64_C(128) << 20, ctx->stream_limit); /* bytes in all passes */
    set_arrays(r, WISP__MIN(set / ctx->threads, r->slice), 1);
    r->passes = 1;
    run_once(ctx, r, true);
    r->passes = WISP__MAX(about / set, 1);
    return (double)r->bytes * ctx->threads * (double)r->passes / run_once(ctx, r, true);
}

/* The largest set that, as all smaller ones, is loaded at three quarters of the fastest one's rate or more: hardly any
   of it comes from memory. (Memory itself is no part of this: runs over it are long, and on a busy machine interrupted
   more often.) Sizes take turns, for neighbours on the machine come and go, and threads are interrupted: so the third
   best of nine counts, and one set that seems slow does not. */
static wisp_status measure_kept(wisp_ctx *ctx, wisp_machine *m)
{
    const double nearly_all = 0.75;
    stream_run r;
    int64_t set[MOST_SETS];
    double found[MOST_SETS][ROUNDS], fastest = 0;
    wisp_status status = WISP_OK;
    if (m->cache_bytes[WISP_L3] == 0) goto out;
    WISP_TRY(open_run(ctx, &r));
    r.fn = ctx->isa->stream[1]->stream[K_LOAD];
    const int n = kept_sets(ctx, m, set);
    for (int i = 0; i < ROUNDS; i++) {
        WISP_TRY(wisp_ctx_step(ctx, "measuring the cache", (double)i / ROUNDS, 0));
        for (int k = 0; k < n; k++) found[k][i] = set_bandwidth(ctx, &r, set[k]);
    }
    for (int k = 0; k < n; k++) {
        qsort(found[k], ROUNDS, sizeof found[k][0], wisp__by_value);
        fastest = WISP__MAX(fastest, found[k][USUAL]);
    }
    for (int k = 0, slow = 0; k < n && slow < 2; k++) {
        const bool kept = found[k][USUAL] >= nearly_all * fastest;
        slow = kept ? 0 : slow + 1;
        if (kept) m->kept_bytes = set[k];
    }
out:
    return status;
}

void wisp_ctx_set_cache(wisp_ctx *ctx, int64_t kept_bytes)
{
    if (ctx) atomic_store(&ctx->cache_kept, WISP__MAX(kept_bytes, 0));
}

int64_t wisp_ctx_cache(wisp_ctx *ctx, int *measured)
{
    const int64_t kept = ctx ? atomic_load(&ctx->cache_kept) : 0;
    if (measured) *measured = kept > 0;
    return kept > 0 || !ctx ? kept : (int64_t)wisp__facts_of(ctx).kept;
}

/* ---- what threads have from each other ------------------------------------------------------ */

/* All write a part of their second-level caches, then load what the next one has written. */
typedef struct {
    stream_run *r;
    wisp__stream_fn write;
    int rounds;
    atomic_int here;
} exchange_run;

static void all_here(exchange_run *e, int *turn, int threads)
{
    atomic_fetch_add(&e->here, 1);
    for (++*turn; atomic_load(&e->here) < *turn * threads;) wisp__yield();
}

/* A number from each of `lines` cache lines (a power of two), not in their order, as entries of a matrix gather:
   nothing but the core foresees it. */
static double gather_lines(const char *from, int64_t lines)
{
    enum { NEXT = 1237 };
    double sum[4] = {0};
    for (int64_t i = 0; i < lines; i += 4)
        for (int64_t k = 0; k < 4; k++)
            sum[k] += *(const double *)(const void *)(from + WISP__LINE * ((i + k) * NEXT & (lines - 1)));
    return sum[0] + sum[1] + sum[2] + sum[3];
}

static void exchange_thread(void *arg, int thread, int threads)
{
    exchange_run *e = arg;
    stream_run *r = e->r;
    char *own = r->buffer + thread * r->slice, *next = r->buffer + (thread + 1) % threads * r->slice;
    const wisp__stream_params write = {own, own, own, r->bytes, 1, 0.5};
    double seconds = 0;
    int turn = 0;
    for (int i = 0; i < e->rounds; i++) {
        e->write(&write);
        all_here(e, &turn, threads);
        const double start = wisp_now();
        r->sum[thread] = gather_lines(next, r->bytes / WISP__LINE);
        seconds += wisp_now() - start;
        all_here(e, &turn, threads);
    }
    r->end[thread] = seconds;
}

/* The median, for threads may be moved nearer to each other or further away, as they are in other runs. */
static wisp_status measure_exchange(wisp_ctx *ctx, wisp_machine *m)
{
    enum { TURNS = 9, BYTES = 256 << 10 };
    stream_run r;
    double found[TURNS];
    wisp_status status = WISP_OK;
    if (ctx->threads == 1) goto out;
    WISP_TRY(open_run(ctx, &r));
    if (r.slice < BYTES) goto out;
    set_arrays(&r, BYTES, 1);
    for (int i = 0; i < TURNS; i++) {
        exchange_run e = {.r = &r, .write = ctx->isa->stream[1]->stream[K_UPDATE], .rounds = 20};
        wisp__team_run_each(ctx->team, exchange_thread, &e);
        double most = 1e-9;
        for (int t = 0; t < ctx->threads; t++) most = WISP__MAX(most, r.end[t]);
        found[i] = 1e-9 * (double)r.bytes * e.rounds * ctx->threads / most;
    }
    qsort(found, TURNS, sizeof found[0], wisp__by_value);
    m->exchange_gbs = found[TURNS / 2];
out:
    return status;
}

/* ---- ceilings -------------------------------------------------------------------------------- */

/* As many passes as take about two milliseconds, or as long as tests have for it. */
static void set_passes(wisp_ctx *ctx, stream_run *r, bool all)
{
    const double wanted = WISP__MIN(2e-3, ctx->measure_seconds);
    for (r->passes = 1; r->passes < (INT64_C(1) << 40); r->passes *= 4) {
        double seconds = wanted;
        for (int i = 0; i < 4; i++) { /* some of them may have been interrupted */
            const double one = run_once(ctx, r, all);
            seconds = WISP__MIN(seconds, one);
        }
        if (seconds < wanted / 8) continue;
        r->passes = WISP__MAX((int64_t)((double)r->passes * wanted / seconds), 1);
        return;
    }
}

/* The median of some runs over memory, which drifts; the best of some in a cache or in registers. `amount` is that
   of one pass of one thread. */
static double rate(wisp_ctx *ctx, stream_run *r, bool all, bool best, double amount)
{
    double found[MOST_REPEATS];
    const int repeats = best ? 5 : MOST_REPEATS;
    if (best)
        set_passes(ctx, r, all);
    else
        r->passes = 1;
    for (int i = 0; i < repeats; i++)
        found[i] = 1e-9 * amount * (double)r->passes * (all ? ctx->threads : 1) / run_once(ctx, r, all);
    qsort(found, (size_t)repeats, sizeof *found, wisp__by_value);
    return found[best ? repeats - 1 : repeats / 2];
}

/* Bytes that one thread works on, so that all its arrays together fill half of its share of a cache, or some
   second-level caches if that is less: of a last cache that others use as well, there may be no half. For memory one
   thread alone takes the whole buffer. */
static int64_t working_set(const wisp_ctx *ctx, const wisp_machine *m, wisp_level level, bool all, int64_t slice)
{
    const int64_t most = (all ? slice : (int64_t)ctx->stream_bytes) - ARRAYS * SKEW;
    if (level == WISP_MEMORY) return most;
    const int sharing = WISP__MIN(m->cache_cores[level], all ? ctx->threads : 1);
    const int64_t share = m->cache_bytes[level] / 2 / WISP__MAX(sharing, 1), some = 8 * m->cache_bytes[WISP_L2];
    return WISP__MIN(level == WISP_L3 && some > 0 ? WISP__MIN(share, some) : share, most);
}

static wisp_status measure_stream(wisp_ctx *ctx, wisp_machine *m, wisp_stream stream, wisp_level level)
{
    stream_run r;
    wisp_status status = WISP_OK;
    const bool past = stream == WISP_COPY_PAST || stream == WISP_TRIAD_PAST;
    if (level != WISP_MEMORY && (past || m->cache_bytes[level] == 0)) goto out;
    WISP_TRY(open_run(ctx, &r));
    for (int all = 0; all < 2; all++) {
        set_arrays(&r, working_set(ctx, m, level, all, r.slice), streams[stream].arrays);
        double *gbs = &m->gbs[stream][level][all];
        for (int k = 0; k < 2; k++) {
            if (k == 1 && streams[stream].kernel[0] == streams[stream].kernel[1]) continue;
            r.fn = ctx->isa->stream[1]->stream[streams[stream].kernel[k]];
            const double found = rate(ctx, &r, all, level != WISP_MEMORY, streams[stream].moves * (double)r.bytes);
            *gbs = WISP__MAX(*gbs, found);
        }
    }
out:
    return status;
}

static wisp_status measure_fma(wisp_ctx *ctx, wisp_machine *m)
{
    stream_run r;
    wisp_status status = WISP_OK;
    WISP_TRY(open_run(ctx, &r));
    for (int is_double = 0; is_double < 2; is_double++)
        for (int all = 0; all < 2; all++) {
            const wisp__stream_table *table = ctx->isa->stream[is_double];
            r.fn = table->multiply_add;
            m->fma_gflops[is_double][all] = rate(ctx, &r, all, true, table->flops);
        }
out:
    return status;
}

static wisp_status measure_all(wisp_ctx *ctx, wisp_machine *m, unsigned what)
{
    const int steps = WISP_STREAMS * WISP_LEVELS;
    wisp_status status = WISP_OK;
    *m = *wisp__topology(ctx);
    m->threads = ctx->threads;
    strncpy(m->isa, ctx->isa->name, sizeof m->isa - 1);
    for (int i = 0; i < steps; i++) {
        const wisp_level level = (wisp_level)(i / WISP_STREAMS);
        unsigned asked = level == WISP_MEMORY ? WISP_MEASURE_MEMORY : WISP_MEASURE_CACHES;
        if (i % WISP_STREAMS == WISP_LOAD) asked |= WISP_MEASURE_LOADS;
        if (!(what & asked)) continue;
        WISP_TRY(wisp_ctx_step(ctx, "measuring", (double)i / steps, 0));
        WISP_TRY(measure_stream(ctx, m, (wisp_stream)(i % WISP_STREAMS), level));
    }
    if (what & WISP_MEASURE_KEPT) WISP_TRY(measure_kept(ctx, m));
    if (what & WISP_MEASURE_EXCHANGE) WISP_TRY(measure_exchange(ctx, m));
    if (what & WISP_MEASURE_FMA) WISP_TRY(measure_fma(ctx, m));
out:
    return status;
}

/* What was taken for it goes back. */
static void give_back(wisp_ctx *ctx)
{
    wisp_free(ctx, ctx->stream);
    ctx->stream = NULL;
    ctx->stream_bytes = 0;
}

wisp_status wisp_machine_measure(wisp_ctx *ctx, wisp_machine *m, unsigned what)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    wisp_status status = wisp__turn_begin(ctx->team);
    const bool had_buffer = ctx->stream; /* in this turn: another thread may have made it in its own */
    if (status != WISP_OK) goto out;
    WISP_TRY(ctx->backend->measure ? ctx->backend->measure(ctx, m, what) : measure_all(ctx, m, what));
    if (what) WISP_TRY(wisp_ctx_step(ctx, "measuring", 1, 0));
    wisp__take_machine(ctx, m);
out:
    if (!had_buffer) give_back(ctx);
    return wisp__turn_end(ctx->team, status);
}
