/* The state of wisp_solve between two iterations: what the methods need to go on, bit by bit. */
#include "krylov.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is given back first, and says how much of the rest there is. */
typedef struct {
    int64_t width, ended; /* columns that are in the blocks; that have ended */
    int64_t method, variant, careful, preconditioned, verifies, cycle_ends, step_of_cycle;
    int64_t iterations, replacements, passes, products, reductions, counted;
    double seconds, setup_seconds, progress;
    double spectrum[2], layout[2];
} position;

/* ---- counts ---------------------------------------------------------------------------------------- */

void wisp__start_counts(wisp__krylov *k)
{
    wisp_ctx_counts(k->ctx, &k->before);
    k->before.passes -= k->s->passes;
    k->before.products -= k->s->products;
    k->before.reductions -= k->s->reductions;
    k->began = wisp_now() - k->s->seconds;
}

void wisp__take_counts(wisp__krylov *k)
{
    wisp_counts now;
    wisp_ctx_counts(k->ctx, &now);
    k->s->passes = now.passes - k->before.passes;
    k->s->products = now.products - k->before.products;
    k->s->reductions = now.reductions - k->before.reductions;
    k->s->seconds = wisp_now() - k->began;
}

/* ---- what has to be the same ------------------------------------------------------------------------ */

enum { STAMP = 4 }; /* |b|^2, and the dot with a vector of random numbers; the units of these */

wisp_status wisp__find_stamp(wisp__krylov *k)
{
    wisp_status status;
    int64_t first;
    const int64_t rows = wisp_map_local(wisp_mat_map(k->A), &first);
    const int processes = wisp_ctx_processes(k->ctx);
    WISP_TRY(wisp_alloc(k->ctx, &k->stamp, STAMP * (size_t)k->width, sizeof *k->stamp));
    WISP_TRY(wisp_blk_fill_random(k->r, WISP_RANDOM_TRACE, 0, WISP__STREAM_SOLVE, 0));
    WISP_TRY(wisp__scale_b(k, k->best));
    WISP_TRY(wisp_dot(k->r, k->best, k->own));
    WISP_TRY(wisp_blk_fill(k->best, wisp__real(0)));
    for (int j = 0; j < k->width; j++) {
        k->stamp[STAMP * j] = k->col[j].bb;
        k->stamp[STAMP * j + 1] = k->own[j].re;
        k->stamp[STAMP * j + 2] = k->own[j].im;
        k->stamp[STAMP * j + 3] = k->col[j].b_exponent + 0x1p+14 * k->a_exponent;
    }
    k->layout[0] = 1; /* with the next one: a number for the shares of rows that the ranks have */
    k->layout[1] = (double)(wisp_ctx_rank(k->ctx) + 1) * (double)(first + 3 * rows);
    if (processes > 1) WISP_TRY(wisp_ctx_sum(k->ctx, k->layout, 2));
out:
    return status;
}

/* Up to the rounding of its sums, which other ranks may make in another order. */
static wisp_status same_right_sides(const wisp__krylov *k, wisp_state *state)
{
    wisp_status status = WISP_OK;
    double *stamp = NULL;
    const size_t n = STAMP * (size_t)k->s->columns;
    if (!wisp_state_is_kept(state)) return wisp_state_data(state, "b", k->stamp, n * sizeof *stamp);
    const double most = 64 * k->eps * sqrt((double)wisp_map_rows(wisp_mat_map(k->A)) + 1);
    WISP_TRY(wisp_alloc(k->ctx, &stamp, n, sizeof *stamp));
    WISP_TRY(wisp_state_data(state, "b", stamp, n * sizeof *stamp));
    for (int j = 0; j < k->s->columns && status == WISP_OK; j++) {
        const double *own = k->stamp + STAMP * j, *other = stamp + STAMP * j, bb = own[0];
        if (!(fabs(own[0] - other[0]) <= most * bb) || !(fabs(own[1] - other[1]) <= most * sqrt(bb)) ||
            !(fabs(own[2] - other[2]) <= most * sqrt(bb)) || own[3] != other[3])
            status = wisp_ctx_failf(k->ctx, WISP_ERR_MISMATCH,
                                    "the state is of a run with another right-hand side: column %d differs", j);
    }
out:
    wisp_free(k->ctx, stamp);
    return status;
}

