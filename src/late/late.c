#include "late.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Those of a library that was opened, or of the program: one that links the library may have copies of its variables,
   which are those in use. The first name that there is not; count: all are there. */
static size_t look_up(void *library, const char *const *name, size_t count, void *table)
{
    void *const program = dlopen(NULL, RTLD_NOW);
    if (dlsym(program, name[0]) == dlsym(library, name[0])) library = program;
    for (size_t i = 0; i < count; i++) {
        void *const symbol = dlsym(library, name[i]);
        memcpy((char *)table + i * sizeof symbol, &symbol, sizeof symbol);
        if (!symbol) return i;
    }
    return count;
}

/* LAZY: PT-SCOTCH may lack what prints its errors, which is left to programs. */
enum { HOW = RTLD_LAZY | RTLD_LOCAL };

bool wisp__late_loaded(const char *file, const char *const *name, size_t count, void *table)
{
    void *library = dlopen(file, HOW | RTLD_NOLOAD);
    return library && look_up(library, name, count, table) == count;
}

bool wisp__late_open(const char *path, const char *const *name, size_t count, void *table, char why[WISP__LATE_WHY])
{
    const char *const slash = strrchr(path, '/'), *const file = slash ? slash + 1 : path;
    void *library = dlopen(file, HOW | RTLD_NOLOAD);
    if (!library && slash) library = dlopen(path, HOW);
    if (!library) library = dlopen(file, HOW);
    if (!library) {
        snprintf(why, WISP__LATE_WHY, "%s", dlerror());
        return false;
    }
    const size_t known = look_up(library, name, count, table);
    if (known < count) snprintf(why, WISP__LATE_WHY, "%s has no %s", file, name[known]);
    return known == count;
}
