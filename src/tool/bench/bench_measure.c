/* Repetitions of one case, or of several in turn, each between two measurements of the load bandwidth. */
#include "bench.h"
#include "../out/out.h"
#include "../out/text.h"
#include <stdlib.h>
#include <string.h>

/* One runner's repetitions. */
enum { SECONDS, LOAD, FRACTION, CORE, MODEL, OF_MODEL, RATIO, SERIES };
typedef struct {
    bench_runner run;
    bench_piece piece;
    double *series[SERIES];
    const char **limit; /* of each repetition */
    int64_t steps;
    int against; /* number of the runner that this one is set in relation to; maybe its own */
} timing;

/* Between two values in proportion. */
static double quantile(const double *v, int n, double q)
{
    const double at = q * (n - 1);
    const int i = (int)at;
    return i + 1 < n ? v[i] + (at - i) * (v[i + 1] - v[i]) : v[n - 1];
}

bench_quartiles bench_quartiles_of(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return (bench_quartiles){quantile(v, n, 0.25), quantile(v, n, 0.5), quantile(v, n, 0.75)};
}

/* ---- timing ------------------------------------------------------------------------------------ */

static double gemm_of(const bench *b, wisp_type type)
{
    const double of_double = wisp_type_is_complex(type) ? b->gemm.zgemm : b->gemm.dgemm;
    return type == WISP_S || type == WISP_C ? 2 * of_double : of_double;
}

/* What the model says of this repetition. */
static void predict(const bench *b, timing *s, int i)
{
    const bench_runner *r = &s->run;
    const bool is_double = r->what.type == WISP_D || r->what.type == WISP_Z, dense = bench_is_dense(&r->what);
    const bench_limits limits = {.load_gbs = s->series[LOAD][i],
                                 .core_seconds = dense ? 0 : s->series[CORE][i],
                                 .gemm_gflops = dense ? gemm_of(b, r->what.type) : 0,
                                 .fma_gflops = b->machine.fma_gflops[is_double][1],
                                 .cache_gbs = bench_cache_gbs(&b->machine, r->working_bytes)};
    const bench_prediction p = bench_predict(r, &limits);
    s->series[MODEL][i] = p.seconds;
    s->series[OF_MODEL][i] = s->series[SECONDS][i] / p.seconds;
    s->limit[i] = p.limit;
}

/* One repetition between two load measurements, the first of which is *load and the second of which replaces it.
   Small sets come back into the caches by a step that is not timed. */
static wisp_status repeat(const bench *b, timing *s, int i, double *load)
{
    wisp_status status = WISP_OK;
    const double before = *load;
    double core = 0;
    if (s->steps > 1) WISP_TRY(bench_step(&s->run));
    WISP_TRY(bench_time(&s->run, s->steps, &s->series[SECONDS][i]));
    WISP_TRY(wisp_load_bandwidth(s->run.ctx, load));
    if (s->piece.steps) WISP_TRY(bench_piece_time(&s->piece, &core));
    s->series[CORE][i] = core;
    s->series[LOAD][i] = 0.5 * (before + *load);
    s->series[FRACTION][i] = 1e-9 * s->run.least_bytes / s->series[SECONDS][i] / s->series[LOAD][i];
    predict(b, s, i);
out:
    return status;
}

/* Another order of the runners, by chance (xorshift, so that it is the same one each time). */
static void shuffle(int *order, int count, uint32_t *seed)
{
    for (int k = count - 1; k > 0; k--) {
        *seed ^= *seed << 13, *seed ^= *seed >> 17, *seed ^= *seed << 5;
        const int other = (int)(*seed % (uint32_t)(k + 1)), held = order[k];
        order[k] = order[other];
        order[other] = held;
    }
}

/* Seconds of a case over those of another one, per column. */
static double ratio_of(const timing *s, const timing *to, int i)
{
    return to->series[SECONDS][i] / to->run.what.width / (s->series[SECONDS][i] / s->run.what.width);
}

