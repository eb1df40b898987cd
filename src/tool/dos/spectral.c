/* wisp spectral: A(k, E) along a path of k, from moments of plane waves on the orbitals of a cell. */
#include "../moments.h"
#include "../out/text.h"
#include "../positions.h"
#include "dos.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- the path -------------------------------------------------------------------------------------- */

void kpath_free(kpath *p)
{
    wisp_positions_close(&p->at);
    free(p->k);
    free(p->way);
    free(p->corner);
    *p = (kpath){0};
}

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* The wave that fits the sample. Of those that become the same one stands where it was moved least. */
static void add(kpath *p, const double *wanted, double way, double *off)
{
    double *k = p->k[p->count];
    memcpy(k, wanted, sizeof *p->k);
    wisp_positions_fit_wave(&p->at, k);
    const double moved = distance(k, wanted);
    const bool same = p->count && distance(k, k - 3) < 1e-9;
    p->moved = fmax(p->moved, moved);
    if (!same) p->count++;
    if (same && moved >= *off) return;
    p->way[p->count - 1] = way;
    *off = moved;
}

/* As many steps for each part of the path as its length asks for. */
static int make_path(tool *t, kpath *p)
{
    const options *o = &t->opt;
    const int64_t points = o->k_points ? o->k_points : 61, most = points + o->corners;
    const double(*corner)[3] = (const double(*)[3])o->path;
    double length = 0, way = 0, off = 0;
    p->k = calloc((size_t)most, sizeof *p->k);
    p->way = calloc((size_t)most, sizeof *p->way);
    p->corner = calloc((size_t)o->corners, sizeof *p->corner);
    if (!p->k || !p->way || !p->corner) return tool_fail(t, "out of memory for %lld points of k", (long long)most);
    p->corners = o->corners;
    for (int64_t c = 1; c < o->corners; c++) length += distance(corner[c - 1], corner[c]);
    add(p, corner[0], 0, &off);
    for (int64_t c = 1; c < o->corners; c++) {
        const double part = distance(corner[c - 1], corner[c]);
        const int64_t steps = length > 0 ? llround(part / length * (double)(points - 1)) : 1;
        for (int64_t i = 1; i < steps; i++) {
            double k[3];
            const double x = (double)i / (double)steps;
            for (int d = 0; d < 3; d++) k[d] = (1 - x) * corner[c - 1][d] + x * corner[c][d];
            add(p, k, way + x * part, &off);
        }
        add(p, corner[c], way += part, &off);
        p->corner[c] = p->count - 1;
    }
    return EXIT_FINE;
}

/* --orbitals N, or all rows of one; the gallery knows those of its lattices, also with vacancies. */
static int choose_orbitals(tool *t, kpath *p, int64_t rows)
{
    const int64_t asked = t->opt.orbitals;
    if (asked > 1 && p->at.orbital && asked != p->at.orbitals)
        return tool_fail(t, "--orbitals %lld: a cell of this lattice has %d", (long long)asked, p->at.orbitals);
    if (asked > rows) return tool_fail(t, "--orbitals %lld: there are %lld rows", (long long)asked, (long long)rows);
    if (asked == 1) p->at.orbital = NULL;
    if (asked) p->at.orbitals = (int)asked;
    if (p->at.orbitals < 1) p->at.orbitals = 1;
    return EXIT_FINE;
}

int kpath_open(tool *t, kpath *p, const char *matrix, int64_t rows)
{
    kpath_free(p);
    int rc = positions_open(t, matrix, rows, &p->at);
    if (!rc) rc = choose_orbitals(t, p, rows);
    return rc ? rc : make_path(t, p);
}

void kpath_options(kpath *p, wisp_kpm_opts *k)
{
    k->trace = WISP_TRACE_GIVEN;
    k->vectors = p->count * p->at.orbitals;
    k->start = kpath_start;
    k->start_arg = p;
}

/* Vector v is orbital v modulo their number at k number v over it. */
wisp_status kpath_start(void *arg, int64_t first, wisp_blk *x)
{
    const kpath *p = arg;
    const int width = wisp_blk_width(x);
    wisp_ctx *ctx = wisp_blk_ctx(x);
    double *k = NULL;
    int *orbital = NULL;
    wisp_status status = wisp_alloc(ctx, &k, 3 * (size_t)width, sizeof *k);
    if (status == WISP_OK) status = wisp_alloc(ctx, &orbital, (size_t)width, sizeof *orbital);
    for (int j = 0; j < width && status == WISP_OK; j++) {
        memcpy(k + 3 * j, p->k[(first + j) / p->at.orbitals], sizeof *p->k);
        orbital[j] = (int)((first + j) % p->at.orbitals);
    }
    if (status == WISP_OK) status = wisp_blk_fill_waves(x, &p->at, k, orbital);
    wisp_free(ctx, k);
    wisp_free(ctx, orbital);
    return status;
}

