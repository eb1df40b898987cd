/* Compiled kernels, kept on the disk by all that they were made of: a file for each, under the hash of that. What is
   damaged, or can't be read or written, is compiled anew: nothing hangs on these files. */
#include "gpu.h"
#include "../../base/system.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* What a file begins with. */
typedef struct {
    char magic[8];
    uint64_t bytes, hash; /* of what follows */
} head;
static const char magic[8] = "wispk01";

/* $XDG_CACHE_HOME/wisp/kernels, else below ~/.cache; false: there is no such place. */
static bool folder_of(char folder[PATH_MAX])
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool own = base && *base == '/';
    if (!own && !(home && *home == '/')) return false;
    return snprintf(folder, PATH_MAX, "%s%s/wisp/kernels", own ? base : home, own ? "" : "/.cache") < PATH_MAX - 64;
}

static void file_of(const char *made_by, const char *text, const char *folder, char path[PATH_MAX])
{
    const XXH128_hash_t h = XXH3_128bits_withSeed(text, strlen(text), XXH3_64bits(made_by, strlen(made_by)));
    snprintf(path, PATH_MAX, "%.*s/%016llx%016llx", PATH_MAX - 64, folder, (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

void *wisp__gpu_kept(const char *made_by, const char *text, size_t *bytes)
{
    char folder[PATH_MAX], path[PATH_MAX];
    char *data = NULL;
    head h;
    if (!folder_of(folder)) return NULL;
    file_of(made_by, text, folder, path);
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    struct stat is;
    if (fread(&h, sizeof h, 1, f) == 1 && !memcmp(h.magic, magic, sizeof magic) && !fstat(fileno(f), &is) &&
        h.bytes == (uint64_t)is.st_size - sizeof h && (data = malloc(h.bytes + 1))) {
        const bool whole = fread(data, 1, h.bytes, f) == h.bytes && XXH3_64bits(data, h.bytes) == h.hash;
        if (!whole) free(data);
        if (!whole) data = NULL;
        *bytes = h.bytes;
    }
    fclose(f);
    if (data) utimensat(AT_FDCWD, path, NULL, 0); /* it was of use: younger than others */
    return data;
}

typedef struct {
    char name[64];
    struct timespec used;
    int64_t bytes;
} kept_file;

static int by_use(const void *a, const void *b)
{
    const kept_file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* Removes what was of use longest ago, until all is within the limit. */
static void bound(int folder)
{
    enum { MOST_FILES = 4096, MOST_BYTES = 64 << 20 };
    const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    kept_file *list = malloc(MOST_FILES * sizeof *list);
    int n = 0;
    int64_t all = 0;
    struct stat is;
    for (struct dirent *e; d && list && n < MOST_FILES && (e = readdir(d));)
        if (strlen(e->d_name) == 32 && !fstatat(folder, e->d_name, &is, AT_SYMLINK_NOFOLLOW) && S_ISREG(is.st_mode)) {
            snprintf(list[n].name, sizeof list[n].name, "%.32s", e->d_name);
            list[n].used = wisp__modified(&is);
            all += list[n++].bytes = is.st_size;
        }
    if (list && (all > MOST_BYTES || n == MOST_FILES)) {
        qsort(list, (size_t)n, sizeof *list, by_use);
        for (int i = 0; i < n && (all > MOST_BYTES / 2 || n - i > MOST_FILES / 2); i++) {
            unlinkat(folder, list[i].name, 0);
            all -= list[i].bytes;
        }
    }
    free(list);
    if (d)
        closedir(d);
    else if (again >= 0)
        close(again);
}

static void make_folders(char *folder)
{
    for (char *c = folder + 1; (c = strchr(c, '/')); c++) {
        *c = 0;
        mkdir(folder, 0700);
        *c = '/';
    }
    mkdir(folder, 0700);
}

/* A file of another name becomes it when it is whole, so that others see all or nothing. */
void wisp__gpu_keep(const char *made_by, const char *text, const void *data, size_t bytes)
{
    char folder[PATH_MAX], path[PATH_MAX], temp[PATH_MAX];
    head h = {.bytes = bytes, .hash = XXH3_64bits(data, bytes)};
    memcpy(h.magic, magic, sizeof magic);
    if (!folder_of(folder)) return;
    make_folders(folder);
    const int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0) return;
    file_of(made_by, text, folder, path);
    snprintf(temp, sizeof temp, "%.*s/new-XXXXXX", PATH_MAX - 64, folder);
    const int fd = mkstemp(temp);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (f) {
        const bool whole = fwrite(&h, sizeof h, 1, f) == 1 && fwrite(data, 1, bytes, f) == bytes;
        if (fclose(f) || !whole || rename(temp, path)) unlink(temp);
    } else if (fd >= 0) {
        close(fd);
        unlink(temp);
    }
    bound(at);
    close(at);
}
