/* Block Lanczos: whether a pair that counts is missing from those that were found. */
#include "lanczos.h"

/* Beyond the last value that is wanted of the locked ones, by so many widths of a multiplet. Not of an inverse. */
static double border(const wisp__lanczos *L, double widths)
{
    const double sign = L->k->o.which == WISP_EIG_SMALLEST ? 1 : -1;
    double last = -INFINITY;
    for (int i = 0; i < L->a.locked; i++) {
        int before = 0;
        for (int j = 0; j < L->a.locked; j++) before += sign * L->value[j] < sign * L->value[i];
        if (before < L->k->o.count) last = fmax(last, sign * L->value[i]);
    }
    return sign * (last + widths * L->k->o.tolerance * L->k->scale);
}

double wisp__lanczos_distance(const wisp__lanczos *L, int count)
{
    const double target = L->k->o.target;
    double last = 0;
    for (int i = 0; i < L->a.locked; i++) {
        const double distance = fabs(L->value[i] - target);
        int nearer = 0;
        for (int j = 0; j < L->a.locked; j++) nearer += fabs(L->value[j] - target) < distance;
        if (nearer < count) last = fmax(last, distance);
    }
    return last;
}

/* Op's value on the border, or the size of it. */
static double edge_of(const wisp__lanczos *L, double widths)
{
    const wisp__op *op = &L->a.op;
    if (!op->inverse) return wisp__op_of(op, border(L, widths));
    const double last = wisp__lanczos_distance(L, L->k->o.count) + widths * L->k->o.tolerance * L->k->scale;
    const double from_center = fmax(last, L->radius) + fabs(op->center - L->k->o.target);
    return from_center > 0 ? 1 / from_center : INFINITY;
}

/* How many of the locked values count: others were locked before outer ones were met. */
static int count_locked(const wisp__lanczos *L)
{
    const double edge = edge_of(L, 1);
    int n = 0;
    for (int i = 0; i < L->a.locked; i++) {
        const double mu = wisp__op_of(&L->a.op, L->value[i]);
        n += (L->a.op.inverse ? fabs(mu) : mu) >= edge;
    }
    return n;
}

/* Any: where the search has ended, how many of its Ritz values lie no further in than the last multiplet. A has as many
   eigenvalues there, beside those that were found. */
static int count_beside(const wisp__lanczos *L)
{
    const double edge = edge_of(L, 1);
    int n = 0;
    while (L->k->o.any && n < L->a.active && wisp__lanczos_size(L, n) >= edge) n++;
    return n;
}

/* How many of the first ones count, and have bounds within the limit. */
static int first_within(const wisp__lanczos *L, double edge, double limit)
{
    int n = 0;
    while (n < L->a.active - L->a.block && wisp__lanczos_size(L, n) >= edge && wisp__lanczos_residual(L, n) <= limit)
        n++;
    return n;
}

/* The gap before Op's value `next`, behind so many columns, whose residuals are `error` together. */
static wisp__gap gap_of(const wisp__lanczos *L, int columns, double edge, double next, double error)
{
    const wisp__op *op = &L->a.op;
    const wisp_bounds *b = &L->k->e->bounds;
    wisp__gap g = {.columns = columns, .side = op->side, .first = L->value[0], .edge = wisp__op_value(op, edge)};
    for (int i = 1; i < L->a.locked; i++)
        if (op->side * (L->value[i] - g.first) > 0) g.first = L->value[i];
    g.damped = op->degree > 1 && next <= 1 ? op->center + op->side * op->scale : wisp__op_value(op, next);
    g.far = b->center - op->side * b->halfwidth;
    g.residual = error / (wisp__op_slope(op, g.edge) * L->k->scale);
    return g;
}

/* The gap behind the locked columns, after a search from which L->mu and L->bound are. */
static double gap_behind(const wisp__lanczos *L, wisp__gap *gap)
{
    const double edge = wisp__op_of(&L->a.op, border(L, 1));
    if (L->a.op.degree > 1 && edge <= 1) return INFINITY;
    *gap = gap_of(L, L->a.locked, edge, L->mu[0] + L->bound[0], 0);
    gap->residual = L->k->o.tolerance;
    return wisp__gap_steps(&L->a, gap);
}

/* Whether a search has nothing more to find: the first Ritz value lies so far beyond the border that what may have
   mixed with it does not matter, or has converged there. What had grown in a look is found when no Ritz value lies
   before the border: whether that was all is for the next look to tell, which is to take no more products than that
   one. */
static bool search_ends(const wisp__lanczos *L, double edge)
{
    wisp__gap next;
    const wisp__arnoldi_at *at = &L->a.at;
    const double first = wisp__lanczos_size(L, 0);
    if (!(first < edge)) return false;
    if (wisp__lanczos_residual(L, 0) <= L->k->o.tolerance || first + WISP__RESERVE * L->bound[0] < edge) return true;
    return at->grown > 0 && !L->k->o.any && gap_behind(L, &next) <= 1.25 * at->grown;
}

/* A search in what is orthogonal to the locked columns, from columns that have grown in a look, or else from random
   vectors: at.more is how many were locked, because they belong to those that are wanted. Any: of the last multiplet no
   more are wanted, so that the border lies before it. */
