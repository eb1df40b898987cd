/* The cost of wisp eig before it starts. */
#include "eig.h"
#include "../out/text.h"
#include "../plan.h"
#include <math.h>

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* One column of a vector's type on this rank. */
static int64_t column_bytes(const wisp_mat_info *a, wisp_type type)
{
    return (a->local_rows + a->halo_rows) * (int64_t)wisp_type_size(type);
}

wisp_status eig_plan_of(const eig_results *r, wisp_plan *plan, wisp_eig_choice *choice, const wisp_mat *A,
                        const wisp_eig_opts *o)
{
    return eig_singular(r) ? wisp_svd_plan(plan, choice, A, r->sides[0], o) : wisp_eig_plan(plan, choice, A, o);
}

static const char advice[] = "fewer eigenvalues, a smaller --search or --precision single takes less";

static int refuse(tool *t, const char *about, const plan_need *need, int64_t matrix)
{
    char text[3][TEXT];
    text_bytes(text[0], (double)need->bytes);
    text_bytes(text[1], (double)plan_most(t, matrix));
    text_bytes(text[2], (double)need->limit);
    if (t->opt.mem_limit)
        return tool_fail(t, "the run would take %s %s (matrix %s), more than --mem-limit %s", about, text[0], text[1],
                         text[2]);
    return tool_fail(t,
                     "the run would take %s %s (%smatrix %s), and this machine has %s; %s, and --mem-limit BYTES "
                     "starts it anyway",
                     about, text[0], plan_whose(need), text[1], text[2], advice);
}

int eig_plan_check_source(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const eig_results *r, int64_t reading)
{
    wisp_mat_info a;
    int64_t source;
    plan_need need;
    bool fits;
    const int64_t columns = r->opts.search ? r->opts.search : r->opts.count;
    wisp_ctx_memory(t->ctx, &source, NULL);
    for (int estimate = 0; estimate < 2; estimate++) { /* an estimate is made only if the bound is too large */
        if (estimate ? wisp_mat_plan(t->ctx, src, mo, &a) : wisp_mat_bound(t->ctx, src, mo, &a))
            return tool_fail_ctx(t);
        const int64_t run = a.bytes + columns * column_bytes(&a, mo->type);
        const int64_t making = larger(reading, source + a.assembly_bytes);
        int rc = plan_needed(t, plan_has_sides(t) ? making : larger(making, run), &need);
        if (!rc) rc = plan_fits_device(t, run, &fits); /* at least */
        if (rc || (need.bytes <= need.limit && fits) || (t->opt.plan && !t->opt.mem_limit && !t->opt.device_mem_limit))
            return rc;
        if (estimate && !fits) return plan_refuse_device(t, run, a.bytes, run - a.bytes, advice);
    }
    return refuse(t, "at least", &need, a.bytes);
}

/* Those of a matrix that is not Hermitian are complex. */
static wisp_type type_of_pairs(const eig_results *r) { return r->hermitian ? r->type : type_in(r->type, WISP_Z); }

/* The copy of a checkpoint: the search space, with the columns that are locked, blocks, and what is computed from dots.
   That of DENSE is the pairs alone, when it has them. */
static int64_t copy_bytes(const tool *t, const eig_results *r, const wisp_eig_choice *c)
{
    enum { CHECKED = 16, HEADS = 1 << 16 };
    if (!t->opt.checkpoint) return 0;
    const int64_t rows = r->info.local_rows, block = c->block, all = c->search;
    const int64_t pairs = r->opts.which == WISP_EIG_INTERVAL ? all : r->opts.count;
    const int64_t layout = t->opt.partition ? 8 * rows : 0;
    if (c->method == WISP_EIG_DENSE)
        return pairs * (rows * (int64_t)wisp_type_size(type_of_pairs(r)) + 4 * 8) + layout + HEADS;
    const bool inner = c->method == WISP_CHEBFD;
    const int64_t columns = all + 3 * block + (inner ? larger(CHECKED, block) : r->opts.count);
    const int64_t numbers = (inner ? 0 : 16 * columns * columns) + layout;
    return rows * columns * (int64_t)wisp_type_size(r->type) + numbers + HEADS;
}

