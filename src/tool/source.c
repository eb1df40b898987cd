/* Opens the MATRIX of a command that needs a Hermitian one: as it is, or its Hermitian part. */
#include "absorb.h"
#include "weights.h"
#include "out/text.h"
#include <math.h>
#include <sys/stat.h>

/* *parts becomes the source as --partition asks for it; empty: it asks for nothing. */
static wisp_status find_parts(const tool *t, wisp_ctx *ctx, const wisp_src *src, wisp_src *parts)
{
    *parts = (wisp_src){0};
    if (!t->opt.partition || wisp_ctx_processes(ctx) == 1) return WISP_OK;
    return wisp_src_partition(parts, ctx, src, (wisp_partition)t->opt.partition);
}

static void take_parts(wisp_src *src, const wisp_src *parts)
{
    if (!parts->row) return;
    wisp_src_close(src);
    *src = *parts;
}

wisp_status source_partition(const tool *t, wisp_ctx *ctx, wisp_src *src)
{
    wisp_src parts;
    const wisp_status status = find_parts(t, ctx, src, &parts);
    if (status == WISP_OK) take_parts(src, &parts);
    return status;
}

/* MATRIX of svd as the Hermitian matrix that has its singular values. */
static int open_augmented(tool *t, wisp_src *src)
{
    wisp_src whole;
    if (wisp_src_open(&whole, t->ctx, t->opt.arg[0])) return tool_fail_ctx(t);
    t->sides[0] = whole.rows, t->sides[1] = whole.cols;
    int rc = EXIT_FINE;
    if (!whole.rows || !whole.cols)
        rc = tool_fail(t, "%s has no %s", t->opt.arg[0], whole.rows ? "columns" : "rows");
    else if (wisp_src_augmented(src, t->ctx, &whole))
        rc = tool_fail_ctx(t);
    wisp_src_close(&whole);
    return rc;
}

static int open_whole(tool *t, wisp_src *src)
{
    wisp_src whole;
    t->hermitian_change = NAN;
    if (t->cmd->bit == CMD_SVD) return open_augmented(t, src);
    if (!t->opt.hermitian_part) return wisp_src_open(src, t->ctx, t->opt.arg[0]) ? tool_fail_ctx(t) : EXIT_FINE;
    if (wisp_src_open(&whole, t->ctx, t->opt.arg[0])) return tool_fail_ctx(t);
    const wisp_status status = wisp_src_hermitian_part(src, t->ctx, &whole, &t->hermitian_change);
    wisp_src_close(&whole);
    if (status == WISP_ERR_HERMITIAN) return tool_fail_named(t);
    return status ? tool_fail_ctx(t) : EXIT_FINE;
}

/* Rank 0 opens the file for all, and need be the only one that sees it. */
static int look_once(tool *t)
{
    double once = wisp_ctx_rank(t->ctx) == 0 && file_reads_once(t->opt.arg[0]);
    if (wisp_ctx_sum(t->ctx, &once, 1)) return tool_fail_ctx(t);
    t->read_once = once > 0;
    return EXIT_FINE;
}

/* Which rows processes have: by weights, and parts; anew if weights are found by what that gives. */
static int place_rows(tool *t, wisp_src *src)
{
    wisp_src parts = {0};
    int rc = EXIT_FINE;
    for (bool again = true; again && !rc;) {
        const bool dealt = t->dealt;
        wisp_src_close(&parts);
        rc = weights_deal(t, src);
        if (!rc && find_parts(t, t->ctx, src, &parts)) rc = tool_fail_ctx(t);
        if (!rc) rc = weights_by_source(t, parts.row ? &parts : src);
        again = t->dealt != dealt;
    }
    take_parts(src, &parts);
    return rc;
}

int source_open(tool *t, wisp_src *src)
{
    int rc = open_whole(t, src);
    if (!rc && t->opt.absorb) rc = absorb_source(t, src);
    if (rc) return rc;
    rc = look_once(t);
    if (!rc) rc = checkpoint_hash(t, src);
    if (!rc) rc = checkpoint_open(t);
    if (!rc) rc = place_rows(t, src);
    if (rc) wisp_src_close(src);
    return rc;
}

int source_square(tool *t, const wisp_src *src, const char *why)
{
    if (src->rows != src->cols)
        return tool_fail(t, "%s is %lld x %lld, and %s", t->opt.arg[0], (long long)src->rows, (long long)src->cols,
                         why);
    return src->rows ? EXIT_FINE : tool_fail(t, "%s has no rows", t->opt.arg[0]);
}

int source_fits(tool *t, const wisp_src *src, const char *name, const char *what, int64_t rows)
{
    if (src->rows == rows && src->cols == rows) return EXIT_FINE;
    return tool_fail(t, "--%s %s is %lld x %lld; the matrix has %lld rows", name, what, (long long)src->rows,
                     (long long)src->cols, (long long)rows);
}

int source_has_rows(tool *t, const char *option, const int64_t *row, int64_t count, int64_t rows)
{
    for (int64_t i = 0; i < count; i++)
        if (row[i] >= rows)
            return rows == 0
                       ? tool_usage(t, "--%s: row %lld is not there; the matrix has no rows", option, (long long)row[i])
                       : tool_usage(t, "--%s: row %lld is not there; the matrix has rows 0 to %lld", option,
                                    (long long)row[i], (long long)rows - 1);
    return EXIT_FINE;
}

void source_summary(const tool *t)
{
    if (t->opt.partition && wisp_ctx_processes(t->ctx) > 1)
        text_line("partition", "%s: rows are partitioned anew, so that processes have less to send",
                  text_partition((wisp_partition)t->opt.partition));
    if (!t->opt.hermitian_part) return;
    text_line("Hermitian", "part is taken: entries change by at most %.2g of the largest one", t->hermitian_change);
}

bool file_reads_once(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

wisp_mat_opts source_options(const options *o, wisp_type type, int width)
{
    return (wisp_mat_opts){.type = type,
                           .width = width,
                           .order = (wisp_order)o->order,
                           .format = (wisp_format)o->format,
                           .tiles_on = (wisp_order)o->tiles_on,
                           .slices = o->slices,
                           .halo = (wisp_halo)o->halo};
}

wisp_type tool_type(const options *o, wisp_type type)
{
    if (!option_seen(o, "precision") && !o->takes_precision) return type;
    return type_in(o->precision ? WISP_D : WISP_S, type);
}
