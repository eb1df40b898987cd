/* The steps that `wisp bench` times. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

name_list bench_op_names = {"spmv", "spmmv", "kpm", "mpk", "tsm", "stream", "solve", "eig", NULL};
name_list bench_variant_names = {"blocked", "naive",      "reference", "chebyshev",   "powers",
                                 "gram",    "gram_kahan", "update",    "update_beta", "update_in_place",
                                 "dot",     "dot_kahan",  "gram_blas", "update_blas", "update_beta_blas",
                                 "predict", "pipelined",  "classical", "squares",     "steps",
                                 "qr",      "ritz",       "qr_lapack", "kpm_step"};
static const unsigned kpm_terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY;

/* The step of Figure 5, by itself or as one of several. */
static bool is_kpm(const bench_case *c) { return c->op == BENCH_KPM || c->variant == VARIANT_KPM_STEP; }
static bool is_fused(const bench_case *c) { return is_kpm(c) || c->variant == VARIANT_CHEBYSHEV; }

/* Apart from its yardsticks. */
static bool is_eig(const bench_case *c)
{
    return c->op == BENCH_EIG && c->variant != VARIANT_KPM_STEP && !bench_is_blas(c->variant);
}

static wisp_scalar real(double x) { return (wisp_scalar){x, 0}; }

/* ---- the steps ----------------------------------------------------------------------------------- */

/* Figure 5 of the KPM paper: all in one pass. */
static wisp_status step_blocked(bench_runner *r)
{
    wisp_aug aug = {
        .terms = kpm_terms, .alpha = real(2 / r->halfwidth), .beta = real(-1), .shift = r->shift, .dot = r->dot};
    return wisp_spmmv(r->w, r->A, r->v, &aug);
}

/* Figure 3: separate operations. */
static wisp_status step_naive(bench_runner *r)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_spmmv(r->u, r->A, r->v, NULL));
    WISP_TRY(wisp_axpy(r->u, real(-r->center), r->v));
    WISP_TRY(wisp_scal(r->w, real(-1)));
    WISP_TRY(wisp_axpy(r->w, real(2 / r->halfwidth), r->u));
    WISP_TRY(wisp_dot(r->v, r->v, r->dot));
    WISP_TRY(wisp_dot(r->w, r->v, r->dot + r->what.width));
out:
    return status;
}

/* Chebyshev steps go on where the call before has stopped; powers start anew. */
static wisp_status step_mpk(bench_runner *r)
{
    const int powers = r->what.powers;
    wisp_mpk_opts o = {
        .steps = powers, .depth = r->what.depth, .cache_budget = r->what.cache_budget, .depth_used = &r->depth};
    if (!is_fused(&r->what)) return wisp_mpk(r->list, powers + 2, r->A, &o);
    o.alpha = r->X;
    o.beta = r->X + powers;
    o.gamma = r->X + 2 * powers;
    o.terms = kpm_terms & (WISP_DOT_XX | WISP_DOT_XY);
    o.dot = r->dot;
    wisp_status status = wisp_mpk(r->list, 2, r->A, &o);
    if (powers % 2) {
        wisp_blk *last = r->list[0];
        r->list[0] = r->list[1];
        r->list[1] = last;
    }
    return status;
}

static wisp_status step_tsm(bench_runner *r)
{
    const int width = r->what.width;
    switch (r->what.variant) {
    case VARIANT_GRAM: return wisp_tsm_gram(r->dot, width, real(1), r->v, r->w, real(0), 0);
    case VARIANT_GRAM_KAHAN: return wisp_tsm_gram(r->dot, width, real(1), r->v, r->w, real(0), WISP_KAHAN);
    case VARIANT_UPDATE_BETA: return wisp_tsm_update(r->w, real(1), r->v, r->X, width, real(0.5));
    case VARIANT_UPDATE_IN_PLACE: return wisp_tsm_update(r->v, real(1), r->v, r->X, width, real(0));
    case VARIANT_DOT: return wisp_dot(r->v, r->w, r->dot);
    case VARIANT_DOT_KAHAN: return wisp_dot_kahan(r->v, r->w, r->dot);
    default: return wisp_tsm_update(r->w, real(1), r->v, r->X, width, real(0));
    }
}

