/* Green's functions from moments against linear systems that are solved densely. */
#include "kpm_sides.h"

/* x of (z - H) x = b, by elimination with pivots. */
static ref_mat resolvent_times(ref_mat H, cplx z, ref_mat b)
{
    const int64_t n = H.rows;
    ref_mat M = ref_new(n, n), x = ref_new(n, b.cols);
    for (int64_t i = 0; i < n * n; i++) M.a[i] = -H.a[i];
    for (int64_t i = 0; i < n; i++) REF_AT(M, i, i) += z;
    memcpy(x.a, b.a, (size_t)(n * b.cols) * sizeof *x.a);
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k; i < n; i++)
            if (cabs(REF_AT(M, i, k)) > cabs(REF_AT(M, best, k))) best = i;
        for (int64_t j = 0; j < n; j++) {
            const cplx t = REF_AT(M, k, j);
            REF_AT(M, k, j) = REF_AT(M, best, j), REF_AT(M, best, j) = t;
        }
        for (int64_t j = 0; j < b.cols; j++) {
            const cplx t = REF_AT(x, k, j);
            REF_AT(x, k, j) = REF_AT(x, best, j), REF_AT(x, best, j) = t;
        }
        for (int64_t i = 0; i < n; i++) {
            const cplx f = i == k ? 0 : REF_AT(M, i, k) / REF_AT(M, k, k);
            for (int64_t j = k; j < n; j++) REF_AT(M, i, j) -= f * REF_AT(M, k, j);
            for (int64_t j = 0; j < b.cols; j++) REF_AT(x, i, j) -= f * REF_AT(x, k, j);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < b.cols; j++) REF_AT(x, i, j) /= REF_AT(M, i, i);
    ref_free(M);
    return x;
}

static cplx product(ref_mat l, ref_mat r, int64_t j)
{
    cplx sum = 0;
    for (int64_t i = 0; i < l.rows; i++) sum += conj(REF_AT(l, i, j)) * REF_AT(r, i, j);
    return sum;
}

static const double etas[] = {3, 0.3, 0.05};
enum { ENERGIES = 5, ETAS = sizeof etas / sizeof *etas };

/* Energies inside the bounds, at an end, and outside. */
static void energies_of(const wisp_bounds *b, double *energy)
{
    const double at[ENERGIES] = {-3, -1, -0.4, 0.1, 1};
    for (int i = 0; i < ENERGIES; i++) energy[i] = b->center + at[i] * b->halfwidth;
}

