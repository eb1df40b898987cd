/* Spectra of gallery matrices (LAPACK) against closed forms, and gauge-invariant checks of graphene's flux. */
#include "gallery_spectra.h"

static int make_ctx(void **state) { return wisp_ctx_create((wisp_ctx **)state, NULL) != WISP_OK; }
static int free_ctx(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

/* cos of the i-th wave number: plane waves on a ring, standing waves between walls. */
static double cosine(int i, int n, int periodic)
{
    return periodic ? cos(2 * M_PI * i / n) : cos(M_PI * (i + 1) / (n + 1));
}

typedef double (*dispersion)(double cx, double cy, double cz);
static double seven(double cx, double cy, double cz) { return 6 - 2 * (cx + cy + cz); }
static double twenty_seven(double cx, double cy, double cz) { return 27 - (1 + 2 * cx) * (1 + 2 * cy) * (1 + 2 * cz); }
static double five(double cx, double cy, double cz)
{
    (void)cz;
    return 4 - 2 * (cx + cy);
}
static double hopping3(double cx, double cy, double cz) { return -2 * (cx + cy + cz); }
static double hopping2(double cx, double cy, double cz)
{
    (void)cz;
    return -2 * (cx + cy);
}
static double hopping1(double cx, double cy, double cz)
{
    (void)cy, (void)cz;
    return -2 * cx;
}

static void test_boxes(void **state)
{
    static const struct {
        const char *spec;
        int n[3], periodic;
        dispersion energy;
    } cases[] = {
        {"laplace:nx=5,ny=6,nz=7", {5, 6, 7}, 0, seven},
        {"laplace:nx=5,ny=6,nz=7,periodic=xyz", {5, 6, 7}, 7, seven},
        {"laplace:nx=2,ny=3,nz=1,periodic=zx", {2, 3, 1}, 5, seven},
        {"laplace:points=27,nx=6,ny=3,nz=5", {6, 3, 5}, 0, twenty_seven},
        {"laplace:points=27,nx=6,ny=3,nz=5,periodic=xyz", {6, 3, 5}, 7, twenty_seven},
        {"laplace:points=27,nx=2,ny=4,nz=1,periodic=xz", {2, 4, 1}, 5, twenty_seven},
        {"laplace:points=5,nx=11,ny=8", {11, 8, 1}, 0, five},
        {"laplace:points=5,nx=11,ny=8,periodic=xy", {11, 8, 1}, 3, five},
        {"anderson:disorder=0,nx=6,ny=5,nz=4", {6, 5, 4}, 7, hopping3},
        {"anderson:disorder=0,nx=6,ny=5,nz=4,periodic=none", {6, 5, 4}, 0, hopping3},
        {"anderson:disorder=0,nx=9,ny=8", {9, 8, 1}, 3, hopping2},
        {"anderson:disorder=0,nx=9,ny=8,periodic=y", {9, 8, 1}, 2, hopping2},
        {"anderson:disorder=0", {100, 1, 1}, 1, hopping1},
        {"anderson:disorder=0,nx=31,periodic=none", {31, 1, 1}, 0, hopping1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int *n = cases[c].n, p = cases[c].periodic;
        double e[256];
        int count = 0;
        for (int x = 0; x < n[0]; x++) {
            for (int y = 0; y < n[1]; y++) {
                for (int z = 0; z < n[2]; z++) {
                    e[count++] =
                        cases[c].energy(cosine(x, n[0], p & 1), cosine(y, n[1], p & 2), cosine(z, n[2], p & 4));
                }
            }
        }
        assert_spectrum(*state, cases[c].spec, e, count, 1e-12);
    }
}

/* E = +- sqrt(m^2 + t^2 sum sin^2 k), m = 2 - t sum cos k, each twice. */
static void test_topi_periodic(void **state)
{
    const double t = 0.8;
    double e[4 * 60];
    int count = 0;
    for (int i = 0; i < 60; i++) {
        double k[3] = {2 * M_PI * (i / 20) / 3, 2 * M_PI * (i / 5 % 4) / 4, 2 * M_PI * (i % 5) / 5}, m = 2, s = 0;
        for (int d = 0; d < 3; d++) {
            m -= t * cos(k[d]);
            s += pow(t * sin(k[d]), 2);
        }
        for (int j = 0; j < 4; j++) e[count++] = (j < 2 ? 1 : -1) * sqrt(m * m + s);
    }
    assert_spectrum(*state, "topi:nx=3,ny=4,nz=5,t=0.8,periodic=xyz", e, count, 1e-12);
}

/* Periodic in x and y, open in z: the plane waves of 8 x 8 sites leave blocks of 4 nz rows, here those of the
   single column of sites with twisted ends. Their extremes are the whole's. */
static void test_topi_8x8x6(void **state)
{
    dense gamma[4] = {dense_zero(4), kron(pauli(1), pauli(1)), kron(pauli(1), pauli(2)), kron(pauli(1), pauli(3))};
    double *e = calloc(8 * 8 * 24, sizeof *e), largest = 0;
    int count = 0;
    for (int k = 0; k < 64; k++) {
        double kx = 2 * M_PI * (k / 8) / 8, ky = 2 * M_PI * (k % 8) / 8;
        dense h = dense_zero(24), hop = kron(pauli(3), pauli(0));
        for (int i = 0; i < 24; i++) {
            for (int a = 0; a < 4; a++) {
                *at(h, i, i / 4 * 4 + a) += sin(kx) * *at(gamma[1], i % 4, a) + sin(ky) * *at(gamma[2], i % 4, a);
            }
            *at(h, i, i) += (2 - cos(kx) - cos(ky)) * (i % 4 < 2 ? 1 : -1);
        }
        add(hop, -I, kron(pauli(1), pauli(3)), 0);
        add(h, -0.5, kron(shift(6, 0), hop), 1);
        double *w = spectrum_of(h);
        memcpy(e + count, w, 24 * sizeof *w);
        count += 24;
        free(w);
    }
    for (int i = 0; i < 4; i++) free(gamma[i].a);
    for (int i = 0; i < count; i++) largest = fmax(largest, fabs(e[i]));
    assert_true(fabs(largest - 4.9155) < 5e-5);
    assert_spectrum(*state, "topi:nx=8,ny=8,nz=6", e, count, 1e-11);
    free(e);
}

static void test_graphene_dispersion(void **state)
{
    double e[2 * 42];
    int count = 0;
    for (int i = 0; i < 42; i++) {
        cplx sum = 1 + cexp(2 * M_PI * I * (i / 7) / 6) + cexp(2 * M_PI * I * (i % 7) / 7);
        e[count++] = cabs(sum);
        e[count++] = -cabs(sum);
    }
    assert_spectrum(*state, "graphene:nx=6,ny=7", e, count, 1e-12);
    assert_spectrum(*state, "graphene:nx=6,ny=7,flux=-3", e, count, 1e-12);
}

/* The product of the hoppings around every hexagon has the phase of the flux, in any gauge. */
static void test_graphene_flux(void **state)
{
    static const struct {
        const char *text;
        double flux;
        int nx, ny, periodic;
    } cases[] = {{"nx=5,ny=4,flux=1/5", 0.2, 5, 4, 3},
                 {"nx=4,ny=5,flux=1/5", 0.2, 4, 5, 3},
                 {"nx=7,ny=3,flux=-3/7", -3. / 7, 7, 3, 3},
                 {"nx=4,ny=5,flux=0.31,periodic=x", 0.31, 4, 5, 1},
                 {"nx=4,ny=5,flux=0.31,periodic=y", 0.31, 4, 5, 2},
                 {"nx=4,ny=5,flux=17.31,periodic=none", 17.31, 4, 5, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char spec[128];
        snprintf(spec, sizeof spec, "graphene:%s", cases[c].text);
        dense h = expand(*state, spec);
        int nx = cases[c].nx, ny = cases[c].ny, seen = 0;
        for (int x = 0; x < nx; x++) {
            for (int y = 0; y < ny; y++) {
                if ((x == nx - 1 && !(cases[c].periodic & 1)) || (y == 0 && !(cases[c].periodic & 2))) continue;
                int right = (x + 1) % nx, down = (y + ny - 1) % ny;
                int a = 2 * (x * ny + y), ar = 2 * (right * ny + y), ad = 2 * (right * ny + down);
                int loop[7] = {a, a + 1, ar, ad + 1, ad, 2 * (x * ny + down) + 1, a};
                cplx product = 1;
                for (int i = 0; i < 6; i++) product *= *at(h, loop[i], loop[i + 1]);
                assert_true(cabs(product - cexp(2 * M_PI * I * cases[c].flux)) < 1e-13);
                seen++;
            }
        }
        assert_true(seen >= 12);
        free(h.a);
    }
}

/* The spectrum is symmetric, the same for flux, flux + 1 and -flux, and changes with the flux. */
static void test_graphene_hofstadter(void **state)
{
    static const char *const same[] = {"nx=5,ny=6,flux=7/5", "nx=5,ny=6,flux=-2/5", "nx=6,ny=5,flux=2/5",
                                       "nx=5,ny=6,flux=3/5"};
    double *w = spectrum_of(expand(*state, "graphene:nx=5,ny=6,flux=2/5"));
    double *none = spectrum_of(expand(*state, "graphene:nx=5,ny=6")), difference = 0;
    for (int i = 0; i < 60; i++) {
        assert_true(fabs(w[i] + w[59 - i]) < 1e-12);
        difference = fmax(difference, fabs(w[i] - none[i]));
    }
    assert_true(difference > 0.1);
    for (size_t c = 0; c < sizeof same / sizeof *same; c++) {
        char spec[128];
        snprintf(spec, sizeof spec, "graphene:%s", same[c]);
        assert_spectrum(*state, spec, w, 60, 1e-12);
    }
    free(w);
    free(none);
}

/* XX chain: free fermions between walls, E = sum of occupied cos k. Heisenberg: ferromagnetic multiplet. */
static void test_spinchain_spectra(void **state)
{
    const int sites = 9, up = 4;
    double e[126];
    int count = 0;
    for (unsigned s = 0; s < 1u << sites; s++) {
        if (__builtin_popcount(s) != up) continue;
        e[count] = 0;
        for (int k = 0; k < sites; k++) e[count] += (s >> k & 1) ? cosine(k, sites, 0) : 0;
        count++;
    }
    assert_spectrum(*state, "spinchain:sites=9,up=4,delta=0", e, count, 1e-12);
    for (int u = 0; u <= 10; u++) {
        char spec[64];
        snprintf(spec, sizeof spec, "spinchain:sites=10,up=%d,periodic=x", u);
        dense h = expand(*state, spec);
        int last = h.n - 1;
        double *w = spectrum_of(h);
        assert_true(fabs(w[last] - 10 * 0.25) < 1e-12);
        /* Bethe: the ground state of the ring of 10 */
        if (u == 5) assert_true(fabs(w[0] - -4.515446354) < 1e-8);
        free(w);
    }
}

/* Sums of the levels -2 t cos k that the electrons of one spin fill; how many there are. */
static int fill_levels(int sites, int electrons, double t, int ring, double *e)
{
    int count = 0;
    for (unsigned s = 0; s < 1u << sites; s++) {
        if (__builtin_popcount(s) != electrons) continue;
        e[count] = 0;
        for (int k = 0; k < sites; k++) e[count] -= (s >> k & 1) ? 2 * t * cosine(k, sites, ring) : 0;
        count++;
    }
    return count;
}
static void check_free_electrons(void *ctx, int sites, int up, int down, int ring)
{
    const double t = 0.7;
    double one[2][20], e[400];
    int count[2] = {fill_levels(sites, up, t, ring, one[0]), fill_levels(sites, down, t, ring, one[1])};
    for (int i = 0; i < count[0] * count[1]; i++) e[i] = one[0][i / count[1]] + one[1][i % count[1]];
    char spec[128];
    snprintf(spec, sizeof spec, "hubbard:sites=%d,up=%d,down=%d,t=0.7,U=0,periodic=%s", sites, up, down,
             ring ? "x" : "none");
    assert_spectrum(ctx, spec, e, count[0] * count[1], 1e-12);
}

/* Two electrons on two sites: singlets that mix, a triplet, and a pair at U. A ring of two sites has twice the hopping.
   Without U the electrons are free, and a ring's wave numbers show the signs. */
static void test_hubbard_spectra(void **state)
{
    const double root = sqrt(4 + 16 * 2.25);
    assert_spectrum(*state, "hubbard:sites=2,t=1.5,U=2", (double[]){1 - root / 2, 0, 2, 1 + root / 2}, 4, 1e-13);
    assert_spectrum(*state, "hubbard:sites=2,t=0.75,U=2,periodic=x", (double[]){1 - root / 2, 0, 2, 1 + root / 2}, 4,
                    1e-13);
    for (int sites = 4; sites <= 6; sites++) {
        for (int up = 1; up < sites; up++) {
            for (int ring = 0; ring < 2; ring++) check_free_electrons(*state, sites, up, sites / 2, ring);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_boxes),
                                       cmocka_unit_test(test_topi_periodic),
                                       cmocka_unit_test(test_topi_8x8x6),
                                       cmocka_unit_test(test_graphene_dispersion),
                                       cmocka_unit_test(test_graphene_flux),
                                       cmocka_unit_test(test_graphene_hofstadter),
                                       cmocka_unit_test(test_spinchain_spectra),
                                       cmocka_unit_test(test_hubbard_spectra)};
    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
