/* The results of `wisp bench`, as rows of a table and of JSON. */
#include "bench.h"
#include "../out/out.h"
#include "../out/text.h"

static json_t *text_or_null(const char *s) { return s ? json_words(s) : json_null(); }

/* The rate as a fraction of that of square matrix products. */
static double gemm_fraction(const bench_row *r) { return 1e-9 * r->cost.flops / r->seconds.median / r->gemm_gflops; }

/* Whether the ratio of bytes is told beside that of times. */
static bool has_bytes(const bench_row *r) { return r->what.op == BENCH_SOLVE || r->what.op == BENCH_EIG; }

/* Of the filter, counted column by column. */
static bool is_product(const bench_row *r) { return r->what.op == BENCH_EIG && !bench_is_dense(&r->what); }

json_t *bench_row_json(const bench_row *r)
{
    const bench_case *c = &r->what;
    json_t *o = json_pack("{s:s, s:o, s:s, s:i, s:i, s:i, s:s, s:o, s:o, s:s, s:I, s:I}", "op", bench_op_names[c->op],
                          "matrix", text_or_null(r->matrix), "type", wisp_type_name(c->type), "width", c->width,
                          "powers", c->powers, "threads", r->threads, "variant", bench_variant_names[c->variant],
                          "order", text_or_null(r->order), "format", text_or_null(r->format), "device", "cpu",
                          "repeats", (json_int_t)r->repeats, "steps", (json_int_t)r->steps);
    if (!o) return NULL;
    if (r->matrix) json_object_set_new(o, "matrix_bytes", json_integer(r->matrix_bytes));
    if (c->op == BENCH_SOLVE) json_object_set_new(o, "method", json_string(solve_method_name(c->method)));
    if (c->restart) json_object_set_new(o, "restart", json_integer(c->restart));
    if (c->op == BENCH_MPK) {
        json_object_set_new(o, "depth", json_integer(r->depth));
        json_object_set_new(o, "cache_budget", json_integer(r->cache_budget));
    }
    const struct {
        const char *key;
        double value;
        bool there;
    } numbers[] = {{"seconds", r->seconds.median, true},
                   {"seconds_q1", r->seconds.q1, true},
                   {"seconds_q3", r->seconds.q3, true},
                   {"flops", r->cost.flops, true},
                   {"gflops", 1e-9 * r->cost.flops / r->seconds.median, true},
                   {"min_bytes", r->cost.bytes, true},
                   {"effective_gbs", 1e-9 * r->cost.bytes / r->seconds.median, true},
                   {"load_gbs", r->load.median, true},
                   {"paired_fraction", r->fraction.median, true},
                   {"paired_fraction_q1", r->fraction.q1, true},
                   {"paired_fraction_q3", r->fraction.q3, true},
                   {"gemm_fraction", gemm_fraction(r), r->gemm_gflops > 0},
                   {"bytes_per_nonzero", r->bytes_per_nonzero, r->bytes_per_nonzero > 0},
                   {"gather_excess", r->gather_excess, r->matrix},
                   {"core_seconds", r->core.median, r->core.median > 0},
                   {"model_seconds", r->model.median, true},
                   {"measured_over_model", r->of_model.median, true},
                   {"measured_over_model_q1", r->of_model.q1, true},
                   {"measured_over_model_q3", r->of_model.q3, true},
                   {"passes", r->passes, c->op == BENCH_SOLVE},
                   {"reductions", r->reductions, c->op == BENCH_SOLVE},
                   {"products_per_second", c->width / r->seconds.median, is_product(r)},
                   {"ratio_of_bytes", r->ratio_of_bytes, has_bytes(r) && *r->against},
                   {"ratio_of_gbs", r->ratio.median / r->ratio_of_bytes, c->op == BENCH_EIG && *r->against},
                   {"ratio", r->ratio.median, *r->against},
                   {"ratio_q1", r->ratio.q1, *r->against},
                   {"ratio_q3", r->ratio.q3, *r->against}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].there) json_object_set_new(o, numbers[i].key, json_number(numbers[i].value));
    json_object_set_new(o, "limit", json_string(r->limit));
    if (*r->against) json_object_set_new(o, "against", json_string(r->against));
    return o;
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
                json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:i, s:s, s:f}", "op", "stream", "variant",
                                                      machine_stream[s], "level", wisp_level_name(l), "threads",
                                                      all ? m->threads : 1, "device", "cpu", "gbs", m->gbs[s][l][all]));
            }
}