/* All that is held at once, vectors with the copy of a checkpoint. before: until the search begins; after: behind it.
 */
static int64_t add_up(const tool *t, const eig_results *r, const wisp_plan *run, int64_t vectors, int64_t before,
                      int64_t after, int64_t output, bool most, plan_sides *sides)
{
    enum { HELD = 1, PARTS = HELD + 3 };
    const int64_t parts[PARTS] = {r->info.bytes + vectors, before, r->info.bytes + after, output};
    const plan_held held = {r->info.bytes, vectors, vectors - run->device_bytes, parts, HELD, PARTS};
    return plan_total(t, &held, most, sides);
}

/* Where to know it costs no run of its own. */
int eig_plan_check(tool *t, const wisp_mat *A, const eig_results *r)
{
    wisp_plan plan;
    wisp_eig_choice choice;
    plan_need need;
    const wisp_eig_method method = r->opts.method;
    const bool inner = r->opts.which == WISP_EIG_INTERVAL || r->opts.which == WISP_EIG_NEAREST ||
                       (eig_singular(r) && r->opts.which == WISP_EIG_SMALLEST);
    if (method == WISP_CHEBFD || (method == WISP_EIG_DEFAULT && inner)) return EXIT_FINE;
    if (method == WISP_EIG_INVERT) return EXIT_FINE; /* the run orders rows, and refuses before it factors */
    const wisp_status status = eig_plan_of(r, &plan, &choice, A, &r->opts);
    if (status) return status == WISP_ERR_CANCELLED ? tool_fail_ctx(t) : EXIT_FINE; /* the run tells why */
    plan_sides sides;
    const int64_t vectors = plan.bytes_most + copy_bytes(t, r, &choice) +
                            pencil_blocks(&r->pencil, choice.block, column_bytes(&r->info, r->type));
    bool fits;
    add_up(t, r, &plan, vectors, 0, 0, 0, false, &sides);
    int rc = plan_needed(t, vectors + (plan_has_sides(t) ? 0 : r->info.bytes), &need);
    if (!rc) rc = plan_fits_device(t, sides.device, &fits);
    if (!rc && !fits) return plan_refuse_device(t, sides.device, r->info.bytes, sides.device - r->info.bytes, advice);
    return rc || need.bytes <= need.limit ? rc : refuse(t, "about", &need, r->info.bytes);
}

/* ---- shown ----------------------------------------------------------------------------------------- */

typedef struct {
    wisp_plan run;
    wisp_eig_choice choice;
    int64_t total;
    plan_sides sides, most;
    bool lapack;             /* it takes more than the search, in whose place it may come */
    wisp_eig_choice inverse; /* of --method invert, where that could be taken instead; else zero */
} eig_plan;

/* Whether the bytes of a search are those of LAPACK, which may take its place. */
static bool is_of_lapack(const wisp_mat *A, const eig_results *r, const eig_plan *p)
{
    wisp_plan dense;
    wisp_eig_opts o = r->opts;
    if (p->choice.method == WISP_EIG_DENSE || o.method != WISP_EIG_DEFAULT) return false;
    o.method = WISP_EIG_DENSE;
    return eig_plan_of(r, &dense, NULL, A, &o) == WISP_OK && dense.bytes_most == p->run.bytes_most;
}

/* What factors would take, which may be far less than a filter, or more. To order very many rows takes long. */
static void look_at_inverse(const wisp_mat *A, const eig_results *r, eig_plan *p)
{
    enum { MANY = 1000000 };
    wisp_plan plan;
    wisp_eig_opts o = r->opts;
    if (o.which != WISP_EIG_NEAREST || o.method != WISP_EIG_DEFAULT || r->info.rows > MANY) return;
    o.method = WISP_EIG_INVERT;
    if (eig_plan_of(r, &plan, &p->inverse, A, &o)) p->inverse = (wisp_eig_choice){0};
}

