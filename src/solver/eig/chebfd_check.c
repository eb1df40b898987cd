/* What may be missing beside the pairs that were found: a look by fresh random columns, and the density of states. */
#include "chebfd.h"

/* Fresh random columns, orthogonal to the space. */
static wisp_status begin_check(wisp__chebfd *c, int columns)
{
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    wisp_blk *V = NULL;
    wisp__ortho how;
    c->checked = wisp__eig_begin_check(k);
    WISP_TRY(wisp_alloc(k->ctx, &c->fresh_theta, 2 * (size_t)columns, sizeof *c->fresh_theta));
    WISP_TRY(wisp_blk_create(&c->fresh, k->ctx, wisp_mat_map(k->A), k->type, columns));
    WISP_TRY(wisp_blk_cols(&V, c->space, 0, c->columns));
    WISP_TRY(wisp_blk_fill_random(c->fresh, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_EIG, (uint32_t)c->random));
    c->random += columns;
    WISP_TRY(wisp__orthonormal(c->fresh, V, 1, &how));
    c->at.rank = how.rank;
    c->at.time = 0;
    c->at.turned = false;
    c->at.phase = WISP__CHECKS;
out:
    wisp_blk_free(V);
    return status;
}

static void end_check(wisp__chebfd *c)
{
    wisp__eig_end_check(c->k, &c->checked);
    wisp_free(c->k->ctx, c->fresh_theta);
    wisp_blk_free(c->fresh);
    c->fresh_theta = NULL;
    c->fresh = NULL;
}

/* They are filtered once. */
static wisp_status filter_fresh(wisp__chebfd *c, int terms)
{
    wisp_status status = WISP_OK;
    wisp_blk *kept = NULL, *V = NULL;
    wisp__ortho how;
    const bool known = c->is_single && c->at.time > 0;
    WISP_TRY(wisp_blk_cols(&V, c->space, 0, c->columns));
    WISP_TRY(wisp_blk_cols(&kept, c->fresh, 0, c->at.rank));
    if (known && !c->at.turned) WISP_TRY(wisp__ritz(c->k, c->fresh, 0, c->at.rank, c->fresh_theta));
    c->at.turned = true;
    WISP_TRY(wisp__chebfd_apply(c, kept, 0, c->at.rank, terms, known ? c->fresh_theta : NULL));
    c->at.through = 0;
    WISP_TRY(wisp__orthonormal(kept, V, 0, &how));
    c->at.rank = how.rank;
    c->at.turned = false;
out:
    wisp_blk_free(V);
    wisp_blk_free(kept);
    return status;
}

/* How many of them have become pairs in the target. */
static wisp_status count_fresh(wisp__chebfd *c, int *found)
{
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    const int n = c->at.rank;
    double *theta = c->fresh_theta, *residual = theta + wisp_blk_width(c->fresh);
    const double limit = wisp__chebfd_narrow(c);
    WISP_TRY(wisp__ritz(k, c->fresh, 0, n, theta));
    WISP_TRY(wisp__ritz_residuals(k, c->fresh, 0, n, theta, residual));
    for (int i = 0; i < n; i++) {
        const double r = residual[i] * k->scale;
        const bool inside = theta[i] - r >= c->low && theta[i] + r <= c->high; /* for sure */
        *found += inside || (r <= limit && theta[i] >= c->low - r && theta[i] <= c->high + r);
    }
out:
    return status;
}

/* Fresh random columns are filtered: what the space lacks in the target comes forth. *found becomes the number of such
   pairs. */
static wisp_status search_again(wisp__chebfd *c, int *found)
{
    wisp_status status = WISP_OK;
    const wisp__chebfd_check check = wisp__chebfd_plan_check(c);
    const int columns = wisp__chebfd_fresh(c);
    *found = 0;
    if (columns <= 0) return WISP_OK; /* the space is all there is */
    if (c->at.phase != WISP__CHECKS) WISP_TRY(begin_check(c, columns));
    for (; c->at.time < check.times && c->at.rank > 0; c->at.time++) WISP_TRY(filter_fresh(c, check.terms));
    if (c->at.rank > 0) WISP_TRY(count_fresh(c, found));
out:
    c->at.phase = WISP__FILTERS;
    end_check(c);
    return status;
}

/* Whether the density agrees with what was found: *missing eigenvalues, of which the randomness of its vectors explains
   `explained` or fewer. */
static wisp_status agrees(wisp__chebfd *c, double bars, bool *yes, double *missing, double *explained)
{
    double *theta = NULL, error;
    int n = 0;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_alloc(c->k->ctx, &theta, (size_t)c->columns, sizeof *theta));
    for (int i = 0; i < c->columns; i++)
        if (wisp__chebfd_converged(c, i) || (c->residual[i] <= wisp__chebfd_sharp(c) && !wisp__chebfd_in_target(c, i)))
            theta[n++] = c->theta[i];
    WISP_TRY(wisp__chebfd_compare(c, n, theta, missing, &error));
    *explained = bars * error + 0.5;
    *yes = isfinite(*explained) && fabs(*missing) <= *explained;
out:
    wisp_free(c->k->ctx, theta);
    return status;
}

/* Rounding may keep residuals above the width of the target: then they do not tell which pairs belong to it. */
static wisp_status can_tell(const wisp__chebfd *c)
{
    double most = 0;
    for (int i = 0; i < c->columns; i++)
        if (wisp__chebfd_converged(c, i) && wisp__chebfd_in_target(c, i)) most = fmax(most, c->residual[i]);
    if (!(c->high > c->low) || most * c->k->scale <= c->high - c->low) return WISP_OK;
    return wisp_ctx_failf(
        c->k->ctx, WISP_ERR_INCOMPLETE, "eig: residuals of up to %.1e do not tell which pairs belong to %.6g .. %.6g",
        wisp__eig_shown(c->k, most * c->k->scale), wisp__eig_shown(c->k, c->low), wisp__eig_shown(c->k, c->high));
}

wisp_status wisp__chebfd_verify(wisp__chebfd *c, bool *more)
{
    wisp_status status = WISP_OK;
    int found = 0;
    double missing = 0, explained = 0;
    bool fine = false;
    for (; c->at.tries < 3 && found == 0 && !fine; c->at.tries++) { /* further looks where the density disagrees */
        WISP_TRY(search_again(c, &found));
        WISP_TRY(agrees(c, c->at.tries + 1, &fine, &missing, &explained));
    }
    c->at.tries = 0;
    *more = found > 0;
    if (found > 0) {
        wisp_ctx_logf(c->k->ctx, WISP_LOG_INFO, "eig: %d or more pairs were missing; the space grows", found);
        c->least = c->search + c->width; /* random columns, which have a share in them */
    }
    if (!*more && !fine)
        status = wisp_ctx_failf(
            c->k->ctx, WISP_ERR_INCOMPLETE,
            "eig: the density of states and the pairs that were found differ by %.1f eigenvalues near "
            "%.6g .. %.6g, where random vectors explain %.1f, but further ones show no pair that is missing",
            missing, wisp__eig_shown(c->k, c->low), wisp__eig_shown(c->k, c->high), explained);
    if (!*more && fine) status = can_tell(c);
    if (!*more && status == WISP_OK) c->k->e->complete = 1;
out:
    return status;
}
