/* Linear systems by Krylov methods: what goes on around the iterations of a method. "Converged" is said of
   residuals that were computed from x alone; where such a residual shows that the recurrence has left it, the method
   goes on from there (residual replacement: van der Vorst and Ye 2000, SIAM J. Sci. Comput. 22, 835). */
#include "krylov.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------- */

/* Iterations before the host looks: of all ranks together, as they make the same sums; ranks whose devices ask for
   different numbers look at each. */
static wisp_status choose_looks(wisp__krylov *k)
{
    const double each = k->method->hear ? wisp_ctx_look_every(k->ctx) : 1, ranks = wisp_ctx_processes(k->ctx);
    double sum[] = {each, each * each};
    const wisp_status status = ranks > 1 && k->method->hear ? wisp_ctx_sum(k->ctx, sum, 2) : WISP_OK;
    k->look_every = ranks == 1 || ranks * sum[1] == sum[0] * sum[0] ? (int)each : 1;
    return status;
}

/* As wisp/steps.h has them. */
static void lay_out(wisp__krylov *k)
{
    k->dots = WISP_SET_FACTOR;
    k->sets = WISP_SETS + k->look_every;
    if (k->o.precond == WISP_CHEBYSHEV || k->o.precond == WISP_NEUMANN) k->aside = k->sets, k->sets += 4 * k->o.degree;
}

static wisp_status prepare(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const size_t width = (size_t)k->width;
    k->method = wisp__method_of(k->o.method);
    WISP_TRY(choose_looks(k));
    (k->method->lay_out ? k->method->lay_out : lay_out)(k);
    WISP_TRY(wisp_alloc(k->ctx, &k->number, (size_t)k->sets * width, sizeof *k->number));
    WISP_TRY(wisp_slot_create(&k->slot, k->ctx, (int64_t)k->sets * k->width));
    WISP_TRY(wisp_alloc(k->ctx, &k->one, 5 * width, sizeof *k->one));
    k->zero = k->one + width, k->b_factor = k->zero + width;
    k->own = k->b_factor + width, k->other = k->own + width;
    WISP_TRY(wisp_alloc(k->ctx, &k->col, width, sizeof *k->col));
    WISP_TRY(wisp_alloc(k->ctx, &k->list, width, sizeof *k->list));
    for (int j = 0; j < k->width; j++) k->one[j] = wisp__real(1);
    WISP_TRY(wisp__take_block(k, &k->x, wisp__map_of_x(k), false));
    WISP_TRY(wisp__take_block(k, &k->r, wisp__map_of_b(k), false));
    WISP_TRY(wisp__take_block(k, &k->best, wisp__map_of_x(k), false));
    if (k->o.resume) k->o.guess = 0;
    if (k->o.guess) WISP_TRY(wisp_copy(k->x, k->user_x));
    WISP_TRY(wisp__begin_columns(k));
    k->at_zero = !k->o.guess && !k->o.resume;
    k->asked = k->o.method;
    k->asked_variant = k->o.variant;
    k->separate = k->o.variant == WISP_CLASSICAL;
    if (k->o.offer || k->o.resume) WISP_TRY(wisp__find_stamp(k));
    if (k->o.offer) WISP_TRY(wisp_state_create(&k->live, k->ctx, wisp__solve_items, k));
    if (k->o.resume) return wisp__solve_items(k, k->o.resume);
    WISP_TRY(wisp__take_precond(k, (const double[2]){0, 0}));
    wisp__krylov_rows(k);
    WISP_TRY(wisp__make_blocks(k));
out:
    return status;
}

/* ---- the run -------------------------------------------------------------------------------------- */

/* The largest relative residual of all columns. */
static double largest(const wisp__krylov *k)
{
    double most = 0;
    for (int i = 0; i < k->s->columns; i++)
        if (k->s->residuals[i] > most) most = k->s->residuals[i]; /* NaN of those that go on */
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done) most = fmax(most, sqrt(k->col[j].rr / k->col[j].bb));
    return most;
}

