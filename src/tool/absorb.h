/* --absorb of wisp evolve: MATRIX becomes H - iW, with a diagonal W. */
#ifndef WISP_TOOL_ABSORB_H
#define WISP_TOOL_ABSORB_H
#include "tool.h"

/* *src, that of MATRIX, becomes H - iW, and is closed by wisp_src_close as before; after a failure too. */
int absorb_source(tool *t, wisp_src *src);
#endif
