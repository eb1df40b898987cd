/* A solver that is kept: its preconditioner, and the blocks of its calls, which take them and give them back. A call
   begins with blocks as new ones would be, and ends in what a solver of its own would have made, bit by bit. */
#include "krylov.h"
#include <math.h>

wisp_status wisp__take_block(wisp__krylov *k, wisp_blk **x, bool written)
{
    wisp_solver *S = k->of;
    if (k->width == S->width && S->spares > 0) {
        *x = S->spare[--S->spares];
        return written ? WISP_OK : wisp_blk_fill(*x, wisp__real(0));
    }
    return (written ? wisp_blk_create_raw : wisp_blk_create)(x, k->ctx, wisp_mat_map(k->A), k->type, k->width);
}

void wisp__give_block(wisp__krylov *k, wisp_blk **x)
{
    enum { ROOM = sizeof k->of->spare / sizeof *k->of->spare };
    wisp_solver *S = k->of;
    if (*x && wisp_blk_width(*x) == S->width && S->spares < ROOM)
        S->spare[S->spares++] = *x;
    else
        wisp_blk_free(*x);
    *x = NULL;
}

/* A spectrum that is known comes with a state, into the first call alone. */
wisp_status wisp__take_precond(wisp__krylov *k, const double spectrum[2])
{
    wisp_solver *S = k->of;
    const double factor = wisp__a_factor(k);
    wisp_status status = WISP_OK;
    if (S->P) WISP_TRY(wisp__precond_begin(S->P));
    if (!S->P || S->factor != factor || S->definite != k->method->definite) {
        wisp__solver_forget(S);
        WISP_TRY(wisp__precond_make(&S->P, S->A, factor, &k->o, k->method->definite, S->type, S->width, spectrum));
        S->factor = factor;
        S->definite = k->method->definite;
    }
    k->P = S->P;
out:
    return status;
}

void wisp__solver_forget(wisp_solver *S)
{
    wisp__precond_free(S->P);
    S->P = NULL;
}

void wisp__solver_empty(wisp_solver *S)
{
    wisp__solver_forget(S);
    while (S->spares > 0) wisp_blk_free(S->spare[--S->spares]);
}

/* ---- as the user has it --------------------------------------------------------------------------- */

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
    if (S) wisp__solver_forget(S);
}

void wisp_solver_free(wisp_solver *S)
{
    if (!S) return;
    wisp__solver_empty(S);
    wisp_free(S->ctx, S);
}
