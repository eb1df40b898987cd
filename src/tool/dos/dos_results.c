/* The results of dos, ldos, green, count, thermal and trace: as one JSON object, as a summary, as files. */
#include "dos.h"
#include "../moments.h"
#include "../out/text.h"
#include "../plan.h"
#include "../weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One row per curve, or the only one's numbers. */
static json_t *json_curves(const results *r, const double *v, int64_t n)
{
    if (!r->site) return json_numbers(v, n);
    json_t *array = json_array();
    for (int64_t c = 0; array && c < r->curves; c++) json_array_append_new(array, json_numbers(v + c * n, n));
    return array;
}

/* <a|a>, or the real or imaginary part of <b|a>. */
static json_t *weights_of(const results *r, const double *mu)
{
    json_t *array = json_array();
    for (int64_t c = 0; array && c < r->curves; c++)
        json_array_append_new(array, json_number(mu[r->vector[c] * r->m->n]));
    return array;
}

void results_add_curves(json_t *o, const tool *t, const results *r)
{
    const wisp_moments *m = r->m;
    const bool own = !t->opt.from;
    JSON_PUT(o, J_MAYBE(!r->given || r->left_site, "sites", json_wholes(r->site, r->curves)),
             J_MAYBE(r->left_site, "left_sites", json_wholes(r->left_site, r->curves)),
             J_MAYBE(r->given && own, "start", t->opt.start), J_MAYBE(r->given && own, "left", t->opt.left),
             J_MAYBE(r->given && !r->left_site, "columns", json_wholes(r->site, r->curves)),
             J_MAYBE(r->given, "weights", weights_of(r, m->mu)),
             J_MAYBE(r->given && m->imag, "weights_im", weights_of(r, m->imag)));
}

const char *results_curve(char *buf, const results *r, int64_t c)
{
    if (r->left_site)
        snprintf(buf, TEXT, "rows %lld, %lld", (long long)r->left_site[c], (long long)r->site[c]);
    else
        snprintf(buf, TEXT, "%s %lld", r->given ? "vector" : "row", (long long)r->site[c]);
    return buf;
}

const char *results_column(char *buf, const results *r, int64_t c)
{
    if (r->left_site)
        snprintf(buf, TEXT, "%lld_%lld", (long long)r->left_site[c], (long long)r->site[c]);
    else
        snprintf(buf, TEXT, "%s%lld", r->given ? "vector_" : "", (long long)r->site[c]);
    return buf;
}

static json_t *site_moments(const results *r, const double *mu, bool errors)
{
    json_t *array = json_array();
    for (int64_t c = 0; array && c < r->curves; c++) {
        json_t *row = json_array();
        for (int64_t k = 0; row && k < r->n; k++) {
            double error;
            const double mean = realizations_moment(r, mu, r->vector[c], k, &error);
            json_array_append_new(row, json_number(errors ? error : mean));
        }
        json_array_append_new(array, row);
    }
    return array;
}

