/* Pairs of a matrix that is not Hermitian: vectors from a Schur form, and what the user gets. */
#include "arnoldi.h"
#include <stdlib.h>
#include <string.h>

/* ---- vectors ------------------------------------------------------------------------------------------ */

typedef struct {
    wisp__arnoldi *a;
    int n;                    /* columns of the space */
    const wisp_scalar *U, *X; /* [n][n] the eigenvectors in the space are U X */
    wisp_scalar *part;        /* [n][found] of those that are taken */
    const wisp_scalar *value; /* [n] */
    double *condition;        /* [n] of those that are wanted */
    int *taken;               /* [found] numbers of values, ascending by their parts */
    int found;
} pairs;

/* Columns of `part` to a block of the user's. */
static wisp_status combine(const pairs *p, wisp_blk *to)
{
    wisp_blk *space = NULL;
    wisp_status status = wisp_blk_cols(&space, p->a->all, 0, p->n);
    if (status == WISP_OK) status = wisp_tsm_update(to, wisp__real(1), space, p->part, p->found, wisp__real(0));
    wisp_blk_free(space);
    return status;
}

/* part becomes the eigenvectors that are taken, or the real parts of factor times them. */
static void take(const pairs *p, double complex factor, bool real)
{
    const int n = p->n, found = p->found;
    for (int i = 0; i < n; i++) {
        wisp_scalar *to = p->part + (size_t)i * (size_t)found;
        for (int j = 0; j < found; j++) to[j] = wisp__real(0);
        for (int l = 0; l < n; l++) {
            const wisp_scalar u = p->U[(size_t)i * (size_t)n + (size_t)l], *x = p->X + (size_t)l * (size_t)n;
            for (int j = 0; j < found; j++) {
                const wisp_scalar v = x[p->taken[j]];
                to[j].re += u.re * v.re - u.im * v.im;
                to[j].im += u.re * v.im + u.im * v.re;
            }
        }
        for (int j = 0; j < found; j++) {
            const double complex z = factor * wisp__z_of(to[j]);
            to[j] = real ? wisp__real(creal(z)) : wisp__of_z(z);
        }
    }
}

/* Vectors of a real space with complex values: real and imaginary parts meet on the host, a column at a time. */
static wisp_status join(const pairs *p, wisp_blk *to)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = p->a->k;
    const size_t rows = (size_t)wisp_blk_nrows(to), size = wisp_type_size(k->type);
    wisp_blk *part[2] = {NULL, NULL}, *from = NULL, *column = NULL;
    char *host = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &host, 4 * rows + 1, size));
    char *whole = host + 2 * rows * size;
    for (int i = 0; i < 2; i++) {
        WISP_TRY(wisp_blk_create(&part[i], k->ctx, wisp_mat_map(k->A), k->type, p->found));
        take(p, i == 0 ? 1 : -I, true);
        WISP_TRY(combine(p, part[i]));
    }
    for (int j = 0; j < p->found; j++) {
        for (int i = 0; i < 2; i++) {
            WISP_TRY(wisp_blk_cols(&from, part[i], j, 1));
            WISP_TRY(wisp_blk_get(from, WISP_ROW_MAJOR, host + (size_t)i * rows * size, 1));
            wisp_blk_free(from);
            from = NULL;
        }
        for (size_t r = 0; r < 2 * rows; r++) memcpy(whole + r * size, host + (r % 2 * rows + r / 2) * size, size);
        WISP_TRY(wisp_blk_cols(&column, to, j, 1));
        WISP_TRY(wisp_blk_put(column, WISP_ROW_MAJOR, whole, 1));
        wisp_blk_free(column);
        column = NULL;
    }
out:
    wisp_free(k->ctx, host);
    wisp_blk_free(part[0]);
    wisp_blk_free(part[1]);
    wisp_blk_free(from);
    wisp_blk_free(column);
    return status;
}

static wisp_status make_vectors(const pairs *p, wisp_blk **vectors)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = p->a->k;
    bool apart = false;
    for (int j = 0; j < p->found; j++) apart |= !k->is_complex && p->value[p->taken[j]].im != 0;
    const wisp_type type = apart ? wisp__type_in(k->type, WISP_Z) : k->type;
    WISP_TRY(wisp_blk_create(vectors, k->ctx, wisp_mat_map(k->A), type, p->found));
    if (apart) return join(p, *vectors);
    take(p, 1, !k->is_complex);
    WISP_TRY(combine(p, *vectors));
