/* Matrices of far exponents: squares of their numbers, such as those of residuals, leave the range of a type long
   before these do. So wisp_eig works on 2^e A, whose eigenvalues are 2^e times as large and whose vectors are the same.
   It is a copy, stored as A is, so that all is done as in other units, and no digit changes. Where there is no room for
   that, or A is an operator, the factor is in the products. */
#include "eigen.h"
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the largest |a_ij|: with these exponents neither residuals nor what a filter makes leave the range; those of a
   double matrix not even where filters are of single precision. */
static int most_exponent(const wisp__eig *k) { return wisp__is_single(k->type) ? 28 : 80; }

/* ---- a copy ------------------------------------------------------------------------------------------------- */

/* A source of rows times 2^exponent. */
typedef struct {
    wisp_src of;
    int exponent;
} scaled_rows;

static int row_of(void *arg, int64_t row, int64_t *col, void *val)
{
    const scaled_rows *s = arg;
    const int n = s->of.row(s->of.arg, row, col, val), parts = wisp_type_is_complex(s->of.type) ? 2 : 1;
    for (int i = 0; val && i < n * parts; i++) {
        if (wisp__is_single(s->of.type))
            ((float *)val)[i] = ldexpf(((float *)val)[i], s->exponent);
        else
            ((double *)val)[i] = ldexp(((double *)val)[i], s->exponent);
    }
    return n;
}

/* *made: NULL where there is no room: half of what is allowed has to be left. It is stored as A is: what was compressed
   unasked is so again, for who asks gets other codes and lists. */
static wisp_status copy(wisp__eig *k, const wisp_mat_info *info, wisp_mat **made)
{
    wisp_status status = WISP_OK;
    scaled_rows rows = {.exponent = k->scaled.exponent};
    wisp_mat_info copied;
    const bool unasked = info->format == WISP_FORMAT_COMPRESSED && info->asked_format == WISP_FORMAT_DEFAULT;
    const wisp_mat_opts o = {.type = info->type,
                             .C = unasked ? 0 : info->C,
                             .sigma = unasked ? 0 : info->sigma,
                             .width = info->width,
                             .map = wisp_mat_map(k->A),
                             .format = unasked ? WISP_FORMAT_DEFAULT : info->format,
                             .halo = info->halo};
    *made = NULL;
    WISP_TRY(wisp_src_open_mat(&rows.of, k->A));
    wisp_src src = rows.of;
    src.row = row_of, src.arg = &rows, src.free_arg = NULL;
    WISP_TRY(wisp_mat_bound(k->ctx, &src, &o, &copied));
    double lacks = k->o.bytes > 0 && 2 * copied.assembly_bytes > k->o.bytes;
    WISP_TRY(wisp_ctx_sum(k->ctx, &lacks, 1));
    if (lacks > 0) goto out;
    status = wisp_mat_create(made, k->ctx, &src, &o);
    if (status == WISP_ERR_NOMEM || status == WISP_ERR_UNSUPPORTED) status = WISP_OK; /* products do */
    if (!*made) goto out;
    k->scaled.assembly = copied.assembly_bytes;
    wisp_mat_get_info(*made, &copied);
    k->scaled.bytes = copied.bytes + copied.exchange_bytes;
    if (k->o.bytes > 0) k->o.bytes -= k->scaled.bytes;
out:
    wisp_src_close(&rows.of);
    return status;
}

/* ---- products -------------------------------------------------------------------------------------------------- */

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

bool wisp__eig_pencil(const wisp__eig *k, wisp__pencil *p)
{
    const bool is_one = wisp__pencil_of(k->scaled.in_products ? k->scaled.A : k->A, p);
    p->rootless &= k->o.method == WISP_EIG_INVERT && !k->o.invert;
    return is_one;
}

/* Eigenvalues of about 2^exponent have to be numbers, as wisp_overlap_matrix asks where it makes roots of S. */
static wisp_status check_ratio(const wisp__eig *k, double of_A, double of_S)
{
    const double exponent = log2(of_A) - log2(of_S), limit = DBL_MAX_EXP - 8;
    if (!(of_A > 0) || !(of_S > 0) || fabs(exponent) < limit) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC,
                          "eig: the eigenvalues of A x = lambda S x are too %s for a number: the largest entry of A is "
                          "%.3g, that of S %.3g; multiply A or S by a number",
                          exponent < 0 ? "small" : "large", of_A, of_S);
}

/* How large the entries are, at most; of an operator, how large its values are. Of a pencil whose S is not to have
   roots they are about as large as the entries of A, over those of S. */
