/* The results of dos, ldos and count: as one JSON object, as a summary, as files. */
#include "dos.h"
#include "../out/text.h"
#include "../plan.h"
#include "../weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double gflops(const wisp_moments *m) { return m->seconds > 0 ? m->flops / m->seconds * 1e-9 : NAN; }

static json_t *json_sites(const results *r)
{
    json_t *array = json_array();
    for (int64_t c = 0; array && c < r->curves; c++) json_array_append_new(array, json_integer(r->site[c]));
    return array;
}

/* One row per curve, or the only one's numbers. */
static json_t *json_curves(const results *r, const double *v, int64_t n)
{
    if (!r->site) return json_numbers(v, n);
    json_t *array = json_array();
    for (int64_t c = 0; array && c < r->curves; c++) json_array_append_new(array, json_numbers(v + c * n, n));
    return array;
}

static json_t *site_moments(const results *r, bool errors)
{
    json_t *array = json_array();
    for (int64_t c = 0; array && c < r->curves; c++) {
        json_t *row = errors ? json_array() : json_numbers(r->m->mu + r->vector[c] * r->m->n, r->n);
        for (int64_t k = 0; row && errors && k < r->n; k++) json_array_append_new(row, json_real(0));
        json_array_append_new(array, row);
    }
    return array;
}

static void add_run(json_t *o, tool *t, const results *r)
{
    const wisp_moments *m = r->m;
    json_object_set_new(o, "version", json_string(wisp_version()));
    json_object_set_new(o, "command", json_words(t->command_line));
    json_object_set_new(o, "quantity", json_string(t->cmd->name));
    json_object_set_new(o, "matrix", json_words(r->matrix));
    if (t->opt.from) {
        json_object_set_new(o, "moments_command", json_words(m->command));
        json_object_set_new(o, "moments_version", json_words(m->version));
    }
    json_object_set_new(o, "completed", json_boolean(!m->partial));
    json_object_set_new(o, "rows", json_integer(m->rows));
    json_object_set_new(o, "nnz", json_integer(m->nnz));
    json_object_set_new(o, "type", json_string(wisp_type_name(m->type)));
    json_object_set_new(o, "precision", *r->precision ? json_words(r->precision) : json_null());
    json_object_set_new(o, "rounding", m->rounding > 0 ? json_number(m->rounding) : json_null());
    json_object_set_new(o, "bounds",
                        json_pack("{s:f, s:f, s:o, s:s}", "center", m->bounds.center, "halfwidth", m->bounds.halfwidth,
                                  "failure_probability", json_number(m->bounds.failure_probability), "method",
                                  bounds_names[m->bounds_method]));
    json_object_set_new(o, "hermitian_change", t->opt.from ? json_null() : json_number(t->hermitian_change));
    json_object_set_new(o, "trace", json_string(trace_names[m->trace]));
    json_object_set_new(o, "vectors", json_integer(m->vectors));
    json_object_set_new(o, "first_vector", m->first_vector < 0 ? json_null() : json_integer(m->first_vector));
    json_object_set_new(o, "seed", r->runs > 1 || m->first_vector < 0 ? json_null() : json_seed(m->seed));
    json_t *seeds = r->runs > 1 ? json_array() : NULL;
    for (int i = 0; seeds && i < r->runs; i++) json_array_append_new(seeds, json_seed(r->seed[i]));
    if (seeds) json_object_set_new(o, "seeds", seeds);
    json_object_set_new(o, "variant", json_string(kpm_variant_names[m->variant]));
    json_object_set_new(o, "width", json_integer(m->width));
    json_object_set_new(o, "depth", json_integer(m->depth));
    json_object_set_new(o, "cache_budget", t->opt.from ? json_null() : json_integer(r->cache_budget));
    json_object_set_new(o, "partition",
                        t->opt.from ? json_null() : json_string(text_partition((wisp_partition)t->opt.partition)));
    json_object_set_new(o, "order", t->opt.from ? json_null() : json_string(text_order(r->stored.order)));
    json_object_set_new(o, "format", t->opt.from ? json_null() : json_string(text_format(r->stored.format)));
    json_object_set_new(o, "threads", json_integer(m->threads));
    json_object_set_new(o, "ranks", t->opt.from ? json_null() : json_integer(wisp_ctx_processes(t->ctx)));
    json_object_set_new(o, "halo", json_halo(t));
    json_object_set_new(o, "valid", json_valid(t));
    json_object_set_new(o, "weights",
                        !t->opt.from        ? weights_json(t)
                        : t->opt.froms == 1 ? weights_json_of(m->command)
                                            : json_null());
    json_object_set_new(o, "device", t->opt.from ? json_null() : json_string(wisp_ctx_device(t->ctx)));
    json_object_set_new(o, "isa", t->opt.from ? json_null() : json_string(wisp_ctx_isa(t->ctx)));
    int64_t held;
    wisp_ctx_memory(t->ctx, NULL, &held);
    json_object_set_new(o, "memory_bytes", t->opt.from ? json_null() : json_integer(plan_most(t, held)));
    json_object_set_new(o, "checkpoint", checkpoint_json(t));
    json_object_set_new(o, "resumed", json_words(t->opt.resume));
    json_object_set_new(o, "seconds", json_number(m->seconds));
    json_object_set_new(o, "gflops", json_number(gflops(m)));
    json_object_set_new(o, "bounds_seconds", json_number(m->bounds_seconds));
    json_object_set_new(o, "assemble_seconds", t->opt.from ? json_null() : json_number(r->assemble_seconds));
    json_object_set_new(o, "evaluate_seconds", json_number(r->evaluate_seconds));
    json_object_set_new(o, "total_seconds", json_number(r->total_seconds));
}

