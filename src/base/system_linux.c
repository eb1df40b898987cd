/* What Linux has of its own. */
#include "system.h"
#ifdef WISP__LINUX
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

const char *wisp__error_text(int error, char *text, size_t size) { return strerror_r(error, text, size); }

const char *wisp__last_byte(const char *text, char c, size_t size) { return memrchr(text, c, size); }

bool wisp__random_bytes(void *to, size_t bytes) { return getrandom(to, bytes, GRND_NONBLOCK) == (ssize_t)bytes; }

void wisp__want_huge_pages(void *memory, size_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }

bool wisp__map_again(void *memory, size_t bytes, void *place)
{
    /* Of length 0: it stays where it is, too. */
    return mremap(memory, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED;
}
#else
typedef int wisp__not_linux;
#endif