/* The vectors go out as a copy, and in HDF5 as a whole file in memory, when the matrix has gone. */
static int64_t output_bytes(const tool *t, const eig_results *r, const wisp_eig_choice *c)
{
    const bool interval = r->opts.which == WISP_EIG_INTERVAL;
    const double columns = !interval ? r->opts.count : isfinite(c->expected) ? c->expected : 0;
    return t->opt.vectors_out || t->opt.left_out || t->opt.right_out
               ? (int64_t)(4 * columns * (double)column_bytes(&r->info, type_of_pairs(r)))
               : 0;
}

/* Pairs that are found. */
static double expected_pairs(const eig_results *r, const wisp_eig_choice *c)
{
    if (r->opts.which != WISP_EIG_INTERVAL) return r->opts.count;
    return isfinite(c->expected) ? c->expected + c->expected_error : 0;
}

static int show_json(tool *t, const eig_results *r, const eig_plan *p)
{
    const wisp_eig_choice *c = &p->choice;
    json_t *o = JSON_PUT(
        json_head(t, t->opt.arg[0]), J("device", wisp_ctx_device(t->ctx)), J("which", eig_question_name(r->opts.which)),
        J("rows", eig_rows(r)), J_MAYBE(eig_singular(r), "cols", r->sides[1]), J("nnz", eig_nonzeros(r)),
        J("type", wisp_type_name(type_of_pairs(r))), J("format", text_format(r->info.format)),
        J("method", eig_method_name(c->method)), J_IF(t->opt.overlap, "overlap", pencil_json(t, &r->pencil)),
        J("matrix_bytes", r->info.bytes), J("vectors_bytes", p->run.bytes), J("total_bytes", p->total),
        J_IF(c->low < c->high, "interval", json_numbers((double[]){c->low, c->high}, 2)),
        J("checkpoint_bytes", copy_bytes(t, r, c)), J("expected_count", c->expected),
        J("expected_error", c->expected_error), J("search_vectors", c->search), J("block", c->block),
        J("rounds", c->rounds), J("degree", c->degree), J_IF(c->factor_bytes, "factor_bytes", c->factor_bytes),
        J_IF(c->factor_bytes, "factor_flops", c->factor_flops), J_IF(c->invert_work > 0, "filter_work", c->filter_work),
        J_IF(c->invert_work > 0, "invert_work", c->invert_work),
        J_IF(p->inverse.factor_bytes, "invert_factor_bytes", p->inverse.factor_bytes),
        J_IF(p->inverse.factor_bytes, "invert_factor_flops", p->inverse.factor_flops),
        J_IF(c->filter_type, "filter_type", wisp_type_name(c->filter_type)),
        J_IF(isfinite(p->run.products), "products", (json_int_t)p->run.products), J("seconds", p->run.seconds));
    plan_sides_json(o, &p->sides, &p->most);
    return json_print_new(t, o);
}

