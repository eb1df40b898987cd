/* Lattices in the plane: cells with a few sites, bonds to near cells, a magnetic field, disorder, vacancies.

   Site a of the cell (x, y) is number sites (x ny + y) + a. Sites that are vacant have no row; disorder goes by the
   site, vacant ones counted. */
#ifndef WISP_GALLERY_PLANE_H
#define WISP_GALLERY_PLANE_H
#include "gallery.h"

enum { WISP__GAL_PLANE_SITES = 3, WISP__GAL_PLANE_BONDS = 9 };

/* From a site of a cell to one of the cell that is (dx, dy) away, each -1, 0 or 1; each bond is listed at one end. */
typedef struct {
    int8_t from, to, dx, dy;
    wisp_scalar value; /* without field: the entry in the row of `from` */
} wisp__gal_bond;

typedef struct {
    const char *name;
    int sites;                              /* of a cell */
    double place[WISP__GAL_PLANE_SITES][2]; /* for the field: of each in its cell, in edges of the cell: n/2 or n/3 */
    double energy[WISP__GAL_PLANE_SITES];
    double edge[2][2], spot[WISP__GAL_PLANE_SITES][2]; /* of the cell, and of each site in it; neighbours are 1 apart */
    int bonds;
    wisp__gal_bond bond[WISP__GAL_PLANE_BONDS];
} wisp__gal_plane;
#define WISP__GAL_ROOT_3 1.7320508075688772
/* Edges at 60 degrees, of this length. */
#define WISP__GAL_SIXTY(length)                                         \
    {                                                                   \
        {(length), 0}, { (length) / 2., (length)*WISP__GAL_ROOT_3 / 2 } \
    }

/* The keys that all of them have, and begin with. sites: what follows "cells along x". */
#define WISP__GAL_PLANE_KEYS(X, sites)                                                                      \
    X(nx, "10", WISP__GAL_SIZE, "cells along x" sites)                                                      \
    X(ny, "10", WISP__GAL_SIZE, "cells along y")                                                            \
    X(t, "1", WISP__GAL_REAL_FROM(INT64_MIN), "hopping: -t between neighbours")                             \
    X(flux, "0", WISP__GAL_REAL_FROM(INT64_MIN), "magnetic flux per cell in flux quanta, as 1/10")          \
    X(disorder, "0", WISP__GAL_REAL_FROM(0), "W: potential of each site, uniform in [-W/2, W/2]")           \
    X(vacancies, "0", WISP__GAL_REAL_BETWEEN(0, 1), "chance of each site to be vacant: it has no row then") \
    X(seed, "1", WISP__GAL_SEED, "of disorder and vacancies")                                               \
    X(periodic, "xy", WISP__GAL_LETTERS_OF("xy"),                                                           \
      "periodic directions, or none; with xy, flux nx ny must be an integer")

/* Opens the lattice with these keys; the matrix is complex with a field, or where a bond is. */
wisp_status wisp__gal_plane_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_plane *lattice,
                                 const wisp__gal_value *value);
/* Its positions. */
wisp_status wisp__gal_plane_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_plane *lattice,
                                      const wisp__gal_value *value);
#endif
