/* Eigenpairs from a space of orthonormal columns: Rayleigh-Ritz, residuals, and what the user gets. */
#include "inverse.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* y = (A - shift_j) x for columns first .. of the space, copied to x first; with the squares of norms of y. Of a pencil
   (A - shift_j S) x, without norms. */
static wisp_status multiply(wisp__eig *k, wisp_blk *space, int first, int n, wisp_blk *x, wisp_blk *y,
                            const wisp_scalar *shift, wisp_place dot)
{
    wisp_status status = WISP_OK;
    wisp_blk *from = NULL, *part_x = NULL, *part_y = NULL;
    const double before = wisp_now();
    const wisp_aug aug = {.terms = shift ? WISP_SHIFT | WISP_DOT_YY : 0, .shift = shift, .dot_at = dot};
    WISP_TRY(wisp_blk_cols(&from, space, first, n));
    WISP_TRY(wisp_blk_cols(&part_x, x, 0, n));
    WISP_TRY(wisp_blk_cols(&part_y, y, 0, n));
    WISP_TRY(wisp_copy(part_x, from));
    if (k->pencil)
        WISP_TRY(wisp__pencil_times(k->pencil, part_y, part_x, k->scaled.exponent, shift));
    else
        WISP_TRY(wisp_spmmv(part_y, k->A, part_x, &aug));
    k->e->products += n;
    k->e->flops += k->flops * n;
out:
    k->e->ritz_seconds += wisp_now() - before;
    wisp_blk_free(from);
    wisp_blk_free(part_x);
    wisp_blk_free(part_y);
    return status;
}

/* H[n * n] = V^H A V by its upper triangle. */
static wisp_status project(wisp__eig *k, wisp_blk *space, int first, int n, wisp_scalar *H)
{
    wisp_status status = WISP_OK;
    const int width = wisp__ritz_width(k, n);
    wisp_blk *x = NULL, *y = NULL, *left = NULL, *right = NULL;
    wisp_slot *slot = NULL; /* no panel is waited for */
    WISP_TRY(wisp_slot_create(&slot, k->ctx, (int64_t)n * n));
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, width));
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, width));
    for (int j = 0; j < n; j += width) {
        const int w = n - j < width ? n - j : width;
        WISP_TRY(multiply(k, space, first + j, w, x, y, NULL, (wisp_place){0}));
        WISP_TRY(wisp_blk_cols(&left, space, first, j + w));
        WISP_TRY(wisp_blk_cols(&right, y, 0, w));
        WISP_TRY(wisp_tsm_gram_at((wisp_place){slot, j}, n, left, right, 0));
        k->e->flops += (k->is_complex ? 8.0 : 2.0) * (double)k->rows * (j + w) * w;
        wisp_blk_free(left);
        wisp_blk_free(right);
        left = right = NULL;
    }
    WISP_TRY(wisp_slot_read(slot, 0, (int64_t)n * n, H));
    for (int i = 0; i < n; i++) {
        H[i * n + i].im = 0;
        for (int j = 0; j < i; j++) H[i * n + j] = (wisp_scalar){H[j * n + i].re, -H[j * n + i].im};
    }
out:
    wisp_slot_free(slot);
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_blk_free(left);
    wisp_blk_free(right);
    return status;
}

wisp_status wisp__ritz(wisp__eig *k, wisp_blk *space, int first, int n, double *theta)
{
    wisp_status status = WISP_OK;
    wisp_scalar *H = NULL;
    wisp_blk *V = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &H, (size_t)n * (size_t)n, sizeof *H));
    WISP_TRY(project(k, space, first, n, H));
    const double before = wisp_now();
    WISP_TRY(wisp__dense_eigh(k->ctx, k->is_complex, n, H, theta));
    WISP_TRY(wisp_blk_cols(&V, space, first, n));
    WISP_TRY(wisp_tsm_update(V, wisp__real(1), V, H, n, wisp__real(0)));
    k->e->flops += (k->is_complex ? 8.0 : 2.0) * (double)k->rows * n * n;
    k->e->ritz_seconds += wisp_now() - before;
out:
    wisp_free(k->ctx, H);
    wisp_blk_free(V);
    return status;
}

