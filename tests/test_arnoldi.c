/* Krylov decompositions from inside: Op V = V H + W B with orthonormal [V W]. Columns that are not orthonormal any
   more, which no bound forbids, but no search is known to have, are made anew. */
#include "ref.h"
#include "solver/arnoldi.h"
#include <stdio.h>

enum { ROWS = 90, COLUMNS = 12 };

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
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    (void)state;
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
            wisp__eig k = {.ctx = ctx,
                           .A = M,
                           .e = &e,
                           .type = types[t],
                           .is_complex = t > 1,
                           .rows = ROWS,
                           .eps = eps,
                           .most_work = INFINITY,
                           .o = {.max_rounds = 100}};
            wisp__arnoldi a = {.k = &k, .op = {1, 1, 0, 1}};
            wisp_ctx_enter(ctx);
            REF_OK(ctx, wisp__arnoldi_make(&a, COLUMNS + block, block));
            REF_OK(ctx, wisp__arnoldi_start(&a, false));
            REF_OK(ctx, wisp__arnoldi_expand(&a, COLUMNS));
            snprintf(what, sizeof what, "%s, block %d", wisp_type_name(types[t]), block);
            check(&a, A, eps, what);
            REF_OK(ctx, wisp__arnoldi_told(&a, 3, 0, 1));
            assert_true(a.active == COLUMNS && a.enough < 0.9);
            damage(ctx, &a);
            REF_OK(ctx, wisp__arnoldi_told(&a, 3, 0, 1));
            assert_true(a.active == 0 && a.enough > 0.9);
            REF_OK(ctx, wisp__arnoldi_expand(&a, COLUMNS));
            snprintf(what, sizeof what, "%s, block %d, anew", wisp_type_name(types[t]), block);
            check(&a, A, eps, what);
            wisp_ctx_leave(ctx, WISP_OK);
            wisp__arnoldi_free(&a);
            wisp_mat_free(M);
            ref_free(A);
        }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(made_anew)};
    return REF_RUN(tests);
}
