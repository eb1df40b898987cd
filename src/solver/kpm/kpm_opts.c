/* The options of wisp_kpm: defaults, checks, and the memory that a run will take. */
#include <limits.h>
#include <math.h>
#include "kpm.h"

/* Rows of blocks by default: two cache lines. The matrix's share of the traffic is small by then, and what a sweep, or
   some interleaved ones, come back to still finds room in the cache. (Gflop/s at rows of 64, 128, 256 bytes, in turn:
   anderson 100^3 17-31, 31-35, 25-28; 27-point 100x100x80 37-42, 53-59, 46-48; topi 100x100x40 78-82, 85-109, 82-90.)
 */
enum { DEFAULT_ROW_BYTES = 128, DEFAULT_MOMENTS = 512, DEFAULT_VECTORS = 32 };
static const int64_t most_moments = (int64_t)1 << 30, random_columns = (int64_t)1 << 32;

void wisp__kpm_defaults(wisp_kpm_opts *full, wisp_type matrix_type, const wisp_kpm_opts *opts)
{
    *full = opts ? *opts : (wisp_kpm_opts){0};
    if (full->moments == 0) full->moments = DEFAULT_MOMENTS;
    if (full->vectors == 0 && full->trace == WISP_TRACE_RANDOM) full->vectors = DEFAULT_VECTORS;
    if (full->trace == WISP_TRACE_GIVEN && full->right) {
        if (full->vectors == 0) full->vectors = wisp_blk_width(full->right);
        if (full->type == WISP_DEFAULT) full->type = wisp_blk_type(full->right);
    }
    if (full->type == WISP_DEFAULT) full->type = matrix_type;
}

int64_t wisp__kpm_vectors(const wisp_kpm_opts *full, int64_t rows)
{
    return full->trace == WISP_TRACE_EXACT ? rows : full->vectors;
}

int wisp__kpm_width(const wisp_kpm_opts *full, int64_t vectors)
{
    if (full->variant != WISP_KPM_BLOCKED) return 1;
    const int size = (int)wisp_type_size(full->type), by_default = size > 0 ? DEFAULT_ROW_BYTES / size : 1;
    const int width = full->width > 0 ? full->width : by_default;
    return width < vectors ? width : (int)vectors;
}

int wisp_kpm_width(wisp_type matrix_type, int64_t rows, const wisp_kpm_opts *opts)
{
    wisp_kpm_opts full;
    wisp__kpm_defaults(&full, matrix_type, opts);
    const int width = wisp__kpm_width(&full, wisp__kpm_vectors(&full, rows));
    return width > 0 ? width : 1;
}

/* Steps of a call, of which as many are interleaved as wisp_mpk finds best, if that has so many calls at least to find
   out in; a shorter run does not make schedules. */
enum { LONG_STEPS = 8, LONG_CALLS = 12 };
static bool is_long(const wisp_kpm_opts *full, int64_t vectors)
{
    const int64_t width = wisp__kpm_width(full, vectors), calls = wisp__kpm_sweeps(full) / LONG_STEPS;
    return full->variant == WISP_KPM_BLOCKED && full->depth == 0 && !full->reduce_each_step && width > 0 &&
           calls * (vectors / width) >= LONG_CALLS;
}

/* Without regard to what the device asks for. */
static int least_steps(const wisp_kpm_opts *full, int64_t vectors)
{
    if (is_long(full, vectors)) return LONG_STEPS;
    if (full->variant == WISP_KPM_NAIVE || full->depth == 0) return 1;
    const int64_t sweeps = wisp__kpm_sweeps(full);
    return full->depth < sweeps ? full->depth : (int)sweeps;
}

/* With more steps only because the device asks for them a short run makes no schedules either. Dots that are to be
   summed at each step stay so. */
wisp__kpm_call wisp__kpm_call_of(wisp_ctx *ctx, const wisp_kpm_opts *full, int64_t vectors)
{
    const int least = least_steps(full, vectors), steps = wisp__steps_of(ctx, least);
    const int64_t sweeps = wisp__kpm_sweeps(full);
    if (full->variant == WISP_KPM_NAIVE || full->reduce_each_step || steps == least)
        return (wisp__kpm_call){.steps = least, .depth = full->depth};
    return (wisp__kpm_call){.steps = steps < sweeps ? steps : (int)sweeps, .depth = least == 1 ? 1 : full->depth};
}

