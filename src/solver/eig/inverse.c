/* (A - shift I)^-1 as an operator. Its numbers are those of k->A; the user's function has the user's matrix. */
#include "inverse.h"
#include "factor.h"
#include <string.h>

struct wisp__inverse {
    wisp__eig *k;
    wisp_mat *matrix;     /* the operator */
    wisp__factor *factor; /* NULL: the user's function */
    double shift, size;   /* size: |A - shift I|, about */
    double factored;      /* the shift whose factors there are; NaN: none */
    wisp_blk *x;          /* 2^-exponent x, for the user */
    double *column;       /* [columns][rows], for factors */
    int64_t columns;      /* as many has `column` room for */
};

/* ---- products ------------------------------------------------------------------------------------ */

static wisp_status factor_at(wisp__inverse *v, double shift, int64_t *below, bool *singular)
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

/* y = 2^-e (A - target)^-1 x, A the user's, for 2^e A. */
static wisp_status by_function(wisp__inverse *v, wisp_blk *y, const wisp_blk *x)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = v->k;
    const int by = -k->scaled.exponent;
    if (by == 0) return k->o.invert(k->o.invert_arg, y, x);
    if (!v->x || wisp_blk_type(v->x) != wisp_blk_type(x) || wisp_blk_width(v->x) != wisp_blk_width(x)) {
        wisp_blk_free(v->x);
        v->x = NULL;
        WISP_TRY(wisp_blk_create(&v->x, k->ctx, wisp_blk_map(x), wisp_blk_type(x), wisp_blk_width(x)));
    }
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

static wisp_status by_factors(wisp__inverse *v, wisp_blk *y, const wisp_blk *x)
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
    if (v->factored != v->shift) { /* eigenvalues were counted at another one */
        int64_t below;
        bool singular;
        WISP_TRY(factor_at(v, v->shift, &below, &singular));
    }
    WISP_TRY(wisp_blk_get(x, WISP_COL_MAJOR, v->column, k->rows));
    if (single) widen(v->column, n);
    WISP_TRY(wisp__factor_solve(v->factor, v->column, columns));
    if (single) narrow(v->column, n);
    WISP_TRY(wisp_blk_put(y, WISP_COL_MAJOR, v->column, k->rows));
out:
    return status;
}

static wisp_status multiply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    wisp__inverse *v = arg;
    return v->factor ? by_factors(v, y, x) : by_function(v, y, x);
}

const wisp_mat *wisp__inverse_matrix(const wisp__inverse *v) { return v->matrix; }
wisp__op wisp__inverse_op(const wisp__inverse *v) { return (wisp__op){1, 1, v->shift, v->size, true}; }

/* ---- made ------------------------------------------------------------------------------------------- */

wisp_status wisp__inverse_open(wisp__eig *k)
{
    wisp_status status;
    wisp__inverse *v = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &v, 1, sizeof *v));
    k->inverse = v;
    *v = (wisp__inverse){.k = k, .shift = k->o.target, .factored = NAN};
    const wisp_operator op = {.map = wisp_mat_map(k->A), .type = k->type, .apply = multiply, .arg = v};
    WISP_TRY(wisp_mat_from_apply(&v->matrix, k->ctx, &op));
    if (k->o.invert) goto out;
    WISP_TRY(wisp__factor_open(&v->factor, k));
    wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "eig: factors of A - target I take about %.3g MB and %.3g Gflop",
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

/* Measured, of two- and three-dimensional lattices and meshes: MUMPS' flops take twice as long as those of dense
   kernels, and it has about twenty more for each number of the factors; a solution is bound by memory. There are about
   three and a half factorizations, and six products for each pair, which are made orthogonal to the search space. A
   filter's products, of wide blocks, are faster than they are counted, above all with wide registers: for that all of
   this counts more. */
double wisp__inverse_work(const wisp__inverse *v)
{
    const wisp__eig *k = v->k;
    const double solve = wisp__factor_solve_flops(v->factor), products = 60 + 6.0 * k->o.count,
                 columns = fmax(24, 2.5 * k->o.count), threads = wisp_ctx_threads(k->ctx);
    const double factors = 3.5 * (2 * wisp__factor_flops(v->factor) + 20 * solve), solves = 2.5 * solve * products;
    const double ortho = (k->is_complex ? 16 : 4) * (double)k->rows * columns * products;
    return by_kernels(k) * (threads * (factors + solves) + ortho);
}

int64_t wisp__inverse_bytes(const wisp__inverse *v)
{
    const wisp__eig *k = v->k;
    const int64_t column = k->rows * (int64_t)(k->is_complex ? 2 * sizeof(double) : sizeof(double));
    return v->factor ? wisp__factor_bytes(v->factor) + WISP__MOST_BLOCK * column : 0;
}

/* Of a random vector b: |A b|/|b|; then how long (A - shift)^-1 makes it, and |(A - shift) (A - shift)^-1 b - b|. */
typedef struct {
    double norm, growth, error;
} probe;

static wisp_status look(wisp__inverse *v, probe *p)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = v->k;
    enum { NUMBER = 1 << 30 }; /* of the random column: no search has so many */
    wisp_blk *b = NULL, *x = NULL, *y = NULL;
    double of_b, of_x, of_y;
    const wisp_scalar shift = wisp__real(v->shift);
    const wisp_aug aug = {.terms = WISP_SHIFT, .shift = &shift};
    WISP_TRY(wisp_blk_create(&b, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_EIG, NUMBER));
    WISP_TRY(wisp_norm(b, &of_b));
    WISP_TRY(wisp_spmmv(y, k->A, b, NULL));
    WISP_TRY(wisp_norm(y, &of_y));
    p->norm = of_y / of_b;
    WISP_TRY(wisp_spmmv(x, v->matrix, b, NULL));
    WISP_TRY(wisp_norm(x, &of_x));
    p->growth = of_x / of_b;
    WISP_TRY(wisp_spmmv(y, k->A, x, &aug));
    WISP_TRY(wisp_axpby(y, wisp__real(-1), b, wisp__real(1)));
    WISP_TRY(wisp_norm(y, &of_y));
    p->error = of_y / of_b;
