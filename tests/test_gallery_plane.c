/* Lattices in the plane against constructions of their own: sites and distances, the flux through each triangle,
   Bloch's matrices, Landau levels. */
#include "gallery_spectra.h"
#include "base/rng.h"
#include "gallery/gallery.h"

static int make_ctx(void **state) { return wisp_ctx_create((wisp_ctx **)state, NULL) != WISP_OK; }
static int free_ctx(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

static const char *const letters[4] = {"none", "x", "y", "xy"};

/* A lattice by the places of its sites, with first neighbours at the distance 1. */
typedef struct {
    const char *name;
    int sites;
    cplx edge[2], place[3];
    double far; /* the distance of second neighbours that are bound; 0: none */
} geometry;
static geometry geometry_of(const char *name)
{
    const cplx sixty = cexp(I * M_PI / 3);
    if (strcmp(name, "square") == 0) return (geometry){name, 1, {1, I}, {0}, sqrt(2)};
    if (strcmp(name, "kagome") == 0) return (geometry){name, 3, {2, 2 * sixty}, {0, 1, sixty}, 0};
    const double a = sqrt(3); /* honeycomb: the edge of the cell */
    return (geometry){name, 2, {a, a * sixty}, {0, (a + a * sixty) / 3}, a};
}

static double cross(cplx a, cplx b) { return creal(a) * cimag(b) - cimag(a) * creal(b); }

/* Where site i is, in the lattice that goes on beyond its ends. */
static cplx place_of(const geometry *g, int ny, int i, int over_x, int over_y, int nx)
{
    const int cell = i / g->sites, x = cell / ny + over_x * nx, y = cell % ny + over_y * ny;
    return g->place[i % g->sites] + x * g->edge[0] + y * g->edge[1];
}

/* Whether the way from c to r, second neighbours of the honeycomb, turns left at the neighbour of both. */
static int turns_left(const geometry *g, cplx c, cplx r, int site)
{
    /* The neighbour is one of three at the distance 1 from c: those of a B site are opposite to those of an A site. */
    for (int k = 0; k < 3; k++) {
        const cplx step = (site ? -1 : 1) * g->place[1] * cexp(2 * M_PI * I * k / 3);
        if (fabs(cabs(r - c - step) - 1) < 1e-9) return cross(step, r - c - step) > 0;
    }
    fail_msg("no neighbour of both");
    return 0;
}

typedef struct {
    double t, t2, phi, mass; /* phi in radians */
} couplings;

/* All pairs of sites, with the images of one of them. */
static dense by_distance(const geometry *g, int nx, int ny, int periodic, couplings h)
{
    dense m = dense_zero(g->sites * nx * ny);
    for (int r = 0; r < m.n; r++) {
        const cplx at_r = place_of(g, ny, r, 0, 0, nx);
        *at(m, r, r) += r % g->sites ? -h.mass : h.mass;
        for (int c = 0; c < m.n; c++)
            for (int ox = -(periodic & 1); ox <= (periodic & 1); ox++)
                for (int oy = -(periodic >> 1); oy <= periodic >> 1; oy++) {
                    const cplx at_c = place_of(g, ny, c, ox, oy, nx);
                    const double distance = cabs(at_c - at_r);
                    if (fabs(distance - 1) < 1e-9) *at(m, r, c) -= h.t;
                    if (g->far == 0 || fabs(distance - g->far) > 1e-9) continue;
                    const double phi = h.phi == 0 ? 0 : turns_left(g, at_c, at_r, r % 2) ? h.phi : -h.phi;
                    *at(m, r, c) -= h.t2 * cexp(I * phi);
                }
    }
    return m;
}

static void test_bonds(void **state)
{
    static const int sizes[][2] = {{1, 1}, {2, 1}, {1, 3}, {2, 2}, {3, 2}, {3, 3}, {4, 5}};
    static const char *const names[] = {"square", "kagome", "haldane"};
    for (int l = 0; l < 3; l++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int p = 0; p < 4; p++) {
                const geometry g = geometry_of(names[l]);
                const int nx = sizes[s][0], ny = sizes[s][1];
                couplings h = {.t = p % 2 ? 1 : 0.7, .t2 = l == 1 ? 0 : 0.3};
                char spec[200], more[100] = "";
                if (l == 0) snprintf(more, sizeof more, ",t2=0.3");
                if (l == 2) {
                    h.phi = 0.37 * M_PI, h.mass = 0.2;
                    snprintf(more, sizeof more, ",t2=0.3,phi=0.37,mass=0.2");
                }
                snprintf(spec, sizeof spec, "%s:nx=%d,ny=%d,t=%g,periodic=%s%s", names[l], nx, ny, h.t, letters[p],
                         more);
                assert_same(spec, expand(*state, spec), by_distance(&g, nx, ny, p, h), 1e-14);
            }
}

/* Types, and rows that have no more than they need. */
static void test_shapes(void **state)
{
    static const struct {
        const char *spec;
        wisp_type type;
        int64_t rows, max_row;
    } cases[] = {{"square", WISP_D, 100, 4},
                 {"square:t2=1,disorder=1", WISP_D, 100, 9},
                 {"square:flux=1/10", WISP_Z, 100, 4},
                 {"kagome", WISP_D, 300, 4},
                 {"haldane", WISP_Z, 200, 9},
                 {"haldane:phi=0", WISP_D, 200, 9},
                 {"haldane:phi=-7,mass=1", WISP_D, 200, 10},
                 {"haldane:t2=0", WISP_D, 200, 3}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        wisp_src src = open_spec(*state, cases[c].spec);
        if (src.type != cases[c].type || src.rows != cases[c].rows || src.max_row != cases[c].max_row)
            fail_msg("%s: type %d, %lld rows, at most %lld entries", cases[c].spec, (int)src.type, (long long)src.rows,
                     (long long)src.max_row);
        close_src(&src);
    }
    dense h = expand(*state, "haldane:nx=3,ny=3,t=0"); /* phi=1/2: purely imaginary */
    for (int i = 0; i < h.n * h.n; i++) assert_true(creal(h.a[i]) == 0);
    free(h.a);
}

/* With vacancies: rows and columns of the whole lattice taken out. Disorder goes by the site. */
static void test_vacancies(void **state)
{
    static const char *const specs[] = {"square:nx=30,ny=24,t2=0.2,flux=1/30", "kagome:nx=17,ny=12,flux=1/12",
                                        "haldane:nx=16,ny=20,mass=0.3,flux=3/40"};
    for (int s = 0; s < 3; s++) {
        char spec[200];
        int rows = 0;
        dense whole = expand(*state, specs[s]);
        int kept[800];
        assert_in_range(whole.n, 1, 800);
        for (int i = 0; i < whole.n; i++) {
            *at(whole, i, i) += 2 * (wisp__uniform(5, i, WISP__GAL_STREAM) - 0.5);
            if (wisp__uniform(5, i, WISP__GAL_STREAM_VACANCIES) >= 0.2) kept[rows++] = i;
        }
        assert_in_range(rows, whole.n / 2, whole.n - 1);
        dense h = dense_zero(rows);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++) *at(h, i, j) = *at(whole, kept[i], kept[j]);
        snprintf(spec, sizeof spec, "%s,disorder=2,vacancies=0.2,seed=5", specs[s]);
        assert_same(spec, expand(*state, spec), h, 1e-15);
        free(whole.a);
    }
}

