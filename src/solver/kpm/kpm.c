/* Chebyshev moments by the kernel polynomial method: figures 3 to 5 of Kreutzer et al., "Performance engineering
   of the kernel polynomial method on large-scale CPU-GPU systems". */
#include "../solver.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one step of the recurrence does beside the product, for its cost. */
enum { KPM_TERMS = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY };

typedef struct kpm {
    wisp_ctx *ctx;
    const wisp_mat *A;
    const wisp_kpm_opts *opts; /* with every default filled in */
    const char *task;          /* for the progress */
    wisp_bounds bounds;
    int64_t vectors;     /* of the whole run: random ones, sites, or all unit vectors */
    wisp_blk *v, *w, *u; /* |nu_m>; |nu_m-1>, which becomes |nu_m+1>; u for the naive variant alone */
    int width;           /* their columns */
    int per_call;        /* steps of a call of wisp_mpk */
    int depth;           /* of the last call that had all its steps; 1: there was none */
    wisp_scalar *factor; /* [3][per_call]: alpha, beta, gamma of these steps */
    wisp_scalar *dot;    /* [per_call][3][width] of one call, as wisp_mpk gives them */
    double *eta;         /* [moments][width] all dots of the batch: <nu_m|nu_m> and <nu_m+1|nu_m> in turn */
    int64_t *row;        /* [width] of the unit vectors */
    int64_t sweeps;      /* of the present batch that are done */
    double sweep_flops;  /* of one sweep and vector */
    double flops;        /* so far */
    double look_seconds; /* for the look at rounding, which are not those of the moments */
    double before;       /* seconds of the calls that this one goes on from */
    double began;        /* when this one began, see wisp_now */
    wisp_moments *m;
    int64_t first;    /* vector of the present batch */
    bool goes_on;     /* in the middle of that batch, from a kept state */
    wisp_state *live; /* NULL: it is not offered */
    wisp_status (*steps)(struct kpm *k, int64_t first, int count);
} kpm;

static void swap(kpm *k)
{
    wisp_blk *v = k->v;
    k->v = k->w;
    k->w = v;
}

/* Figures 4 and 5: |w> = alpha (A - c)|v> + beta |w>  &  <v|v>  &  <w|v>, each step in one pass. */
static wisp_status steps_fused(kpm *k, int64_t first, int count)
{
    wisp_scalar *alpha = k->factor, *beta = alpha + k->per_call, *gamma = beta + k->per_call;
    for (int i = 0; i < count; i++) wisp__chebyshev_step(&k->bounds, first + i, alpha + i, beta + i, gamma + i);
    wisp_mpk_opts o = {.steps = count,
                       .alpha = alpha,
                       .beta = beta,
                       .gamma = gamma,
                       .terms = WISP_DOT_XX | WISP_DOT_XY,
                       .dot = k->dot,
                       .depth = k->opts->depth, /* 0: left to wisp_mpk */
                       .cache_budget = k->opts->cache_budget,
                       .depth_used = count == k->per_call ? &k->depth : NULL};
    if (!k->opts->reduce_each_step) o.terms |= WISP_NOREDUCE;
    wisp_status status = wisp_mpk((wisp_blk *[]){k->w, k->v}, 2, k->A, &o);
    if (count % 2) swap(k);
    return status;
}

/* Figure 3: one step by a sparse product and BLAS-1 calls. */
static wisp_status step_naive(kpm *k, int64_t m, int count)
{
    wisp_status status = WISP_OK;
    wisp_scalar alpha, beta, gamma;
    (void)count;
    wisp__chebyshev_step(&k->bounds, m, &alpha, &beta, &gamma);
    WISP_TRY(wisp_spmmv(k->u, k->A, k->v, NULL));                   /* |u> = A |v> */
    WISP_TRY(wisp_axpy(k->u, wisp__real(-k->bounds.center), k->v)); /* |u> = |u> - c |v> */
    WISP_TRY(wisp_scal(k->w, beta));                                /* |w> = -|w> */
    WISP_TRY(wisp_axpy(k->w, alpha, k->u));                         /* |w> = |w> + 2/h |u> */
    WISP_TRY(wisp_dot(k->v, k->v, k->dot));                         /* <v|v> */
    WISP_TRY(wisp_dot(k->w, k->v, k->dot + k->width));              /* <w|v> */
    swap(k);
out:
    return status;
}

/* Keeps <v|v> or <w|v> of the present sweep as eta_n. */
static void keep(kpm *k, int64_t n, const wisp_scalar *dot)
{
    for (int j = 0; j < k->width; j++) k->eta[n * k->width + j] = dot[j].re;
}

