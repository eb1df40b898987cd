/* (A - shift I)^-1 as an operator. Its numbers are those of k->A; the user's function has the user's matrix. Where A is
   the C of a pencil it is (A - shift S)^-1 S, with the same values, self-adjoint in the inner product by S (Ericsson
   and Ruhe 1980): no root of S is in it. */
#include "inverse.h"
#include "factor.h"
#include <string.h>

struct wisp__inverse {
    wisp__eig *k;
    wisp_mat *matrix;     /* the operator */
    wisp__factor *factor; /* NULL: the user's function */
    double shift, size;   /* the shift's real part; its imaginary one is that of the target. |A - shift I|, about */
    double asked;         /* the user's target, where k->o.target has been moved towards the spectrum */
    double allowed;       /* the tolerance that was asked for, of which k->o.tolerance is a part at first */
    double factored;      /* the shift whose factors there are; NaN: none */
    double far;           /* over size: the farthest value that is wanted is about so far from the target */
    bool is_pencil;       /* k->A is C, of this pencil */
    wisp__pencil pencil;
    wisp_blk *x;     /* 2^-exponent x, for the user */
    wisp_blk *Sx;    /* T x */
    double *column;  /* [columns][rows], for factors */
    int64_t columns; /* as many has `column` room for */
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

/* *x becomes a block like this one. */
static wisp_status take_like(wisp_blk **x, const wisp_blk *like)
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
    WISP_TRY(take_like(&v->x, x));
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
        WISP_TRY(factor_at(v, shift, &below, &singular));
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
    WISP_TRY(take_like(&v->Sx, x));
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
static int far_exponent(const wisp__inverse *v) { return wisp__is_single(v->k->type) ? 60 : 200; }

bool wisp__inverse_has_S(const wisp__inverse *v) { return v->is_pencil && v->factor; }

/* Before anything is factored. */
static wisp_status check_bytes(const wisp__inverse *v)
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
    WISP_TRY(check_bytes(v));
    WISP_TRY(factor_at(v, -ldexp(1, far_exponent(v)), &below, &singular));
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
    WISP_TRY(solve_with(v, v->factored, y, x));
    status = wisp_scal(y, wisp__real(ldexp(1, far_exponent(v))));
out:
    return status;
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

/* Of a random vector b: |A b|/|b|, unless A is Hermitian; then how long (A - shift)^-1 makes it, and of the user's
   function |(A - shift) (A - shift)^-1 b - b|. */
typedef struct {
    double norm, growth, error;
} probe;

/* y = (A - shift) x; of a pencil's vector the C's. */
static wisp_status back(wisp__inverse *v, wisp_blk *y, wisp_blk *x)
{
    const wisp__eig *k = v->k;
    const wisp_scalar shift = {v->shift, k->o.target_im};
    const wisp_aug aug = {.terms = WISP_SHIFT, .shift = &shift};
    wisp_status status;
    if (!v->is_pencil) return wisp_spmmv(y, k->A, x, &aug);
    WISP_TRY(wisp__pencil_times(&v->pencil, y, x, k->scaled.exponent, &shift));
    status = wisp__pencil_inverse_root(&v->pencil, y, y);
out:
    return status;
}

/* The length of a vector; of a pencil's by T, which C's to it has. */
static wisp_status length_of(wisp__inverse *v, const wisp_blk *x, double *length)
{
    wisp_status status = WISP_OK;
    wisp_scalar dot;
    if (!v->is_pencil) return wisp_norm(x, length);
    WISP_TRY(take_like(&v->Sx, x));
    WISP_TRY(wisp__pencil_times_S(&v->pencil, v->Sx, x));
    WISP_TRY(wisp_dot(x, v->Sx, &dot));
    *length = sqrt(fmax(dot.re, 0 * dot.re)); /* as in pencil_bounds.c */
out:
    return status;
}

static wisp_status look(wisp__inverse *v, probe *p)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = v->k;
    enum { NUMBER = 1 << 30 }; /* of the random column: no search has so many */
    wisp_blk *b = NULL, *x = NULL, *y = NULL;
    double of_b, of_x, of_y;
    *p = (probe){0};
    WISP_TRY(wisp_blk_create(&b, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_EIG, NUMBER));
    WISP_TRY(wisp_spmmv(x, v->matrix, b, NULL));
    if (!k->hermitian) WISP_TRY(wisp_spmmv(y, k->A, b, NULL));
    if (!k->hermitian) WISP_TRY(wisp_norm(y, &p->norm));
    if (!v->factor) WISP_TRY(back(v, y, x));
    WISP_TRY(length_of(v, b, &of_b));
    WISP_TRY(length_of(v, x, &of_x));
    p->norm /= of_b;
    p->growth = of_x / of_b;
    if (v->factor) goto out;
    if (v->is_pencil) WISP_TRY(wisp__pencil_root(&v->pencil, b, b));
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
   times as far as it would, were the values spread evenly, or as they are counted. Copies of a value that is nearer
   than D/10^4 come out of rounding too slowly, whatever the tolerance. But a shift that lies far from the target, by
   the distance of two such values, would find other ones than are asked for. */
static double nearest_of(const wisp__inverse *v)
{
    static const double least = 1e-4, of_spacing = 0.05;
    const wisp__eig *k = v->k;
    const double of_S = v->is_pencil ? sqrt(v->pencil.condition) : 0, of_factors = (100 + of_S) * DBL_EPSILON,
                 spacing = v->far / (2 * k->o.count);
    const double share = fmax((k->eps / 16 + of_factors) / k->o.tolerance * v->far, least) * v->far;
    return fmax(fmin(share, of_spacing * spacing), 100 * DBL_EPSILON) * v->size;
}

/* How many values lie up to so far from the target; INFINITY: a border is one of them. */
static wisp_status count_within(wisp__inverse *v, double far, double *counted)
{
    wisp_status status = WISP_OK;
    int64_t below[2] = {0, 0};
    bool singular = false;
    for (int side = 0; side < 2 && !singular; side++)
        WISP_TRY(factor_at(v, v->k->o.target + (side ? far : -far) * v->size, below + side, &singular));
    *counted = singular ? INFINITY : (double)(below[1] - below[0]);
out:
    return status;
}

/* Values may lie far more densely about the target than over the whole spectrum: by counts, few more than are wanted
   come before v->far then. Those of a multiplet stay, however near one looks; and so do all for a while, where a few
   lie very far out, as those of a pencil whose S has a large condition. */
static wisp_status look_around(wisp__inverse *v)
{
    enum { TRIES = 8, MANY = 4, STAYS = 3 };
    static const double same = 0.9, aside = 0.7, least = 100 * DBL_EPSILON;
    wisp_status status = WISP_OK;
    int stayed = 0;
    const double count = v->k->o.count;
    double before = INFINITY, far = v->far, counted;
    for (int i = 0; i < TRIES && far > least; i++) {
        WISP_TRY(count_within(v, far, &counted));
        const bool stays = counted < INFINITY && counted > same * before;
        stayed = stays ? stayed + 1 : 0;
        if (stayed == STAYS) break;
        if (counted < INFINITY && !stays) v->far = far, before = counted;
        if (counted <= MANY * count) break;
        far *= counted < INFINITY ? 2 * count / counted : aside;
    }
out:
    return status;
}

/* |A - shift I|, by the bounds of a Hermitian matrix. */
static void measure(wisp__inverse *v)
{
    const wisp_bounds *b = &v->k->e->bounds;
    v->size = b->halfwidth + fabs(b->center - v->shift);
}

/* What rounding leaves of residuals, over the halfwidth, at most: an error of a product with A grows with the largest
   value, one of a product with the inverse with the farthest value from the shift. */
static double reachable(const wisp__inverse *v)
{
    const wisp_bounds *b = &v->k->e->bounds;
    const double each = v->is_pencil ? wisp__pencil_rounding(&v->pencil, v->k->eps) : 16 * v->k->eps;
    return each * fmax(b->halfwidth + fabs(b->center), v->size) / b->halfwidth;
}

/* Values are counted as one where residuals do not tell them apart: so these have to be small beside the distance that
   values would have, were they spread evenly. That takes little with an inverse, as far as rounding allows it. */
static void fit_tolerance(wisp__inverse *v)
{
    wisp__eig *k = v->k;
    const double least = wisp__is_single(k->type) ? 1e-4 : 1e-12;
    const double enough = fmax(fmax(0.02 / (double)k->rows, least), reachable(v));
    v->allowed = k->o.tolerance;
    if (k->o.tolerance > enough) wisp__eig_set_tolerance(k, enough);
}

bool wisp__inverse_loosen(wisp__inverse *v)
{
    enum { STEP = 10 };
    wisp__eig *k = v->k;
    if (!(k->o.tolerance < v->allowed)) return false;
    wisp__eig_set_tolerance(k, fmin(STEP * k->o.tolerance, v->allowed));
    wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "eig: rounding spoils residuals that small; those of %.1g are looked for",
                  wisp__eig_residual(k, k->o.tolerance));
    return true;
}

