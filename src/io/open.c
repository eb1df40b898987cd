/* Sources from names: files by their ending (or by what they hold), the gallery, and arrays of the user. */
#include "../comm/comm.h"
#include "../base/system.h"
#include "../data/arrays.h"
#include "../gallery/gallery.h"
#include "io.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool wisp__ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}

/* A file, as rank 0 sees it. */
typedef struct {
    int64_t size;
    bool crs, npz, dealt;
} sight;

/* A file without a known name is taken for what it begins with. */
static wisp_status recognise(wisp_ctx *ctx, const wisp__input *in, sight *s)
{
    char begin[16] = "";
    ssize_t got = in->size < 0 ? 0 : pread(in->fd, begin, sizeof begin - 1, 0);
    *s = (sight){.size = in->size, .crs = wisp__ends_in(in->path, ".crs")};
    const bool gzip = got >= 2 && memcmp(begin, "\x1f\x8b", 2) == 0;
    s->npz = wisp__ends_in(in->path, ".npz") || (!s->crs && got >= 4 && memcmp(begin, "PK\3\4", 4) == 0);
    s->dealt = in->size < 0 || s->npz || (gzip && !s->crs); /* < 0: a pipe */
    if (s->npz && in->size < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: a .npz file cannot be read from a pipe (copy it to a file)",
                              in->path);
    if (s->crs || s->npz || wisp__ends_in(in->path, ".mtx") || wisp__ends_in(in->path, ".gz") || in->size < 0)
        return WISP_OK;
    if (got >= 8 && strncmp(begin, "%%Matrix", 8) == 0) return WISP_OK;
    if (wisp__ends_in(in->path, "_hr.dat"))
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT,
                              "%s: unknown kind of file (one of Wannier90 is opened as wannier:%s)", in->path,
                              in->path);
    return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: unknown kind of file (name it .mtx, .mtx.gz, .crs or .npz)",
                          in->path);
}

const char *wisp_matrix_name(const char *name)
{
    if (!name || name[strcspn(name, ":/")] == ':') return name;
    const char *slash = strrchr(name, '/');
    return slash && slash[1] ? slash + 1 : name;
}

static bool is_missing(int error) { return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG; }

static bool in_gallery(const char *name, size_t length)
{
    const wisp_gallery_entry *e;
    for (int i = 0; (e = wisp_gallery_list(i)); i++)
        if (strlen(e->name) == length && strncmp(e->name, name, length) == 0) return true;
    return false;
}

/* Names with a dot or a slash were meant as files. */
static wisp_status unknown_name(wisp_ctx *ctx, const char *name)
{
    const size_t length = strcspn(name, ":");
    enum { MANY = 64 };
    const char *names[MANY];
    char word[64];
    int n = 0;
    for (const wisp_gallery_entry *e; n < MANY && (e = wisp_gallery_list(n)); n++) names[n] = e->name;
    const bool path = length == 0 || length >= sizeof word || memchr(name, '.', length) || memchr(name, '/', length);
    snprintf(word, sizeof word, "%.*s", (int)WISP__MIN(length, sizeof word - 1), name);
    const char *near = path ? NULL : wisp__gal_nearest(word, names, n, sizeof *names);
    if (!near)
        return wisp_ctx_failf(ctx, path ? WISP_ERR_IO : WISP_ERR_ARG,
                              "%s: neither a file nor a gallery name (wisp_gallery_list has those)", name);
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: neither a file nor a gallery name (the nearest is %s)", name, near);
}

/* `named`: the user may have meant the gallery. A pipe into which nobody writes yet is opened all the same: its first
   bytes are waited for, in a way that a cancel ends (feed.c). */
static wisp_status open_input(wisp_ctx *ctx, wisp__input *in, bool named)
{
    char text[128];
    struct stat st;
    in->fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in->fd < 0 && named && is_missing(errno)) return unknown_name(ctx, in->path);
    if (in->fd < 0 || fstat(in->fd, &st) || fcntl(in->fd, F_SETFL, S_ISREG(st.st_mode) ? 0 : O_NONBLOCK))
        return wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: cannot open: %s", in->path,
                              wisp__error_text(errno, text, sizeof text));
    if (S_ISDIR(st.st_mode))
        return wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: this is a directory, not a matrix file", in->path);
    if (S_ISREG(st.st_mode)) in->size = st.st_size;
    return WISP_OK;
}