wisp_status kpath_items(const kpath *p, wisp_state *s)
{
    uint64_t rows = 0;
    double at[3];
    if (!p->count) return WISP_OK;
    const uint64_t waves = XXH3_64bits(p->k, (size_t)p->count * sizeof *p->k);
    for (int64_t i = 0; i < p->at.rows && p->at.at; i++)
        if (!p->at.at(p->at.arg, i, at)) rows = XXH3_64bits_withSeed(at, sizeof at, rows);
    const wisp_status status = wisp_state_samef(s, "--positions", "%016llx", (unsigned long long)rows);
    if (status != WISP_OK) return status;
    return wisp_state_samef(s, "--path", "%lld k, %d orbitals, %016llx", (long long)p->count, p->at.orbitals,
                            (unsigned long long)waves);
}

/* ---- moments of a file ------------------------------------------------------------------------------ */

/* The option of the run that made the moments, parsed as then; false: it was not there, or is damaged. */
static bool take(options *o, const wisp_moments *m, const char *option, size_t least, option_parse_fn *parse)
{
    char why[WHY], *text = moments_value(m->command, option, least);
    option_value v = {.text = text, .o = o, .why = why};
    const bool taken = text && parse(&v);
    free(text);
    return taken;
}

static void take_number(const wisp_moments *m, const char *option, size_t least, int64_t *number)
{
    char *text = moments_value(m->command, option, least);
    if (text) *number = strtoll(text, NULL, 10);
    free(text);
}

int kpath_load(tool *t, kpath *p, const wisp_moments *m)
{
    options *o = &t->opt;
    if (!take(o, m, "path", 2, parse_path)) return tool_fail(t, "%s holds no moments of wisp spectral", o->from);
    if (moments_asked(m->command, "cell", 2) && !take(o, m, "cell", 2, parse_cell))
        return tool_fail(t, "%s: its command is damaged", o->from);
    take_number(m, "k-points", 1, &o->k_points);
    take_number(m, "orbitals", 3, &o->orbitals);
    const bool own =
        moments_asked(m->command, "positions", 3); /* of the file nothing is needed any more but the cell */
    int rc = own ? EXIT_FINE : kpath_open(t, p, m->matrix ? m->matrix : "", m->rows);
    if (own) {
        p->at = (wisp_positions){.rows = m->rows, .periodic = (1U << o->cell_vectors) - 1};
        memcpy(p->at.cell, o->cell, sizeof p->at.cell);
        rc = choose_orbitals(t, p, m->rows);
        if (!rc) rc = make_path(t, p);
    }
    if (rc) return rc;
    const int64_t there = m->vectors / p->at.orbitals;
    if (there > p->count || (there < p->count && !m->partial))
        return tool_fail(t, "%s: its command does not tell at which k its moments are", o->from);
    if (there < 1) return tool_fail(t, "%s holds no k with all its %d orbitals", o->from, p->at.orbitals);
    p->count = there; /* fewer, of a run that was stopped */
    while (p->corners > 1 && p->corner[p->corners - 1] >= there) p->corners--;
    return EXIT_FINE;
}

/* ---- results ---------------------------------------------------------------------------------------- */

int spectral_evaluate(tool *t, results *r)
{
    const kpath *p = &r->path;
    const int orbitals = p->at.orbitals;
    if (r->curves < p->count * orbitals) return tool_fail(t, "moments of some plane waves are missing");
    if (wisp_alloc(t->ctx, &r->spectral, (size_t)(p->count * r->points), sizeof *r->spectral)) return tool_fail_ctx(t);
    for (int64_t c = 0; c < p->count * orbitals; c++)
        for (int64_t i = 0; i < r->points; i++) r->spectral[c / orbitals * r->points + i] += r->dos[c * r->points + i];
    return EXIT_FINE;
}

static json_t *table_of(const double *v, int64_t rows, int64_t step, int64_t n)
{
    json_t *array = json_array();
    for (int64_t i = 0; array && i < rows; i++) json_array_append_new(array, json_numbers(v + i * step, n));
    return array;
}

static json_t *by_orbital(const results *r)
{
    const int orbitals = r->path.at.orbitals;
    json_t *array = json_array();
    for (int o = 0; array && o < orbitals; o++)
        json_array_append_new(array, table_of(r->dos + o * r->points, r->path.count, orbitals * r->points, r->points));
    return array;
}

void spectral_json(json_t *o, const results *r)
{
    const kpath *p = &r->path;
    JSON_PUT(o, J("k", table_of(p->k[0], p->count, 3, 3)), J("path_length", json_numbers(p->way, p->count)),
             J("corners", json_wholes(p->corner, p->corners)), J("moved_by_at_most", p->moved),
             J("orbitals", p->at.orbitals), J("energies", json_numbers(r->energy, r->points)),
             J("spectral", table_of(r->spectral, p->count, r->points, r->points)),
             J_MAYBE(p->at.orbitals > 1, "by_orbital", by_orbital(r)));
}

