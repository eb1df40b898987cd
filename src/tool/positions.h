/* Where the rows of a matrix are, and what is made of that: --positions, --cell, --peierls, --velocity. */
#ifndef WISP_TOOL_POSITIONS_H
#define WISP_TOOL_POSITIONS_H
#include "tool.h"

/* Of a matrix that was opened by this name, with so many rows: those of --positions, else what the gallery knows. All
   ranks together. EXIT_FAILED with its line. */
int positions_open(tool *t, const char *name, int64_t rows, wisp_positions *p);
/* Those of a gallery spec, where it has some and no file has its name; else *p is empty. */
int positions_find(tool *t, const char *name, wisp_positions *p);
/* *way becomes what counts steps along vector i of n: way . v is 1 for v the vector itself, 0 for the others. */
void positions_counter(const double (*vector)[3], int n, int i, double *way);
/* Whether rows differ along x, y or z. */
bool positions_extend(const tool *t, const wisp_positions *p, int along);
/* EXIT_USAGE with its line, where options of positions contradict each other. wanted: something needs positions. */
int positions_check(tool *t, bool wanted);
/* Opens a matrix, and what --peierls and --velocity make of it. */
int positions_source(tool *t, wisp_src *src, const char *name,
                     wisp_status (*open)(wisp_src *, wisp_ctx *, const char *));
#endif