static void add_run(json_t *o, tool *t, const results *r)
{
    const wisp_moments *m = r->m;
    const bool own = !t->opt.from;
    json_t *seeds = json_array();
    int64_t held, there, limit;
    wisp_ctx_memory(t->ctx, NULL, &held);
    wisp_ctx_device_memory(t->ctx, NULL, &there, &limit);
    if (own) there = plan_most(t, there), limit = plan_most(t, limit);
    for (int i = 0; i < r->runs; i++) json_array_append_new(seeds, json_seed(r->seed[i]));
    JSON_PUT(o, J("version", wisp_version()), J("command", t->command_line), J("quantity", t->cmd->name),
             J("matrix", r->matrix), J_MAYBE(!own, "moments_command", m->command),
             J_MAYBE(!own, "moments_version", m->version), J("completed", json_boolean(!m->partial)),
             J("rows", m->rows), J_IF(!r->near_rows && (own || m->nnz), "nnz", m->nnz),
             J("type", wisp_type_name(m->type)), J_IF(*r->precision, "precision", r->precision),
             J_IF(m->rounding > 0, "rounding", m->rounding), J("bounds", json_bounds(&m->bounds, m->bounds_method)),
             J_IF(own, "hermitian_change", t->hermitian_change), J("trace", trace_names[m->trace]),
             J("vectors", m->vectors), J_IF(moments_have_seed(m), "first_vector", m->first_vector),
             J_IF(r->runs <= 1 && moments_have_seed(m), "seed", json_seed(m->seed)),
             J_MAYBE(r->runs > 1 && !m->realizations, "seeds", json_incref(seeds)),
             J("variant", kpm_variant_names[m->variant]), J("width", m->width), J("depth", m->depth),
             J_IF(own, "cache_budget", r->cache_budget),
             J_IF(own, "partition", text_partition((wisp_partition)t->opt.partition)),
             J_IF(own, "order", text_order(r->stored.order)), J_IF(own, "format", text_format(r->stored.format)),
             J("threads", m->threads), J_IF(own, "ranks", wisp_ctx_processes(t->ctx)),
             J("halo", json_halo(t, &r->stored)), J("valid", json_valid(t, &r->stored)),
             J_IF(own || t->opt.froms == 1, "weights", own ? weights_json(t) : weights_json_of(m->command)),
             J_IF(own, "device", wisp_ctx_device(t->ctx)), J_IF(own, "devices", json_devices(t)),
             J_IF(own, "isa", wisp_ctx_isa(t->ctx)), J_IF(own, "memory_bytes", plan_most(t, held)),
             J_MAYBE(own && limit > 0, "device_memory_bytes", there), J("checkpoint", checkpoint_json(t)),
             J("resumed", t->opt.resume), J_IF(r->more.file, "from", r->more.file),
             J_IF(own, "chosen", like_json(t, &r->stored, &(like_run){.width = m->width, .depth = m->depth})),
             J("seconds", m->seconds), J("gflops", gflops(m->flops, m->seconds)),
             J("bounds_seconds", m->bounds_seconds), J_IF(own, "assemble_seconds", r->assemble_seconds),
             J("evaluate_seconds", r->evaluate_seconds), J("total_seconds", r->total_seconds));
    json_decref(seeds);
    average_json(o, t, &r->average, r->matrix, m->realizations);
}

static void add_data(json_t *o, const tool *t, const results *r)
{
    bool local = r->site != NULL;
    const bool count = t->cmd->bit == CMD_COUNT;
    JSON_PUT(o, J("student95", r->t95), J_MAYBE(count, "count", r->count),
             J_MAYBE(count, "count_error", r->has_error ? r->count_error : NAN),
             J_MAYBE(count, "count_95", longer_half(r->count, r->count_low, r->count_high)),
             J_MAYBE(count, "count_low", r->count_low), J_MAYBE(count, "count_high", r->count_high),
             J_MAYBE(count, "count_smearing", r->count_smearing),
             J("moments", local ? site_moments(r, r->m->mu, false) : json_numbers(r->mean, r->n)),
             J_MAYBE(local && r->m->imag, "moments_im", site_moments(r, r->m->imag, false)),
             J_IF(r->has_error, "moments_error",
                  local ? site_moments(r, r->m->mu, true) : json_numbers(r->mean_error, r->n)));
    if (local) results_add_curves(o, t, r);
    if (r->operator) JSON_PUT(o, J("operator", r->operator));
    if (count) return;
    JSON_PUT(o, J("integral", local ? json_numbers(r->integral, r->curves) : json_number(r->integral[0])),
             J_IF(!t->opt.energy_count, "coarse_grid", json_boolean(r->spacing > r->resolution)),
             J("energies", json_numbers(r->energy, r->points)), J("dos", json_curves(r, r->dos, r->points)),
             J_MAYBE(r->dos_im, "dos_im", json_curves(r, r->dos_im, r->points)),
             J_MAYBE(r->dos_im && r->has_error, "dos_im_error", json_curves(r, r->dos_im_error, r->points)),
             J_IF(r->has_error, "dos_error", json_curves(r, r->error, r->points)),
             J_IF(r->has_error, "dos_low", json_curves(r, r->low, r->points)),
             J_IF(r->has_error, "dos_high", json_curves(r, r->high, r->points)),
             J_IF(!local && r->has_error, "energies_without_bar", r->agreed),
             J_IF(!local && r->has_error, "energies_with_few_states", r->few));
}

