#include "config.h"
#ifdef WISP_HAVE_HDF5
#include "hdf5.h"
#include "late.h"
#include <pthread.h>
#include <stdio.h>

wisp__hdf5_calls wisp__hdf5;
static char refusal[WISP__LATE_WHY + 64];

static void open_library(void)
{
    static const char *const name[] = {
#define NAME(name) "H5" #name,
        WISP__HDF5(NAME)};
    char why[WISP__LATE_WHY];
    if (!wisp__late_open(WISP_HDF5_LIBRARY, name, sizeof name / sizeof *name, &wisp__hdf5, why))
        snprintf(refusal, sizeof refusal, "HDF5's library can't be opened (Debian: libhdf5-dev): %s", why);
}

const char *wisp__hdf5_refusal(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return *refusal ? refusal : NULL;
}
#endif
