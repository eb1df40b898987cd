/* Linear systems: options, their checks, and the choice of a method. */
#include "krylov.h"
#include <math.h>

/* All methods, in the order of wisp_method. */
extern const wisp__method wisp__cg, wisp__bicgstab, wisp__gmres, wisp__minres, wisp__lsmr, wisp__idr;
static const wisp__method *const all[] = {&wisp__cg,     &wisp__bicgstab, &wisp__gmres,
                                          &wisp__minres, &wisp__lsmr,     &wisp__idr};
enum { METHODS = sizeof all / sizeof *all };

const wisp__method *wisp__method_of(wisp_method m) { return all[m - WISP_CG]; }

wisp_method wisp__choice(bool hermitian, bool last)
{
    int i = 0;
    while (!all[i]->chosen || (all[i]->general && !hermitian)) i++;
    while (last && all[i]->next) i = (int)all[i]->next - WISP_CG;
    return WISP_CG + (wisp_method)i;
}

wisp_method wisp_method_of_side(wisp_method method, wisp_side side)
{
    if (side == WISP_SIDE_DEFAULT) return method;
    if (method == WISP_METHOD_DEFAULT) return wisp__choice(false, false);
    const bool known = method >= WISP_CG && method < WISP_CG + METHODS;
    return known && wisp__method_of(method)->sides ? method : WISP_METHOD_DEFAULT;
}

const char *wisp__variant_name(wisp_variant v)
{
    static const char *const name[] = {"default", "pipelined", "classical", "predict", "hidden"};
    return name[v];
}

const char *wisp__side_name(wisp_side side)
{
    static const char *const name[] = {"default", "right", "left"};
    return name[side];
}

static bool has_variant(const wisp__method *m, wisp_variant v) { return v <= WISP_CLASSICAL || (m->variants >> v & 1); }
void wisp__fit_variant(wisp_solve_opts *o)
{
    if (!has_variant(wisp__method_of(o->method), o->variant)) o->variant = WISP_PIPELINED;
}

void wisp__solve_defaults(wisp_solve_opts *o, wisp_type type, int64_t rows)
{
    if (o->tolerance == 0 && o->tolerance_abs == 0) o->tolerance = wisp__is_single(type) ? 1e-4 : 1e-8;
    if (o->max_iterations == 0) o->max_iterations = rows < 1000 ? (rows < 10 ? 100 : 10 * rows) : 10000;
    if (o->restart == 0) o->restart = 30;
    if (o->restart > rows && rows > 0) o->restart = (int)rows;
    if (o->shadow == 0) o->shadow = 4;
    if (o->shadow > rows && rows > 0) o->shadow = (int)rows;
    if (o->block_rows == 0) o->block_rows = 4;
    if (o->degree == 0) o->degree = 4;
    if (o->side == WISP_SIDE_DEFAULT && o->precond && wisp__method_of(o->method)->sides) o->side = WISP_SIDE_RIGHT;
    const wisp_variant usual = o->precond == WISP_PRECOND_NONE ? wisp__method_of(o->method)->usual : 0;
    if (o->variant == WISP_VARIANT_DEFAULT) o->variant = usual ? usual : WISP_PIPELINED;
}

/* wisp_fuse_cost refuses blocks that share a part. They may be one memory, which it does not: then the first columns
   are one, and can't be written and multiply at once. It does not know scattered views: these go column by column. */
static wisp_status check_apart(const wisp__krylov *k, wisp_blk *x)
{
    wisp_blk *b = (wisp_blk *)(uintptr_t)k->b, *xi = NULL, *bj = NULL; /* b is read alone */
    wisp_cost cost;
    if (!wisp__is_square(k)) { /* on different maps */
        const wisp_status own = wisp_fuse_cost(NULL, 0, &(wisp_inner){.x = x, .y = x}, 1, &cost);
        return own == WISP_OK ? wisp_fuse_cost(NULL, 0, &(wisp_inner){.x = b, .y = b}, 1, &cost) : own;
    }
    const wisp_update whole = {x, 2, (wisp_term[]){{.x = x}, {.x = b}}};
    wisp_status status = wisp_fuse_cost(NULL, 0, &(wisp_inner){.x = b, .y = b}, 1, &cost);
    if (status != WISP_OK) return status; /* b is one: no product adds it */
    status = wisp_fuse_cost(&whole, 1, NULL, 0, &cost);
    const int n = status == WISP_ERR_UNSUPPORTED ? wisp_blk_width(x) : 1;
    if (n > 1) status = WISP_OK;
    for (int i = 0; i < n * n && status == WISP_OK; i++) {
        status = wisp_blk_cols(&xi, x, i / n, 1);
        if (status == WISP_OK) status = wisp_blk_cols(&bj, b, i % n, 1);
        const wisp_update one = {xi, 1, (wisp_term[]){{.x = xi, .rows = bj}}};
        if (status == WISP_OK) status = wisp_fuse_cost(&one, 1, NULL, 0, &cost);
        wisp_blk_free(xi);
        wisp_blk_free(bj);
        xi = bj = NULL;
    }
    return status == WISP_ERR_ARG ? wisp_ctx_failf(k->ctx, status, "solve: x and b overlap") : status;
}

