/* Proof that a system with any matrix has no solution: w that A^H maps to 0, within rounding, leaves any
   x a residual of |<w, b>| / |w| at least, since <w, A x> = 0. Methods that have A alone do not find w, nor the x that
   makes the residual least. Conjugate gradients for the normal equations do, from r on (CGLS: Paige and Saunders 1982,
   ACM Trans. Math. Softw. 8, 43). There is no product with A^H: rows of A are read where they are stored, and summed,
   for as many columns at a time as a rank has rows. A is taken as if its rows and then its columns were scaled to
   entries of about 1, for what is nothing beside large entries may be much beside small ones. */
#include <float.h>
#include <string.h>
#include "krylov.h"

/* Machine epsilons that count as rounding: where A^H w is more, numbers that the type has could make r clearly less. */
enum { ROUNDING = 10 };

typedef struct {
    wisp__krylov *k;
    wisp_src src;
    int64_t first, rows; /* of this rank */
    int64_t chunk;       /* columns that are summed at a time */
    int chunks;
    int weighs;  /* the chunk with which |w|^2 is summed, once: the first in which this rank has an entry */
    char *meets; /* [chunks] */
    int64_t *col;
    void *val;
    int64_t steps;             /* that were taken */
    void *w_number, *g_number; /* [rows] of w and g, in the blocks' type */
    double complex *sum;       /* [chunk] */
    double *size;              /* [rows] of each column: the sum of its entries, each over the largest of its row */
    double *whole;             /* [rows] the same of the entries as they are */
    wisp_blk *w, *z, *p, *q;
    bool anew;       /* z is to take the place of x, not to be added to it */
    double gg, part; /* |C A^H w|^2, C scales columns; |A^H w| over |A| |w|, A scaled */
} normal;

static double complex entry(const normal *n, int e) { return wisp__number_at(n->src.type, n->val, e); }

/* Reads a row; its largest entry. */
static double read_row(normal *n, int64_t i, int *entries)
{
    double most = 0;
    *entries = n->src.row(n->src.arg, n->first + i, n->col, n->val);
    for (int e = 0; e < *entries; e++) most = fmax(most, cabs(entry(n, e)));
    return most;
}

/* The sizes of the columns of a chunk. */
static wisp_status measure(normal *n, int c)
{
    memset(n->sum, 0, (size_t)n->chunk * sizeof *n->sum);
    for (int64_t i = 0; i < n->rows; i++) {
        int entries;
        const double most = read_row(n, i, &entries);
        for (int e = 0; e < entries && most > 0; e++) {
            const int64_t at = n->col[e] - c * n->chunk;
            if (at < 0 || at >= n->chunk) continue;
            n->meets[c] = 1;
            n->sum[at] += cabs(entry(n, e)) / most + I * (wisp__a_factor(n->k) * cabs(entry(n, e)));
        }
    }
    const wisp_status status = wisp_ctx_sum(n->k->ctx, (double *)n->sum, 2 * (size_t)n->chunk);
    for (int64_t i = 0; i < n->rows; i++) {
        const int64_t at = n->first + i - c * n->chunk;
        if (at >= 0 && at < n->chunk) n->size[i] = creal(n->sum[at]), n->whole[i] = cimag(n->sum[at]);
    }
    return status;
}

/* Those of A^H w; and what this rank's rows add to |w|^2, the largest entry of each row taken to be 1. */
static wisp_status multiply(normal *n, int c, double *weight, double *length)
{
    const double factor = wisp__a_factor(n->k);
    memset(n->sum, 0, (size_t)n->chunk * sizeof *n->sum);
    for (int64_t i = 0; i < n->rows && n->meets[c]; i++) {
        int entries;
        const double most = factor * read_row(n, i, &entries);
        const double complex w = wisp__number_at(n->k->type, n->w_number, i);
        if (c == n->weighs) *weight += pow(most * cabs(w), 2), *length += pow(cabs(w), 2);
        for (int e = 0; e < entries; e++) {
            const int64_t at = n->col[e] - c * n->chunk;
            if (at >= 0 && at < n->chunk) n->sum[at] += factor * conj(entry(n, e)) * w;
        }
    }
    return wisp_ctx_sum(n->k->ctx, (double *)n->sum, 2 * (size_t)n->chunk);
}

