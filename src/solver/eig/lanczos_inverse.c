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
   a factorization is that of a matrix that differs from A by some units, or of a pencil that C is near to. */
static double room_of(const wisp__lanczos *L)
{
    const wisp__eig *k = L->k;
    const wisp_bounds *b = &k->e->bounds;
    return 2 * k->o.tolerance * k->scale +
           wisp__inverse_count_error(k->inverse) * fmax(b->halfwidth + fabs(b->center), L->a.op.scale);
}

/* No value that was locked lies so near to this border that it might be on either side of it. */
static bool is_clear(const wisp__lanczos *L, double radius, double room)
{
    for (int i = 0; i < L->a.locked; i++)
        if (fabs(distance_of(L, i) - radius) < room / 2) return false;
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

/* Any: nothing is asked of what comes no more than two tolerances before the last one that is wanted, so that its
   multiplet need not be counted. 0: the target is of that itself, and nothing has to be counted; below 0: there is no
   such place that is clear. */
static double radius_before(const wisp__lanczos *L, double last, double room)
{
    if (last <= room) return 0;
    for (int i = 0; i < 4; i++) {
        const double radius = last - room * (1 - i / 8.0);
        if (is_clear(L, radius, room)) return radius;
    }
    return -1;
}

/* How far from the target A's values are to be counted: beyond the last one that is wanted, and half the way to the
   next one as far as it is known. */
static double radius_of(const wisp__lanczos *L, double room)
{
    double last = wisp__lanczos_distance(L, L->k->o.count), next;
    const double before = L->k->o.any ? radius_before(L, last, room) : -1;
    if (before >= 0) return before;
    while ((next = next_behind(L, last, true)) - last < 4 * room) last = next;
    next = fmin(next, next_behind(L, last + 4 * room, false));
    return isfinite(next) ? (last + next) / 2 : last + 2 * room;
}

/* Where a border is an eigenvalue there are no factors: then both go out a little, as far as they stay clear. -1:
   nothing tells. */
static wisp_status count(wisp__lanczos *L, double *radius, double room, int64_t *counted)
{
    enum { PLACES = 4 };
    wisp_status status = WISP_OK;
    const double from = *radius;
    *counted = -1;
    for (int place = 0; place < PLACES && *counted < 0; place++) {
        int64_t below[2] = {-1, -1};
        *radius = from + place * room / 16;
        for (int i = 0; i < 2 && (i == 0 || below[0] >= 0); i++)
            WISP_TRY(wisp__inverse_below(L->k->inverse, L->k->o.target + (i ? *radius : -*radius), below + i));
        if (below[0] >= 0 && below[1] >= 0) *counted = below[1] - below[0];
    }
out:
    return status;
}

static int locked_within(const wisp__lanczos *L, double radius)
{
    int n = 0;
    for (int i = 0; i < L->a.locked; i++) n += distance_of(L, i) <= radius;
    return n;
}

/* Why what was found is not all. */
static wisp_status refuse(const wisp__lanczos *L, double radius, int64_t counted)
{
    wisp_ctx *ctx = L->k->ctx;
    const double asked = wisp__inverse_asked(L->k->inverse), target = wisp__eig_shown(L->k, asked),
                 shown = wisp__eig_shown(L->k, radius + fabs(asked - L->k->o.target));
    const int found = locked_within(L, radius);
    if (counted < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_INCOMPLETE,
                              "eig: the eigenvalues within %.6g of %.10g can't be counted: A is singular at either end",
                              shown, target);
    if (L->a.locked > L->most)
        return wisp_ctx_failf(ctx, WISP_ERR_INCOMPLETE,
                              "eig: %lld eigenvalues lie within %.6g of the target, by inertia, %d were found, and at "
                              "most %d are kept; opts.any asks for some of them",
                              (long long)counted, shown, found, L->most);
    if (counted < found)
        return wisp_ctx_failf(ctx, WISP_ERR_INCOMPLETE,
                              "eig: %d eigenvalues were found within %.6g of the target, and inertia counts %lld: "
                              "rounding spoils the count",
                              found, shown, (long long)counted);
    return wisp_ctx_failf(ctx, WISP_ERR_INCOMPLETE,
                          "eig: %lld eigenvalues lie within %.6g of the target, by inertia, and %d were found",
                          (long long)counted, shown, found);
}

/* What is missing up to the radius is searched for in what is orthogonal to that which was found. anew: the radius will
   be another one once some are found. */
static wisp_status search(wisp__lanczos *L, double radius, bool anew)
{
    L->radius = radius;
    L->enough = anew ? L->k->o.count : 0;
    if (L->a.at.phase != WISP__SEARCHES) L->a.at.phase = WISP__BETWEEN; /* else it goes on */
    const wisp_status status = wisp__lanczos_search(L);
    L->a.at.phase = WISP__BETWEEN;
    return status;
}

/* Values that were locked too few are searched for, as long as searches find some. Those within a radius are counted
   once: it holds for what is found later, too, unless that lies on the border. */
static wisp_status prove(wisp__lanczos *L)
{
    enum { IN_VAIN = 3 };
    wisp_status status = WISP_OK;
    const double room = room_of(L);
    int64_t counted = -1;
    double radius = 0;
    bool anew = false;
    for (int in_vain = 0; in_vain < IN_VAIN;) {
        if (counted < 0 || anew || !is_clear(L, radius, room)) {
            radius = radius_of(L, room);
            if (radius == 0) return WISP_OK;
            WISP_TRY(count(L, &radius, room, &counted));
        }
        const int found = locked_within(L, radius);
        if (counted == found) {
            L->k->e->proof = WISP_PROOF_INERTIA;
            return WISP_OK;
        }
        if (counted < found || L->a.locked > L->most) break;
        anew = L->k->o.any || counted > L->most; /* fewer may do, once those nearer are known */
        wisp_ctx_logf(L->k->ctx, WISP_LOG_INFO,
                      "eig: %lld eigenvalues lie within %.3g of the target, and %d were found", (long long)counted,
                      wisp__eig_shown(L->k, radius), found);
        const int before = L->a.locked;
        WISP_TRY(search(L, radius, anew));
        in_vain = L->a.locked > before ? 0 : in_vain + 1;
    }
    status = refuse(L, radius, counted);
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
