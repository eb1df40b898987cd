/* Linear systems by Krylov methods: what goes on around the iterations of a method. "Converged" is said of
   residuals that were computed from x alone; where such a residual shows that the recurrence has left it, the method
   goes on from there (residual replacement: van der Vorst and Ye 2000, SIAM J. Sci. Comput. 22, 835). */
#include "krylov.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 50 };

/* ---- memory ------------------------------------------------------------------------------------- */

static wisp_status prepare(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_map *map = wisp_mat_map(k->A);
    const size_t width = (size_t)k->width, m = (size_t)k->o.restart;
    k->sets = WISP__FREE + 4;
    k->factors = 8;
    if (k->o.method == WISP_GMRES) k->sets = WISP__FREE + (int)m + 2, k->factors = (int)m + 8;
    WISP_TRY(wisp_alloc(k->ctx, &k->dot, (size_t)k->sets * width, sizeof *k->dot));
    WISP_TRY(wisp_alloc(k->ctx, &k->factor, (size_t)k->factors * width, sizeof *k->factor));
    WISP_TRY(wisp_alloc(k->ctx, &k->one, 3 * width, sizeof *k->one));
    k->zero = k->one + width, k->b_factor = k->zero + width;
    WISP_TRY(wisp_alloc(k->ctx, &k->col, width, sizeof *k->col));
    WISP_TRY(wisp_alloc(k->ctx, &k->list, width, sizeof *k->list));
    for (int j = 0; j < k->width; j++) k->one[j] = wisp__real(1);
    if (k->o.method == WISP_GMRES) {
        const size_t each = (m + 4) * (m + 1);
        WISP_TRY(wisp_alloc(k->ctx, &k->h, width * each, sizeof *k->h));
        for (size_t j = 0; j < width; j++) k->col[j].h = k->h + j * each;
    }
    WISP_TRY(wisp_blk_create(&k->x, k->ctx, map, k->type, k->width));
    WISP_TRY(wisp_blk_create(&k->r, k->ctx, map, k->type, k->width));
    WISP_TRY(wisp_blk_create(&k->best, k->ctx, map, k->type, k->width));
    if (k->o.resume) k->o.guess = 0;
    if (k->o.guess) WISP_TRY(wisp_copy(k->x, k->user_x));
    WISP_TRY(wisp__begin_columns(k));
    k->asked = k->o.method;
    k->asked_variant = k->o.variant;
    k->separate = k->o.variant == WISP_CLASSICAL;
    k->method = wisp__method_of(k->o.method);
    if (k->o.offer || k->o.resume) WISP_TRY(wisp__find_stamp(k));
    if (k->o.offer) WISP_TRY(wisp_state_create(&k->live, k->ctx, wisp__solve_items, k));
    if (k->o.resume) return wisp__solve_items(k, k->o.resume);
    const double unknown[2] = {0, 0};
    WISP_TRY(wisp__precond_make_for(&k->P, k->A, wisp__a_factor(k), &k->o, k->type, k->width, unknown));
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
            return wisp_ctx_fail(k->ctx, WISP_ERR_NOMEM, "solve: no memory for the history of residuals");
        }
        s->history = more;
        k->room = room;
    }
    s->history[s->iterations] = now;
    if (s->iterations == 0) return WISP_OK;
    const double whole = log(s->history[0] / k->o.tolerance), done = log(s->history[0] / now);
    if (whole > 0 && done / whole > k->progress) k->progress = fmin(done / whole, 1);
    if (k->o.observe && k->o.observe(k->o.observe_arg, s->iterations, now))
        return wisp_ctx_fail(k->ctx, WISP_ERR_CANCELLED, "solve: stopped after %lld iterations",
                             (long long)s->iterations);
    const wisp_status status = wisp_ctx_step(k->ctx, k->inner ? "proving" : "solving", k->progress, 0);
    k->together = status != WISP_OK;
    return status;
}

static int going(const wisp__krylov *k)
{
    int n = 0;
    for (int j = 0; j < k->width; j++) n += wisp__going(&k->col[j]);
    return n;
}

static bool all_done(const wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done) return false;
    return true;
}

/* By its recurrence, which may be a claim of what rounding does not allow. GMRES, whose basis is orthogonal, can be
   believed for longer; and it loses that basis where it is looked at. */
static bool has_come_far(const wisp__krylov *k, const wisp__krylov_column *c)
{
    const double far = k->method == &wisp__gmres ? 100 * k->eps * k->eps : wisp__far(k);
    return c->rr < far * c->verified;
}

