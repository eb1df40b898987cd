/* The preconditioner on the left. The methods know of none then: their products are M^-1 A (wisp__multiply), and their
   r is M^-1 (b - A x). All that is said of columns is said of |b - A x|. That is computed from x as ever; in between it
   is taken to be the norm of the method's r, times the ratio that both had when they were computed last. */
#include "krylov.h"
#include <math.h>

static bool is_off(const wisp__krylov *k, const wisp__krylov_column *c)
{
    (void)k;
    return c->broken != WISP_OK;
}

wisp_status wisp__take_side(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    for (int j = 0; j < k->width; j++) k->col[j].ratio = 1;
    if (!k->left) goto out;
    wisp_blk **z = wisp__left_block(k), *r = k->r;
    WISP_TRY(wisp__left_of_r(k));
    k->r = *z, *z = r;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        const double own = k->own[j].re, ratio = c->verified / own;
        if (c->done) continue;
        if (ratio > 1e-200 && ratio < 1e200)
            c->ratio = ratio;
        else
            c->broken = WISP_ERR_BREAKDOWN;
        if (c->verified == c->best) c->own_best = own;
        if (own < 0.99 * c->own_least) c->stalls = 0, c->own_least = own; /* |r| may rise for a while */
    }
    status = wisp__erase(k, k->r, wisp__list(k, is_off));
out:
    return status;
}
