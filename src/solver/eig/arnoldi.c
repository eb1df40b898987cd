/* Krylov decompositions by blocks. A new block is made orthogonal to all columns by block Gram-Schmidt passes, each of
   which reads them twice. One pass is enough where it leaves so much of each vector's length as it takes away ("twice
   is enough"; Daniel et al. 1976): what the columns lack of being orthogonal goes into the new one times the ratio of
   the two, so that less grows from column to column. So that one pass often does, the product is shifted by what the
   Rayleigh quotient was last: that takes no part of the new directions away. As no bound forbids that errors grow all
   the same, V^H V - I is looked at after each restart. */
#include "arnoldi.h"
#include <string.h>

enum { PASSES = 8, STALLS = 500 };

static wisp_status draw(wisp__arnoldi *a, wisp_blk *of, int j)
{
    wisp_blk *one = NULL;
    wisp_status status = wisp_blk_cols(&one, of, j, 1);
    if (status == WISP_OK)
        status = wisp_blk_fill_random(one, WISP_RANDOM_GAUSS, a->k->o.seed, WISP__STREAM_EIG, a->random++);
    const wisp_scalar unit = wisp__real(1 / sqrt((double)a->k->rows));
    if (status == WISP_OK) status = wisp_scal(one, unit);
    wisp_blk_free(one);
    return status;
}

/* The first block: sums of the user's vectors, each of which is in one of them, and random columns if they are fewer.
 */
static wisp_status begin(wisp__arnoldi *a)
{
    wisp_status status = WISP_OK;
    const wisp_blk *start = a->k->o.start;
    const int b = a->block, given = start ? wisp_blk_width(start) : 0, width = given < b ? given : b;
    wisp_blk *to = NULL;
    wisp_scalar *X = NULL;
    if (width > 0) {
        WISP_TRY(wisp_alloc(a->k->ctx, &X, (size_t)(given * width), sizeof *X));
        for (int i = 0; i < given; i++) X[i * width + i % width] = wisp__real(1);
        WISP_TRY(wisp_blk_cols(&to, a->all, 0, width));
        WISP_TRY(wisp_tsm_update(to, wisp__real(1), start, X, width, wisp__real(0)));
    }
    for (int j = width; j < b; j++) WISP_TRY(draw(a, a->all, j));
out:
    wisp_blk_free(to);
    wisp_free(a->k->ctx, X);
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
    WISP_TRY(wisp_alloc(k->ctx, &a->H, size, sizeof *a->H));
    WISP_TRY(wisp_alloc(k->ctx, &a->work, 2 * size, sizeof *a->work));
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
    wisp_blk_free(a->view);
    wisp_free(NULL, a->H);
    wisp_free(NULL, a->work);
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
    WISP_TRY(wisp_alloc(ctx, &H, size, sizeof *H));
    WISP_TRY(wisp_alloc(ctx, &work, 2 * size, sizeof *work));
    WISP_TRY(enlarge_block(a, columns));
    for (size_t i = 0; i < old; i++) memcpy(H + i * (size_t)columns, a->H + i * old, old * sizeof *H);
    wisp_scalar *h = a->H, *w = a->work;
    a->H = H, H = h;
    a->work = work, work = w;
    a->columns = columns;
out:
    wisp_free(ctx, H);
    wisp_free(ctx, work);
    return status;
}

/* ---- orthogonal blocks ------------------------------------------------------------------------------ */

static double of_gram(const wisp__arnoldi *a) { return (a->k->is_complex ? 8.0 : 2.0) * (double)a->k->rows * a->block; }

/* C[block][n] = y^H (n columns); y -= columns X, X = C^H. */
static wisp_status project(wisp__arnoldi *a, int from, int n, wisp_scalar *C, wisp_scalar *X)
{
    wisp_status status = WISP_OK;
    wisp_blk *Q = NULL;
    if (n == 0) return WISP_OK;
    WISP_TRY(wisp_blk_cols(&Q, a->all, from, n));
    WISP_TRY(wisp_tsm_gram(C, n, wisp__real(1), a->y, Q, wisp__real(0), 0));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < a->block; j++) X[i * a->block + j] = (wisp_scalar){C[j * n + i].re, -C[j * n + i].im};
    WISP_TRY(wisp_tsm_update(a->y, wisp__real(-1), Q, X, a->block, wisp__real(1)));
    a->k->e->flops += 2 * n * of_gram(a);