/* ---- the field -------------------------------------------------------------------------------------- */

/* The nearest image of c as seen from r. */
static cplx step_to(const geometry *g, int nx, int ny, int r, int c)
{
    cplx best = INFINITY;
    for (int ox = -1; ox <= 1; ox++)
        for (int oy = -1; oy <= 1; oy++) {
            const cplx step = place_of(g, ny, c, ox, oy, nx) - place_of(g, ny, r, 0, 0, nx);
            if (cabs(step) < cabs(best)) best = step;
        }
    return best;
}

/* In any gauge the product of the entries around a triangle has the phase of the flux through it, beside that of the
   entries without field. */
static void check_triangles(void *ctx, const char *name, const char *more, int nx, int ny, int periodic,
                            const char *flux, double value, int least)
{
    const geometry g = geometry_of(name);
    const double cell = cross(g.edge[0], g.edge[1]);
    char spec[200];
    snprintf(spec, sizeof spec, "%s:nx=%d,ny=%d,periodic=%s%s", name, nx, ny, letters[periodic], more);
    dense none = expand(ctx, spec);
    snprintf(spec + strlen(spec), sizeof spec - strlen(spec), ",flux=%s", flux);
    dense h = expand(ctx, spec);
    int seen = 0;
    for (int i = 0; i < h.n; i++)
        for (int j = 0; j < h.n; j++) {
            assert_true(fabs(cabs(*at(h, i, j)) - cabs(*at(none, i, j))) < 1e-14);
            for (int k = 0; k < h.n && *at(h, i, j) != 0 && i != j; k++) {
                if (k == i || k == j || *at(h, j, k) == 0 || *at(h, k, i) == 0) continue;
                const cplx a = step_to(&g, nx, ny, i, j), b = step_to(&g, nx, ny, j, k), c = step_to(&g, nx, ny, k, i);
                if (cabs(a + b + c) > 1e-9) continue; /* around the lattice */
                const double turns = value * cross(a, b) / 2 / cell;
                const cplx want = *at(none, i, j) * *at(none, j, k) * *at(none, k, i) * cexp(-2 * M_PI * I * turns);
                if (cabs(*at(h, i, j) * *at(h, j, k) * *at(h, k, i) - want) > 1e-13 + 1e-15 * fabs(value))
                    fail_msg("%s: the triangle %d, %d, %d", spec, i, j, k);
                seen++;
            }
        }
    if (seen < least) fail_msg("%s: %d triangles", spec, seen);
    free(h.a);
    free(none.a);
}