wisp_status bench_step(bench_runner *r)
{
    double seconds;
    if (r->blas.pid) return bench_blas_time(r, 1, &seconds);
    if (r->what.op == BENCH_SOLVE) return bench_solve_time(r, 1, &seconds);
    if (is_eig(&r->what)) return bench_eig_time(r, 1, &seconds);
    if (r->what.op == BENCH_TSM) return step_tsm(r);
    if (r->what.op == BENCH_MPK) return step_mpk(r);
    if (!is_kpm(&r->what)) return wisp_spmmv(r->w, r->A, r->v, NULL);
    if (r->what.variant == VARIANT_REFERENCE)
        return bench_reference_step(r->reference, 2 / r->halfwidth, r->center, -1, r->dot);
    wisp_status status = r->what.variant == VARIANT_NAIVE ? step_naive(r) : step_blocked(r);
    wisp_blk *v = r->v;
    r->v = r->w;
    r->w = v;
    return status;
}

wisp_status bench_time(bench_runner *r, int64_t steps, double *seconds)
{
    if (r->blas.pid) return bench_blas_time(r, steps, seconds);
    if (r->what.op == BENCH_SOLVE) return bench_solve_time(r, steps, seconds);
    if (is_eig(&r->what)) return bench_eig_time(r, steps, seconds);
    const double start = wisp_now();
    for (int64_t i = 0; i < steps; i++) {
        wisp_status status = bench_step(r);
        if (status != WISP_OK) return status;
    }
    *seconds = (wisp_now() - start) / (double)(steps * r->what.powers);
    return WISP_OK;
}

wisp_status bench_find_steps(bench_runner *r, double wanted, int64_t *steps)
{
    enum { MOST = 1 << 20 };
    double seconds;
    wisp_status status = bench_time(r, 1, &seconds);
    *steps = 1;
    for (; status == WISP_OK && *steps < MOST; *steps *= 2) {
        status = bench_time(r, *steps, &seconds);
        if (seconds * (double)(*steps * r->what.powers) >= wanted) break;
    }
    return status;
}

/* ---- what a step needs --------------------------------------------------------------------------- */

/* Whether a plain product writes y past the caches: large with its matrix, in whole cache lines (or single real
   columns). */
bool bench_stores_past(const bench_runner *r, double block)
{
    const size_t row = (size_t)r->what.width * wisp_type_size(r->what.type);
    const bool single = r->what.width == 1 && !wisp_type_is_complex(r->what.type);
    return block + (double)r->info.bytes >= 64 << 20 && (row % 64 == 0 || single) &&
           r->info.format != WISP_FORMAT_HERMITIAN;
}

/* Of one step, if the matrix and what is there at the start come from memory once for all steps of a call, and what
   stays goes back: the last two vectors, or all. */
static double least_bytes(const bench_runner *r, double block)
{
    const int powers = r->what.powers, more = powers < 2 ? 0 : r->what.variant == VARIANT_POWERS ? powers - 1 : 1;
    return (r->cost.bytes + more * block) / powers;
}

/* Least traffic and operations of one step; the naive one goes over its vectors thirteen times (table I). What is
   written without having been read is read, too, unless it is stored past the caches, as the update does. */