out:
    wisp_blk_free(Q);
    return status;
}

typedef struct {
    wisp__z R[WISP__MOST_BLOCK][WISP__MOST_BLOCK]; /* upper triangular: old columns = new columns R */
    wisp__z P[WISP__MOST_BLOCK][WISP__MOST_BLOCK]; /* the same from the first old columns to the newest */
    wisp_scalar G[WISP__MOST_BLOCK * WISP__MOST_BLOCK], inverse[WISP__MOST_BLOCK * WISP__MOST_BLOCK];
    double tiny;
    double near[WISP__MOST_BLOCK];   /* squares of the parts that were taken out before the first pass */
    double length[WISP__MOST_BLOCK]; /* of the old columns, before they were projected */
    bool lost[WISP__MOST_BLOCK];     /* the column added nothing, and is drawn anew */
} block_qr;

/* R from G = y^H y (Cholesky), row by row. A column of which no more than `tiny` is left, in the first one's measure,
   is lost. Where d is rounding alone, any number does: the next pass makes up for it. */
static void factor(block_qr *q, int b, const wisp_scalar *G, double tiny)
{
    for (int i = 0; i < b; i++) {
        double d = G[i * b + i].re;
        for (int l = 0; l < i; l++) d -= creal(q->R[l][i] * conj(q->R[l][i]));
        const double r = sqrt(fmax(d, 8 * DBL_EPSILON * G[i * b + i].re)), left = r * cabs(q->P[i][i]);
        q->lost[i] = r == 0 || (q->P[i][i] != 0 && left <= tiny); /* P is 0 where it was drawn */
        for (int j = 0; j < b; j++) {
            wisp__z z = wisp__z_of(G[i * b + j]);
            for (int l = 0; l < i; l++) z -= conj(q->R[l][i]) * q->R[l][j];
            q->R[i][j] = j < i || q->lost[i] ? 0 : j == i ? r : z / r;
        }
    }
}

/* Its inverse, with zeros in the rows and columns of what is lost. */
static void invert(block_qr *q, int b)
{
    for (int j = 0; j < b; j++)
        for (int i = b - 1; i >= 0; i--) {
            wisp__z z = i == j ? 1 : 0;
            for (int l = i + 1; l <= j; l++) z -= q->R[i][l] * wisp__z_of(q->inverse[l * b + j]);
            q->inverse[i * b + j] = i > j || q->lost[i] || q->lost[j] ? wisp__real(0) : wisp__of_z(z / q->R[i][i]);
        }
}

/* y loses its part in n columns from `from` on, which h gets. */
static wisp_status take_near(wisp__arnoldi *a, block_qr *q, int from, int n, wisp_scalar *h)
{
    wisp_status status = WISP_OK;
    const int b = a->block;
    wisp_scalar *C = a->work, *X = C + (size_t)a->columns * (size_t)a->columns;
    WISP_TRY(project(a, from, n, C, X));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < b; j++) {
            const wisp_scalar x = h[(from + i) * b + j] = X[i * b + j];
            q->near[j] += x.re * x.re + x.im * x.im;
        }
out:
    return status;
}

/* y X, X upper triangular. */
static wisp_status scale(wisp__arnoldi *a, const wisp_scalar *X)
{
    if (a->block == 1) return wisp_scal(a->y, X[0]);
    return wisp_tsm_update(a->y, wisp__real(1), a->y, X, a->block, wisp__real(0));
}

/* One pass: y loses its part in n columns and becomes orthonormal; *good: enough of it was left for that to be right.
 */
