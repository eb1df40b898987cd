/* Block Lanczos with (A - center)^-1: the pairs nearest to a number. What it finds is proven by Sylvester's law of
   inertia (Ericsson and Ruhe 1980, Math. Comp. 35, 1251; Grimes, Lewis and Simon 1994, SIAM J. Matrix Anal. Appl. 15,
   228): the factors of A - shift I tell how many eigenvalues lie below the shift. */
#include "inverse.h"
#include "lanczos.h"

static double distance_of(const wisp__lanczos *L, int i) { return fabs(L->value[i] - L->k->o.target); }

void wisp__lanczos_nearest(const wisp__eig *k, const double *theta, const double *residual, int *first, int *found)
{
    int from = *first, to = *first + *found;
    for (int bad = to; bad >= from;) {
        for (bad = to - 1; bad >= from && residual[bad] <= k->o.tolerance;) bad--;
        if (bad < from) break;
        if (k->o.target - theta[from] > theta[to - 1] - k->o.target) /* the farther end goes */
            from++;
        else
            to--;
    }
    *first = from;
    *found = to - from;
}

/* So far from a value that is not on the border the eigenvalue may be that it stands for, with the rounding of counts:
   a factorization is that of a matrix that differs from A by some units. */
static double room_of(const wisp__lanczos *L)
{
    const wisp__eig *k = L->k;
    const wisp_bounds *b = &k->e->bounds;
    return 2 * k->o.tolerance * k->scale + 1e3 * DBL_EPSILON * (b->halfwidth + fabs(b->center));
}

/* No value that was locked lies so near to this border that it might be on either side of it. */
static bool is_clear(const wisp__lanczos *L, double radius, double room)
{
    for (int i = 0; i < L->a.locked; i++)
        if (fabs(distance_of(L, i) - radius) < room / 4) return false;
    return true;
}

/* The least distance of a Ritz value or a locked one that is more than this. */
static double next_behind(const wisp__lanczos *L, double distance, bool locked)
{
    double next = INFINITY;
    for (int i = 0; i < (locked ? L->a.locked : L->looked); i++) {
        const double d = locked ? distance_of(L, i) : fabs(L->lambda[i] - L->k->o.target);
        if (d > distance) next = fmin(next, d);
    }
    return next;
}

/* How far from the target A's values are to be counted: beyond the last one that is wanted, and half the way to the
   next one as far as it is known. Any: before that one's multiplet. */
static double radius_of(const wisp__lanczos *L, double room)
{
    double last = wisp__lanczos_distance(L, L->k->o.count), next;
    if (L->k->o.any && last > room && is_clear(L, last - room, room)) return last - room;
    while ((next = next_behind(L, last, true)) - last < 4 * room) last = next;
    next = fmin(next, next_behind(L, last + 4 * room, false));
    return isfinite(next) ? (last + next) / 2 : last + 2 * room;
}

static wisp_status count(wisp__lanczos *L, double radius, int64_t *counted)
{
    wisp_status status = WISP_OK;
    int64_t below[2];
    for (int i = 0; i < 2; i++)
        WISP_TRY(wisp__inverse_below(L->k->inverse, L->k->o.target + (i ? radius : -radius), below + i));
    *counted = below[0] < 0 || below[1] < 0 ? -1 : below[1] - below[0];
out:
    return status;
}

static int locked_within(const wisp__lanczos *L, double radius)
{
    int n = 0;
    for (int i = 0; i < L->a.locked; i++) n += distance_of(L, i) <= radius;
    return n;
}

/* Values that were locked too few are searched for in what is orthogonal to those. */
static wisp_status prove(wisp__lanczos *L)
{
    enum { TRIES = 4 };
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = L->k->ctx;
    int64_t counted = -1;
    double radius = 0;
    for (int tries = 0; tries < TRIES; tries++) {
        radius = radius_of(L, room_of(L));
        WISP_TRY(count(L, radius, &counted));
        const int found = locked_within(L, radius);
        if (counted == found) return WISP_OK;
        wisp_ctx_logf(ctx, WISP_LOG_INFO, "eig: %lld eigenvalues lie within %.3g of the target, and %d were found",
                      (long long)counted, wisp__eig_shown(L->k, radius), found);
        if (counted < found) break;
        L->radius = radius;
        if (L->a.at.phase != WISP__SEARCHES) L->a.at.phase = WISP__BETWEEN; /* else it goes on */
        WISP_TRY(wisp__lanczos_search(L));
        L->a.at.phase = WISP__BETWEEN;
    }
    status = wisp_ctx_failf(ctx, WISP_ERR_INCOMPLETE,
                            "eig: %lld eigenvalues lie within %.6g of the target, by inertia, and %d were found",
                            (long long)counted, wisp__eig_shown(L->k, radius), locked_within(L, radius));
out:
    return status;
}

wisp_status wisp__lanczos_prove(wisp__lanczos *L)
{
    wisp__arnoldi_at *at = &L->a.at;
    if (!wisp__inverse_counts(L->k->inverse)) {
        const wisp_status status = wisp__lanczos_missing(L);
        if (status != WISP_OK) return status;
        return wisp_ctx_failf(L->k->ctx, WISP_ERR_INCOMPLETE,
                              "eig: products with the inverse prove nothing: nearer eigenvalues may be missing, unless "
                              "opts.below counts them");
    }
    if (at->phase == WISP__FINDS) at->checked = wisp__eig_begin_check(L->k);
    if (at->phase == WISP__FINDS) at->phase = WISP__BETWEEN;
    const wisp_status status = prove(L);
    wisp__eig_end_check(L->k, &at->checked);
    return status;
}
