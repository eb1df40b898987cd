/* wisp bench: how fast an op is, and how far from what the machine allows at that moment. */
#include "bench.h"
#include "../out/out.h"
#include "../out/text.h"
#include <stdlib.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------------- */

/* Whether the rows, or those that they are compared with, are of this variant. */
static bool has_variant(const options *o, bench_variant v)
{
    const bool against = option_seen(o, "against") && o->against_what == AGAINST_VARIANT;
    return o->bench_variant == (int)v || (against && o->against == (int)v);
}

/* One that the op lacks is refused, with those that it has. */
static int check_variant(tool *t, bench_op op, int variant)
{
    char names[256] = "";
    size_t n = 0, one = 0;
    if (bench_has_variant(op, variant)) return EXIT_FINE;
    for (int v = 0; v < BENCH_CHOICES; v++) {
        if (!bench_has_variant(op, v)) continue;
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", bench_variant_names[v]);
        if (!one) one = n;
    }
    return tool_usage(t, "wisp bench %s has no variant %s; it has %s%s", bench_op_names[op],
                      bench_variant_names[variant], names, n == one ? " alone" : "");
}

static int check_against(tool *t, bench_op op)
{
    const options *o = &t->opt;
    const bool plain = o->against_what == AGAINST_PLAIN, only_plain = o->powers_list[0] == 1 && !o->powers_list[1];
    const bool single = o->against_what == AGAINST_SINGLE, only_single = o->widths[0] <= 1 && !o->widths[1];
    if (op == BENCH_TSM && o->against_what != AGAINST_VARIANT)
        return tool_usage(t, "wisp bench tsm has no matrix, so --against names a variant");
    if (op == BENCH_TSM && !option_seen(o, "variant"))
        return tool_usage(t, "--against needs --variant for wisp bench tsm: which of its operations is compared");
    if (single && op != BENCH_SOLVE) return tool_usage(t, "--against single is there for wisp bench solve alone");
    if (plain && op != BENCH_MPK) return tool_usage(t, "--against plain is there for wisp bench mpk alone");
    if ((plain && only_plain) || (single && only_single) ||
        (o->against_what == AGAINST_VARIANT && o->against == o->bench_variant) ||
        (o->against_what == AGAINST_ORDER && o->against == o->order) ||
        (o->against_what == AGAINST_FORMAT && o->against == o->format))
        return tool_usage(t, "--against names what the rows are already; name another variant, order or format");
    return EXIT_FINE;
}

static int check_variants(tool *t, bench_op op)
{
    options *o = &t->opt;
    const bool against = option_seen(o, "against");
    int rc = option_seen(o, "variant") ? check_variant(t, op, o->bench_variant) : EXIT_FINE;
    if (!rc && against && o->against_what == AGAINST_VARIANT) rc = check_variant(t, op, o->against);
    if (rc) return rc;
    if (op == BENCH_MPK && !option_seen(o, "variant")) o->bench_variant = VARIANT_CHEBYSHEV;
    if (op == BENCH_SOLVE && !option_seen(o, "variant"))
        o->bench_variant = o->method == WISP_CG ? VARIANT_PREDICT : VARIANT_PIPELINED;
    if (op == BENCH_SOLVE && has_variant(o, VARIANT_PREDICT) && o->method != WISP_CG)
        return tool_usage(t, "the variant predict is for --method cg alone");
    return against ? check_against(t, op) : EXIT_FINE;
}

/* The first option on the command line that is in a list of words, in `name`; NULL if none is. */
static const char *seen_in(const options *o, const char *list, char name[32])
{
    for (int n; list && sscanf(list, "%31s%n", name, &n) == 1; list += n)
        if (option_seen(o, name)) return name;
    return NULL;
}

/* Options that do not go with the op. */
static int check_op(tool *t, bench_op op)
{
    const options *o = &t->opt;
    const char *name = bench_op_names[op], *seen;
    char word[32];
    if (!(bench_ops[op].is & OP_MATRIX) && o->args > 1) return tool_usage(t, "wisp bench %s takes no MATRIX", name);
    if ((bench_ops[op].is & OP_MATRIX) && o->args < 2) return tool_usage(t, "MATRIX is missing; see wisp bench --help");
    if ((seen = seen_in(o, bench_ops[op].refuses, word)))
        return tool_usage(t, "wisp bench %s takes no --%s", name, seen);
    for (int i = 0; bench_op_names[i]; i++)
        if (i != (int)op && (seen = seen_in(o, bench_ops[i].own, word)))
            return tool_usage(t, "--%s is there for wisp bench %s alone", seen, bench_op_names[i]);
    if (o->method == WISP_LSMR) return tool_usage(t, "--method lsmr is for wisp solve alone");
    if (o->restart && o->method != WISP_GMRES) return tool_usage(t, "--restart is for --method gmres alone");
    for (int i = 0; o->widths[i]; i++) {
        if (op == BENCH_SPMV && o->widths[i] != 1) return tool_usage(t, "wisp bench spmv has width 1; use spmmv");
        if (op == BENCH_TSM && o->widths[i] > 1024) return tool_usage(t, "wisp bench tsm takes widths to 1024");
    }
    if (o->bench_variant == VARIANT_REFERENCE && (o->order || o->format))
        return tool_usage(t, "the reference has its own order and format");
    return EXIT_FINE;
}