/* Takes w as it is; or what is large of it, if the rest may be what rounding left where w is 0. */
static wisp_status take(normal *n, bool large)
{
    wisp_status status = WISP_OK;
    const double rows = (double)wisp_map_rows(wisp_mat_map(n->k->A));
    double ww;
    WISP_TRY(wisp_blk_get(n->w, WISP_ROW_MAJOR, n->w_number, 1));
    if (!large) goto out;
    WISP_TRY(wisp_norm(n->w, &ww));
    for (int64_t i = 0; i < n->rows; i++)
        if (cabs(wisp__number_at(n->k->type, n->w_number, i)) <= sqrt(n->k->eps / rows) * ww)
            wisp__number_put(n->k->type, n->w_number, i, 0);
out:
    return status;
}

/* g = C C A^H w. */
static wisp_status find_gradient(normal *n, bool large)
{
    wisp_status status = WISP_OK;
    const double most = wisp__is_single(n->k->type) ? 0x1p40 : 0x1p300; /* of C, that there are squares of it */
    double all[5] = {0}; /* |C A^H w|^2 as C is, as it ought to be; |w|^2; the last two with A's rows as they are */
    WISP_TRY(take(n, large));
    for (int c = 0; c < n->chunks; c++) {
        WISP_TRY(multiply(n, c, &all[2], &all[4]));
        for (int64_t i = 0; i < n->rows; i++) {
            const int64_t at = n->first + i - c * n->chunk;
            if (at < 0 || at >= n->chunk) continue;
            const double scale = n->size[i] > 0 ? fmin(1 / n->size[i], most) : 0;
            all[0] += pow(scale * cabs(n->sum[at]), 2);
            const double part = n->size[i] > 0 ? cabs(n->sum[at]) / n->size[i] : 0;
            const double plain = n->whole[i] > 0 ? cabs(n->sum[at]) / n->whole[i] : 0;
            all[1] += part > 0 ? fmax(part * part, DBL_MIN) : 0; /* not 0 where |w|^2, too, is too small for a number */
            all[3] += plain > 0 ? fmax(plain * plain, DBL_MIN) : 0;
            wisp__number_put(n->k->type, n->g_number, i, scale * (scale * n->sum[at]));
        }
    }
    WISP_TRY(wisp_ctx_sum(n->k->ctx, all, 5));
    n->part = all[1] > 0 ? fmax(sqrt(all[1] / all[2]), sqrt(all[3] / all[4])) : 0;
    if (!large) n->gg = all[0];
out:
    return status;
}

/* Column j of b, as methods see it, in a block of one column. */
static wisp_status column_of_b(wisp__krylov *k, int j, wisp_blk *to)
{
    wisp_status status = WISP_OK;
    wisp_blk *b = NULL;
    WISP_TRY(wisp_blk_cols(&b, (wisp_blk *)(uintptr_t)k->b, j, 1)); /* it is read alone */
    WISP_TRY(wisp_copy(to, b));
    WISP_TRY(wisp__scale_column(k, to, k->col[j].b_exponent));
out:
    wisp_blk_free(b);
    return status;
}

wisp_status wisp__least_residual(wisp__krylov *k, int j, const wisp_blk *w, wisp_blk *b, double *least)
{
    wisp_status status = WISP_OK;
    wisp_scalar wb;
    double ww;
    WISP_TRY(column_of_b(k, j, b));
    WISP_TRY(wisp_dot(w, b, &wb));
    WISP_TRY(wisp_norm(w, &ww));
    *least = hypot(wb.re, wb.im) / ww;
out:
    return status;
}

/* w becomes r; or b, where x is so long that rounding hides what r has to do with it. */
static wisp_status begin(normal *n, int j)
{
    wisp_status status = WISP_OK;
    wisp__krylov *k = n->k;
    const wisp__krylov_column *c = &k->col[j];
    wisp_blk *r = NULL, *x = NULL;
    double xx;
    WISP_TRY(wisp_blk_cols(&r, k->r, j, 1));
    WISP_TRY(wisp_blk_cols(&x, k->x, j, 1));
    WISP_TRY(wisp_norm(x, &xx));
    n->anew = sqrt(k->eps) * k->anorm * xx > sqrt(c->verified);
    status = n->anew ? column_of_b(k, j, n->w) : wisp_copy(n->w, r);
out:
    wisp_blk_free(r);
    wisp_blk_free(x);
    return status;
}

