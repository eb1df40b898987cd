/* Preparation of Chebyshev filter diagonalization: the bounds, the density of states by the kernel polynomial method,
   and from these the target, the interval that is searched. */
#include "chebfd.h"

/* Moments of the first look and at most. */
enum { MOMENTS = 256, MOST_MOMENTS = 1 << 15, LOOKS = 8 };
/* Resolutions that the distance from the target's center to the end of the search space's reach has. */
static const double fineness = 12;

/* ---- the density ---------------------------------------------------------------------------------- */

/* The states of the density's moments, with the items of this solver beside theirs. */
static int offer_look(void *arg, wisp_state *state)
{
    wisp__chebfd *c = arg;
    const wisp_eig_opts *o = &c->k->o;
    if (wisp_state_is_whole(state)) return 0; /* the moments are, the pairs are not */
    return wisp_state_add(state, wisp__chebfd_items, c) != WISP_OK || o->offer(o->offer_arg, state) != 0;
}

static wisp_status look(wisp__chebfd *c, int64_t moments, wisp_state *resume)
{
    wisp__eig *k = c->k;
    wisp_choice choice;
    wisp_status status = WISP_OK;
    c->look_began = wisp_now();
    if (c->row_bytes == 0) c->row_bytes = k->o.row_bytes;
    if (c->row_bytes == 0) {
        WISP_TRY(wisp_mat_choose(k->A, k->type, WISP__VECTORS, moments / 2, &choice));
        c->row_bytes = choice.width * (int)wisp_type_size(k->type);
    }
    k->e->row_bytes = c->row_bytes;
    wisp_kpm_opts o = wisp__chebfd_look_opts(c, moments);
    o.offer = k->o.offer ? offer_look : NULL;
    o.offer_arg = c;
    o.resume = resume;
    wisp_moments_free(c->m);
    WISP_TRY(wisp__kpm(c->m, k->A, &o, &k->e->bounds, "density of states"));
    k->e->flops += c->m->flops;
    k->e->products += moments / 2 * WISP__VECTORS;
    status = wisp__chebfd_mean(c);
out:
    k->e->dos_seconds += wisp_now() - c->look_began;
    return status;
}

/* Of a look, in flops of dense kernels. */
static double work_of(const wisp__eig *k, int64_t moments)
{
    return wisp__slower * k->flops * (double)(moments / 2 * WISP__VECTORS);
}

double wisp__chebfd_least_work(const wisp__eig *k) { return work_of(k, MOMENTS); }

/* The distance around the target's center (or, NEAREST, the target) that holds so many. */
static double distance(wisp__chebfd *c, double center, double wanted)
{
    const wisp_bounds *b = &c->k->e->bounds;
    const double most = fabs(center - b->center) + b->halfwidth;
    return wisp__filter_reach(wisp__chebfd_states, c, center, center, 0, most, b->halfwidth, wanted);
}

/* The target as far as it lies in the spectrum's bounds, and how many eigenvalues it has. */
static void clip(wisp__chebfd *c)
{
    const wisp_bounds *b = &c->k->e->bounds;
    const double lowest = b->center - b->halfwidth, highest = b->center + b->halfwidth;
    c->low = fmin(fmax(c->low, lowest), highest), c->high = fmin(fmax(c->high, lowest), highest);
    c->wanted = wisp__chebfd_states(c, c->low, c->high);
}

/* The target, and how many eigenvalues it has: what is asked for, with the bar of NEAREST's count. */
static void set_target(wisp__chebfd *c)
{
    const wisp_eig_opts *o = &c->k->o;
    double count;
    c->low = o->low, c->high = o->high;
    if (o->which == WISP_EIG_NEAREST) {
        double r = distance(c, o->target, o->count);
        r = distance(c, o->target, o->count + wisp__chebfd_bar(c, o->target - r, o->target + r, &count) + 1) +
            wisp__chebfd_resolution(c);
        c->low = o->target - r, c->high = o->target + r;
    }
    clip(c);
}

/* The result says which interval is searched and how many eigenvalues are expected in it; states within one resolution
   of an end count as uncertain. */
static void report_expected(wisp__chebfd *c)
{
    wisp_eigen *e = c->k->e;
    const double r = wisp__chebfd_resolution(c);
    e->low = c->low, e->high = c->high;
    e->expected_error = wisp__chebfd_bar(c, c->low, c->high, &e->expected) +
                        wisp__chebfd_states(c, c->low - r, c->low + r) +
                        wisp__chebfd_states(c, c->high - r, c->high + r);
}

wisp_status wisp__chebfd_widen(wisp__chebfd *c, int found)
{
    const wisp_bounds *b = &c->k->e->bounds;
    const double target = c->k->o.target, outside = fmax(0, fabs(target - b->center) - b->halfwidth),
                 lack = (c->k->o.count + 1.0) / (found + 1.0);
    const double r = outside +
                     (fmax(fabs(target - c->low), fabs(c->high - target)) - outside) * fmax(1.1, fmin(lack, 4)) +
                     wisp__chebfd_resolution(c);
    c->low = target - r, c->high = target + r;
    clip(c);
    report_expected(c);
    return wisp__chebfd_enlarge(c, c->wanted);
}

/* Whether a pair belongs to the target is told by its residual: so that has to be small beside the target, as far as
   rounding allows, whatever the halfwidth of the spectrum. (A single level has no width.) */
