/* Spectral bounds: options, how many Lanczos runs and steps, and what the search takes. */
#include "bounds.h"
#include <math.h>

/* ---- options -------------------------------------------------------------------------------------- */

wisp_bounds_opts wisp__bounds_opts(const wisp_bounds_opts *o, uint64_t seed, double sweeps, double sweeps_per_halfwidth,
                                   int width)
{
    wisp_bounds_opts full = *o;
    if (full.seed == 0) full.seed = seed;
    if (full.sweeps == 0 && full.sweeps_per_halfwidth == 0)
        full.sweeps = sweeps, full.sweeps_per_halfwidth = sweeps_per_halfwidth;
    if (full.width == 0 || full.width > width) full.width = width;
    return full;
}

wisp_status wisp__same_bounds(wisp_state *state, const char *name, const wisp_bounds_opts *o)
{
    if (o->method == WISP_BOUNDS_GIVEN)
        return wisp_state_samef(state, name, "%.17g -+ %.17g", o->given.center, o->given.halfwidth);
    if (o->method == WISP_BOUNDS_GERSHGORIN) return wisp_state_samef(state, name, "gershgorin");
    if (o->seed == 0 && o->width == 0 && o->sweeps == 0 && o->sweeps_per_halfwidth == 0)
        return wisp_state_samef(state, name, "lanczos");
    return wisp_state_samef(state, name, "lanczos, seed %llu, width %d, for %.17g sweeps, %.17g over the halfwidth",
                            (unsigned long long)o->seed, o->width, o->sweeps, o->sweeps_per_halfwidth);
}

static wisp_status check_given(wisp_ctx *ctx, const wisp_bounds *b)
{
    const double low = b->center - b->halfwidth, high = b->center + b->halfwidth;
    if (low < high && isfinite(low) && isfinite(high)) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "bounds: center %g and halfwidth %g are no interval; both ends must be finite, the halfwidth "
                          "positive",
                          b->center, b->halfwidth);
}

wisp_status wisp__check_bounds(wisp_ctx *ctx, const wisp_mat_info *A, const wisp_bounds_opts *o)
{
    for (size_t i = 0; i < sizeof o->reserved / sizeof *o->reserved; i++)
        if (o->reserved[i])
            return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                                  "the program uses fields of wisp_bounds_opts that this library, version %s, does not "
                                  "know",
                                  wisp_version());
    if (o->method == WISP_BOUNDS_GIVEN) return check_given(ctx, &o->given);
    if (o->method != WISP_BOUNDS_LANCZOS && o->method != WISP_BOUNDS_GERSHGORIN)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "bounds: unknown method %d", (int)o->method);
    if (o->given.center != 0 || o->given.halfwidth != 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "bounds: center %g and halfwidth %g are given, which goes with the method "
                              "WISP_BOUNDS_GIVEN alone",
                              o->given.center, o->given.halfwidth);
    if (o->width < 0 || !(o->sweeps >= 0) || !(o->sweeps_per_halfwidth >= 0))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "bounds: width is %d, sweeps %g, sweeps_per_halfwidth %g; none may be negative", o->width,
                              o->sweeps, o->sweeps_per_halfwidth);
    if (o->method == WISP_BOUNDS_GERSHGORIN && A->format == WISP_FORMAT_OPERATOR)
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                              "an operator has no entries for Gershgorin's circles: take the Lanczos method, or give "
                              "bounds (WISP_BOUNDS_GIVEN)");
    return WISP_OK;
}

/* ---- how many runs and steps ---------------------------------------------------------------------- */

static int width_of(const wisp_bounds_opts *o) { return o->width > 0 ? o->width : 4; }

/* Kuczynski and Wozniakowski (1992): after k steps from a Gaussian start the Ritz value is off by more than eps
   times the spread with a chance of at most 1.648 sqrt(N) exp(-(2k - 1) sqrt(eps)), and less for complex
   matrices. b starts fail together with the b-th power of it; there are two ends. A column whose Krylov space is
   complete would gain nothing from more steps, so k is the number of steps for it too. Over the Ritz spread; infinite
   if it would be more than a tenth, by which a given number of moments would lose much of its resolution. */
double wisp__bounds_margin(double rows, int columns, int steps)
{
    const double root = log(1.648 * sqrt(rows) / pow(WISP__BOUNDS_FAILURE / 2, 1.0 / columns)) / (2 * steps - 1),
                 eps = root * root;
    return eps < 1.0 / 12 ? eps / (1 - 2 * eps) : INFINITY;
}

