/* What the methods of wisp_eig share: bounds and units of residuals, progress and ends, times, memory for plans. */
#include "eigen.h"
#include <stdlib.h>

static const char *const method_name[] = {"default", "chebfd", "lanczos", "krylov-schur", "dense", "invert"};

const char *wisp__eig_method_name(wisp_eig_method method) { return method_name[method]; }

/* ---- bounds and units ----------------------------------------------------------------------------- */

double wisp__eig_unit(const wisp__eig *k) { return k->o.tolerance_abs > 0 && k->hermitian ? k->scale : 1; }

double wisp__eig_residual(const wisp__eig *k, double residual)
{
    const double r = residual * wisp__eig_unit(k);
    return k->o.tolerance_abs > 0 ? wisp__eig_shown(k, r) : r;
}

/* An absolute tolerance becomes one over the halfwidth. */
static wisp_status take_absolute(wisp__eig *k)
{
    const wisp_bounds *b = &k->e->bounds;
    const double rounding = 16 * k->eps * (b->halfwidth + fabs(b->center)), tolerance = k->o.tolerance_abs;
    if (tolerance < rounding)
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG,
                              "eig: opts.tolerance_abs, %g, is below what %s allows for eigenvalues of up to %.3g: "
                              "at least %.1e",
                              wisp__eig_shown(k, tolerance), wisp_type_name(k->type),
                              wisp__eig_shown(k, b->halfwidth + fabs(b->center)), wisp__eig_shown(k, rounding));
    k->o.tolerance = fmin(tolerance / b->halfwidth, 0.5);
    return WISP_OK;
}

double wisp__eig_of_roots(const wisp__eig *k)
{
    wisp__pencil p;
    return wisp__eig_pencil(k, &p) ? wisp__pencil_rounding(&p, k->eps) : 0;
}

/* Residuals that are rounding alone are small enough. Those of a pencil's C may be far larger than those of a stored
   matrix; they count where its spectrum is one value as far as bounds and rounding tell, for then its halfwidth is no
   measure. */
void wisp__eig_set_tolerance(wisp__eig *k, double tolerance)
{
    const wisp_bounds *b = &k->e->bounds;
    const double all = b->halfwidth + fabs(b->center), roots = wisp__eig_of_roots(k);
    const double may = k->o.tolerance_abs > 0 ? k->o.tolerance_abs : tolerance * all;
    double rounding = 16 * k->eps * all;
    if (wisp__pencil_of_one(b->halfwidth, all, roots)) rounding = fmax(rounding, fmin(roots * all, may));
    k->o.tolerance = tolerance;
    k->scale = fmax(b->halfwidth, rounding / tolerance);
}

/* Rounding of products moves values, and may move them out of bounds that are nearer than it is large. */
static void widen(wisp__eig *k)
{
    wisp_bounds *b = &k->e->bounds;
    b->halfwidth = fmax(b->halfwidth, wisp__eig_of_roots(k) / 2 * (b->halfwidth + fabs(b->center)));
}

wisp_status wisp__eig_take_bounds(wisp__eig *k, double started)
{
    wisp_status status = WISP_OK;
    widen(k);
    k->e->bounds_seconds = wisp_now() - started;
    if (k->o.tolerance_abs > 0) status = take_absolute(k);
    if (status == WISP_OK) wisp__eig_set_tolerance(k, k->o.tolerance);
    return status;
}

wisp_status wisp__eig_bounds(wisp__eig *k, double products)
{
    const double before = wisp_now();
    if (k->e->bounds.halfwidth > 0) return WISP_OK; /* an earlier method of this call found them */
    const wisp_status status = wisp__eig_find_bounds(k, products);
    return status == WISP_OK ? wisp__eig_take_bounds(k, before) : status;
}

int wisp__ritz_width(const wisp__eig *k, int n)
{
    const int size = (int)wisp_type_size(k->type), by_default = 128 / size;
    const int width = k->e->block > 0 ? k->e->block : by_default;
    return width < n ? width : n;
}

/* ---- progress and ends ---------------------------------------------------------------------------- */

wisp_status wisp__eig_report(wisp__eig *k, int round, int found, double wanted, double residual)
{
    k->e->rounds = round;
    const double shown = wisp__eig_residual(k, residual);
    if (k->o.observe && k->o.observe(k->o.observe_arg, round, found, wanted, shown))
        return wisp_ctx_failf(k->ctx, WISP_ERR_CANCELLED, "eig: ended by opts.observe after round %d", round);
    return WISP_OK;
}

bool wisp__eig_last(wisp__eig *k, wisp_status status)
{
    if (status == WISP_OK || status == WISP_ERR_INCOMPLETE || status == WISP_ERR_ITERATIONS ||
        status == WISP_ERR_STAGNATION)
        return !k->whole;
    if (status != WISP_ERR_CANCELLED) return false;
    if (wisp_ctx_processes(k->ctx) > 1) return false;
    if (wisp_ctx_step(k->ctx, "eigenpairs", 1, k->e->flops) == WISP_OK) return true;
    wisp_ctx_resume(k->ctx);
    k->ended = true;
    return true;
}

