/* Functions of a Hermitian matrix by Chebyshev series: f(A) x = sum over k of c_k T_k((A - c)/h) x, with the spectrum
   of A in c -+ h. Several functions share one sequence of vectors. |f(A) - p(A)| is at most the largest |f - p| on the
   bounds, so that a function of a number is all that has to be approximated (chebyshev_fit.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "solver.h"

typedef struct {
    wisp_ctx *ctx;
    wisp_type type; /* of the blocks */
    int functions;
    const wisp_function *f;
    wisp_chebyshev_opts o; /* with every default filled in */
    wisp_expansion *e;
    wisp__series *s; /* [functions] */
    const wisp_mat *A;
    const wisp_blk *x;
    wisp__chebyshev_sum sum;
    double *start, *norm; /* [width] */
    int *exponent;        /* [width]: x is taken times 2^-exponent */
    double began, before; /* seconds of calls that this one goes on from */
    wisp_state *live;     /* NULL: it is not offered */
} expansion;

static wisp_status check_function(const expansion *s, int i)
{
    const wisp_function *f = s->f + i;
    if (f->value) return WISP_OK;
    if (!f->c)
        return wisp_ctx_failf(s->ctx, WISP_ERR_ARG, "chebyshev_apply: function %d has neither values nor coefficients",
                              i);
    if (f->terms < 1 || f->terms > WISP__MOST_TERMS)
        return wisp_ctx_failf(s->ctx, WISP_ERR_ARG,
                              "chebyshev_apply: function %d has %lld coefficients; 1 to %d are taken", i,
                              (long long)f->terms, WISP__MOST_TERMS);
    if (s->o.bounds.method == WISP_BOUNDS_GIVEN) return WISP_OK;
    return wisp_ctx_failf(
        s->ctx, WISP_ERR_ARG,
        "chebyshev_apply: the coefficients of function %d are those of bounds: give these as opts.bounds", i);
}

static wisp_status check_options(expansion *s)
{
    static const char *const call = "chebyshev_apply: ";
    wisp_chebyshev_opts *o = &s->o;
    wisp_status status = WISP_OK;
    if (s->functions < 1)
        return wisp_ctx_failf(s->ctx, WISP_ERR_ARG, "chebyshev_apply: %d functions; at least 1 is needed",
                              s->functions);
    wisp__fit_want want = {s->ctx, .tolerance = o->tolerance, .terms = o->terms, .points = o->points,
                           .jackson = o->jackson};
    WISP_TRY(wisp__fit_options(&want, call, wisp__is_single(s->type)));
    o->tolerance = want.tolerance, o->terms = want.terms;
    WISP_TRY(wisp__check_range(s->ctx, call, "depth", o->depth, 0, INT32_MAX));
    WISP_TRY(wisp__check_range(s->ctx, call, "cache_budget", o->cache_budget, 0, INT64_MAX));
    for (int i = 0; i < s->functions; i++) WISP_TRY(check_function(s, i));
out:
    return status;
}

/* What rounding makes of f, about, over the largest |f|: the matrix is known to its rounding only. */
static double rounding_of(const expansion *s, const wisp__series *f)
{
    const double epsilon = wisp__is_single(s->type) ? FLT_EPSILON : DBL_EPSILON;
    const double reach = 1 + fabs(s->e->bounds.center) / s->e->bounds.halfwidth;
    return f->largest > 0 ? epsilon * (16 + reach * f->slope / f->largest) : 0;
}

static wisp_status too_rounded(const expansion *s, int i, double rounding)
{
    return wisp_ctx_failf(
        s->ctx, WISP_ERR_ARG,
        "chebyshev_apply: opts.tolerance, %g, can't be met: rounding alone makes about %.1g of function %d in %s",
        s->o.tolerance, rounding, i, wisp_type_name(s->type));
}

