/* MINRES (Paige and Saunders 1975; with a preconditioner: Elman, Silvester and Wathen 2005, algorithm 2.4) in two
   passes and one reduction: Lanczos vectors u are not normalised, so that their norms come with the dots of the next
   product; x follows in the pass that makes the next vector. With a preconditioner it makes the residual least in the
   norm of M^-1; how far |r| is from that norm is found whenever r is computed from x. */
#include "krylov.h"
#include <math.h>

enum { U0, U1, Q, W0, W1, Z0, Z1 }; /* in turn: u_k-1 and u_k; A z_k; directions of x; z = M^-1 u */
enum { F_Q, F_U, F_OLD, F_V, F_W, F_WOLD, F_PHI, FACTORS };
enum { BB = WISP__FREE };

static int blocks(const wisp__krylov *k) { return k->P ? 7 : 5; }

/* The rotation of step k - 1, whose last entry is beta_k. */
static void rotate(const wisp__krylov *k, wisp__krylov_column *c)
{
    const double old_epsilon = c->epsilon, delta = c->cs * c->dbar + c->sn * c->mu,
                 gbar = c->sn * c->dbar - c->cs * c->mu;
    c->epsilon = c->sn * c->b;
    c->dbar = -c->cs * c->b;
    const double gamma = hypot(gbar, c->b);
    c->w[0] = c->w[1] = c->w[2] = c->w[3] = 0;
    c->norm = fmax(c->norm, fabs(c->mu) + c->b + (c->root > 0 ? c->b_old : 0)); /* the first b_old is |r|, not of A */
    /* |A r| is |r| times the length of (gbar, dbar). Where that becomes rounding, no x has a smaller residual, and the
       next direction would be one along which A vanishes. In rounded arithmetic the recurrence may lose its way before,
       so it starts anew sooner. */
    const double root = hypot(gbar, c->dbar);
    if (c->root == 0) c->root = root;
    if (!(root > 1000 * k->eps * c->norm && root > pow(k->eps, 0.4) * c->root)) {
        c->broken = WISP_ERR_BREAKDOWN;
        return;
    }
    c->cs = gbar / gamma;
    c->sn = c->b / gamma;
    c->w[0] = 1 / (gamma * c->b_old); /* of z_k-1 */
    c->w[1] = -delta / gamma;
    c->w[2] = -old_epsilon / gamma;
    c->w[3] = c->cs * c->phi;
    c->phi *= c->sn;
    c->rr = c->phi * c->phi * c->scale;
}

/* <u_k, z_k> and <z_k, A z_k> are there: they end step k - 1 and begin step k. Vectors stay as long as r was in the
   beginning, and not about 1: so their dots have its unit. */
static void scalars(const wisp__krylov *k, wisp__krylov_column *c, int j, bool first)
{
    const double bb = k->unit * creal(wisp__dot_of(k, BB, j)), za = k->unit * creal(wisp__dot_of(k, WISP__XY, j));
    if (!isfinite(bb) || !isfinite(za) || bb < 0) {
        c->broken = bb < 0 ? WISP_ERR_INDEFINITE : WISP_ERR_BREAKDOWN;
        return;
    }
    c->b_old = c->b;
    c->b = sqrt(bb);
    if (first) {
        c->phi = c->b;
        c->scale = c->b > 0 ? c->rr / bb : 1;
    } else
        rotate(k, c);
    c->mu = c->b > 0 ? za / bb : 0;
    if (c->b == 0 && c->rr > c->target) c->broken = WISP_ERR_BREAKDOWN;
}

static void set_factors(const wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        double f[FACTORS] = {0};
        if (!c->done && !c->claimed) {
            const double by_b = c->b > 0 ? 1 / c->b : 0;
            f[F_V] = c->w[0], f[F_W] = c->w[1], f[F_WOLD] = c->w[2], f[F_PHI] = c->w[3];
            f[F_Q] = by_b, f[F_U] = -c->mu * by_b, f[F_OLD] = c->b_old > 0 ? -c->b / c->b_old : 0;
        }
        for (int i = 0; i < FACTORS; i++) wisp__factors(k, i)[j] = wisp__real(f[i]);
    }
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
    WISP_TRY(wisp__sum_dots(k, BB + 1));
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) scalars(k, &k->col[j], j, first);
    set_factors(k);
    wisp__clear(k);
    const wisp_blk *z = k->v[k->P ? Z0 : U0];
    wisp_blk *u = k->v[U0], *w = k->v[W0];
    const wisp_update update[] = {{w, 3,
                                   (wisp_term[]){{.x = z, .factor = wisp__factors(k, F_V)},
                                                 {.x = k->v[W1], .factor = wisp__factors(k, F_W)},
                                                 {.x = w, .factor = wisp__factors(k, F_WOLD)}}},
                                  {k->x, 2, (wisp_term[]){{.x = k->x}, {.x = w, .factor = wisp__factors(k, F_PHI)}}},
                                  {u, 3,
                                   (wisp_term[]){{.x = k->v[Q], .factor = wisp__factors(k, F_Q)},
                                                 {.x = k->v[U1], .factor = wisp__factors(k, F_U)},
                                                 {.x = u, .factor = wisp__factors(k, F_OLD)}}}};
    WISP_TRY(wisp__pass(k, update + (first ? 2 : 0), first ? 1 : 3,
                        &(wisp_inner){.x = u, .y = u, .dot = wisp__dots(k, BB)}, k->P ? 0 : 1));
    swap(k, U0);
    swap(k, W0);
    if (k->P) swap(k, Z0);
    if (k->P) WISP_TRY(wisp__precondition(k, k->v[Z1], k->v[U1], BB));
out:
    return status;
}

static wisp_status start(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        c->b = c->b_old = c->dbar = c->epsilon = c->sn = c->norm = c->root = 0;
        c->cs = -1;
    }
    wisp__clear(k);
    for (int i = W0; i <= W1; i++) WISP_TRY(wisp_blk_fill(k->v[i], wisp__real(0)));
    WISP_TRY(wisp__pass(k, &(wisp_update){k->v[U1], 1, (wisp_term[]){{.x = k->r}}}, 1,
                        &(wisp_inner){.x = k->r, .y = k->r, .dot = wisp__dots(k, BB)}, k->P ? 0 : 1));
    if (k->P) WISP_TRY(wisp__precondition(k, k->v[Z1], k->v[U1], BB));
    WISP_TRY(advance(k, true));
out:
    return status;
}

/* The recurrence goes on as it is, unless |r| has left it. The dot of the last step is made again. */
static wisp_status resume(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (!wisp__going(c)) continue;
        const double by_recurrence = c->phi * c->phi * c->scale;
        if (!(c->phi > 0) || (!k->P && c->rr > 2 * by_recurrence)) return start(k);
        c->scale = c->rr / (c->phi * c->phi);
    }
    wisp__clear(k);
    const wisp_blk *u = k->v[U1], *z = k->v[k->P ? Z1 : U1];
    return wisp__pass(k, NULL, 0, &(wisp_inner){.x = u, .y = z, .dot = wisp__dots(k, BB)}, 1);
}

static wisp_status step(wisp__krylov *k) { return advance(k, false); }

static bool keeps(const wisp__krylov *k, int i)
{
    (void)k;
    return i != Q;
}

const wisp__method wisp__minres = {"minres", blocks, start, resume, step, NULL, keeps, 0, false, true};
