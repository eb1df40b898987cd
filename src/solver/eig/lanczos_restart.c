/* Block Lanczos: Ritz values and their bounds, restarts, and columns that are locked. */
#include "lanczos.h"
#include <string.h>

/* |A - center| on r = Op v - mu v, whose length is the bound: (A - lambda) v = -(A - center) r / mu. Of Op v it would
   be |lambda - center|, and a product may make v that; so the worst is not waited for. */
static double reach(const wisp__lanczos *L, int i)
{
    return fmax(L->a.op.scale / 16, fabs(L->lambda[i] - L->a.op.center));
}

double wisp__lanczos_residual(const wisp__lanczos *L, int i)
{
    const wisp__op *op = &L->a.op;
    if (op->inverse) return L->bound[i] / fabs(L->mu[i]) * reach(L, i) / L->k->scale;
    if (isnan(L->lambda[i])) return INFINITY; /* where Op damps, several values of A have its value */
    return L->bound[i] / (wisp__op_slope(op, L->lambda[i]) * L->k->scale);
}

/* Ritz values of a Hermitian matrix lie within its spectrum, and so within its bounds; those that were given may be
   wrong. low, high: of Op. */
static wisp_status check_given(const wisp__lanczos *L, double low, double high)
{
    static const double slack = 1e-6;
    const wisp__eig *k = L->k;
    const wisp_bounds *b = &k->e->bounds;
    const wisp__op *op = &L->a.op;
    const double end[] = {wisp__op_value(op, high), op->degree == 1 ? wisp__op_value(op, low) : NAN};
    const double all = b->halfwidth + fabs(b->center), most = b->halfwidth * (1 + slack) + 16 * k->eps * all;
    if (op->inverse || !isnan(b->failure_probability)) return WISP_OK;
    for (int i = 0; i < 2; i++)
        if (fabs(end[i] - b->center) > most)
            return wisp_ctx_failf(k->ctx, WISP_ERR_BOUNDS,
                                  "eig: the matrix has eigenvalues %s bound: bounds %.10g to %.10g, and one is %.10g "
                                  "or further out; take "
                                  "wider opts.bounds%s",
                                  end[i] > b->center ? "above the upper" : "below the lower",
                                  wisp__eig_shown(k, b->center - b->halfwidth),
                                  wisp__eig_shown(k, b->center + b->halfwidth), wisp__eig_shown(k, end[i]),
                                  wisp__or_none(b));
    return WISP_OK;
}

/* Ritz values and their bounds, the wanted end first. */
static wisp_status ritz(wisp__lanczos *L)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = L->k;
    const int m = L->looked = L->a.active;
    const double before = wisp_now();
    wisp_scalar *T = L->Q + (size_t)L->m * (size_t)L->m; /* behind Q */
    double *ascending = L->bound;
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) {
            const wisp_scalar h = *wisp__h(&L->a, i, j);
            T[i * m + j] = i == j ? wisp__real(h.re) : h;
            T[j * m + i] = i == j ? wisp__real(h.re) : (wisp_scalar){h.re, -h.im};
        }
    WISP_TRY(wisp__dense_eigh(k->ctx, k->is_complex, m, T, ascending));
    WISP_TRY(check_given(L, ascending[0], ascending[m - 1]));
    for (int j = 0, low = 0, high = m - 1; j < m; j++) { /* from either end the one that is wanted more */
        const int from = L->a.op.inverse && -ascending[low] > ascending[high] ? low++ : high--;
        L->mu[j] = ascending[from];
        for (int i = 0; i < m; i++) L->Q[i * m + j] = T[i * m + from];
    }
    for (int i = 0; i < m; i++) {
        L->lambda[i] = wisp__op_value(&L->a.op, L->mu[i]);
        L->bound[i] = wisp__arnoldi_bound(&L->a, L->Q + i, m);
    }
    k->e->ritz_seconds += wisp_now() - before;
out:
    return status;
}

wisp_status wisp__lanczos_restart(wisp__lanczos *L, int kept)
{
    wisp_status status = WISP_OK;
    const int m = L->a.active;
    wisp_scalar *Q = L->Q + (size_t)L->m * (size_t)L->m;
    for (int i = 0; i < m; i++) memcpy(Q + i * kept, L->Q + i * m, (size_t)kept * sizeof *Q);
    WISP_TRY(wisp__arnoldi_rotate(&L->a, Q, kept));
    for (int i = 0; i < kept; i++)
        for (int j = 0; j < kept; j++) *wisp__h(&L->a, i, j) = wisp__real(i == j ? L->mu[i] : 0);
out:
    return status;
}

