/* (A - shift I)^-1 as an operator. Its numbers are those of k->A; the user's function has the user's matrix. Where A is
   the C of a pencil it is (A - shift S)^-1 S, with the same values, self-adjoint in the inner product by S (Ericsson
   and Ruhe 1980): no root of S is in it. */
#include "inverse_parts.h"
#include <string.h>

/* ---- products ------------------------------------------------------------------------------------ */

wisp_status wisp__inverse_factor_at(wisp__inverse *v, double shift, int64_t *below, bool *singular)
{
    wisp_status status = WISP_OK;
    v->factored = NAN;
    WISP_TRY(wisp_ctx_step(v->k->ctx, "factors", 0, wisp__factor_flops(v->factor)));
    WISP_TRY(wisp__factor_make(v->factor, shift, below, singular));
    if (!*singular) v->factored = shift;
    v->k->e->flops += wisp__factor_flops(v->factor);
    v->k->e->factored++;
out:
    return status;
}

wisp_status wisp__inverse_like(wisp_blk **x, const wisp_blk *like)
{
    if (*x && wisp_blk_type(*x) == wisp_blk_type(like) && wisp_blk_width(*x) == wisp_blk_width(like)) return WISP_OK;
    wisp_blk_free(*x);
    *x = NULL;
    return wisp_blk_create(x, wisp_blk_ctx(like), wisp_blk_map(like), wisp_blk_type(like), wisp_blk_width(like));
}

/* y = 2^-e (A - target)^-1 x, A the user's, for 2^e A; of a pencil so many times as its roots are made for. */
static wisp_status by_function(wisp__inverse *v, wisp_blk *y, const wisp_blk *x)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = v->k;
    const int by = v->pencil.exponent - k->scaled.exponent;
    if (by == 0) return k->o.invert(k->o.invert_arg, y, x);
    WISP_TRY(wisp__inverse_like(&v->x, x));
    WISP_TRY(wisp_axpby(v->x, wisp__real(ldexp(1, by / 2)), x, wisp__real(0)));
    WISP_TRY(wisp_scal(v->x, wisp__real(ldexp(1, by - by / 2))));
    WISP_TRY(k->o.invert(k->o.invert_arg, y, v->x));
out:
    return status;
}

static void widen(double *x, int64_t n)
{
    const float *single = (const float *)x;
    for (int64_t i = n - 1; i >= 0; i--) x[i] = (double)single[i];
}

static void narrow(double *x, int64_t n)
{
    float *single = (float *)x;
    for (int64_t i = 0; i < n; i++) single[i] = (float)x[i];
}

/* With the factors at this shift. */
static wisp_status solve_with(wisp__inverse *v, double shift, wisp_blk *y, const wisp_blk *x)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = v->k;
    const int columns = wisp_blk_width(x);
    const int64_t n = k->rows * columns * (k->is_complex ? 2 : 1);
    const bool single = wisp__is_single(k->type);
    if (v->columns < columns) {
        wisp_free(k->ctx, v->column);
        v->column = NULL, v->columns = 0;
        WISP_TRY(wisp_alloc(k->ctx, &v->column, (size_t)n, sizeof *v->column));
        v->columns = columns;
    }
    if (v->factored != shift) { /* eigenvalues were counted at another one */
        int64_t below;
        bool singular;
        WISP_TRY(wisp__inverse_factor_at(v, shift, &below, &singular));
    }
    WISP_TRY(wisp_blk_get(x, WISP_COL_MAJOR, v->column, k->rows));
    if (single) widen(v->column, n);
    WISP_TRY(wisp__factor_solve(v->factor, v->column, columns));
    if (single) narrow(v->column, n);
    WISP_TRY(wisp_blk_put(y, WISP_COL_MAJOR, v->column, k->rows));
out:
    return status;
}

static wisp_status solve(wisp__inverse *v, wisp_blk *y, const wisp_blk *x)
{
    return v->factor ? solve_with(v, v->shift, y, x) : by_function(v, y, x);
}

static wisp_status multiply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    wisp__inverse *v = arg;
    wisp_status status;
    if (!v->is_pencil) return solve(v, y, x);
    WISP_TRY(wisp__inverse_like(&v->Sx, x));
    WISP_TRY(wisp__pencil_times_S(&v->pencil, v->Sx, x));
    status = solve(v, y, v->Sx);
out:
    return status;
}

