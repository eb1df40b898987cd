/* Evolution under H(t) = A + sum of f_j(t) H_j by commutator-free Magnus steps of fourth order: A. Alvermann and H.
   Fehske, J. Comput. Phys. 230, 5930 (2011), after S. Blanes and P. C. Moan, Appl. Numer. Math. 56, 1519 (2006).

     U(t + h, t) = exp(-i h (a H(t_1) + b H(t_2))) exp(-i h (b H(t_1) + a H(t_2))) + O(h^5),
     t_1,2 = t + (1/2 -+ sqrt(3)/6) h,   a, b = 1/4 -+ sqrt(3)/6.

   As a + b = 1/2, each of both is the evolution over h/2 under A + sum of g_j H_j, with g_j = 2 (b f_j(t_1) + a
   f_j(t_2)) for the first one: an operator that is the sum of products, in a Chebyshev series on bounds that are the
   sums of those of its parts.

   Each step is taken as a whole and as two halves; the error of the halves is about 1/15 of the difference of both. */
#include "driven.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const double asymptotic = 15, safety = 3;

/* ---- the operator ------------------------------------------------------------------------------------ */

static wisp_status multiply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    const wisp__driven *s = arg;
    const wisp_scalar one = {1, 0};
    wisp_status status;
    WISP_TRY(wisp_spmmv(y, s->A, x, NULL));
    for (int j = 0; j < s->o.drives; j++) {
        const wisp_scalar g = wisp__real(s->g[j]);
        const wisp_aug aug = {.terms = WISP_SCALE | WISP_AXPBY, .alpha = g, .beta = one};
        if (g.re != 0) WISP_TRY(wisp_spmmv(y, s->o.drive[j], x, &aug));
    }
out:
    return status;
}

static wisp_status make_operator(wisp__driven *s)
{
    wisp_mat_info info;
    wisp_mat_get_info(s->A, &info);
    wisp_operator op = {.map = wisp_mat_map(s->A), .type = info.type, .apply = multiply, .arg = s};
    for (int j = 0; j < s->o.drives; j++) {
        wisp_mat_get_info(s->o.drive[j], &info);
        op.type = wisp__type_in(op.type, info.type);
        if (wisp_type_is_complex(info.type)) op.type = wisp__type_in(op.type, WISP_Z);
    }
    return wisp_mat_from_apply(&s->H, s->ctx, &op);
}

static wisp_status find_bounds(wisp__driven *s)
{
    const int width = wisp_blk_width(s->psi);
    const double before = wisp_now();
    const wisp_bounds_opts found = {.seed = s->o.bounds.seed};
    const wisp_bounds_opts o = wisp__evolve_bounds_opts(&s->o, &s->o.bounds, width, s->times, s->time),
                           of_drive = wisp__evolve_bounds_opts(&s->o, &found, width, s->times, s->time);
    wisp_status status;
    WISP_TRY(wisp__hermitian_bounds(s->of, s->A, &o));
    for (int j = 0; j < s->o.drives; j++) WISP_TRY(wisp__hermitian_bounds(s->of + 1 + j, s->o.drive[j], &of_drive));
    s->e->bounds_seconds = wisp_now() - before;
out:
    return status;
}

/* ---- one exponential --------------------------------------------------------------------------------- */

/* How much is done, after so much of an exponential, and the state that the step began with: a long step may be cut
   off. What a step that was too long has told is not taken back. */
static wisp_status tell(wisp__driven *s, double part)
{
    enum { ALL_OF_A_TRY = 6 };
    wisp_status status;
    s->told = fmax(s->told, s->at + s->share * (s->exponentials + part) / ALL_OF_A_TRY);
    WISP_TRY(wisp_ctx_step(s->ctx, "evolution", fmin(s->told, 1), s->e->flops));
    if (s->live) WISP_TRY(wisp_state_offer(s->live, s->o.offer, s->o.offer_arg));
out:
    return status;
}

