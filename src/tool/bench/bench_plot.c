/* The pictures of `wisp bench`, drawn from its JSON: roofline and sweep over widths, powers, cache budgets or matrices,
   or the bandwidths. */
#include "bench.h"
#include "../out/out.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLORS = 7, MOST_SERIES = 24, NAME = 128 };

/* A series: rows that differ in one of these alone, which the sweep is over. */
static const char *const series_keys[] = {"type",   "threads", "variant", "order",
                                          "format", "width",   "powers",  "cache_budget"};
enum { KEYS = sizeof series_keys / sizeof series_keys[0] };

typedef struct {
    json_t *o, *rows;
    json_t *first[MOST_SERIES]; /* row of each series */
    const char *sweep;          /* key of rows */
    bool bytes;                 /* of which values are shown as MB */
    int count, places;          /* series; different values of that key */
    bool differs[KEYS];         /* among the series: what their names say */
    double x[2], y[2];          /* range of the roofline */
    double most;                /* of the rates and the model's */
} picture;

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

static bool same_value(const json_t *a, const json_t *b, const char *key)
{
    const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
    return (!x && !y) || json_equal(x, y);
}

static bool same_series(const picture *p, const json_t *a, const json_t *b)
{
    for (int k = 0; k < KEYS; k++)
        if (strcmp(series_keys[k], p->sweep) != 0 && !same_value(a, b, series_keys[k])) return false;
    return true;
}

/* Where a row is in the sweep: bytes as MB. */
static double place(const picture *p, const json_t *row) { return (p->bytes ? 1e-6 : 1) * number(row, p->sweep); }

static double intensity(const json_t *row) { return number(row, "flops") / number(row, "min_bytes"); }

static double model_gflops(const json_t *row) { return 1e-9 * number(row, "flops") / number(row, "model_seconds"); }

static void find_series(picture *p)
{
    size_t i;
    json_t *row;
    json_array_foreach(p->rows, i, row)
    {
        int s = 0;
        while (s < p->count && !same_series(p, row, p->first[s])) s++;
        if (s == p->count && s < MOST_SERIES) p->first[p->count++] = row;
        bool new_place = true;
        for (size_t j = 0; j < i; j++)
            new_place &= number(json_array_get(p->rows, j), p->sweep) != number(row, p->sweep);
        p->places += new_place;
        for (int k = 0; k < KEYS; k++) p->differs[k] |= !same_value(row, p->first[0], series_keys[k]);
        const double x = intensity(row), y = number(row, "gflops");
        p->x[0] = i ? fmin(p->x[0], x) : x;
        p->x[1] = i ? fmax(p->x[1], x) : x;
        p->y[0] = i ? fmin(p->y[0], y) : y;
        p->most = fmax(p->most, fmax(y, model_gflops(row)));
    }
}

/* As it stands in a series' name. */
static int key_text(char *text, size_t size, const char *gap, const char *key, const json_t *v)
{
    const int n = (int)json_integer_value(v);
    if (!strcmp(key, "cache_budget")) return snprintf(text, size, "%scache %.3g MB", gap, 1e-6 * json_number_value(v));
    if (!json_is_integer(v)) return snprintf(text, size, "%s%s", gap, json_string_value(v));
    if (strcmp(key, "threads") != 0) return snprintf(text, size, "%s%s %d", gap, key, n);
    return snprintf(text, size, "%s%d thread%s", gap, n, n == 1 ? "" : "s");
}

static void series_name(const picture *p, int s, char name[NAME])
{
    size_t n = 0;
    name[0] = '\0';
    for (int k = 0; k < KEYS; k++) {
        const json_t *v = json_object_get(p->first[s], series_keys[k]);
        if (json_is_null(v) || !strcmp(series_keys[k], p->sweep)) continue;
        if (!p->differs[k] && strcmp(series_keys[k], "variant") != 0) continue;
        n += (size_t)key_text(name + n, NAME - n, n ? ", " : "", series_keys[k], v);
        for (char *c = name; *c; c++) *c = *c == '_' ? ' ' : *c;
        if (n >= NAME) return;
    }
}

