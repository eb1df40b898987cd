/* The parts of `wisp eig` that take its time, as `wisp bench eig` times them: products of the filter beside the step of
   `wisp bench kpm`, and the dense operations on the search space beside LAPACK's. */
#include "bench.h"
#include <math.h>

enum { CALL = 32 }; /* steps of a call of wisp_mpk */

static wisp_scalar real(double x) { return (wisp_scalar){x, 0}; }

bool bench_is_dense(const bench_case *c)
{
    return c->op == BENCH_TSM || c->variant == VARIANT_QR || c->variant == VARIANT_QR_LAPACK ||
           c->variant == VARIANT_RITZ;
}

/* ---- the filter ---------------------------------------------------------------------------------- */

/* A degree of the Chebyshev polynomial of (A - c)^2, which lies in [0, r^2]: 2 scale (A - c - z) (A - c + z) v less the
   polynomial before. scale = 2 / r^2, z = r / sqrt(2). */
static wisp_status step_squares(bench_runner *r)
{
    wisp_status status = WISP_OK;
    const wisp_scalar alpha = real(2 / r->halfwidth);
    wisp_scalar *minus = r->X, *plus = r->X + r->what.width;
    const wisp_aug one = {.terms = WISP_SCALE | WISP_SHIFT, .alpha = alpha, .shift = minus};
    const wisp_aug two = {
        .terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY, .alpha = alpha, .beta = real(-1), .shift = plus};
    WISP_TRY(wisp_spmmv(r->u, r->A, r->v, &one));
    WISP_TRY(wisp_spmmv(r->w, r->A, r->u, &two));
    wisp_blk *v = r->v;
    r->v = r->w;
    r->w = v;
out:
    return status;
}

/* A series of steps of the recurrence of A, as many as the filter gives to a call. */
static wisp_status step_steps(bench_runner *r)
{
    wisp_blk *list[] = {r->w, r->v};
    const wisp_mpk_opts o = {
        .steps = CALL, .alpha = r->X, .beta = r->X + CALL, .gamma = r->X + 2 * CALL, .depth_used = &r->depth};
    return wisp_mpk(list, 2, r->A, &o);
}

wisp_status bench_eig_open(bench_runner *r)
{
    wisp_status status = WISP_OK;
    const bench_case *c = &r->what;
    const bool squares = c->variant == VARIANT_SQUARES;
    const unsigned terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY;
    const int width = c->width;
    const double block = (double)r->info.rows * width * (double)wisp_type_size(c->type);
    wisp_cost one;
    WISP_TRY(wisp_alloc(r->ctx, &r->X, (size_t)(squares ? 2 * width : 3 * CALL), sizeof *r->X));
    for (int j = 0; squares && j < width; j++) {
        r->X[j] = real(r->center + r->halfwidth / sqrt(2));
        r->X[width + j] = real(r->center - r->halfwidth / sqrt(2));
    }
    for (int k = 0; !squares && k < CALL; k++) {
        r->X[k] = real(2 / r->halfwidth);
        r->X[CALL + k] = real(-1);
        r->X[2 * CALL + k] = real(r->center);
    }
    WISP_TRY(wisp_spmmv_cost(r->A, c->type, width, terms, &r->cost));
    if (squares) { /* the mean of its two products */
        WISP_TRY(wisp_spmmv_cost(r->A, c->type, width, WISP_SCALE | WISP_SHIFT, &one));
        r->cost.bytes = 0.5 * (r->cost.bytes + one.bytes);
        r->cost.flops = 0.5 * (r->cost.flops + one.flops);
    }
    r->least_bytes = r->cost.bytes;
    r->read_bytes = r->cost.bytes - r->write_bytes + (squares ? 0.5 * block : 0); /* u is read as it is written */
    r->working_bytes = (double)r->info.bytes + (squares ? 3 : 2) * block;
out:
    return status;
}

/* ---- dense operations on the search space -------------------------------------------------------- */

/* V := V X of orthonormal columns, X upper triangular, two times. The Cholesky factorization of the dots, whose inverse
   is X, is left out: all that it takes is columns^3. */
