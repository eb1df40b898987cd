/* Whether moments that were read from a file can be moments at all. */
#ifndef WISP_MOMENTS_H
#define WISP_MOMENTS_H
#include "../solver.h"

/* Refuses moments from a file that no run can have made; `path` is for the message. */
wisp_status wisp__moments_check(wisp_ctx *ctx, const wisp_moments *m, const char *path);
/* seal.c: a line at the end of the file, and whether the one that is there, if any, fits. */
enum { WISP__SEAL = 20 };
void wisp__seal_make(char seal[WISP__SEAL + 1], const void *image, size_t size);
wisp_status wisp__seal_check(wisp_ctx *ctx, int fd, const char *path);

#endif