/* Options that contradict each other. */
static int check_options(tool *t, bench *b)
{
    options *o = &t->opt;
    int i = 0;
    while (bench_op_names[i] && strcmp(bench_op_names[i], o->arg[0])) i++;
    if (!bench_op_names[i])
        return tool_usage(t, "\"%.40s\" is no operation; expected spmv, spmmv, kpm, mpk, tsm, stream, solve or eig",
                          o->arg[0]);
    b->op = (bench_op)i;
    b->def = &bench_ops[i];
    int rc = check_op(t, b->op);
    if (b->op == BENCH_SOLVE && !o->method) o->method = WISP_CG;
    if (o->method == WISP_GMRES && !o->restart) o->restart = 30;
    if (!rc) rc = check_variants(t, b->op);
    if (!o->repeats) o->repeats = 9;
    return rc;
}

static void set_lists(options *o, bench_op op)
{
    static const int64_t usual[] = {1, 4, 8, 16, 32, 0}, powers_list[] = {1, 2, 4, 8, 16, 0}, columns[] = {64, 200, 0};
    if (!o->widths[0]) memcpy(o->widths, *bench_ops[op].widths ? bench_ops[op].widths : usual, sizeof usual);
    if (op == BENCH_SPMV) o->widths[1] = 0;
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
    if ((b->def->is & OP_SQUARE) && b->src.rows != b->src.cols)
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

/* A case, or its place in the progress bar alone. */
static int run_case(tool *t, bench *b, bench_rows_fn *rows, const bench_case *c, bool optional)
{
    if (!b->counted) {
        b->row_count++;
        return EXIT_FINE;
    }
    const int rc = rows(t, b, c, optional);
    b->row++;
    return rc;
}

/* All variants, orders and formats of a case with one type, width, number of steps at a time, and cache budget. */
static int run_width(tool *t, bench *b, bench_case c)
{
    const options *o = &t->opt;
    const bool all = b->op == BENCH_TSM && !option_seen(o, "variant"),
               optional = o->order == ORDERS || o->format == FORMATS;
    const int first = all ? VARIANT_GRAM : o->bench_variant, last = all ? VARIANT_UPDATE_IN_PLACE : o->bench_variant;
    int rc = EXIT_FINE;
    for (int v = first; v <= last; v++)
        for (int r = first_of(o->order, ORDERS); r <= last_of(o->order, ORDERS); r++)
            for (int f = first_of(o->format, FORMATS); f <= last_of(o->format, FORMATS) && !rc; f++) {
                c.variant = (bench_variant)v;
                c.order = (wisp_order)r;
                c.format = (wisp_format)f;
                rc = run_case(t, b, b->def->rows, &c, optional);
            }
    for (int i = 0; b->def->more && c.width == o->widths[0] && o->columns[i] && !rc; i++) {
        const bench_case d = {
            .op = b->op, .type = c.type, .width = (int)o->columns[i], .powers = 1, .rows = b->src.rows};
        rc = run_case(t, b, b->def->more, &d, false);
    }
    return rc;
}

static int run_cases(tool *t, bench *b)
{
    const options *o = &t->opt;
    int rc = EXIT_FINE;
    for (int i = 0; (o->types[i] || (i == 0 && !b->counted)) && !rc; i++) /* the matrix's type may not be known yet */
        for (int j = 0; o->widths[j] && !rc; j++)
            for (int k = 0; o->powers_list[k] && !rc; k++)
                for (int l = 0; (l == 0 || (o->powers_list[k] > 1 && o->budgets[l])) && !rc; l++) {
                    const wisp_type type = (wisp_type)o->types[i];
                    bench_case c = {.op = b->op,
                                    .type = type,
                                    .width = (int)o->widths[j],
                                    .powers = (int)o->powers_list[k],
                                    .depth = (int)o->depth,
                                    .method = (wisp_method)o->method,
                                    .restart = (int)o->restart,
                                    .rows = o->rows                      ? o->rows
                                            : wisp_type_is_complex(type) ? 2000000
                                                                         : 4000000};
                    if (b->counted) rc = machine_budget(t, &b->machine, o->budgets[l], &c.cache_budget);
                    if (!rc) rc = run_width(t, b, c);
                }
    return rc;
}

/* ---- the run ------------------------------------------------------------------------------------- */

static void print_head(const tool *t, const bench *b)
{
    const wisp_machine *m = &b->machine;
    if (json_array_size(b->machines) > 1) putchar('\n');
    if (*m->device) {
        text_line("device", "%s: %s, %d unit%s", m->device, m->cpu, m->threads, m->threads == 1 ? "" : "s");
        text_line("ceilings", "load %.1f GB/s, from L2 %.1f, copy %.1f, multiply-add %.1f Gflop/s",
                  m->gbs[WISP_LOAD][WISP_MEMORY][1], m->gbs[WISP_LOAD][WISP_L2][1], m->gbs[WISP_COPY][WISP_MEMORY][1],
                  m->fma_gflops[1][1]);
    } else {
        text_line("machine", "%s, %d thread%s, %s", m->cpu, m->threads, m->threads == 1 ? "" : "s", m->isa);
        text_line("ceilings", "load %.1f GB/s, multiply-add %.1f Gflop/s, ZGEMM %.1f, DGEMM %.1f",
                  m->gbs[WISP_LOAD][WISP_MEMORY][1], m->fma_gflops[1][1], b->gemm.zgemm, b->gemm.dgemm);
    }
    if (b->op == BENCH_MPK)
        text_line("cache", "%.4g MB stay for interleaved steps", 1e-6 * (double)wisp_ctx_cache(t->ctx, NULL));
    if (!(b->def->is & OP_MATRIX)) putchar('\n');
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
    int rc = (b->def->is & OP_BOUNDS) || has_variant(&t->opt, VARIANT_CHEBYSHEV) ? find_bounds(t, b) : EXIT_FINE;
    monitor_clear(&t->monitor);
    if (!rc && !t->opt.json && !t->opt.quiet) {
        if (!first) putchar('\n');
        text_line("matrix", "%s", b->matrix);
        putchar('\n');
    }
    if (!rc) rc = run_cases(t, b);
    wisp_src_close(&b->src);
    return rc;
}

/* The ceilings, beside which all rows are set, take more than may be held. */
static int refuse_limit(tool *t, const bench *b)
{
    char needs[TEXT], limit[TEXT];
    return tool_fail(t, "the device's ceilings take %s of its memory, more than --device-mem-limit %s",
                     text_bytes(needs, (double)b->machine.measure_bytes),
                     text_bytes(limit, (double)t->opt.device_mem_limit));
}

/* What runs on the CPU alone is in no relation to a device. */
static int check_device(tool *t, const bench *b)
{
    static const bench_variant host[] = {VARIANT_REFERENCE, VARIANT_GRAM_BLAS, VARIANT_UPDATE_BLAS,
                                         VARIANT_UPDATE_BETA_BLAS, VARIANT_QR_LAPACK};
    for (size_t i = 0; *b->machine.device && i < sizeof host / sizeof *host; i++)
        if (has_variant(&t->opt, host[i]))
            return tool_fail(t, "%s runs on the CPU alone, and the others on the device %s",
                             bench_variant_names[host[i]], b->machine.device);
    if (t->opt.device_mem_limit && b->machine.measure_bytes > t->opt.device_mem_limit) return refuse_limit(t, b);
    return EXIT_FINE;
}

/* All rows with the context's number of threads. */
static int run_threads(tool *t, bench *b)
{
    const options *o = &t->opt;
    const bool stream = !b->def->rows, table = !o->json && !o->quiet;
    unsigned what = (stream ? 0 : WISP_MEASURE_LOADS) | b->def->measures | WISP_MEASURE_FMA;
    int rc = wisp_machine_measure(t->ctx, &b->machine, 0) ? tool_fail_ctx(t) : check_device(t, b);
    if (*b->machine.device) what |= WISP_MEASURE_MEMORY;
    if (!rc && o->args > 1) rc = open_matrix(t, b, 1); /* what is refused is refused at once */
    if (!rc) rc = machine_measure(t, &b->machine, &b->gemm, what);
    if (rc) return rc;
    json_array_append_new(b->machines, machine_json(&b->machine, &b->gemm));
    monitor_clear(&t->monitor);
    if (table) print_head(t, b);
    if (stream) {
        bench_stream_rows(b->rows, &b->machine);
        if (table) bench_stream_table(&b->machine);
    } else if (o->args < 2) {
        rc = run_cases(t, b);
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
                         J("machine", json_incref(machine)), J("rows", json_incref(b->rows)),
                         J_MAYBE(json_array_size(b->machines) > 1, "machines", json_incref(b->machines)),
                         J_MAYBE(json_array_size(b->skipped) > 0, "skipped", json_incref(b->skipped)));
    int rc = o ? EXIT_FINE : tool_fail(t, "out of memory for the results");
    if (!rc && t->opt.json) rc = json_print(t, o);
    if (!rc && t->opt.output) rc = outputs_json(t, o);
    if (!rc && t->opt.plot) rc = bench_plot(t, o, t->opt.plot);
    json_decref(o);
    return rc;
}

int cmd_bench(tool *t)
{
    bench b = {.machines = json_array(), .rows = json_array(), .skipped = json_array()};
    int rc = check_options(t, &b);
    if (!rc) {
        b.any_type = !t->opt.types[0];
        set_lists(&t->opt, b.op);
        if (b.def->rows) run_cases(t, &b);
        b.counted = true;
        rc = run_all(t, &b);
    }
    monitor_clear(&t->monitor);
    if (!rc) rc = write_results(t, &b);
    json_decref(b.machines);
    json_decref(b.rows);
    json_decref(b.skipped);
    return rc;
}
