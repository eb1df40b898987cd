/* wisp bench: how fast an op is, and how far from what the machine allows at that moment. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {"spmv", "spmmv", "kpm", "stream", NULL};
enum { STREAM = 3 };

typedef struct {
    bench_op op;
    wisp_machine machine;
    gemm_rates gemm;
    wisp_src src;
    json_t *rows;
    int row_count, row;
} bench;

/* Options that contradict each other; the number of the op in *op. */
static int check_options(tool *t, int *op)
{
    options *o = &t->opt;
    for (*op = 0; ops[*op] && strcmp(ops[*op], o->arg[0]);) ++*op;
    if (!ops[*op]) return tool_usage(t, "\"%.40s\" is no operation; expected spmv, spmmv, kpm or stream", o->arg[0]);
    if (*op == STREAM && o->args > 1) return tool_usage(t, "wisp bench stream takes no MATRIX");
    if (*op != STREAM && o->args < 2) return tool_usage(t, "MATRIX is missing; see wisp bench --help");
    if (*op == STREAM &&
        (o->widths[0] || o->types[0] || option_seen(o, "variant") || option_seen(o, "against") || o->repeats))
        return tool_usage(t, "wisp bench stream takes no --widths, --types, --variant, --against or --repeats");
    if (*op != BENCH_KPM && *op != STREAM && (o->bench_variant || option_seen(o, "against")))
        return tool_usage(t, "other variants are there for wisp bench kpm alone");
    if (option_seen(o, "against") && o->against == o->bench_variant)
        return tool_usage(t, "--against names the variant itself");
    for (int i = 0; *op == BENCH_SPMV && o->widths[i]; i++)
        if (o->widths[i] != 1) return tool_usage(t, "wisp bench spmv has width 1; use spmmv");
    if (o->output && !has_extension(o->output, "json"))
        return tool_usage(t, "--output %s: the name must end in .json", o->output);
    if (!o->repeats) o->repeats = 9;
    return EXIT_FINE;
}

static void set_widths(options *o, bench_op op)
{
    static const int64_t usual[] = {1, 4, 8, 16, 32, 0};
    if (o->widths[0]) return;
    memcpy(o->widths, usual, sizeof usual);
    if (op == BENCH_SPMV) o->widths[1] = 0;
}

/* ---- the model --------------------------------------------------------------------------------- */

/* The slower of the traffic and the arithmetic. The traffic is that of the level which holds matrix and blocks. */
static void set_model(const bench *b, const bench_runner *r, bench_row *row)
{
    static const char *const name[WISP_LEVELS] = {"L1", "L2", "L3", "memory"};
    const wisp_machine *m = &b->machine;
    const bool is_double = r->type == WISP_D || r->type == WISP_Z;
    int level = WISP_MEMORY;
    for (int l = WISP_L3; l >= WISP_L2; l--) {
        const int sharing = m->cache_cores[l] > 0 ? m->cache_cores[l] : 1;
        const double caches = (double)((m->threads + sharing - 1) / sharing);
        if (m->gbs[WISP_LOAD][l][1] > 0 && r->working_bytes < 0.8 * caches * (double)m->cache_bytes[l]) level = l;
    }
    const double gbs = level == WISP_MEMORY ? row->load.median : m->gbs[WISP_LOAD][level][1];
    const double traffic = 1e-9 * r->cost.bytes / gbs, fma = 1e-9 * r->cost.flops / m->fma_gflops[is_double][1];
    row->model_seconds = traffic > fma ? traffic : fma;
    row->limit = traffic > fma ? name[level] : "fma";
}

/* ---- timing ------------------------------------------------------------------------------------ */

/* Series of one runner's repetitions. */
typedef struct {
    double *seconds, *load, *fraction;
    int64_t steps;
} series;

