/* The 95% bars of thermodynamics and of traces, at all temperatures, on a spectrum of each kind with another number of
   vectors. (nightly_thermal has each with all numbers, by four times as many runs.) */
#include "thermal_bars.h"

static void gallery(void **state)
{
    enum { GROUPS = 250 };
    const double slack = 0.01; /* by so few, a share is off by 0.014 */
    int failed = 0;
    check_bars(*state, "spinchain:sites=10,periodic=x", WISP_D, 8, GROUPS, slack, &failed);
    check_bars(*state, "anderson:nx=6,ny=6,nz=5,disorder=6", WISP_D, 32, GROUPS, slack, &failed);
    check_bars(*state, "topi:nx=4,ny=4,nz=3", WISP_Z, 16, GROUPS, slack, &failed);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gallery)};
    return REF_RUN_ALL(tests);
}
