/* The cost of wisp solve before it starts: memory, and the time of an iteration by the model of the bench. */
#include "solve.h"
#include "../out/text.h"
#include "../plan.h"
#include <math.h>

typedef struct {
    wisp_mat_info matrix;
    int64_t vectors, total; /* bytes: of b, x and the method's own blocks; of all that is held at once */
} system_bytes;

static int64_t largest(const int64_t *v, size_t n)
{
    int64_t most = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i] > most) most = v[i];
    return most;
}

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

/* What x is written through, when the matrix has gone: a copy, in HDF5 a whole file in memory; else its transpose, of
   which each thread reads a row, a column of x, and the text of the numbers that threads write at a time, which is
   compressed beside that. */
static int64_t output_bytes(const tool *t, int64_t block, int64_t rows, int width)
{
    enum { NUMBER = 96, READER = 48, AT_ONCE = 1 << 16, HEADS = 1 << 16 };
    const int64_t threads = wisp_ctx_threads(t->ctx), once = AT_ONCE * threads, numbers = rows * width;
    const int64_t some = numbers < once ? numbers : once;
    if (!t->opt.output) return 0;
    const int copies = has_extension(t->opt.output, "gz") ? 2 : 1;
    return 4 * block + 8 * numbers + READER * threads * rows + copies * NUMBER * some + HEADS;
}

/* Files of b and x0 stay open until their blocks are filled, through a copy of a block. */
static int add_up(tool *t, const solve_results *r, int64_t source, int64_t reading, bool most, system_bytes *s)
{
    const wisp_mat_info *a = &s->matrix;
    const int64_t rows = a->local_rows + a->halo_rows;
    const int64_t block = rows * r->columns * (int64_t)wisp_type_size(r->type);
    const bool file = t->opt.x0 || t->opt.rhs.kind == RHS_FILE;
    wisp_plan plan;
    if (wisp_solve_plan(&plan, t->ctx, a, r->type, r->columns, &r->opts, NULL)) return tool_fail_ctx(t);
    s->vectors = 2 * block + (most ? plan.bytes_most : plan.bytes) + copy_bytes(t, r, a);
    const int64_t parts[] = {reading, source + a->assembly_bytes, a->bytes + s->vectors,
                             file ? source + a->bytes + 3 * block : 0, output_bytes(t, block, rows, r->columns)};
    s->total = largest(parts, sizeof parts / sizeof parts[0]);
    return EXIT_FINE;
}

static int find_bytes(tool *t, const solve_inputs *in, const wisp_mat_opts *mo, const solve_results *r, int64_t reading,
                      bool most, system_bytes *s)
{
    int64_t source;
    wisp_ctx_memory(t->ctx, &source, NULL);
    if (most ? wisp_mat_bound(t->ctx, &in->matrix, mo, &s->matrix) : wisp_mat_plan(t->ctx, &in->matrix, mo, &s->matrix))
        return tool_fail_ctx(t);
    return add_up(t, r, source, reading, most, s);
}

int solve_plan_check(tool *t, const solve_inputs *in, const wisp_mat_opts *mo, const solve_results *r, int64_t reading)
{
    system_bytes s;
    plan_need need;
    char text[4][TEXT];
    int rc = find_bytes(t, in, mo, r, reading, true, &s);
    if (!rc) rc = plan_needed(t, s.total, &need);
    if (rc || need.bytes <= need.limit || (t->opt.plan && !t->opt.mem_limit)) return rc;
    rc = find_bytes(t, in, mo, r, reading, false, &s);
    if (!rc) rc = plan_needed(t, s.total, &need);
    if (rc || need.bytes <= need.limit) return rc;
    if ((rc = plan_of_most(t, s.total, &s, sizeof s))) return rc;
    text_bytes(text[0], (double)need.bytes);
    text_bytes(text[1], (double)s.matrix.bytes);
    text_bytes(text[2], (double)s.vectors);
    text_bytes(text[3], (double)need.limit);
    if (t->opt.mem_limit)
        return tool_fail(t, "the run would take about %s (matrix %s, vectors %s), more than --mem-limit %s", text[0],
                         text[1], text[2], text[3]);
    return tool_fail(t,
                     "the run would take about %s (%smatrix %s, vectors %s), and this machine has %s; fewer columns, "
                     "a smaller --restart or --precision single takes less, and --mem-limit BYTES starts it anyway",
                     text[0], plan_whose(&need), text[1], text[2], text[3]);
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
    WISP_TRY(plan_ceilings(t, &m, &i->load_gbs, &i->kept));
    wisp_ctx_set_machine(t->ctx, &m);
    WISP_TRY(wisp_src_choose(t->ctx, &in->matrix, mo, mo->type, r->columns, 1, &step));
    WISP_TRY(wisp_solve_plan(&i->plan, t->ctx, a, r->type, r->columns, &r->opts, &step));
    i->limit = step.limit;
    i->known = true;
out:
    return status;
}

