/* wisp solve: A x = b for one right-hand side or several. */
#include "solve.h"
#include "../machine/machine.h"
#include "../out/text.h"
#include "../weights.h"
#include <math.h>
#include <string.h>

/* Of least squares, by its name or because the matrix is not square. */
static int check_least(tool *t)
{
    const options *o = &t->opt;
    if (o->precond) return tool_usage(t, "--method lsmr takes no --precond");
    if (o->null) return tool_usage(t, "--method lsmr takes no --null: its x is the shortest one by itself");
    if (o->solve_variant > WISP_PIPELINED)
        return tool_usage(t, "--method lsmr has no --variant %s", solve_variant_names[o->solve_variant]);
    return EXIT_FINE;
}

wisp_side solve_side(const wisp_solve_opts *o, wisp_method method)
{
    if (!o->precond || !wisp_method_of_side(method, WISP_SIDE_RIGHT)) return WISP_SIDE_DEFAULT;
    return o->side ? o->side : WISP_SIDE_RIGHT;
}

static int check_options(tool *t)
{
    const options *o = &t->opt;
    if (o->method == WISP_LSMR && check_least(t)) return EXIT_USAGE;
    if (o->damp > 0 && o->method && o->method != WISP_LSMR) return tool_usage(t, "--damp is for --method lsmr alone");
    const bool polynomial = o->precond == WISP_CHEBYSHEV || o->precond == WISP_NEUMANN;
    if (o->tolerance >= 1) return tool_usage(t, "--tolerance %g: it must be below 1", o->tolerance);
    const bool of_cg = o->solve_variant == WISP_PREDICT || o->solve_variant == WISP_HIDDEN;
    if (of_cg && o->method && o->method != WISP_CG)
        return tool_usage(t, "--variant %s is for --method cg alone", solve_variant_names[o->solve_variant]);
    if (o->solve_variant == WISP_PREDICT && o->precond)
        return tool_usage(t, "--variant predict takes no --precond; --variant pipelined does");
    if (o->restart && o->method && o->method != WISP_GMRES)
        return tool_usage(t, "--restart is for --method gmres alone");
    if (o->shadow && o->method != WISP_IDR) return tool_usage(t, "--shadow is for --method idr alone");
    if (o->side && !o->precond)
        return tool_usage(t, "--side %s is that of a --precond, and there is none", side_names[o->side]);
    if (o->side && !wisp_method_of_side((wisp_method)o->method, (wisp_side)o->side))
        return tool_usage(t, "--side is for gmres, bicgstab and idr: --method %s takes --precond on both sides alike",
                          solve_method_names[o->method]);
    if (option_seen(o, "bounds") && !polynomial)
        return tool_usage(t, "--bounds is for --precond chebyshev and neumann alone");
    if (o->bounds_method == WISP_BOUNDS_GIVEN && o->precond == WISP_CHEBYSHEV && o->bounds[0] <= 0)
        return tool_usage(t, "--bounds %g,%g: --precond chebyshev needs a spectrum above 0", o->bounds[0],
                          o->bounds[1]);
    return EXIT_FINE;
}

static void set_options(const options *o, wisp_solve_opts *so)
{
    *so = (wisp_solve_opts){.method = wisp_method_of_side((wisp_method)o->method, (wisp_side)o->side),
                            .variant = (wisp_variant)o->solve_variant,
                            .precond = (wisp_precond)o->precond,
                            .side = (wisp_side)o->side,
                            .restart = (int)o->restart,
                            .shadow = (int)o->shadow,
                            .tolerance = o->tolerance,
                            .tolerance_abs = o->tolerance_abs,
                            .max_iterations = o->max_iterations,
                            .damp = o->damp,
                            .guess = o->x0 != NULL,
                            .bounds = bounds_options(o)};
    if (so->precond == WISP_BLOCK_JACOBI)
        so->block_rows = (int)o->precond_number;
    else
        so->degree = (int)o->precond_number;
}

