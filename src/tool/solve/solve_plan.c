/* The cost of wisp solve before it starts: memory, and the time of an iteration by the model of the bench. */
#include "solve.h"
#include "../out/text.h"
#include "../plan.h"
#include <math.h>

/* The copy of a checkpoint, at most: what wisp_solve holds but for the preconditioner, and x of columns that have
 * ended.
 */
static int64_t copy_bytes(const tool *t, const solve_results *r, const wisp_mat_info *a)
{
    enum { HEADS = 128 << 10 }; /* with the history */
    if (!t->opt.checkpoint) return 0;
    const int64_t rows = a->local_rows;
    const int64_t ended = r->columns > 1 ? rows * r->columns * (int64_t)wisp_type_size(r->type) : 0;
    const wisp_mat_info blocks = {.rows = a->rows, .cols = a->cols, .type = a->type, .local_rows = rows};
    wisp_solve_opts o = r->opts;
    wisp_plan plan = {0};
    if (o.precond) o.precond = WISP_JACOBI;                                 /* of all the least */
    wisp_solve_plan(&plan, t->ctx, &blocks, r->type, r->columns, &o, NULL); /* add_up tells a failure */
    return plan.bytes + ended + HEADS;
}

/* Files of b and x0 stay open until their blocks are filled, through a copy of a block. */
static int add_up(tool *t, const solve_results *r, int64_t source, int64_t reading, bool most, plan_bytes *s)
{
    const wisp_mat_info *a = &s->matrix;
    const int64_t rows = a->local_rows + a->halo_rows;
    const int64_t cols = r->least && a->cols > a->rows ? a->cols + a->halo_rows : rows; /* x, on any rank at most */
    const int64_t block = (cols > rows ? cols : rows) * r->columns * (int64_t)wisp_type_size(r->type);
    const bool file = t->opt.x0 || t->opt.rhs.kind == RHS_FILE;
    /* As wisp_solve_plan has it, which wants the vectors: they are not there yet. */
    const int null = r->null_columns > 0 ? 3 * r->null_columns + 4 + 2 * r->columns : 0;
    wisp_plan plan;
    if (wisp_solve_plan(&plan, t->ctx, a, r->type, r->columns, &r->opts, NULL)) return tool_fail_ctx(t);
    s->vectors = 2 * block + rows * null * (int64_t)wisp_type_size(r->type) + (most ? plan.bytes_most : plan.bytes) +
                 copy_bytes(t, r, a);
    enum { HELD = 1, PARTS = HELD + 4 };
    const int64_t parts[PARTS] = {a->bytes + s->vectors, reading, source + a->assembly_bytes,
                                  file ? source + a->bytes + 3 * block : 0,
                                  plan_output(t, t->opt.output, r->type, r->least ? cols : rows, r->columns, most)};
    const plan_held all = {a->bytes, s->vectors, copy_bytes(t, r, a), parts, HELD, PARTS};
    s->total = plan_total(t, &all, most, &s->sides);
    return EXIT_FINE;
}

typedef struct {
    const solve_inputs *in;
    const wisp_mat_opts *mo;
    const solve_results *r;
    int64_t reading;
} asked;

/* A^H is made beside A, from entries that are held as long as those of A. */
static wisp_status add_adjoint(tool *t, const asked *a, bool most, wisp_mat_info *A)
{
    wisp_mat_info H;
    const wisp_status status =
        most ? wisp_mat_bound(t->ctx, &a->in->adjoint, a->mo, &H) : wisp_mat_plan(t->ctx, &a->in->adjoint, a->mo, &H);
    if (status != WISP_OK) return status;
    if (A->assembly_bytes < A->bytes + H.assembly_bytes) A->assembly_bytes = A->bytes + H.assembly_bytes;
    A->bytes += H.bytes;
    A->exchange_bytes += H.exchange_bytes;
    return WISP_OK;
}

static int find_bytes(tool *t, const void *arg, bool most, plan_bytes *s)
{
    const asked *a = arg;
    int64_t source;
    wisp_ctx_memory(t->ctx, &source, NULL);
    if (most ? wisp_mat_bound(t->ctx, &a->in->matrix, a->mo, &s->matrix)
             : wisp_mat_plan(t->ctx, &a->in->matrix, a->mo, &s->matrix))
        return tool_fail_ctx(t);
    if (a->r->least && add_adjoint(t, a, most, &s->matrix)) return tool_fail_ctx(t);
    return add_up(t, a->r, source, a->reading, most, s);
}

int solve_plan_check(tool *t, const solve_inputs *in, const wisp_mat_opts *mo, const solve_results *r, int64_t reading)
{
    return plan_check(t, find_bytes, &(asked){in, mo, r, reading},
                      "fewer columns, a smaller --restart (idr: --shadow) or --precision single takes less");
}

/* ---- an iteration -------------------------------------------------------------------------------- */

typedef struct {
    wisp_method method;
    bool assumed;   /* nothing was asked for, and the matrix has not been looked at */
    wisp_plan plan; /* known: with its time */
    double load_gbs;
    bool known, kept; /* kept: by the ceilings of an earlier `wisp machine`, not those of now */
    const char *limit;
} iteration;