static wisp_status find_cost(bench_runner *r)
{
    const bench_case *c = &r->what;
    const bool fused = is_fused(c), kept = c->variant == VARIANT_POWERS;
    const double block = (double)r->info.rows * c->width * (double)wisp_type_size(c->type);
    wisp_status status = wisp_spmmv_cost(r->A, c->type, c->width, fused ? kpm_terms : 0, &r->cost);
    r->working_bytes = (double)r->info.bytes + block * (c->variant == VARIANT_NAIVE ? 3 : kept ? c->powers + 1 : 2);
    r->gather_bytes = (double)r->info.cols * c->width * (double)wisp_type_size(c->type);
    r->write_bytes = block;
    if (c->variant == VARIANT_NAIVE) {
        r->cost.bytes += (13 - 3) * block;
        r->write_bytes += 3 * block;
    }
    r->read_bytes = r->cost.bytes - r->write_bytes;
    r->least_bytes = least_bytes(r, block);
    r->stores_past = !fused && bench_stores_past(r, block);
    if ((!fused && !r->stores_past) || c->variant == VARIANT_NAIVE) r->read_bytes += block;
    wisp_gather gather = {1, 0};
    if (status == WISP_OK) status = wisp_mat_gather(r->A, c->type, c->width, &gather);
    r->gather_excess = gather.excess;
    return status;
}

static void find_tsm_cost(bench_runner *r)
{
    const bench_case *c = &r->what;
    const bool dot = c->variant == VARIANT_DOT || c->variant == VARIANT_DOT_KAHAN;
    const bool gram =
        dot || c->variant == VARIANT_GRAM || c->variant == VARIANT_GRAM_KAHAN || c->variant == VARIANT_GRAM_BLAS;
    const bool beta = c->variant == VARIANT_UPDATE_BETA || c->variant == VARIANT_UPDATE_BETA_BLAS;
    const double block = (double)c->rows * c->width * (double)wisp_type_size(c->type);
    r->read_bytes = gram || beta ? 2 * block : block;
    r->write_bytes = gram ? 0 : block;
    r->cost.bytes = r->least_bytes = r->read_bytes + r->write_bytes;
    r->stores_past = c->variant == VARIANT_UPDATE;
    if (c->variant == VARIANT_UPDATE_BLAS) r->read_bytes += block;
    r->cost.flops = (wisp_type_is_complex(c->type) ? 8.0 : 2.0) * (double)c->rows * c->width * (dot ? 1 : c->width);
    r->working_bytes = c->variant == VARIANT_UPDATE_IN_PLACE ? block : 2 * block;
}

/* ---- matrix and blocks --------------------------------------------------------------------------- */

wisp_type bench_matrix_type(wisp_type source, wisp_type block)
{
    const bool is_double = block == WISP_D || block == WISP_Z;
    if (wisp_type_is_complex(source)) return is_double ? WISP_Z : WISP_C;
    return is_double ? WISP_D : WISP_S;
}

static wisp_status make_blocks(bench_runner *r, wisp_map *rows, wisp_map *cols)
{
    wisp_status status = WISP_OK;
    const bench_case *c = &r->what;
    WISP_TRY(wisp_blk_create(&r->v, r->ctx, cols, c->type, c->width));
    WISP_TRY(wisp_blk_create(&r->w, r->ctx, rows, c->type, c->width));
    if (c->variant == VARIANT_NAIVE || c->variant == VARIANT_SQUARES)
        WISP_TRY(wisp_blk_create(&r->u, r->ctx, rows, c->type, c->width));
    WISP_TRY(wisp_blk_fill_random(r->v, WISP_RANDOM_TRACE, 1, 0, 0));
out:
    return status;
}

static wisp_status open_mpk(bench_runner *r)
{
    wisp_status status = WISP_OK;
    const int powers = r->what.powers;
    const bool kept = r->what.variant == VARIANT_POWERS;
    WISP_TRY(wisp_alloc(r->ctx, &r->list, (size_t)powers + 2, sizeof *r->list));
    r->list[kept ? 2 : 0] = r->w;
    r->list[1] = r->v;
    for (int k = 2; kept && k <= powers; k++)
        WISP_TRY(wisp_blk_create(&r->list[k + 1], r->ctx, wisp_mat_map(r->A), r->what.type, r->what.width));
    WISP_TRY(wisp_alloc(r->ctx, &r->X, 3 * (size_t)powers, sizeof *r->X));
    for (int k = 0; k < powers; k++) {
        r->X[k] = real(2 / r->halfwidth);
        r->X[powers + k] = real(-1);
        r->X[2 * powers + k] = real(r->center);
    }
out:
    return status;
}

