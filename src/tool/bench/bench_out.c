/* The results of `wisp bench`, as rows of a table and of JSON. */
#include "bench.h"
#include "../out/out.h"
#include "../out/text.h"
#include <math.h>

/* The rate as a fraction of that of square matrix products. */
static double gemm_fraction(const bench_row *r) { return 1e-9 * r->cost.flops / r->seconds.median / r->gemm_gflops; }

/* Whether the ratio of bytes is told beside that of times. */
static bool has_bytes(const bench_row *r) { return bench_ops[r->what.op].is & OP_OF_BYTES; }

/* Of the filter, counted column by column. */
static bool is_product(const bench_row *r) { return r->what.op == BENCH_EIG && !bench_is_dense(&r->what); }

#define J_QUARTILES(key, q) J(key, (q).median), J(key "_q1", (q).q1), J(key "_q3", (q).q3)

json_t *bench_row_json(const bench_row *r)
{
    const bench_case *c = &r->what;
    const bool mpk = c->op == BENCH_MPK, solve = c->op == BENCH_SOLVE, ratio = *r->against;
    return JSON_NEW(
        J("op", bench_op_names[c->op]), J("matrix", r->matrix), J("type", wisp_type_name(c->type)),
        J("width", c->width), J("powers", c->powers), J("threads", r->threads),
        J("variant", bench_variant_names[c->variant]), J("order", r->order), J("format", r->format),
        J("device", r->device), J("repeats", r->repeats), J("steps", r->steps),
        J_MAYBE(r->matrix, "matrix_bytes", r->matrix_bytes), J_MAYBE(solve, "method", solve_method_name(c->method)),
        J_MAYBE(c->restart, "restart", c->restart), J_MAYBE(mpk, "depth", r->depth),
        J_MAYBE(mpk, "cache_budget", r->cache_budget), J_QUARTILES("seconds", r->seconds), J("flops", r->cost.flops),
        J("gflops", 1e-9 * r->cost.flops / r->seconds.median), J("min_bytes", r->cost.bytes),
        J("effective_gbs", 1e-9 * r->cost.bytes / r->seconds.median), J("load_gbs", r->load.median),
        J_QUARTILES("paired_fraction", r->fraction), J_MAYBE(r->gemm_gflops > 0, "gemm_fraction", gemm_fraction(r)),
        J_MAYBE(r->bytes_per_nonzero > 0, "bytes_per_nonzero", r->bytes_per_nonzero),
        J_MAYBE(r->matrix, "gather_excess", r->gather_excess),
        J_MAYBE(r->core.median > 0, "core_seconds", r->core.median), J("model_seconds", r->model.median),
        J_QUARTILES("measured_over_model", r->of_model), J_MAYBE(solve, "passes", r->passes),
        J_MAYBE(solve, "reductions", r->reductions),
        J_MAYBE(is_product(r), "products_per_second", c->width / r->seconds.median),
        J_MAYBE(has_bytes(r) && ratio, "ratio_of_bytes", r->ratio_of_bytes),
        J_MAYBE(c->op == BENCH_EIG && ratio, "ratio_of_gbs", r->ratio.median / r->ratio_of_bytes),
        J_MAYBE(ratio, "ratio", r->ratio.median), J_MAYBE(ratio, "ratio_q1", r->ratio.q1),
        J_MAYBE(ratio, "ratio_q3", r->ratio.q3), J("limit", r->limit), J_MAYBE(ratio, "against", r->against));
}