out:
    wisp_blk_free(b);
    wisp_blk_free(x);
    wisp_blk_free(y);
    return status;
}

/* A value at a distance d makes products so large that their rounding, or that of factors, moves another one at D by
   about D^2/d rounding errors: so near none may be, for the farthest that is wanted. That one is taken to lie four
   times as far as it would, were the values spread evenly. Copies of a value that is nearer than D/10^4 come out of
   rounding too slowly, whatever the tolerance. But a shift that lies far from the target, by the distance of two such
   values, would find other ones than are asked for. */
static double nearest_of(const wisp__inverse *v)
{
    static const double of_factors = 100 * DBL_EPSILON, least = 1e-4, of_spacing = 0.05;
    const wisp__eig *k = v->k;
    const double spacing = 2 / (double)k->rows, far = fmin(1, 2 * k->o.count * spacing);
    const double share = fmax((k->eps / 16 + of_factors) / k->o.tolerance * far, least) * far;
    return fmax(fmin(share, of_spacing * spacing), of_factors) * v->size;
}

/* |A - shift I|, by the bounds of a Hermitian matrix. */
static void measure(wisp__inverse *v)
{
    const wisp_bounds *b = &v->k->e->bounds;
    v->size = b->halfwidth + fabs(b->center - v->shift);
}

/* Values are counted as one where residuals do not tell them apart: so these have to be small beside the distance that
   values would have, were they spread evenly. That takes little with an inverse. */
static void fit_tolerance(wisp__eig *k)
{
    const wisp_bounds *b = &k->e->bounds;
    const double least = wisp__is_single(k->type) ? 1e-4 : 1e-12, enough = fmax(0.02 / (double)k->rows, least);
    if (k->o.tolerance <= enough) return;
    k->o.tolerance = enough;
    k->scale = fmax(b->halfwidth, 16 * k->eps * (b->halfwidth + fabs(b->center)) / enough);
}

static wisp_status check_function(wisp__inverse *v)
{
    static const double most = 1e-2;
    const wisp__eig *k = v->k;
    probe p;
    const wisp_status status = look(v, &p);
    if (status != WISP_OK) return status;
    if (!k->hermitian) v->size = p.norm + fabs(v->shift);
    if (p.error <= most * fmax(1, v->size * p.growth * k->eps / most)) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_CALLBACK,
                          "eig: opts.invert is not (A - target I)^-1: of a vector of length 1 it leaves a residual of "
                          "%.2g",
                          p.error);
}

/* The target may be an eigenvalue, or nearly: then a place beside it is taken. The mean share of an eigenvector in a
   random one tells how near the nearest value is. */
static wisp_status choose_shift(wisp__inverse *v)
{
    enum { TRIES = 8 };
    static const double step = 8;
    const wisp__eig *k = v->k;
    wisp_status status = WISP_OK;
    for (int i = 0; i < TRIES; i++) {
        const double side = i % 2 ? 1 : -1, size = i ? pow(3, (i - 1) / 2) * step * nearest_of(v) : 0;
        int64_t below;
        bool singular;
        v->shift = k->o.target + side * size;
        WISP_TRY(factor_at(v, v->shift, &below, &singular));
        if (singular) {
            if (!(v->size > 0)) v->size = fmax(fabs(k->o.target), 1);
            continue;
        }
        probe p;
        WISP_TRY(look(v, &p));
        if (!k->hermitian) v->size = p.norm + fabs(v->shift);
        if (1 / (p.growth * sqrt((double)k->rows)) > nearest_of(v)) return WISP_OK;
    }
    if (v->factored == v->shift) return WISP_OK; /* as good as there is */
    status = wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC, "eig: the matrix is singular at and beside opts.target, %g",
                            wisp__eig_shown(k, k->o.target));
out:
    return status;
}

wisp_status wisp__inverse_begin(wisp__inverse *v)
{
    const wisp__eig *k = v->k;
    const double before = wisp_now();
    const int64_t bytes = wisp__inverse_bytes(v);
    if (k->o.bytes > 0 && bytes > k->o.bytes)
        return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM,
                              "eig: the factors of A - target I would take about %.3g MB, and %.3g MB are left for "
                              "them: take another opts.method",
                              (double)bytes / 1e6, (double)k->o.bytes / 1e6);
    if (k->hermitian) measure(v);
    if (k->hermitian && v->factor) fit_tolerance(v->k);
    const wisp_status status = v->factor ? choose_shift(v) : check_function(v);
    k->e->filter_seconds += wisp_now() - before;
    return status;
}

bool wisp__inverse_counts(const wisp__inverse *v) { return v->factor || v->k->o.below; }

wisp_status wisp__inverse_below(wisp__inverse *v, double shift, int64_t *below)
{
    const wisp__eig *k = v->k;
    wisp_status status = WISP_OK;
    bool singular = false;
    *below = -1;
    if (v->factor) {
        status = factor_at(v, shift, below, &singular);
    } else if (k->o.below) {
        status = k->o.below(k->o.invert_arg, wisp__eig_shown(k, shift), below);
        if (status != WISP_OK && status != WISP_ERR_CANCELLED)
            status = wisp_ctx_fail(k->ctx, WISP_ERR_CALLBACK, "eig: opts.below failed");
    }
    return status;
}
