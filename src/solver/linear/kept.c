/* A solver that is kept: its preconditioner, and the blocks of its calls, which take them and give them back. A call
   begins with blocks as new ones would be, and ends in what a solver of its own would have made, bit by bit. */
#include "krylov.h"
#include <math.h>

wisp_status wisp__take_block(wisp__krylov *k, wisp_blk **x, wisp_map *map, bool written)
{
    wisp_solver *S = k->of;
    int i = k->width == S->width ? S->spares - 1 : -1;
    while (i >= 0 && wisp_blk_map(S->spare[i]) != map) i--;
    if (i >= 0) {
        *x = S->spare[i];
        S->spare[i] = S->spare[--S->spares];
        return written ? WISP_OK : wisp_blk_fill(*x, wisp__real(0));
    }
    return (written ? wisp_blk_create_raw : wisp_blk_create)(x, k->ctx, map, k->type, k->width);
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
        wisp_solve_opts o = k->o;
        wisp__solver_forget(S);
        o.null = S->null;
        WISP_TRY(wisp__precond_make(&S->P, S->A, factor, &o, k->method->definite, S->type, S->width, spectrum));
        wisp__precond_project(S->P, S->null, S->null_left);
        S->factor = factor;
        S->definite = k->method->definite;
    }
    *(k->o.side == WISP_SIDE_LEFT ? &k->left : &k->P) = S->P;
out:
    return status;
}

void wisp__solver_forget(wisp_solver *S)
{
    wisp__precond_free(S->P);
    S->P = NULL;
}

void wisp__solver_update(wisp_solver *S)
{
    wisp__solver_forget(S);
    wisp_blk_free(S->null);
    S->null = NULL;
}

void wisp__solver_empty(wisp_solver *S)
{
    wisp__solver_update(S);
    while (S->spares > 0) wisp_blk_free(S->spare[--S->spares]);
}