static void close_inputs(solve_inputs *in)
{
    wisp_src_close(&in->matrix);
    wisp_src_close(&in->rhs);
    wisp_src_close(&in->x0);
    wisp_src_close(&in->null);
    wisp_src_close(&in->adjoint);
}

static bool null_is_file(const options *o) { return o->null && strcmp(o->null, "constant"); }

/* A matrix that is not square, or damping, asks for it. */
static int find_shape(tool *t, const wisp_src *A, solve_results *r)
{
    const options *o = &t->opt;
    const bool square = A->rows == A->cols;
    r->least = o->method == WISP_LSMR || (!o->method && (!square || o->damp > 0));
    if (!r->least)
        return source_square(t, A, "a linear system needs a square matrix; --method lsmr makes |b - A x| least");
    if (A->rows == 0 || A->cols == 0) return tool_fail(t, "%s has no %s", o->arg[0], A->rows == 0 ? "rows" : "columns");
    if (!square && (o->checkpoint || o->resume))
        return tool_usage(t, "--checkpoint and --resume are for square matrices; -o keeps x, and --x0 goes on with it");
    r->opts.method = WISP_LSMR;
    return check_least(t);
}

/* The matrix, and files of b, x0 and the null space, which must have its rows (x0: columns). */
static int open_inputs(tool *t, solve_inputs *in, solve_results *r)
{
    const options *o = &t->opt;
    if (wisp_src_open(&in->matrix, t->ctx, o->arg[0])) return tool_fail_ctx(t);
    const int64_t rows = in->matrix.rows;
    int rc = find_shape(t, &in->matrix, r);
    if (!rc && o->rhs.kind == RHS_FILE) rc = start_open(t, &in->rhs, o->rhs.text, "right-hand side", rows);
    if (!rc && o->x0) rc = start_open(t, &in->x0, o->x0, "start", in->matrix.cols);
    if (!rc && null_is_file(o)) rc = start_open(t, &in->null, o->null, "null space", rows);
    if (rc) return rc;
    r->null_columns = null_is_file(o) ? (int)in->null.cols : o->null != NULL;
    r->columns = o->rhs.kind == RHS_FILE ? (int)in->rhs.cols : o->rhs.columns ? (int)o->rhs.columns : 1;
    if (o->x0 && in->x0.cols != 1 && in->x0.cols != r->columns)
        return tool_fail(t, "%s has %lld columns, and b has %d; one column, or as many as b has, are taken", o->x0,
                         (long long)in->x0.cols, r->columns);
    return EXIT_FINE;
}

/* By weights that are found, or were; then A^H is made of what is there. */
static int deal_out(tool *t, solve_inputs *in, bool least)
{
    wisp_src *const all[] = {&in->matrix, &in->rhs, &in->x0, &in->null};
    int rc = weights_by_source(t, &in->matrix);
    for (int i = 0; i < 4 && !rc; i++) rc = weights_deal(t, all[i]);
    if (!rc && least && wisp_src_adjoint(&in->adjoint, t->ctx, &in->matrix)) rc = tool_fail_ctx(t);
    return rc;
}

/* Complex ones of the matrix's precision if anything is complex. */
static wisp_type type_of_blocks(const solve_inputs *in, wisp_type matrix)
{
    const bool is_complex = wisp_type_is_complex(matrix) || wisp_type_is_complex(in->rhs.type) ||
                            wisp_type_is_complex(in->x0.type) || wisp_type_is_complex(in->null.type);
    return type_in(matrix, is_complex ? WISP_Z : WISP_D);
}

/* b, x, and the vectors of the null space; A^H. */
typedef struct {
    wisp_blk *b, *x, *null;
    wisp_mat *adjoint;
} vectors;

static int make_blocks(tool *t, const solve_results *r, const wisp_mat *A, vectors *v)
{
    wisp_blk **const blocks[] = {&v->b, &v->x, &v->null};
    const int width[] = {r->columns, r->columns, r->null_columns};
    for (int i = 0; i < 3; i++)
        if (width[i] > 0 &&
            wisp_blk_create(blocks[i], t->ctx, i == 1 ? wisp_mat_col_map(A) : wisp_mat_map(A), r->type, width[i]))
            return tool_fail_ctx(t);
    return EXIT_FINE;
}

