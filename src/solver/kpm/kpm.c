/* Chebyshev moments by the kernel polynomial method: figures 3 to 5 of Kreutzer et al., "Performance engineering
   of the kernel polynomial method on large-scale CPU-GPU systems". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kpm.h"
#include "../marks.h"

/* What one step of the recurrence does beside the product, for its cost. */
enum { KPM_TERMS = WISP_SCALE | WISP_SHIFT | WISP_AXPBY, ONE_SIDE = WISP_DOT_XX | WISP_DOT_XY };
static unsigned dots_of(int parts) { return parts == 2 ? WISP_DOT_UY : ONE_SIDE; }

static void swap(wisp__kpm_run *k)
{
    wisp_blk *v = k->v;
    k->v = k->w;
    k->w = v;
}

/* Figures 4 and 5: |w> = alpha (A - c)|v> + beta |w>  &  <v|v>  &  <w|v>, each step in one pass.
   With two sides <left|w> is the only dot. */
static wisp_status steps_fused(wisp__kpm_run *k, int64_t first, int count)
{
    wisp_scalar *alpha = k->factor, *beta = alpha + k->per_call, *gamma = beta + k->per_call;
    for (int i = 0; i < count; i++) wisp__chebyshev_step(&k->bounds, first + i, alpha + i, beta + i, gamma + i);
    wisp_mpk_opts o = {.steps = count,
                       .alpha = alpha,
                       .beta = beta,
                       .gamma = gamma,
                       .terms = dots_of(k->parts),
                       .dot = k->dot,
                       .depth = k->asked_depth,
                       .cache_budget = k->opts->cache_budget,
                       .depth_used = count == k->per_call ? &k->depth : NULL,
                       .near = k->near ? 1 + first : 0,
                       .u = k->left};
    if (!k->opts->reduce_each_step) o.terms |= WISP_NOREDUCE;
    wisp_status status = wisp_mpk((wisp_blk *[]){k->w, k->v}, 2, k->A, &o);
    if (count % 2) swap(k);
    return status;
}

/* Figure 3: one step by a sparse product and BLAS-1 calls. */
static wisp_status step_naive(wisp__kpm_run *k, int64_t m, int count)
{
    wisp_status status = WISP_OK;
    wisp_scalar alpha, beta, gamma;
    (void)count;
    wisp__chebyshev_step(&k->bounds, m, &alpha, &beta, &gamma);
    WISP_TRY(wisp_spmmv(k->u, k->A, k->v, NULL));                   /* |u> = A |v> */
    WISP_TRY(wisp_axpy(k->u, wisp__real(-k->bounds.center), k->v)); /* |u> = |u> - c |v> */
    WISP_TRY(wisp_scal(k->w, beta));                                /* |w> = -|w> */
    WISP_TRY(wisp_axpy(k->w, alpha, k->u));                         /* |w> = |w> + 2/h |u> */
    if (k->left) {
        WISP_TRY(wisp_dot(k->left, k->w, k->dot + 3 * k->width)); /* <left|w> */
    } else {
        WISP_TRY(wisp_dot(k->v, k->v, k->dot));            /* <v|v> */
        WISP_TRY(wisp_dot(k->w, k->v, k->dot + k->width)); /* <w|v> */
    }
    swap(k);
out:
    return status;
}

/* On which side the spectrum leaves the bounds, of column j: beyond the upper one <nu_m+1|nu_m> grows and is
   positive, beyond the lower one it is negative. The last pair of dots is that of sweep m. */
static const char *side(const wisp__kpm_run *k, int64_t m, int j)
{
    double ratio = k->eta[(2 * m + 1) * k->width + j] / k->eta[2 * m * k->width + j];
    return ratio > 0.2 ? "above the upper bound" : ratio < -0.2 ? "below the lower bound" : "beyond the bounds";
}

/* Moment n of column j from the dots: mu_2m = 2 <nu_m|nu_m> - mu_0, mu_2m+1 = 2 <nu_m+1|nu_m> - mu_1. With two sides
   each dot is one, of two parts. */
static double moment(const wisp__kpm_run *k, int64_t n, int j, int part)
{
    const double *eta = k->eta + j;
    if (k->parts == 2) return eta[(2 * n + part) * k->width];
    return n < 2 ? eta[n * k->width] : 2 * eta[n * k->width] - eta[(n % 2) * k->width];
}

/* No moment exceeds mu_0 as long as |T_n| <= 1, that is while the spectrum lies within the bounds; with two sides, the
   product of the vectors' norms. Checks moment n; sweep m made the last dots. Rounding needs room, more in single
   precision, and at the very edge of the bounds, where T_n grows fast; but twice mu_0 is no moment. */