/* CG whose scalars or vectors come from recurrences that the classical one does not have. */
static bool can_be_careful(const wisp__krylov *k)
{
    return k->method == &wisp__cg && !k->careful && !k->separate && (!k->P || k->o.variant == WISP_HIDDEN);
}

/* One that these keep on a level, for longer than those before all together. */
static bool is_level(const wisp__krylov *k, const wisp__krylov_column *c)
{
    enum { LEVEL = 1000 };
    const int64_t since = c->iterations - c->least_at;
    return can_be_careful(k) && since > LEVEL && since > c->iterations / 2;
}

/* BiCGStab with a Hermitian matrix: without rounding it ends after as many iterations as there are rows. Where twice as
   many have gained nothing, MINRES is to go on. */
static bool is_stuck(const wisp__krylov *k, const wisp__krylov_column *c)
{
    const int64_t since = c->iterations - c->least_at, rows = wisp_map_rows(wisp_mat_map(k->A));
    return k->method == &wisp__bicgstab && k->hermitian && since > 2 * rows + 100 && since > c->iterations / 2;
}

/* Whether it is time to look at the residuals themselves, before the last iteration: columns claim to be through (all
   of them, or so many that blocks can be narrower), can't go on, or have come far; or the recurrence's norm is not that
   of r. */
static bool must_look(wisp__krylov *k, int claimed_before)
{
    int claimed = 0;
    bool look = k->cycle_ends || 2 * going(k) <= k->width;
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        claimed += c->claimed;
        look |= !c->done &&
                (c->broken != WISP_OK || has_come_far(k, c) || is_level(k, c) || is_stuck(k, c) || !isfinite(c->rr));
    }
    if (k->method == &wisp__minres) look |= k->P ? claimed > claimed_before : k->s->iterations % LOOK_EVERY == 0;
    return look;
}

/* Steps until the next look. A call that goes on may allow fewer than were taken. */
static wisp_status iterate(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    bool last = k->goes_on && k->s->iterations >= k->o.max_iterations;
    k->goes_on = false;
    while (!k->looks && !last) {
        int claimed = 0;
        for (int j = 0; j < k->width; j++) claimed += k->col[j].claimed;
        k->counting = k->counted < k->o.restart;
        WISP_TRY(k->method->step(k));
        k->counted += k->counting;
        k->counting = false;
        k->s->iterations++;
        for (int j = 0; j < k->width; j++) {
            wisp__krylov_column *c = &k->col[j];
            c->iterations += !c->done && !c->claimed;
            if (c->rr < 0.1 * c->least) c->least = c->rr, c->least_at = c->iterations;
            if (wisp__going(c) && (c->rr <= c->target || has_come_far(k, c))) {
                c->claimed = true;
                c->claimed_at = k->s->iterations;
            }
        }
        k->looks = must_look(k, claimed);
        WISP_TRY(record(k));
        if (k->live) WISP_TRY(k->o.offer(k->o.offer_arg, k->live));
        last = k->s->iterations >= k->o.max_iterations;
    }
out:
    return status;
}

static void drop_preconditioner(wisp__krylov *k)
{
    wisp_ctx_log(k->ctx, WISP_LOG_INFO, "solve: minres goes on without the preconditioner");
    wisp__precond_free(k->P);
    k->P = NULL;
    k->fresh = true;
    for (int j = 0; j < k->width; j++) k->col[j].stalls = 0;
}

/* Goes on by MINRES where CG has met more than it can do, or BiCGStab with a Hermitian matrix. Its preconditioner need
   not be definite. */
static wisp_status change_method(wisp__krylov *k, wisp_status why)
{
    wisp_ctx_log(k->ctx, WISP_LOG_INFO, "solve: %s after %lld iterations of %s; minres goes on",
                 wisp_status_string(why), (long long)k->s->iterations, k->method->name);
    const bool bicgstab = k->method == &wisp__bicgstab;
    wisp__free_blocks(k);
    k->o.method = WISP_MINRES;
    k->method = &wisp__minres;
    if (wisp__is_of_cg(k->o.variant)) k->o.variant = WISP_PIPELINED;
    k->rows = NULL;
    k->fresh = true;
    for (int j = 0; j < k->width; j++) {
        k->col[j].broken = WISP_OK;
        k->col[j].stalls = 0;
        k->col[j].low = INFINITY;
        k->col[j].moved = false;
    }
    if (bicgstab && k->P) drop_preconditioner(k);
    return wisp__make_blocks(k);
}

