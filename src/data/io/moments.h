/* What moments must fulfil. */
#ifndef WISP_MOMENTS_H
#define WISP_MOMENTS_H
#include "../../base/base.h"

/* Refuses moments from a file that no run can have made; `path` is for the message. */
wisp_status wisp__moments_check(wisp_ctx *ctx, const wisp_moments *m, const char *path);
#endif
