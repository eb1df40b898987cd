/* Krylov decompositions by blocks. As no bound forbids that V's columns lose their being orthogonal (arnoldi_block.c),
   V^H V - I is looked at after each restart. */
#include "arnoldi.h"
#include <string.h>

enum { STALLS = 500, FEW_STALLS = 100, GAINS = 20 };

/* Whether Op may become a polynomial of A. */
static bool may_be_polynomial(const wisp__eig *k)
{
    return !k->inverse && (k->hermitian || k->o.which == WISP_EIG_LARGEST_REAL);
}

/* A start of one column has a little of a random vector, too. */
static wisp_status add_random(wisp__arnoldi *a)
{
    wisp_status status = WISP_OK;
    static const double part = 1.0 / 64;
    wisp_blk *to = NULL;
    double length;
    WISP_TRY(wisp_blk_cols(&to, a->all, 0, 1));
    WISP_TRY(wisp_norm(to, &length));
    WISP_TRY(wisp__arnoldi_draw(a, a->y, 0));
    WISP_TRY(wisp_axpby(to, wisp__real(length > 0 ? part * length : 1), a->y, wisp__real(1)));
out:
    wisp_blk_free(to);
    return status;
}

/* The first block: sums of the user's vectors, each of which is in one of them, and random columns: at least one where
   Op may become a polynomial, for the user's may have no part in what lies farthest out, which a polynomial that was
   chosen without it would make larger than all numbers. */
static wisp_status begin(wisp__arnoldi *a)
{
    wisp_status status = WISP_OK;
    const wisp_blk *start = a->k->o.start;
    const int b = a->block, given = start ? wisp_blk_width(start) : 0, drawn = may_be_polynomial(a->k),
              most = b > 1 ? b - drawn : 1, width = given < most ? given : most;
    wisp_blk *to = NULL;
    wisp_scalar *X = NULL, *factor = NULL;
    if (width > 0) {
        WISP_TRY(wisp__eig_start_factors(a->k, &factor));
        WISP_TRY(wisp_alloc(a->k->ctx, &X, (size_t)(given * width), sizeof *X));
        for (int i = 0; i < given; i++) X[i * width + i % width] = factor[i];
        WISP_TRY(wisp_blk_cols(&to, a->all, 0, width));
        WISP_TRY(wisp_tsm_update(to, wisp__real(1), start, X, width, wisp__real(0)));
        if (a->k->pencil && !a->k->pencil->rootless) WISP_TRY(wisp__pencil_inverse_root(a->k->pencil, to, to));
    }
    for (int j = width; j < b; j++) WISP_TRY(wisp__arnoldi_draw(a, a->all, j));
    if (width == b && drawn) WISP_TRY(add_random(a));
out:
    wisp_blk_free(to);
    wisp_free(a->k->ctx, X);
    wisp_free(a->k->ctx, factor);
    return status;
}

/* ---- memory --------------------------------------------------------------------------------------- */

wisp_status wisp__arnoldi_make(wisp__arnoldi *a, int columns, int block)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = a->k;
    const size_t size = (size_t)columns * (size_t)columns;
    a->columns = columns;
    a->block = block;
    a->enough = M_SQRT1_2;
    WISP_TRY(wisp_blk_create(&a->all, k->ctx, wisp_mat_map(k->A), k->type, columns));
    WISP_TRY(wisp_blk_create(&a->x, k->ctx, wisp_mat_map(k->A), k->type, block));
    WISP_TRY(wisp_blk_create(&a->y, k->ctx, wisp_mat_map(k->A), k->type, block));
    if (k->pencil) WISP_TRY(wisp_blk_create(&a->s, k->ctx, wisp_mat_map(k->A), k->type, block));
    WISP_TRY(wisp_alloc(k->ctx, &a->H, size, sizeof *a->H));
    WISP_TRY(wisp_alloc(k->ctx, &a->work, 2 * size, sizeof *a->work));
    WISP_TRY(wisp_slot_create(&a->slot, k->ctx, wisp__arnoldi_products(columns, block)));
    WISP_TRY(begin(a));
    k->e->block = block;
    k->e->search = columns - block;
out:
    return status;
}

