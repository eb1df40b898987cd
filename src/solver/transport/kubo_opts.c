/* The options of wisp_kubo: defaults, checks, and what a run takes. */
#include "kubo.h"

enum { MOMENTS = 128, MOST_MOMENTS = 1 << 15, VECTORS = 4, WIDTH = 16 };
static const int64_t random_columns = (int64_t)1 << 32, left_bytes = (int64_t)1 << 30;

/* The type that all three go with. */
static wisp_type common_type(const wisp_mat_info *const *mat)
{
    bool single = true, complex = false;
    for (int i = 0; i < 3; i++) {
        single = single && wisp__is_single(mat[i]->type);
        complex = complex || wisp_type_is_complex(mat[i]->type);
    }
    return wisp__type_in(single ? WISP_S : WISP_D, complex ? WISP_Z : WISP_D);
}

static wisp_status check_type(wisp_ctx *ctx, wisp_type type, const wisp_mat_info *const *mat)
{
    static const char *const name[] = {"A", "V_a", "V_b"};
    for (int i = 0; i < 3; i++) {
        const wisp_type of = mat[i]->type;
        if (type < WISP_S || type > WISP_Z || wisp_type_is_complex(type) < wisp_type_is_complex(of) ||
            wisp__is_single(type) > wisp__is_single(of))
            return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                                  "opts.type: vectors of type %s do not go with %s of type %s", wisp_type_name(type),
                                  name[i], wisp_type_name(of));
    }
    return WISP_OK;
}

/* All, or as many as the bytes hold, in whole blocks. */
static int64_t left_of(const wisp_ctx *ctx, const wisp_kubo_opts *o, int64_t rows)
{
    const int64_t ranks = wisp_ctx_processes(ctx), block = WISP__LEFT_OVER_RIGHT * o->width;
    const int64_t column = ((rows + ranks - 1) / ranks + 1) * (int64_t)wisp_type_size(o->left_type);
    int64_t left = o->left_bytes / column;
    if (left >= o->moments) return o->moments;
    if (left > block) left -= left % block;
    return left < 1 ? 1 : left;
}

static void set_defaults(wisp_kubo_opts *full, const wisp_kubo_opts *opts)
{
    *full = opts ? *opts : (wisp_kubo_opts){0};
    if (full->moments == 0) full->moments = MOMENTS;
    if (full->vectors == 0) full->vectors = VECTORS;
    if (full->width == 0) full->width = WIDTH;
    if (full->left_bytes == 0) full->left_bytes = left_bytes;
}

wisp_type wisp_kubo_left_type(const wisp_ctx *ctx, wisp_type type, int64_t rows, const wisp_kubo_opts *opts)
{
    wisp_kubo_opts full;
    set_defaults(&full, opts);
    full.left_type = type;
    const bool has_bars = full.trace == WISP_TRACE_RANDOM && full.vectors > 1;
    if (!ctx || type < WISP_S || type > WISP_Z || full.left || !has_bars) return type;
    return left_of(ctx, &full, rows) < full.moments ? wisp__type_in(WISP_S, type) : type;
}

static wisp_status check_range(wisp_ctx *ctx, const char *option, int64_t is, int64_t least, int64_t most)
{
    return wisp__check_range(ctx, "wisp_kubo: ", option, is, least, most);
}

wisp_status wisp__kubo_options(wisp_kubo_opts *full, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_mat_info *V_a,
                               const wisp_mat_info *V_b, const wisp_kubo_opts *opts)
{
    wisp_status status = WISP_OK;
    const wisp_mat_info *const mat[] = {A, V_a, V_b};
    set_defaults(full, opts);
    if (full->type == WISP_DEFAULT) full->type = common_type(mat);
    if (full->left_type == WISP_DEFAULT) full->left_type = full->type;
    WISP_TRY(check_range(ctx, "moments", full->moments, 2, MOST_MOMENTS));
    WISP_TRY(check_range(ctx, "vectors", full->vectors, 1, random_columns));
    WISP_TRY(check_range(ctx, "first_vector", full->first_vector, 0, random_columns - full->vectors));
    WISP_TRY(check_range(ctx, "width", full->width, 1, 4096));
    WISP_TRY(check_range(ctx, "left_bytes", full->left_bytes, 1, INT64_MAX));
    WISP_TRY(check_range(ctx, "left", full->left, 0, full->moments));
    WISP_TRY(check_type(ctx, full->type, mat));
    if (full->left_type != full->type && full->left_type != wisp__type_in(WISP_S, full->type))
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                              "opts.left_type: left vectors of type %s do not go with others of type %s",
                              wisp_type_name(full->left_type), wisp_type_name(full->type));
    if (full->trace != WISP_TRACE_RANDOM && full->trace != WISP_TRACE_EXACT)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.trace: value %d; it must be random or exact", (int)full->trace);
    if (full->width > full->moments) full->width = (int)full->moments;
    if (full->left == 0) full->left = left_of(ctx, full, A->rows);
