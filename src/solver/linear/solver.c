/* A solver that is kept, as the user has it: what survives its calls is in kept.c. */
#include "krylov.h"

wisp_status wisp_solver_create(wisp_solver **out, const wisp_mat *A, wisp_type type, int width,
                               const wisp_solve_opts *opts)
{
    WISP_NEED(wisp_mat_ctx(A), out);
    *out = NULL;
    WISP_NEED(NULL, A);
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_mat_info info;
    wisp_status status;
    wisp_solver *S = NULL;
    wisp_mat_get_info(A, &info);
    if (type == WISP_DEFAULT) type = info.type;
    if (width < 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: a solver for blocks of width %d; at least 1 is needed", width);
    WISP_TRY(wisp_alloc(ctx, &S, 1, sizeof *S));
    *S = (wisp_solver){.ctx = ctx, .A = A, .type = type, .width = width};
    if (opts) S->o = *opts;
    WISP_TRY(wisp__solver_check(S));
    *out = S;
    S = NULL;
out:
    wisp_free(ctx, S);
    return status;
}

wisp_status wisp_solver_solve(wisp_solver *S, wisp_solution *s, wisp_blk *x, const wisp_blk *b, int guess)
{
    WISP_NEED(wisp_blk_ctx(x), S);
    WISP_NEED(S->ctx, x);
    WISP_NEED(S->ctx, b);
    return wisp__solve_once(S, s, x, b, guess);
}

void wisp_solver_update(wisp_solver *S)
{
    if (S) wisp__solver_update(S);
}

void wisp_solver_free(wisp_solver *S)
{
    if (!S) return;
    wisp__solver_empty(S);
    wisp_free(S->ctx, S);
}
