/* LSMR (Fong and Saunders 2011, SIAM J. Sci. Comput. 33, 2950): MINRES on A^H A x = A^H b, by Golub and Kahan's
   bidiagonalisation, in which nothing is squared. An iteration is three passes: u' = A v - alpha u and v' = A^H u' -
   beta v, each with its norm, and the updates of x. Vectors are not normalised: their norms are factors of what is done
   with them, and powers of two bring them back where they drift. With damping the matrix is (A; damp), whose vectors u
   have a part w as long as x: unlike the rotation that the paper has for it, this takes any start.
   The squares by which columns are judged are |b|^2 times that of the less of |r| / |b| and |A^H r| / (|A| |r|). */
#include "krylov.h"
#include <math.h>
#include <stdlib.h>

enum { U0, U1, V0, V1, H, HBAR, W, BLOCKS }; /* as in the paper: u, v, h, h bar; 1: the next one */
enum { F_HBAR = WISP_SET_OWN, F_H, F_X, F_V, F_HOLD, F_ADD, F_SCALE };

/* Numbers of the paper's section 5.2 and of its figure for |r|; squares of norms of vectors as they are stored. */
typedef struct {
    double norm;                 /* of (A; damp), at least */
    double rr, gg, unlike;       /* |r|^2 and |A^H r|^2 from x; the last one over |A|^2 |r|^2 */
    double best_rr, best_unlike; /* of the best x */
    double margin;               /* squares by the recurrence are taken times this */
    double said;                 /* what was told of by it last, without the margin */
    bool off;                    /* its vectors are not those of x: 0, or nothing of use */
    double uu, vv, h;            /* |u|^2 with that of w, |v|^2; the stored h times this is h */
    double alpha, beta, zetabar, alphabar, rho, rhobar, cbar, sbar, zeta;
    double betadd, betad, rhodold, tautildeold, thetatilde;
} column;

static size_t own(const wisp_solve_opts *o)
{
    (void)o;
    return sizeof(column);
}
static column *own_of(const wisp__krylov *k, int j) { return wisp__own(k, &k->col[j]); }

static int blocks(const wisp__krylov *k) { return k->o.damp > 0 ? BLOCKS : W; }
static bool is_short(int i) { return i >= V0; }
static bool keeps(const wisp__krylov *k, int i)
{
    (void)k;
    return i != U1 && i != V1;
}

/* ---- the question ---------------------------------------------------------------------------------- */

static wisp_status check(wisp_ctx *ctx, const wisp_solve_opts *o)
{
    if (o->precond != WISP_PRECOND_NONE) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: lsmr takes no opts.precond");
    if (o->null)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: lsmr takes no opts.null: its x is the shortest one by itself");
    if (o->variant > WISP_PIPELINED)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: lsmr takes no other opts.variant than its one, pipelined");
    if (!(o->damp >= 0) || isinf(o->damp))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.damp is %g, it must be 0 or a number above", o->damp);
    return WISP_OK;
}

wisp_status wisp__lsmr_check(const wisp_solver *S)
{
    const wisp_mat *A = S->A, *AH = S->o.adjoint;
    wisp_cost cost;
    if (!AH)
        return wisp_ctx_failf(S->ctx, WISP_ERR_ARG,
                              "solve: lsmr takes A^H as well: opts.adjoint, which wisp_mat_adjoint makes");
    if (wisp_mat_map(AH) != wisp_mat_col_map(A) || wisp_mat_col_map(AH) != wisp_mat_map(A))
        return wisp_ctx_failf(S->ctx, WISP_ERR_MISMATCH,
                              "solve: opts.adjoint must be on the matrix's maps, as wisp_mat_adjoint makes it");
    if ((S->o.offer || S->o.resume) && wisp_mat_map(A) != wisp_mat_col_map(A))
        return wisp_ctx_failf(S->ctx, WISP_ERR_UNSUPPORTED,
                              "solve: a state has blocks of one map alone: opts.offer and opts.resume are for square "
                              "matrices");
    return wisp_spmmv_cost(AH, S->type, S->width, 0, &cost) == WISP_OK
               ? WISP_OK
               : wisp_ctx_failf(S->ctx, WISP_ERR_UNSUPPORTED,
                                "solve: opts.adjoint does not multiply blocks of %s numbers", wisp_type_name(S->type));
}

/* ---- measures --------------------------------------------------------------------------------------- */

