/* The square lattice with second neighbours. */
#include "plane.h"

#define KEYS(X)                                \
    WISP__GAL_PLANE_KEYS(X, ", one site each") \
    X(t2, "0", WISP__GAL_REAL_FROM(INT64_MIN), "hopping: -t2 between second neighbours, along diagonals")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

static wisp__gal_plane lattice_of(const wisp__gal_value *value)
{
    const wisp_scalar near = {-value[KEY_t].real, 0}, far = {-value[KEY_t2].real, 0};
    return (wisp__gal_plane){.name = "square",
                             .sites = 1,
                             .edge = {{1, 0}, {0, 1}},
                             .bonds = far.re == 0 ? 2 : 4,
                             .bond = {{0, 0, 1, 0, near}, {0, 0, 0, 1, near}, {0, 0, 1, 1, far}, {0, 0, 1, -1, far}}};
}

static wisp_status square_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const wisp__gal_plane lattice = lattice_of(value);
    return wisp__gal_plane_open(src, ctx, &lattice, value);
}
static wisp_status square_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const wisp__gal_plane lattice = lattice_of(value);
    return wisp__gal_plane_positions(positions, ctx, &lattice, value);
}

const wisp__gal_entry wisp__gal_square = {
    {"square", "square lattice with magnetic flux (Hofstadter's butterfly), disorder, vacancies and second neighbours",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    square_open,
    square_positions};