static wisp_status record(wisp__krylov *k)
{
    wisp_solution *s = k->s;
    const double now = largest(k);
    if (s->iterations + 1 > k->room) {
        const int64_t room = 2 * k->room + 64;
        double *more = realloc(s->history, (size_t)room * sizeof *more);
        if (!more) {
            s->iterations -= s->iterations > 0;
            return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "solve: no memory for the history of residuals");
        }
        s->history = more;
        k->room = room;
    }
    s->history[s->iterations] = now;
    if (s->iterations == 0) return WISP_OK;
    const double whole = log(s->history[0] / s->wanted), done = log(s->history[0] / now);
    if (whole > 0 && done / whole > k->progress) k->progress = fmin(done / whole, 1);
    if (k->o.observe && k->o.observe(k->o.observe_arg, s->iterations, now))
        return wisp_ctx_failf(k->ctx, WISP_ERR_CANCELLED, "solve: ended by opts.observe after %lld iterations",
                              (long long)s->iterations);
    const wisp_status status = wisp_ctx_step(k->ctx, k->inner ? "proving" : "solving", k->progress, 0);
    k->together = status != WISP_OK;
    return status;
}

/* Queues so many iterations, each with its record, and hears of them. */
static wisp_status iterate(wisp__krylov *k, int iterations)
{
    wisp_status status = WISP_OK;
    k->at_zero = false;
    for (int j = 0; j < k->width; j++) {
        k->col[j].behind |= k->col[j].claimed && wisp__has_ended(k, j);
        k->col[j].waits = false;
    }
    for (k->record = 0; k->record < iterations; k->record++) {
        k->counting = k->counted < wisp__cycle(k->method, &k->o);
        WISP_TRY(k->method->step(k));
        k->counted += k->counting;
        k->counting = false;
    }
    k->record = iterations - 1; /* a step that is done again is the last one */
    if (k->method->hear) WISP_TRY(k->method->hear(k, iterations));
out:
    k->record = -1;
    return status;
}

/* What is said of an iteration, unless it did nothing to any column: then it is none, and *ended. After the last one of
   those that were queued x is what it has come to. */
static wisp_status replay(wisp__krylov *k, int iteration, bool last, bool *ended)
{
    int claimed = 0;
    for (int j = 0; j < k->width; j++) claimed += k->col[j].claimed;
    *ended = !wisp__replay(k, iteration);
    k->s->iterations += !*ended;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (c->rr < 0.1 * c->least) c->least = c->rr, c->least_at = c->iterations;
        if (wisp__going(c) && (c->rr <= c->target || (last && wisp__has_come_far(k, c)))) {
            c->claimed = true;
            c->behind = !last && wisp__has_ended(k, j);
        }
    }
    k->verifies |= wisp__must_verify(k, claimed);
    return *ended ? WISP_OK : record(k);
}

/* Iterations that are queued at once: up to a number that look_every divides, whatever ended those before, so that a
   run in pieces takes the steps of one that was never interrupted. */
static int queued(const wisp__krylov *k)
{
    const int64_t left = k->o.max_iterations - k->s->iterations, n = k->look_every - k->s->iterations % k->look_every;
    return (int)(left < n ? left : n);
}

/* Iterations until residuals are verified. A call that goes on may allow fewer than were made. */
static wisp_status go_on(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    bool last = k->goes_on && k->s->iterations >= k->o.max_iterations;
    k->goes_on = false;
    while (!k->verifies && !last) {
        const int n = queued(k);
        const int64_t before = k->s->iterations;
        bool ended = false;
        WISP_TRY(iterate(k, n));
        for (int i = 0; i < n && !ended; i++) WISP_TRY(replay(k, i, i == n - 1, &ended));
        if (k->live && k->s->iterations > before) WISP_TRY(wisp_state_offer(k->live, k->o.offer, k->o.offer_arg));
        last = k->s->iterations >= k->o.max_iterations;
    }
    /* What is left is to verify x, unless a claim turns out not to hold. */
    if (k->live && (last || wisp__columns_going(k) == 0))
        WISP_TRY(wisp_state_offer_whole(k->live, k->o.offer, k->o.offer_arg));
out:
    return status;
}

