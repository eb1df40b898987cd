/* Chebyshev filter diagonalization (Pieper et al. 2016): a search space of random columns is filtered, made
   orthonormal, and gives Ritz pairs; again, until all pairs in the target have converged and a look for others finds
   none. */
#include "chebfd.h"
#include "chebfd_next.h"
#include <stdlib.h>

/* ---- one round -------------------------------------------------------------------------------------- */

/* Columns that are not locked become orthonormal, and orthogonal to those that are. */
static wisp_status make_orthonormal(wisp__chebfd *c, double condition)
{
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    wisp_blk *V = NULL, *Q = NULL;
    wisp__ortho how;
    const double before = wisp_now();
    WISP_TRY(wisp_blk_cols(&V, c->space, c->locked, c->columns - c->locked));
    if (c->locked > 0) WISP_TRY(wisp_blk_cols(&Q, c->space, 0, c->locked));
    WISP_TRY(wisp__orthonormal(V, Q, condition, &how));
    c->columns = c->locked + how.rank;
    k->e->flops += how.flops;
    wisp_ctx_logf(k->ctx, WISP_LOG_DEBUG, "eig: %d orthonormal columns, rung %d, condition about %.1e", how.rank,
                  how.rung, condition);
out:
    k->e->ortho_seconds += wisp_now() - before;
    wisp_blk_free(V);
    wisp_blk_free(Q);
    return status;
}

static wisp_status round_of(wisp__chebfd *c, int terms)
{
    wisp__eig *k = c->k;
    const double share = (terms - 1.0) / fmax(c->plan.f.terms - 1.0, 1);
    wisp_status status = WISP_OK;
    const int known = c->known > c->locked ? c->known - c->locked : 0;
    WISP_TRY(wisp__chebfd_fill_up(c));
    const int fresh = c->columns - c->locked - known;
    if (known + fresh == 0) return WISP_OK;
    WISP_TRY(wisp__chebfd_apply(c, c->space, c->locked, known, terms, c->theta + c->locked));
    WISP_TRY(wisp__chebfd_apply(c, c->space, c->locked + known, fresh, terms, NULL));
    c->at.through = 0;
    WISP_TRY(make_orthonormal(c, exp(fmin(c->plan.peak * share, 300))));
    const int first = c->locked, n = c->columns - first;
    c->known = c->columns;
    if (n == 0) return WISP_OK; /* they added nothing: random ones take their places */
    WISP_TRY(wisp__ritz(k, c->space, first, n, c->theta + first));
    WISP_TRY(wisp__ritz_residuals(k, c->space, first, n, c->theta + first, c->residual + first));
    c->gain += c->filtered ? c->plan.edge * share : c->plan.first * share;
    c->filtered = true;
out:
    return status;
}

/* ---- where a round has led -------------------------------------------------------------------------- */

typedef struct {
    int inside;   /* pairs in the target that have converged */
    int pending;  /* that lie there, or may, and have not */
    double worst; /* the largest residual of those */
} standing;

/* A column with a far larger residual than the filter's gain leaves to pairs in the target is a mixture of what lies
   outside; its Ritz value says nothing. */
static bool is_mixture(const wisp__chebfd *c, int i)
{
    return c->residual[i] > fmax(300 * exp(-c->gain), wisp__chebfd_sharp(c));
}

/* Mixtures have residuals of about a tenth and more: whether the gain tells them from pairs. */
static bool tells_mixtures(const wisp__chebfd *c) { return 300 * exp(-c->gain) < 0.05; }

static standing look_around(const wisp__chebfd *c)
{
    standing s = {0};
    for (int i = 0; i < c->columns; i++) {
        if (!wisp__chebfd_in_target(c, i)) continue;
        if (wisp__chebfd_converged(c, i)) {
            s.inside++;
        } else if (!is_mixture(c, i)) {
            s.pending++;
            s.worst = fmax(s.worst, c->residual[i]);
        }
    }
    return s;
}

/* Columns that have converged go to the front, and stay. (Until that is done none is sure.) */
static wisp_status lock(wisp__chebfd *c)
{
    int n = 0, locked = 0;
    for (int part = 0; part < 2; part++)
        for (int i = 0; i < c->columns; i++) {
            if (wisp__chebfd_converged(c, i) != (part == 0)) continue;
            c->order[n++] = i;
            if (part == 0) locked = n;
        }
    c->locked = 0;
    const wisp_status status = wisp__chebfd_permute(c);
    if (status == WISP_OK) c->locked = locked;
    return status;
}

