/* Eigenpairs: options, their checks, the choice of a method, and the result. */
#include "inverse.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 30 };

/* ---- options -------------------------------------------------------------------------------------- */

/* The question is not one for the ends of the spectrum. */
static bool is_inner(const wisp_eig_opts *o) { return o->which == WISP_EIG_INTERVAL || o->which == WISP_EIG_NEAREST; }

static wisp_status check_numbers(const wisp__eig *k)
{
    const wisp_eig_opts *o = &k->o;
    if (o->which < 0 || o->which > WISP_EIG_NEAREST || o->method < 0 || o->method > WISP_EIG_INVERT)
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG, "eig: opts.which is %d, opts.method %d: one is unknown",
                              (int)o->which, (int)o->method);
    if (o->which == WISP_EIG_INTERVAL && !(o->low <= o->high && isfinite(o->low) && isfinite(o->high)))
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG,
                              "eig: the interval is %g to %g; opts.low and opts.high must be finite, and rise", o->low,
                              o->high);
    if (o->which == WISP_EIG_NEAREST && !(isfinite(o->target) && isfinite(o->target_im)))
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG, "eig: opts.target is %g, it must be finite",
                              isfinite(o->target) ? o->target_im : o->target);
    if (o->target_im != 0 && k->hermitian)
        return wisp_ctx_failf(k->ctx, WISP_ERR_HERMITIAN,
                              "eig: opts.target is %g%+gi, and a Hermitian matrix has real eigenvalues: give the real "
                              "part alone, to which the same ones are nearest",
                              o->target, o->target_im);
    if (o->invert && (o->which != WISP_EIG_NEAREST || (o->method != WISP_EIG_DEFAULT && o->method != WISP_EIG_INVERT)))
        return wisp_ctx_failf(
            k->ctx, WISP_ERR_ARG,
            "eig: opts.invert is for opts.which = WISP_EIG_NEAREST, and opts.method = WISP_EIG_INVERT");
    if (o->count < 0 || o->search < 0 || o->block < 0 || o->max_rounds < 0)
        return wisp_ctx_failf(
            k->ctx, WISP_ERR_ARG,
            "eig: opts.count is %d, opts.search %d, opts.block %d, opts.max_rounds %lld; none can be negative",
            o->count, o->search, o->block, (long long)o->max_rounds);
    const int size = (int)wisp_type_size(k->type);
    if (o->row_bytes != 0 && o->row_bytes < size)
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG, "eig: opts.row_bytes is %d, and a number of the vectors has %d",
                              o->row_bytes, size);
    if (o->any && o->which == WISP_EIG_INTERVAL)
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG,
                              "eig: opts.any is for a number of eigenvalues; an interval has all of its own");
    if (!(o->tolerance >= 0 && o->tolerance < 1))
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG, "eig: opts.tolerance is %g, it must lie between 0 and 1",
                              o->tolerance);
    if (!(o->tolerance_abs >= 0 && isfinite(o->tolerance_abs)) || (o->tolerance_abs > 0 && o->tolerance > 0))
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG,
                              "eig: opts.tolerance_abs is %g, opts.tolerance %g; give one of them, above 0",
                              o->tolerance_abs, o->tolerance);
    if (o->tolerance > 0 && o->tolerance < 16 * k->eps)
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG, "eig: opts.tolerance, %g, is below what %s allows: at least %.1e",
                              o->tolerance, wisp_type_name(k->type), 16 * k->eps);
    if (o->which != WISP_EIG_INTERVAL && o->count > k->rows)
        return wisp_ctx_failf(k->ctx, WISP_ERR_ARG, "eig: opts.count is %d, and the matrix has %lld row%s", o->count,
                              (long long)k->rows, k->rows == 1 ? "" : "s");
    return WISP_OK;
}

static wisp_status check_start(const wisp__eig *k)
{
    const wisp_blk *v = k->o.start;
    if (!v) return WISP_OK;
    wisp_map *map = wisp_mat_map(k->A);
    if (wisp_blk_map(v) != map || wisp_blk_nrows(v) != wisp_map_local(map, NULL) || wisp_blk_type(v) != k->type)
        return wisp_ctx_failf(k->ctx, WISP_ERR_MISMATCH,
                              "eig: opts.start must be on the matrix's map, with all rows, and %s",
                              wisp_type_name(k->type));
    return WISP_OK;
}