static wisp_status guard(const wisp__kpm_run *k, int64_t first, int64_t n, int64_t m)
{
    const double rounded = cosh(k->edge * (double)n);
    const double allowed = fmin(rounded, 2) + (wisp__is_single(k->opts->type) ? 2e-4 : 2e-8);
    for (int j = 0; j < k->width; j++) {
        const double most = k->left ? k->column[j].limit : moment(k, 0, j, 0);
        const double mu = k->left ? hypot(moment(k, n, j, 0), moment(k, n, j, 1)) : moment(k, n, j, 0);
        if (fabs(mu) <= most * allowed) continue;
        return wisp_ctx_failf(
            k->ctx, WISP_ERR_BOUNDS,
            "the matrix has eigenvalues %s: bounds %.10g to %.10g, and moment %lld of vector %lld is %.9g times %s; "
            "take wider opts.bounds%s%s",
            k->left ? "beyond the bounds" : side(k, m, j), k->bounds.center - k->bounds.halfwidth,
            k->bounds.center + k->bounds.halfwidth, (long long)n, (long long)(first + j), mu / most,
            k->left ? "the product of the norms of its two sides" : "moment 0", wisp__or_none(&k->bounds),
            wisp__or_rounding(fabs(mu) <= most * 2 * rounded));
    }
    return WISP_OK;
}

/* Keeps the dots of steps `m` and following: eta_2m = <v|v>, eta_2m+1 = <w|v>; with two sides eta_m+1 = <left|w>. */
static wisp_status take_dots(wisp__kpm_run *k, int64_t first, int64_t m, int count, int whole)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < count; i++) {
        const wisp_scalar *dot = k->dot + (k->left ? 4 : 3) * i * k->width;
        if (k->left) {
            wisp__kpm_keep(k, m + i + 1, dot + 3 * k->width);
            if (whole) WISP_TRY(guard(k, first, m + i + 1, m + i));
            continue;
        }
        wisp__kpm_keep(k, 2 * (m + i), dot);
        wisp__kpm_keep(k, 2 * (m + i) + 1, dot + k->width);
        if (whole) WISP_TRY(guard(k, first, 2 * (m + i), m + i));
        if (whole) WISP_TRY(guard(k, first, 2 * (m + i) + 1, m + i));
    }
out:
    return status;
}

static wisp_status observe(const wisp__kpm_run *k, int64_t moments, int64_t vectors)
{
    const wisp_kpm_opts *o = k->opts;
    if (!o->observe || !o->observe(o->observe_arg, moments, vectors)) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_CANCELLED,
                          "kpm: ended by opts.observe after %lld vectors, and %lld moments of the last ones",
                          (long long)vectors, (long long)moments);
}

/* Whether vectors begin on the rows that a matrix of wisp_src_near was made from. */
static bool begins_near(const wisp__kpm_run *k)
{
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    if (k->opts->trace != WISP_TRACE_SITES || k->opts->variant == WISP_KPM_NAIVE) return false;
    for (int64_t i = 0; i < k->vectors; i++)
        if (k->opts->sites[i] >= info.near_rows) return false;
    return true;
}

/* Of so many sweeps of all columns. */
static double flops_of(const wisp__kpm_run *k, int64_t first, int count)
{
    const double whole = (double)wisp_mat_reached(k->A, 0), all = k->sweep_flops * k->width;
    double flops = 0;
    for (int i = 0; i < count; i++) flops += k->near ? all * (double)wisp_mat_reached(k->A, first + i) / whole : all;
    return flops;
}

/* All dots of one batch of vectors: n/2 sweeps, two dots each. nu_1 = 1/h (A - c) nu_0 begins; if n is odd then the
   last dot needs no sweep of its own. With two sides: n - 1 sweeps, a dot each, and one before. */
static wisp_status run_batch(wisp__kpm_run *k, int64_t first)
{
    wisp_status status = WISP_OK;
    const int64_t n = k->opts->moments, sweeps = wisp__kpm_sweeps(k->opts);
    const int64_t dots = k->left ? n : 2 * sweeps;
    /* One reduction at the very end: until then each process has its own part of the dots, of which the guard can
       only judge the whole. */
    const bool whole = wisp__kpm_whole_each_step(k->opts) || wisp_ctx_processes(k->ctx) == 1;
    if (!k->goes_on) {
        k->sweeps = 0;
        WISP_TRY(wisp__kpm_start(k, first));
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
        k->flops += flops_of(k, first_step, count);
        if (k->sweeps < sweeps) WISP_TRY(observe(k, k->left ? k->sweeps + 1 : 2 * k->sweeps, first));
    }
    if (!whole) {
        WISP_TRY(wisp_ctx_sum(k->ctx, k->eta, (size_t)(dots * k->parts * k->width)));
        for (int64_t i = 0; i < dots; i++) WISP_TRY(guard(k, first, i, i / 2));
    }
    if (n > dots) {
        WISP_TRY(wisp_dot(k->v, k->v, k->dot));
        wisp__kpm_keep(k, n - 1, k->dot);
        WISP_TRY(guard(k, first, n - 1, sweeps - 1));
    }
out:
    return status;
}

