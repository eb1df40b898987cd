/* What a matrix from a source will be, before its rows are read: its type, the chunks, the order of rows, the halo's
   way; and whether the options go together. */
#include "assemble.h"

static bool is_half(const wisp_mat_opts *o) { return o->format == WISP_FORMAT_HERMITIAN; }

static wisp_status set_type(wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o)
{
    A->type = o->type == WISP_DEFAULT ? src->type : o->type;
    if (!wisp__type_ok(A->type))
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "opts.type: unknown value %d", (int)o->type);
    if (wisp_type_is_complex(src->type) && !wisp_type_is_complex(A->type))
        return wisp_ctx_failf(A->ctx, WISP_ERR_UNSUPPORTED, "complex values can't be stored in a real matrix");
    return WISP_OK;
}

/* Rows of a chunk. Block rows are vectorised along the row and like CRS; single vectors, if real, along the chunk. */
static wisp_status set_height(wisp_mat *A, const wisp_mat_opts *o)
{
    const bool along_rows = o->width > 1 || wisp_type_is_complex(A->type) || is_half(o);
    const int c = o->C ? o->C : along_rows ? 1 : wisp__facts_of(A->ctx).C;
    if (c < 1 || c > K_MAX_C || (c & (c - 1)))
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "opts.C is %d; the chunk height is a power of two up to %d", c,
                              K_MAX_C);
    A->log_c = __builtin_ctz((unsigned)c);
    return WISP_OK;
}

/* Whether half of the matrix can be stored. */
static wisp_status check_half(const wisp_mat *A, const wisp_src *src)
{
    wisp_ctx *ctx = A->ctx;
    const int c = 1 << A->log_c;
    if (!(ctx->backend->kinds & WISP__HALF))
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "the device '%s' takes no half of a matrix; store it whole",
                              ctx->backend->name);
    if (ctx->ranks > 1)
        return wisp_ctx_failf(
            ctx, WISP_ERR_UNSUPPORTED,
            "half of a Hermitian matrix is stored on one process alone: of an entry between two, each "
            "would need the whole; take another opts.format");
    if (c != 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "half of a matrix is stored where C is 1, not %d; take another opts.format", c);
    if (!A->square)
        return wisp_ctx_failf(ctx, WISP_ERR_HERMITIAN,
                              "half of a matrix of %lld x %lld can't be stored: it must be square and Hermitian; take "
                              "another opts.format",
                              (long long)src->rows, (long long)src->cols);
    return WISP_OK;
}

/* The window in which rows are sorted by length: given, or none where rows are in an order already or chunks are single
   rows; else it is found later (0). */
static wisp_status set_window(wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o)
{
    const int64_t c = (int64_t)1 << A->log_c, all = (src->rows + c - 1) / c * c;
    A->sigma = o->sigma ? o->sigma : c == 1 || o->map ? 1 : 0;
    if (A->sigma < 0 || (A->sigma > 1 && A->sigma % c))
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "opts.sigma is %lld; it is 1 or a multiple of C, %d",
                              (long long)A->sigma, (int)c);
    /* A window of all rows is the most that means something (and a huge sigma the natural way to ask for it). */
    A->sigma = WISP__MIN(A->sigma, WISP__MAX(1, all));
    return WISP_OK;
}

static wisp_status set_order(wisp_mat *A, const wisp_mat_opts *o)
{
    if ((unsigned)o->order > WISP_ROWS_TILES || (unsigned)o->format > WISP_FORMAT_HERMITIAN)
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "opts.order is %d, opts.format %d: one is unknown", (int)o->order,
                              (int)o->format);
    if (o->tiles_on != WISP_ROWS_DEFAULT && o->tiles_on != WISP_ROWS_NATURAL && o->tiles_on != WISP_ROWS_RCM)
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG,
                              "opts.tiles_on is %d; tiles are on rows in the order WISP_ROWS_NATURAL or WISP_ROWS_RCM",
                              (int)o->tiles_on);
    if (o->slices < 0 || ((o->slices || o->tiles_on) && o->order != WISP_ROWS_TILES))
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG,
                              "opts.slices is %lld, opts.tiles_on %d: they go with opts.order = WISP_ROWS_TILES alone, "
                              "and slices are not negative",
                              (long long)o->slices, (int)o->tiles_on);
    A->order = o->map ? o->map->order : A->square ? o->order : WISP_ROWS_NATURAL;
    A->format = is_half(o) ? WISP_FORMAT_HERMITIAN : WISP_FORMAT_SELL;
    return WISP_OK;
}

static wisp_status set_halo(wisp_mat *A, const wisp_mat_opts *o)
{
    if (!wisp_halo_name(o->halo))
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "opts.halo is %d, which is unknown", (int)o->halo);
    A->way = o->halo == WISP_HALO_AUTO ? A->ctx->halo : o->halo;
    return WISP_OK;
}

wisp_status wisp__mat_shape(const wisp_src *src, const wisp_mat_opts *o, wisp_mat *A)
{
    wisp_status status;
    A->local_rows = src->rows;
    A->local_cols = src->cols;
    A->width = o->width;
    A->asked_format = o->format;
    WISP_TRY(set_type(A, src, o));
    WISP_TRY(set_height(A, o));
    if (is_half(o)) WISP_TRY(check_half(A, src));
    WISP_TRY(set_window(A, src, o));
    if (o->width < 0) return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "opts.width is %d, it can't be negative", o->width);
    WISP_TRY(set_halo(A, o));
    status = set_order(A, o);
out:
    return status;
}
