/* --function of wisp trace and apply. */
#ifndef WISP_TOOL_FUNCTION_H
#define WISP_TOOL_FUNCTION_H
#include "tool.h"

wisp_function function_of(tool *t);
/* As on the command line; TEXT bytes. */
const char *function_text(const tool *t, char *buf);
/* Whether the function has all of these bounds; EXIT_FAILED with its line where it has not. */
int function_check(tool *t, const wisp_bounds *b);
/* The largest |f| on them: all are monotonous there, or even, but for Gauss's curve. */
double function_largest(const tool *t, const wisp_bounds *b);
/* At how many points f has to be looked at, so that nothing narrow is missed; 0: as many as the library takes. */
int64_t function_points(const tool *t, const wisp_bounds *b);
#endif
