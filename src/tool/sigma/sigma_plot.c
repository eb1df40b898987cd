/* The picture of wisp sigma: the conductivity over the chemical potential, with its error band. */
#include "sigma.h"
#include "../names.h"
#include "../out/text.h"
#include <math.h>

static void write_title(const sigma_results *r, FILE *f)
{
    const wisp_moments *m = &r->m;
    char n[TEXT], v[TEXT], how[2 * TEXT] = ", exact trace", line[2][6 * TEXT];
    if (m->trace == WISP_TRACE_RANDOM)
        snprintf(how, sizeof how, ", %s random vector%s", text_count(v, m->vectors), m->vectors == 1 ? "" : "s");
    if (m->realizations) snprintf(how, sizeof how, ", mean of %s realizations", text_count(v, m->realizations));
    if (r->optical)
        snprintf(line[0], sizeof *line, "optical, chemical potential %.4g, temperature %.4g", r->mu, r->temperature);
    else
        snprintf(line[0], sizeof *line, "Kubo-%s, temperature %.4g", sigma_formula(r), r->temperature);
    snprintf(line[1], sizeof *line, "%s x %s moments, resolution %.3g%s", text_count(n, r->eval.n),
             text_count(n, r->eval.n), wisp_resolution(m->bounds.halfwidth, r->eval.n), how);
    plot_title(f, 3, r->matrix, (const char *[]){line[1], line[0], NULL});
}

static void write_data(const sigma_results *r, FILE *f)
{
    fputs("$d << EOD\n", f);
    for (int64_t i = 0; i < r->count; i++) {
        const wisp_estimate *s = r->sigma + i;
        fprintf(f, "%.10g %.7g %.7g %.7g\n", r->x[i], s->value, s->low, s->high);
    }
    fputs("EOD\n", f);
}

/* The unit as a person would print it. */
static const char *printed_unit(const sigma_results *r)
{
    static const char *const of[] = {NULL, "e² length/h", "e²/h", "e²/h per length"};
    return r->has_volume && r->dimensions ? of[r->dimensions] : sigma_unit(r);
}

void sigma_script(const tool *t, const void *arg, FILE *f, const char *path)
{
    enum { FEW = 40 };
    const sigma_results *r = arg;
    const bool band = r->m.trace == WISP_TRACE_RANDOM && r->m.vectors > 1;
    (void)t;
    plot_begin(f, path, 1, 1);
    fprintf(f,
            "set xlabel '%s (units of the matrix)'\nset format x '%%g'\nset format y '%%g'\n"
            "set ylabel 'σ%s (%s)'\nset key at graph 1,1.01 right bottom horizontal samplen 2\n"
            "set xzeroaxis lc rgb '#808080' lw 1\n",
            r->optical ? "frequency" : "chemical potential", r->direction < 0 ? "" : direction_names[r->direction],
            printed_unit(r));
    write_title(r, f);
    plot_range(f, 'x', r->x[0], r->x[r->count - 1]);
    write_data(r, f);
    fputs("plot ", f);
    if (band) fputs("$d using 1:3:4 with filledcurves fc rgb '#a9c3ea' title '95% error band', ", f);
    fprintf(f, "$d using 1:2 with %s lw 1.5 lc rgb '%s' title 'conductivity'\n",
            r->count > FEW ? "lines" : "linespoints pt 7 ps 0.4", plot_color(0));
}