static wisp_status step_qr(bench_runner *r)
{
    wisp_status status = WISP_OK;
    const int n = r->what.width;
    for (int i = 0; i < 2; i++) {
        WISP_TRY(wisp_tsm_gram(r->dot, n, real(1), r->v, r->v, real(0), 0));
        WISP_TRY(wisp_tsm_update(r->v, real(1), r->v, r->X, n, real(0)));
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
    WISP_TRY(wisp_tsm_update(r->v, real(1), r->v, r->X, n, real(0)));
out:
    wisp_blk_free(left);
    wisp_blk_free(right);
    return status;
}

/* 16 n k^2 operations of two passes of Cholesky-QR on complex columns, which are those of LAPACK's two calls too. */
static void find_dense_cost(bench_runner *r)
{
    const bench_case *c = &r->what;
    const bool ritz = c->variant == VARIANT_RITZ;
    const double n = (double)c->rows, k = c->width, block = n * k * (double)wisp_type_size(c->type);
    r->cost.flops = (wisp_type_is_complex(c->type) ? 4 : 1) * (ritz ? 3 : 4) * n * k * k;
    r->write_bytes = (ritz ? 1 : 2) * block;
    r->read_bytes = (ritz ? 3 : 4) * block;
    r->cost.bytes = r->least_bytes = r->read_bytes + r->write_bytes;
    r->working_bytes = block;
}

wisp_status bench_eig_open_dense(bench_runner *r)
{
    wisp_status status = WISP_OK;
    const bench_case *c = &r->what;
    const bool ritz = c->variant == VARIANT_RITZ;
    const int n = c->width, block = (int)(128 / wisp_type_size(c->type));
    wisp_map *map = NULL;
    find_dense_cost(r);
    if (bench_is_blas(c->variant)) return WISP_OK;
    WISP_TRY(wisp_map_create(&map, r->ctx, c->rows));
    WISP_TRY(wisp_blk_create(&r->v, r->ctx, map, c->type, n));
    WISP_TRY(wisp_blk_fill_random(r->v, WISP_RANDOM_TRACE, 1, 0, 0));
    if (ritz) WISP_TRY(wisp_blk_create(&r->w, r->ctx, map, c->type, block));
    if (ritz) WISP_TRY(wisp_blk_fill_random(r->w, WISP_RANDOM_TRACE, 1, 1, 0));
    WISP_TRY(wisp_alloc(r->ctx, &r->X, (size_t)n * (size_t)n, sizeof *r->X));
    for (int i = 0; i < n; i++) /* steps in place stay bounded */
        for (int j = 0; j < n; j++) r->X[i * n + j] = real(ritz ? 1.0 / n : i == j ? 1 : i < j ? 1e-9 : 0);
out:
    wisp_map_free(map);
    return status;
}

wisp_status bench_eig_time(bench_runner *r, int64_t steps, double *seconds)
{
    const double start = wisp_now();
    const bench_variant v = r->what.variant;
    wisp_status status = WISP_OK;
    for (int64_t i = 0; i < steps && status == WISP_OK; i++)
        status = v == VARIANT_SQUARES ? step_squares(r)
                 : v == VARIANT_STEPS ? step_steps(r)
                 : v == VARIANT_QR    ? step_qr(r)
                                      : step_ritz(r);
    *seconds = (wisp_now() - start) / (double)steps / (v == VARIANT_SQUARES ? 2 : v == VARIANT_STEPS ? CALL : 1);
    return status;
}

/* ---- the rows ------------------------------------------------------------------------------------ */

/* The width of the filter's blocks, by the model, for a matrix that is stored as `wisp eig` stores it. */
static wisp_status choose_width(const tool *t, const bench *b, bench_case *c)
{
    enum { VECTORS = 64, STEPS = 100 };
    const wisp_mat_opts mo = {.type = bench_matrix_type(b->src.type, c->type),
                              .width = (int)(128 / wisp_type_size(c->type))};
    wisp_choice choice;
    wisp_mat *A = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_mat_create(&A, t->ctx, &b->src, &mo));
    WISP_TRY(wisp_mat_choose(A, c->type, VECTORS, STEPS, &choice));
    c->width = choice.width;
out:
    wisp_mat_free(A);
    return status;
}

static bool is_wanted(const options *o, bench_variant v)
{
    return !option_seen(o, "variant") || o->bench_variant == (int)v;
}

int bench_eig_filter(tool *t, bench *b, const bench_case *c, bool optional)
{
    static const bench_variant variant[] = {VARIANT_SQUARES, VARIANT_STEPS};
    const bool is_double = c->type == WISP_D || c->type == WISP_Z;
    bench_case list[BENCH_MOST_CASES], typed[2] = {*c, *c}; /* and in single precision */
    int count = 0, rc = EXIT_FINE;
    typed[1].type = c->type == WISP_D ? WISP_S : WISP_C;
    for (int i = 0; i < 1 + is_double; i++) {
        if (!option_seen(&t->opt, "widths") && choose_width(t, b, &typed[i])) return tool_fail_ctx(t);
        for (int k = 0; k < 2; k++) {
            if (!is_wanted(&t->opt, variant[k])) continue;
            list[count] = typed[i];
            list[count++].variant = variant[k];
        }
    }
    list[count] = typed[0];
    list[count].variant = VARIANT_KPM_STEP;
    if (count > 0) rc = bench_measure(t, b, list, count + 1, optional);
    b->row++;
    return rc;
}

/* LAPACK's calls take 10 s for 1.6 million complex rows and 64 columns (Xeon, 2 threads), and the square of the columns
   counts: beyond that they are not timed, and the rate of products of square matrices is the yardstick. */
int bench_eig_dense(tool *t, bench *b, const bench_case *c)
{
    enum { MOST_OF_LAPACK = 64 };
    bench_case list[] = {*c, *c, *c};
    int rc = EXIT_FINE;
    list[0].variant = VARIANT_QR;
    list[1].variant = VARIANT_QR_LAPACK;
    list[2].variant = VARIANT_RITZ;
    if (is_wanted(&t->opt, VARIANT_QR)) rc = bench_measure(t, b, list, c->width <= MOST_OF_LAPACK ? 2 : 1, false);
    if (!rc && is_wanted(&t->opt, VARIANT_RITZ)) rc = bench_measure(t, b, list + 2, 1, false);
    b->row++;
    return rc;
}
