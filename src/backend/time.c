/* Time of launches, by a device's own clock or by the host's. */
#include "backend.h"

wisp_status wisp__time_launches(wisp_ctx *ctx, wisp__launch_fn launch, void *arg, int64_t n, double *seconds)
{
    const wisp__backend *backend = ctx->backend;
    wisp_status status;
    if (backend->time_launches) return backend->time_launches(ctx, launch, arg, n, seconds);
    WISP_TRY(backend->finish(ctx));
    const double began = wisp_now();
    for (int64_t i = 0; i < n; i++) WISP_TRY(launch(ctx, arg));
    WISP_TRY(backend->finish(ctx));
    *seconds = (wisp_now() - began) / (double)n;
out:
    return status;
}
