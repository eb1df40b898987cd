/* Methods whose residuals rise and fall keep an earlier x, before one rises: columns may end with that. */
#include "krylov.h"
#include <math.h>

double wisp__low_of(const wisp__krylov *k, const wisp__krylov_column *c)
{
    const wisp__low *own = wisp__own(k, c);
    return own->rr > 0 ? own->rr : INFINITY;
}

void wisp__set_low(const wisp__krylov *k, const wisp__krylov_column *c, double rr)
{
    ((wisp__low *)wisp__own(k, c))->rr = isfinite(rr) ? rr : 0;
}

bool wisp__has_low(const wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done && wisp__low_of(k, &k->col[j]) < k->col[j].best) return true;
    return false;
}

static bool has_moved(const wisp__krylov *k, const wisp__krylov_column *c)
{
    (void)k;
    return c->moved;
}
static bool moved_for_nothing(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return c->moved && !(c->verified <= wisp__low_of(k, c));
}

/* x and the kept one change places where that has moved. The recurrence may have promised too much: then they change
   back. */
static wisp_status take_lows(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *low = k->v[k->method->low(k)];
    int n = wisp__list(k, has_moved);
    WISP_TRY(wisp__copy_some(k->r, k->list, k->x, k->list, n));
    WISP_TRY(wisp__copy_some(k->x, k->list, low, k->list, n));
    WISP_TRY(wisp__copy_some(low, k->list, k->r, k->list, n));
    for (int i = 0; i < n; i++) {
        wisp__krylov_column *c = &k->col[k->list[i]];
        c->rr = wisp__low_of(k, c); /* until it is known */
        wisp__set_low(k, c, c->verified);
    }
    WISP_TRY(wisp__residual(k));
    n = wisp__list(k, moved_for_nothing);
    if (n == 0) goto out;
    WISP_TRY(wisp__copy_some(k->x, k->list, low, k->list, n));
    WISP_TRY(wisp__residual(k));
out:
    return status;
}

wisp_status wisp__recall_low(wisp__krylov *k, bool last)
{
    bool any = false;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        const bool fails = c->claimed || c->broken != WISP_OK;
        const bool ends = last || !isfinite(c->verified) || (fails && c->stalls >= WISP__MOST_STALLS - 1);
        /* One that can go on does so from where it is, unless that is far worse. */
        const double less = ends ? 1 : c->broken != WISP_OK ? 0.25 : 0;
        c->moved = !c->done && !(c->verified <= c->target) && wisp__low_of(k, c) < less * fmin(c->verified, c->best);
        any |= c->moved;
    }
    const wisp_status status = any ? take_lows(k) : WISP_OK;
    for (int j = 0; j < k->width && status == WISP_OK; j++)
        if (k->col[j].moved) wisp__set_low(k, &k->col[j], INFINITY);
    return status;
}