/* The batch's moments. An exact trace is the sum over all vectors. Powers of 2 that vectors were scaled by are given
   back: digits must not be lost by that. */
static wisp_status collect(const wisp__kpm_run *k, int64_t first)
{
    const int64_t n = k->m->n;
    for (int j = 0; j < k->width; j++) {
        const int exponent = k->column ? k->column[j].exponent : 0;
        const int64_t line = k->opts->trace == WISP_TRACE_EXACT ? 0 : first + j;
        double largest = 0;
        for (int part = 0; part < k->parts; part++) {
            double *to = (part ? k->m->imag : k->m->mu) + line * n;
            for (int64_t i = 0; i < n; i++) {
                const double mu = moment(k, i, j, part);
                largest = fmax(largest, fabs(mu));
                to[i] += ldexp(mu, exponent);
                if (!isfinite(to[i]))
                    return wisp_ctx_failf(
                        k->ctx, WISP_ERR_NUMERIC,
                        "moment %lld of vector %lld is beyond double precision; divide the vectors, or "
                        "the operator, by a large number",
                        (long long)i, (long long)(first + j));
            }
        }
        if (k->column && largest > 0 && ldexp(largest, exponent) < DBL_MIN)
            return wisp_ctx_failf(
                k->ctx, WISP_ERR_NUMERIC,
                "the moments of vector %lld are too small for double precision; multiply the vectors, "
                "or the operator, by a large number",
                (long long)(first + j));
    }
    return WISP_OK;
}

/* Cancelled before the first batch was complete: its vectors are kept with the moments they have. */
static void keep_begun(const wisp__kpm_run *k, wisp_moments *m)
{
    if (m->vectors > 0 || m->trace == WISP_TRACE_EXACT || k->sweeps == 0) return;
    if (wisp_ctx_processes(k->ctx) > 1) return; /* each has some of the sums, and may be a step ahead */
    m->n = k->left ? k->sweeps + 1 : 2 * k->sweeps;
    if (collect(k, 0) == WISP_OK) m->vectors = k->width;
}

/* The first vector once more, in double precision: by how much rounding moves moments. */
static wisp_status find_rounding(wisp__kpm_run *k, wisp_moments *m)
{
    const wisp_kpm_opts exactly = wisp__kpm_exact_opts(k->opts);
    const double before = wisp_now();
    wisp_moments exact = {0};
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__kpm_set_width(k, 0)); /* so that it needs no more memory */
    WISP_TRY(wisp__kpm(&exact, k->A, &exactly, &m->bounds, "rounding"));
    WISP_TRY(wisp__kpm_rounding(m, &exact, k->ctx, k->opts));
    k->rounding_seconds = wisp_now() - before;
out:
    wisp_moments_free(&exact);
    return status;
}

/* Of runs that may be taken together, whose matrices no name tells for sure. A stored one is multiplied by a single
   vector, which takes little; an operator has blocks that are as wide as its later ones. */
static wisp_status mark(wisp__kpm_run *k, wisp_moments *m)
{
    wisp_status status = WISP_OK;
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    if (k->opts->trace != WISP_TRACE_RANDOM) goto out;
    WISP_TRY(wisp__kpm_set_width(k, k->opts->adjoint || info.format == WISP_FORMAT_OPERATOR ? k->most : 1));
    WISP_TRY(wisp__mark(m->mark[0], k->A, k->v, k->w, k->dot));
    if (k->opts->adjoint) status = wisp__mark(m->mark[1], k->opts->adjoint, k->v, k->w, k->dot);
out:
    return status;
}