static void test_triangles(void **state)
{
    static const struct {
        const char *name, *more;
        int least; /* a cell */
    } lattices[] = {{"square", ",t2=0.3", 24}, {"kagome", "", 12}, {"haldane", ",t2=0.3,phi=0.2,mass=1", 48}};
    for (int l = 0; l < 3; l++) {
        const char *name = lattices[l].name, *more = lattices[l].more;
        const int least = lattices[l].least;
        check_triangles(*state, name, more, 5, 4, 3, "1/5", 1. / 5, 20 * least);
        check_triangles(*state, name, more, 4, 5, 3, "1/5", 1. / 5, 20 * least);
        check_triangles(*state, name, more, 4, 5, 3, "-7/20", -7. / 20, 20 * least); /* times neither nx nor ny whole */
        check_triangles(*state, name, more, 5, 6, 3, "29/15", 29. / 15, 30 * least);
        check_triangles(*state, name, more, 4, 5, 1, "0.31", 0.31, 10 * least);
        check_triangles(*state, name, more, 4, 5, 2, "0.31", 0.31, 10 * least);
        check_triangles(*state, name, more, 4, 5, 0, "17.31", 17.31, 8 * least);
        check_triangles(*state, name, more, 4, 5, 0, "-1000.25", -1000.25, 8 * least);
    }
}

/* With the flux p/q cells that are q apart have the same bits, so that their rows can share a pattern. */
static void test_repetition(void **state)
{
    static const char *const specs[] = {"square:nx=70,ny=70,flux=3/7,t2=0.3",
                                        "kagome:nx=70,ny=70,flux=1/7,periodic=none",
                                        "haldane:nx=70,ny=70,flux=-1/7,periodic=x", "haldane:nx=70,ny=70,flux=50/7"};
    for (int s = 0; s < 4; s++) {
        wisp_src src = open_spec(*state, specs[s]);
        const int64_t sites = src.rows / 4900, apart = 7 * sites * (s == 2 ? 1 : 70);
        for (int64_t row = 100 * sites; row < 3500 * sites; row++) {
            int64_t col[ROOM], other_col[ROOM];
            cplx val[ROOM], other_val[ROOM];
            const int n = get_row(&src, row, col, val);
            const int64_t y = row / sites % 70;
            if (y < 1 || y > 61) continue; /* at an end along y, perhaps of the other cell */
            assert_int_equal(get_row(&src, row + apart, other_col, other_val), n);
            for (int k = 0; k < n; k++) assert_true(other_col[k] - col[k] == apart && other_val[k] == val[k]);
        }
        close_src(&src);
    }
}

