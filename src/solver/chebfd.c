#include "eigen.h"

wisp_status wisp__eig_chebfd(wisp__eig *k) { return wisp_ctx_fail(k->ctx, WISP_ERR_UNSUPPORTED, "not there yet"); }