/* All repetitions of the runners, in turn. */
static int repeat_all(tool *t, const bench *b, timing *s, int count)
{
    double load;
    wisp_status status = WISP_OK;
    const int repeats = (int)t->opt.repeats;
    int order[BENCH_MOST_CASES];
    uint32_t seed = 1;
    for (int k = 0; k < count; k++) order[k] = k;
    for (int k = 0; k < count; k++) WISP_TRY(bench_find_steps(&s[k].run, measure_limit(10e-3), &s[k].steps));
    WISP_TRY(wisp_load_bandwidth(t->ctx, &load));
    for (int i = 0; i < repeats; i++) {
        WISP_TRY(wisp_ctx_step(t->ctx, "timing", (b->row + (double)i / repeats) / b->row_count, 0));
        if (count > 2) shuffle(order, count, &seed);
        for (int k = 0; k < count; k++) WISP_TRY(repeat(b, &s[order[k]], i, &load));
        for (int k = 0; k < count; k++) s[k].series[RATIO][i] = ratio_of(&s[k], &s[s[k].against], i);
    }
out:
    return status == WISP_OK ? EXIT_FINE : tool_fail_ctx(t);
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* The limit that most repetitions had. */
static const char *usual_limit(const char *const *limit, int n)
{
    const char *best = limit[0];
    int most = 0;
    for (int i = 0; i < n; i++) {
        int same = 0;
        for (int j = 0; j < n; j++) same += !strcmp(limit[i], limit[j]);
        if (same > most) best = limit[i], most = same;
    }
    return best;
}

static void name_against(const tool *t, const bench_case *what, const bench_case *against, char text[32])
{
    const options *o = &t->opt;
    const bool double_too = what->op == BENCH_EIG && what->variant == against->variant;
    snprintf(text, 32, "%s%s",
             o->against_what == AGAINST_ORDER    ? "order="
             : o->against_what == AGAINST_FORMAT ? "format="
                                                 : "",
             o->against_what == AGAINST_ORDER    ? text_order((wisp_order)o->against)
             : o->against_what == AGAINST_FORMAT ? text_format((wisp_format)o->against)
             : o->against_what == AGAINST_PLAIN  ? "plain"
             : o->against_what == AGAINST_SINGLE ? "single"
             : double_too                        ? "double"
                                                 : bench_variant_names[against->variant]);
}

/* `against`: the case that a row is set in relation to, maybe itself, and then there is no ratio. */
static int add_row(tool *t, bench *b, timing *s, const timing *against)
{
    const int n = (int)t->opt.repeats;
    const bench_runner *r = &s->run;
    const bool dense = bench_is_dense(&r->what), reference = r->what.variant == VARIANT_REFERENCE;
    bench_row row = {.what = r->what,
                     .matrix = b->matrix,
                     .order = dense ? NULL : text_order(r->info.order),
                     .format = dense       ? NULL
                               : reference ? "crs"
                                           : text_format(r->info.format),
                     .device = wisp_ctx_device(t->ctx),
                     .threads = wisp_ctx_threads(t->ctx),
                     .repeats = n,
                     .steps = s->steps * r->what.powers,
                     .cost = r->cost,
                     .gather_excess = r->gather_excess,
                     .limit = usual_limit(s->limit, n)};
    row.cost.bytes = r->least_bytes;
    row.matrix_bytes = r->info.bytes;
    row.depth = r->depth;
    row.cache_budget = machine_counted(t, r->what.cache_budget);
    if (b->def->is & OP_OF_GEMM) row.gemm_gflops = gemm_of(b, r->what.type);
    if (!dense && !reference && r->info.nnz > 0) row.bytes_per_nonzero = (double)r->info.bytes / (double)r->info.nnz;
    row.seconds = bench_quartiles_of(s->series[SECONDS], n);
    row.load = bench_quartiles_of(s->series[LOAD], n);
    row.fraction = bench_quartiles_of(s->series[FRACTION], n);
    row.core = bench_quartiles_of(s->series[CORE], n);
    row.model = bench_quartiles_of(s->series[MODEL], n);
    row.of_model = bench_quartiles_of(s->series[OF_MODEL], n);
    row.passes = r->passes;
    row.reductions = r->reductions;
    if (s != against) {
        row.ratio = bench_quartiles_of(s->series[RATIO], n);
        row.ratio_of_bytes = against->run.least_bytes / against->run.what.width / (r->least_bytes / r->what.width);
        name_against(t, &r->what, &against->run.what, row.against);
    }
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) {
        if (json_array_size(b->rows) == 0) bench_table_head(&row, option_seen(&t->opt, "against") || *row.against);
        bench_table_row(&row);
    }
    return json_array_append_new(b->rows, bench_row_json(&row)) ? tool_fail(t, "out of memory for the results")
                                                                : EXIT_FINE;
}

