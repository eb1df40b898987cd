/* Bounds of A x = lambda S x by factors of S: Lanczos with S^-1 A, which is self-adjoint in the inner product by S. As
   u = S v has a recurrence of its own, a step takes a product with A and a solution with S, and no root of S. */
#include "pencil_bounds.h"
#include "inverse.h"
#include "../bounds.h"

enum { B = WISP__BOUNDS_RUNS };

typedef struct {
    wisp__runs runs;
    wisp__eig *k;
    const wisp__pencil *pencil;
    wisp_blk *u, *before, *v, *w; /* u = T v */
} lanczos;

/* v = T^-1 w; both become of length 1 by T, and w is u. Where no more than rounding is left of a column, it stays as
   it is, which tells nothing new. */
static wisp_status normalize(lanczos *L, int step)
{
    wisp_status status;
    wisp__runs *r = &L->runs;
    wisp_scalar dot[B], factor[B];
    WISP_TRY(wisp__inverse_of_S(L->k->inverse, L->v, L->w));
    WISP_TRY(wisp_dot(L->v, L->w, dot));
    for (int i = 0; i < r->columns; i++) {
        const double length = wisp__root(dot[i].re);
        if (!isfinite(length))
            return wisp_ctx_fail(r->ctx, WISP_ERR_NUMERIC, "eig: a solution with the factors of S is not finite");
        const double least =
            step < 0 ? 0 : 8 * L->k->eps * (fabs(r->alpha[i][step]) + (step > 0 ? r->beta[i][step - 1] : 0));
        factor[i] = wisp__real(wisp__run_goes_on(r, i, step, length, least) ? 1 / length : 0);
    }
    WISP_TRY(wisp_vscal(L->v, factor));
    WISP_TRY(wisp_vscal(L->w, factor));
    wisp_blk *old = L->before;
    L->before = L->u, L->u = L->w, L->w = old;
out:
    return status;
}

static double rows_of(const lanczos *L)
{
    return (double)L->k->rows * (L->pencil->rootless ? L->pencil->condition : 1);
}

/* From random vectors of C, so that nothing is rare in them. Without roots u is random: a part of C's vector may be
   smaller than that of a random one by the root of the condition, which those of random ones among so many times as
   many rows are. */
static wisp_status start(wisp__runs *r)
{
    lanczos *L = (lanczos *)r;
    wisp_status status;
    wisp_blk **const all[] = {&L->u, &L->before, &L->v, &L->w};
    const wisp__eig *k = L->k;
    for (int i = 0; i < 4; i++) WISP_TRY(wisp_blk_create(all[i], k->ctx, wisp_mat_map(k->A), k->type, r->columns));
    WISP_TRY(wisp_blk_fill_random(L->w, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_LANCZOS, 0));
    if (!L->pencil->rootless) WISP_TRY(wisp__pencil_root(L->pencil, L->w, L->w));
    status = normalize(L, -1);
out:
    return status;
}

/* w = A v - beta u_before - alpha u, by T^-1 as long as beta is. */
static wisp_status step(wisp__runs *r, int j)
{
    lanczos *L = (lanczos *)r;
    wisp_status status;
    wisp_scalar dot[B], minus[B];
    WISP_TRY(wisp__pencil_times(L->pencil, L->w, L->v, L->k->scaled.exponent, NULL));
    for (int i = 0; i < r->columns; i++) minus[i] = wisp__real(j > 0 ? -r->beta[i][j - 1] : 0);
    if (j > 0) WISP_TRY(wisp_vaxpy(L->w, minus, L->before));
    WISP_TRY(wisp_dot(L->v, L->w, dot));
    for (int i = 0; i < r->columns; i++) {
        r->alpha[i][j] = dot[i].re;
        minus[i] = wisp__real(-dot[i].re);
    }
    WISP_TRY(wisp_vaxpy(L->w, minus, L->u));
    status = normalize(L, j);
out:
    return status;
}

/* A bound of |M|, from its rows. */
static wisp_status size_of(const wisp_mat *M, double *size)
{
    wisp_bounds b;
    const wisp_status status = wisp_bounds_find(&b, M, &(wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN});
    *size = fabs(b.center) + b.halfwidth;
    return status;
}

/* How large S is, and its inverse, which random vectors tell that are multiplied by it again and again. */
static wisp_status look_at_sizes(wisp__eig *k)
{
    enum { COLUMNS = 4, TIMES = 20 };
    wisp_status status;
    wisp_blk *x = NULL;
    double norm[COLUMNS], growth = 0, of_A, of_S;
    wisp_scalar factor[COLUMNS];
    const wisp__pencil *p = wisp__inverse_pencil(k->inverse);
    WISP_TRY(size_of(p->A, &of_A));
    WISP_TRY(size_of(p->S, &of_S));
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, COLUMNS));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_LANCZOS, 0));
    for (int i = 0; i <= TIMES; i++) {
        if (i > 0) WISP_TRY(wisp__inverse_of_S(k->inverse, x, x));
        WISP_TRY(wisp_norm(x, norm));
        for (int j = 0; j < COLUMNS; j++) {
            if (i > 0) growth = fmax(growth, norm[j]);
            factor[j] = wisp__real(1 / norm[j]);
        }
        WISP_TRY(wisp_vscal(x, factor));
    }
    wisp__inverse_take_sizes(k->inverse, ldexp(of_S, -p->exponent) * growth, ldexp(of_A / of_S, k->scaled.exponent));
out:
    wisp_blk_free(x);
    return status;
}

wisp_status wisp__pencil_bounds(wisp__eig *k, double products, bool *found)
{
    enum { WIDTH = 4 };
    static const double wide = 0.05;
    const wisp_bounds_opts o = wisp__bounds_opts(&k->o.bounds, k->o.seed, products, 0, WIDTH);
    wisp_status status = WISP_OK;
    wisp_mat_info info;
    double low = -INFINITY, high = INFINITY, probability = 0;
    lanczos L = {.k = k};
    wisp_mat_get_info(k->A, &info);
    *found = false;
    if (!k->inverse || !wisp__inverse_has_S(k->inverse)) return WISP_OK;
    WISP_TRY(wisp__inverse_factor_S(k->inverse)); /* also where bounds are given: all rests on a definite S */
    if (wisp__inverse_pencil(k->inverse)->rootless) WISP_TRY(look_at_sizes(k));
    if (o.method != WISP_BOUNDS_LANCZOS) return WISP_OK;
    L.pencil = wisp__inverse_pencil(k->inverse);
    L.runs = (wisp__runs){.ctx = k->ctx, .start = start, .step = step, .rows = rows_of(&L), .scale = 1};
    L.runs.room = WISP__BOUNDS_ROOM;
    wisp__bounds_size(&info, &o, &L.runs.columns, &L.runs.steps);
    while (L.pencil->rootless && wisp__bounds_margin(L.runs.rows, L.runs.columns, L.runs.steps) > wide &&
           L.runs.steps < WISP__BOUNDS_STEPS)
        L.runs.steps = 2 * L.runs.steps < WISP__BOUNDS_STEPS ? 2 * L.runs.steps : WISP__BOUNDS_STEPS;
    WISP_TRY(wisp__runs_narrow(&L.runs, &low, &high, &probability));
    k->e->bounds = wisp__bounds_interval(low, high, k->eps, probability);
    *found = true;
out:
    wisp_blk_free(L.u), wisp_blk_free(L.before);
    wisp_blk_free(L.v), wisp_blk_free(L.w);
    return status;
}
