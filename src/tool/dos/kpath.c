/* The k of wisp spectral: a path or a grid, each moved to a wave that fits the sample; plane waves; what is kept of
   them. */
#include "../moments.h"
#include "../positions.h"
#include "dos.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void kpath_free(kpath *p)
{
    wisp_positions_close(&p->at);
    where_free(&p->within);
    free(p->k);
    free(p->way);
    free(p->wave);
    free(p->corner);
    *p = (kpath){0};
}

static int make_room(tool *t, kpath *p, int64_t points, int64_t corners)
{
    p->k = calloc((size_t)points, sizeof *p->k);
    p->way = calloc((size_t)points, sizeof *p->way);
    p->wave = calloc((size_t)points, sizeof *p->wave);
    p->corner = calloc((size_t)corners + 1, sizeof *p->corner);
    if (p->k && p->way && p->wave && p->corner) return EXIT_FINE;
    return tool_fail(t, "out of memory for %lld points of k", (long long)points);
}

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* ---- the path -------------------------------------------------------------------------------------- */

/* The wave that fits the sample. Of those that become the same one stands where it was moved least. */
static void add(kpath *p, const double *wanted, double way, double *off)
{
    double *k = p->k[p->count];
    memcpy(k, wanted, sizeof *p->k);
    wisp_positions_fit_wave(&p->at, k);
    const double moved = distance(k, wanted);
    const bool same = p->count && distance(k, k - 3) < 1e-9;
    p->moved = fmax(p->moved, moved);
    if (!same) p->wave[p->count] = p->count, p->count++;
    if (same && moved >= *off) return;
    p->way[p->count - 1] = way;
    *off = moved;
}

/* As many steps for each part of the path as its length asks for. */
static int make_path(tool *t, kpath *p)
{
    const options *o = &t->opt;
    const int64_t points = o->k_points ? o->k_points : 61;
    const double(*corner)[3] = (const double(*)[3])o->path;
    double length = 0, way = 0, off = 0;
    const int rc = make_room(t, p, points + o->corners, o->corners);
    if (rc) return rc;
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
    p->points = p->count;
    return EXIT_FINE;
}

/* ---- the grid -------------------------------------------------------------------------------------- */

typedef struct {
    int64_t key[3], point;
} place;

