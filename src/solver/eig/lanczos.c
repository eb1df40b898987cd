/* Pairs at an end of a Hermitian matrix's spectrum: block Lanczos with thick restarts (Wu and Simon 2000), of a
   Chebyshev polynomial of the matrix as soon as the values are known well enough to choose one. To make a block
   orthogonal takes far longer than a product with a sparse matrix, and a polynomial needs fewer blocks. */
#include "arnoldi.h"
#include <string.h>

enum { LEAST_SEARCH = 24, MORE_MULTIPLETS = 64, BLOCK = 2 };
static const double growth = 100; /* of a polynomial, to the end of the spectrum */

typedef struct {
    wisp__eig *k;
    wisp__arnoldi a;
    int m;           /* columns of V before a restart */
    wisp_scalar *Q;  /* [m][m] eigenvectors of V^H Op V; those of the ends that is wanted come first */
    double *mu;      /* [m] their values, descending */
    double *lambda;  /* [m] the values of A to them, on its scale */
    double *bound;   /* [m] bounds of residuals |Op v - mu v| */
    int good;        /* the first Ritz vectors of the last restart that are within the tolerance */
    double *value;   /* [most] of A, to the locked columns */
    int most;        /* columns that may be locked */
    int most_degree; /* of Op */
    int beside;      /* any: so many further ones of the last multiplet the search for what is missing has met */
} lanczos;

/* ---- values ----------------------------------------------------------------------------------------- */

/* The bound of pair i, over the halfwidth of the spectrum. */
static double residual_of(const lanczos *L, int i)
{
    return L->bound[i] / (wisp__op_slope(&L->a.op, L->lambda[i]) * L->k->scale);
}

/* ---- restarts ----------------------------------------------------------------------------------------- */

/* Ritz values and their bounds, the wanted end first. */
static wisp_status ritz(lanczos *L)
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

/* V becomes its first `kept` Ritz vectors, and H their values. */
static wisp_status restart(lanczos *L, int kept)
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

/* What a restart keeps: those that are wanted, and half of the rest. */
static int kept_of(const lanczos *L, int wanted)
{
    const int most = L->a.active - L->a.block, kept = wanted + (L->a.active - wanted) / 2;
    return kept < most ? kept : most;
}

/* ---- polynomials ---------------------------------------------------------------------------------------- */

/* Op becomes a Chebyshev polynomial that damps all from behind the values that are wanted on, if its
   degree would be twice the present one; V is made anew then from what was found. At
   least as many values as are wanted stay outside of what is damped: Ritz values lie further in than those of A. */
static wisp_status raise_degree(lanczos *L, bool *raised)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = L->k;
    const wisp_bounds *bounds = &k->e->bounds;
    const double side = k->o.which == WISP_EIG_SMALLEST ? -1 : 1, far = bounds->center - side * bounds->halfwidth;
    const int m = L->a.active, b = L->a.block, beyond = k->o.count + (k->o.count < 8 ? 2 : k->o.count / 4);
    const double last = L->lambda[beyond < m ? beyond : m - 1];
    wisp_scalar *X = L->Q + (size_t)L->m * (size_t)L->m;
    wisp__op op = L->a.op;
    *raised = wisp__op_raise(&op, side, L->lambda[0], last, far, growth, L->most_degree);
    if (!*raised) goto out;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < b; j++) {
            wisp__z z = 0;
            for (int l = j; l <= beyond && l < m; l += b) z += wisp__z_of(L->Q[i * m + l]);
            X[i * b + j] = wisp__of_z(z);
        }
    WISP_TRY(wisp__arnoldi_rotate(&L->a, X, b));
    L->a.op = op;
    WISP_TRY(wisp__arnoldi_start(&L->a, false));
out:
    return status;
}

/* ---- the search --------------------------------------------------------------------------------------- */

/* How many of the first Ritz values are wanted: `count`, and all that are like the last of these, unless any do. */
static int with_multiplet(const lanczos *L, int count)
{
    const double like = L->k->o.tolerance * L->k->scale;
    int n = count < L->a.active ? count : L->a.active;
    while (!L->k->o.any && n < L->a.active && fabs(L->lambda[n] - L->lambda[n - 1]) <= like) n++;
    return n < L->a.active - L->a.block ? n : L->a.active - L->a.block;
}

