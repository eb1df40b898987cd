/* A new block of a Krylov decomposition is made orthogonal to all columns by block Gram-Schmidt passes, each of which
   reads them twice, and waits once for a device. One pass is enough where it leaves so much of each vector's length as
   it takes away ("twice is enough"; Daniel et al. 1976): what the columns lack of being orthogonal goes into the new
   one times the ratio of the two, so that less grows from column to column. So that one pass often does, the product is
   shifted by what the Rayleigh quotient was last: that takes no part of the new directions away. */
#include "arnoldi.h"
#include "inverse.h"
#include <string.h>

enum { PASSES = 8 };

wisp_status wisp__arnoldi_draw(wisp__arnoldi *a, wisp_blk *of, int j)
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

static double of_gram(const wisp__arnoldi *a) { return (a->k->is_complex ? 8.0 : 2.0) * (double)a->k->rows * a->block; }

/* An element of C^H, which has n rows. */
static wisp_scalar adjoint(const wisp_scalar *C, int n, int i, int j)
{
    return (wisp_scalar){C[j * n + i].re, -C[j * n + i].im};
}

/* What dots with y are taken of: y, or T y. */
static wisp_status take_dual(wisp__arnoldi *a, const wisp_blk **dual)
{
    *dual = a->k->pencil ? a->s : a->y;
    return a->k->pencil ? wisp__pencil_times_S(a->k->pencil, a->s, a->y) : WISP_OK;
}

/* C[block][n] = y^H (n columns), in the slot from number `at` on; y -= columns C^H. */
static wisp_status project(wisp__arnoldi *a, int from, int n, int64_t at)
{
    wisp_status status = WISP_OK;
    wisp_blk *Q = NULL;
    const wisp_blk *dual;
    const wisp_place C = {a->slot, at};
    if (n == 0) return WISP_OK;
    WISP_TRY(wisp_blk_cols(&Q, a->all, from, n));
    WISP_TRY(take_dual(a, &dual));
    WISP_TRY(wisp_tsm_gram_at(C, n, dual, Q, 0));
    WISP_TRY(wisp_tsm_update_at(a->y, wisp__real(-1), Q, C, n, wisp__real(1), WISP_ADJOINT));
    a->k->e->flops += 2 * n * of_gram(a);
out:
    wisp_blk_free(Q);
    return status;
}

/* A block on its way to be orthonormal, in passes. Each makes y = columns C^H + new y R, R upper triangular. In all,
   the block that came in is columns h + y P: a pass adds C^H P to h, and then P becomes R P. */
typedef struct {
    wisp__z R[WISP__MOST_BLOCK][WISP__MOST_BLOCK], P[WISP__MOST_BLOCK][WISP__MOST_BLOCK];
    const wisp_scalar *G;                                     /* y^H y */
    wisp_scalar inverse[WISP__MOST_BLOCK * WISP__MOST_BLOCK]; /* of R */
    double tiny;                   /* what rounding leaves of a vector that lies in the columns, in the first measure */
    double near[WISP__MOST_BLOCK]; /* squares of the parts that were taken out before the first pass */
    double length[WISP__MOST_BLOCK]; /* of y before this pass */
    bool lost[WISP__MOST_BLOCK];     /* the column added nothing, and is drawn anew */
} block_qr;

/* ---- small matrices ---------------------------------------------------------------------------------- */

/* R from G (Cholesky), row by row. A column of which no more than `tiny` is left, in the first one's measure, is lost.
   Where d is rounding alone, any number does: the next pass makes up for it. */
static void factor(block_qr *q, int b)
{
    const wisp_scalar *G = q->G;
    for (int i = 0; i < b; i++) {
        double d = G[i * b + i].re;
        for (int l = 0; l < i; l++) d -= creal(q->R[l][i] * conj(q->R[l][i]));
        const double r = sqrt(fmax(d, 8 * DBL_EPSILON * G[i * b + i].re)), left = r * cabs(q->P[i][i]);
        q->lost[i] = r == 0 || (q->P[i][i] != 0 && left <= q->tiny); /* P is 0 where it was drawn */
        for (int j = 0; j < b; j++) {
            wisp__z z = wisp__z_of(G[i * b + j]);
            for (int l = 0; l < i; l++) z -= conj(q->R[l][i]) * q->R[l][j];
            q->R[i][j] = j < i || q->lost[i] ? 0 : j == i ? r : z / r;
        }
    }
}

