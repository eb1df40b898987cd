/* The results of wisp evolve: JSON, a summary, files, a picture. */
#include "evolve.h"
#include "../out/out.h"
#include "../out/text.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is left of the norm, as a probability, and how far that may be off, also by the sum of squares and their range;
   not finite: no double holds it. */
static double survival_at(const evolve_results *r, int64_t i) { return r->norm[i] * r->norm[i]; }
static double survival_off(const evolve_results *r, int64_t i)
{
    return (2 * r->norm[i] + r->off[i]) * r->off[i] + sum_rounding(r->type, r->info.rows) * survival_at(r, i) + DBL_MIN;
}

static json_t *absorption_json(const evolve_results *r)
{
    const wisp_bounds *w = &r->e.absorption;
    return JSON_NEW(J("center", w->center), J("halfwidth", w->halfwidth),
                    J("failure_probability", w->failure_probability));
}

static json_t *survival_json(const evolve_results *r, double (*at)(const evolve_results *, int64_t))
{
    json_t *list = json_array();
    for (int64_t i = 0; i < r->done; i++) json_array_append_new(list, json_number(at(r, i)));
    return list;
}

/* How psi(0) came about. */
static const char *start_name(const tool *t)
{
    return t->opt.from ? t->opt.from : t->opt.start ? t->opt.start : t->opt.random ? "random" : "site";
}

/* The file of --states; NULL: there is none. */
static const char *states_of(const tool *t, const evolve_results *r) { return r->no_states ? NULL : t->opt.states; }

static json_t *make_json(tool *t, const evolve_results *r)
{
    json_t *o = json_head(t, t->opt.arg[0]), *density = json_array();
    const expectations *x = &r->x;
    json_t *names = json_array(), *re = json_array(), *im = json_array(), *off = json_array();
    for (int b = 0; b < x->count; b++) {
        json_array_append_new(names, json_words(x->name[b]));
        json_array_append_new(re, json_numbers(x->re + b * x->times, r->done));
        json_array_append_new(im, json_numbers(x->im + b * x->times, r->done));
        json_array_append_new(off, json_numbers(x->off + b * x->times, r->done));
    }
    json_t *drive = json_array();
    for (int i = 0; i < r->d.count; i++) json_array_append_new(drive, json_words(t->opt.drive_list[i]));
    int64_t held, there, limit;
    wisp_ctx_memory(t->ctx, NULL, &held);
    wisp_ctx_device_memory(t->ctx, NULL, &there, &limit);
    for (int64_t w = 0; w < r->watched; w++)
        json_array_append_new(density, json_numbers(r->density + w * r->times, r->done));
    JSON_PUT(o, J("completed", json_boolean(r->done == r->times)), J("rows", r->info.rows), J("nnz", r->info.nnz),
             J("type", wisp_type_name(r->type)),
             J("bounds", json_bounds(&r->e.bounds, (wisp_bounds_method)t->opt.bounds_method)),
             J("hermitian_change", t->hermitian_change), J("start", start_name(t)),
             J_IF(t->opt.site_count, "start_sites", json_wholes(t->opt.sites, t->opt.site_count)),
             J("seed", json_seed(t->opt.seed)), J("tolerance", r->tolerance), J("norm_deviation", r->deviation),
             J("sweeps", r->e.sweeps), J("sequences", r->e.sequences), J("depth", r->e.depth),
             J("cache_budget", r->cache_budget), J("order", text_order(r->info.order)),
             J("format", text_format(r->info.format)), J("threads", wisp_ctx_threads(t->ctx)),
             J("device", wisp_ctx_device(t->ctx)), J("isa", wisp_ctx_isa(t->ctx)), J("memory_bytes", held),
             J_MAYBE(limit > 0, "device_memory_bytes", there), J("checkpoint", checkpoint_json(t)),
             J("resumed", t->opt.resume),
             J("chosen", like_json(t, &r->info, &(like_run){.depth = r->e.depth, .bytes = r->opts.bytes})),
             J("seconds", r->e.seconds), J("gflops", gflops(r->e.flops, r->e.seconds)),
             J("bounds_seconds", r->e.bounds_seconds), J("assemble_seconds", r->assemble_seconds),
             J("units", JSON_NEW(J("time", "1 / unit of the matrix"), J("density", "probability"))),
             J("times", json_numbers(r->time, r->done)), J("norm", json_numbers(r->norm, r->done)),
             J("off", json_numbers(r->off, r->done)),
             J("direction", json_numbers((double[]){r->kind.direction.re, r->kind.direction.im}, 2)),
             J_IF(r->damps || r->absorbs, "log_norm", json_numbers(r->log_norm, r->done)),
             J_IF(r->absorbs, "absorption", absorption_json(r)),
             J_IF(r->absorbs, "survival", survival_json(r, survival_at)),
             J_IF(r->absorbs, "survival_off", survival_json(r, survival_off)), J("states", states_of(t, r)),
             J("from", t->opt.from), J_IF(r->watched, "sites", json_wholes(r->watch, r->watched)),
             J_IF(r->watched, "density", json_incref(density)), J_IF(x->count, "operators", json_incref(names)),
             J_IF(x->count, "expectation", json_incref(re)), J_IF(x->count, "expectation_imag", json_incref(im)),
             J_IF(x->count, "expectation_off", json_incref(off)), J_IF(r->d.count, "drive", json_incref(drive)),
             J_IF(r->d.count, "steps", json_integer(r->e.steps)),
             J_IF(r->d.count, "refused_steps", json_integer(r->e.refused)));
    json_decref(drive), json_decref(names), json_decref(re), json_decref(im), json_decref(off);
    json_decref(density);
    return o;
}

