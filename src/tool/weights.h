/* --weights: the shares of rows that ranks have. */
#ifndef WISP_TOOL_WEIGHTS_H
#define WISP_TOOL_WEIGHTS_H
#include "tool.h"

/* Before the context: whether those of --weights are as many as there are processes, and
   MATRIX can be read as often as they need; then those that the context is to have, NULL: not given. */
int weights_check(tool *t);
int weights_refuse_pipe(tool *t);
const int64_t *weights_given(const tool *t);
/* All ranks together: find weights, if --weights asks for such ones and they are not there yet. EXIT_LAYOUT: the run
   should free what it has on the context, call weights_restart, and begin again. */
int weights_by_source(tool *t, const wisp_src *src);
int weights_by_matrix(tool *t, const wisp_mat *A, int width);
int weights_restart(tool *t, wisp_mat **A); /* and frees *A; A may be NULL */
void weights_free(tool *t);
/* And the exchange of this matrix's halo: a line each, of several processes. */
void weights_summary(const tool *t, const wisp_mat_info *info);
json_t *weights_json(const tool *t);
/* Once there is a context: those of the environment become part of the command line, so that they can be given again;
   and what the kept command line of another run tells of them, if anything. */
int weights_keep(tool *t);
void weights_summary_of(const char *command);
json_t *weights_json_of(const char *command);
/* Called by all ranks, each with the weights or with the exit status of its failure: EXIT_LAYOUT if they
   differ from the present ones. Frees or keeps the array. */
int weights_take(tool *t, int rc, int64_t *weights);
#endif