/* The first n Ritz vectors of the last restart, of which verify() has told, are locked. */
static void lock(lanczos *L, int n)
{
    wisp__arnoldi_lock(&L->a, n);
    L->good = 0;
}

/* By what factor the last n residuals exceed what they may have: first + n columns are delivered, as mixtures of those
   with values that are alike, and a mixture may have as much as the root of the sum of their squares. Of the square of
   the tolerance, less what the first ones have, the others may take half: what is found later needs some, too. */
static double excess(const lanczos *L, int first, int n, const double *residual)
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

/* Residuals of the locked columns and the first n Ritz vectors, from the vectors themselves: *over, as above. */
static wisp_status verify(lanczos *L, int n, double *over)
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

/* V takes in a tenth more columns, or half of all at first: *to in all. To look at the Ritz values takes little. */
static wisp_status look_at(lanczos *L, int *to)
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

/* V takes in blocks, until it has m columns or all that is wanted is within the tolerance: *good of the *wanted first
   ones are. */
static wisp_status expand(lanczos *L, int count, int *wanted, int *good)
{
    wisp_status status = WISP_OK;
    int to = 0;
    do {
        WISP_TRY(look_at(L, &to));
        *wanted = with_multiplet(L, count);
        *good = 0;
        while (*good < *wanted && residual_of(L, *good) <= L->a.at.strict * L->k->o.tolerance) ++*good;
    } while (to < L->m && (*good < *wanted || *wanted < count));
out:
    return status;
}

/* Goes on until `count` pairs are within the tolerance, with the whole multiplet of the last one. They are locked. */
static wisp_status find(lanczos *L, int count)
{
    wisp_status status = WISP_OK;
    for (;;) {
        bool raised = false;
        int wanted, good;
        WISP_TRY(expand(L, count, &wanted, &good));
        const double next = residual_of(L, good < wanted ? good : wanted - 1);
        L->good = 0;
        const bool all = good == wanted && wanted >= count;
        if (good == 0) WISP_TRY(raise_degree(L, &raised)); /* else what is found already would be lost */
        if (raised) {
            WISP_TRY(wisp__arnoldi_told(&L->a, wanted, good, next));
            continue;
        }
        WISP_TRY(restart(L, kept_of(L, wanted)));
        L->good = good;
        if (all) {
            double over;
            WISP_TRY(verify(L, wanted, &over));
            if (over <= 1) {
                lock(L, wanted);
                goto out;
            }
            L->a.at.strict *= fmin(0.5, 1 / over);
            if (++L->a.at.tries == 8) {
                status = wisp_ctx_fail(L->k->ctx, WISP_ERR_STAGNATION,
                                       "eig: rounding keeps the residuals at %.2g of the spectrum's halfwidth",
                                       over * L->k->o.tolerance);
                goto out;
            }
        }
        WISP_TRY(wisp__arnoldi_told(&L->a, wanted, good, next));
    }
out:
    return status;
}

/* ---- whether some are missing --------------------------------------------------------------------- */

/* Beyond the last value that is wanted of the locked ones, by so many widths of a multiplet. */
static double border(const lanczos *L, double widths)
{
    const double sign = L->k->o.which == WISP_EIG_SMALLEST ? 1 : -1;
    double last = -INFINITY;
    for (int i = 0; i < L->a.locked; i++) {
        int before = 0;
        for (int j = 0; j < L->a.locked; j++) before += sign * L->value[j] < sign * L->value[i];
        if (before < L->k->o.count) last = fmax(last, sign * L->value[i]);
    }
    return sign * (last + widths * L->k->o.tolerance * L->k->scale);
}

/* Any: where the search has ended, how many of its Ritz values lie no further in than the last multiplet. A has as many
   eigenvalues there, beside those that were found. */
static int count_beside(const lanczos *L)
{
    const double edge = wisp__op_of(&L->a.op, border(L, 1));
    int n = 0;
    while (L->k->o.any && n < L->a.active && L->mu[n] >= edge) n++;
    return n;
}

/* A search from random vectors in what is orthogonal to the locked columns: at.more is how many were locked, because
   they belong to those that are wanted. It ends where the first Ritz value lies so far beyond the border that what may
   have mixed with it does not matter, or has converged there. Any: of the last multiplet no more are wanted, so that
   the border lies before it. */
