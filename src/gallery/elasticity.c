/* Linear elasticity by linear finite elements on the tetrahedra of patch.h: three displacements a point.

   The body is made of the cubes between the points of the cells nx x ny x nz and a layer in front of them, z = -1. The
   points of that layer are held (their unknowns are left out); the other faces are free. With a point's normal n_i over
   six times the volume d as the gradient of its hat function, its displacement along a and that of point j along b have

       K = sum over tetrahedra of (lambda n_ia n_jb + mu n_ib n_ja + delta_ab mu n_i . n_j) / (6 d),

   lambda = E nu / ((1 + nu)(1 - 2 nu)), mu = E / (2 + 2 nu). Lengths are in cells. sigma times the lumped mass of
   density 1 is added. */
#include "patch.h"

#define KEYS(X)                                                                                                    \
    X(nx, "10", WISP__GAL_INTEGER(2, INT32_MAX), "points along x")                                                 \
    X(ny, "10", WISP__GAL_INTEGER(2, INT32_MAX), "points along y")                                                 \
    X(nz, "10", WISP__GAL_MESH_CELLS, "points along z, without those that are held")                               \
    X(E, "1", WISP__GAL_REAL_FROM(0), "Young's modulus, above 0")                                                  \
    X(nu, "0.3", WISP__GAL_REAL_BETWEEN(-1, 1), "Poisson's ratio, above -1 and below 1/2")                         \
    X(jitter, "1", WISP__GAL_MESH_JITTER, "4 times the side of the cube in the cell in which its point is random") \
    WISP__GAL_MESH_KEYS(X)

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

enum { WINDOW = WISP__GAL_WINDOW, AXES = 3 };

typedef struct {
    wisp__gal_mesh mesh;
    double lambda, mu;
} elasticity;

/* Of the row of displacements along d, sums of n_id n_jb, of n_ib n_jd, and of n_i . n_j, over 6 d. */
typedef struct {
    double along[WINDOW][AXES], across[WINDOW][AXES], dot[WINDOW], volume;
} sums;

/* Products of integers, in which the signs of normals cancel, and one division: so the entry is the same bit by bit
   when it is seen from the other end of an edge. */
static inline void add_point(sums *s, int j, int d, const int64_t own[AXES], const int64_t n[AXES], double six)
{
    for (int b = 0; b < AXES; b++) {
        s->along[j][b] += (double)(own[d] * n[b]) / six;
        s->across[j][b] += (double)(own[b] * n[d]) / six;
    }
    s->dot[j] += (double)wisp__gal_dot(own, n) / six;
}

static void add_tetrahedron(const wisp__gal_patch *p, int t, int d, sums *s)
{
    int64_t n[3][AXES], own[AXES];
    const int64_t volume = wisp__gal_normals(p, t, n, own);
    const double six = (double)(6 * volume);
    for (int k = 0; k < 3; k++) add_point(s, p->other[t][k], d, own, n[k], six);
    add_point(s, WISP__GAL_CENTRE, d, own, own, six);
    s->volume += (double)volume;
}

/* The cubes around a point that belong to the body. */
static unsigned cubes_at(const wisp__gal_mesh *m, const int64_t at[3])
{
    const int64_t *n = m->box.n;
    const bool there[3][2] = {{at[0] > 0, at[0] < n[0] - 1}, {at[1] > 0, at[1] < n[1] - 1}, {true, at[2] < n[2] - 1}};
    unsigned cubes = 0;
    for (int c = 0; c < 8; c++)
        if (there[0][c >> 2] && there[1][c >> 1 & 1] && there[2][c & 1]) cubes |= 1u << c;
    return cubes;
}

/* The entries of row d of a point with those of point j of its window. The rounded product is added to zero, so that no
   compiler fuses it with the sum: which of two products that would be is not the same everywhere. */
static void put(const elasticity *e, const sums *s, int j, int d, double val[AXES])
{
    for (int b = 0; b < AXES; b++) {
        const double shear = e->mu * (s->across[j][b] + (b == d ? s->dot[j] : 0)) + 0.;
        val[b] = (e->lambda * s->along[j][b] + shear) / (1 << WISP__GAL_BITS);
    }
}

static int elasticity_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const elasticity *e = arg;
    const wisp__gal_mesh *m = &e->mesh;
    const int d = (int)(row % AXES);
    const int64_t cell = wisp__gal_mesh_cell(m, row / AXES);
    double *v = val;
    int64_t at[3];
    int n = 0;
    wisp__gal_patch p;
    sums s = {0};
    wisp__gal_where(&m->box, cell, at);
    wisp__gal_patch_make(&p, m, at, cubes_at(m, at));
    for (int t = 0; t < p.count && col; t++) add_tetrahedron(&p, t, d, &s);
    for (int i = 0; i < WINDOW; i++) {
        const int x = i / 9 - 1, y = i / 3 % 3 - 1, z = i % 3 - 1;
        if (!(p.joined >> i & 1) || !wisp__gal_mesh_inside(m, at[0] + x, at[1] + y, at[2] + z)) continue;
        if (col) {
            const int64_t other = cell + x * m->box.stride[0] + y * m->box.stride[1] + z;
            const int64_t first = AXES * wisp__gal_mesh_row(m, other);
            for (int b = 0; b < AXES; b++) col[n + b] = first + b;
            put(e, &s, i, d, v + n);
            if (i == WISP__GAL_CENTRE)
                v[n + d] += m->sigma * (s.volume / (24 * (double)((int64_t)1 << 3 * WISP__GAL_BITS)));
        }
        n += AXES;
    }
    return n;
}

static wisp_status elasticity_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const int64_t cells[3] = {value[KEY_nx].i, value[KEY_ny].i, value[KEY_nz].i};
    const double young = value[KEY_E].real, nu = value[KEY_nu].real;
    elasticity e = {.lambda = young * nu / ((1 + nu) * (1 - 2 * nu)), .mu = young / (2 + 2 * nu)};
    wisp_src shape = {.max_row = AXES * WINDOW, .type = WISP_D, .row = elasticity_row};
    wisp_status status;
    if (!(young > 0))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "elasticity: E=%g is out of range; it must be above 0", young);
    if (!(nu > -1 && nu < 0.5))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "elasticity: nu=%g is out of range; it must be above -1 and below 1/2",
                              nu);
    WISP_TRY(wisp__gal_mesh_make(&e.mesh, ctx, "elasticity", cells, &value[KEY_jitter], WISP__GAL_SPREAD, &shape.rows));
    WISP_TRY(wisp__gal_product(ctx, "elasticity", (int64_t[]){shape.rows, AXES}, 2, &shape.rows));
    WISP_TRY(wisp__gal_source(src, ctx, "elasticity", &shape, &e, sizeof e));
out:
    return status;
}

const wisp__gal_entry wisp__gal_elasticity = {
    {"elasticity", "linear elasticity on the mesh of tetrahedra, 3 unknowns a point, one face held",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    elasticity_open,
    NULL};