static wisp_status check_trace(wisp_ctx *ctx, const wisp_kpm_opts *o, int64_t rows)
{
    long long vectors = o->vectors, first = o->first_vector;
    switch (o->trace) {
    case WISP_TRACE_EXACT: return WISP_OK;
    case WISP_TRACE_RANDOM:
        if (vectors < 1)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.vectors is %lld, at least 1 is needed", vectors);
        if (first < 0)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.first_vector is %lld, it can't be negative", first);
        if (vectors > random_columns || first > random_columns - vectors)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                                  "opts.vectors is %lld, from number %lld on; random vectors are numbered up to %lld",
                                  vectors, first, (long long)random_columns - 1);
        return WISP_OK;
    case WISP_TRACE_SITES:
        if (vectors < 1 || !o->sites)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.sites has none; name at least one row");
        for (int64_t i = 0; i < vectors; i++)
            if (o->sites[i] < 0 || o->sites[i] >= rows)
                return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.sites: %lld is not a row; they are 0 to %lld",
                                      (long long)o->sites[i], (long long)rows - 1);
        return WISP_OK;
    case WISP_TRACE_GIVEN:
        if (vectors < 1 || vectors > INT_MAX)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.vectors is %lld; name at least one, or give opts.right",
                                  vectors);
        return WISP_OK;
    }
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.trace: unknown value %d", (int)o->trace);
}

static wisp_status check_variant(wisp_ctx *ctx, const wisp_kpm_opts *o)
{
    if (o->variant != WISP_KPM_BLOCKED && o->variant != WISP_KPM_FUSED && o->variant != WISP_KPM_NAIVE)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.variant: unknown value %d", (int)o->variant);
    if (o->width < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.width is %d, at least 1 is needed", o->width);
    if (o->width > 1 && o->variant != WISP_KPM_BLOCKED)
        return wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "opts.width is %d, which is for the blocked variant; naive and fused take one vector at a time", o->width);
    if (o->depth < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.depth is %d, at least 1 is needed", o->depth);
    if (o->cache_budget < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.cache_budget is %lld bytes", (long long)o->cache_budget);
    if (o->depth > 1 && o->variant == WISP_KPM_NAIVE)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.depth is %d; the naive variant takes one step at a time",
                              o->depth);
    return WISP_OK;
}

/* A real matrix takes complex vectors too, and a single-precision matrix double ones. */
static wisp_status check_type(wisp_ctx *ctx, wisp_type vectors, wisp_type matrix, const char *what)
{
    const int known = vectors >= WISP_S && vectors <= WISP_Z;
    if (known && wisp_type_is_complex(vectors) >= wisp_type_is_complex(matrix) &&
        wisp__is_single(vectors) <= wisp__is_single(matrix))
        return WISP_OK;
    return wisp_ctx_failf(
        ctx, WISP_ERR_UNSUPPORTED,
        "opts.type: vectors of type %s do not go with %s of type %s; assemble the matrix in the precision "
        "that is wanted",
        wisp_type_name(vectors), what, wisp_type_name(matrix));
}

/* The limit is for what can be compared: single precision against the bars of random vectors. */
static wisp_status check_rounding(wisp_ctx *ctx, wisp_kpm_opts *full)
{
    if (!(full->rounding_limit >= 0))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.rounding_limit is %g, it can't be negative",
                              full->rounding_limit);
    if (full->trace != WISP_TRACE_RANDOM || full->vectors < 2 || full->adjoint || !wisp__is_single(full->type))
        full->rounding_limit = 0;
    return WISP_OK;
}

static wisp_status check(wisp_ctx *ctx, wisp_kpm_opts *full, const wisp_mat_info *info, const wisp_kpm_opts *opts)
{
    wisp_status status = WISP_OK;
    wisp__kpm_defaults(full, info->type, opts);
    if (full->moments < 2 || full->moments > most_moments)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.moments is %lld, it must be 2 to %lld", (long long)full->moments,
                              (long long)most_moments);
    WISP_TRY(check_variant(ctx, full));
    WISP_TRY(check_type(ctx, full->type, info->type, "a matrix"));
    WISP_TRY(check_trace(ctx, full, info->rows));
    WISP_TRY(check_rounding(ctx, full));
