/* wisp eig: eigenpairs in an interval, nearest to a number, or at an end of the spectrum; wisp svd: singular triplets,
   from such pairs. */
#include "eig.h"
#include "../machine/machine.h"
#include "../out/text.h"
#include "../plan.h"
#include "../weights.h"
#include <math.h>
#include <string.h>

/* The options that ask a question, in the order of wisp_eig_which. */
static const char *const questions[] = {"smallest", "largest", "largest-real", "interval", "target"};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

/* Of svd, which has three of the questions; the smallest singular values are inner eigenvalues. */
static int check_singular(tool *t)
{
    const options *o = &t->opt;
    const bool interval = option_seen(o, "interval"), largest = option_seen(o, "largest");
    const int asked = interval + largest + option_seen(o, "smallest");
    if (asked == 0)
        return tool_usage(t, "which singular values is missing: --largest K, --smallest K or --interval A,B");
    if (asked > 1) return tool_usage(t, "--largest, --smallest and --interval exclude each other");
    if (interval && !(o->interval[0] > 0))
        return tool_usage(t, "--interval %g,%g: it must begin above 0; --smallest K gives what is near 0",
                          o->interval[0], o->interval[1]);
    if (o->method == WISP_KRYLOV_SCHUR)
        return tool_usage(t, "--method krylov-schur is for eigenvalues alone; take lanczos, chebfd or dense");
    if (o->method == WISP_CHEBFD && largest) return tool_usage(t, "--method chebfd is for --interval and --smallest");
    if (o->method == WISP_LANCZOS && interval) return tool_usage(t, "--method lanczos is for --largest and --smallest");
    if (o->method == WISP_EIG_INVERT && !option_seen(o, "smallest"))
        return tool_usage(t, "--method invert is for --smallest");
    return EXIT_FINE;
}

static int check_question(tool *t)
{
    const options *o = &t->opt;
    int asked = 0;
    for (int i = 0; i < QUESTIONS; i++) asked += option_seen(o, questions[i]);
    if (asked == 0)
        return tool_usage(t, "which eigenvalues is missing: --interval A,B, --target X, --smallest K, --largest K or "
                             "--largest-real K");
    if (asked > 1)
        return tool_usage(t, "--interval, --target, --smallest, --largest and --largest-real exclude each other");
    if (option_seen(o, "count") && !option_seen(o, "target"))
        return tool_usage(t, option_seen(o, "interval") ? "-n is for --target; --interval gives all in it"
                                                        : "-n is for --target alone");
    if (o->any && option_seen(o, "interval"))
        return tool_usage(t, "--any goes with a number K; --interval gives all in it");
    const bool inner = option_seen(o, "interval") || option_seen(o, "target");
    if (o->method == WISP_EIG_INVERT && !option_seen(o, "target"))
        return tool_usage(t, "--method invert is for --target");
    if (o->method == WISP_CHEBFD && !inner) return tool_usage(t, "--method chebfd is for --interval and --target");
    if ((o->method == WISP_LANCZOS || o->method == WISP_KRYLOV_SCHUR) && inner)
        return tool_usage(t, "--method %s is for the ends of the spectrum; --interval and --target take chebfd",
                          eig_method_name((wisp_eig_method)o->method));
    return EXIT_FINE;
}

static int check_options(tool *t)
{
    const options *o = &t->opt;
    const int rc = t->cmd->bit == CMD_SVD ? check_singular(t) : check_question(t);
    if (rc) return rc;
    if (pencil_check(t)) return EXIT_USAGE;
    if (o->overlap && o->method == WISP_KRYLOV_SCHUR)
        return tool_usage(t, "--overlap is for Hermitian matrices, and --method krylov-schur for others");
    if (o->overlap && option_seen(o, "largest-real"))
        return tool_usage(t, "--overlap is for Hermitian matrices, whose largest eigenvalues --largest gives");
    if (o->tolerance >= 1) return tool_usage(t, "--tolerance %g: it must be below 1", o->tolerance);
    if (o->tolerance > 0 && o->tolerance_abs > 0) return tool_usage(t, "--tolerance and --tol-abs exclude each other");
    return EXIT_FINE;
}

static int observe(void *arg, int round, int found, double wanted, double residual)
{
    tool *t = arg;
    monitor_pairs(&t->monitor, round, found, wanted, residual);
    return 0;
}

