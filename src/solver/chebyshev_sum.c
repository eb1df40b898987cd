/* Sums of Chebyshev polynomials of a matrix, times the columns of a block. */
#include "solver.h"
#include <math.h>
#include <stdio.h>

wisp_status wisp__chebyshev_sum_open(wisp__chebyshev_sum *s, int most_sums, int steps)
{
    s->steps = steps;
    s->most_sums = most_sums;
    return wisp_alloc(wisp_mat_ctx(s->A), &s->factor, (size_t)(3 + most_sums) * (size_t)steps, sizeof *s->factor);
}

void wisp__chebyshev_sum_close(wisp__chebyshev_sum *s)
{
    wisp_free(wisp_mat_ctx(s->A), s->factor);
    wisp__bank_close(s->bank);
    s->factor = NULL, s->bank = NULL;
}

wisp_status wisp__chebyshev_sum_begin(wisp__chebyshev_sum *s)
{
    wisp_status status = WISP_OK;
    s->step = 0;
    for (int i = 0; i < s->sums; i++) WISP_TRY(wisp_axpby(s->z[i], s->coefficient(s->arg, i, 0), s->v, wisp__real(0)));
out:
    return status;
}

/* n of the next steps, with their terms. */
static wisp_status make_steps(wisp__chebyshev_sum *s, int n)
{
    wisp_scalar *alpha = s->factor, *beta = alpha + s->steps, *gamma = beta + s->steps, *eta = gamma + s->steps;
    int depth = 1;
    for (int j = 0; j < n; j++) {
        if (s->ellipse)
            wisp__faber_step(s->ellipse, s->step + j, alpha + j, beta + j, gamma + j);
        else
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
    wisp_blk *const v[2] = {s->w, s->v};
    const wisp_status status = wisp__bank_steps(s->bank, v, s->A, &o);
    if (depth > s->depth_used) s->depth_used = depth; /* the last steps of a sequence may be fewer */
    if (n == 1) s->v = v[0], s->w = v[1];
    if (status == WISP_OK) s->step += n;
    return status;
}

wisp_status wisp__chebyshev_sum_next(wisp__chebyshev_sum *s, int *count)
{
    const int64_t left = s->terms - 1 - s->step;
    const int n = left < s->steps ? (int)left : s->steps;
    wisp_status status = WISP_OK;
    int most = n;
    *count = n;
    if (s->bank && !wisp__bank_fits(s->bank, s->v)) wisp__bank_close(s->bank), s->bank = NULL;
    if (n > 0 && !s->bank) status = wisp__bank_open(&s->bank, s->v, s->most_sums, s->little);
    if (n > 0 && status == WISP_OK) status = wisp__bank_most(s->bank, s->v, s->sums, &most);
    const int at_once = n < most ? n : most;
    for (int done = 0, some; done < n && status == WISP_OK; done += some) {
        some = n - done < at_once ? n - done : at_once;
        status = make_steps(s, some);
    }
    return status == WISP_OK ? wisp_ctx_finish(wisp_mat_ctx(s->A)) : status; /* what callers tell their users is done */
}

/* T_n v of the last step is no longer than v, unless the spectrum leaves the bounds. A part of v outside, however
   small, grows like exp(n a), cosh a its distance from the center in halfwidths; while it is no longer than v, the
   terms that are left out of it are those of the tolerance, but for a factor of about that distance. The norm of a
   sum would show its square alone. */
wisp_status wisp__chebyshev_sum_check(const wisp__chebyshev_sum *s, const double *start, double *norm)
{
    const double a = wisp__rounded_edge(s->bounds, s->A, wisp_blk_type(s->v)), rounded = cosh(a * (double)s->step);
    const double most = 2 * fmin(rounded, 2); /* also at the very edge; where it makes more the sum is no good */
    const wisp_status status = wisp_norm(s->v, norm);
    if (status != WISP_OK) return status;
    for (int j = 0; j < wisp_blk_width(s->v); j++) {
        if (norm[j] <= most * start[j]) continue;
        const wisp_bounds *b = s->bounds;
        char to[32] = "beyond all numbers";
        if (isfinite(norm[j])) snprintf(to, sizeof to, "to %.6g", norm[j]);
        return wisp_ctx_failf(wisp_mat_ctx(s->A), WISP_ERR_BOUNDS,
                              "a Chebyshev vector of column %d grows from norm %.6g %s: the matrix has eigenvalues "
                              "beyond the bounds %.10g to %.10g; take wider opts.bounds%s%s",
                              j, start[j], to, b->center - b->halfwidth, b->center + b->halfwidth, wisp__or_none(b),
                              wisp__or_rounding(norm[j] <= 2 * rounded * start[j]));
    }
    return WISP_OK;
}

wisp_status wisp__chebyshev_sum_bytes(wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                                      const wisp__chebyshev_size *size, double *about, double *most)
{
    enum { LITTLE = 48 << 10, FACTORS = 64 }; /* of a column, spread over rows */
    const wisp_mpk_opts some = {.steps = size->steps, .depth = size->depth};
    const double held = (double)(A->local_rows + A->halo_rows);
    const double blocks = (double)(size->blocks + (size->sums > 1 && !size->little ? WISP__BANK_BLOCKS : 0)) * width *
                          (double)wisp_type_size(type) * held;
    wisp_plan products, pass;
    wisp_status status;
    WISP_TRY(wisp_fuse_plan(&pass, ctx, A->local_rows, type, width, size->most_sums * (1 + WISP__BANK), 0));
    WISP_TRY(wisp_mpk_plan(&products, ctx, A, type, width, &some, NULL));
    *about = blocks + (double)products.bytes;
    *most = blocks + (double)products.bytes_most + wisp_dot_bytes(held, width) + FACTORS * width +
            (double)pass.bytes_most + wisp__bank_bytes(width, size->most_sums) +
            (3.0 + size->most_sums) * size->steps * sizeof(wisp_scalar) + 2.0 * width * sizeof(double) + LITTLE;
out:
    return status;
}