/* |T^-1/2 (A x - theta T x)|, which is |C y - theta y|, y = T^1/2 x. */
static wisp_status pencil_residuals(wisp__eig *k, wisp_blk *space, int first, int n, const double *theta,
                                    double *residual)
{
    wisp_status status = WISP_OK;
    const int width = wisp__ritz_width(k, n);
    wisp_blk *x = NULL, *y = NULL, *part = NULL;
    wisp_scalar shift[WISP__PENCIL_WIDTH];
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, width));
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, width));
    for (int j = 0; j < n; j += width) {
        const int w = n - j < width ? n - j : width;
        for (int i = 0; i < w; i++) shift[i] = wisp__real(theta[j + i]);
        WISP_TRY(multiply(k, space, first + j, w, x, y, shift, (wisp_place){0}));
        WISP_TRY(wisp_blk_cols(&part, y, 0, w));
        if (k->pencil->rootless) {
            WISP_TRY(wisp__inverse_length(k->inverse, part, residual + j));
        } else {
            WISP_TRY(wisp__pencil_inverse_root(k->pencil, part, part));
            WISP_TRY(wisp_norm(part, residual + j));
        }
        wisp_blk_free(part);
        part = NULL;
    }
    for (int j = 0; j < n; j++) residual[j] /= k->scale;
out:
    wisp_blk_free(part);
    wisp_blk_free(x);
    wisp_blk_free(y);
    return status;
}

wisp_status wisp__ritz_residuals(wisp__eig *k, wisp_blk *space, int first, int n, const double *theta, double *residual)
{
    wisp_status status = WISP_OK;
    const int width = wisp__ritz_width(k, n);
    wisp_blk *x = NULL, *y = NULL;
    wisp_scalar *shift = NULL, *dot;
    wisp_slot *slot = NULL; /* no block is waited for */
    if (k->pencil) return pencil_residuals(k, space, first, n, theta, residual);
    WISP_TRY(wisp_alloc(k->ctx, &shift, (size_t)width + 3 * (size_t)n, sizeof *shift));
    dot = shift + width;
    WISP_TRY(wisp_slot_create(&slot, k->ctx, 3 * (int64_t)n));
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, width));
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, width));
    for (int j = 0; j < n; j += width) {
        const int w = n - j < width ? n - j : width;
        for (int i = 0; i < w; i++) shift[i] = wisp__real(theta[j + i]);
        WISP_TRY(multiply(k, space, first + j, w, x, y, shift, (wisp_place){slot, 3 * j}));
    }
    WISP_TRY(wisp_slot_read(slot, 0, 3 * (int64_t)n, dot));
    for (int j = 0; j < n; j++) {
        const int at = j / width * width, w = n - at < width ? n - at : width; /* its block */
        residual[j] = sqrt(dot[3 * at + 2 * w + j - at].re) / k->scale;
    }
out:
    wisp_slot_free(slot);
    wisp_free(k->ctx, shift);
    wisp_blk_free(x);
    wisp_blk_free(y);
    return status;
}

double wisp__eig_room(const wisp__eig *k, double theta, double residual)
{
    return 2 * residual * k->scale + 4 * k->eps * fabs(theta);
}

/* With as many digits as it takes. */
static void tell_apart(double x, double y, char one[WISP__NUMBER], char other[WISP__NUMBER])
{
    for (int digits = 9; digits <= 17; digits++) {
        snprintf(one, WISP__NUMBER, "%.*g", digits, x);
        snprintf(other, WISP__NUMBER, "%.*g", digits, y);
        if (strcmp(one, other) != 0) return;
    }
}

void wisp__eig_warn_of_levels(const wisp__eig *k, const double value[2], const double residual[2])
{
    const wisp_bounds *b = &k->e->bounds;
    const double apart = fabs(value[1] - value[0]);
    const double together = (residual[0] + residual[1]) * k->scale / 60; /* a thirtieth of the mean residual */
    if (k->rough || apart <= fmax(together, 1000 * k->eps * (b->halfwidth + fabs(b->center)))) return;
    char tolerance[WISP__NUMBER] = "", one[WISP__NUMBER], other[WISP__NUMBER];
    tell_apart(wisp__eig_shown(k, value[0]), wisp__eig_shown(k, value[1]), one, other);
    if (!k->of_svd) /* that looks for smaller residuals than are asked for */
        snprintf(tolerance, sizeof tolerance, ", %.1e,", wisp__eig_shown(k, k->o.tolerance * k->scale));
    wisp_ctx_logf(
        k->ctx, WISP_LOG_WARN,
        "%s: the tolerance%s is wide beside the distance of the levels: residuals do not tell %s from %s, and "
        "which of them are asked for",
        k->of_svd ? "svd" : "eig", tolerance, one, other);
}

/* How far copies of this value of a pencil may lie apart as values of C. An error D of S^-1/2 moves them by 2 lambda
   |D| |S^1/2| to first order, each, and products are rounded, neither of which residuals of C tell. No further than
   values that are like each other. */
static double apart_by_roots(const wisp__eig *k, double value)
{
    enum { OF_PRODUCTS = 16 };
    const wisp_bounds *b = &k->e->bounds;
    const double roots = wisp__eig_of_roots(k), products = OF_PRODUCTS * k->eps * (b->halfwidth + fabs(b->center));
    return roots > 0 ? 2 * fmin(roots * fabs(value) + products, k->o.tolerance * k->scale) : 0;
}