static double damp_of(const wisp__krylov *k) { return ldexp(k->o.damp, k->a_exponent); }
/* |r|^2, or, where x is nearer to making it least, what this is like beside the tolerance of both. */
static double judged(const wisp__krylov *k, const wisp__krylov_column *c, double rr, double unlike)
{
    const double t = wisp__optimality_wanted(k);
    return fmin(rr, c->target * (unlike / (t * t)));
}

static wisp_status multiply(wisp__krylov *k, wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_blk *u,
                            const wisp_scalar *add)
{
    const unsigned terms = WISP_SCALE | WISP_DOT_YY | (u ? WISP_ADD : 0);
    wisp_cost cost;
    if (k->counting && wisp_spmmv_cost(A, k->type, k->width, terms, &cost) == WISP_OK) k->bytes += cost.bytes;
    return wisp_spmmv(
        y, A, x,
        &(wisp_aug){.terms = terms, .alpha = wisp__real(wisp__a_factor(k)), .u = u, .add = add, .dot = k->number});
}

static wisp_status pass(wisp__krylov *k, const wisp_update *update, int updates, const wisp_inner *inner, int inners)
{
    wisp_cost cost;
    if (k->counting && wisp_fuse_cost(update, updates, inner, inners, &cost) == WISP_OK) k->bytes += cost.bytes;
    return wisp_fuse(update, updates, inner, inners, 0);
}

/* v[V1] = A^H r - damp^2 x, of an x whose |x|^2 and |b - A x|^2 are known. */
static wisp_status measure(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const double damp = damp_of(k);
    double norm = hypot(k->anorm, damp);
    wisp_scalar *add = wisp__set(k, F_ADD), *xx = wisp__set(k, F_SCALE);
    for (int j = 0; j < k->width; j++) {
        add[j] = wisp__real(-damp * damp);
        xx[j] = wisp__real(k->at_zero ? 0 : wisp__set(k, WISP_SET_XX)[j].re);
        norm = fmax(norm, own_of(k, j)->norm);
    }
    WISP_TRY(multiply(k, k->v[V1], k->o.adjoint, k->r, damp > 0 ? k->x : NULL, add));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        column *o = own_of(k, j);
        if (c->done) continue;
        o->rr = c->verified + damp * damp * xx[j].re;
        o->gg = wisp__set(k, WISP_SET_YY)[j].re;
        if (o->rr > 0 && o->gg < INFINITY) norm = fmax(norm, sqrt(o->gg / o->rr));
    }
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        column *o = own_of(k, j);
        o->norm = norm;
        if (c->done) continue;
        const double share = o->rr > 0 && o->gg > 0 ? sqrt(o->gg / o->rr) / norm : 0;
        o->unlike = share * share;
        c->verified = isfinite(o->rr) && isfinite(o->gg) ? judged(k, c, o->rr, o->unlike) : INFINITY;
        c->rr = c->verified;
    }
out:
    return status;
}

static void note(wisp__krylov *k, const wisp__krylov_column *c)
{
    column *o = wisp__own(k, c);
    o->best_rr = o->rr, o->best_unlike = o->unlike;
}

static void tell(wisp__krylov *k, const wisp__krylov_column *c, bool best)
{
    const column *o = wisp__own(k, c);
    wisp_solution *s = k->s;
    s->residuals[c->of] = c->bb > 0 ? sqrt((best ? o->best_rr : o->rr) / c->bb) : 0;
    s->optimalities[c->of] = c->bb > 0 ? sqrt(best ? o->best_unlike : o->unlike) : 0;
    if (wisp__has_size(o->norm)) s->norm = fmax(s->norm, ldexp(o->norm, -k->a_exponent));
}

/* ---- the start -------------------------------------------------------------------------------------- */

