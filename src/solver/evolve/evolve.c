/* Time evolution by the Chebyshev series of the propagator: H. Tal-Ezer and R. Kosloff, J. Chem. Phys. 81, 3967 (1984).
   With the spectrum of H in c -+ h and H~ = (H - c)/h,

     exp(-i H t) = exp(-i c t) sum over k of (2 - delta_k0) (-i)^k J_k(h t) T_k(H~).

   The vectors T_k(H~) psi do not depend on t: several times share one sequence of them, and each takes its own sum.
   Along complex times the Bessel functions are those of complex arguments, and the norm is kept apart (damped.c). */
#include "evolve.h"
#include <math.h>
#include <string.h>

typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *A;
    wisp_evolve_opts o; /* with every default filled in */
    wisp_evolution *e;
    int64_t times;
    const double *time;
    wisp__chebyshev_sum sum;         /* its v: psi at the base time, then T_k psi */
    wisp_blk *z[WISP__MOST_AT_ONCE]; /* psi at the times of a group */
    int made;                        /* blocks z that are there */
    int most;                        /* times at once, as memory allowed when it began */
    double base;                     /* the time of psi */
    double tolerance;                /* of one sequence */
    double rounding;                 /* what is left to it in the end, at least */
    double *start_norm, *norm;       /* [width] */
    double sweep_bytes, z_bytes, sweep_flops, z_flops;
    wisp__evolve_group g;
    wisp__damped damped;     /* where the direction of time is not real */
    wisp__absorbed absorbed; /* where A need not be Hermitian */
    double before;           /* seconds of the calls that this one goes on from */
    double began;            /* when this one began, see wisp_now */
    bool goes_on;            /* in the middle of a group, from a kept state */
    wisp_state *live;        /* NULL: it is not offered */
} evolution;

/* ---- options --------------------------------------------------------------------------------- */

static wisp_status check(evolution *s)
{
    const wisp_status status = wisp__evolve_check(s->ctx, &s->o, wisp_blk_type(s->sum.v), s->times, s->time);
    s->tolerance = wisp__evolve_share(&s->o, wisp_blk_type(s->sum.v), s->times);
    return status;
}

/* ---- groups of times ------------------------------------------------------------------------- */

static wisp__evolve_times times_of(const evolution *s)
{
    return (wisp__evolve_times){.absorbed = s->absorbed.on ? &s->absorbed : NULL,
                                .times = s->times,
                                .time = s->time,
                                .start = s->o.start_time,
                                .at_once = s->o.at_once,
                                .most = s->most,
                                .direction = s->o.direction,
                                .halfwidth = s->e->bounds.halfwidth,
                                .tolerance = s->tolerance,
                                .sweep_bytes = s->sweep_bytes,
                                .z_bytes = s->z_bytes,
                                .given = isnan(s->e->bounds.failure_probability)};
}

static void choose_group(evolution *s, int64_t first)
{
    const wisp__evolve_times t = times_of(s);
    wisp__evolve_choose(&t, first, s->base, &s->g);
}

/* Of the rank that has least room: all take the same times together. As many as before where the run goes on. */
static wisp_status find_most(evolution *s)
{
    wisp__evolve_times t = times_of(s);
    wisp_mat_info info;
    wisp_status status;
    double fewer[WISP__MOST_AT_ONCE] = {0}; /* [n]: on so many ranks n + 1 times don't fit */
    wisp_mat_get_info(s->A, &info);
    WISP_TRY(wisp__evolve_most(&t, s->ctx, &info, wisp_blk_type(s->sum.v), wisp_blk_width(s->sum.v), &s->o));
    if (s->most == 0) {
        for (int n = t.most; n < WISP__MOST_AT_ONCE; n++) fewer[n] = 1;
        WISP_TRY(wisp_ctx_sum(s->ctx, fewer, WISP__MOST_AT_ONCE));
        for (t.most = 1; t.most < WISP__MOST_AT_ONCE && fewer[t.most] == 0;) t.most++;
        WISP_TRY(wisp__evolve_most(&t, s->ctx, &info, wisp_blk_type(s->sum.v), wisp_blk_width(s->sum.v), &s->o));
    }
    s->most = t.most;
    double little = t.little;
    WISP_TRY(wisp_ctx_sum(s->ctx, &little, 1));
    s->sum.little = little > 0;
out:
    return status;
}

