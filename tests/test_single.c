/* Matrices of single precision whose numbers come in double. */
#include <float.h>
#include <math.h>
#include "ref.h"

/* Values of which single precision has none, or not all digits, are refused, when it is made and later; small ones
   beside others are rounded. */
static void too_small_for_single(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ref_mat m = ref_new(3, 3);
    for (int i = 0; i < 3; i++) REF_AT(m, i, i) = i + 1;
    wisp_src src = ref_dense_src(m, WISP_D);
    const wisp_mat_opts single = {.type = WISP_S};
    wisp_mat *A, *B;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &single));
    for (int i = 0; i < 3; i++) REF_AT(m, i, i) = (i + 1) * (i == 1 ? 1e-44 : 1e-50);
    wisp_src small = ref_dense_src(m, WISP_D);
    REF_FAILS(ctx, wisp_mat_create(&B, ctx, &small, &single), WISP_ERR_NUMERIC, "too small for single precision");
    REF_FAILS(ctx, wisp_mat_update(A, &small), WISP_ERR_NUMERIC, "too small for single precision");
    REF_OK(ctx, wisp_mat_create(&B, ctx, &small, NULL));
    wisp_mat_free(B);
    REF_AT(m, 2, 2) = 1;
    wisp_src mixed = ref_dense_src(m, WISP_D);
    REF_OK(ctx, wisp_mat_update(A, &mixed));
    wisp_mat_free(A);
    src.free_arg(src.arg), small.free_arg(small.arg), mixed.free_arg(mixed.arg);
    ref_free(m);
    wisp_ctx_free(ctx);
}

/* Those that single precision has not are named, however the matrix is stored; infinities are what they are. */
static void too_large_for_single(void **state)
{
    (void)state;
    static const wisp_mat_opts how[] = {{.type = WISP_S},
                                        {.type = WISP_S, .format = WISP_FORMAT_SELL, .C = 4, .sigma = 16},
                                        {.type = WISP_S, .format = WISP_FORMAT_COMPRESSED},
                                        {.type = WISP_S, .format = WISP_FORMAT_HERMITIAN}};
    wisp_ctx *ctx = ref_ctx(NULL);
    ref_mat m = ref_new(40, 40);
    for (int i = 0; i < 40; i++) REF_AT(m, i, i) = 2;
    wisp_src small = ref_dense_src(m, WISP_D);
    REF_AT(m, 21, 21) = -1e40;
    wisp_src large = ref_dense_src(m, WISP_D);
    REF_AT(m, 21, 21) = (double)FLT_MAX * (1 + 1e-9); /* which is rounded to the largest one */
    wisp_src edge = ref_dense_src(m, WISP_D);
    REF_AT(m, 21, 21) = INFINITY;
    wisp_src infinite = ref_dense_src(m, WISP_D);
    wisp_mat *A;
    wisp_mat_props props;
    for (size_t k = 0; k < sizeof how / sizeof how[0]; k++) {
        if (how[k].format == WISP_FORMAT_HERMITIAN && ref_ranks() > 1) continue;
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &large, &how[k]), WISP_ERR_NUMERIC,
                  "row 21 of the matrix holds -1e+40, too large for single precision");
        REF_OK(ctx, wisp_mat_create(&A, ctx, &edge, &how[k]));
        wisp_mat_free(A);
        REF_OK(ctx, wisp_mat_create(&A, ctx, &small, &how[k]));
        REF_FAILS(ctx, wisp_mat_update(A, &large), WISP_ERR_NUMERIC, "row 21 of the matrix holds -1e+40");
        wisp_mat_free(A);
        REF_OK(ctx, wisp_mat_create(&A, ctx, &infinite, &how[k]));
        REF_OK(ctx, wisp_mat_get_props(A, &props));
        assert_int_equal(props.nonfinite_row, 21);
        wisp_mat_free(A);
    }
    small.free_arg(small.arg), large.free_arg(large.arg), edge.free_arg(edge.arg), infinite.free_arg(infinite.arg);
    ref_free(m);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_small_for_single), cmocka_unit_test(too_large_for_single)};
    return REF_RUN(tests);
}
