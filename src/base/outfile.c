/* Output files (outfile.h): following names and links, the temporary file, the renaming. */
#include "outfile.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static wisp_status refuse(wisp_ctx *ctx, const char *name, int error)
{
    char text[128];
    return wisp_ctx_failf(ctx, WISP_ERR_IO, "cannot write %s: %s", name, wisp__error_text(error, text, sizeof text));
}

static wisp_status fail(wisp__out *out, int error) { return refuse(out->ctx, out->name, error); }

/* ---- which file a name stands for ---------------------------------------------------------------- */

int wisp__real_name(const char *name, char real[PATH_MAX])
{
    enum { MOST_LINKS = 40 };
    char target[PATH_MAX];
    if (realpath(name, real)) return 0;
    if (errno != ENOENT) return errno;
    if (snprintf(real, PATH_MAX, "%s", name) >= PATH_MAX) return ENAMETOOLONG;
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t n = readlink(real, target, sizeof target - 1);
        if (n < 0) return 0; /* no link: this one is to be made */
        target[n] = '\0';
        const char *slash = strrchr(real, '/');
        const size_t folder = *target != '/' && slash ? (size_t)(slash - real) + 1 : 0;
        if (folder + (size_t)n >= PATH_MAX) return ENAMETOOLONG;
        memcpy(real + folder, target, (size_t)n + 1);
    }
    return ELOOP;
}

/* The folder through all links, and the name in it. */
static bool whole_name(const char *name, char whole[PATH_MAX])
{
    char real[PATH_MAX], folder[PATH_MAX], copy[PATH_MAX];
    if (wisp__real_name(name, real)) return false;
    if (realpath(real, whole)) return true;
    strcpy(copy, real);
    if (!realpath(dirname(copy), folder)) return false;
    return snprintf(whole, PATH_MAX, "%s/%s", folder, basename(real)) < PATH_MAX;
}

int wisp_file_same(const char *a, const char *b)
{
    char whole[2][PATH_MAX];
    if (!a || !b) return 0;
    return !strcmp(a, b) || (whole_name(a, whole[0]) && whole_name(b, whole[1]) && !strcmp(whole[0], whole[1]));
}

/* Follows links to the file's real name, and tells what is there. A device or pipe is written in place, not
   replaced. */
static wisp_status resolve(wisp_ctx *ctx, const char *name, char real[PATH_MAX], struct stat *st, bool *there,
                           bool *in_place)
{
    char folder[PATH_MAX];
    int error = wisp__real_name(name, real);
    *there = !error && stat(real, st) == 0;
    *in_place = *there && !S_ISREG(st->st_mode);
    if (*there && S_ISDIR(st->st_mode)) error = EISDIR;
    if (error) return refuse(ctx, name, error);
    strcpy(folder, real);
    if (!*there && strcmp(name, real) && access(dirname(folder), F_OK))
        return wisp_ctx_failf(ctx, WISP_ERR_IO, "cannot write %s: it is a link to %s, whose folder is not there", name,
                              real);
    return WISP_OK;
}

wisp_status wisp_file_check(wisp_ctx *ctx, const char *path)
{
    char real[PATH_MAX];
    struct stat st;
    bool there, in_place;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, path);
    wisp_status status = resolve(ctx, path, real, &st, &there, &in_place);
    if (status == WISP_OK && access(in_place ? real : dirname(real), in_place ? W_OK : W_OK | X_OK))
        status = refuse(ctx, path, errno);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------- */

/* A new file beside the final one, with the permissions of the old one or those of any new file. (mkstemp would
   hide it from others.) */
static wisp_status open_temp(wisp__out *out, const struct stat *old)
{
    enum { TRIES = 1000 };
    size_t room = strlen(out->path) + 48;
    wisp_status status = wisp__alloc_raw(out->ctx, &out->temp, room, 1);
    if (status != WISP_OK) return status;
    for (int i = 0; i < TRIES; i++) {
        snprintf(out->temp, room, "%s.tmp%ld-%d", out->path, (long)getpid(), i);
        out->fd = open(out->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd >= 0) {
            out->open = out->made = true;
            if (old && fchmod(out->fd, old->st_mode & 07777)) return fail(out, errno);
            return WISP_OK;
        }
        if (errno != EEXIST) break;
    }
    return fail(out, errno);
}

bool wisp__fd_ready(int fd, short events)
{
    enum { MILLISECONDS = 100 };
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, MILLISECONDS) > 0;
}

/* A pipe that nobody reads yet is waited for. open() would do so, and sleep through a cancel that came just before it.
 */