/* On which side the spectrum leaves the bounds, of column j: beyond the upper one <nu_m+1|nu_m> grows and is
   positive, beyond the lower one it is negative. The last pair of dots is that of sweep m. */
static const char *side(const kpm *k, int64_t m, int j)
{
    double ratio = k->eta[(2 * m + 1) * k->width + j] / k->eta[2 * m * k->width + j];
    return ratio > 0.2 ? "above the upper bound" : ratio < -0.2 ? "below the lower bound" : "beyond the bounds";
}

/* Moment n of column j from the dots: mu_2m = 2 <nu_m|nu_m> - mu_0, mu_2m+1 = 2 <nu_m+1|nu_m> - mu_1. */
static double moment(const kpm *k, int64_t n, int j)
{
    const double *eta = k->eta + j;
    return n < 2 ? eta[n * k->width] : 2 * eta[n * k->width] - eta[(n % 2) * k->width];
}

/* No moment exceeds mu_0 as long as |T_n| <= 1, that is while the spectrum lies within the bounds. Checks moment n;
   sweep m made the last pair of dots. Single precision's rounding needs more room. */
static wisp_status guard(const kpm *k, int64_t first, int64_t n, int64_t m)
{
    const double allowed = 1 + (wisp__is_single(k->opts->type) ? 2e-4 : 2e-8);
    for (int j = 0; j < k->width; j++) {
        const double mu_0 = moment(k, 0, j), mu = moment(k, n, j);
        if (fabs(mu) <= mu_0 * allowed) continue;
        return wisp_ctx_failf(
            k->ctx, WISP_ERR_BOUNDS,
            "the matrix has eigenvalues %s: bounds %.10g to %.10g, and moment %lld of vector %lld is %.4g times moment "
            "0; take wider opts.bounds%s",
            side(k, m, j), k->bounds.center - k->bounds.halfwidth, k->bounds.center + k->bounds.halfwidth, (long long)n,
            (long long)(first + j), mu / mu_0,
            isnan(k->bounds.failure_probability) ? ", or none, so that they are found" : "");
    }
    return WISP_OK;
}

/* |v> = |nu_0>: vector number `first` and those that follow it. */
static wisp_status start(kpm *k, int64_t first)
{
    const wisp_kpm_opts *o = k->opts;
    if (o->trace == WISP_TRACE_RANDOM)
        return wisp_blk_fill_random(k->v, WISP_RANDOM_TRACE, o->seed, WISP__STREAM_TRACE,
                                    (uint32_t)(o->first_vector + first));
    for (int j = 0; j < k->width; j++) k->row[j] = o->trace == WISP_TRACE_SITES ? o->sites[first + j] : first + j;
    return wisp_blk_fill_units(k->v, k->row);
}

/* Keeps the dots of steps `m` and following: eta_2m = <v|v>, eta_2m+1 = <w|v>. */
static wisp_status take_dots(kpm *k, int64_t first, int64_t m, int count, int whole)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < count; i++) {
        const wisp_scalar *dot = k->dot + 3 * i * k->width;
        keep(k, 2 * (m + i), dot);
        keep(k, 2 * (m + i) + 1, dot + k->width);
        if (whole) WISP_TRY(guard(k, first, 2 * (m + i), m + i));
        if (whole) WISP_TRY(guard(k, first, 2 * (m + i) + 1, m + i));
    }
out:
    return status;
}

static void free_blocks(kpm *k)
{
    wisp_blk_free(k->v);
    wisp_blk_free(k->w);
    wisp_blk_free(k->u);
    k->v = k->w = k->u = NULL;
    k->width = 0;
}

/* Blocks for a batch; the last one may be narrower. */
static wisp_status set_width(kpm *k, int width)
{
    wisp_status status = WISP_OK;
    wisp_map *map = wisp_mat_map(k->A);
    wisp_type type = k->opts->type;
    if (width == k->width) return WISP_OK;
    free_blocks(k);
    WISP_TRY(wisp_blk_create(&k->v, k->ctx, map, type, width));
    WISP_TRY(wisp_blk_create(&k->w, k->ctx, map, type, width));
    if (k->opts->variant == WISP_KPM_NAIVE) WISP_TRY(wisp_blk_create(&k->u, k->ctx, map, type, width));
    k->width = width;
out:
    return status;
}

/* Whether each rank has the dots of all ranks after each call; else each has its own part of them. */
static bool whole_each_step(const wisp_kpm_opts *o) { return o->reduce_each_step || o->variant == WISP_KPM_NAIVE; }

