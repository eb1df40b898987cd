/* The pictures of wisp spectral: A(k, E) over a path and energy, or over a grid of k at some energies. */
#include "../out/text.h"
#include "dos.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *averaged(char *buf, const results *r)
{
    *buf = '\0';
    if (r->spectral_error) snprintf(buf, TEXT, ", mean of %d realizations", r->m->realizations);
    return buf;
}

/* ---- a path ---------------------------------------------------------------------------------------- */

/* The edge between two k, or as far beyond the first or last one; of a single k at half of a unit. */
static double edge_at(const kpath *p, int64_t k)
{
    const double *w = p->way;
    if (p->points == 1) return w[0] + (k ? 0.5 : -0.5);
    if (k == 0) return w[0] - (w[1] - w[0]) / 2;
    if (k == p->points) return w[k - 1] + (w[k - 1] - w[k - 2]) / 2;
    return (w[k - 1] + w[k]) / 2;
}

/* Columns of the longest number beside an axis from low to high, with room for more tics than there will be. */
static int widest_tic(double low, double high)
{
    char text[TEXT];
    int widest = 1;
    const double range = high - low, step = pow(10, floor(log10(range))) / 5;
    for (int i = 0; range > 0 && i <= range / step; i++) {
        const int n = snprintf(text, sizeof text, "%g", (ceil(low / step) + i) * step);
        widest = n > widest ? n : widest;
    }
    return widest;
}

/* A surface seen from above: a strip for each k, between its edges. Of many energies the largest of some that follow
   each other is drawn, so that no peak is missed. */
static void draw_path(const results *r, FILE *f, const char *path)
{
    enum { ROWS = 256, LABEL = 7 }; /* LABEL: columns beside the tics */
    const kpath *p = &r->path;
    const int64_t bundle = (r->points + ROWS - 1) / ROWS;
    char n[TEXT], how[TEXT], line[3 * TEXT_BAR];
    plot_begin(f, path, 1, 1);
    snprintf(line, sizeof line, "A(k,E) at %lld k, %s moments, resolution %.3g%s", (long long)p->points,
             text_count(n, r->n), r->resolution, averaged(how, r));
    fprintf(f, "set lmargin %d\n", widest_tic(r->energy[0], r->energy[r->points - 1]) + LABEL);
    fputs("set ylabel 'energy (units of the matrix)' offset -2\nset format y '%g'\nunset key\nunset grid\nset view "
          "map\n" PLOT_PALETTE
          "set pm3d corners2color c1\nset cblabel 'A(k,E) (1 per energy)' offset 2\nset cbrange [0:*]\nset xtics (",
          f);
    for (int64_t c = 0; c < p->corners && p->corner[c] < p->points; c++) {
        const double *k = p->k[p->corner[c]];
        fprintf(f, "%s'(%.3g, %.3g", c ? ", " : "", k[0], k[1]);
        if (p->at.dimensions > 2) fprintf(f, ", %.3g", k[2]);
        fprintf(f, ")' %.10g", p->way[p->corner[c]]);
    }
    fputs(")\n", f);
    plot_title(f, 2, r->matrix, (const char *[]){line, NULL});
    plot_range(f, 'x', edge_at(p, 0), edge_at(p, p->points));
    plot_range(f, 'y', r->energy[0], r->energy[r->points - 1]);
    fputs("$d << EOD\n", f);
    for (int64_t edge = 0; edge < 2 * p->points; edge++) {
        const int64_t k = edge / 2;
        const double x = edge_at(p, k + edge % 2);
        double most = 0;
        for (int64_t i = 0; i < r->points; i += bundle) {
            most = 0;
            for (int64_t e = i; e < i + bundle && e < r->points; e++) most = fmax(most, r->spectral[k * r->points + e]);
            fprintf(f, "%.10g %.10g %.6g\n", x, r->energy[i], most);
        }
        fprintf(f, "%.10g %.10g %.6g\n\n", x, r->energy[r->points - 1], most);
    }
    fputs("EOD\nsplot $d using 1:2:3 with pm3d\n", f);
}

/* ---- a grid ---------------------------------------------------------------------------------------- */

/* The plane in which it lies: x and y where these tell all, else along its first side and at right angles to that. */
typedef struct {
    double axis[2][3];
    bool flat;
} plane;

static const double *k_at(const kpath *p, int64_t line, int64_t column)
{
    const int64_t wave = p->wave[line * p->columns + column];
    return p->k[wave < 0 ? ~wave : wave]; /* also where a stopped run has nothing */
}

