/* Elasticity against an assembly from strains; rigid motions; positive definite; sizes and orders. */
#include "gallery_cloud.h"
#include "gallery_spectra.h"

static int make_ctx(void **state) { return wisp_ctx_create((wisp_ctx **)state, NULL) != WISP_OK; }
static int free_ctx(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

enum { STRAINS = 6, UNKNOWNS = 12 };

/* Stresses of strains xx, yy, zz, 2 yz, 2 xz, 2 xy. */
static void hooke(double young, double nu, double c[STRAINS][STRAINS])
{
    const double f = young / ((1 + nu) * (1 - 2 * nu));
    memset(c, 0, STRAINS * sizeof *c);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) c[i][j] = f * (i == j ? 1 - nu : nu);
        c[i + 3][i + 3] = young / (2 * (1 + nu));
    }
}

/* The strains of each of a tetrahedron's 12 displacements. */
static void strains(double gradient[4][3], double b[STRAINS][UNKNOWNS])
{
    memset(b, 0, STRAINS * sizeof *b);
    for (int a = 0; a < 4; a++) {
        for (int d = 0; d < 3; d++) {
            const int p = (d + 1) % 3, q = (d + 2) % 3; /* 2 e_pq is strain 3 + d */
            b[d][3 * a + d] = gradient[a][d];
            b[3 + d][3 * a + p] = gradient[a][q];
            b[3 + d][3 * a + q] = gradient[a][p];
        }
    }
}

typedef struct {
    int n[3];
    const char *jitter;
    double value, young, nu, sigma;
    int seed;
} body;

static void add_tetrahedron(const cloud *c, const int corner[4], const body *o, dense k, int *edges)
{
    double gradient[4][3], b[STRAINS][UNKNOWNS], law[STRAINS][STRAINS];
    const double volume = gradients(c, corner, gradient);
    hooke(o->young, o->nu, law);
    strains(gradient, b);
    for (int p = 0; p < UNKNOWNS; p++) {
        for (int q = 0; q < UNKNOWNS; q++) {
            const int i = 3 * unknown(c, corner[p / 3]) + p % 3, j = 3 * unknown(c, corner[q / 3]) + q % 3;
            if (i < 0 || j < 0) continue;
            for (int s = 0; s < STRAINS; s++)
                for (int t = 0; t < STRAINS; t++) *at(k, i, j) += volume * b[s][p] * law[s][t] * b[t][q];
            if (i == j) *at(k, i, i) += o->sigma * volume / 4;
            edges[i * k.n + j] = 1;
        }
    }
}

/* Whether the cube that begins at a cell is part of the body, whose layer z = -1 is held. */
static bool in_body(const cloud *c, int i)
{
    const int64_t *first = c->cell[i];
    bool in = true;
    for (int d = 0; d < 3; d++) in &= first[d] >= (d == 2 ? -1 : 0) && first[d] < c->n[d] - 1;
    return in;
}

static void spec_of(const body *o, char spec[192])
{
    snprintf(spec, 192, "elasticity:nx=%d,ny=%d,nz=%d,jitter=%s,E=%g,nu=%g,sigma=%g,seed=%d,shuffle=0", o->n[0],
             o->n[1], o->n[2], o->jitter, o->young, o->nu, o->sigma, o->seed);
}

static void test_assembly(void **state)
{
    static const body cases[] = {{{2, 2, 1}, "1", 1, 1, 0.3, 0, 1},        {{4, 3, 2}, "1", 1, 1, 0.3, 0, 2},
                                 {{3, 3, 4}, "0.5", 0.5, 200, -0.4, 0, 3}, {{2, 5, 2}, "0", 0, 1, 0.25, 0, 4},
                                 {{3, 2, 3}, "1", 1, 0.5, 0.49, 2.5, 5},   {{5, 4, 3}, "1", 1, 1, 0, 1, 6}};
    for (size_t s = 0; s < sizeof cases / sizeof *cases; s++) {
        const int *n = cases[s].n, stride[3] = {(n[1] + 2 * MARGIN) * (n[2] + 2 * MARGIN), n[2] + 2 * MARGIN, 1};
        char spec[192];
        spec_of(&cases[s], spec);
        cloud c = make_cloud(3, n, cases[s].value, (uint64_t)cases[s].seed);
        dense k = dense_zero(3 * n[0] * n[1] * n[2]);
        int *edges = calloc((size_t)(k.n * k.n), sizeof *edges);
        for (int i = 0; i < c.count; i++) {
            int corner[8], tetrahedron[24][4];
            if (!in_body(&c, i)) continue;
            for (int m = 0; m < 8; m++) corner[m] = i + (m >> 2) * stride[0] + (m >> 1 & 1) * stride[1] + (m & 1);
            const int count = cut_cube(&c, corner, tetrahedron);
            for (int t = 0; t < count; t++) add_tetrahedron(&c, tetrahedron[t], &cases[s], k, edges);
        }
        assert_mesh(*state, spec, k, edges);
        free_cloud(&c);
    }
}

