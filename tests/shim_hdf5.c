/* A machine without HDF5: preloaded (LD_PRELOAD), it lets no library be opened by a name with hdf5 in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

void *dlopen(const char *path, int flags)
{
    void *(*other)(const char *, int);
    *(void **)&other = dlsym(RTLD_NEXT, "dlopen");
    return other(path && strstr(path, "hdf5") ? "absent-hdf5.so" : path, flags);
}