const wisp_mat *wisp__inverse_matrix(const wisp__inverse *v) { return v->matrix; }
wisp__op wisp__inverse_op(const wisp__inverse *v)
{
    return (wisp__op){
        .degree = 1, .side = 1, .center = v->shift, .scale = v->size, .inverse = true, .center_im = v->k->o.target_im};
}

/* ---- factors of S ------------------------------------------------------------------------------------- */

/* From a shift so far below all values A - shift S is a multiple of S, up to rounding. Single numbers have less room.
 */
static double far_shift(const wisp__inverse *v) { return -ldexp(1, wisp__is_single(v->k->type) ? 60 : 200); }

bool wisp__inverse_has_S(const wisp__inverse *v) { return v->is_pencil && v->factor; }

wisp_status wisp__inverse_check_bytes(const wisp__inverse *v)
{
    const wisp__eig *k = v->k;
    const int64_t bytes = wisp__inverse_bytes(v);
    if (k->o.bytes <= 0 || bytes <= k->o.bytes) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM,
                          "eig: the factors of %s would take about %.3g MB, and %.3g MB are left for them: take "
                          "another opts.method",
                          wisp__inverse_of(v), (double)bytes / 1e6, (double)k->o.bytes / 1e6);
}

wisp_status wisp__inverse_factor_S(wisp__inverse *v)
{
    wisp_status status;
    int64_t below;
    bool singular;
    WISP_TRY(wisp__inverse_check_bytes(v));
    WISP_TRY(wisp__inverse_factor_at(v, far_shift(v), &below, &singular));
    if (singular)
        status = wisp_ctx_fail(v->k->ctx, WISP_ERR_NUMERIC, "eig: S must be positive definite, and is singular");
    else if (below > 0)
        status =
            wisp_ctx_failf(v->k->ctx, WISP_ERR_NUMERIC,
                           "eig: S must be positive definite, and it has %lld negative eigenvalue%s by its factors",
                           (long long)below, below == 1 ? "" : "s");
out:
    return status;
}

wisp_status wisp__inverse_of_S(wisp__inverse *v, wisp_blk *y, const wisp_blk *x)
{
    wisp_status status;
    WISP_TRY(solve_with(v, far_shift(v), y, x));
    status = wisp_scal(y, wisp__real(-far_shift(v)));
out:
    return status;
}

wisp_status wisp__inverse_length(wisp__inverse *v, const wisp_blk *x, double *length)
{
    wisp_status status;
    wisp_scalar dot[WISP__PENCIL_WIDTH];
    WISP_TRY(wisp__inverse_like(&v->Sx, x));
    WISP_TRY(wisp__inverse_of_S(v, v->Sx, x));
    WISP_TRY(wisp_dot(x, v->Sx, dot));
    for (int j = 0; j < wisp_blk_width(x); j++) length[j] = wisp__root(dot[j].re);
out:
    return status;
}

void wisp__inverse_take_sizes(wisp__inverse *v, double condition, double of_A)
{
    wisp__pencil_take_condition(&v->pencil, condition);
    v->of_A = of_A;
}

/* Without roots an error of factors or products is one of |A| and |shift S|, over the lowest value of S. That may be
   far less than the largest value times the condition. */
double wisp__inverse_rounding(const wisp__inverse *v, double eps)
{
    const wisp_bounds *b = &v->k->e->bounds;
    const double by_condition = wisp__pencil_rounding(&v->pencil, eps);
    if (!v->pencil.rootless) return by_condition;
    return by_condition * fmin((v->of_A + fabs(v->shift)) / (b->halfwidth + fabs(b->center)), 1);
}

const wisp__pencil *wisp__inverse_pencil(const wisp__inverse *v) { return v->is_pencil ? &v->pencil : NULL; }

/* ---- made ------------------------------------------------------------------------------------------- */

const char *wisp__inverse_of(const wisp__inverse *v) { return v->is_pencil ? "A - target S" : "A - target I"; }

wisp_status wisp__inverse_open(wisp__eig *k)
{
    wisp_status status;
    wisp__inverse *v = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &v, 1, sizeof *v));
    k->inverse = v;
    *v = (wisp__inverse){.k = k, .shift = k->o.target, .asked = k->o.target, .factored = NAN};
    v->far = fmin(1, 4.0 * k->o.count / (double)k->rows);
    v->is_pencil = wisp__eig_pencil(k, &v->pencil);
    const wisp_operator op = {.map = wisp_mat_map(k->A), .type = k->type, .apply = multiply, .arg = v};
    WISP_TRY(wisp_mat_from_apply(&v->matrix, k->ctx, &op));
    if (k->o.invert) goto out;
    WISP_TRY(wisp__factor_open(&v->factor, k, v->is_pencil ? &v->pencil : NULL));
    wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "eig: factors of %s take about %.3g MB and %.3g Gflop", wisp__inverse_of(v),
                  (double)wisp__factor_bytes(v->factor) / 1e6, wisp__factor_flops(v->factor) / 1e9);