static void set_options(tool *t, wisp_eig_opts *eo)
{
    const options *o = &t->opt;
    *eo = (wisp_eig_opts){.method = (wisp_eig_method)o->method,
                          .low = o->interval[0],
                          .high = o->interval[1],
                          .target = o->target[0],
                          .target_im = o->target[1],
                          .count = o->count ? (int)o->count : 1,
                          .search = (int)o->search,
                          .tolerance = o->tolerance,
                          .tolerance_abs = o->tolerance_abs,
                          .any = o->any,
                          .max_rounds = o->max_iterations,
                          .seed = o->seed,
                          .row_bytes = (int)o->row_bytes,
                          .bounds = bounds_options(o),
                          .observe = observe,
                          .observe_arg = t};
    if (option_seen(o, "filter-precision") && o->filter_precision != PRECISION_AUTO)
        eo->filter_type = o->filter_precision == PRECISION_SINGLE ? WISP_S : WISP_D;
    for (int i = 0; i < QUESTIONS; i++)
        if (option_seen(o, questions[i])) eo->which = (wisp_eig_which)i;
}

/* The smallest singular values lie in the middle of eigenvalues of both signs. */
static bool is_inner(const tool *t) { return t->cmd->bit == CMD_SVD && option_seen(&t->opt, "smallest"); }

/* Columns that the method will multiply at once, as far as the question tells the method, for which the matrix is
   stored: the width of a filter's blocks, 128 bytes of a row; two of Lanczos, also with an inverse; one of
   Krylov-Schur. */
static int width_of(const options *o, wisp_type type, bool inner)
{
    if (o->method == WISP_EIG_INVERT) return 2;
    if (option_seen(o, "interval") || option_seen(o, "target") || inner) return (int)(128 / wisp_type_size(type));
    return o->method == WISP_KRYLOV_SCHUR || option_seen(o, "largest-real") ? 1 : 2;
}

static int open_inputs(tool *t, wisp_src *matrix, wisp_src *start, pencil *p)
{
    const options *o = &t->opt;
    int rc = source_open(t, matrix);
    if (!rc && t->cmd->bit != CMD_SVD) rc = source_square(t, matrix, "only a square matrix has eigenvalues");
    if (!rc) rc = pencil_open(t, p, matrix->rows);
    if (!rc && o->vectors_in) rc = start_open(t, start, o->vectors_in, "start", matrix->rows);
    return rc ? rc : weights_deal(t, start);
}

/* The vectors of a file; complex ones of a real matrix, or a complex target, make all vectors complex. */
static int open_start(tool *t, eig_results *r, const wisp_mat *A, const wisp_src *src, wisp_blk **start)
{
    r->type = r->info.type;
    if (r->opts.target_im != 0) r->type = type_in(r->type, WISP_Z);
    if (!t->opt.vectors_in) return EXIT_FINE;
    if (wisp_type_is_complex(src->type)) r->type = type_in(r->type, WISP_Z);
    r->opts.type = r->type;
    const wisp_status status = wisp_blk_create(start, t->ctx, wisp_mat_map(A), r->type, (int)src->cols);
    const int rc = tool_agree(t, status ? tool_fail_ctx(t) : EXIT_FINE);
    if (rc) return rc;
    r->opts.start = *start;
    return start_from_file(t, *start, src, t->opt.vectors_in);
}

/* An interval and filters refuse such a matrix, and name the option. It is searched by other methods, and for
   --smallest and --largest by absolute values. */
static void warn_of_rounding(const tool *t, const eig_results *r, const wisp_mat_props *props)
{
    const wisp_eig_which which = r->opts.which;
    if (props->hermitian || !props->nearly_hermitian || props->nonfinite_row >= 0) return;
    if (which == WISP_EIG_INTERVAL || r->opts.method == WISP_CHEBFD) return;
    const bool by_size = which == WISP_EIG_SMALLEST || which == WISP_EIG_LARGEST;
    wisp_ctx_logf(t->ctx, WISP_LOG_WARN,
                  "%s is Hermitian but for rounding, and is treated as not Hermitian%s; --hermitian-part makes it "
                  "Hermitian",
                  t->opt.arg[0], by_size ? ": eigenvalues are ordered by absolute values" : "");
}