/* Whether <A x, y> = <x, A^H y> for random vectors; blocks of the method are overwritten. */
static wisp_status check_adjoint(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const double size = sqrt(1 / k->unit);
    wisp_scalar *scale = wisp__set(k, F_SCALE), *a = wisp__set(k, F_HBAR), *b = wisp__set(k, F_H);
    wisp_scalar *left = wisp__set(k, F_X), *right = wisp__set(k, F_V);
    for (int j = 0; j < k->width; j++) scale[j] = wisp__real(size);
    WISP_TRY(wisp_blk_fill_random(k->v[HBAR], WISP_RANDOM_GAUSS, 1, WISP__STREAM_SOLVE, 0));
    WISP_TRY(wisp_blk_fill_random(k->v[U0], WISP_RANDOM_GAUSS, 2, WISP__STREAM_SOLVE, 0));
    WISP_TRY(wisp_vscal(k->v[HBAR], scale));
    WISP_TRY(wisp_vscal(k->v[U0], scale));
    WISP_TRY(multiply(k, k->v[U1], k->A, k->v[HBAR], NULL, NULL));
    for (int j = 0; j < k->width; j++) left[j] = wisp__set(k, WISP_SET_YY)[j];
    WISP_TRY(multiply(k, k->v[H], k->o.adjoint, k->v[U0], NULL, NULL));
    for (int j = 0; j < k->width; j++) right[j] = wisp__set(k, WISP_SET_YY)[j];
    WISP_TRY(wisp_dot(k->v[U0], k->v[U1], a));
    WISP_TRY(wisp_dot(k->v[H], k->v[HBAR], b));
    const double m = (double)wisp_map_rows(wisp__map_of_b(k)), n = (double)wisp_map_rows(wisp__map_of_x(k));
    for (int j = 0; j < k->width; j++) {
        const double most = size * (sqrt(m * left[j].re) + sqrt(n * right[j].re));
        if (hypot(a[j].re - b[j].re, a[j].im - b[j].im) > sqrt(k->eps) * most)
            WISP_TRY(wisp_ctx_failf(k->ctx, WISP_ERR_ARG,
                                    "solve: opts.adjoint is not A^H: their products with random vectors differ"));
    }
out:
    return status;
}

/* The columns of k->list begin at x, whose r and A^H r are there. */
static wisp_status begin(wisp__krylov *k, int n)
{
    wisp_status status = WISP_OK;
    wisp_scalar *keep = wisp__set(k, F_SCALE), *turn = wisp__set(k, F_ADD);
    if (n == 0) goto out;
    for (int j = 0; j < k->width; j++) keep[j] = turn[j] = wisp__real(1);
    for (int i = 0; i < n; i++) {
        const int j = k->list[i];
        const wisp__krylov_column *c = &k->col[j];
        column *o = own_of(k, j);
        const double beta = sqrt(o->rr), alpha = beta > 0 ? sqrt(o->gg) / beta : 0;
        const double norm = o->norm, best_rr = o->best_rr, best = o->best_unlike, rr = o->rr, margin = o->margin;
        *o = (column){.norm = norm,
                      .rr = rr,
                      .gg = o->gg,
                      .unlike = o->unlike,
                      .best_rr = best_rr,
                      .best_unlike = best,
                      .margin = fmax(margin, 1.21),
                      .said = c->verified,
                      .uu = rr,
                      .vv = o->gg,
                      .h = o->gg > 0 ? 1 / sqrt(o->gg) : 0,
                      .alpha = alpha,
                      .beta = beta,
                      .zetabar = alpha * beta,
                      .alphabar = alpha,
                      .rho = 1,
                      .rhobar = 1,
                      .cbar = 1,
                      .betadd = beta,
                      .rhodold = 1};
        keep[j] = wisp__real(0), turn[j] = wisp__real(-damp_of(k));
    }
    WISP_TRY(wisp__copy_some(k->v[U0], k->list, k->r, k->list, n));
    WISP_TRY(wisp__copy_some(k->v[V0], k->list, k->v[V1], k->list, n));
    WISP_TRY(wisp__copy_some(k->v[H], k->list, k->v[V1], k->list, n));
    WISP_TRY(wisp_vscal(k->v[HBAR], keep));
    if (!(k->o.damp > 0)) goto out;
    WISP_TRY(wisp__copy_some(k->v[W], k->list, k->x, k->list, n));
    WISP_TRY(wisp_vscal(k->v[W], turn));
out:
    return status;
}

static wisp_status start(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    if (k->s->iterations == 0) {
        WISP_TRY(check_adjoint(k));
        WISP_TRY(wisp_blk_fill(k->v[HBAR], wisp__real(0)));
        WISP_TRY(wisp_blk_fill(k->v[U0], wisp__real(0)));
    }
    status = begin(k, wisp__list(k, NULL));
out:
    return status;
}

/* Steps have left it out, or their word is far from what it is. */
static bool begins(const wisp__krylov *k, const wisp__krylov_column *c)
{
    const column *o = wisp__own(k, c);
    return o->off || !(c->verified <= 100 * o->said);
}

/* One that has promised too much has to promise more. */
static wisp_status resume(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) {
        column *o = own_of(k, j);
        if (!k->col[j].done && o->said * o->margin <= k->col[j].target) o->margin *= 4;
    }
    return begin(k, wisp__list(k, begins));
}

/* ---- steps ------------------------------------------------------------------------------------------ */

/* Exponents of norms lie near this: where A is far from 1, products are summed before they have its factor. */
static int center(const wisp__krylov *k) { return -ilogb(k->unit) / 2; }

