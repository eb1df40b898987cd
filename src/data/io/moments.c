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

wisp_status wisp_moments_label(wisp_ctx *ctx, wisp_moments *m, const char *matrix, const char *command)
{
    char *new_matrix = matrix ? strdup(matrix) : NULL, *new_command = command ? strdup(command) : NULL;
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
