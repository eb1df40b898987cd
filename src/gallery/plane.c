/* Rows of lattices in the plane (plane.h).
 *
 * A field of f flux quanta per cell has, in Landau's gauge, the vector potential f u along v, for the coordinates u, v
 * in edges of the cell. A straight bond from (u0, v0) to (u1, v1) then turns by f (u0 + u1)/2 (v1 - v0). With the phase
 * f x v taken out of each site of the cells (x, y) this is f (x dy + c): c hangs on the bond alone, and is made part of
 * its value. So all rows of one x have the same entries.
 *
 * Once around along y nothing changes. Once around along x the phase f nx v is due, which fits if f nx ny is an
 * integer. Where only x is periodic, or f nx is no integer and f ny is one, x and y change places (along_y), and f its
 * sign. */
#include "plane.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WISP__GAL_PLANE_KEYS(WISP__GAL_ENUM, "") PLANE_KEYS };
enum { MOST_HALVES = 12, MOST_PARTS = 1 << 20, MOST_KEPT = 1 << 14 };
enum { PERIOD = 72 }; /* flux quanta that change no c, which is a multiple of 1/8 or 1/18 */

/* A bond as the row of one of its ends has it. */
typedef struct {
    int8_t dx, dy;
    bool back;         /* the row is of the end where it is not listed */
    int8_t turns;      /* by how many times f x */
    int64_t step;      /* to the other site, in the numbering */
    wisp_scalar value; /* at the end where it is listed, at x = 0 */
} half;

typedef struct {
    int64_t nx, ny;
    unsigned periodic;
    int sites, halves[WISP__GAL_PLANE_SITES];
    half half[WISP__GAL_PLANE_SITES][MOST_HALVES];
    double energy[WISP__GAL_PLANE_SITES];
    double edge[2][2], spot[WISP__GAL_PLANE_SITES][2];
    double flux;
    int64_t part, parts; /* the same as a fraction, so that cells `parts` apart have the same bits; parts = 0: none */
    double around;       /* turns for each step along y of a bond that goes once around along x */
    double disorder;
    uint64_t seed;
    bool along_y, diagonal;
    int64_t phases; /* that are kept: they follow, 0 or `parts` of them */
    bool some;      /* are vacant: `kept` follows these */
} plane;

static wisp_scalar *phases_of(const plane *p) { return (wisp_scalar *)(uintptr_t)(p + 1); }
static wisp__gal_kept *kept_of(const plane *p) { return (wisp__gal_kept *)(phases_of(p) + p->phases); }

static int64_t site_of(const plane *p, int64_t row) { return p->some ? wisp__gal_kept_site(kept_of(p), row) : row; }
static int64_t row_of(const plane *p, int64_t site) { return p->some ? wisp__gal_kept_row(kept_of(p), site) : site; }

