#include "outfile.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static wisp_status fail(wisp__out *out, const char *what, int error)
{
    char text[128];
    return wisp_ctx_fail(out->ctx, WISP_ERR_IO, "%s: %s: %s", out->path, what, strerror_r(error, text, sizeof text));
}

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
            if (old && fchmod(out->fd, old->st_mode & 07777)) return fail(out, "cannot set its permissions", errno);
            return WISP_OK;
        }
        if (errno != EEXIST) break;
    }
    return fail(out, "cannot make a temporary file beside it", errno);
}

static wisp_status open_direct(wisp__out *out)
{
    out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
    if (out->fd < 0) return fail(out, "cannot open for writing", errno);
    out->open = true;
    return WISP_OK;
}

wisp_status wisp__out_open(wisp__out *out, wisp_ctx *ctx, const char *path)
{
    memset(out, 0, sizeof *out);
    out->ctx = ctx;
    char full[PATH_MAX];
    /* The file that a link points to is replaced, not the link. */
    out->path = wisp__strdup(ctx, realpath(path, full) ? full : path);
    if (!out->path) return WISP_ERR_NOMEM;
    struct stat st;
    bool exists = stat(path, &st) == 0;
    wisp_status status;
    if (exists && S_ISDIR(st.st_mode))
        status = fail(out, "cannot write", EISDIR);
    else if (exists && !S_ISREG(st.st_mode))
        status = open_direct(out);
    else
        status = open_temp(out, exists ? &st : NULL);
    if (status != WISP_OK) wisp__out_abort(out);
    return status;
}

wisp_status wisp__out_write(wisp__out *out, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t n = write(out->fd, p, bytes);
        if (n < 0) {
            if (errno == EINTR && !wisp__cancelled(out->ctx)) continue;
            if (errno == EINTR) return wisp_ctx_fail(out->ctx, WISP_ERR_CANCELLED, "cancelled while writing");
            return fail(out, "cannot write", errno);
        }
        p += n;
        bytes -= (size_t)n;
    }
    return WISP_OK;
}

wisp_status wisp__out_commit(wisp__out *out)
{
    wisp_status status = WISP_OK;
    if (out->temp && fsync(out->fd)) status = fail(out, "cannot write", errno);
    out->open = false;
    if (close(out->fd) && status == WISP_OK) status = fail(out, "cannot write", errno);
    if (status == WISP_OK && out->temp) {
        if (rename(out->temp, out->path)) {
            status = fail(out, "cannot rename the finished file", errno);
        }
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
    }
    memset(out, 0, sizeof *out);
}
