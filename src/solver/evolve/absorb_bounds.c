/* Bounds of both parts of A = H - iW: of the parts, which are assembled for that. */
#include "evolve.h"
#include <math.h>

wisp_status wisp__absorbed_check_options(wisp_ctx *ctx, const wisp_evolve_opts *o)
{
    const wisp_bounds_opts *w = &o->absorption;
    const bool given = w->method == WISP_BOUNDS_GIVEN;
    if (o->non_hermitian != 0 && o->non_hermitian != 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.non_hermitian is %d; it is 0 or 1", o->non_hermitian);
    if (!o->non_hermitian) {
        if (!given) return WISP_OK;
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.absorption goes with opts.non_hermitian alone");
    }
    if (o->direction.im != 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "evolve: opts.direction is %g%+gi; with opts.non_hermitian it is real",
                              o->direction.re, o->direction.im);
    if (given && !(isfinite(w->given.center) && isfinite(w->given.halfwidth) && w->given.halfwidth >= 0))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "evolve: opts.absorption: center %g and halfwidth %g are no interval; both ends must be "
                              "finite, the halfwidth 0 at least",
                              w->given.center, w->given.halfwidth);
    return WISP_OK;
}

/* Of a diagonal matrix, exactly. */
static wisp_bounds of_diagonal(const wisp_mat_props *p)
{
    enum { ROUNDED = 4 };
    const double low = p->gershgorin_min, high = p->gershgorin_max,
                 rounding = ROUNDED * DBL_EPSILON * fmax(fabs(low), fabs(high));
    return (wisp_bounds){.center = low / 2 + high / 2, .halfwidth = high > low ? high / 2 - low / 2 + rounding : 0};
}

/* CRS, which is not padded. */
static const wisp_mat_opts plain_opts = {.format = WISP_FORMAT_SELL, .C = 1, .sigma = 1, .order = WISP_ROWS_NATURAL};

static wisp_status of_part(wisp_bounds *bounds, const wisp_mat *A, wisp_matrix_part which, const wisp_bounds_opts *o)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_src whole = {0}, part = {0};
    wisp_mat *P = NULL;
    wisp_mat_props props;
    wisp_status status;
    WISP_TRY(wisp_src_open_mat(&whole, A));
    WISP_TRY(wisp_src_part(&part, ctx, &whole, which));
    WISP_TRY(wisp_mat_create(&P, ctx, &part, &plain_opts));
    wisp_src_close(&part);
    WISP_TRY(wisp_mat_get_props(P, &props));
    if (props.bandwidth == 0)
        *bounds = of_diagonal(&props);
    else
        status = wisp_bounds_find(bounds, P, o);
out:
    wisp_mat_free(P);
    wisp_src_close(&part);
    wisp_src_close(&whole);
    return status;
}

static wisp_status check_matrix(const wisp_mat *A, wisp_mat_props *p, bool given)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    *p = (wisp_mat_props){.nonfinite_row = -1};
    if (info.rows != info.cols)
        return wisp_ctx_failf(ctx, WISP_ERR_HERMITIAN,
                              "the matrix is rectangular (%lld x %lld), and this needs a square "
                              "one",
                              (long long)info.rows, (long long)info.cols);
    if (info.rows < 1) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the matrix has no rows, and so no spectrum");
    if (info.format == WISP_FORMAT_OPERATOR) {
        if (given) return WISP_OK;
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                              "an operator has no entries, by which the bounds of its parts are "
                              "found: give opts.bounds and opts.absorption (WISP_BOUNDS_GIVEN)");
    }
    return wisp__require_finite(A, "", p);
}

wisp_status wisp__absorbed_bounds(wisp_bounds *H, wisp_bounds *W, const wisp_mat *A, const wisp_bounds_opts *of_H,
                                  const wisp_bounds_opts *of_W)
{
    const bool has_H = of_H->method == WISP_BOUNDS_GIVEN, has_W = of_W->method == WISP_BOUNDS_GIVEN;
    wisp_mat_props props;
    wisp_status status;
    WISP_TRY(check_matrix(A, &props, has_H && has_W));
    if (has_W)
        *W = (wisp_bounds){of_W->given.center, of_W->given.halfwidth, NAN};
    else if (props.hermitian)
        *W = (wisp_bounds){0};
    else
        WISP_TRY(of_part(W, A, WISP_PART_ANTIHERMITIAN, of_W));
    if (has_H || (props.hermitian && props.bandwidth > 0))
        status = wisp_bounds_find(H, A, of_H);
    else
        status = of_part(H, A, WISP_PART_HERMITIAN, of_H);
out:
    return status;
}

/* Entries of A and of its transpose, both with values; the rows of the part as they are merged, and its matrix while it
   is assembled. */
wisp_status wisp__absorbed_bounds_bytes(wisp_ctx *ctx, const wisp_mat_info *A, const wisp_bounds_opts *of_H,
                                        const wisp_bounds_opts *of_W, double *about, double *most)
{
    const bool found = of_H->method != WISP_BOUNDS_GIVEN || of_W->method != WISP_BOUNDS_GIVEN;
    wisp_mat_info part = *A;
    double more = 0;
    wisp_status status;
    part.type = wisp__type_in(A->type, WISP_Z);
    part.nnz = 2 * A->nnz;
    part.format = WISP_FORMAT_SELL;
    if (of_H->method == WISP_BOUNDS_GIVEN)
        WISP_TRY(wisp__bounds_bytes(ctx, &part, of_W, about, most));
    else
        WISP_TRY(wisp__bounds_bytes(ctx, &part, of_H, about, most));
    if (found) {
        enum { ROWS = 128, COPIES = 3, LITTLE = 1 << 18 };
        const double entry = (double)(sizeof(int64_t) + wisp_type_size(part.type));
        more = COPIES * entry * (double)part.nnz + ROWS * (double)A->rows + LITTLE;
        more *= A->format == WISP_FORMAT_HERMITIAN ? 2 : 1;
    }
    *about += more / 2;
    *most += more;
out:
    return status;
}
