/* --like: what a run chose is in its results, and another one can be given it. */
#ifndef WISP_TOOL_LIKE_H
#define WISP_TOOL_LIKE_H
#include "tool.h"

/* What a run chose beside the layout of its matrix; 0: its command has no such choice. */
typedef struct {
    int width, depth, row_bytes;
    int64_t bytes;
    const char *method; /* of eig; NULL: by its own rules it is that one again */
} like_run;

/* Before the context is made: reads the file, and takes over what was chosen there, unless options say otherwise. */
int like_read(tool *t);
const char *like_isa(const tool *t); /* for the context; NULL: the best */
/* Says in one line by what this run differs from that of the file, so that its bits may: in what is asked, and where it
   runs; and, once the matrix is made, in its layout. width: of blocks, 0 where they are what is asked. All ranks
   together. */
void like_begin(const tool *t);
void like_matrix(tool *t, const wisp_mat_info *info, int width);
void like_free(tool *t);
/* The object "chosen" of results. All ranks together. */
json_t *like_json(tool *t, const wisp_mat_info *info, const like_run *run);
#endif
