/* Makes and ends a context, with its rank, its device and its team. */
#include "../topo/machine.h"
#include "../topo/task.h"
#include "backend.h"
#include "config.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WISP_HAVE_MPI
#include <wisp/mpi.h>
#endif

/* A positive number from the environment, or the fallback. */
static int64_t env_number(const char *name, int64_t fallback)
{
    const char *s = getenv(name);
    long long v = s ? atoll(s) : 0;
    return v > 0 ? v : fallback;
}

static wisp_status check_options(wisp_ctx *ctx)
{
    const wisp_ctx_opts *o = &ctx->opts;
    if (o->device_memory_limit < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.device_memory_limit is %lld bytes; it can't be negative",
                              (long long)o->device_memory_limit);
    if (o->index_limit < 0 || o->memory_limit < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "opts.index_limit is %lld and opts.memory_limit %lld bytes; they can't be negative",
                              (long long)o->index_limit, (long long)o->memory_limit);
    if ((unsigned)o->level > WISP_LOG_DEBUG)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.level: unknown value %d", (int)o->level);
    return WISP_OK;
}

/* ctx->weight from a list of weights; `from` names it in messages. Equal ones are as good as none. */
static wisp_status set_weights(wisp_ctx *ctx, const int64_t *weight, const char *from)
{
    const wisp_status status = wisp__weights_check(ctx, weight, from);
    bool equal = true;
    if (status != WISP_OK) return status;
    ctx->weight = calloc((size_t)ctx->ranks + 1, sizeof *ctx->weight);
    if (!ctx->weight) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %d weights", ctx->ranks);
    for (int r = 0; r < ctx->ranks; r++) {
        equal &= weight[r] == weight[0];
        ctx->weight[r + 1] = ctx->weight[r] + weight[r];
    }
    if (equal) {
        free(ctx->weight);
        ctx->weight = NULL;
    }
    return WISP_OK;
}

/* $WISP_WEIGHTS, one whole number for each rank: "2,0,1". */
static wisp_status read_weights(wisp_ctx *ctx, const char *text)
{
    char from[128], *end;
    const char *s = text;
    wisp_status status;
    snprintf(from, sizeof from, "WISP_WEIGHTS=%.80s", text);
    int64_t *weight = calloc((size_t)ctx->ranks, sizeof *weight);
    if (!weight) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %d weights", ctx->ranks);
    for (int r = 0; r < ctx->ranks; r++, s = end + 1) {
        weight[r] = strtoll(s, &end, 10);
        if (end != s && *end == (r + 1 < ctx->ranks ? ',' : 0)) continue;
        status = wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: give %d numbers, with commas between them", from, ctx->ranks);
        goto out;
    }
    status = set_weights(ctx, weight, from);
out:
    free(weight);
    return status;
}

static wisp_status take_weights(wisp_ctx *ctx)
{
    const int64_t *given = ctx->opts.weights;
    const char *text = getenv("WISP_WEIGHTS");
    ctx->opts.weights = NULL; /* the user's, of this call alone */
    if (given) return set_weights(ctx, given, "opts.weights");
    return text && *text && ctx->ranks > 1 ? read_weights(ctx, text) : WISP_OK;
}

const char *wisp_halo_name(wisp_halo halo)
{
    static const char *const name[] = {"auto", "none", "overlap", "task", "neighbours", "columns", "nocomm"};
    return (unsigned)halo <= WISP_HALO_NOCOMM ? name[halo] : NULL;
}

/* $WISP_HALO, for the matrices that leave it open. */
static wisp_status find_halo(wisp_ctx *ctx)
{
    const char *want = getenv("WISP_HALO");
    if (!want || !*want) return WISP_OK;
    for (wisp_halo h = WISP_HALO_AUTO; h <= WISP_HALO_NOCOMM; h++)
        if (!strcmp(wisp_halo_name(h), want)) {
            ctx->halo = h;
            return WISP_OK;
        }
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "WISP_HALO=%s: take auto, none, overlap, task, neighbours, columns or nocomm", want);
}

static void end(wisp_ctx *ctx)
{
    if (ctx->backend) ctx->backend->close(ctx);
    if (ctx->comm->close) ctx->comm->close(ctx);
    wisp__tasks_free(ctx);
    pthread_mutex_destroy(&ctx->lock);
    pthread_mutex_destroy(&ctx->device_lock);
    pthread_mutex_destroy(&ctx->source_lock);
    free(ctx->weight);
    free(ctx->of_rank);
    free(ctx);
}