/* <l|G|r> of given vectors, or <r|G|r>: both sides of each type and width. */
static void vectors(void **state)
{
    static const struct {
        wisp_type mat, blk;
    } types[] = {{WISP_S, WISP_S}, {WISP_D, WISP_D}, {WISP_C, WISP_C}, {WISP_Z, WISP_Z}, {WISP_D, WISP_Z}};
    static const int widths[] = {1, 3, 5, 33};
    wisp_ctx *ctx = *state;
    ref_rng rng = {3901};
    for (int i = 0; i < 5 * 4 * 2 * ETAS; i++) {
        const int k = i % 5;
        const double eta = etas[i / 40];
        sides_case c = {.mat = types[k].mat,
                        .blk = types[k].blk,
                        .B = types[k].mat,
                        .n = 2,
                        .vectors = widths[i / 5 % 4],
                        .left = i / 20 % 2,
                        .width = 4};
        if ((REF_SANITIZED || c.blk == WISP_S || c.blk == WISP_C) && eta < 0.1) continue; /* more of the same moments */
        setting s = open_setting(ctx, &rng, &c);
        wisp_kpm_opts o = opts_of(&c, &s);
        wisp_moments m;
        wisp_bounds b;
        double energy[ENERGIES], beside[ENERGIES];
        wisp_scalar g[ENERGIES];
        REF_OK(ctx, wisp_bounds_find(&b, s.A, NULL));
        const double tolerance = (c.blk == WISP_S || c.blk == WISP_C) ? 1e-3 : 1e-9;
        o.moments = wisp_green_moments(1.5 * b.halfwidth, eta, tolerance);
        REF_OK(ctx, wisp_kpm(&m, s.A, &o));
        energies_of(&m.bounds, energy);
        const wisp_green_opts go = {.eta = eta, .tolerance = 2 * tolerance}; /* bounds are found anew */
        for (int v = 0; v < c.vectors; v++) {
            REF_OK(ctx, wisp_green(ctx, &m, &go, v, ENERGIES, energy, g, NULL, beside));
            const double norms = c.left ? sqrt(creal(product(s.l, s.l, v)) * creal(product(s.r, s.r, v))) : 1;
            for (int e = 0; e < ENERGIES; e++) {
                ref_mat x = resolvent_times(s.H, energy[e] + I * eta, s.r);
                const cplx want = product(c.left ? s.l : s.r, x, v);
                ref_free(x);
                if (!(cabs(g[e].re + I * g[e].im - want) <= norms * beside[e] + 1e-13 * cabs(want)))
                    fail_msg("case %d, energy %g, eta %g: %.17g%+.17gi, not %.17g%+.17gi; allowed %g", i, energy[e],
                             eta, g[e].re, g[e].im, creal(want), cimag(want), norms * beside[e]);
                if (c.vectors > 3) break;
            }
        }
        wisp_moments_free(&m);
        close_setting(&s);
    }
}

/* The trace, exact and by random vectors; the end of a half-infinite chain by its closed form. */
static void traces(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng rng = {3902};
    ref_mat H = random_hermitian(&rng, WISP_Z, 40, 0.3);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_Z);
    double *level = eigenvalues(H), energy = 0.3, beside, eta = 0.2;
    wisp_moments m;
    wisp_scalar g, e;
    cplx want = 0;
    for (int i = 0; i < 40; i++) want += 1 / (energy + I * eta - level[i]);
    const wisp_green_opts go = {.eta = eta};
    wisp_bounds b;
    REF_OK(ctx, wisp_bounds_find(&b, A, NULL));
    wisp_kpm_opts o = {.moments = wisp_green_moments(1.1 * b.halfwidth, eta, 1e-10), .trace = WISP_TRACE_EXACT};
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    REF_OK(ctx, wisp_green(ctx, &m, &go, -1, 1, &energy, &g, &e, &beside));
    assert_true(cabs(g.re + I * g.im - want) <= beside && beside <= 40 * 1e-10 / eta);
    assert_true(e.re == 0 && e.im == 0);
    wisp_moments_free(&m);
    o.trace = WISP_TRACE_RANDOM, o.vectors = 64;
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    REF_OK(ctx, wisp_green(ctx, &m, &go, -1, 1, &energy, &g, &e, &beside));
    assert_true(e.re > 0 && e.im > 0 && fabs(g.re - creal(want)) < 5 * e.re && fabs(g.im - cimag(want)) < 5 * e.im);
    wisp_moments_free(&m);
    free(level);
    wisp_mat_free(A);
    ref_free(H);

    /* T_n of a half-infinite chain, hopping 1/2: moments 1, 0, -1/2, 0, .. and G = 2 (z - sqrt(z^2 - 1)). */
    enum { N = 4000 };
    double mu[N] = {1, 0, -0.5};
    int64_t site = 0;
    const wisp_moments chain = {.rows = N,
                                .n = N,
                                .vectors = 1,
                                .mu = mu,
                                .trace = WISP_TRACE_SITES,
                                .sites = &site,
                                .bounds = {0, 1, 0},
                                .type = WISP_D};
    for (double x = -2; x < 2.1; x += 0.25) {
        const cplx z = x + 0.05 * I;
        REF_OK(ctx, wisp_green(ctx, &chain, &(wisp_green_opts){.eta = 0.05}, 0, 1, &x, &g, NULL, NULL));
        assert_true(cabs(g.re + I * g.im - 2 * (z - csqrt(z - 1) * csqrt(z + 1))) < 1e-13);
    }
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    double mu[8] = {1}, energy = 0;
    wisp_scalar g;
    wisp_moments m = {
        .rows = 9, .n = 8, .vectors = 1, .mu = mu, .trace = WISP_TRACE_GIVEN, .bounds = {0, 1, 0}, .type = WISP_D};
    REF_FAILS(ctx, wisp_green(ctx, &m, &(wisp_green_opts){0}, 0, 1, &energy, &g, NULL, NULL), WISP_ERR_ARG,
              "opts.eta is 0");
    REF_FAILS(ctx, wisp_green(ctx, &m, &(wisp_green_opts){.eta = 0.1}, 0, 1, &energy, &g, NULL, NULL), WISP_ERR_ARG,
              "there are 8 moments, and ");
    REF_FAILS(ctx, wisp_green(ctx, &m, &(wisp_green_opts){.eta = 1, .tolerance = 2}, 0, 1, &energy, &g, NULL, NULL),
              WISP_ERR_ARG, "opts.tolerance is 2");
    REF_FAILS(ctx,
              wisp_green(ctx, &m, &(wisp_green_opts){.eta = 100, .tolerance = 1e-16}, 0, 1, &energy, &g, NULL, NULL),
              WISP_ERR_ARG, "rounding of the moments alone");
    REF_FAILS(ctx, wisp_green(ctx, &m, &(wisp_green_opts){.eta = 1}, 1, 1, &energy, &g, NULL, NULL), WISP_ERR_ARG,
              "vector 1");
    energy = (double)NAN;
    REF_FAILS(ctx, wisp_green(ctx, &m, &(wisp_green_opts){.eta = 1}, 0, 1, &energy, &g, NULL, NULL), WISP_ERR_ARG,
              "energy 0 is");
    assert_true(wisp_green_moments(1, 1e9, 0.1) == 2 && wisp_green_moments(1, 0, 0.1) == 2);
    assert_true(wisp_green_moments(1, 1e-3, 1e-10) > 20000 && wisp_green_moments(1, 1e-3, 1e-10) < 30000);
}

