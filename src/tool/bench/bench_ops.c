/* What `wisp bench` times: a table of ops and one of their variants, and the step of each. */
#include "bench.h"
#include <math.h>

static wisp_scalar real(double x) { return (wisp_scalar){x, 0}; }

static void turn(bench_runner *r)
{
    wisp_blk *v = r->v;
    r->v = r->w;
    r->w = v;
}

/* ---- products with the matrix -------------------------------------------------------------------- */

static wisp_status step_product(bench_runner *r) { return wisp_spmmv(r->w, r->A, r->v, NULL); }

/* Figure 5 of the KPM paper: all in one pass. */
static wisp_status step_kpm(bench_runner *r)
{
    const wisp_aug aug = {
        .terms = KPM_TERMS, .alpha = real(2 / r->halfwidth), .beta = real(-1), .shift = r->shift, .dot = r->dot};
    const wisp_status status = wisp_spmmv(r->w, r->A, r->v, &aug);
    turn(r);
    return status;
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
    turn(r);
out:
    return status;
}

static wisp_status step_reference(bench_runner *r)
{
    return bench_reference_step(r->reference, 2 / r->halfwidth, r->center, -1, r->dot);
}

/* alpha, beta, gamma of so many steps of the Chebyshev recurrence. */
static wisp_status set_recurrence(bench_runner *r, int steps)
{
    const wisp_status status = wisp_alloc(r->ctx, &r->X, 3 * (size_t)steps, sizeof *r->X);
    for (int k = 0; k < steps && status == WISP_OK; k++) {
        r->X[k] = real(2 / r->halfwidth);
        r->X[steps + k] = real(-1);
        r->X[2 * steps + k] = real(r->center);
    }
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
    status = set_recurrence(r, powers);
out:
    return status;
}

static wisp_mpk_opts mpk_opts(bench_runner *r)
{
    return (wisp_mpk_opts){
        .steps = r->what.powers, .depth = r->what.depth, .cache_budget = r->what.cache_budget, .depth_used = &r->depth};
}

/* It starts anew with each call. */
static wisp_status step_powers(bench_runner *r)
{
    const wisp_mpk_opts o = mpk_opts(r);
    return wisp_mpk(r->list, o.steps + 2, r->A, &o);
}

/* It goes on where the call before has stopped. */
static wisp_status step_chebyshev(bench_runner *r)
{
    wisp_mpk_opts o = mpk_opts(r);
    o.alpha = r->X;
    o.beta = r->X + o.steps;
    o.gamma = r->X + 2 * o.steps;
    o.terms = KPM_TERMS & (WISP_DOT_XX | WISP_DOT_XY);
    o.dot = r->dot;
    const wisp_status status = wisp_mpk(r->list, 2, r->A, &o);
    if (o.steps % 2) {
        wisp_blk *last = r->list[0];
        r->list[0] = r->list[1];
        r->list[1] = last;
    }
    return status;
}

/* ---- the filter of wisp eig ------------------------------------------------------------------------ */

enum { CALL = 32 }; /* steps of a call of wisp_mpk */

/* The cost is the mean of two products, the first of which has no y of before: u is read as it is written. */
static wisp_status open_squares(bench_runner *r)
{
    const int width = r->what.width;
    const double block = (double)r->info.rows * width * (double)wisp_type_size(r->what.type);
    wisp_cost one;
    wisp_status status;
    WISP_TRY(wisp_alloc(r->ctx, &r->X, 2 * (size_t)width, sizeof *r->X));
    for (int j = 0; j < width; j++) {
        r->X[j] = real(r->center + r->halfwidth / sqrt(2));
        r->X[width + j] = real(r->center - r->halfwidth / sqrt(2));
    }
    WISP_TRY(wisp_spmmv_cost(r->A, r->what.type, width, WISP_SCALE | WISP_SHIFT, &one));
    r->cost.bytes = r->least_bytes = 0.5 * (r->cost.bytes + one.bytes);
    r->cost.flops = 0.5 * (r->cost.flops + one.flops);
    r->read_bytes = r->cost.bytes - r->write_bytes + 0.5 * block;
out:
    return status;
}

/* A degree of the Chebyshev polynomial of (A - c)^2, which lies in [0, r^2]: 2 scale (A - c - z) (A - c + z) v less the
   polynomial before. scale = 2 / r^2, z = r / sqrt(2). */