static void free_blocks(vectors *v)
{
    wisp_blk_free(v->b);
    wisp_blk_free(v->x);
    wisp_blk_free(v->null);
    wisp_mat_free(v->adjoint);
    *v = (vectors){0};
}

static int fill_null(tool *t, const solve_inputs *in, wisp_blk *null)
{
    if (!null) return EXIT_FINE;
    if (null_is_file(&t->opt)) return start_from_file(t, null, &in->null, t->opt.null);
    return wisp_blk_fill(null, (wisp_scalar){1, 0}) ? tool_fail_ctx(t) : EXIT_FINE;
}

static int fill(tool *t, const solve_inputs *in, wisp_blk *b, wisp_blk *x)
{
    const rhs_option *rhs = &t->opt.rhs;
    int rc = EXIT_FINE;
    if (rhs->kind == RHS_FILE)
        rc = start_from_file(t, b, &in->rhs, rhs->text);
    else if (rhs->kind == RHS_RANDOM ? wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, rhs->seed, STREAM_START, 0)
                                     : wisp_blk_fill(b, (wisp_scalar){1, 0}))
        rc = tool_fail_ctx(t);
    return !rc && t->opt.x0 ? start_from_file(t, x, &in->x0, t->opt.x0) : rc;
}

/* On A's maps. */
static int make_adjoint(tool *t, solve_inputs *in, const wisp_mat_opts *mo, const wisp_mat *A, wisp_mat **adjoint)
{
    wisp_mat_opts o = *mo;
    o.map = wisp_mat_col_map(A), o.cols = wisp_mat_map(A);
    const wisp_status status = wisp_mat_create(adjoint, t->ctx, &in->adjoint, &o);
    wisp_src_close(&in->adjoint);
    return status ? tool_fail_ctx(t) : EXIT_FINE;
}

/* A and the vectors; or the plan alone, and then *A stays NULL. */
static int prepare(tool *t, solve_results *r, wisp_mat **A, vectors *v)
{
    solve_inputs in = {0};
    const double started = wisp_now();
    int64_t reading, budget;
    int rc = open_inputs(t, &in, r);
    if (!rc) rc = checkpoint_hash(t, &in.matrix);
    if (!rc) rc = checkpoint_open(t);
    const wisp_mat_opts mo = source_options(&t->opt, tool_type(&t->opt, in.matrix.type), r->columns);
    r->type = type_of_blocks(&in, mo.type);
    if (r->opts.tolerance <= 0 && r->opts.tolerance_abs <= 0) r->opts.tolerance = type_is_single(r->type) ? 1e-4 : 1e-8;
    if (!rc) rc = deal_out(t, &in, r->least);
    wisp_ctx_memory(t->ctx, NULL, &reading);
    if (!rc) rc = machine_cache(t, 0, &budget);
    if (!rc && t->opt.plan) rc = solve_plan_show(t, &in, &mo, r, reading);
    if (!rc) rc = solve_plan_check(t, &in, &mo, r, reading);
    if (!rc && !t->opt.plan) {
        if (wisp_mat_create(A, t->ctx, &in.matrix, &mo)) rc = tool_fail_ctx(t);
        wisp_src_close(&in.matrix);
        if (!rc && r->least) rc = make_adjoint(t, &in, &mo, *A, &v->adjoint);
        if (!rc) rc = weights_by_matrix(t, *A, mo.width);
        if (!rc) wisp_mat_get_info(*A, &r->info);
        if (!rc) like_matrix(t, &r->info, 0);
        if (!rc) rc = tool_agree(t, make_blocks(t, r, *A, v));
        if (!rc) rc = fill(t, &in, v->b, v->x);
        if (!rc) rc = fill_null(t, &in, v->null);
        r->opts.null = v->null, r->opts.adjoint = v->adjoint;
    }
    close_inputs(&in);
    r->assemble_seconds = wisp_now() - started;
    return rc;
}

