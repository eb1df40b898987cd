/* Conjugate gradients. Pipelined: algorithm 2 of Rupp et al. 2016; predict: PR-CG of Chen and Carson 2020; both take
   two passes and one reduction. Hidden: pipelined CG of Ghysels and Vanroose 2014, whose reduction goes on beside the
   product. With a preconditioner, and classical: the two reductions of Hestenes and Stiefel. */
#include "krylov.h"
#include <math.h>

enum { P, S, Z }; /* the direction, A p, M^-1 r */
/* Hidden: Y = A M^-1 s, W = A M^-1 r, N = A M^-1 w; with a preconditioner U = M^-1 r, Q = M^-1 s, M = M^-1 w. */
enum { Y = 2, W, N, U, Q, M, HIDDEN_BLOCKS };
/* Sets of dots. */
enum { RR = WISP_SET_DOT, SP, RZ = SP, WZ };

static bool hides(const wisp__krylov *k) { return k->o.variant == WISP_HIDDEN && !k->careful; }
static bool has_two_reductions(const wisp__krylov *k) { return !hides(k) && (k->separate || k->P || k->careful); }
static int blocks(const wisp__krylov *k)
{
    if (hides(k)) return k->P ? HIDDEN_BLOCKS : U;
    return k->P && !k->rows ? 3 : 2;
}

static wisp_status scalars(wisp__krylov *k, wisp_step step)
{
    double number[WISP_NUMBERS] = {[WISP_NUMBER_FAR] = wisp__far(k),
                                   [WISP_NUMBER_LEAST] = k->P ? 0 : (hides(k) ? k->eps : 1e-6) * k->anorm,
                                   [WISP_NUMBER_ROUNDING] = k->eps * k->anorm,
                                   [WISP_NUMBER_PRECOND] = k->P ? wisp__rz_set(k, RZ) - WISP_SET_DOT : 0,
                                   [WISP_NUMBER_PREDICT] = k->o.variant == WISP_PREDICT};
    return wisp__scalars(k, step, number);
}

/* <p, p> for the columns that ask for it: p has stayed as it was, for the steps that were queued behind have left them
   alone. again: the step that asked, to be made once more; 0: the next one will do. */
static wisp_status answer(wisp__krylov *k, wisp_step again)
{
    wisp_status status = WISP_OK;
    bool any = false;
    for (int j = 0; j < k->width; j++) any |= wisp__set(k, WISP_SET_STATE)[j].im == WISP_STATE_ASKS;
    if (!any) goto out;
    WISP_TRY(wisp_dot(k->v[P], k->v[P], k->other));
    for (int j = 0; j < k->width; j++) {
        wisp_scalar *state = &wisp__set(k, WISP_SET_STATE)[j];
        if (state->im != WISP_STATE_ASKS) continue;
        state->im = 0;
        wisp__set(k, WISP_CG_PP)[j] = wisp__real(k->other[j].re != 0 ? k->other[j].re : DBL_MIN); /* 0: not known */
    }
    WISP_TRY(wisp__send(k, WISP_SET_STATE, 1));
    WISP_TRY(wisp__send(k, WISP_CG_PP, 1));
    if (!again) goto out;
    WISP_TRY(scalars(k, again));
    WISP_TRY(wisp__bring(k, 0, k->sets));
out:
    return status;
}

/* With two reductions the next step asks no more. */
static wisp_status answer_all(wisp__krylov *k) { return answer(k, has_two_reductions(k) ? 0 : WISP_STEP_CG_AGAIN); }
static wisp_status hear(wisp__krylov *k, int iterations) { return wisp__hear(k, iterations, answer_all); }

/* ---- one reduction -------------------------------------------------------------------------------- */

/* p is multiplied. <r, A p> = <p, A p> - beta <p', A p> with the direction p' before, and <p', A p> = <A p', p>: both
   are at hand in the pass before, so that the product need not read r. */