static wisp_status search(lanczos *L)
{
    wisp_status status = WISP_OK;
    wisp__arnoldi_at *at = &L->a.at;
    const double tolerance = L->k->o.tolerance, widths = L->k->o.any ? -2 : 1;
    if (at->phase != WISP__SEARCHES) { /* else it goes on */
        at->phase = WISP__SEARCHES;
        at->more = 0;
        L->a.active = 0; /* V begins anew: nothing of it is copied to a larger block */
        WISP_TRY(wisp__arnoldi_room(&L->a, L->m));
        WISP_TRY(wisp__arnoldi_start(&L->a, true));
    }
    for (;;) {
        const double edge = wisp__op_of(&L->a.op, border(L, widths));
        for (int to = 0; to < L->m;) {
            WISP_TRY(look_at(L, &to));
            const bool settled = residual_of(L, 0) <= tolerance;
            if (L->mu[0] < edge && (settled || L->mu[0] + WISP__RESERVE * L->bound[0] < edge)) {
                L->beside = count_beside(L);
                goto out;
            }
        }
        int wanted = 0;
        double over;
        while (wanted < L->a.active - L->a.block && L->mu[wanted] >= edge &&
               residual_of(L, wanted) <= L->a.at.strict * tolerance)
            wanted++;
        WISP_TRY(restart(L, kept_of(L, wanted)));
        if (wanted > 0) {
            WISP_TRY(verify(L, wanted, &over));
            if (over > 1) L->a.at.strict *= fmin(0.5, 1 / over), wanted = 0;
        }
        at->more += wanted;
        lock(L, wanted);
        if (L->a.locked > L->most) {
            status = wisp_ctx_fail(
                L->k->ctx, WISP_ERR_INCOMPLETE,
                "eig: %d eigenvalues, and more of the last one's multiplet, of which `any` takes some", L->a.locked);
            goto out;
        }
        WISP_TRY(wisp__arnoldi_room(&L->a, L->m));
        WISP_TRY(wisp__arnoldi_told(&L->a, L->k->o.count, L->a.locked, residual_of(L, 0)));
    }
out:
    return status;
}

/* The gap before Op's value `next`, behind so many columns, whose residuals are `error` together. */
static wisp__gap gap_of(const lanczos *L, int columns, double edge, double next, double error)
{
    const wisp__op *op = &L->a.op;
    const wisp_bounds *b = &L->k->e->bounds;
    wisp__gap g = {.columns = columns, .side = op->side, .first = L->value[0], .edge = wisp__op_value(op, edge)};
    for (int i = 1; i < L->a.locked; i++)
        if (op->side * (L->value[i] - g.first) > 0) g.first = L->value[i];
    g.damped = op->degree > 1 && next <= 1 ? op->center + op->side * op->scale : wisp__op_value(op, next);
    g.far = b->center - op->side * b->halfwidth;
    g.residual = error / (wisp__op_slope(op, g.edge) * L->k->scale);
    return g;
}

/* The gap behind the locked columns, after a search from which L->mu and L->bound are. */
static double gap_behind(const lanczos *L, wisp__gap *gap)
{
    const double edge = wisp__op_of(&L->a.op, border(L, 1));
    if (L->a.op.degree > 1 && edge <= 1) return INFINITY;
    *gap = gap_of(L, L->a.locked, edge, L->mu[0] + L->bound[0], 0);
    gap->residual = L->k->o.tolerance;
    return wisp__gap_steps(&L->a, gap);
}

/* Or, where the locked columns are the first Ritz vectors of the last restart, behind some of those that V holds beside
   them, if it takes less to look into that: Op has as many values within |R| of the columns' values, one for each,
   where R are the residuals of all of them (Kahan 1967). So the values of the additional ones don't count, if that
   leaves them behind the border; and if nothing else lies before the gap, nothing else counts. */
static double best_gap(const lanczos *L, wisp__gap *best)
{
    const int n = L->a.locked;
    const double behind = wisp__op_of(&L->a.op, border(L, 1));
    double square = 0, least = INFINITY;
    for (int i = 0; i < n + L->a.active; i++) {
        const double error = sqrt(square), edge = i == n ? behind : L->mu[i - (i > 0)] - error;
        square += L->bound[i] * L->bound[i];
        if (i > n && !(L->mu[n] + error < behind)) break;
        if (i < n || (L->a.op.degree > 1 && edge <= 1)) continue;
        const wisp__gap g = gap_of(L, i, edge, L->mu[i] + L->bound[i], error);
        const double steps = wisp__gap_steps(&L->a, &g);
        if (steps < least) least = steps, *best = g;
    }
    return least;
}