/* A case that the matrix can't have: the note of it. */
static int skip(tool *t, bench *b, const bench_case *what)
{
    char text[512], how[128];
    snprintf(how, sizeof how, "order %s, format %s", text_order(what->order), text_format(what->format));
    snprintf(text, sizeof text, "%s, width %d, %s is left out: %s", wisp_type_name(what->type), what->width,
             bench_is_dense(what) ? bench_variant_names[what->variant] : how, tool_message(t));
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) printf("%s\n", text);
    json_array_append_new(b->skipped, JSON_NEW(J("type", wisp_type_name(what->type)), J("width", what->width),
                                               J("order", text_order(what->order)),
                                               J("format", text_format(what->format)), J("reason", tool_message(t))));
    return EXIT_FINE;
}

/* The runner that number k is set in relation to. */
static int against_of(const bench_case *list, int count, int k)
{
    for (int i = 0; i < k; i++)
        if (list[i].op == BENCH_EIG && list[i].variant == list[k].variant) return i;
    return count - 1;
}

static bool can_skip(wisp_status status) { return status == WISP_ERR_UNSUPPORTED || status == WISP_ERR_HERMITIAN; }

static wisp_status open_timing(const tool *t, const bench *b, timing *s, double *all)
{
    for (int i = 0; i < SERIES; i++) s->series[i] = all + i * t->opt.repeats;
    s->run.center = b->center;
    s->run.halfwidth = b->halfwidth;
    wisp_status status = bench_open(&s->run, t->ctx, &b->src);
    if (status == WISP_OK && s->run.kind->blas)
        status = bench_blas_open(t, &s->run, strcmp(b->gemm.coretype, "default") ? b->gemm.coretype : "");
    if (status != WISP_OK || bench_is_dense(&s->run.what)) return status;
    status = bench_piece_open(&s->piece, &s->run, t->ctx, &b->src, bench_piece_bytes(&b->machine));
    /* A piece need not be what the whole is, nor hold a number that single precision has, as the whole does: then
       without its ceiling. */
    if (can_skip(status) || status == WISP_ERR_NUMERIC) {
        bench_piece_close(&s->piece);
        s->piece.steps = 0;
        status = WISP_OK;
    }
    return status;
}

int bench_measure(tool *t, bench *b, const bench_case *list, int count, bool optional)
{
    const int n = (int)t->opt.repeats;
    timing s[BENCH_MOST_CASES] = {0};
    double *all = NULL;
    const char **limit = NULL;
    int rc = EXIT_FINE, open = 0;
    if (wisp_alloc(t->ctx, &all, BENCH_MOST_CASES * SERIES * (size_t)n, sizeof *all) ||
        wisp_alloc(t->ctx, &limit, BENCH_MOST_CASES * (size_t)n, sizeof *limit))
        rc = tool_fail_ctx(t);
    for (; open < count && !rc; open++) {
        s[open].limit = limit + open * n;
        s[open].run.what = list[open];
        wisp_status status = open_timing(t, b, &s[open], all + open * SERIES * n);
        if (status == WISP_OK) continue;
        if (open > 0 && status == WISP_ERR_IO && list[open].variant == VARIANT_QR_LAPACK) { /* the others go on */
            rc = skip(t, b, &s[open].run.what);
            bench_close(&s[open].run);
            count = open;
            break;
        }
        rc = optional && can_skip(status) ? skip(t, b, &s[open].run.what) : tool_fail_ctx(t);
        goto out;
    }
    for (int k = 0; k < count; k++) s[k].against = against_of(list, count, k);
    if (!rc) rc = repeat_all(t, b, s, count);
    for (int k = 0; k < count && !rc; k++) rc = add_row(t, b, &s[k], &s[s[k].against]);
out:
    for (int k = 0; k < BENCH_MOST_CASES; k++) {
        bench_piece_close(&s[k].piece);
        bench_close(&s[k].run);
    }
    wisp_free(t->ctx, limit);
    wisp_free(t->ctx, all);
    return rc;
}
