/* Linear systems without a solution: whether a residual is one that no x makes smaller, A^H r = 0. A is taken as if
   its rows and columns were multiplied so that their largest entries are about 1, for else a residual among small
   entries, which are far from nothing, would be nothing beside large ones. */
#include "krylov.h"
#include <math.h>

/* Numbers of a diagonal that are no further apart than this do little as a preconditioner. */
enum { ALIKE = 16 };

typedef struct {
    wisp__krylov *k;
    wisp_src src; /* rows of A */
    int64_t first, rows;
    int64_t *col;
    void *val;         /* of the matrix's type */
    void *r, *product; /* this rank's numbers of r and A r, of the blocks' type */
    bool scales; /* the diagonal is positive, not far from 1, and some of it is small: it may be a preconditioner */
} scan;

/* |A r| over |A| |r|, row by row of what each rank has. */
static wisp_status of_hermitian(scan *s, const wisp_blk *r, double *part)
{
    wisp_status status = WISP_OK;
    wisp__krylov *k = s->k;
    double square[6] = {0};
    const double far = wisp__is_single(k->type) ? 0x1p40 : 0x1p400;
    const wisp_aug scaled = {.terms = WISP_SCALE, .alpha = wisp__real(wisp__a_factor(k))};
    wisp_blk *product = NULL;
    WISP_TRY(wisp_blk_create(&product, k->ctx, wisp_mat_map(k->A), k->type, 1));
    WISP_TRY(wisp_spmmv(product, k->A, r, &scaled));
    WISP_TRY(wisp_blk_get(product, WISP_ROW_MAJOR, s->product, 1));
    for (int64_t i = 0; i < s->rows; i++) {
        const int entries = s->src.row(s->src.arg, s->first + i, s->col, s->val);
        double largest = 0, whole = 0, diagonal = 0;
        for (int e = 0; e < entries; e++) largest = fmax(largest, cabs(wisp__number_at(s->src.type, s->val, e)));
        for (int e = 0; e < entries; e++) whole += cabs(wisp__number_at(s->src.type, s->val, e));
        for (int e = 0; e < entries; e++)
            if (s->col[e] == s->first + i) diagonal += creal(wisp__number_at(s->src.type, s->val, e));
        diagonal *= wisp__a_factor(k);
        square[4] += !(diagonal > 1 / far && diagonal < far);
        square[5] += diagonal < k->anorm / ALIKE;
        square[3] += pow(cabs(wisp__number_at(k->type, s->r, i)), 2);
        if (largest == 0) continue;
        square[2] += pow(cabs(wisp__number_at(k->type, s->product, i)) / (whole * wisp__a_factor(k)), 2);
        largest *= wisp__a_factor(k);
        square[0] +=
            pow(cabs(wisp__number_at(k->type, s->product, i)) / sqrt(largest), 2); /* a square alone may be 0 */
        square[1] += pow(cabs(wisp__number_at(k->type, s->r, i)), 2) * largest;
    }
    WISP_TRY(wisp_ctx_sum(k->ctx, square, 6));
    s->scales = square[4] == 0 && square[5] > 0;
    *part = square[1] > 0 ? fmax(sqrt(square[0] / square[1]), sqrt(square[2] / square[3])) : 0;
out:
    wisp_blk_free(product);
    return status;
}

static wisp_status find(scan *s, const wisp_blk *r, double *part)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = s->k->ctx;
    s->rows = wisp_map_local(wisp_mat_map(s->k->A), &s->first);
    WISP_TRY(wisp_src_open_mat(&s->src, s->k->A));
    WISP_TRY(wisp_alloc(ctx, &s->col, (size_t)s->src.max_row, sizeof *s->col));
    WISP_TRY(wisp_alloc(ctx, &s->val, (size_t)s->src.max_row, sizeof(double complex)));
    WISP_TRY(wisp_alloc(ctx, &s->r, (size_t)s->rows, wisp_type_size(s->k->type)));
    WISP_TRY(wisp_alloc(ctx, &s->product, (size_t)s->rows, wisp_type_size(s->k->type)));
    WISP_TRY(wisp_blk_get(r, WISP_ROW_MAJOR, s->r, 1));
    return of_hermitian(s, r, part);
out:
    return status;
}

/* |A r| over |A| |r| for one column of a Hermitian A: rounding where x makes |r| least. *scales: see scan. */
static wisp_status gradient(wisp__krylov *k, const wisp_blk *r, double *part, bool *scales)
{
    scan s = {.k = k};
    const wisp_status status = find(&s, r, part);
    *scales = s.scales;
    wisp_src_close(&s.src);
    wisp_free(k->ctx, s.col);
    wisp_free(k->ctx, s.val);
    wisp_free(k->ctx, s.r);
    wisp_free(k->ctx, s.product);
    return status;
}

/* Rounding, beside the entries of a row; and of a column's steps a proof by A z = A r takes one in so many: with the
   diagonal as a preconditioner another one, before a column ends all such together. */
enum { ROUNDING = 10, SHARES = 4 };