/* Where products alone would take as long as the search, or do not tell, it is another search. */
static wisp_status look_for_missing(lanczos *L)
{
    wisp_status status = WISP_OK;
    wisp__arnoldi_at *at = &L->a.at;
    bool empty = false;
    double steps = INFINITY; /* a look that goes on has been chosen */
    if (at->phase == WISP__FINDS) {
        at->checked = wisp__eig_begin_check(L->k);
        at->phase = WISP__BETWEEN;
        steps = best_gap(L, &at->gap);
    }
    for (;;) {
        if (at->phase == WISP__BETWEEN && steps * L->a.block <= (double)L->k->e->products) at->phase = WISP__GAPS;
        if (at->phase == WISP__GAPS) WISP_TRY(wisp__gap_empty(&L->a, &empty));
        if (empty) goto out;
        WISP_TRY(search(L));
        at->phase = WISP__BETWEEN;
        if (at->more == 0) goto out;
        steps = gap_behind(L, &at->gap);
    }
out:
    wisp__eig_end_check(L->k, &at->checked);
    return status;
}

/* ---- the call ------------------------------------------------------------------------------------------- */

/* The user gets the first n columns, as far as they are within the tolerance, or those of them that were asked for;
   all: each has to be. */
static wisp_status deliver(lanczos *L, int n, bool all)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = L->k;
    double *theta = NULL, *residual;
    wisp_blk *V = NULL;
    wisp__ortho how;
    int first, found;
    if (n == 0) return WISP_OK;
    WISP_TRY(wisp_blk_cols(&V, L->a.all, 0, n));
    WISP_TRY(wisp__orthonormal(V, NULL, 1, &how));
    n = how.rank;
    if (n == 0) goto out;
    WISP_TRY(wisp_alloc(k->ctx, &theta, 2 * (size_t)n, sizeof *theta));
    residual = theta + n;
    WISP_TRY(wisp__ritz(k, L->a.all, 0, n, theta));
    WISP_TRY(wisp__ritz_residuals(k, L->a.all, 0, n, theta, residual));
    wisp__eig_select(k, n, theta, residual, &first, &found);
    k->e->at_least += L->beside;
    if (L->beside > 0 && found > 0) {
        const int last = k->o.which == WISP_EIG_SMALLEST ? first + found - 1 : first;
        wisp__eig_warn_of_levels(k, (double[]){theta[last], L->lambda[0]},
                                 (double[]){residual[last], residual_of(L, 0)});
    }
    const int asked = found, end = first + asked;
    if (k->o.which == WISP_EIG_SMALLEST) {
        for (found = 0; found < asked && residual[first + found] <= k->o.tolerance;) found++;
    } else {
        for (found = 0; found < asked && residual[end - 1 - found] <= k->o.tolerance;) found++;
        first = end - found;
    }
    if (found < asked) k->e->at_least = found;
    WISP_TRY(wisp__eig_deliver(k, L->a.all, first, found, theta + first, residual + first));
    if (all && (found < asked || found < k->o.count))
        status = wisp_ctx_fail(k->ctx, WISP_ERR_STAGNATION, "eig: rounding keeps residuals above the tolerance");
out:
    wisp_blk_free(V);
    wisp_free(k->ctx, theta);
    return status;
}

static int block_of(const wisp__eig *k)
{
    const int most = k->o.block < WISP__MOST_BLOCK ? k->o.block : WISP__MOST_BLOCK;
    return most > 0 ? most : BLOCK;
}

/* The items of a state (wisp_items_fn). */
static wisp_status items(void *arg, wisp_state *s)
{
    lanczos *L = arg;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__eig_items(L->k, s));
    WISP_TRY(wisp__arnoldi_items(&L->a, s));
    if (L->a.locked > L->most + L->m) return wisp_ctx_fail(L->k->ctx, WISP_ERR_FORMAT, "eig: a state that can't be");
    WISP_TRY(wisp_state_data(s, "locked values", L->value, (size_t)L->a.locked * sizeof *L->value));
    WISP_TRY(wisp_state_data(s, "good", &L->good, sizeof L->good));
out:
    return status;
}

