/* The processing units that processes of this user hold: a byte each of a file in a folder of the user's alone, locked
   by the process that holds the unit. The system ends its locks with a process, and a child of fork has none. */
#include "crew.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Once it is open it stays: to close any descriptor of the file would end all locks of the process. */
static int file = -1;
static struct stat file_is;

/* The folder, made if it is not there; -1: it is not this user's alone, or can't be had. */
static int open_folder(const char *path)
{
    struct stat is;
    if (mkdir(path, 0700) && errno != EEXIST) return -1;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && !fstat(folder, &is) && is.st_uid == geteuid() && !(is.st_mode & 077)) return folder;
    if (folder >= 0) close(folder);
    return -1;
}

static int open_place(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char path[4096];
    struct stat is;
    if (runtime && *runtime == '/' && !stat(runtime, &is) && is.st_uid == geteuid()) {
        snprintf(path, sizeof path, "%.4000s/wisp", runtime);
        const int folder = open_folder(path);
        if (folder >= 0) return folder;
    }
    snprintf(path, sizeof path, "/tmp/wisp-%ld", (long)geteuid());
    return open_folder(path);
}

/* Whether the descriptor is still that of the file: a program may close what it did not open, as daemons do. */
static bool is_open(void)
{
    struct stat is;
    return file >= 0 && !fstat(file, &is) && is.st_dev == file_is.st_dev && is.st_ino == file_is.st_ino;
}

bool wisp__holds_known(void)
{
    if (is_open()) return true;
    const int folder = open_place();
    if (folder < 0) return false;
    file = openat(folder, "cores", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    close(folder);
    if (file >= 0 && fstat(file, &file_is)) file = -1;
    return file >= 0;
}

static bool set(int unit, short type)
{
    const struct flock byte = {.l_type = type, .l_whence = SEEK_SET, .l_start = unit, .l_len = 1};
    return fcntl(file, F_SETLK, &byte) == 0;
}

bool wisp__hold(int unit) { return set(unit, F_WRLCK); }

void wisp__hold_end(const wisp__units *units)
{
    if (!is_open()) return;
    for (int i = 0; i < WISP__UNITS; i++)
        if (wisp__units_has(units, i)) set(i, F_UNLCK);
}
