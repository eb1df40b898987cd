/* Functions of time, as --drive has them: t, numbers, pi, + - * / ^, brackets, and sin, cos, tan, exp, log, sqrt, abs,
   tanh of one argument. */
#ifndef WISP_TOOL_EXPRESSION_H
#define WISP_TOOL_EXPRESSION_H
#include <stddef.h>

/* *value becomes the value at this t. NULL, or where in the text it can't be read. */
const char *expression_value(const char *text, double t, double *value);
/* The names that it may have: "t, pi, sin, ...". */
void expression_names(char *text, size_t size);
#endif
