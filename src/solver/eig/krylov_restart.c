/* Krylov-Schur: values and their bounds, restarts, and columns that are locked. */
#include "krylov_schur.h"
#include <string.h>

static void values(wisp__schur *K)
{
    for (int j = 0; j < K->a.active; j++) K->value[j] = wisp__op_nearest(&K->a.op, K->mu[j]);
}

/* The bound of pair j, over |value|. */
static double residual_of(const wisp__schur *K, int j, double bound)
{
    const double over = wisp__schur_over(&K->a, K->value[j]);
    if (K->a.op.inverse) /* of v itself, not of Op v */
        return bound * K->a.op.scale / fmax(hypot(K->mu[j].re, K->mu[j].im), DBL_MIN) / over;
    if (K->a.op.degree == 1) return bound / over;
    return bound / (over * wisp__op_slope(&K->a.op, wisp__op_axis(&K->a.op, K->value[j])));
}

wisp_status wisp__schur_cycle(wisp__schur *K, int m)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = K->k;
    WISP_TRY(wisp__arnoldi_expand(&K->a, m));
    const double start = wisp_now();
    const int n = K->a.active;
    k->e->flops += (k->is_complex ? 160.0 : 40.0) * n * n * n; /* about */
    for (int i = 0; i < n; i++) memcpy(K->S + i * n, wisp__h(&K->a, i, 0), (size_t)n * sizeof *K->S);
    WISP_TRY(wisp__dense_schur(k->ctx, k->is_complex, n, K->S, K->U, K->mu));
    WISP_TRY(wisp__dense_schur_vectors(k->ctx, k->is_complex, n, K->S, K->mu, K->X));
    wisp__schur_times(n, K->U, K->X, K->Y);
    values(K);
    for (int j = 0; j < n; j++) {
        K->bound[j] = wisp__arnoldi_bound(&K->a, K->Y + j, n);
        K->residual[j] = residual_of(K, j, K->bound[j]);
    }
    wisp__schur_sort(&K->a, 0, n, K->value, K->order);
    k->e->ritz_seconds += wisp_now() - start;
out:
    return status;
}

/* V keeps those that come first in order: the first `first`, which are put in front, and others, `kept` in all. */
static wisp_status restart(wisp__schur *K, int first, int kept)
{
    wisp_status status = WISP_OK;
    const int n = K->a.active;
    double ignored;
    for (int stage = 0; stage < 2; stage++) {
        if (stage == 1) kept = first + wisp__schur_untorn(K->k, K->mu, K->order + first, kept - first);
        const int from = stage == 0 ? 0 : first, to = stage == 0 ? first : kept;
        if (to == from) continue;
        for (int i = 0; i < n; i++) K->chosen[i] = stage > 0 && i < from;
        for (int i = from; i < to; i++) K->chosen[K->order[i]] = 1;
        WISP_TRY(wisp__dense_schur_order(K->k->ctx, K->k->is_complex, n, K->S, K->U, K->mu, K->chosen,
                                         stage == 0 ? &K->sine : &ignored));
        values(K);
        for (int i = 0; i < to; i++) K->order[i] = i;
        wisp__schur_sort(&K->a, to, n, K->value, K->order);
    }
    wisp__schur_left_out(K, kept);
    for (int i = 0; i < n; i++) memcpy(K->X + i * kept, K->U + i * n, (size_t)kept * sizeof *K->X);
    WISP_TRY(wisp__arnoldi_rotate(&K->a, K->X, kept));
    for (int i = 0; i < kept; i++) memcpy(wisp__h(&K->a, i, 0), K->S + i * n, (size_t)kept * sizeof *K->S);
out:
    return status;
}

wisp_status wisp__schur_run(wisp__schur *K, wisp__schur_step_fn look, wisp__schur_step_fn take)
{
    wisp_status status = WISP_OK;
    for (;;) {
        wisp__schur_step s = {0};
        WISP_TRY(look(K, &s));
        if (s.ended) goto out;
        if (!s.anew) {
            WISP_TRY(restart(K, s.front, s.kept));
            WISP_TRY(take(K, &s));
            if (s.ended) goto out;
        }
        if (!s.again) WISP_TRY(wisp__arnoldi_restarted(&K->a, s.wanted, s.good, s.next, s.of_norm));
    }
out:
    return status;
}

void wisp__schur_next(const wisp__schur *K, wisp__schur_step *s, int i)
{
    s->next = K->residual[i];
    s->of_norm = s->next * wisp__schur_over(&K->a, K->value[i]) * K->k->eps / K->a.smallest;
}

int wisp__schur_kept(const wisp__schur *K, int wanted, int good)
{
    const int n = K->a.active, most = n - K->a.block;
    const int half = good + (n - good) / 2, least = wanted < n / 2 ? wanted : n / 2, kept = half > least ? half : least;
    return kept < most ? kept : most;
}

void wisp__schur_lock(wisp__schur *K, int n)
{
    for (int i = 0; i < n; i++) K->locked[K->a.locked + i] = K->value[i];
    for (int i = 0; i < n && K->a.op.degree > 1; i++) K->locked[K->a.locked + i] = wisp__real(-INFINITY);
    wisp__arnoldi_lock(&K->a, n);
}

double wisp__schur_own_key(const wisp__schur *K, int i)
{
    return K->a.op.degree > 1 ? K->locked[i].re : wisp__schur_key(&K->a, K->locked[i]);
}

wisp_status wisp__schur_measure(wisp__schur *K, int n, bool *right)
{
    wisp_status status = WISP_OK;
    const wisp_eigen *e = K->k->e;
    WISP_TRY(wisp__schur_deliver(&K->a, n, right));
    K->delivered = *right;
    for (int i = 0; i < n; i++) K->locked[i] = wisp__real(-INFINITY);
    for (int i = 0; i < e->found; i++) {
        K->locked[i] = e->value[i];
        K->unfit |= !(e->value[i].re > K->a.op.center + K->a.op.scale);
    }
    status = wisp__arnoldi_take_last(&K->a);
out:
    return status;
}