/* With a preconditioner MINRES makes another norm of r least than |r|. Where that gains no more, it goes on without. */
static bool drops_preconditioner(const wisp__krylov *k, const wisp__krylov_column *c, wisp_status why)
{
    if (k->method != &wisp__minres || !k->P || why == WISP_ERR_ITERATIONS) return false;
    return c->broken == WISP_ERR_BREAKDOWN || why == WISP_ERR_STAGNATION;
}

/* What becomes of a column that has not converged: WISP_OK, it goes on. */
static wisp_status verdict(wisp__krylov *k, wisp__krylov_column *c)
{
    const double enough = c->claimed ? 0.25 : c->broken != WISP_OK ? 0.99 : 1 - 1e-6;
    const bool stalls = !(c->verified < enough * c->best);
    if (!isfinite(c->verified)) return WISP_ERR_BREAKDOWN;
    if (c->broken == WISP_ERR_INDEFINITE || (c->broken != WISP_OK && k->method == &wisp__cg)) return c->broken;
    /* The residuals of MINRES only fall: those that looks in turn find. Large ones may be the least (look_for_proof).
     */
    const bool in_turn =
        k->method == &wisp__minres && k->s->iterations % LOOK_EVERY == 0 && c->verified < sqrt(k->eps) * c->bb;
    if (c->claimed || c->broken != WISP_OK || k->cycle_ends || in_turn) c->stalls = stalls ? c->stalls + 1 : 0;
    if (is_stuck(k, c)) return WISP_ERR_STAGNATION;
    if (c->stalls >= WISP__MOST_STALLS) return c->broken != WISP_OK ? c->broken : WISP_ERR_STAGNATION;
    return k->s->iterations >= k->o.max_iterations ? WISP_ERR_ITERATIONS : WISP_OK;
}

/* Whether iterations have run out of a method that gained nothing during half of them, or whose recurrence promised
   what no x kept. (With a Hermitian matrix is_stuck and MINRES have looked at it before.) */
static bool ends_level(const wisp__krylov *k, const wisp__krylov_column *c, wisp_status why)
{
    const bool level = c->iterations - c->least_at > c->iterations / 2, promised = c->least < 0.01 * c->best;
    return why == WISP_ERR_ITERATIONS && !k->hermitian && (level || promised);
}

/* Whether the system has no solution, and the best x makes |r| least: that is looked at where a method gains nothing
   any more, or where MINRES can't go on, which may be for that reason. */
static wisp_status look_for_proof(wisp__krylov *k, wisp__krylov_column *c, int j, wisp_status *why)
{
    const bool minres = k->method == &wisp__minres, ends = minres && c->broken == WISP_ERR_BREAKDOWN;
    wisp_status status = WISP_OK;
    bool least;
    if (k->inner) goto out;
    if (!ends && *why != WISP_ERR_BREAKDOWN && *why != WISP_ERR_STAGNATION && !(minres && c->iterations == 0) &&
        !ends_level(k, c, *why))
        goto out;
    if (!(c->verified <= c->best)) WISP_TRY(wisp__return_to_best(k, j));
    WISP_TRY(wisp__prove_least(k, j, &least));
    if (least) *why = WISP_ERR_SINGULAR;
    k->fresh |= !minres; /* x may be an earlier one; that of MINRES is its best */
out:
    return status;
}

/* They may be what keeps it from the accuracy that it has without. */
static void be_careful(wisp__krylov *k)
{
    if (!can_be_careful(k)) return;
    k->careful = k->fresh = true;
    for (int j = 0; j < k->width; j++) k->col[j].stalls = 0;
}

/* Whether another method is left where this one can't go on. */
static bool can_change(const wisp__krylov *k, wisp_status why)
{
    if (!k->hermitian || (k->method != &wisp__cg && k->method != &wisp__bicgstab)) return false;
    return why == WISP_ERR_BREAKDOWN || why == WISP_ERR_STAGNATION || (why == WISP_ERR_INDEFINITE && k->chosen);
}