static wisp_status find_iteration(tool *t, const solve_inputs *in, const wisp_mat_opts *mo, const solve_results *r,
                                  const wisp_mat_info *a, iteration *i)
{
    wisp_machine m = {0};
    wisp_choice step;
    wisp_status status = WISP_OK;
    i->assumed = r->opts.method == WISP_METHOD_DEFAULT;
    i->method = i->assumed ? WISP_CG : r->opts.method;
    WISP_TRY(wisp_solve_plan(&i->plan, t->ctx, a, r->type, r->columns, &r->opts, NULL));
    if (r->least) goto out; /* the model of time is for one square matrix */
    WISP_TRY(plan_ceilings(t, &m, &i->load_gbs, &i->kept));
    wisp_ctx_set_machine(t->ctx, &m);
    WISP_TRY(wisp_src_choose(t->ctx, &in->matrix, mo, mo->type, r->columns, 1, &step));
    WISP_TRY(wisp_solve_plan(&i->plan, t->ctx, a, r->type, r->columns, &r->opts, &step));
    i->limit = step.limit;
    i->known = true;
out:
    return status;
}

/* What is told of HYPRE's own memory is no bound. 0: there is none. */
static int64_t multigrid_bytes(tool *t, const solve_results *r, const wisp_mat_info *a)
{
    wisp_plan with = {0}, without = {0};
    wisp_solve_opts o = r->opts;
    if (o.precond != WISP_AMG) return 0;
    wisp_solve_plan(&with, t->ctx, a, r->type, r->columns, &o, NULL);
    o.precond = WISP_PRECOND_NONE, o.side = WISP_SIDE_DEFAULT;
    wisp_solve_plan(&without, t->ctx, a, r->type, r->columns, &o, NULL);
    return with.bytes - without.bytes;
}

/* ---- both, shown --------------------------------------------------------------------------------- */

static int show_json(tool *t, const solve_results *r, const plan_bytes *most, const plan_bytes *about,
                     const iteration *i)
{
    const int64_t multigrid = multigrid_bytes(t, r, &about->matrix);
    const wisp_side side = solve_side(&r->opts, i->method);
    json_t *o = JSON_PUT(
        plan_json(t, r->type, about, most), J("columns", r->columns), J("method", solve_method_name(i->method)),
        J_IF(side, "side", side_names[side]), J_IF(multigrid > 0, "multigrid_bytes_estimated", multigrid),
        J("checkpoint_bytes", copy_bytes(t, r, &about->matrix)), J("method_assumed", json_boolean(i->assumed)),
        J("iteration_bytes", i->plan.iteration_bytes), J_IF(i->known, "iteration_seconds", i->plan.iteration_seconds),
        J_IF(i->known, "load_gbs", i->load_gbs), J_IF(i->known, "ceilings", i->kept ? "kept" : "now"),
        J_IF(i->known, "limit", i->limit));
    return json_print_new(t, o);
}

static void show_text(tool *t, const solve_results *r, const plan_bytes *most, const plan_bytes *about,
                      const iteration *i)
{
    char b[TEXT];
    const int64_t multigrid = multigrid_bytes(t, r, &about->matrix);
    plan_bytes_show(t, r->type, r->columns, about, most);
    if (t->opt.checkpoint) checkpoint_plan(copy_bytes(t, r, &about->matrix));
    if (multigrid > 0) {
        text_line("multigrid", "about %s of it, an estimate and no bound: HYPRE's own memory,",
                  text_bytes(b, (double)multigrid));
        text_line("", "which is less for meshes, and some times as much for graphs without geometry");
    }
    text_line("iteration", "about %s%s%s%s", text_bytes(b, i->plan.iteration_bytes),
              i->assumed ? ", if it is by " : " by ", solve_method_name(i->method),
              r->opts.precond == WISP_AMG ? ", without its multigrid" : "");
    if (!i->known) return;
    text_line("time", "about %.3g ms an iteration", 1e3 * i->plan.iteration_seconds);
    text_line("", "by the model, products limited by %s, at a load bandwidth of %.1f GB/s %s", i->limit, i->load_gbs,
              i->kept ? "kept by wisp machine" : "of now");
}

int solve_plan_show(tool *t, const solve_inputs *in, const wisp_mat_opts *mo, const solve_results *r, int64_t reading)
{
    plan_bytes most, about;
    iteration i = {0};
    const asked a = {in, mo, r, reading};
    int rc = plan_find(t, find_bytes, &a, &about, &most);
    if (rc) return rc;
    const wisp_status status = find_iteration(t, in, mo, r, &about.matrix, &i);
    if ((rc = plan_time_check(t, status))) return rc;
    monitor_clear(&t->monitor);
    if (t->opt.json) return show_json(t, r, &most, &about, &i);
    show_text(t, r, &most, &about, &i);
    plan_time_missing(status);
    return EXIT_FINE;
}
