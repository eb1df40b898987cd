/* 14,000 random questions to wisp_eig: nothing is missing where it says "complete". WISP_EIG_SEED: the first seed. */
#include "../eig_cases.h"

static void ask(uint64_t count, int64_t rows, wisp_eig_method method)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    const uint64_t first = getenv("WISP_EIG_SEED") ? strtoull(getenv("WISP_EIG_SEED"), NULL, 10) : 1000;
    eig_tally t = {0};
    for (uint64_t seed = first; seed < first + count; seed++) random_eig(ctx, seed, rows, method, &t);
    print_message("%d right, %d not complete by their own word\n", t.right, t.told);
    wisp_ctx_free(ctx);
}

static void chosen(void **state)
{
    (void)state;
    ask(6000, 60, WISP_EIG_DEFAULT);
}

static void filtered(void **state)
{
    (void)state;
    ask(4000, 250, WISP_CHEBFD);
}

/* Multiplets that are wider than a block, clusters, and gaps. */
static void ends(void **state)
{
    (void)state;
    ask(4000, 250, WISP_LANCZOS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chosen), cmocka_unit_test(filtered), cmocka_unit_test(ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