/* Computes residuals from x, and ends columns by them. */
static wisp_status look(wisp__krylov *k)
{
    wisp_status status = WISP_OK, change = WISP_OK;
    bool drop = false;
    if (k->method->settle) WISP_TRY(k->method->settle(k));
    WISP_TRY(wisp__residual(k));
    WISP_TRY(wisp__return_to_low(k, k->s->iterations >= k->o.max_iterations));
    k->fresh = !k->method->resume || k->cycle_ends;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (c->done) continue;
        if (c->verified <= c->target) {
            WISP_TRY(wisp__end(k, j, WISP_OK));
            continue;
        }
        wisp_status why = verdict(k, c);
        if (drops_preconditioner(k, c, why)) {
            drop = true;
            why = WISP_OK;
        } else
            WISP_TRY(look_for_proof(k, c, j, &why));
        const bool minres_may_do = can_change(k, why);
        if (minres_may_do && k->s->iterations >= k->o.max_iterations) why = WISP_ERR_ITERATIONS;
        if (minres_may_do && why != WISP_ERR_ITERATIONS)
            change = why;
        else if (why != WISP_OK)
            WISP_TRY(wisp__end(k, j, why));
        if (c->broken != WISP_OK || c->stalls > 1 || c->moved) k->fresh = true;
        c->moved = false;
        if (c->stalls > 1 || is_level(k, c)) be_careful(k);
        if (c->claimed && c->claimed_at < k->s->iterations) k->fresh = true; /* the others have gone on */
        c->claimed = false;
        c->broken = WISP_OK;
    }
    k->s->replacements += !all_done(k);
    if (change != WISP_OK) WISP_TRY(wisp__return_to_low(k, true)); /* its block goes */
    WISP_TRY(wisp__keep_best(k));
    const bool bicgstab = k->method == &wisp__bicgstab;
    if (change != WISP_OK) WISP_TRY(change_method(k, change));
    if (drop) drop_preconditioner(k);
    if (k->fresh) WISP_TRY(wisp__go_back(k));
    if (change != WISP_OK && bicgstab) WISP_TRY(wisp__leave_far(k));
    WISP_TRY(wisp__compact(k));
out:
    return status;
}

static wisp_status run(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp__start_counts(k);
    if (!k->goes_on) {
        WISP_TRY(look(k));
        k->s->replacements = 0;
        k->fresh = true;
        WISP_TRY(record(k));
    }
    while (!all_done(k)) {
        if (!k->goes_on) {
            k->cycle_ends = false;
            WISP_TRY(k->fresh ? k->method->start(k) : k->method->resume(k));
            k->looks = going(k) == 0;
        }
        WISP_TRY(iterate(k));
        WISP_TRY(look(k));
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
    const bool known = settled && wisp__residual(k) == WISP_OK && wisp__return_to_low(k, true) == WISP_OK;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (c->done) continue;
        const bool better = settled && c->rr < c->best;
        if (!known) c->verified = better ? c->rr : INFINITY;
        (void)wisp__end(k, j, known && c->verified <= c->target ? WISP_OK : why);
        if (better && !known) k->s->residuals[c->of] = NAN;
    }
}

/* What columns say together. The largest residual is NaN if one is not known. */
static void sum_up(wisp_solution *s)
{
    s->residual = 0;
    s->converged = 1;
    for (int i = 0; i < s->columns; i++) {
        if (!(s->residuals[i] <= s->residual) && !isnan(s->residual)) s->residual = s->residuals[i];
        if (s->status[i] != WISP_OK) s->converged = 0;
    }
}

static wisp_status conclude(wisp__krylov *k)
{
    static const char *const advice[] = {
        [WISP_ERR_ITERATIONS] = "allow more, or take a preconditioner or another method",
        [WISP_ERR_STAGNATION] = "the arithmetic or the restart allows no less",
        [WISP_ERR_BREAKDOWN] = "take another method or preconditioner",
        [WISP_ERR_INDEFINITE] = "take minres, or gmres, and a positive definite preconditioner",
        [WISP_ERR_SINGULAR] = "within rounding of A, no x has less",
    };
    wisp_solution *s = k->s;
    wisp_status status = WISP_OK;
    int first = 0;
    for (int i = s->columns - 1; i >= 0; i--)
        if (s->status[i] != WISP_OK) status = s->status[first = i];
    if (status == WISP_OK || status == WISP_ERR_CANCELLED) return status;
    const bool minres = status == WISP_ERR_INDEFINITE && k->method == &wisp__minres;
    const char *take = minres ? "take gmres, or a positive definite preconditioner" : advice[status];
    if (status == WISP_ERR_STAGNATION && k->method != &wisp__gmres) take = "the arithmetic allows no less";
    return wisp_ctx_fail(k->ctx, status, "solve: %s%s: residual %.2g after %lld iterations of %s, wanted %.2g%s%s",
                         wisp_status_string(status), s->columns > 1 ? " (the first of the columns left)" : "",
                         s->residuals[first], (long long)s->iterations_of[first], k->method->name, k->o.tolerance,
                         take ? "; " : "", take ? take : "");
}

