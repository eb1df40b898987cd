/* GMRES(m), with M^-1 on the right (or on the left: side.c): the basis by classical Gram-Schmidt, as in algorithms 5
   and 6 of Rupp et al. 2016: all dots of an iteration in one pass, all updates in another. The least-squares problem is
   that of Arnoldi's basis (Saad and Schultz 1986), which stays well conditioned where the residual falls far within a
   cycle; that of the paper (simpler GMRES) does not, and reads r once more in each iteration. Basis vectors are not
   normalised: their norms are factors of what is done with them. So an iteration is three passes and two reductions.
   Where a new vector is nearly in the span of the others, it is made orthogonal once more. */
#include "krylov.h"
#include <math.h>

/* v[0 .. m] is the basis, v[m + 1] is M^-1 of one of them. */
static int blocks(const wisp__krylov *k) { return k->o.restart + (k->P ? 2 : 1); }

/* A vector is made as a product, or as r, and then changed. M^-1 may be a polynomial, which begins with what is there
   times 0. */
static int written(const wisp__krylov *k) { return k->o.restart + 1; }

/* What a column keeps in h: m columns of the triangle, rotations, the right-hand side g, norms of the basis. Vectors
   stay as long as r was in the beginning, and not about 1: so their dots, and norms, have its unit. */
typedef struct {
    int steps; /* of this cycle */
    double complex h[];
} column;

static size_t own(const wisp_solve_opts *o)
{
    const size_t m = (size_t)o->restart;
    return sizeof(column) + (m + 4) * (m + 1) * sizeof(double complex);
}
static double complex *triangle(const wisp__krylov *k, const wisp__krylov_column *c, int i)
{
    return ((column *)wisp__own(k, c))->h + (size_t)i * (size_t)(k->o.restart + 1);
}
static double complex *cosines(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return triangle(k, c, k->o.restart);
}
static double complex *sines(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return triangle(k, c, k->o.restart + 1);
}
static double complex *right(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return triangle(k, c, k->o.restart + 2);
}
static double complex *norms(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return triangle(k, c, k->o.restart + 3);
}

static void lay_out(wisp__krylov *k)
{
    k->dots = WISP_SET_DOT + k->o.restart + 1;
    k->sets = k->dots + k->o.restart + 1;
}

/* Sets of dots from here on are those of a vector with the basis, which the host brings; factors, which it sends, are
   those behind all dots. */
enum { DOT = WISP_SET_DOT };
static wisp_scalar *factors(const wisp__krylov *k, int i) { return wisp__set(k, k->dots + i); }
static wisp_term times(const wisp__krylov *k, const wisp_blk *x, int i) { return wisp__times(k, x, k->dots + i); }
static wisp_status bring_dots(wisp__krylov *k, int count)
{
    const wisp_status status = wisp__sum_dots(k, DOT + count);
    return status == WISP_OK ? wisp__bring(k, 0, DOT + count) : status;
}

static wisp_status start(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        ((column *)wisp__own(k, c))->steps = 0;
        norms(k, c)[0] = right(k, c)[0] = sqrt(k->unit * (c->rr / c->ratio));
    }
    k->step_of_cycle = 0;
    return wisp__pass(k, &(wisp_update){k->v[0], 1, (wisp_term[]){{.x = k->r}}}, 1, NULL, 0);
}

static double complex inverse(double complex z) { return z != 0 ? 1 / z : 0; }

/* Coefficients of the new vector i + 1 with the basis go to the triangle, with a minus and over norms to factors. The
   product of vector i comes without its norm; `again`: the new vector is there, and is made orthogonal once more. */
static void projected(wisp__krylov *k, int i, bool again)
{
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        const bool going = wisp__going(c);
        const double complex scale = again ? 1 : inverse(norms(k, c)[i]);
        factors(k, i + 1)[j] = wisp__scalar(going ? scale : 0);
        for (int l = 0; l <= i; l++) {
            const double complex over = inverse(norms(k, c)[l]);
            const double complex h = scale * k->unit * wisp__number(k, DOT + l, j) * over;
            if (going) triangle(k, c, i)[l] += h;
            factors(k, l)[j] = wisp__scalar(going ? -h * over : 0);
        }
    }
}