/* From a target beyond the spectrum the nearest values are those of its end, wherever the target is. From far away the
   inverse has nearly the same value for all of them, and rounding hides what is left of the differences: so the target
   is moved to a place nearby. */
static wisp_status move_target(wisp__inverse *v)
{
    static const double beside = 0.125;
    wisp__eig *k = v->k;
    wisp_status status = WISP_OK;
    const wisp_bounds *b = &k->e->bounds;
    const double all = b->halfwidth + fabs(b->center), beyond = fabs(k->o.target - b->center) - b->halfwidth;
    const double room = fmax(beside * b->halfwidth, 16 * wisp__inverse_count_error(v) * all);
    const bool above = k->o.target > b->center;
    int64_t below;
    bool singular;
    if (beyond <= room) return WISP_OK;
    const double place = b->center + (above ? 1 : -1) * (b->halfwidth + room);
    WISP_TRY(factor_at(v, place, &below, &singular));
    if (singular || below != (above ? k->rows : 0)) return WISP_OK; /* the bounds are wrong */
    k->o.target = v->shift = place;
    measure(v);
out:
    return status;
}

double wisp__inverse_asked(const wisp__inverse *v) { return v->asked; }

static wisp_status check_function(wisp__inverse *v)
{
    static const double most = 1e-2;
    const wisp__eig *k = v->k;
    probe p;
    const wisp_status status = look(v, &p);
    if (status != WISP_OK) return status;
    if (!k->hermitian) v->size = p.norm + hypot(v->shift, k->o.target_im);
    const double rounding = v->is_pencil ? wisp__pencil_rounding(&v->pencil, k->eps) : k->eps;
    if (p.error <= most * fmax(1, v->size * p.growth * rounding / most)) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_CALLBACK,
                          "eig: opts.invert is not (%s)^-1: of a vector of length 1 it leaves a residual of %.2g",
                          wisp__inverse_of(v), p.error);
}

