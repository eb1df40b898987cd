/* Matrices of far exponents: squares of their numbers, such as those of residuals, leave the range of a type long
   before these do. So wisp_eig works on 2^e A, whose eigenvalues are 2^e times as large and whose vectors are the same.
   It is nowhere stored: the factor is in the products. */
#include "eigen.h"
#include <stdlib.h>

/* Of the largest |a_ij|: with these exponents neither residuals nor what a filter makes leave the range. */
static int most_exponent(const wisp__eig *k) { return wisp__is_single(k->type) ? 28 : 250; }

/* y = 2^e A x. Half of the factor goes to x, so that what is between is in range, too. */
static wisp_status multiply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    wisp__scaled *s = arg;
    wisp_status status = WISP_OK;
    const int half = s->exponent / 2;
    const wisp_aug aug = {.terms = WISP_SCALE, .alpha = wisp__real(ldexp(1, s->exponent - half))};
    if (!s->x || wisp_blk_type(s->x) != wisp_blk_type(x) || wisp_blk_width(s->x) != wisp_blk_width(x)) {
        wisp_blk_free(s->x);
        s->x = NULL;
        WISP_TRY(wisp_blk_create(&s->x, wisp_mat_ctx(s->A), wisp_mat_map(s->A), wisp_blk_type(x), wisp_blk_width(x)));
    }
    WISP_TRY(wisp_axpby(s->x, wisp__real(ldexp(1, half)), x, wisp__real(0)));
    WISP_TRY(wisp_spmmv(y, s->A, s->x, &aug));
out:
    return status;
}

/* How large the entries are, at most; of an operator, how large its values are. */
static wisp_status size_of(const wisp__eig *k, double *size)
{
    wisp_status status = WISP_OK;
    wisp_mat_info info;
    wisp_mat_props props;
    wisp_blk *x = NULL, *y = NULL;
    double norm[2];
    wisp_mat_get_info(k->A, &info);
    if (info.format != WISP_FORMAT_OPERATOR) {
        WISP_TRY(wisp_mat_get_props(k->A, &props));
        *size = props.largest;
        goto out;
    }
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_EIG, 0));
    WISP_TRY(wisp_spmmv(y, k->A, x, NULL));
    WISP_TRY(wisp_norm(x, norm));
    WISP_TRY(wisp_norm(y, norm + 1));
    *size = norm[1] / norm[0];
out:
    wisp_blk_free(x);
    wisp_blk_free(y);
    return status;
}

/* No number of a question lies far outside the spectrum of 2^e A. */
static void times(const wisp__eig *k, double *x) { *x = fmin(fmax(ldexp(*x, k->scaled.exponent), -1e100), 1e100); }

wisp_status wisp__eig_scale(wisp__eig *k)
{
    double size;
    wisp_mat_info info;
    wisp_status status = size_of(k, &size);
    if (status != WISP_OK || !(size > 0) || !isfinite(size) || abs(ilogb(size)) <= most_exponent(k)) return status;
    wisp_mat_get_info(k->A, &info);
    k->scaled = (wisp__scaled){.A = k->A, .exponent = -ilogb(size)};
    const wisp_operator op = {.map = wisp_mat_map(k->A), .type = info.type, .apply = multiply, .arg = &k->scaled};
    status = wisp_mat_from_apply(&k->scaled.made, k->ctx, &op);
    if (status != WISP_OK) return status;
    k->A = k->scaled.made;
    times(k, &k->o.low), times(k, &k->o.high), times(k, &k->o.target), times(k, &k->o.tolerance_abs);
    times(k, &k->o.bounds.given.center), times(k, &k->o.bounds.given.halfwidth);
    k->o.bounds.sweeps_per_halfwidth = ldexp(k->o.bounds.sweeps_per_halfwidth, -k->scaled.exponent);
    if (k->o.tolerance_abs > 0) times(k, &k->asked);
    if (k->o.tolerance_abs > 0 && !k->hermitian) k->o.tolerance = k->o.tolerance_abs;
    return WISP_OK;
}

enum { BOUNDS_WIDTH = 4 };
wisp_status wisp__eig_bounds_bytes(const wisp__eig *k, double *most)
{
    wisp_mat_info info;
    double unused;
    const wisp_bounds_opts o = wisp__bounds_opts(&k->o.bounds, k->o.seed, 0, 0, BOUNDS_WIDTH);
    wisp_mat_get_info(k->scaled.made ? k->scaled.A : k->A, &info);
    *most = (double)info.props_bytes;
    if (!k->hermitian || k->e->bounds.halfwidth > 0) return WISP_OK; /* they were found for the plan */
    return wisp__bounds_bytes(k->ctx, &info, &o, &unused, most);
}

/* Gershgorin's circles are those of the user's matrix, for 2^e A is an operator. */
wisp_status wisp__eig_find_bounds(wisp__eig *k, double products)
{
    wisp_bounds *b = &k->e->bounds;
    const wisp_bounds_opts o = wisp__bounds_opts(&k->o.bounds, k->o.seed, products, 0, BOUNDS_WIDTH);
    const bool circles = o.method == WISP_BOUNDS_GERSHGORIN && k->scaled.made;
    const wisp_status status = wisp_bounds_find(b, circles ? k->scaled.A : k->A, &o);
    if (circles) times(k, &b->center), times(k, &b->halfwidth);
    return status;
}

double wisp__eig_shown(const wisp__eig *k, double x) { return ldexp(x, -k->scaled.exponent); }

void wisp__eig_scale_back(wisp__eig *k)
{
    wisp_eigen *e = k->e;
    const int by = -k->scaled.exponent;
    wisp_mat_free(k->scaled.made);
    wisp_blk_free(k->scaled.x);
    if (by == 0) return;
    for (int i = 0; i < e->found; i++) {
        e->value[i] = (wisp_scalar){ldexp(e->value[i].re, by), ldexp(e->value[i].im, by)};
        if (k->o.tolerance_abs > 0) e->residual[i] = ldexp(e->residual[i], by);
    }
    wisp_bounds *const bounds[] = {&e->bounds, e->moments ? &e->moments->bounds : NULL};
    for (int i = 0; i < 2 && bounds[i]; i++)
        bounds[i]->center = ldexp(bounds[i]->center, by), bounds[i]->halfwidth = ldexp(bounds[i]->halfwidth, by);
    e->low = ldexp(e->low, by), e->high = ldexp(e->high, by);
    e->filter.center = ldexp(e->filter.center, by);
    e->filter.scale = ldexp(e->filter.scale, -by * e->filter.power);
}
