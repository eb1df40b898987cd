/* Krylov decompositions from inside: Op V = V H + W B with orthonormal [V W]. Columns that are not orthonormal any
   more, which no bound forbids, but no search is known to have, are made anew. */
#include "ref.h"
#include "solver/eig/arnoldi.h"
#include <stdio.h>

enum { ROWS = 90, COLUMNS = 12 };
static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};

static wisp__eig eig_of(wisp_ctx *ctx, const wisp_mat *M, wisp_eigen *e, wisp_type type)
{
    const bool single = type == WISP_S || type == WISP_C;
    return (wisp__eig){.ctx = ctx,
                       .A = M,
                       .e = e,
                       .type = type,
                       .is_complex = wisp_type_is_complex(type),
                       .hermitian = true,
                       .rows = ROWS,
                       .eps = single ? FLT_EPSILON : DBL_EPSILON,
                       .scale = 1,
                       .most_work = INFINITY,
                       .o = {.max_rounds = 100, .count = 2, .tolerance = single ? 1e-4 : 1e-8}};
}

/* The largest element of [V W]^H [V W] - I. */
static double defect(ref_mat V, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            cplx sum = i == j ? -1 : 0;
            for (int64_t r = 0; r < V.rows; r++) sum += conj(REF_AT(V, r, i)) * REF_AT(V, r, j);
            most = fmax(most, cabs(sum));
        }
    return most;
}

/* The largest element of A V - V H - W B, which lies below H. */
static double error(const wisp__arnoldi *a, ref_mat A, ref_mat V)
{
    ref_mat AV = ref_times(A, V);
    double most = 0;
    for (int j = 0; j < a->active; j++)
        for (int64_t r = 0; r < ROWS; r++) {
            cplx left = REF_AT(AV, r, j);
            for (int i = 0; i < a->active + a->block; i++)
                left -= REF_AT(V, r, i) * (wisp__h(a, i, j)->re + I * wisp__h(a, i, j)->im);
            most = fmax(most, cabs(left));
        }
    ref_free(AV);
    return most;
}

static void check(const wisp__arnoldi *a, ref_mat A, double eps, const char *what)
{
    ref_mat V = ref_get(a->all);
    const double off = defect(V, a->active + a->block), wrong = error(a, A, V);
    if (!(off < 100 * eps)) fail_msg("%s: orthonormal to %.1e", what, off);
    if (!(wrong < 1000 * eps)) fail_msg("%s: A V is off by %.1e", what, wrong);
    ref_free(V);
}

/* Column 2 gets a bit of column 0. */
static void damage(wisp_ctx *ctx, wisp__arnoldi *a)
{
    wisp_blk *from, *to;
    REF_OK(ctx, wisp_blk_cols(&from, a->all, 0, 1));
    REF_OK(ctx, wisp_blk_cols(&to, a->all, 2, 1));
    REF_OK(ctx, wisp_axpby(to, wisp__real(1e-2), from, wisp__real(1)));
    wisp_blk_free(from), wisp_blk_free(to);
}

static void made_anew(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {21};
    for (int t = 0; t < 4; t++)
        for (int block = 1; block < 4; block++) {
            char what[80];
            const double eps = t % 2 ? DBL_EPSILON : FLT_EPSILON;
            ref_mat A = ref_new(ROWS, ROWS);
            for (int64_t i = 0; i < ROWS; i++)
                for (int l = 0; l < 6; l++) REF_AT(A, i, ref_below(&r, ROWS)) += ref_value(&r, types[t]);
            ref_round(A, types[t]);
            wisp_mat *M = ref_mat_of(ctx, A, types[t]);
            wisp_eigen e = {0};
            wisp__eig k = eig_of(ctx, M, &e, types[t]);
            k.hermitian = false;
            wisp__arnoldi a = {.k = &k, .op = wisp__itself};
            wisp_ctx_enter(ctx);
            REF_OK(ctx, wisp__arnoldi_make(&a, COLUMNS + block, block));
            REF_OK(ctx, wisp__arnoldi_start(&a, false));
            REF_OK(ctx, wisp__arnoldi_expand(&a, COLUMNS));
            snprintf(what, sizeof what, "%s, block %d", wisp_type_name(types[t]), block);
            check(&a, A, eps, what);
            REF_OK(ctx, wisp__arnoldi_restarted(&a, 3, 0, 1, 1));
            assert_true(a.active == COLUMNS && a.enough < 0.9);
            damage(ctx, &a);
            REF_OK(ctx, wisp__arnoldi_restarted(&a, 3, 0, 1, 1));
            assert_true(a.active == 0 && a.enough > 0.9);
            REF_OK(ctx, wisp__arnoldi_expand(&a, COLUMNS));
            snprintf(what, sizeof what, "%s, block %d, anew", wisp_type_name(types[t]), block);
            check(&a, A, eps, what);
            wisp_ctx_leave(ctx, WISP_OK);
            wisp__arnoldi_free(&a);
            wisp_mat_free(M);
            ref_free(A);
        }
}

