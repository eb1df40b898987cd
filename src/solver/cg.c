/* Conjugate gradients. Pipelined: algorithm 2 of Rupp et al. 2016; predict: PR-CG of Chen and Carson 2020; both take
   two passes and one reduction. With a preconditioner, and classical: the two reductions of Hestenes and Stiefel. */
#include "krylov.h"
#include <math.h>

enum { P, S, Z }; /* the direction, A p, M^-1 r */
enum { ALPHA, MINUS_ALPHA, BETA };
enum { RR = WISP__FREE, SP, RZ = SP };

static bool has_two_reductions(const wisp__krylov *k) { return k->separate || k->P || k->careful; }
static int blocks(const wisp__krylov *k) { return k->P && !k->rows ? 3 : 2; }

static void set_factors(const wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        const double alpha = wisp__going(c) ? creal(c->alpha) : 0, beta = wisp__going(c) ? creal(c->beta) : 0;
        wisp__factors(k, ALPHA)[j] = wisp__real(alpha);
        wisp__factors(k, MINUS_ALPHA)[j] = wisp__real(-alpha);
        wisp__factors(k, BETA)[j] = wisp__real(beta);
    }
}

/* <p, A p> must be positive. Within the rounding of |A| |p|^2 it is no more than 0, as where a singular system has no
   solution; well below that the matrix is indefinite. |p| is looked for where the step is so long that this may be. A
   residual that grows without end is a sign of such a system, too. */
static wisp_status check_curvature(wisp__krylov *k)
{
    bool any = false;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (wisp__going(c) && c->rr * wisp__far(k) > c->best) c->broken = WISP_ERR_BREAKDOWN;
        const double least = k->P ? 0 : 1e-6 * k->anorm * c->rr;
        if (!wisp__going(c) || c->rr == 0 || (c->mu > least && isfinite(c->mu))) continue;
        c->broken = WISP_ERR_INDEFINITE;
        any = true;
    }
    if (!any) return WISP_OK;
    const wisp_status status = wisp_dot(k->v[P], k->v[P], wisp__dots(k, WISP__XX));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        const double rounding = k->eps * k->anorm * creal(wisp__dot_of(k, WISP__XX, j));
        if (c->broken != WISP_ERR_INDEFINITE) continue;
        if (c->mu > 10 * rounding && isfinite(c->mu))
            c->broken = WISP_OK;
        else if (!(-c->mu > 1000 * rounding))
            c->broken = WISP_ERR_BREAKDOWN;
    }
    return status;
}

/* ---- one reduction -------------------------------------------------------------------------------- */

/* From <r, r>, <p, A p>, <A p, A p> and <r, A p> to the length of the step and the factor of the next direction. */
static void scalars(const wisp__krylov *k, wisp__krylov_column *c)
{
    const double alpha = c->rr / c->mu, gamma = alpha * alpha * c->gamma;
    const double next = k->o.variant == WISP_PREDICT ? c->rr - 2 * alpha * c->delta + gamma : gamma - c->rr;
    c->alpha = alpha;
    c->beta = fmax(next, 0) / c->rr;
}

/* x and r go on along p, p turns, and is multiplied. <r, A p> = <p, A p> - beta <p', A p> with the direction p' before,
   and <p', A p> = <A p', p>: both are at hand in the pass, so that the product need not read r. */
static wisp_status advance(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *p = k->v[P], *s = k->v[S];
    set_factors(k);
    wisp__clear(k);
    const wisp_update update[] = {
        {k->x, 2, (wisp_term[]){{k->x, NULL, NULL}, {p, wisp__factors(k, ALPHA), NULL}}},
        {k->r, 2, (wisp_term[]){{k->r, NULL, NULL}, {s, wisp__factors(k, MINUS_ALPHA), NULL}}},
        {p, 2, (wisp_term[]){{k->r, NULL, NULL}, {p, wisp__factors(k, BETA), NULL}}}};
    const wisp_inner inner[] = {{k->r, k->r, NULL, wisp__dots(k, RR)}, {s, p, NULL, wisp__dots(k, SP)}};
    WISP_TRY(wisp__pass(k, update, 3, inner, k->o.variant == WISP_PREDICT ? 2 : 1));
    for (int j = 0; j < k->width; j++) /* until it is known; x would go with it if the product were interrupted */
        if (wisp__going(&k->col[j]) && k->col[j].alpha != 0) k->col[j].rr *= creal(k->col[j].beta);
    WISP_TRY(wisp__multiply(k, s, p, WISP_DOT_XY | WISP_DOT_YY, NULL));
    WISP_TRY(wisp__sum_dots(k, SP + 1));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (!wisp__going(c)) continue;
        c->rr = creal(wisp__dot_of(k, RR, j));
        c->mu = creal(wisp__dot_of(k, WISP__XY, j));
        c->gamma = creal(wisp__dot_of(k, WISP__YY, j));
        c->delta = c->mu;
        if (c->beta != 0) c->delta -= creal(c->beta) * creal(wisp__dot_of(k, SP, j));
    }
    WISP_TRY(check_curvature(k));
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j]) && k->col[j].rr > 0) scalars(k, &k->col[j]);
out:
    return status;
}

