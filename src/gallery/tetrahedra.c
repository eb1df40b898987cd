/* The Laplacian by linear finite elements on tetrahedra whose corners are the points of a jittered cubic lattice
   (patch.h). With jitter=0 the stiffness matrix is laplace's with 7 points (and zeros).

   K_ij = sum over tetrahedra of n_i . n_j / (6 d), where n are the cross products of the edges of the faces opposite to
   i and j, inward, and d is six times the volume. The sum over all neighbours, those outside too, is zero. The lumped
   mass of a point is a quarter of the volume around it. Lengths are in cells. */
#include "patch.h"

#define KEYS(X)                                                                                                    \
    X(nx, "20", WISP__GAL_MESH_CELLS, "cells along x, a point in each")                                            \
    X(ny, "20", WISP__GAL_MESH_CELLS, "cells along y")                                                             \
    X(nz, "20", WISP__GAL_MESH_CELLS, "cells along z")                                                             \
    X(jitter, "1", WISP__GAL_MESH_JITTER, "4 times the side of the cube in the cell in which its point is random") \
    WISP__GAL_MESH_KEYS(X)

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

enum { WINDOW = WISP__GAL_WINDOW };

/* Sums at the points around one. */
typedef struct {
    double weight[WINDOW], volume; /* 6 times the volume of all tetrahedra */
} sums;

/* Integers up to the one division: so K_ij and K_ji are equal bit by bit, given that they add up in the same order. */
static void add_tetrahedron(const wisp__gal_patch *p, int t, sums *s)
{
    int64_t n[3][3], own[3];
    const int64_t volume = wisp__gal_normals(p, t, n, own), six = 6 * volume;
    for (int k = 0; k < 3; k++) s->weight[p->other[t][k]] += (double)wisp__gal_dot(own, n[k]) / (double)six;
    s->volume += (double)volume;
}

static int tetrahedra_row(void *arg, int64_t row, int64_t *col, void *val)
{
    enum { ALL_CUBES = 255 };
    const wisp__gal_mesh *m = arg;
    double *v = val, sum = 0;
    const int64_t cell = wisp__gal_mesh_cell(m, row);
    int64_t at[3];
    int n = 1;
    wisp__gal_patch p;
    sums s = {0};
    wisp__gal_where(&m->box, cell, at);
    wisp__gal_patch_make(&p, m, at, ALL_CUBES);
    for (int t = 0; t < p.count && col; t++) add_tetrahedron(&p, t, &s);
    for (int i = 0; i < WINDOW; i++) {
        const int x = i / 9 - 1, y = i / 3 % 3 - 1, z = i % 3 - 1;
        sum += s.weight[i];
        if (i == WISP__GAL_CENTRE || !(p.joined >> i & 1) || !wisp__gal_mesh_inside(m, at[0] + x, at[1] + y, at[2] + z))
            continue;
        if (col) {
            col[n] = wisp__gal_mesh_row(m, cell + x * m->box.stride[0] + y * m->box.stride[1] + z);
            v[n] = s.weight[i] / (1 << WISP__GAL_BITS);
        }
        n++;
    }
    if (col) {
        const double cell_volume = (double)((int64_t)1 << 3 * WISP__GAL_BITS);
        col[0] = row;
        v[0] = m->sigma * (s.volume / (24 * cell_volume)) - sum / (1 << WISP__GAL_BITS);
    }
    return n;
}

static wisp_status tetrahedra_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const int64_t cells[3] = {value[KEY_nx].i, value[KEY_ny].i, value[KEY_nz].i};
    *src = (wisp_src){.max_row = WINDOW, .type = WISP_D, .row = tetrahedra_row};
    return wisp__gal_mesh_open(src, ctx, "tetrahedra", cells, &value[KEY_jitter], WISP__GAL_SPREAD);
}

const wisp__gal_entry wisp__gal_tetrahedra = {
    {"tetrahedra", "finite elements on tetrahedra, whose corners are the points of a jittered lattice",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    tetrahedra_open,
    NULL};
