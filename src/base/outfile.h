/* Output files that appear whole or not at all: written beside their final name, synced, renamed. */
#ifndef WISP_OUTFILE_H
#define WISP_OUTFILE_H
#include "base.h"
#include <limits.h>

/* Zero it before wisp__out_open. A writer that wants a name rather than a descriptor may open and fill `temp` by
   itself, between open and commit. */
typedef struct {
    wisp_ctx *ctx;
    char *name; /* as the user gave it */
    char *path; /* the final file; a symbolic link was followed */
    char *temp; /* what is written until commit; NULL for a device or a pipe, which is written directly */
    int fd;
    bool open, made; /* the descriptor; the temporary file */
} wisp__out;

/* The name that stands behind all links, also of a file that is not there yet; 0 or an errno. */
int wisp__real_name(const char *name, char real[PATH_MAX]);
wisp_status wisp__out_open(wisp__out *out, wisp_ctx *ctx, const char *path);
wisp_status wisp__out_write(wisp__out *out, const void *data, size_t bytes);
/* What was written is on the disk. */
wisp_status wisp__out_sync(wisp__out *out);
/* Syncs and renames; on failure the old file stands and the temporary one is gone. */
wisp_status wisp__out_commit(wisp__out *out);
/* Removes what was written, unless it was committed; accepts one that was never opened. */
void wisp__out_abort(wisp__out *out);
#endif
