/* "Complete" is said of eigenpairs only where something proves it: of matrices that are not Hermitian, whose Krylov
   spaces tell nothing about inner values. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int setup(void **state)
{
    *state = ref_isa_ctx(NULL, 2);
    return 0;
}

static int teardown(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

static wisp_mat *open_data(wisp_ctx *ctx, const char *name)
{
    char path[4096];
    wisp_mat *A;
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
    REF_OK(ctx, wisp_mat_open(&A, ctx, path, NULL));
    return A;
}

/* Its smallest value is 0.03218 in size; restarts converge to others first. */
static void inner_values(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = open_data(ctx, "eig_normal_diagonal_200.crs");
    for (uint64_t seed = 1; seed <= 3; seed++) {
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_SMALLEST, .method = WISP_KRYLOV_SCHUR, .seed = seed};
        REF_FAILS(ctx, wisp_eig(&e, A, &o), WISP_ERR_INCOMPLETE, "smaller ones may be missing");
        assert_true(!e.complete && e.found >= 1);
        for (int i = 0; i < e.found; i++) assert_true(e.residual[i] <= 1e-8);
        wisp_eigen_free(&e);
    }
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(inner_values)};
    return REF_RUN_WITH(tests, setup, teardown);
}