/* Of the series of time i, so long after psi. */
static wisp_status fill_series(evolution *s, int i, double t)
{
    wisp__evolve_group *g = &s->g;
    const double h = s->e->bounds.halfwidth, c = s->e->bounds.center, re = s->o.direction.re * t,
                 im = s->o.direction.im * t;
    wisp_status status;
    g->phase[i] = s->absorbed.on ? wisp__real(1) : (wisp_scalar){cos(c * re), -sin(c * re)};
    if (s->absorbed.on) {
        WISP_TRY(wisp_alloc(s->ctx, &g->c[i], (size_t)g->terms[i], sizeof *g->c[i]));
        status = wisp__absorbed_series(&s->absorbed, s->ctx, t, g->terms[i], g->c[i]);
    } else if (wisp__evolve_damps(&s->o)) {
        WISP_TRY(wisp_alloc(s->ctx, &g->c[i], (size_t)g->terms[i], sizeof *g->c[i]));
        wisp__exponential_series((wisp_scalar){h * re, h * im}, g->terms[i], g->c[i]);
        g->growth[i] = fabs(h * im) + c * im;
    } else {
        WISP_TRY(wisp_alloc(s->ctx, &g->J[i], (size_t)g->terms[i], sizeof *g->J[i]));
        wisp__bessel(h * re, g->terms[i], g->J[i]);
    }
out:
    return status;
}

static wisp_status fill_group(evolution *s)
{
    wisp__evolve_group *g = &s->g;
    wisp_status status = WISP_OK;
    s->sum.sums = g->count;
    s->sum.terms = g->most;
    for (int i = 0; i < g->count; i++) WISP_TRY(fill_series(s, i, g->at[i] - s->base));
    for (; s->made < g->count; s->made++)
        WISP_TRY(wisp_blk_create(&s->z[s->made], s->ctx, wisp_mat_map(s->A), wisp_blk_type(s->sum.v),
                                 wisp_blk_width(s->sum.v)));
out:
    return status;
}

static void empty_group(evolution *s)
{
    for (int i = 0; i < s->g.count; i++) {
        wisp_free(s->ctx, s->g.J[i]);
        wisp_free(s->ctx, s->g.c[i]);
    }
    s->g.count = 0;
}

/* ---- one sequence ---------------------------------------------------------------------------- */

/* Bounds that are far too narrow show long before the end of a long sequence: it is looked at where so many more steps
   have passed a power of two. */
static bool is_to_be_checked(const wisp__chebyshev_sum *sum, int more)
{
    enum { FIRST = 512 };
    const int64_t now = sum->step, before = now - more;
    return now >= FIRST && (now ^ before) > before && now + 1 < sum->terms;
}

/* The last vector of a sequence, or one on the way. */
static wisp_status check_vector(const evolution *s)
{
    if (s->absorbed.on) return wisp__absorbed_check(&s->absorbed, s->sum.v, s->norm);
    return wisp__chebyshev_sum_check(&s->sum, s->start_norm, s->norm);
}

static wisp_status run_group(evolution *s)
{
    wisp_status status = WISP_OK;
    const wisp__evolve_group *g = &s->g;
    wisp__chebyshev_sum *sum = &s->sum;
    int count;
    if (!s->goes_on) WISP_TRY(wisp__chebyshev_sum_begin(sum));
    s->goes_on = false;
    while (sum->step + 1 < sum->terms) {
        const double part = (double)g->count * (double)sum->step / (double)sum->terms;
        WISP_TRY(wisp_ctx_step(s->ctx, "evolution", ((double)g->first + part) / (double)s->times, s->e->flops));
        if (s->live) WISP_TRY(wisp_state_offer(s->live, s->o.offer, s->o.offer_arg));
        WISP_TRY(wisp__chebyshev_sum_next(sum, &count));
        s->e->depth = sum->depth_used;
        s->e->sweeps += count;
        s->e->flops += count * s->sweep_flops;
        if (is_to_be_checked(sum, count)) WISP_TRY(check_vector(s));
    }
    for (int i = 0; i < g->count; i++) s->e->flops += (double)g->terms[i] * s->z_flops;
    WISP_TRY(check_vector(s));
    s->e->sequences++;
out:
    return status;
}

