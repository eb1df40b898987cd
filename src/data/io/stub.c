#include "../../base/base.h"
wisp_status wisp_src_open(wisp_src *src, wisp_ctx *ctx, const char *name)
{
    (void)src;
    (void)name;
    return wisp_ctx_fail(ctx, WISP_ERR_UNSUPPORTED, "stub");
}
void wisp_src_close(wisp_src *s) { (void)s; }