/* The rows whose local densities are computed have to be those of this call. */
static wisp_status same_sites(const kpm *k, wisp_state *s)
{
    wisp_status status;
    int64_t *kept = NULL;
    const int64_t *site = k->opts->sites;
    const size_t bytes = (size_t)k->vectors * sizeof *site;
    if (!wisp_state_is_kept(s)) return wisp_state_data(s, "sites", (void *)site, bytes);
    WISP_TRY(wisp_alloc(k->ctx, &kept, (size_t)k->vectors, sizeof *kept));
    WISP_TRY(wisp_state_data(s, "sites", kept, bytes));
    if (memcmp(kept, site, bytes))
        status = wisp_ctx_failf(k->ctx, WISP_ERR_MISMATCH, "the state is of a run with other sites");
out:
    wisp_free(k->ctx, kept);
    return status;
}

/* The state between two calls of wisp_mpk. What is given back first says how much of the rest there is. */
static wisp_status items(void *arg, wisp_state *s)
{
    kpm *k = arg;
    wisp_moments *m = k->m;
    const wisp_kpm_opts *o = k->opts;
    struct {
        int64_t first, sweeps, width;
        double flops, seconds, bounds_seconds, rounding, depth;
    } at = {k->first,          k->sweeps,   k->width, k->flops, k->before + wisp_now() - k->began - k->look_seconds,
            m->bounds_seconds, m->rounding, k->depth};
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_state_samef(s, "solver", "kpm"));
    WISP_TRY(wisp_state_samef(s, "rows", "%lld", (long long)m->rows));
    WISP_TRY(wisp_state_samef(s, "opts.moments", "%lld", (long long)m->n));
    WISP_TRY(
        wisp_state_samef(s, "opts.vectors", "%lld from %lld on", (long long)k->vectors, (long long)o->first_vector));
    WISP_TRY(wisp_state_samef(s, "opts.seed", "%llu", (unsigned long long)o->seed));
    WISP_TRY(wisp_state_samef(s, "opts.trace", "%s",
                              o->trace == WISP_TRACE_RANDOM  ? "random"
                              : o->trace == WISP_TRACE_EXACT ? "exact"
                                                             : "sites"));
    WISP_TRY(wisp_state_samef(s, "opts.type", "%s", wisp_type_name(o->type)));
    WISP_TRY(wisp_state_samef(s, "opts.variant", "%s, %s", o->variant == WISP_KPM_NAIVE ? "naive" : "fused",
                              whole_each_step(o) ? "summed at each step" : "summed at the end"));
    WISP_TRY(wisp_state_samef(s, "opts.width", "%d", wisp__kpm_width(o, k->vectors)));
    WISP_TRY(wisp__same_bounds(s, "opts.bounds", &o->bounds));
    WISP_TRY(wisp_state_data(s, "at", &at, sizeof at));
    WISP_TRY(wisp_state_data(s, "found bounds", &k->bounds, sizeof k->bounds));
    if (wisp_state_is_kept(s)) {
        if (at.first < 0 || at.sweeps < 0 || at.sweeps > m->n / 2 || at.width < 1 || at.first + at.width > k->vectors ||
            at.width > wisp__kpm_width(o, k->vectors))
            return wisp_ctx_failf(k->ctx, WISP_ERR_FORMAT, "a state of moments that can't be: vector %lld, step %lld",
                                  (long long)at.first, (long long)at.sweeps);
        WISP_TRY(set_width(k, (int)at.width));
        k->first = at.first;
        k->sweeps = at.sweeps;
        k->flops = at.flops;
        k->before = at.seconds;
        k->depth = (int)at.depth;
        m->bounds = k->bounds;
        m->bounds_seconds = at.bounds_seconds;
        m->rounding = at.rounding;
        if (m->trace != WISP_TRACE_EXACT) m->vectors = k->first;
        k->goes_on = true;
    }
    const int64_t lines = m->trace == WISP_TRACE_EXACT ? 1 : k->first;
    WISP_TRY(wisp_state_data(s, "mu", m->mu, (size_t)(lines * m->n) * sizeof *m->mu));
    const size_t dots = (size_t)(2 * k->sweeps * k->width);
    if (whole_each_step(o))
        WISP_TRY(wisp_state_data(s, "eta", k->eta, dots * sizeof *k->eta));
    else
        WISP_TRY(wisp_state_sums(s, "eta", k->eta, dots));
    if (o->trace == WISP_TRACE_SITES) WISP_TRY(same_sites(k, s));
    WISP_TRY(wisp_state_block(s, "v", k->v));
    WISP_TRY(wisp_state_block(s, "w", k->w));