static int observe(void *arg, int64_t iteration, double residual)
{
    tool *t = arg;
    monitor_iteration(&t->monitor, iteration, residual);
    return 0;
}

/* Whether x is the best that was found: then it is written, though the run has failed. */
static bool has_x(wisp_status status)
{
    switch (status) {
    case WISP_OK:
    case WISP_ERR_INDEFINITE:
    case WISP_ERR_BREAKDOWN:
    case WISP_ERR_STAGNATION:
    case WISP_ERR_SINGULAR:
    case WISP_ERR_ITERATIONS:
    case WISP_ERR_CANCELLED: return true;
    default: return false;
    }
}

/* Of a run that was stopped: b becomes b - A x. With damping D the residual has -D x as well. */
static int find_residuals(tool *t, wisp_solution *s, const wisp_mat *A, wisp_blk *b, const wisp_blk *x, double damp)
{
    const wisp_aug aug = {.terms = WISP_SCALE | WISP_AXPBY, .alpha = {-1, 0}, .beta = {1, 0}};
    double *norm = NULL;
    wisp_status status = WISP_OK;
    tool_keep(t);
    wisp_ctx_enter(t->ctx);
    WISP_TRY(wisp_alloc(t->ctx, &norm, 2 * (size_t)s->columns, sizeof *norm));
    double *length = norm + s->columns;
    WISP_TRY(wisp_norm(b, norm));
    WISP_TRY(wisp_norm(x, length));
    WISP_TRY(wisp_spmmv(b, A, x, &aug));
    WISP_TRY(wisp_norm(b, s->residuals));
    s->residual = 0;
    for (int j = 0; j < s->columns; j++) {
        s->residuals[j] = hypot(s->residuals[j], damp * length[j]);
        if (norm[j] > 0) s->residuals[j] /= norm[j];
        s->residual = fmax(s->residual, s->residuals[j]);
    }
out:
    status = wisp_ctx_leave(t->ctx, status);
    wisp_free(t->ctx, norm);
    return status ? tool_fail_ctx(t) : EXIT_FINE;
}

static int solve(tool *t, solve_results *r, const wisp_mat *A, wisp_blk *b, wisp_blk *x)
{
    const int rc = checkpoint_begin(t, A, r->columns, NULL, NULL);
    if (rc) return rc;
    r->opts.observe = observe;
    r->opts.observe_arg = t;
    checkpoint_set(t, &r->opts);
    r->status = wisp_solve(&r->s, x, A, b, &r->opts);
    checkpoint_pause(t);
    if (has_x(r->status) && r->status != WISP_ERR_CANCELLED) checkpoint_whole(t);
    monitor_iteration(&t->monitor, 0, NAN);   /* not beside what comes after */
    const bool known = !isnan(r->s.residual); /* else not even the preconditioner could be made, or it was stopped */
    /* With no state that was written last, x is what there is to be kept. */
    const bool resumes = checkpoint_ended(t) && (t->kept.info.saved || !known);
    if (r->status == WISP_ERR_CANCELLED && resumes) return checkpoint_stopped(t);
    if (r->status == WISP_ERR_CANCELLED && r->s.residuals && !known)
        return find_residuals(t, &r->s, A, b, x, r->opts.damp);
    if (has_x(r->status) && known) return EXIT_FINE;
    if (has_x(r->status) && r->status != WISP_ERR_CANCELLED)
        return tool_fail(t, "%s: %s", t->opt.arg[0], tool_message(t));
    return tool_fail_matrix(t, r->status);
}

/* That A^H r is wanted to come to, beside |A| |r|. */
static double optimality_wanted(const solve_results *r)
{
    return r->opts.tolerance > 0 ? r->opts.tolerance : type_is_single(r->type) ? 1e-4 : 1e-8;
}