/* Whether the method takes the question; it may ask for a Hermitian matrix. */
static wisp_status check_method(wisp__eig *k)
{
    const bool inner = is_inner(&k->o);
    const wisp_eig_method m = k->o.method;
    if (m == WISP_EIG_INVERT && k->o.which != WISP_EIG_NEAREST)
        return wisp_ctx_failf(k->ctx, WISP_ERR_UNSUPPORTED,
                              "eig: invert finds eigenvalues nearest to a target only; take another opts.method");
    if ((m == WISP_CHEBFD && !inner) || ((m == WISP_LANCZOS || m == WISP_KRYLOV_SCHUR) && inner))
        return wisp_ctx_failf(
            k->ctx, WISP_ERR_UNSUPPORTED, "eig: %s finds eigenvalues %s", wisp__eig_method_name(m),
            inner ? "at the ends of the spectrum only; take opts.method = WISP_CHEBFD"
                  : "in an interval or nearest to a target only; take opts.method = WISP_LANCZOS or WISP_KRYLOV_SCHUR");
    if (m == WISP_KRYLOV_SCHUR || m == WISP_EIG_INVERT) return WISP_OK;
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    const bool taken_for_hermitian = info.format == WISP_FORMAT_OPERATOR && k->hermitian;
    if (m == WISP_CHEBFD && k->o.target_im != 0)
        return wisp_ctx_fail(k->ctx, WISP_ERR_UNSUPPORTED,
                             "eig: chebfd finds real eigenvalues only, and opts.target is complex: take another "
                             "opts.method");
    if (m == WISP_EIG_DENSE && k->o.which != WISP_EIG_INTERVAL && !taken_for_hermitian) return WISP_OK;
    wisp_mat_props props;
    const wisp_status status = wisp__require_hermitian(k->A, &props);
    k->hermitian |= status == WISP_OK;
    return status;
}

static wisp_status defaults(wisp__eig *k)
{
    wisp_eig_opts *o = &k->o;
    const bool by_cost = o->method == WISP_EIG_DEFAULT;
    /* No filter is for other matrices than Hermitian ones; few rows go to LAPACK. */
    const bool takes_inverse = o->invert || (o->which == WISP_EIG_NEAREST && !k->hermitian);
    k->filter_work = k->invert_work = NAN;
    if (o->count == 0) o->count = 1;
    if (o->tolerance == 0) o->tolerance = wisp__is_single(k->type) ? 1e-4 : 1e-8;
    if (by_cost)
        o->method = takes_inverse  ? WISP_EIG_INVERT
                    : is_inner(o)  ? WISP_CHEBFD
                    : k->hermitian ? WISP_LANCZOS
                                   : WISP_KRYLOV_SCHUR;
    k->default_rounds = o->max_rounds == 0;
    if (k->default_rounds) o->max_rounds = o->method == WISP_CHEBFD ? ROUNDS : WISP__RESTARTS;
    const wisp_status status = check_method(k);
    if (o->tolerance_abs > 0 && !k->hermitian) o->tolerance = o->tolerance_abs; /* else by the bounds */
    k->asked = o->tolerance_abs > 0 ? o->tolerance_abs : o->tolerance;
    k->most_sensible = wisp__eig_most_sensible(k);
    return status == WISP_OK && by_cost ? wisp__eig_dense_or_search(k) : status;
}

/* Whether the matrix is Hermitian, as far as the choice of a method needs it. An operator is taken for Hermitian,
   unless the method or the question is of others. */
static wisp_status look_at_matrix(wisp__eig *k)
{
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    k->rows = info.rows;
    if (info.rows != info.cols)
        return wisp_ctx_failf(k->ctx, WISP_ERR_MISMATCH, "eig: the matrix is %lld x %lld; it must be square",
                              (long long)info.rows, (long long)info.cols);
    if (info.rows == 0) return wisp_ctx_failf(k->ctx, WISP_ERR_ARG, "eig: the matrix has no rows");
    k->type = k->o.type == WISP_DEFAULT ? info.type : k->o.type;
    if (k->o.which != WISP_EIG_NEAREST) k->o.target_im = 0;
    if (k->o.target_im != 0) k->type = wisp__type_in(k->type, WISP_Z);
    k->is_complex = wisp_type_is_complex(k->type);
    k->eps = wisp__is_single(k->type) ? FLT_EPSILON : DBL_EPSILON;
    wisp_cost one;
    wisp__pencil pencil;
    wisp_status status = WISP_OK;
    const bool of_pencil = wisp__eig_pencil(k, &pencil);
    if (of_pencil && !pencil.rootless) status = wisp__pencil_ready(&pencil);
    if (status == WISP_OK) status = wisp_spmmv_cost(k->A, k->type, 1, 0, &one);
    if (status == WISP_OK) status = wisp_ctx_sum(k->ctx, &one.flops, 1);
    k->flops = one.flops;
    if (status != WISP_OK || info.format == WISP_FORMAT_OPERATOR) {
        k->hermitian = k->o.which != WISP_EIG_LARGEST_REAL && k->o.method != WISP_KRYLOV_SCHUR &&
                       (k->o.target_im == 0 || of_pencil); /* which is Hermitian */
        return status;
    }
    wisp_mat_props props;
    status = wisp__require_finite(k->A, "eig: ", &props);
    k->hermitian = status == WISP_OK && props.hermitian;
    return status;
}

