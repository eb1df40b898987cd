/* --weights: the shares of rows that ranks have. */
#ifndef WISP_TOOL_WEIGHTS_H
#define WISP_TOOL_WEIGHTS_H
#include "tool.h"

/* Before the context: whether those of --weights are as many as there are processes, and
   MATRIX can be read as often as they need. */
int weights_check(tool *t);
int weights_refuse_pipe(tool *t);
/* All ranks together: find weights, if --weights asks for such ones and they are not there yet. Then t->dealt says
   whether sources are to be dealt out by them. EXIT_LAYOUT: so that the matrix is to be made anew, from its source. */
int weights_by_source(tool *t, const wisp_src *src);
int weights_by_matrix(tool *t, const wisp_mat *A, int width);
/* The same of a source that was opened, which may be empty: it is dealt out by weights that were found, if any. */
int weights_deal(tool *t, wisp_src *src);
/* weights[ranks] of this run. */
wisp_status weights_now(const tool *t, int64_t *weights);
void weights_free(tool *t);
/* And the exchange of this matrix's halo: a line each, of several processes. */
void weights_summary(const tool *t, const wisp_mat_info *info);
json_t *weights_json(const tool *t);
/* Once there is a context: those of the environment become part of the command line, so that they can be given again;
   and what the kept command line of another run tells of them, if anything. */
int weights_keep(tool *t);
void weights_summary_of(const char *command);
json_t *weights_json_of(const char *command);
/* Called by all ranks, each with weights that are found or with the exit status of its failure. Frees or keeps the
   array. */
int weights_take(tool *t, int rc, int64_t *weights);
#endif
