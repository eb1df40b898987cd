/* Options of wisp_cool, and what it will take. */
#include "evolve.h"

enum { DEFAULT_VECTORS = 32 };
static const int64_t random_columns = (int64_t)1 << 32;

static wisp_status check_numbers(wisp_ctx *ctx, wisp_cool_opts *o)
{
    if (o->vectors == 0) o->vectors = DEFAULT_VECTORS;
    if (o->temperatures < 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.temperatures is %lld, it must be at least 1",
                              (long long)o->temperatures);
    if (o->vectors < 1 || o->first_vector < 0 || o->vectors > random_columns ||
        o->first_vector > random_columns - o->vectors)
        return wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "opts.vectors is %lld and opts.first_vector is %lld: random vectors are numbers 0 to %lld",
            (long long)o->vectors, (long long)o->first_vector, (long long)random_columns - 1);
    return WISP_OK;
}

wisp_status wisp__cool_check(wisp_ctx *ctx, wisp_cool_opts *o)
{
    wisp_status status;
    const double *T = o->temperature;
    WISP_TRY(check_numbers(ctx, o));
    if (!T) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.temperature is NULL");
    for (int64_t i = 0; i < o->temperatures; i++)
        if (!(T[i] > 0) || !isfinite(T[i]) || !isfinite(wisp__cool_time(T[i])) || (i > 0 && T[i] > T[i - 1]))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                                  "opts.temperature has %g: temperatures, and 1/T, are finite and above 0, and none is "
                                  "above the one before",
                                  T[i]);
out:
    return status;
}

wisp_status wisp_cool_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_cool_opts *opts)
{
    wisp_status status;
    const double any = 1;
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, A);
    WISP_NEED(ctx, opts);
    wisp_cool_opts own = *opts;
    WISP_TRY(check_numbers(ctx, &own));
    const wisp_evolve_opts o = {.direction = {0, -1}, .at_once = 1, .bounds = own.bounds};
    const wisp_type type = wisp__type_in(A->type, WISP_Z);
    const int width = wisp__cool_width(own.vectors);
    WISP_TRY(wisp_evolve_plan(plan, ctx, A, type, width, 1, &any, &o, NULL));
    const double block = ((double)A->local_rows + (double)A->halo_rows) * width * (double)wisp_type_size(type),
                 numbers =
                     (double)own.temperatures * ((double)own.vectors * sizeof(wisp_cooled_state) + 3 * sizeof(double));
    plan->bytes = wisp_whole_number((double)plan->bytes + 2 * block + numbers);
    plan->bytes_most = wisp_whole_number((double)plan->bytes_most + 2 * block + numbers);
    plan->products = plan->sweeps = plan->seconds = NAN;
out:
    return status;
}
