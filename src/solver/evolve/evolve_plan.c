/* The options of wisp_evolve, which times share one sequence, and what an evolution will take. */
#include "evolve.h"
#include <math.h>

/* ---- options --------------------------------------------------------------------------------- */

static wisp_status check_drives(wisp_ctx *ctx, const wisp_evolve_opts *o)
{
    if (o->drives < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.drives is %d", o->drives);
    if (o->drives == 0) return WISP_OK;
    if (o->direction.re != 1 || o->direction.im != 0 || o->non_hermitian)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "evolve: with opts.drives opts.direction is 1 and opts.non_hermitian 0: times are real, "
                              "and H(t) is Hermitian");
    if (o->breaks < 0 || !(o->longest_step >= 0) || !isfinite(o->longest_step))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "evolve: opts.breaks is %lld and opts.longest_step %g; both are 0 at least",
                              (long long)o->breaks, o->longest_step);
    for (int64_t i = 0; i < o->breaks && o->break_at; i++)
        if (!isfinite(o->break_at[i]))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.break_at[%lld] is %g", (long long)i, o->break_at[i]);
    return WISP_OK;
}

wisp_status wisp__evolve_check(wisp_ctx *ctx, wisp_evolve_opts *o, wisp_type type, int64_t times, const double *time)
{
    if (!wisp_type_is_complex(type))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: psi is %s; it must be complex, also with a real matrix",
                              wisp_type_name(type));
    if (times < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: %lld times", (long long)times);
    for (int64_t i = 0; i < times; i++)
        if (!isfinite(time[i]))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: time %lld is %g", (long long)i, time[i]);
    if (!isfinite(o->start_time))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.start_time is %g", o->start_time);
    if (o->direction.re == 0 && o->direction.im == 0) o->direction.re = 1;
    if (!isfinite(o->direction.re) || !isfinite(o->direction.im))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.direction is %g%+gi", o->direction.re, o->direction.im);
    if (!(o->start_off >= 0) || !isfinite(o->start_off))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.start_off is %g; it is at least 0", o->start_off);
    if (o->tolerance == 0) o->tolerance = wisp__is_single(type) ? 1e-4 : 1e-10;
    if (!(o->tolerance > 0) || !(o->tolerance < 1))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.tolerance is %g, it must lie between 0 and 1",
                              o->tolerance);
    if (wisp__evolve_damps(o) && !(o->start_off < o->tolerance))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "evolve: opts.start_off, %g, is all of opts.tolerance, %g, which counts it where the "
                              "direction of time is not real; take a larger one",
                              o->start_off, o->tolerance);
    if (o->depth < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.depth is %d, at least 1 is needed", o->depth);
    if (o->bytes < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.bytes is %lld", (long long)o->bytes);
    if (o->cache_budget < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.cache_budget is %lld bytes", (long long)o->cache_budget);
    if (o->at_once < 0 || o->at_once > WISP__MOST_AT_ONCE)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.at_once is %d; it is 1 to %d", o->at_once,
                              WISP__MOST_AT_ONCE);
    const wisp_status status = check_drives(ctx, o);
    return status == WISP_OK ? wisp__absorbed_check_options(ctx, o) : status;
}

static double epsilon(wisp_type type) { return wisp__is_single(type) ? FLT_EPSILON : DBL_EPSILON; }
static double size_of(wisp_scalar z) { return hypot(z.re, z.im); }

/* A state that damping leaves little of is off by as much more: what is cut is far below the tolerance, for few terms
   more, but no smaller than what counts beside rounding. */
double wisp__evolve_share(const wisp_evolve_opts *o, wisp_type type, int64_t times)
{
    const double share = o->tolerance / (double)(times > 1 ? times : 1), least = epsilon(type) / 4;
    if (!wisp__evolve_damps(o)) return share;
    return fmin(share, fmax(share * 0x1p-20, least));
}

/* The longest time away from the start. */
double wisp__evolve_reach(double start, int64_t times, const double *time)
{
    double reach = 0;
    for (int64_t i = 0; i < times; i++) reach = fmax(reach, fabs(time[i] - start));
    return reach;
}

/* The longest series has about as many terms as the halfwidth times the largest time. */
wisp_bounds_opts wisp__evolve_bounds_opts(const wisp_evolve_opts *o, const wisp_bounds_opts *of, int width,
                                          int64_t times, const double *time)
{
    const double tight = 1e4; /* where the norm is not kept, room beside the spectrum costs digits, not sweeps */
    const double longest =
        wisp__evolve_reach(o->start_time, times, time) * size_of(o->direction) * (wisp__evolve_damps(o) ? tight : 1);
    return wisp__bounds_opts(of, 0, 0, fmax(longest * width, DBL_MIN), width);
}

/* Of all steps from one time to the next. */
double wisp__evolve_path(double start, int64_t times, const double *time)
{
    double path = 0, base = start;
    for (int64_t i = 0; i < times; i++) {
        path += fabs(time[i] - base);
        base = time[i];
    }
    return path;
}

/* About: one epsilon of the halfwidth and the center for each unit of time, as if what is rounded did not add up. */
double wisp__evolve_rounding_of(const wisp_evolve_opts *o, const wisp_bounds *b, wisp_type type, double time)
{
    return epsilon(type) * (4 + (b->halfwidth + fabs(b->center)) * (size_of(o->direction) * fabs(time)));
}

wisp_status wisp__evolve_rounding(wisp_ctx *ctx, const wisp_evolve_opts *o, const wisp_bounds *b, wisp_type type,
                                  int64_t times, const double *time, double *rounding)
{
    const double tolerance = o->tolerance;
    *rounding = wisp__evolve_rounding_of(o, b, type, wisp__evolve_path(o->start_time, times, time));
    if (tolerance >= *rounding) return WISP_OK;
    return wisp_ctx_failf(
        ctx, WISP_ERR_ARG,
        "evolve: opts.tolerance, %g, can't be met: over this time rounding alone makes about %.1g in %s", tolerance,
        *rounding, wisp_type_name(type));
}

/* ---- groups of times ------------------------------------------------------------------------- */

/* Terms of the series of so much time in units of 1/halfwidth. */
static int64_t terms_of(const wisp__evolve_times *t, double phase)
{
    const wisp_scalar z = {t->direction.re * phase, t->direction.im * phase};
    return wisp__chebyshev_terms_of(z, t->tolerance);
}

/* One step of the way to a time that is too far for one sequence. */
static void go_between(const wisp__evolve_times *t, double passed, double base, wisp__evolve_group *g)
{
    const double step = passed / ceil(fabs(passed) / t->absorbed->longest);
    g->between = true;
    g->count = 1;
    g->at[0] = base + step;
    if (g->at[0] == base) g->at[0] = base + passed; /* a clock that shows no shorter steps */
    g->terms[0] = g->most = wisp__absorbed_terms(t->absorbed, g->at[0] - base);
}

/* As many of the next times as make the bytes per time least: a longer sequence, but for all of them. */
void wisp__evolve_choose(const wisp__evolve_times *t, int64_t first, double base, wisp__evolve_group *g)
{
    const int64_t left = t->times - first;
    const int most = t->at_once ? t->at_once : t->most;
    double sums = 0, best = HUGE_VAL;
    int64_t longest = 0;
    *g = (wisp__evolve_group){.first = first};
    for (int n = 0; n < most && n < left; n++) {
        const double passed = t->time[first + n] - base;
        if (t->absorbed && fabs(passed) > t->absorbed->longest) {
            if (n == 0) go_between(t, passed, base, g);
            break;
        }
        g->at[n] = t->time[first + n];
        g->terms[n] = t->absorbed ? wisp__absorbed_terms(t->absorbed, passed) : terms_of(t, t->halfwidth * passed);
        if (g->terms[n] > longest) longest = g->terms[n];
        sums += (double)g->terms[n];
        const double of_term = n > 0 ? t->z_bytes * WISP__BANK_SHARE : t->z_bytes;
        const double bytes = ((double)longest * t->sweep_bytes + sums * of_term) / (n + 1);
        if (bytes >= best && !t->at_once) continue;
        best = bytes;
        g->count = n + 1;
        g->most = longest;
    }
    /* Given bounds may be so narrow that no term seems to be needed: they are looked at all the same. */
    const bool moves = g->most > 1 || (t->given && g->count > 0 && g->at[g->count - 1] != base);
    if (moves && g->most < wisp__least_vectors(t->given)) g->most = wisp__least_vectors(t->given);
}

/* ---- plan ------------------------------------------------------------------------------------ */

/* All groups: the most times of one, the most terms of their series together, steps, and sums of a term. */
typedef struct {
    int count;
    double terms, sweeps, sums;
} outline;

static outline outline_of(const wisp__evolve_times *t)
{
    outline all = {0};
    double base = t->start;
    wisp__evolve_group g;
    for (int64_t first = 0; first < t->times; first += g.between ? 0 : g.count) {
        double terms = 0;
        wisp__evolve_choose(t, first, base, &g);
        for (int i = 0; i < g.count; i++) terms += (double)g.terms[i];
        if (g.count > all.count) all.count = g.count;
        all.terms = fmax(all.terms, terms);
        all.sweeps += (double)(g.most - 1);
        all.sums += terms;
        base = g.at[g.count - 1];
    }
    return all;
}

/* Terms of the series of so many times together, at most: of a halfwidth that is not known it is known that rounding
   allows the tolerance, else the call is refused. */
static double most_terms(const wisp__evolve_times *t, wisp_type type, double tolerance, int count)
{
    enum { MOST = 1 << 20 }; /* halfwidth times time, as far as a plan goes where nothing else bounds it */
    const double path = size_of(t->direction) * wisp__evolve_path(t->start, t->times, t->time);
    double reach = 0, halfwidth = t->halfwidth;
    for (int64_t i = 0; i < t->times; i++)
        for (int d = 1; d <= count && d <= i + 1; d++)
            reach = fmax(reach, fabs(t->time[i] - (d <= i ? t->time[i - d] : t->start)));
    if (halfwidth == 0)
        halfwidth = path > 0 ? fmin(tolerance / epsilon(type) / path, MOST / reach / size_of(t->direction)) : 0;
    if (t->absorbed) return count * (double)wisp__absorbed_terms(t->absorbed, fmin(reach, t->absorbed->longest));
    return count * (double)terms_of(t, halfwidth * reach);
}

/* psi(t) is in a block each; J: terms of series. */
static wisp_status run_bytes(wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                             const wisp_evolve_opts *o, int count, double J, bool little, double *about, double *most)
{
    wisp_mat_info of = *A; /* H(t) is an operator, beside whose product one of a drive is held */
    if (o->drives > 0)
        of.format = WISP_FORMAT_OPERATOR, of.spill_bytes += A->local_rows * (int64_t)wisp_type_size(A->type);
    const wisp__chebyshev_size size = {.blocks = o->drives > 0 ? WISP__DRIVEN_BLOCKS : 1 + count,
                                       .sums = count,
                                       .most_sums = WISP__MOST_AT_ONCE,
                                       .steps = wisp__evolve_steps(ctx, o->depth),
                                       .depth = o->depth,
                                       .little = little};
    const wisp_status status = wisp__chebyshev_sum_bytes(ctx, &of, type, width, &size, about, most);
    const bool scalars = wisp__evolve_damps(o) || o->non_hermitian;
    const double number = scalars ? sizeof(wisp_scalar) : sizeof(double), own = 64.0 * width;
    const double breaks = o->drives > 0 ? sizeof(double) * (double)o->breaks : 0; /* their order */
    *about += number * J + breaks;
    *most +=
        breaks + number * J * (o->non_hermitian ? 2 : 1) + (scalars ? own : 0); /* a series is made of real numbers */
    return status;
}

wisp_status wisp__evolve_most(wisp__evolve_times *t, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                              const wisp_evolve_opts *o)
{
    wisp_status status = WISP_OK;
    const bool found = t->most > 0;
    wisp_evolve_opts other =
        *o; /* the bits are not to hang on a depth that is given, if it is the one that is chosen */
    double unused, bytes, any;
    other.depth = 0;
    if (!found) t->most = t->times < WISP__MOST_AT_ONCE ? (int)t->times : WISP__MOST_AT_ONCE;
    t->little = false;
    for (; o->bytes > 0 && t->most > 1; t->most--)
        for (int little = 0; little < 2; little++) {
            const double terms = most_terms(t, type, o->tolerance, t->most);
            WISP_TRY(run_bytes(ctx, A, type, width, o, t->most, terms, little, &unused, &bytes));
            WISP_TRY(run_bytes(ctx, A, type, width, &other, t->most, terms, little, &unused, &any));
            t->little = little;
            if (fmax(bytes, any) <= (double)o->bytes || (found && little)) return WISP_OK;
        }
    t->little = false;
    if (t->most < 1) t->most = 1;
out:
    return status;
}

wisp_status wisp_evolve_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                             int64_t times, const double *time, const wisp_evolve_opts *opts, const wisp_choice *step)
{
    wisp_status status;
    wisp_evolve_opts o = opts ? *opts : (wisp_evolve_opts){0};
    double about, most, unused, bounds = 0;
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, A);
    if (times > 0) WISP_NEED(ctx, time);
    if (type == WISP_DEFAULT) type = wisp__type_in(A->type, WISP_Z);
    WISP_TRY(wisp__evolve_check(ctx, &o, type, times, time));
    WISP_TRY(wisp__check_bounds(ctx, A, &o.bounds));
    const bool given = o.bounds.method == WISP_BOUNDS_GIVEN && o.drives == 0 &&
                       (!o.non_hermitian || o.absorption.method == WISP_BOUNDS_GIVEN);
    wisp__absorbed absorbed = {0};
    if (given && o.non_hermitian)
        WISP_TRY(wisp__absorbed_choose(&absorbed, ctx, &o, &o.bounds.given, &o.absorption.given, type, times, time));
    else if (given)
        WISP_TRY(wisp__evolve_rounding(ctx, &o, &o.bounds.given, type, times, time, &unused));
    const bool is_operator = A->format == WISP_FORMAT_OPERATOR;
    const double block = (double)A->local_rows * width * (double)wisp_type_size(type);
    /* Of all ranks, as the run chooses by them. */
    const double blocks = (double)A->rows * width * (double)wisp_type_size(type);
    const double matrix = A->local_rows > 0 ? (double)A->sweep_bytes * ((double)A->rows / (double)A->local_rows)
                                            : (double)A->nnz * (double)(wisp_type_size(A->type) + sizeof(int32_t));
    wisp__evolve_times t = {.absorbed = absorbed.on ? &absorbed : NULL,
                            .times = times,
                            .time = time,
                            .start = o.start_time,
                            .at_once = o.at_once,
                            .direction = o.direction,
                            .halfwidth = given ? o.bounds.given.halfwidth : 0,
                            .tolerance = wisp__evolve_share(&o, type, times),
                            .sweep_bytes = matrix + (is_operator ? 7 : 3) * blocks,
                            .z_bytes = 2 * blocks,
                            .given = given};
    if (o.drives == 0) WISP_TRY(wisp__evolve_most(&t, ctx, A, type, width, &o));
    const int64_t at_once = o.drives > 0 ? 1 : o.at_once ? o.at_once : WISP__MOST_AT_ONCE;
    const int count = (int)(times < at_once ? times : at_once);
    /* How many times are best at once follows from the bounds; one is the least, and a run is not refused for more. */
    const int least = (o.at_once && o.drives == 0) || count < 1 ? count : 1;
    const outline all = given ? outline_of(&t) : (outline){.count = least, .sweeps = NAN, .sums = NAN};
    WISP_TRY(run_bytes(ctx, A, type, width, &o, all.count, all.terms, t.little, &about, &unused));
    WISP_TRY(
        run_bytes(ctx, A, type, width, &o, count, most_terms(&t, type, o.tolerance, count), false, &unused, &most));
    if (o.bytes > 0 && most > (double)o.bytes && o.at_once == 0 && count > 1) { /* it takes fewer, one at least */
        double one;
        WISP_TRY(run_bytes(ctx, A, type, width, &o, 1, most_terms(&t, type, o.tolerance, 1), false, &unused, &one));
        most = fmax(one, (double)o.bytes);
    }
    const wisp_bounds_opts bo = wisp__evolve_bounds_opts(&o, &o.bounds, width, times, time),
                           wo = wisp__evolve_bounds_opts(&o, &o.absorption, width, times, time);
    if (o.non_hermitian)
        WISP_TRY(wisp__absorbed_bounds_bytes(ctx, A, &bo, &wo, &unused, &bounds));
    else
        WISP_TRY(wisp__bounds_bytes(ctx, A, &bo, &unused, &bounds));
    *plan = (wisp_plan){.bytes = wisp_whole_number(fmin(about, most)),
                        .bytes_most = wisp_whole_number(fmax(most, bounds)),
                        .products = all.sweeps * width,
                        .sweeps = all.sweeps,
                        .seconds = NAN,
                        .iteration_bytes = NAN,
                        .iteration_seconds = NAN};
    if (step && step->seconds > 0)
        plan->seconds = all.sweeps * step->seconds + 1e-9 * all.sums * 2 * block / step->load_gbs;
out:
    return status;
}