static wisp_status same_preconditioner(const wisp_solve_opts *o, wisp_state *state)
{
    static const char *const name[] = {"none",       "jacobi", "block-jacobi", "chebyshev", "neumann",
                                       "a function", "amg",    "ilu",          "ic"};
    const char *what = name[o->precond], *label = "opts.precond";
    if (o->precond == WISP_BLOCK_JACOBI)
        return wisp_state_samef(state, label, "%s with blocks of %d rows", what, o->block_rows);
    if (o->precond != WISP_CHEBYSHEV && o->precond != WISP_NEUMANN) return wisp_state_samef(state, label, "%s", what);
    const wisp_status status = wisp_state_samef(state, label, "%s of degree %d", what, o->degree);
    return status == WISP_OK ? wisp__same_bounds(state, "opts.bounds", &o->bounds) : status;
}

/* More iterations may be allowed, or fewer. */
static wisp_status same_call(const wisp__krylov *k, wisp_state *state)
{
    const wisp_solve_opts *o = &k->o;
    wisp_status status;
    WISP_TRY(wisp_state_samef(state, "solver", "solve"));
    WISP_TRY(wisp_state_samef(state, "bytes of a column", "%zu", sizeof *k->col));
    WISP_TRY(wisp_state_samef(state, "rows", "%lld", (long long)wisp_map_rows(wisp_mat_map(k->A))));
    WISP_TRY(wisp_state_samef(state, "type of b", "%s", wisp_type_name(k->type)));
    WISP_TRY(wisp_state_samef(state, "width of b", "%d", k->s->columns));
    WISP_TRY(
        wisp_state_samef(state, "opts.method", "%s%s", wisp__method_of(k->asked)->name, k->chosen ? ", chosen" : ""));
    WISP_TRY(wisp_state_samef(state, "opts.variant", "%s", wisp__variant_name(k->asked_variant)));
    WISP_TRY(same_preconditioner(o, state));
    if (o->side) WISP_TRY(wisp_state_samef(state, "opts.side", "%s", wisp__side_name(o->side)));
    const wisp__method *asked = wisp__method_of(k->asked);
    if (asked->restarts) WISP_TRY(wisp_state_samef(state, "opts.restart", "%d", o->restart));
    if (asked->restarts) WISP_TRY(wisp_state_samef(state, "bytes of a basis", "%zu", asked->own(o)));
    if (wisp__method_of(k->asked)->shadows) WISP_TRY(wisp_state_samef(state, "opts.shadow", "%d", o->shadow));
    WISP_TRY(wisp_state_samef(state, "opts.tolerance", "%.17g", o->tolerance));
    WISP_TRY(wisp_state_samef(state, "opts.tolerance_abs", "%.17g", o->tolerance_abs));
    if (k->method->any_shape) WISP_TRY(wisp_state_samef(state, "opts.damp", "%.17g", o->damp));
    WISP_TRY(wisp_state_samef(state, "width of opts.null", "%d", o->null ? wisp_blk_width(o->null) : 0));
    status = same_right_sides(k, state);
out:
    return status;
}

/* ---- the state -------------------------------------------------------------------------------------- */

