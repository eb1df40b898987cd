/* 10,600 random systems beside the 400 of test_solve: nothing is said to have converged that has not. WISP_SOLVE_SEED:
   the first seed. */
#include "../solve_accuracy.h"

static void random_systems(void **state)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    const uint64_t first = getenv("WISP_SOLVE_SEED") ? strtoull(getenv("WISP_SOLVE_SEED"), NULL, 10) : 401;
    tally t = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + 10600; seed++) random_case(ctx, seed, &t);
    print_tally(&t);
    assert_true(t.did == t.should);
    wisp_ctx_free(ctx);
}

static void accuracy(void **state)
{
    (void)state;
    check_accuracy(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_systems), cmocka_unit_test(accuracy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
