/* The picture of wisp eig: the density of states with the window, the filter and the eigenvalues that were found. */
#include "eig.h"
#include "../out/text.h"
#include <math.h>

enum { POINTS = 1201 };

static void write_title(const tool *t, const eig_results *r, FILE *f)
{
    const wisp_eigen *e = &r->e;
    char q[TEXT_BAR], n[TEXT], line[2 * TEXT_BAR];
    snprintf(line, sizeof line, "%s: %s found by %s, %s", eig_question(q, r), text_count(n, e->found),
             eig_method_name(e->method), e->complete ? "complete" : "not complete");
    plot_title(f, 3, t->opt.arg[0], (const char *[]){line, NULL});
}

/* The window with three quarters of its width at either side, inside the spectrum. */
static void find_energies(const wisp_eigen *e, double energy[POINTS])
{
    const wisp_bounds *b = &e->moments->bounds;
    const double least = wisp_resolution(b->halfwidth, e->moments->n);
    const double wide = 0.75 * fmax(e->high - e->low, least);
    const double from = fmax(e->low - wide, b->center - b->halfwidth);
    const double to = fmin(e->high + wide, b->center + b->halfwidth);
    for (int i = 0; i < POINTS; i++) energy[i] = from + (to - from) * i / (POINTS - 1);
}

static double largest(const double *v)
{
    double most = 0;
    for (int i = 0; i < POINTS; i++) most = fmax(most, fabs(v[i]));
    return most;
}

static void write_density(const tool *t, const eig_results *r, FILE *f)
{
    const wisp_eigen *e = &r->e;
    double energy[POINTS], dos[POINTS] = {0}, filter[POINTS] = {0};
    find_energies(e, energy);
    const bool has_dos = wisp_dos(t->ctx, e->moments, NULL, -1, POINTS, energy, dos, NULL) == WISP_OK;
    const bool has_filter = e->filter.terms > 0;
    if (has_filter) wisp_filter_eval(&e->filter, POINTS, energy, filter);
    const double scale = largest(filter) > 0 ? 1 / largest(filter) : 1;
    fputs("set xlabel 'energy (units of the matrix)'\nset ylabel 'density of states (states per energy)'\n"
          "set y2label 'filter |p(E)|'\nset border 11\nset y2tics 0.25\nset y2range [0:1.05]\nset yrange [0:*]\n"
          "set format x '%g'\nset format y '%g'\nset key at graph 1,1.01 right bottom horizontal samplen 2\n",
          f);
    plot_range(f, 'x', energy[0], energy[POINTS - 1]);
    fprintf(f,
            "set object 1 rectangle from %.17g, graph 0 to %.17g, graph 1 behind fc rgb '#fbeecb' fs solid noborder\n",
            e->low, e->high);
    fputs("$d << EOD\n", f);
    for (int i = 0; i < POINTS; i++) fprintf(f, "%.17g %.7g %.7g\n", energy[i], dos[i], scale * fabs(filter[i]));
    fputs("EOD\n$e << EOD\n", f);
    for (int i = 0; i < e->found; i++) fprintf(f, "%.17g 0.06\n", e->value[i].re);
    fputs("EOD\nplot ", f);
    if (has_dos) fprintf(f, "$d using 1:2 with lines lw 2 lc rgb '%s' title 'density of states', ", plot_color(0));
    if (has_filter) fprintf(f, "$d using 1:3 axes x1y2 with lines lw 1.5 lc rgb '%s' title 'filter', ", plot_color(3));
    fprintf(f, "%s axes x1y2 with impulses lw 1 lc rgb '%s' title 'eigenvalues'\n", e->found ? "$e using 1:2" : "NaN",
            plot_color(1));
}

/* Where no density of states was needed: residuals over eigenvalues, or the complex plane. */
static void write_points(const eig_results *r, FILE *f)
{
    const wisp_eigen *e = &r->e;
    fputs("set format x '%g'\nset offsets graph 0.02, graph 0.02, graph 0.02, graph 0.02\n", f);
    if (r->hermitian)
        fprintf(f,
                "set xlabel 'eigenvalue (units of the matrix)'\nset ylabel 'residual |A v - λ v|%s'\n"
                "set logscale y\nset format y '1e%%T'\nunset mytics\n",
                r->opts.tolerance_abs > 0 ? "" : " / halfwidth");
    else
        fputs("set xlabel 'real part (units of the matrix)'\nset ylabel 'imaginary part'\nset format y '%g'\n", f);
    fputs("$e << EOD\n", f);
    for (int i = 0; i < e->found; i++)
        fprintf(f, "%.17g %.17g\n", e->value[i].re, r->hermitian ? fmax(e->residual[i], 1e-17) : e->value[i].im);
    fprintf(f, "EOD\nplot $e using 1:2 with points pt 7 ps 0.6 lc rgb '%s'\n", plot_color(1));
}

void eig_script(const tool *t, const void *arg, FILE *f, const char *path)
{
    const eig_results *r = arg;
    plot_begin(f, path, 1, 1);
    write_title(t, r, f);
    if (r->e.moments)
        write_density(t, r, f);
    else
        write_points(r, f);
}
