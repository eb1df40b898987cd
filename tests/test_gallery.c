/* The gallery against dense constructions: Kronecker products of small matrices, sums by hand. */
#include "gallery_dense.h"
#include "base/rng.h"
#include "gallery/gallery.h"

static const char *const letters[8] = {"none", "x", "y", "xy", "z", "xz", "yz", "xyz"};

static int make_ctx(void **state) { return wisp_ctx_create((wisp_ctx **)state, NULL) != WISP_OK; }
static int free_ctx(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

/* Sites (x, y, z) -> op on one direction, identity on the others. */
static dense along(int d, dense op, const int n[3])
{
    dense part[3];
    for (int i = 0; i < 3; i++) part[i] = i == d ? op : dense_eye(n[i]);
    return kron(kron(part[0], part[1]), part[2]);
}

static dense topi_clean(const int n[3], int periodic, double t)
{
    dense h = dense_zero(4 * n[0] * n[1] * n[2]);
    for (int j = 0; j < 3; j++) {
        dense block = kron(pauli(3), pauli(0));
        add(block, -I, kron(pauli(1), pauli(j + 1)), 0);
        add(h, -t / 2, kron(along(j, shift(n[j], periodic >> j & 1), n), block), 1);
    }
    add(h, 2, kron(dense_eye(h.n / 4), kron(pauli(3), pauli(0))), 0);
    return h;
}

static void test_topi_clean(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 2}, {2, 2, 2},
                                   {3, 1, 2}, {3, 3, 3}, {5, 2, 3}, {2, 4, 5}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int *n = sizes[s];
        for (int p = 0; p < 8; p++) {
            double t = s % 2 ? 1 : 0.7;
            char spec[128];
            snprintf(spec, sizeof spec, "topi:nx=%d,ny=%d,nz=%d,periodic=%s,t=%g", n[0], n[1], n[2], letters[p], t);
            assert_same(spec, expand(*state, spec), topi_clean(n, p, t), 1e-15);
        }
    }
}

static void test_topi_defaults(void **state)
{
    /* Periodic in x and y, t = 1; 13 entries a row in the bulk, the zero potential included. */
    wisp_src src = open_spec(*state, "topi:nx=4,ny=5,nz=3"), def = open_spec(*state, "topi");
    assert_int_equal(def.rows, 4000);
    assert_int_equal(src.max_row, 13);
    assert_int_equal(src.row(src.arg, 4 * ((2 * 5 + 4) * 3 + 1) + 3, NULL, NULL), 13);
    assert_int_equal(src.row(src.arg, 4 * ((3 * 5 + 2) * 3 + 0) + 1, NULL, NULL), 11);
    close_src(&src);
    close_src(&def);
    assert_same("topi", expand(*state, "topi:nx=4,ny=5,nz=3"), topi_clean((int[]){4, 5, 3}, 3, 1), 1e-15);
}

/* Is (x, y) in a dot? Looks at all centres. */
static int in_dot(int x, int y, int span, double radius, double distance)
{
    for (int i = 0; i <= span; i++) {
        for (int j = 0; j <= span; j++) {
            double dx = x - ((i + 0.5) * distance - 0.5), dy = y - ((j + 0.5) * distance - 0.5);
            if (sqrt(dx * dx + dy * dy) <= radius && fabs(dx) <= distance / 2 && fabs(dy) <= distance / 2) return 1;
        }
    }
    return 0;
}

