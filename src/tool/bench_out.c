/* The results of `wisp bench`, as rows of a table and of JSON. */
#include "bench.h"

static const char *const op_name[] = {"spmv", "spmmv", "kpm"};
static const char *const level_name[WISP_LEVELS] = {"L1", "L2", "L3", "memory"};
static const char *const stream_name[WISP_STREAMS] = {"load", "copy", "copy_past", "triad", "triad_past", "update"};

json_t *bench_row_json(const tool *t, const bench_row *r)
{
    const bool reference = r->variant == VARIANT_REFERENCE;
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:s, s:i, s:I}", "op", op_name[r->op], "matrix",
                  t->opt.arg[1], "type", wisp_type_name(r->type), "width", r->width, "powers", 1, "threads", r->threads,
                  "variant", bench_variant_name[r->variant], "order", "natural", "format", reference ? "crs" : "sell",
                  "device", "cpu", "repeats", (int)t->opt.repeats, "steps", (json_int_t)r->steps);
    if (!o) return NULL;
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"seconds", r->seconds.median},
                   {"seconds_q1", r->seconds.q1},
                   {"seconds_q3", r->seconds.q3},
                   {"flops", r->cost.flops},
                   {"gflops", 1e-9 * r->cost.flops / r->seconds.median},
                   {"min_bytes", r->cost.bytes},
                   {"effective_gbs", 1e-9 * r->cost.bytes / r->seconds.median},
                   {"load_gbs", r->load.median},
                   {"paired_fraction", r->fraction.median},
                   {"paired_fraction_q1", r->fraction.q1},
                   {"paired_fraction_q3", r->fraction.q3},
                   {"model_seconds", r->model_seconds},
                   {"measured_over_model", r->seconds.median / r->model_seconds},
                   {"ratio", r->ratio.median},
                   {"ratio_q1", r->ratio.q1},
                   {"ratio_q3", r->ratio.q3}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] - (r->has_ratio ? 0 : 3); i++)
        json_object_set_new(o, numbers[i].key, json_number(numbers[i].value));
    json_object_set_new(o, "limit", json_string(r->limit));
    if (r->has_ratio) json_object_set_new(o, "against", json_string(bench_variant_name[t->opt.against]));
    return o;
}

void bench_table_head(const bench_row *r)
{
    printf("%-9s  %5s  %-14s  %9s  %17s  %7s  %9s  %6s  %6s  %8s  %9s  %8s  %-6s%s\n", "variant", "width", "type", "ms",
           "quartiles", "Gflop/s", "min. MB", "GB/s", "load", "fraction", "model ms", "of model", "limit",
           r->has_ratio ? "  ratio (quartiles)" : "");
}

void bench_table_row(const bench_row *r)
{
    const double ms = 1e3 * r->seconds.median;
    printf("%-9s  %5d  %-14s  %9.4g  %8.4g-%-8.4g  %7.2f  %9.4g  %6.1f  %6.1f  %8.2f  %9.4g  %8.2f  %-6s",
           bench_variant_name[r->variant], r->width, wisp_type_name(r->type), ms, 1e3 * r->seconds.q1,
           1e3 * r->seconds.q3, 1e-6 * r->cost.flops / ms, 1e-6 * r->cost.bytes, 1e-6 * r->cost.bytes / ms,
           r->load.median, r->fraction.median, 1e3 * r->model_seconds, r->seconds.median / r->model_seconds, r->limit);
    if (r->has_ratio) printf("  %.2f (%.2f-%.2f)", r->ratio.median, r->ratio.q1, r->ratio.q3);
    putchar('\n');
    fflush(stdout);
}

void bench_stream_table(const wisp_machine *m)
{
    printf("%-12s", "GB/s");
    for (int l = WISP_LEVELS - 1; l >= 0; l--) printf("  %9s, 1  %9s, %d", level_name[l], "", m->threads);
    putchar('\n');
    for (int s = 0; s < WISP_STREAMS; s++) {
        printf("%-12s", stream_name[s]);
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
                                                      stream_name[s], "level", level_name[l], "threads",
                                                      all ? m->threads : 1, "device", "cpu", "gbs", m->gbs[s][l][all]));
            }
}
