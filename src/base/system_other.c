/* The same by what POSIX has. */
#include "system.h"
#ifndef WISP__LINUX
#include "futex.h"
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Where strerror_r says whether it failed; and where it gives the text itself. */
static const char *text_of_status(int failed, const char *text) { return failed ? "unknown error" : text; }
static const char *text_of_text(const char *said, const char *text) { return (void)text, said; }

const char *wisp__error_text(int error, char *text, size_t size)
{
    return _Generic(strerror_r(error, text, size), int: text_of_status, char *: text_of_text)(
        strerror_r(error, text, size), text);
}

const char *wisp__last_byte(const char *text, char c, size_t size)
{
    while (size > 0)
        if (text[--size] == c) return text + size;
    return NULL;
}

bool wisp__random_bytes(void *to, size_t bytes) { return getentropy(to, bytes) == 0; }

void wisp__want_huge_pages(void *memory, size_t bytes) { (void)memory, (void)bytes; }

bool wisp__map_again(void *memory, size_t bytes, void *place) { return (void)memory, (void)bytes, (void)place, false; }

/* A condition variable may not be told of news in a signal handler. So who waits looks, at first often. */
void wisp__futex_wait(atomic_uint *word, unsigned seen, const struct timespec *most)
{
    enum { FIRST_NS = 20000, LAST_NS = 1000000 };
    const int64_t end =
        most ? wisp__clock_ns(CLOCK_MONOTONIC) + (int64_t)most->tv_sec * 1000000000 + most->tv_nsec : INT64_MAX;
    for (long ns = FIRST_NS; atomic_load(word) == seen; ns = ns < LAST_NS / 2 ? 2 * ns : LAST_NS) {
        if (most && wisp__clock_ns(CLOCK_MONOTONIC) >= end) return;
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    }
}

void wisp__futex_wake(atomic_uint *word) { (void)word; }
#else
typedef int wisp__linux_has_its_own;
#endif
