/* The numbers of a file of Wannier90, seedname_hr.dat: H_mn(R) = <m of cell 0|H|n of cell R>. */
#ifndef WISP_GALLERY_HR_H
#define WISP_GALLERY_HR_H
#include "gallery.h"

typedef struct {
    int64_t orbitals, cells;
    int64_t (*cell)[3]; /* [cells] R; -R is there, too */
    wisp_scalar *value; /* [cells][m][n], over the degeneracy of R; exactly Hermitian */
} wisp__hr;

enum { WISP__HR_SLACK = 16 };
/* Reads text[size], which ends in '\n' and has so many zeros behind it, and makes it Hermitian, which it must be up to
   the rounding of its digits. `path` is for messages. Freed by wisp__hr_free, also after a failure. */
wisp_status wisp__hr_read(wisp__hr *hr, wisp_ctx *ctx, const char *path, const char *text, size_t size);
/* The cells of a lattice of n cells in each direction: R along periodic ones becomes 0 to n - 1, and those that are
   equal then are added up. */
wisp_status wisp__hr_fold(wisp__hr *hr, wisp_ctx *ctx, const int64_t n[3], unsigned periodic);
void wisp__hr_free(wisp_ctx *ctx, wisp__hr *hr);
#endif