/* $WISP_ALLOC_FAIL_AT: the number of an allocation, of all ranks, or NUMBER@RANK. */
static unsigned failing_allocation(const wisp_ctx *ctx)
{
    const char *s = getenv("WISP_ALLOC_FAIL_AT"), *at = s ? strchr(s, '@') : NULL;
    return at && atoi(at + 1) != ctx->rank ? 0 : (unsigned)env_number("WISP_ALLOC_FAIL_AT", 0);
}

/* What the context's threads would have of the simulated machine, on a core each. Rates of n threads: n times that of
   one, at most that of all; last caches: as many as n cores have. */
static wisp_status take_simulated(wisp_ctx *ctx)
{
    wisp_machine *there = &ctx->topology, m = *there;
    const wisp_level last = m.cache_bytes[WISP_L3] > 0 ? WISP_L3 : WISP_L2;
    const int threads = WISP__MIN(ctx->threads, m.threads);
    for (int l = 0; l < WISP_LEVELS; l++) {
        double *gbs = m.gbs[WISP_LOAD][l];
        gbs[1] = WISP__MIN(gbs[1], threads * gbs[0]);
    }
    m.exchange_gbs *= threads > 1 ? (double)threads / m.threads : 0;
    m.kept_bytes = m.kept_bytes * wisp__cache_count(&m, last, threads) / wisp__cache_count(&m, last, m.threads);
    m.threads = 0;
    m.isa[0] = 0;
    const wisp_status status = ctx->backend->measure ? WISP_OK : wisp_ctx_set_machine(ctx, &m);
    ctx->one_node = m.nodes == 1;
    /* What was not measured here is 0 to who asks. */
    memset(there->gbs, 0, sizeof there->gbs);
    memset(there->kernel_ns, 0, sizeof there->kernel_ns);
    there->exchange_gbs = 0;
    there->kept_bytes = 0;
    return status;
}

static wisp_status fill(wisp_ctx *ctx)
{
    wisp_status status;
    ctx->alloc_fail_at = failing_allocation(ctx);
    ctx->alloc_guard = env_number("WISP_ALLOC_GUARD", 0) > 0;
    WISP_TRY(check_options(ctx));
    WISP_TRY(take_weights(ctx));
    WISP_TRY(find_halo(ctx));
    WISP_TRY(wisp__take_device(ctx));
    WISP_TRY(wisp__simulate(ctx)); /* before the backend, which assumes nothing of the CPU below then */
    WISP_TRY(wisp__share_units(ctx));
    WISP_TRY(wisp__team_open_own(ctx));
    WISP_TRY(ctx->backend->open(ctx));
    if (ctx->simulated) WISP_TRY(take_simulated(ctx));
    status = wisp__agree(ctx);
out:
    return status;
}

wisp_status wisp_ctx_create(wisp_ctx **ctx_out, const wisp_ctx_opts *opts)
{
    WISP_NEED(NULL, ctx_out);
    *ctx_out = NULL;
    wisp_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx) return wisp_ctx_failf(NULL, WISP_ERR_NOMEM, "out of memory for a context");
    if (opts) ctx->opts = *opts;
    if (ctx->opts.level == WISP_LOG_DEFAULT) ctx->opts.level = WISP_LOG_WARN;
    pthread_mutex_init(&ctx->lock, NULL);
    pthread_mutex_init(&ctx->device_lock, NULL);
    pthread_mutex_init(&ctx->source_lock, NULL);
    atomic_init(&ctx->held, 1);
    ctx->end = end;
    ctx->zero = wisp__zero;
    ctx->aside = wisp__aside;
    ctx->index_limit = ctx->opts.index_limit > 0 ? ctx->opts.index_limit : env_number("WISP_INDEX_LIMIT", INT32_MAX);
    ctx->index_limit = WISP__MIN(ctx->index_limit, INT32_MAX);
    ctx->stream_limit = env_number("WISP_STREAM_LIMIT", INT64_MAX);
    ctx->measure_seconds = 1e-6 * (double)env_number("WISP_MEASURE_LIMIT", INT64_MAX);
    ctx->comm = wisp__comm_here();
    wisp_status status;
    WISP_TRY(ctx->comm->open(ctx));
    ctx->comm->enter(ctx);
    status = ctx->comm->leave(ctx, fill(ctx));
    if (status == WISP_OK) *ctx_out = ctx;
    if (status == WISP_OK) return status;
out:
    wisp_ctx_log(ctx, WISP_LOG_WARN, ctx->message);
    wisp_ctx_fail(NULL, status, ctx->message); /* behind what the log function calls */
    wisp_ctx_free(ctx);
    return status;
}

