/* What the command asks a system for, under whatever name it has there. */
#ifndef WISP_TOOL_SYSTEM_H
#define WISP_TOOL_SYSTEM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#if defined __linux__ && !defined WISP_PORTABLE
#define SYSTEM_LINUX 1
#endif

/* How many processors this process may run on; 0: the system does not tell. */
int system_processors(void);
/* A new file without a name, gone when it is closed, and not open in programs that are started; -1, and errno. */
int system_memory_file(void);
/* Two ends of a stream that are not open in programs that are started; false, and errno. */
bool system_socket_pair(int ends[2]);
/* Whether a file can grow by so many bytes, which the disk then keeps free for it where the system knows how; false,
   and errno. */
bool system_reserve(const char *path, int64_t bytes);
void system_release(const char *path); /* what is kept free behind its end */
/* The file of this program; false: not known, or longer. */
bool system_own_path(char *path, size_t size);

/* Whether huge pages would do, or not; a wish. */
static inline void system_huge_pages(void *memory, size_t bytes, bool wanted)
{
#ifdef SYSTEM_LINUX
    madvise(memory, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)memory, (void)bytes, (void)wanted;
#endif
}
#endif
