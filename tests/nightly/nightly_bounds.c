/* 10,000 random matrices: the spectrum lies within the bounds that are found. */
#include "bounds_cases.h"

static void ten_thousand_bounds(void **state) { check_bounds(*state, 10000, 2); }

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ten_thousand_bounds)};
    return cmocka_run_group_tests(tests, ref_setup_all, ref_teardown);
}
