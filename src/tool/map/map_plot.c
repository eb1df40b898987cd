/* The picture of wisp map: a panel for each energy, with the sites as coloured squares, seen along the axis in which
   they extend least. */
#include "map.h"
#include "../out/text.h"
#include <math.h>

#define OVERLAP 1.25 /* of squares: more than a pixel, so that no lines are seen between them */

typedef struct {
    int across, up; /* axes; up = -1: sites extend along one axis at most */
    double low[3], high[3];
} frame;

static frame frame_of(const map_run *r)
{
    frame f = {.across = -1, .up = -1};
    for (int d = 0; d < 3 && r->at; d++) {
        f.low[d] = f.high[d] = r->at[0][d];
        for (int64_t s = 0; s < r->sites; s++)
            f.low[d] = fmin(f.low[d], r->at[s][d]), f.high[d] = fmax(f.high[d], r->at[s][d]);
    }
    int least = 2;
    for (int d = 1; d >= 0; d--)
        if (f.high[d] - f.low[d] < f.high[least] - f.low[least]) least = d;
    for (int d = 0; d < 3 && r->at; d++) {
        if (!(f.high[d] > f.low[d]) || d == least) continue;
        if (f.across < 0)
            f.across = d;
        else
            f.up = d;
    }
    return f;
}

static void write_data(const map_run *r, const frame *g, FILE *f)
{
    fputs("$d << EOD\n", f);
    for (int64_t s = 0; s < r->sites; s++) {
        const double x = g->across < 0 ? (double)r->row[r->begin[s]] : r->at[s][g->across];
        fprintf(f, "%.7g %.7g", x, g->up < 0 ? 0 : r->at[s][g->up]);
        for (int e = 0; e < r->energies; e++) fprintf(f, " %.6g", r->value[e * r->sites + s]);
        fputc('\n', f);
    }
    fputs("EOD\n", f);
}

void map_script(const tool *t, const void *arg, FILE *f, const char *path)
{
    static const char axis[] = "xyz";
    const map_run *r = arg;
    (void)t;
    const frame g = frame_of(r);
    const int columns = r->energies < 4 ? r->energies : (int)ceil(sqrt((double)r->energies)),
              lines = (r->energies + columns - 1) / columns;
    const bool flat = g.up >= 0;
    char n[TEXT], v[TEXT], how[2 * TEXT] = "exact", head[4 * TEXT_BAR];
    if (!r->exact) snprintf(how, sizeof how, "%s random vectors", text_count(v, r->done));
    if (r->average.done > 0) snprintf(how, sizeof how, "mean of %s realizations", text_count(v, r->average.done));
    plot_begin(f, path, 0.4 + 0.6 * columns, lines > 1 ? 0.8 * lines : columns > 1 ? 1 : 1.3);
    snprintf(head, sizeof head, "density of states at each site (1 per energy), %s moments, resolution %.3g, %s",
             text_count(n, r->kpm.moments), map_resolution(r), how);
    write_data(r, &g, f);
    fputs("unset key\nset format x '%g'\nset format y '%g'\n" PLOT_PALETTE, f);
    fprintf(f, "set multiplot layout %d,%d title ", lines, columns);
    plot_quote(f, wisp_matrix_name(r->matrix));
    fputs(".\"\\n\".", f);
    plot_quote(f, head);
    fputs("\n", f);
    if (g.across < 0)
        fputs("set xlabel 'row'\n", f);
    else
        fprintf(f, "set xlabel '%c'\n", axis[g.across]);
    if (flat) fprintf(f, "set ylabel '%c'\nset size ratio -1\nunset grid\nset cbrange [0:*]\n", axis[g.up]);
    for (int e = 0; e < r->energies; e++) {
        fprintf(f, "set title 'E = %.6g'\n", r->energy[e]);
        if (flat) {
            const double wide = g.high[g.across] - g.low[g.across], high = g.high[g.up] - g.low[g.up];
            const double edge = sqrt(wide * high / (double)r->sites) / 2;
            fprintf(f, "set xrange [%.7g:%.7g] noextend\nset yrange [%.7g:%.7g] noextend\n", g.low[g.across] - edge,
                    g.high[g.across] + edge, g.low[g.up] - edge, g.high[g.up] + edge);
            fprintf(f, "set style fill solid noborder\nplot $d using 1:2:(%.7g):(%.7g):%d with boxxyerror fc palette\n",
                    OVERLAP * edge, OVERLAP * edge, e + 3);
        } else {
            fprintf(f,
                    "set ylabel 'density'\nset yrange [0:*]\nplot $d using 1:%d with points pt 7 ps 0.4 lc rgb '%s'\n",
                    e + 3, plot_color(0));
        }
    }
    fputs("unset multiplot\n", f);
}