/* Norms come back into range by powers of two, and columns that no step changes any more become 0. */
static wisp_status bring_back(wisp__krylov *k, wisp_blk *x, wisp_blk *more, bool is_u)
{
    wisp_status status = WISP_OK;
    wisp_scalar *scale = wisp__set(k, F_SCALE);
    const int most = wisp__is_single(k->type) ? 6 : 16;
    bool any = false;
    for (int j = 0; j < k->width; j++) {
        column *o = own_of(k, j);
        double *square = is_u ? &o->uu : &o->vv;
        const int drift = *square > 0 && isfinite(*square) ? ilogb(*square) / 2 - center(k) : 0;
        const int e = o->off ? 0 : abs(drift) > most ? -drift : 0;
        scale[j] = wisp__real(o->off && *square > 0 ? 0 : ldexp(1, e));
        any |= scale[j].re != 1;
        *square = o->off ? 0 : ldexp(*square, 2 * e);
    }
    if (!any) goto out;
    WISP_TRY(wisp_vscal(x, scale));
    if (more) WISP_TRY(wisp_vscal(more, scale));
out:
    return status;
}

static void swap(wisp__krylov *k, int a)
{
    wisp_blk *first = k->v[a];
    k->v[a] = k->v[a + 1];
    k->v[a + 1] = first;
}

/* u' = A v - alpha u, times |v| as v is stored, or v' = A^H u - beta v, times |u|. With damping w' = damp v - alpha w,
   whose squares are in F_X, and v' has damp w as well. Then uu and beta, or vv. */
static wisp_status next(wisp__krylov *k, bool is_u)
{
    wisp_status status = WISP_OK;
    const int from = is_u ? V0 : U0, to = is_u ? U0 : V0, damped = is_u ? W : V1;
    wisp_scalar *add = wisp__set(k, F_ADD), *by = wisp__set(k, F_SCALE), *ww = wisp__set(k, F_X);
    const double damp = damp_of(k);
    for (int j = 0; j < k->width; j++) {
        const column *o = own_of(k, j);
        const bool none = o->off || !((is_u ? o->uu : o->vv) > 0);
        add[j] = wisp__real(none ? 0 : is_u ? -o->alpha * sqrt(o->vv / o->uu) : -o->uu / o->vv);
        by[j] = wisp__real(damp), ww[j] = wisp__real(0);
    }
    WISP_TRY(multiply(k, k->v[to + 1], is_u ? k->A : k->o.adjoint, k->v[from], k->v[to], add));
    if (damp > 0) {
        wisp_blk *y = k->v[damped];
        const wisp_term terms[] = {{.x = y, .factor = is_u ? add : NULL},
                                   {.x = is_u ? k->v[V0] : k->v[W], .factor = by}};
        const wisp_inner square = {.x = y, .y = y, .dot = is_u ? ww : wisp__set(k, WISP_SET_YY)};
        WISP_TRY(pass(k, &(wisp_update){y, 2, terms}, 1, &square, 1));
    }
    swap(k, to);
    for (int j = 0; j < k->width; j++) {
        column *o = own_of(k, j);
        *(is_u ? &o->uu : &o->vv) = wisp__set(k, WISP_SET_YY)[j].re + ww[j].re;
        if (is_u) o->beta = o->vv > 0 ? sqrt(o->uu / o->vv) : 0;
    }
out:
    return status;
}

/* c, s and r with (c s; -s c) (a; b) = (r; 0) */
static double rotate(double a, double b, double *c, double *s)
{
    const double r = hypot(a, b);
    *c = r > 0 ? a / r : 1;
    *s = r > 0 ? b / r : 0;
    return r;
}

/* |r| by the recurrence: algorithm LSMR, section 5.2 of the paper. */
static double estimate(column *o, double c, double s, double thetabar, double zeta_before)
{
    double ctilde, stilde;
    const double betahat = c * o->betadd, thetatilde_before = o->thetatilde;
    o->betadd = -s * o->betadd;
    const double rhotilde = rotate(o->rhodold, thetabar, &ctilde, &stilde);
    o->thetatilde = stilde * o->rhobar;
    o->rhodold = ctilde * o->rhobar;
    o->betad = -stilde * o->betad + ctilde * betahat;
    o->tautildeold = (zeta_before - thetatilde_before * o->tautildeold) / rhotilde;
    const double taud = (o->zeta - o->thetatilde * o->tautildeold) / o->rhodold;
    return (o->betad - taud) * (o->betad - taud) + o->betadd * o->betadd;
}

