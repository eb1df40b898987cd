/* The tetrahedra around a point of a jittered cubic lattice.

   Every cube is cut into the six tetrahedra that join its foremost corner with the triangles of the three squares
   opposite, each of which is cut by the diagonal from its own foremost corner (the pulling triangulation; De Loera,
   Rambau, Santos 2010, 4.3.2). Foremost is the least of a random number of each point, of equal ones the first cell, so
   that cubes agree about the square between them. On average a point has 14 neighbours, 6 of them always, 26 at most.
   With jitter=0 all random numbers are 0: this is Kuhn's triangulation.

   No tetrahedron is inverted: its determinant, linear in each corner, is least with all points in corners of their
   cubes of side s, and there it is positive for s < 1/4 (of the three shapes two allow 1/3). */
#ifndef WISP_GALLERY_PATCH_H
#define WISP_GALLERY_PATCH_H
#include "mesh.h"

/* Bits of a coordinate in its cell: the product of two normals stays below 2^62. SPREAD: what wisp__gal_mesh_open is
   told. WINDOW: points around one, with itself, which is number CENTRE. */
enum {
    WISP__GAL_BITS = 14,
    WISP__GAL_SPREAD = 1 << (WISP__GAL_BITS - 2),
    WISP__GAL_WINDOW = 27,
    WISP__GAL_CENTRE = 13,
    WISP__GAL_MOST_TETRAHEDRA = 8 * 6
};

/* The points around one, relative to it, numbered 9 (x + 1) + 3 (y + 1) + z + 1; and for each tetrahedron that has it
   as a corner the three others. Tetrahedra come cube by cube in the order of the cubes' first corners: so all points of
   an edge meet those around it in the same order. */
typedef struct {
    int64_t at[WISP__GAL_WINDOW][3], rank[WISP__GAL_WINDOW];
    int8_t other[WISP__GAL_MOST_TETRAHEDRA + 1][4]; /* three; with room for one that is not kept */
    int count;
    uint32_t joined; /* a bit for each corner of one of them, the centre with them */
} wisp__gal_patch;

/* cubes: bit 4 x + 2 y + z is 1 for a cube that is there; x, y, z: 0 where it ends at the point, 1 where it begins. */
void wisp__gal_patch_make(wisp__gal_patch *p, const wisp__gal_mesh *m, const int64_t at[3], unsigned cubes);

static inline int64_t wisp__gal_dot(const int64_t a[3], const int64_t b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline void wisp__gal_cross(const int64_t a[3], const int64_t b[3], int64_t n[3])
{
    for (int d = 0; d < 3; d++) n[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

/* Of tetrahedron t, the normals of the faces opposite to its other corners and to the centre (own): cross products of
   edges, inward or all outward; returns six times the volume. Integers: seen from another corner they are the same but
   for signs that cancel in products of two. */
static inline int64_t wisp__gal_normals(const wisp__gal_patch *p, int t, int64_t n[3][3], int64_t own[3])
{
    const int8_t *other = p->other[t];
    for (int k = 0; k < 3; k++) wisp__gal_cross(p->at[other[(k + 1) % 3]], p->at[other[(k + 2) % 3]], n[k]);
    for (int d = 0; d < 3; d++) own[d] = -(n[0][d] + n[1][d] + n[2][d]);
    const int64_t det = wisp__gal_dot(p->at[other[0]], n[0]);
    return det < 0 ? -det : det;
}
#endif