static position where(wisp__krylov *k)
{
    wisp_solution *s = k->s;
    wisp__take_counts(k);
    position at = {.width = k->width,
                   .ended = s->columns,
                   .method = k->o.method,
                   .variant = k->o.variant,
                   .careful = k->careful,
                   .preconditioned = wisp__precond_of(k) != NULL,
                   .verifies = k->verifies,
                   .cycle_ends = k->cycle_ends,
                   .step_of_cycle = k->step_of_cycle,
                   .iterations = s->iterations,
                   .replacements = s->replacements,
                   .passes = s->passes,
                   .products = s->products,
                   .reductions = s->reductions,
                   .counted = k->counted,
                   .seconds = s->seconds,
                   .setup_seconds = s->setup_seconds,
                   .progress = k->progress,
                   .layout = {k->layout[0], k->layout[1]}};
    for (int j = 0; j < k->width; j++) at.ended -= !k->col[j].done;
    wisp__precond_spectrum(wisp__precond_of(k), at.spectrum);
    return at;
}

static wisp_status check(const wisp__krylov *k, const position *at)
{
    const wisp__method *asked = wisp__method_of(k->asked);
    if (at->width >= 1 && at->width <= k->s->columns && at->ended >= 0 && at->ended <= k->s->columns &&
        (at->method == k->asked || (asked->next && at->method == asked->next)) && at->variant > 0 &&
        at->variant <= WISP_HIDDEN && at->iterations >= 1 && at->step_of_cycle >= 0 &&
        at->step_of_cycle <= wisp__cycle(asked, &k->o))
        return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_FORMAT,
                          "a state of a linear system that can't be: width %lld, iteration %lld", (long long)at->width,
                          (long long)at->iterations);
}

static wisp_status make_history(wisp__krylov *k, int64_t iterations)
{
    k->s->history = calloc((size_t)iterations + 1, sizeof *k->s->history);
    if (!k->s->history) return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "solve: no memory for the history of residuals");
    k->room = iterations + 1;
    return WISP_OK;
}

/* The numbers that are given back, the preconditioner, and the method that is in force. */
static wisp_status go_to(wisp__krylov *k, const position *at)
{
    wisp_solution *s = k->s;
    wisp_status status = check(k, at);
    if (status != WISP_OK) return status;
    WISP_TRY(make_history(k, at->iterations));
    if (at->preconditioned) WISP_TRY(wisp__take_precond(k, at->spectrum));
    k->o.method = (wisp_method)at->method, k->method = wisp__method_of(k->o.method);
    k->o.variant = (wisp_variant)at->variant;
    k->careful = at->careful;
    wisp__krylov_rows(k);
    k->width = (int)at->width;
    k->verifies = at->verifies, k->cycle_ends = at->cycle_ends, k->step_of_cycle = (int)at->step_of_cycle;
    k->counted = at->counted, k->progress = at->progress;
    s->iterations = at->iterations, s->replacements = at->replacements;
    s->passes = at->passes, s->products = at->products, s->reductions = at->reductions;
    s->seconds = at->seconds, s->setup_seconds = at->setup_seconds;
    k->goes_on = true;
    /* Blocks of rows and factors end where a rank's share does, and AMG coarsens by shares: with other ranks M is
       another one, and the method starts anew. */
    const bool by_shares = k->o.precond == WISP_BLOCK_JACOBI || k->o.precond >= WISP_AMG;
    if (by_shares && memcmp(at->layout, k->layout, sizeof k->layout))
        k->verifies = k->cycle_ends = true, k->step_of_cycle = 0;
out:
    return status;
}

static wisp_status take_columns(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        if (c->of < (j > 0 ? c[-1].of + 1 : 0) || c->of >= k->s->columns)
            return wisp_ctx_failf(k->ctx, WISP_ERR_FORMAT, "a state of a linear system that can't be: column %d",
                                  c->of);
    }
    return wisp__remake_blocks(k);
}

/* Where a method has <r, M^-1 r> between two steps, it is in the set of all dots in a state, whatever the
   preconditioner: that of a polynomial is elsewhere. */
static void move_rz(wisp__krylov *k, bool kept)
{
    const int set = k->method->rz, rz = wisp__rz_set(k, set);
    wisp_scalar *a = wisp__set(k, set), *b = wisp__set(k, rz);
    if (set && k->aside && rz != set) memcpy(kept ? b : a, kept ? a : b, (size_t)k->width * sizeof *a);
}

