/* The results of wisp map: JSON, a summary, a table. */
#include "map.h"
#include "../moments.h"
#include "../names.h"
#include "../out/text.h"
#include "../weights.h"
#include <math.h>

/* ---- JSON ------------------------------------------------------------------------------------------ */

/* A list for each energy. */
static json_t *maps(const map_run *r, const double *of)
{
    json_t *all = json_array();
    for (int e = 0; all && e < r->energies; e++) json_array_append_new(all, json_numbers(of + e * r->sites, r->sites));
    return all;
}

static json_t *coordinate(const map_run *r, int axis)
{
    json_t *all = json_array();
    for (int64_t s = 0; all && s < r->sites; s++) json_array_append_new(all, json_number(r->at[s][axis]));
    return all;
}

static bool is_complete(const map_run *r)
{
    return !r->cut && !r->kept.partial && (r->exact ? !r->asked_sites : r->done == r->kpm.vectors);
}

static void add_run(json_t *o, tool *t, const map_run *r)
{
    int64_t held;
    wisp_ctx_memory(t->ctx, NULL, &held);
    if (t->opt.from) {
        JSON_PUT(o, J("moments_command", r->kept.command), J("moments_version", r->kept.version),
                 J("seconds", r->seconds), J("bounds_seconds", r->bounds_seconds),
                 J("total_seconds", r->total_seconds));
        return;
    }
    JSON_PUT(o, J("order", text_order(r->info.order)), J("format", text_format(r->info.format)),
             J("threads", wisp_ctx_threads(t->ctx)), J("ranks", wisp_ctx_processes(t->ctx)),
             J("halo", json_halo(t, &r->info)), J("valid", json_valid(t, &r->info)), J("weights", weights_json(t)),
             J("device", wisp_ctx_device(t->ctx)), J("devices", json_devices(t)), J("isa", wisp_ctx_isa(t->ctx)),
             J("memory_bytes", plan_most(t, held)), J("checkpoint", checkpoint_json(t)), J("resumed", t->opt.resume),
             J("assemble_seconds", r->assemble_seconds), J("bounds_seconds", r->bounds_seconds),
             J("seconds", r->seconds), J("total_seconds", r->total_seconds));
}

static json_t *make_json(tool *t, const map_run *r)
{
    json_t *first = json_array(), *count = json_array(), *o = json_head(t, r->matrix);
    for (int64_t s = 0; s < r->sites; s++) {
        json_array_append_new(first, json_integer(r->row[r->begin[s]]));
        json_array_append_new(count, json_integer(r->begin[s + 1] - r->begin[s]));
    }
    JSON_PUT(o, J("quantity", t->cmd->name), J("rows", r->info.rows), J("nnz", r->info.nnz),
             J("type", wisp_type_name(r->info.type)), J("bounds", json_bounds(&r->bounds, r->method)),
             J_IF(!t->opt.from, "hermitian_change", t->hermitian_change), J("trace", trace_names[r->exact]),
             J_MAYBE(!r->exact, "vectors", r->done), J_MAYBE(!r->exact, "seed", json_seed(t->opt.seed)),
             J("completed", json_boolean(is_complete(r))), J_MAYBE(!r->exact, "width", r->width),
             J("number_of_moments", r->kpm.moments), J("kernel", damping_names[r->eval.kernel]),
             J_MAYBE(r->eval.kernel == WISP_LORENTZ, "lambda", r->eval.lambda > 0 ? r->eval.lambda : 4),
             J("resolution", map_resolution(r)));
    add_run(o, t, r);
    average_json(o, t, &r->average, r->matrix, r->average.done);
    JSON_PUT(o, J_MAYBE(r->asked_where, "where", r->asked_where),
             J("units", JSON_NEW(J("energies", "units of the matrix"), J("ldos", "1 per energy"))),
             J("energies", json_numbers(r->energy, r->energies)), J("site_row", first), J("site_rows", count),
             J_MAYBE(r->at, "x", coordinate(r, 0)), J_MAYBE(r->at, "y", coordinate(r, 1)),
             J_MAYBE(r->at, "z", coordinate(r, 2)), J("ldos", maps(r, r->value)),
             J_MAYBE(map_of_chance(r), "ldos_error", maps(r, r->square)),
             J_MAYBE(map_of_chance(r), "ldos_low", maps(r, r->low)),
             J_MAYBE(map_of_chance(r), "ldos_high", maps(r, r->high)));
    return o;
}

