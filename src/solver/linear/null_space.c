/* Singular matrices whose null space is known: right-hand sides, solutions and what a preconditioner makes lose their
   part in it. So the solution is the shortest of all, and one with the least residual where b has a part that A does
   not reach. */
#include "krylov.h"
#include <stdlib.h>

wisp_status wisp__project(const wisp_blk *null, wisp_blk *x, double *part)
{
    wisp_ctx *ctx = wisp_blk_ctx(x);
    const int width = wisp_blk_width(x), columns = wisp_blk_width(null);
    wisp_scalar *dots = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &dots, (size_t)columns * (size_t)width, sizeof *dots));
    for (int round = 0; round < 2; round++) { /* the first one leaves rounding of all of x */
        WISP_TRY(wisp_tsm_gram(dots, width, wisp__real(1), null, x, wisp__real(0), 0));
        WISP_TRY(wisp_tsm_update(x, wisp__real(-1), null, dots, width, wisp__real(1)));
        for (int j = 0; j < width && part && round == 0; j++) {
            part[j] = 0;
            for (int i = 0; i < columns; i++)
                part[j] = hypot(part[j], hypot(dots[i * width + j].re, dots[i * width + j].im));
        }
    }
out:
    wisp_free(ctx, dots);
    return status;
}

/* ---- the vectors --------------------------------------------------------------------------------- */

/* Column j of Q becomes orthogonal to those before it, of length 1. */
static wisp_status make_column(wisp_solver *S, wisp_blk *Q, int j)
{
    const double least = wisp__is_single(S->type) ? 1e-4 : 1e-10;
    wisp_blk *own = NULL, *before = NULL;
    double norm[2];
    wisp_status status;
    WISP_TRY(wisp_blk_cols(&own, Q, j, 1));
    for (int round = 0; round < 2; round++) {
        WISP_TRY(wisp_norm(own, norm));
        if (!isfinite(norm[0]) || norm[0] == 0)
            WISP_TRY(wisp_ctx_failf(S->ctx, WISP_ERR_ARG, "solve: column %d of opts.null %s", j,
                                    norm[0] == 0 ? "is 0" : "holds a NaN or an infinity"));
        /* In two steps: one over the length of a very short one may be no number. */
        const int exponent = ilogb(norm[0]);
        WISP_TRY(wisp_vscal(own, &(wisp_scalar){ldexp(1, -exponent / 2), 0}));
        WISP_TRY(wisp_vscal(own, &(wisp_scalar){ldexp(1, -(exponent - exponent / 2)), 0}));
        WISP_TRY(wisp_vscal(own, &(wisp_scalar){1 / ldexp(norm[0], -exponent), 0}));
        if (j == 0) continue;
        if (!before) WISP_TRY(wisp_blk_cols(&before, Q, 0, j));
        WISP_TRY(wisp__project(before, own, NULL));
        WISP_TRY(wisp_norm(own, norm + 1));
        if (!(norm[1] > least))
            WISP_TRY(wisp_ctx_failf(S->ctx, WISP_ERR_ARG,
                                    "solve: column %d of opts.null is a combination of those before it: leave it out",
                                    j));
    }
    WISP_TRY(wisp_norm(own, norm));
    WISP_TRY(wisp_vscal(own, &(wisp_scalar){1 / norm[0], 0}));
out:
    wisp_blk_free(own);
    wisp_blk_free(before);
    return status;
}

/* Some hundred epsilons. What is more may be a row's whole sum, where other rows have far larger entries: then the
   matrix is not singular, and its solution another one. */
static double tolerance_of(const wisp_solver *S)
{
    wisp_mat_info info;
    wisp_mat_get_info(S->A, &info);
    return wisp__is_single(S->type) || wisp__is_single(info.type) ? 1e-6 : 1e-13;
}

/* A makes nothing of Q, beside what it makes of random vectors; and whether A^H does, too: |<q, A v>| of random v tells
   |A^H q|, unless v is nearly orthogonal to that, which two of them are not together. */
static wisp_status check_vectors(wisp_solver *S, wisp_blk *Q, double largest)
{
    enum { TRIES = 2 };
    const int columns = wisp_blk_width(Q);
    const double most = tolerance_of(S);
    wisp_blk *x = NULL, *y = NULL, *AQ = NULL;
    wisp_scalar *dots = NULL;
    double *norm = NULL, made[TRIES], size = largest;
    wisp_status status;
    WISP_TRY(wisp_blk_create(&x, S->ctx, wisp_mat_map(S->A), S->type, TRIES));
    WISP_TRY(wisp_blk_create(&y, S->ctx, wisp_mat_map(S->A), S->type, TRIES));
    WISP_TRY(wisp_blk_create(&AQ, S->ctx, wisp_mat_map(S->A), S->type, columns));
    WISP_TRY(wisp_alloc(S->ctx, &norm, (size_t)columns, sizeof *norm));
    WISP_TRY(wisp_alloc(S->ctx, &dots, (size_t)columns * TRIES, sizeof *dots));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 0, WISP__STREAM_SOLVE, 0));
    WISP_TRY(wisp_spmmv(AQ, S->A, Q, NULL));
    WISP_TRY(wisp_norm(AQ, norm));
    WISP_TRY(wisp_norm(x, made));
    for (int i = 0; i < TRIES; i++) made[i] = made[i] > 0 ? 1 / made[i] : 0;
    WISP_TRY(wisp_vscal(x, (wisp_scalar[]){{made[0], 0}, {made[1], 0}}));
    WISP_TRY(wisp_spmmv(y, S->A, x, NULL));
    WISP_TRY(wisp_norm(y, made));
    for (int i = 0; i < TRIES; i++) size = fmax(size, made[i]);
    for (int j = 0; j < columns; j++)
        if (!(norm[j] <= most * size))
            WISP_TRY(wisp_ctx_failf(S->ctx, WISP_ERR_ARG,
                                    "solve: column %d of opts.null, of length 1 and orthogonal to those before it, is "
                                    "not in the null space: A makes a vector of length %.2g of it, where A is of size "
                                    "%.2g",
                                    j, norm[j], size));
    WISP_TRY(wisp_tsm_gram(dots, TRIES, wisp__real(1), Q, y, wisp__real(0), 0));
    S->null_left = true;
    for (int i = 0; i < columns * TRIES; i++) S->null_left &= hypot(dots[i].re, dots[i].im) <= most * size;