/* Columns of block s: place in the sweep, rate, the model's rate, flops per byte. */
static void write_data(const picture *p, FILE *f)
{
    for (int s = 0; s < p->count; s++) {
        size_t i;
        json_t *row;
        fprintf(f, "$s%d << EOD\n", s);
        json_array_foreach(p->rows, i, row)
        {
            if (!same_series(p, row, p->first[s])) continue;
            fprintf(f, "%.6g %.6g %.6g %.6g\n", place(p, row), number(row, "gflops"), model_gflops(row),
                    intensity(row));
        }
        fputs("EOD\n", f);
    }
}

/* Ceilings as grey lines, named with their values in the key. */
static void write_ceilings(const picture *p, FILE *f)
{
    json_t *m = json_object_get(p->o, "machine"), *row = json_array_get(p->rows, 0);
    json_t *l3 = json_object_get(json_object_get(json_object_get(m, "bandwidth_gbs"), "L3"), "load");
    const char *type = json_string_value(json_object_get(row, "type"));
    const bool single = strstr(type, "single"), complex = strstr(type, "complex");
    json_t *fma = json_object_get(json_object_get(m, "fma_gflops"), single ? "single" : "double");
    const double peak = json_number_value(json_array_get(fma, 1));
    const double slope[] = {number(m, "load_gbs"), json_number_value(json_array_get(l3, 1))};
    const double gemm = single ? 0 : number(m, complex ? "zgemm_gflops" : "dgemm_gflops");
    static const char *const name[] = {"memory", "L3"};
    fputs("plot ", f);
    for (int i = 0; i < 2; i++)
        if (slope[i] > 0)
            fprintf(f, "(%.6g*x<%.6g?%.6g*x:NaN) with lines lw 1.6 dt %d lc rgb '#707070' title '%s %.0f GB/s', ",
                    slope[i], peak, slope[i], i + 1, name[i], slope[i]);
    fprintf(f, "%.6g with lines lw 1.6 dt 4 lc rgb '#707070' title 'multiply-add %.0f Gflop/s'", peak, peak);
    if (gemm > 0)
        fprintf(f, ", %.6g with lines lw 1.6 dt 3 lc rgb '#a07030' title '%s %.0f Gflop/s'", gemm,
                complex ? "ZGEMM" : "DGEMM", gemm);
}

/* Series that share a color differ in their points. */
static int point_of(int s)
{
    static const int points[] = {7, 5, 9, 13};
    return points[s / COLORS % 4];
}

static void write_roofline(const picture *p, FILE *f)
{
    json_t *m = json_object_get(p->o, "machine");
    const double peak =
        json_number_value(json_array_get(json_object_get(json_object_get(m, "fma_gflops"), "double"), 1));
    const double x0 = p->x[0] / 2.5, x1 = p->x[1] * 2.5;
    const double low = fmin(p->y[0], number(m, "load_gbs") * x0) / 1.5;
    fprintf(f,
            "set title 'roofline' offset 0,-0.5\nset logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n"
            "set xlabel 'flops per byte of least traffic'\nset ylabel 'Gflop/s'\nset samples 2000\nset xtics (",
            x0, x1, low, fmax(1.6 * peak, 2 * p->most));
    for (int e = -10; e <= 10; e++) fprintf(f, "%s%.10g", e > -10 ? "," : "", exp2(e));
    fputs(")\nset ytics (", f);
    for (int e = -3; e <= 7; e++)
        fprintf(f, "%s%.10g,%.10g,%.10g", e > -3 ? "," : "", pow(10, e), 2 * pow(10, e), 5 * pow(10, e));
    fputs(")\n", f);
    write_ceilings(p, f);
    for (int s = 0; s < p->count; s++) {
        char name[NAME];
        series_name(p, s, name);
        fprintf(f, ", $s%d using 4:2 with points pt %d ps 1.2 lc rgb '%s' ", s, point_of(s), plot_color(s));
        if (p->places == 1) {
            fputs("title ", f);
            plot_quote(f, name);
        }
        if (p->places > 1 && p->count <= 2 && !p->bytes)
            fprintf(f, ", $s%d using 4:2:(sprintf('%%d',$1)) with labels %s tc rgb '%s'", s,
                    s ? "left offset 0.7,-0.3" : "right offset -0.7,0.3", plot_color(s));
    }
    fputs("\nunset logscale\nset ytics auto\n", f);
}