static wisp_status size_of(const wisp__eig *k, double *size)
{
    wisp_status status = WISP_OK;
    wisp_mat_info info;
    wisp_mat_props props;
    wisp_blk *x = NULL, *y = NULL;
    double norm[2];
    wisp__pencil p;
    wisp_mat_get_info(k->A, &info);
    if (wisp__eig_pencil(k, &p) && p.rootless) {
        wisp_mat_props of_S;
        WISP_TRY(wisp_mat_get_props(p.A, &props));
        WISP_TRY(wisp_mat_get_props(p.S, &of_S));
        *size = props.largest / of_S.largest;
        status = check_ratio(k, props.largest, of_S.largest);
        goto out;
    }
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

/* As if it were A's: what the factor takes is little. */
static void cost_of(void *arg, wisp_type type, int width, wisp_cost *cost)
{
    const wisp__scaled *s = arg;
    wisp_spmmv_cost(s->A, type, width, WISP_SCALE, cost);
}

static wisp_status make(wisp__eig *k)
{
    wisp_status status = WISP_OK;
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    if (info.format != WISP_FORMAT_OPERATOR) WISP_TRY(copy(k, &info, &k->scaled.made));
    if (k->scaled.made) goto out;
    const wisp_operator op = {
        .map = wisp_mat_map(k->A), .type = info.type, .apply = multiply, .arg = &k->scaled, .cost = cost_of};
    status = wisp_mat_from_apply(&k->scaled.made, k->ctx, &op);
    k->scaled.in_products = status == WISP_OK;
out:
    return status;
}

/* No number of a question lies far outside the spectrum of 2^e A. */
static void times(const wisp__eig *k, double *x) { *x = fmin(fmax(ldexp(*x, k->scaled.exponent), -1e100), 1e100); }

wisp_status wisp__eig_scale(wisp__eig *k)
{
    double size;
    wisp_status status = size_of(k, &size);
    if (status != WISP_OK || !(size > 0) || !isfinite(size) || abs(ilogb(size)) <= most_exponent(k)) return status;
    k->scaled = (wisp__scaled){.A = k->A, .exponent = -ilogb(size)};
    status = make(k);
    if (status != WISP_OK) return status;
    k->A = k->scaled.made;
    times(k, &k->o.low), times(k, &k->o.high), times(k, &k->o.target), times(k, &k->o.target_im);
    times(k, &k->o.tolerance_abs);
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
    wisp_mat_get_info(k->scaled.in_products ? k->scaled.A : k->A, &info);
    *most = (double)info.props_bytes;
    if (!k->hermitian || k->e->bounds.halfwidth > 0) return WISP_OK; /* they were found for the plan */
    return wisp__bounds_bytes(k->ctx, &info, &o, &unused, most);
}

/* Gershgorin's circles are those of the user's matrix where 2^e A is an operator. */
wisp_status wisp__eig_find_bounds(wisp__eig *k, double products)
{
    wisp_bounds *b = &k->e->bounds;
    const wisp_bounds_opts o = wisp__bounds_opts(&k->o.bounds, k->o.seed, products, 0, BOUNDS_WIDTH);
    const bool circles = o.method == WISP_BOUNDS_GERSHGORIN && k->scaled.in_products;
    const wisp_status status = wisp_bounds_find(b, circles ? k->scaled.A : k->A, &o);
    if (circles) times(k, &b->center), times(k, &b->halfwidth);
    return status;
}

double wisp__eig_shown(const wisp__eig *k, double x) { return ldexp(x, k->back - k->scaled.exponent); }

const char *wisp__eig_target(const wisp__eig *k, char text[WISP__NUMBER])
{
    const double re = wisp__eig_shown(k, k->o.target), im = wisp__eig_shown(k, k->o.target_im);
    snprintf(text, WISP__NUMBER, im != 0 ? "%g%+gi" : "%g", re, im);
    return text;
}

int wisp__eig_scale_back(wisp__eig *k)
{
    wisp_eigen *e = k->e;
    const int by = -k->scaled.exponent;
    int above = 0;
    wisp_mat_free(k->scaled.made);
    wisp_blk_free(k->scaled.x);
    if (by == 0) return 0;
    for (int i = 0; i < e->found; i++) {
        const double size = fmax(fabs(e->value[i].re), fabs(e->value[i].im));
        if (isfinite(size) && isinf(ldexp(size, by))) above = ilogb(size) + by;
        e->value[i] = (wisp_scalar){ldexp(e->value[i].re, by), ldexp(e->value[i].im, by)};
        if (k->o.tolerance_abs > 0) e->residual[i] = ldexp(e->residual[i], by);
    }
    wisp_bounds *const bounds[] = {&e->bounds, e->moments ? &e->moments->bounds : NULL};
    for (int i = 0; i < 2 && bounds[i]; i++)
        bounds[i]->center = ldexp(bounds[i]->center, by), bounds[i]->halfwidth = ldexp(bounds[i]->halfwidth, by);
    e->low = ldexp(e->low, by), e->high = ldexp(e->high, by);
    e->filter.center = ldexp(e->filter.center, by);
    e->filter.scale = ldexp(e->filter.scale, -by * e->filter.power);
    return above;
}