static wisp__fit_want fit_want(const expansion *s, int i)
{
    const wisp_function *f = s->f + i;
    return (wisp__fit_want){.ctx = s->ctx,
                            .bounds = &s->e->bounds,
                            .number = i,
                            .takes_complex = wisp_type_is_complex(s->type),
                            .value = f->value,
                            .arg = f->arg,
                            .c = f->c,
                            .given = f->terms,
                            .tolerance = s->o.tolerance,
                            .terms = s->o.terms,
                            .points = s->o.points,
                            .jackson = s->o.jackson};
}

static wisp_status fit_function(expansion *s, int i)
{
    wisp_expansion *e = s->e;
    wisp__series *f = s->s + i;
    const wisp__fit_want want = fit_want(s, i);
    const bool to_tolerance = want.value && !s->o.jackson;
    const double least = rounding_of(s, &(wisp__series){.largest = 1});
    if (to_tolerance && least > s->o.tolerance / 2) return too_rounded(s, i, least);
    const wisp_status status = wisp__fit(f, &want);
    const double rounding = rounding_of(s, f);
    const bool rounded = to_tolerance && rounding > s->o.tolerance / 2; /* and so are the values of f */
    if (status != WISP_OK) return status == WISP_ERR_ARG && rounded ? too_rounded(s, i, rounding) : status;
    if (f->terms > e->terms) e->terms = f->terms;
    if (want.value && f->points > e->points) e->points = f->points;
    if (f->largest > 0) e->error = fmax(e->error, f->error / f->largest);
    e->rounding = fmax(e->rounding, rounding);
    return rounded ? too_rounded(s, i, rounding) : WISP_OK;
}

static wisp_status fit_all(expansion *s)
{
    wisp_status status = WISP_OK;
    s->e->terms = s->e->points = 0;
    s->e->error = s->e->rounding = 0;
    for (int i = 0; i < s->functions; i++) WISP_TRY(fit_function(s, i));
out:
    return status;
}

static void free_series(expansion *s)
{
    for (int i = 0; s->s && i < s->functions; i++) wisp_free(s->ctx, s->s[i].c);
    wisp_free(s->ctx, s->s);
}

static wisp_scalar coefficient(const void *arg, int i, int64_t k)
{
    const wisp__series *f = (const wisp__series *)arg + i;
    return k < f->terms ? f->c[k] : wisp__real(0);
}

/* ---- the run ----------------------------------------------------------------------------------- */

static wisp_status check_blocks(const expansion *s)
{
    for (int i = -1; i < s->functions; i++) {
        const wisp_blk *b = i < 0 ? s->x : s->sum.z[i];
        if (!b) return wisp_ctx_failf(s->ctx, WISP_ERR_ARG, "wisp_chebyshev_apply: y[%d] is NULL", i);
        if (wisp_blk_map(b) != wisp_mat_map(s->A) || wisp_blk_type(b) != s->type ||
            wisp_blk_width(b) != wisp_blk_width(s->x))
            return wisp_ctx_failf(
                s->ctx, WISP_ERR_MISMATCH,
                "chebyshev_apply: x and all y need the matrix's map, one type and one width; function "
                "%d: %s, width %d",
                i, wisp_type_name(wisp_blk_type(b)), wisp_blk_width(b));
    }
    return WISP_OK;
}

/* Of a call of wisp_mpk. */
static int steps_of(const expansion *s)
{
    return wisp__steps_of(s->ctx, s->o.depth ? s->o.depth : WISP_CHEBYSHEV_STEPS);
}

static wisp_status prepare(expansion *s)
{
    wisp_status status = WISP_OK;
    const int width = wisp_blk_width(s->x);
    s->sum.sums = s->functions;
    WISP_TRY(wisp__chebyshev_sum_open(&s->sum, s->functions, steps_of(s)));
    WISP_TRY(wisp_alloc(s->ctx, &s->start, 3 * (size_t)width, sizeof *s->start));
    s->norm = s->start + width;
    s->exponent = (int *)(s->norm + width);
    WISP_TRY(wisp_blk_create(&s->sum.v, s->ctx, wisp_mat_map(s->A), s->type, width));
    WISP_TRY(wisp_blk_create(&s->sum.w, s->ctx, wisp_mat_map(s->A), s->type, width));
out:
    return status;
}

