/* Haldane's model: graphene with complex hopping between second neighbours, and opposite energies of A and B.
 *
 * Cells as graphene's, with edges at 60 degrees: the third of both edges leads from A to B. The way to a second
 * neighbour goes by the neighbour of both, and turns left or right there. */
#include "plane.h"
#include <math.h>

#define KEYS(X)                                                                                                       \
    WISP__GAL_PLANE_KEYS(X, ", two sites each")                                                                       \
    X(t2, "0.1", WISP__GAL_REAL_FROM(INT64_MIN),                                                                      \
      "hopping to second neighbours: -t2 exp(i pi phi) where the way turns left, its conjugate where it turns right") \
    X(phi, "1/2", WISP__GAL_REAL_FROM(INT64_MIN), "phase of that hopping, in units of pi")                            \
    X(mass, "0", WISP__GAL_REAL_FROM(INT64_MIN), "M: energy of A sites; that of B sites is -M")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

/* exp(i pi phi), without rounding where it is real or imaginary. */
static wisp_scalar phase(double phi)
{
    const double half_turns = remainder(phi, 2), angle = 3.14159265358979323846 * half_turns;
    return (wisp_scalar){fabs(half_turns) == 0.5 ? 0 : cos(angle), fmod(half_turns, 1) == 0 ? 0 : sin(angle)};
}

static wisp__gal_plane lattice_of(const wisp__gal_value *value)
{
    const double t2 = value[KEY_t2].real, mass = value[KEY_mass].real;
    const wisp_scalar hop = {-value[KEY_t].real, 0}, turned = phase(value[KEY_phi].real);
    const wisp_scalar left = {-t2 * turned.re, -t2 * turned.im}, right = {left.re, -left.im};
    /* An entry leads from its column to its row: to A at (0, 0) from A at (1, 0) the way turns left. */
    return (wisp__gal_plane){.name = "haldane",
                             .sites = 2,
                             .place = {{0, 0}, {1. / 3, 1. / 3}},
                             .energy = {mass, -mass},
                             .edge = WISP__GAL_SIXTY(WISP__GAL_ROOT_3),
                             .spot = {{0, 0}, {WISP__GAL_ROOT_3 / 2, 0.5}},
                             .bonds = t2 == 0 ? 3 : 9,
                             .bond = {{0, 1, 0, 0, hop},
                                      {0, 1, -1, 0, hop},
                                      {0, 1, 0, -1, hop},
                                      {0, 0, 1, 0, left},
                                      {0, 0, 0, 1, right},
                                      {0, 0, -1, 1, left},
                                      {1, 1, 1, 0, right},
                                      {1, 1, 0, 1, left},
                                      {1, 1, -1, 1, right}}};
}

static wisp_status haldane_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const wisp__gal_plane lattice = lattice_of(value);
    return wisp__gal_plane_open(src, ctx, &lattice, value);
}
static wisp_status haldane_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const wisp__gal_plane lattice = lattice_of(value);
    return wisp__gal_plane_positions(positions, ctx, &lattice, value);
}

const wisp__gal_entry wisp__gal_haldane = {
    {"haldane", "Haldane's Chern insulator: graphene with complex hopping to second neighbours and a mass",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    haldane_open,
    haldane_positions};