static void test_topi_potential(void **state)
{
    static const struct {
        const char *text;
        double disorder, dot, radius, distance;
        int depth;
        uint64_t seed;
    } cases[] = {
        {"disorder=1.5,seed=7", 1.5, 0, 0, 1, 0, 7},
        {"potential=random,disorder=0.5", 0.5, 0, 0, 1, 0, 1},
        {"potential=none", 0, 0, 0, 1, 0, 1},
        {"potential=dots", 0, 0.153, 2.5, 10, 1, 1},
        {"dot_potential=-3,dot_distance=4,dot_radius=1.2,dot_depth=2", 0, -3, 1.2, 4, 2, 1},
        {"dot_potential=1,dot_distance=3,dot_radius=1", 0, 1, 1, 3, 1, 1},
        {"dot_potential=1,dot_distance=3.7,dot_radius=1.1,dot_depth=9", 0, 1, 1.1, 3.7, 9, 1},
        {"potential=dots,disorder=2,seed=3,dot_distance=5,dot_radius=2", 2, 0.153, 2, 5, 1, 3},
    };
    const int n[3] = {9, 5, 2};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char spec[160];
        snprintf(spec, sizeof spec, "topi:nx=9,ny=5,nz=2,%s", cases[c].text);
        dense h = topi_clean(n, 3, 1);
        int inside = 0;
        for (int i = 0; i < h.n; i++) {
            int site = i / 4, z = site % 2, y = site / 2 % 5, x = site / 10;
            double v = cases[c].disorder * (wisp__uniform(cases[c].seed, site, WISP__GAL_STREAM) - 0.5);
            int dot = z < cases[c].depth && in_dot(x, y, 12, cases[c].radius, cases[c].distance);
            *at(h, i, i) += v + (dot ? cases[c].dot : 0);
            inside += dot;
        }
        if (cases[c].dot != 0) assert_in_range(inside, 1, h.n - 1);
        assert_same(spec, expand(*state, spec), h, 1e-15);
    }
}

static void add_disorder(dense h, double width, uint64_t seed)
{
    for (int i = 0; i < h.n; i++) *at(h, i, i) += width * (wisp__uniform(seed, i, WISP__GAL_STREAM) - 0.5);
}

static void test_anderson(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {7, 1, 1}, {1, 5, 1},
                                   {3, 4, 1}, {2, 1, 3}, {3, 2, 5}, {2, 2, 2}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int *n = sizes[s];
        for (int p = 0; p < 8; p++) {
            double w = p % 3, t = p % 2 ? 1 : 0.3;
            char spec[128];
            snprintf(spec, sizeof spec, "anderson:nx=%d,ny=%d,nz=%d,periodic=%s,disorder=%g,seed=%d,t=%g", n[0], n[1],
                     n[2], letters[p], w, p + 5, t);
            dense h = dense_zero(n[0] * n[1] * n[2]);
            for (int d = 0; d < 3; d++) {
                if (n[d] > 1) add(h, -t, along(d, shift(n[d], p >> d & 1), n), 1);
            }
            add_disorder(h, w, (uint64_t)(p + 5));
            assert_same(spec, expand(*state, spec), h, 1e-15);
        }
    }
    wisp_src src = open_spec(*state, "anderson:disorder=0,nx=5");
    assert_int_equal(src.row(src.arg, 2, NULL, NULL), 3); /* the diagonal is explicit */
    close_src(&src);
}

static void test_laplace(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {2, 1, 3}, {3, 3, 3}, {5, 2, 1}, {2, 2, 2}, {4, 5, 3}, {1, 1, 6}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int *n = sizes[s];
        for (int p = 0; p < 8; p++) {
            char spec[128];
            dense seven = dense_zero(n[0] * n[1] * n[2]), part[3];
            for (int d = 0; d < 3; d++) {
                add(seven, -1, along(d, shift(n[d], p >> d & 1), n), 1);
                part[d] = dense_eye(n[d]);
                add(part[d], 1, shift(n[d], p >> d & 1), 1);
            }
            add(seven, 6, dense_eye(seven.n), 0);
            snprintf(spec, sizeof spec, "laplace:nx=%d,ny=%d,nz=%d,periodic=%s", n[0], n[1], n[2], letters[p]);
            assert_same(spec, expand(*state, spec), seven, 0);
            dense cube = dense_zero(n[0] * n[1] * n[2]);
            add(cube, -1, kron(kron(part[0], part[1]), part[2]), 0);
            add(cube, 27, dense_eye(cube.n), 0);
            snprintf(spec, sizeof spec, "laplace:points=27,nx=%d,ny=%d,nz=%d,periodic=%s", n[0], n[1], n[2],
                     letters[p]);
            assert_same(spec, expand(*state, spec), cube, 0);
            if (p >= 4) continue;
            const int plane[3] = {n[0], n[1], 1};
            dense five = dense_zero(n[0] * n[1]);
            for (int d = 0; d < 2; d++) add(five, -1, along(d, shift(n[d], p >> d & 1), plane), 1);
            add(five, 4, dense_eye(five.n), 0);
            snprintf(spec, sizeof spec, "laplace:points=5,nx=%d,ny=%d,periodic=%s", n[0], n[1], letters[p]);
            assert_same(spec, expand(*state, spec), five, 0);
        }
    }
}