static void add_data(json_t *o, const tool *t, const results *r)
{
    bool local = r->site != NULL;
    json_object_set_new(o, "student95", json_number(r->t95));
    if (t->cmd->bit == CMD_COUNT) {
        json_object_set_new(o, "count", json_number(r->count));
        json_object_set_new(o, "count_error", json_number(r->has_error ? r->count_error : NAN));
        json_object_set_new(o, "count_95", json_number(longer_half(r->count, r->count_low, r->count_high)));
        json_object_set_new(o, "count_low", json_number(r->count_low));
        json_object_set_new(o, "count_high", json_number(r->count_high));
        json_object_set_new(o, "count_smearing", json_number(r->count_smearing));
    }
    if (local) json_object_set_new(o, "sites", json_sites(r));
    json_object_set_new(o, "moments", local ? site_moments(r, false) : json_numbers(r->mean, r->n));
    json_object_set_new(o, "moments_error",
                        !r->has_error ? json_null()
                        : local       ? site_moments(r, true)
                                      : json_numbers(r->mean_error, r->n));
    if (t->cmd->bit == CMD_COUNT) return;
    json_object_set_new(o, "integral", local ? json_numbers(r->integral, r->curves) : json_number(r->integral[0]));
    json_object_set_new(o, "coarse_grid", json_boolean(r->spacing > r->resolution));
    json_object_set_new(o, "energies", json_numbers(r->energy, r->points));
    json_object_set_new(o, "dos", json_curves(r, r->dos, r->points));
    json_object_set_new(o, "dos_error", r->has_error ? json_curves(r, r->error, r->points) : json_null());
    json_object_set_new(o, "dos_low", r->has_error ? json_curves(r, r->low, r->points) : json_null());
    json_object_set_new(o, "dos_high", r->has_error ? json_curves(r, r->high, r->points) : json_null());
    json_object_set_new(o, "energies_without_bar", local || !r->has_error ? json_null() : json_integer(r->agreed));
    json_object_set_new(o, "energies_with_few_states", local || !r->has_error ? json_null() : json_integer(r->few));
}

json_t *results_json(tool *t, const results *r)
{
    json_t *o = json_object(); /* also without it all ranks go on: what follows has a call of all of them */
    add_run(o, t, r);
    json_object_set_new(o, "kernel", json_string(damping_names[r->eval.kernel]));
    if (r->eval.kernel == WISP_LORENTZ)
        json_object_set_new(o, "lambda", json_real(r->eval.lambda > 0 ? r->eval.lambda : 4));
    json_object_set_new(o, "number_of_moments", json_integer(r->n));
    json_object_set_new(o, "resolution", json_number(r->resolution));
    json_object_set_new(o, "interval", r->interval_given ? json_numbers(r->interval, 2) : json_null());
    json_object_set_new(o, "units",
                        json_pack("{s:s, s:s}", "energy", "units of the matrix", "dos",
                                  t->cmd->bit == CMD_LDOS ? "probability per energy" : "states per energy"));
    add_data(o, t, r);
    return o;
}