/* Neither is inlined: both ends of a bond must find the same bits. */
static __attribute__((noinline)) wisp_scalar turn(double turns)
{
    const double angle = 2 * 3.14159265358979323846 * (turns - floor(turns + 0.5));
    return (wisp_scalar){cos(angle), sin(angle)};
}
static __attribute__((noinline)) wisp_scalar times(wisp_scalar a, wisp_scalar b)
{
    return (wisp_scalar){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static wisp_scalar turn_at(const plane *p, int64_t x)
{
    int64_t rest;
    if (p->parts == 0) return turn(p->flux * (double)x);
    wisp__gal_divide(x, p->parts, &rest);
    if (p->phases > 0) return phases_of(p)[rest];
    return turn((double)(p->part * rest % p->parts) / (double)p->parts);
}
static wisp_scalar conjugate(wisp_scalar a) { return (wisp_scalar){a.re, -a.im}; }

/* The value of a half in the row of a site of the cell (x, y). over: it goes once around along x, up or down. */
static wisp_scalar entry(const plane *p, const half *h, int64_t x, int64_t y, int over)
{
    wisp_scalar v = h->value;
    if (h->turns) {
        const int64_t n = p->along_y ? p->ny : p->nx; /* of the cell where the bond begins: */
        const int64_t from = (p->along_y ? y : x) + (!h->back ? 0 : p->along_y ? h->dy : h->dx);
        const wisp_scalar phase = turn_at(p, from < 0 ? n - 1 : from == n ? 0 : from);
        v = times(v, h->turns > 0 ? phase : conjugate(phase));
    }
    if (over && p->around != 0) {
        int64_t to = h->back ? y : y + h->dy; /* the cell where it ends */
        to = to < 0 ? p->ny - 1 : to == p->ny ? 0 : to;
        v = times(v, turn((h->back ? -over : over) * p->around * (double)to));
    }
    return h->back ? conjugate(v) : v;
}

/* The cell of a site, and which of its sites it is. */
static inline int64_t cell_of(const plane *p, int64_t site, int64_t *a)
{
    if (p->sites > 2) return wisp__gal_divide(site, p->sites, a);
    *a = site & (p->sites - 1);
    return site >> (p->sites - 1);
}

/* A step from i in a direction of n; false: it leaves the lattice. */
static inline bool go(int64_t i, int d, int64_t n, bool periodic, int *over)
{
    *over = (i + d >= n) - (i + d < 0);
    return !*over || periodic;
}

static inline __attribute__((always_inline)) int fill_row(const plane *p, int64_t row, int64_t *col, void *val,
                                                          bool complex_values)
{
    const int64_t site = site_of(p, row), column = p->sites * p->ny;
    int64_t a, y;
    const int64_t x = wisp__gal_divide(cell_of(p, site, &a), p->ny, &y);
    const bool inside = x > 0 && x < p->nx - 1 && y > 0 && y < p->ny - 1;
    int n = 0;
    for (int k = 0; k < p->halves[a]; k++) {
        const half *h = &p->half[a][k];
        int over_x = 0, over_y = 0;
        int64_t other = site + h->step;
        if (!inside) {
            if (!go(x, h->dx, p->nx, p->periodic & 1, &over_x) || !go(y, h->dy, p->ny, p->periodic & 2, &over_y))
                continue;
            other -= over_x * p->nx * column + over_y * column;
        }
        other = row_of(p, other);
        if (other < 0) continue;
        if (col) {
            col[n] = other;
            if (complex_values)
                ((wisp_scalar *)val)[n] = entry(p, h, x, y, over_x);
            else
                ((double *)val)[n] = h->value.re;
        }
        n++;
    }
    if (!p->diagonal) return n;
    if (col) {
        const double v = p->energy[a] + (p->disorder > 0 ? wisp__gal_disorder(p->disorder, p->seed, site) : 0);
        col[n] = row;
        if (complex_values)
            ((wisp_scalar *)val)[n] = (wisp_scalar){v, 0};
        else
            ((double *)val)[n] = v;
    }
    return n + 1;
}
static int real_row(void *arg, int64_t row, int64_t *col, void *val) { return fill_row(arg, row, col, val, false); }
static int complex_row(void *arg, int64_t row, int64_t *col, void *val) { return fill_row(arg, row, col, val, true); }

/* ---- opening ---------------------------------------------------------------------------------------- */

/* The value of a bond with its c, for p->flux. In Landau's gauge with x and y exchanged, c is that of the bond with x
   and y exchanged, and its sign changes. */
static wisp_scalar with_field(const plane *p, const wisp__gal_plane *l, const wisp__gal_bond *b, double flux)
{
    const int u = p->along_y, v = !u;
    const double *from = l->place[b->from], *to = l->place[b->to], d[2] = {b->dx, b->dy};
    const double c = (from[u] + to[u] + d[u]) / 2 * (d[v] + to[v] - from[v]) - d[u] * to[v];
    return times(b->value, turn(p->along_y ? flux * c : -flux * c));
}

static void add_halves(plane *p, const wisp__gal_plane *l, double flux)
{
    for (int i = 0; i < l->bonds; i++) {
        const wisp__gal_bond *b = &l->bond[i];
        const wisp_scalar value = flux == 0 ? b->value : with_field(p, l, b, flux);
        const int turns = p->flux == 0 ? 0 : p->along_y ? b->dx : -b->dy;
        const int64_t step = p->sites * (b->dx * p->ny + b->dy) + b->to - b->from;
        p->half[b->from][p->halves[b->from]++] = (half){b->dx, b->dy, false, (int8_t)turns, step, value};
        p->half[b->to][p->halves[b->to]++] = (half){(int8_t)-b->dx, (int8_t)-b->dy, true, (int8_t)turns, -step, value};
    }
}

/* Of a lattice that is periodic in both directions: the nearest flux that fits, if *flux is that up to rounding, also
   without whole quanta; and the gauge. */
static wisp_status fit_flux(wisp_ctx *ctx, const char *name, plane *p, double *flux, double given)
{
    const double cells = (double)p->nx * (double)p->ny, quanta = rint(*flux * cells) + 0.0;
    if (!(fabs(*flux * cells - quanta) <= 1e-9 + fabs(quanta) * 0x1p-51))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "%s: flux=%g does not fit periodic=xy: flux times the %.0f cells must be an integer; the "
                              "nearest that fits is flux=%.0f/%.0f, or open a boundary",
                              name, given, cells, quanta, cells);
    *flux = quanta / cells;
    p->flux = remainder(quanta, cells) / cells;
    const double along_x = remainder(quanta, (double)p->ny), along_y = remainder(quanta, (double)p->nx);
    p->along_y = along_x != 0 && along_y == 0;
    p->around = p->along_y ? 0 : along_x / (double)p->ny;
    return WISP_OK;
}

/* p->flux as a fraction, by its continued fraction, if there is one with few parts. */
static void find_fraction(plane *p)
{
    const double size = fabs(p->flux);
    double rest = size, before[2] = {0, 1}, now[2] = {1, 0}; /* convergents: above, below */
    while (rest < MOST_PARTS) {
        const double whole = floor(rest), next[2] = {whole * now[0] + before[0], whole * now[1] + before[1]};
        if (next[1] > MOST_PARTS) return;
        if (fabs(next[0] / next[1] - size) <= size * 0x1p-51) {
            p->part = (int64_t)(p->flux < 0 ? -next[0] : next[0]);
            p->parts = (int64_t)next[1];
            return;
        }
        memcpy(before, now, sizeof now);
        memcpy(now, next, sizeof now);
        rest = 1 / (rest - whole); /* not by 0: then the convergent was the number */
    }
}

/* With the phases, and the sites that are left, behind the parameters. */
static wisp_status open_with_lists(wisp_src *src, wisp_ctx *ctx, const char *name, wisp_src *shape, const plane *p,
                                   double vacancies)
{
    const size_t kept = p->some ? wisp__gal_kept_bytes(shape->rows) : 0;
    const size_t bytes = sizeof *p + (size_t)p->phases * sizeof(wisp_scalar) + kept;
    plane *all = malloc(bytes);
    if (!all)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "%s: no memory for the list of its sites (%zu bytes)", name, bytes);
    *all = *p;
    for (int64_t i = 0; i < p->phases; i++)
        phases_of(all)[i] = turn((double)(p->part * i % p->parts) / (double)p->parts);
    if (p->some) {
        wisp__gal_kept_draw(ctx, kept_of(all), shape->rows, vacancies, p->seed);
        shape->rows = kept_of(all)->rows;
    }
    const wisp_status status = shape->rows > 0
                                   ? wisp__gal_source(src, ctx, name, shape, all, bytes)
                                   : wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: vacancies=%g leave no site of %lld", name,
                                                    vacancies, (long long)kept_of(all)->sites);
    free(all);
    return status;
}

