/* The shift of an inverse: the target, or a place near it; and the tolerance that is looked for there. */
#include "inverse_parts.h"

/* ---- what is looked at ------------------------------------------------------------------------------- */

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
    WISP_TRY(wisp__inverse_like(&v->Sx, x));
    WISP_TRY(wisp__pencil_times_S(&v->pencil, v->Sx, x));
    WISP_TRY(wisp_dot(x, v->Sx, &dot));
    *length = wisp__root(dot.re);
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
        WISP_TRY(wisp__inverse_factor_at(v, v->k->o.target + (side ? far : -far) * v->size, below + side, &singular));
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
    const double each = v->is_pencil ? wisp__inverse_rounding(v, v->k->eps) : 16 * v->k->eps;
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

/* It ends: from 1e-12 at least to less than 1 there are twelve such steps. */
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
    WISP_TRY(wisp__inverse_factor_at(v, place, &below, &singular));
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

/* Far from normal an inverse makes a random vector long though no value is near. Products that follow one another come
   down to what the nearest one makes of them, and no other shift would do more for their rounding. */
static wisp_status look_longer(wisp__inverse *v, double *nearest)
{
    enum { TIMES = 24, LAST = 8, NUMBER = (1 << 30) + 1 };
    wisp_status status;
    const wisp__eig *k = v->k;
    wisp_blk *x = NULL, *y = NULL;
    double norm, length = 0;
    WISP_TRY(wisp_blk_create(&x, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_EIG, NUMBER));
    for (int i = 0; i < TIMES; i++) {
        WISP_TRY(wisp_norm(x, &norm));
        WISP_TRY(wisp_scal(x, wisp__real(1 / norm)));
        WISP_TRY(wisp_spmmv(y, v->matrix, x, NULL));
        WISP_TRY(wisp_norm(y, &norm));
        if (i >= TIMES - LAST) length += log(norm) / LAST;
        wisp_blk *const z = x;
        x = y, y = z;
    }
    *nearest = fmax(*nearest, exp(-length));
out:
    wisp_blk_free(x);
    wisp_blk_free(y);
    return status;
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
    if (v->factored != v->shift) WISP_TRY(wisp__inverse_factor_at(v, v->shift, &below, &singular));
    if (singular && !(v->size > 0)) v->size = fmax(hypot(k->o.target, k->o.target_im), 1);
    if (singular) goto out;
    WISP_TRY(look(v, &p));
    if (!k->hermitian) v->size = p.norm + hypot(v->shift, k->o.target_im);
    *nearest = 1 / (p.growth * sqrt((double)k->rows));
    if (!k->hermitian && *nearest <= nearest_of(v)) status = look_longer(v, nearest);
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
    wisp_status status = wisp__inverse_check_bytes(v);
    if (status != WISP_OK) return status;
    if (k->hermitian) measure(v);
    if (k->hermitian && v->factor) status = move_target(v);
    if (k->hermitian && v->factor) fit_tolerance(v);
    if (status == WISP_OK) status = v->factor ? choose_shift(v) : check_function(v);
    k->e->filter_seconds += wisp_now() - before;
    return status;
}