/* An open lattice with straight bonds in the symmetric gauge, around a point of no symmetry. */
static void test_open_spectra(void **state)
{
    static const char *const names[] = {"square", "kagome", "haldane"};
    const double flux = 0.271;
    for (int l = 0; l < 3; l++) {
        const geometry g = geometry_of(names[l]);
        couplings c = {.t = 1, .t2 = l == 1 ? 0 : 0.3};
        char spec[200];
        if (l == 2) c.phi = 0.4 * M_PI, c.mass = 0.5;
        snprintf(spec, sizeof spec, "%s:nx=5,ny=6,flux=%g,periodic=none%s", names[l], flux,
                 l == 0   ? ",t2=0.3"
                 : l == 2 ? ",t2=0.3,phi=0.4,mass=0.5"
                          : "");
        dense h = by_distance(&g, 5, 6, 0, c);
        for (int i = 0; i < h.n; i++)
            for (int j = 0; j < h.n; j++) {
                const cplx a = place_of(&g, 6, i, 0, 0, 5) - 0.3, b = place_of(&g, 6, j, 0, 0, 5) - 0.3;
                *at(h, i, j) *= cexp(-2 * M_PI * I * flux * cross(a, b) / 2 / cross(g.edge[0], g.edge[1]));
            }
        const int n = h.n;
        double *want = spectrum_of(h);
        assert_spectrum(*state, spec, want, n, 1e-12);
        free(want);
    }
}

/* ---- spectra ---------------------------------------------------------------------------------------- */

static void test_haldane_bands(void **state)
{
    static const struct {
        double t2, phi, mass;
    } cases[] = {{0.1, 0.5, 0}, {0.2, 0.3, 0.4}, {-0.15, -0.8, -1}, {0.3, 1, 0.2}};
    enum { NX = 6, NY = 7 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const double t2 = cases[c].t2, phi = M_PI * cases[c].phi;
        double e[2 * NX * NY];
        int count = 0;
        for (int i = 0; i < NX * NY; i++) {
            const double a = 2 * M_PI * (i / NY) / NX, b = 2 * M_PI * (i % NY) / NY;
            const double f = cabs(1 + cexp(I * a) + cexp(I * b));
            const double even = -2 * t2 * cos(phi) * (cos(a) + cos(b) + cos(b - a));
            const double odd = cases[c].mass + 2 * t2 * sin(phi) * (sin(a) - sin(b) + sin(b - a));
            e[count++] = even + hypot(f, odd);
            e[count++] = even - hypot(f, odd);
        }
        char spec[128];
        snprintf(spec, sizeof spec, "haldane:nx=%d,ny=%d,t2=%g,phi=%g,mass=%g", NX, NY, t2, cases[c].phi,
                 cases[c].mass);
        assert_spectrum(*state, spec, e, count, 1e-12);
    }
    /* At both corners of the zone: the gap is 2 |mass -+ 3 sqrt 3 t2 sin phi|, and closes where they are equal. */
    dense h = expand(*state, "haldane:nx=3,ny=3,t2=0.1,phi=1/2,mass=0.5196152422706632");
    double *w = spectrum_of(h), least = 1;
    for (int i = 0; i < 18; i++) least = fmin(least, fabs(w[i]));
    assert_true(least < 1e-12);
    free(w);
}

static void test_kagome_bands(void **state)
{
    enum { NX = 6, NY = 5 };
    double e[3 * NX * NY];
    int count = 0;
    for (int i = 0; i < NX * NY; i++) {
        const double a = 2 * M_PI * (i / NY) / NX, b = 2 * M_PI * (i % NY) / NY;
        const double root = sqrt(fmax(0, 3 + 2 * (cos(a) + cos(b) + cos(a - b))));
        e[count++] = 2 * 0.7;
        e[count++] = -0.7 * (1 + root);
        e[count++] = -0.7 * (1 - root);
    }
    assert_spectrum(*state, "kagome:nx=6,ny=5,t=0.7", e, count, 1e-7); /* the root of a rounded 0 */
    dense h = expand(*state, "kagome:nx=6,ny=5");
    double *w = spectrum_of(h);
    int flat = 0;
    for (int i = 0; i < 90; i++) flat += fabs(w[i] - 2) < 1e-12;
    assert_int_equal(flat, NX * NY + 1); /* with the band that touches it */
    free(w);
}