/* reading: the most that was held before the matrix is made. */
static int make_matrix(tool *t, eig_results *r, const wisp_src *src, wisp_mat **A, int64_t reading)
{
    wisp_mat_props props;
    int64_t budget;
    const wisp_type type = tool_type(&t->opt, src->type);
    const wisp_mat_opts mo = source_options(&t->opt, type, width_of(&t->opt, type, is_inner(t)));
    int rc = machine_cache(t, 0, &budget);
    if (!rc) rc = eig_plan_check_source(t, src, &mo, r, reading);
    if (rc) return rc;
    if (wisp_mat_create(A, t->ctx, src, &mo)) return tool_fail_ctx(t);
    if ((rc = weights_by_matrix(t, *A, mo.width))) return rc;
    if (wisp_mat_get_props(*A, &props)) return tool_fail_ctx(t);
    wisp_mat_get_info(*A, &r->info);
    plan_need held;
    if ((rc = plan_needed(t, r->info.bytes, &held))) return rc;
    int64_t there, free_bytes = (held.limit - held.bytes) / held.ranks;
    wisp_ctx_device_memory(t->ctx, NULL, NULL, &there);
    if (there > 0) free_bytes = there - r->info.bytes;
    const int64_t rest = free_bytes / (t->opt.checkpoint ? 2 : 1); /* for its copy */
    /* Of the rank that has least: an option is the same on all. */
    const int64_t least = -plan_most(t, rest > 0 ? -rest : -1);
    r->opts.bytes = t->opt.bytes ? t->opt.bytes : least;
    r->hermitian = props.hermitian;
    warn_of_rounding(t, r, &props);
    like_matrix(t, &r->info, 0);
    return EXIT_FINE;
}

/* The matrix whose pairs are looked for. */
static const wisp_mat *searched(const eig_results *r, const wisp_mat *A) { return r->pencil.C ? r->pencil.C : A; }

/* A and the start; or the plan alone. */
static int prepare(tool *t, eig_results *r, wisp_mat **A, wisp_blk **start)
{
    wisp_src matrix = {0}, src = {0};
    const double started = wisp_now();
    int64_t reading;
    int rc = open_inputs(t, &matrix, &src, &r->pencil);
    memcpy(r->sides, t->sides, sizeof r->sides);
    wisp_ctx_memory(t->ctx, NULL, &reading);
    if (!rc) rc = make_matrix(t, r, &matrix, A, reading);
    wisp_src_close(&matrix);
    if (!rc) rc = pencil_make(t, &r->pencil, *A, width_of(&t->opt, r->info.type, is_inner(t)), &r->info);
    if (!rc) rc = open_start(t, r, *A, &src, start);
    wisp_src_close(&src);
    if (!rc) rc = pencil_start(t, &r->pencil, *start);
    r->assemble_seconds = wisp_now() - started;
    if (!rc && t->opt.plan) return eig_plan_show(t, searched(r, *A), r);
    return rc ? rc : eig_plan_check(t, searched(r, *A), r);
}

/* Whether what was found is right, and written, though the run has failed. */
static bool has_pairs(wisp_status status)
{
    switch (status) {
    case WISP_OK:
    case WISP_ERR_INCOMPLETE:
    case WISP_ERR_ITERATIONS:
    case WISP_ERR_STAGNATION:
    case WISP_ERR_CANCELLED: return true;
    default: return false;
    }
}

/* For advice: whether --method dense takes so many rows, and has the memory. */
static bool dense_fits(const eig_results *r, const wisp_mat *A)
{
    wisp_plan plan;
    wisp_eig_opts o = r->opts;
    if (r->e.method == WISP_EIG_DENSE || (r->pencil.C && r->pencil.info.terms == 0)) return false; /* no S^-1/2 */
    o.method = WISP_EIG_DENSE;
    return eig_plan_of(r, &plan, NULL, A, &o) == WISP_OK && plan.bytes_most <= o.bytes;
}

/* Pairs of the pencil, where there is one, by what they are themselves. */
static int deliver(tool *t, eig_results *r, const wisp_mat *A)
{
    const double wanted = eig_tolerance(r);
    if (r->status == WISP_ERR_CANCELLED) wisp_ctx_resume(t->ctx);
    const int rc = pencil_finish(t, &r->pencil, A, &r->e, wanted, r->opts.tolerance_abs > 0);
    for (int i = 0; i < r->e.found && r->pencil.C && !rc; i++) {
        if (r->e.residual[i] <= wanted) continue;
        r->e.complete = 0, r->e.proof = WISP_PROOF_NONE;
        if (r->status == WISP_OK) r->status = WISP_ERR_STAGNATION;
        snprintf(r->why, sizeof r->why, "a pair of A x = lambda S x has a residual of %.1e, and %.1e is wanted",
                 r->e.residual[i], wanted);
        break;
    }
    return rc;
}

