/* What solvers ask of a pencil itself, A x = lambda S x: products in units in which S is about 1, what rounding comes
   to, and how good its eigenvectors are. */
#include "overlap.h"
#include <stdlib.h>

/* ---- products ------------------------------------------------------------------------------------------- */

wisp_status wisp__pencil_ready(const wisp__pencil *p) { return wisp__overlap_ready(p->overlap); }

void wisp__pencil_take_condition(wisp__pencil *p, double condition)
{
    p->condition = condition;
    if (!p->overlap->series.c) p->overlap->condition = condition;
}

/* S S^-1/2, with what is missing to T^1/2: half of it before the product, so that this stays in range. */
wisp_status wisp__pencil_root(const wisp__pencil *p, wisp_blk *y, const wisp_blk *x)
{
    wisp_overlap *v = p->overlap;
    wisp_status status;
    WISP_TRY(wisp__overlap_ready(v));
    const int by = v->exponent - p->exponent / 2, half = by / 2;
    const wisp_aug aug = {.terms = WISP_SCALE, .alpha = wisp__real(ldexp(1, by - half))};
    WISP_TRY(wisp__overlap_blocks(v, x, true));
    WISP_TRY(wisp_copy(v->sum.v, x));
    WISP_TRY(wisp__overlap_root(v, v->between));
    if (half) WISP_TRY(wisp_scal(v->between, wisp__real(ldexp(1, half))));
    status = wisp_spmmv(y, v->S, v->between, &aug);
out:
    return status;
}

wisp_status wisp__pencil_inverse_root(const wisp__pencil *p, wisp_blk *y, const wisp_blk *x)
{
    const wisp_status status = wisp_overlap_apply(p->overlap, y, x);
    return status == WISP_OK && p->exponent ? wisp_scal(y, wisp__real(ldexp(1, p->exponent / 2))) : status;
}

/* y = 2^by M x + beta y. Where the factor is far from 1, half of it goes to x, so that what is between is in range. */
static wisp_status scaled_product(wisp_overlap *v, wisp_blk *y, const wisp_mat *M, const wisp_blk *x, int by,
                                  double beta)
{
    enum { FAR = 32 };
    const int half = abs(by) > FAR ? by / 2 : 0;
    const wisp_aug aug = {.terms = WISP_SCALE | (beta != 0 ? WISP_AXPBY : 0),
                          .alpha = wisp__real(ldexp(1, by - half)),
                          .beta = wisp__real(beta)};
    wisp_status status;
    if (!half) return wisp_spmmv(y, M, x, &aug);
    WISP_TRY(wisp__overlap_blocks(v, x, true));
    WISP_TRY(wisp_axpby(v->between, wisp__real(ldexp(1, half)), x, wisp__real(0)));
    status = wisp_spmmv(y, M, v->between, &aug);
out:
    return status;
}

wisp_status wisp__pencil_times_S(const wisp__pencil *p, wisp_blk *y, const wisp_blk *x)
{
    return scaled_product(p->overlap, y, p->S, x, -p->exponent, 0);
}

wisp_status wisp__pencil_times(const wisp__pencil *p, wisp_blk *y, const wisp_blk *x, int by, const wisp_scalar *shift)
{
    wisp_scalar minus[WISP__PENCIL_WIDTH];
    wisp_status status;
    if (!shift) return scaled_product(p->overlap, y, p->A, x, by - p->exponent, 0);
    for (int j = 0; j < wisp_blk_width(x); j++) minus[j] = (wisp_scalar){-shift[j].re, -shift[j].im};
    WISP_TRY(wisp__pencil_times_S(p, y, x));
    WISP_TRY(wisp_vscal(y, minus));
    status = scaled_product(p->overlap, y, p->A, x, by - p->exponent, 1);
out:
    return status;
}

static double rounding_of(double error, double condition)
{
    enum { OF_FACTORS = 10 };
    static const double most = 0.1; /* more is no answer */
    return fmin(2 * error * sqrt(condition) + OF_FACTORS * DBL_EPSILON * condition, most);
}

double wisp__pencil_rounding(const wisp__pencil *p, double eps)
{
    return rounding_of(p->error + (double)p->terms * eps, p->condition);
}

bool wisp__pencil_of_one(double halfwidth, double largest, double roots)
{
    static const double one = 2e-6; /* twice the least halfwidth that bounds.c gives a single value */
    return halfwidth <= fmax(one, roots) * largest;
}