static wisp_status multiply(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__multiply(k, k->v[S], k->v[P], WISP_DOT_XY | WISP_DOT_YY, NULL));
    WISP_TRY(wisp__sum_dots(k, SP + 1));
    WISP_TRY(scalars(k, WISP_STEP_CG));
out:
    return status;
}

/* x and r go on along p, p turns. */
static wisp_status advance(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *p = k->v[P], *s = k->v[S];
    WISP_TRY(wisp__clear(k));
    const wisp_update update[] = {
        {k->x, 2, (wisp_term[]){{.x = k->x}, wisp__times(k, p, WISP_CG_F_ALPHA)}},
        {k->r, 2, (wisp_term[]){{.x = k->r}, wisp__times(k, s, WISP_CG_F_MINUS_ALPHA)}},
        {p, 2, (wisp_term[]){wisp__times(k, k->r, WISP_CG_F_R), wisp__times(k, p, WISP_CG_F_BETA)}}};
    const wisp_inner inner[] = {{.x = k->r, .y = k->r, .dot_at = wisp__at(k, RR)},
                                {.x = s, .y = p, .dot_at = wisp__at(k, SP)}};
    WISP_TRY(wisp__pass(k, update, 3, inner, k->o.variant == WISP_PREDICT ? 2 : 1));
    /* Until |r|^2 is known: x is kept or left by this if the product is interrupted. */
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j]) && k->look_every == 1 && wisp__number(k, WISP_CG_ALPHA, j) != 0)
            k->col[j].rr *= wisp__set(k, WISP_CG_BETA)[j].re;
    status = multiply(k);
out:
    return status;
}

static wisp_status begin_once(wisp__krylov *k, bool fresh)
{
    wisp_status status = WISP_OK;
    if (!fresh) return scalars(k, WISP_STEP_CG_AGAIN);
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__pass(k, &(wisp_update){k->v[P], 1, (wisp_term[]){{.x = k->r}}}, 1,
                        &(wisp_inner){.x = k->r, .y = k->r, .dot_at = wisp__at(k, RR)}, 1));
    status = multiply(k);
out:
    return status;
}

/* ---- two reductions ------------------------------------------------------------------------------- */

/* z = M^-1 r and <r, z>, unless updates do that by the diagonal; and the reduction. */
static wisp_status precondition(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const bool apart = k->P && !k->rows;
    if (apart) WISP_TRY(wisp__precondition(k, k->v[Z], k->r, RZ));
    WISP_TRY(wisp__sum_dots(k, apart && !k->aside ? wisp__rz_set(k, RZ) + 1 : RZ + 1));
    WISP_TRY(scalars(k, WISP_STEP_CG_TURN));
out:
    return status;
}

/* p = M^-1 r + beta p, after x has gone on along p. */
static wisp_status turn(wisp__krylov *k, bool fresh)
{
    wisp_blk *p = k->v[P];
    const wisp_term z = {
        .x = k->P && !k->rows ? k->v[Z] : k->r, .rows = k->rows, .factor_at = wisp__at(k, WISP_CG_F_R)};
    const wisp_update update[] = {{k->x, 2, (wisp_term[]){{.x = k->x}, wisp__times(k, p, WISP_CG_F_ALPHA)}},
                                  {p, 2, (wisp_term[]){z, wisp__times(k, p, WISP_CG_F_BETA)}}},
                      first = {p, 1, &z};
    return fresh ? wisp__pass(k, &first, 1, NULL, 0) : wisp__pass(k, update, 2, NULL, 0);
}

static wisp_status dots_of_r(wisp__krylov *k, const wisp_update *update, int updates)
{
    const wisp_inner inner[] = {{.x = k->r, .y = k->r, .dot_at = wisp__at(k, RR)},
                                {.x = k->r, .y = k->r, .rows = k->rows, .dot_at = wisp__at(k, RZ)}};
    return wisp__pass(k, update, updates, inner, k->rows ? 2 : 1);
}

