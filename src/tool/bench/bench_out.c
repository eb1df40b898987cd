/* The results of `wisp bench`, as rows of a table and of JSON. */
#include "bench.h"
#include "../out/out.h"
#include "../out/text.h"

/* The rate as a fraction of that of square matrix products. */
static double gemm_fraction(const bench_row *r) { return 1e-9 * r->cost.flops / r->seconds.median / r->gemm_gflops; }

/* Whether the ratio of bytes is told beside that of times. */
static bool has_bytes(const bench_row *r) { return r->what.op == BENCH_SOLVE || r->what.op == BENCH_EIG; }

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
        J("variant", bench_variant_names[c->variant]), J("order", r->order), J("format", r->format), J("device", "cpu"),
        J("repeats", r->repeats), J("steps", r->steps), J_MAYBE(r->matrix, "matrix_bytes", r->matrix_bytes),
        J_MAYBE(solve, "method", solve_method_name(c->method)), J_MAYBE(c->restart, "restart", c->restart),
        J_MAYBE(mpk, "depth", r->depth), J_MAYBE(mpk, "cache_budget", r->cache_budget),
        J_QUARTILES("seconds", r->seconds), J("flops", r->cost.flops),
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

void bench_table_head(const bench_row *r, bool ratio)
{
    printf("%-15s  %5s  ", "variant", "width");
    if (r->what.op == BENCH_MPK) printf("%6s  %5s  %9s  ", "powers", "depth", "cache MB");
    if (r->what.op == BENCH_SOLVE) printf("%6s  %10s  ", "passes", "reductions");
    if (r->what.op == BENCH_EIG) printf("%10s  ", "products/s");
    printf("%-14s  ", "type");
    if (r->matrix) printf("%-7s  %-10s  ", "order", "format");
    printf("%9s  %17s  %7s  %8s  %6s  %6s  %8s  ", "ms", "quartiles", "Gflop/s", "min. MB", "GB/s", "load", "fraction");
    if (r->gemm_gflops > 0) printf("%7s  ", "of gemm");
    printf("%9s  %8s  %-6s%s\n", "model ms", "of model", "limit",
           ratio ? has_bytes(r) ? "  ratio (quartiles; of bytes)" : "  ratio (quartiles)" : "");
}

void bench_table_row(const bench_row *r)
{
    const bench_case *c = &r->what;
    const double ms = 1e3 * r->seconds.median;
    char quartiles[TEXT];
    snprintf(quartiles, sizeof quartiles, "%.4g-%.4g", 1e3 * r->seconds.q1, 1e3 * r->seconds.q3);
    printf("%-15s  %5d  ", bench_variant_names[c->variant], c->width);
    if (c->op == BENCH_MPK && r->depth > 1)
        printf("%6d  %5d  %9.4g  ", c->powers, r->depth, 1e-6 * (double)r->cache_budget);
    else if (c->op == BENCH_MPK) /* and the steps were not interleaved */
        printf("%6d  %5s  %9s  ", c->powers, "-", "-");
    if (c->op == BENCH_SOLVE) printf("%6.3g  %10.3g  ", r->passes, r->reductions);
    if (is_product(r)) printf("%10.4g  ", c->width / r->seconds.median);
    if (c->op == BENCH_EIG && !is_product(r)) printf("%10s  ", "-");
    printf("%-14s  ", wisp_type_name(c->type));
    if (r->matrix) printf("%-7s  %-10s  ", r->order ? r->order : "-", r->format ? r->format : "-");
    printf("%9.4g  %17s  %7.2f  %8.4g  %6.1f  %6.1f  %8.2f  ", ms, quartiles, 1e-6 * r->cost.flops / ms,
           1e-6 * r->cost.bytes, 1e-6 * r->cost.bytes / ms, r->load.median, r->fraction.median);
    if (r->gemm_gflops > 0) printf("%7.2f  ", gemm_fraction(r));
    printf("%9.4g  %8.2f  %-6s", 1e3 * r->model.median, r->of_model.median, r->limit);
    if (*r->against) printf("  %.2f (%.2f-%.2f", r->ratio.median, r->ratio.q1, r->ratio.q3);
    if (*r->against && has_bytes(r)) printf("; %.2f", r->ratio_of_bytes);
    if (*r->against) putchar(')');
    putchar('\n');
    fflush(stdout);
}

void bench_stream_table(const wisp_machine *m)
{
    printf("%-12s", "GB/s");
    for (int l = WISP_LEVELS - 1; l >= 0; l--) printf("  %9s, 1  %9s, %d", wisp_level_name(l), "", m->threads);
    putchar('\n');
    for (int s = 0; s < WISP_STREAMS; s++) {
        printf("%-12s", machine_stream[s]);
        for (int l = WISP_LEVELS - 1; l >= 0; l--)
            for (int all = 0; all < 2; all++)
                if (m->gbs[s][l][all] > 0)
                    printf("  %12.1f", m->gbs[s][l][all]);
                else
                    printf("  %12s", "-");
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
                                                     J("device", "cpu"), J("gbs", m->gbs[s][l][all])));
            }
}