/* In the measure of most_work. */
static double work_taken(const wisp__eig *k)
{
    return k->e->flops + (wisp__slower - 1) * k->flops * (double)k->e->products;
}

wisp_status wisp__eig_sensible(const wisp__eig *k)
{
    if (k->most_sensible == 0 || k->inverse || isfinite(k->most_work)) return WISP_OK;
    double ranks[] = {work_taken(k) > k->most_sensible, !isfinite(k->most_sensible)};
    const wisp_status status = wisp_ctx_sum(k->ctx, ranks, 2);
    if (status != WISP_OK || ranks[0] == 0 || ranks[1] > 0) return status;
    return wisp_ctx_failf(k->ctx, WISP_ERR_STAGNATION,
                          "eig: the search has taken %d times as much as LAPACK takes for %lld rows", WISP__SENSIBLE,
                          (long long)k->rows);
}

wisp_status wisp__eig_enough(wisp__eig *k, bool *enough)
{
    *enough = false;
    if (!isfinite(k->most_work)) return WISP_OK;
    double over = work_taken(k) > k->most_work;
    const wisp_status status = wisp_ctx_sum(k->ctx, &over, 1);
    *enough = over > 0;
    if (*enough) wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "eig: the search took as much as LAPACK will, which goes on");
    return status;
}

wisp__eig_times wisp__eig_begin_check(const wisp__eig *k)
{
    return (wisp__eig_times){wisp_now(), k->e->filter_seconds, k->e->ortho_seconds, k->e->ritz_seconds};
}

void wisp__eig_end_check(wisp__eig *k, const wisp__eig_times *before)
{
    k->e->check_seconds += wisp_now() - before->now;
    k->e->filter_seconds = before->filter;
    k->e->ortho_seconds = before->ortho;
    k->e->ritz_seconds = before->ritz;
}

wisp_status wisp__eig_start_factors(const wisp__eig *k, wisp_scalar **factor)
{
    enum { FAR = 8 }; /* exponents: nearer ones do no harm, and stay as they are */
    const int most = wisp__most_exponent(k->type);
    const wisp_blk *start = k->o.start;
    const int n = wisp_blk_width(start);
    double *length = NULL;
    wisp_status status;
    *factor = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &length, (size_t)n, sizeof *length));
    WISP_TRY(wisp_norm(start, length));
    for (int j = 0; j < n; j++)
        if (!isfinite(length[j]))
            WISP_TRY(wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC,
                                    "eig: column %d of opts.start holds a NaN or an infinity, or is too long", j));
    WISP_TRY(wisp_alloc(k->ctx, factor, (size_t)n, sizeof **factor));
    for (int j = 0; j < n; j++) {
        const int exponent = length[j] > 0 ? ilogb(length[j]) : 0;
        (*factor)[j] = wisp__real(abs(exponent) > FAR ? ldexp(1, exponent < -most ? most : -exponent) : 1);
    }
out:
    wisp_free(k->ctx, length);
    return status;
}

void wisp__eig_drop_pairs(wisp_eigen *e)
{
    free(e->value), free(e->residual), free(e->condition), wisp_blk_free(e->vectors);
    e->value = NULL, e->residual = e->condition = NULL, e->vectors = NULL;
    e->found = e->at_least = e->sensitive = 0;
}

/* ---- memory, for plans ---------------------------------------------------------------------------- */

/* Of the user's matrix: k->A may be an operator that multiplies by 2^e of it. */
static void user_info(const wisp__eig *k, wisp_mat_info *info)
{
    wisp_mat_get_info(k->scaled.in_products ? k->scaled.A : k->A, info);
}

int64_t wisp__eig_held(const wisp__eig *k)
{
    wisp_mat_info info;
    user_info(k, &info);
    return info.local_rows + info.halo_rows;
}

int64_t wisp__eig_on_device(const wisp__eig *k, double columns, double numbers)
{
    return (int64_t)((double)wisp__eig_held(k) * columns * (double)wisp_type_size(k->type) +
                     numbers * (double)sizeof(wisp_scalar));
}

int64_t wisp__eig_beside(const wisp__eig *k, int columns, int width, int64_t numbers)
{
    enum { STRIP = 64 }; /* rows of a space that a thread keeps while it is multiplied in place */
    wisp_mat_info info;
    user_info(k, &info);
    const int64_t strips = (int64_t)wisp_ctx_threads(k->ctx) * STRIP * columns * (int64_t)wisp_type_size(k->type),
                  sums = wisp_ctx_processes(k->ctx) > 1 ? numbers * (int64_t)sizeof(double) : 0;
    return (int64_t)wisp__exchange_bytes(&info, k->type, width) + strips + sums;
}

wisp_status wisp__eig_end(wisp__eig *k, wisp_status status)
{
    const int above = wisp__eig_scale_back(k);
    if (above == 0) return status;
    wisp__eig_drop_pairs(k->e);
    k->e->found = k->e->at_least = 0;
    k->e->complete = 0;
    k->e->proof = WISP_PROOF_NONE;
    if (status == WISP_ERR_CANCELLED) return status;
    return wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC,
                          "a value is of about 2^%d, too large for a number: scale the matrix", above);
}