static wisp_status step_twice(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *s = k->v[S];
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__multiply(k, s, k->v[P], WISP_DOT_XY, NULL));
    WISP_TRY(wisp__sum_dots(k, WISP_SET_DOT));
    WISP_TRY(scalars(k, WISP_STEP_CG_LENGTH));
    if (k->look_every == 1) {
        WISP_TRY(wisp__bring(k, 0, k->sets));
        WISP_TRY(answer(k, WISP_STEP_CG_LENGTH));
    }
    WISP_TRY(wisp__clear(k));
    WISP_TRY(
        dots_of_r(k, &(wisp_update){k->r, 2, (wisp_term[]){{.x = k->r}, wisp__times(k, s, WISP_CG_F_MINUS_ALPHA)}}, 1));
    WISP_TRY(precondition(k));
    WISP_TRY(turn(k, false));
out:
    return status;
}

static wisp_status begin_twice(wisp__krylov *k, bool fresh)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__clear(k));
    WISP_TRY(dots_of_r(k, NULL, 0));
    WISP_TRY(precondition(k));
    if (fresh) WISP_TRY(turn(k, true));
out:
    return status;
}

/* ---- one reduction, hidden ------------------------------------------------------------------------ */

/* Without a preconditioner M^-1 v is v itself. */
static wisp_blk *image(const wisp__krylov *k, int i, wisp_blk *v) { return k->P ? k->v[i] : v; }

/* y = A M^-1 v */
static wisp_status multiply_image(wisp__krylov *k, wisp_blk *y, int i, wisp_blk *v)
{
    wisp_status status = WISP_OK;
    if (k->P) WISP_TRY(wisp__precond_apply(k->P, k->v[i], v, (wisp_place){0}));
    WISP_TRY(wisp__multiply(k, y, image(k, i, v), 0, NULL));
out:
    return status;
}

/* <r, r>, <r, M^-1 r> and <M^-1 r, A M^-1 r> after the updates. Their sum is on its way while n is computed. */
static wisp_status pass_and_hide(wisp__krylov *k, const wisp_update *update, int updates, wisp_step step)
{
    wisp_status status = WISP_OK;
    const wisp_blk *u = image(k, U, k->r);
    const wisp_inner inner[] = {{.x = k->r, .y = k->r, .dot_at = wisp__at(k, RR)},
                                {.x = k->r, .y = u, .dot_at = wisp__at(k, RZ)},
                                {.x = k->v[W], .y = u, .dot_at = wisp__at(k, WZ)}};
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__pass(k, update, updates, inner, 3));
    WISP_TRY(wisp__start_dots(k, WZ + 1 - WISP_SET_DOT));
    /* x is kept or left by this if the product is interrupted, where there is one rank. */
    for (int j = 0; j < k->width && k->sum_begun; j++)
        if (wisp__going(&k->col[j])) k->col[j].rr = wisp__set(k, RR)[j].re;
    WISP_TRY(multiply_image(k, k->v[N], M, k->v[W]));
    WISP_TRY(wisp__wait_for_dots(k));
    WISP_TRY(scalars(k, step));
out:
    return status;
}

/* The direction and its images are kept where r was only computed anew; all others follow from r. */
static wisp_status begin_hidden(wisp__krylov *k, bool fresh)
{
    wisp_status status = WISP_OK;
    WISP_TRY(multiply_image(k, k->v[W], U, k->r));
    if (!fresh) WISP_TRY(wisp__multiply(k, k->v[S], k->v[P], 0, NULL));
    if (!fresh) WISP_TRY(multiply_image(k, k->v[Y], Q, k->v[S]));
    WISP_TRY(pass_and_hide(k, NULL, 0, WISP_STEP_CG_HIDDEN_AGAIN));
out:
    return status;
}