wisp_status wisp__gal_plane_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_plane *lattice,
                                 const wisp__gal_value *value)
{
    const wisp__gal_plane *l = lattice;
    plane p = {.nx = value[KEY_nx].i,
               .ny = value[KEY_ny].i,
               .periodic = (unsigned)value[KEY_periodic].i,
               .sites = l->sites,
               .disorder = value[KEY_disorder].real,
               .seed = (uint64_t)value[KEY_seed].i};
    wisp_src shape = {0};
    wisp_status status = WISP_OK;
    double flux = remainder(value[KEY_flux].real, PERIOD);
    WISP_TRY(wisp__gal_product(ctx, l->name, (int64_t[]){l->sites, p.nx, p.ny}, 3, &shape.rows));
    bool complex_values = value[KEY_flux].real != 0;
    p.along_y = p.periodic == 1;
    p.flux = remainder(flux, 1); /* whole quanta change nothing from x to x + 1 */
    if (p.periodic == 3) WISP_TRY(fit_flux(ctx, l->name, &p, &flux, value[KEY_flux].real));
    find_fraction(&p);
    add_halves(&p, l, flux);
    memcpy(p.edge, l->edge, sizeof p.edge);
    memcpy(p.spot, l->spot, sizeof p.spot);
    p.diagonal = p.disorder > 0;
    for (int i = 0; i < l->bonds; i++) complex_values |= l->bond[i].value.im != 0;
    for (int a = 0; a < l->sites; a++) {
        p.energy[a] = l->energy[a];
        p.diagonal |= l->energy[a] != 0;
        shape.max_row = WISP__MAX(shape.max_row, (int64_t)p.halves[a]);
    }
    shape.max_row += p.diagonal;
    shape.type = complex_values ? WISP_Z : WISP_D;
    shape.row = complex_values ? complex_row : real_row;
    p.some = value[KEY_vacancies].real > 0;
    p.phases = p.flux != 0 && p.parts <= MOST_KEPT ? p.parts : 0;
    status = open_with_lists(src, ctx, l->name, &shape, &p, value[KEY_vacancies].real);
out:
    return status;
}

