/* A machine without a library: preloaded (LD_PRELOAD), it lets none be opened whose name has $ABSENT in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *dlopen(const char *path, int flags)
{
    const char *absent = getenv("ABSENT");
    void *(*other)(const char *, int);
    *(void **)&other = dlsym(RTLD_NEXT, "dlopen");
    return other(path && absent && strstr(path, absent) ? "absent.so" : path, flags);
}