/* Chunks as large as the fewest rows that a rank has, for all ranks hold one; but not too small. */
static wisp_status cut(normal *n, int64_t rows)
{
    enum { LEAST = 1024 };
    wisp_ctx *ctx = n->k->ctx;
    const int ranks = wisp_ctx_processes(ctx);
    double *local = NULL, least = INFINITY;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &local, (size_t)ranks, sizeof *local));
    local[wisp_ctx_rank(ctx)] = (double)n->rows;
    WISP_TRY(wisp_ctx_sum(ctx, local, (size_t)ranks));
    for (int i = 0; i < ranks; i++) least = fmin(least, local[i]);
    n->chunk = (int64_t)fmin(fmax(least, LEAST), fmax((double)rows, 1));
    n->chunks = (int)((rows + n->chunk - 1) / n->chunk);
out:
    wisp_free(ctx, local);
    return status;
}

static wisp_status make(normal *n)
{
    wisp_status status = WISP_OK;
    wisp__krylov *k = n->k;
    wisp_blk **const block[] = {&n->w, &n->z, &n->p, &n->q};
    wisp_map *map = wisp_mat_map(k->A);
    const size_t size = wisp_type_size(k->type);
    n->rows = wisp_map_local(map, &n->first);
    WISP_TRY(cut(n, wisp_map_rows(map)));
    WISP_TRY(wisp_src_open_mat(&n->src, k->A));
    WISP_TRY(wisp_alloc(k->ctx, &n->meets, (size_t)n->chunks, 1));
    WISP_TRY(wisp_alloc(k->ctx, &n->col, (size_t)n->src.max_row, sizeof *n->col));
    WISP_TRY(wisp_alloc(k->ctx, &n->val, (size_t)n->src.max_row, sizeof(double complex)));
    WISP_TRY(wisp_alloc(k->ctx, &n->w_number, (size_t)n->rows, size));
    WISP_TRY(wisp_alloc(k->ctx, &n->g_number, (size_t)n->rows, size));
    WISP_TRY(wisp_alloc(k->ctx, &n->sum, (size_t)n->chunk, sizeof *n->sum));
    WISP_TRY(wisp_alloc(k->ctx, &n->size, (size_t)n->rows, sizeof *n->size));
    WISP_TRY(wisp_alloc(k->ctx, &n->whole, (size_t)n->rows, sizeof *n->whole));
    for (int i = 0; i < 4; i++) WISP_TRY(wisp_blk_create(block[i], k->ctx, map, k->type, 1));
    for (int c = 0; c < n->chunks; c++) WISP_TRY(measure(n, c));
    while (n->weighs < n->chunks && !n->meets[n->weighs]) n->weighs++;
out:
    return status;
}

static void release(normal *n)
{
    wisp_ctx *ctx = n->k->ctx;
    wisp_src_close(&n->src);
    wisp_free(ctx, n->meets);
    wisp_free(ctx, n->col);
    wisp_free(ctx, n->val);
    wisp_free(ctx, n->w_number);
    wisp_free(ctx, n->g_number);
    wisp_free(ctx, n->sum);
    wisp_free(ctx, n->size);
    wisp_free(ctx, n->whole);
    wisp_blk_free(n->w);
    wisp_blk_free(n->z);
    wisp_blk_free(n->p);
    wisp_blk_free(n->q);
}

static wisp_status product(normal *n, wisp_blk *y, const wisp_blk *x, double factor, double beta)
{
    const wisp_aug aug = {.terms = WISP_SCALE | (beta != 0 ? WISP_AXPBY : 0),
                          .alpha = wisp__real(factor * wisp__a_factor(n->k)),
                          .beta = wisp__real(beta)};
    return wisp_spmmv(y, n->k->A, x, &aug);
}

/* One step: z becomes that which makes |r - A z| less, w = r - A z. */
static wisp_status step(normal *n)
{
    wisp_status status = WISP_OK;
    const double before = n->gg;
    double qq;
    WISP_TRY(product(n, n->q, n->p, 1, 0));
    WISP_TRY(wisp_norm(n->q, &qq));
    const double alpha = before / qq / qq;
    if (!isfinite(alpha)) {
        n->gg = 0;
        goto out;
    }
    WISP_TRY(wisp_axpby(n->z, wisp__real(alpha), n->p, wisp__real(1)));
    WISP_TRY(wisp_axpby(n->w, wisp__real(-alpha), n->q, wisp__real(1)));
    WISP_TRY(find_gradient(n, false));
    WISP_TRY(wisp_blk_put(n->q, WISP_ROW_MAJOR, n->g_number, 1));
    WISP_TRY(wisp_axpby(n->p, wisp__real(1), n->q, wisp__real(n->gg / before)));
out:
    return status;
}

