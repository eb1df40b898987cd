/* The units of a linear system. Squares leave the range of a type long before its numbers do, so a system whose numbers
   are far from 1 is solved in units of its own, all of them powers of two, so that no digit changes: methods see A
   times 2^a and b_j times 2^b_j, and make x_j times 2^(b_j - a). A is not copied: products have a factor. */
#include "krylov.h"
#include <math.h>
#include <stdlib.h>

/* Exponents whose numbers, and squares, are far from the ends of the range. */
static int ordinary(wisp_type type) { return wisp__is_single(type) ? 15 : 127; }
/* Powers of two up to this are factors of the type. */
static int largest_factor(wisp_type type) { return wisp__is_single(type) ? 126 : 1022; }
static int within(int exponent, int most) { return exponent > most ? most : exponent < -most ? -most : exponent; }

/* Its steps are at 1.63 2^n, not at 2^n, where norms often lie: so rounding does not change it. */
static int exponent_of(double size)
{
    return size > 1 ? ilogb(1.23 * (size / 2)) + 1 : ilogb(1.23 * size); /* for the largest numbers, too */
}

static bool is_operator(const wisp__krylov *k)
{
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    return info.format == WISP_FORMAT_OPERATOR;
}

/* The size of an operator, whose entries are nowhere: what its product makes of b. r and best are overwritten. */
static wisp_status try_operator(wisp__krylov *k, const double *norm, double *size)
{
    wisp_status status = WISP_OK;
    double *product = NULL;
    *size = 0;
    WISP_TRY(wisp_alloc(k->ctx, &product, (size_t)k->width, sizeof *product));
    for (int j = 0; j < k->width; j++) k->col[j].b_exponent = norm[j] > 0 ? -exponent_of(norm[j]) : 0;
    WISP_TRY(wisp__scale_b(k, k->r));
    WISP_TRY(wisp_spmmv(k->best, k->A, k->r, NULL));
    WISP_TRY(wisp_norm(k->best, product));
    for (int j = 0; j < k->width; j++) {
        if (!isfinite(product[j]))
            WISP_TRY(
                wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC,
                               "solve: the operator makes numbers of column %d of the right-hand side that %s can't "
                               "hold: scale the operator",
                               j, wisp_type_name(k->type)));
        *size = fmax(*size, product[j]);
    }
out:
    wisp_free(k->ctx, product);
    return status;
}

/* In these units |b_j| is about 2^length: products without A's factor, as they are while they are summed, then stay in
   range. A function of the user's in place of M^-1 expects no such vectors. */
wisp_status wisp__choose_scales(wisp__krylov *k, const double *norm)
{
    double size = fmax(k->anorm, k->o.damp);
    if (is_operator(k)) {
        const wisp_status status = try_operator(k, norm, &size);
        if (status != WISP_OK) return status;
    }
    const int a = wisp__has_size(size) ? exponent_of(size) : 0;
    int length = 0;
    if (abs(a) > ordinary(k->type)) {
        k->a_exponent = -within(a, largest_factor(k->type));
        if (k->o.precond != WISP_PRECOND_APPLY) length = a < 0 ? -a / 4 : -a / 8;
    }
    k->unit = ldexp(1, -2 * length);
    k->anorm = ldexp(k->anorm, k->a_exponent);
    for (int j = 0; j < k->width; j++) {
        const int b = norm[j] > 0 ? exponent_of(norm[j]) : 0;
        k->col[j].b_exponent = length != 0 || abs(b) > ordinary(k->type) ? length - b : 0;
        if (norm[j] == 0) k->col[j].b_exponent = 0;
    }
    return WISP_OK;
}

double wisp__a_factor(const wisp__krylov *k) { return ldexp(1, k->a_exponent); }

bool wisp__b_factors(const wisp__krylov *k, wisp_scalar *factor)
{
    bool fit = true;
    for (int j = 0; j < k->width; j++) {
        factor[j] = wisp__real(ldexp(1, k->col[j].b_exponent));
        fit &= abs(k->col[j].b_exponent) <= largest_factor(k->type);
    }
    return fit;
}

/* Columns j of x times 2^exponent[j], in as many steps as factors of the type take. */
static wisp_status scale(wisp__krylov *k, wisp_blk *x, int *exponent, int width)
{
    wisp_status status = WISP_OK;
    wisp_scalar *factor = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &factor, (size_t)width, sizeof *factor));
    for (bool any = true; any;) {
        any = false;
        for (int j = 0; j < width; j++) {
            const int step = within(exponent[j], largest_factor(k->type));
            factor[j] = wisp__real(ldexp(1, step));
            exponent[j] -= step;
            any |= step != 0;
        }
        if (any) WISP_TRY(wisp_vscal(x, factor));
    }
out:
    wisp_free(k->ctx, factor);
    return status;
}

wisp_status wisp__scale_b(wisp__krylov *k, wisp_blk *y)
{
    for (int j = 0; j < k->width; j++) k->list[j] = k->col[j].b_exponent;
    const wisp_status status = wisp_copy(y, k->b);
    return status == WISP_OK ? scale(k, y, k->list, k->width) : status;
}

wisp_status wisp__scale_guess(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) k->list[j] = k->col[j].b_exponent - k->a_exponent;
    return scale(k, k->x, k->list, k->width);
}

wisp_status wisp__scale_column(wisp__krylov *k, wisp_blk *x, int exponent) { return scale(k, x, &exponent, 1); }

/* What its type can't hold would be lost without a word. */
wisp_status wisp__scale_back(wisp__krylov *k, wisp_blk *x, const wisp__krylov_column *c)
{
    wisp_status status = WISP_OK;
    const int exponent = k->a_exponent - c->b_exponent;
    double before, after;
    if (exponent == 0) goto out;
    if (k->apart) return wisp__scale_column(k, x, exponent);
    WISP_TRY(wisp_norm(x, &before));
    WISP_TRY(wisp__scale_column(k, x, exponent));
    WISP_TRY(wisp_norm(x, &after));
    const double lost = fabs(ldexp(after, -exponent) - before);
    if (!(lost <= 8 * k->eps * before) && isfinite(before))
        status =
            wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC,
                           "solve: column %d of x is of about 2^%d, too %s for %s numbers: scale the right-hand "
                           "side, or the matrix",
                           c->of, ilogb(before) + exponent, exponent > 0 ? "large" : "small", wisp_type_name(k->type));
out:
    return status;
}