/* R's inverse, with zeros in the rows and columns of what is lost. */
static void invert(block_qr *q, int b)
{
    for (int j = 0; j < b; j++)
        for (int i = b - 1; i >= 0; i--) {
            wisp__z z = i == j ? 1 : 0;
            for (int l = i + 1; l <= j; l++) z -= q->R[i][l] * wisp__z_of(q->inverse[l * b + j]);
            q->inverse[i * b + j] = i > j || q->lost[i] || q->lost[j] ? wisp__real(0) : wisp__of_z(z / q->R[i][i]);
        }
}

/* h += C^H P, of n rows. */
static void add_parts(const block_qr *q, int b, int n, const wisp_scalar *C, wisp_scalar *h)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < b; j++) {
            wisp__z z = wisp__z_of(h[i * b + j]);
            for (int l = 0; l <= j; l++) z += wisp__z_of(adjoint(C, n, i, l)) * q->P[l][j];
            h[i * b + j] = wisp__of_z(z);
        }
}

/* P = R P. */
static void take_factor(block_qr *q, int b)
{
    for (int j = 0; j < b; j++) {
        wisp__z z[WISP__MOST_BLOCK] = {0};
        for (int i = 0; i < b; i++)
            for (int l = i; l < b; l++) z[i] += q->R[i][l] * q->P[l][j];
        for (int i = 0; i < b; i++) q->P[i][j] = z[i];
    }
}

/* ---- passes ------------------------------------------------------------------------------------------ */

/* Before the first pass y has lost its part in columns from `from` on, N[block][n], which h gets. */
static void take_near(const wisp__arnoldi *a, block_qr *q, int from, int n, const wisp_scalar *N, wisp_scalar *h)
{
    const int b = a->block;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < b; j++) {
            const wisp_scalar x = h[(from + i) * b + j] = adjoint(N, n, i, j);
            q->near[j] += x.re * x.re + x.im * x.im;
        }
}

/* A vector of which no more rounding errors than this are left adds nothing. Where found pairs are refined, their
   residuals are what V grows from, as near to rounding as they are. */
static double few(const wisp__arnoldi *a) { return a->at.tries > 0 && a->op.degree == 1 && !a->k->hermitian ? 1 : 100; }

/* x^H S x of a vector that is more than rounding. What is not finite tells nothing of S. */
static wisp_status refuse_S(const wisp__arnoldi *a, double of_left, double of_parts)
{
    enum { UNITS = 16 };
    const wisp__pencil *p = a->k->pencil;
    if (!p || !(of_left < -fmin(UNITS * a->k->eps * p->condition, 0.1) * of_parts)) return WISP_OK;
    return wisp_ctx_fail(a->k->ctx, WISP_ERR_NUMERIC,
                         "eig: S must be positive definite, and x^H S x is below 0 for a vector x that was met");
}

/* How long y's columns were before they lost their parts C[block][n]. */
static wisp_status measure(const wisp__arnoldi *a, block_qr *q, int n, const wisp_scalar *C, bool first)
{
    const int b = a->block;
    double finite = 0;
    for (int j = 0; j < b; j++) {
        double square = q->G[j * b + j].re;
        for (int i = 0; i < n; i++) square += C[j * n + i].re * C[j * n + i].re + C[j * n + i].im * C[j * n + i].im;
        const double left = q->G[j * b + j].re, parts = square - left + q->near[j];
        const wisp_status status = refuse_S(a, left, parts);
        if (status != WISP_OK) return status;
        q->length[j] = wisp__root(square);
        finite += 0 * q->length[j];
        if (first) q->tiny = fmax(q->tiny, few(a) * a->k->eps * wisp__root(square + q->near[j]));
    }
    if (finite == 0) return WISP_OK;
    if (a->op.inverse)
        return wisp_ctx_failf(a->k->ctx, WISP_ERR_NUMERIC,
                              "eig: a product with (%s)^-1 is not finite, too large for %s numbers; try %s",
                              wisp__inverse_of(a->k->inverse), wisp_type_name(a->k->type),
                              a->k->eps > 1e-10 ? "double precision, or another opts.target" : "another opts.target");
    return wisp_ctx_failf(a->k->ctx, WISP_ERR_NUMERIC, "eig: a product of the matrix is not finite");
}