static void show_text(const tool *t, const eig_results *r, const eig_plan *p)
{
    const wisp_eig_choice *c = &p->choice;
    char a[3][TEXT], b[TEXT_BAR];
    eig_matrix(t, r, type_of_pairs(r));
    text_line("question", "%s", eig_question(b, r));
    pencil_summary(t, &r->pencil);
    if (c->low < c->high) text_line("interval", "[%.6g, %.6g]", c->low, c->high);
    if (isfinite(c->expected))
        text_line("expected", "%s %s", eig_expected(b, c->expected, c->expected_error),
                  eig_singular(r) ? "singular values" : "eigenvalues");
    text_line("method", "%s, %d search vectors, %d at once", eig_method_name(c->method), c->search, c->block);
    if (c->filter_work > 0 && c->invert_work > 0)
        text_line("", "by cost: of chebfd %s%.3g, of invert about %.3g, in Gflop of dense kernels",
                  c->method == WISP_EIG_INVERT ? "at least " : "about ", c->filter_work / 1e9, c->invert_work / 1e9);
    if (p->inverse.factor_bytes)
        text_line("", "--method invert: factors of about %s, %.3g Gflop each of three times",
                  text_bytes(a[0], (double)p->inverse.factor_bytes), p->inverse.factor_flops / 1e9);
    if (c->degree)
        text_line("", "degree %s in %s, %d rounds", text_count(a[0], c->degree), wisp_type_name(c->filter_type),
                  c->rounds);
    text_line("storage", "%s", text_bytes(a[0], (double)r->info.bytes));
    if (c->factor_bytes)
        text_line("factors", "about %s, %.3g Gflop each of three times", text_bytes(a[0], (double)c->factor_bytes),
                  c->factor_flops / 1e9);
    text_line("vectors", "at most %s%s%s", text_bytes(a[0], (double)p->run.bytes_most),
              c->factor_bytes ? " with these" : "",
              p->lapack ? ", as LAPACK takes, which goes on where the search takes long" : "");
    const bool may_have_more =
        c->method != WISP_EIG_DENSE && !p->lapack && r->opts.which != WISP_EIG_INTERVAL && !eig_singular(r);
    text_line("total", "at most %s at once%s", text_bytes(a[0], (double)p->total),
              may_have_more ? ", and more for those that equal the last one" : "");
    plan_sides_show(&p->sides, &p->most);
    if (t->opt.checkpoint) checkpoint_plan(copy_bytes(t, r, c));
    if (isfinite(p->run.products)) text_line("products", "about %s", text_count(a[0], (int64_t)p->run.products));
    if (!isfinite(p->run.seconds)) {
        text_line("time", "not known");
        return;
    }
    text_line("time", "about %s", text_seconds(a[0], p->run.seconds));
    text_line("", "from a few products that were timed");
}

int eig_plan_show(tool *t, const wisp_mat *A, const eig_results *r)
{
    eig_plan p = {0};
    int64_t before; /* all has been done but for the search */
    wisp_ctx_memory(t->ctx, NULL, &before);
    if (eig_plan_of(r, &p.run, &p.choice, A, &r->opts)) return tool_fail_ctx(t);
    p.lapack = is_of_lapack(A, r, &p);
    if (p.choice.method == WISP_CHEBFD) look_at_inverse(A, r, &p);
    const int64_t column = column_bytes(&r->info, r->type), beside = pencil_blocks(&r->pencil, p.choice.block, column),
                  after = pencil_finish_bytes(&r->pencil, expected_pairs(r, &p.choice), column),
                  vectors = p.run.bytes_most + copy_bytes(t, r, &p.choice) + beside,
                  output = output_bytes(t, r, &p.choice);
    add_up(t, r, &p.run, vectors, before, after, output, false, &p.sides);
    p.total = add_up(t, r, &p.run, vectors, before, after, output, true, &p.most);
    struct {
        eig_plan plan;
        wisp_mat_info info;
    } shown = {p, r->info};
    eig_results most = *r;
    plan_need need;
    int rc = plan_sides_of_fullest(t, &p.sides, &p.most);
    if (!rc) rc = plan_of_most(t, p.total, &shown, sizeof shown);
    shown.plan.sides = p.sides, shown.plan.most = p.most;
    if (!rc) rc = plan_needed(t, p.total, &need);
    if (rc) return rc;
    most.info = shown.info;
    monitor_clear(&t->monitor);
    if (!t->opt.json) show_text(t, &most, &shown.plan);
    if (t->opt.json) rc = show_json(t, &most, &shown.plan);
    return rc || !t->opt.mem_limit || need.bytes <= need.limit ? rc : refuse(t, "about", &need, r->info.bytes);
}
