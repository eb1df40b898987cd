/* Block Lanczos: Ritz values and their bounds, restarts, and columns that are locked. */
#include "lanczos.h"
#include <string.h>

double wisp__lanczos_residual(const wisp__lanczos *L, int i)
{
    return L->bound[i] / (wisp__op_slope(&L->a.op, L->lambda[i]) * L->k->scale);
}

/* Ritz values and their bounds, the wanted end first. */
static wisp_status ritz(wisp__lanczos *L)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = L->k;
    const int m = L->a.active;
    const size_t size = (size_t)m;
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
    for (int i = 0; i < m; i++) L->mu[i] = ascending[m - 1 - i];
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) L->Q[i * size + j] = T[i * size + size - 1 - j];
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

/* By what factor the last n residuals exceed what they may have: first + n columns are delivered, as mixtures of those
   with values that are alike, and a mixture may have as much as the root of the sum of their squares. Of the square of
   the tolerance, less what the first ones have, the others may take half: what is found later needs some, too. */
static double excess(const wisp__lanczos *L, int first, int n, const double *residual)
{
    const double tolerance = L->k->o.tolerance, alike = 10 * tolerance * L->k->scale;
    double over = 0;
    for (int i = first; i < first + n; i++) {
        double before = 0, square = 0;
        for (int j = 0; j < first + n; j++)
            if (fabs(L->value[j] - L->value[i]) <= alike) *(j < first ? &before : &square) += residual[j] * residual[j];
        const double may = fmax(tolerance * tolerance - before, 1e-2 * tolerance * tolerance) / 2;
        over = fmax(over, L->a.at.strict < 0.05 ? residual[i] / tolerance : sqrt(square / may));
    }
    return over; /* where the bounds are that small, all else is rounding, of which a mixture has no more than each */
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
out:
    wisp_free(L->k->ctx, residual);
    return status;
}

wisp_status wisp__lanczos_look(wisp__lanczos *L, int *to)
{
    wisp_status status = WISP_OK;
    wisp__arnoldi_at *at = &L->a.at;
    const int step = wisp__arnoldi_look_step(L->m, L->a.block);
    const int from = L->a.active < L->m / 2 ? L->m / 2 : L->a.active;
    if (at->to == 0) at->to = from + step < L->m ? from + step : L->m; /* else it goes on */
    *to = at->to;
    WISP_TRY(wisp__arnoldi_expand(&L->a, *to));
    at->to = 0;
    WISP_TRY(ritz(L));
out:
    return status;
}
