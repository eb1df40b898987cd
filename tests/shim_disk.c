/* A disk that fails: preloaded (LD_PRELOAD), it counts the calls that write, sync, link or rename files whose names
   contain $DISK_FILE, and lets one of them go wrong. No sync reaches the disk, for a process that dies loses nothing
   that it has written: that one was left out shows by DISK_LOG alone.

   DISK_DIE_AT=N      the N-th of these calls kills the process; a write first writes half of its bytes
   DISK_FAIL_AT=N,E   the N-th fails with errno E; with N+ all from there on do
   DISK_SHORT=1       each write is a short one
   DISK_LOG=FILE      at the end the number of calls is appended to FILE; a file that is renamed before it was synced is
                      told there, too, and ends the process */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES = 4096, NAME = 512 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Those that were opened to be written, by their names: a descriptor may soon be another file's. */
static struct {
    char name[NAME]; /* "": none */
    int fd;          /* -1: no longer known */
    bool synced;
} file[FILES];
static long calls;

static long number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? atol(text) : 0;
}

static void say(const char *format, ...)
{
    char line[2 * NAME];
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    const char *log = getenv("DISK_LOG");
    const int fd = log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (fd < 0 || n < 0) return;
    (void)!syscall(SYS_write, fd, line, (size_t)n);
    syscall(SYS_close, fd);
}

__attribute__((destructor)) static void tell(void) { say("calls %ld\n", calls); }

static bool counts(const char *name)
{
    const char *part = getenv("DISK_FILE");
    return part && name && strstr(name, part);
}

/* The next call: 0, or the errno with which it fails; or it is the last one. */
static int next_call(bool *dies)
{
    const long at = ++calls, die = number_of("DISK_DIE_AT"), fail = number_of("DISK_FAIL_AT");
    const char *how = getenv("DISK_FAIL_AT"), *comma = how ? strchr(how, ',') : NULL;
    *dies = die == at;
    if (!comma || fail == 0) return 0;
    return at == fail || (at > fail && comma[-1] == '+') ? atoi(comma + 1) : 0;
}

/* The file of this descriptor; -1: it is none of those. */
static int of_fd(int fd)
{
    for (int i = 0; i < FILES; i++)
        if (file[i].name[0] && file[i].fd == fd) return i;
    return -1;
}

static int opened(int fd, const char *name, int flags)
{
    if (fd < 0) return fd;
    pthread_mutex_lock(&lock);
    const int old = of_fd(fd);
    if (old >= 0) file[old].fd = -1;
    for (int i = 0; i < FILES; i++)
        if (!strcmp(file[i].name, name)) file[i].name[0] = '\0';
    for (int i = 0; i < FILES && (flags & O_ACCMODE) != O_RDONLY && counts(name); i++) {
        if (file[i].name[0]) continue;
        snprintf(file[i].name, NAME, "%s", name);
        file[i].fd = fd;
        file[i].synced = false;
        break;
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

int open(const char *name, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const unsigned mode = flags & O_CREAT ? va_arg(ap, unsigned) : 0;
    va_end(ap);
    return opened((int)syscall(SYS_openat, AT_FDCWD, name, flags, mode), name, flags);
}

int open64(const char *name, int flags, ...) __attribute__((alias("open")));

ssize_t write(int fd, const void *data, size_t bytes)
{
    bool dies = false;
    int error = 0;
    pthread_mutex_lock(&lock);
    const int i = of_fd(fd);
    if (i >= 0) {
        error = next_call(&dies);
        file[i].synced = false;
    }
    pthread_mutex_unlock(&lock);
    if (i >= 0) {
        if ((dies || number_of("DISK_SHORT")) && bytes > 1) bytes = bytes / 2;
    }
    if (error) {
        errno = error;
        return -1;
    }
    const ssize_t n = syscall(SYS_write, fd, data, bytes);
    if (dies) kill(getpid(), SIGKILL);
    return n;
}

int fsync(int fd)
{
    bool dies = false;
    int error = 0;
    pthread_mutex_lock(&lock);
    const int i = of_fd(fd);
    if (i >= 0) {
        error = next_call(&dies);
        if (dies) kill(getpid(), SIGKILL);
        file[i].synced = error == 0;
    }
    pthread_mutex_unlock(&lock);
    if (error) {
        errno = error;
        return -1;
    }
    return 0;
}

/* All of a link and of a renaming but the call itself. */
static int name_call(const char *from, const char *to, int (*call)(const char *, const char *), bool needs_sync)
{
    bool dies = false;
    int error = 0;
    if (counts(from) || counts(to)) {
        pthread_mutex_lock(&lock);
        error = next_call(&dies);
        bool synced = strstr(from, ".before.tmp"); /* a second name of one that was */
        for (int i = 0; i < FILES; i++)
            if (file[i].name[0] && !strcmp(file[i].name, from)) {
                synced = file[i].synced;
                if (error == 0 && needs_sync) snprintf(file[i].name, NAME, "%s", to);
                if (error == 0 && needs_sync) break;
            }
        if (needs_sync && !synced) {
            say("renamed before it was synced: %s\n", from);
            kill(getpid(), SIGKILL);
        }
        pthread_mutex_unlock(&lock);
    }
    if (dies) kill(getpid(), SIGKILL);
    if (error) {
        errno = error;
        return -1;
    }
    return call(from, to);
}

static int plain_rename(const char *from, const char *to)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int plain_link(const char *from, const char *to)
{
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int rename(const char *from, const char *to) { return name_call(from, to, plain_rename, true); }
int link(const char *from, const char *to) { return name_call(from, to, plain_link, false); }