wisp_status wisp__lanczos_search(wisp__lanczos *L)
{
    wisp_status status = WISP_OK;
    wisp__arnoldi_at *at = &L->a.at;
    const double tolerance = L->k->o.tolerance, widths = L->k->o.any ? -2 : 1;
    if (at->phase != WISP__SEARCHES) at->grown = at->phase == WISP__GAPS ? wisp__gap_steps(&L->a, &at->gap) : 0;
    WISP_TRY(wisp__arnoldi_begin_search(&L->a, L->m, at->grown == 0));
    for (;;) {
        const double edge = edge_of(L, widths);
        for (int to = 0; to < L->m;) {
            WISP_TRY(wisp__lanczos_look(L, &to));
            if (search_ends(L, edge)) {
                L->beside = count_beside(L);
                goto out;
            }
            const int n = first_within(L, edge, at->strict * tolerance);
            if (n > 0 && wisp__lanczos_size(L, n) < edge) break; /* all that counts is there */
        }
        double over = 0;
        int wanted = first_within(L, edge, L->a.at.strict * tolerance);
        const bool stalls = wanted == 0 && wisp__lanczos_stalls(L);
        if (stalls) wanted = first_within(L, edge, WISP__NEAR * tolerance);
        WISP_TRY(wisp__lanczos_restart(L, wisp__lanczos_kept(L, wanted)));
        if (wanted > 0) WISP_TRY(wisp__lanczos_verify(L, wanted, &over));
        if (over > 1) {
            if (!stalls) WISP_TRY(wisp__lanczos_be_stricter(L, over));
            wanted = 0;
        }
        at->more += wanted;
        wisp__lanczos_lock(L, wanted);
        if (L->enough > 0 && at->more >= L->enough) goto out;
        if (L->radius > 0 && L->a.locked > L->most) goto out; /* who asked for it counts */
        const int locked = L->a.locked, counted = locked > L->most ? count_locked(L) : 0;
        if (counted > L->most || locked > 2 * L->most) {
            status = wisp_ctx_failf(
                L->k->ctx, WISP_ERR_INCOMPLETE,
                counted > L->most
                    ? "eig: %d eigenvalues, and more of the last one's multiplet, of which opts.any takes some"
                    : "eig: %d eigenvalues were met, and there are more that are wanted before them",
                counted > L->most ? counted : locked);
            goto out;
        }
        WISP_TRY(wisp__arnoldi_room(&L->a, L->m));
        const double next = wisp__lanczos_residual(L, 0);
        WISP_TRY(wisp__arnoldi_restarted(&L->a, L->k->o.count, L->a.locked, next, next));
    }
out:
    return status;
}

/* Or, where the locked columns are the first Ritz vectors of the last restart, all of them, behind some of those that V
   holds beside them, if it takes less to look into that: Op has as many values within |R| of the columns' values, one
   for each, where R are the residuals of all of them (Kahan 1967). So the values of the additional ones don't count, if
   that leaves them behind the border; and if nothing else lies before the gap, nothing else counts. */
static double best_gap(const wisp__lanczos *L, wisp__gap *best)
{
    const int n = L->a.locked;
    const double behind = wisp__op_of(&L->a.op, border(L, 1));
    double square = 0, least = INFINITY;
    for (int i = 0; i < n + L->a.active; i++) {
        const double error = sqrt(square), edge = i == n ? behind : L->mu[i - (i > 0)] - error;
        square += L->bound[i] * L->bound[i];
        if (i > n && !(L->mu[n] + error < behind)) break;
        if (i < n || (L->a.op.degree > 1 && edge <= 1)) continue;
        const wisp__gap g = gap_of(L, i, edge, L->mu[i] + L->bound[i], error);
        const double steps = wisp__gap_steps(&L->a, &g);
        if (steps < least) least = steps, *best = g;
    }
    return least;
}

/* Where products alone would take as long as the search, or do not tell, it is another search. */
wisp_status wisp__lanczos_missing(wisp__lanczos *L)
{
    wisp_status status = WISP_OK;
    wisp__arnoldi_at *at = &L->a.at;
    bool empty = false;
    double steps = INFINITY; /* a look that goes on has been chosen */
    if (at->phase == WISP__FINDS) {
        at->checked = wisp__eig_begin_check(L->k);
        at->phase = WISP__BETWEEN;
        at->tries = 0;
        at->grown = 0;
        if (!L->a.op.inverse && !L->early) steps = best_gap(L, &at->gap);
    }
    for (;;) {
        if (at->phase == WISP__BETWEEN && steps * L->a.block <= (double)L->k->e->products) at->phase = WISP__GAPS;
        if (at->phase == WISP__GAPS) WISP_TRY(wisp__gap_empty(&L->a, &empty));
        if (empty) goto out;
        WISP_TRY(wisp__lanczos_search(L));
        at->phase = WISP__BETWEEN;
        /* What began with columns of a look is no proof, if it finds nothing. */
        if (at->more == 0 && at->grown == 0) goto out;
        steps = at->more > 0 && !L->a.op.inverse ? gap_behind(L, &at->gap) : INFINITY;
    }
out:
    wisp__eig_end_check(L->k, &at->checked);
    return status;
}