void wisp__eig_select(const wisp__eig *k, int n, const double *theta, const double *residual, int *first, int *found)
{
    const wisp_eig_opts *o = &k->o;
    int from = 0, to = n;
#define ROOM(i) wisp__eig_room(k, theta[i], residual ? residual[i] : o->tolerance)
    if (o->which == WISP_EIG_INTERVAL) {
        while (from < n && theta[from] < o->low - ROOM(from)) from++;
        while (to > from && theta[to - 1] > o->high + ROOM(to - 1)) to--;
    } else if (o->which == WISP_EIG_NEAREST) {
        while (to - from > o->count) /* the farther end goes */
            if (o->target - theta[from] > theta[to - 1] - o->target)
                from++;
            else
                to--;
    } else if (o->which == WISP_EIG_SMALLEST) {
        to = o->count < n ? o->count : n;
    } else {
        from = o->count < n ? n - o->count : 0;
    }
    *first = from;
    *found = to - from;
    if (o->which != WISP_EIG_INTERVAL && to > from) { /* what may be the same value as the last one, not as its like */
        const int low = from, high = to - 1;
        const double below = apart_by_roots(k, theta[low]), above = apart_by_roots(k, theta[high]);
        while (from > 0 && theta[low] - theta[from - 1] <= ROOM(low) + ROOM(from - 1) + below) from--;
        while (to < n && theta[to] - theta[high] <= ROOM(high) + ROOM(to) + above) to++;
        if (residual && from < low) wisp__eig_warn_of_levels(k, theta + low - 1, residual + low - 1);
        if (residual && to > high + 1) wisp__eig_warn_of_levels(k, theta + high, residual + high);
    }
#undef ROOM
    k->e->at_least = to - from;
    if (o->any) return;
    *first = from;
    *found = to - from;
}

wisp_status wisp__eig_gram_by_S(const wisp__eig *k, wisp_blk *V, wisp_scalar *G)
{
    wisp_status status;
    wisp_blk *x = NULL, *y = NULL;
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, 1)); /* with room for its halo */
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, 1));
    status = wisp__gram_of(&(wisp__product){wisp__times_S, k->pencil, x, y}, V, V, G, (wisp_place){0});
out:
    wisp_blk_free(x), wisp_blk_free(y);
    return status;
}

/* The largest element of V^H V - I, or V^H T V - I: infinite, if a vector is not finite. */
static wisp_status orthogonality(wisp__eig *k, wisp_blk *V, int n)
{
    wisp_status status = WISP_OK;
    wisp_scalar *G = NULL;
    double most = 0;
    WISP_TRY(wisp_alloc(k->ctx, &G, (size_t)n * (size_t)n, sizeof *G));
    WISP_TRY(k->pencil ? wisp__eig_gram_by_S(k, V, G) : wisp_tsm_gram(G, n, wisp__real(1), V, V, wisp__real(0), 0));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double off = hypot(G[i * n + j].re - (i == j), G[i * n + j].im);
            most = isnan(off) ? INFINITY : fmax(most, off);
        }
    k->e->orthogonality = most;
out:
    wisp_free(k->ctx, G);
    return status;
}

/* The vectors become a block of their own, where that lets go of a far larger space and there is memory. */
static wisp_status take_columns(wisp__eig *k, wisp_blk *space, int first, int found)
{
    wisp_blk *part = NULL;
    wisp_status status = wisp_blk_cols(&part, space, first, found);
    const bool is_planned = k->most_copied == 0 || found <= k->most_copied;
    if (status == WISP_OK && is_planned && 2 * found < wisp_blk_width(space)) {
        status = wisp_blk_create(&k->e->vectors, k->ctx, wisp_mat_map(k->A), k->type, found);
        double lacks = status == WISP_ERR_NOMEM;
        const wisp_status sum = wisp_ctx_sum(k->ctx, &lacks, 1);
        if (status == WISP_OK && sum == WISP_OK && lacks == 0) status = wisp_copy(k->e->vectors, part);
        if (lacks == 0) {
            wisp_blk_free(part);
            return status == WISP_OK ? sum : status;
        }
        wisp_blk_free(k->e->vectors);
        status = sum;
    }
    k->e->vectors = part;
    return status;
}

/* The roots of S in C are off by their polynomial's error, of which residuals by A and S alone know nothing: for a
   vector of C that is 2 |C| times it, at most. Where that is too much, products with C tell. */
static wisp_status add_roots(wisp__eig *k, const wisp__pencil *p, int n, const double *theta, double *residual)
{
    wisp_status status = WISP_OK;
    const wisp_bounds *b = &k->e->bounds;
    const double off = 2 * p->error * sqrt(p->condition) * (b->halfwidth + fabs(b->center)) / k->scale;
    double *by_C = NULL, most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, residual[i] += off);
    if (most <= k->o.tolerance) return WISP_OK;
    WISP_TRY(wisp_alloc(k->ctx, &by_C, (size_t)n, sizeof *by_C));
    WISP_TRY(wisp__ritz_residuals(k, k->e->vectors, 0, n, theta, by_C));
    for (int i = 0; i < n; i++) residual[i] = fmin(residual[i], by_C[i]);