/* Entries of random order and of the order of the cells are the same, and symmetric bit by bit (expand). */
static void test_order(void **state)
{
    wisp_src src = open_spec(*state, "elasticity:nx=4,ny=3,nz=3,seed=7");
    const wisp__gal_mesh *m = src.arg; /* its first member */
    dense mixed = expand(*state, "elasticity:nx=4,ny=3,nz=3,seed=7"),
          plain = expand(*state, "elasticity:nx=4,ny=3,nz=3,seed=7,shuffle=0"), moved = dense_zero(plain.n);
    for (int i = 0; i < plain.n; i++) {
        for (int j = 0; j < plain.n; j++)
            *at(moved, 3 * (int)wisp__gal_mesh_row(m, i / 3) + i % 3, 3 * (int)wisp__gal_mesh_row(m, j / 3) + j % 3) =
                *at(plain, i, j);
    }
    assert_same("shuffled", mixed, moved, 0);
    free(plain.a);
    close_src(&src);
}

/* Displacements of a rigid motion: along an axis, or around one. */
static double rigid(int motion, const double x[3], int d)
{
    const int axis = motion % 3;
    if (motion < 3) return d == axis;
    return d == (axis + 1) % 3 ? -x[(axis + 2) % 3] : d == (axis + 2) % 3 ? x[(axis + 1) % 3] : 0;
}

/* Rows of points with no held neighbour: rigid motions need no force. With held ones they do. */
static void test_rigid(void **state)
{
    wisp_src src = open_spec(*state, "elasticity:nx=9,ny=8,nz=7,seed=3,nu=0.2");
    const wisp__gal_mesh *m = src.arg;
    int64_t col[ROOM];
    cplx val[ROOM];
    double held = 0;
    for (int64_t row = 0; row < src.rows; row++) {
        double force[6] = {0}, x[3];
        int64_t where[3], u[4];
        const int n = get_row(&src, row, col, val);
        for (int k = 0; k < n; k++) {
            wisp__gal_where(&m->box, wisp__gal_mesh_cell(m, col[k] / 3), where);
            wisp__gal_mesh_random(m, where[0], where[1], where[2], u);
            for (int d = 0; d < 3; d++) x[d] = (double)where[d] + (double)u[d] / 0x1p14;
            for (int f = 0; f < 6; f++) force[f] += creal(val[k]) * rigid(f, x, (int)(col[k] % 3));
        }
        wisp__gal_where(&m->box, wisp__gal_mesh_cell(m, row / 3), where);
        for (int f = 0; f < 6; f++) {
            if (where[2] == 0) held = fmax(held, fabs(force[f]));
            if (where[2] > 0 && !(fabs(force[f]) < 1e-13)) fail_msg("row %lld: %g", (long long)row, force[f]);
        }
    }
    assert_true(held > 0.1);
    close_src(&src);
}

static void test_definite(void **state)
{
    static const char *const specs[] = {"elasticity:nx=11,ny=7,nz=3", "elasticity:nx=5,ny=6,nz=7,nu=0.45,seed=8",
                                        "elasticity:nx=2,ny=2,nz=30,nu=-0.9,seed=9",
                                        "elasticity:nx=6,ny=6,nz=6,jitter=0"};
    for (int s = 0; s < 4; s++) {
        dense k = expand(*state, specs[s]);
        double *w = spectrum_of(k);
        if (s == 0) assert_int_equal(k.n, 693);
        if (!(w[0] > 1e-9 * w[k.n - 1])) fail_msg("%s: %g to %g", specs[s], w[0], w[k.n - 1]);
        free(w);
    }
}

/* A spec means the same matrix for good; the other sizes of the paper on pipelined solvers, or near (40,725). */
static void test_sizes(void **state)
{
    static const struct {
        const char *spec;
        int64_t rows;
    } cases[] = {{"elasticity:nx=15,ny=13,nz=9", 5265},
                 {"elasticity:nx=26,ny=29,nz=18", 40716},
                 {"elasticity:nx=49,ny=75,nz=29", 319725}};
    for (int s = 0; s < 3; s++) {
        wisp_src src = open_spec(*state, cases[s].spec);
        assert_int_equal(src.rows, cases[s].rows);
        close_src(&src);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_assembly), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_rigid), cmocka_unit_test(test_definite),
                                       cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