static void table_row(const bench_row *r, bool head)
{
    const bench_case *c = &r->what;
    const bool mpk = c->op == BENCH_MPK, solve = c->op == BENCH_SOLVE, interleaved = r->depth > 1;
    const double seconds = r->seconds.median;
    char quartiles[TEXT];
    snprintf(quartiles, sizeof quartiles, "%.4g-%.4g", 1e3 * r->seconds.q1, 1e3 * r->seconds.q3);
#define CELL(width, name, words) text_cell(width, head ? name : NULL, words)
#define NUMBER(width, name, format, v) text_number(width, head ? name : NULL, format, v)
    printf("%-15s", head ? "variant" : bench_variant_names[c->variant]);
    NUMBER(5, "width", "%.0f", c->width);
    if (mpk) NUMBER(6, "powers", "%.0f", c->powers);
    if (mpk) NUMBER(5, "depth", "%.0f", interleaved ? (double)r->depth : NAN);
    if (mpk) NUMBER(9, "cache MB", "%.4g", interleaved ? 1e-6 * (double)r->cache_budget : NAN);
    if (solve) NUMBER(6, "passes", "%.3g", r->passes);
    if (solve) NUMBER(10, "reductions", "%.3g", r->reductions);
    if (c->op == BENCH_EIG) NUMBER(10, "products/s", "%.4g", is_product(r) ? c->width / seconds : NAN);
    CELL(-14, "type", wisp_type_name(c->type));
    if (r->matrix) CELL(-7, "order", r->order);
    if (r->matrix) CELL(-10, "format", r->format);
    NUMBER(9, "ms", "%.4g", 1e3 * seconds);
    CELL(17, "quartiles", quartiles);
    NUMBER(7, "Gflop/s", "%.2f", 1e-9 * r->cost.flops / seconds);
    NUMBER(8, "min. MB", "%.4g", 1e-6 * r->cost.bytes);
    NUMBER(6, "GB/s", "%.1f", 1e-9 * r->cost.bytes / seconds);
    NUMBER(6, "load", "%.1f", r->load.median);
    NUMBER(8, "fraction", "%.2f", r->fraction.median);
    if (r->gemm_gflops > 0) NUMBER(7, "of gemm", "%.2f", gemm_fraction(r));
    NUMBER(9, "model ms", "%.4g", 1e3 * r->model.median);
    NUMBER(8, "of model", "%.2f", r->of_model.median);
    CELL(-6, "limit", r->limit);
}

void bench_table_head(const bench_row *r, bool ratio)
{
    table_row(r, true);
    puts(!ratio ? "" : has_bytes(r) ? "  ratio (quartiles; of bytes)" : "  ratio (quartiles)");
}

void bench_table_row(const bench_row *r)
{
    table_row(r, false);
    if (*r->against) printf("  %.2f (%.2f-%.2f", r->ratio.median, r->ratio.q1, r->ratio.q3);
    if (*r->against && has_bytes(r)) printf("; %.2f", r->ratio_of_bytes);
    puts(*r->against ? ")" : "");
    fflush(stdout);
}

void bench_stream_table(const wisp_machine *m)
{
    if (*m->device) {
        machine_device_table(m);
        return;
    }
    printf("%-12s", "GB/s");
    for (int l = WISP_LEVELS - 1; l >= 0; l--) printf("  %9s, 1  %9s, %d", wisp_level_name(l), "", m->threads);
    putchar('\n');
    for (int s = 0; s < WISP_STREAMS; s++) {
        printf("%-12s", machine_stream[s]);
        for (int l = WISP_LEVELS - 1; l >= 0; l--)
            for (int all = 0; all < 2; all++)
                text_number(12, NULL, "%.1f", m->gbs[s][l][all] > 0 ? m->gbs[s][l][all] : NAN);
        putchar('\n');
    }
}

void bench_stream_rows(json_t *rows, const wisp_machine *m)
{
    for (int l = WISP_LEVELS - 1; l >= 0; l--)
        for (int s = 0; s < WISP_STREAMS; s++)
            for (int all = 0; all < 2; all++) {
                if (!(m->gbs[s][l][all] > 0)) continue;
                json_array_append_new(rows, JSON_NEW(J("op", "stream"), J("variant", machine_stream[s]),
                                                     J("level", wisp_level_name(l)), J("threads", all ? m->threads : 1),
                                                     J("device", *m->device ? m->device : "cpu"),
                                                     J("gbs", m->gbs[s][l][all])));
            }
}
