/* MINRES (Paige and Saunders 1975; with a preconditioner: Elman, Silvester and Wathen 2005, algorithm 2.4) in two
   passes and one reduction: Lanczos vectors u are not normalised, so that their norms come with the dots of the next
   product; x follows in the pass that makes the next vector. With a preconditioner it makes the residual least in the
   norm of M^-1; how far |r| is from that norm is found whenever r is computed from x. */
#include "krylov.h"
#include <math.h>

enum { U0, U1, Q, W0, W1, Z0, Z1 }; /* in turn: u_k-1 and u_k; A z_k; directions of x; z = M^-1 u */
enum { BB = WISP_SET_DOT };         /* <u, z>; with a preconditioner in wisp__rz_set(k, BB) */

static int blocks(const wisp__krylov *k) { return k->P ? 7 : 5; }

static wisp_status scalars(wisp__krylov *k, wisp_step step)
{
    double number[WISP_NUMBERS] = {
        [WISP_NUMBER_PRECOND] = k->P ? wisp__rz_set(k, BB) - WISP_SET_DOT : 0, [WISP_NUMBER_UNIT] = k->unit};
    return wisp__scalars(k, step, number);
}

static int fuses(const wisp__krylov *k) { return !k->separate && k->o.precond == WISP_JACOBI; }

/* Updates, the last one of u, and <u, z>; z = M^-1 u as well, where that is by a diagonal, or there is no M. */
static wisp_status make_u(wisp__krylov *k, wisp_update *update, int updates, wisp_blk *u, wisp_blk *z)
{
    const wisp_term of_z = {.x = u, .rows = k->rows};
    const bool apart = k->P && !k->rows;
    if (k->rows) update[updates] = (wisp_update){z, 1, &of_z};
    return wisp__pass(k, update, updates + (k->rows ? 1 : 0),
                      &(wisp_inner){.x = u, .y = k->P ? z : u, .dot_at = wisp__at(k, BB)}, apart ? 0 : 1);
}
/* Where it is not there by that. */
static wisp_status make_z(wisp__krylov *k)
{
    return k->P && !k->rows ? wisp__precondition(k, k->v[Z1], k->v[U1], BB) : WISP_OK;
}

static void swap(wisp__krylov *k, int a)
{
    wisp_blk *first = k->v[a];
    k->v[a] = k->v[a + 1];
    k->v[a + 1] = first;
}

static wisp_status advance(wisp__krylov *k, bool first)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__multiply(k, k->v[Q], k->v[k->P ? Z1 : U1], WISP_DOT_XY, NULL));
    WISP_TRY(wisp__sum_dots(k, k->aside ? BB + 1 : wisp__rz_set(k, BB) + 1));
    WISP_TRY(scalars(k, first ? WISP_STEP_MINRES_FIRST : WISP_STEP_MINRES));
    WISP_TRY(wisp__clear(k));
    const wisp_blk *z = k->v[k->P ? Z0 : U0];
    wisp_blk *u = k->v[U0], *w = k->v[W0];
    wisp_term of_w[] = {wisp__times(k, z, WISP_MINRES_F_V), wisp__times(k, k->v[W1], WISP_MINRES_F_W),
                        wisp__times(k, w, WISP_MINRES_F_WOLD)};
    wisp_term of_x[] = {{.x = k->x}, wisp__times(k, w, WISP_MINRES_F_PHI)};
    wisp_term of_u[] = {wisp__times(k, k->v[Q], WISP_MINRES_F_Q), wisp__times(k, k->v[U1], WISP_MINRES_F_U),
                        wisp__times(k, u, WISP_MINRES_F_OLD)};
    wisp_update update[4] = {{w, 3, of_w}, {k->x, 2, of_x}, {u, 3, of_u}};
    WISP_TRY(make_u(k, update + (first ? 2 : 0), first ? 1 : 3, u, k->P ? k->v[Z0] : NULL));
    swap(k, U0);
    swap(k, W0);
    if (k->P) swap(k, Z0);
    status = make_z(k);
