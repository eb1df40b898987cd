/* The picture of wisp dos, ldos and count: curves with their error band; the window of a count. */
#include "dos.h"
#include "../out/text.h"
#include <math.h>

/* Lines of text at the left above the picture: the matrix, then how it was done; the key is at their right. */
static void write_title(const tool *t, const results *r, FILE *f)
{
    const wisp_moments *m = r->m;
    const double a = r->interval[0], b = r->interval[1];
    char n[TEXT_BAR], v[TEXT], how[TEXT_BAR] = "", line[2][3 * TEXT_BAR];
    const bool count = t->cmd->bit == CMD_COUNT;
    if (m->trace == WISP_TRACE_RANDOM)
        snprintf(how, sizeof how, ", %s random vector%s", text_count(v, m->vectors), m->vectors == 1 ? "" : "s");
    if (m->realizations) snprintf(how, sizeof how, ", mean of %s realizations", text_count(v, m->realizations));
    if (of_green(t))
        snprintf(line[0], sizeof *line, "Green function, eta %.3g, %s moments", t->opt.eta, text_count(n, r->n));
    else
        snprintf(line[0], sizeof *line, "%s moments, resolution %.3g%s", text_count(n, r->n), r->resolution,
                 m->trace == WISP_TRACE_EXACT ? ", exact trace" : how);
    if (isinf(a) && isinf(b))
        *how = '\0';
    else if (isinf(a) || isinf(b))
        snprintf(how, sizeof how, " %s %.6g", isinf(a) ? "below" : "above", isinf(a) ? b : a);
    else
        snprintf(how, sizeof how, " from %.6g to %.6g", a, b);
    if (count)
        snprintf(line[1], sizeof *line, "%s eigenvalues%s, %s of them near an end, in part", results_count(n, r, "±"),
                 how, results_smearing(v, r));
    plot_title(f, count ? 3 : 2, r->matrix, (const char *[]){line[0], count ? line[1] : NULL, NULL});
}

static void write_frame(const tool *t, const results *r, FILE *f, const char *path, int power)
{
    static const char *const powers[] = {"", "10³ ", "10⁶ ", "10⁹ ", "10¹² "};
    plot_begin(f, path, 1, 1);
    fputs("set xlabel 'energy (units of the matrix)'\nset format x '%g'\nset key ", f);
    fputs(of_rows(t) ? "outside right top vertical\n" : "at graph 1,1.01 right bottom horizontal samplen 2\n", f);
    char unit[TEXT_BAR];
    fprintf(f, "set ylabel '%s (%s%s)'\nset format y '%%g'\n",
            of_green(t)               ? "-Im G/π"
            : r->dos_im && r->site    ? "⟨b|δ(E-H)|a⟩, imaginary part dashed"
            : r->given                ? "⟨a|δ(E-H)|a⟩"
            : t->cmd->bit == CMD_LDOS ? "local density of states"
            : r->where_rows           ? "density of states on the chosen rows"
            : r->m->imag              ? "tr B δ(E-H)"
                                      : "density of states",
            powers[power], of_rows(t) ? "1 per energy" : results_unit(unit, t, r));
    write_title(t, r, f);
    plot_range(f, 'x', r->energy[0], r->energy[r->points - 1]);
    if (t->cmd->bit == CMD_COUNT)
        fprintf(
            f,
            "set object 1 rectangle from %.17g, graph 0 to %.17g, graph 1 behind fc rgb '#fbeecb' fs solid noborder\n",
            fmax(r->interval[0], r->energy[0]), fmin(r->interval[1], r->energy[r->points - 1]));
}

