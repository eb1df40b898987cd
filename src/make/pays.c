/* Whether rows that repeat are to be stored once: not where all stays in the caches and the kernels of rows as they are
   go faster, as they do for some widths. */
#include "assemble.h"
#include "../model/model.h"

wisp_status wisp__once_pays(const wisp_mat *A, const wisp_src *src, const wisp__look *look, int64_t nnz,
                            wisp__compression *c, bool *pays)
{
    const double all = (double)A->local_rows / (double)look->rows;
    const wisp__facts f = wisp__facts_of(A->ctx);
    wisp__sample sample = {0};
    wisp__step_cost cost = {0};
    wisp_status status;
    *pays = true;
    if (look->either || !A->square || A->map->user || A->ctx->ranks > 1 || !wisp__kernels_known(&f)) return WISP_OK;
    WISP_TRY(wisp__sample_source(A->ctx, src, &sample));
    wisp__shape m = wisp__shape_stored(&sample, A->local_rows, A->type);
    m.bytes = all * (double)wisp__compression_bytes(c, A, look->rows, nnz);
    m.patterns = c->pattern;
    m.lists = c->list;
    m.bundles = c->pattern && wisp__bundle_rows(&f, A->type) >= 2;
    if (c->list) m.follows = 1;
    m.either = true;
    status = wisp__sweep_find(A->ctx, &f, &m, A->type, WISP__MAX(A->width, 1), 1, &cost);
    *pays = !cost.as_they_are;
out:
    wisp__sample_close(&sample, A->ctx);
    return status == WISP_ERR_NOMEM ? WISP_OK : status; /* it is a gain, not a need */
}