/* Whether x is better than the start, in a column at least. Of a given start only the largest residual is known.
   Iterations of lsmr make |r| and |A^H r| smaller, each. */
static bool is_better(const solve_results *r, const options *o)
{
    const wisp_solution *s = &r->s;
    const double start = o->x0 && s->history ? s->history[0] : 1;
    bool better = r->least && s->iterations > 0;
    for (int j = 0; j < s->columns; j++) better |= !(s->residuals[j] >= (1 - 1e-6) * start);
    return better;
}

/* The first column that did not converge, whose status is that of the call. */
static int first_left(const wisp_solution *s)
{
    for (int j = 0; j < s->columns; j++)
        if (s->status[j] != WISP_OK) return j;
    return 0;
}

static void find_advice(char advice[TEXT], const solve_results *r, bool gained)
{
    const wisp_solution *s = &r->s;
    const char *precond = s->precond == WISP_PRECOND_NONE ? "a --precond" : "another --precond";
    const bool is_single = type_is_single(r->type);
    const int first = first_left(s);
    const bool far = s->residuals[first] > 1e3 * s->wanted_of[first];
    if (r->least) {
        snprintf(advice, TEXT, "%s--damp D",
                 r->status == WISP_ERR_ITERATIONS ? "a larger --maxit or " : "a larger --tol or ");
        return;
    }
    if (r->status == WISP_ERR_STAGNATION && s->method == WISP_GMRES && far)
        snprintf(advice, TEXT, "%s%s", s->restart < 500 && s->restart < r->info.rows ? "a larger --restart or " : "",
                 precond);
    else if (!gained)
        snprintf(advice, TEXT, "%s%s or another --method", r->status == WISP_ERR_ITERATIONS ? "a larger --maxit, " : "",
                 precond);
    else if (r->status == WISP_ERR_ITERATIONS)
        snprintf(advice, TEXT, "a larger --maxit%s", s->precond == WISP_PRECOND_NONE ? " or a --precond" : "");
    else if (r->status == WISP_ERR_STAGNATION)
        snprintf(advice, TEXT, "a larger --tol, or %s", is_single ? "--precision double" : "another --method");
    else
        snprintf(advice, TEXT, "--method %s", s->method == WISP_GMRES ? "bicgstab" : "gmres");
}

/* The method; where the one that was asked for could not go on, both. */
static void name_method(char method[TEXT], const options *o, const wisp_solution *s)
{
    const char *last = solve_method_name(s->method);
    const bool changed = o->method && o->method != (int)s->method;
    if (changed)
        snprintf(method, TEXT, "%s, which went on as %s", solve_method_name((wisp_method)o->method), last);
    else
        snprintf(method, TEXT, "%s", last);
}

/* How far x came: of one column, for residuals of others do not belong to its |A^H r|, nor to what it had to come to.
 */
static void say_reached(char reached[3 * TEXT], const solve_results *r)
{
    const wisp_solution *s = &r->s;
    const int first = first_left(s);
    const double residual = s->residuals[first], wanted = s->wanted_of[first];
    const double optimality = s->optimalities ? s->optimalities[first] : NAN;
    int left = 0;
    for (int j = 0; j < s->columns; j++) left += s->status[j] != WISP_OK;
    if (isnan(residual))
        snprintf(reached, 3 * TEXT, "the residual is not known");
    else if (isfinite(optimality))
        snprintf(reached, 3 * TEXT, "residual %.1e, wanted at %.1e, or |A^H r| / (|A| |r|), now %.1e, at %.1e",
                 residual, wanted, optimality, optimality_wanted(r));
    else if (wanted > 0)
        snprintf(reached, 3 * TEXT, "residual %.1e, wanted %.1e", residual, wanted);
    else
        snprintf(reached, 3 * TEXT, "residual %.1e", residual);
    if (s->columns > 1)
        snprintf(reached + strlen(reached), 3 * TEXT - strlen(reached), ", in column %d (%d of %d columns are left)",
                 first, left, s->columns);
}