/* Columns of y times 2^(sign (exponent_j + more)), in as many steps as numbers of the type need. */
static wisp_status scale(const expansion *s, wisp_blk *y, int sign, int more)
{
    const int width = wisp_blk_width(y), most = wisp__most_exponent(s->type);
    wisp_scalar *factor;
    int left = 0;
    wisp_status status = wisp_alloc(s->ctx, &factor, (size_t)width, sizeof *factor);
    for (int j = 0; j < width; j++) left = (int)fmax(left, abs(s->exponent[j] + more));
    for (int done = 0; done < left && status == WISP_OK; done += most) {
        for (int j = 0; j < width; j++) {
            const int all = s->exponent[j] + more, here = (int)fmin(fmax(abs(all) - done, 0), most);
            factor[j] = wisp__real(ldexp(1, all * sign < 0 ? -here : here));
        }
        status = wisp_vscal(y, factor);
    }
    wisp_free(s->ctx, factor);
    return status;
}

/* The norms of x, and powers of 2 that keep A x, where A is very small or large, within what numbers of the type hold.
 */
static wisp_status look_at_x(expansion *s)
{
    const int width = wisp_blk_width(s->x);
    const double h = s->e->bounds.halfwidth, rows = (double)wisp_map_rows(wisp_mat_map(s->A));
    const double tiny = wisp__is_single(s->type) ? 0x1p-149 : 0x1p-1074;
    for (int j = 0; j < width; j++) {
        if (!isfinite(s->start[j]))
            return wisp_ctx_failf(s->ctx, WISP_ERR_NUMERIC, "chebyshev_apply: x has a NaN or an infinity in column %d",
                                  j);
        s->exponent[j] = wisp__exponent(s->start[j] / (h < 1 ? sqrt(rows) : 1), h > 0x1p-60 && h < 0x1p60 ? 32 : 0,
                                        wisp__most_exponent(s->type));
        for (int i = 0; i < s->functions; i++) { /* denormal numbers of y */
            const double size = log2(s->s[i].largest * s->o.tolerance) + s->s[i].exponent + log2(s->start[j]);
            if (size == -HUGE_VAL || size > log2(tiny) + log2(rows) / 2) continue;
            return wisp_ctx_failf(s->ctx, WISP_ERR_NUMERIC,
                                  "chebyshev_apply: function %d times column %d of x is too small for %s: multiply one "
                                  "of them",
                                  i, j, wisp_type_name(s->type));
        }
        s->start[j] = ldexp(s->start[j], -s->exponent[j]);
    }
    return WISP_OK;
}

/* No y is longer than x times the largest |f| on the bounds. */
static wisp_status finish(const expansion *s, int i)
{
    const double rounded = cosh(wisp__rounded_edge(&s->e->bounds, s->A, s->type) * (double)s->s[i].terms);
    /* Between the points |f| may be larger; beyond the bounds it grows fast, by rounding, too. */
    const double most = 2 * fmin(rounded, 2);
    wisp_blk *y = s->sum.z[i];
    wisp_status status;
    WISP_TRY(wisp_norm(y, s->norm));
    for (int j = 0; j < wisp_blk_width(y); j++) {
        const wisp_bounds *b = &s->e->bounds;
        if (!(s->norm[j] <= most * (s->s[i].largest + s->s[i].error) * s->start[j]))
            return wisp_ctx_failf(
                s->ctx, WISP_ERR_BOUNDS,
                "column %d of function %d is longer than it can be: the matrix has eigenvalues beyond "
                "the bounds %.10g to %.10g; take wider opts.bounds%s%s",
                j, i, b->center - b->halfwidth, b->center + b->halfwidth, wisp__or_none(b),
                wisp__or_rounding(s->norm[j] <= 2 * rounded * (s->s[i].largest + s->s[i].error) * s->start[j]));
    }
    WISP_TRY(scale(s, y, 1, s->s[i].exponent));
    WISP_TRY(wisp_norm(y, s->norm));
    for (int j = 0; j < wisp_blk_width(y); j++)
        if (!isfinite(s->norm[j]))
            return wisp_ctx_failf(s->ctx, WISP_ERR_NUMERIC,
                                  "chebyshev_apply: column %d of function %d is too large for %s", j, i,
                                  wisp_type_name(s->type));
out:
    return status;
}