/* ---- two reductions ------------------------------------------------------------------------------- */

/* z = M^-1 r and <r, z>, unless updates do that by the diagonal; and the reduction. */
static wisp_status precondition(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    if (k->P && !k->rows) WISP_TRY(wisp__precondition(k, k->v[Z], k->r, RZ));
    WISP_TRY(wisp__sum_dots(k, RZ + 1));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (!wisp__going(c)) continue;
        const double before = c->rz;
        c->rr = creal(wisp__dot_of(k, RR, j));
        c->rz = k->P ? creal(wisp__dot_of(k, RZ, j)) : c->rr;
        if (c->rr > 0 && !(c->rz > 0)) c->broken = WISP_ERR_INDEFINITE;
        c->beta = before > 0 ? c->rz / before : 0;
    }
out:
    return status;
}

/* p = M^-1 r + beta p, after x has gone on along p. */
static wisp_status turn(wisp__krylov *k)
{
    wisp_blk *p = k->v[P];
    const wisp_blk *z = k->P && !k->rows ? k->v[Z] : k->r;
    set_factors(k);
    const wisp_update update[] = {{k->x, 2, (wisp_term[]){{k->x, NULL, NULL}, {p, wisp__factors(k, ALPHA), NULL}}},
                                  {p, 2, (wisp_term[]){{z, NULL, k->rows}, {p, wisp__factors(k, BETA), NULL}}}};
    return wisp__pass(k, update, 2, NULL, 0);
}

static wisp_status dots_of_r(wisp__krylov *k, const wisp_update *update, int updates)
{
    const wisp_inner inner[] = {{k->r, k->r, NULL, wisp__dots(k, RR)}, {k->r, k->r, k->rows, wisp__dots(k, RZ)}};
    return wisp__pass(k, update, updates, inner, k->rows ? 2 : 1);
}

static wisp_status step_twice(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *s = k->v[S];
    wisp__clear(k);
    WISP_TRY(wisp__multiply(k, s, k->v[P], WISP_DOT_XY, NULL));
    WISP_TRY(wisp__sum_dots(k, WISP__FREE));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (!wisp__going(c)) continue;
        c->mu = creal(wisp__dot_of(k, WISP__XY, j));
    }
    WISP_TRY(check_curvature(k));
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) k->col[j].alpha = k->col[j].rz / k->col[j].mu;
    set_factors(k);
    wisp__clear(k);
    WISP_TRY(dots_of_r(
        k, &(wisp_update){k->r, 2, (wisp_term[]){{k->r, NULL, NULL}, {s, wisp__factors(k, MINUS_ALPHA), NULL}}}, 1));
    WISP_TRY(precondition(k));
    WISP_TRY(turn(k));
out:
    return status;
}

/* ---- both ----------------------------------------------------------------------------------------- */

/* The direction that comes next is kept where r is only computed anew (van der Vorst and Ye 2000). */
static wisp_status begin(wisp__krylov *k, bool fresh)
{
    wisp_status status = WISP_OK;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (fresh) c->alpha = c->beta = c->rz = 0;
    }
    if (!has_two_reductions(k)) {
        if (fresh) return advance(k);
        for (int j = 0; j < k->width; j++)
            if (wisp__going(&k->col[j])) scalars(k, &k->col[j]);
        return WISP_OK;
    }
    wisp__clear(k);
    WISP_TRY(dots_of_r(k, NULL, 0));
    WISP_TRY(precondition(k));
    if (fresh) WISP_TRY(turn(k));
out:
    return status;
}

static wisp_status start(wisp__krylov *k) { return begin(k, true); }
static wisp_status resume(wisp__krylov *k) { return begin(k, false); }
static wisp_status step(wisp__krylov *k) { return has_two_reductions(k) ? step_twice(k) : advance(k); }

const wisp__method wisp__cg = {"cg", blocks, start, resume, step, NULL, S};
