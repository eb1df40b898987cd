/* wisp bench: how fast an op is, and how far from what the machine allows at that moment. */
#include "bench.h"
#include "../out/out.h"
#include "../out/text.h"
#include <stdlib.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------------- */

/* From the first one, which most ops take by default, to the last one. */
static const struct {
    bench_variant first, last;
    const char *names;
} variants_of[] = {
    [BENCH_SPMV] = {VARIANT_BLOCKED, VARIANT_BLOCKED, "blocked alone"},
    [BENCH_SPMMV] = {VARIANT_BLOCKED, VARIANT_BLOCKED, "blocked alone"},
    [BENCH_KPM] = {VARIANT_BLOCKED, VARIANT_REFERENCE, "blocked, naive, reference"},
    [BENCH_MPK] = {VARIANT_CHEBYSHEV, VARIANT_POWERS, "chebyshev, powers"},
    [BENCH_TSM] = {VARIANT_GRAM, VARIANT_UPDATE_BETA_BLAS,
                   "gram, gram_kahan, update, update_beta, update_in_place, dot, dot_kahan, gram_blas, update_blas, "
                   "update_beta_blas"},
    [BENCH_STREAM] = {VARIANT_BLOCKED, VARIANT_BLOCKED, "blocked alone"},
    [BENCH_SOLVE] = {VARIANT_PREDICT, VARIANT_CLASSICAL, "predict, pipelined, classical"},
    [BENCH_EIG] = {VARIANT_SQUARES, VARIANT_RITZ, "squares, steps, qr, ritz"},
};

/* Whether the rows, or those that they are compared with, are of this variant. */
static bool has_variant(const options *o, bench_variant v)
{
    const bool against = option_seen(o, "against") && o->against_what == AGAINST_VARIANT;
    return o->bench_variant == (int)v || (against && o->against == (int)v);
}

static int check_variants(tool *t, bench_op op)
{
    options *o = &t->opt;
    const bool against = option_seen(o, "against"), variant = option_seen(o, "variant");
    const int list[] = {variant ? o->bench_variant : -1,
                        against && o->against_what == AGAINST_VARIANT ? o->against : -1};
    for (int i = 0; i < 2; i++) {
        if (list[i] < 0) continue;
        if (list[i] < (int)variants_of[op].first || list[i] > (int)variants_of[op].last)
            return tool_usage(t, "wisp bench %s has no variant %s; it has %s", bench_op_names[op],
                              bench_variant_names[list[i]], variants_of[op].names);
    }
    if (op == BENCH_MPK && !variant) o->bench_variant = VARIANT_CHEBYSHEV;
    if (op == BENCH_SOLVE && !variant) o->bench_variant = o->method == WISP_CG ? VARIANT_PREDICT : VARIANT_PIPELINED;
    if (op == BENCH_SOLVE && has_variant(o, VARIANT_PREDICT) && o->method != WISP_CG)
        return tool_usage(t, "the variant predict is for --method cg alone");
    if (!against) return EXIT_FINE;
    if (op == BENCH_TSM && o->against_what != AGAINST_VARIANT)
        return tool_usage(t, "wisp bench tsm has no matrix, so --against names a variant");
    if (op == BENCH_TSM && !variant)
        return tool_usage(t, "--against needs --variant for wisp bench tsm: which of its operations is compared");
    const bool plain = o->against_what == AGAINST_PLAIN, only_plain = o->powers_list[0] == 1 && !o->powers_list[1];
    const bool single = o->against_what == AGAINST_SINGLE, only_single = o->widths[0] <= 1 && !o->widths[1];
    if (single && op != BENCH_SOLVE) return tool_usage(t, "--against single is there for wisp bench solve alone");
    if (plain && op != BENCH_MPK) return tool_usage(t, "--against plain is there for wisp bench mpk alone");
    if ((plain && only_plain) || (single && only_single) ||
        (o->against_what == AGAINST_VARIANT && o->against == o->bench_variant) ||
        (o->against_what == AGAINST_ORDER && o->against == o->order) ||
        (o->against_what == AGAINST_FORMAT && o->against == o->format))
        return tool_usage(t, "--against names what the rows are already; name another variant, order or format");
    return EXIT_FINE;
}