/* A step shows whether the blocks go with A. */
static int64_t vectors_of(int64_t terms, bool given)
{
    const int64_t least = wisp__least_vectors(given) > 2 ? wisp__least_vectors(given) : 2;
    return terms > least ? terms : least;
}

/* All sums are made, and y holds the results: the sequence's vectors count no more. */
static bool is_whole(const expansion *s)
{
    const wisp_expansion *e = s->e;
    return e->sweeps + 1 == vectors_of(e->terms, isnan(e->bounds.failure_probability));
}

/* The state between two calls of wisp_mpk, or behind the last one. */
static wisp_status items(void *arg, wisp_state *state)
{
    expansion *s = arg;
    wisp_expansion *e = s->e;
    const int width = wisp_blk_width(s->x);
    wisp_status status;
    double now = s->before + wisp_now() - s->began;
    WISP_TRY(wisp_state_samef(state, "solver", "chebyshev_apply"));
    WISP_TRY(wisp_state_samef(state, "rows", "%lld", (long long)wisp_map_rows(wisp_mat_map(s->A))));
    WISP_TRY(wisp_state_samef(state, "x", "%d columns, %s", width, wisp_type_name(s->type)));
    WISP_TRY(wisp__same_bounds(state, "opts.bounds", &s->o.bounds));
    WISP_TRY(wisp_state_data(state, "expansion", e, sizeof *e));
    WISP_TRY(wisp_state_data(state, "seconds", &now, sizeof now));
    if (wisp_state_is_kept(state)) {
        s->before = now;
        s->sum.step = e->sweeps;
        s->sum.depth_used = (int)e->depth;
        WISP_TRY(fit_all(s));
        WISP_TRY(wisp__series_agree(s->ctx, s->s, s->functions));
        if (e->sweeps < 0 || e->sweeps >= vectors_of(e->terms, isnan(e->bounds.failure_probability)))
            return wisp_ctx_failf(s->ctx, WISP_ERR_FORMAT, "a state of an expansion that can't be: step %lld",
                                  (long long)e->sweeps);
    }
    WISP_TRY(wisp_state_samef(state, "series", "%d of %lld terms, %016llx", s->functions, (long long)e->terms,
                              (unsigned long long)wisp__series_hash(s->s, s->functions)));
    WISP_TRY(wisp_state_data(state, "norms", s->start, 3 * (size_t)width * sizeof *s->start));
    if (!is_whole(s)) {
        WISP_TRY(wisp_state_block(state, "v", s->sum.v));
        WISP_TRY(wisp_state_block(state, "w", s->sum.w));
    }
    for (int i = 0; i < s->functions; i++) {
        char name[16];
        snprintf(name, sizeof name, "y%d", i);
        WISP_TRY(wisp_state_block(state, name, s->sum.z[i]));
    }
out:
    return status;
}

/* How bounds are come by, for as many steps as there may be. */
static wisp_bounds_opts bounds_opts(const wisp_chebyshev_opts *o, int width)
{
    return wisp__bounds_opts(&o->bounds, 0, (double)(o->jackson ? o->jackson : 1024) * width, 0, width);
}

