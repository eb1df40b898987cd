/* Meshes of triangles and tetrahedra with one random point in each cell of a lattice, for linear finite elements.

   The lattice has no end: the cells nx x ny x nz in front have the unknowns, the points of all others hold zero
   (Dirichlet). So each row follows from the points nearby, and no other row is asked. Coordinates are integers: what is
   neighbour of what is decided exactly, and both ends of an edge work out the same value from the same integers. */
#ifndef WISP_GALLERY_MESH_H
#define WISP_GALLERY_MESH_H
#include "gallery.h"

typedef struct {
    wisp__gal_box box; /* of the cells with unknowns */
    double sigma;
    uint64_t seed, spread; /* points take 0 .. spread - 1 along each direction of their cell */
    /* Feistel's network on side[0] x side[1] >= rows; no sides: rows are cells */
    uint64_t rows, side[2], key[4];
} wisp__gal_mesh;

/* The keys at the end of every mesh; `jitter` goes before them. */
#define WISP__GAL_MESH_CELLS WISP__GAL_INTEGER(1, INT32_MAX)
#define WISP__GAL_MESH_JITTER .kind = WISP__GAL_REAL, .lo = 0, .hi = 1
#define WISP__GAL_MESH_KEYS(X)                                                                       \
    X(sigma, "0", WISP__GAL_REAL_FROM(INT64_MIN), "this times the lumped mass matrix is added")      \
    X(shuffle, "1", WISP__GAL_INTEGER(0, 1), "1: rows in random order; 0: cell by cell, as laplace") \
    X(seed, "1", WISP__GAL_SEED, "of points and order")

/* Makes a mesh and counts its cells. last: the values of jitter and of the keys at the end. */
wisp_status wisp__gal_mesh_make(wisp__gal_mesh *m, wisp_ctx *ctx, const char *name, const int64_t cells[3],
                                const wisp__gal_value *last, int64_t spread, int64_t *count);
/* Opens src, whose max_row and row are set, with a row for each cell. */
wisp_status wisp__gal_mesh_open(wisp_src *src, wisp_ctx *ctx, const char *name, const int64_t cells[3],
                                const wisp__gal_value *last, int64_t spread);

/* The row of a cell, and the cell of a row. */
int64_t wisp__gal_mesh_row(const wisp__gal_mesh *m, int64_t cell);
int64_t wisp__gal_mesh_cell(const wisp__gal_mesh *m, int64_t row);

/* Four numbers 0 .. spread - 1 of the cell at (x, y, z), inside the box or outside. */
void wisp__gal_mesh_random(const wisp__gal_mesh *m, int64_t x, int64_t y, int64_t z, int64_t out[4]);

static inline bool wisp__gal_mesh_inside(const wisp__gal_mesh *m, int64_t x, int64_t y, int64_t z)
{
    const int64_t *n = m->box.n;
    return x >= 0 && x < n[0] && y >= 0 && y < n[1] && z >= 0 && z < n[2];
}
#endif
