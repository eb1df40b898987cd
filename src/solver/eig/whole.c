/* Matrices of few rows: all pairs by LAPACK, and whether that takes less than a search. */
#include "arnoldi.h"

enum { MOST_ROWS = 20000, ROWS_BY_COST = 3000 };

/* ---- what it takes ---------------------------------------------------------------------------------- */

/* In the measure of wisp__eig_work. Of rows^3: measured, with LAPACK on one thread; threads change little in a search
   in so few rows. Products with all unit vectors make the matrix that LAPACK gets: of stored entries they are little
   beside it, of an operator they may be most of it. */
static double work(const wisp__eig *k)
{
    const double n = (double)k->rows, each = k->hermitian ? 13 : 30;
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    const double products = info.format == WISP_FORMAT_OPERATOR ? wisp__slower * k->flops * n : 0;
    return each * n * n * n * (k->is_complex ? 4 : 1) + products;
}

/* Bytes of the sums that a panel of H is made of: on the device, on the host, and of each block of so many rows. */
static double sums_bytes(double rows, double numbers)
{
    enum { PANEL = 256, BLOCK = 256 };
    return (3 + rows / BLOCK) * fmin(rows, PANEL) * numbers * sizeof(double);
}

/* Vectors of a matrix that is not Hermitian, as they are made beside a space that stays: of a real one they may be
   complex, and are made of two real parts, by way of columns of each; and the small matrix that a product has. *kept:
   of these, what stays while D^-1 A D is tried. */
static double vectors_bytes(const wisp__eig *k, double *kept)
{
    enum { PADDING = 16 };
    const double n = (double)k->rows, size = (double)wisp_type_size(k->type),
                 found = fmin(k->o.count + !k->is_complex, n), each = (double)wisp__eig_held(k) * size,
                 small =
                     n * (found + PADDING) * size * (k->is_complex ? 2 : 1); /* complex: of twice as many real rows */
    *kept = each * found * (k->is_complex ? 1 : 2) + small;
    return each * (k->is_complex ? found + 2 : 4 * found + 8) + small;
}

/* Bytes beside A: the space, which becomes the vectors of a Hermitian matrix, blocks, H and what becomes of it, and
   LAPACK's own, or the vectors of another one. */
static int64_t memory(const wisp__eig *k)
{
    const double n = (double)k->rows, held = (double)wisp__eig_held(k);
    const int width = wisp__ritz_width(k, (int)k->rows);
    const double columns = n + (2.0 + 2 * wisp__eig_scaled_blocks(k)) * width, parts = k->is_complex ? 2 : 1;
    const double numbers = (k->hermitian ? 1 : 2) * parts * n * (n + 1); /* that LAPACK makes, and ranks share */
    double kept, vectors = vectors_bytes(k, &kept);
    const double general = 48 * n * n + fmax(16 * parts * n * n + 528 * parts * n + 24 * n + kept, vectors + 64 * n),
                 matrices = k->hermitian ? 64 * n * n + 528 * parts * n : general;
    return (int64_t)(held * columns * (double)wisp_type_size(k->type) + matrices +
                     sums_bytes(parts * n, parts * width)) +
           wisp__arnoldi_numbers((int)k->rows, k->o.count, 0) +
           wisp__eig_beside(k, (int)k->rows, width, (int64_t)numbers);
}

wisp_status wisp__eig_dense_or_search(wisp__eig *k)
{
    static const double little = 8.4e8; /* a tenth of a second, about */
    const bool proves = k->hermitian || (k->o.which != WISP_EIG_SMALLEST && k->o.which != WISP_EIG_NEAREST);
    if (k->rows > ROWS_BY_COST) return WISP_OK;
    double lacks = k->o.bytes > 0 && memory(k) > k->o.bytes;
    const wisp_status status = wisp_ctx_sum(k->ctx, &lacks, 1);
    if (status != WISP_OK || lacks > 0) return status;
    k->most_work = work(k);
    const double begun = k->o.method == WISP_CHEBFD ? wisp__chebfd_least_work(k) : 0;
    const bool at_once = k->most_work <= fmax(little, begun) || !proves;
    if (k->o.resume ? wisp__eig_is_kept(k, WISP_EIG_DENSE) : at_once) k->o.method = WISP_EIG_DENSE;
    return WISP_OK;
}

