/* Linear finite elements on tetrahedra whose corners are the points of a jittered cubic lattice.

   Every cube is cut into the six tetrahedra that join its foremost corner with the triangles of the three squares
   opposite, each of which is cut by the diagonal from its own foremost corner (the pulling triangulation; De Loera,
   Rambau, Santos 2010, 4.3.2). Foremost is the least of a random number of each point, of equal ones the first cell, so
   that cubes agree about the square between them. On average a point has 14 neighbours, 6 of them always, 26 at most.
   With jitter=0 all random numbers are 0: this is Kuhn's triangulation, whose stiffness matrix is laplace's with 7
   points (and zeros).

   K_ij = sum over tetrahedra of n_i . n_j / (6 d), where n are the cross products of the edges of the faces opposite to
   i and j, inward, and d is six times the volume. The sum over all neighbours, those outside too, is zero. The lumped
   mass of a point is a quarter of the volume around it. Lengths are in cells.

   No tetrahedron is inverted: its determinant, linear in each corner, is least with all points in corners of their
   cubes of side s, and there it is positive for s < 1/4 (of the three shapes two allow 1/3). */
#include "mesh.h"

#define KEYS(X)                                                                                                    \
    X(nx, "20", WISP__GAL_MESH_CELLS, "cells along x, a point in each")                                            \
    X(ny, "20", WISP__GAL_MESH_CELLS, "cells along y")                                                             \
    X(nz, "20", WISP__GAL_MESH_CELLS, "cells along z")                                                             \
    X(jitter, "1", WISP__GAL_MESH_JITTER, "4 times the side of the cube in the cell in which its point is random") \
    WISP__GAL_MESH_KEYS(X)

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

/* Bits of a coordinate in its cell: the product of two normals stays below 2^62. */
enum { BITS = 14, SPREAD = 1 << (BITS - 2), WINDOW = 27, CENTRE = 13 };

/* The points around one, relative to it, and their sums; numbered 9 (x + 1) + 3 (y + 1) + z + 1. */
typedef struct {
    int64_t at[WINDOW][3], rank[WINDOW];
    double weight[WINDOW], volume; /* 6 times the volume of all tetrahedra */
    bool joined[WINDOW];
} patch;

static void look_around(const wisp__gal_mesh *m, const int64_t at[3], patch *p)
{
    int64_t u[4], own[4];
    wisp__gal_mesh_random(m, at[0], at[1], at[2], own);
    *p = (patch){0};
    for (int i = 0; i < WINDOW; i++) {
        const int64_t step[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
        wisp__gal_mesh_random(m, at[0] + step[0], at[1] + step[1], at[2] + step[2], u);
        for (int d = 0; d < 3; d++) p->at[i][d] = step[d] * (1 << BITS) + u[d] - own[d];
        p->rank[i] = u[3];
    }
}

static void normal(const int64_t a[3], const int64_t b[3], int64_t n[3])
{
    for (int d = 0; d < 3; d++) n[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}
static int64_t dot(const int64_t a[3], const int64_t b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* The tetrahedron of the centre and three others. Integers up to the one division, and seen from another corner the
   same but for signs that cancel: so K_ij and K_ji are equal bit by bit, given that they add up in the same order. */
static void add_tetrahedron(patch *p, const int other[3])
{
    int64_t n[3][3], own[3];
    for (int k = 0; k < 3; k++) normal(p->at[other[(k + 1) % 3]], p->at[other[(k + 2) % 3]], n[k]);
    for (int d = 0; d < 3; d++) own[d] = -(n[0][d] + n[1][d] + n[2][d]);
    const int64_t det = dot(p->at[other[0]], n[0]), six = 6 * (det < 0 ? -det : det);
    for (int k = 0; k < 3; k++) {
        p->joined[other[k]] = true;
        p->weight[other[k]] += (double)dot(own, n[k]) / (double)six;
    }
    p->volume += (double)(six / 6);
}

/* Of the corners of a cube whose bits outside `mask` are those of `corner`, the foremost. */
static int foremost(const int64_t rank[8], int corner, int mask)
{
    int best = corner & ~mask;
    for (int c = best + 1; c < 8; c++) {
        if ((c & ~mask) == (corner & ~mask) && rank[c] < rank[best]) best = c;
    }
    return best;
}

/* The tetrahedra of a cube that have the centre as a corner. Corners of the cube: 4 x + 2 y + z. */
static void add_cube(patch *p, const int point[8])
{
    int64_t rank[8];
    for (int c = 0; c < 8; c++) rank[c] = p->rank[point[c]];
    const int top = foremost(rank, 0, 7);
    for (int bit = 4; bit; bit >>= 1) {
        const int near = foremost(rank, top ^ bit, 7 ^ bit), far = near ^ 7 ^ bit;
        for (int step = 4; step; step >>= 1) {
            if (step == bit) continue;
            const int corner[4] = {point[top], point[near], point[far], point[near ^ step]};
            int other[4], n = 0;
            for (int k = 0; k < 4; k++) {
                if (corner[k] != CENTRE) other[n++] = corner[k];
            }
            if (n == 3) add_tetrahedron(p, other);
        }
    }
}

static int tetrahedra_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp__gal_mesh *m = arg;
    double *v = val, sum = 0;
    const int64_t cell = wisp__gal_mesh_cell(m, row);
    int64_t at[3];
    int n = 1;
    patch p;
    wisp__gal_where(&m->box, cell, at);
    look_around(m, at, &p);
    for (int c = 0; c < 8; c++) { /* cubes by their first corner: every point meets them in the same order */
        int point[8];
        for (int k = 0; k < 8; k++)
            point[k] = 9 * ((c >> 2) + (k >> 2)) + 3 * ((c >> 1 & 1) + (k >> 1 & 1)) + (c & 1) + (k & 1);
        add_cube(&p, point);
    }
    for (int i = 0; i < WINDOW; i++) {
        const int x = i / 9 - 1, y = i / 3 % 3 - 1, z = i % 3 - 1;
        sum += p.weight[i];
        if (!p.joined[i] || !wisp__gal_mesh_inside(m, at[0] + x, at[1] + y, at[2] + z)) continue;
        if (col) {
            col[n] = wisp__gal_mesh_row(m, cell + x * m->box.stride[0] + y * m->box.stride[1] + z);
            v[n] = p.weight[i] / (1 << BITS);
        }
        n++;
    }
    if (col) {
        const double cell_volume = (double)((int64_t)1 << 3 * BITS);
        col[0] = row;
        v[0] = m->sigma * (p.volume / (24 * cell_volume)) - sum / (1 << BITS);
    }
    return n;
}

static wisp_status tetrahedra_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const int64_t cells[3] = {value[KEY_nx].i, value[KEY_ny].i, value[KEY_nz].i};
    *src = (wisp_src){.max_row = WINDOW, .type = WISP_D, .row = tetrahedra_row};
    return wisp__gal_mesh_open(src, ctx, "tetrahedra", cells, &value[KEY_jitter], SPREAD);
}

const wisp__gal_entry wisp__gal_tetrahedra = {
    {"tetrahedra", "finite elements on tetrahedra, whose corners are the points of a jittered lattice",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    tetrahedra_open};
