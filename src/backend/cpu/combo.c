/* Which kernels are for a pair of types. */
#include "cpu.h"

wisp__combo wisp__combo_of(wisp_type matrix, wisp_type block)
{
    static const struct {
        wisp_type matrix, block;
    } pair[] = {
#define PAIR(name, matrix, block) {WISP_##matrix, WISP_##block},
        WISP__COMBO_LIST(PAIR)
#undef PAIR
    };
    const bool pairs = wisp__type_ok(block) && !wisp_type_is_complex(matrix);
    const wisp_type like = pairs ? wisp__real_type(block) : block;
    int k = 0;
    while (k < WISP__COMBOS && (pair[k].matrix != matrix || pair[k].block != like)) k++;
    return (wisp__combo)k;
}
