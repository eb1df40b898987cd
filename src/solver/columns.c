/* The columns of a system that wisp_solve works on: their residuals from x, those that have ended, narrower blocks for
   those that are left. */
#include "krylov.h"
#include <math.h>
#include <string.h>

/* y becomes columns from[i] of x. */
static wisp_status pick(wisp_blk *y, wisp_blk *x, const int *from)
{
    wisp_blk *view = NULL;
    wisp_status status = wisp_blk_pick(&view, x, wisp_blk_width(y), from);
    if (status == WISP_OK) status = wisp_copy(y, view);
    wisp_blk_free(view);
    return status;
}

/* Column `to` of y becomes column `from` of x. */
static wisp_status copy_column(wisp_blk *y, int to, wisp_blk *x, int from)
{
    wisp_blk *view = NULL;
    wisp_status status = wisp_blk_cols(&view, y, to, 1);
    if (status == WISP_OK) status = pick(view, x, &from);
    wisp_blk_free(view);
    return status;
}

/* r = b - A x, and |r|^2 of each column. */
wisp_status wisp__residual(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp__clear(k);
    WISP_TRY(wisp_spmmv(k->r, k->A, k->x,
                        &(wisp_aug){.terms = WISP_SCALE | WISP_ADD | WISP_DOT_YY,
                                    .alpha = wisp__real(-1),
                                    .dot = k->dot,
                                    .u = k->b,
                                    .add = k->one}));
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done) k->col[j].verified = creal(wisp__dot_of(k, WISP__YY, j));
out:
    return status;
}

/* best = x in the columns that are better than ever; the others stay. */
wisp_status wisp__keep_best(wisp__krylov *k)
{
    bool any = false;
    for (int j = 0; j < k->width; j++) {
        wisp__column *c = &k->col[j];
        const bool better = !c->done && c->verified < c->best;
        wisp__factors(k, 0)[j] = wisp__real(better);
        wisp__factors(k, 1)[j] = wisp__real(!better);
        if (better) c->best = c->verified;
        any |= better;
    }
    if (!any) return WISP_OK;
    const wisp_update update = {k->best, 2,
                                (wisp_term[]){{k->x, wisp__factors(k, 0), NULL}, {k->best, wisp__factors(k, 1), NULL}}};
    return wisp_fuse(&update, 1, NULL, 0, 0);
}

/* A column has ended: its x is x[from], or the best. */
wisp_status wisp__end(wisp__krylov *k, int j, wisp_status why)
{
    wisp__column *c = &k->col[j];
    wisp_solution *s = k->s;
    const bool best = !(c->verified <= c->best);
    const double rr = best ? c->best : c->verified;
    c->done = true;
    s->status[c->of] = why;
    s->iterations_of[c->of] = c->iterations;
    s->residuals[c->of] = c->bb > 0 ? sqrt(rr / c->bb) : 0;
    return copy_column(k->user_x, c->of, best ? k->best : k->x, j);
}

static wisp_status narrow(wisp__krylov *k, wisp_blk **x, const int *from, int count, bool carry)
{
    wisp_blk *y = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, count));
    if (carry) WISP_TRY(pick(y, *x, from));
    wisp_blk_free(*x);
    *x = y;
    y = NULL;
out:
    wisp_blk_free(y);
    return status;
}

/* Blocks of half the width or less, where so many columns have ended. A method without resume starts anew, and needs
   nothing of its own blocks. */
wisp_status wisp__compact(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    int left = 0, *from = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &from, (size_t)k->width, sizeof *from));
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done) from[left++] = j;
    if (left == 0 || 2 * left > k->width) goto out;
    if (!k->own_b) {
        WISP_TRY(wisp_blk_create(&k->own_b, k->ctx, wisp_mat_map(k->A), k->type, k->width));
        WISP_TRY(wisp_copy(k->own_b, k->b));
    }
    WISP_TRY(narrow(k, &k->own_b, from, left, true));
    k->b = k->own_b;
    WISP_TRY(narrow(k, &k->x, from, left, true));
    WISP_TRY(narrow(k, &k->r, from, left, true));
    WISP_TRY(narrow(k, &k->best, from, left, true));
    for (int i = 0; i < k->blocks; i++) WISP_TRY(narrow(k, &k->v[i], from, left, k->method->resume));
    for (int i = 0; i < left; i++) k->col[i] = k->col[from[i]];
    /* Dots that are not summed over the ranks yet go along. */
    for (int set = 0; set < k->sets; set++)
        for (int i = 0; i < left; i++) k->dot[set * left + i] = k->dot[set * k->width + from[i]];
    k->width = left;
out:
    wisp_free(k->ctx, from);
    return status;
}

void wisp__free_blocks(wisp__krylov *k)
{
    for (int i = 0; i < k->blocks; i++) wisp_blk_free(k->v[i]);
    wisp_free(k->ctx, k->v);
    k->v = NULL;
    k->blocks = 0;
}

wisp_status wisp__make_blocks(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const int n = k->method->blocks(k);
    WISP_TRY(wisp_alloc(k->ctx, &k->v, (size_t)n, sizeof *k->v));
    for (; k->blocks < n; k->blocks++)
        WISP_TRY(wisp_blk_create(&k->v[k->blocks], k->ctx, wisp_mat_map(k->A), k->type, k->width));
out:
    return status;
}