/* Bounds, series and T_0 x = x; or all that a state has. */
static wisp_status begin(expansion *s)
{
    wisp_status status = WISP_OK;
    const int width = wisp_blk_width(s->x);
    const double before = wisp_now();
    WISP_TRY(check_options(s));
    WISP_TRY(check_blocks(s));
    WISP_TRY(wisp_alloc(s->ctx, &s->s, (size_t)s->functions, sizeof *s->s));
    s->sum.arg = s->s;
    if (!s->o.resume) {
        const wisp_bounds_opts o = bounds_opts(&s->o, width);
        WISP_TRY(wisp__hermitian_bounds(&s->e->bounds, s->A, &o));
        WISP_TRY(wisp__check_scale(s->ctx, s->type, s->e->bounds.halfwidth));
        s->e->bounds_seconds = wisp_now() - before;
        WISP_TRY(fit_all(s));
        WISP_TRY(wisp__series_agree(s->ctx, s->s, s->functions));
    }
    s->began = wisp_now();
    WISP_TRY(prepare(s));
    if (s->o.resume) return items(s, s->o.resume);
    WISP_TRY(wisp_copy(s->sum.v, s->x));
    WISP_TRY(wisp_norm(s->sum.v, s->start));
    WISP_TRY(look_at_x(s));
    WISP_TRY(scale(s, s->sum.v, -1, 0));
    status = wisp__chebyshev_sum_begin(&s->sum);
out:
    return status;
}

/* From the step at hand to the results. */
static wisp_status expand(expansion *s)
{
    wisp_status status = WISP_OK;
    wisp__chebyshev_sum *sum = &s->sum;
    wisp_expansion *e = s->e;
    wisp_cost cost;
    const int width = wisp_blk_width(s->x);
    const double rows = (double)wisp_map_rows(wisp_mat_map(s->A));
    int count;
    WISP_TRY(wisp_spmmv_cost(s->A, s->type, width, WISP_SCALE | WISP_SHIFT | WISP_AXPBY, &cost));
    WISP_TRY(wisp_ctx_sum(s->ctx, &cost.flops, 1));
    sum->terms = vectors_of(e->terms, isnan(e->bounds.failure_probability));
    while (sum->step + 1 < sum->terms) {
        WISP_TRY(wisp_ctx_step(s->ctx, "expansion", (double)sum->step / (double)sum->terms, e->flops));
        if (s->live) WISP_TRY(wisp_state_offer(s->live, s->o.offer, s->o.offer_arg));
        WISP_TRY(wisp__chebyshev_sum_next(sum, &count));
        e->depth = sum->depth_used;
        e->sweeps += count;
        e->flops += count * cost.flops;
        if (s->o.observe && s->o.observe(s->o.observe_arg, sum->step + 1, sum->terms))
            WISP_TRY(wisp_ctx_failf(s->ctx, WISP_ERR_CANCELLED,
                                    "chebyshev_apply: ended by opts.observe after %lld terms",
                                    (long long)sum->step + 1));
    }
    for (int i = 0; i < s->functions; i++) e->flops += 8 * rows * width * (double)s->s[i].terms;
    WISP_TRY(wisp__chebyshev_sum_check(sum, s->start, s->norm));
    for (int i = 0; i < s->functions; i++) WISP_TRY(finish(s, i));
out:
    return status;
}

static wisp_status run(expansion *s)
{
    wisp_status status = WISP_OK;
    if (s->o.offer) WISP_TRY(wisp_state_create(&s->live, s->ctx, items, s));
    if (!is_whole(s)) WISP_TRY(expand(s));
    if (s->live) WISP_TRY(wisp_state_offer_whole(s->live, s->o.offer, s->o.offer_arg));
    status = wisp_ctx_step(s->ctx, "expansion", 1, s->e->flops);
out:
    return status;
}

