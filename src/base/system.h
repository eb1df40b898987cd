/* What systems have under different names, or not at all. system_linux.c has Linux's way; system_other.c what any POSIX
   system has, and macOS, which a build with -DWISP_PORTABLE takes on Linux, too. (Processing units: topo/place.h.) */
#ifndef WISP_SYSTEM_H
#define WISP_SYSTEM_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h> /* strtod_l */
#include <sys/stat.h>
#include <time.h>
#if defined __linux__ && !defined WISP_PORTABLE
#define WISP__LINUX 1
#endif
#ifdef __APPLE__
#include <xlocale.h> /* strtod_l */
#endif

/* What strerror has for it, in any thread: in text, or a string that stays. */
const char *wisp__error_text(int error, char *text, size_t size);
/* The last byte c among these; NULL: there is none. */
const char *wisp__last_byte(const char *text, char c, size_t size);
/* So many random bytes, at most 256; false: the system has none yet. It does not wait. */
bool wisp__random_bytes(void *to, size_t bytes);
/* Whether huge pages would do; a wish, which the system need not heed. */
void wisp__want_huge_pages(void *memory, size_t bytes);
/* A second mapping of shared memory, at a place that is mapped already; false: it can't be had. */
bool wisp__map_again(void *memory, size_t bytes, void *place);

/* Nanoseconds of a clock; -1: it is gone, as that of a thread that has ended. */
static inline int64_t wisp__clock_ns(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? -1 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* When it was last modified. */
static inline struct timespec wisp__modified(const struct stat *is)
{
#ifdef __APPLE__
    return is->st_mtimespec;
#else
    return is->st_mtim;
#endif
}
#endif
