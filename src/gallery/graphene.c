/* Graphene: nearest-neighbour hopping on the honeycomb, in a magnetic field, with disorder and vacancies.
 *
 * Cell (x, y) has the sites A and B. A(x, y) is bound to B(x, y), B(x-1, y) and B(x, y-1). In Landau's gauge the last
 * of these bonds has the phase 2 pi flux x; every hexagon then carries `flux`. Turned by a direction, the second has
 * the phase -2 pi flux y. Sites that are vacant have no row; disorder goes by the site, vacant ones counted. */
#include "gallery.h"
#include <math.h>
#include <stdlib.h>

#define KEYS(X)                                                                                             \
    X(nx, "10", WISP__GAL_SIZE, "cells along x, two sites each")                                            \
    X(ny, "10", WISP__GAL_SIZE, "cells along y")                                                            \
    X(t, "1", WISP__GAL_REAL_FROM(INT64_MIN), "hopping: -t between neighbours")                             \
    X(flux, "0", WISP__GAL_REAL_FROM(INT64_MIN), "magnetic flux per hexagon in flux quanta, as 1/10")       \
    X(disorder, "0", WISP__GAL_REAL_FROM(0), "W: potential of each site, uniform in [-W/2, W/2]")           \
    X(vacancies, "0", WISP__GAL_REAL_BETWEEN(0, 1), "chance of each site to be vacant: it has no row then") \
    X(seed, "1", WISP__GAL_SEED, "of disorder and vacancies")                                               \
    X(periodic, "xy", WISP__GAL_LETTERS_OF("xy"), "periodic directions, or none; xy needs flux nx or flux ny integer")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    wisp__gal_box box;
    double hop, flux, disorder;
    uint64_t seed;
    bool complex_values, along_y; /* along_y: the phase depends on y */
    bool some;                    /* are vacant: `kept` follows */
} graphene;

static wisp__gal_kept *kept_of(const graphene *p) { return (wisp__gal_kept *)(uintptr_t)(p + 1); }

static int64_t site_of(const graphene *p, int64_t row) { return p->some ? wisp__gal_kept_site(kept_of(p), row) : row; }
static int64_t row_of(const graphene *p, int64_t site) { return p->some ? wisp__gal_kept_row(kept_of(p), site) : site; }

/* Not inlined: both ends of a bond must find the same bits. */
static __attribute__((noinline)) wisp_scalar phase(const graphene *p, const int64_t at[3])
{
    double turns = p->along_y ? -p->flux * (double)at[1] : p->flux * (double)at[0];
    double angle = 2 * 3.14159265358979323846 * (turns - floor(turns + 0.5));
    return (wisp_scalar){cos(angle), sin(angle)};
}

static void put(const graphene *p, void *val, int i, wisp_scalar v)
{
    if (p->complex_values) {
        ((wisp_scalar *)val)[i] = v;
    } else {
        ((double *)val)[i] = v.re;
    }
}

static int graphene_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const graphene *p = arg;
    const int64_t site = site_of(p, row);
    int64_t at[3], step[3] = {0}, neighbour[3];
    bool is_b = site & 1, exists[3] = {true};
    int n = 0;
    wisp__gal_where(&p->box, site >> 1, at);
    for (int d = 0; d < 2; d++) {
        step[d + 1] =
            is_b ? wisp__gal_above(&p->box, at, d, &exists[d + 1]) : wisp__gal_below(&p->box, at, d, &exists[d + 1]);
    }
    for (int d = 0; d < 3; d++) {
        neighbour[d] = exists[d] ? row_of(p, (site ^ 1) + 2 * step[d]) : -1;
        n += neighbour[d] >= 0;
    }
    if (!col) return n + (p->disorder > 0);
    wisp_scalar turn = p->complex_values ? phase(p, at) : (wisp_scalar){1, 0};
    n = 0;
    for (int d = 0; d < 3; d++) {
        if (neighbour[d] < 0) continue;
        bool turned = d == (p->along_y ? 1 : 2);
        wisp_scalar v = {p->hop, 0};
        if (turned) v = (wisp_scalar){p->hop * turn.re, p->hop * (is_b ? -turn.im : turn.im)};
        col[n] = neighbour[d];
        put(p, val, n++, v);
    }
    if (p->disorder > 0) {
        col[n] = row;
        put(p, val, n++, (wisp_scalar){wisp__gal_disorder(p->disorder, p->seed, site), 0});
    }
    return n;
}

static bool commensurate(double flux, int64_t n)
{
    double turns = flux * (double)n;
    return fabs(turns - rint(turns)) < 1e-9;
}

/* With the sites that are left behind the parameters. */
static wisp_status open_kept(wisp_src *src, wisp_ctx *ctx, wisp_src *shape, graphene *p, double vacancies)
{
    const size_t bytes = sizeof *p + wisp__gal_kept_bytes(shape->rows);
    graphene *all = malloc(bytes);
    if (!all)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "graphene: no memory for the list of its sites (%zu bytes)", bytes);
    p->some = true;
    *all = *p;
    wisp__gal_kept_draw(ctx, kept_of(all), shape->rows, vacancies, p->seed);
    shape->rows = kept_of(all)->rows;
    const wisp_status status = shape->rows > 0
                                   ? wisp__gal_source(src, ctx, "graphene", shape, all, bytes)
                                   : wisp_ctx_failf(ctx, WISP_ERR_ARG, "graphene: vacancies=%g leave no site of %lld",
                                                    vacancies, (long long)kept_of(all)->sites);
    free(all);
    return status;
}

static wisp_status graphene_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    graphene p = {.hop = -value[KEY_t].real,
                  .flux = value[KEY_flux].real,
                  .disorder = value[KEY_disorder].real,
                  .seed = (uint64_t)value[KEY_seed].i};
    int64_t nx = value[KEY_nx].i, ny = value[KEY_ny].i, sites = 0;
    p.complex_values = p.flux != 0;
    p.flux = remainder(p.flux, 1); /* whole quanta change nothing, and could overflow in the phase */
    p.along_y = value[KEY_periodic].i == 1;
    if (value[KEY_periodic].i == 3 && !commensurate(p.flux, nx)) {
        if (!commensurate(p.flux, ny)) {
            return wisp_ctx_failf(
                ctx, WISP_ERR_ARG,
                "graphene: flux=%g does not fit periodic=xy: flux times nx=%lld or ny=%lld must be an "
                "integer; change nx, or open a boundary",
                value[KEY_flux].real, (long long)nx, (long long)ny);
        }
        p.along_y = true;
    }
    wisp_src shape = {.max_row = 3 + (p.disorder > 0), .type = p.complex_values ? WISP_Z : WISP_D, .row = graphene_row};
    wisp_status status = wisp__gal_box_make(&p.box, ctx, "graphene", nx, ny, 1, value[KEY_periodic].i, &sites);
    if (status != WISP_OK) return status;
    status = wisp__gal_product(ctx, "graphene", (int64_t[]){2, sites}, 2, &shape.rows);
    if (status != WISP_OK) return status;
    if (value[KEY_vacancies].real == 0) return wisp__gal_source(src, ctx, "graphene", &shape, &p, sizeof p);
    return open_kept(src, ctx, &shape, &p, value[KEY_vacancies].real);
}

const wisp__gal_entry wisp__gal_graphene = {
    {"graphene",
     "honeycomb lattice with magnetic flux, disorder and vacancies; complex with flux, a diagonal only with disorder",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    graphene_open};