/* Sizes of the caches that the threads have, where the sweep is over bytes and reaches them. */
static void write_caches(const picture *p, FILE *f)
{
    json_t *m = json_object_get(p->o, "machine"), *c, *row;
    double from = INFINITY, to = 0;
    size_t i;
    json_array_foreach(p->rows, i, row) from = fmin(from, place(p, row)), to = fmax(to, place(p, row));
    json_array_foreach(json_object_get(m, "caches"), i, c)
    {
        const double mb = 1e-6 * number(c, "bytes") * ceil(number(m, "threads") / fmax(number(c, "cores"), 1));
        if (mb < from || mb > to) continue;
        fprintf(f,
                "set arrow from %.6g,graph 0 to %.6g,graph 1 nohead lc rgb '#a0a0a0' dt 3\n"
                "set label '%s' at %.6g,graph 0.03 right offset -0.3,0 tc rgb '#707070'\n",
                mb, mb, json_string_value(json_object_get(c, "level")), mb);
    }
}

/* A tick for each place; where bytes may be close to each other, as gnuplot likes. */
static void write_ticks(const picture *p, FILE *f)
{
    size_t i;
    json_t *row;
    double shown[64];
    int n = 0;
    if (p->bytes) {
        fputs("set xtics auto\n", f);
        write_caches(p, f);
        return;
    }
    fputs("set xtics (", f);
    json_array_foreach(p->rows, i, row)
    {
        const double x = place(p, row);
        bool is_new = n < 64;
        for (int j = 0; j < n; j++) is_new &= shown[j] != x;
        if (!is_new) continue;
        fprintf(f, "%s%.0f", n ? "," : "", x);
        shown[n++] = x;
    }
    fputs(")\n", f);
}

static void write_sweep(const picture *p, FILE *f)
{
    const char *name_of_x = !strcmp(p->sweep, "width")          ? "block width"
                            : !strcmp(p->sweep, "cache_budget") ? "cache budget in MB"
                            : p->bytes                          ? "matrix size in MB"
                                                                : "steps of a call";
    fprintf(f,
            "set title 'rate over %s' offset 0,-0.5\nset logscale x 2\nset xrange [*:*]\nset autoscale x\n"
            "set offsets graph 0.06, graph 0.06, 0, 0\nset xlabel '%s'\n",
            name_of_x, name_of_x);
    write_ticks(p, f);
    fprintf(f, "set yrange [0:%.6g]\nplot ", 1.1 * p->most);
    for (int s = 0; s < p->count; s++) {
        char name[NAME];
        series_name(p, s, name);
        fprintf(f, "%s$s%d using 1:2 smooth unique with linespoints lw 2 pt %d ps 1.1 lc rgb '%s' title ",
                s ? ", " : "", s, point_of(s), plot_color(s));
        plot_quote(f, name);
        fprintf(f, ", $s%d using 1:3 smooth unique with lines lw 1.4 dt 2 lc rgb '%s'", s, plot_color(s));
    }
    fputs(", NaN with lines lw 1.4 dt 2 lc rgb '#404040' title 'model'\n", f);
}

static void write_op(const tool *t, const void *arg, FILE *f, const char *path)
{
    const picture *p = arg;
    json_t *m = json_object_get(p->o, "machine"), *row = json_array_get(p->rows, 0);
    const char *matrix =
        strcmp(p->sweep, "matrix_bytes") != 0 ? json_string_value(json_object_get(row, "matrix")) : NULL;
    const bool sweep = p->places > 1;
    char title[512];
    (void)t;
    snprintf(title, sizeof title, "%s%s%s: %s, %s%lld thread%s, %s", json_string_value(json_object_get(row, "op")),
             matrix ? " " : "", matrix ? wisp_matrix_name(matrix) : "",
             p->differs[0] ? "several types" : json_string_value(json_object_get(row, "type")),
             p->differs[1] ? "up to " : "", (long long)json_integer_value(json_object_get(m, "threads")),
             json_integer_value(json_object_get(m, "threads")) == 1 ? "" : "s",
             json_string_value(json_object_get(m, "isa")));
    plot_begin(f, path, sweep ? 1.7 : 1.1, 1);
    write_data(p, f);
    fputs("set multiplot title ", f);
    plot_quote(f, title);
    fprintf(f,
            "\nset tmargin at screen 0.86\nset bmargin at screen 0.14\nset lmargin at screen %g\nset rmargin at screen "
            "%g\nset key at screen %g,%g left top Left reverse vertical samplen 2 spacing 1.15\n",
            sweep ? 0.06 : 0.1, sweep ? 0.38 : 0.66, sweep ? 0.795 : 0.69, sweep ? 0.33 : 0.86);
    write_roofline(p, f);
    if (sweep) {
        fputs("set lmargin at screen 0.45\nset rmargin at screen 0.77\nset key at screen 0.795,0.86\n", f);
        write_sweep(p, f);
    }
    fputs("unset multiplot\n", f);
}