/* *nearest: how far the nearest value is from the shift, about: the mean share of an eigenvector in a random one tells.
   0: there are no factors. */
static wisp_status try_shift(wisp__inverse *v, double *nearest)
{
    const wisp__eig *k = v->k;
    wisp_status status = WISP_OK;
    int64_t below;
    bool singular = false;
    probe p;
    *nearest = 0;
    if (v->factored != v->shift) WISP_TRY(factor_at(v, v->shift, &below, &singular));
    if (singular && !(v->size > 0)) v->size = fmax(hypot(k->o.target, k->o.target_im), 1);
    if (singular) goto out;
    WISP_TRY(look(v, &p));
    if (!k->hermitian) v->size = p.norm + hypot(v->shift, k->o.target_im);
    *nearest = 1 / (p.growth * sqrt((double)k->rows));
out:
    return status;
}

/* The target may be an eigenvalue, or nearly: then a place beside it is taken. */
static wisp_status choose_shift(wisp__inverse *v)
{
    enum { TRIES = 8 };
    static const double step = 8;
    const wisp__eig *k = v->k;
    wisp_status status = WISP_OK;
    for (int i = 0; i < TRIES; i++) {
        const double side = i % 2 ? 1 : -1, size = i ? pow(3, (i - 1) / 2) * step * nearest_of(v) : 0;
        double nearest;
        v->shift = k->o.target + side * size;
        WISP_TRY(try_shift(v, &nearest));
        if (nearest > nearest_of(v)) return WISP_OK;
        if (i == 0 && k->hermitian) WISP_TRY(look_around(v));
        if (nearest > nearest_of(v)) return WISP_OK;
    }
    if (v->factored == v->shift) return WISP_OK; /* as good as there is */
    status = wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC, "eig: the matrix is singular at and beside opts.target, %s",
                            wisp__eig_target(k, (char[WISP__NUMBER]){""}));
out:
    return status;
}

wisp_status wisp__inverse_begin(wisp__inverse *v)
{
    const wisp__eig *k = v->k;
    const double before = wisp_now();
    wisp_status status = check_bytes(v);
    if (status != WISP_OK) return status;
    if (k->hermitian) measure(v);
    if (k->hermitian && v->factor) status = move_target(v);
    if (k->hermitian && v->factor) fit_tolerance(v);
    if (status == WISP_OK) status = v->factor ? choose_shift(v) : check_function(v);
    k->e->filter_seconds += wisp_now() - before;
    return status;
}

double wisp__inverse_count_error(const wisp__inverse *v)
{
    static const double least = 1e3 * DBL_EPSILON;
    return v->is_pencil ? fmax(wisp__pencil_rounding(&v->pencil, v->k->eps), least) : least;
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
