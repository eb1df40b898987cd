/* 10,000 random systems: nothing is said to have converged that has not. WISP_SOLVE_SEED: the first seed. */
#include "../solve_random.h"

static void random_systems(void **state)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    const uint64_t first = getenv("WISP_SOLVE_SEED") ? strtoull(getenv("WISP_SOLVE_SEED"), NULL, 10) : 1000;
    tally t = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + 10000; seed++) random_case(ctx, seed, &t);
    print_tally(&t);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_systems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