static void expectation_line(const evolve_results *r, int b)
{
    const expectations *x = &r->x;
    const int64_t at = b * x->times + r->done - 1;
    const char *head = b ? "" : "operator";
    char value[TEXT];
    snprintf(value, sizeof value, x->hermitian[b] ? "%.10g" : "%.10g%+.10gi", x->re[at], x->im[at]);
    if (!isfinite(x->re[at]) || !isfinite(x->im[at]))
        text_line(head, "%s at the end is no number that double precision holds", x->name[b]);
    else if (isfinite(x->off[at]))
        text_line(head, "%s of %s at the end, may be off by %.2g", value, x->name[b], x->off[at]);
    else
        text_line(head, "%s of %s at the end (%s)", value, x->name[b],
                  x->hermitian[b] ? "how far off is not known" : "not Hermitian");
}

void evolve_summary(tool *t, const evolve_results *r)
{
    char x[4][TEXT];
    text_matrix(t->opt.arg[0], r->info.rows, r->info.nnz, "");
    source_summary(t);
    text_bounds(&r->e.bounds, (wisp_bounds_method)t->opt.bounds_method);
    if (r->absorbs)
        text_line("absorption", "W of H - iW from %.6g to %.6g", r->e.absorption.center - r->e.absorption.halfwidth,
                  r->e.absorption.center + r->e.absorption.halfwidth);
    if (t->opt.site_count == 1)
        text_line("start", "row %lld, %s", (long long)t->opt.sites[0], wisp_type_name(r->type));
    else
        text_line("start", "%s, %s", t->opt.site_count ? "several rows" : start_name(t), wisp_type_name(r->type));
    text_line("times", "%.6g to %.6g in %s steps, tolerance %.3g", r->time[0], r->time[r->times - 1],
              text_count(x[0], r->times - 1), r->tolerance);
    for (int i = 0; i < r->d.count; i++)
        text_line(i ? "" : "drive", "%s%s", t->opt.drive_list[i], r->d.one[i].second ? ", along a smooth curve" : "");
    if (r->d.count)
        text_line("steps", "%s, %s more were too long; psi may be off by %.2g at the end", text_count(x[0], r->e.steps),
                  text_count(x[1], r->e.refused), r->off[r->done - 1]);
    snprintf(x[1], TEXT, "%s sweeps, depth %d", text_count(x[0], r->e.sweeps), r->e.depth);
    text_run(t, &r->info, x[1]);
    checkpoint_summary(t);
    text_line("time", "%s   (assembly %s, bounds %s, evolution %s)", text_seconds(x[0], wisp_now() - t->started),
              text_seconds(x[1], r->assemble_seconds), text_seconds(x[2], r->e.bounds_seconds),
              text_seconds(x[3], r->e.seconds));
    text_rate(r->e.flops, r->e.seconds);
    if (states_of(t, r)) text_line("states", "%s", t->opt.states);
    if (r->damps)
        text_line("norm", "exp(%.12g) at the end, may be off by a factor of exp(%.2g)", r->log_norm[r->done - 1],
                  r->off[r->done - 1]);
    else if (r->absorbs && isfinite(survival_off(r, r->done - 1)))
        text_line("left", "%.10g of the probability at the end, may be off by %.2g", survival_at(r, r->done - 1),
                  survival_off(r, r->done - 1));
    else if (r->absorbs)
        text_line("left", "exp(%.12g) of the probability at the end, of a norm of %.10g, may be off by %.2g",
                  2 * r->log_norm[r->done - 1], r->norm[r->done - 1], r->off[r->done - 1]);
    else
        text_line("norm", "1 to within %.2g at all times", r->deviation);
    for (int64_t w = 0; w < r->watched && w < 8; w++)
        text_line(w ? "" : "density", "%.6g of row %lld at the end%s", r->density[w * r->times + r->done - 1],
                  (long long)r->watch[w], w == 7 && r->watched > 8 ? ", ..." : "");
    for (int b = 0; b < r->x.count; b++) expectation_line(r, b);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_table(const tool *t, const void *arg, FILE *f)
{
    const evolve_results *r = arg;
    (void)t;
    fprintf(f, "time,%s,psi_off%s", r->damps ? "log_norm" : "norm", r->absorbs ? ",survival,survival_off" : "");
    for (int64_t w = 0; w < r->watched; w++) fprintf(f, ",density_%lld", (long long)r->watch[w]);
    for (int b = 0; b < r->x.count; b++) fprintf(f, ",expectation_%d,imag_%d,off_%d", b, b, b);
    fputc('\n', f);
    for (int64_t i = 0; i < r->done; i++) {
        csv_numbers(f, "", (double[]){r->time[i], r->damps ? r->log_norm[i] : r->norm[i]}, 2);
        csv_numbers(f, ",", &r->off[i], 1);
        if (r->absorbs) csv_numbers(f, ",", (double[]){survival_at(r, i), survival_off(r, i)}, 2);
        for (int64_t w = 0; w < r->watched; w++) csv_numbers(f, ",", &r->density[w * r->times + i], 1);
        for (int64_t b = 0, at = i; b < r->x.count; b++, at += r->x.times) {
            csv_numbers(f, ",", (double[]){r->x.re[at], r->x.im[at]}, 2);
            csv_numbers(f, ",", &r->x.off[at], 1);
        }
        fputc('\n', f);
    }
}

/* A drive for the picture, whose quotes would end the text of a script; it is cut where it is long. */
static void drive_words(const char *drive, bool others, char *text)
{
    enum { LONGEST = 90 };
    const bool is_long = strlen(drive) > LONGEST;
    snprintf(text, TEXT_BAR, "drive %.*s%s%s", LONGEST, drive, is_long ? " ..." : "", others ? ", and others" : "");
    for (char *c = text; *c; c++)
        if (*c == '\'' || (unsigned char)*c < ' ') *c = ' ';
}

/* Densities of rows; without rows, by how much the norm is off. */
static void write_script(const tool *t, const void *arg, FILE *f, const char *path)
{
    enum { MOST_KEYS = 14, MOST_NAMED = 3 };
    const evolve_results *r = arg;
    char line[TEXT];
    plot_begin(f, path, 1, 1);
    if (r->damps)
        snprintf(line, sizeof line, "tolerance %.3g, states of norm 1", r->tolerance);
    else if (r->absorbs)
        snprintf(line, sizeof line, "tolerance %.3g, %.6g left at the end", r->tolerance, survival_at(r, r->done - 1));
    else
        snprintf(line, sizeof line, "tolerance %.3g, norm 1 to within %.2g", r->tolerance, r->deviation);
    char under[MOST_NAMED][TEXT_BAR];
    const char *lines[1 + MOST_NAMED + 1] = {line};
    for (int i = 0; i < r->d.count && i < MOST_NAMED; i++) {
        const bool others = i + 1 == MOST_NAMED && r->d.count > MOST_NAMED;
        drive_words(t->opt.drive_list[i], others, under[i]);
        lines[i + 1] = under[i];
    }
    const int named = r->d.count < MOST_NAMED ? r->d.count : MOST_NAMED;
    plot_title(f, 2 + named, t->opt.arg[0], lines);
    fputs("set xlabel 'time (1 / unit of the matrix)'\nset format x '%g'\nset format y '%g'\n", f);
    const double begin = r->time[0], end = r->time[r->done - 1];
    plot_range(f, 'x', fmin(end, begin), fmax(end, begin));
    fputs("set key outside right top vertical\n", f);
    const bool log_norm = r->damps && !r->watched;
    fprintf(f, "set ylabel '%s'\nset yrange [%s:*]\n$d << EOD\n",
            r->watched   ? "density |ψ|²"
            : log_norm   ? "ln of the norm"
            : r->absorbs ? "probability that is left"
                         : "|norm − 1|",
            log_norm ? "*" : "0");
    for (int64_t i = 0; i < r->done; i++) {
        fprintf(f, "%.10g", r->time[i]);
        if (!r->watched)
            fprintf(f, " %.7g", log_norm ? r->log_norm[i] : r->absorbs ? survival_at(r, i) : fabs(r->norm[i] - 1));
        for (int64_t w = 0; w < r->watched; w++) fprintf(f, " %.7g", r->density[w * r->times + i]);
        fputc('\n', f);
    }
    fputs("EOD\nplot ", f);
    for (int64_t w = 0; w < (r->watched ? r->watched : 1); w++) {
        fprintf(f, "%s$d using 1:%lld with lines lw 1.5 lc rgb '%s'", w ? ", " : "", (long long)w + 2, plot_color(w));
        if (r->watched && r->watched <= MOST_KEYS) fprintf(f, " title 'row %lld'", (long long)r->watch[w]);
    }
    fputc('\n', f);
}

int evolve_write(tool *t, const evolve_results *r)
{
    json_t *object = t->opt.json || t->opt.output ? make_json(t, r) : NULL;
    return outputs_write(t, object, write_table, write_script, r);
}