out:
    return status;
}

/* All dots of one batch of vectors: n/2 sweeps, two dots each. nu_1 = 1/h (A - c) nu_0 begins; if n is odd then the
   last dot needs no sweep of its own. */
static wisp_status run_batch(kpm *k, int64_t first)
{
    wisp_status status = WISP_OK;
    const int64_t n = k->opts->moments, sweeps = n / 2;
    /* One reduction at the very end: until then each process has its own part of the dots, of which the guard can
       only judge the whole. */
    const bool whole = whole_each_step(k->opts) || wisp_ctx_processes(k->ctx) == 1;
    if (!k->goes_on) {
        k->sweeps = 0;
        WISP_TRY(start(k, first));
    }
    k->goes_on = false;
    for (int64_t first_step = k->sweeps; first_step < sweeps; first_step = k->sweeps) {
        const int count = sweeps - first_step < k->per_call ? (int)(sweeps - first_step) : k->per_call;
        double done = ((double)first + k->width * (double)first_step / (double)sweeps) / (double)k->vectors;
        WISP_TRY(wisp_ctx_step(k->ctx, k->task, done, k->flops));
        if (k->live) WISP_TRY(wisp_state_offer(k->live, k->opts->offer, k->opts->offer_arg));
        WISP_TRY(k->steps(k, first_step, count));
        WISP_TRY(take_dots(k, first, first_step, count, whole));
        k->sweeps = first_step + count;
        k->flops += k->sweep_flops * k->width * count;
    }
    if (!whole) {
        WISP_TRY(wisp_ctx_sum(k->ctx, k->eta, (size_t)(2 * sweeps * k->width)));
        for (int64_t i = 0; i < 2 * sweeps; i++) WISP_TRY(guard(k, first, i, i / 2));
    }
    if (n % 2) {
        WISP_TRY(wisp_dot(k->v, k->v, k->dot));
        keep(k, n - 1, k->dot);
        WISP_TRY(guard(k, first, n - 1, sweeps - 1));
    }
out:
    return status;
}

/* The batch's moments. An exact trace is the sum over all vectors. */
static void collect(const kpm *k, int64_t first, wisp_moments *m)
{
    for (int j = 0; j < k->width; j++) {
        double *mu = k->opts->trace == WISP_TRACE_EXACT ? m->mu : m->mu + (first + j) * m->n;
        for (int64_t n = 0; n < m->n; n++) mu[n] += moment(k, n, j);
    }
}

/* Cancelled before the first batch was complete: its vectors are kept with the moments they have. */
static void keep_begun(const kpm *k, wisp_moments *m)
{
    if (m->vectors > 0 || m->trace == WISP_TRACE_EXACT || k->sweeps == 0) return;
    if (wisp_ctx_processes(k->ctx) > 1) return; /* each has some of the sums, and may be a step ahead */
    m->n = 2 * k->sweeps;
    collect(k, 0, m);
    m->vectors = k->width;
}

/* The kernel polynomial method: batch by batch. m->vectors counts those whose moments are there. */
static wisp_status run(kpm *k, wisp_moments *m)
{
    wisp_status status = WISP_OK;
    size_t most = (size_t)wisp__kpm_width(k->opts, k->vectors);
    WISP_TRY(wisp_alloc(k->ctx, &k->factor, 3 * (size_t)k->per_call, sizeof *k->factor));
    WISP_TRY(wisp_alloc(k->ctx, &k->dot, 3 * (size_t)k->per_call * most, sizeof *k->dot));
    WISP_TRY(wisp_alloc(k->ctx, &k->row, most, sizeof *k->row));
    WISP_TRY(wisp_alloc(k->ctx, &k->eta, (size_t)m->n * most, sizeof *k->eta));
    if (k->opts->resume) WISP_TRY(items(k, k->opts->resume));
    if (k->opts->offer) WISP_TRY(wisp_state_create(&k->live, k->ctx, items, k));
    for (int64_t first = k->first, done; first < k->vectors; first = done) {
        int64_t left = k->vectors - first;
        k->first = first;
        WISP_TRY(set_width(k, left < (int64_t)most ? (int)left : (int)most));
        WISP_TRY(run_batch(k, first));
        collect(k, first, m);
        done = first + k->width;
        if (m->trace != WISP_TRACE_EXACT) m->vectors = done;
        if (k->opts->rounding_limit > 0 && m->rounding == 0 && done > 1) {
            const double before = wisp_now();
            free_blocks(k); /* so that the look needs no more memory */
            WISP_TRY(wisp__kpm_rounding(m, k->A, k->opts));
            k->look_seconds = wisp_now() - before;
        }
    }
    m->vectors = m->trace == WISP_TRACE_EXACT ? 1 : k->vectors;
    WISP_TRY(wisp_ctx_step(k->ctx, k->task, 1, k->flops));
out:
    m->partial = status == WISP_ERR_CANCELLED;
    if (m->partial) keep_begun(k, m);
    wisp_state_free(k->live);
    free_blocks(k);
    wisp_free(k->ctx, k->factor);
    wisp_free(k->ctx, k->dot);
    wisp_free(k->ctx, k->row);
    wisp_free(k->ctx, k->eta);
    return status;
}