/* Hofstadter: q columns of the square lattice with the flux p/q are a cell, of which Bloch's matrix has q bands. */
static void test_hofstadter(void **state)
{
    static const struct {
        int p, q, nx, ny;
        double t2;
    } cases[] = {{1, 3, 6, 5, 0}, {2, 5, 10, 4, 0},   {1, 4, 8, 6, 0},
                 {3, 7, 7, 6, 0}, {1, 3, 9, 4, 0.25}, {2, 5, 5, 7, -0.4}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int p = cases[c].p, q = cases[c].q, nx = cases[c].nx, ny = cases[c].ny, n = nx * ny;
        double *e = calloc((size_t)n, sizeof *e);
        int count = 0;
        for (int k = 0; k < nx / q * ny; k++) {
            const double kx = 2 * M_PI * (k / ny) / nx, ky = 2 * M_PI * (k % ny) / ny;
            dense h = dense_zero(q);
            for (int x = 0; x < q; x++) {
                /* A diagonal of a plaquette turns by the field in its middle. */
                const double here = ky - 2 * M_PI * p * x / q, between = ky - 2 * M_PI * p * (x + 0.5) / q;
                const cplx right = -(1 + 2 * cases[c].t2 * cos(between)) * cexp(I * kx);
                *at(h, x, x) -= 2 * cos(here);
                *at(h, x, (x + 1) % q) += right;
                *at(h, (x + 1) % q, x) += conj(right);
            }
            double *w = spectrum_of(h);
            memcpy(e + count, w, (size_t)q * sizeof *w);
            count += q;
            free(w);
        }
        char spec[128];
        assert_int_equal(count, n);
        snprintf(spec, sizeof spec, "square:nx=%d,ny=%d,flux=%d/%d,t2=%g", nx, ny, p, q, cases[c].t2);
        assert_spectrum(*state, spec, e, n, 1e-12);
        /* With odd q no two bands touch. */
        for (int band = 1; q % 2 && cases[c].t2 == 0 && band < q; band++)
            assert_true(e[band * n / q] - e[band * n / q - 1] > 0.01);
        free(e);
    }
}

/* Landau levels of the honeycomb: E_n^2 = n 2 pi sqrt 3 flux, up to the next order in the flux. */
static void test_landau(void **state)
{
    double off[2];
    for (int s = 0; s < 2; s++) {
        const int nx = s ? 96 : 48, rows = 2 * nx * 2;
        char spec[64];
        snprintf(spec, sizeof spec, "haldane:nx=%d,ny=2,t2=0,flux=1/%d", nx, nx);
        double *w = spectrum_of(expand(*state, spec));
        const double first = sqrt(2 * M_PI * sqrt(3) / nx);
        const int middle = rows / 2 + 2; /* two quanta and two valleys: four states a level, two of level 0 above 0 */
        off[s] = 0;
        assert_true(fabs(w[middle - 1]) < 1e-6 && fabs(w[middle - 4]) < 1e-6);
        for (int n = 1; n <= 3; n++)
            for (int k = 0; k < 4; k++) {
                const double ratio = w[middle + 4 * (n - 1) + k] / (first * sqrt(n));
                off[s] = fmax(off[s], fabs(ratio - 1));
                assert_true(fabs(w[rows - 1 - (middle + 4 * (n - 1) + k)] + w[middle + 4 * (n - 1) + k]) < 1e-12);
            }
        free(w);
    }
    if (!(off[0] < 0.1 && off[1] < 0.6 * off[0])) fail_msg("levels are off by %g, then %g", off[0], off[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bonds),         cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_vacancies),     cmocka_unit_test(test_triangles),
                                       cmocka_unit_test(test_repetition),    cmocka_unit_test(test_open_spectra),
                                       cmocka_unit_test(test_haldane_bands), cmocka_unit_test(test_kagome_bands),
                                       cmocka_unit_test(test_hofstadter),    cmocka_unit_test(test_landau)};
    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
