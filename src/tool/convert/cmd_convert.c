/* wisp convert: a matrix in another format; also the writing part of wisp gen. */
#include "../out/out.h"
#include "../out/text.h"
#include "../positions.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *make_comment(const tool *t)
{
    char *text = NULL;
    return asprintf(&text, "wisp %s: %s", wisp_version(), t->command_line) < 0 ? NULL : text;
}

static int check_names(tool *t, const char *name, const char *path)
{
    struct stat in, out;
    bool mtx = has_extension(path, "mtx|mtx.gz");
    if (!mtx && !has_extension(path, "crs"))
        return tool_usage(t, "%s: the name must end in .mtx, .mtx.gz or .crs", path);
    const char *only_mtx = option_seen(&t->opt, "symmetry") ? "symmetry"
                           : t->opt.array                   ? "array"
                           : t->opt.pattern                 ? "pattern"
                                                            : NULL;
    if (only_mtx && !mtx) return tool_usage(t, "--%s is for .mtx files alone", only_mtx);
    if (t->opt.array && t->opt.pattern) return tool_usage(t, "--array and --pattern exclude each other");
    if (!stat(name, &in) && !stat(path, &out) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return tool_usage(t, "input and output are the same file");
    return EXIT_FINE;
}

/* *src becomes its adjoint. */
static int turn(tool *t, wisp_src *src)
{
    wisp_src adjoint;
    if (wisp_src_adjoint(&adjoint, t->ctx, src)) return tool_fail_ctx(t);
    wisp_src_close(src);
    *src = adjoint;
    return EXIT_FINE;
}

int write_matrix(tool *t, wisp_status (*open)(wisp_src *, wisp_ctx *, const char *), const char *name, const char *path)
{
    wisp_src src = {0};
    struct stat st;
    char *comment = make_comment(t), a[TEXT], b[TEXT], c[TEXT];
    int rc = check_names(t, name, path);
    if (!rc && !t->ctx) rc = tool_start(t);
    if (!rc) rc = outfile_check(t, path);
    if (!rc) rc = positions_source(t, &src, name, open);
    if (!rc && t->opt.adjoint) rc = turn(t, &src);
    if (!rc) {
        wisp_write_opts wo = {(wisp_symmetry)t->opt.symmetry, t->opt.array, t->opt.pattern, comment};
        if (wisp_src_write(&src, t->ctx, path, &wo))
            rc = tool_fail_ctx(t);
        else
            outfile_done(t, path);
    }
    if (!rc && !t->opt.quiet) {
        monitor_clear(&t->monitor);
        printf("%s: %s rows, %s columns, %s", path, text_count(a, src.rows), text_count(b, src.cols),
               wisp_type_name(src.type));
        if (!stat(path, &st)) printf(", %s", text_bytes(c, (double)st.st_size));
        putchar('\n');
    }
    wisp_src_close(&src);
    free(comment);
    return rc;
}

int cmd_convert(tool *t)
{
    const int rc = positions_check(t, option_seen(&t->opt, "velocity") || option_seen(&t->opt, "peierls"));
    return rc ? rc : write_matrix(t, wisp_src_open, t->opt.arg[0], t->opt.arg[1]);
}