/* Where A is largest, at few k: the corners, or all. */
void spectral_summary(const results *r)
{
    enum { MOST = 8 };
    const kpath *p = &r->path;
    char a[TEXT], b[TEXT];
    text_line("k", "%s of %s orbital%s each", text_count(a, p->count), text_count(b, p->at.orbitals),
              p->at.orbitals == 1 ? "" : "s");
    if (p->moved > 1e-9) text_line("", "moved by up to %.3g to fit the periodic sample", p->moved);
    text_line("energies", "%s", text_count(a, r->points));
    for (int64_t c = 0; c < p->corners && c < MOST; c++) {
        const int64_t i = p->corner[c];
        if (i >= p->count) break;
        const double *v = r->spectral + i * r->points;
        int64_t top = 0;
        for (int64_t e = 1; e < r->points; e++)
            if (v[e] > v[top]) top = e;
        text_line(c ? "" : "strongest", "A = %.4g at E = %.6g, k = (%.4g, %.4g, %.4g)%s", v[top], r->energy[top],
                  p->k[i][0], p->k[i][1], p->k[i][2], c == MOST - 1 && p->corners > MOST ? ", ..." : "");
    }
    text_line("error bar", "none: no random vectors");
}

void spectral_table(const results *r, FILE *f)
{
    const kpath *p = &r->path;
    const int orbitals = p->at.orbitals;
    fputs("path,kx,ky,kz,energy,spectral", f);
    for (int o = 0; orbitals > 1 && o < orbitals; o++) fprintf(f, ",orbital_%d", o);
    fputc('\n', f);
    for (int64_t k = 0; k < p->count; k++)
        for (int64_t i = 0; i < r->points; i++) {
            csv_numbers(f, "", (double[]){p->way[k], p->k[k][0], p->k[k][1], p->k[k][2], r->energy[i]}, 5);
            csv_numbers(f, ",", &r->spectral[k * r->points + i], 1);
            for (int o = 0; orbitals > 1 && o < orbitals; o++)
                csv_numbers(f, ",", &r->dos[(k * orbitals + o) * r->points + i], 1);
            fputc('\n', f);
        }
}

/* The edge between two k, or as far beyond the first or last one; of a single k at half of a unit. */
static double edge_at(const kpath *p, int64_t k)
{
    const double *w = p->way;
    if (p->count == 1) return w[0] + (k ? 0.5 : -0.5);
    if (k == 0) return w[0] - (w[1] - w[0]) / 2;
    if (k == p->count) return w[k - 1] + (w[k - 1] - w[k - 2]) / 2;
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
void spectral_script(const tool *t, const results *r, FILE *f, const char *path)
{
    enum { ROWS = 256, LABEL = 7 }; /* LABEL: columns beside the tics */
    const kpath *p = &r->path;
    const int64_t bundle = (r->points + ROWS - 1) / ROWS;
    char n[TEXT], line[2 * TEXT_BAR];
    (void)t;
    plot_begin(f, path, 1, 1);
    snprintf(line, sizeof line, "A(k,E) at %lld k, %s moments, resolution %.3g", (long long)p->count,
             text_count(n, r->n), r->resolution);
    fprintf(f, "set lmargin %d\n", widest_tic(r->energy[0], r->energy[r->points - 1]) + LABEL);
    fputs(
        "set ylabel 'energy (units of the matrix)' offset -2\nset format y '%g'\nunset key\nunset grid\nset view map\n"
        "set palette defined (0 '#ffffff', 0.1 '#cfe0f5', 0.4 '#4f83cc', 1 '#08204a')\n"
        "set pm3d corners2color c1\nset cblabel 'A(k,E) (1 per energy)' offset 2\nset cbrange [0:*]\nset xtics (",
        f);
    for (int64_t c = 0; c < p->corners && p->corner[c] < p->count; c++) {
        const double *k = p->k[p->corner[c]];
        fprintf(f, "%s'(%.3g, %.3g", c ? ", " : "", k[0], k[1]);
        if (p->at.dimensions > 2) fprintf(f, ", %.3g", k[2]);
        fprintf(f, ")' %.10g", p->way[p->corner[c]]);
    }
    fputs(")\n", f);
    plot_title(f, 2, r->matrix, (const char *[]){line, NULL});
    plot_range(f, 'x', edge_at(p, 0), edge_at(p, p->count));
    plot_range(f, 'y', r->energy[0], r->energy[r->points - 1]);
    fputs("$d << EOD\n", f);
    for (int64_t edge = 0; edge < 2 * p->count; edge++) {
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