static wisp_status begin(wisp__eig *k)
{
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    const bool by_cost = k->o.method == WISP_EIG_DEFAULT;
    wisp_status status = look_at_matrix(k);
    if (status == WISP_OK) status = check_numbers(k);
    if (status == WISP_OK) status = wisp__check_bounds(k->ctx, &info, &k->o.bounds);
    if (status != WISP_OK) return status;
    status = defaults(k);
    if (status == WISP_OK) status = check_start(k);
    if (status == WISP_OK) status = wisp__eig_scale(k);
    if (status == WISP_OK && by_cost) status = wisp__eig_by_cost(k);
    return status == WISP_OK && k->o.method == WISP_EIG_INVERT && !k->inverse ? wisp__inverse_open(k) : status;
}

/* ---- calls ------------------------------------------------------------------------------------------ */

/* LAPACK or the inverse takes the place of a search; nothing is left of what that has found. */
static wisp_status go_over(wisp__eig *k)
{
    wisp_eigen *e = k->e;
    k->whole = false;
    wisp__eig_drop_pairs(e);
    free(e->filter.c);
    e->filter = (wisp_filter){0};
    e->filter_type = WISP_DEFAULT;
    e->block = e->rounds = 0;
    e->degree = 0;
    return k->o.method == WISP_CHEBFD && k->inverse ? wisp__eig_over_to_inverse(k) : wisp__eig_dense(k);
}

/* Pairs outside an interval are given as far as rounding does not tell them from those inside: that is said where it is
   no small part of the interval. */
static void warn_of_rounding(const wisp__eig *k)
{
    const wisp_eigen *e = k->e;
    double largest = 0;
    for (int i = 0; i < e->found; i++) largest = fmax(largest, fabs(e->value[i].re));
    const double rounding = wisp__eig_room(k, largest, 0), width = k->o.high - k->o.low;
    if (k->o.which != WISP_EIG_INTERVAL || k->rough || !(width > 0 && rounding > 0.1 * width)) return;
    wisp_ctx_logf(k->ctx, WISP_LOG_WARN,
                  "eig: rounding in %s arithmetic moves values near %.9g by up to %.1e, and the interval is %.1e wide: "
                  "pairs as far outside are given, too%s",
                  wisp_type_name(k->type), wisp__eig_shown(k, largest), wisp__eig_shown(k, rounding),
                  wisp__eig_shown(k, width), wisp__is_single(k->type) ? "; vectors in double precision tell more" : "");
}

/* The inverse has told of its own. */
static void tell_proof(wisp_eigen *e)
{
    if (!e->complete)
        e->proof = WISP_PROOF_NONE;
    else if (e->method == WISP_EIG_DENSE)
        e->proof = WISP_PROOF_ALL;
    else if (e->proof == WISP_PROOF_NONE)
        e->proof = WISP_PROOF_CHECKS;
}

static wisp_status run(wisp__eig *k)
{
    wisp_status status = begin(k);
    if (status != WISP_OK) return status;
    k->e->method = k->began_as = k->o.method;
    if (wisp__eig_has_ended(k->o.resume)) return wisp__eig_take_end(k);
    if (k->o.resume && k->o.method == WISP_EIG_DENSE)
        return wisp_ctx_failf(k->ctx, WISP_ERR_MISMATCH,
                              "eig: the dense method has no states from which it could go on");
    switch (k->o.method) {
    case WISP_CHEBFD: status = wisp__eig_chebfd(k); break;
    case WISP_LANCZOS: status = wisp__eig_lanczos(k); break;
    case WISP_KRYLOV_SCHUR: status = wisp__eig_krylov_schur(k); break;
    case WISP_EIG_INVERT: status = k->hermitian ? wisp__eig_lanczos(k) : wisp__eig_krylov_schur(k); break;
    default: status = wisp__eig_dense(k);
    }
    while (k->whole) status = go_over(k);
    wisp_state_free(k->live);
    if (k->ended) wisp_ctx_cancel(k->ctx);
    if (status != WISP_OK) k->e->complete = 0;
    tell_proof(k->e);
    warn_of_rounding(k);
    return wisp__eig_offer_end(k, status);
}

