/* What belongs to moments whether or not there are HDF5 files. The moments are the caller's and may outlive the
   context: plain memory. */
#include "../../base/base.h"
#include <stdlib.h>
#include <string.h>

void wisp_moments_free(wisp_moments *m)
{
    if (!m) return;
    free(m->mu);
    free(m->sites);
    free(m->matrix);
    free(m->command);
    memset(m, 0, sizeof *m);
}

/* A copy; of a long text (thousands of sites on a command line) the first part, for an HDF5 attribute holds 64 KiB. */
static char *label(const char *text)
{
    enum { LONGEST = 32000 };
    char *copy = text ? strndup(text, LONGEST) : NULL;
    if (copy && strlen(text) > LONGEST) memcpy(copy + LONGEST - 4, " ...", 4);
    return copy;
}

wisp_status wisp_moments_label(wisp_ctx *ctx, wisp_moments *m, const char *matrix, const char *command)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    char *new_matrix = label(matrix), *new_command = label(command);
    if ((matrix && !new_matrix) || (command && !new_command)) {
        free(new_matrix);
        free(new_command);
        return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory for the label of the moments");
    }
    free(m->matrix);
    free(m->command);
    m->matrix = new_matrix;
    m->command = new_command;
    return WISP_OK;
}