/* ---- a summary ------------------------------------------------------------------------------------- */

/* The smallest and largest density of a map, their mean, and half of the mean bar. */
static void show_map(const map_run *r, int e)
{
    const double *v = r->value + e * r->sites;
    double least = v[0], most = v[0], mean = 0, bar = 0;
    char name[TEXT], text[TEXT] = "";
    for (int64_t s = 0; s < r->sites; s++) {
        least = fmin(least, v[s]), most = fmax(most, v[s]), mean += v[s] / (double)r->sites;
        bar += (r->high[e * r->sites + s] - r->low[e * r->sites + s]) / 2 / (double)r->sites;
    }
    snprintf(name, sizeof name, "%.6g", r->energy[e]);
    if (map_has_bars(r)) snprintf(text, sizeof text, ", each +- about %.2g", bar);
    text_line(name, "%.4g to %.4g, mean %.4g%s", least, most, mean, text);
}

void map_summary(const tool *t, const map_run *r)
{
    char b[5][TEXT];
    text_matrix(r->matrix, r->info.rows, r->info.nnz, "");
    source_summary(t);
    text_bounds(&r->bounds, r->method);
    text_line("moments", "%s   resolution %.4g", text_count(b[0], r->kpm.moments), map_resolution(r));
    text_kernel(r->eval.kernel, r->eval.lambda);
    if (r->exact)
        text_line("vectors", "unit vectors, one for each row, %s", wisp_type_name(r->info.type));
    else
        text_line("vectors", "%s random, seed %llu, %s", text_count(b[0], r->done), (unsigned long long)t->opt.seed,
                  wisp_type_name(r->info.type));
    average_summary(&r->average, r->matrix, r->average.done);
    text_line("sites", "%s of %s rows%s%s", text_count(b[0], r->sites), text_count(b[1], r->rows),
              r->asked_where ? ", where " : "", r->asked_where ? r->asked_where : "");
    if (r->asked_sites) text_line("", "the first of %s, as the run was stopped", text_count(b[0], r->asked_sites));
    if (t->opt.from) {
        moments_files_line(t, &r->kept);
        text_line("time", "%s", text_seconds(b[0], r->total_seconds));
    } else {
        snprintf(b[0], TEXT, "width %d", r->width);
        text_run(t, &r->info, r->exact ? "" : b[0]);
        weights_summary(t, &r->info);
        checkpoint_summary(t);
        text_line("time", "%s   (assembly %s, bounds %s, map %s)", text_seconds(b[0], r->total_seconds),
                  text_seconds(b[1], r->assemble_seconds), text_seconds(b[2], r->bounds_seconds),
                  text_seconds(b[3], r->seconds));
    }
    text_line("energy", "local density of states (1 per energy)");
    for (int e = 0; e < r->energies; e++) show_map(r, e);
    if (r->average.done > 0)
        text_line("error bar",
                  map_has_bars(r) ? "+-: 95%%, of the realizations, site by site" : "none: one realization");
    else
        text_line("error bar", r->exact          ? "none: exact but for the kernel"
                               : map_has_bars(r) ? "+-: 95%%, of the random vectors, site by site"
                                                 : "none: one vector");
}

/* ---- files ----------------------------------------------------------------------------------------- */

static void write_table(const tool *t, const void *arg, FILE *f)
{
    const map_run *r = arg;
    (void)t;
    fputs(r->at ? "row,x,y,z,energy,ldos,ldos_error,ldos_low,ldos_high\n"
                : "row,energy,ldos,ldos_error,ldos_low,ldos_high\n",
          f);
    for (int e = 0; e < r->energies; e++)
        for (int64_t s = 0; s < r->sites; s++) {
            const int64_t i = e * r->sites + s;
            fprintf(f, "%lld", (long long)r->row[r->begin[s]]);
            if (r->at) csv_numbers(f, ",", r->at[s], 3);
            csv_numbers(f, ",", (double[]){r->energy[e], r->value[i], r->square[i], r->low[i], r->high[i]}, 5);
            fputc('\n', f);
        }
}

int map_write(tool *t, const map_run *r)
{
    json_t *object = t->opt.json || t->opt.output ? make_json(t, r) : NULL;
    return outputs_write(t, object, write_table, map_script, r);
}
