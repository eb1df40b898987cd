/* The search space of Chebyshev filter diagonalization. */
#include "chebfd.h"
#include <stdlib.h>

wisp_status wisp__chebfd_fill_up(wisp__chebfd *c)
{
    wisp_blk *part = NULL;
    const int n = c->search - c->columns;
    if (n == 0) return WISP_OK;
    wisp_status status = wisp_blk_cols(&part, c->space, c->columns, n);
    if (status == WISP_OK)
        status = wisp_blk_fill_random(part, WISP_RANDOM_GAUSS, c->k->o.seed, WISP__STREAM_EIG, (uint32_t)c->random);
    wisp_blk_free(part);
    c->columns = c->search;
    c->random += n;
    return status;
}

static wisp_status resize(wisp_ctx *ctx, double **array, int before, int after)
{
    double *more;
    const wisp_status status = wisp_alloc(ctx, &more, (size_t)after, sizeof *more);
    if (status != WISP_OK) return status;
    for (int i = 0; i < after; i++) more[i] = i < before ? (*array)[i] : INFINITY;
    wisp_free(ctx, *array);
    *array = more;
    return WISP_OK;
}

wisp_status wisp__chebfd_space(wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    wisp_blk *source = c->space, *more = NULL, *from = NULL, *to = NULL;
    wisp_scalar *factor = NULL; /* of the user's vectors */
    int *order, n = c->columns;
    if (!source && k->o.start && c->at.phase == WISP__LOOKS) { /* else it is in the state already */
        source = (wisp_blk *)(uintptr_t)k->o.start;            /* which is read alone */
        n = wisp_blk_width(source);
        if (n > c->search) wisp_ctx_logf(k->ctx, WISP_LOG_WARN, "eig: %d of %d start vectors are used", c->search, n);
        n = n < c->search ? n : c->search;
        WISP_TRY(wisp__eig_start_factors(k, &factor));
    }
    if (!c->space || c->search > wisp_blk_width(c->space)) {
        wisp__chebfd_free_blocks(c); /* while both spaces are held */
        WISP_TRY(wisp_blk_create(&more, k->ctx, wisp_mat_map(k->A), k->type, c->search));
        if (n > 0) {
            WISP_TRY(wisp_blk_cols(&from, source, 0, n));
            WISP_TRY(wisp_blk_cols(&to, more, 0, n));
            WISP_TRY(wisp_copy(to, from));
            if (factor) WISP_TRY(wisp_vscal(to, factor));
        }
        wisp_blk_free(c->space);
        c->space = more;
        more = NULL;
    }
    WISP_TRY(resize(k->ctx, &c->theta, c->columns, c->search));
    WISP_TRY(resize(k->ctx, &c->residual, c->columns, c->search));
    c->columns = n;
    WISP_TRY(wisp_alloc(k->ctx, &order, (size_t)c->search, sizeof *order));
    wisp_free(k->ctx, c->order);
    c->order = order;
    WISP_TRY(wisp__chebfd_blocks(c));
    k->e->search = c->search;
out:
    wisp_blk_free(from);
    wisp_blk_free(to);
    wisp_blk_free(more);
    wisp_free(k->ctx, factor);
    return status;
}

wisp_status wisp__chebfd_permute(wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    const int n = c->columns;
    wisp_status status = WISP_OK;
    wisp_scalar *P = NULL;
    double *old = NULL;
    wisp_blk *V = NULL;
    bool same = true;
    for (int i = 0; i < n; i++) same &= c->order[i] == i;
    if (same) return WISP_OK;
    const double before = wisp_now();
    WISP_TRY(wisp_alloc(k->ctx, &P, (size_t)n * (size_t)n, sizeof *P));
    WISP_TRY(wisp_alloc(k->ctx, &old, 2 * (size_t)n, sizeof *old));
    for (int i = 0; i < n; i++) {
        old[i] = c->theta[i];
        old[n + i] = c->residual[i];
        P[(size_t)c->order[i] * (size_t)n + (size_t)i] = wisp__real(1);
    }
    for (int i = 0; i < n; i++) {
        c->theta[i] = old[c->order[i]];
        c->residual[i] = old[n + c->order[i]];
    }
    WISP_TRY(wisp_blk_cols(&V, c->space, 0, n));
    WISP_TRY(wisp_tsm_update(V, wisp__real(1), V, P, n, wisp__real(0)));
out:
    k->e->ritz_seconds += wisp_now() - before;
    wisp_free(k->ctx, P);
    wisp_free(k->ctx, old);
    wisp_blk_free(V);
    return status;
}

void wisp__chebfd_free(wisp__chebfd *c)
{
    for (size_t i = 0; i < sizeof c->view / sizeof *c->view; i++) wisp_blk_free(c->view[i]);
    wisp__chebfd_close_batch(c);
    wisp_blk_free(c->fresh);
    wisp_free(c->k->ctx, c->fresh_theta);
    free(c->plan.f.c);
    free(c->mean.mu);
    wisp__chebfd_free_blocks(c);
    wisp_mat_free(c->copy);
    wisp_blk_free(c->space);
    wisp_free(c->k->ctx, c->theta);
    wisp_free(c->k->ctx, c->residual);
    wisp_free(c->k->ctx, c->order);
}
