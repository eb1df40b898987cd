/* What the files share that read the values of options. */
#ifndef WISP_TOOL_PARSE_H
#define WISP_TOOL_PARSE_H
#include "options.h"

/* False, with the reason. */
bool refuse(const option_value *v, const char *format, ...) WISP_PRINTF(2, 3);
/* A whole number at *text, which moves behind it. No sign, no blanks. */
bool read_whole(const char **text, int64_t *value);
/* A finite number at *text, which moves behind it. */
bool read_number(const char **text, double *value);
#endif
