/* Steps of scalars on the host: too little for a team. */
#include "cpu.h"
#include "../../kernel/scalars.h"

_Static_assert((int)K_SCALARS == (int)WISP_NUMBERS, "numbers of a step");

wisp_status wisp__cpu_scalars(wisp_ctx *ctx, const wisp__scalars_params *p)
{
    (void)ctx;
    for (int j = 0; j < p->width; j++)
        k_scalars(&(k_column){.at = p->at, .uniform = p->uniform, .width = p->width, .column = j}, p->step);
    return WISP_OK;
}
