#include "late.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool wisp__late_open(const char *path, const char *const *name, size_t count, void *table, char why[WISP__LATE_WHY])
{
    /* LAZY: PT-SCOTCH may lack what prints its errors, which is left to programs. */
    enum { HOW = RTLD_LAZY | RTLD_LOCAL };
    const char *const slash = strrchr(path, '/'), *const file = slash ? slash + 1 : path;
    void *library = dlopen(file, HOW | RTLD_NOLOAD);
    if (!library && slash) library = dlopen(path, HOW);
    if (!library) library = dlopen(file, HOW);
    if (!library) snprintf(why, WISP__LATE_WHY, "%s", dlerror());
    /* A program that links the library may have copies of its variables, which are those in use. */
    void *const program = dlopen(NULL, RTLD_NOW);
    if (library && dlsym(program, name[0]) == dlsym(library, name[0])) library = program;
    for (size_t i = 0; library && i < count; i++) {
        void *const symbol = dlsym(library, name[i]);
        memcpy((char *)table + i * sizeof symbol, &symbol, sizeof symbol);
        if (symbol) continue;
        snprintf(why, WISP__LATE_WHY, "%s has no %s", file, name[i]);
        return false;
    }
    return library;
}
