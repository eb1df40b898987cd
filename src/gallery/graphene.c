/* Graphene: nearest-neighbour hopping on the honeycomb.
 *
 * Cell (x, y) has the sites A and B. A(x, y) is bound to B(x, y), B(x-1, y) and B(x, y-1). For the field A and B may
 * stand in one place, as only hexagons enclose flux; so one bond of three has a phase. */
#include "plane.h"

#define KEYS(X) WISP__GAL_PLANE_KEYS(X, ", two sites each")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

static wisp__gal_plane lattice_of(const wisp__gal_value *value)
{
    const wisp_scalar hop = {-value[KEY_t].real, 0};
    return (wisp__gal_plane){.name = "graphene",
                             .sites = 2,
                             .edge = WISP__GAL_SIXTY(WISP__GAL_ROOT_3),
                             .spot = {{0, 0}, {WISP__GAL_ROOT_3 / 2, 0.5}},
                             .bonds = 3,
                             .bond = {{0, 1, 0, 0, hop}, {0, 1, -1, 0, hop}, {0, 1, 0, -1, hop}}};
}

static wisp_status graphene_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const wisp__gal_plane lattice = lattice_of(value);
    return wisp__gal_plane_open(src, ctx, &lattice, value);
}
static wisp_status graphene_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const wisp__gal_plane lattice = lattice_of(value);
    return wisp__gal_plane_positions(positions, ctx, &lattice, value);
}

const wisp__gal_entry wisp__gal_graphene = {
    {"graphene",
     "honeycomb lattice with magnetic flux, disorder and vacancies; complex with flux, a diagonal only with disorder",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    graphene_open,
    graphene_positions};

const wisp__gal_entry wisp__gal_honeycomb = {{"honeycomb", "another name of graphene", KEYS(WISP__GAL_HELP)},
                                             keys,
                                             KEY_COUNT,
                                             graphene_open,
                                             graphene_positions};
