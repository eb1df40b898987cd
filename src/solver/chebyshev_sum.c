/* Sums of Chebyshev polynomials of a matrix, times the columns of a block. */
#include "solver.h"

wisp_status wisp__chebyshev_sum_open(wisp__chebyshev_sum *s, int most_sums, int steps)
{
    s->steps = steps;
    return wisp_alloc(wisp_mat_ctx(s->A), &s->factor, (size_t)(3 + most_sums) * (size_t)steps, sizeof *s->factor);
}

void wisp__chebyshev_sum_close(wisp__chebyshev_sum *s)
{
    wisp_free(wisp_mat_ctx(s->A), s->factor);
    s->factor = NULL;
}

wisp_status wisp__chebyshev_sum_begin(wisp__chebyshev_sum *s)
{
    wisp_status status = WISP_OK;
    s->step = 0;
    for (int i = 0; i < s->sums; i++) WISP_TRY(wisp_axpby(s->z[i], s->coefficient(s->arg, i, 0), s->v, wisp__real(0)));
out:
    return status;
}

wisp_status wisp__chebyshev_sum_next(wisp__chebyshev_sum *s, int *count)
{
    const int64_t left = s->terms - 1 - s->step;
    const int n = left < s->steps ? (int)left : s->steps;
    wisp_scalar *alpha = s->factor, *beta = alpha + s->steps, *gamma = beta + s->steps, *eta = gamma + s->steps;
    int depth = 1;
    *count = n;
    for (int j = 0; j < n; j++) {
        wisp__chebyshev_step(s->bounds, s->step + j, alpha + j, beta + j, gamma + j);
        for (int i = 0; i < s->sums; i++) eta[i * n + j] = s->coefficient(s->arg, i, s->step + j + 1);
    }
    const wisp_mpk_opts o = {.steps = n,
                             .alpha = alpha,
                             .beta = beta,
                             .gamma = gamma,
                             .sums = s->sums,
                             .z = s->z,
                             .eta = eta,
                             .depth = s->depth,
                             .cache_budget = s->cache_budget,
                             .depth_used = &depth};
    const wisp_status status = wisp_mpk((wisp_blk *[]){s->w, s->v}, 2, s->A, &o);
    if (depth > s->depth_used) s->depth_used = depth; /* the last steps of a sequence may be fewer */
    if (n % 2) {
        wisp_blk *v = s->v;
        s->v = s->w;
        s->w = v;
    }
    if (status == WISP_OK) s->step += n;
    return status;
}