static wisp_status run(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp__start_counts(k);
    k->record = -1;
    if (!k->goes_on) {
        WISP_TRY(wisp__verify(k));
        k->s->replacements = 0;
        k->fresh = true;
        WISP_TRY(record(k));
    }
    while (!wisp__all_done(k)) {
        if (!k->goes_on) {
            k->cycle_ends = false;
            WISP_TRY(wisp__take_side(k));
            WISP_TRY(k->fresh ? k->method->start(k) : k->method->resume(k));
            if (k->look_every == 1 && k->method->hear) WISP_TRY(k->method->hear(k, 0));
            k->verifies = wisp__columns_going(k) == 0 || k->cycle_ends;
        }
        WISP_TRY(go_on(k));
        WISP_TRY(wisp__verify(k));
    }
out:
    wisp__take_counts(k);
    return status;
}

/* ---- the end -------------------------------------------------------------------------------------- */

/* After an interruption x is what it was last, or the best one that was verified, by what is known of their residuals:
   one is computed from x only if products can still be computed. Where ranks did not stop together, x may be a step
   further on some than on others; where columns were being taken out, it may be that of others: there it is the
   verified one. */
static void keep_what_is_there(wisp__krylov *k, wisp_status why)
{
    k->apart = !k->together && wisp_ctx_processes(k->ctx) > 1;
    const bool settled = !k->apart && !k->torn && (!k->method->settle || k->method->settle(k) == WISP_OK);
    const bool known = settled && wisp__residual(k) == WISP_OK && wisp__recall(k, true) == WISP_OK;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (c->done) continue;
        const bool better = settled && c->rr < c->best;
        c->given = false;
        if (!known) c->verified = better ? c->rr : INFINITY;
        (void)wisp__end(k, j, known && c->verified <= c->target ? WISP_OK : why);
        if (better && !known) wisp__not_known(k->s, c->of);
    }
}

/* What columns say together. The largest residual is NaN if one is not known. */
static void sum_up(wisp_solution *s)
{
    s->residual = 0;
    s->converged = 1;
    if (s->optimalities) s->optimality = 0;
    for (int i = 0; s->optimalities && i < s->columns; i++)
        if (!(s->residuals[i] <= s->wanted_of[i]) && !(s->optimalities[i] <= s->optimality) && !isnan(s->optimality))
            s->optimality = s->optimalities[i];
    for (int i = 0; i < s->columns; i++) {
        if (!(s->residuals[i] <= s->residual) && !isnan(s->residual)) s->residual = s->residuals[i];
        if (s->status[i] != WISP_OK) s->converged = 0;
    }
}

static wisp_status conclude(wisp__krylov *k)
{
    static const char *const advice[] = {
        [WISP_ERR_ITERATIONS] =
            "allow more (opts.max_iterations), or take a preconditioner (opts.precond) or another opts.method",
        [WISP_ERR_BREAKDOWN] = "take another opts.method or opts.precond",
        [WISP_ERR_SINGULAR] = "within rounding no x has a smaller one",
    };
    wisp_solution *s = k->s;
    wisp_status status = WISP_OK;
    int first = 0;
    for (int i = s->columns - 1; i >= 0; i--)
        if (s->status[i] != WISP_OK) status = s->status[first = i];
    if (status == WISP_OK || status == WISP_ERR_CANCELLED) return status;
    const char *take = status == WISP_ERR_INDEFINITE   ? k->method->instead
                       : status == WISP_ERR_STAGNATION ? k->method->allows
                                                       : advice[status];
    const bool changed = k->asked != k->o.method;
    if (s->optimalities)
        return wisp_ctx_failf(k->ctx, status,
                              "solve: %s%s: residual %.2g, wanted %.2g, or |A^H r| / (|A| |r|), now %.2g, wanted %.2g, "
                              "after %lld iterations of %s",
                              wisp_status_string(status), s->columns > 1 ? " (the first of the columns left)" : "",
                              s->residuals[first], s->wanted_of[first], s->optimalities[first],
                              wisp__optimality_wanted(k), (long long)s->iterations_of[first], k->method->name);
    return wisp_ctx_failf(k->ctx, status, "solve: %s%s: residual %.2g after %lld iterations of %s%s%s, wanted %.2g%s%s",
                          wisp_status_string(status), s->columns > 1 ? " (the first of the columns left)" : "",
                          s->residuals[first], (long long)s->iterations_of[first], wisp__method_of(k->asked)->name,
                          changed ? ", which went on as " : "", changed ? k->method->name : "", s->wanted_of[first],
                          take ? "; " : "", take ? take : "");
}