/* ---- the summary for a reader ---- */

static const double least_smearing = 0.01; /* less is not told */

const char *results_smearing(char *buf, const results *r)
{
    if (r->count_smearing < least_smearing)
        snprintf(buf, TEXT, "less than %g", least_smearing);
    else
        text_rounded(buf, r->count_smearing, r->count_smearing);
    return buf;
}

const char *results_count(char *buf, const results *r, const char *sign)
{
    if (r->count_high > r->count_low)
        return text_with_bar(buf, sign, r->count, r->count_low, r->count_high, fmax(r->count_smearing, least_smearing));
    return text_rounded(buf, r->count, fmax(r->count_smearing, least_smearing));
}

static void show_bounds(const wisp_moments *m)
{
    const wisp_bounds *b = &m->bounds;
    double p = b->failure_probability;
    char how[TEXT] = "given";
    if (m->bounds_method == WISP_BOUNDS_GERSHGORIN) snprintf(how, sizeof how, "Gershgorin, certain");
    if (m->bounds_method == WISP_BOUNDS_LANCZOS) {
        snprintf(how, sizeof how, "Lanczos");
        if (p > 0) { /* rounded up to one digit */
            double power = floor(log10(p)), digit = ceil(p / pow(10, power) - 1e-6);
            if (digit > 9.5) digit = 1, power++;
            snprintf(how, sizeof how, "Lanczos, fails with probability < %.0fe%.0f", digit, power);
        } else if (p == 0) {
            snprintf(how, sizeof how, "Gershgorin, certain (Lanczos is no tighter)");
        }
    }
    text_line("bounds", "[%.6g, %.6g]   %s", b->center - b->halfwidth, b->center + b->halfwidth, how);
}

static void show_run(tool *t, const results *r)
{
    const wisp_moments *m = r->m;
    char b[5][TEXT];
    if (t->opt.from) {
        text_line("moments of", "%s   (wisp %s)", t->opt.from, m->version);
        for (int i = 1; i < t->opt.froms; i++) text_line("", "%s", t->opt.from_list[i]);
        if (t->opt.froms == 1) weights_summary_of(m->command);
        text_line("time", "%s", text_seconds(b[0], r->total_seconds));
        return;
    }
    text_line("run", "%s, width %d, depth %d, %s, %s, order %s, format %s", kpm_variant_names[m->variant], m->width,
              m->depth, text_team(b[0], wisp_ctx_processes(t->ctx), m->threads), wisp_ctx_isa(t->ctx),
              text_order(r->stored.order), text_format(r->stored.format));
    weights_summary(t);
    checkpoint_summary(t);
    text_line("time", "%s   (assembly %s, bounds %s, moments %s, evaluation %s)", text_seconds(b[0], r->total_seconds),
              text_seconds(b[1], r->assemble_seconds), text_seconds(b[2], m->bounds_seconds),
              text_seconds(b[3], m->seconds), text_seconds(b[4], r->evaluate_seconds));
    if (isfinite(gflops(m))) text_line("rate", "%.3g Gflop/s", gflops(m));
}

static void show_count(const results *r)
{
    char a[TEXT_BAR];
    text_line("interval", "[%.6g, %.6g]", r->interval[0], r->interval[1]);
    if (r->count_high > r->count_low)
        text_line("count", "%s eigenvalues   (95%% bar of the random vectors)", results_count(a, r, "+-"));
    else
        text_line("count", "%s eigenvalues   (%s)", results_count(a, r, "+-"),
                  !r->has_error                     ? "one vector: no error bar"
                  : r->m->trace == WISP_TRACE_EXACT ? "exact trace: no statistical error"
                                                    : "all vectors agree: no error bar");
    text_line("smearing", "%s states within one resolution of an end, which count in part", results_smearing(a, r));
}

static void show_dos_bar(const results *r)
{
    char a[TEXT];
    if (r->m->trace == WISP_TRACE_EXACT)
        text_line("error bar", "none: exact trace");
    else if (isfinite(r->bar))
        text_line("error bar", "%s%%   (half of the median 95%% bar of the density of states)",
                  text_rounded(a, 100 * r->bar, 100 * r->bar));
    else
        text_line("error bar", r->m->vectors > 1 ? "none: there are no states in this window" : "none: one vector");
    if (r->agreed)
        text_line("", "none at %s energies, where all vectors agree: states on single rows, or on very few",
                  text_count(a, r->agreed));
    if (r->few) text_line("", "less sure at %s energies, where few states make up the density", text_count(a, r->few));
}