out:
    return status;
}

/* One of the user's blocks, against the matrix's map, the type and the number of vectors. */
static wisp_status check_block(const wisp_mat *A, const wisp_kpm_opts *o, const wisp_blk *x, const char *name)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    if (wisp_blk_map(x) != wisp_mat_map(A) || wisp_blk_nrows(x) != wisp_map_local(wisp_mat_map(A), NULL))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "%s is on another map than the matrix, or has some of its rows",
                              name);
    if (wisp_blk_type(x) != o->type)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "%s is of type %s, and the run's vectors are of type %s", name,
                              wisp_type_name(wisp_blk_type(x)), wisp_type_name(o->type));
    if (wisp_blk_width(x) != o->vectors)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "%s has %d columns, and there are %lld vectors", name,
                              wisp_blk_width(x), (long long)o->vectors);
    return WISP_OK;
}

/* The user's vectors, and the operator on the left. */
static wisp_status check_sides(const wisp_mat *A, const wisp_kpm_opts *o)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = wisp_mat_ctx(A);
    if (o->trace != WISP_TRACE_GIVEN && (o->right || o->left))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.%s is for WISP_TRACE_GIVEN alone", o->right ? "right" : "left");
    if (o->start && (o->trace != WISP_TRACE_GIVEN || o->right))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.start is for WISP_TRACE_GIVEN alone, in place of opts.right");
    if (o->right) WISP_TRY(check_block(A, o, o->right, "opts.right"));
    if (o->left) WISP_TRY(check_block(A, o, o->left, "opts.left"));
    if (!o->adjoint) goto out;
    wisp_map *map = wisp_mat_map(A);
    wisp_mat_info B;
    wisp_mat_get_info(o->adjoint, &B);
    if (wisp_mat_map(o->adjoint) != map || wisp_mat_col_map(o->adjoint) != map)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                              "opts.adjoint is on another map than the matrix; make it with opts.map");
    status = check_type(ctx, o->type, B.type, "opts.adjoint, a matrix");
out:
    return status;
}

wisp_status wisp__kpm_options(wisp_kpm_opts *full, const wisp_mat *A, const wisp_kpm_opts *opts)
{
    wisp_mat_info info;
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_mat_get_info(A, &info);
    if (opts && opts->trace == WISP_TRACE_GIVEN && !opts->right && !opts->start)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "wisp_kpm: opts.right is NULL; its columns are the vectors of WISP_TRACE_GIVEN, unless "
                              "opts.start makes them");
    const wisp_status status = check(ctx, full, &info, opts);
    return status == WISP_OK ? check_sides(A, full) : status;
}

wisp_bounds_opts wisp_kpm_bounds_opts(wisp_type type, int64_t rows, const wisp_kpm_opts *opts)
{
    wisp_kpm_opts full;
    wisp__kpm_defaults(&full, type, opts);
    const int64_t vectors = wisp__kpm_vectors(&full, rows);
    const double per_vector = (wisp__kpm_two_sides(&full) ? 1 : 0.5) * (double)full.moments;
    return wisp__bounds_opts(&full.bounds, full.seed, per_vector * (double)vectors, 0, wisp__kpm_width(&full, vectors));
}

/* The parts of what a run holds. */
typedef struct {
    double blocks, dots, moments; /* blocks: for the bounds there are no more columns; moments: the caller's */
    int width;
    wisp__kpm_call call;
} parts;

/* Of a rank's part of the blocks, so many rows of the halo with it. */
static parts parts_of(wisp_ctx *ctx, const wisp_kpm_opts *full, int64_t vectors, int64_t rows)
{
    const bool look = full->rounding_limit > 0; /* at rounding: a column in double precision, which is two in single */
    const double n = (double)full->moments, width = fmax(wisp__kpm_width(full, vectors), look ? 2 : 0);
    const int sides = wisp__kpm_two_sides(full) ? 2 : 1, blocks = (full->variant == WISP_KPM_NAIVE ? 2 : 1) + sides;
    parts p = {.width = (int)width, .call = wisp__kpm_call_of(ctx, full, vectors)};
    p.blocks = blocks * width * (double)wisp_type_size(full->type) * (double)rows;
    p.dots = (sides * n + 1) * width * sizeof(double) + ((sides + 2) * width + 3) * p.call.steps * sizeof(wisp_scalar);
    if (wisp__kpm_has_columns(full))
        p.dots += width * (sizeof(wisp__kpm_column) + sizeof(wisp_scalar) + sizeof(double));
    if (full->trace == WISP_TRACE_GIVEN && (full->offer || full->resume))
        p.dots += 3 * (full->left ? 2 : 1) * (double)vectors * sizeof(double);
    if (look) p.dots += 2 * n * sizeof(double);
    p.moments = sides * n * sizeof(double) * (full->trace == WISP_TRACE_EXACT ? 1 : (double)vectors);
    return p;
}

