/* Libraries that are opened when they are first needed, and stay open: a process that needs none of them does not load
   them, nor what they bring. */
#ifndef WISP_LATE_H
#define WISP_LATE_H
#include <stdbool.h>
#include <stddef.h>

enum { WISP__LATE_WHY = 512 };
/* Opens a library: that of the last part of the path which the process has already, else that of the path, else the one
   that the system finds by its last part. Puts the addresses of name[count] into table[count]. False: `why` says why
   not. It is for the caller to do so once. */
bool wisp__late_open(const char *path, const char *const *name, size_t count, void *table, char why[WISP__LATE_WHY]);
/* The same of a library that the process has already; false: it has none of that name, or not all of these. */
bool wisp__late_loaded(const char *file, const char *const *name, size_t count, void *table);
#endif