static void fit_tolerance(const wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    const wisp_bounds *b = &k->e->bounds;
    const bool interval = k->o.which == WISP_EIG_INTERVAL;
    const double asked = k->o.high - k->o.low, clipped = c->high - c->low,
                 width = !interval     ? clipped
                         : clipped > 0 ? fmin(clipped, asked)
                                       : asked,
                 enough = fmax(0.05 * width, 256 * k->eps * (b->halfwidth + fabs(b->center)));
    if (width <= 0 || k->o.tolerance * k->scale <= enough) return;
    wisp_ctx_logf(
        k->ctx, WISP_LOG_WARN,
        "eig: opts.tolerance, %.1e, is wide beside the target, which is %.1e wide: residuals of %.1e at most are "
        "asked for",
        wisp__eig_shown(k, k->o.tolerance * k->scale), wisp__eig_shown(k, width), wisp__eig_shown(k, enough));
    k->o.tolerance = enough / k->scale;
}

/* Any: whether the target seems to lie in a level, of more states than a space for the pairs asked for would hold. */
static bool is_level(wisp__chebfd *c)
{
    enum { SPARE = 16 };
    const wisp_eig_opts *o = &c->k->o;
    const wisp_bounds *b = &c->k->e->bounds;
    const double r = wisp__chebfd_resolution(c);
    return o->any && o->which == WISP_EIG_NEAREST && o->search == 0 && c->wanted > 2 * (o->count + SPARE) &&
           fabs(o->target - b->center) <= b->halfwidth &&
           wisp__chebfd_states(c, o->target - r, o->target + r) > c->wanted / 2;
}

/* The target becomes so narrow that, where as many pairs as are asked for lie in it, no others are wanted. */
static void aim_at_level(wisp__chebfd *c)
{
    const wisp__eig *k = c->k;
    const double near = 2 * k->o.tolerance * k->scale;
    c->at.some = true;
    c->at.level[0] = c->low, c->at.level[1] = c->high;
    c->low = k->o.target - near, c->high = k->o.target + near;
    clip(c);
    c->wanted = k->o.count;
}

wisp_status wisp__chebfd_take_all(wisp__chebfd *c)
{
    c->at.some = false;
    set_target(c);
    fit_tolerance(c);
    return wisp__chebfd_enlarge(c, c->wanted);
}

/* at.some: a filter for a few of the level; all of it, where that takes no more than twice as much, for nothing says
   that these few converge. */
static wisp_status fit_level(wisp__chebfd *c)
{
    const int before = c->search;
    const wisp_status status = wisp__chebfd_enlarge(c, c->wanted);
    if (status != WISP_OK || (c->search > 0 && 2 * c->work < c->at.all)) return status;
    c->search = before; /* columns that there are stay */
    return wisp__chebfd_take_all(c);
}

wisp_status wisp__chebfd_narrow_level(wisp__chebfd *c)
{
    for (int i = 0; i < 2; i++) c->at.level[i] = c->k->o.target + (c->at.level[i] - c->k->o.target) / 4;
    return fit_level(c);
}

/* The filter, and the size of the space. */
static wisp_status fit(wisp__chebfd *c)
{
    const wisp_status status = wisp__chebfd_enlarge(c, c->wanted);
    if (status != WISP_OK || !is_level(c)) return status;
    c->at.all = c->search > 0 ? c->work : INFINITY;
    c->search = 0;
    aim_at_level(c);
    return fit_level(c);
}

/* The spectrum may be far narrower than these bounds, which are no nearer than a share of where they lie. */
static bool is_far(const wisp_bounds *b) { return b->halfwidth < 2e-6 * fabs(b->center); }

wisp_status wisp__chebfd_look(wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    wisp_status status = wisp__eig_bounds(k, 20000);
    if (status != WISP_OK) return status;
    wisp__chebfd_choose_precision(c);
    /* As many as tell single levels apart, were they spread evenly, are enough. */
    const bool few = k->rows < MOST_MOMENTS / 2 && !is_far(&k->e->bounds);
    const int64_t most = !few ? MOST_MOMENTS : k->rows < MOMENTS ? MOMENTS : 2 * k->rows;
    wisp__chebfd_at *at = &c->at;
    wisp_state *resume = k->o.resume;
    if (!resume) at->moments = MOMENTS, at->seen = INFINITY;
    for (; at->look < LOOKS; at->look++) {
        const int64_t moments = at->moments;
        status = look(c, moments, resume);
        if (status != WISP_OK) return status;
        resume = NULL;
        set_target(c);
        const double center = 0.5 * (c->low + c->high), r = distance(c, center, 2 * c->wanted + 16);
        const int64_t needed = wisp_moments_for(k->e->bounds.halfwidth, r / fineness);
        /* A level of many states looks the same at any resolution. */
        const bool level = c->wanted > 0.8 * at->seen && r < 2 * wisp__chebfd_resolution(c);
        if ((double)needed < 1.2 * (double)moments || moments == most || level) break;
        at->seen = c->wanted;
        at->moments = needed < 4 * moments ? needed : 4 * moments; /* what is seen so far is blurred */
        if (at->moments > most) at->moments = most;
        if (work_of(k, at->moments) * (k->inverse ? WISP__TIMES_NEXT_LOOK : 1) > k->most_work) {
            c->work = INFINITY; /* LAPACK takes less than this look alone, or the inverse than what comes with it */
            report_expected(c);
            return WISP_OK;
        }
    }
    report_expected(c);
    fit_tolerance(c);
    return fit(c);
}