static wisp_status pass(wisp__arnoldi *a, block_qr *q, int n, bool first, wisp_scalar *h, bool *good)
{
    wisp_status status = WISP_OK;
    const int b = a->block;
    wisp_scalar *C = a->work, *X = C + (size_t)a->columns * (size_t)a->columns, *G = q->G;
    WISP_TRY(project(a, 0, n, C, X));
    WISP_TRY(wisp_tsm_gram(G, b, wisp__real(1), a->y, a->y, wisp__real(0), 0));
    double finite = 0;
    for (int j = 0; j < b; j++) {
        double square = G[j * b + j].re;
        for (int i = 0; i < n; i++) square += C[j * n + i].re * C[j * n + i].re + C[j * n + i].im * C[j * n + i].im;
        q->length[j] = sqrt(square);
        finite += 0 * square;
        if (first) q->tiny = fmax(q->tiny, 100 * a->k->eps * sqrt(square + q->near[j]));
    }
    if (finite != 0) {
        status = wisp_ctx_fail(a->k->ctx, WISP_ERR_NUMERIC, "eig: a product of the matrix is not finite");
        goto out;
    }
    factor(q, b, G, q->tiny);
    invert(q, b);
    *good = true;
    for (int j = 0; j < b; j++) *good &= !q->lost[j] && creal(q->R[j][j]) >= a->enough * q->length[j];
    WISP_TRY(scale(a, q->inverse));
    for (int j = 0; j < b; j++)
        if (q->lost[j]) WISP_TRY(draw(a, a->y, j));
    for (int i = 0; i < n && h; i++)
        for (int j = 0; j < b; j++) {
            wisp_scalar *to = &h[i * b + j];
            wisp__z z = wisp__z_of(*to);
            for (int l = 0; l <= j; l++) z += wisp__z_of(X[i * b + l]) * q->P[l][j];
            *to = wisp__of_z(z);
        }
    for (int j = 0; j < b; j++) {
        wisp__z z[WISP__MOST_BLOCK] = {0};
        for (int i = 0; i < b; i++)
            for (int l = i; l < b; l++) z[i] += q->R[i][l] * q->P[l][j];
        for (int i = 0; i < b; i++) q->P[i][j] = z[i];
    }
    a->k->e->flops += 2 * b * of_gram(a);
out:
    return status;
}

/* y becomes orthonormal, and orthogonal to the first n columns, of which it had h (NULL: of no interest); B is in q->P.
   Then it is column n and those that follow. */
static wisp_status orthonormal(wisp__arnoldi *a, block_qr *q, int n, wisp_scalar *h)
{
    wisp_status status = WISP_OK;
    wisp_blk *W = NULL;
    const double before = wisp_now();
    const int near = n - 2 * a->block; /* the first of the columns that a recurrence of three terms knows */
    bool good = false;
    q->tiny = h ? 100 * a->rounding : 0;
    memset(q->near, 0, sizeof q->near);
    for (int i = 0; i < a->block; i++)
        for (int j = 0; j < a->block; j++) q->P[i][j] = i == j;
    if (h && a->recurs && near > 0) WISP_TRY(take_near(a, q, near, n - near, h));
    for (int i = 0; !good; i++) {
        if (i == PASSES) {
            status = wisp_ctx_fail(a->k->ctx, WISP_ERR_BREAKDOWN, "eig: no vector is orthogonal to %d others", n);
            goto out;
        }
        WISP_TRY(pass(a, q, n, i == 0, h, &good));
        if (i == 0 && h) a->rounding = q->tiny / 100;
        if (a->op.degree == 1) a->smallest = a->rounding;
    }
    WISP_TRY(wisp_blk_cols(&W, a->all, n, a->block));
    WISP_TRY(wisp_copy(W, a->y));
    wisp_blk *y = a->y;
    a->y = a->x, a->x = y;
out:
    a->k->e->ortho_seconds += wisp_now() - before;
    wisp_blk_free(W);
    return status;
}

wisp_status wisp__arnoldi_start(wisp__arnoldi *a, bool random)
{
    wisp_status status = WISP_OK;
    wisp_blk *W = NULL;
    block_qr q;
    a->active = 0;
    a->guess = 0;
    a->recurs = false;
    a->most_good = -1;
    WISP_TRY(wisp_blk_cols(&W, a->all, a->locked, a->block));
    if (random)
        for (int j = 0; j < a->block; j++) WISP_TRY(draw(a, W, j));
    WISP_TRY(wisp_copy(a->y, W));
    WISP_TRY(orthonormal(a, &q, a->locked, NULL));
out:
    wisp_blk_free(W);
    return status;
}