static double size_of(const double *v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static plane plane_of(const kpath *p)
{
    plane s = {.axis = {{1, 0, 0}, {0, 1, 0}}, .flat = true};
    for (int64_t k = 1; k < p->count; k++) s.flat = s.flat && fabs(p->k[k][2] - p->k[0][2]) < 1e-9;
    if (s.flat) return s;
    const int64_t lines = p->points / p->columns;
    const double *from = k_at(p, 0, 0), *to[2] = {k_at(p, lines - 1, 0), k_at(p, 0, p->columns - 1)};
    for (int i = 0; i < 2; i++) {
        double part = 0;
        for (int d = 0; d < 3; d++) s.axis[i][d] = to[i][d] - from[d];
        for (int d = 0; i && d < 3; d++) part += s.axis[0][d] * s.axis[1][d];
        for (int d = 0; d < 3; d++) s.axis[i][d] -= i ? part * s.axis[0][d] : 0;
        const double size = size_of(s.axis[i]);
        for (int d = 0; size > 0 && d < 3; d++) s.axis[i][d] /= size;
    }
    return s;
}

/* A place beside the grid lies as far out as the last one is from the one before. */
static void place_at(const kpath *p, const plane *s, int64_t line, int64_t column, double *xy)
{
    const int64_t lines = p->points / p->columns, columns = p->columns;
    const int64_t in = line < 0 ? 0 : line >= lines ? lines - 1 : line;
    const int64_t to = column < 0 ? 0 : column >= columns ? columns - 1 : column;
    const int64_t back = in + (in > line) - (in < line), side = to + (to > column) - (to < column);
    const double *k = k_at(p, in, to), *a = k_at(p, back, to), *b = k_at(p, in, side);
    for (int i = 0; i < 2; i++) {
        xy[i] = 0;
        for (int d = 0; d < 3; d++) xy[i] += s->axis[i][d] * (3 * k[d] - a[d] - b[d]);
    }
}

/* Each point is the middle of its cell; this is the corner before it. */
static void corner_at(const kpath *p, const plane *s, int64_t line, int64_t column, double *xy)
{
    xy[0] = xy[1] = 0;
    for (int i = 0; i < 4; i++) {
        double of[2];
        place_at(p, s, line - i / 2, column - i % 2, of);
        xy[0] += of[0] / 4, xy[1] += of[1] / 4;
    }
}

/* The corner before point `column` of a line, with the values of a point, for each energy; of none (-1) 0. */
static void write_corner(const results *r, const plane *s, int64_t line, int64_t column, int64_t wave, FILE *f)
{
    double xy[2];
    corner_at(&r->path, s, line, column, xy);
    fprintf(f, "%.10g %.10g", xy[0], xy[1]);
    for (int64_t e = 0; e < r->points; e++) fprintf(f, " %.6g", wave < 0 ? 0 : r->spectral[wave * r->points + e]);
    fputc('\n', f);
}

/* Points of a line next to each other, as a surface of their own between their edges: what a stopped run has. */
static void write_run(const results *r, const plane *s, int64_t line, int64_t from, int64_t to, FILE *f)
{
    const int64_t *wave = r->path.wave + line * r->path.columns;
    for (int edge = 0; edge < 2; edge++, fputc('\n', f))
        for (int64_t j = from; j <= to; j++) write_corner(r, s, line + edge, j, j < to ? wave[j] : -1, f);
    fputc('\n', f);
}

static void write_grid(const results *r, const plane *s, FILE *f)
{
    const kpath *p = &r->path;
    const int64_t lines = p->points / p->columns;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, xy[2];
    bool whole = true;
    for (int64_t i = 0; i < p->points; i++) whole = whole && p->wave[i] >= 0;
    fputs("$d << EOD\n", f);
    for (int64_t i = 0; i < lines && !whole; i++)
        for (int64_t j = 0, from; j < p->columns; j++) {
            const int64_t *wave = p->wave + i * p->columns;
            for (from = j; j < p->columns && wave[j] >= 0;) j++;
            if (j > from) write_run(r, s, i, from, j, f);
        }
    for (int64_t i = 0; i <= lines; i++) {
        for (int64_t j = 0; j <= p->columns; j++) {
            const bool inside = i < lines && j < p->columns;
            corner_at(p, s, i, j, xy);
            for (int d = 0; d < 2; d++) low[d] = fmin(low[d], xy[d]), high[d] = fmax(high[d], xy[d]);
            if (whole) write_corner(r, s, i, j, inside ? p->wave[i * p->columns + j] : -1, f);
        }
        if (whole) fputc('\n', f);
    }
    fputs("EOD\n", f);
    plot_range(f, 'x', low[0], high[0]);
    plot_range(f, 'y', low[1], high[1]);
}

/* A panel for each energy. */
static void draw_grid(const results *r, FILE *f, const char *path)
{
    const kpath *p = &r->path;
    const int energies = (int)r->points, columns = energies < 4 ? energies : (int)ceil(sqrt((double)energies)),
              lines = (energies + columns - 1) / columns;
    const plane s = plane_of(p);
    char n[TEXT], how[TEXT], head[3 * TEXT_BAR];
    plot_begin(f, path, 0.4 + 0.6 * columns, lines > 1 ? 0.8 * lines : columns > 1 ? 1 : 1.3);
    snprintf(head, sizeof head, "A(k,E) (1 per energy) on %lld x %lld k, %s moments, resolution %.3g%s",
             (long long)(p->points / p->columns), (long long)p->columns, text_count(n, r->n), r->resolution,
             averaged(how, r));
    fputs("unset key\nunset grid\nset view map\nset size ratio -1\nset format x '%g'\nset format y '%g'\n" PLOT_PALETTE
          "set pm3d corners2color c1\nset cbrange [0:*]\n",
          f);
    fputs(s.flat ? "set xlabel 'k_x'\nset ylabel 'k_y'\n"
                 : "set xlabel 'k along the first side'\nset ylabel 'k across it'\n",
          f);
    write_grid(r, &s, f);
    fprintf(f, "set multiplot layout %d,%d title ", lines, columns);
    plot_quote(f, wisp_matrix_name(r->matrix));
    fputs(".\"\\n\".", f);
    plot_quote(f, head);
    fputc('\n', f);
    for (int e = 0; e < energies; e++)
        fprintf(f, "set title 'E = %.6g'\nsplot $d using 1:2:%d with pm3d\n", r->energy[e], e + 3);
    fputs("unset multiplot\n", f);
}

void spectral_script(const tool *t, const results *r, FILE *f, const char *path)
{
    (void)t;
    if (r->path.columns)
        draw_grid(r, f, path);
    else
        draw_path(r, f, path);
}
