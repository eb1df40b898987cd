/* The kagome lattice: triangles that share corners.
 *
 * Cell (x, y), with edges at 60 degrees, has site 0 at its corner, 1 and 2 in the middle of its edges along x and y. */
#include "plane.h"

#define KEYS(X) WISP__GAL_PLANE_KEYS(X, ", three sites each")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

static wisp__gal_plane lattice_of(const wisp__gal_value *value)
{
    const wisp_scalar hop = {-value[KEY_t].real, 0};
    return (wisp__gal_plane){.name = "kagome",
                             .sites = 3,
                             .place = {{0, 0}, {0.5, 0}, {0, 0.5}},
                             .edge = WISP__GAL_SIXTY(2.),
                             .spot = {{0, 0}, {1, 0}, {0.5, WISP__GAL_ROOT_3 / 2}},
                             .bonds = 6,
                             .bond = {{0, 1, 0, 0, hop},
                                      {0, 1, -1, 0, hop},
                                      {0, 2, 0, 0, hop},
                                      {0, 2, 0, -1, hop},
                                      {1, 2, 0, 0, hop},
                                      {1, 2, 1, -1, hop}}};
}

static wisp_status kagome_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const wisp__gal_plane lattice = lattice_of(value);
    return wisp__gal_plane_open(src, ctx, &lattice, value);
}
static wisp_status kagome_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const wisp__gal_plane lattice = lattice_of(value);
    return wisp__gal_plane_positions(positions, ctx, &lattice, value);
}

const wisp__gal_entry wisp__gal_kagome = {
    {"kagome", "kagome lattice, which has a flat band at 2t without flux; flux, disorder, vacancies",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    kagome_open,
    kagome_positions};