static wisp_status refuse_large(const wisp__eig *k)
{
    if (k->rows <= MOST_ROWS) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_UNSUPPORTED, "eig: %lld rows are too many for the dense method; at most %d",
                          (long long)k->rows, MOST_ROWS);
}

wisp_status wisp__eig_plan_dense(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice)
{
    const wisp_status status = refuse_large(k);
    if (status != WISP_OK) return status;
    choice->method = WISP_EIG_DENSE;
    choice->search = (int)k->rows;
    choice->block = wisp__ritz_width(k, choice->search);
    plan->products = 2 * (double)k->rows;
    plan->bytes_most = memory(k);
    plan->device_bytes =
        wisp__eig_on_device(k, choice->search + 2.0 * choice->block, (double)k->rows * (double)k->rows);
    return WISP_OK;
}

double wisp__eig_most_sensible(const wisp__eig *k)
{
    if (k->rows > ROWS_BY_COST) return 0;
    return k->o.bytes > 0 && memory(k) > k->o.bytes ? INFINITY : WISP__SENSIBLE * work(k);
}

int64_t wisp__eig_dense_bytes(const wisp__eig *k) { return isfinite(k->most_work) ? memory(k) : 0; }

/* ---- all pairs -------------------------------------------------------------------------------------- */

/* The whole space: all columns of the identity. */
static wisp_status units(const wisp__eig *k, wisp_blk **space)
{
    wisp_status status = WISP_OK;
    const int n = (int)k->rows;
    int64_t *unit = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &unit, (size_t)n, sizeof *unit));
    for (int i = 0; i < n; i++) unit[i] = i;
    WISP_TRY(wisp_blk_create(space, k->ctx, wisp_mat_map(k->A), k->type, n));
    WISP_TRY(wisp_blk_fill_units(*space, unit));
out:
    wisp_free(k->ctx, unit);
    return status;
}

/* The identity's columns become orthonormal by S, as LAPACK's dsygv makes them. */
static wisp_status orthonormal_by_S(const wisp__eig *k, wisp_blk *space)
{
    wisp_status status = WISP_OK;
    const int n = (int)k->rows;
    int good;
    wisp_scalar *G = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &G, (size_t)n * (size_t)n, sizeof *G));
    WISP_TRY(wisp__eig_gram_by_S(k, space, G));
    WISP_TRY(wisp__dense_cholesky(k->ctx, k->is_complex, n, G, &good));
    if (good == n)
        status = wisp_tsm_update(space, wisp__real(1), space, G, n, wisp__real(0));
    else
        status = wisp_ctx_fail(k->ctx, WISP_ERR_NUMERIC, "eig: S must be positive definite, and is not up to rounding");
out:
    wisp_free(k->ctx, G);
    return status;
}

/* Rayleigh-Ritz with the whole space; of k->pencil by S. */
static wisp_status hermitian(wisp__eig *k)
{
    wisp_status status = WISP_OK;
    const int n = (int)k->rows;
    int first, found, some, of; /* of these, by their residuals */
    wisp_blk *space = NULL;
    double *theta = NULL, *residual = NULL;
    if (k->o.which == WISP_EIG_INTERVAL) k->e->low = k->o.low, k->e->high = k->o.high;
    WISP_TRY(wisp__eig_bounds(k, 1));
    WISP_TRY(wisp_alloc(k->ctx, &theta, (size_t)n, sizeof *theta));
    WISP_TRY(units(k, &space));
    if (k->pencil) WISP_TRY(orthonormal_by_S(k, space));
    WISP_TRY(wisp__ritz(k, space, 0, n, theta));
    const int any = k->o.any;
    k->o.any = 0; /* residuals of the whole of the last multiplet are needed, for the next call counts it by them */
    wisp__eig_select(k, n, theta, NULL, &some, &of);
    k->o.any = any;
    k->e->block = wisp__ritz_width(k, n);
    WISP_TRY(wisp_alloc(k->ctx, &residual, (size_t)n, sizeof *residual));
    if (of > 0) WISP_TRY(wisp__ritz_residuals(k, space, some, of, theta + some, residual + some));
    wisp__eig_select(k, of, theta + some, residual + some, &first, &found);
    first += some;
    for (int i = first; i < first + found; i++)
        if (!(residual[i] <= k->o.tolerance)) {
            status = wisp_ctx_failf(k->ctx, WISP_ERR_STAGNATION, "eig: a residual of %.1e; the tolerance is %.1e",
                                    wisp__eig_residual(k, residual[i]), wisp__eig_residual(k, k->o.tolerance));
            goto out;
        }
    WISP_TRY(wisp__eig_deliver(k, space, first, found, theta + first, residual + first));
    k->e->complete = 1;
out:
    wisp_free(k->ctx, theta);
    wisp_free(k->ctx, residual);
    wisp_blk_free(space);
    return status;
}

