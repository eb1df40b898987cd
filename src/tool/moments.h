/* Moments that are kept in files: what the commands share that have --save and --from. */
#ifndef WISP_TOOL_MOMENTS_H
#define WISP_TOOL_MOMENTS_H
#include "tool.h"

/* The files of --from, taken together; those that do not fit are named. seed[LIST]: of each. */
int moments_load(tool *t, wisp_moments *m, uint64_t *seed);
/* What --save asks for, if it does. */
int moments_save(tool *t, const wisp_moments *m);
/* A run of so many vectors, by this command, that was stopped: keeps what is done, if it is to be kept. EXIT_FAILED,
 * and its line. */
int moments_stopped(tool *t, wisp_moments *m, int64_t wanted, const char *command);
/* What stood behind an option in the command of another run, the last time, without its quotes; to be freed. NULL: it
 * was not there. It may be abbreviated, as on the command line itself. */
char *moments_value(const char *command, const char *option);
bool moments_asked(const char *command, const char *option);
/* Whether they are of random vectors of one seed, or of none. */
static inline bool moments_have_seed(const wisp_moments *m)
{
    return m->first_vector >= 0 && !(m->trace == WISP_TRACE_RANDOM && m->realizations > 0);
}
/* Lines of a summary: the vectors, of so many files; and the files themselves. */
void moments_vectors_line(const wisp_moments *m, int runs);
void moments_files_line(const tool *t, const wisp_moments *m);
#endif
