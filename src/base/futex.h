/* Sleeping on a number in memory until another thread changes it (on Linux futex(2)); waking is safe in signal
 * handlers. */
#ifndef WISP_FUTEX_H
#define WISP_FUTEX_H
#include "system.h"
#include <stdatomic.h>
#ifdef WISP__LINUX
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns at once if *word is no longer `seen`; for any reason it may return early. most = NULL: however long. */
static inline void wisp__futex_wait(atomic_uint *word, unsigned seen, const struct timespec *most)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, most);
}

/* All that sleep on it, of this process. */
static inline void wisp__futex_wake(atomic_uint *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL); }
#else
/* system_other.c */
void wisp__futex_wait(atomic_uint *word, unsigned seen, const struct timespec *most);
void wisp__futex_wake(atomic_uint *word);
#endif
#endif