/* HPCG's GenerateProblem_ref, loop by loop: row by row, entries by rising column. */
static void test_hpcg(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {2, 3, 4}, {4, 3, 2}, {5, 1, 3}, {1, 6, 1}, {3, 3, 3}, {7, 2, 5}};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        const int nx = sizes[c][0], ny = sizes[c][1], nz = sizes[c][2];
        char spec[128];
        snprintf(spec, sizeof spec, "hpcg:nx=%d,ny=%d,nz=%d", nx, ny, nz);
        wisp_src src = open_spec(*state, spec);
        assert_int_equal(src.rows, nx * ny * nz);
        assert_int_equal(src.type, WISP_D);
        for (int iz = 0; iz < nz; iz++)
            for (int iy = 0; iy < ny; iy++)
                for (int ix = 0; ix < nx; ix++) {
                    const int row = iz * nx * ny + iy * nx + ix;
                    int64_t col[ROOM];
                    cplx val[ROOM];
                    int got = get_row(&src, row, col, val), n = 0;
                    for (int sz = -1; sz <= 1; sz++)
                        for (int sy = -1; sy <= 1; sy++)
                            for (int sx = -1; sx <= 1; sx++) {
                                if (iz + sz < 0 || iz + sz >= nz || iy + sy < 0 || iy + sy >= ny || ix + sx < 0 ||
                                    ix + sx >= nx)
                                    continue;
                                const int other = row + sz * nx * ny + sy * nx + sx;
                                assert_true(n < got && col[n] == other && val[n] == (other == row ? 26. : -1.));
                                n++;
                            }
                    assert_int_equal(n, got);
                }
        close_src(&src);
    }
}

static void test_band(void **state)
{
    for (int n = 1; n <= 40; n += 13) {
        for (int width = 1; width <= 63; width += 2) {
            char spec[64];
            snprintf(spec, sizeof spec, "band:n=%d,bandwidth=%d,seed=%d", n, width, width);
            dense h = expand(*state, spec);
            for (int i = 0; i < n; i++) {
                for (int j = 0; j < n; j++) {
                    double v = creal(*at(h, i, j));
                    assert_int_equal(v != 0, 2 * abs(i - j) < width);
                    assert_true(v >= -1 && v < 1 && cimag(*at(h, i, j)) == 0);
                }
            }
            free(h.a);
        }
    }
}

/* Graphene from the list of its bonds, in the gauge of the x or the y direction. */
static dense graphene_bonds(int nx, int ny, int periodic, double t, double flux, int along_y)
{
    dense h = dense_zero(2 * nx * ny);
    for (int x = 0; x < nx; x++) {
        for (int y = 0; y < ny; y++) {
            int a = 2 * (x * ny + y), left = (x + nx - 1) % nx, down = (y + ny - 1) % ny;
            int b[3] = {a + 1, 2 * (left * ny + y) + 1, 2 * (x * ny + down) + 1};
            int there[3] = {1, x > 0 || (periodic & 1), y > 0 || (periodic & 2)};
            double angle[3] = {0, along_y ? -flux * y : 0, along_y ? 0 : flux * x};
            for (int k = 0; k < 3; k++) {
                cplx v = there[k] ? -t * cexp(2 * M_PI * I * angle[k]) : 0;
                *at(h, a, b[k]) += v;
                *at(h, b[k], a) += conj(v);
            }
        }
    }
    return h;
}