/* A Hermitian A: the best x leaves more of its range in r than rounding, for that hardly changes |r|. z that solves
   A z = A r, which has a solution, is that part, and w = r - z is one that A maps to 0. Then no x has a residual of
   less than |<w, b>| / |w|, since <w, A x> = 0: this is to be |r|. *part becomes |A w| over |A| |w|, if it is less, and
   no x is within the tolerance by that. It takes `most` steps at most. */
static wisp_status find_beyond(wisp__krylov *k, int j, const wisp_blk *r, wisp_precond precond, int64_t most,
                               double *part, bool *least)
{
    wisp_status status = WISP_OK;
    wisp_blk *w = NULL, *g = NULL, *z = NULL;
    wisp_map *map = wisp_mat_map(k->A);
    double bound, of_w, length;
    bool scales;
    int64_t steps;
    const wisp_solve_opts o = {.method = wisp__choice(true, true),
                               .precond = precond,
                               .tolerance = precond ? k->eps : fmin(ROUNDING / 10 * k->eps / *part, 0.5),
                               .max_iterations = most < k->o.max_iterations ? most : k->o.max_iterations};
    WISP_TRY(wisp_blk_create(&g, k->ctx, map, k->type, 1));
    WISP_TRY(wisp_blk_create(&z, k->ctx, map, k->type, 1));
    WISP_TRY(wisp_blk_create(&w, k->ctx, map, k->type, 1));
    WISP_TRY(wisp_copy(w, r));
    WISP_TRY(wisp_spmmv(g, k->A, w, NULL));
    status = k->prove(z, k->A, g, &o, &steps);
    k->col[j].proving += steps;
    if (status == WISP_ERR_STAGNATION || status == WISP_ERR_BREAKDOWN || status == WISP_ERR_ITERATIONS ||
        status == WISP_ERR_NUMERIC)
        status = WISP_OK; /* it may do all the same */
    if (status != WISP_OK) goto out;
    WISP_TRY(wisp_axpby(w, wisp__real(-1), z, wisp__real(1)));
    WISP_TRY(wisp_norm(w, &length));
    if (!(length > sqrt(k->eps * k->col[j].verified))) goto out; /* rounding of r and z */
    WISP_TRY(wisp__scale_column(k, w, -ilogb(length)));
    WISP_TRY(gradient(k, w, &of_w, &scales));
    WISP_TRY(wisp__least_residual(k, j, w, z, &bound));
    *least = of_w <= ROUNDING * k->eps && bound > 0.99 * sqrt(k->col[j].verified);
    if (bound > sqrt(k->col[j].target)) *part = fmin(*part, of_w);
out:
    wisp_blk_free(g);
    wisp_blk_free(z);
    wisp_blk_free(w);
    return status;
}

/* Without a preconditioner. What failed is not tried again for the same residual, or one that is hardly less, until
   many more steps may do; nor before the column ends, where few are left. */
static wisp_status find_plainly(wisp__krylov *k, int j, const wisp_blk *r, bool last, double *part, bool *least)
{
    wisp__krylov_column *c = &k->col[j];
    const int64_t share = wisp__proof_steps(c) / SHARES, most = last ? share : share - c->proving;
    if (!last && most < share / 2) return WISP_OK;
    if (c->verified > 0.98 * c->tried && most < 2 * c->tried_most) {
        *part = fmin(*part, c->tried_part);
        return WISP_OK;
    }
    c->tried = c->verified, c->tried_most = most;
    const wisp_status status = find_beyond(k, j, r, WISP_PRECOND_NONE, most, part, least);
    c->tried_part = *part;
    return status;
}

wisp_status wisp__prove_least(wisp__krylov *k, int j, bool last, bool *least, double *part)
{
    wisp_status status = WISP_OK;
    const wisp__krylov_column *c = &k->col[j];
    wisp_blk *r = NULL;
    bool room = false, scales;
    *least = false;
    *part = 1;
    if (k->anorm == 0 || !isfinite(c->verified)) goto out;
    WISP_TRY(wisp__has_room(k, wisp__proof_columns(k->type), &room));
    if (!room) goto out; /* it is not known */
    if (!k->exact) return last ? wisp__prove_any(k, j, least) : WISP_OK;
    WISP_TRY(wisp_blk_cols(&r, k->r, j, 1));
    WISP_TRY(gradient(k, r, part, &scales));
    *least = *part <= ROUNDING * k->eps;
    if (c->iterations == 0) goto out;
    if (!*least && *part <= 0.5) WISP_TRY(find_plainly(k, j, r, last, part, least));
    if (!*least && last && scales)
        WISP_TRY(find_beyond(k, j, r, WISP_JACOBI, wisp__proof_steps(c) / SHARES, part, least));
    /* With a Hermitian matrix rows and columns must be scaled alike, and so it may not get far where rows are of very
       different size. But where another method is left that is tried first. */
    if (!*least && last && !k->method->next) status = wisp__prove_any(k, j, least);
out:
    wisp_blk_free(r);
    return status;
}