const char *results_unit(char *buf, const tool *t, const results *r)
{
    const char *what = r->m->imag && !r->where_rows ? "1" : "states";
    if (t->opt.per > 0)
        snprintf(buf, TEXT_BAR, "%s per energy, over %g", what, r->per);
    else
        snprintf(buf, TEXT_BAR, "%s per energy%s", what, t->opt.per < 0 ? " and row" : "");
    return buf;
}

json_t *results_json(tool *t, const results *r)
{
    char unit[TEXT_BAR];
    json_t *o = json_object(); /* also without it all ranks go on: what follows has a call of all of them */
    add_run(o, t, r);
    overlap_json(o, t, r);
    near_json(o, r);
    if (of_traces(t)) {
        JSON_PUT(o, J("number_of_moments", r->n));
        traces_json(o, t, r);
        return o;
    }
    if (of_green(t)) {
        JSON_PUT(o, J("number_of_moments", r->n));
        green_json(o, t, r);
        return o;
    }
    JSON_PUT(o, J("kernel", damping_names[r->eval.kernel]),
             J_MAYBE(r->eval.kernel == WISP_LORENTZ, "lambda", r->eval.lambda > 0 ? r->eval.lambda : 4),
             J("number_of_moments", r->n), J("resolution", r->resolution),
             J_IF(r->interval_given, "interval", json_numbers(r->interval, 2)),
             J("units", JSON_NEW(J("energy", "units of the matrix"),
                                 J("dos", r->given                  ? "1 per energy"
                                          : t->cmd->bit == CMD_LDOS ? "probability per energy"
                                                                    : results_unit(unit, t, r)))),
             J("per", r->per));
    if (of_spectral(t))
        spectral_json(o, r);
    else
        add_data(o, t, r);
    if (r->where) JSON_PUT(o, J("where", r->where), J_MAYBE(r->where_rows, "where_rows", r->where_rows));
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

static void show_run(tool *t, const results *r)
{
    const wisp_moments *m = r->m;
    char b[TEXT];
    if (t->opt.from) {
        moments_files_line(t, m);
        text_line("time", "%s", text_seconds(b, r->total_seconds));
        return;
    }
    snprintf(b, sizeof b, "%s, width %d, depth %d", kpm_variant_names[m->variant], m->width, m->depth);
    text_run(t, &r->stored, b);
    weights_summary(t, &r->stored);
    more_line(&r->more);
    checkpoint_summary(t);
    more_times(&r->more, m, r->total_seconds, r->assemble_seconds, r->evaluate_seconds);
}

static void show_count(const results *r)
{
    char a[TEXT_BAR];
    text_line("interval", "[%.6g, %.6g]", r->interval[0], r->interval[1]);
    if (r->count_high > r->count_low)
        text_line("count", "%s eigenvalues   (95%% bar of the %s)", results_count(a, r, "+-"),
                  r->m->realizations ? "realizations" : "random vectors");
    else
        text_line("count", "%s eigenvalues   (%s)", results_count(a, r, "+-"),
                  !r->has_error && r->m->realizations ? "one realization: no error bar"
                  : !r->has_error                     ? "one vector: no error bar"
                  : r->m->trace == WISP_TRACE_EXACT   ? "exact trace: no statistical error"
                                                      : "all vectors agree: no error bar");
    text_line("smearing", "%s states within one resolution of an end, which count in part", results_smearing(a, r));
}

static void show_dos_bar(const results *r)
{
    char a[TEXT];
    if (r->m->trace == WISP_TRACE_EXACT)
        text_line("error bar", "none: exact trace");
    else if (isfinite(r->bar))
        text_line("error bar", "%s%%   (half of the median 95%% bar%s)", text_rounded(a, 100 * r->bar, 100 * r->bar),
                  r->m->imag ? " over the largest value" : " of the density of states");
    else
        text_line("error bar", r->m->vectors > 1    ? "none: there are no states in this window"
                               : r->m->realizations ? "none: one realization"
                                                    : "none: one vector");
    if (r->agreed)
        text_line("", "none at %s energies, where all vectors agree: states on single rows, or on very few",
                  text_count(a, r->agreed));
    if (r->few) text_line("", "less sure at %s energies, where few states make up the density", text_count(a, r->few));
}

/* The densities at the energies of --energies, if they are few. */
static void show_densities(const tool *t, const results *r)
{
    enum { MOST = 8 };
    char a[TEXT_BAR], unit[TEXT_BAR], name[TEXT];
    const int64_t all = r->curves * r->points;
    for (int64_t i = 0; i < all && i < MOST; i++) {
        const double e = r->energy[i % r->points];
        if (r->high[i] > r->low[i])
            text_with_bar(a, "+-", r->dos[i], r->low[i], r->high[i], 0);
        else
            text_states(a, r->dos[i]);
        if (r->dos_im && r->site && !realizations_have_bars(r))
            snprintf(a, sizeof a, "%.6g %+.6gi", r->dos[i], r->dos_im[i]);
        if (r->site)
            text_line(i ? "" : "density", "%s at %.6g of %s%s", a, e, results_curve(name, r, i / r->points),
                      i == MOST - 1 && all > MOST ? ", ..." : "");
        else
            text_line(i ? "" : "density", "%s at %.6g%s", a, e, i == MOST - 1 && all > MOST ? ", ..." : "");
    }
    if (!r->site) text_line("", "%s%s", results_unit(unit, t, r), r->has_error && r->t95 > 0 ? "; 95% bars" : "");
}

/* Of rows and vectors: chance is in realizations alone. */
static void show_curves_bar(const results *r)
{
    char n[TEXT];
    if (realizations_have_bars(r))
        text_line("error bar", "+-: 95%%, of %s realizations of disorder", text_count(n, r->m->realizations));
    else if (r->m->realizations == 1)
        text_line("error bar", "none: one realization");
}

/* The integral, and the trace of the operator that it is about: moment 0, with its bar. */
static void show_trace(const results *r)
{
    char a[TEXT_BAR];
    const double half = r->t95 * r->mean_error[0];
    if (r->where_rows)
        text_line("integral", "%.6g of %lld states on these rows", r->integral[0], (long long)r->where_rows);
    else if (half > 0)
        text_line("integral", "%.6g   (about the trace of the operator, %s by moment 0; 95%% bar)", r->integral[0],
                  text_with_bar(a, "+-", r->mean[0], r->mean[0] - half, r->mean[0] + half, 0));
    else
        text_line("integral", "%.6g   (about the trace of the operator, %.6g by moment 0)", r->integral[0], r->mean[0]);
}

static void show_numbers(const tool *t, const results *r)
{
    char a[TEXT], b[TEXT], unit[TEXT_BAR];
    if (t->cmd->bit == CMD_COUNT) {
        show_count(r);
        return;
    }
    if (r->interval_given) text_line("interval", "[%.6g, %.6g]", r->interval[0], r->interval[1]);
    if (of_spectral(t)) {
        spectral_summary(r);
        return;
    }
    text_line("energies", "%s", text_count(a, r->points));
    if (t->opt.energy_count) {
        show_densities(t, r);
        if (r->site)
            show_curves_bar(r);
        else
            show_dos_bar(r);
        return;
    }
    if (r->site) {
        for (int64_t c = 0; c < r->curves && c < 8; c++)
            text_line(c ? "" : "integral", r->given ? "%.10g of %s%s" : "%.6f of %s%s", r->integral[c],
                      results_curve(a, r, c), c == 7 && r->curves > 8 ? ", ..." : "");
        show_curves_bar(r);
        return;
    }
    if (r->m->imag)
        show_trace(r);
    else if (t->opt.per != 0)
        text_line("integral", "%s   (%s)", text_states(a, r->integral[0]), results_unit(unit, t, r));
    else
        text_line("integral", "%s of %s states", text_states(a, r->integral[0]), text_count(b, r->m->rows));
    show_dos_bar(r);
}

/* What all energies together give: the sum rule. */
static void show_weights(const tool *t, const results *r)
{
    enum { MOST = 8 };
    const wisp_moments *m = r->m;
    char a[TEXT];
    for (int64_t c = 0; r->given && !of_spectral(t) && c < r->curves && c < MOST; c++) {
        const int64_t at = r->vector[c] * m->n;
        const char *rest = c == MOST - 1 && r->curves > MOST ? ", ..." : "", *head = c ? "" : "weight";
        if (m->imag)
            text_line(head, "<b|a> = %.10g %+.10gi of %s%s", m->mu[at], m->imag[at], results_curve(a, r, c), rest);
        else
            text_line(head, "<a|a> = %.10g of %s%s", m->mu[at], results_curve(a, r, c), rest);
    }
}

void results_summary(tool *t, const results *r)
{
    const wisp_moments *m = r->m;
    char a[TEXT];
    text_matrix(r->matrix, m->rows, m->nnz, "");
    source_summary(t);
    overlap_summary(t, r);
    near_summary(r);
    text_bounds(&m->bounds, m->bounds_method);
    if (of_traces(t) || of_green(t))
        text_line("moments", "%s", text_count(a, r->n));
    else
        text_line("moments", "%s   resolution %.4g", text_count(a, r->n), r->resolution);
    if (!of_traces(t) && !of_green(t)) text_kernel(r->eval.kernel, r->eval.lambda);
    moments_vectors_line(m, r->runs);
    average_summary(&r->average, r->matrix, m->realizations);
    if (*r->precision) text_line("precision", "%s", r->precision);
    if (r->where && r->where_rows) text_line("where", "%s: %s rows", r->where, text_count(a, r->where_rows));
    if (r->where && !r->where_rows) text_line("where", "%s", r->where); /* a kept run of waves */
    if (r->operator) text_line("operator", "%s", r->operator);
    show_run(t, r);
    show_weights(t, r);
    if (of_traces(t))
        traces_summary(t, r);
    else if (of_green(t))
        green_summary(t, r);
    else
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
    if (of_traces(t)) {
        traces_table(t, arg, f);
        return;
    }
    if (of_green(t)) {
        green_table(t, arg, f);
        return;
    }
    if (of_spectral(t)) {
        spectral_table(r, f);
        return;
    }
    if (t->cmd->bit == CMD_COUNT) {
        fputs("from,to,count,count_error,count_95,count_low,count_high,count_smearing\n", f);
        const double row[] = {r->interval[0],
                              r->interval[1],
                              r->count,
                              r->has_error ? r->count_error : NAN,
                              longer_half(r->count, r->count_low, r->count_high),
                              r->count_low,
                              r->count_high,
                              r->count_smearing};
        csv_numbers(f, "", row, sizeof row / sizeof row[0]);
        fputc('\n', f);
        return;
    }
    const bool bars = realizations_have_bars(r);
    char name[TEXT];
    fputs("energy", f);
    for (int64_t c = 0; r->site && c < r->curves; c++) {
        results_column(name, r, c);
        fprintf(f, r->dos_im ? ",dos_re_%s,dos_im_%s" : ",dos_%s", name, name);
        if (bars) fprintf(f, ",error_%s,low_%s,high_%s", name, name, name);
        if (bars && r->dos_im) fprintf(f, ",error_im_%s", name);
    }
    if (!r->site)
        fprintf(f, ",dos%s,dos_error,dos_95,dos_low,dos_high%s", r->dos_im ? ",dos_im" : "",
                r->dos_im ? ",dos_im_error" : "");
    fputc('\n', f);
    for (int64_t i = 0; i < r->points; i++) {
        csv_numbers(f, "", &r->energy[i], 1);
        for (int64_t c = 0; c < r->curves; c++) {
            const int64_t at = c * r->points + i;
            csv_numbers(f, ",", &r->dos[at], 1);
            if (r->dos_im) csv_numbers(f, ",", &r->dos_im[at], 1);
            if (bars) csv_numbers(f, ",", (double[]){r->error[at], r->low[at], r->high[at]}, 3);
            if (bars && r->dos_im) csv_numbers(f, ",", &r->dos_im_error[at], 1);
        }
        if (!r->site)
            csv_numbers(f, ",",
                        (double[]){r->has_error ? r->error[i] : NAN, longer_half(r->dos[i], r->low[i], r->high[i]),
                                   r->low[i], r->high[i]},
                        4);
        if (!r->site && r->dos_im) csv_numbers(f, ",", (double[]){r->has_error ? r->dos_im_error[i] : NAN}, 1);
        fputc('\n', f);
    }
}
