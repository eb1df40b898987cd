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
/* Whether a whole number is one that the option takes. */
bool is_within(const option_def *def, int64_t n);
/* The number of the word of def->choices that the text up to one of these characters is; -1: none. */
int find_choice(const option_value *v, const char *stop);
#endif