static void test_graphene(void **state)
{
    static const struct {
        int nx, ny, p;
        const char *flux;
        double value;
        int along_y;
    } cases[] = {{1, 1, 3, "0", 0, 0},          {2, 1, 3, "0", 0, 0},          {2, 2, 3, "0", 0, 0},
                 {3, 5, 0, "0", 0, 0},          {3, 3, 1, "0", 0, 0},          {3, 4, 3, "1/3", 1. / 3, 0},
                 {4, 3, 3, "1/3", 1. / 3, 1},   {5, 2, 3, "0.4", 0.4, 0},      {1, 1, 3, "2", 2, 0},
                 {1, 6, 3, "-1/6", -1. / 6, 1}, {6, 1, 3, "-1/6", -1. / 6, 0}, {4, 4, 0, "0.123", 0.123, 0},
                 {4, 4, 1, "0.123", 0.123, 1},  {4, 4, 2, "0.123", 0.123, 0},  {2, 2, 3, "1/2", 0.5, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int w = 0; w < 3; w++) {
            double t = w == 1 ? 2.7 : 1;
            char spec[128];
            snprintf(spec, sizeof spec, "graphene:nx=%d,ny=%d,periodic=%s,flux=%s,disorder=%d,t=%g", cases[c].nx,
                     cases[c].ny, letters[cases[c].p], cases[c].flux, w, t);
            dense h = graphene_bonds(cases[c].nx, cases[c].ny, cases[c].p, t, cases[c].value, cases[c].along_y);
            add_disorder(h, w, 1);
            assert_same(spec, expand(*state, spec), h, 1e-13);
            wisp_src src = open_spec(*state, spec);
            assert_int_equal(src.type, cases[c].value == 0 ? WISP_D : WISP_Z);
            assert_int_equal(src.max_row, w ? 4 : 3);
            close_src(&src);
        }
    }
}

/* With vacancies: rows and columns of the whole lattice taken out. Disorder goes by the site. */
static void test_graphene_vacancies(void **state)
{
    static const double shares[] = {0.01, 0.3, 0.9};
    for (int s = 0; s < 3; s++) {
        for (int seed = 1; seed < 4; seed++) {
            enum { NX = 18, NY = 17, SITES = 2 * NX * NY }; /* more than a group of 512 */
            char spec[160];
            int kept[SITES], rows = 0;
            snprintf(spec, sizeof spec, "graphene:nx=%d,ny=%d,flux=1/18,disorder=2,vacancies=%g,seed=%d", NX, NY,
                     shares[s], seed);
            dense whole = graphene_bonds(NX, NY, 3, 1, 1. / 18, 0);
            add_disorder(whole, 2, (uint64_t)seed);
            for (int i = 0; i < SITES; i++)
                if (wisp__uniform((uint64_t)seed, i, WISP__GAL_STREAM_VACANCIES) >= shares[s]) kept[rows++] = i;
            assert_true(fabs(rows - SITES * (1 - shares[s])) < 4 * sqrt(SITES * shares[s] * (1 - shares[s])));
            dense h = dense_zero(rows);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < rows; j++) *at(h, i, j) = *at(whole, kept[i], kept[j]);
            assert_same(spec, expand(*state, spec), h, 1e-13);
            free(whole.a);
        }
    }
}

/* Values of the disorder: mean, variance, range, and no correlation between seeds or with random vectors of the same
 * seed. */