out:
    wisp_free(k->ctx, by_C);
    return status;
}

/* Vectors of a pencil become those of C, orthonormal but for errors of S^1/2. To make them so again mixes them by about
   that much, which residuals may tell of. */
static wisp_status take_root(wisp__eig *k, int n, const double *theta, double *residual)
{
    wisp_status status = WISP_OK;
    const int width = wisp__ritz_width(k, n);
    const wisp__pencil *p = k->pencil;
    wisp_blk *part = NULL, *V = k->e->vectors;
    wisp__ortho how;
    for (int j = 0; j < n; j += width) {
        WISP_TRY(wisp_blk_cols(&part, V, j, n - j < width ? n - j : width));
        WISP_TRY(wisp__pencil_root(p, part, part));
        wisp_blk_free(part);
        part = NULL;
    }
    k->pencil = NULL;
    WISP_TRY(orthogonality(k, V, n));
    const double mixed = n * k->e->orthogonality * (theta[n - 1] - theta[0]) / k->scale;
    WISP_TRY(wisp__orthonormal(V, NULL, 1, &how));
    for (int i = 0; i < n; i++) residual[i] = how.rank < n ? INFINITY : residual[i] + mixed;
    if (how.rank == n) status = add_roots(k, p, n, theta, residual);
out:
    wisp_blk_free(part);
    return status;
}

/* The vectors become orthonormal and Ritz pairs once more; *good: they are, and within the tolerance. */
static wisp_status repair(wisp__eig *k, int n, double *theta, double *residual, bool *good)
{
    wisp_status status = WISP_OK;
    wisp_blk *V = k->e->vectors;
    wisp__ortho how;
    WISP_TRY(wisp__eig_orthonormal(k, V, 0, &how));
    *good = how.rank == n;
    if (!*good) goto out;
    WISP_TRY(wisp__ritz(k, V, 0, n, theta));
    WISP_TRY(wisp__ritz_residuals(k, V, 0, n, theta, residual));
    WISP_TRY(orthogonality(k, V, n));
    for (int i = 0; i < n; i++) *good &= residual[i] <= k->o.tolerance;
    *good &= k->e->orthogonality <= wisp__eig_orthogonal(k);
out:
    return status;
}

static bool within(const wisp__eig *k, int n, const double *residual)
{
    for (int i = 0; i < n; i++)
        if (!(residual[i] <= k->o.tolerance)) return false;
    return true;
}

wisp_status wisp__eig_deliver(wisp__eig *k, wisp_blk *space, int first, int found, double *theta, double *residual)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = k->e;
    if (found == 0) return WISP_OK;
    e->value = calloc((size_t)found, sizeof *e->value);
    e->residual = calloc((size_t)found, sizeof *e->residual);
    if (!e->value || !e->residual) return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "out of memory for %d values", found);
    WISP_TRY(take_columns(k, space, first, found));
    const bool was_within = within(k, found, residual), by_S = k->pencil != NULL && !k->pencil->rootless;
    if (by_S) WISP_TRY(take_root(k, found, theta, residual));
    WISP_TRY(orthogonality(k, e->vectors, found));
    const double before = e->orthogonality;
    bool good = before <= wisp__eig_orthogonal(k) && (!by_S || !was_within || within(k, found, residual));
    if (!good) WISP_TRY(repair(k, found, theta, residual, &good));
    if (!good && by_S && before <= wisp__eig_orthogonal(k)) {
        status = wisp_ctx_failf(k->ctx, WISP_ERR_STAGNATION,
                                "eig: errors of S^-1/2 keep residuals above the tolerance, %.2g",
                                wisp__eig_residual(k, k->o.tolerance));
        goto out;
    }
    if (!good) {
        status =
            wisp_ctx_failf(k->ctx, WISP_ERR_BREAKDOWN, "eig: %d vectors are orthonormal to %.1e alone", found, before);
        goto out;
    }
    for (int i = 0; i < found; i++) {
        e->value[i] = wisp__real(theta[i]);
        e->residual[i] = residual[i] * wisp__eig_unit(k);
    }
    e->of_pencil = k->pencil != NULL;
    if (k->pencil) WISP_TRY(wisp_scal(e->vectors, wisp__real(ldexp(1, -k->pencil->exponent / 2)))); /* by S, not by T */
    e->found = found;
out:
    if (e->found == 0) {
        wisp_blk_free(e->vectors);
        e->vectors = NULL, e->orthogonality = NAN;
    }
    return status;
}