void wisp__arnoldi_free(wisp__arnoldi *a)
{
    wisp_blk_free(a->all);
    wisp_blk_free(a->x);
    wisp_blk_free(a->y);
    wisp_blk_free(a->z);
    wisp_blk_free(a->s);
    wisp_blk_free(a->view);
    wisp_free(NULL, a->H);
    wisp_free(NULL, a->work);
    wisp_slot_free(a->slot);
}

wisp_status wisp__arnoldi_room(wisp__arnoldi *a, int m)
{
    const int need = a->locked + m + a->block;
    return need <= a->columns ? WISP_OK : wisp__arnoldi_enlarge(a, need + a->block);
}

/* a->all becomes a block of so many columns, of which the first `used` are kept. */
static wisp_status move_to_block(wisp__arnoldi *a, int columns, int used)
{
    wisp_status status = WISP_OK;
    wisp_blk *all = NULL, *from = NULL, *to = NULL;
    WISP_TRY(wisp_blk_create(&all, a->k->ctx, wisp_mat_map(a->k->A), a->k->type, columns));
    WISP_TRY(wisp_blk_cols(&from, a->all, 0, used));
    WISP_TRY(wisp_blk_cols(&to, all, 0, used));
    WISP_TRY(wisp_copy(to, from));
    wisp_blk *old = a->all;
    a->all = all, all = old;
out:
    wisp_blk_free(to);
    wisp_blk_free(from);
    wisp_blk_free(all);
    return status;
}

/* By way of a small block, so that there are not two large ones at once. */
static wisp_status enlarge_block(wisp__arnoldi *a, int columns)
{
    const int in_use = a->locked + a->active + a->block;
    const int used = in_use < a->columns ? in_use : a->columns; /* a state's are not there yet */
    const wisp_status status = move_to_block(a, used, used);
    return status == WISP_OK ? move_to_block(a, columns, used) : status;
}

wisp_status wisp__arnoldi_enlarge(wisp__arnoldi *a, int columns)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = a->k->ctx;
    const size_t size = (size_t)columns * (size_t)columns, old = (size_t)a->columns;
    wisp_scalar *H = NULL, *work = NULL;
    wisp_slot *slot = NULL;
    WISP_TRY(wisp_alloc(ctx, &H, size, sizeof *H));
    WISP_TRY(wisp_alloc(ctx, &work, 2 * size, sizeof *work));
    WISP_TRY(wisp_slot_create(&slot, ctx, wisp__arnoldi_products(columns, a->block)));
    WISP_TRY(enlarge_block(a, columns));
    for (size_t i = 0; i < old; i++) memcpy(H + i * (size_t)columns, a->H + i * old, old * sizeof *H);
    wisp_scalar *h = a->H, *w = a->work;
    a->H = H, H = h;
    a->work = work, work = w;
    wisp_slot *s = a->slot;
    a->slot = slot, slot = s;
    a->columns = columns;
out:
    wisp_slot_free(slot);
    wisp_free(ctx, H);
    wisp_free(ctx, work);
    return status;
}

/* ---- V ---------------------------------------------------------------------------------------------- */

wisp_status wisp__arnoldi_start(wisp__arnoldi *a, bool random)
{
    wisp_status status = WISP_OK;
    wisp_blk *W = NULL;
    a->active = 0;
    a->guess = 0;
    a->lengths = 0;
    a->recurs = false;
    a->most_good = -1;
    a->began = a->better_at = a->large_at = a->restarts;
    a->gains = 0;
    WISP_TRY(wisp_blk_cols(&W, a->all, a->locked, a->block));
    if (random)
        for (int j = 0; j < a->block; j++) WISP_TRY(wisp__arnoldi_draw(a, W, j));
    WISP_TRY(wisp_copy(a->y, W));
    WISP_TRY(wisp__arnoldi_orthonormal(a, a->locked, NULL, NULL));
out:
    wisp_blk_free(W);
    return status;
}

wisp_status wisp__arnoldi_begin_search(wisp__arnoldi *a, int m, bool random)
{
    wisp_status status = WISP_OK;
    wisp_blk *W = NULL;
    if (a->at.phase == WISP__SEARCHES) return WISP_OK; /* it goes on */
    a->at.phase = WISP__SEARCHES;
    a->at.more = 0;
    a->active = 0; /* V begins anew: nothing of it is copied to a larger block */
    WISP_TRY(wisp__arnoldi_room(a, m));
    WISP_TRY(wisp_blk_cols(&W, a->all, a->locked, a->block));
    if (!random) WISP_TRY(wisp_copy(W, a->x));
    WISP_TRY(wisp__arnoldi_start(a, random));
out:
    wisp_blk_free(W);
    return status;
}