static void test_disorder(void **state)
{
    static const char *const specs[] = {
        "anderson:nx=40000,disorder=3,seed=%d", "graphene:nx=200,ny=100,disorder=3,seed=%d",
        "topi:nx=100,ny=100,nz=4,disorder=3,seed=%d", "band:n=40000,bandwidth=1,seed=%d"};
    for (int s = 0; s < 4; s++) {
        const int count = 40000, step = s == 2 ? 4 : 1;
        const double width = s == 3 ? 2 : 3, variance = width * width / 12;
        double *v[2], sum = 0, square = 0, cross = 0, trace = 0, gauss = 0;
        for (int seed = 0; seed < 2; seed++) {
            char spec[128];
            snprintf(spec, sizeof spec, specs[s], seed + 1);
            wisp_src src = open_spec(*state, spec);
            v[seed] = calloc((size_t)count, sizeof **v);
            for (int i = 0; i < count; i++) {
                int64_t col[ROOM];
                cplx val[ROOM];
                int n = get_row(&src, (int64_t)i * step, col, val);
                for (int j = 0; j < n; j++) {
                    if (col[j] == (int64_t)i * step) v[seed][i] += creal(val[j]) - (s == 2 ? 2 : 0);
                }
            }
            close_src(&src);
        }
        for (int i = 0; i < count; i++) {
            assert_true(v[0][i] >= -width / 2 - 1e-15 && v[0][i] <= width / 2);
            sum += v[0][i];
            square += v[0][i] * v[0][i];
            cross += v[0][i] * v[1][i];
            trace += v[0][i] * wisp__random_value(WISP_RANDOM_TRACE, 0, 1, (int64_t)i * step, 0, 0).re;
            double g = wisp__random_value(WISP_RANDOM_GAUSS, 0, 1, (int64_t)i * step, 0, 0).re;
            gauss += v[0][i] * (g * g - 1);
        }
        double n = count, deviations = 5;
        assert_true(fabs(sum / n) < deviations * sqrt(variance / n));
        /* fourth moment w^4 / 80, so the variance of v^2 is w^4 / 180 */
        assert_true(fabs(square / n - variance) < deviations * width * width / sqrt(180 * n));
        assert_true(fabs(cross / n) < deviations * variance / sqrt(n));
        assert_true(fabs(trace / n) < deviations * sqrt(variance / n));
        assert_true(fabs(gauss / n) < deviations * sqrt(2 * variance / n));
        free(v[0]);
        free(v[1]);
    }
}

/* The coefficients of matpde, and a function that is zero on the boundary with what the operator makes of it. */
static double pde_p(double x, double y) { return exp(-x * y); }
static double pde_q(double x, double y) { return exp(x * y); }
static double pde_wave(double x, double y) { return sin(M_PI * x) * sin(2 * M_PI * y); }
static double pde_of_wave(double x, double y, double beta, double gamma)
{
    const double u = pde_wave(x, y), ux = M_PI * cos(M_PI * x) * sin(2 * M_PI * y),
                 uy = 2 * M_PI * sin(M_PI * x) * cos(2 * M_PI * y), uxx = -M_PI * M_PI * u, uyy = 4 * uxx;
    const double diffusion = y * pde_p(x, y) * ux - pde_p(x, y) * uxx - x * pde_q(x, y) * uy - pde_q(x, y) * uyy;
    return diffusion + 2 * (x + y) * (beta * ux + gamma * uy) + (beta + gamma) * u + u / (1 + x + y);
}

/* Differences of a function on the points and their neighbours, term by term as they are defined: at the point (i, j),
   counted from 1. u has n[0] + 2 values along x. */
