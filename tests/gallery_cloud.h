/* The points of the gallery's meshes from their description, and tetrahedra by all chains of faces, for tests. */
#ifndef GALLERY_CLOUD_H
#define GALLERY_CLOUD_H
#include "gallery_dense.h"
#include "gallery/mesh.h"

/* The points of the cells of a box and of MARGIN cells around it, from the description. */
enum { MARGIN = 4 };
typedef struct {
    int dims, n[3], count;
    int64_t (*at)[3], (*cell)[3], *rank;
    double unit; /* of a cell's side */
} cloud;

static inline cloud make_cloud(int dims, const int n[3], double jitter, uint64_t seed)
{
    const int64_t unit = dims == 2 ? 1 << 24 : 1 << 14,
                  spread = (int64_t)(jitter * (double)(dims == 2 ? unit : unit / 4));
    cloud c = {.dims = dims, .n = {n[0], n[1], n[2]}, .unit = (double)unit};
    const int edge = dims == 2 ? 0 : MARGIN;
    const size_t all = (size_t)(n[0] + 2 * MARGIN) * (size_t)(n[1] + 2 * MARGIN) * (size_t)(n[2] + 2 * edge);
    c.at = calloc(all, sizeof *c.at);
    c.cell = calloc(all, sizeof *c.cell);
    c.rank = calloc(all, sizeof *c.rank);
    for (int x = -MARGIN; x < n[0] + MARGIN; x++) {
        for (int y = -MARGIN; y < n[1] + MARGIN; y++) {
            for (int z = -edge; z < n[2] + edge; z++) {
                uint32_t word[4];
                wisp__philox(seed, (int64_t)((uint64_t)(uint32_t)x << 32 | (uint32_t)y), (uint32_t)z, 0x6d7368, word);
                const int cell[3] = {x, y, z};
                for (int d = 0; d < 3; d++) {
                    c.cell[c.count][d] = cell[d];
                    c.at[c.count][d] =
                        d < dims ? cell[d] * unit + (int64_t)((double)word[d] * 0x1p-32 * (double)spread) : 0;
                }
                c.rank[c.count++] = (int64_t)((double)word[3] * 0x1p-32 * (double)spread);
            }
        }
    }
    return c;
}
static inline void free_cloud(cloud *c)
{
    free(c->at);
    free(c->cell);
    free(c->rank);
}
/* The row of a point in the order of the cells, or -1. */
static inline int unknown(const cloud *c, int i)
{
    const int64_t *p = c->cell[i];
    for (int d = 0; d < 3; d++) {
        if (p[d] < 0 || p[d] >= c->n[d]) return -1;
    }
    return (int)((p[0] * c->n[1] + p[1]) * c->n[2] + p[2]);
}

/* The gradients of a simplex's hat functions: rows of the inverse of the edges. Returns its volume. */
static inline double gradients(const cloud *c, const int *corner, double gradient[4][3])
{
    const int dims = c->dims;
    double e[3][3] = {{0}};
    e[2][2] = 1;
    memset(gradient, 0, 4 * sizeof *gradient);
    for (int a = 0; a < dims; a++) {
        for (int d = 0; d < dims; d++) e[a][d] = (double)(c->at[corner[a + 1]][d] - c->at[corner[0]][d]) / c->unit;
    }
    double det = 0;
    for (int a = 0; a < 3; a++) {
        const double *p = e[(a + 1) % 3], *q = e[(a + 2) % 3];
        const double n[3] = {p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]};
        if (a == 0) det = e[0][0] * n[0] + e[0][1] * n[1] + e[0][2] * n[2];
        if (a == dims) break;
        for (int d = 0; d < dims; d++) {
            gradient[a + 1][d] = n[d] / det;
            gradient[0][d] -= n[d] / det;
        }
    }
    return fabs(det) / (dims == 2 ? 2 : 6);
}

/* The corner of a face (cells lo .. hi) that comes first: least rank, then the first cell. */
static inline int first_corner(const cloud *c, const int corner[8], int fixed, int value)
{
    int best = -1;
    for (int k = 0; k < 8; k++) {
        if ((k & fixed) == value && (best < 0 || c->rank[corner[k]] < c->rank[corner[best]])) best = k;
    }
    return best;
}

/* Chains of faces, each without the first corner of the one before: cube, square, edge. */
static inline int cut_cube(const cloud *c, const int corner[8], int tetrahedron[24][4])
{
    const int top = first_corner(c, corner, 0, 0);
    int n = 0;
    for (int square = 0; square < 6; square++) {
        const int bit = 1 << square / 2, side = square % 2 ? bit : 0;
        if ((top & bit) == side) continue;
        const int near = first_corner(c, corner, bit, side);
        for (int a = 0; a < 8; a++) {
            for (int b = a + 1; b < 8; b++) {
                const bool is_edge =
                    __builtin_popcount((unsigned)(a ^ b)) == 1 && (a & bit) == side && (b & bit) == side;
                if (!is_edge || a == near || b == near) continue;
                memcpy(tetrahedron[n++], (int[]){corner[top], corner[near], corner[a], corner[b]}, 4 * sizeof(int));
            }
        }
    }
    return n;
}

/* The same entries are stored, and have the same values. */
static inline void assert_mesh(wisp_ctx *ctx, const char *spec, dense want, int *edges)
{
    wisp_src src = open_spec(ctx, spec);
    assert_int_equal(src.rows, want.n);
    for (int i = 0; i < want.n; i++) {
        int64_t col[ROOM];
        cplx val[ROOM];
        const int n = get_row(&src, i, col, val);
        const double scale = creal(*at(want, i, i));
        int expected = 0;
        for (int j = 0; j < want.n; j++) expected += edges[i * want.n + j];
        if (n != expected) fail_msg("%s: row %d has %d entries, expected %d", spec, i, n, expected);
        for (int k = 0; k < n; k++) {
            const int j = (int)col[k];
            if (!edges[i * want.n + j]--) fail_msg("%s: entry %d, %d", spec, i, j);
            if (!(cabs(val[k] - *at(want, i, j)) <= 1e-12 * scale))
                fail_msg("%s: entry %d, %d is %g, expected %g", spec, i, j, creal(val[k]), creal(*at(want, i, j)));
        }
    }
    close_src(&src);
    free(want.a);
    free(edges);
}

#endif