static wisp_status step_hidden(wisp__krylov *k)
{
    wisp_blk *p = k->v[P], *s = k->v[S], *y = k->v[Y], *w = k->v[W], *u = image(k, U, k->r), *q = image(k, Q, s);
    enum { ALPHA = WISP_CG_F_ALPHA, MINUS = WISP_CG_F_MINUS_ALPHA, BETA = WISP_CG_F_BETA, NEW = WISP_CG_F_R };
    const wisp_update update[] = {{y, 2, (wisp_term[]){wisp__times(k, k->v[N], NEW), wisp__times(k, y, BETA)}},
                                  {s, 2, (wisp_term[]){wisp__times(k, w, NEW), wisp__times(k, s, BETA)}},
                                  {p, 2, (wisp_term[]){wisp__times(k, u, NEW), wisp__times(k, p, BETA)}},
                                  {k->x, 2, (wisp_term[]){{.x = k->x}, wisp__times(k, p, ALPHA)}},
                                  {k->r, 2, (wisp_term[]){{.x = k->r}, wisp__times(k, s, MINUS)}},
                                  {w, 2, (wisp_term[]){{.x = w}, wisp__times(k, y, MINUS)}},
                                  {q, 2, (wisp_term[]){wisp__times(k, image(k, M, w), NEW), wisp__times(k, q, BETA)}},
                                  {u, 2, (wisp_term[]){{.x = u}, wisp__times(k, q, MINUS)}}};
    return pass_and_hide(k, update, k->P ? 8 : 6, WISP_STEP_CG_HIDDEN);
}

/* ---- all ------------------------------------------------------------------------------------------ */

/* The direction that comes next is kept where r is only computed anew (van der Vorst and Ye 2000). */
static wisp_status begin(wisp__krylov *k, bool fresh)
{
    const wisp_status status = wisp__tell(k, fresh);
    if (status != WISP_OK) return status;
    if (hides(k)) return begin_hidden(k, fresh);
    return has_two_reductions(k) ? begin_twice(k, fresh) : begin_once(k, fresh);
}

static wisp_status start(wisp__krylov *k) { return begin(k, true); }
static wisp_status resume(wisp__krylov *k) { return begin(k, false); }
static wisp_status step(wisp__krylov *k)
{
    if (hides(k)) return step_hidden(k);
    return has_two_reductions(k) ? step_twice(k) : advance(k);
}

static bool keeps(const wisp__krylov *k, int i) { return hides(k) || i == P || (i == S && !has_two_reductions(k)); }

static int fuses(const wisp__krylov *k) { return !k->separate && k->o.variant != WISP_HIDDEN ? 2 : 0; }

/* Scalars or vectors come from recurrences that the classical one does not have. */
static bool can_be_careful(const wisp__krylov *k)
{
    return !k->careful && !k->separate && (!k->P || k->o.variant == WISP_HIDDEN);
}

static double moves(const wisp__krylov *k)
{
    if (hides(k)) return k->P ? 18 : 13;
    return k->separate ? 12 : has_two_reductions(k) ? 8 : 7;
}

const wisp__method wisp__cg = {
    .name = "cg",
    .blocks = blocks,
    .start = start,
    .resume = resume,
    .step = step,
    .hear = hear,
    .keeps = keeps,
    .fuses = fuses,
    .moves = moves,
    .products = 1,
    .far = wisp__far,
    .can_be_careful = can_be_careful,
    .variants = 1 << WISP_PREDICT | 1 << WISP_HIDDEN,
    .plain = 1 << WISP_PREDICT,
    .usual = WISP_PREDICT,
    .definite = "MINRES with another preconditioner, or GMRES",
    .instead = "take opts.method = WISP_MINRES or WISP_GMRES, and a positive definite preconditioner",
    .allows = "the arithmetic allows no less",
    .next = WISP_MINRES,
    .general = "WISP_BICGSTAB or WISP_GMRES",
    .chosen = true,
    .waits = true,
    .gives_up = true};