/* Rank 0 looks at the file, and the others do as it says: those that read it must see the same one. */
static wisp_status open_together(wisp_ctx *ctx, wisp__input *in, bool named, sight *s)
{
    sight *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    if (ctx->rank == 0) {
        WISP_TRY(open_input(ctx, in, named));
        WISP_TRY(recognise(ctx, in, s));
    }
    WISP_TRY(ctx->comm->gather(ctx, s, sizeof *s, all));
    *s = all[0];
    if (ctx->rank > 0 && !s->dealt) WISP_TRY(open_input(ctx, in, false));
    if (ctx->rank > 0 && !s->dealt && in->size != s->size)
        status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: process 0 sees another file of this name, of %lld bytes",
                                in->path, (long long)s->size);
    in->dealt = s->dealt;
out:
    wisp_free(ctx, all);
    return status;
}

static wisp_status open_file(wisp_src *src, wisp_ctx *ctx, const char *path, bool named)
{
    wisp__input in = {.path = path, .fd = -1, .size = -1};
    sight s = {0};
    wisp_status status;
    WISP_TRY(open_together(ctx, &in, named, &s));
    status = s.crs   ? wisp__read_crs(src, ctx, &in)
             : s.npz ? wisp__read_npz(src, ctx, &in)
                     : wisp__read_mtx(src, ctx, &in);
out:
    if (in.fd >= 0) close(in.fd);
    return status;
}

/* What fails on one rank fails on all. */
static wisp_status open_on_all(wisp_src *src, wisp_ctx *ctx, const char *path, bool named)
{
    wisp_ctx_enter(ctx);
    const wisp_status status = wisp_ctx_leave(ctx, open_file(src, ctx, path, named));
    if (status != WISP_OK) wisp_src_close(src);
    return status;
}

wisp_status wisp_src_open_file(wisp_src *src, wisp_ctx *ctx, const char *path)
{
    WISP_NEED(ctx, src);
    memset(src, 0, sizeof *src);
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, path);
    return open_on_all(src, ctx, path, false);
}

/* Whether a name of the gallery is free, or that of a file: rank 0 looks, for the folders of others may hold others. */
static wisp_status free_name(wisp_ctx *ctx, const char *name, bool *is_free)
{
    struct stat st;
    double taken = ctx->rank == 0 && (stat(name, &st) ? !is_missing(errno) : !S_ISDIR(st.st_mode));
    wisp_ctx_enter(ctx);
    const wisp_status status = wisp_ctx_leave(ctx, ctx->comm->sum(ctx, &taken, 1));
    *is_free = taken == 0;
    return status;
}

/* Each rank has the gallery by itself. */
wisp_status wisp_src_open(wisp_src *src, wisp_ctx *ctx, const char *name)
{
    WISP_NEED(ctx, src);
    memset(src, 0, sizeof *src);
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, name);
    if (in_gallery(name, strcspn(name, ":"))) {
        bool is_free;
        const wisp_status status = free_name(ctx, name, &is_free);
        if (status != WISP_OK) return status;
        if (is_free) return wisp_src_open_gallery(src, ctx, name);
    }
    return open_on_all(src, ctx, name, true);
}

void wisp_src_close(wisp_src *src)
{
    if (!src) return;
    if (src->free_arg) src->free_arg(src->arg);
    memset(src, 0, sizeof *src);
}

/* ---- arrays of the user ----------------------------------------------------------------------------- */

typedef struct {
    wisp_ctx *ctx;
    wisp_crs a;
} user_crs;

static int user_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp_crs *a = &((const user_crs *)arg)->a;
    const int64_t begin = wisp__arrays_begin(a, row), n = wisp__arrays_begin(a, row + 1) - begin;
    const size_t size = wisp_type_size(a->type);
    if (!col || n == 0) return (int)n;
    for (int64_t k = 0; k < n; k++) col[k] = wisp__arrays_col(a, begin + k);
    memcpy(val, (const char *)a->val + (size_t)begin * size, (size_t)n * size);
    return (int)n;
}

static void user_close(void *arg)
{
    user_crs *u = arg;
    wisp_free(u->ctx, u);
}

wisp_status wisp_src_open_crs(wisp_src *src, wisp_ctx *ctx, const wisp_crs *crs)
{
    WISP_NEED(ctx, src);
    memset(src, 0, sizeof *src);
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, crs);
    int64_t max_row, unordered;
    user_crs *u;
    wisp_status status;
    WISP_TRY(wisp__arrays_check(ctx, crs, __func__, &max_row, &unordered));
    WISP_TRY(wisp__alloc_raw(ctx, &u, 1, sizeof *u));
    *u = (user_crs){ctx, *crs};
    *src = (wisp_src){.rows = crs->rows,
                      .cols = crs->cols,
                      .max_row = max_row,
                      .type = crs->type,
                      .row = user_row,
                      .arg = u,
                      .free_arg = user_close};
out:
    return status;
}