int wisp__lanczos_kept(const wisp__lanczos *L, int wanted)
{
    const int most = L->a.active - L->a.block, kept = wanted + (L->a.active - wanted) / 2;
    return kept < most ? kept : most;
}

void wisp__lanczos_lock(wisp__lanczos *L, int n)
{
    wisp__arnoldi_lock(&L->a, n);
    L->good = 0;
}

/* ---- whether residuals are within the tolerance ---------------------------------------------------- */

/* What rounding alone makes of a residual, about. */
static double unit_of(const wisp__lanczos *L)
{
    const wisp_bounds *b = &L->k->e->bounds;
    return L->k->eps * (b->halfwidth + fabs(b->center)) / L->k->scale;
}

/* Bounds are so small that all else is rounding. */
static bool is_rounding(const wisp__lanczos *L)
{
    return L->a.at.strict < 0.05 || L->a.at.strict * L->k->o.tolerance <= 8 * unit_of(L);
}

/* By what factor the last n residuals exceed what they may have: first + n columns are delivered, as mixtures of those
   with values that are alike, and a mixture may have as much as the root of the sum of their squares. Of the square of
   the tolerance, less what the first ones have, the others may take half: what is found later needs some, too. Of
   rounding a mixture has no more than each. */
static double excess(const wisp__lanczos *L, int first, int n, const double *residual)
{
    const double tolerance = L->k->o.tolerance, alike = 10 * tolerance * L->k->scale;
    const bool rounding = is_rounding(L);
    double over = 0;
    for (int i = first; i < first + n; i++) {
        double before = 0, square = 0;
        for (int j = 0; j < first + n; j++)
            if (fabs(L->value[j] - L->value[i]) <= alike) *(j < first ? &before : &square) += residual[j] * residual[j];
        const double may = fmax(tolerance * tolerance - before, 1e-2 * tolerance * tolerance) / 2;
        over = fmax(over, rounding ? residual[i] / tolerance : sqrt(square / may));
        if (!(residual[i] >= 0)) over = INFINITY; /* fmax would leave out what is no number */
    }
    return over;
}

/* Z's columns are multiplied by Op, which takes out of them what rounding has put in of other vectors, above all where
   V has been turned many times. */
static wisp_status filter(wisp__lanczos *L, wisp_blk *Z)
{
    wisp_status status = WISP_OK;
    wisp__arnoldi *a = &L->a;
    wisp_blk *from = NULL, *part = NULL;
    const int n = wisp_blk_width(Z);
    for (int j = 0; j < n; j += a->block) {
        const int width = n - j < a->block ? n - j : a->block;
        WISP_TRY(wisp_blk_cols(&from, Z, j, width));
        WISP_TRY(wisp_blk_cols(&part, a->x, 0, width));
        WISP_TRY(wisp_copy(part, from));
        wisp_blk_free(part);
        part = NULL;
        WISP_TRY(wisp__arnoldi_multiply(a));
        WISP_TRY(wisp_blk_cols(&part, a->y, 0, width));
        WISP_TRY(wisp_copy(from, part));
        wisp_blk_free(from), wisp_blk_free(part);
        from = part = NULL;
    }
    status = wisp__arnoldi_take_last(a);
out:
    wisp_blk_free(from);
    wisp_blk_free(part);
    return status;
}

/* Z's columns become orthonormal, and Ritz vectors of A itself: value and residual are theirs. */
static wisp_status turn(wisp__lanczos *L, wisp_blk *Z, double *value, double *residual, double *over)
{
    wisp_status status = WISP_OK;
    const int n = wisp_blk_width(Z);
    wisp__ortho how;
    *over = INFINITY;
    WISP_TRY(wisp__eig_orthonormal(L->k, Z, 0, &how));
    if (how.rank < n) goto out;
    WISP_TRY(wisp__ritz(L->k, Z, 0, n, value));
    WISP_TRY(wisp__ritz_residuals(L->k, Z, 0, n, value, residual));
    *over = 0;
    for (int i = 0; i < n; i++) *over = fmax(*over, residual[i] / L->k->o.tolerance);
out:
    return status;
}

