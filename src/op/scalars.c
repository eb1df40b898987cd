/* Steps of scalars. */
#include "op.h"
#include <limits.h>
#include <string.h>

wisp_status wisp_scalars(wisp_place sets, wisp_step step, int width, const double *numbers)
{
    wisp_status status;
    WISP_NEED(NULL, sets.slot);
    wisp_ctx *ctx = sets.slot->ctx;
    WISP_NEED(ctx, numbers);
    const double record = numbers[WISP_NUMBER_RECORD], precond = numbers[WISP_NUMBER_PRECOND];
    if ((int)step < WISP_STEP_CG || step >= WISP_STEPS || width < 1 || !(record < INT_MAX - WISP_SETS) ||
        !(precond >= 0 && precond < INT_MAX - WISP_SETS))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "scalars: step %d of %d columns, record %g, preconditioner %g",
                              (int)step, width, record, precond);
    const int64_t known = WISP_SETS + (record < 0 ? 0 : (int64_t)record + 1), rz = WISP_SET_DOT + (int64_t)precond;
    const int64_t used = WISP__MAX(known, rz + 1);
    wisp__scalars_params p = {.width = width, .step = (int)step};
    memcpy(p.uniform, numbers, sizeof p.uniform);
    WISP_TRY(wisp__turn_begin(ctx->team));
    status = wisp__place_at(ctx, "scalars", sets, used * width, &p.at);
    if (status == WISP_OK) status = ctx->backend->scalars(ctx, &p);
    status = wisp__turn_end(ctx->team, status);
out:
    return status;
}