static wisp_status columns(wisp__krylov *k, wisp_state *state)
{
    wisp_status status;
    wisp_solution *s = k->s;
    const size_t n = (size_t)s->columns;
    /* records are those of an iteration that is over */
    const size_t numbers = (size_t)(((k->method->hear ? WISP_SETS : k->sets) - k->dots) * k->width);
    WISP_TRY(wisp_state_data(state, "columns", k->col, (size_t)k->width * sizeof *k->col));
    if (wisp_state_is_kept(state)) WISP_TRY(take_columns(k));
    if (k->own_of) WISP_TRY(wisp_state_data(state, "own", k->own_of, (size_t)k->width * k->own_bytes));
    if (!wisp_state_is_kept(state)) move_rz(k, false);
    const size_t dots = 2 * (size_t)k->dots * (size_t)k->width; /* of the next reduction, some may be there */
    if (k->separate)
        WISP_TRY(wisp_state_data(state, "dots", k->number, dots * sizeof(double)));
    else
        WISP_TRY(wisp_state_sums(state, "dots", &k->number->re, dots));
    WISP_TRY(wisp_state_data(state, "numbers", wisp__set(k, k->dots), numbers * sizeof *k->number));
    if (wisp_state_is_kept(state)) {
        move_rz(k, true);
        WISP_TRY(wisp__send(k, 0, k->sets));
    }
    WISP_TRY(wisp_state_sums(state, "bytes", &k->bytes, 1));
    WISP_TRY(wisp_state_data(state, "history", s->history, (size_t)(s->iterations + 1) * sizeof *s->history));
    WISP_TRY(wisp_state_data(state, "residuals", s->residuals, n * sizeof *s->residuals));
    if (s->optimalities) WISP_TRY(wisp_state_data(state, "optimalities", s->optimalities, n * sizeof *s->optimalities));
    WISP_TRY(wisp_state_data(state, "iterations", s->iterations_of, n * sizeof *s->iterations_of));
    WISP_TRY(wisp_state_data(state, "status", s->status, n * sizeof *s->status));
out:
    return status;
}

/* A call that can't go on has nothing of the state. */
static void forget(wisp__krylov *k)
{
    wisp_solution *s = k->s;
    s->iterations = s->replacements = s->passes = s->products = s->reductions = 0;
    s->seconds = s->setup_seconds = 0;
    for (int i = 0; i < s->columns; i++) s->residuals[i] = NAN, s->iterations_of[i] = 0;
    for (int i = 0; i < s->columns && s->optimalities; i++) s->optimalities[i] = NAN;
    k->counted = 0;
}

wisp_status wisp__solve_items(void *krylov, wisp_state *state)
{
    wisp__krylov *k = krylov;
    wisp_status status;
    position at = {0};
    if (!wisp_state_is_kept(state)) at = where(k);
    WISP_TRY(same_call(k, state));
    WISP_TRY(wisp_state_data(state, "at", &at, sizeof at));
    if (wisp_state_is_kept(state)) WISP_TRY(go_to(k, &at));
    WISP_TRY(columns(k, state));
    WISP_TRY(wisp_state_block(state, "x", k->x));
    WISP_TRY(wisp_state_block(state, "r", k->r));
    WISP_TRY(wisp_state_block(state, "best", k->best));
    const int blocks = k->method->blocks(k); /* it may have had more for a variant or preconditioner that is given up */
    for (int i = 0; i < blocks; i++) {
        char name[16];
        if (!k->method->keeps(k, i)) continue;
        snprintf(name, sizeof name, "v%d", i);
        WISP_TRY(wisp_state_block(state, name, k->v[i]));
    }
    if (at.ended > 0)
        WISP_TRY(wisp_state_block(
            state, "ended",
            k->user_x)); /* last, for it is the caller's: if something before it fails, x stays as it was */
out:
    if (status != WISP_OK && wisp_state_is_kept(state)) forget(k);
    return status;
}