/* Objects on it may be freed after it: the last one ends it. */
void wisp_ctx_free(wisp_ctx *ctx)
{
    if (!ctx || !wisp__tasks_close(ctx)) return;
    if (ctx->device) ctx->backend->finish(ctx); /* its work needs the team */
    wisp_free(ctx, ctx->stream);
    ctx->stream = NULL;
    if (ctx->backend) ctx->backend->free(ctx, ctx->dots);
    ctx->dots = NULL;
    wisp__team_close(ctx->team);
    ctx->team = NULL;
    wisp__ctx_let_go(ctx);
}

/* GB/s that were measured, and no nonsense, in units of so many bytes. */
static void set_rate(double *rate, double gbs, int unit)
{
    const double least = 1e-3, most = 1e6;
    if (gbs >= least && gbs <= most) *rate = 1e9 * gbs / unit;
}

static void set_kernels(wisp__rates *r, const wisp_machine *m)
{
    const double *ns = &m->kernel_ns[0][0][0][0];
    double *seconds = &r->kernel[0][0][0][0];
    for (size_t i = 0; i < sizeof r->kernel / sizeof *seconds; i += 2)
        if (ns[i] > 0) seconds[i] = 1e-9 * ns[i], seconds[i + 1] = 1e-9 * ns[i + 1];
}

wisp_status wisp_ctx_set_machine(wisp_ctx *ctx, const wisp_machine *m)
{
    char why[256];
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    if (wisp__machine_doubt(m, why, sizeof why))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "figures of the machine can't be true: %s", why);
    const bool own = ctx->backend->measure; /* figures of the device's own */
    const int threads = own ? wisp__facts_of(ctx).threads : ctx->threads;
    if ((m->threads && m->threads != threads) ||
        (m->isa[0] && strcmp(m->isa, own ? ctx->backend->name : ctx->isa_name)))
        return WISP_OK;
    if (m->kept_bytes > 0) wisp_ctx_set_cache(ctx, m->kept_bytes);
    pthread_mutex_lock(&ctx->lock);
    wisp__rates *r = &ctx->rates;
    set_rate(&r->memory, m->gbs[WISP_LOAD][WISP_MEMORY][1], 1);
    set_rate(&r->l3, m->gbs[WISP_LOAD][own ? WISP_L2 : WISP_L3][1], 1);
    set_rate(&r->exchange, m->exchange_gbs, 1);
    set_rate(&r->l2, m->gbs[WISP_LOAD][WISP_L2][1], 1);
    set_rate(&r->loads, m->gbs[WISP_LOAD][WISP_L1][1], ctx->register_bytes);
    if (own && m->launch_seconds > 0) r->wait = m->launch_seconds;
    if (!own) set_kernels(r, m);
    pthread_mutex_unlock(&ctx->lock);
    return WISP_OK;
}

void wisp__take_machine(wisp_ctx *ctx, const wisp_machine *m)
{
    char message[WISP_MESSAGE];
    if (ctx->simulated || wisp_ctx_set_machine(ctx, m) == WISP_OK) return;
    wisp_ctx_message(ctx, message, sizeof message);
    wisp_ctx_logf(ctx, WISP_LOG_PERF, "%s; they are not taken: measure again while nothing else runs", message);
}

wisp_status wisp_ctx_finish(wisp_ctx *ctx)
{
    WISP_NEED(NULL, ctx);
    wisp__count(&ctx->round_trips, 1);
    return ctx->backend->finish(ctx);
}

int wisp_ctx_threads(const wisp_ctx *ctx) { return ctx ? ctx->threads : 0; }

int wisp_ctx_look_every(wisp_ctx *ctx) { return ctx ? wisp__facts_of(ctx).look_every : 0; }

int wisp_ctx_steps_per_call(wisp_ctx *ctx) { return ctx ? wisp__facts_of(ctx).steps : 0; }

const char *wisp_ctx_device(const wisp_ctx *ctx) { return ctx ? ctx->device_name : NULL; }

const char *wisp_ctx_device_of(const wisp_ctx *ctx, int rank, int *ranks)
{
    const bool there = ctx && rank >= 0 && rank < ctx->ranks;
    if (ranks) *ranks = there ? ctx->of_rank[rank].ranks : 0;
    return there ? ctx->of_rank[rank].name : NULL;
}

const char *wisp_ctx_isa(const wisp_ctx *ctx) { return ctx ? ctx->isa_name : NULL; }

#ifdef WISP_HAVE_MPI
wisp_status wisp_ctx_create_mpi(wisp_ctx **ctx, MPI_Comm comm, const wisp_ctx_opts *opts)
{
    wisp__mpi_set(&comm);
    const wisp_status status = wisp_ctx_create(ctx, opts);
    wisp__mpi_set(NULL);
    return status;
}

int wisp_ctx_mpi_comm(const wisp_ctx *ctx, MPI_Comm *comm) { return ctx && comm && wisp__mpi_comm(ctx, comm); }
#endif