static const wisp_eigen nothing = {.expected = NAN, .expected_error = NAN, .orthogonality = NAN};

static wisp_status find(wisp__eig k, wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts)
{
    k.ctx = wisp_mat_ctx(A), k.A = A, k.e = e, k.started = wisp_now(), k.most_work = INFINITY;
    if (opts) k.o = *opts;
    wisp_ctx_enter(k.ctx);
    wisp_status status = run(&k);
    wisp__inverse_close(&k);
    status = wisp_ctx_leave(k.ctx, wisp__eig_end(&k, status));
    e->seconds = wisp_now() - k.started;
    return status;
}

wisp_status wisp_eig(wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts)
{
    WISP_NEED(wisp_mat_ctx(A), e);
    *e = nothing;
    WISP_NEED(NULL, A);
    return find((wisp__eig){0}, e, A, opts);
}

wisp_status wisp__eig_roughly(wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts)
{
    *e = nothing;
    return find((wisp__eig){.rough = true}, e, A, opts);
}

wisp_status wisp__eig_for_svd(wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts, int back, bool squares)
{
    *e = nothing;
    return find((wisp__eig){.of_svd = true, .back = back, .rough = squares}, e, A, opts);
}

static wisp_status plan_by_method(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice)
{
    const wisp_status status = begin(k);
    if (status != WISP_OK) return status;
    choice->method = k->o.method;
    switch (k->o.method) {
    case WISP_CHEBFD: return wisp__eig_plan_chebfd(k, plan, choice);
    case WISP_EIG_DENSE: return wisp__eig_plan_dense(k, plan, choice);
    default: return wisp__eig_plan_krylov(k, plan, choice);
    }
}

static wisp_status plan_all(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice)
{
    double before;
    wisp_status status;
    WISP_TRY(plan_by_method(k, plan, choice));
    WISP_TRY(wisp__eig_bounds_bytes(k, &before));
    if (before > (double)plan->bytes_most) plan->bytes_most = (int64_t)before;
    if (choice->method == WISP_EIG_INVERT) {
        choice->factor_bytes = wisp__inverse_bytes(k->inverse);
        choice->factor_flops = wisp__inverse_flops(k->inverse);
        plan->bytes_most += choice->factor_bytes;
    }
    choice->filter_work = k->filter_work, choice->invert_work = k->invert_work;
    plan->bytes_most += k->scaled.bytes;
    plan->device_bytes += k->scaled.bytes;
    if (k->scaled.assembly > plan->bytes_most) plan->bytes_most = k->scaled.assembly;
out:
    return status;
}

wisp_status wisp_eig_plan(wisp_plan *plan, wisp_eig_choice *choice, const wisp_mat *A, const wisp_eig_opts *opts)
{
    wisp_eig_choice unused;
    WISP_NEED(wisp_mat_ctx(A), plan);
    if (!choice) choice = &unused;
    *plan =
        (wisp_plan){.products = NAN, .sweeps = NAN, .seconds = NAN, .iteration_bytes = NAN, .iteration_seconds = NAN};
    *choice = (wisp_eig_choice){.expected = NAN, .expected_error = NAN, .filter_work = NAN, .invert_work = NAN};
    WISP_NEED(NULL, A);
    wisp_eigen e = {.expected = NAN};
    wisp__eig k = {.ctx = wisp_mat_ctx(A), .A = A, .e = &e, .started = wisp_now(), .most_work = INFINITY};
    if (opts) k.o = *opts;
    k.o.offer = NULL, k.o.resume = NULL;
    wisp_ctx_enter(k.ctx);
    const wisp_status status = wisp_ctx_leave(k.ctx, plan_all(&k, plan, choice));
    plan->bytes = plan->bytes_most;
    if (plan->device_bytes > plan->bytes) plan->device_bytes = plan->bytes;
    plan->sweeps = plan->products / fmax(choice->block, 1);
    wisp__inverse_close(&k);
    choice->low = wisp__eig_shown(&k, choice->low), choice->high = wisp__eig_shown(&k, choice->high);
    wisp__eig_scale_back(&k);
    wisp_eigen_free(&e);
    return status;
}

void wisp_eigen_free(wisp_eigen *e)
{
    if (!e) return;
    wisp__eig_drop_pairs(e);
    free(e->filter.c);
    wisp_moments_free(e->moments);
    free(e->moments);
    memset(e, 0, sizeof *e);
}
