/* Conjugate gradients. Pipelined: algorithm 2 of Rupp et al. 2016; predict: PR-CG of Chen and Carson 2020; both take
   two passes and one reduction. Hidden: pipelined CG of Ghysels and Vanroose 2014, whose reduction goes on beside the
   product. With a preconditioner, and classical: the two reductions of Hestenes and Stiefel. */
#include "krylov.h"
#include <math.h>

enum { P, S, Z }; /* the direction, A p, M^-1 r */
/* Hidden: Y = A M^-1 s, W = A M^-1 r, N = A M^-1 w; with a preconditioner U = M^-1 r, Q = M^-1 s, M = M^-1 w. */
enum { Y = 2, W, N, U, Q, M, HIDDEN_BLOCKS };
enum { ALPHA, MINUS_ALPHA, BETA };
enum { RR = WISP__FREE, SP, RZ = SP, WZ };

static bool hides(const wisp__krylov *k) { return k->o.variant == WISP_HIDDEN && !k->careful; }
static bool has_two_reductions(const wisp__krylov *k) { return !hides(k) && (k->separate || k->P || k->careful); }
static int blocks(const wisp__krylov *k)
{
    if (hides(k)) return k->P ? HIDDEN_BLOCKS : U;
    return k->P && !k->rows ? 3 : 2;
}

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
        {k->x, 2, (wisp_term[]){{.x = k->x}, {.x = p, .factor = wisp__factors(k, ALPHA)}}},
        {k->r, 2, (wisp_term[]){{.x = k->r}, {.x = s, .factor = wisp__factors(k, MINUS_ALPHA)}}},
        {p, 2, (wisp_term[]){{.x = k->r}, {.x = p, .factor = wisp__factors(k, BETA)}}}};
    const wisp_inner inner[] = {{.x = k->r, .y = k->r, .dot = wisp__dots(k, RR)},
                                {.x = s, .y = p, .dot = wisp__dots(k, SP)}};
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
    const wisp_update update[] = {
        {k->x, 2, (wisp_term[]){{.x = k->x}, {.x = p, .factor = wisp__factors(k, ALPHA)}}},
        {p, 2, (wisp_term[]){{.x = z, .rows = k->rows}, {.x = p, .factor = wisp__factors(k, BETA)}}}};
    return wisp__pass(k, update, 2, NULL, 0);
}

static wisp_status dots_of_r(wisp__krylov *k, const wisp_update *update, int updates)
{
    const wisp_inner inner[] = {{.x = k->r, .y = k->r, .dot = wisp__dots(k, RR)},
                                {.x = k->r, .y = k->r, .rows = k->rows, .dot = wisp__dots(k, RZ)}};
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
        k, &(wisp_update){k->r, 2, (wisp_term[]){{.x = k->r}, {.x = s, .factor = wisp__factors(k, MINUS_ALPHA)}}}, 1));
    WISP_TRY(precondition(k));
    WISP_TRY(turn(k));
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
    if (k->P) WISP_TRY(wisp__precond_apply(k->P, k->v[i], v, NULL));
    WISP_TRY(wisp__multiply(k, y, image(k, i, v), 0, NULL));
out:
    return status;
}