wisp_status wisp__arnoldi_take_last(wisp__arnoldi *a)
{
    wisp_blk *W = NULL;
    wisp_status status = wisp_blk_cols(&W, a->all, a->locked + a->active, a->block);
    if (status == WISP_OK) status = wisp_copy(a->x, W);
    wisp_blk_free(W);
    return status;
}

wisp_status wisp__arnoldi_expand(wisp__arnoldi *a, int active)
{
    wisp_status status = WISP_OK;
    const int b = a->block, c = a->columns;
    wisp_scalar B[WISP__MOST_BLOCK * WISP__MOST_BLOCK];
    for (; a->active + b <= active; a->active += b) {
        const int n = a->locked + a->active + b;
        const double guess = a->guess;
        wisp_scalar *h = a->work + (size_t)c * (size_t)c; /* behind what a pass takes */
        memset(h, 0, (size_t)n * (size_t)b * sizeof *h);
        WISP_TRY(wisp__eig_offer(a->k));
        WISP_TRY(wisp__arnoldi_multiply(a));
        WISP_TRY(wisp__arnoldi_orthonormal(a, n, h, B));
        double mean = 0;
        for (int j = 0; j < b; j++) {
            for (int i = a->locked; i < n; i++) *wisp__h(a, i - a->locked, a->active + j) = h[i * b + j];
            wisp__h(a, a->active + j, a->active + j)->re += guess;
            mean += wisp__h(a, a->active + j, a->active + j)->re / b;
            a->lengths += log(fmax(B[j * b + j].re, fmax(a->rounding, DBL_MIN)));
            for (int i = 0; i < b; i++) *wisp__h(a, a->active + b + i, a->active + j) = B[i * b + j];
        }
        /* W's rows in B were those of the block before alone. */
        for (int i = 0; i < b; i++)
            for (int j = 0; j < a->active; j++) *wisp__h(a, a->active + b + i, j) = wisp__real(0);
        a->guess = (a->op.degree == 1 && !a->op.inverse) || !a->k->hermitian ? mean : 0;
        a->recurs = a->k->hermitian;
    }
out:
    return status;
}

double wisp__arnoldi_bound(const wisp__arnoldi *a, const wisp_scalar *q, int distance)
{
    double square = 0;
    for (int i = 0; i < a->block; i++) {
        wisp__z z = 0;
        for (int j = 0; j < a->active; j++)
            z += wisp__z_of(*wisp__h(a, a->active + i, j)) * wisp__z_of(q[j * distance]);
        square += creal(z * conj(z));
    }
    return sqrt(square);
}

wisp_status wisp__arnoldi_rotate(wisp__arnoldi *a, const wisp_scalar *Q, int kept)
{
    wisp_status status = WISP_OK;
    const int m = a->active, b = a->block;
    const double before = wisp_now();
    wisp_blk *V = NULL, *first = NULL, *W = NULL;
    wisp_scalar *B = a->work + (size_t)a->columns * (size_t)a->columns;
    WISP_TRY(wisp_blk_cols(&V, a->all, a->locked, m));
    WISP_TRY(wisp_blk_cols(&first, a->all, a->locked, kept));
    WISP_TRY(wisp_tsm_update(first, wisp__real(1), V, Q, kept, wisp__real(0)));
    WISP_TRY(wisp_blk_cols(&W, a->all, a->locked + kept, b));
    WISP_TRY(wisp_copy(W, a->x));
    for (int i = 0; i < b; i++)
        for (int j = 0; j < kept; j++) {
            wisp__z z = 0;
            for (int l = 0; l < m; l++) z += wisp__z_of(*wisp__h(a, m + i, l)) * wisp__z_of(Q[l * kept + j]);
            B[i * kept + j] = wisp__of_z(z);
        }
    for (int i = 0; i < b; i++)
        for (int j = 0; j < kept; j++) *wisp__h(a, kept + i, j) = B[i * kept + j];
    a->active = kept;
    a->recurs = false;
    a->k->e->flops += (a->k->is_complex ? 8.0 : 2.0) * (double)a->k->rows * m * kept;
    a->k->e->ritz_seconds += wisp_now() - before;
out:
    wisp_blk_free(V);
    wisp_blk_free(first);
    wisp_blk_free(W);
    return status;
}

