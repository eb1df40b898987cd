/* A run that goes on from a kept one: MATRIX beside --from, with more --moments or --vectors. Its results are those of
   a run with all of them from the start. */
#ifndef WISP_TOOL_MORE_H
#define WISP_TOOL_MORE_H
#include "tool.h"

typedef struct {
    wisp_moments kept;
    const char *file; /* that it is of; NULL: the run is no such one */
    bool added;       /* further vectors alone are computed, and the kept ones are added; else all, from the start */
} more_run;

static inline bool more_asked(const options *o) { return o->from && o->args; }
/* What does not go with it; EXIT_USAGE with its line. */
int more_check(tool *t);
/* Without more_asked nothing is done. Else the options become those of a new run, with what the kept one has. */
int more_begin(tool *t, more_run *more);
/* The moments that were computed become those of the whole run; or they are refused, for they are of another matrix. */
int more_end(tool *t, const more_run *more, wisp_moments *m);
/* Of a summary: the kept run; and the seconds of this run alone, also where there is no kept one. */
void more_line(const more_run *more);
void more_times(const more_run *more, const wisp_moments *m, double total, double assembly, double evaluation);
void more_free(more_run *more);
#endif
