/* The polynomial of A whose Krylov space is built: a Chebyshev polynomial that damps an interval, and grows beyond the
   end of it where the wanted values are. Where A is not Hermitian it grows with the ellipse about the interval's ends
   on which a value lies, so that none of a larger real part than a wanted one stays behind that. */
#include "arnoldi.h"
#include "inverse.h"

static double outward(const wisp__op *op, double lambda) { return op->side * (lambda - op->center) / op->scale; }

double wisp__op_of(const wisp__op *op, double lambda)
{
    if (op->inverse) return 1 / (lambda - op->center);
    const double t = outward(op, lambda);
    const int d = op->degree;
    if (d == 1) return t;
    return t > 1 ? cosh(d * acosh(t)) : cos(d * acos(fmax(t, -1)));
}

double wisp__op_value(const wisp__op *op, double mu)
{
    if (op->inverse) return op->center + 1 / mu;
    const int d = op->degree;
    const double t = d == 1 ? mu : mu > 1 ? cosh(acosh(mu) / d) : NAN;
    return op->center + op->side * op->scale * t;
}

double wisp__op_slope(const wisp__op *op, double lambda)
{
    const int d = op->degree;
    const double angle = d == 1 ? 0 : acosh(outward(op, lambda));
    return (d == 1 ? 1 : angle > 0 ? d * sinh(d * angle) / sinh(angle) : (double)d * d) / op->scale;
}

wisp_scalar wisp__op_nearest(const wisp__op *op, wisp_scalar mu)
{
    if (op->inverse && op->center_im == 0 && mu.im == 0) return wisp__real(op->center + 1 / mu.re);
    if (op->inverse) return wisp__of_z(op->center + op->center_im * I + 1 / wisp__z_of(mu));
    if (op->degree == 1) return mu;
    const wisp__z angle = cacosh(wisp__z_of(mu)) / op->degree;
    const wisp__z t = mu.im == 0 && mu.re < -1 ? cosh(creal(angle)) : ccosh(angle);
    return (wisp_scalar){op->center + op->side * op->scale * creal(t),
                         mu.im == 0 ? 0 : op->side * op->scale * cimag(t)};
}

double wisp__op_axis(const wisp__op *op, wisp_scalar lambda)
{
    const double re = outward(op, lambda.re), im = lambda.im / op->scale;
    const double half = (hypot(re - 1, im) + hypot(re + 1, im)) / 2;
    return op->center + op->side * op->scale * (half > 1 ? half : re);
}

bool wisp__op_raise(wisp__op *op, double side, double first, double last, double far, double growth, int most)
{
    const double spread = fabs(first - far);
    if (!(fabs(first - last) < spread)) return false;
    const double angle = acosh(growth) / 2, room = fmax(fabs(first - last) / spread, 1e-12);
    const int degree = (int)fmin(angle / sqrt(room), most);
    if (degree < 3 || degree < 2 * op->degree) return false;
    const double damped = first - side * spread * (angle / degree) * (angle / degree);
    *op = (wisp__op){.degree = degree, .side = side, .center = (damped + far) / 2, .scale = fabs(damped - far) / 2};
    return true;
}

wisp_status wisp__op_most_degree(const wisp__arnoldi *a, int m, int *most)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = a->k;
    const int b = a->block;
    wisp_cost one;
    WISP_TRY(wisp_spmmv_cost(k->A, k->type, b, WISP_SCALE | WISP_SHIFT | WISP_AXPBY, &one));
    WISP_TRY(wisp_ctx_sum(k->ctx, &one.bytes, 1));
    const double column = (double)k->rows * (double)wisp_type_size(k->type), rest = (m - k->o.count) / 2;
    const double block = column * m * (4 + 2.0 * b / fmax(rest, 1));
    *most = (int)fmin(fmax(3 * block / one.bytes, 1), WISP__MOST_DEGREE);
out:
    return status;
}

/* ---- products --------------------------------------------------------------------------------------- */

/* Op = A, but for a shift, scale and sign. */
static wisp_status multiply_once(wisp__arnoldi *a)
{
    const wisp__op *op = &a->op;
    wisp_scalar shift[WISP__MOST_BLOCK];
    const double center = op->inverse ? 0 : op->center, scale = op->inverse ? 1 : op->scale;
    for (int j = 0; j < a->block; j++) shift[j] = wisp__real(center + op->side * scale * a->guess);
    const wisp_aug aug = {.terms = WISP_SCALE | WISP_SHIFT, .alpha = wisp__real(op->side / scale), .shift = shift};
    return wisp_spmmv(a->y, op->inverse ? wisp__inverse_matrix(a->k->inverse) : a->k->A, a->x, &aug);
}

static wisp_status multiply_often(wisp__arnoldi *a)
{
    const wisp__op *op = &a->op;
    const double sign = op->degree % 2 ? op->side : 1;
    wisp_scalar alpha[WISP__MOST_DEGREE], beta[WISP__MOST_DEGREE], gamma[WISP__MOST_DEGREE];
    for (int j = 0; j < op->degree; j++) {
        alpha[j] = wisp__real(j == 0 ? sign / op->scale : 2 / op->scale);
        beta[j] = wisp__real(j == 0 ? 0 : j == 1 ? -sign : -1); /* T_1 has the sign, T_0 has not */
        gamma[j] = wisp__real(op->center);
    }
    wisp_blk *v[2] = {a->y, a->x};
    const wisp_mpk_opts o = {.steps = op->degree, .alpha = alpha, .beta = beta, .gamma = gamma};
    const wisp_status status = wisp_mpk(v, 2, a->k->A, &o);
    a->y = v[(op->degree + 1) % 2];
    a->x = v[op->degree % 2];
    return status;
}

wisp_status wisp__arnoldi_multiply(wisp__arnoldi *a)
{
    wisp__eig *k = a->k;
    wisp_status status = WISP_OK;
    const double before = wisp_now();
    const bool shifts = a->op.degree > 1 && a->guess != 0;
    if (shifts && !a->z) WISP_TRY(wisp_blk_create(&a->z, k->ctx, wisp_mat_map(k->A), k->type, a->block));
    if (shifts) WISP_TRY(wisp_copy(a->z, a->x));
    WISP_TRY(a->op.degree == 1 ? multiply_once(a) : multiply_often(a));
    if (shifts) WISP_TRY(wisp_axpby(a->y, wisp__real(-a->guess), a->z, wisp__real(1)));
    k->e->products += (int64_t)a->block * a->op.degree;
    k->e->flops += k->flops * a->block * a->op.degree;
    k->e->filter_seconds += wisp_now() - before;
out:
    return status;
}