/* ---- whether V is orthonormal --------------------------------------------------------------------------- */

/* The largest element of |[Q V W]^H [V W] - I|, Q the locked columns. */
static wisp_status defect(wisp__arnoldi *a, double *most)
{
    wisp_status status = WISP_OK;
    const int n = a->active + a->block, rows = a->locked + n;
    wisp_blk *all = NULL, *V = NULL;
    WISP_TRY(wisp_blk_cols(&all, a->all, 0, rows));
    WISP_TRY(wisp_blk_cols(&V, a->all, a->locked, n));
    const wisp__product by_S = {wisp__times_S, a->k->pencil, a->y, a->s};
    if (a->k->pencil)
        WISP_TRY(wisp__gram_of(&by_S, all, V, a->work, (wisp_place){0}));
    else
        WISP_TRY(wisp_tsm_gram(a->work, n, wisp__real(1), all, V, wisp__real(0), 0));
    a->k->e->flops += (a->k->is_complex ? 8.0 : 2.0) * (double)a->k->rows * rows * n;
    *most = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++) {
            const wisp_scalar g = a->work[i * n + j];
            *most = fmax(*most, hypot(g.re - (i == a->locked + j), g.im));
        }
out:
    wisp_blk_free(all);
    wisp_blk_free(V);
    return status;
}

wisp_status wisp__arnoldi_anew(wisp__arnoldi *a, int n)
{
    wisp_status status = WISP_OK;
    wisp_blk *V = NULL, *W = NULL;
    wisp_scalar *X = a->work;
    memset(X, 0, (size_t)(n * a->block) * sizeof *X);
    for (int i = 0; i < n; i++) X[i * a->block + i % a->block] = wisp__real(1);
    WISP_TRY(wisp_blk_cols(&V, a->all, a->locked, n));
    WISP_TRY(wisp_tsm_update(a->y, wisp__real(1), V, X, a->block, wisp__real(0)));
    WISP_TRY(wisp_blk_cols(&W, a->all, a->locked, a->block));
    WISP_TRY(wisp_copy(W, a->y));
    WISP_TRY(wisp__arnoldi_start(a, false));
out:
    wisp_blk_free(V);
    wisp_blk_free(W);
    return status;
}

/* Errors have grown: from now on a second pass follows wherever the first one takes anything away to speak of, and they
   can't grow any more. */
static wisp_status keep_orthonormal(wisp__arnoldi *a, int wanted)
{
    wisp_status status = WISP_OK;
    double most;
    WISP_TRY(defect(a, &most));
    if (most <= wisp__eig_orthogonal(a->k)) goto out;
    wisp_ctx_logf(a->k->ctx, WISP_LOG_INFO, "eig: vectors are orthonormal to %.1e alone; they are made anew", most);
    a->enough = 0.99;
    if (a->at.phase == WISP__SEARCHES && !a->k->hermitian) /* from random vectors, as before */
        WISP_TRY(wisp__arnoldi_start(a, true));
    else if (a->active > 0)
        WISP_TRY(wisp__arnoldi_anew(a, wanted < a->active ? wanted : a->active));
out:
    return status;
}

/* Whether residuals no longer fall. Large ones may wait long for a direction that V lacks. Once the squares of all are
   below rounding they fall at one rate: a gain that takes far longer than those before does not come. Where they do not
   fall as far as is asked of bounds, bounds within the tolerance are taken first (not Hermitian: residuals are computed
   then). */
static bool stagnates(wisp__arnoldi *a, double of_norm)
{
    if (!(of_norm * of_norm <= a->k->eps)) a->large_at = a->restarts;
    const double each = (a->better_at - a->began) / fmax(a->gains, 1);
    const int since = a->restarts - a->better_at, small = a->restarts - a->large_at;
    if (since <= STALLS && (since < small ? since : small) <= fmax(GAINS * each, FEW_STALLS)) return false;
    if (a->k->hermitian || a->at.strict >= 1 || !(a->least <= a->k->o.tolerance)) return true;
    a->at.strict = 1;
    a->better_at = a->restarts;
    return false;
}

