/* Orthonormal columns. */
#include "eigen.h"

/* One Cholesky-QR: columns become V R^-1. */
static wisp_status cholesky(wisp_blk *V, int n, wisp_scalar *G, int *good)
{
    wisp_status status = wisp_tsm_gram(G, n, wisp__real(1), V, V, wisp__real(0), 0);
    if (status == WISP_OK)
        status = wisp__dense_cholesky(wisp_blk_ctx(V), wisp_type_is_complex(wisp_blk_type(V)), n, G, good);
    if (status == WISP_OK && *good == n) status = wisp_tsm_update(V, wisp__real(1), V, G, n, wisp__real(0));
    return status;
}

wisp_status wisp__orthonormal(wisp_blk *V, const wisp_blk *Q, double condition, wisp__ortho *how)
{
    wisp_status status = WISP_OK;
    const int n = wisp_blk_width(V), q = Q ? wisp_blk_width(Q) : 0;
    wisp_scalar *G = NULL, *P = NULL;
    int good;
    (void)condition;
    WISP_TRY(wisp_alloc(wisp_blk_ctx(V), &G, (size_t)n * (size_t)n, sizeof *G));
    WISP_TRY(wisp_alloc(wisp_blk_ctx(V), &P, (size_t)n * (size_t)(q + 1), sizeof *P));
    for (int i = 0; i < 2; i++) {
        if (q > 0) WISP_TRY(wisp_tsm_gram(P, n, wisp__real(1), Q, V, wisp__real(0), 0));
        if (q > 0) WISP_TRY(wisp_tsm_update(V, wisp__real(-1), Q, P, n, wisp__real(1)));
        WISP_TRY(cholesky(V, n, G, &good));
        if (good < n) {
            status = wisp_ctx_fail(wisp_blk_ctx(V), WISP_ERR_BREAKDOWN, "rank lost");
            goto out;
        }
    }
    *how = (wisp__ortho){.rung = 2, .rank = n};
out:
    wisp_free(wisp_blk_ctx(V), G);
    wisp_free(wisp_blk_ctx(V), P);
    return status;
}
