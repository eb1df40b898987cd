/* Numbers to text: the shortest of 15, 16 or 17 digits that reads back as the same double. */
#ifndef WISP_FORMAT_H
#define WISP_FORMAT_H
#include "../base/base.h"

enum { WISP__REAL_TEXT = 26, WISP__INDEX_TEXT = 20 }; /* the most bytes they write */
char *wisp__format_index(char *to, int64_t i);        /* i >= 0; returns the end; no terminating zero */
char *wisp__format_real(char *to, double v);
#endif