static wisp_status make_solution(wisp__krylov *k)
{
    wisp_solution *s = k->s;
    const size_t n = (size_t)k->width;
    s->residual = NAN;
    s->residuals = calloc(n, sizeof *s->residuals);
    s->iterations_of = calloc(n, sizeof *s->iterations_of);
    s->wanted_of = calloc(n, sizeof *s->wanted_of);
    s->status = calloc(n, sizeof *s->status);
    for (int j = 0; s->residuals && j < k->width; j++) s->residuals[j] = NAN;
    if (s->residuals && s->iterations_of && s->wanted_of && s->status) {
        s->columns = k->width;
        return WISP_OK;
    }
    return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "solve: no memory for the result");
}

/* Of a method that tells of them. */
static wisp_status make_optimalities(wisp__krylov *k)
{
    wisp_solution *s = k->s;
    if (!wisp__method_of(k->o.method)->any_shape) return WISP_OK;
    s->optimality = NAN;
    s->optimalities = calloc((size_t)k->width, sizeof *s->optimalities);
    if (!s->optimalities) return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "solve: no memory for the result");
    for (int j = 0; j < k->width; j++) s->optimalities[j] = NAN;
    return WISP_OK;
}

static void release(wisp__krylov *k)
{
    wisp__free_blocks(k);
    wisp__give_block(k, &k->x);
    wisp__give_block(k, &k->r);
    wisp__give_block(k, &k->best);
    wisp_blk_free(k->own_b);
    wisp_blk_free(k->null_b);
    wisp_free(k->ctx, k->number);
    wisp_slot_free(k->slot);
    wisp_free(k->ctx, k->one);
    wisp_free(k->ctx, k->col);
    wisp_free(k->ctx, k->list);
    wisp_free(k->ctx, k->stamp);
    wisp_state_free(k->live);
}

static void describe(const wisp__krylov *k)
{
    wisp_solution *s = k->s;
    s->method = k->o.method;
    s->variant = k->o.variant;
    s->precond = k->begun && !wisp__precond_of(k) ? WISP_PRECOND_NONE : k->o.precond; /* it may have been dropped */
    s->side = s->precond ? k->o.side : WISP_SIDE_DEFAULT;
    s->restart = k->o.restart;
    s->shadow = k->method && k->method->shadows ? k->o.shadow : 0;
    s->shift = wisp__precond_shift(wisp__precond_of(k));
    s->bytes = k->counted > 0 ? k->bytes / (double)k->counted : 0;
    if (s->bytes > 0 && s->precond && !k->rows) {
        wisp_mat_info A;
        wisp_mat_get_info(k->A, &A);
        s->bytes += k->method->products * wisp__precond_bytes(&A, k->type, s->columns, &k->o);
    }
}

static wisp_status solve_inner(wisp_blk *x, const wisp_mat *A, const wisp_blk *b, const wisp_solve_opts *opts,
                               int64_t *iterations);