static wisp_status open_tsm(bench_runner *r)
{
    wisp_status status = WISP_OK;
    wisp_map *map = NULL;
    const int width = r->what.width;
    WISP_TRY(wisp_map_create(&map, r->ctx, r->what.rows));
    find_tsm_cost(r);
    if (bench_is_blas(r->what.variant)) goto out;
    WISP_TRY(make_blocks(r, map, map));
    WISP_TRY(wisp_blk_fill_random(r->w, WISP_RANDOM_TRACE, 1, 1, 0));
    WISP_TRY(wisp_alloc(r->ctx, &r->X, (size_t)width * (size_t)width, sizeof *r->X));
    for (int i = 0; i < width * width; i++) r->X[i] = real(1.0 / width); /* steps in place stay bounded */
out:
    wisp_map_free(map);
    return status;
}

/* The reference's CRS matrix is its own; the costs are those of the same matrix here. */
static wisp_status open_matrix(bench_runner *r, const wisp_src *src)
{
    wisp_status status = WISP_OK;
    const bench_case *c = &r->what;
    const bool reference = c->variant == VARIANT_REFERENCE;
    const wisp_mat_opts mo = {.type = bench_matrix_type(src->type, c->type),
                              .width = c->width,
                              .order = reference ? WISP_ROWS_NATURAL : c->order,
                              .format = reference ? WISP_FORMAT_SELL : c->format};
    WISP_TRY(wisp_mat_create(&r->A, r->ctx, src, &mo));
    wisp_mat_get_info(r->A, &r->info);
    WISP_TRY(find_cost(r));
    if (reference) {
        wisp_mat_free(r->A);
        r->A = NULL;
        WISP_TRY(bench_reference_open(&r->reference, r->ctx, src, c->width, 1));
    } else {
        WISP_TRY(make_blocks(r, wisp_mat_map(r->A), wisp_mat_col_map(r->A)));
        if (c->op == BENCH_MPK) WISP_TRY(open_mpk(r));
        if (c->op == BENCH_SOLVE) WISP_TRY(bench_solve_open(r));
        if (is_eig(c)) WISP_TRY(bench_eig_open(r));
    }
out:
    return status;
}

wisp_status bench_open(bench_runner *r, wisp_ctx *ctx, const wisp_src *src)
{
    wisp_status status = WISP_OK;
    const size_t width = (size_t)r->what.width, dots = 3 * (size_t)r->what.powers;
    r->ctx = ctx;
    WISP_TRY(wisp_alloc(ctx, &r->shift, width, sizeof *r->shift));
    WISP_TRY(wisp_alloc(ctx, &r->dot, (width > dots ? width : dots) * width, sizeof *r->dot));
    for (size_t j = 0; j < width; j++) r->shift[j] = real(r->center);
    WISP_TRY(r->what.op == BENCH_TSM    ? open_tsm(r)
             : bench_is_dense(&r->what) ? bench_eig_open_dense(r)
                                        : open_matrix(r, src));
out:
    return status;
}

void bench_close(bench_runner *r)
{
    wisp_blk_free(r->v);
    wisp_blk_free(r->w);
    wisp_blk_free(r->u);
    for (int k = 2; r->list && r->what.variant == VARIANT_POWERS && k <= r->what.powers; k++)
        wisp_blk_free(r->list[k + 1]);
    bench_reference_close(r->reference);
    bench_blas_close(r);
    if (r->ctx) {
        wisp_free(r->ctx, r->shift);
        wisp_free(r->ctx, r->dot);
        wisp_free(r->ctx, r->X);
        wisp_free(r->ctx, r->list);
    }
    wisp_mat_free(r->A);
    *r = (bench_runner){0};
}