/* Steps that take some milliseconds together. */
static int find_steps(tool *t, bench_runner *r, int64_t *steps)
{
    const double wanted = 10e-3;
    double start = tool_now();
    if (bench_step(r)) return tool_fail_ctx(t); /* touches everything once */
    double seconds = tool_now() - start;
    for (*steps = 1; seconds < wanted && *steps < 1 << 20; *steps *= 2) {
        start = tool_now();
        for (int64_t i = 0; i < *steps; i++)
            if (bench_step(r)) return tool_fail_ctx(t);
        seconds = tool_now() - start;
        if (seconds >= wanted) break;
    }
    return EXIT_FINE;
}

/* One repetition between two load measurements, the first of which is *load and the second of which replaces it.
   Small sets come back into the caches by a step that is not timed. */
static int repeat(tool *t, bench_runner *r, series *s, int i, double *load)
{
    if (s->steps > 1 && bench_step(r)) return tool_fail_ctx(t);
    double before = *load, start = tool_now();
    for (int64_t k = 0; k < s->steps; k++)
        if (bench_step(r)) return tool_fail_ctx(t);
    s->seconds[i] = (tool_now() - start) / (double)s->steps;
    if (wisp_load_bandwidth(t->ctx, load)) return tool_fail_ctx(t);
    s->load[i] = 0.5 * (before + *load);
    s->fraction[i] = 1e-9 * r->cost.bytes / s->seconds[i] / s->load[i];
    return EXIT_FINE;
}

/* All repetitions of the runners, in turn. */
static int measure(tool *t, bench *b, bench_runner *r, series *s, int count)
{
    double load;
    int rc = EXIT_FINE;
    const int repeats = (int)t->opt.repeats;
    for (int k = 0; k < count && !rc; k++) rc = find_steps(t, &r[k], &s[k].steps);
    if (!rc && wisp_load_bandwidth(t->ctx, &load)) rc = tool_fail_ctx(t);
    for (int i = 0; i < repeats && !rc; i++) {
        const double done = (b->row + (double)i / repeats) / b->row_count;
        if (wisp_ctx_step(t->ctx, "timing", done, 0)) rc = tool_fail_ctx(t);
        for (int k = 0; k < count && !rc; k++) rc = repeat(t, &r[k], &s[k], i, &load);
    }
    return rc;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static int add_row(tool *t, bench *b, const bench_runner *r, series *s, double *ratio)
{
    const int n = (int)t->opt.repeats;
    bench_row row = {.op = r->op,
                     .variant = r->variant,
                     .type = r->type,
                     .width = r->width,
                     .threads = wisp_ctx_threads(t->ctx),
                     .steps = s->steps,
                     .cost = r->cost,
                     .has_ratio = ratio != NULL};
    if (ratio) row.ratio = bench_quartiles_of(ratio, n);
    row.seconds = bench_quartiles_of(s->seconds, n);
    row.load = bench_quartiles_of(s->load, n);
    row.fraction = bench_quartiles_of(s->fraction, n);
    set_model(b, r, &row);
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) {
        if (json_array_size(b->rows) == 0) bench_table_head(&row);
        bench_table_row(&row);
    }
    return json_array_append_new(b->rows, bench_row_json(t, &row)) ? tool_fail(t, "out of memory for the results")
                                                                   : EXIT_FINE;
}

/* The rows of one type and width: of the variant, and of the one it is compared with. */
static int run_rows(tool *t, bench *b, wisp_type type, int width)
{
    const int count = option_seen(&t->opt, "against") ? 2 : 1, n = (int)t->opt.repeats;
    bench_runner r[2] = {{.op = b->op, .variant = (bench_variant)t->opt.bench_variant, .type = type, .width = width},
                         {.op = b->op, .variant = (bench_variant)t->opt.against, .type = type, .width = width}};
    series s[2];
    double *all;
    if (wisp_alloc(t->ctx, &all, 7 * (size_t)n, sizeof *all)) return tool_fail_ctx(t);
    int rc = EXIT_FINE;
    for (int k = 0; k < count && !rc; k++) {
        double *own = all + (1 + 3 * k) * n;
        s[k] = (series){own, own + n, own + 2 * n, 1};
        rc = bench_open(t, &r[k], &b->src);
    }
    if (!rc) rc = measure(t, b, r, s, count);
    for (int i = 0; i < n && !rc && count > 1; i++) all[i] = s[1].seconds[i] / s[0].seconds[i];
    for (int k = 0; k < count && !rc; k++) rc = add_row(t, b, &r[k], &s[k], k == 0 && count > 1 ? all : NULL);
    for (int k = 0; k < 2; k++) bench_close(&r[k]);
    wisp_free(t->ctx, all);
    return rc;
}