static wisp_status check_variant(wisp_ctx *ctx, const wisp_solve_opts *o)
{
    int i = 0;
    while (!has_variant(all[i], o->variant)) i++;
    const wisp__method *of = all[i], *named = o->method != WISP_METHOD_DEFAULT ? wisp__method_of(o->method) : of;
    if (!has_variant(named, o->variant))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.variant: \"%s\" is one of %s, not of %s",
                              wisp__variant_name(o->variant), of->name, named->name);
    if ((of->plain >> o->variant & 1) && o->precond != WISP_PRECOND_NONE)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.variant: \"%s\" takes no preconditioner",
                              wisp__variant_name(o->variant));
    return WISP_OK;
}

static wisp_status check_side(wisp_ctx *ctx, const wisp_solve_opts *o)
{
    if (o->side < 0 || o->side > WISP_SIDE_LEFT)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.side is %d, which is unknown", (int)o->side);
    if (o->side == WISP_SIDE_DEFAULT) return WISP_OK;
    if (o->precond == WISP_PRECOND_NONE)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.side is %s, and opts.precond is none",
                              wisp__side_name(o->side));
    if (!wisp_method_of_side(o->method, o->side))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "solve: opts.side is %s, and %s has no choice: it takes opts.precond on both sides alike",
                              wisp__side_name(o->side), wisp__method_of(o->method)->name);
    return WISP_OK;
}

static wisp_status check_options(wisp_ctx *ctx, const wisp_solve_opts *o)
{
    if (o->method < 0 || o->method >= WISP_CG + METHODS || o->variant < 0 || o->variant > WISP_HIDDEN ||
        o->precond < 0 || o->precond > WISP_IC)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "solve: opts.method is %d, opts.variant %d, opts.precond %d: one is unknown",
                              (int)o->method, (int)o->variant, (int)o->precond);
    const wisp__method *named = o->method ? wisp__method_of(o->method) : NULL;
    wisp_status status = check_variant(ctx, o);
    if (status == WISP_OK && named && named->check) status = named->check(ctx, o);
    if (status == WISP_OK) status = check_side(ctx, o);
    if (status != WISP_OK) return status;
    if (named && !named->any_shape && o->damp != 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "solve: opts.damp is %g, and %s has none: take opts.method = WISP_LSMR", o->damp,
                              named->name);
    if (!(o->tolerance >= 0) || !(o->tolerance < 1))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.tolerance is %g, it must lie between 0 and 1",
                              o->tolerance);
    if (!(o->tolerance_abs >= 0) || isinf(o->tolerance_abs))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.tolerance_abs is %g, it must be 0 or a number above",
                              o->tolerance_abs);
    if (o->max_iterations < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.max_iterations is %lld, it can't be negative",
                              (long long)o->max_iterations);
    if (o->restart < 0 || o->restart > WISP__MOST_RESTART)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.restart is %d; it is 1 to %d", o->restart,
                              WISP__MOST_RESTART);
    if (o->shadow < 0 || o->shadow > WISP__MOST_SHADOW)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.shadow is %d; it is 1 to %d", o->shadow,
                              WISP__MOST_SHADOW);
    if (o->block_rows < 0 || o->degree < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.block_rows is %d, opts.degree %d; they can't be negative",
                              o->block_rows, o->degree);
    if (o->precond == WISP_AMG && wisp__amg_here(ctx) != WISP_OK) return WISP_ERR_UNSUPPORTED;
    if (o->precond == WISP_PRECOND_APPLY && !o->apply)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "solve: opts.apply is NULL, and the preconditioner is that function");
    return WISP_OK;
}

