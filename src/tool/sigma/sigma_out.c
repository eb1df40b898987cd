/* The results of wisp sigma: JSON, a summary, a table. */
#include "sigma.h"
#include "../moments.h"
#include "../names.h"
#include "../out/text.h"
#include "../weights.h"
#include <math.h>

/* What the conductivity is a function of. */
static const char *sigma_over(const sigma_results *r) { return r->optical ? "omega" : "mu"; }

static bool has_bar(const sigma_results *r) { return r->m.trace == WISP_TRACE_RANDOM && r->m.vectors > 1; }

const char *sigma_name(char *buf, const sigma_results *r)
{
    snprintf(buf, TEXT, r->direction < 0 ? "sigma" : "sigma_%s", r->direction < 0 ? "" : direction_names[r->direction]);
    return buf;
}

const char *sigma_formula(const sigma_results *r) { return r->eval.formula == WISP_GREENWOOD ? "Greenwood" : "Bastin"; }

const char *sigma_unit(const sigma_results *r)
{
    static const char *const of[] = {NULL, "e^2/h, times a length", "e^2/h", "e^2/h, over a length"};
    if (!r->has_volume) return "e^2/h, times the volume";
    return r->dimensions ? of[r->dimensions] : "e^2/h, times a length to the power of (2 - dimension)";
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

enum { VALUE, ERROR, LOW, HIGH, BAR };
static json_t *column(const sigma_results *r, int what)
{
    json_t *array = json_array();
    for (int64_t i = 0; array && i < r->count; i++) {
        const wisp_estimate *s = r->sigma + i;
        const double of[] = {s->value, s->error, s->low, s->high, s->high - s->value};
        json_array_append_new(array, json_number(of[what]));
    }
    return array;
}

static void add_run(json_t *o, tool *t, const sigma_results *r)
{
    const wisp_moments *m = &r->m;
    const bool own = !t->opt.from;
    json_t *seeds = json_array();
    for (int i = 0; i < r->runs; i++) json_array_append_new(seeds, json_seed(r->seed[i]));
    JSON_PUT(o, J("quantity", t->cmd->name), J_MAYBE(!own, "moments_command", m->command),
             J_MAYBE(!own, "moments_version", m->version), J("completed", json_boolean(!m->partial)),
             J("rows", m->rows), J("nnz", m->nnz), J("type", wisp_type_name(m->type)),
             J_MAYBE(*r->precision != 0, "precision", r->precision), J_MAYBE(r->rounding > 0, "rounding", r->rounding),
             J("bounds", json_bounds(&m->bounds, m->bounds_method)), J_IF(own, "hermitian_change", t->hermitian_change),
             J("trace", trace_names[m->trace]), J("vectors", m->vectors),
             J_IF(moments_have_seed(m), "first_vector", m->first_vector),
             J_IF(r->runs <= 1 && moments_have_seed(m), "seed", json_seed(m->seed)),
             J_MAYBE(r->runs > 1 && !m->realizations, "seeds", json_incref(seeds)), J("width", m->width),
             J("threads", m->threads));
    if (own) json_run(o, t, &r->stored, &(like_run){.width = m->width, .bytes = r->kubo.left_bytes});
    JSON_PUT(o, J_IF(r->more.file, "from", r->more.file), J("seconds", m->seconds),
             J("gflops", gflops(m->flops, m->seconds)), J("bounds_seconds", m->bounds_seconds),
             J_IF(own, "assemble_seconds", r->assemble_seconds), J("evaluate_seconds", r->evaluate_seconds),
             J("total_seconds", r->total_seconds));
    json_decref(seeds);
    average_json(o, t, &r->average, r->matrix, m->realizations);
}

static json_t *make_json(tool *t, const sigma_results *r)
{
    const wisp_sigma_opts *e = &r->eval;
    json_t *o = json_head(t, r->matrix);
    add_run(o, t, r);
    JSON_PUT(
        o, J_IF(r->direction >= 0, "direction", direction_names[r->direction < 0 ? 0 : r->direction]),
        J_IF(t->opt.velocity_a, "velocity_a", t->opt.velocity_a),
        J_IF(t->opt.velocity_a, "velocity_b", t->opt.velocity_b),
        J("formula", r->optical ? "optical" : sigma_formula_names[e->formula]), J("kernel", damping_names[e->kernel]),
        J_MAYBE(e->kernel == WISP_LORENTZ, "lambda", e->lambda > 0 ? e->lambda : 4), J("number_of_moments", e->n),
        J("resolution", wisp_resolution(r->m.bounds.halfwidth, e->n)), J("points", e->points ? e->points : 8 * e->n),
        J("temperature", r->temperature), J("volume", e->volume), J("volume_known", json_boolean(r->has_volume)),
        J_MAYBE(r->kept_volume > 0, "volume_kept", r->kept_volume), J_IF(r->dimensions, "dimensions", r->dimensions),
        J("units", JSON_NEW(J(sigma_over(r), "units of the matrix"), J("sigma", sigma_unit(r)))),
        J("student95", r->student95), J_MAYBE(r->optical, "chemical_potential", r->mu),
        J(sigma_over(r), json_numbers(r->x, r->count)), J("sigma", column(r, VALUE)),
        J("sigma_error", column(r, ERROR)), J("sigma_95", column(r, BAR)), J("sigma_low", column(r, LOW)),
        J("sigma_high", column(r, HIGH)));
    return o;
}

/* ---- a summary ----------------------------------------------------------------------------------- */

static void show_run(tool *t, const sigma_results *r)
{
    const wisp_moments *m = &r->m;
    char b[TEXT];
    if (t->opt.from) {
        moments_files_line(t, m);
        text_line("time", "%s", text_seconds(b, r->total_seconds));
        return;
    }
    snprintf(b, sizeof b, "width %d", m->width);
    text_run(t, &r->stored, b);
    weights_summary(t, &r->stored);
    more_line(&r->more);
    checkpoint_summary(t);
    more_times(&r->more, m, r->total_seconds, r->assemble_seconds, r->evaluate_seconds);
}

static void show_value(const sigma_results *r, int64_t i)
{
    char x[TEXT], value[TEXT_BAR];
    const wisp_estimate *s = r->sigma + i;
    snprintf(x, sizeof x, "%.6g", r->x[i]);
    if (s->high > s->low)
        text_with_bar(value, "+-", s->value, s->low, s->high, 0);
    else
        snprintf(value, sizeof value, "%.6g", s->value);
    text_line(x, "%s", value);
}

/* All of a few; of many some that lie evenly, and the one that is nearest to 0. */
static void show_values(const sigma_results *r)
{
    enum { MOST = 20, PARTS = 8 };
    char name[TEXT];
    int64_t zero = 0;
    for (int64_t i = 1; i < r->count; i++)
        if (fabs(r->x[i]) < fabs(r->x[zero])) zero = i;
    text_line(sigma_over(r), "%s (%s)", sigma_name(name, r), sigma_unit(r));
    for (int64_t i = 0; i < r->count; i++) {
        const int64_t part = i * PARTS / (r->count - 1 > 0 ? r->count - 1 : 1);
        if (r->count <= MOST || i == zero || i == (part * (r->count - 1) + PARTS - 1) / PARTS) show_value(r, i);
    }
    if (r->count > MOST) text_line("", "some of %lld; all with --json, -o FILE or --plot FILE", (long long)r->count);
    if (r->m.trace == WISP_TRACE_EXACT)
        text_line("error bar", "none: exact trace");
    else
        text_line("error bar", has_bar(r) ? "+-: 95%%, of the %s" : "none: one %s",
                  has_bar(r)          ? r->m.realizations ? "realizations" : "random vectors"
                  : r->m.realizations ? "realization"
                                      : "vector");
}

/* Of frequencies within the kernel's resolution a line is said. */
static void show_blurred(const sigma_results *r)
{
    const double resolution = wisp_resolution(r->m.bounds.halfwidth, r->eval.n);
    if (r->optical && r->x[0] < resolution)
        text_line("note", "frequencies below the resolution, %.3g, are blurred with those around 0", resolution);
    if (r->optical && r->x[0] < 1e-3 * resolution)
        text_line("", "far below it they are the limit of 0: that of Kubo-Greenwood");
}

void sigma_summary(tool *t, const sigma_results *r)
{
    const wisp_moments *m = &r->m;
    char a[2][TEXT];
    text_matrix(r->matrix, m->rows, m->nnz, "");
    source_summary(t);
    if (t->opt.velocity_a)
        text_line("velocities", "%s%s%s", t->opt.velocity_a, t->opt.velocity_b ? ", " : "",
                  t->opt.velocity_b ? t->opt.velocity_b : "");
    text_bounds(&m->bounds, m->bounds_method);
    text_line("moments", "%s x %s   resolution %.4g", text_count(a[0], r->eval.n), text_count(a[1], r->eval.n),
              wisp_resolution(m->bounds.halfwidth, r->eval.n));
    text_kernel(r->eval.kernel, r->eval.lambda);
    moments_vectors_line(m, r->runs);
    average_summary(&r->average, r->matrix, m->realizations);
    if (*r->precision) text_line("precision", "%s", r->precision);
    show_run(t, r);
    if (r->kept_volume > 0)
        text_line("volume", "%.10g, that of --volume; the kept run had %.10g", r->eval.volume, r->kept_volume);
    else if (r->has_volume)
        text_line("volume", "%.10g", r->eval.volume);
    else
        text_line("volume", "1, for that of the sample is not known; --volume V divides by it");
    if (r->optical)
        text_line("formula", "optical, chemical potential %.6g, temperature %.6g", r->mu, r->temperature);
    else
        text_line("formula", "Kubo-%s, temperature %.6g", sigma_formula(r), r->temperature);
    show_values(r);
    show_blurred(r);
}

/* ---- files --------------------------------------------------------------------------------------- */

static void write_table(const tool *t, const void *arg, FILE *f)
{
    const sigma_results *r = arg;
    (void)t;
    fprintf(f, "%s,sigma,sigma_error,sigma_95,sigma_low,sigma_high\n", sigma_over(r));
    for (int64_t i = 0; i < r->count; i++) {
        const wisp_estimate *s = r->sigma + i;
        csv_numbers(f, "", (double[]){r->x[i], s->value, s->error, s->high - s->value, s->low, s->high}, 6);
        fputc('\n', f);
    }
}

int sigma_write(tool *t, const sigma_results *r)
{
    json_t *object = t->opt.json || t->opt.output ? make_json(t, r) : NULL;
    return outputs_write(t, object, write_table, sigma_script, r);
}