/* ---- the run ---------------------------------------------------------------------------------------- */

typedef struct {
    double theta;
    int column;
} pair;

static int by_value(const void *a, const void *b)
{
    const double x = ((const pair *)a)->theta, y = ((const pair *)b)->theta;
    return (x > y) - (x < y);
}

/* The pairs that are asked for, of those that have converged, go to the front, ascending; then to the user. */
static wisp_status deliver(wisp__chebfd *c, int *found)
{
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    pair *all = NULL;
    double *theta = NULL, *residual;
    int n = 0, first = 0, rest = c->columns;
    WISP_TRY(wisp_alloc(k->ctx, &all, (size_t)c->columns, sizeof *all));
    WISP_TRY(wisp_alloc(k->ctx, &theta, 2 * (size_t)c->columns, sizeof *theta));
    residual = theta + c->columns;
    for (int i = 0; i < c->columns; i++) {
        const bool takes = wisp__chebfd_converged(c, i) && wisp__chebfd_in_target(c, i);
        all[takes ? n++ : --rest] = (pair){c->theta[i], i};
    }
    qsort(all, (size_t)n, sizeof *all, by_value);
    for (int i = 0; i < n; i++) theta[i] = all[i].theta, residual[i] = c->residual[all[i].column];
    wisp__eig_select(k, n, theta, residual, &first, found);
    for (int i = 0; i < c->columns; i++) c->order[i] = all[(first + i) % c->columns].column;
    WISP_TRY(wisp__chebfd_permute(c));
    /* What filters takes no more memory, so that the vectors may have it. */
    wisp__chebfd_close_batch(c);
    wisp__chebfd_free_blocks(c);
    wisp_blk_free(c->fresh);
    c->fresh = NULL;
    k->most_copied = wisp__chebfd_copied(c);
    WISP_TRY(wisp__eig_deliver(k, c->space, 0, *found, c->theta, c->residual));
out:
    wisp_free(k->ctx, all);
    wisp_free(k->ctx, theta);
    return status;
}

/* A larger space, for so many eigenvalues in the target; 0: its size is chosen already. */
static wisp_status grow(wisp__chebfd *c, double wanted)
{
    const wisp_status status = wanted > 0 ? wisp__chebfd_enlarge(c, wanted) : WISP_OK;
    if (status != WISP_OK) return status;
    c->gain = 0;
    c->filtered = false;
    c->whole = wisp__chebfd_is_whole(c);
    if (c->whole) return WISP_OK;
    return c->search == 0 ? wisp__chebfd_refuse(c) : wisp__chebfd_space(c);
}

/* A Ritz value lies within the spectrum, so that one beyond the bounds (which are given, then) says that these do not
   hold: the target was cut where they end, and the filter knows of nothing beyond. */
static wisp_status check_bounds(const wisp__chebfd *c)
{
    const wisp__eig *k = c->k;
    const wisp_bounds *b = &k->e->bounds;
    const double most = b->halfwidth + 64 * k->eps * (b->halfwidth + fabs(b->center));
    for (int i = 0; i < c->columns; i++)
        if (wisp__chebfd_converged(c, i) && fabs(c->theta[i] - b->center) > most)
            return wisp_ctx_failf(
                k->ctx, WISP_ERR_BOUNDS,
                "eig: %.10g is an eigenvalue beyond the bounds %.10g to %.10g; take wider opts.bounds%s",
                wisp__eig_shown(k, c->theta[i]), wisp__eig_shown(k, b->center - b->halfwidth),
                wisp__eig_shown(k, b->center + b->halfwidth), wisp__or_none(b));
    return WISP_OK;
}

/* A round, its report, and the columns in order. */
static wisp_status whole_round(wisp__chebfd *c)
{
    wisp_status status = WISP_OK;
    WISP_TRY(round_of(c, c->at.terms));
    WISP_TRY(check_bounds(c));
    const standing s = look_around(c);
    WISP_TRY(wisp__eig_report(c->k, c->at.round, s.inside, c->wanted, s.pending ? s.worst : 0));
    WISP_TRY(lock(c));
    wisp_ctx_logf(c->k->ctx, WISP_LOG_INFO, "eig: round %d: %d pairs, %d have not converged, residual %.1e",
                  c->at.round, s.inside, s.pending, s.worst);
out:
    return status;
}