/* The pairs by a Schur form of all of A; of D^-1 A D, if there is room for exponents, and *range says whether one pays.
 */
static wisp_status by_schur(wisp__arnoldi *a, wisp_scalar *H, double *exponent, int *range, bool *all)
{
    wisp_status status = WISP_OK;
    const int n = a->columns;
    double square = 0;
    WISP_TRY(wisp__arnoldi_project(a, n, H));
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++) square += H[i].re * H[i].re + H[i].im * H[i].im;
    a->smallest = a->k->eps * sqrt(square);
    if (exponent) WISP_TRY(wisp__balance(a->k->ctx, n, H, exponent, range));
    if (exponent && *range == 0) goto out;
    a->exponent = exponent;
    WISP_TRY(wisp__schur_give(a, n, H, all));
out:
    a->exponent = NULL;
    return status;
}

/* Where rounding spoils values that have small residuals, D^-1 A D may have them right. Its vectors, D times which are
   A's, are good as vectors of A in most cases, not in all. */
static wisp_status balanced(wisp__arnoldi *a, wisp_scalar *H, bool *all)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = a->k->e;
    double *exponent = NULL;
    int range;
    const int sensitive = e->sensitive;
    WISP_TRY(wisp_alloc(a->k->ctx, &exponent, (size_t)a->columns, sizeof *exponent));
    WISP_TRY(by_schur(a, H, exponent, &range, all));
    if (range == 0) goto out;
    if (*all && e->sensitive < sensitive)
        e->balanced = range;
    else
        WISP_TRY(by_schur(a, H, NULL, NULL, all));
out:
    wisp_free(a->k->ctx, exponent);
    return status;
}

static wisp_status general(wisp__eig *k)
{
    wisp_status status = WISP_OK;
    const int n = (int)k->rows;
    wisp__arnoldi a = {.k = k, .op = wisp__itself, .columns = n, .block = wisp__ritz_width(k, n)};
    wisp_scalar *H = NULL;
    bool all;
    k->e->block = a.block;
    WISP_TRY(wisp_alloc(k->ctx, &H, (size_t)n * (size_t)n, sizeof *H));
    WISP_TRY(units(k, &a.all));
    WISP_TRY(wisp_blk_create(&a.x, k->ctx, wisp_mat_map(k->A), k->type, a.block));
    WISP_TRY(wisp_blk_create(&a.y, k->ctx, wisp_mat_map(k->A), k->type, a.block));
    WISP_TRY(by_schur(&a, H, NULL, NULL, &all));
    if (all && k->e->sensitive > 0) WISP_TRY(balanced(&a, H, &all));
    k->e->complete = all;
    if (!all) status = wisp__schur_rounded(&a);
out:
    wisp_free(k->ctx, H);
    wisp__arnoldi_free(&a);
    return status;
}

wisp_status wisp__eig_dense(wisp__eig *k)
{
    const wisp_status status = refuse_large(k);
    if (status != WISP_OK) return status;
    k->e->method = WISP_EIG_DENSE;
    k->e->search = (int)k->rows;
    return k->hermitian ? hermitian(k) : general(k);
}