static void show_numbers(const tool *t, const results *r)
{
    char a[TEXT], b[TEXT];
    if (t->cmd->bit == CMD_COUNT) {
        show_count(r);
        return;
    }
    if (r->interval_given) text_line("interval", "[%.6g, %.6g]", r->interval[0], r->interval[1]);
    text_line("energies", "%s", text_count(a, r->points));
    if (r->site) {
        for (int64_t c = 0; c < r->curves && c < 8; c++)
            text_line(c ? "" : "integral", "%.6f of row %lld%s", r->integral[c], (long long)r->site[c],
                      c == 7 && r->curves > 8 ? ", ..." : "");
        return;
    }
    text_line("integral", "%s of %s states", text_states(a, r->integral[0]), text_count(b, r->m->rows));
    show_dos_bar(r);
}

void results_summary(tool *t, const results *r)
{
    const wisp_moments *m = r->m;
    char a[TEXT], b[TEXT];
    text_line("matrix", "%s", r->matrix);
    text_line("rows", "%s   nonzeros %s", text_count(a, m->rows), text_count(b, m->nnz));
    source_summary(t);
    show_bounds(m);
    text_line("moments", "%s   resolution %.4g", text_count(a, r->n), r->resolution);
    if (r->eval.kernel == WISP_LORENTZ)
        text_line("kernel", "lorentz, lambda %.4g", r->eval.lambda > 0 ? r->eval.lambda : 4);
    else
        text_line("kernel", "%s", damping_names[r->eval.kernel]);
    if (r->runs > 1)
        text_line("vectors", "%s random of %d runs, %s", text_count(a, m->vectors), r->runs, wisp_type_name(m->type));
    else if (m->first_vector < 0)
        text_line("vectors", "%s random of several runs, %s", text_count(a, m->vectors), wisp_type_name(m->type));
    else if (m->trace == WISP_TRACE_RANDOM)
        text_line("vectors", "%s random, seed %llu, %s", text_count(a, m->vectors), (unsigned long long)m->seed,
                  wisp_type_name(m->type));
    else
        text_line("vectors", "%s, %s", m->trace == WISP_TRACE_EXACT ? "exact trace" : "unit vectors of the chosen rows",
                  wisp_type_name(m->type));
    if (*r->precision) text_line("precision", "%s", r->precision);
    show_run(t, r);
    show_numbers(t, r);
}

int results_write(tool *t, const results *r)
{
    json_t *object = t->opt.json || t->opt.output ? results_json(t, r) : NULL;
    return outputs_write(t, object, results_table, results_script, r);
}

void results_table(const tool *t, const void *arg, FILE *f)
{
    const results *r = arg;
    if (t->cmd->bit == CMD_COUNT) {
        fputs("from,to,count,count_error,count_95,count_low,count_high,count_smearing\n", f);
        csv_field(f, "", r->interval[0]);
        csv_field(f, ",", r->interval[1]);
        csv_field(f, ",", r->count);
        csv_field(f, ",", r->has_error ? r->count_error : NAN);
        csv_field(f, ",", longer_half(r->count, r->count_low, r->count_high));
        csv_field(f, ",", r->count_low);
        csv_field(f, ",", r->count_high);
        csv_field(f, ",", r->count_smearing);
        fputc('\n', f);
        return;
    }
    fputs("energy", f);
    if (r->site)
        for (int64_t c = 0; c < r->curves; c++) fprintf(f, ",dos_%lld", (long long)r->site[c]);
    else
        fputs(",dos,dos_error,dos_95,dos_low,dos_high", f);
    fputc('\n', f);
    for (int64_t i = 0; i < r->points; i++) {
        csv_field(f, "", r->energy[i]);
        for (int64_t c = 0; c < r->curves; c++) csv_field(f, ",", r->dos[c * r->points + i]);
        if (!r->site) {
            csv_field(f, ",", r->has_error ? r->error[i] : NAN);
            csv_field(f, ",", longer_half(r->dos[i], r->low[i], r->high[i]));
            csv_field(f, ",", r->low[i]);
            csv_field(f, ",", r->high[i]);
        }
        fputc('\n', f);
    }
}