/* The rotations of a step, with the new beta and alpha; factors of the updates of x. The norms of a column and of a row
   of the bidiagonal matrix are none above |A|. */
static void turn(wisp__krylov *k, int j)
{
    wisp__krylov_column *col = &k->col[j];
    column *o = own_of(k, j);
    double c, s;
    const double beta = o->beta, alpha = o->uu > 0 ? sqrt(o->vv / o->uu) : 0;
    const double column_or_row = fmax(hypot(o->alpha, beta), hypot(beta, alpha));
    if (isfinite(column_or_row)) o->norm = fmax(o->norm, column_or_row); /* else all would seem to be small beside it */
    o->alpha = alpha;
    const double rho_before = o->rho, rhobar_before = o->rhobar, zeta_before = o->zeta;
    o->rho = rotate(o->alphabar, beta, &c, &s);
    const double thetanew = s * alpha, thetabar = o->sbar * o->rho;
    o->alphabar = c * alpha;
    o->rhobar = rotate(o->cbar * o->rho, thetanew, &o->cbar, &o->sbar);
    o->zeta = o->cbar * o->zetabar;
    o->zetabar = -o->sbar * o->zetabar;
    const double of_hbar = -thetabar * o->rho / (rho_before * rhobar_before), of_x = o->zeta / (o->rho * o->rhobar);
    const double old_h = -thetanew / o->rho;
    const double rr = estimate(o, c, s, thetabar, zeta_before);
    if (!isfinite(of_hbar) || !isfinite(of_x) || !isfinite(old_h) || !isfinite(rr)) {
        col->broken = WISP_ERR_BREAKDOWN;
        o->off = true;
        return;
    }
    wisp__set(k, F_HBAR)[j] = wisp__real(of_hbar);
    wisp__set(k, F_H)[j] = wisp__real(o->h);
    wisp__set(k, F_X)[j] = wisp__real(of_x);
    wisp__set(k, F_HOLD)[j] = wisp__real(old_h * o->h);
    wisp__set(k, F_V)[j] = wisp__real(o->vv > 0 ? 1 / sqrt(o->vv) : 0);
    o->h = 1;
    o->said = judged(k, col, rr, rr > 0 ? o->zetabar * o->zetabar / (rr * o->norm * o->norm) : 0);
    col->rr = o->margin * o->said;
}

static wisp_status update(wisp__krylov *k)
{
    const wisp_scalar *f[F_HOLD + 1];
    for (int i = F_HBAR; i <= F_HOLD; i++) f[i] = wisp__set(k, i);
    const wisp_term of_hbar[] = {{.x = k->v[HBAR], .factor = f[F_HBAR]}, {.x = k->v[H], .factor = f[F_H]}};
    const wisp_term of_x[] = {{.x = k->x}, {.x = k->v[HBAR], .factor = f[F_X]}};
    const wisp_term of_h[] = {{.x = k->v[H], .factor = f[F_HOLD]}, {.x = k->v[V0], .factor = f[F_V]}};
    const wisp_update all[] = {{k->v[HBAR], 2, of_hbar}, {k->x, 2, of_x}, {k->v[H], 2, of_h}};
    return pass(k, all, 3, NULL, 0);
}

static wisp_status step(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    for (int j = 0; j < k->width; j++)
        if (!wisp__going(&k->col[j])) own_of(k, j)->off = true;
    WISP_TRY(bring_back(k, k->v[U0], k->o.damp > 0 ? k->v[W] : NULL, true));
    WISP_TRY(bring_back(k, k->v[V0], NULL, false));
    WISP_TRY(next(k, true));
    WISP_TRY(next(k, false));
    for (int j = 0; j < k->width; j++) {
        column *o = own_of(k, j);
        for (int f = F_HBAR; f <= F_HOLD; f++) wisp__set(k, f)[j] = wisp__real(f == F_HOLD || f == F_HBAR);
        if (!o->off) turn(k, j);
    }
    status = update(k);
out:
    return status;
}

static double moves(const wisp__krylov *k) { return k->o.damp > 0 ? 15 : 9; }

const wisp__method wisp__lsmr = {.name = "lsmr",
                                 .own = own,
                                 .blocks = blocks,
                                 .keeps = keeps,
                                 .start = start,
                                 .resume = resume,
                                 .step = step,
                                 .moves = moves,
                                 .products = 2,
                                 .far = wisp__far,
                                 .allows = "the arithmetic allows no less",
                                 .any_shape = true,
                                 .is_short = is_short,
                                 .check = check,
                                 .measure = measure,
                                 .note = note,
                                 .tell = tell};