/* v[i + 1] loses its part in the span of v[0 .. i], whose dots with it are there; then its norm. */
static wisp_status orthogonalise(wisp__krylov *k, int i)
{
    wisp_status status = WISP_OK;
    wisp_term term[WISP__MOST_RESTART + 1];
    wisp_blk *w = k->v[i + 1];
    term[0] = times(k, w, i + 1);
    for (int l = 0; l <= i; l++) term[l + 1] = times(k, k->v[l], l);
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__send(k, k->dots, i + 2));
    WISP_TRY(
        wisp__pass(k, &(wisp_update){w, i + 2, term}, 1, &(wisp_inner){.x = w, .y = w, .dot_at = wisp__at(k, DOT)}, 1));
    WISP_TRY(bring_dots(k, 1));
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) norms(k, &k->col[j])[i + 1] = wisp__root(k->unit * wisp__set(k, DOT)[j].re);
out:
    return status;
}

/* <v_l, v_i+1> for l < count; the others up to i are there. */
static wisp_status dots(wisp__krylov *k, int count, int i)
{
    wisp_inner inner[WISP__MOST_RESTART];
    for (int l = 0; l < count; l++)
        inner[l] = (wisp_inner){.x = k->v[l], .y = k->v[i + 1], .dot_at = wisp__at(k, DOT + l)};
    const wisp_status status = count > 0 ? wisp__pass(k, NULL, 0, inner, count) : WISP_OK;
    return status == WISP_OK ? bring_dots(k, i + 1) : status;
}

/* Whether cancellation left a new vector of some column far from orthogonal. */
static bool is_skew(const wisp__krylov *k, int i)
{
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        double all = 0;
        for (int l = 0; l <= i; l++) all += creal(triangle(k, c, i)[l] * conj(triangle(k, c, i)[l]));
        const double own = creal(norms(k, c)[i + 1]);
        if (wisp__going(c) && own * own < 0.01 * all && own * own > k->eps * k->eps * all) return true;
    }
    return false;
}

/* Column i of the Hessenberg matrix turns into one of the triangle (Givens), and the residual's norm follows. */
static void rotate(wisp__krylov *k, wisp__krylov_column *c, int i)
{
    column *own_of = wisp__own(k, c);
    double complex *t = triangle(k, c, i), *g = right(k, c), *cs = cosines(k, c), *sn = sines(k, c);
    const double b = creal(norms(k, c)[i + 1]);
    double all = b * b;
    for (int l = 0; l <= i; l++) all += creal(t[l] * conj(t[l]));
    for (int l = 0; l < i; l++) {
        const double complex above = t[l], below = t[l + 1];
        t[l] = conj(cs[l]) * above + conj(sn[l]) * below;
        t[l + 1] = -sn[l] * above + cs[l] * below;
    }
    const double complex a = t[i];
    const double length = hypot(cabs(a), b);
    own_of->steps = i + 1;
    if (!(length > 100 * k->eps * sqrt(all)) || !isfinite(length)) {
        own_of->steps = i; /* within rounding A M^-1 maps this space into a smaller one */
        c->broken = WISP_ERR_BREAKDOWN;
        return;
    }
    cs[i] = a / length, sn[i] = b / length;
    t[i] = length;
    g[i + 1] = -sn[i] * g[i];
    g[i] = conj(cs[i]) * g[i];
    c->rr = creal(g[i + 1] * conj(g[i + 1])) / k->unit * c->ratio;
}

/* Classical: the basis has norm 1. */
static wisp_status normalise(wisp__krylov *k, int i)
{
    for (int j = 0; j < k->width; j++) {
        double complex *norm = norms(k, &k->col[j]) + i;
        factors(k, 0)[j] = wisp__scalar(inverse(*norm));
        if (*norm != 0) *norm = 1;
    }
    const wisp_term term = times(k, k->v[i], 0);
    const wisp_status status = wisp__send(k, k->dots, 1);
    return status == WISP_OK ? wisp__pass(k, &(wisp_update){k->v[i], 1, &term}, 1, NULL, 0) : status;
}