/* Options that do not go with the op. */
static int check_op(tool *t, bench_op op)
{
    const options *o = &t->opt;
    static const char *const not_for_stream[] = {"widths", "types",  "variant", "against", "repeats",
                                                 "order",  "format", "rows",    NULL};
    static const char *const not_for_tsm[] = {"order", "format", NULL};
    const bool alone = op == BENCH_STREAM || op == BENCH_TSM;
    const char *name = bench_op_names[op];
    if (alone && o->args > 1) return tool_usage(t, "wisp bench %s takes no MATRIX", name);
    if (!alone && o->args < 2) return tool_usage(t, "MATRIX is missing; see wisp bench --help");
    const char *const *list = op == BENCH_STREAM ? not_for_stream : op == BENCH_TSM ? not_for_tsm : NULL;
    for (; list && *list; list++)
        if (option_seen(o, *list)) return tool_usage(t, "wisp bench %s takes no --%s", name, *list);
    if (op == BENCH_EIG && option_seen(o, "against")) return tool_usage(t, "wisp bench eig takes no --against");
    if (op != BENCH_EIG && o->columns[0]) return tool_usage(t, "--columns is there for wisp bench eig alone");
    if (!alone && option_seen(o, "rows")) return tool_usage(t, "--rows is there for wisp bench tsm alone");
    if (op != BENCH_SOLVE && o->method) return tool_usage(t, "--method is there for wisp bench solve alone");
    if (o->restart && o->method != WISP_GMRES) return tool_usage(t, "--restart is for --method gmres alone");
    if (op != BENCH_MPK && o->budgets[0]) return tool_usage(t, "--cache-budget is there for wisp bench mpk alone");
    if (op != BENCH_MPK && option_seen(o, "powers")) return tool_usage(t, "--powers is there for wisp bench mpk alone");
    if (op != BENCH_MPK && option_seen(o, "depth")) return tool_usage(t, "--depth is there for wisp bench mpk alone");
    for (int i = 0; op == BENCH_SPMV && o->widths[i]; i++)
        if (o->widths[i] != 1) return tool_usage(t, "wisp bench spmv has width 1; use spmmv");
    for (int i = 0; op == BENCH_TSM && o->widths[i]; i++)
        if (o->widths[i] > 1024) return tool_usage(t, "wisp bench tsm takes widths to 1024");
    if (o->bench_variant == VARIANT_REFERENCE && (o->order || o->format))
        return tool_usage(t, "the reference has its own order and format");
    return EXIT_FINE;
}

/* Options that contradict each other; the op in *op. */
static int check_options(tool *t, bench_op *op)
{
    options *o = &t->opt;
    int i = 0;
    while (bench_op_names[i] && strcmp(bench_op_names[i], o->arg[0])) i++;
    if (!bench_op_names[i])
        return tool_usage(t, "\"%.40s\" is no operation; expected spmv, spmmv, kpm, mpk, tsm, stream, solve or eig",
                          o->arg[0]);
    *op = (bench_op)i;
    int rc = check_op(t, *op);
    if (*op == BENCH_SOLVE && !o->method) o->method = WISP_CG;
    if (o->method == WISP_GMRES && !o->restart) o->restart = 30;
    if (!rc) rc = check_variants(t, *op);
    if (rc) return rc;
    if (!o->repeats) o->repeats = 9;
    return EXIT_FINE;
}

static void set_lists(options *o, bench_op op)
{
    static const int64_t usual[] = {1, 4, 8, 16, 32, 0}, powers_list[] = {1, 2, 4, 8, 16, 0}, columns[] = {64, 200, 0};
    if (!o->widths[0]) memcpy(o->widths, op == BENCH_TSM ? usual + 1 : usual, op == BENCH_TSM ? 5 * 8 : sizeof usual);
    if (op == BENCH_SPMV || ((op == BENCH_SOLVE || op == BENCH_EIG) && !option_seen(o, "widths"))) o->widths[1] = 0;
    if (!o->columns[0]) memcpy(o->columns, columns, sizeof columns);
    if (op != BENCH_MPK) o->powers_list[0] = 1;
    if (!o->powers_list[0]) memcpy(o->powers_list, powers_list, sizeof powers_list);
    if (!o->types[0] && op == BENCH_TSM) o->types[0] = WISP_D, o->types[1] = WISP_Z, o->types[2] = 0;
}