static wisp_status open_direct(wisp__out *out, bool pipe)
{
    const struct timespec a_while = {.tv_nsec = 50000000};
    for (bool said = false;; said = true) {
        out->fd = open(out->path, O_WRONLY | O_CLOEXEC | (pipe ? O_NONBLOCK : 0));
        if (out->fd >= 0 || !pipe || (errno != ENXIO && errno != EINTR)) break;
        if (wisp__cancelled(out->ctx->team))
            return wisp_ctx_failf(out->ctx, WISP_ERR_CANCELLED, "cancelled while nobody read the pipe %s", out->name);
        if (!said) wisp_ctx_logf(out->ctx, WISP_LOG_INFO, "%s: waiting for a process that reads this pipe", out->name);
        nanosleep(&a_while, NULL);
    }
    if (out->fd < 0) return fail(out, errno);
    out->open = true;
    if (pipe && fcntl(out->fd, F_SETFL, 0)) return fail(out, errno);
    return WISP_OK;
}

wisp_status wisp__out_open(wisp__out *out, wisp_ctx *ctx, const char *path)
{
    memset(out, 0, sizeof *out);
    out->ctx = ctx;
    char real[PATH_MAX];
    struct stat st;
    bool there, in_place;
    wisp_status status = resolve(ctx, path, real, &st, &there, &in_place);
    if (status != WISP_OK) return status;
    out->path = wisp__strdup(ctx, real);
    out->name = wisp__strdup(ctx, path);
    if (!out->path || !out->name)
        status = WISP_ERR_NOMEM;
    else
        status = in_place ? open_direct(out, S_ISFIFO(st.st_mode)) : open_temp(out, there ? &st : NULL);
    if (status != WISP_OK) wisp__out_abort(out);
    return status;
}

/* write() into a full pipe would sleep, and miss a cancel that came just before it: so it is called only where there is
   room. */
wisp_status wisp__out_write(wisp__out *out, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes > 0) {
        const bool full = !out->temp && !wisp__fd_ready(out->fd, POLLOUT);
        const ssize_t n = full ? -1 : write(out->fd, p, out->temp ? bytes : WISP__MIN(bytes, (size_t)PIPE_BUF));
        if (n < 0 && !full && errno != EINTR) return fail(out, errno);
        if (n < 0 && wisp__cancelled(out->ctx->team))
            return wisp_ctx_failf(out->ctx, WISP_ERR_CANCELLED, "cancelled while writing");
        if (n < 0) continue;
        p += n;
        bytes -= (size_t)n;
    }
    return WISP_OK;
}

wisp_status wisp__out_sync(wisp__out *out) { return out->temp && fsync(out->fd) ? fail(out, errno) : WISP_OK; }

/* The new name, too, outlives the machine. Where folders can't be synced, the file is there all the same. */
static void sync_folder(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    const int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!fsync(fd);
    close(fd);
}

wisp_status wisp__out_commit(wisp__out *out)
{
    wisp_status status = wisp__out_sync(out);
    out->open = false;
    if (close(out->fd) && status == WISP_OK) status = fail(out, errno);
    if (status == WISP_OK && out->temp) {
        if (rename(out->temp, out->path))
            status = fail(out, errno);
        else
            sync_folder(out->path);
        out->made = status != WISP_OK;
    }
    wisp__out_abort(out);
    return status;
}

void wisp__out_abort(wisp__out *out)
{
    if (out->open) close(out->fd);
    if (out->made) unlink(out->temp);
    if (out->ctx) {
        wisp_free(out->ctx, out->temp);
        wisp_free(out->ctx, out->path);
        wisp_free(out->ctx, out->name);
    }
    memset(out, 0, sizeof *out);
}

wisp_status wisp_file_write(wisp_ctx *ctx, const char *path, const void *data, size_t bytes)
{
    wisp__out out;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, path);
    WISP_NEED(ctx, data);
    wisp_status status = wisp__out_open(&out, ctx, path);
    if (status == WISP_OK) status = wisp__out_write(&out, data, bytes);
    if (status == WISP_OK) status = wisp__out_commit(&out);
    wisp__out_abort(&out);
    return status;
}

/* ---- files that are filled by others --------------------------------------------------------------- */

struct wisp_file {
    wisp__out out;
};

wisp_status wisp_file_create(wisp_file **file, wisp_ctx *ctx, const char *path)
{
    char real[PATH_MAX];
    struct stat st;
    bool there, in_place;
    wisp_status status;
    WISP_NEED(ctx, file);
    *file = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, path);
    WISP_TRY(resolve(ctx, path, real, &st, &there, &in_place));
    if (in_place)
        return wisp_ctx_failf(ctx, WISP_ERR_IO, "cannot write %s: it is a device or a pipe; name a file", path);
    WISP_TRY(wisp_alloc(ctx, file, 1, sizeof **file));
    status = wisp__out_open(&(*file)->out, ctx, path);
out:
    if (status == WISP_OK || !*file) return status;
    wisp_free(ctx, *file);
    *file = NULL;
    return status;
}

const char *wisp_file_temporary(const wisp_file *file) { return file ? file->out.temp : NULL; }

wisp_status wisp_file_commit(wisp_file *file)
{
    WISP_NEED(NULL, file);
    if (!file->out.open) return WISP_ERR_ARG;
    return wisp__out_commit(&file->out);
}

void wisp_file_free(wisp_file *file)
{
    if (!file) return;
    wisp__out_abort(&file->out);
    wisp_free(NULL, file);
}