/* y's columns become orthonormal, by R's inverse; those that are lost become random ones. */
static wisp_status normalize(wisp__arnoldi *a, const block_qr *q)
{
    wisp_status status = WISP_OK;
    if (a->block == 1)
        WISP_TRY(wisp_scal(a->y, q->inverse[0]));
    else
        WISP_TRY(wisp_tsm_update(a->y, wisp__real(1), a->y, q->inverse, a->block, wisp__real(0)));
    for (int j = 0; j < a->block; j++)
        if (q->lost[j]) WISP_TRY(wisp__arnoldi_draw(a, a->y, j));
out:
    return status;
}

/* One pass: y loses its part in the first n columns, which h gets, and becomes orthonormal; with the first one it has
   lost that in the last `near` of them before. The host waits once, for all products. *good: enough of y was left for
   that to be right. */
static wisp_status pass(wisp__arnoldi *a, block_qr *q, int n, int near, bool first, wisp_scalar *h, bool *good)
{
    wisp_status status = WISP_OK;
    const int b = a->block;
    const wisp_blk *dual;
    const wisp_scalar *C = a->work + b * b, *N = C + b * n;
    WISP_TRY(project(a, n - near, near, N - a->work));
    WISP_TRY(project(a, 0, n, C - a->work));
    WISP_TRY(take_dual(a, &dual));
    WISP_TRY(wisp_tsm_gram_at((wisp_place){a->slot, 0}, b, a->y, dual, 0));
    WISP_TRY(wisp_slot_read(a->slot, 0, b * (b + n + near), a->work));
    a->k->e->flops += 2 * b * of_gram(a);
    q->G = a->work;
    take_near(a, q, n - near, near, N, h);
    WISP_TRY(measure(a, q, n, C, first));
    factor(q, b);
    invert(q, b);
    WISP_TRY(normalize(a, q));
    *good = true;
    for (int j = 0; j < b; j++) *good &= !q->lost[j] && creal(q->R[j][j]) >= a->enough * q->length[j];
    if (h) add_parts(q, b, n, C, h);
    take_factor(q, b);
out:
    return status;
}

/* y becomes W. */
static wisp_status put_last(wisp__arnoldi *a, int n)
{
    wisp_status status = WISP_OK;
    wisp_blk *W = NULL;
    WISP_TRY(wisp_blk_cols(&W, a->all, n, a->block));
    WISP_TRY(wisp_copy(W, a->y));
    wisp_blk *y = a->y;
    a->y = a->x, a->x = y;
out:
    wisp_blk_free(W);
    return status;
}

wisp_status wisp__arnoldi_orthonormal(wisp__arnoldi *a, int n, wisp_scalar *h, wisp_scalar *B)
{
    wisp_status status = WISP_OK;
    const double before = wisp_now();
    const int b = a->block;
    const int near = h && a->recurs && n > 2 * b ? 2 * b : 0; /* columns that a recurrence of three terms knows */
    block_qr q;
    bool good = false;
    q.tiny = h ? few(a) * a->rounding : 0;
    memset(q.near, 0, sizeof q.near);
    for (int i = 0; i < b; i++)
        for (int j = 0; j < b; j++) q.P[i][j] = i == j;
    for (int i = 0; !good; i++) {
        if (i == PASSES) {
            status = wisp_ctx_failf(a->k->ctx, WISP_ERR_BREAKDOWN, "eig: no vector is orthogonal to %d others", n);
            goto out;
        }
        WISP_TRY(pass(a, &q, n, i == 0 ? near : 0, i == 0, h, &good));
        if (i == 0 && h) a->rounding = q.tiny / few(a);
        if (a->op.degree == 1 && !a->op.inverse) a->smallest = a->rounding;
    }
    for (int i = 0; i < b && B; i++)
        for (int j = 0; j < b; j++) B[i * b + j] = wisp__of_z(q.P[i][j]);
    WISP_TRY(put_last(a, n));
out:
    a->k->e->ortho_seconds += wisp_now() - before;
    return status;
}