wisp_status wisp__lanczos_polish(wisp__lanczos *L, wisp_blk *Z, double *value, double *residual, double *over)
{
    enum { TIMES = 10 };
    wisp_status status = WISP_OK;
    double last = INFINITY;
    const bool helps = L->a.op.degree > 1 || L->a.op.inverse;
    WISP_TRY(turn(L, Z, value, residual, over));
    for (int i = 0; i < TIMES && (*over > 1) && helps && (*over < 2 || *over < 0.8 * last); i++) {
        last = *over;
        WISP_TRY(filter(L, Z));
        WISP_TRY(turn(L, Z, value, residual, over));
    }
out:
    return status;
}

/* The locked columns and V's first n become the best that Op makes of them, if that is within the tolerance, *over <=
   1; else they stay. */
static wisp_status mend(wisp__lanczos *L, int n, double *residual, double *over)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = L->k;
    wisp_blk *V = NULL, *Z = NULL;
    double *value = NULL;
    const int all = L->a.locked + n;
    WISP_TRY(wisp_alloc(k->ctx, &value, (size_t)all, sizeof *value));
    WISP_TRY(wisp_blk_create(&Z, k->ctx, wisp_mat_map(k->A), k->type, all));
    WISP_TRY(wisp_blk_cols(&V, L->a.all, 0, all));
    WISP_TRY(wisp_copy(Z, V));
    WISP_TRY(wisp__lanczos_polish(L, Z, value, residual, over));
    if (*over > 1) goto out;
    WISP_TRY(wisp_copy(V, Z));
    for (int i = 0; i < all; i++) L->value[i] = value[i];
out:
    wisp_blk_free(V);
    wisp_blk_free(Z);
    wisp_free(k->ctx, value);
    return status;
}

bool wisp__lanczos_stalls(const wisp__lanczos *L)
{
    enum { EACH = 25 };
    const int since = L->a.restarts - L->a.better_at;
    return since > 0 && since % EACH == 0;
}

wisp_status wisp__lanczos_verify(wisp__lanczos *L, int n, double *over)
{
    wisp_status status = WISP_OK;
    double *residual = NULL;
    const int first = L->a.locked;
    for (int i = 0; i < n; i++) L->value[first + i] = L->lambda[i];
    WISP_TRY(wisp_alloc(L->k->ctx, &residual, (size_t)(first + n), sizeof *residual));
    WISP_TRY(wisp__ritz_residuals(L->k, L->a.all, 0, first + n, L->value, residual));
    *over = excess(L, first, n, residual);
    if (*over > 1 && (L->a.op.inverse || is_rounding(L) || wisp__lanczos_stalls(L)))
        status = mend(L, n, residual, over);
out:
    wisp_free(L->k->ctx, residual);
    return status;
}

wisp_status wisp__lanczos_dependent(const wisp__eig *k)
{
    return wisp_ctx_fail(k->ctx, WISP_ERR_STAGNATION,
                         "eig: vectors of pairs that seemed to converge depend on each other");
}

wisp_status wisp__lanczos_be_stricter(wisp__lanczos *L, double over)
{
    enum { TRIES = 8 };
    wisp__arnoldi_at *at = &L->a.at;
    const double tolerance = L->k->o.tolerance, least = 2 * unit_of(L) / tolerance;
    if (++at->tries == TRIES || at->strict <= least) {
        if (!isfinite(over)) return wisp__lanczos_dependent(L->k);
        return wisp_ctx_failf(L->k->ctx, WISP_ERR_STAGNATION, "eig: %s at %.2g; the tolerance is %.2g",
                              at->strict <= least ? "rounding keeps the residuals" : "the residuals stay",
                              wisp__eig_residual(L->k, over * tolerance), wisp__eig_residual(L->k, tolerance));
    }
    at->strict = fmax(at->strict * fmin(0.5, 1 / over), least);
    L->a.most_good = -1; /* by other bounds */
    return WISP_OK;
}

/* ---- V ---------------------------------------------------------------------------------------------- */

wisp_status wisp__lanczos_look(wisp__lanczos *L, int *to)
{
    wisp_status status = WISP_OK;
    wisp__arnoldi_at *at = &L->a.at;
    const int step = wisp__arnoldi_look_step(L->m, L->a.block);
    /* Columns that have grown in a look have what is missing from the start. */
    const int least = at->phase == WISP__SEARCHES && at->grown > 0 ? 0 : L->m / 2;
    const int from = L->a.active < least ? least : L->a.active;
    if (at->to == 0) at->to = from + step < L->m ? from + step : L->m; /* else it goes on */
    *to = at->to;
    WISP_TRY(wisp__arnoldi_expand(&L->a, *to));
    at->to = 0;
    WISP_TRY(ritz(L));
out:
    return status;
}