/* z becomes exp(-i H t) v; v holds anything then. What is left out of the series is its share by time. */
static wisp_status exponential(wisp__driven *s, double t)
{
    const wisp_type type = wisp_blk_type(s->psi);
    const double epsilon = wisp__is_single(type) ? (double)FLT_EPSILON : DBL_EPSILON;
    const double share = fmax(s->o.tolerance / 16 * fabs(t / s->span), epsilon / 32), x = s->now.halfwidth * t;
    const bool given = isnan(s->of[0].failure_probability); /* they may be far too narrow, which a few vectors show */
    wisp__evolve_group *g = &s->series;
    wisp_status status;
    int count;
    if (!(wisp__evolve_rounding_of(&s->o, &s->parts, type, t) <= s->o.tolerance))
        return wisp_ctx_failf(
            s->ctx, WISP_ERR_PRECISION,
            "evolve: opts.drive_at makes H(t) so large after time %.10g, up to %.3g, that rounding of one "
            "step is more than opts.tolerance",
            s->t, s->parts.center + s->parts.halfwidth);
    WISP_TRY(wisp__evolve_fits(s->psi, s->start_norm, &s->now, t, s->o.tolerance));
    g->count = 1;
    g->terms[0] = g->most = wisp__chebyshev_terms(x, share);
    if (g->most < wisp__least_vectors(given)) g->most = wisp__least_vectors(given);
    g->phase[0] = (wisp_scalar){cos(s->now.center * t), -sin(s->now.center * t)};
    WISP_TRY(wisp_alloc(s->ctx, &g->J[0], (size_t)g->terms[0], sizeof *g->J[0]));
    wisp__bessel(x, g->terms[0], g->J[0]);
    s->sum.terms = g->most;
    WISP_TRY(wisp__chebyshev_sum_begin(&s->sum));
    while (s->sum.step + 1 < s->sum.terms) {
        WISP_TRY(tell(s, (double)s->sum.step / (double)s->sum.terms));
        WISP_TRY(wisp__chebyshev_sum_next(&s->sum, &count));
        s->e->sweeps += count;
        s->e->flops += count * s->sweep_flops;
    }
    WISP_TRY(wisp__chebyshev_sum_check(&s->sum, s->start_norm, s->norm));
    s->e->sequences++;
    s->exponentials++;
    s->made += share;
    s->rounded += wisp__evolve_rounding_of(&s->o, &s->parts, type, t);
out:
    wisp_free(s->ctx, g->J[0]);
    g->J[0] = NULL;
    return status;
}

/* v becomes exp(..) exp(..) v, of the step h from t on; it is in z, too. */
static wisp_status magnus_step(wisp__driven *s, double t, double h)
{
    const double node = sqrt(3) / 6, a = 0.25 - node, b = 0.25 + node;
    const int n = s->o.drives;
    wisp_status status;
    WISP_TRY(wisp__driven_look(s, t + (0.5 - node) * h, s->f));
    WISP_TRY(wisp__driven_look(s, t + (0.5 + node) * h, s->f + n));
    for (int later = 0; later < 2; later++) {
        for (int j = 0; j < n; j++) s->g[j] = 2 * ((later ? a : b) * s->f[j] + (later ? b : a) * s->f[n + j]);
        wisp__driven_bounds(s);
        WISP_TRY(exponential(s, h / 2));
        WISP_TRY(wisp_copy(s->sum.v, s->z));
    }
out:
    return status;
}

/* ---- steps ------------------------------------------------------------------------------------------- */

/* z becomes psi after the step, by two halves; *error: about how far it is off, three times; *noise: what a difference
   of both may come from alone. */