out:
    return status;
}

static wisp_status start(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__tell(k, true));
    for (int j = 0; j < k->width; j++) wisp__set(k, WISP_MINRES_CS)[j] = wisp__real(-1);
    WISP_TRY(wisp__send(k, WISP_MINRES_CS, 1));
    WISP_TRY(wisp__clear(k));
    for (int i = W0; i <= W1; i++) WISP_TRY(wisp_blk_fill(k->v[i], wisp__real(0)));
    wisp_update update[2] = {{k->v[U1], 1, (wisp_term[]){{.x = k->r}}}};
    WISP_TRY(make_u(k, update, 1, k->v[U1], k->P ? k->v[Z1] : NULL));
    WISP_TRY(make_z(k));
    WISP_TRY(advance(k, true));
out:
    return status;
}

/* The recurrence goes on as it is, unless |r| has left it. The dot of the last step is made again. */
static wisp_status resume(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__tell(k, false));
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        if (!wisp__going(c)) continue;
        const double phi = wisp__set(k, WISP_MINRES_PHI)[j].re;
        wisp_scalar *scale = &wisp__set(k, WISP_MINRES_SCALE)[j];
        if (!(phi > 0) || (!k->P && c->rr > 2 * (phi * phi * scale->re))) return start(k);
        scale->re = c->rr / (phi * phi);
    }
    WISP_TRY(wisp__send(k, WISP_MINRES_SCALE, 1));
    WISP_TRY(wisp__clear(k));
    const wisp_blk *u = k->v[U1], *z = k->v[k->P ? Z1 : U1];
    WISP_TRY(wisp__pass(k, NULL, 0, &(wisp_inner){.x = u, .y = z, .dot_at = wisp__at(k, wisp__rz_set(k, BB))}, 1));
out:
    return status;
}

static wisp_status step(wisp__krylov *k) { return advance(k, false); }
static wisp_status hear(wisp__krylov *k, int iterations) { return wisp__hear(k, iterations, NULL); }

static bool keeps(const wisp__krylov *k, int i)
{
    (void)k;
    return i != Q;
}

static double moves(const wisp__krylov *k)
{
    if (k->separate) return k->P ? 17 : 18;
    return k->P ? 10 + fuses(k) : 9;
}

/* Residuals never rise, so that in turn one which is as when it was verified before has stalled. But a large one may be
   the least there is, of which a proof decides. With a preconditioner |r| is verified where its other norm promises
   enough. */
static bool in_turn(const wisp__krylov *k)
{
    enum { EVERY = 50 };
    return k->s->iterations % EVERY == 0;
}
static bool is_time(const wisp__krylov *k, int claimed) { return k->P ? claimed > 0 : in_turn(k); }
static bool stalls(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return in_turn(k) && c->verified < sqrt(k->eps) * c->bb;
}

/* It may be for that reason that it can't go on. */
static bool asks(const wisp__krylov *k, const wisp__krylov_column *c)
{
    (void)k;
    return c->broken == WISP_ERR_BREAKDOWN || c->iterations == 0;
}

const wisp__method wisp__minres = {.name = "minres",
                                   .blocks = blocks,
                                   .start = start,
                                   .resume = resume,
                                   .step = step,
                                   .hear = hear,
                                   .keeps = keeps,
                                   .rz = BB,
                                   .fuses = fuses,
                                   .moves = moves,
                                   .products = 1,
                                   .far = wisp__far,
                                   .is_time = is_time,
                                   .stalls = stalls,
                                   .asks = asks,
                                   .definite = "another preconditioner, or GMRES",
                                   .instead = "take opts.method = WISP_GMRES, or a positive definite preconditioner",
                                   .allows = "the arithmetic allows no less",
                                   .general = "WISP_BICGSTAB or WISP_GMRES",
                                   .drops = true,
                                   .is_best = true};