/* Columns: energy, then a curve each, or the density with both ends of its bar; last imaginary parts. */
static void write_data(const results *r, FILE *f, double unit, bool band)
{
    fputs("$d << EOD\n", f);
    for (int64_t i = 0; i < r->points; i++) {
        fprintf(f, "%.10g", r->energy[i]);
        for (int64_t c = 0; c < r->curves; c++) fprintf(f, " %.7g", r->dos[c * r->points + i] / unit);
        for (int64_t c = 0; band && c < r->curves; c++)
            fprintf(f, " %.7g %.7g", r->low[c * r->points + i] / unit, r->high[c * r->points + i] / unit);
        for (int64_t c = 0; r->site && r->dos_im && c < r->curves; c++)
            fprintf(f, " %.7g", r->dos_im[c * r->points + i] / unit);
        fputc('\n', f);
    }
    fputs("EOD\n", f);
}

/* Largest and least value to be seen. A band counts only inside: at the very ends of the interval, where the
   density is small, its error can be many times larger. */
static double find_range(const results *r, bool band, double *least)
{
    double most = 0, width = r->energy[r->points - 1] - r->energy[0];
    *least = 0;
    for (int64_t i = 0; i < r->points * r->curves; i++) {
        most = fmax(most, fmax(r->dos[i], r->site && r->dos_im ? r->dos_im[i] : 0));
        *least = fmin(*least, fmin(r->dos[i], r->site && r->dos_im ? r->dos_im[i] : 0));
    }
    for (int64_t i = 0; band && i < r->points * r->curves; i++) {
        const double e = r->energy[i % r->points];
        const double from_end = fmin(e - r->energy[0], r->energy[r->points - 1] - e);
        if (from_end > 0.01 * width) most = fmax(most, r->high[i]);
    }
    return most;
}

void results_script(const tool *t, const void *arg, FILE *f, const char *path)
{
    const results *r = arg;
    enum { MOST_KEYS = 14 };
    char name[TEXT];
    if (t->cmd->bit == CMD_THERMAL) {
        thermal_script(t, arg, f, path);
        return;
    }
    if (of_spectral(t)) {
        spectral_script(t, r, f, path);
        return;
    }
    const bool band = r->has_error && r->t95 > 0;
    double least, most = find_range(r, band, &least);
    int power = 0;
    double unit = 1;
    while (most / unit >= 1e4 && power < 4) unit *= 1000, power++;
    write_frame(t, r, f, path, power);
    /* The kernels but Dirichlet's keep the density positive, and its axis begins at 0. */
    if (most > 0)
        fprintf(f, "set yrange [%.7g:%.7g]\n", least < -1e-3 * most ? 1.05 * least / unit : 0, 1.05 * most / unit);
    write_data(r, f, unit, band);
    fputs("plot ", f);
    if (band && !r->site) fputs("$d using 1:3:4 with filledcurves fc rgb '#a9c3ea' title '95% error band', ", f);
    for (int64_t c = 0; band && r->site && c < r->curves; c++)
        fprintf(f, "$d using 1:%lld:%lld with filledcurves fc rgb '%s' fs transparent solid 0.25 notitle, ",
                (long long)(r->curves + 2 * c) + 2, (long long)(r->curves + 2 * c) + 3, plot_color(c));
    for (int64_t c = 0; c < r->curves; c++) {
        /* Equal curves lie on each other: those below are wider, to be seen. */
        int64_t above = r->curves - 1 - c < 4 ? r->curves - 1 - c : 4;
        fprintf(f, "%s$d using 1:%lld with lines lw %.1f lc rgb '%s'", c ? ", " : "", (long long)c + 2,
                1.5 + 0.9 * (double)above, plot_color(c));
        if (r->site && r->curves <= MOST_KEYS) fprintf(f, " title '%s'", results_curve(name, r, c));
        if (band && !r->site)
            fprintf(f, " title '%s'", r->m->imag && !r->where_rows ? "with the operator" : "density of states");
    }
    for (int64_t c = 0; r->site && r->dos_im && c < r->curves; c++)
        fprintf(f, ", $d using 1:%lld with lines lw 1.5 dt 2 lc rgb '%s' notitle",
                (long long)((band ? 3 : 1) * r->curves + c) + 2, plot_color(c));
    fputc('\n', f);
}