/* The error that is told is the largest of all energies, wherever that stands among them. */
static void worst_energy(void **state)
{
    enum { POINTS = 5001 };
    wisp_ctx *ctx = *state;
    double mu[8] = {1}, *energy = calloc(POINTS, sizeof *energy);
    wisp_scalar *g = calloc(POINTS, sizeof *g);
    const wisp_moments m = {
        .rows = 9, .n = 8, .vectors = 1, .mu = mu, .trace = WISP_TRACE_GIVEN, .bounds = {0, 1, 0}, .type = WISP_D};
    static const int at[] = {0, 1, 2500, 4097, POINTS - 1};
    for (int k = 0; k < 5; k++) {
        char words[64];
        const double eta = 0.1, worst = 0.25;
        const cplx z = worst + eta * I, root = csqrt(z - 1) * csqrt(z + 1);
        const double w = cabs(1 / (z + root));
        for (int i = 0; i < POINTS; i++)
            energy[i] = 1.05 + 0.01 * i; /* beyond the spectrum, where the series is short */
        energy[at[k]] = worst;
        snprintf(words, sizeof words, "up to %.2g/eta, at energy %g", 2 / cabs(root) * pow(w, 8) / (1 - w) * eta,
                 worst);
        REF_FAILS(ctx, wisp_green(ctx, &m, &(wisp_green_opts){.eta = eta}, 0, POINTS, energy, g, NULL, NULL),
                  WISP_ERR_ARG, words);
    }
    free(energy), free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(traces), cmocka_unit_test(refusals),
                                       cmocka_unit_test(worst_energy)};
    return REF_RUN_ALL(tests);
}