wisp_status wisp__solve_once(wisp_solver *S, wisp_solution *s, wisp_blk *x, const wisp_blk *b, int guess)
{
    wisp_status status = WISP_OK;
    wisp_solution unused = {0};
    wisp_ctx *ctx = S->ctx;
    const double begin = wisp_now();
    wisp__krylov k = {.ctx = ctx, .A = S->A, .of = S, .o = S->o, .s = s ? s : &unused, .b = b, .user_x = x};
    *k.s = (wisp_solution){.residual = NAN};
    k.o.guess = guess;
    k.inner = S->inner;
    k.prove = solve_inner;
    k.type = wisp_blk_type(b);
    k.width = wisp_blk_width(b);
    k.eps = wisp__is_single(k.type) ? FLT_EPSILON : DBL_EPSILON;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__solve_check(&k, x));
    WISP_TRY(make_solution(&k));
    WISP_TRY(wisp__choose_method(&k));
    WISP_TRY(make_optimalities(&k));
    wisp__solve_defaults(&k.o, k.type, wisp_map_rows(wisp_mat_map(S->A)));
    WISP_TRY(wisp__null_begin(&k));
    WISP_TRY(prepare(&k));
    k.s->setup_seconds += wisp_now() - begin;
    WISP_TRY(wisp_ctx_sum(ctx, &(double){0}, 1)); /* no rank goes on alone */
    k.begun = true;
    wisp_ctx_hold(ctx, 1);
    WISP_TRY(run(&k));
out:
    if (status != WISP_OK && k.begun) keep_what_is_there(&k, status);
    if (k.begun) {
        /* what is queued belongs to what is held */
        const wisp_status done = status != WISP_OK || k.unfinished ? wisp_ctx_finish(ctx) : WISP_OK;
        if (status == WISP_OK) status = done;
        wisp_ctx_hold(ctx, 0);
    }
    if (k.begun) sum_up(k.s);
    for (int i = 0; i < k.s->columns && k.s->status && !k.begun; i++) k.s->status[i] = status;
    describe(&k);
    release(&k);
    if (status == WISP_OK) status = conclude(&k);
    S->o.resume = NULL;
    if (k.o.resume) wisp__solver_forget(S); /* its spectrum was another run's */
    if (k.s == &unused) wisp_solution_free(&unused);
    return wisp_ctx_leave(ctx, status);
}

static wisp_status solve(wisp_solution *s, wisp_blk *x, const wisp_mat *A, const wisp_blk *b,
                         const wisp_solve_opts *opts, bool inner)
{
    wisp_solver S = {
        .ctx = wisp_mat_ctx(A), .A = A, .type = wisp_blk_type(b), .width = wisp_blk_width(b), .inner = inner};
    if (opts) S.o = *opts;
    const wisp_status status = wisp__solve_once(&S, s, x, b, S.o.guess);
    wisp__solver_empty(&S);
    return status;
}

wisp_status wisp_solve(wisp_solution *s, wisp_blk *x, const wisp_mat *A, const wisp_blk *b, const wisp_solve_opts *opts)
{
    WISP_NEED(wisp_blk_ctx(x), A);
    WISP_NEED(wisp_mat_ctx(A), x);
    WISP_NEED(wisp_mat_ctx(A), b);
    return solve(s, x, A, b, opts, false);
}

static wisp_status solve_inner(wisp_blk *x, const wisp_mat *A, const wisp_blk *b, const wisp_solve_opts *opts,
                               int64_t *iterations)
{
    wisp_solution s;
    const wisp_status status = solve(&s, x, A, b, opts, true);
    *iterations = s.iterations;
    wisp_solution_free(&s);
    return status;
}

void wisp_solution_free(wisp_solution *s)
{
    if (!s) return;
    free(s->residuals);
    free(s->iterations_of);
    free(s->optimalities);
    free(s->wanted_of);
    free(s->status);
    free(s->history);
    *s = (wisp_solution){0};
}