/* A vector that is found up to 20 rounding errors: where it is refined V grows from what it lacks, row 50, else from a
   random column. */
static void refined(void **state)
{
    wisp_ctx *ctx = *state;
    for (int t = 0; t < 4; t++)
        for (int again = 0; again < 2; again++) {
            const double eps = t % 2 ? DBL_EPSILON : FLT_EPSILON;
            ref_mat A = ref_new(ROWS, ROWS), v = ref_new(ROWS, 1);
            for (int i = 0; i < ROWS; i++) REF_AT(A, i, i) = i == 0 ? 100 : i;
            REF_AT(v, 0, 0) = 1;
            REF_AT(v, 50, 0) = 20 * eps * 100 / (100 - 50);
            wisp_mat *M = ref_mat_of(ctx, A, types[t]);
            wisp_eigen e = {0};
            wisp__eig k = eig_of(ctx, M, &e, types[t]);
            wisp_blk *start;
            k.hermitian = false;
            REF_OK(ctx, wisp_blk_create(&start, ctx, wisp_mat_map(M), types[t], 1));
            ref_put(start, v);
            k.o.start = start;
            wisp__arnoldi a = {.k = &k, .op = wisp__itself, .at.tries = again};
            wisp_ctx_enter(ctx);
            REF_OK(ctx, wisp__arnoldi_make(&a, 8, 1));
            REF_OK(ctx, wisp__arnoldi_start(&a, false));
            REF_OK(ctx, wisp__arnoldi_expand(&a, 1));
            ref_mat V = ref_get(a.all);
            assert_int_equal(cabs(REF_AT(V, 50, 1)) > 0.9, again);
            wisp_ctx_leave(ctx, WISP_OK);
            ref_free(V), ref_free(A), ref_free(v);
            wisp_blk_free(start);
            wisp__arnoldi_free(&a);
            wisp_mat_free(M);
        }
}

/* ---- when a search ends ----------------------------------------------------------------------------------- */

/* A residual after so many restarts, and pairs that are good. */
typedef double (*residual_fn)(int restart, int *good);

static double stays_large(int restart, int *good)
{
    (void)restart;
    *good = 0;
    return 0.1;
}

static double falls_and_stays(int restart, int *good)
{
    *good = 0;
    return fmax(pow(0.7, restart), 1e-9);
}

static double stays_but_rises(int restart, int *good)
{
    *good = 0;
    return restart > 60 && restart % 80 == 0 ? 0.01 : falls_and_stays(restart, good);
}

/* The good pair's own residual, once, says nothing about the other one's. */
static double falls_beside_another(int restart, int *good)
{
    *good = restart != 20;
    return restart < 20 ? 1 : restart == 20 ? 1e-12 : pow(0.99, restart);
}

static void stagnation(void **state)
{
    static const struct {
        residual_fn residual;
        int first, last; /* the restart after which it ends lies between these */
    } cases[] = {{stays_large, 501, 502},
                 {falls_and_stays, 59 + 100, 59 + 102},
                 {stays_but_rises, 59 + 500, 59 + 502},
                 {falls_beside_another, 1000, 1000}};
    wisp_ctx *ctx = *state;
    wisp_mat *M;
    REF_OK(ctx, wisp_mat_open(&M, ctx, "laplace:points=5,nx=9,ny=10", NULL));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        wisp_eigen e = {0};
        wisp__eig k = eig_of(ctx, M, &e, WISP_D);
        wisp__arnoldi a = {.k = &k, .op = wisp__itself, .at.strict = 1};
        wisp_status status = WISP_OK;
        k.most_work = INFINITY;
        k.o.max_rounds = 10000;
        wisp_ctx_enter(ctx);
        REF_OK(ctx, wisp__arnoldi_make(&a, 8, 1));
        REF_OK(ctx, wisp__arnoldi_start(&a, false));
        for (int i = 1; status == WISP_OK && i <= 1000; i++) {
            int good;
            const double residual = cases[c].residual(i, &good);
            status = wisp__arnoldi_restarted(&a, 3, good, residual, residual);
        }
        print_message("case %d: status %d after %d restarts\n", (int)c, status, a.restarts);
        assert_true(a.restarts >= cases[c].first && a.restarts <= cases[c].last);
        assert_int_equal(status, cases[c].last == 1000 ? WISP_OK : WISP_ERR_STAGNATION);
        wisp_ctx_leave(ctx, WISP_OK);
        wisp__arnoldi_free(&a);
    }
    wisp_mat_free(M);
}

/* ---- what is delivered ---------------------------------------------------------------------------------- */

/* The first unit vectors. */
static wisp_blk *units(wisp_ctx *ctx, const wisp_mat *M, wisp_type type, int n)
{
    wisp_blk *space;
    ref_mat V = ref_new(ROWS, n);
    for (int j = 0; j < n; j++) REF_AT(V, j, j) = 1;
    REF_OK(ctx, wisp_blk_create(&space, ctx, wisp_mat_map(M), type, n));
    ref_put(space, V);
    ref_free(V);
    return space;
}