static wisp_status try_step(wisp__driven *s, double *error, double *noise)
{
    const wisp_scalar one = {1, 0}, minus = {-1, 0};
    const double half = s->step / 2;
    wisp_status status;
    s->made = s->rounded = 0;
    s->exponentials = 0;
    WISP_TRY(wisp_copy(s->sum.v, s->psi));
    WISP_TRY(magnus_step(s, s->t, s->step));
    WISP_TRY(wisp_copy(s->kept, s->z));
    *noise = s->made + s->rounded;
    s->made = s->rounded = 0;
    WISP_TRY(wisp_copy(s->sum.v, s->psi));
    WISP_TRY(magnus_step(s, s->t, half));
    WISP_TRY(magnus_step(s, s->t + half, half));
    *noise += s->made + s->rounded;
    WISP_TRY(wisp_axpby(s->kept, one, s->z, minus));
    WISP_TRY(wisp_norm(s->kept, s->norm));
    *error = 0;
    for (int j = 0; j < wisp_blk_width(s->psi); j++)
        if (s->start_norm[j] > 0) *error = fmax(*error, s->norm[j] / s->start_norm[j] * (safety / asymptotic));
out:
    return status;
}

static wisp_status check_off(const wisp__driven *s)
{
    if (!(s->counted <= s->o.tolerance))
        return wisp_ctx_failf(
            s->ctx, WISP_ERR_PRECISION,
            "evolve: psi is off by about %.1g at time %g, more than opts.tolerance, %g; take a larger "
            "one, or a shorter time%s",
            s->counted, s->t, s->o.tolerance, wisp__is_single(wisp_blk_type(s->psi)) ? ", or double precision" : "");
    return WISP_OK;
}

/* What rounding makes of psi in the step that has been taken: a share of its way, and four epsilons for each of the
   four exponentials, which are as random as the steps are many. */
static double rounding_of_step(const wisp__driven *s)
{
    enum { EXPONENTIALS = 4 };
    const double each = wisp__evolve_rounding_of(&s->o, &s->parts, wisp_blk_type(s->psi), 0), n = (double)s->e->steps;
    return fmax(0, s->rounded - EXPONENTIALS * each) + sqrt(EXPONENTIALS) * each * (sqrt(n) - sqrt(n - 1));
}

/* About what rounding makes of the error that both ways to take a step give. */
static double rounding_of_error(const wisp__driven *s)
{
    return wisp__evolve_rounding_of(&s->o, &s->parts, wisp_blk_type(s->psi), s->step) * (safety / asymptotic);
}

/* One step towards a time; where it was too long, psi stays and the next one is shorter. */
static wisp_status one_step(wisp__driven *s, double to)
{
    const double end = wisp__driven_end(s, to), left = end - s->t, wanted = fabs(s->step);
    const bool whole = wanted >= fabs(left) * (1 - 1e-6);
    const double least = 16 * DBL_EPSILON * fmax(fabs(s->t), fabs(end));
    double error, noise, missed;
    wisp_status status;
    /* No rest is left that is much shorter than a step. */
    if (whole)
        s->step = left;
    else
        wisp__driven_set_step(s, end, copysign(wanted * 2 > fabs(left) ? fabs(left) / 2 : wanted, left));
    const double asked = s->step;
    WISP_TRY(wisp__driven_fit(s, end, least, &missed));
    const bool cut = s->step != asked;
    s->share = fabs(s->step) * s->leg;
    WISP_TRY(try_step(s, &error, &noise));
    error = fmax(error, missed);
    const double h = fabs(s->step), allowed = wisp__driven_allowed(s, h);
    /* An error below what rounding makes of the difference can't be measured: the next step aims at no less. */
    const double lost = rounding_of_error(s), aim = fmax(allowed, lost);
    const double measured = fmin(2, fmax(0.2, 0.9 * pow(aim / error, 0.25)));
    const double factor = error > 2 * lost && h * DRIVEN_SHARES > s->span ? measured : fmax(1, measured);
    if (error <= allowed || error <= noise || h <= least) {
        WISP_TRY(wisp_copy(s->psi, s->z));
        s->t = s->step == left ? end : s->t + s->step;
        s->e->steps++;
        s->off += error + s->made + WISP__ROUNDING_MOST * rounding_of_step(s);
        s->counted += error + s->made + rounding_of_step(s);
        WISP_TRY(check_off(s));
        /* A step that a time cut short measures nothing; by the rounding of the clock alone none is. */
        s->step = h < wanted * (1 - 1e-6) && !cut ? fmax(wanted, h * factor) : h * factor;
    } else {
        s->e->refused++;
        s->step = h * fmin(factor, 0.8);
    }
    if (s->o.longest_step > 0) s->step = fmin(s->step, s->o.longest_step);
out:
    return status;
}