static double pde_differences(const int n[2], double beta, double gamma, const double *u, int i, int j)
{
    const double h[2] = {1. / (n[0] + 1), 1. / (n[1] + 1)}, at[2] = {i * h[0], j * h[1]};
    const int step[2] = {1, n[0] + 2}, here = j * step[1] + i;
    double sum = u[here] / (1 + at[0] + at[1]);
    for (int d = 0; d < 2; d++) {
        const double before = u[here - step[d]], after = u[here + step[d]], speed = d ? gamma : beta;
        double half[2] = {at[0], at[1]}, flux[2];
        for (int side = 0; side < 2; side++) {
            half[d] = at[d] + (side - 0.5) * h[d];
            flux[side] = (d ? pde_q : pde_p)(half[0], half[1]) * (side ? after - u[here] : u[here] - before) / h[d];
        }
        sum -= (flux[1] - flux[0]) / h[d];
        sum += speed * (at[0] + at[1]) * (after - before) / (2 * h[d]);
        sum += speed * ((at[0] + at[1] + h[d]) * after - (at[0] + at[1] - h[d]) * before) / (2 * h[d]);
    }
    return sum;
}

static void test_matpde(void **state)
{
    static const struct {
        int n[2];
        double beta, gamma;
        int entries;
    } cases[] = {
        {{15, 15}, 20, 0, 1065}, {{5, 9}, 20, 0, 197}, {{8, 3}, -7.5, 31, 98}, {{1, 4}, 0, 1, 10}, {{6, 6}, 0, 0, 156}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int *n = cases[c].n, rows = n[0] * n[1];
        char spec[128];
        snprintf(spec, sizeof spec, "matpde:nx=%d,ny=%d,beta=%g,gamma=%g", n[0], n[1], cases[c].beta, cases[c].gamma);
        dense want = dense_zero(rows), got = c == 4 ? expand(*state, spec) : expand_general(*state, spec);
        double *u = calloc((size_t)((n[0] + 2) * (n[1] + 2)), sizeof *u), h = 1. / (n[1] + 1);
        int entries = 0;
        for (int col = 0; col < rows; col++) {
            double *one = &u[(col / n[0] + 1) * (n[0] + 2) + col % n[0] + 1];
            *one = h * h;
            for (int row = 0; row < rows; row++)
                *at(want, row, col) =
                    pde_differences(n, cases[c].beta, cases[c].gamma, u, row % n[0] + 1, row / n[0] + 1);
            *one = 0;
        }
        for (int i = 0; i < rows * rows; i++) entries += got.a[i] != 0;
        assert_int_equal(entries, cases[c].entries);
        assert_same(spec, got, want, 1e-13);
        free(u);
    }
}

/* The error of the differences falls with the square of the step. */
static void test_matpde_order(void **state)
{
    double last = 0;
    for (int n = 19; n < 160; n = 2 * n + 1) {
        int64_t col[ROOM];
        cplx val[ROOM];
        char spec[64];
        double most = 0;
        const double h = 1. / (n + 1);
        snprintf(spec, sizeof spec, "matpde:nx=%d,ny=%d,beta=20,gamma=-5", n, n);
        wisp_src src = open_spec(*state, spec);
        for (int64_t row = 0; row < src.rows; row++) {
            double sum = 0;
            const int count = get_row(&src, row, col, val);
            for (int k = 0; k < count; k++)
                sum += creal(val[k]) * pde_wave((double)(col[k] % n + 1) * h, (double)(col[k] / n + 1) * h);
            most = fmax(
                most, fabs(sum / (h * h) - pde_of_wave((double)(row % n + 1) * h, (double)(row / n + 1) * h, 20, -5)));
        }
        if (last > 0 && !(last / most > 3.9 && last / most < 4.1)) fail_msg("%s: %g after %g", spec, most, last);
        last = most;
        close_src(&src);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_topi_clean),
                                       cmocka_unit_test(test_topi_defaults),
                                       cmocka_unit_test(test_topi_potential),
                                       cmocka_unit_test(test_anderson),
                                       cmocka_unit_test(test_laplace),
                                       cmocka_unit_test(test_hpcg),
                                       cmocka_unit_test(test_band),
                                       cmocka_unit_test(test_graphene),
                                       cmocka_unit_test(test_graphene_vacancies),
                                       cmocka_unit_test(test_disorder),
                                       cmocka_unit_test(test_matpde),
                                       cmocka_unit_test(test_matpde_order)};
    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