/* Column 1 becomes itself times `own`, and a bit of column 0. */
static void bend(wisp_ctx *ctx, wisp_blk *space, double own, double other)
{
    wisp_blk *from, *to;
    REF_OK(ctx, wisp_blk_cols(&from, space, 0, 1));
    REF_OK(ctx, wisp_blk_cols(&to, space, 1, 1));
    REF_OK(ctx, wisp_axpby(to, wisp__real(other), from, wisp__real(own)));
    wisp_blk_free(from), wisp_blk_free(to);
}

/* Vectors of a Hermitian matrix that are not orthonormal are made so; two that are the same are no pairs. */
static void orthonormal_at_last(void **state)
{
    enum { FOUND = 4 };
    wisp_ctx *ctx = *state;
    for (int t = 0; t < 4; t++)
        for (int same = 0; same < 2; same++) {
            const double eps = t % 2 ? DBL_EPSILON : FLT_EPSILON;
            double theta[FOUND] = {1, 2, 3, 4}, residual[FOUND] = {0};
            ref_mat A = ref_new(ROWS, ROWS);
            for (int64_t i = 0; i < ROWS; i++) REF_AT(A, i, i) = (double)(i + 1);
            wisp_mat *M = ref_mat_of(ctx, A, types[t]);
            wisp_eigen e = {.orthogonality = NAN};
            wisp__eig k = eig_of(ctx, M, &e, types[t]);
            wisp_blk *space = units(ctx, M, types[t], FOUND);
            bend(ctx, space, same ? 0 : 1, same ? 1 : 1e-2);
            if (same) {
                REF_FAILS(ctx, wisp__eig_deliver(&k, space, 0, FOUND, theta, residual), WISP_ERR_BREAKDOWN,
                          "4 vectors are orthonormal to 1.0e+00 alone");
                assert_true(e.found == 0 && !e.vectors && isnan(e.orthogonality));
            } else {
                REF_OK(ctx, wisp__eig_deliver(&k, space, 0, FOUND, theta, residual));
                assert_int_equal(e.found, FOUND);
                assert_true(e.orthogonality < 100 * eps);
                ref_mat V = ref_get(e.vectors);
                assert_true(defect(V, FOUND) < 100 * eps);
                for (int j = 0; j < FOUND; j++) assert_true(fabs(e.value[j].re - j - 1) < 100 * eps);
                ref_free(V);
            }
            wisp_blk_free(space);
            wisp_eigen_free(&e);
            wisp_mat_free(M);
            ref_free(A);
        }
}

/* A column that is all but zero has a small residual, and the value 0: no pair. */
static void of_length_one(void **state)
{
    wisp_ctx *ctx = *state;
    for (int t = 0; t < 4; t++) {
        const double eps = t % 2 ? DBL_EPSILON : FLT_EPSILON, tiny = 1e-12;
        ref_mat A = ref_new(ROWS, ROWS);
        for (int64_t i = 0; i < ROWS; i++) REF_AT(A, i, i) = 1, REF_AT(A, i, (i + 1) % ROWS) = 0.5;
        REF_AT(A, 0, 1) = 0;
        wisp_mat *M = ref_mat_of(ctx, A, types[t]);
        wisp_eigen e = {.orthogonality = NAN};
        wisp__eig k = eig_of(ctx, M, &e, types[t]);
        wisp__arnoldi a = {.k = &k, .op = wisp__itself, .block = 1, .smallest = eps};
        wisp_scalar H[4] = {{1, 0}, {0, 0}, {0, 0}, {tiny * tiny, 0}};
        bool all;
        k.hermitian = false;
        k.o.which = WISP_EIG_LARGEST;
        a.all = units(ctx, M, types[t], 2);
        bend(ctx, a.all, tiny, 0);
        REF_OK(ctx, wisp__schur_give(&a, 2, H, &all));
        if (all || e.found > 1) fail_msg("%s: %d pairs", wisp_type_name(types[t]), e.found);
        wisp_blk_free(a.all);
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
    }
}

/* Rounding below 0 is 0; what is not finite is not taken for it. */
static void roots(void **state)
{
    (void)state;
    assert_true(wisp__root(4) == 2 && wisp__root(0) == 0 && isinf(wisp__root(INFINITY)));
    assert_true(wisp__root(-1e-20) == 0 && !signbit(wisp__root(-1e-20)) && wisp__root(-DBL_MAX) == 0);
    assert_true(isnan(wisp__root(NAN)) && isnan(wisp__root(-INFINITY)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(made_anew),     cmocka_unit_test(refined),
                                       cmocka_unit_test(stagnation),    cmocka_unit_test(orthonormal_at_last),
                                       cmocka_unit_test(of_length_one), cmocka_unit_test(roots)};
    return REF_RUN_CTX(tests);
}
