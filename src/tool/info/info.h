/* The files of wisp info share this. */
#ifndef WISP_TOOL_INFO_H
#define WISP_TOOL_INFO_H
#include "../tool.h"

/* info_ranks.c: wisp info --ranks. */
int info_ranks(tool *t, const wisp_src *src, const wisp_mat_opts *mo);
#endif