static wisp__chebfd_known known_of(const wisp__chebfd *c)
{
    const wisp__eig *k = c->k;
    const standing s = look_around(c);
    return (wisp__chebfd_known){.inside = s.inside,
                                .pending = s.pending,
                                .worst = s.worst,
                                .before = c->at.last,
                                .search = c->search,
                                .rows = k->rows,
                                .tells = tells_mixtures(c),
                                .is_single = c->is_single,
                                .stalls = c->at.stalls,
                                .growths = c->at.growths,
                                .asked = k->o.which == WISP_EIG_NEAREST ? k->o.count : 0};
}

/* n->verdict; *end: the status that says why all is not known to be found. */
static wisp_status verify(wisp__chebfd *c, wisp__chebfd_known *n, wisp_status *end)
{
    bool more = false;
    const wisp_status status = wisp__chebfd_verify(c, &more);
    *end = status;
    n->verdict = status == WISP_ERR_INCOMPLETE ? WISP__DIFFERS : more ? WISP__MISSING : WISP__FINE;
    return status == WISP_ERR_INCOMPLETE ? WISP_OK : status;
}

static wisp_status give_up(wisp__chebfd *c, const wisp__chebfd_known *n)
{
    wisp__eig *k = c->k;
    c->whole = isfinite(k->most_work);
    if (c->whole) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_STAGNATION,
                          "eig: the residuals no longer fall after %d rounds: %d in the target are up to %.1e; the "
                          "tolerance is %.1e",
                          c->at.round, n->pending, wisp__eig_residual(k, n->worst),
                          wisp__eig_residual(k, k->o.tolerance));
}

/* WISP__VERIFY and WISP__END are the caller's. */
static wisp_status carry_out(wisp__chebfd *c, const wisp__chebfd_known *n, wisp__chebfd_move move)
{
    wisp_status status = WISP_OK;
    switch (move) {
    case WISP__ENLARGE: c->least = c->search + c->width; return grow(c, 1.5 * (n->inside + n->pending));
    case WISP__ADD_MISSING: return grow(c, 1.25 * fmax(c->wanted, n->inside) + c->width);
    case WISP__LOOK_FARTHER:
        c->k->e->complete = 0;
        WISP_TRY(wisp__chebfd_widen(c, n->inside));
        return grow(c, 0);
    case WISP__TAKE_DOUBLE:
        c->at.growths += n->pending > 0; /* it is tried against a stall */
        wisp__chebfd_give_up_single(c);
        return grow(c, c->wanted + 1);
    case WISP__ADD_COLUMNS:
        c->at.growths++;
        c->least = c->search + c->search / 2 + c->width;
        return grow(c, c->wanted + 1);
    case WISP__GIVE_UP: return give_up(c, n);
    default: break;
    }
out:
    return status;
}

/* The least number that the residuals of as many columns as are asked for are within; INFINITY: there are not so many.
   For each column it looks at all, which are few. */
static double residual_of_some(const wisp__chebfd *c)
{
    double least = INFINITY;
    for (int i = 0; i < c->columns; i++) {
        int within = 0;
        for (int j = 0; j < c->columns; j++) within += c->residual[j] <= c->residual[i];
        if (within >= c->k->o.count) least = fmin(least, c->residual[i]);
    }
    return least;
}

static int some_at_target(const wisp__chebfd *c)
{
    int n = 0;
    for (int i = 0; i < c->columns; i++)
        n += wisp__chebfd_converged(c, i) && c->theta[i] >= c->low && c->theta[i] <= c->high;
    return n;
}

/* at.some, after a round. *done: as many pairs as are asked for lie within two tolerances of the target. They need no
   other proof, for no eigenvalue comes before them by more than that. Else another round follows; where rounds change
   little, one with a narrower filter; and in the end one for all of the level. */
static wisp_status next_of_some(wisp__chebfd *c, bool *done)
{
    enum { NARROWER = 3 };
    wisp_status status = WISP_OK;
    wisp__chebfd_at *at = &c->at;
    const double tolerance = c->k->o.tolerance, worst = residual_of_some(c);
    const bool all_converged = worst <= tolerance; /* elsewhere: the target is of no level */
    *done = some_at_target(c) >= c->k->o.count;
    c->k->e->complete = *done;
    if (*done) return WISP_OK;
    at->terms = wisp__filter_terms(&c->plan, log(fmax(worst, tolerance) / tolerance) + 1);
    at->stalls = worst < 0.3 * at->last ? 0 : at->stalls + 1;
    at->last = worst;
    if (at->stalls == 0 && !all_converged) return WISP_OK;
    const bool narrower = !all_converged && at->growths < NARROWER;
    WISP_TRY(narrower ? wisp__chebfd_narrow_level(c) : wisp__chebfd_take_all(c));
    at->growths = at->some ? at->growths + 1 : 0;
    WISP_TRY(grow(c, 0));
    at->stalls = 0, at->last = INFINITY, at->terms = c->plan.f.terms;
out:
    return status;
}