static wisp_status step(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const int i = k->step_of_cycle++;
    const bool apart = wisp__precond_of(k); /* the product has no dot with vector i */
    const wisp_blk *x = k->v[i];
    for (int j = 0; j < k->width; j++)
        for (int l = 0; l <= k->o.restart; l++) triangle(k, &k->col[j], i)[l] = 0;
    if (k->P) {
        WISP_TRY(wisp__precond_apply(k->P, k->v[k->o.restart + 1], x, (wisp_place){0}));
        x = k->v[k->o.restart + 1];
    }
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__multiply(k, k->v[i + 1], x, apart ? 0 : WISP_DOT_XY, NULL));
    WISP_TRY(dots(k, apart ? i + 1 : i, i));
    for (int j = 0; j < k->width && !apart; j++) wisp__set(k, DOT + i)[j] = wisp__set(k, WISP_SET_XY)[j];
    projected(k, i, false);
    WISP_TRY(orthogonalise(k, i));
    if (is_skew(k, i)) {
        WISP_TRY(dots(k, i + 1, i));
        projected(k, i, true);
        WISP_TRY(orthogonalise(k, i));
    }
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) rotate(k, &k->col[j], i);
    if (k->separate) WISP_TRY(normalise(k, i + 1));
    k->cycle_ends = i + 1 == k->o.restart;
out:
    return status;
}

/* The coefficients of x in the basis, over its norms: the triangle's solution. */
static void solve_triangle(const wisp__krylov *k, int j, int steps)
{
    const wisp__krylov_column *c = &k->col[j];
    const int own_steps = ((column *)wisp__own(k, c))->steps, n = own_steps < steps ? own_steps : steps;
    double complex *g = right(k, c);
    for (int i = n - 1; i >= 0; i--) {
        g[i] /= triangle(k, c, i)[i];
        for (int l = 0; l < i; l++) g[l] -= triangle(k, c, i)[l] * g[i];
    }
    for (int i = 0; i < n; i++) factors(k, i)[j] = wisp__scalar(g[i] * inverse(norms(k, c)[i]));
}

/* x += M^-1 V y. r is made anew afterwards: V y takes its place. */
static wisp_status settle(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_term term[WISP__MOST_RESTART + 1];
    const int n = k->step_of_cycle;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k->width; j++) factors(k, i)[j] = wisp__real(0);
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done) solve_triangle(k, j, n);
    k->step_of_cycle = 0;
    if (n == 0) goto out;
    term[0] = (wisp_term){.x = k->x};
    for (int i = 0; i < n; i++) term[i + 1] = times(k, k->v[i], i);
    WISP_TRY(wisp__send(k, k->dots, n));
    if (!k->P) return wisp__pass(k, &(wisp_update){k->x, n + 1, term}, 1, NULL, 0);
    wisp_blk *z = k->v[k->o.restart + 1];
    WISP_TRY(wisp__pass(k, &(wisp_update){k->r, n, term + 1}, 1, NULL, 0));
    WISP_TRY(wisp__precond_apply(k->P, z, k->r, (wisp_place){0}));
    term[1] = (wisp_term){.x = z};
    WISP_TRY(wisp__pass(k, &(wisp_update){k->x, 2, term}, 1, NULL, 0));
out:
    return status;
}

static bool keeps(const wisp__krylov *k, int i) { return i <= k->step_of_cycle; }

/* The basis is orthogonal, so that it can be believed for longer; and it is lost where x is settled. */
static double far(const wisp__krylov *k) { return 100 * k->eps * k->eps; }

/* The mean of a cycle, in each step of which a pass of dots and a pass of updates go through the basis. */
static double moves(const wisp__krylov *k)
{
    const double m = k->o.restart;
    if (k->separate) return 2.5 * m + 5.5;
    return wisp__precond_of(k) ? m + 4 : m + 3 - 1 / m;
}

const wisp__method wisp__gmres = {.name = "gmres",
                                  .own = own,
                                  .blocks = blocks,
                                  .written = written,
                                  .lay_out = lay_out,
                                  .start = start,
                                  .step = step,
                                  .settle = settle,
                                  .keeps = keeps,
                                  .moves = moves,
                                  .products = 1,
                                  .far = far,
                                  .allows = "the arithmetic or the restart allows no less",
                                  .chosen = true,
                                  .sides = true,
                                  .restarts = true};