/* Seconds of a step of all vectors, by those of the fused one: single operations pass over blocks so many times more
   (KPM paper, section III). */
static double step_seconds(const wisp_kpm_opts *full, int64_t vectors, const wisp_mat_info *A, const wisp_choice *step)
{
    enum { NAIVE = 10 };
    if (!step || !(step->seconds > 0)) return NAN;
    if (full->variant != WISP_KPM_NAIVE) return step->seconds;
    const double column = (double)A->local_rows * (double)wisp_type_size(full->type);
    return step->seconds + 1e-9 * NAIVE * column * (double)vectors / step->load_gbs;
}

/* What a product with B^H holds, if that is more than the steps do. */
static wisp_status add_product(wisp_plan *steps, wisp_ctx *ctx, const wisp_mat_info *B, wisp_type type, int width)
{
    wisp_plan once;
    const wisp_status status =
        wisp_mpk_plan(&once, ctx, B, type, width, &(wisp_mpk_opts){.steps = 1, .depth = 1}, NULL);
    if (status != WISP_OK) return status;
    if (once.bytes > steps->bytes) steps->bytes = once.bytes;
    if (once.bytes_most > steps->bytes_most) steps->bytes_most = once.bytes_most;
    return status;
}

/* The scratch memory of the bounds stays for the moments. */
wisp_status wisp_kpm_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_kpm_opts *opts,
                          const wisp_choice *step)
{
    wisp_status status;
    wisp_kpm_opts full;
    wisp_plan steps;
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, A);
    WISP_TRY(check(ctx, &full, A, opts));
    WISP_TRY(wisp__check_bounds(ctx, A, &full.bounds));
    wisp_mat_info B; /* blocks have room for the larger halo of the two */
    wisp_mat_get_info(full.adjoint, &B);
    const int64_t halo = B.halo_rows > A->halo_rows ? B.halo_rows : A->halo_rows;
    const int64_t held = A->local_rows + halo, vectors = wisp__kpm_vectors(&full, A->rows);
    const parts p = parts_of(ctx, &full, vectors, held);
    wisp_mpk_opts o = {
        .steps = p.call.steps, .depth = p.call.steps == 1 ? 1 : p.call.depth, .terms = WISP_DOT_XX | WISP_DOT_XY};
    if (wisp__kpm_two_sides(&full)) o.terms = WISP_DOT_UY;
    WISP_TRY(wisp_mpk_plan(&steps, ctx, A, full.type, p.width > 0 ? p.width : 1, &o, NULL));
    if (full.adjoint) WISP_TRY(add_product(&steps, ctx, &B, full.type, p.width > 0 ? p.width : 1));
    const wisp_bounds_opts bo = wisp_kpm_bounds_opts(A->type, A->rows, opts);
    double unused, bounds;
    WISP_TRY(wisp__bounds_bytes(ctx, A, &bo, &unused, &bounds));
    const double all = p.blocks + p.dots + p.moments, sums = wisp_dot_bytes((double)held, p.width);
    const double ranks = wisp_ctx_processes(ctx) > 1 ? p.dots : 0, sweeps = (double)wisp__kpm_sweeps(&full);
    *plan = (wisp_plan){
        .bytes = wisp_whole_number(all + (double)steps.bytes),
        .bytes_most = wisp_whole_number(fmax(bounds, all + (double)steps.bytes_most + sums + ranks + WISP_PLAN_LITTLE)),
        .products = sweeps * (double)vectors,
        .sweeps = p.width > 0 ? sweeps * ceil((double)vectors / p.width) : 0,
        .seconds = sweeps * step_seconds(&full, vectors, A, step),
        .iteration_bytes = NAN,
        .iteration_seconds = NAN};
out:
    return status;
}
