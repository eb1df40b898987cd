/* Calls of CUDA's driver: in the device's context, and with its errors as statuses. */
#include "cuda.h"

wisp_status wisp__cuda_status(wisp__gpu *g, const char *what, CUresult error)
{
    const char *name = NULL;
    if (error == CUDA_SUCCESS) return WISP_OK;
    if (wisp__cuda_of(g)->cu->cuGetErrorName(error, &name) != CUDA_SUCCESS || !name) name = "unknown";
    return wisp_ctx_failf(g->ctx, error == CUDA_ERROR_OUT_OF_MEMORY ? WISP_ERR_NOMEM : WISP_ERR_UNSUPPORTED,
                          "the device '%s': %s: error %d of CUDA (%s)", wisp_ctx_device(g->ctx), what, error, name);
}

wisp_status wisp__cuda_enter(wisp__gpu *g)
{
    if (wisp__gpu_is_child(g)) return wisp__gpu_not_here(g);
    const wisp__cuda *c = wisp__cuda_of(g);
    return wisp__cuda_status(g, "its context", c->cu->cuCtxPushCurrent_v2(c->context));
}

void wisp__cuda_leave(wisp__gpu *g)
{
    CUcontext own;
    wisp__cuda_of(g)->cu->cuCtxPopCurrent_v2(&own);
}