/* psi at time i. */
static wisp_status take(wisp__driven *s, int64_t i)
{
    const int width = wisp_blk_width(s->psi);
    const double off = s->o.start_off + s->off;
    wisp_status status;
    WISP_TRY(wisp_norm(s->psi, s->norm));
    for (int j = 0; j < width; j++)
        if (!(fabs(s->norm[j] - s->start_norm[j]) <= 10 * (s->o.tolerance + s->off) * s->start_norm[j]))
            return wisp_ctx_failf(
                s->ctx, WISP_ERR_BOUNDS,
                "evolve: the norm of column %d goes from %.6g to %.6g at time %g: H(t) reaches beyond "
                "the bounds; take wider opts.bounds",
                j, s->start_norm[j], s->norm[j], s->time[i]);
    if (s->o.off) s->o.off[i] = off;
    for (int j = 0; j < width && s->o.log_norm; j++) s->o.log_norm[i * width + j] = log(s->norm[j]);
    s->e->done = i + 1;
    if (s->o.observe && s->o.observe(s->o.observe_arg, i, s->psi, s->norm))
        return wisp_ctx_failf(s->ctx, WISP_ERR_CANCELLED, "evolve: ended by opts.observe at time %g", s->time[i]);
out:
    return status;
}

/* ---- states ------------------------------------------------------------------------------------------ */

/* What is given back first of a state, between two steps. */
typedef struct {
    int64_t done, steps, refused, sequences, sweeps;
    double t, step, off, counted, seconds, bounds_seconds, flops;
} position;

static wisp_status same_options(const wisp__driven *s, wisp_state *state)
{
    const wisp_evolve_opts *o = &s->o;
    wisp_status status;
    WISP_TRY(wisp_state_samef(state, "solver", "evolve under H(t)"));
    WISP_TRY(wisp_state_samef(state, "rows", "%lld", (long long)wisp_map_rows(wisp_mat_map(s->A))));
    WISP_TRY(wisp_state_samef(state, "type of psi", "%s", wisp_type_name(wisp_blk_type(s->psi))));
    WISP_TRY(wisp_state_samef(state, "width of psi", "%d", wisp_blk_width(s->psi)));
    WISP_TRY(wisp_state_samef(state, "opts.drives", "%d", o->drives));
    WISP_TRY(wisp_state_samef(state, "opts.breaks", "%lld", (long long)o->breaks));
    WISP_TRY(wisp_state_samef(state, "opts.longest_step", "%.17g", o->longest_step));
    WISP_TRY(wisp_state_samef(state, "opts.tolerance", "%.17g", o->tolerance));
    WISP_TRY(wisp_state_samef(state, "opts.start_off", "%.17g", o->start_off));
    WISP_TRY(wisp_state_samef(state, "opts.start_time", "%.17g", o->start_time));
    WISP_TRY(wisp__same_bounds(state, "opts.bounds", &o->bounds));
    status = wisp__evolve_same_times(s->ctx, s->times, s->time, state);
out:
    return status;
}