static int open_source(tool *t, bench *b)
{
    options *o = &t->opt;
    if (wisp_src_open(&b->src, t->ctx, o->arg[1])) return tool_fail_ctx(t);
    set_widths(o, b->op);
    if (!o->types[0]) o->types[0] = b->src.type;
    int rc = bench_check(t, &b->src, b->op, (bench_variant)o->bench_variant);
    if (!rc && option_seen(o, "against")) rc = bench_check(t, &b->src, b->op, (bench_variant)o->against);
    return rc;
}

static int run_all(tool *t, bench *b)
{
    const options *o = &t->opt;
    for (int i = 0; o->types[i]; i++)
        for (int j = 0; o->widths[j]; j++) b->row_count++;
    int rc = EXIT_FINE;
    for (int i = 0; o->types[i] && !rc; i++)
        for (int j = 0; o->widths[j] && !rc; j++, b->row++)
            rc = run_rows(t, b, (wisp_type)o->types[i], (int)o->widths[j]);
    return rc;
}

static void print_head(const tool *t, const bench *b)
{
    const wisp_machine *m = &b->machine;
    text_line("machine", "%s, %d thread%s, %s", m->cpu, m->threads, m->threads == 1 ? "" : "s", m->isa);
    text_line("ceilings", "load %.1f GB/s, multiply-add %.1f Gflop/s, ZGEMM %.1f, DGEMM %.1f",
              m->gbs[WISP_LOAD][WISP_MEMORY][1], m->fma_gflops[1][1], b->gemm.zgemm, b->gemm.dgemm);
    if (t->opt.args > 1) text_line("matrix", "%s", t->opt.arg[1]);
    putchar('\n');
}

static int write_results(tool *t, const bench *b)
{
    json_t *o = json_pack("{s:s, s:s, s:o, s:O}", "version", wisp_version(), "command", t->command_line, "machine",
                          machine_json(&b->machine, &b->gemm), "rows", b->rows);
    int rc = o ? EXIT_FINE : tool_fail(t, "out of memory for the results");
    if (!rc && t->opt.json) rc = json_print(t, o);
    if (!rc && t->opt.output) {
        char *text = json_text(o);
        rc = text ? outfile_write(t, t->opt.output, text, strlen(text)) : tool_fail(t, "out of memory for the results");
        free(text);
    }
    json_decref(o);
    return rc;
}

int cmd_bench(tool *t)
{
    bench b = {.rows = json_array()};
    int op, rc = check_options(t, &op);
    const unsigned what = op == STREAM ? WISP_MEASURE_MEMORY | WISP_MEASURE_CACHES : WISP_MEASURE_LOADS;
    if (!rc && t->opt.output) rc = outfile_check(t, t->opt.output);
    if (!rc) rc = tool_start(t);
    b.op = (bench_op)op;
    if (!rc && op != STREAM) rc = open_source(t, &b);
    if (!rc) rc = machine_measure(t, &b.machine, &b.gemm, what | WISP_MEASURE_FMA);
    if (rc) goto out;
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) print_head(t, &b);
    b.op = (bench_op)op;
    if (op != STREAM) {
        rc = run_all(t, &b);
    } else {
        bench_stream_rows(b.rows, &b.machine);
        if (!t->opt.json && !t->opt.quiet) bench_stream_table(&b.machine);
    }
    monitor_clear(&t->monitor);
    if (!rc) rc = write_results(t, &b);
out:
    wisp_src_close(&b.src);
    json_decref(b.rows);
    return rc;
}