out:
    return status;
}

void wisp__inverse_close(wisp__eig *k)
{
    wisp__inverse *v = k->inverse;
    if (!v) return;
    wisp_mat_free(v->matrix);
    wisp__factor_free(v->factor);
    wisp_blk_free(v->x);
    wisp_blk_free(v->Sx);
    wisp_free(k->ctx, v->column);
    wisp_free(k->ctx, v);
    k->inverse = NULL;
}

double wisp__inverse_flops(const wisp__inverse *v) { return v->factor ? wisp__factor_flops(v->factor) : 0; }

static double by_kernels(const wisp__eig *k)
{
    const char *isa = wisp_ctx_isa(k->ctx);
    const double real = strcmp(isa, "generic") == 0 ? 1.5 : strcmp(isa, "avx512") == 0 ? 3.5 : 2.5;
    return k->is_complex ? 2 * real : real;
}

/* Flops of products with S and with C. */
static double of_pencil(const wisp__inverse *v, double products)
{
    enum { WITH_S = 5, WITH_C = 3 };
    wisp_cost S = {0};
    if (!v->is_pencil || wisp_spmmv_cost(v->pencil.S, v->k->type, 1, 0, &S) != WISP_OK) return 0;
    return WITH_S * S.flops * products + WITH_C * v->k->flops * v->k->o.count;
}

/* Measured, of two- and three-dimensional lattices and meshes: MUMPS' flops take twice as long as those of dense
   kernels, and it has about twenty more for each number of the factors; a solution is bound by memory. There are about
   three and a half factorizations, and six products for each pair, which are made orthogonal to the search space. A
   filter's products, of wide blocks, are faster than they are counted, above all with wide registers: for that all of
   this counts more. Of a pencil, a column is multiplied with S about five times, and each pair with C about three. */
double wisp__inverse_work(const wisp__inverse *v)
{
    const wisp__eig *k = v->k;
    const double solve = wisp__factor_solve_flops(v->factor), products = 60 + 6.0 * k->o.count,
                 columns = fmax(24, 2.5 * k->o.count), threads = wisp_ctx_threads(k->ctx);
    const double factors = 3.5 * (2 * wisp__factor_flops(v->factor) + 20 * solve), solves = 2.5 * solve * products;
    const double ortho = (k->is_complex ? 16 : 4) * (double)k->rows * columns * products;
    return by_kernels(k) * (threads * (factors + solves) + ortho) + wisp__slower * of_pencil(v, products);
}

int64_t wisp__inverse_bytes(const wisp__inverse *v)
{
    const wisp__eig *k = v->k;
    const int64_t column = k->rows * (int64_t)(k->is_complex ? 2 * sizeof(double) : sizeof(double));
    const int64_t Sx = v->is_pencil ? WISP__MOST_BLOCK * wisp__eig_held(k) * (int64_t)wisp_type_size(k->type) : 0;
    return v->factor ? wisp__factor_bytes(v->factor) + WISP__MOST_BLOCK * column + Sx : Sx;
}

double wisp__inverse_count_error(const wisp__inverse *v)
{
    static const double least = 1e3 * DBL_EPSILON;
    return v->is_pencil ? fmax(wisp__inverse_rounding(v, v->k->eps), least) : least;
}

bool wisp__inverse_counts(const wisp__inverse *v) { return v->factor || v->k->o.below; }

wisp_status wisp__inverse_below(wisp__inverse *v, double shift, int64_t *below)
{
    const wisp__eig *k = v->k;
    wisp_status status = WISP_OK;
    bool singular = false;
    *below = -1;
    if (v->factor) {
        status = wisp__inverse_factor_at(v, shift, below, &singular);
    } else if (k->o.below) {
        status = k->o.below(k->o.invert_arg, wisp__eig_shown(k, shift), below);
        if (status != WISP_OK && status != WISP_ERR_CANCELLED)
            status = wisp_ctx_fail(k->ctx, WISP_ERR_CALLBACK, "eig: opts.below failed");
    }
    return status;
}