static wisp_status make_solution(wisp__krylov *k)
{
    wisp_solution *s = k->s;
    const size_t n = (size_t)k->width;
    s->residual = NAN;
    s->residuals = calloc(n, sizeof *s->residuals);
    s->iterations_of = calloc(n, sizeof *s->iterations_of);
    s->status = calloc(n, sizeof *s->status);
    for (int j = 0; s->residuals && j < k->width; j++) s->residuals[j] = NAN;
    if (s->residuals && s->iterations_of && s->status) {
        s->columns = k->width;
        return WISP_OK;
    }
    return wisp_ctx_fail(k->ctx, WISP_ERR_NOMEM, "solve: no memory for the result");
}

static void release(wisp__krylov *k)
{
    wisp__free_blocks(k);
    wisp_blk_free(k->x);
    wisp_blk_free(k->r);
    wisp_blk_free(k->best);
    wisp_blk_free(k->own_b);
    wisp__precond_free(k->P);
    wisp_free(k->ctx, k->dot);
    wisp_free(k->ctx, k->factor);
    wisp_free(k->ctx, k->one);
    wisp_free(k->ctx, k->col);
    wisp_free(k->ctx, k->list);
    wisp_free(k->ctx, k->stamp);
    wisp_state_free(k->live);
    wisp_free(k->ctx, k->h);
}

static void describe(const wisp__krylov *k)
{
    wisp_solution *s = k->s;
    s->method = k->o.method;
    s->variant = k->o.variant;
    s->precond = k->begun && !k->P ? WISP_PRECOND_NONE : k->o.precond; /* MINRES may have dropped it */
    s->restart = k->o.restart;
    s->bytes = k->counted > 0 ? k->bytes / (double)k->counted : 0;
}

static wisp_status solve(wisp_solution *s, wisp_blk *x, const wisp_mat *A, const wisp_blk *b,
                         const wisp_solve_opts *opts, bool inner)
{
    wisp_status status = WISP_OK;
    wisp_solution unused = {0};
    wisp_ctx *ctx = wisp_mat_ctx(A);
    const double begin = wisp__now();
    wisp__krylov k = {
        .ctx = ctx, .A = A, .o = opts ? *opts : (wisp_solve_opts){0}, .s = s ? s : &unused, .b = b, .user_x = x};
    *k.s = (wisp_solution){.residual = NAN};
    k.inner = inner;
    k.type = wisp_blk_type(b);
    k.width = wisp_blk_width(b);
    k.eps = wisp__is_single(k.type) ? FLT_EPSILON : DBL_EPSILON;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__solve_check(&k, x));
    WISP_TRY(make_solution(&k));
    WISP_TRY(wisp__choose_method(&k));
    wisp__solve_defaults(&k.o, k.type, wisp_map_rows(wisp_mat_map(A)));
    WISP_TRY(prepare(&k));
    k.s->setup_seconds += wisp__now() - begin;
    WISP_TRY(wisp_ctx_sum(ctx, &(double){0}, 1)); /* no rank goes on alone */
    k.begun = true;
    wisp_ctx_hold(ctx, 1);
    WISP_TRY(run(&k));
out:
    if (status != WISP_OK && k.begun) keep_what_is_there(&k, status);
    if (k.begun) wisp_ctx_hold(ctx, 0);
    if (k.begun) sum_up(k.s);
    for (int i = 0; i < k.s->columns && k.s->status && !k.begun; i++) k.s->status[i] = status;
    describe(&k);
    release(&k);
    if (status == WISP_OK) status = conclude(&k);
    if (k.s == &unused) wisp_solution_free(&unused);
    return wisp_ctx_leave(ctx, status);
}

wisp_status wisp_solve(wisp_solution *s, wisp_blk *x, const wisp_mat *A, const wisp_blk *b, const wisp_solve_opts *opts)
{
    WISP_NEED(wisp_blk_ctx(x), A);
    WISP_NEED(wisp_mat_ctx(A), x);
    WISP_NEED(wisp_mat_ctx(A), b);
    return solve(s, x, A, b, opts, false);
}

wisp_status wisp__solve_inner(wisp_blk *x, const wisp_mat *A, const wisp_blk *b, const wisp_solve_opts *opts)
{
    return solve(NULL, x, A, b, opts, true);
}

void wisp_solution_free(wisp_solution *s)
{
    if (!s) return;
    free(s->residuals);
    free(s->iterations_of);
    free(s->status);
    free(s->history);
    *s = (wisp_solution){0};
}
