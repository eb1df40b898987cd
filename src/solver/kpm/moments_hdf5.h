/* What is told of moments files (HDF5) to who writes them (moments_hdf5.c) and who reads them (moments_read.c). */
#ifndef WISP_MOMENTS_HDF5_H
#define WISP_MOMENTS_HDF5_H
#include "moments.h"
#include "../../late/hdf5.h"

/* Version 1 had no checksum. Version 3 is that of vectors of the user's and of complex moments, which earlier versions
   of wisp can't read, version 4 that of moments of two velocities, version 5 that of moments with marks, or of whose
   sample something is known, version 6 that of plane waves whose k are known, and of maps, whose rows are, version 7
   that of other moments of several realizations of disorder; all other moments are in files of version 2. */
enum { REALIZATIONS = 7, POINTS = 6, SAMPLE = 5, SQUARE = 4, WITH_SIDES = 3, FORMAT_VERSION = 2, WITHOUT_CHECKSUM = 1 };
#define WISP__MOMENTS_FORMAT "wisp-moments"

/* HDF5 prints its errors by itself unless told otherwise; the caller's setting comes back afterwards. That setting is
   the process's (or, in some builds of HDF5, the thread's), and HDF5 need not bear several threads: one at a time. */
typedef struct {
    H5E_auto2_t print;
    void *arg;
} wisp__quiet;
/* Fails where there is no HDF5. */
wisp_status wisp__hdf5_be_quiet(wisp_ctx *ctx, const char *path, wisp__quiet *q);
void wisp__hdf5_be_loud(wisp__quiet q);
#endif
