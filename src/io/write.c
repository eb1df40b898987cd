/* Matrices to files, by name. */
#include "../comm/comm.h"
#include "write.h"
#include <sys/stat.h>

typedef enum { FILE_MTX, FILE_GZIP, FILE_CRS } file_kind;

static wisp_status kind_of(wisp_ctx *ctx, const char *path, const wisp_write_opts *opts, file_kind *kind)
{
    struct stat st;
    /* Into a pipe or a device, whose name says nothing, goes text. */
    bool nameless = stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
    *kind = wisp__ends_in(path, ".mtx.gz") ? FILE_GZIP : wisp__ends_in(path, ".crs") ? FILE_CRS : FILE_MTX;
    if (*kind == FILE_CRS && (opts->symmetry != WISP_SYM_GENERAL || opts->array || opts->pattern))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "%s: opts.symmetry, opts.array and opts.pattern are for .mtx files alone", path);
    if (*kind != FILE_MTX || wisp__ends_in(path, ".mtx") || nameless) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: unknown kind of file (name it .mtx, .mtx.gz or .crs)", path);
}

/* Rank 0 writes the file, and sees what stands there. */
static wisp_status write_as_named(const wisp_src *src, wisp_ctx *ctx, const char *path, const wisp_write_opts *opts,
                                  bool together)
{
    file_kind kind = FILE_MTX, *all = NULL;
    wisp_status status = ctx->rank == 0 ? kind_of(ctx, path, opts, &kind) : WISP_OK;
    if (status != WISP_OK) return status;
    if (together) {
        WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
        WISP_TRY(ctx->comm->gather(ctx, &kind, sizeof kind, all));
        kind = all[0];
    }
    status =
        kind == FILE_CRS ? wisp__write_crs(src, ctx, path) : wisp__write_mtx(src, ctx, path, opts, kind == FILE_GZIP);
out:
    wisp_free(ctx, all);
    return status;
}

wisp_status wisp_src_write(const wisp_src *src, wisp_ctx *ctx, const char *path, const wisp_write_opts *opts)
{
    static const wisp_write_opts none;
    WISP_NEED(ctx, src);
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, path);
    if (!src->many) WISP_NEED(ctx, src->row);
    if (!wisp__type_ok(src->type)) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "wisp_src_write: the source has no type");
    const wisp_status status = wisp__src_check(ctx, src);
    if (status != WISP_OK) return status;
    const bool together = wisp__rows_to_write(src, ctx).own;
    wisp_ctx_enter(ctx);
    return wisp_ctx_leave(
        ctx, together || ctx->rank == 0 ? write_as_named(src, ctx, path, opts ? opts : &none, together) : WISP_OK);
}