out:
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_blk_free(AQ);
    wisp_free(S->ctx, norm);
    wisp_free(S->ctx, dots);
    return status;
}

static wisp_status take_null(wisp_solver *S, double largest)
{
    const wisp_blk *null = S->o.null;
    wisp_map *map = wisp_mat_map(S->A);
    wisp_blk *Q = NULL;
    wisp_status status = WISP_OK;
    if (!null || S->null) return WISP_OK;
    if (wisp_blk_map(null) != map || wisp_blk_nrows(null) != wisp_map_local(map, NULL) ||
        wisp_blk_type(null) != S->type)
        return wisp_ctx_failf(S->ctx, WISP_ERR_MISMATCH,
                              "solve: opts.null must be on the matrix's map, with all rows, and of the type of b, %s",
                              wisp_type_name(S->type));
    const int columns = wisp_blk_width(null);
    WISP_TRY(wisp_blk_create(&Q, S->ctx, map, S->type, columns));
    WISP_TRY(wisp_copy(Q, null));
    for (int j = 0; j < columns; j++) WISP_TRY(make_column(S, Q, j));
    WISP_TRY(check_vectors(S, Q, largest));
    S->null = Q;
    Q = NULL;
out:
    wisp_blk_free(Q);
    return status;
}

/* ---- right-hand sides ---------------------------------------------------------------------------- */

/* A power of two that makes a column of this norm ordinary, so that its sums of squares stay in range. */
static double ordinary(const wisp__krylov *k, double norm)
{
    const int far = wisp__is_single(k->type) ? 20 : 300, most = wisp__is_single(k->type) ? 100 : 1000;
    const int e = norm > 0 && isfinite(norm) ? ilogb(norm) : 0;
    return abs(e) < far ? 1 : ldexp(1, e > most ? -most : e < -most ? most : -e);
}

/* What is left of a column that lies in the null space is rounding: it becomes 0. */
static wisp_status project_b(wisp__krylov *k, double *norm, double *part, wisp_scalar *factor)
{
    wisp_status status;
    WISP_TRY(wisp_norm(k->b, norm));
    WISP_TRY(wisp_copy(k->null_b, k->b));
    for (int j = 0; j < k->width; j++) factor[j] = wisp__real(ordinary(k, norm[j]));
    WISP_TRY(wisp_vscal(k->null_b, factor));
    WISP_TRY(wisp_norm(k->null_b, norm));
    WISP_TRY(wisp__project(k->of->null, k->null_b, part));
    for (int j = 0; j < k->width; j++)
        if (norm[j] > 0 && isfinite(norm[j])) k->s->null_part = fmax(k->s->null_part, fmin(part[j] / norm[j], 1));
    WISP_TRY(wisp_norm(k->null_b, part));
    for (int j = 0; j < k->width; j++) {
        const bool is_rounding = part[j] <= 16 * k->eps * norm[j];
        factor[j] = wisp__real(is_rounding ? 0 : 1 / factor[j].re);
    }
    WISP_TRY(wisp_vscal(k->null_b, factor));
    k->b = k->null_b;
out:
    return status;
}

/* Where A^H makes something of the vectors, what A reaches is not what is orthogonal to them: b stays. */
wisp_status wisp__null_begin(wisp__krylov *k)
{
    double *norm = NULL;
    wisp_scalar *factor = NULL;
    wisp_status status;
    WISP_TRY(take_null(k->of, k->anorm));
    if (!k->of->null || !k->of->null_left) goto out;
    WISP_TRY(wisp_alloc(k->ctx, &norm, 2 * (size_t)k->width, sizeof *norm));
    WISP_TRY(wisp_alloc(k->ctx, &factor, (size_t)k->width, sizeof *factor));
    WISP_TRY(wisp_blk_create(&k->null_b, k->ctx, wisp_mat_map(k->A), k->type, k->width));
    WISP_TRY(project_b(k, norm, norm + k->width, factor));
    if (k->s->null_part > fmax(k->o.tolerance, 100 * k->eps) && wisp_ctx_rank(k->ctx) == 0)
        wisp_ctx_logf(k->ctx, WISP_LOG_WARN,
                      "solve: a part of the right-hand side, %.1e of its length, lies in the null space, where the "
                      "matrix does not reach it: it is left out, and x makes the residual least",
                      k->s->null_part);
out:
    wisp_free(k->ctx, norm);
    wisp_free(k->ctx, factor);
    return status;
}
