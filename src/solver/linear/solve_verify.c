/* Linear systems: when residuals are verified, and what follows from them: a column ends, or goes on, maybe by another
   method. */
#include "krylov.h"
#include <math.h>

int wisp__columns_going(const wisp__krylov *k)
{
    int n = 0;
    for (int j = 0; j < k->width; j++) n += wisp__going(&k->col[j]);
    return n;
}

bool wisp__all_done(const wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done) return false;
    return true;
}

/* By its recurrence, which may be a claim of what rounding does not allow. */
bool wisp__has_come_far(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return c->rr < k->method->far(k) * c->verified;
}

/* One that a way which is not careful keeps on a level, for longer than those before all together. */
static bool is_level(const wisp__krylov *k, const wisp__krylov_column *c)
{
    enum { LEVEL = 1000 };
    const int64_t since = c->iterations - c->least_at;
    return WISP__ASK(k, can_be_careful, k) && since > LEVEL && since > c->iterations / 2;
}

/* Whether residuals are to be verified, before the last iteration: columns claim to be through (all of
   them, or so many that blocks can be narrower), can't go on, or have come far; or the recurrence's norm is not that of
   r. */
bool wisp__must_verify(wisp__krylov *k, int claimed_before)
{
    int claimed = 0;
    bool time = k->cycle_ends || 2 * wisp__columns_going(k) <= k->width;
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        claimed += c->claimed;
        time |= !c->done && (c->broken != WISP_OK || wisp__has_come_far(k, c) || is_level(k, c) ||
                             WISP__ASK(k, is_stuck, k, c) || !isfinite(c->rr));
    }
    return time || WISP__ASK(k, is_time, k, claimed - claimed_before);
}

static void drop_preconditioner(wisp__krylov *k)
{
    wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "solve: %s goes on without the preconditioner", k->method->name);
    k->P = k->left = NULL; /* later calls of the solver may have it */
    k->rows = NULL;
    k->fresh = true;
    for (int j = 0; j < k->width; j++) k->col[j].stalls = 0;
}

/* The next method goes on. */
static wisp_status change_method(wisp__krylov *k, wisp_status why)
{
    wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "solve: %s after %lld iterations of %s; %s goes on", wisp_status_string(why),
                  (long long)k->s->iterations, k->method->name, wisp__method_of(k->method->next)->name);
    const bool anew = k->method->anew;
    wisp__free_blocks(k);
    k->o.method = k->method->next;
    k->method = wisp__method_of(k->o.method);
    wisp__fit_variant(&k->o);
    k->fresh = true;
    for (int j = 0; j < k->width; j++) {
        k->col[j].broken = WISP_OK;
        k->col[j].stalls = 0;
        k->col[j].moved = false;
    }
    if (anew && wisp__precond_of(k)) drop_preconditioner(k);
    wisp__krylov_rows(k);
    return wisp__make_blocks(k);
}

static bool drops_preconditioner(const wisp__krylov *k, const wisp__krylov_column *c, wisp_status why)
{
    if (!k->method->drops || !k->P || why == WISP_ERR_ITERATIONS) return false;
    return c->broken == WISP_ERR_BREAKDOWN || why == WISP_ERR_STAGNATION;
}

/* Counts how often a residual that was verified was not less than before. */
static void count_stalls(const wisp__krylov *k, wisp__krylov_column *c)
{
    const double enough = c->claimed ? 0.25 : c->broken != WISP_OK ? 0.99 : 1 - 1e-6;
    const bool stalls = !(c->verified < enough * c->best);
    const bool in_turn = WISP__ASK(k, stalls, k, c);
    if (c->claimed || c->broken != WISP_OK || k->cycle_ends || in_turn) c->stalls = stalls ? c->stalls + 1 : 0;
}

/* What becomes of a column that has not converged: WISP_OK, it goes on. */
static wisp_status verdict(const wisp__krylov *k, wisp__krylov_column *c)
{
    const bool lost = !isfinite(c->verified); /* M^-1 or A has made an infinity: it goes on from the best x */
    if (lost && c->broken == WISP_OK) c->broken = WISP_ERR_BREAKDOWN;
    if (lost && !isfinite(c->best)) return WISP_ERR_BREAKDOWN;
    if (c->broken == WISP_ERR_INDEFINITE || (c->broken != WISP_OK && k->method->gives_up)) return c->broken;
    count_stalls(k, c);
    if (WISP__ASK(k, is_stuck, k, c)) return WISP_ERR_STAGNATION;
    if (c->stalls >= WISP__MOST_STALLS) return c->broken != WISP_OK ? c->broken : WISP_ERR_STAGNATION;
    return k->s->iterations >= k->o.max_iterations ? WISP_ERR_ITERATIONS : WISP_OK;
}

/* Whether iterations have run out of a method that gained nothing during half of them, or whose recurrence promised
   what no x kept. With a Hermitian matrix is_stuck and the next method have seen to it before, unless there were as
   many as end it without rounding. */
static bool ends_level(const wisp__krylov *k, const wisp__krylov_column *c, wisp_status why)
{
    const bool level = c->iterations - c->least_at > c->iterations / 2, promised = c->least < 0.01 * c->best;
    const bool many = c->iterations > 2 * wisp_map_rows(wisp_mat_map(k->A)) + 100;
    return why == WISP_ERR_ITERATIONS && (k->hermitian ? level && many : level || promised);
}

/* Whether it is to be asked if the system has no solution, and the best x makes |r| least: where a method gains nothing
   any more, or asks itself. */
