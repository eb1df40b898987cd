/* The state of wisp_kpm between two calls of wisp_mpk, and whether a kept one is of the same run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kpm.h"

/* ---- what has to be the same ------------------------------------------------------------------------ */

/* The rows whose local densities are computed have to be those of this call. */
static wisp_status same_sites(const wisp__kpm_run *k, wisp_state *s)
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

/* Of each of the user's vectors: its norm, and its dot with a vector of random numbers, over the norm. */
enum { STAMP = 3 };
static size_t stamps(const wisp__kpm_run *k) { return (size_t)k->vectors * (k->opts->left ? 2 : 1); }

/* Of those on the left, or on the right. */
static wisp_status stamp_side(wisp__kpm_run *k, bool left_side, double *stamp)
{
    wisp_status status = WISP_OK;
    for (int64_t first = 0; first < k->vectors; first += k->width) {
        const int64_t left = k->vectors - first;
        WISP_TRY(wisp__kpm_set_width(k, left < k->most ? (int)left : k->most));
        memset(k->column, 0, (size_t)k->width * sizeof *k->column);
        if (left_side)
            WISP_TRY(wisp__kpm_take(k, k->v, k->opts->left, first, "opts.left", 1));
        else
            WISP_TRY(wisp__kpm_take_right(k, k->v, first, 1));
        WISP_TRY(wisp_blk_fill_random(k->w, WISP_RANDOM_TRACE, 0, WISP__STREAM_TRACE, (uint32_t)first));
        WISP_TRY(wisp_dot(k->w, k->v, k->dot));
        for (int j = 0; j < k->width; j++) {
            double *to = stamp + STAMP * (first + j);
            to[0] = ldexp(k->column[j].norm, k->column[j].exponent);
            to[1] = k->dot[j].re;
            to[2] = k->dot[j].im;
        }
    }
out:
    return status;
}

wisp_status wisp__kpm_stamp(wisp__kpm_run *k)
{
    wisp_status status;
    WISP_TRY(wisp_alloc(k->ctx, &k->stamp, STAMP * stamps(k), sizeof *k->stamp));
    WISP_TRY(stamp_side(k, false, k->stamp));
    if (k->opts->left) WISP_TRY(stamp_side(k, true, k->stamp + STAMP * k->vectors));
out:
    return status;
}

/* Up to the rounding of its sums, which other ranks may make in another order. */
static wisp_status same_vectors(const wisp__kpm_run *k, wisp_state *s)
{
    wisp_status status;
    double *kept = NULL;
    const size_t n = STAMP * stamps(k);
    const double unit = wisp__is_single(k->opts->type) ? FLT_EPSILON : DBL_EPSILON;
    const double most = 64 * unit * sqrt((double)k->m->rows + 1);
    if (!wisp_state_is_kept(s)) return wisp_state_data(s, "vectors", k->stamp, n * sizeof *kept);
    WISP_TRY(wisp_alloc(k->ctx, &kept, n, sizeof *kept));
    WISP_TRY(wisp_state_data(s, "vectors", kept, n * sizeof *kept));
    for (size_t i = 0; i < n; i += STAMP) {
        const double *own = k->stamp + i, *other = kept + i;
        if (fabs(own[0] - other[0]) <= most * own[0] && fabs(own[1] - other[1]) <= most &&
            fabs(own[2] - other[2]) <= most)
            continue;
        const size_t vector = i / STAMP, vectors = (size_t)k->vectors;
        status = wisp_ctx_failf(k->ctx, WISP_ERR_MISMATCH,
                                "the state is of a run with other vectors: opts.%s differs in column %zu",
                                vector < vectors ? "right" : "left", vector % vectors);
        break;
    }
out:
    wisp_free(k->ctx, kept);
    return status;
}

/* With what vectors a run begins, in words; those of plain runs are as they were in states of earlier versions. */
static wisp_status same_start(const wisp__kpm_run *k, wisp_state *s)
{
    static const char *const trace[] = {"random", "exact", "sites", "given"};
    const wisp_kpm_opts *o = k->opts;
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "opts.trace", "%s%s%s", trace[o->trace], o->left ? ", with left vectors" : "",
                              o->adjoint ? ", with an operator" : ""));
    if (o->adjoint) {
        wisp_mat_info B;
        wisp_mat_get_info(o->adjoint, &B);
        WISP_TRY(wisp_state_samef(s, "opts.adjoint", "%s, %lld entries", wisp_type_name(B.type), (long long)B.nnz));
    }
out:
    return status;
}

