/* Passes over blocks, products and reductions of the methods of wisp_solve: fused, or (classical) one op at a time. */
#include "krylov.h"
#include <string.h>

void wisp__clear(wisp__krylov *k) { memset(k->dot, 0, (size_t)k->sets * (size_t)k->width * sizeof *k->dot); }

/* So many blocks as large as x went to or from memory. */
static void count(wisp__krylov *k, const wisp_blk *x, int blocks)
{
    if (!k->counting) return;
    k->bytes += (double)wisp_blk_nrows(x) * k->width * (double)wisp_type_size(k->type) * blocks;
}

/* One op for each term: y = c x + d y begins, with the term of y itself, then y += c x. */
static wisp_status update_apart(wisp__krylov *k, const wisp_update *u)
{
    const wisp_scalar *own = NULL;
    bool begun = false;
    wisp_status status = WISP_OK;
    for (int t = 0; t < u->terms; t++)
        if (u->term[t].x == u->y) own = u->term[t].factor ? u->term[t].factor : k->one;
    for (int t = 0; t < u->terms; t++) {
        const wisp_term *m = &u->term[t];
        if (m->x == u->y) continue;
        const wisp_scalar *c = m->factor ? m->factor : k->one, *d = begun ? k->one : own;
        WISP_TRY(wisp_vaxpby(u->y, c, m->x, d ? d : k->zero));
        count(k, u->y, d ? 3 : 2);
        begun = true;
    }
    if (begun || !own) goto out;
    WISP_TRY(wisp_vscal(u->y, own));
    count(k, u->y, 2);
out:
    return status;
}

static wisp_status pass_apart(wisp__krylov *k, const wisp_update *update, int updates, const wisp_inner *inner,
                              int inners)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < updates; i++) WISP_TRY(update_apart(k, &update[i]));
    for (int i = 0; i < inners; i++) {
        WISP_TRY(wisp_dot(inner[i].x, inner[i].y, inner[i].dot));
        count(k, inner[i].x, inner[i].x == inner[i].y ? 1 : 2);
    }
out:
    return status;
}

wisp_status wisp__pass(wisp__krylov *k, const wisp_update *update, int updates, const wisp_inner *inner, int inners)
{
    if (k->separate) return pass_apart(k, update, updates, inner, inners);
    if (k->counting) {
        wisp_cost cost;
        const wisp_status status = wisp_fuse_cost(update, updates, inner, inners, &cost);
        if (status != WISP_OK) return status;
        k->bytes += cost.bytes;
    }
    return wisp_fuse(update, updates, inner, inners, WISP_NOREDUCE);
}

wisp_status wisp__multiply(wisp__krylov *k, wisp_blk *y, const wisp_blk *x, unsigned dots, const wisp_blk *u)
{
    wisp_status status = WISP_OK;
    const unsigned factor = k->a_exponent ? WISP_SCALE : 0, terms = factor | (k->separate ? 0 : dots | WISP_NOREDUCE);
    if (k->counting) {
        wisp_cost cost;
        WISP_TRY(wisp_spmmv_cost(k->A, k->type, k->width, terms, &cost));
        k->bytes += cost.bytes;
    }
    const wisp_scalar alpha = wisp__real(wisp__a_factor(k));
    WISP_TRY(wisp_spmmv(y, k->A, x, &(wisp_aug){.terms = terms, .alpha = alpha, .dot = k->dot, .u = u}));
    if (!k->separate) goto out;
    const wisp_inner inner[] = {{.x = x, .y = y, .dot = wisp__dots(k, WISP__XY)},
                                {.x = y, .y = y, .dot = wisp__dots(k, WISP__YY)},
                                {.x = u, .y = y, .dot = wisp__dots(k, WISP__UY)}};
    static const unsigned of[] = {WISP_DOT_XY, WISP_DOT_YY, WISP_DOT_UY};
    for (int i = 0; i < 3; i++)
        if (dots & of[i]) WISP_TRY(pass_apart(k, NULL, 0, inner + i, 1));
out:
    return status;
}

wisp_status wisp__precondition(wisp__krylov *k, wisp_blk *z, const wisp_blk *r, int set)
{
    wisp_scalar *rz = wisp__dots(k, set);
    const wisp_status status = wisp__precond_apply(k->P, z, r, rz);
    return status == WISP_OK && k->separate ? wisp_ctx_sum(k->ctx, &rz->re, 2 * (size_t)k->width) : status;
}

wisp_status wisp__sum_dots(wisp__krylov *k, int sets)
{
    return k->separate ? WISP_OK : wisp_ctx_sum(k->ctx, &k->dot->re, 2 * (size_t)sets * (size_t)k->width);
}

wisp_status wisp__start_dots(wisp__krylov *k, int sets)
{
    return wisp_ctx_sum_start(k->ctx, &wisp__dots(k, WISP__FREE)->re, 2 * (size_t)sets * (size_t)k->width);
}

wisp_status wisp__wait_for_dots(wisp__krylov *k) { return wisp_ctx_sum_wait(k->ctx); }