double wisp_overlap_unit(const wisp_overlap *v, wisp_type type, double halfwidth, double largest, double tolerance)
{
    enum { OF_VECTORS = 16 };
    wisp_overlap_info info;
    if (!v) return 0;
    wisp_overlap_get_info(v, &info);
    const double eps = wisp__is_single(type) ? FLT_EPSILON : DBL_EPSILON;
    const double roots = rounding_of(info.error + info.rounding, info.condition);
    double rounding = OF_VECTORS * eps * sqrt(info.condition);
    if (wisp__pencil_of_one(halfwidth, largest, roots)) rounding = fmax(rounding, roots);
    return fmax(halfwidth, fmin(rounding / tolerance, 1) * largest);
}

/* ---- eigenvectors of the pencil ------------------------------------------------------------------------- */

enum { PANEL = 8 };

typedef struct {
    wisp_overlap *overlap;
    const wisp_mat *A;
    const wisp_scalar *value;
    wisp_blk *X;
    double *residual, orthogonality;
    wisp_scalar *gram; /* [width][PANEL] */
} check;

/* How far the columns of X are from orthonormal to those of this panel, whose products with S are in SX. */
static wisp_status look_at_dots(check *c, const wisp_blk *SX, int from)
{
    const int width = wisp_blk_width(c->X), panel = wisp_blk_width(SX);
    const wisp_status status = wisp_tsm_gram(c->gram, PANEL, wisp__real(1), c->X, SX, wisp__real(0), 0);
    for (int i = 0; i < width && status == WISP_OK; i++)
        for (int j = 0; j < panel; j++) {
            const wisp_scalar dot = c->gram[i * PANEL + j];
            c->orthogonality = fmax(c->orthogonality, hypot(dot.re - (i == from + j), dot.im));
        }
    return status;
}

static wisp_status check_panel(check *c, int from, int panel)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = c->overlap->ctx;
    wisp_blk *view = NULL, *x = NULL, *y = NULL, *Sx = NULL;
    wisp_scalar minus[PANEL];
    WISP_TRY(wisp_blk_cols(&view, c->X, from, panel));
    WISP_TRY(wisp_blk_create(&x, ctx, wisp_blk_map(c->X), wisp_blk_type(c->X), panel)); /* with room for its halo */
    WISP_TRY(wisp_blk_create(&y, ctx, wisp_blk_map(c->X), wisp_blk_type(c->X), panel));
    WISP_TRY(wisp_blk_create(&Sx, ctx, wisp_blk_map(c->X), wisp_blk_type(c->X), panel));
    WISP_TRY(wisp_copy(x, view));
    WISP_TRY(wisp_spmmv(Sx, c->overlap->S, x, NULL));
    WISP_TRY(look_at_dots(c, Sx, from));
    WISP_TRY(wisp_spmmv(y, c->A, x, NULL));
    for (int j = 0; j < panel; j++) minus[j] = (wisp_scalar){-c->value[from + j].re, -c->value[from + j].im};
    WISP_TRY(wisp_vaxpy(y, minus, Sx));
    WISP_TRY(wisp_overlap_apply(c->overlap, y, y));
    WISP_TRY(wisp_norm(y, c->residual + from));
out:
    wisp_blk_free(view);
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_blk_free(Sx);
    return status;
}

wisp_status wisp_overlap_residuals(wisp_overlap *v, const wisp_mat *A, const wisp_scalar *value, wisp_blk *X,
                                   double *residual, double *orthogonality)
{
    wisp_ctx *ctx = v ? v->ctx : wisp_mat_ctx(A);
    wisp_status status = WISP_OK;
    WISP_NEED(ctx, v);
    WISP_NEED(ctx, A);
    WISP_NEED(ctx, value);
    WISP_NEED(ctx, X);
    WISP_NEED(ctx, residual);
    const int width = wisp_blk_width(X);
    check c = {v, A, value, X, residual, 0, NULL};
    wisp_ctx_enter(ctx);
    if (wisp_mat_map(A) != wisp_mat_map(v->S) || wisp_blk_map(X) != wisp_mat_map(A)) {
        status = wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "overlap: A, S and X need the same map");
        goto out;
    }
    WISP_TRY(wisp_alloc(ctx, &c.gram, (size_t)width * PANEL, sizeof *c.gram));
    for (int from = 0; from < width; from += PANEL)
        WISP_TRY(check_panel(&c, from, width - from < PANEL ? width - from : PANEL));
    if (orthogonality) *orthogonality = c.orthogonality;
out:
    wisp_free(ctx, c.gram);
    return wisp_ctx_leave(ctx, status);
}