static wisp_status same_call(const wisp__kpm_run *k, wisp_state *s)
{
    const wisp_kpm_opts *o = k->opts;
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "solver", "kpm"));
    WISP_TRY(wisp_state_samef(s, "rows", "%lld", (long long)k->m->rows));
    WISP_TRY(wisp_state_samef(s, "opts.moments", "%lld", (long long)k->m->n));
    WISP_TRY(
        wisp_state_samef(s, "opts.vectors", "%lld from %lld on", (long long)k->vectors, (long long)o->first_vector));
    WISP_TRY(wisp_state_samef(s, "opts.seed", "%llu", (unsigned long long)o->seed));
    WISP_TRY(same_start(k, s));
    WISP_TRY(wisp_state_samef(s, "opts.type", "%s", wisp_type_name(o->type)));
    WISP_TRY(wisp_state_samef(s, "opts.variant", "%s, %s", o->variant == WISP_KPM_NAIVE ? "naive" : "fused",
                              wisp__kpm_whole_each_step(o) ? "summed at each step" : "summed at the end"));
    WISP_TRY(wisp_state_samef(s, "opts.width", "%d", wisp__kpm_width(o, k->vectors)));
    status = wisp__same_bounds(s, "opts.bounds", &o->bounds);
out:
    return status;
}

/* ---- what is kept ----------------------------------------------------------------------------------- */

/* What is given back first, and says how much of the rest there is. */
typedef struct {
    int64_t first, sweeps, width;
    double flops, seconds, bounds_seconds, rounding, depth;
} position;

/* Of a kept state. What a batch begins with is made anew, but for its blocks and dots, which follow. */
static wisp_status take_position(wisp__kpm_run *k, const position *at)
{
    wisp_status status;
    wisp_moments *m = k->m;
    const bool whole = at->first == k->vectors && at->sweeps == 0;
    if (at->first < 0 || at->sweeps < 0 || at->sweeps > wisp__kpm_sweeps(k->opts) ||
        (!whole &&
         (at->width < 1 || at->first + at->width > k->vectors || at->width > wisp__kpm_width(k->opts, k->vectors))))
        return wisp_ctx_failf(k->ctx, WISP_ERR_FORMAT, "a state of moments that can't be: vector %lld, step %lld",
                              (long long)at->first, (long long)at->sweeps);
    if (!whole) WISP_TRY(wisp__kpm_set_width(k, (int)at->width));
    k->first = at->first;
    k->sweeps = at->sweeps;
    k->flops = at->flops;
    k->before = at->seconds;
    k->depth = (int)at->depth;
    m->bounds = k->bounds;
    m->bounds_seconds = at->bounds_seconds;
    m->rounding = at->rounding;
    if (m->trace != WISP_TRACE_EXACT) m->vectors = k->first;
    if (whole) return WISP_OK;
    if (k->column) WISP_TRY(wisp__kpm_start(k, k->first));
    k->goes_on = true;
out:
    return status;
}

wisp_status wisp__kpm_items(void *arg, wisp_state *s)
{
    wisp__kpm_run *k = arg;
    wisp_moments *m = k->m;
    const wisp_kpm_opts *o = k->opts;
    position at = {
        k->first,          k->sweeps,   k->width, k->flops, k->before + wisp_now() - k->began - k->rounding_seconds,
        m->bounds_seconds, m->rounding, k->depth};
    wisp_status status;
    WISP_TRY(same_call(k, s));
    WISP_TRY(wisp_state_data(s, "at", &at, sizeof at));
    WISP_TRY(wisp_state_data(s, "found bounds", &k->bounds, sizeof k->bounds));
    if (o->trace == WISP_TRACE_GIVEN) WISP_TRY(same_vectors(k, s));
    if (wisp_state_is_kept(s)) WISP_TRY(take_position(k, &at));
    const int64_t lines = m->trace == WISP_TRACE_EXACT ? 1 : k->first;
    WISP_TRY(wisp_state_data(s, "mu", m->mu, (size_t)(lines * m->n) * sizeof *m->mu));
    if (m->imag) WISP_TRY(wisp_state_data(s, "imag", m->imag, (size_t)(lines * m->n) * sizeof *m->imag));
    if (o->trace == WISP_TRACE_SITES) WISP_TRY(same_sites(k, s));
    if (k->first == k->vectors) goto out; /* all is there */
    const size_t dots = (size_t)((k->parts == 2 ? k->sweeps + 1 : k->sweeps) * 2 * k->width);
    if (wisp__kpm_whole_each_step(o))
        WISP_TRY(wisp_state_data(s, "eta", k->eta, dots * sizeof *k->eta));
    else
        WISP_TRY(wisp_state_sums(s, "eta", k->eta, dots));
    WISP_TRY(wisp_state_block(s, "v", k->v));
    WISP_TRY(wisp_state_block(s, "w", k->w));
out:
    return status;
}
