/* The accuracy that can be had, by ten systems with spectra of each shape. (nightly_solve has thirty.) */
#include "solve_accuracy.h"

static void accuracy(void **state)
{
    (void)state;
    check_accuracy(3); /* the shape goes by the number modulo 4 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accuracy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