out:
    return status;
}

wisp_bounds_opts wisp__kubo_bounds_opts(const wisp_kubo_opts *o, int64_t rows)
{
    const double sweeps = (double)wisp__kubo_sweeps(o) * (double)wisp__kubo_vectors(o, rows);
    return wisp__bounds_opts(&o->bounds, o->seed, sweeps, 0, o->width);
}

/* What a product with so many columns holds. */
static wisp_status add_product(wisp_plan *most, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width)
{
    wisp_plan once;
    const wisp_status status =
        wisp_mpk_plan(&once, ctx, A, type, width, &(wisp_mpk_opts){.steps = 1, .depth = 1}, NULL);
    if (status != WISP_OK) return status;
    if (once.bytes > most->bytes) most->bytes = once.bytes;
    if (once.bytes_most > most->bytes_most) most->bytes_most = once.bytes_most;
    return status;
}

static double largest_halo(const wisp_mat_info *A, const wisp_mat_info *V_a, const wisp_mat_info *V_b)
{
    return fmax((double)A->halo_rows, fmax((double)V_a->halo_rows, (double)V_b->halo_rows));
}

wisp_status wisp_kubo_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_mat_info *V_a,
                           const wisp_mat_info *V_b, const wisp_kubo_opts *opts)
{
    wisp_status status;
    wisp_kubo_opts o;
    wisp_plan once = {0}, columns_set;
    double unused, bounds;
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, A);
    WISP_NEED(ctx, V_a);
    WISP_NEED(ctx, V_b);
    WISP_TRY(wisp__kubo_options(&o, ctx, A, V_a, V_b, opts));
    WISP_TRY(wisp__check_bounds(ctx, A, &o.bounds));
    WISP_TRY(add_product(&once, ctx, A, o.type, 1));
    WISP_TRY(add_product(&once, ctx, V_a, o.type, 1));
    WISP_TRY(add_product(&once, ctx, V_b, o.type, o.width));
    const int group = wisp__kubo_group(&o);
    WISP_TRY(wisp_fuse_plan(&columns_set, ctx, A->local_rows, o.type, 1, group, 0));
    const wisp_bounds_opts how = wisp__kubo_bounds_opts(&o, A->rows);
    WISP_TRY(wisp__bounds_bytes(ctx, A, &how, &unused, &bounds));
    const double single = 4 + group; /* two vectors of each recurrence, and the next ones of either */
    const double M = (double)o.moments, held = (double)A->local_rows + largest_halo(A, V_a, V_b);
    const bool narrow = o.left_type != o.type;
    const double columns = single + (narrow ? WISP__LEFT_OVER_RIGHT : 0) * (double)o.width + 2 * (double)o.width;
    const double left = (double)o.left * held * (double)wisp_type_size(o.left_type);
    const double lines = o.trace == WISP_TRACE_EXACT ? 1 : (double)o.vectors, both = 2 * sizeof(double);
    const double small = WISP__LEFT_OVER_RIGHT * (double)o.width * (double)o.width * sizeof(wisp_scalar);
    const double blocks = columns * held * (double)wisp_type_size(o.type) + left,
                 all = blocks + M * M * both * lines + small;
    const double sums = wisp_dot_bytes(held, WISP__LEFT_OVER_RIGHT * (double)o.width * (double)o.width);
    const double sweeps = (double)wisp__kubo_sweeps(&o) * (double)wisp__kubo_vectors(&o, A->rows);
    /* What a product of blocks makes, four real numbers of a complex one, and its sum over ranks, also of one without
       rows. */
    const double by_ranks = wisp_ctx_processes(ctx) > 1 ? 4 * small : 0;
    const double most = (double)once.bytes_most + (double)columns_set.bytes_most + by_ranks;
    const double props = fmax((double)V_a->props_bytes, (double)V_b->props_bytes);
    *plan =
        (wisp_plan){.bytes = wisp_whole_number(all + (double)once.bytes),
                    .bytes_most = wisp_whole_number(fmax(fmax(bounds, props), all + most + sums + WISP_PLAN_LITTLE)),
                    .products = sweeps,
                    .sweeps = sweeps,
                    .seconds = NAN,
                    .iteration_bytes = NAN,
                    .iteration_seconds = NAN};
out:
    return status;
}
