/* The 95% bars of thermodynamics and of traces, by 1000 runs each. */
#include "../thermal_bars.h"

static void gallery(void **state)
{
    enum { GROUPS = 1000, MOST = 32 };
    int failed = 0;
    for (int64_t vectors = 8; vectors <= MOST; vectors *= 2) {
        check_bars(*state, "spinchain:sites=10,periodic=x", WISP_D, vectors, GROUPS, 0, &failed);
        check_bars(*state, "anderson:nx=6,ny=6,nz=5,disorder=6", WISP_D, vectors, GROUPS, 0, &failed);
        check_bars(*state, "topi:nx=4,ny=4,nz=3", WISP_Z, vectors, GROUPS, 0, &failed);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gallery)};
    return REF_RUN_ALL(tests);
}