out:
    return status;
}

/* The vectors get length 1, and residual[found] are theirs. */
static wisp_status residuals(const pairs *p, wisp_blk *vectors, double *residual)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = p->a->k;
    wisp_blk *x = NULL, *y = NULL, *from = NULL;
    wisp_scalar dot[3];
    double length;
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), wisp_blk_type(vectors), 1));
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), wisp_blk_type(vectors), 1));
    for (int j = 0; j < p->found; j++) {
        const wisp_scalar value = p->value[p->taken[j]];
        WISP_TRY(wisp_blk_cols(&from, vectors, j, 1));
        WISP_TRY(wisp_norm(from, &length));
        WISP_TRY(wisp_scal(from, wisp__real(1 / length)));
        WISP_TRY(wisp_copy(x, from));
        WISP_TRY(wisp_spmmv(y, k->A, x, &(wisp_aug){.terms = WISP_SHIFT | WISP_DOT_YY, .shift = &value, .dot = dot}));
        residual[j] = sqrt(dot[2].re) / wisp__schur_over(p->a, value);
        wisp_blk_free(from);
        from = NULL;
    }
    k->e->products += p->found;
    k->e->flops += k->flops * p->found;
out:
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_blk_free(from);
    return status;
}

/* ---- the result --------------------------------------------------------------------------------------- */

/* The first `found` in order are taken, ascending by their real parts, then by their imaginary ones. */
static void take_first(pairs *p, const int *order, int found)
{
    p->found = found;
    for (int i = 0; i < found; i++) {
        const wisp_scalar v = p->value[order[i]];
        int j = i;
        for (; j > 0; j--) {
            const wisp_scalar u = p->value[p->taken[j - 1]];
            if (u.re < v.re || (u.re == v.re && u.im <= v.im)) break;
            p->taken[j] = p->taken[j - 1];
        }
        p->taken[j] = order[i];
    }
}

/* How many of those in order are within the tolerance before the first one that is not. */
static int good_of(const pairs *p, const int *order, const double *residual)
{
    for (int i = 0; i < p->found; i++)
        for (int j = 0; j < p->found; j++)
            if (p->taken[j] == order[i] && !(residual[j] <= p->a->k->o.tolerance))
                return wisp__schur_untorn(p->a->k, p->value, order, i);
    return p->found;
}

/* How far all of them are, before those that are not within the tolerance are left out. A tolerance allows its part of
   |value|, and its square of |A|. */
static void note_reached(const pairs *p, const double *residual)
{
    wisp__arnoldi_at *at = &p->a->at;
    const wisp__eig *k = p->a->k;
    const double norm = p->a->smallest / k->eps;
    double most = 0;
    wisp__reached now = {0};
    for (int i = 0; i < p->found; i++) {
        const wisp_scalar v = p->value[p->taken[i]];
        const double over = wisp__schur_over(p->a, v), length = residual[i] * over, size = hypot(v.re, v.im);
        const double would = k->o.tolerance_abs > 0 ? length : fmin(length / size, sqrt(length / norm));
        if (residual[i] > most) most = residual[i], now.length = length, now.may = k->o.tolerance * over;
        now.tolerance = fmax(now.tolerance, would);
    }
    at->now = now;
    const bool is_nearer = at->best.length == 0 || now.tolerance < at->best.tolerance;
    if (now.length > now.may && is_nearer) at->best = now; /* of those that are not within the tolerance */
}

/* x > 0 with one digit, and not less. */
static double digit_above(double x)
{
    const double unit = pow(10, floor(log10(x)));
    return ceil(x / unit) * unit;
}

wisp_status wisp__schur_rounded(const wisp__arnoldi *a)
{
    const wisp__eig *k = a->k;
    const wisp__reached *best = &a->at.best;
    const bool absolute = k->o.tolerance_abs > 0;
    enum { UNITS = 16 }; /* of rounding, which a tolerance allows, unless it is an absolute one */
    const double would =
        absolute ? wisp__eig_shown(k, 2 * fmax(best->tolerance, UNITS * a->smallest)) : 2 * best->tolerance;
    if (!(best->length > best->may))
        return wisp_ctx_failf(k->ctx, WISP_ERR_STAGNATION, "eig: rounding leaves fewer pairs than were asked for");
    return wisp_ctx_failf(k->ctx, WISP_ERR_STAGNATION,
                          "eig: rounding keeps a residual |A v - lambda v| at %.2g, above the %.2g that the tolerance "
                          "allows; %s could be %.0e",
                          wisp__eig_shown(k, best->length), wisp__eig_shown(k, best->may),
                          absolute ? "opts.tolerance_abs" : "opts.tolerance", digit_above(would));
}

