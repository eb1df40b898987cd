/* Bounds of A x = lambda S x by factors of S: Lanczos with S^-1 A, which is self-adjoint in the inner product by S. As
   u = S v has a recurrence of its own, a step takes a product with A and a solution with S, and no root of S. */
#include "pencil_bounds.h"
#include "inverse.h"
#include "../bounds.h"

enum { B = WISP__BOUNDS_RUNS };

typedef struct {
    wisp__eig *k;
    const wisp__pencil *pencil;
    wisp_blk *u, *before, *v, *w; /* u = T v */
    int columns, steps, length[B];
    double alpha[B][WISP__BOUNDS_STEPS], beta[B][WISP__BOUNDS_STEPS];
} runs;

/* v = T^-1 w; both become of length 1 by T, and w is u. Where no more than rounding is left of a column, it stays as
   it is, which tells nothing new. */
static wisp_status normalize(runs *r, int step)
{
    wisp_status status;
    wisp_scalar dot[B], factor[B];
    WISP_TRY(wisp__inverse_of_S(r->k->inverse, r->v, r->w));
    WISP_TRY(wisp_dot(r->v, r->w, dot));
    for (int i = 0; i < r->columns; i++) {
        const double length = wisp__root(dot[i].re);
        if (!isfinite(length))
            return wisp_ctx_fail(r->k->ctx, WISP_ERR_NUMERIC, "eig: a solution with the factors of S is not finite");
        const double least =
            step < 0 ? 0 : 8 * r->k->eps * (fabs(r->alpha[i][step]) + (step > 0 ? r->beta[i][step - 1] : 0));
        const bool goes_on = length > least && r->length[i] == r->steps;
        if (!goes_on && r->length[i] == r->steps) r->length[i] = step + 1;
        if (step >= 0) r->beta[i][step] = goes_on ? length : 0;
        factor[i] = wisp__real(goes_on ? 1 / length : 0);
    }
    WISP_TRY(wisp_vscal(r->v, factor));
    WISP_TRY(wisp_vscal(r->w, factor));
    wisp_blk *old = r->before;
    r->before = r->u, r->u = r->w, r->w = old;
out:
    return status;
}

/* From random vectors of C, so that nothing is rare in them. */
static wisp_status start(runs *r)
{
    wisp_status status;
    wisp_blk **const all[] = {&r->u, &r->before, &r->v, &r->w};
    const wisp__eig *k = r->k;
    for (int i = 0; i < 4; i++) WISP_TRY(wisp_blk_create(all[i], k->ctx, wisp_mat_map(k->A), k->type, r->columns));
    for (int i = 0; i < r->columns; i++) r->length[i] = r->steps;
    WISP_TRY(wisp_blk_fill_random(r->w, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_LANCZOS, 0));
    WISP_TRY(wisp__pencil_root(r->pencil, r->w, r->w));
    status = normalize(r, -1);
out:
    return status;
}

/* w = A v - beta u_before - alpha u, by T^-1 as long as beta is. */
static wisp_status step(runs *r, int j)
{
    wisp_status status;
    wisp_scalar dot[B], minus[B];
    WISP_TRY(wisp__pencil_times(r->pencil, r->w, r->v, r->k->scaled.exponent, NULL));
    for (int i = 0; i < r->columns; i++) minus[i] = wisp__real(j > 0 ? -r->beta[i][j - 1] : 0);
    if (j > 0) WISP_TRY(wisp_vaxpy(r->w, minus, r->before));
    WISP_TRY(wisp_dot(r->v, r->w, dot));
    for (int i = 0; i < r->columns; i++) {
        r->alpha[i][j] = dot[i].re;
        minus[i] = wisp__real(-dot[i].re);
    }
    WISP_TRY(wisp_vaxpy(r->w, minus, r->u));
    WISP_TRY(normalize(r, j));
    status = wisp_ctx_step(r->k->ctx, "bounds", (j + 1.0) / r->steps, 0);
out:
    return status;
}

static wisp_status run(runs *r)
{
    wisp_status status;
    double lowest = INFINITY, highest = -INFINITY;
    WISP_TRY(start(r));
    for (int j = 0; j < r->steps; j++) WISP_TRY(step(r, j));
    for (int i = 0; i < r->columns; i++) {
        lowest = fmin(lowest, wisp__tridiagonal_edge(r->length[i], r->alpha[i], r->beta[i], 0));
        highest = fmax(highest, wisp__tridiagonal_edge(r->length[i], r->alpha[i], r->beta[i], 1));
    }
    r->k->e->bounds = wisp__bounds_of_runs(lowest, highest, (double)r->k->rows, r->columns, r->steps, r->k->eps);
out:
    return status;
}

wisp_status wisp__pencil_bounds(wisp__eig *k, double products, bool *found)
{
    enum { WIDTH = 4 };
    const wisp_bounds_opts o = wisp__bounds_opts(&k->o.bounds, k->o.seed, products, 0, WIDTH);
    wisp_status status = WISP_OK;
    wisp_mat_info info;
    runs *r = NULL;
    wisp_mat_get_info(k->A, &info);
    *found = false;
    if (!k->inverse || !wisp__inverse_has_S(k->inverse)) return WISP_OK;
    WISP_TRY(wisp__inverse_factor_S(k->inverse)); /* also where bounds are given: all rests on a definite S */
    if (o.method != WISP_BOUNDS_LANCZOS) return WISP_OK;
    WISP_TRY(wisp_alloc(k->ctx, &r, 1, sizeof *r));
    *r = (runs){.k = k, .pencil = wisp__inverse_pencil(k->inverse)};
    wisp__bounds_size(&info, &o, &r->columns, &r->steps);
    WISP_TRY(run(r));
    *found = true;
out:
    if (r) {
        wisp_blk_free(r->u), wisp_blk_free(r->before);
        wisp_blk_free(r->v), wisp_blk_free(r->w);
    }
    wisp_free(k->ctx, r);
    return status;
}