static bool asks_for_proof(const wisp__krylov *k, const wisp__krylov_column *c, wisp_status why)
{
    if (k->inner || k->method->any_shape) return false;
    if (why == WISP_ERR_BREAKDOWN || why == WISP_ERR_STAGNATION) return true;
    if (WISP__ASK(k, asks, k, c)) return true;
    return ends_level(k, c, why);
}

/* Whether another method is left where this one can't go on. */
static bool can_change(const wisp__krylov *k, wisp_status why)
{
    if (!k->hermitian || !k->method->next) return false;
    return why == WISP_ERR_BREAKDOWN || why == WISP_ERR_STAGNATION || (why == WISP_ERR_INDEFINITE && k->chosen);
}

/* And goes on. */
static bool changes(const wisp__krylov *k, wisp_status why)
{
    return can_change(k, why) && k->s->iterations < k->o.max_iterations;
}

/* *why becomes SINGULAR where it is so. *part: see wisp__prove_least, as far as that was asked. */
static wisp_status find_proof(wisp__krylov *k, int j, wisp_status *why, double *part)
{
    wisp__krylov_column *c = &k->col[j];
    wisp_status status = WISP_OK;
    bool least;
    *part = 1;
    if (!asks_for_proof(k, c, *why)) goto out;
    if (!(c->verified <= c->best)) WISP_TRY(wisp__return_to_best(k, j));
    WISP_TRY(wisp__prove_least(k, j, *why != WISP_OK && !changes(k, *why), &least, part));
    if (least) *why = WISP_ERR_SINGULAR;
    k->fresh |= !k->method->is_best; /* x may be an earlier one */
out:
    return status;
}

/* They may be what keeps it from the accuracy that it has without. */
static void be_careful(wisp__krylov *k)
{
    if (!WISP__ASK(k, can_be_careful, k)) return;
    k->careful = k->fresh = true;
    for (int j = 0; j < k->width; j++) k->col[j].stalls = 0;
}

/* What columns ask of the whole run. */
typedef struct {
    wisp_status change; /* another method goes on, for this reason; WISP_OK: none */
    bool drop;          /* the preconditioner goes */
} wish;

/* No proof, but a hint: A maps r, or what makes it so long, to nearly nothing. */
static void hint(const wisp__krylov *k, int j, wisp_status why, double part)
{
    enum { NEAR = 30 }; /* more is said of matrices that are ill-conditioned alone */
    if (why == WISP_OK || why == WISP_ERR_SINGULAR || part > NEAR * k->eps) return;
    wisp_ctx_logf(k->ctx, WISP_LOG_WARN,
                  "solve: column %d may have no solution: the matrix is singular, or is so when its entries change by "
                  "%.0e of their size",
                  k->col[j].of, part);
}

/* A column that has not converged ends, or goes on, maybe by what it asks for. */
static wisp_status judge(wisp__krylov *k, int j, wish *w)
{
    wisp__krylov_column *c = &k->col[j];
    wisp_status status = WISP_OK, why = verdict(k, c);
    double part;
    if (drops_preconditioner(k, c, why)) {
        w->drop = true;
        goto out;
    }
    WISP_TRY(find_proof(k, j, &why, &part));
    if (changes(k, why)) {
        w->change = why;
        goto out;
    }
    if (can_change(k, why)) why = WISP_ERR_ITERATIONS;
    hint(k, j, why, part);
    if (why != WISP_OK) status = wisp__end(k, j, why);
out:
    return status;
}

/* What the steps before said of a column has been heard. Where its vectors do not fit x any more, or the
   others have gone on without it (those of a method that waits stay fit), the method starts anew. */
static void forget_steps(wisp__krylov *k, wisp__krylov_column *c)
{
    const bool breaks = k->method->hear && wisp__set(k, WISP_SET_STATE)[c - k->col].im != 0;
    const bool behind = !k->method->waits && c->claimed && (c->behind || breaks);
    if (c->broken != WISP_OK || c->stalls > 1 || c->moved || behind) k->fresh = true;
    if (c->stalls > 1 || is_level(k, c)) be_careful(k);
    c->moved = c->claimed = false;
    c->broken = WISP_OK;
}

/* Goes on as columns ask. */
static wisp_status go_on(wisp__krylov *k, const wish *w)
{
    const bool change = w->change != WISP_OK, anew = k->method->anew;
    wisp_status status = WISP_OK;
    if (change) WISP_TRY(wisp__recall(k, true)); /* its block goes */
    WISP_TRY(wisp__keep_best(k));
    if (change) WISP_TRY(change_method(k, w->change));
    if (w->drop) drop_preconditioner(k);
    if (k->fresh) WISP_TRY(wisp__go_back(k));
    if (change && anew) WISP_TRY(wisp__leave_far(k));
    status = wisp__compact(k);
out:
    return status;
}

/* Computes residuals from x, and ends columns by them. */
wisp_status wisp__verify(wisp__krylov *k)
{
    wish w = {WISP_OK, false};
    wisp_status status = WISP_OK;
    if (k->method->settle) WISP_TRY(k->method->settle(k));
    WISP_TRY(wisp__residual_given(k));
    WISP_TRY(wisp__recall(k, k->s->iterations >= k->o.max_iterations));
    k->fresh = !k->method->resume || k->cycle_ends;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (c->done) continue;
        if (c->verified <= c->target) {
            WISP_TRY(wisp__end(k, j, WISP_OK));
            continue;
        }
        WISP_TRY(judge(k, j, &w));
        forget_steps(k, c);
    }
    k->s->replacements += !wisp__all_done(k);
    status = go_on(k, &w);
out:
    return status;
}