static wisp_status items(void *arg, wisp_state *state)
{
    wisp__driven *s = arg;
    wisp_evolution *e = s->e;
    const size_t width = (size_t)wisp_blk_width(s->psi);
    const wisp_evolution *then = &s->then; /* the step that is under way is taken anew */
    position at = {then->done,        then->steps,
                   then->refused,     then->sequences,
                   then->sweeps,      s->t,
                   s->wanted,         s->off,
                   s->counted,        s->before + wisp_now() - s->began,
                   e->bounds_seconds, then->flops};
    wisp_status status;
    WISP_TRY(same_options(s, state));
    WISP_TRY(wisp_state_data(state, "at", &at, sizeof at));
    WISP_TRY(wisp_state_data(state, "found bounds", s->of, (size_t)(1 + s->o.drives) * sizeof *s->of));
    WISP_TRY(wisp_state_data(state, "norms", s->start_norm, width * sizeof *s->start_norm));
    WISP_TRY(wisp_state_block(state, "psi", s->psi));
    if (!wisp_state_is_kept(state)) goto out;
    if (at.done < 0 || at.done > s->times || !isfinite(at.t) || !isfinite(at.step))
        return wisp_ctx_failf(s->ctx, WISP_ERR_FORMAT, "a state of an evolution that can't be: time %lld of %lld",
                              (long long)at.done, (long long)s->times);
    e->done = at.done, e->steps = at.steps, e->refused = at.refused, e->sequences = at.sequences;
    e->sweeps = at.sweeps, e->bounds_seconds = at.bounds_seconds, e->flops = at.flops;
    s->t = at.t, s->step = at.step, s->off = at.off, s->counted = at.counted, s->before = at.seconds;
out:
    return status;
}