/* All of m but the moments themselves. They are the caller's, who may keep them longer than the context: plain
   memory. */
static wisp_status describe(wisp_moments *m, wisp_ctx *ctx, const wisp_mat_info *info, const wisp_kpm_opts *o)
{
    int64_t vectors = wisp__kpm_vectors(o, info->rows);
    size_t lines = o->trace == WISP_TRACE_EXACT ? 1 : (size_t)vectors;
    *m = (wisp_moments){.rows = info->rows,
                        .nnz = info->nnz,
                        .n = o->moments,
                        .trace = o->trace,
                        .seed = o->seed,
                        .first_vector = o->trace == WISP_TRACE_RANDOM ? o->first_vector : 0,
                        .type = o->type,
                        .variant = o->variant,
                        .bounds_method = o->bounds.method,
                        .width = wisp__kpm_width(o, vectors),
                        .depth = 1,
                        .threads = wisp_ctx_threads(ctx)};
    snprintf(m->version, sizeof m->version, "%s", wisp_version());
    m->mu = calloc(lines, (size_t)m->n * sizeof *m->mu);
    if (o->trace == WISP_TRACE_SITES) m->sites = calloc(lines, sizeof *m->sites);
    if (!m->mu || (o->trace == WISP_TRACE_SITES && !m->sites))
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %lld moments of %zu vectors", (long long)m->n,
                              lines);
    if (m->sites) memcpy(m->sites, o->sites, lines * sizeof *m->sites);
    return WISP_OK;
}

wisp_status wisp_kpm(wisp_moments *m, const wisp_mat *A, const wisp_kpm_opts *opts)
{
    WISP_NEED(wisp_mat_ctx(A), m);
    memset(m, 0, sizeof *m);
    WISP_NEED(NULL, A);
    return wisp__kpm(m, A, opts, NULL, "moments");
}

wisp_status wisp__kpm(wisp_moments *m, const wisp_mat *A, const wisp_kpm_opts *opts, const wisp_bounds *bounds,
                      const char *task)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_kpm_opts full;
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__kpm_options(&full, A, opts));
    WISP_TRY(describe(m, ctx, &info, &full));
    wisp_cost sweep; /* of one vector: table I of the paper, whatever the variant */
    WISP_TRY(wisp_spmmv_cost(A, full.type, 1, KPM_TERMS, &sweep));
    WISP_TRY(wisp_ctx_sum(ctx, &sweep.flops, 1));
    double before = wisp_now();
    const wisp_bounds_opts how = wisp_kpm_bounds_opts(info.type, info.rows, &full);
    if (bounds)
        m->bounds = *bounds;
    else if (!full.resume)
        WISP_TRY(wisp__hermitian_bounds(&m->bounds, A, &how));
    if (!full.resume) WISP_TRY(wisp__check_scale(ctx, full.type, m->bounds.halfwidth));
    m->bounds_seconds = wisp_now() - before;

    kpm k = {.ctx = ctx,
             .A = A,
             .opts = &full,
             .task = task,
             .bounds = m->bounds,
             .vectors = wisp__kpm_vectors(&full, info.rows),
             .per_call = wisp__kpm_steps(&full, wisp__kpm_vectors(&full, info.rows)),
             .depth = 1,
             .m = m,
             .steps = full.variant == WISP_KPM_NAIVE ? step_naive : steps_fused,
             .sweep_flops = sweep.flops};
    k.began = wisp_now();
    status = run(&k, m);
    m->seconds = k.before + wisp_now() - k.began - k.look_seconds;
    m->flops = k.flops;
    m->depth = k.depth;
out:
    status = wisp_ctx_leave(ctx, status);
    m->partial = status == WISP_ERR_CANCELLED;
    if (status != WISP_OK && status != WISP_ERR_CANCELLED) wisp_moments_free(m);
    return status;
}