/* Why there are no more restarts. Residuals are estimates: how many pairs are within the tolerance is not known yet. */
static wisp_status fail(const wisp__arnoldi *a, wisp_status status, int wanted, int good, double residual)
{
    const wisp__eig *k = a->k;
    const char *why = status == WISP_ERR_STAGNATION ? "the residuals no longer fall" : "residuals are not small enough";
    if (a->at.phase != WISP__FINDS)
        return wisp_ctx_failf(k->ctx, status,
                              "eig: %s after %d restart%s, in the search for what may be missing beside %d pair%s", why,
                              a->restarts, a->restarts == 1 ? "" : "s", a->locked, a->locked == 1 ? "" : "s");
    return wisp_ctx_failf(k->ctx, status, "eig: %s after %d restart%s; that of pair %d of %d is still %.2g", why,
                          a->restarts, a->restarts == 1 ? "" : "s", good < wanted ? good + 1 : wanted, wanted,
                          wisp__eig_residual(k, residual));
}

wisp_status wisp__arnoldi_restarted(wisp__arnoldi *a, int wanted, int good, double residual, double of_norm)
{
    wisp__eig *k = a->k;
    wisp_status status = WISP_OK;
    a->restarts++;
    WISP_TRY(keep_orthonormal(a, wanted));
    /* Fewer than before: a good one's residual has risen a little, and says nothing about the next one's. */
    if (good > a->most_good || (good == a->most_good && residual < 0.9 * a->least)) {
        a->least = residual;
        a->most_good = good;
        a->better_at = a->restarts;
        a->gains++;
    }
    WISP_TRY(wisp__eig_report(k, a->restarts, good, wanted, residual));
    const bool stalls = stagnates(a, of_norm);
    WISP_TRY(wisp__eig_enough(k, &k->whole));
    k->whole |= stalls && isfinite(k->most_work);
    if (k->whole) return WISP_ERR_ITERATIONS; /* to the caller of all, who goes on with LAPACK */
    WISP_TRY(wisp_ctx_step(k->ctx, "eigenpairs", (double)good / (wanted + 1.0), 0));
    WISP_TRY(wisp__eig_sensible(k));
    if (a->restarts >= k->o.max_rounds)
        status = fail(a, WISP_ERR_ITERATIONS, wanted, good, residual);
    else if (stalls)
        status = fail(a, WISP_ERR_STAGNATION, wanted, good, a->least);
out:
    return status;
}

void wisp__arnoldi_lock(wisp__arnoldi *a, int n)
{
    const int rest = a->active - n;
    for (int i = 0; i < rest + a->block; i++)
        for (int j = 0; j < rest; j++) *wisp__h(a, i, j) = *wisp__h(a, i + n, j + n);
    a->locked += n;
    a->active = rest;
}

/* ---- projections of A ---------------------------------------------------------------------- */

static wisp_status times(const void *eig, wisp_blk *y, wisp_blk *x)
{
    return wisp_spmmv(y, ((const wisp__eig *)eig)->A, x, NULL);
}

wisp_status wisp__arnoldi_project(wisp__arnoldi *a, int n, wisp_scalar *H)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = a->k;
    const double before = wisp_now();
    const wisp__product by = {times, k, a->x, a->y};
    wisp_blk *Q = NULL;
    wisp_slot *slot = NULL; /* no panel is waited for */
    WISP_TRY(wisp_slot_create(&slot, k->ctx, (int64_t)n * n));
    WISP_TRY(wisp_blk_cols(&Q, a->all, 0, n));
    WISP_TRY(wisp__gram_of(&by, Q, Q, NULL, (wisp_place){slot, 0}));
    WISP_TRY(wisp_slot_read(slot, 0, (int64_t)n * n, H));
    k->e->products += n;
    k->e->flops += k->flops * n + (k->is_complex ? 8.0 : 2.0) * (double)k->rows * n * n;
    k->e->ritz_seconds += wisp_now() - before;
out:
    wisp_slot_free(slot);
    wisp_blk_free(Q);
    return status;
}