static int find(tool *t, eig_results *r, const wisp_mat *A)
{
    const int rc = checkpoint_begin(t, A, width_of(&t->opt, r->info.type, is_inner(t)), NULL, NULL);
    if (rc) return rc;
    checkpoint_set(t, &r->opts);
    r->status = eig_singular(r) ? wisp_svd(&r->e, A, r->sides[0], &r->opts) : wisp_eig(&r->e, searched(r, A), &r->opts);
    checkpoint_pause(t);
    if (has_pairs(r->status) && r->status != WISP_ERR_CANCELLED) checkpoint_whole(t);
    monitor_pairs(&t->monitor, 0, 0, NAN, NAN); /* not beside what comes after */
    if (r->status) {
        const char *why = tool_message(t), *const own = "svd: ";
        const char *const name =
            strncmp(why, own, strlen(own)) ? "eig: " : own; /* whose call it was is clear where this stands */
        snprintf(r->why, sizeof r->why, "%s", why + (strncmp(why, name, strlen(name)) ? 0 : strlen(name)));
    }
    if (r->e.vectors) r->type = wisp_blk_type(r->e.vectors);
    if (r->status == WISP_ERR_CANCELLED && checkpoint_ended(t)) return checkpoint_stopped(t);
    r->hermitian |= isfinite(r->e.orthogonality); /* also up to rounding */
    if (r->status == WISP_ERR_STAGNATION || r->status == WISP_ERR_INCOMPLETE)
        r->dense_fits = dense_fits(r, searched(r, A));
    if (has_pairs(r->status)) return deliver(t, r, A);
    return pencil_fail(t, &r->pencil, r->status);
}

/* Why it is not complete, and what to do. */
static int say_why(tool *t, const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    const char *why = stop_reason(), *out = t->opt.vectors_out;
    char kept[1200] = "no pair has converged", wanted[TEXT_BAR], found[2 * TEXT_BAR], done[3 * TEXT_BAR];
    if (e->found > 0 && eig_singular(r))
        snprintf(kept, sizeof kept, "those are told");
    else if (e->found > 0 && out)
        snprintf(kept, sizeof kept, "they are in %.500s; go on with --vectors-in %.500s", out, out);
    else if (e->found > 0)
        snprintf(kept, sizeof kept, "--vectors-out FILE would keep them");
    snprintf(wanted, sizeof wanted, "%d", r->opts.count);
    if (r->opts.which == WISP_EIG_INTERVAL) eig_expected(wanted, e->expected, e->expected_error);
    const bool more = r->opts.which != WISP_EIG_INTERVAL && e->found > r->opts.count; /* of the last one's multiplet */
    snprintf(found, sizeof found,
             more              ? "%d pairs, where %s were asked for"
             : eig_singular(r) ? "%d of %s triplets"
                               : "%d of %s pairs",
             e->found, wanted);
    snprintf(done, sizeof done, "%d %s%s: %s", e->rounds, eig_round_word(e), e->rounds == 1 ? "" : "s", found);
    switch (r->status) {
    case WISP_ERR_CANCELLED: return tool_fail(t, "stopped by %s after %s; %s", why, done, kept);
    case WISP_ERR_ITERATIONS:
        return tool_incomplete(t, "not all have converged in %s; %s%s try a larger --maxit or --search", done, kept,
                               e->found ? ", or" : ";");
    case WISP_ERR_STAGNATION:
        return tool_incomplete(t, "%s; found: %s; %s; try a larger %s--tol%s", r->why, found, kept,
                               option_seen(&t->opt, "search") ? "--search or " : "",
                               r->dense_fits ? ", or --method dense" : "");
    default:
        return tool_incomplete(t, "some may be missing: %s; found: %d; %s%s", r->why, e->found, kept,
                               r->dense_fits ? "; or use --method dense, for which there is memory" : "");
    }
}

static int finish(tool *t, const eig_results *r)
{
    if (r->status == WISP_ERR_CANCELLED || caught_signal()) tool_keep(t);
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) eig_summary(t, r);
    const int rc = tool_agree(t, eig_write(t, r));
    return rc || r->status == WISP_OK ? rc : say_why(t, r);
}

int cmd_eig(tool *t)
{
    eig_results r = {0};
    wisp_mat *A = NULL;
    wisp_blk *start = NULL;
    int rc = check_options(t);
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    set_options(t, &r.opts);
    rc = prepare(t, &r, &A, &start);
    if (rc == EXIT_LAYOUT) {
        pencil_close(&r.pencil);
        wisp_mat_free(A);
        A = NULL;
        rc = prepare(t, &r, &A, &start);
    }
    if (!rc && !t->opt.plan) {
        rc = find(t, &r, A);
        wisp_mat_get_info(A, &r.info); /* with the halo's way that was found */
        pencil_close(&r.pencil);
        wisp_mat_free(A); /* to have its memory for the outputs */
        wisp_blk_free(start);
        A = NULL, start = NULL;
        if (!rc) rc = finish(t, &r);
        rc = checkpoint_done(t, rc);
    }
    checkpoint_close(t);
    wisp_eigen_free(&r.e);
    wisp_blk_free(start);
    pencil_close(&r.pencil);
    wisp_mat_free(A);
    return rc;
}