static wisp_status run(lanczos *L)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = L->k;
    const wisp_bounds *b = &k->e->bounds;
    const double sign = k->o.which == WISP_EIG_SMALLEST ? -1 : 1;
    const int block = block_of(k);
    L->a.k = k;
    L->a.op = (wisp__op){1, sign, b->center, b->halfwidth};
    L->a.rounding = k->eps * (1 + fabs(b->center) / b->halfwidth);
    const size_t m = (size_t)L->m, most = (size_t)(L->most + L->m);
    WISP_TRY(wisp_alloc(k->ctx, &L->Q, 2 * m * m, sizeof *L->Q));
    WISP_TRY(wisp_alloc(k->ctx, &L->mu, 3 * m + most, sizeof *L->mu));
    L->lambda = L->mu + m, L->bound = L->lambda + m, L->value = L->bound + m;
    WISP_TRY(wisp__arnoldi_make(&L->a, L->m + block, block));
    WISP_TRY(wisp__op_most_degree(&L->a, L->m, &L->most_degree));
    WISP_TRY(wisp__eig_state(k, items, L));
    if (!k->o.resume) WISP_TRY(wisp__arnoldi_start(&L->a, false));
    if (L->a.at.phase == WISP__FINDS) WISP_TRY(find(L, k->o.count));
    WISP_TRY(look_for_missing(L));
    k->e->complete = 1;
out:
    k->e->degree = L->a.op.degree;
    return status;
}

/* Columns of V in a search. */
static int search_columns(const wisp__eig *k, int block)
{
    const int least = k->o.count + 2 * block + 1;
    const int usual = 5 * k->o.count / 2 > LEAST_SEARCH ? 5 * k->o.count / 2 : LEAST_SEARCH;
    int m = k->o.search > 0 ? k->o.search : usual;
    if (m < least) m = least;
    return (m + block - 1) / block * block;
}

wisp_status wisp__eig_lanczos(wisp__eig *k)
{
    lanczos L = {.k = k, .a.at.strict = 0.5};
    const int block = block_of(k);
    L.m = search_columns(k, block);
    L.most = 2 * k->o.count + MORE_MULTIPLETS;
    if (k->rows <= L.most + 2 * L.m + block) return wisp__eig_dense(k);
    wisp_status status = k->o.resume ? WISP_OK : wisp__eig_bounds(k, L.m), delivered = WISP_OK;
    if (status == WISP_OK) {
        status = run(&L);
        if (wisp__eig_last(k, status) && L.a.all) delivered = deliver(&L, L.a.locked + L.good, status == WISP_OK);
    }
    wisp__arnoldi_free(&L.a);
    wisp_free(k->ctx, L.Q);
    wisp_free(k->ctx, L.mu);
    return status == WISP_OK ? delivered : status;
}

wisp_status wisp__eig_plan_lanczos(wisp__eig *k, wisp_eig_cost *cost)
{
    const int block = block_of(k), m = search_columns(k, block);
    const int64_t held = wisp__eig_held(k), size = (int64_t)wisp_type_size(k->type);
    if (k->rows <= 2 * k->o.count + MORE_MULTIPLETS + 2 * m + block) return wisp__eig_plan_dense(k, cost);
    cost->method = WISP_LANCZOS;
    cost->search = m;
    cost->block = block;
    /* V, W and three blocks, one of them for polynomials. The search for what is missing has as many beside those that
       were found, which are held twice while there is made room, and H likewise; a block of products'. Ritz vectors,
       and room for LAPACK. */
    const int64_t found = k->o.count, blocks = wisp__eig_scaled_blocks(k) + 7, parts = k->is_complex ? 2 : 1,
                  small = (int64_t)(m + block) * (m + block), large = (m + found + 2 * block) * (m + found + 2 * block),
                  twice = 48 * small, lapack = parts * (24 * (int64_t)m * m + 512 * (int64_t)m),
                  columns = m + 2 * found + blocks * block;
    cost->bytes = held * size * columns + 48 * large + 32 * (int64_t)m * m + (twice > lapack ? twice : lapack) +
                  wisp__arnoldi_numbers(m, k->o.count) +
                  wisp__eig_beside(k, m + (int)found, block, parts * ((int64_t)m * m + m));
    if (cost->bytes < wisp__eig_dense_bytes(k)) cost->bytes = wisp__eig_dense_bytes(k);
    return WISP_OK;
}
