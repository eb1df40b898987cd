/* Graphene: nearest-neighbour hopping on the honeycomb, in a magnetic field, with disorder.
 *
 * Cell (x, y) has the sites A and B. A(x, y) is bound to B(x, y), B(x-1, y) and B(x, y-1). In Landau's gauge the last
 * of these bonds has the phase 2 pi flux x; every hexagon then carries `flux`. Turned by a direction, the second has
 * the phase -2 pi flux y. */
#include "gallery.h"
#include <math.h>

#define KEYS(X)                                                                                       \
    X(nx, "10", WISP__GAL_SIZE, "cells along x, two sites each")                                      \
    X(ny, "10", WISP__GAL_SIZE, "cells along y")                                                      \
    X(t, "1", WISP__GAL_REAL_FROM(INT64_MIN), "hopping: -t between neighbours")                       \
    X(flux, "0", WISP__GAL_REAL_FROM(INT64_MIN), "magnetic flux per hexagon in flux quanta, as 1/10") \
    X(disorder, "0", WISP__GAL_REAL_FROM(0), "W: potential of each site, uniform in [-W/2, W/2]")     \
    X(seed, "1", WISP__GAL_SEED, "of the disorder")                                                   \
    X(periodic, "xy", WISP__GAL_LETTERS_OF("xy"), "periodic directions, or none; xy needs flux nx or flux ny integer")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    wisp__gal_box box;
    double hop, flux, disorder;
    uint64_t seed;
    bool complex_values, along_y; /* along_y: the phase depends on y */
} graphene;

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
    int64_t at[3], step[3] = {0};
    bool is_b = row & 1, exists[3] = {true};
    int n = 0;
    wisp__gal_where(&p->box, row >> 1, at);
    for (int d = 0; d < 2; d++) {
        step[d + 1] =
            is_b ? wisp__gal_above(&p->box, at, d, &exists[d + 1]) : wisp__gal_below(&p->box, at, d, &exists[d + 1]);
    }
    if (!col) return 1 + exists[1] + exists[2] + (p->disorder > 0);
    wisp_scalar turn = p->complex_values ? phase(p, at) : (wisp_scalar){1, 0};
    for (int d = 0; d < 3; d++) {
        if (!exists[d]) continue;
        bool turned = d == (p->along_y ? 1 : 2);
        wisp_scalar v = {p->hop, 0};
        if (turned) v = (wisp_scalar){p->hop * turn.re, p->hop * (is_b ? -turn.im : turn.im)};
        col[n] = (row ^ 1) + 2 * step[d];
        put(p, val, n++, v);
    }
    if (p->disorder > 0) {
        col[n] = row;
        put(p, val, n++, (wisp_scalar){wisp__gal_disorder(p->disorder, p->seed, row), 0});
    }
    return n;
}

static bool commensurate(double flux, int64_t n)
{
    double turns = flux * (double)n;
    return fabs(turns - rint(turns)) < 1e-9;
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
            return wisp_ctx_fail(ctx, WISP_ERR_ARG,
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
    return wisp__gal_source(src, ctx, "graphene", &shape, &p, sizeof p);
}

const wisp__gal_entry wisp__gal_graphene = {
    {"graphene", "honeycomb lattice with magnetic flux and disorder; complex with flux, a diagonal only with disorder",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    graphene_open};