static wisp_status run(wisp__driven *s)
{
    wisp_status status = WISP_OK;
    if (s->o.offer) WISP_TRY(wisp_state_create(&s->live, s->ctx, items, s));
    for (int64_t i = s->e->done; i < s->times; i++) {
        const double from = i ? s->time[i - 1] : s->o.start_time, way = s->time[i] - from;
        while (s->t != s->time[i]) {
            s->at = ((double)i + (s->t - from) / way) / (double)s->times;
            s->leg = 1 / (fabs(way) * (double)s->times);
            s->share = 0;
            s->then = *s->e;
            s->wanted = s->step;
            WISP_TRY(tell(s, 0));
            WISP_TRY(one_step(s, s->time[i]));
        }
        WISP_TRY(take(s, i));
    }
    s->then = *s->e;
    s->wanted = s->step;
    if (s->live) WISP_TRY(wisp_state_offer_whole(s->live, s->o.offer, s->o.offer_arg));
    status = wisp_ctx_step(s->ctx, "evolution", 1, s->e->flops);
out:
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------- */

/* The pointers that have to be there. */
static wisp_status check_pointers(const wisp__driven *s)
{
    const wisp_evolve_opts *o = &s->o;
    bool all = o->drive && o->drive_at && (o->break_at || o->breaks == 0);
    for (int j = 0; j < o->drives && all; j++) all = o->drive[j] != NULL;
    if (all) return WISP_OK;
    return wisp_ctx_failf(
        s->ctx, WISP_ERR_ARG,
        "evolve: opts.drive, each of its matrices, opts.drive_at and, with opts.breaks, opts.break_at "
        "are needed; one of them is NULL");
}

static wisp_status prepare(wisp__driven *s)
{
    const wisp_type type = wisp_blk_type(s->psi);
    const int width = wisp_blk_width(s->psi);
    const size_t n = (size_t)s->o.drives;
    wisp_cost cost;
    wisp_status status;
    WISP_TRY(wisp_alloc(s->ctx, &s->of, 1 + n, sizeof *s->of));
    WISP_TRY(wisp_alloc(s->ctx, &s->f, (3 + DRIVEN_SEEN) * n, sizeof *s->f));
    s->g = s->f + 2 * n;
    s->seen = s->g + n;
    WISP_TRY(wisp_alloc(s->ctx, &s->start_norm, 2 * (size_t)width, sizeof *s->norm));
    s->norm = s->start_norm + width;
    WISP_TRY(wisp__driven_sort_breaks(s));
    WISP_TRY(make_operator(s));
    for (int j = -1; j < s->o.drives; j++) {
        WISP_TRY(wisp_spmmv_cost(j < 0 ? s->A : s->o.drive[j], type, width, WISP__EVOLVE_TERMS, &cost));
        s->sweep_flops += cost.flops;
    }
    WISP_TRY(wisp_ctx_sum(s->ctx, &s->sweep_flops, 1));
    WISP_TRY(wisp_blk_create(&s->z, s->ctx, wisp_mat_map(s->A), type, width));
    WISP_TRY(wisp_blk_create(&s->kept, s->ctx, wisp_mat_map(s->A), type, width));
    s->sum = (wisp__chebyshev_sum){.A = s->H,
                                   .bounds = &s->now,
                                   .z = &s->z,
                                   .sums = 1,
                                   .coefficient = wisp__evolve_coefficient,
                                   .arg = &s->series,
                                   .depth = 1};
    WISP_TRY(wisp_blk_create(&s->sum.v, s->ctx, wisp_mat_map(s->A), type, width));
    WISP_TRY(wisp_blk_create(&s->sum.w, s->ctx, wisp_mat_map(s->A), type, width));
    status = wisp__chebyshev_sum_open(&s->sum, 1, wisp__steps_of(s->ctx, WISP_EVOLVE_STEPS));
out:
    return status;
}

/* The first step: over 1/halfwidth at a time on the way, for at its start f may be 0/0. */
static wisp_status first_step(wisp__driven *s)
{
    const double inside = 1.0 / 64;
    int64_t i = 0;
    wisp_status status = WISP_OK;
    while (i < s->times && s->time[i] == s->t) i++;
    if (i == s->times) goto out;
    WISP_TRY(wisp__driven_look(s, s->t + inside * (wisp__driven_end(s, s->time[i]) - s->t), s->f));
    memcpy(s->g, s->f, (size_t)s->o.drives * sizeof *s->g);
    wisp__driven_bounds(s);
    s->step = 1 / s->now.halfwidth;
    if (s->o.longest_step > 0) s->step = fmin(s->step, s->o.longest_step);
out:
    return status;
}

static wisp_status begin(wisp__driven *s)
{
    wisp_status status;
    double unused;
    WISP_TRY(find_bounds(s));
    WISP_TRY(wisp__evolve_rounding(s->ctx, &s->o, s->of, wisp_blk_type(s->psi), s->times, s->time, &unused));
    WISP_TRY(wisp__evolve_start(s->psi, s->start_norm));
    WISP_TRY(wisp__driven_survey(s));
    status = first_step(s);
out:
    return status;
}

wisp_status wisp__evolve_driven(wisp_evolution *e, const wisp_mat *A, wisp_blk *psi, int64_t times, const double *time,
                                const wisp_evolve_opts *opts)
{
    wisp__driven s = {.ctx = wisp_mat_ctx(A), .A = A, .o = *opts, .e = e, .times = times, .time = time, .psi = psi};
    wisp_status status;
    s.t = s.o.start_time;
    wisp_ctx_enter(s.ctx);
    WISP_TRY(wisp__evolve_check(s.ctx, &s.o, wisp_blk_type(psi), times, time));
    WISP_TRY(check_pointers(&s));
    s.span = wisp__evolve_path(s.t, times, time);
    WISP_TRY(prepare(&s));
    s.began = wisp_now();
    if (s.o.resume) {
        WISP_TRY(items(&s, s.o.resume));
        WISP_TRY(wisp__driven_survey(&s));
    } else
        WISP_TRY(begin(&s));
    s.began = wisp_now();
    status = run(&s);
    e->bounds = s.of[0];
    e->seconds = s.before + wisp_now() - s.began;
out:
    wisp_state_free(s.live);
    wisp__chebyshev_sum_close(&s.sum);
    wisp_blk_free(s.sum.v), wisp_blk_free(s.sum.w), wisp_blk_free(s.z), wisp_blk_free(s.kept);
    wisp_mat_free(s.H);
    wisp_free(s.ctx, s.start_norm), wisp_free(s.ctx, s.f), wisp_free(s.ctx, s.of);
    wisp_free(s.ctx, s.breaks);
    return wisp_ctx_leave(s.ctx, status);
}
