/* The system's part of the command: Linux has its own ways, others those of POSIX. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#ifdef SYSTEM_LINUX
int system_processors(void)
{
    cpu_set_t ours;
    return sched_getaffinity(0, sizeof ours, &ours) ? 0 : CPU_COUNT(&ours);
}

int system_memory_file(void) { return memfd_create("wisp", MFD_CLOEXEC); }

bool system_socket_pair(int ends[2]) { return !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); }
#else
int system_processors(void) { return 0; }

static bool not_inherited(int fd) { return fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) != -1; }

int system_memory_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/wisp-XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    if (not_inherited(fd)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

bool system_socket_pair(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return false;
    if (not_inherited(ends[0]) && not_inherited(ends[1])) return true;
    close(ends[0]);
    close(ends[1]);
    return false;
}
#endif

/* Past the end of the file, whose size stays. File systems that can't do so are not asked: they may refuse later. */
static int reserve(int fd, int64_t at, int64_t bytes)
{
#ifdef SYSTEM_LINUX
    const int error = fallocate(fd, FALLOC_FL_KEEP_SIZE, at, bytes) ? errno : 0;
    return error == ENOSPC || error == EDQUOT || error == EFBIG ? error : 0;
#else
    (void)fd, (void)at, (void)bytes;
    return 0;
#endif
}

bool system_reserve(const char *path, int64_t bytes)
{
    struct stat st;
    struct rlimit most;
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    int error = fstat(fd, &st) ? errno : 0;
    if (!error && !getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur != RLIM_INFINITY &&
        (rlim_t)(st.st_size + bytes) > most.rlim_cur)
        error = EFBIG;
    if (!error) error = reserve(fd, st.st_size, bytes);
    close(fd);
    errno = error;
    return !error;
}

void system_release(const char *path)
{
    struct stat st;
    (void)!(stat(path, &st) || truncate(path, st.st_size));
}

bool system_own_path(char *path, size_t size)
{
#ifdef __APPLE__
    uint32_t room = (uint32_t)size;
    return !_NSGetExecutablePath(path, &room);
#else
    const ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0) return false;
    path[n] = '\0';
    return true;
#endif
}