/* ---- bandwidths ---------------------------------------------------------------------------------- */

static void write_stream(const tool *t, const void *arg, FILE *f, const char *path)
{
    static const struct {
        const char *key, *name;
    } streams[] = {{"load", "load"},
                   {"copy", "copy"},
                   {"triad", "triad"},
                   {"update", "update"},
                   {"copy_past", "copy, past caches"},
                   {"triad_past", "triad, past caches"}};
    const picture *p = arg;
    json_t *m = json_object_get(p->o, "machine"), *bandwidth = json_object_get(m, "bandwidth_gbs");
    (void)t;
    plot_begin(f, path, 1, 1);
    fputs("$d << EOD\n", f);
    for (int l = WISP_LEVELS - 1; l >= 0; l--) {
        json_t *of_level = json_object_get(bandwidth, wisp_level_name(l));
        if (json_object_size(of_level) == 0) continue;
        fputs(wisp_level_name(l), f);
        for (size_t s = 0; s < 6; s++) {
            json_t *v = json_array_get(json_object_get(of_level, streams[s].key), 1);
            if (json_number_value(v) > 0)
                fprintf(f, " %.6g", json_number_value(v));
            else
                fputs(" ?", f);
        }
        fputc('\n', f);
    }
    fputs("EOD\nset datafile missing '?'\nset title ", f);
    char title[256];
    snprintf(title, sizeof title, "bandwidths: %s, %lld threads, %s", json_string_value(json_object_get(m, "cpu")),
             (long long)json_integer_value(json_object_get(m, "threads")),
             json_string_value(json_object_get(m, "isa")));
    plot_quote(f, title);
    fputs("\nset logscale y\nset yrange [10:*]\nset ylabel 'GB/s'\nset style data histograms\n"
          "set style histogram clustered gap 1\nset style fill solid 0.9 noborder\nset key bmargin center horizontal\n"
          "set bmargin 4.5\nset grid noxtics\nset xrange [-0.6:3.9]\nset ytics "
          "(10,20,50,100,200,500,1000,2000,5000)\nplot ",
          f);
    for (int s = 0; s < 6; s++)
        fprintf(f, "%s$d using %d:xtic(1) lc rgb '%s' title '%s'", s ? ", " : "", s + 2, plot_color(s),
                streams[s].name);
    fputc('\n', f);
}

/* Whether rows differ in this. */
static bool differ(const json_t *rows, const char *key)
{
    for (size_t i = 1; i < json_array_size(rows); i++)
        if (!same_value(json_array_get(rows, i), json_array_get(rows, 0), key)) return true;
    return false;
}

int bench_plot(tool *t, const json_t *o, const char *path)
{
    /* Reading from it is not const in jansson 2, though it changes nothing. */
    json_t *object = (json_t *)(uintptr_t)o;
    picture p = {.o = object, .rows = json_object_get(object, "rows"), .sweep = "width"};
    const char *op = json_string_value(json_object_get(json_array_get(p.rows, 0), "op"));
    const bool stream = op && !strcmp(op, "stream");
    char *data;
    size_t size;
    if (!op) return tool_fail(t, "there is no row to draw in %s", path);
    if (!strcmp(op, "mpk")) p.sweep = differ(p.rows, "cache_budget") ? "cache_budget" : "powers";
    if (differ(p.rows, "matrix")) p.sweep = "matrix_bytes";
    p.bytes = !strcmp(p.sweep, "cache_budget") || !strcmp(p.sweep, "matrix_bytes");
    if (!stream) find_series(&p);
    int rc = plot_run(t, stream ? write_stream : write_op, &p, path, &data, &size);
    if (!rc) rc = outfile_write(t, path, data, size);
    free(data);
    return rc;
}
