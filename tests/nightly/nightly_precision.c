/* Single precision against double over 50 seeds, on larger matrices. */
#include "precision_cases.h"

static void agreement(void **state)
{
    static const char *const spec[] = {"topi:nx=30,ny=30,nz=20", "anderson:nx=50,ny=50,nz=50,disorder=2",
                                       "graphene:nx=200,ny=150,vacancies=0.01,disorder=0.5",
                                       "laplace:nx=300,ny=300,nz=1"};
    for (size_t i = 0; i < sizeof spec / sizeof *spec; i++) check_agreement(*state, spec[i], 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agreement)};
    return cmocka_run_group_tests(tests, ref_setup_all, ref_teardown);
}