static wisp_status step_squares(bench_runner *r)
{
    wisp_status status = WISP_OK;
    const wisp_scalar alpha = real(2 / r->halfwidth);
    const wisp_aug one = {.terms = WISP_SCALE | WISP_SHIFT, .alpha = alpha, .shift = r->X};
    const wisp_aug two = {.terms = STEP_TERMS, .alpha = alpha, .beta = real(-1), .shift = r->X + r->what.width};
    WISP_TRY(wisp_spmmv(r->u, r->A, r->v, &one));
    WISP_TRY(wisp_spmmv(r->w, r->A, r->u, &two));
    turn(r);
out:
    return status;
}

static wisp_status open_steps(bench_runner *r) { return set_recurrence(r, CALL); }

/* A series of steps of the recurrence of A, as many as the filter gives to a call. */
static wisp_status step_steps(bench_runner *r)
{
    wisp_blk *list[] = {r->w, r->v};
    const wisp_mpk_opts o = {
        .steps = CALL, .alpha = r->X, .beta = r->X + CALL, .gamma = r->X + 2 * CALL, .depth_used = &r->depth};
    return wisp_mpk(list, 2, r->A, &o);
}

/* ---- dense blocks ---------------------------------------------------------------------------------- */

static wisp_status gram(bench_runner *r, const wisp_blk *w, unsigned how)
{
    return wisp_tsm_gram(r->dot, r->what.width, real(1), r->v, w, real(0), how);
}

static wisp_status update(bench_runner *r, wisp_blk *w, double beta)
{
    return wisp_tsm_update(w, real(1), r->v, r->X, r->what.width, real(beta));
}

static wisp_status step_gram(bench_runner *r) { return gram(r, r->w, 0); }
static wisp_status step_gram_kahan(bench_runner *r) { return gram(r, r->w, WISP_KAHAN); }
static wisp_status step_update(bench_runner *r) { return update(r, r->w, 0); }
static wisp_status step_update_beta(bench_runner *r) { return update(r, r->w, 0.5); }
static wisp_status step_update_in_place(bench_runner *r) { return update(r, r->v, 0); }
static wisp_status step_dot(bench_runner *r) { return wisp_dot(r->v, r->w, r->dot); }
static wisp_status step_dot_kahan(bench_runner *r) { return wisp_dot_kahan(r->v, r->w, r->dot); }

/* V := V X of orthonormal columns, X upper triangular, two times. The Cholesky factorization of the dots, whose inverse
   is X, is left out: all that it takes is columns^3. */
static wisp_status step_qr(bench_runner *r)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < 2; i++) {
        WISP_TRY(gram(r, r->v, 0));
        WISP_TRY(update(r, r->v, 0));
    }
out:
    return status;
}

/* Rayleigh-Ritz without its products and without the eigenvalues of the small matrix: half of V^H (A V), as many
   columns of A V at a time as a product makes, and V := V X. */
static wisp_status step_ritz(bench_runner *r)
{
    wisp_status status = WISP_OK;
    const int n = r->what.width, block = wisp_blk_width(r->w);
    wisp_blk *left = NULL, *right = NULL;
    for (int j = 0; j < n; j += block) {
        const int w = n - j < block ? n - j : block;
        WISP_TRY(wisp_blk_cols(&left, r->v, 0, j + w));
        WISP_TRY(wisp_blk_cols(&right, r->w, 0, w));
        WISP_TRY(wisp_tsm_gram(r->dot + j, n, real(1), left, right, real(0), 0));
        wisp_blk_free(left);
        wisp_blk_free(right);
        left = right = NULL;
    }
    status = update(r, r->v, 0);
out:
    wisp_blk_free(left);
    wisp_blk_free(right);
    return status;
}

/* ---- the tables ------------------------------------------------------------------------------------ */

name_list bench_op_names = {BENCH_OPS(BENCH_NAME), NULL};
name_list bench_variant_names = {BENCH_VARIANTS(BENCH_NAME), NULL};
_Static_assert((int)BENCH_CHOICES == (int)VARIANT_QR_LAPACK, "options can name all before it");

const bench_op_def bench_ops[] = {
    [BENCH_SPMV] = {bench_rows_one, .is = OP_MATRIX, .widths = {1}},
    [BENCH_SPMMV] = {bench_rows_one, .is = OP_MATRIX},
    [BENCH_KPM] = {bench_rows_one, .is = OP_MATRIX | OP_SQUARE | OP_BOUNDS | OP_OF_GEMM},
    [BENCH_MPK] = {bench_rows_one, .is = OP_MATRIX | OP_SQUARE | OP_OF_GEMM, .own = "powers depth cache-budget",
                   .measures = WISP_MEASURE_KEPT | WISP_MEASURE_EXCHANGE},
    [BENCH_TSM] = {bench_rows_one, .is = OP_OF_GEMM, .own = "rows", .refuses = "order format",
                   .widths = {4, 8, 16, 32}},
    [BENCH_STREAM] = {.refuses = "widths types variant against repeats order format rows",
                      .measures = WISP_MEASURE_MEMORY | WISP_MEASURE_CACHES},
    [BENCH_SOLVE] = {bench_rows_solve, .is = OP_MATRIX | OP_SQUARE | OP_OF_BYTES, .own = "method", .widths = {1}},
    [BENCH_EIG] = {bench_rows_filter, .more = bench_rows_dense,
                   .is = OP_MATRIX | OP_SQUARE | OP_BOUNDS | OP_OF_GEMM | OP_OF_BYTES, .own = "columns",
                   .refuses = "against", .widths = {1}},
};