/* ---- positions --------------------------------------------------------------------------------------- */

static int position(void *arg, int64_t row, double *xyz)
{
    const plane *p = arg;
    int64_t a, y;
    const int64_t x = wisp__gal_divide(cell_of(p, site_of(p, row), &a), p->ny, &y);
    for (int d = 0; d < 2; d++) xyz[d] = (double)x * p->edge[0][d] + (double)y * p->edge[1][d] + p->spot[a][d];
    xyz[2] = 0;
    return 0;
}

static int orbital(void *arg, int64_t row)
{
    int64_t a;
    cell_of(arg, site_of(arg, row), &a);
    return (int)a;
}

static double longest_bond(const wisp__gal_plane *l)
{
    double longest = 0;
    for (int i = 0; i < l->bonds; i++) {
        const wisp__gal_bond *b = &l->bond[i];
        double d[2];
        for (int k = 0; k < 2; k++)
            d[k] = b->dx * l->edge[0][k] + b->dy * l->edge[1][k] + l->spot[b->to][k] - l->spot[b->from][k];
        longest = fmax(longest, hypot(d[0], d[1]));
    }
    return longest;
}

/* They take the source's parameters over, with its list of the sites that are left. */
wisp_status wisp__gal_plane_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_plane *lattice,
                                      const wisp__gal_value *value)
{
    wisp_src src = {0};
    const wisp_status status = wisp__gal_plane_open(&src, ctx, lattice, value);
    if (status != WISP_OK) return status;
    const plane *p = src.arg;
    *positions = (wisp_positions){.rows = src.rows,
                                  .dimensions = 2,
                                  .periodic = p->periodic,
                                  .reach = longest_bond(lattice),
                                  .orbitals = p->sites,
                                  .orbital = orbital,
                                  .at = position,
                                  .arg = src.arg,
                                  .free_arg = src.free_arg};
    positions->cells[0] = p->nx, positions->cells[1] = p->ny;
    for (int d = 0; d < 2; d++) {
        positions->cell[0][d] = (double)p->nx * p->edge[0][d];
        positions->cell[1][d] = (double)p->ny * p->edge[1][d];
    }
    wisp__gal_positions_span(positions);
    return WISP_OK;
}