static int by_key(const void *a, const void *b)
{
    const place *x = a, *y = b;
    for (int d = 0; d < 3; d++)
        if (x->key[d] != y->key[d]) return x->key[d] < y->key[d] ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

/* p->k has those of the points, each moved to its wave; equal waves become one. */
static int join_waves(tool *t, kpath *p)
{
    const double digits = 1e7; /* of a wave that is told from others */
    place *of = p->points > 0 ? calloc((size_t)p->points, sizeof *of) : NULL;
    if (!of) return tool_fail(t, "out of memory for %lld points of k", (long long)p->points);
    for (int64_t i = 0; i < p->points; i++) {
        of[i].point = i;
        for (int d = 0; d < 3; d++) of[i].key[d] = llround(p->k[i][d] * digits);
    }
    qsort(of, (size_t)p->points, sizeof *of, by_key);
    for (int64_t i = 0, first = 0; i < p->points; i++) {
        if (memcmp(of[i].key, of[first].key, sizeof of->key)) first = i;
        p->wave[of[i].point] = of[first].point;
    }
    free(of);
    for (int64_t i = 0; i < p->points; i++) {
        const bool own = p->wave[i] == i;
        if (own) memcpy(p->k[p->count], p->k[i], sizeof *p->k);
        p->wave[i] = own ? p->count++ : p->wave[p->wave[i]];
    }
    return EXIT_FINE;
}

/* The first of the corners, and steps from there to points: along the sides, or of a cell of the reciprocal lattice
   around 0. */
static int grid_sides(tool *t, const kpath *p, double *from, double (*side)[3])
{
    const options *o = &t->opt;
    double cell[3][3];
    memset(from, 0, 3 * sizeof *from);
    for (int i = 0; i < 2 && o->grid_corners; i++)
        for (int d = 0; d < 3; d++) {
            from[d] = o->grid_corner[0][d];
            side[i][d] = (o->grid_corner[1 + i][d] - from[d]) / (double)(o->grid[i] - 1);
        }
    if (o->grid_corners) return EXIT_FINE;
    if (p->at.dimensions < 2) return tool_fail(t, "--grid: %s extends along one direction; take --path", t->opt.arg[0]);
    for (int i = 0; i < p->at.dimensions; i++)
        for (int d = 0; d < 3; d++) cell[i][d] = p->at.cell[i][d] / (double)p->at.cells[i];
    if (!p->at.cells[0] || !p->at.cells[1])
        return tool_fail(t, "--grid: the cell of the lattice is not known; give corners of the grid: --grid N,M:K:K:K");
    for (int i = 0; i < 2; i++) {
        double way[3];
        positions_counter((const double(*)[3])cell, p->at.dimensions, i, way);
        for (int d = 0; d < 3; d++) {
            side[i][d] = 2 * M_PI * way[d] / (double)o->grid[i];
            from[d] -= side[i][d] * (double)(o->grid[i] / 2);
        }
    }
    return EXIT_FINE;
}

static int make_grid(tool *t, kpath *p)
{
    const int64_t *n = t->opt.grid;
    double from[3], side[2][3];
    int rc = grid_sides(t, p, from, side);
    if (!rc) rc = make_room(t, p, n[0] * n[1], 0);
    if (rc) return rc;
    p->columns = n[1];
    p->points = n[0] * n[1];
    for (int64_t i = 0; i < p->points; i++) {
        double wanted[3];
        const double a = (double)(i / n[1]), b = (double)(i % n[1]);
        for (int d = 0; d < 3; d++) p->k[i][d] = wanted[d] = from[d] + a * side[0][d] + b * side[1][d];
        wisp_positions_fit_wave(&p->at, p->k[i]);
        p->moved = fmax(p->moved, distance(p->k[i], wanted));
    }
    return join_waves(t, p);
}

/* ---- of a run -------------------------------------------------------------------------------------- */

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

int kpath_open(tool *t, kpath *p, const char *matrix, int64_t rows, where *within)
{
    kpath_free(p);
    if (within) p->within = *within, *within = (where){0};
    int rc = positions_open(t, matrix, rows, &p->at);
    if (!rc) rc = choose_orbitals(t, p, rows);
    if (rc) return rc;
    return t->opt.grid[0] ? make_grid(t, p) : make_path(t, p);
}

void kpath_options(kpath *p, wisp_kpm_opts *k)
{
    k->trace = WISP_TRACE_GIVEN;
    k->vectors = p->count * p->at.orbitals;
    k->start = kpath_start;
    k->start_arg = p;
}

/* Rows that --where leaves out are of no orbital. */
static int orbital_within(void *arg, int64_t row)
{
    const kpath *p = arg;
    if (!p->within.in[row]) return p->at.orbitals;
    return p->at.orbital ? p->at.orbital(p->at.arg, row) : (int)(row % p->at.orbitals);
}

static int place_within(void *arg, int64_t row, double *xyz)
{
    const kpath *p = arg;
    return p->at.at(p->at.arg, row, xyz);
}

/* Vector v is orbital v modulo their number at k number v over it. */
wisp_status kpath_start(void *arg, int64_t first, wisp_blk *x)
{
    const kpath *p = arg;
    wisp_positions at = p->at;
    const int width = wisp_blk_width(x);
    wisp_ctx *ctx = wisp_blk_ctx(x);
    double *k = NULL;
    int *orbital = NULL;
    if (p->within.in) at.orbital = orbital_within, at.at = place_within, at.arg = arg;
    wisp_status status = wisp_alloc(ctx, &k, 3 * (size_t)width, sizeof *k);
    if (status == WISP_OK) status = wisp_alloc(ctx, &orbital, (size_t)width, sizeof *orbital);
    for (int j = 0; j < width && status == WISP_OK; j++) {
        memcpy(k + 3 * j, p->k[(first + j) / p->at.orbitals], sizeof *p->k);
        orbital[j] = (int)((first + j) % p->at.orbitals);
    }
    if (status == WISP_OK) status = wisp_blk_fill_waves(x, &at, k, orbital);
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
    const uint64_t within = p->within.in ? XXH3_64bits(p->within.in, (size_t)p->within.rows) : 0;
    wisp_status status = wisp_state_samef(s, "--positions", "%016llx", (unsigned long long)rows);
    if (status != WISP_OK) return status;
    status = wisp_state_samef(s, "--where", "%016llx", (unsigned long long)within);
    if (status != WISP_OK) return status;
    return wisp_state_samef(s, p->columns ? "--grid" : "--path", "%lld k, %d orbitals, %016llx", (long long)p->count,
                            p->at.orbitals, (unsigned long long)waves);
}

/* ---- moments of a file ------------------------------------------------------------------------------ */

/* The option of the run that made the moments, parsed as then; false: it was not there, or is damaged. */
static bool take(options *o, const wisp_moments *m, const char *option, option_parse_fn *parse)
{
    char why[WHY], *text = moments_value(m->command, option);
    option_value v = {.text = text, .o = o, .why = why};
    const bool taken = text && parse(&v);
    free(text);
    return taken;
}

static void take_number(const wisp_moments *m, const char *option, int64_t *number)
{
    char *text = moments_value(m->command, option);
    if (text) *number = strtoll(text, NULL, 10);
    free(text);
}

/* Earlier versions kept no k: the path of the command that made the moments. */
static int load_command(tool *t, kpath *p, const wisp_moments *m)
{
    options *o = &t->opt;
    if (!take(o, m, "path", parse_path)) return tool_fail(t, "%s holds no moments of wisp spectral", o->from);
    if (moments_asked(m->command, "cell") && !take(o, m, "cell", parse_cell))
        return tool_fail(t, "%s: its command is damaged", o->from);
    take_number(m, "k-points", &o->k_points);
    take_number(m, "orbitals", &o->orbitals);
    /* Of the file of positions nothing is needed any more but the cell. */
    if (!moments_asked(m->command, "positions")) return kpath_open(t, p, m->matrix ? m->matrix : "", m->rows, NULL);
    p->at = (wisp_positions){.rows = m->rows, .periodic = (1U << o->cell_vectors) - 1};
    memcpy(p->at.cell, o->cell, sizeof p->at.cell);
    const int rc = choose_orbitals(t, p, m->rows);
    return rc ? rc : make_path(t, p);
}

static int load_points(tool *t, kpath *p, const wisp_moments *m)
{
    const int rc = make_room(t, p, m->point_count, m->point_count);
    if (rc) return rc;
    p->at = (wisp_positions){.rows = m->rows, .dimensions = m->dimensions, .orbitals = m->orbitals};
    p->points = m->point_count;
    p->columns = m->columns;
    p->moved = m->moved;
    for (int64_t i = 0; i < p->points; i++) {
        const double *of = m->points + i * WISP_POINT;
        if (of[5] > (double)p->count) /* waves come one after the other */
            return tool_fail(t, "%s: point %lld of k is of wave %g, before which one is missing", t->opt.from,
                             (long long)i, of[5]);
        p->wave[i] = (int64_t)of[5];
        p->way[i] = of[3];
        memcpy(p->k[p->wave[i]], of, sizeof *p->k);
        for (int c = 0; c < of[4] && p->corners < p->points; c++) p->corner[p->corners++] = i;
        if (p->wave[i] == p->count) p->count++;
    }
    return EXIT_FINE;
}

/* Of a run that was stopped: the beginning of a path, or all of a grid but points that are missing. */
static int leave_out_missing(tool *t, kpath *p, const wisp_moments *m)
{
    const int64_t there = m->vectors / p->at.orbitals;
    if (there / (m->realizations > 1 ? m->realizations : 1) > p->count || (there < p->count && !m->partial))
        return tool_fail(t, "%s: its command does not tell at which k its moments are", t->opt.from);
    if (there < 1) return tool_fail(t, "%s holds no k with all its %d orbitals", t->opt.from, p->at.orbitals);
    if (there >= p->count) return EXIT_FINE;
    p->count = there;
    if (!p->columns) p->points = there;
    for (int64_t i = 0; i < p->points; i++)
        if (p->wave[i] >= there) p->wave[i] = ~p->wave[i]; /* below 0, and it still tells where the point is */
    while (p->corners > 1 && p->corner[p->corners - 1] >= there) p->corners--;
    return EXIT_FINE;
}

int kpath_load(tool *t, kpath *p, const wisp_moments *m)
{
    if (m->points && (m->trace != WISP_TRACE_GIVEN || m->imag || !m->orbitals))
        return tool_fail(t, "%s holds no moments of wisp spectral", t->opt.from);
    int rc = m->points ? load_points(t, p, m) : load_command(t, p, m);
    if (!rc) rc = leave_out_missing(t, p, m);
    return rc ? rc : kpath_check(t, p->columns);
}

int kpath_check(tool *t, bool grid)
{
    const options *o = &t->opt;
    if (grid && !o->energy_count) return tool_usage(t, "a grid of k needs --energies E,..: a map for each");
    if (grid && o->plot && o->energy_count > KPATH_MAPS)
        return tool_usage(t, "--plot draws %d maps at most, of %lld --energies", KPATH_MAPS,
                          (long long)o->energy_count);
    if (!grid && o->plot && o->energy_count == 1) return tool_usage(t, "--plot needs two energies or more");
    return EXIT_FINE;
}

int kpath_keep(tool *t, const kpath *p, wisp_moments *m)
{
    double *points = calloc((size_t)p->points, WISP_POINT * sizeof *points);
    if (!points) return tool_fail(t, "out of memory for %lld points of k", (long long)p->points);
    for (int64_t i = 0; i < p->points; i++) {
        double *to = points + i * WISP_POINT;
        memcpy(to, p->k[p->wave[i]], sizeof *p->k);
        to[3] = p->way[i];
        to[5] = (double)p->wave[i];
    }
    for (int64_t c = 0; c < p->corners; c++) points[p->corner[c] * WISP_POINT + 4] += 1;
    const wisp_status status = wisp_moments_points(t->ctx, m, p->points, points);
    free(points);
    if (status) return tool_fail_ctx(t);
    m->columns = p->columns;
    m->moved = p->moved;
    m->orbitals = p->at.orbitals;
    m->dimensions = p->at.dimensions;
    return EXIT_FINE;
}