/* Steps until A^H w is rounding, and *found; or it no longer falls, or there have been many. */
static wisp_status iterate(normal *n, int64_t most, bool *found)
{
    enum { FEW = 200, EVERY = 8 };
    wisp_status status = WISP_OK;
    wisp__krylov *k = n->k;
    const double enough = ROUNDING * k->eps;
    double least = INFINITY, ww;
    int64_t least_at = 0;
    *found = false;
    WISP_TRY(find_gradient(n, false));
    WISP_TRY(wisp_blk_put(n->p, WISP_ROW_MAJOR, n->g_number, 1));
    for (int64_t i = 0;; i++) {
        if (n->part < 0.5 * least) least = n->part, least_at = i;
        WISP_TRY(wisp_norm(n->w, &ww));
        if (!(ww > k->eps)) break; /* there is a solution: what is left of r, about 1 in the beginning, is rounding */
        const bool last = i >= most || !(n->gg > 0) || i - least_at > FEW + i / 2;
        *found = n->part <= enough;
        if (!*found && (last || i % EVERY == 0)) {
            WISP_TRY(find_gradient(n, true));
            *found = n->part <= enough;
        }
        if (*found || last) break;
        status = wisp_ctx_step(k->ctx, "proving", k->progress, 0);
        k->together = status != WISP_OK;
        if (status != WISP_OK) goto out;
        n->steps++;
        WISP_TRY(step(n));
    }
    if (*found) WISP_TRY(wisp_blk_put(n->w, WISP_ROW_MAJOR, n->w_number, 1));
out:
    return status;
}

/* Whether w shows that x, or what z makes of it, makes |r| least, to 1%. That becomes x. */
static wisp_status compare(normal *n, int j, bool *least)
{
    wisp_status status = WISP_OK;
    wisp__krylov *k = n->k;
    wisp__krylov_column *c = &k->col[j];
    wisp_blk *x = NULL;
    double bound, rr;
    WISP_TRY(wisp_blk_cols(&x, k->x, j, 1));
    WISP_TRY(wisp__least_residual(k, j, n->w, n->q, &bound)); /* q = b */
    if (!n->anew) WISP_TRY(wisp_axpby(n->z, wisp__real(1), x, wisp__real(1)));
    WISP_TRY(product(n, n->q, n->z, -1, 1));
    WISP_TRY(wisp_norm(n->q, &rr));
    const double was = sqrt(c->verified);
    const bool better = n->anew || rr < was;
    *least = bound > 0.99 * (better ? rr : was) && fmin(bound, rr) > sqrt(c->target);
    if (!*least || !better) goto out;
    WISP_TRY(wisp_copy(x, n->z));
    c->verified = c->best = rr * rr;
    c->given = false;
out:
    wisp_blk_free(x);
    return status;
}

wisp_status wisp__prove_any(wisp__krylov *k, int j, bool *least)
{
    enum { FEW = 500 };
    normal n = {.k = k};
    wisp_status status = WISP_OK;
    int exponent;
    wisp__krylov_column *c = &k->col[j];
    const int64_t left = wisp__proof_steps(c) - c->proving, own = 4 * c->iterations + FEW;
    const int64_t most = left < own ? left : own;
    double ww;
    bool found;
    *least = false;
    if (most <= 0) goto out;
    WISP_TRY(make(&n));
    WISP_TRY(begin(&n, j));
    WISP_TRY(wisp_norm(n.w, &ww));
    exponent = -ilogb(ww); /* w is about 1 long, so that squares stay in range */
    WISP_TRY(wisp__scale_column(k, n.w, exponent));
    WISP_TRY(iterate(&n, most < k->o.max_iterations ? most : k->o.max_iterations, &found));
    if (!found) goto out;
    WISP_TRY(wisp__scale_column(k, n.z, -exponent));
    WISP_TRY(compare(&n, j, least));
out:
    c->proving += n.steps;
    release(&n);
    return status;
}