/* The same, where all in the target are asked for. */
static wisp_status next_of_all(wisp__chebfd *c, bool *done)
{
    const wisp__eig *k = c->k;
    wisp__chebfd_at *at = &c->at;
    wisp_status status = WISP_OK, end = WISP_OK;
    wisp__chebfd_known n = known_of(c);
    if (wisp__chebfd_next(&n) == WISP__VERIFY) WISP_TRY(verify(c, &n, &end));
    const wisp__chebfd_move move = wisp__chebfd_next(&n);
    *done = move == WISP__END;
    if (*done) return end;
    WISP_TRY(carry_out(c, &n, move));
    const bool refines = move == WISP__REFINE; /* else it is another space, or another filter */
    at->stalls = refines ? wisp__chebfd_stalls(&n) : 0;
    at->last = refines ? n.worst : INFINITY;
    at->terms = refines ? wisp__filter_terms(&c->plan, log(n.worst / k->o.tolerance) + 1) : c->plan.f.terms;
out:
    return status;
}

static wisp_status rounds(wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    wisp__chebfd_at *at = &c->at;
    wisp_status status = WISP_OK;
    for (; at->round <= k->o.max_rounds; at->round++) {
        bool done = false;
        if (at->phase != WISP__CHECKS) WISP_TRY(whole_round(c)); /* else it is done already */
        WISP_TRY(at->some ? next_of_some(c, &done) : next_of_all(c, &done));
        if (!done && !c->whole) WISP_TRY(wisp__eig_enough(k, &c->whole));
        if (done || c->whole) return WISP_OK;
    }
    return wisp_ctx_failf(k->ctx, WISP_ERR_ITERATIONS, "eig: not all pairs converged in %lld rounds",
                          (long long)k->o.max_rounds);
out:
    return status;
}

/* The result has the density and the filter, for plots. */
static wisp_status keep_look(wisp__chebfd *c)
{
    wisp_eigen *e = c->k->e;
    const wisp_filter *f = &c->plan.f;
    e->degree = (int64_t)(f->terms - 1) * f->power;
    e->filter_type = wisp__chebfd_type(c);
    e->filter = *f;
    e->filter.c = NULL;
    if (!f->c) return WISP_OK;
    e->filter.c = malloc((size_t)f->terms * sizeof *e->filter.c);
    if (!e->filter.c) return wisp_ctx_failf(c->k->ctx, WISP_ERR_NOMEM, "eig: out of memory for the filter");
    for (int i = 0; i < f->terms; i++) e->filter.c[i] = f->c[i];
    return WISP_OK;
}

/* All that comes before the first round. */
static wisp_status begin(wisp__chebfd *c)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__chebfd_look(c));
    wisp__chebfd_tell_work(c);
    c->whole = wisp__chebfd_is_whole(c);
    if (c->whole) goto out;
    wisp__eig_keep_filter(c->k);
    if (c->search == 0) {
        status = wisp__chebfd_refuse(c);
        goto out;
    }
    WISP_TRY(keep_look(c));
    WISP_TRY(wisp__chebfd_space(c));
    c->at.phase = WISP__FILTERS;
    c->at.round = 1;
    c->at.terms = c->plan.f.terms;
    c->at.last = INFINITY;
out:
    return status;
}

wisp_status wisp__eig_chebfd(wisp__eig *k)
{
    wisp_status status = WISP_OK;
    wisp__chebfd c = {.k = k};
    int found;
    k->e->moments = c.m = calloc(1, sizeof *c.m);
    if (!c.m) return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "eig: out of memory");
    WISP_TRY(wisp__eig_state(k, wisp__chebfd_items, &c));
    if (c.at.phase == WISP__LOOKS)
        WISP_TRY(begin(&c));
    else
        wisp__eig_keep_filter(k);
    if (!c.whole) status = rounds(&c);
    if (c.whole && status == WISP_OK) {
        k->whole = true;
    } else if (c.columns > 0 && wisp__eig_last(k, status)) {
        if (status == WISP_ERR_CANCELLED) c.columns = c.locked; /* others may be anything */
        const wisp_status end = c.columns > 0 ? deliver(&c, &found) : WISP_OK;
        if (status == WISP_OK) status = end;
    }
out:
    wisp__chebfd_free(&c);
    return status;
}
