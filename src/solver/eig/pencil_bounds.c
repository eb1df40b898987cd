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

/* From random vectors of C, so that nothing is rare in them. */
static wisp_status start(wisp__runs *r)
{
    lanczos *L = (lanczos *)r;
    wisp_status status;
    wisp_blk **const all[] = {&L->u, &L->before, &L->v, &L->w};
    const wisp__eig *k = L->k;
    for (int i = 0; i < 4; i++) WISP_TRY(wisp_blk_create(all[i], k->ctx, wisp_mat_map(k->A), k->type, r->columns));
    WISP_TRY(wisp_blk_fill_random(L->w, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_LANCZOS, 0));
    WISP_TRY(wisp__pencil_root(L->pencil, L->w, L->w));
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

wisp_status wisp__pencil_bounds(wisp__eig *k, double products, bool *found)
{
    enum { WIDTH = 4 };
    const wisp_bounds_opts o = wisp__bounds_opts(&k->o.bounds, k->o.seed, products, 0, WIDTH);
    wisp_status status = WISP_OK;
    wisp_mat_info info;
    double low = -INFINITY, high = INFINITY, probability = 0;
    lanczos L = {.k = k};
    wisp_mat_get_info(k->A, &info);
    *found = false;
    if (!k->inverse || !wisp__inverse_has_S(k->inverse)) return WISP_OK;
    WISP_TRY(wisp__inverse_factor_S(k->inverse)); /* also where bounds are given: all rests on a definite S */
    if (o.method != WISP_BOUNDS_LANCZOS) return WISP_OK;
    L.runs = (wisp__runs){.ctx = k->ctx, .start = start, .step = step, .rows = (double)k->rows, .scale = 1};
    L.runs.room = WISP__BOUNDS_ROOM;
    L.pencil = wisp__inverse_pencil(k->inverse);
    wisp__bounds_size(&info, &o, &L.runs.columns, &L.runs.steps);
    WISP_TRY(wisp__runs_narrow(&L.runs, &low, &high, &probability));
    k->e->bounds = wisp__bounds_interval(low, high, k->eps, probability);
    *found = true;
out:
    wisp_blk_free(L.u), wisp_blk_free(L.before);
    wisp_blk_free(L.v), wisp_blk_free(L.w);
    return status;
}