/* The evolution is unitary: if the norm changes then the spectrum leaves the bounds. */
static wisp_status check_norm(const evolution *s, int64_t i)
{
    const double allowed = 10 * (s->o.tolerance + s->rounding);
    for (int j = 0; j < wisp_blk_width(s->sum.v); j++) {
        const double change = fabs(s->norm[j] - s->start_norm[j]);
        if (change <= allowed * s->start_norm[j]) continue;
        const wisp_bounds *b = &s->e->bounds;
        return wisp_ctx_failf(
            s->ctx, WISP_ERR_BOUNDS,
            "the norm of vector %d goes from %.6g to %.6g at time %g: the matrix has eigenvalues beyond "
            "the bounds %.10g to %.10g; take wider opts.bounds%s",
            j, s->start_norm[j], s->norm[j], s->time[i], b->center - b->halfwidth, b->center + b->halfwidth,
            wisp__or_none(b));
    }
    return WISP_OK;
}

/* The state of time i of a group: its norm is checked, or made 1. */
static wisp_status take_state(evolution *s, int i)
{
    const int64_t number = s->g.first + i;
    const int width = wisp_blk_width(s->sum.v);
    wisp_status status;
    if (s->absorbed.on)
        return wisp__absorbed_take(&s->absorbed, &s->o, s->z[i], s->g.between ? -1 : number, s->g.at[i],
                                   s->g.at[i] - s->base, i == s->g.count - 1, s->norm);
    if (wisp__evolve_damps(&s->o)) {
        const double passed = s->time[number] - s->base,
                     rounding = wisp__evolve_rounding_of(&s->o, &s->e->bounds, wisp_blk_type(s->sum.v), passed),
                     made = s->tolerance + WISP__ROUNDING_MOST * rounding;
        return wisp__damped_take(&s->damped, s->z[i], number, s->time[number], s->g.growth[i], made,
                                 i == s->g.count - 1, s->norm);
    }
    WISP_TRY(wisp_norm(s->z[i], s->norm));
    WISP_TRY(check_norm(s, number));
    if (s->o.off)
        s->o.off[number] = s->o.start_off + s->o.tolerance + fmax(s->o.tolerance, WISP__ROUNDING_MOST * s->rounding);
    for (int j = 0; j < width && s->o.log_norm; j++) s->o.log_norm[number * width + j] = log(s->norm[j]);
out:
    return status;
}

