/* A^H of a matrix that is there, on its maps. */
#include "assemble.h"

wisp_status wisp_mat_adjoint(wisp_mat **AH, const wisp_mat *A, const wisp_mat_opts *opts)
{
    WISP_NEED(wisp_mat_ctx(A), AH);
    *AH = NULL;
    WISP_NEED(NULL, A);
    wisp_status status;
    wisp_src own = {0}, adjoint = {0};
    wisp_mat_opts o = opts ? *opts : (wisp_mat_opts){0};
    o.map = A->col_map, o.cols = A->map;
    if (o.type == WISP_DEFAULT) o.type = A->type;
    WISP_TRY(wisp_src_open_mat(&own, A));
    WISP_TRY(wisp_src_adjoint(&adjoint, A->ctx, &own));
    status = wisp_mat_create(AH, A->ctx, &adjoint, &o);
out:
    wisp_src_close(&adjoint);
    wisp_src_close(&own);
    return status;
}