static wisp_status give(pairs *p, const int *order, int wanted)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = p->a->k->e;
    for (int found = wanted; found > 0;) {
        wisp__eig_drop_pairs(e);
        take_first(p, order, found);
        e->value = calloc((size_t)found, sizeof *e->value);
        e->residual = calloc((size_t)found, sizeof *e->residual);
        e->condition = calloc((size_t)found, sizeof *e->condition);
        if (!e->value || !e->residual || !e->condition)
            return wisp_ctx_failf(p->a->k->ctx, WISP_ERR_NOMEM, "out of memory for %d values", found);
        WISP_TRY(make_vectors(p, &e->vectors));
        WISP_TRY(residuals(p, e->vectors, e->residual));
        if (found == wanted) note_reached(p, e->residual);
        for (int i = 0; i < found; i++) {
            e->value[i] = p->value[p->taken[i]];
            e->condition[i] = p->condition[p->taken[i]];
        }
        e->found = good_of(p, order, e->residual);
        if (e->found == found) return WISP_OK;
        found = e->found;
    }
    wisp__eig_drop_pairs(e);
out:
    return status;
}

wisp_status wisp__schur_give(wisp__arnoldi *a, int n, wisp_scalar *H, bool *all)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = a->k;
    const size_t size = (size_t)n * (size_t)n;
    pairs p = {.a = a, .n = n};
    wisp_scalar *U = NULL, *value = NULL;
    wisp__z *z = NULL;
    int *order = NULL;
    *all = false;
    WISP_TRY(wisp_alloc(k->ctx, &U, 2 * size, sizeof *U));
    WISP_TRY(wisp_alloc(k->ctx, &value, (size_t)n, sizeof *value));
    WISP_TRY(wisp_alloc(k->ctx, &order, 2 * (size_t)n, sizeof *order));
    wisp_scalar *X = U + size;
    p.U = U, p.X = X, p.value = value, p.taken = order + n;
    WISP_TRY(wisp__dense_schur(k->ctx, k->is_complex, n, H, U, value));
    WISP_TRY(wisp__dense_schur_vectors(k->ctx, k->is_complex, n, H, value, X));
    wisp__schur_sort(a, 0, n, value, order);
    const int wanted = wisp__schur_wanted(a, n, value, value, order);
    WISP_TRY(wisp_alloc(k->ctx, &z, (size_t)n, sizeof *z));
    WISP_TRY(wisp_alloc(k->ctx, &p.condition, (size_t)n, sizeof *p.condition));
    for (int i = 0; i < wanted; i++)
        p.condition[order[i]] = wisp__schur_condition(n, H, value, X, order[i], fmax(a->smallest, DBL_MIN), z);
    for (size_t i = 0; i < size && a->exponent; i++) {
        const int by = (int)a->exponent[i / (size_t)n];
        U[i].re = ldexp(U[i].re, by), U[i].im = ldexp(U[i].im, by);
    }
    p.part = H; /* of which no more is needed */
    WISP_TRY(give(&p, order, wanted));
    wisp__schur_count_sensitive(a);
    *all = k->e->found >= wanted && wanted >= k->o.count;
    k->e->at_least = k->e->found;
    if (k->e->found >= wanted && k->o.any)
        k->e->at_least += wisp__schur_like_last(a, n - wanted, value, order + wanted, value[order[wanted - 1]]);
out:
    wisp_free(k->ctx, U);
    wisp_free(k->ctx, value);
    wisp_free(k->ctx, order);
    wisp_free(k->ctx, z);
    wisp_free(k->ctx, p.condition);
    return status;
}

wisp_status wisp__schur_deliver(wisp__arnoldi *a, int n, bool *all)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = a->k->ctx;
    const wisp__op op = a->op;
    wisp_scalar *H = NULL;
    *all = false;
    if (n == 0) return WISP_OK;
    a->op = wisp__itself;
    WISP_TRY(wisp_alloc(ctx, &H, (size_t)n * (size_t)n, sizeof *H));
    WISP_TRY(wisp__arnoldi_project(a, n, H));
    WISP_TRY(wisp__schur_give(a, n, H, all));
out:
    a->op = op;
    wisp_free(ctx, H);
    return status;
}