static wisp_status observe_group(evolution *s)
{
    wisp_status status = WISP_OK;
    const wisp__evolve_group *g = &s->g;
    for (int i = 0; i < g->count; i++) {
        const int64_t number = g->first + i;
        WISP_TRY(take_state(s, i));
        if (g->between) continue;
        s->e->done = number + 1;
        if (s->o.observe && s->o.observe(s->o.observe_arg, number, s->z[i], s->norm))
            return wisp_ctx_failf(s->ctx, WISP_ERR_CANCELLED, "evolve: ended by opts.observe at time %g",
                                  s->time[number]);
    }
    WISP_TRY(wisp_copy(s->sum.v, s->z[g->count - 1]));
    s->base = g->at[g->count - 1];
out:
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static wisp_status prepare(evolution *s)
{
    wisp_status status = WISP_OK;
    wisp_cost cost;
    wisp_mat_info info;
    const wisp_type type = wisp_blk_type(s->sum.v);
    const int width = wisp_blk_width(s->sum.v);
    wisp_mat_get_info(s->A, &info);
    WISP_TRY(wisp_spmmv_cost(s->A, type, width, WISP__EVOLVE_TERMS, &cost));
    /* Of all ranks, for they choose by it together. */
    WISP_TRY(wisp_ctx_sum(s->ctx, &cost.bytes, 1));
    WISP_TRY(wisp_ctx_sum(s->ctx, &cost.flops, 1));
    s->sweep_bytes = cost.bytes;
    s->sweep_flops = cost.flops;
    s->z_bytes = 2 * (double)info.rows * width * (double)wisp_type_size(type);
    s->z_flops = 8 * (double)info.rows * width;
    WISP_TRY(wisp__chebyshev_sum_open(&s->sum, WISP__MOST_AT_ONCE, wisp__evolve_steps(s->ctx, s->o.depth)));
    WISP_TRY(wisp_alloc(s->ctx, &s->start_norm, 2 * (size_t)width, sizeof *s->norm));
    s->norm = s->start_norm + width;
    WISP_TRY(wisp_blk_create(&s->sum.w, s->ctx, wisp_mat_map(s->A), type, width));
    if (wisp__evolve_damps(&s->o)) WISP_TRY(wisp__damped_open(&s->damped, s->ctx, &s->o, width));
    if (s->o.non_hermitian) WISP_TRY(wisp__absorbed_open(&s->absorbed, s->ctx, width));
out:
    return status;
}

static wisp_status find_start(evolution *s)
{
    wisp_status status = WISP_OK;
    const double reach = wisp__evolve_reach(s->base, s->times, s->time);
    WISP_TRY(wisp__evolve_start(s->sum.v, s->start_norm));
    if (wisp__evolve_damps(&s->o) && !s->absorbed.on) {
        WISP_TRY(wisp__damped_begin(&s->damped, s->sum.v));
        WISP_TRY(wisp_norm(s->sum.v, s->start_norm));
    }
    WISP_TRY(wisp__evolve_fits(s->sum.v, s->start_norm, &s->e->bounds, reach, s->o.tolerance));
    if (s->absorbed.on) status = wisp__absorbed_begin(&s->absorbed, s->sum.v, s->o.start_off);
out:
    return status;
}

/* ---- bounds ------------------------------------------------------------------------------------ */

static wisp_status find_bounds(evolution *s)
{
    const int width = wisp_blk_width(s->sum.v);
    const wisp_bounds_opts o = wisp__evolve_bounds_opts(&s->o, &s->o.bounds, width, s->times, s->time),
                           w = wisp__evolve_bounds_opts(&s->o, &s->o.absorption, width, s->times, s->time);
    if (s->o.non_hermitian) return wisp__absorbed_bounds(&s->e->bounds, &s->e->absorption, s->A, &o, &w);
    return wisp__hermitian_bounds(&s->e->bounds, s->A, &o);
}

static wisp_status check_bounds(evolution *s)
{
    const wisp_type type = wisp_blk_type(s->sum.v);
    wisp_status status;
    if (s->o.non_hermitian) {
        WISP_TRY(wisp__absorbed_choose(&s->absorbed, s->ctx, &s->o, &s->e->bounds, &s->e->absorption, type, s->times,
                                       s->time));
        s->sum.ellipse = &s->absorbed.ellipse;
        return wisp__check_scale(s->ctx, type, s->absorbed.ellipse.p / 2 + s->absorbed.ellipse.q / 2);
    }
    WISP_TRY(wisp__check_scale(s->ctx, type, s->e->bounds.halfwidth));
    status = wisp__evolve_rounding(s->ctx, &s->o, &s->e->bounds, type, s->times, s->time, &s->rounding);
out:
    return status;
}

/* ---- states ------------------------------------------------------------------------------------ */

static wisp_status same_options(const evolution *s, wisp_state *state)
{
    const wisp_evolve_opts *o = &s->o;
    wisp_status status;
    WISP_TRY(wisp_state_samef(state, "solver", "evolve"));
    WISP_TRY(wisp_state_samef(state, "rows", "%lld", (long long)wisp_map_rows(wisp_mat_map(s->A))));
    WISP_TRY(wisp_state_samef(state, "type of psi", "%s", wisp_type_name(wisp_blk_type(s->sum.v))));
    WISP_TRY(wisp_state_samef(state, "width of psi", "%d", wisp_blk_width(s->sum.v)));
    WISP_TRY(wisp_state_samef(state, "opts.tolerance", "%.17g", o->tolerance));
    WISP_TRY(wisp_state_samef(state, "opts.at_once", "%d", o->at_once));
    WISP_TRY(wisp_state_samef(state, "opts.direction", "%.17g %.17g", o->direction.re, o->direction.im));
    WISP_TRY(wisp_state_samef(state, "opts.start_off", "%.17g", o->start_off));
    WISP_TRY(wisp_state_samef(state, "opts.start_time", "%.17g", o->start_time));
    WISP_TRY(wisp__same_bounds(state, "opts.bounds", &o->bounds));
    WISP_TRY(wisp_state_samef(state, "opts.non_hermitian", "%d", o->non_hermitian));
    WISP_TRY(wisp__same_bounds(state, "opts.absorption", &o->absorption));
    status = wisp__evolve_same_times(s->ctx, s->times, s->time, state);
out:
    return status;
}

/* What is given back first of a state, and says how much of the rest there is. */
typedef struct {
    int64_t done, first, count, most, terms[WISP__MOST_AT_ONCE], step, sequences, sweeps, depth;
    double base, seconds, bounds_seconds, flops;
} position;

static wisp_status go_to(evolution *s, const position *at)
{
    if (s->most < 1 || s->most > WISP__MOST_AT_ONCE)
        return wisp_ctx_failf(s->ctx, WISP_ERR_FORMAT, "a state of an evolution of %d times at once", s->most);
    const bool whole = at->done == s->times && at->count == 0;
    if (at->done < 0 || at->first != at->done || (at->count < 1 && !whole) || at->count > WISP__MOST_AT_ONCE ||
        at->count > s->times - at->first || at->step < 0 || (at->step >= at->most && !whole))
        return wisp_ctx_failf(s->ctx, WISP_ERR_FORMAT, "a state of an evolution that can't be: time %lld, step %lld",
                              (long long)at->first, (long long)at->step);
    wisp_evolution *e = s->e;
    e->done = at->done, e->sequences = at->sequences, e->sweeps = at->sweeps, e->depth = (int)at->depth;
    e->flops = at->flops, e->bounds_seconds = at->bounds_seconds;
    s->g = (wisp__evolve_group){.count = (int)at->count, .first = at->first, .most = at->most};
    memcpy(s->g.terms, at->terms, sizeof at->terms);
    for (int i = 0; i < s->g.count; i++) s->g.at[i] = s->time[s->g.first + i];
    s->sum.step = at->step;
    s->sum.depth_used = e->depth;
    s->base = at->base;
    s->before = at->seconds;
    s->goes_on = !whole;
    return WISP_OK;
}

/* The state between two calls of wisp_mpk; at the end psi is all that there is of it. */
static wisp_status items(void *arg, wisp_state *state)
{
    evolution *s = arg;
    const wisp_evolution *e = s->e;
    wisp_status status;
    position at = {e->done,
                   s->g.first,
                   s->g.count,
                   s->g.most,
                   {0},
                   s->sum.step,
                   e->sequences,
                   e->sweeps,
                   e->depth,
                   s->base,
                   s->before + wisp_now() - s->began,
                   e->bounds_seconds,
                   e->flops};
    memcpy(at.terms, s->g.terms, sizeof at.terms);
    WISP_TRY(same_options(s, state));
    WISP_TRY(wisp_state_data(state, "at", &at, sizeof at));
    WISP_TRY(wisp_state_data(state, "found bounds", &s->e->bounds, sizeof s->e->bounds));
    WISP_TRY(wisp_state_data(state, "most at once", &s->most, sizeof s->most));
    if (wisp_state_is_kept(state)) WISP_TRY(go_to(s, &at));
    if (s->o.non_hermitian) {
        WISP_TRY(wisp_state_data(state, "found absorption", &s->e->absorption, sizeof s->e->absorption));
        WISP_TRY(wisp__absorbed_items(&s->absorbed, state, &s->g));
        if (wisp_state_is_kept(state)) WISP_TRY(check_bounds(s));
    }
    if (wisp_state_is_kept(state)) WISP_TRY(fill_group(s));
    WISP_TRY(wisp_state_data(state, "norms", s->start_norm, (size_t)wisp_blk_width(s->sum.v) * sizeof *s->start_norm));
    if (wisp__evolve_damps(&s->o)) WISP_TRY(wisp__damped_items(&s->damped, state));
    if (s->g.count > 0) WISP_TRY(wisp_state_block(state, "w", s->sum.w));
    for (int i = 0; i < s->g.count; i++) {
        char name[] = "z0";
        name[1] = (char)('0' + i);
        WISP_TRY(wisp_state_block(state, name, s->z[i]));
    }
    status = wisp_state_block(state, "psi", s->sum.v);
out:
    return status;
}

static wisp_status run(evolution *s)
{
    wisp_status status = WISP_OK;
    if (s->o.offer) WISP_TRY(wisp_state_create(&s->live, s->ctx, items, s));
    while (s->e->done < s->times) {
        if (!s->goes_on) {
            choose_group(s, s->e->done);
            WISP_TRY(fill_group(s));
        }
        WISP_TRY(run_group(s));
        WISP_TRY(observe_group(s));
        empty_group(s);
    }
    s->g.first = s->e->done;
    if (s->live) WISP_TRY(wisp_state_offer_whole(s->live, s->o.offer, s->o.offer_arg));
    status = wisp_ctx_step(s->ctx, "evolution", 1, s->e->flops);
out:
    return status;
}

/* All that comes before the first group, or is given back in the middle of one. */
static wisp_status begin(evolution *s)
{
    wisp_status status = WISP_OK;
    const double before = wisp_now();
    if (!s->o.resume) {
        WISP_TRY(find_bounds(s));
        s->e->bounds_seconds = wisp_now() - before;
        WISP_TRY(check_bounds(s));
    }
    s->began = wisp_now();
    WISP_TRY(prepare(s));
    if (s->o.resume) {
        WISP_TRY(items(s, s->o.resume));
        WISP_TRY(check_bounds(s));
        status = find_most(s);
    } else {
        WISP_TRY(find_most(s));
        WISP_TRY(find_start(s));
    }
out:
    return status;
}

wisp_status wisp_evolve(wisp_evolution *e, const wisp_mat *A, wisp_blk *psi, int64_t times, const double *time,
                        const wisp_evolve_opts *opts)
{
    wisp_status status = WISP_OK;
    wisp_evolution unused;
    WISP_NEED(wisp_blk_ctx(psi), A);
    wisp_ctx *ctx = wisp_mat_ctx(A);
    WISP_NEED(ctx, psi);
    evolution s = {.ctx = ctx, .A = A, .o = opts ? *opts : (wisp_evolve_opts){0}, .e = e ? e : &unused};
    *s.e = (wisp_evolution){.depth = 1};
    if (times > 0) WISP_NEED(ctx, time);
    if (s.o.drives > 0) return wisp__evolve_driven(s.e, A, psi, times, time, &s.o);
    s.times = times, s.time = time, s.base = s.o.start_time;
    s.sum = (wisp__chebyshev_sum){.A = A,
                                  .bounds = &s.e->bounds,
                                  .v = psi,
                                  .z = s.z,
                                  .coefficient = wisp__evolve_coefficient,
                                  .arg = &s.g,
                                  .depth = s.o.depth,
                                  .cache_budget = s.o.cache_budget,
                                  .depth_used = 1};
    wisp_ctx_enter(ctx);
    WISP_TRY(check(&s));
    WISP_TRY(begin(&s));
    status = run(&s);
    /* The caller's block is one of the two that change places. */
    if (s.sum.v != psi) {
        wisp_blk *own = s.sum.v;
        s.sum.v = psi;
        s.sum.w = own;
        if (status == WISP_OK) status = wisp_copy(psi, own);
    }
    s.e->seconds = s.before + wisp_now() - s.began;
out:
    wisp_state_free(s.live);
    empty_group(&s);
    wisp_blk_free(s.sum.w);
    for (int i = 0; i < s.made; i++) wisp_blk_free(s.z[i]);
    wisp__chebyshev_sum_close(&s.sum);
    wisp_free(ctx, s.start_norm);
    wisp__damped_close(&s.damped, ctx);
    wisp__absorbed_close(&s.absorbed, ctx);
    return wisp_ctx_leave(ctx, status);
}
