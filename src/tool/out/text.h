/* Numbers and lines of text for people. */
#ifndef WISP_TOOL_TEXT_H
#define WISP_TOOL_TEXT_H
#include "../names.h"
#include "../tool.h"

/* `buf` is returned; it has TEXT bytes. */
enum { TEXT = 64, TEXT_BAR = 4 * TEXT };
const char *text_count(char *buf, int64_t n); /* 1,600,000 */
const char *text_states(char *buf, double v); /* such a number that need not be whole */
/* A number with the digits that an error of this size leaves: two of the error's. 0: as text_states */
const char *text_rounded(char *buf, double v, double error);
/* A number and its bar, so: 1397 +- 61, or 5.2 +4.1 -1.9; the digits of v as an error of `also` leaves them, if that is
   larger. TEXT_BAR bytes. */
const char *text_with_bar(char *buf, const char *sign, double v, double low, double high, double also);
const char *text_bytes(char *buf, double bytes);    /* 1.23 GB */
const char *text_bytes_up(char *buf, double bytes); /* never less than it is */
const char *text_seconds(char *buf, double seconds);
const char *text_team(char *buf, int processes, int threads);
/* A place in a row of a table, after two blanks: its head, if there is one, or what stands below it, "-" for NULL and
   NaN. A width below 0: at the left. */
void text_cell(int width, const char *head, const char *words);
void text_number(int width, const char *head, const char *format, double v);
/* Lines that several summaries have: the matrix; its bounds, and how they were found; how it was run, after `more`. */
void text_matrix(const char *name, int64_t rows, int64_t nnz, const char *more);
void text_bounds(const wisp_bounds *b, wisp_bounds_method method);
void text_kernel(wisp_damping kernel, double lambda); /* lambda 0: the default */
void text_run(const tool *t, const wisp_mat_info *info, const char *more);
/* Gflop/s; NaN where no time has passed. And the line that tells them, if they are known. */
double gflops(double flops, double seconds);
void text_rate(double flops, double seconds);
/* This thread prints no lines any more. */
void text_silence(void);
/* One line of an aligned summary: a name and a printf. */
void text_line(const char *name, const char *format, ...) WISP_PRINTF(2, 3);
#endif