/* What would fail later is refused before anything is measured. */
static int check_source(tool *t, const bench *b)
{
    const options *o = &t->opt;
    const bool reference = has_variant(o, VARIANT_REFERENCE);
    if ((b->op == BENCH_KPM || b->op == BENCH_MPK || b->op == BENCH_SOLVE || b->op == BENCH_EIG) &&
        b->src.rows != b->src.cols)
        return tool_fail(t, "wisp bench %s needs a square matrix", bench_op_names[b->op]);
    for (int i = 0; o->types[i]; i++) {
        const wisp_type type = (wisp_type)o->types[i];
        if (wisp_type_is_complex(b->src.type) && !wisp_type_is_complex(type))
            return tool_fail(t, "a complex matrix needs complex blocks: --types c or z");
        if (reference && type != b->src.type)
            return tool_fail(t, "the reference takes blocks of the matrix's type alone");
    }
    for (int j = 0; reference && o->widths[j]; j++)
        if (o->widths[j] > 32 || (o->widths[j] & (o->widths[j] - 1)))
            return tool_fail(t, "the reference is there for the widths 1, 2, 4, 8, 16, 32 alone");
    return EXIT_FINE;
}

/* ---- the cases ----------------------------------------------------------------------------------- */

/* Bounds that are certain, so that a long series of steps stays bounded. */
static int find_bounds(tool *t, bench *b)
{
    const wisp_mat_opts mo = {.order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
    wisp_mat *A = NULL;
    wisp_mat_props p;
    int rc = EXIT_FINE;
    if (wisp_mat_create(&A, t->ctx, &b->src, &mo) || wisp_mat_get_props(A, &p))
        rc = tool_fail_ctx(t);
    else if (!p.hermitian)
        rc = tool_fail(t, "wisp bench %s needs a Hermitian matrix, which %s is not%s", bench_op_names[b->op], b->matrix,
                       b->op == BENCH_MPK ? "; --variant powers takes any square one" : "");
    wisp_mat_free(A);
    if (rc) return rc;
    b->center = 0.5 * (p.gershgorin_min + p.gershgorin_max);
    b->halfwidth = 0.505 * (p.gershgorin_max - p.gershgorin_min);
    if (!(b->halfwidth > 0)) b->halfwidth = 1;
    return EXIT_FINE;
}

/* Alternatives 1 .. all - 1 if all are asked for, else the one. */
static int first_of(int asked, int all) { return asked == all ? 1 : asked; }
static int last_of(int asked, int all) { return asked == all ? all - 1 : asked; }

static bool same_case(const bench_case *a, const bench_case *b)
{
    return a->variant == b->variant && a->width == b->width && a->order == b->order && a->format == b->format &&
           a->powers == b->powers && a->cache_budget == b->cache_budget;
}

static int run_case(tool *t, bench *b, const bench_case *c)
{
    const options *o = &t->opt;
    bench_case other = *c;
    if (o->against_what == AGAINST_ORDER)
        other.order = (wisp_order)o->against;
    else if (o->against_what == AGAINST_FORMAT)
        other.format = (wisp_format)o->against;
    else if (o->against_what == AGAINST_PLAIN)
        other.powers = 1;
    else if (o->against_what == AGAINST_SINGLE)
        other.width = 1;
    else
        other.variant = (bench_variant)o->against;
    const bool alternate = option_seen(o, "against") && !same_case(c, &other);
    const bool optional = o->order == ORDERS || o->format == FORMATS;
    int rc = bench_measure(t, b, (bench_case[]){*c, other}, alternate ? 2 : 1, optional);
    b->row++;
    return rc;
}

/* All variants of a solver in turn, set in relation to the classical one. */
static int run_variants(tool *t, bench *b, const bench_case *c)
{
    const options *o = &t->opt;
    bench_case list[BENCH_MOST_CASES];
    int count = 0;
    for (int v = o->bench_variant; v <= VARIANT_CLASSICAL; v++) {
        list[count] = *c;
        list[count++].variant = (bench_variant)v;
    }
    int rc = bench_measure(t, b, list, count, o->order == ORDERS || o->format == FORMATS);
    b->row++;
    return rc;
}

/* All variants, orders and formats of one type, width, number of steps at a time, and cache budget. */
static int run_width(tool *t, bench *b, wisp_type type, int width, int powers, int64_t budget, bool count_only)
{
    const options *o = &t->opt;
    const bool all = b->op == BENCH_TSM && !option_seen(o, "variant");
    const bool together = b->op == BENCH_SOLVE && !option_seen(o, "variant") && !option_seen(o, "against");
    const int first = all ? VARIANT_GRAM : o->bench_variant, last = all ? VARIANT_UPDATE_IN_PLACE : o->bench_variant;
    int rc = EXIT_FINE;
    for (int v = first; v <= last; v++)
        for (int r = first_of(o->order, ORDERS); r <= last_of(o->order, ORDERS); r++)
            for (int f = first_of(o->format, FORMATS); f <= last_of(o->format, FORMATS) && !rc; f++) {
                const bench_case c = {.op = b->op,
                                      .variant = (bench_variant)v,
                                      .type = type,
                                      .width = width,
                                      .powers = powers,
                                      .depth = (int)o->depth,
                                      .order = (wisp_order)r,
                                      .format = (wisp_format)f,
                                      .cache_budget = budget,
                                      .method = (wisp_method)o->method,
                                      .restart = (int)o->restart,
                                      .rows = o->rows                      ? o->rows
                                              : wisp_type_is_complex(type) ? 2000000
                                                                           : 4000000};
                if (count_only)
                    b->row_count++;
                else
                    rc = b->op == BENCH_EIG ? bench_eig_filter(t, b, &c, o->order == ORDERS || o->format == FORMATS)
                         : together         ? run_variants(t, b, &c)
                                            : run_case(t, b, &c);
            }
    for (int i = 0; b->op == BENCH_EIG && width == o->widths[0] && o->columns[i] && !rc; i++) {
        const bench_case c = {.op = b->op, .type = type, .width = (int)o->columns[i], .powers = 1, .rows = b->src.rows};
        if (count_only)
            b->row_count++;
        else
            rc = bench_eig_dense(t, b, &c);
    }
    return rc;
}

static int run_cases(tool *t, bench *b, bool count_only)
{
    const options *o = &t->opt;
    int rc = EXIT_FINE;
    for (int i = 0; (o->types[i] || (i == 0 && count_only)) && !rc; i++) /* the matrix's type may not be known yet */
        for (int j = 0; o->widths[j] && !rc; j++)
            for (int k = 0; o->powers_list[k] && !rc; k++)
                for (int l = 0; (l == 0 || (o->powers_list[k] > 1 && o->budgets[l])) && !rc; l++) {
                    int64_t budget = 0;
                    if (!count_only) rc = machine_budget(t, &b->machine, o->budgets[l], &budget);
                    if (!rc)
                        rc = run_width(t, b, (wisp_type)o->types[i], (int)o->widths[j], (int)o->powers_list[k], budget,
                                       count_only);
                }
    return rc;
}

/* ---- the run ------------------------------------------------------------------------------------- */

static void print_head(const tool *t, const bench *b)
{
    const wisp_machine *m = &b->machine;
    if (json_array_size(b->machines) > 1) putchar('\n');
    text_line("machine", "%s, %d thread%s, %s", m->cpu, m->threads, m->threads == 1 ? "" : "s", m->isa);
    text_line("ceilings", "load %.1f GB/s, multiply-add %.1f Gflop/s, ZGEMM %.1f, DGEMM %.1f",
              m->gbs[WISP_LOAD][WISP_MEMORY][1], m->fma_gflops[1][1], b->gemm.zgemm, b->gemm.dgemm);
    if (b->op == BENCH_MPK)
        text_line("cache", "%.4g MB stay for interleaved steps", 1e-6 * (double)wisp_ctx_cache(t->ctx, NULL));
    if (b->op == BENCH_STREAM || b->op == BENCH_TSM) putchar('\n');
}

/* Opens matrix i of the command line, which stays open until its rows are there. */
static int open_matrix(tool *t, bench *b, int i)
{
    b->matrix = t->opt.arg[i];
    if (wisp_src_open(&b->src, t->ctx, b->matrix)) return tool_fail_ctx(t);
    if (b->any_type) t->opt.types[0] = b->src.type, t->opt.types[1] = 0;
    return check_source(t, b);
}

/* All rows of it. */
static int run_matrix(tool *t, bench *b, bool first)
{
    int rc = b->op == BENCH_KPM || b->op == BENCH_EIG || has_variant(&t->opt, VARIANT_CHEBYSHEV) ? find_bounds(t, b)
                                                                                                 : EXIT_FINE;
    monitor_clear(&t->monitor);
    if (!rc && !t->opt.json && !t->opt.quiet) {
        if (!first) putchar('\n');
        text_line("matrix", "%s", b->matrix);
        putchar('\n');
    }
    if (!rc) rc = run_cases(t, b, false);
    wisp_src_close(&b->src);
    return rc;
}

/* All rows with the context's number of threads. */
static int run_threads(tool *t, bench *b)
{
    const options *o = &t->opt;
    const bool stream = b->op == BENCH_STREAM, table = !o->json && !o->quiet;
    const unsigned what = (stream ? WISP_MEASURE_MEMORY | WISP_MEASURE_CACHES : WISP_MEASURE_LOADS) |
                          (b->op == BENCH_MPK ? WISP_MEASURE_KEPT | WISP_MEASURE_EXCHANGE : 0) | WISP_MEASURE_FMA;
    int rc = EXIT_FINE;
    if (o->args > 1) rc = open_matrix(t, b, 1); /* what is refused is refused at once */
    if (!rc) rc = machine_measure(t, &b->machine, &b->gemm, what);
    if (rc) return rc;
    json_array_append_new(b->machines, machine_json(&b->machine, &b->gemm));
    monitor_clear(&t->monitor);
    if (table) print_head(t, b);
    if (stream) {
        bench_stream_rows(b->rows, &b->machine);
        if (table) bench_stream_table(&b->machine);
    } else if (o->args < 2) {
        rc = run_cases(t, b, false);
    }
    for (int i = 1; i < o->args && !rc; i++) {
        if (i > 1) rc = open_matrix(t, b, i);
        if (!rc) rc = run_matrix(t, b, i == 1);
    }
    return rc;
}

/* One context after the other, for pinned threads belong to a context. */
static int run_all(tool *t, bench *b)
{
    options *o = &t->opt;
    int runs = 1;
    while (o->thread_counts[runs - 1] && o->thread_counts[runs]) runs++;
    b->row_count *= o->args > 2 ? runs * (o->args - 1) : runs;
    int rc = EXIT_FINE;
    for (int i = 0; i < runs && !rc; i++) {
        catch_signals(NULL);
        wisp_ctx_free(t->ctx);
        t->ctx = NULL;
        o->threads = o->thread_counts[i];
        rc = tool_start(t);
        if (!rc && i == 0) rc = outputs_check(t);
        if (!rc) rc = run_threads(t, b);
        wisp_src_close(&b->src);
    }
    return rc;
}

static int write_results(tool *t, const bench *b)
{
    json_t *machine = json_array_get(b->machines, 0);
    json_t *o = JSON_NEW(J("version", wisp_version()), J("command", t->command_line),
                         J("machine", json_incref(machine)), J("rows", json_incref(b->rows)));
    int rc = o ? EXIT_FINE : tool_fail(t, "out of memory for the results");
    if (!rc && json_array_size(b->machines) > 1) json_object_set(o, "machines", b->machines);
    if (!rc && json_array_size(b->skipped) > 0) json_object_set(o, "skipped", b->skipped);
    if (!rc && t->opt.json) rc = json_print(t, o);
    if (!rc && t->opt.output) {
        char *text = json_text(o);
        rc = text ? outfile_write(t, t->opt.output, text, strlen(text)) : tool_fail(t, "out of memory for the results");
        free(text);
    }
    if (!rc && t->opt.plot) rc = bench_plot(t, o, t->opt.plot);
    json_decref(o);
    return rc;
}

int cmd_bench(tool *t)
{
    bench b = {.machines = json_array(), .rows = json_array(), .skipped = json_array()};
    int rc = check_options(t, &b.op);
    if (!rc) {
        b.any_type = !t->opt.types[0];
        set_lists(&t->opt, b.op);
        run_cases(t, &b, true);
        rc = run_all(t, &b);
    }
    monitor_clear(&t->monitor);
    if (!rc) rc = write_results(t, &b);
    json_decref(b.machines);
    json_decref(b.rows);
    json_decref(b.skipped);
    return rc;
}