/* Why it has not converged, and what to do. */
static int say_why(tool *t, const solve_results *r)
{
    const options *o = &t->opt;
    const wisp_solution *s = &r->s;
    const bool gained = is_better(r, o);
    const char *why = stop_reason();
    const long long n = r->status == WISP_ERR_CANCELLED ? s->iterations : s->iterations_of[first_left(s)];
    char reached[3 * TEXT], kept[1100] = "-o FILE would keep x", advice[TEXT], method[TEXT];
    say_reached(reached, r);
    if (!gained)
        snprintf(kept, sizeof kept, "no x better than the start was found");
    else if (o->output)
        snprintf(kept, sizeof kept, "x is in %.500s; go on with --x0 %.500s", o->output, o->output);
    find_advice(advice, r, gained);
    name_method(method, o, s);
    switch (r->status) {
    case WISP_ERR_CANCELLED: return tool_fail(t, "stopped by %s after %lld iterations: %s; %s", why, n, reached, kept);
    case WISP_ERR_ITERATIONS:
        return tool_incomplete(t, "not converged in %lld iterations: %s; %s%s try %s", n, reached, kept,
                               gained ? ", or" : ";", advice);
    case WISP_ERR_STAGNATION:
        return tool_incomplete(t, "the residual no longer falls after %lld iterations of %s: %s; %s; try %s", n, method,
                               reached, kept, advice);
    case WISP_ERR_INDEFINITE:
        return tool_incomplete(t, "the %s is not positive definite, as %s needs: %s; try --method %s",
                               s->method == WISP_MINRES ? "preconditioner"
                               : s->precond             ? "matrix or the preconditioner"
                                                        : "matrix",
                               method, reached,
                               s->method == WISP_MINRES ? "gmres, or leave --precond out"
                               : s->precond             ? "minres without --precond, or gmres"
                                                        : "minres");
    case WISP_ERR_SINGULAR: /* A is, or a matrix that rounding does not tell from A */
        return tool_incomplete(t,
                               "the matrix is singular, and b is not in its range, as far as rounding shows: %s; x "
                               "makes the residual least, within rounding%s%s%s",
                               reached, o->output ? ", and is in " : "", o->output ? o->output : "",
                               type_is_single(r->type) ? "; try --precision double" : "");
    default:
        return tool_incomplete(t, "breakdown after %lld iterations of %s: %s; %s; try %s", n, method, reached, kept,
                               advice);
    }
}

static int finish(tool *t, const solve_results *r, const wisp_blk *x)
{
    if (r->status == WISP_ERR_CANCELLED || caught_signal()) tool_keep(t);
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) solve_summary(t, r);
    const int rc = tool_agree(t, solve_write(t, r, x));
    return rc || r->status == WISP_OK ? rc : say_why(t, r);
}

int cmd_solve(tool *t)
{
    solve_results r = {0};
    wisp_mat *A = NULL;
    vectors v = {0};
    int rc = check_options(t);
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    set_options(&t->opt, &r.opts);
    rc = prepare(t, &r, &A, &v);
    if (rc == EXIT_LAYOUT) {
        wisp_mat_free(A);
        free_blocks(&v);
        A = NULL;
        rc = prepare(t, &r, &A, &v);
    }
    if (!rc && A) {
        rc = solve(t, &r, A, v.b, v.x);
        wisp_mat_get_info(A, &r.info); /* with the halo's way that was found */
        wisp_mat_free(A);              /* to have its memory for the outputs */
        wisp_blk_free(v.b);
        wisp_blk_free(v.null);
        wisp_mat_free(v.adjoint);
        A = NULL, v.b = v.null = NULL, v.adjoint = NULL;
        if (!rc) rc = finish(t, &r, v.x);
        rc = checkpoint_done(t, rc);
    }
    checkpoint_close(t);
    wisp_solution_free(&r.s);
    free_blocks(&v);
    wisp_mat_free(A);
    return rc;
}