wisp_status wisp_chebyshev_apply(wisp_expansion *e, wisp_blk *const *y, const wisp_mat *A, const wisp_blk *x,
                                 int functions, const wisp_function *f, const wisp_chebyshev_opts *opts)
{
    wisp_status status;
    wisp_expansion unused;
    WISP_NEED(wisp_blk_ctx(x), A);
    wisp_ctx *ctx = wisp_mat_ctx(A);
    WISP_NEED(ctx, x);
    WISP_NEED(ctx, y);
    WISP_NEED(ctx, f);
    expansion s = {.ctx = ctx,
                   .type = wisp_blk_type(x),
                   .functions = functions,
                   .f = f,
                   .o = opts ? *opts : (wisp_chebyshev_opts){0},
                   .e = e ? e : &unused,
                   .A = A,
                   .x = x};
    *s.e = (wisp_expansion){.depth = 1};
    s.sum = (wisp__chebyshev_sum){.A = A,
                                  .bounds = &s.e->bounds,
                                  .z = y,
                                  .coefficient = coefficient,
                                  .depth = s.o.depth,
                                  .cache_budget = s.o.cache_budget,
                                  .depth_used = 1};
    wisp_ctx_enter(ctx);
    WISP_TRY(begin(&s));
    status = run(&s);
    s.e->seconds = s.before + wisp_now() - s.began;
out:
    wisp_state_free(s.live);
    wisp__chebyshev_sum_close(&s.sum);
    wisp_blk_free(s.sum.v);
    wisp_blk_free(s.sum.w);
    wisp_free(ctx, s.start);
    free_series(&s);
    return wisp_ctx_leave(ctx, status);
}

/* ---- plan -------------------------------------------------------------------------------------- */

wisp_status wisp_chebyshev_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                                int functions, const wisp_function *f, const wisp_chebyshev_opts *opts,
                                const wisp_choice *step)
{
    wisp_status status;
    wisp_expansion e = {0};
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, A);
    WISP_NEED(ctx, f);
    expansion s = {.ctx = ctx,
                   .type = type == WISP_DEFAULT ? A->type : type,
                   .functions = functions,
                   .f = f,
                   .o = opts ? *opts : (wisp_chebyshev_opts){0},
                   .e = &e};
    double about, most, finding = 0, sums = 0, terms = 0, points = 0;
    WISP_TRY(check_options(&s));
    WISP_TRY(wisp__check_bounds(ctx, A, &s.o.bounds));
    const bool given = s.o.bounds.method == WISP_BOUNDS_GIVEN;
    WISP_TRY(wisp_alloc(ctx, &s.s, (size_t)functions, sizeof *s.s));
    if (given) {
        e.bounds = s.o.bounds.given;
        WISP_TRY(fit_all(&s));
    } else {
        const wisp_bounds_opts o = bounds_opts(&s.o, width);
        double unused;
        WISP_TRY(wisp__bounds_bytes(ctx, A, &o, &unused, &finding));
    }
    for (int i = 0; i < functions; i++) {
        const wisp__fit_want want = fit_want(&s, i);
        const double n = (double)(given ? s.s[i].terms : s.o.jackson ? s.o.jackson : s.o.terms);
        sums += n;
        terms = fmax(terms, n);
        points = fmax(points, given ? (double)s.s[i].points : wisp__fit_points(&want, n));
    }
    const wisp__chebyshev_size size = {
        .blocks = 2, .sums = functions, .most_sums = functions, .steps = steps_of(&s), .depth = s.o.depth};
    WISP_TRY(wisp__chebyshev_sum_bytes(ctx, A, s.type, width, &size, &about, &most));
    const double kept = sizeof(wisp_scalar) * sums, fits = wisp__fit_bytes(points) + kept;
    const double extra = 16.0 * width + (double)functions * sizeof(wisp__series);
    const double sweeps = !given && !s.o.jackson ? NAN : (double)vectors_of((int64_t)terms, given) - 1;
    most = fmax(most + kept, fits + finding) + extra; /* products that found bounds leave something */
    *plan = (wisp_plan){.bytes = wisp_whole_number(fmin(about + (isnan(sweeps) ? 0 : kept), most)),
                        .bytes_most = wisp_whole_number(most),
                        .products = sweeps * width,
                        .sweeps = sweeps,
                        .seconds = NAN,
                        .iteration_bytes = NAN,
                        .iteration_seconds = NAN};
    if (step && step->seconds > 0)
        plan->seconds = sweeps * step->seconds + 1e-9 * sums * 2 * (double)A->local_rows * width *
                                                     (double)wisp_type_size(s.type) / step->load_gbs;
out:
    free_series(&s);
    return status;
}