wisp_status wisp__arnoldi_expand(wisp__arnoldi *a, int active)
{
    wisp_status status = WISP_OK;
    block_qr q;
    const int b = a->block, c = a->columns;
    for (; a->active + b <= active; a->active += b) {
        const int n = a->locked + a->active + b;
        const double guess = a->guess;
        wisp_scalar *h = a->work + (size_t)c * (size_t)c + (size_t)c * (size_t)b; /* behind what a pass takes */
        memset(h, 0, (size_t)n * (size_t)b * sizeof *h);
        WISP_TRY(wisp__eig_offer(a->k));
        WISP_TRY(wisp__arnoldi_multiply(a));
        WISP_TRY(orthonormal(a, &q, n, h));
        double mean = 0;
        for (int j = 0; j < b; j++) {
            for (int i = a->locked; i < n; i++) *wisp__h(a, i - a->locked, a->active + j) = h[i * b + j];
            wisp__h(a, a->active + j, a->active + j)->re += guess;
            mean += wisp__h(a, a->active + j, a->active + j)->re / b;
            for (int i = 0; i < b; i++) *wisp__h(a, a->active + b + i, a->active + j) = wisp__of_z(q.P[i][j]);
        }
        /* W's rows in B were those of the block before alone. */
        for (int i = 0; i < b; i++)
            for (int j = 0; j < a->active; j++) *wisp__h(a, a->active + b + i, j) = wisp__real(0);
        a->guess = a->op.degree == 1 || !a->k->hermitian ? mean : 0;
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
    wisp_ctx_log(a->k->ctx, WISP_LOG_INFO, "eig: vectors are orthonormal to %.1e alone; they are made anew", most);
    a->enough = 0.99;
    if (a->active > 0) WISP_TRY(wisp__arnoldi_anew(a, wanted < a->active ? wanted : a->active));
out:
    return status;
}

wisp_status wisp__arnoldi_told(wisp__arnoldi *a, int wanted, int good, double residual)
{
    wisp__eig *k = a->k;
    wisp_status status = WISP_OK;
    a->restarts++;
    WISP_TRY(keep_orthonormal(a, wanted));
    if (good > a->most_good || residual < 0.9 * a->least) {
        a->least = good > a->most_good ? residual : fmin(residual, a->least);
        a->most_good = good > a->most_good ? good : a->most_good;
        a->better_at = a->restarts;
    }
    WISP_TRY(wisp__eig_told(k, a->restarts, good, wanted, residual));
    const bool stalls = a->restarts - a->better_at > STALLS;
    WISP_TRY(wisp__eig_enough(k, &k->whole));
    k->whole |= stalls && isfinite(k->most_work);
    if (k->whole) return WISP_ERR_ITERATIONS; /* to the caller of all, who goes on with LAPACK */
    WISP_TRY(wisp_ctx_step(k->ctx, "eigenpairs", (double)good / (wanted + 1.0), 0));
    if (a->restarts >= k->o.max_rounds)
        status = wisp_ctx_fail(k->ctx, WISP_ERR_ITERATIONS,
                               "eig: %d of %d pairs after %d restarts; the next one's "
                               "residual is %.2g",
                               good, wanted, a->restarts, residual);
    else if (stalls)
        status = wisp_ctx_fail(k->ctx, WISP_ERR_STAGNATION,
                               "eig: the residuals no longer fall after %d restarts: %d of %d pairs; the next one's "
                               "residual is %.2g",
                               a->restarts, good, wanted, a->least);
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

wisp_status wisp__arnoldi_project(wisp__arnoldi *a, int n, wisp_scalar *H)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = a->k;
    const double before = wisp_now();
    wisp_blk *Q = NULL, *from = NULL, *x = NULL, *y = NULL;
    WISP_TRY(wisp_blk_cols(&Q, a->all, 0, n));
    for (int j = 0; j < n; j += a->block) {
        const int w = n - j < a->block ? n - j : a->block;
        WISP_TRY(wisp_blk_cols(&from, a->all, j, w));
        WISP_TRY(wisp_blk_cols(&x, a->x, 0, w));
        WISP_TRY(wisp_blk_cols(&y, a->y, 0, w));
        WISP_TRY(wisp_copy(x, from));
        WISP_TRY(wisp_spmmv(y, k->A, x, NULL));
        WISP_TRY(wisp_tsm_gram(H + j, n, wisp__real(1), Q, y, wisp__real(0), 0));
        wisp_blk_free(from), wisp_blk_free(x), wisp_blk_free(y);
        from = x = y = NULL;
    }
    k->e->products += n;
    k->e->flops += k->flops * n + (k->is_complex ? 8.0 : 2.0) * (double)k->rows * n * n;
    k->e->ritz_seconds += wisp_now() - before;
out:
    wisp_blk_free(Q);
    wisp_blk_free(from);
    wisp_blk_free(x);
    wisp_blk_free(y);
    return status;
}