/* The kernel polynomial method: batch by batch. m->vectors counts those whose moments are there. */
static wisp_status run(wisp__kpm_run *k, wisp_moments *m)
{
    wisp_status status = WISP_OK;
    const size_t most = (size_t)k->most, rows_of_dots = k->parts == 2 ? 4 : 3;
    WISP_TRY(wisp_alloc(k->ctx, &k->factor, 3 * (size_t)k->per_call, sizeof *k->factor));
    WISP_TRY(wisp_alloc(k->ctx, &k->dot, rows_of_dots * (size_t)k->per_call * most, sizeof *k->dot));
    WISP_TRY(wisp_alloc(k->ctx, &k->row, most, sizeof *k->row));
    WISP_TRY(wisp_alloc(k->ctx, &k->eta, (size_t)(m->n * k->parts) * most, sizeof *k->eta));
    if (wisp__kpm_has_columns(k->opts)) {
        WISP_TRY(wisp_alloc(k->ctx, &k->column, most, sizeof *k->column));
        WISP_TRY(wisp_alloc(k->ctx, &k->scale, most, sizeof *k->scale));
    }
    if (k->opts->trace == WISP_TRACE_GIVEN && (k->opts->resume || k->opts->offer)) WISP_TRY(wisp__kpm_stamp(k));
    WISP_TRY(mark(k, m));
    if (k->opts->resume) WISP_TRY(wisp__kpm_items(k, k->opts->resume));
    if (k->opts->offer) WISP_TRY(wisp_state_create(&k->live, k->ctx, wisp__kpm_items, k));
    k->edge = wisp__rounded_edge(&k->bounds, k->A, k->opts->type);
    for (int64_t first = k->first, done; first < k->vectors; first = done) {
        int64_t left = k->vectors - first;
        k->first = first;
        WISP_TRY(wisp__kpm_set_width(k, left < k->most ? (int)left : k->most));
        WISP_TRY(run_batch(k, first));
        WISP_TRY(collect(k, first));
        done = first + k->width;
        if (m->trace != WISP_TRACE_EXACT) m->vectors = done;
        if (k->opts->rounding_limit > 0 && m->rounding == 0 && done > 1) WISP_TRY(find_rounding(k, m));
        WISP_TRY(observe(k, m->n, done));
    }
    k->first = k->vectors;
    k->sweeps = 0;
    if (k->live) WISP_TRY(wisp_state_offer_whole(k->live, k->opts->offer, k->opts->offer_arg));
    WISP_TRY(wisp_ctx_step(k->ctx, k->task, 1, k->flops));
out:
    m->partial = status == WISP_ERR_CANCELLED;
    if (m->partial) keep_begun(k, m);
    wisp_state_free(k->live);
    wisp__kpm_set_width(k, 0);
    wisp_free(k->ctx, k->factor);
    wisp_free(k->ctx, k->dot);
    wisp_free(k->ctx, k->row);
    wisp_free(k->ctx, k->eta);
    wisp_free(k->ctx, k->column);
    wisp_free(k->ctx, k->scale);
    wisp_free(k->ctx, k->stamp);
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
    if (wisp__kpm_two_sides(o)) m->imag = calloc(lines, (size_t)m->n * sizeof *m->imag);
    if (!m->mu || (o->trace == WISP_TRACE_SITES && !m->sites) || (wisp__kpm_two_sides(o) && !m->imag))
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
    const int parts = wisp__kpm_two_sides(&full) ? 2 : 1;
    WISP_TRY(wisp_spmmv_cost(A, full.type, 1, KPM_TERMS | dots_of(parts), &sweep));
    WISP_TRY(wisp_ctx_sum(ctx, &sweep.flops, 1));
    double before = wisp_now();
    const wisp_bounds_opts how = wisp_kpm_bounds_opts(info.type, info.rows, &full);
    const int64_t vectors = wisp__kpm_vectors(&full, info.rows);
    const wisp__kpm_call call = wisp__kpm_call_of(ctx, &full, vectors);
    if (bounds)
        m->bounds = *bounds;
    else if (!full.resume)
        WISP_TRY(wisp__hermitian_bounds(&m->bounds, A, &how));
    if (!full.resume) WISP_TRY(wisp__check_scale(ctx, full.type, m->bounds.halfwidth));
    m->bounds_seconds = wisp_now() - before;

    wisp__kpm_run k = {.ctx = ctx,
                       .A = A,
                       .opts = &full,
                       .task = task,
                       .bounds = m->bounds,
                       .vectors = vectors,
                       .most = wisp__kpm_width(&full, vectors),
                       .parts = parts,
                       .per_call = call.steps,
                       .asked_depth = call.depth,
                       .depth = 1,
                       .m = m,
                       .steps = full.variant == WISP_KPM_NAIVE ? step_naive : steps_fused,
                       .sweep_flops = sweep.flops};
    k.near = begins_near(&k);
    k.began = wisp_now();
    status = run(&k, m);
    m->seconds = k.before + wisp_now() - k.began - k.rounding_seconds;
    m->flops = k.flops;
    m->depth = k.depth;
out:
    status = wisp_ctx_leave(ctx, status);
    m->partial = status == WISP_ERR_CANCELLED;
    if (status == WISP_OK && m->trace == WISP_TRACE_EXACT) m->vectors = 1; /* of which all ranks have all */
    if (status != WISP_OK && status != WISP_ERR_CANCELLED) wisp_moments_free(m);
    return status;
}
