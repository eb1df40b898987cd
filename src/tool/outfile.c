/* Output files: written whole, so that nothing old is lost when something fails. */
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether path ends in a dot and one of the extensions, and has a name before it. */
bool has_extension(const char *path, const char *extensions)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    for (const char *e = extensions; e;) {
        const char *end = strchr(e, '|');
        size_t n = end ? (size_t)(end - e) : strlen(e), length = strlen(base);
        if (length > n + 1 && base[length - n - 1] == '.' && !strncmp(base + length - n, e, n)) return true;
        e = end ? end + 1 : NULL;
    }
    return false;
}

/* The file that path stands for (through links), and whether it must be written in place: a device or a pipe
   is not to be replaced. */
static int resolve(const char *path, char *real, bool *in_place)
{
    struct stat st;
    *in_place = false;
    if (stat(path, &st)) {
        if (errno != ENOENT) return errno;
        return snprintf(real, PATH_MAX, "%s", path) < PATH_MAX ? 0 : ENAMETOOLONG;
    }
    if (S_ISDIR(st.st_mode)) return EISDIR;
    *in_place = !S_ISREG(st.st_mode);
    return realpath(path, real) ? 0 : errno;
}

int outfile_check(tool *t, const char *path)
{
    char real[PATH_MAX], folder[PATH_MAX];
    bool in_place;
    int error = resolve(path, real, &in_place);
    if (!error) {
        strcpy(folder, real);
        if (access(in_place ? real : dirname(folder), in_place ? W_OK : W_OK | X_OK)) error = errno;
    }
    return error ? tool_fail(t, "cannot write %s: %s", path, strerror(error)) : EXIT_FINE;
}

/* The folder through all links, and the name in it; files that are there go by realpath. */
static bool canonical(const char *path, char *real)
{
    char copy[PATH_MAX], folder[PATH_MAX], name[PATH_MAX];
    if (realpath(path, real)) return true;
    if (snprintf(copy, sizeof copy, "%s", path) >= PATH_MAX || !realpath(dirname(copy), folder)) return false;
    snprintf(copy, sizeof copy, "%s", path);
    snprintf(name, sizeof name, "%s", basename(copy));
    return snprintf(real, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

bool outfile_same(const char *a, const char *b)
{
    char real[2][PATH_MAX];
    return !strcmp(a, b) || (canonical(a, real[0]) && canonical(b, real[1]) && !strcmp(real[0], real[1]));
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Data to the open file, which is closed. */
static int fill(int fd, const void *data, size_t size, bool regular)
{
    int error = write_all(fd, data, size);
    if (!error && regular && fsync(fd)) error = errno;
    if (close(fd) && !error) error = errno;
    return error;
}

static int replace(const char *real, const void *data, size_t size)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", real) >= PATH_MAX) return ENAMETOOLONG;
    int fd = mkstemp(temporary);
    if (fd < 0) return errno;
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    int error = fchmod(fd, stat(real, &st) ? 0666 & ~mask : st.st_mode & 07777) ? errno : 0;
    int fill_error = fill(fd, data, size, true);
    if (!error) error = fill_error;
    if (!error && rename(temporary, real)) error = errno;
    if (error) unlink(temporary);
    return error;
}

int outfile_write(tool *t, const char *path, const void *data, size_t size)
{
    char real[PATH_MAX];
    bool in_place;
    int error = resolve(path, real, &in_place);
    if (!error && in_place) {
        int fd = open(real, O_WRONLY | O_CLOEXEC);
        error = fd < 0 ? errno : fill(fd, data, size, false);
    } else if (!error) {
        error = replace(real, data, size);
    }
    return error ? tool_fail(t, "cannot write %s: %s", path, strerror(error)) : EXIT_FINE;
}
