/* Krylov-Schur: whether a pair that counts is missing from those that were found. */
#include "krylov_schur.h"

/* Restarts without a gain, after which fewer pairs are kept, so that each filters more; and after which the search
   ends, before it stagnates. */
enum { FEWER = 20, PATIENCE = 90 };

/* The last one that is wanted of the locked values. */
static wisp_scalar last_wanted(const wisp__schur *K)
{
    wisp_scalar last = {INFINITY, 0};
    double key = INFINITY;
    for (int i = 0; i < K->a.locked; i++) {
        int above = 0;
        for (int j = 0; j < K->a.locked; j++) above += wisp__schur_own_key(K, j) > wisp__schur_own_key(K, i);
        if (above < K->k->o.count && wisp__schur_own_key(K, i) < key)
            key = wisp__schur_own_key(K, i), last = K->locked[i];
    }
    return last;
}

/* The key beyond which a value counts: that of the last one that is wanted of the locked ones, and so many of its
   widths less. These values are A's own: a polynomial's keys are no smaller than those, so that none that counts falls
   short of it. */
static double border(const wisp__schur *K, double widths)
{
    const wisp_scalar last = last_wanted(K);
    const double key = K->a.op.degree > 1 ? last.re : wisp__schur_key(&K->a, last);
    return key - widths * K->k->o.tolerance * wisp__schur_over(&K->a, last);
}

/* Whether the first value in order lies so far beyond the border that what may have mixed with it does not matter. */
static bool beyond(const wisp__schur *K, double edge)
{
    const wisp__op *op = &K->a.op;
    const int top = K->order[0];
    const double first = wisp__schur_key(&K->a, K->value[top]);
    if (!(first < edge)) return false;
    if (K->residual[top] <= K->k->o.tolerance) return true;
    if (op->inverse) return first + WISP__RESERVE * K->residual[top] * wisp__schur_over(&K->a, K->value[top]) < edge;
    if (op->degree == 1) return first + WISP__RESERVE * K->bound[top] < edge;
    return wisp__op_of(op, first) + WISP__RESERVE * K->bound[top] < wisp__op_of(op, edge);
}

/* Any: how many pairs of the search that has ended are like the last one that is wanted. */
static int count_beside(const wisp__schur *K)
{
    int good = 0;
    while (good < K->a.active && K->residual[K->order[good]] <= K->k->o.tolerance) good++;
    return K->k->o.any ? wisp__schur_like_last(&K->a, good, K->value, K->order, last_wanted(K)) : 0;
}

/* Whether a search that has met no value that counts may end: it may where it can't have missed any. Of inner values
   nothing is ever proven, so that it need not be sure. Where many restarts without a gain do not make it sure, it ends
   in doubt. */
static bool may_end(wisp__schur *K)
{
    const bool outer = K->k->o.which != WISP_EIG_SMALLEST && K->k->o.which != WISP_EIG_NEAREST;
    if (!outer || K->a.at.more > 0 || wisp__schur_sure(K)) return true;
    const bool ends = K->a.restarts - K->a.better_at >= PATIENCE;
    if (K->a.op.degree > 1)
        K->unfit |= ends;
    else
        K->doubtful = ends;
    return ends;
}

/* A step of a search from random vectors beside the locked columns, first part: it ends where nothing else counts. */
static wisp_status look_beyond(wisp__schur *K, wisp__schur_step *s)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__schur_cycle(K, K->m));
    /* With any, what counts lies before the last multiplet, by two widths. */
    const double edge = border(K, K->k->o.any ? -2 : 1), tolerance = K->a.at.strict * K->k->o.tolerance;
    const int most = K->a.active - K->a.block;
    if (K->a.restarts == K->a.began) wisp__schur_outline(K, edge);
    const bool met = !beyond(K, edge);
    s->ended = !met && may_end(K);
    if (s->ended) K->beside = count_beside(K);
    if (s->ended) goto out;
    int good = 0;
    while (good < most && wisp__schur_key(&K->a, K->value[K->order[good]]) >= edge &&
           K->residual[K->order[good]] <= tolerance)
        good++;
    s->front = wisp__schur_untorn(K->k, K->mu, K->order, good);
    s->kept = wisp__schur_kept(K, 1, s->front);
    if (!met && K->a.restarts - K->a.better_at >= FEWER && s->kept >= 4) s->kept /= 2;
    wisp__schur_next(K, s, K->order[s->front]);
out:
    return status;
}

/* Second part: those that count are locked; at.more: how many were in all of the search. */
static wisp_status take_more(wisp__schur *K, wisp__schur_step *s)
{
    wisp_status status = WISP_OK;
    wisp__schur_lock(K, s->front);
    K->a.at.more += s->front;
    K->unfit |= K->a.op.degree > 1 && K->a.locked > K->most;
    s->ended = K->unfit;
    if (s->ended) goto out;
    if (K->a.locked > K->most)
        return wisp_ctx_failf(K->k->ctx, WISP_ERR_INCOMPLETE,
                              "eig: %d eigenvalues, and more of the last one's multiplet, of which opts.any takes some",
                              K->a.locked);
    WISP_TRY(wisp__arnoldi_room(&K->a, K->m));
    s->wanted = K->k->o.count;
    s->good = K->a.locked;
out:
    return status;
}

/* Where there is a polynomial, what it damps is known, and products may tell that nothing is missing; where they would
   take as long as the search, or do not tell, it is another search. A search finds outer values before others. Of inner
   ones it tells nothing: a Krylov space may come upon them last, and the whole space alone is a proof. */
wisp_status wisp__schur_missing(wisp__schur *K)
{
    wisp_status status = WISP_OK;
    wisp__arnoldi_at *at = &K->a.at;
    bool right = true, empty = false;
    if (at->phase != WISP__SEARCHES) K->doubtful = false;
    if (at->phase == WISP__FINDS) {
        at->checked = wisp__eig_begin_check(K->k);
        at->phase = WISP__BETWEEN;
        if (K->a.op.degree > 1) {
            const wisp__op *op = &K->a.op;
            const double edge = border(K, 1), damped = op->center + op->scale, far = op->center - op->scale;
            at->gap = (wisp__gap){K->a.locked, 1, K->first, edge, fmax(K->next, damped), far, K->k->o.tolerance};
            if (wisp__gap_steps(&K->a, &at->gap) * K->a.block <= (double)K->k->e->products) at->phase = WISP__GAPS;
        }
    }
    if (at->phase == WISP__GAPS) WISP_TRY(wisp__gap_empty(&K->a, &empty));
    for (bool more = !empty; more && !K->unfit;) {
        WISP_TRY(wisp__arnoldi_begin_search(&K->a, K->m, true));
        WISP_TRY(wisp__schur_run(K, look_beyond, take_more));
        at->phase = WISP__BETWEEN;
        more = at->more > 0;
        if (more && K->a.op.degree > 1) WISP_TRY(wisp__schur_measure(K, K->a.locked, &right));
        K->unfit |= !right;
    }
    K->proven = K->k->o.which != WISP_EIG_SMALLEST && K->k->o.which != WISP_EIG_NEAREST && !K->doubtful;
out:
    K->outline.set = 0;
    wisp__eig_end_check(K->k, &at->checked);
    return status;
}