/* ---- both, shown --------------------------------------------------------------------------------- */

static int show_json(tool *t, const solve_results *r, const system_bytes *most, const system_bytes *about,
                     const iteration *i)
{
    const wisp_mat_info *a = &about->matrix;
    json_t *o = json_pack("{s:o, s:o, s:I, s:I, s:s, s:i, s:s, s:s, s:I, s:I, s:I, s:I}", "command",
                          json_words(t->command_line), "matrix", json_words(t->opt.arg[0]), "rows", (json_int_t)a->rows,
                          "nnz", (json_int_t)most->matrix.nnz, "type", wisp_type_name(r->type), "columns", r->columns,
                          "format", text_format(a->format), "method", solve_method_name(i->method), "matrix_bytes",
                          (json_int_t)a->bytes, "vectors_bytes", (json_int_t)about->vectors, "total_bytes",
                          (json_int_t)about->total, "bound_bytes", (json_int_t)most->total);
    json_object_set_new(o, "checkpoint_bytes", json_integer(copy_bytes(t, r, a)));
    json_object_set_new(o, "method_assumed", json_boolean(i->assumed));
    json_object_set_new(o, "iteration_bytes", json_number(i->plan.iteration_bytes));
    json_object_set_new(o, "iteration_seconds", i->known ? json_number(i->plan.iteration_seconds) : json_null());
    json_object_set_new(o, "load_gbs", i->known ? json_number(i->load_gbs) : json_null());
    json_object_set_new(o, "ceilings", i->known ? json_string(i->kept ? "kept" : "now") : json_null());
    json_object_set_new(o, "limit", i->known ? json_string(i->limit) : json_null());
    const int rc = json_print(t, o);
    json_decref(o);
    return rc;
}

static void show_text(const tool *t, const solve_results *r, const system_bytes *most, const system_bytes *about,
                      const iteration *i)
{
    char b[3][TEXT];
    text_line("matrix", "%s", t->opt.arg[0]);
    text_line("rows", "%s   nonzeros at most %s   %s, %d column%s", text_count(b[0], about->matrix.rows),
              text_count(b[1], most->matrix.nnz), wisp_type_name(r->type), r->columns, r->columns == 1 ? "" : "s");
    text_line("storage", "about %s   (at most %s)", text_bytes(b[0], (double)about->matrix.bytes),
              text_bytes_up(b[1], (double)most->matrix.bytes));
    text_line("vectors", "about %s   (at most %s)", text_bytes(b[0], (double)about->vectors),
              text_bytes_up(b[1], (double)most->vectors));
    text_line("total", "about %s at once   (at most %s)", text_bytes(b[0], (double)about->total),
              text_bytes_up(b[1], (double)most->total));
    if (t->opt.checkpoint) checkpoint_plan(copy_bytes(t, r, &about->matrix));
    text_line("iteration", "about %s%s%s", text_bytes(b[0], i->plan.iteration_bytes),
              i->assumed ? ", if it is by " : " by ", solve_method_name(i->method));
    if (!i->known) return;
    text_line("time", "about %.3g ms an iteration", 1e3 * i->plan.iteration_seconds);
    text_line("", "by the model, products limited by %s, at a load bandwidth of %.1f GB/s %s", i->limit, i->load_gbs,
              i->kept ? "kept by wisp machine" : "of now");
}

int solve_plan_show(tool *t, const solve_inputs *in, const wisp_mat_opts *mo, const solve_results *r, int64_t reading)
{
    system_bytes most, about;
    iteration i = {0};
    int rc = find_bytes(t, in, mo, r, reading, true, &most);
    if (!rc) rc = find_bytes(t, in, mo, r, reading, false, &about);
    if (rc) return rc;
    const wisp_status status = find_iteration(t, in, mo, r, &about.matrix, &i);
    /* What is measured for the time may take more memory than the run. */
    if (status != WISP_OK && !(status == WISP_ERR_NOMEM && t->opt.mem_limit)) return tool_fail_ctx(t);
    if (!rc) rc = plan_of_most(t, most.total, &most, sizeof most);
    if (!rc) rc = plan_of_most(t, about.total, &about, sizeof about);
    if (rc) return rc;
    monitor_clear(&t->monitor);
    if (t->opt.json) return show_json(t, r, &most, &about, &i);
    show_text(t, r, &most, &about, &i);
    if (!i.known) text_line("time", "not known: to measure it takes more memory than --mem-limit");
    return EXIT_FINE;
}