wisp_method wisp__method_for(const wisp_solve_opts *o, bool square)
{
    if (o->method != WISP_METHOD_DEFAULT) return o->method;
    return !square || o->damp != 0 ? WISP_LSMR : wisp_method_of_side(o->method, o->side);
}

wisp_status wisp__solve_check_options(wisp_ctx *ctx, const wisp_solve_opts *opts, bool square)
{
    wisp_solve_opts o = *opts;
    o.method = wisp__method_for(opts, square);
    const wisp_status status = check_options(ctx, &o);
    if (status != WISP_OK || square || wisp__method_of(o.method)->any_shape) return status;
    return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                          "solve: the matrix is rectangular; it must be square, or take opts.method = WISP_LSMR");
}

static bool is_square(const wisp_solver *S) { return wisp_mat_map(S->A) == wisp_mat_col_map(S->A); }

wisp_status wisp__solver_check(const wisp_solver *S)
{
    wisp_mat_info info;
    wisp_cost cost;
    const wisp_status status = wisp__solve_check_options(S->ctx, &S->o, is_square(S));
    if (status != WISP_OK) return status;
    if (wisp_spmmv_cost(S->A, S->type, S->width, 0, &cost) != WISP_OK) {
        wisp_mat_get_info(S->A, &info);
        return wisp_ctx_failf(S->ctx, WISP_ERR_UNSUPPORTED, "solve: a %s matrix does not multiply blocks of %s numbers",
                              wisp_type_name(info.type), wisp_type_name(S->type));
    }
    return wisp__method_for(&S->o, is_square(S)) == WISP_LSMR ? wisp__lsmr_check(S) : WISP_OK;
}

wisp_status wisp__solve_check(const wisp__krylov *k, wisp_blk *x)
{
    wisp_ctx *ctx = k->ctx;
    wisp_map *map = wisp__map_of_x(k), *rows = wisp__map_of_b(k);
    const wisp_status status = wisp__solver_check(k->of);
    if (status != WISP_OK) return status;
    if (wisp_blk_map(x) != map || wisp_blk_map(k->b) != rows || wisp_blk_nrows(x) != wisp_map_local(map, NULL) ||
        wisp_blk_nrows(k->b) != wisp_map_local(rows, NULL))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "solve: x and b must be on the matrix's map%s, with all rows",
                              map == rows ? "" : "s, of its columns and of its rows");
    if (wisp_blk_width(x) != wisp_blk_width(k->b) || wisp_blk_type(x) != k->type)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "solve: x is %s of width %d, b %s of width %d",
                              wisp_type_name(wisp_blk_type(x)), wisp_blk_width(x), wisp_type_name(k->type),
                              wisp_blk_width(k->b));
    if (k->type != k->of->type || k->width != k->of->width)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "solve: x and b are %s of width %d, the solver is for %s of %d",
                              wisp_type_name(k->type), k->width, wisp_type_name(k->of->type), k->of->width);
    return check_apart(k, x);
}

wisp_status wisp__choose_method(wisp__krylov *k)
{
    wisp_mat_info info;
    wisp_mat_props props;
    wisp_mat_get_info(k->A, &info);
    k->o.method = wisp__method_for(&k->of->o, is_square(k->of));
    const bool open = k->o.method == WISP_METHOD_DEFAULT;
    const bool hermitian = !open && wisp__method_of(k->o.method)->general;
    k->hermitian = hermitian;
    if (info.format == WISP_FORMAT_OPERATOR) {
        if (open) k->o.method = wisp__choice(false, false);
        wisp__fit_variant(&k->o);
        return WISP_OK;
    }
    const wisp_status status = wisp__require_finite(k->A, "solve: ", &props);
    if (status != WISP_OK) return status;
    k->hermitian = props.nearly_hermitian;
    k->exact = props.hermitian;
    k->anorm = wisp__size_of(props.largest);
    if (hermitian && !props.nearly_hermitian)
        return wisp_ctx_failf(k->ctx, WISP_ERR_HERMITIAN,
                              "solve: %s needs a Hermitian matrix, and entries (%lld, %lld) and (%lld, %lld), counted "
                              "from 0, are not conjugate; take opts.method = %s",
                              wisp__method_of(k->o.method)->name, (long long)props.bad_row, (long long)props.bad_col,
                              (long long)props.bad_col, (long long)props.bad_row,
                              wisp__method_of(k->o.method)->general);
    k->chosen = open;
    if (open) k->o.method = wisp__choice(props.nearly_hermitian, false);
    wisp__fit_variant(&k->o);
    return WISP_OK;
}