/* Runs and steps for which bounds and what they are for take least. A step of b runs takes as long as to read the
   matrix and to pass over 16 + 5b columns (few columns are far from the memory's limit), a sweep of what follows as to
   pass over three a column. Its sweeps grow with the interval, which is wider than the spread by a margin at both ends,
   but never less than the room. However the matrix is stored, half of its numbers count, so that bounds do not depend
   on it. */
void wisp__bounds_size(const wisp_mat_info *A, const wisp_bounds_opts *opts, int *columns, int *steps)
{
    enum { FEWEST = 8, USUAL = 8192, PASSES = 16, MORE = 5, SWEEP_PASSES = 3 };
    const wisp_bounds_opts o = *opts;
    *columns = *steps = 0;
    if (o.method != WISP_BOUNDS_LANCZOS || A->rows < 1) return;
    const double rows = (double)A->rows, column = rows * (double)wisp_type_size(A->type),
                 matrix = 0.5 * (double)A->nnz * (double)wisp_type_size(A->type);
    const int width = width_of(&o);
    const double sweep = (o.sweeps > 0 ? o.sweeps : USUAL) * (matrix / width + SWEEP_PASSES * column);
    double least = INFINITY;
    for (int b = 1; b <= WISP__BOUNDS_RUNS && b <= width; b *= 2)
        for (int k = FEWEST; k <= WISP__BOUNDS_STEPS; k += (k + 15) / 16) {
            const double wider = 2 * fmax(wisp__bounds_margin(rows, b, k), WISP__BOUNDS_ROOM / 2);
            const double cost = k * (matrix + (PASSES + MORE * b) * column) + sweep * wider;
            if (cost < least || *steps == 0) least = cost, *columns = b, *steps = k;
        }
}

/* ---- plan ----------------------------------------------------------------------------------------- */

/* Two blocks, what their products hold, and dots, which are those of row blocks. */
static wisp_status lanczos_bytes(wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int columns, double *about,
                                 double *most)
{
    const wisp_mpk_opts one = {.steps = 1, .terms = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY};
    const double held = (double)(A->local_rows + A->halo_rows);
    const double blocks = 2.0 * columns * (double)wisp_type_size(type) * held;
    wisp_plan product;
    const wisp_status status = wisp_mpk_plan(&product, ctx, A, type, columns, &one, NULL);
    *about = blocks + (double)product.bytes;
    *most = blocks + (double)product.bytes_most + wisp_dot_bytes(held, columns) + WISP_PLAN_LITTLE;
    return status;
}

/* The halfwidth, by which the number of runs may be chosen, is not known, nor whether numbers of single precision are
   wide enough for it. */
wisp_status wisp__bounds_bytes(wisp_ctx *ctx, const wisp_mat_info *A, const wisp_bounds_opts *o, double *about,
                               double *most)
{
    const int width = width_of(o), widest = width < WISP__BOUNDS_RUNS ? width : WISP__BOUNDS_RUNS;
    double usual = 0, all = 0, unused;
    int columns, steps;
    wisp_status status = WISP_OK;
    wisp__bounds_size(A, o, &columns, &steps);
    if (steps > 0) WISP_TRY(lanczos_bytes(ctx, A, A->type, columns, &usual, &unused));
    if (steps > 0) WISP_TRY(lanczos_bytes(ctx, A, wisp__type_in(WISP_D, A->type), widest, &unused, &all));
    *about = usual;
    *most = fmax(all, (double)A->props_bytes);
out:
    return status;
}

wisp_status wisp_bounds_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_bounds_opts *opts,
                             const wisp_choice *step)
{
    enum { PASSES = 5 }; /* over the blocks, beside those of the product */
    const wisp_bounds_opts o = opts ? *opts : (wisp_bounds_opts){0};
    double about = 0, most = 0;
    int columns, steps;
    wisp_status status;
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, A);
    WISP_TRY(wisp__check_bounds(ctx, A, &o));
    if (o.method != WISP_BOUNDS_GIVEN) WISP_TRY(wisp__bounds_bytes(ctx, A, &o, &about, &most));
    wisp__bounds_size(A, &o, &columns, &steps);
    *plan = (wisp_plan){.bytes = wisp_whole_number(fmin(about, most)),
                        .bytes_most = wisp_whole_number(most),
                        .products = (double)steps * columns,
                        .sweeps = steps,
                        .seconds = steps > 0 ? NAN : 0,
                        .iteration_bytes = NAN,
                        .iteration_seconds = NAN};
    const double block = (double)A->local_rows * columns * (double)wisp_type_size(A->type);
    if (steps > 0 && step && step->seconds > 0)
        plan->seconds = steps * (step->seconds + 1e-9 * PASSES * block / step->load_gbs);
out:
    return status;
}