static const bench_kind kinds[] = {
    {BENCH_SPMV, VARIANT_BLOCKED, .step = step_product},
    {BENCH_SPMMV, VARIANT_BLOCKED, .step = step_product},
    {BENCH_KPM, VARIANT_BLOCKED, .step = step_kpm, .terms = KPM_TERMS},
    {BENCH_KPM, VARIANT_NAIVE, .step = step_naive, .terms = KPM_TERMS, .third = true},
    {BENCH_KPM, VARIANT_REFERENCE, .step = step_reference, .terms = KPM_TERMS},
    {BENCH_MPK, VARIANT_CHEBYSHEV, .step = step_chebyshev, .open = open_mpk, .terms = KPM_TERMS},
    {BENCH_MPK, VARIANT_POWERS, .step = step_powers, .open = open_mpk},
    /* Blocks that are read and written, large products (0: a dot of each column), blocks that are touched. */
    {BENCH_TSM, VARIANT_GRAM, .step = step_gram, .dense = {2, 0, 1, 2}},
    {BENCH_TSM, VARIANT_GRAM_KAHAN, .step = step_gram_kahan, .dense = {2, 0, 1, 2}},
    {BENCH_TSM, VARIANT_UPDATE, .step = step_update, .dense = {1, 1, 1, 2}, .past = true},
    {BENCH_TSM, VARIANT_UPDATE_BETA, .step = step_update_beta, .dense = {2, 1, 1, 2}},
    {BENCH_TSM, VARIANT_UPDATE_IN_PLACE, .step = step_update_in_place, .dense = {1, 1, 1, 1}},
    {BENCH_TSM, VARIANT_DOT, .step = step_dot, .dense = {2, 0, 0, 2}},
    {BENCH_TSM, VARIANT_DOT_KAHAN, .step = step_dot_kahan, .dense = {2, 0, 0, 2}},
    {BENCH_TSM, VARIANT_GRAM_BLAS, .blas = "gram", .dense = {2, 0, 1, 2}},
    {BENCH_TSM, VARIANT_UPDATE_BLAS, .blas = "update", .dense = {1, 1, 1, 2}},
    {BENCH_TSM, VARIANT_UPDATE_BETA_BLAS, .blas = "update_beta", .dense = {2, 1, 1, 2}},
    {BENCH_SOLVE, VARIANT_PREDICT, .open = bench_solve_open, .time = bench_solve_time},
    {BENCH_SOLVE, VARIANT_PIPELINED, .open = bench_solve_open, .time = bench_solve_time},
    {BENCH_SOLVE, VARIANT_CLASSICAL, .open = bench_solve_open, .time = bench_solve_time},
    {BENCH_EIG, VARIANT_SQUARES, .step = step_squares, .open = open_squares, .terms = STEP_TERMS, .third = true,
     .calls = 2},
    {BENCH_EIG, VARIANT_STEPS, .step = step_steps, .open = open_steps, .terms = STEP_TERMS, .calls = CALL},
    {BENCH_EIG, VARIANT_KPM_STEP, .step = step_kpm, .terms = KPM_TERMS},
    /* Complex columns: 16 n k^2 operations of two passes of Cholesky-QR, and of LAPACK's two calls. */
    {BENCH_EIG, VARIANT_QR, .step = step_qr, .dense = {4, 2, 2, 1}},
    {BENCH_EIG, VARIANT_QR_LAPACK, .blas = "qr", .dense = {4, 2, 2, 1}},
    {BENCH_EIG, VARIANT_RITZ, .step = step_ritz, .dense = {3, 1, 1.5, 1}},
};

static const bench_kind *find_kind(bench_op op, int variant)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].op == op && (int)kinds[i].variant == variant) return &kinds[i];
    return NULL;
}

const bench_kind *bench_kind_of(const bench_case *c) { return find_kind(c->op, (int)c->variant); }

bool bench_is_dense(const bench_case *c) { return bench_kind_of(c)->dense.blocks > 0; }

bool bench_has_variant(bench_op op, int variant) { return variant < BENCH_CHOICES && find_kind(op, variant); }