/* <r, r>, <r, M^-1 r> and <M^-1 r, A M^-1 r> after the updates. Their sum is on its way while n is computed. */
static wisp_status pass_and_hide(wisp__krylov *k, const wisp_update *update, int updates)
{
    wisp_status status = WISP_OK;
    const wisp_blk *u = image(k, U, k->r);
    const wisp_inner inner[] = {{.x = k->r, .y = k->r, .dot = wisp__dots(k, RR)},
                                {.x = k->r, .y = u, .dot = wisp__dots(k, RZ)},
                                {.x = k->v[W], .y = u, .dot = wisp__dots(k, WZ)}};
    wisp__clear(k);
    WISP_TRY(wisp__pass(k, update, updates, inner, 3));
    for (int j = 0; j < k->width; j++) /* if the product is interrupted, x goes by this where there is one rank */
        if (wisp__going(&k->col[j])) k->col[j].rr = creal(wisp__dot_of(k, RR, j));
    WISP_TRY(wisp__start_dots(k, WZ + 1 - WISP__FREE));
    WISP_TRY(multiply_image(k, k->v[N], M, k->v[W]));
    WISP_TRY(wisp__wait_for_dots(k));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (!wisp__going(c)) continue;
        c->rr = creal(wisp__dot_of(k, RR, j));
        c->gamma = creal(wisp__dot_of(k, RZ, j));
        c->delta = creal(wisp__dot_of(k, WZ, j));
    }
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
    WISP_TRY(pass_and_hide(k, NULL, 0));
out:
    return status;
}

/* The next direction is p = M^-1 r + beta p' with <p, A p> = <M^-1 r, A M^-1 r> - beta <r, M^-1 r> / alpha'. Where that
   or a norm is not as it should be, or r grows without end, rounding may be the reason: false, and the classical
   recurrences find out. */
static bool find_direction(const wisp__krylov *k, wisp__krylov_column *c)
{
    if (c->rr == 0) c->alpha = c->beta = 0;
    if (c->rr == 0) return true;
    c->beta = c->rz > 0 ? c->gamma / c->rz : 0;
    c->mu = c->delta - (c->rz > 0 ? creal(c->beta) * c->gamma / creal(c->alpha) : 0);
    c->alpha = c->gamma / c->mu;
    c->rz = c->gamma;
    const double least = k->P ? 0 : k->eps * k->anorm * c->rr;
    return c->mu > least && c->gamma > 0 && isfinite(c->mu) && isfinite(creal(c->alpha)) &&
           c->rr * wisp__far(k) <= c->best;
}

static wisp_status step_hidden(wisp__krylov *k)
{
    wisp_blk *p = k->v[P], *s = k->v[S], *y = k->v[Y], *w = k->v[W], *u = image(k, U, k->r), *q = image(k, Q, s);
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j]) && !find_direction(k, &k->col[j])) k->careful = k->cycle_ends = true;
    if (k->careful) return WISP_OK;
    set_factors(k);
    const wisp_scalar *alpha = wisp__factors(k, ALPHA), *minus = wisp__factors(k, MINUS_ALPHA),
                      *beta = wisp__factors(k, BETA);
    const wisp_update update[] = {{y, 2, (wisp_term[]){{.x = k->v[N]}, {.x = y, .factor = beta}}},
                                  {s, 2, (wisp_term[]){{.x = w}, {.x = s, .factor = beta}}},
                                  {p, 2, (wisp_term[]){{.x = u}, {.x = p, .factor = beta}}},
                                  {k->x, 2, (wisp_term[]){{.x = k->x}, {.x = p, .factor = alpha}}},
                                  {k->r, 2, (wisp_term[]){{.x = k->r}, {.x = s, .factor = minus}}},
                                  {w, 2, (wisp_term[]){{.x = w}, {.x = y, .factor = minus}}},
                                  {q, 2, (wisp_term[]){{.x = image(k, M, w)}, {.x = q, .factor = beta}}},
                                  {u, 2, (wisp_term[]){{.x = u}, {.x = q, .factor = minus}}}};
    return pass_and_hide(k, update, k->P ? 8 : 6);
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
    if (hides(k)) return begin_hidden(k, fresh);
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
static wisp_status step(wisp__krylov *k)
{
    if (hides(k)) return step_hidden(k);
    return has_two_reductions(k) ? step_twice(k) : advance(k);
}

static bool keeps(const wisp__krylov *k, int i) { return hides(k) || i == P || (i == S && !has_two_reductions(k)); }

const wisp__method wisp__cg = {"cg", blocks, start, resume, step, NULL, keeps, 0, true, false};
